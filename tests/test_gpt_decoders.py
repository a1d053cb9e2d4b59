"""Decoders after GPT-2: score biases, partly rotated heads, unused position rows, windows that caches ignore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sympy import Min, expand

import symformer as sf
from symformer import SymformerError, architecture, from_config
from symformer.components.gated_mlp import GatedMLP
from symformer.language.symbols import A, B, C, C_win, D_rope, E, G, H, L, L_global, L_local, S, V
from symformer.ledger.facts import OperationKind

OWN = ("gpt1", "gpt-neo", "gptj", "bloom", "falcon", "mpt")  # their attention is their own code


def elementwise(name: str, **options: Any) -> Any:
    """Return the elementwise FLOPs."""
    model = architecture(name, **options)
    return expand(model.formula("flops", count="all").expanded - model.formula("flops").expanded)


def test_linear_bias_adds_one_sum_per_pair() -> None:
    """Falcon with linear biases adds B·A·S² pairs per layer, whereas rotary Falcon computes 3·2·B·S·E."""
    plain = {"multi_query": False}
    lines = elementwise("falcon", alibi=True, **plain) - elementwise("falcon", **plain)
    assert expand(lines - L * (B * A * S**2 - 6 * B * S * E)) == 0
    alibi = sf.component("alibi")
    assert alibi.formula("train-flops").expanded == 0
    assert alibi.formula("flops", count="all").value(B=3, S=5, A=7) == 3 * 5 * 5 * 7


def test_rotary_flops_count_only_rotated_dimensions() -> None:
    """Three operations per rotated element: D_rope of A query heads and A key heads, in L layers."""
    rest = elementwise("gptj").subs(D_rope, 0)
    assert expand(elementwise("gptj") - rest - L * 3 * 2 * B * S * A * D_rope) == 0


def test_opt_reserves_two_position_rows() -> None:
    """OPT stores P + 2 rows, and its first token reads the third, so S tokens fit if S is at most P."""
    opt = architecture("opt-125m")
    assert opt.params.part("embed_positions").value() == (2048 + 2) * 768
    flops = opt.formula("flops")
    assert flops.value(B=1, S=2048) > 0
    with pytest.raises(SymformerError, match=r"P=2048 \(learned positions\) is less than S=2049"):
        flops.value(B=1, S=2049)


def test_mask_only_window_does_not_limit_the_cache() -> None:
    """GPT-Neo's windows limit the pairs to min(S, w)(2S - min(S, w) + 1)/2 per layer with a window.

    Its cache and the products of a new token cover all C tokens and the new one in every layer.
    """
    neo = architecture("gpt-neo")
    full, causal = (neo.formula("flops", attention=way).expanded for way in ("full", "causal"))
    least = Min(S, C_win)
    pairs = L_local * least * (2 * S - least + 1) / 2 + L_global * S * (S + 1) / 2
    assert expand(full - causal - 4 * B * E * ((L_local + L_global) * S**2 - pairs)) == 0
    assert expand(neo.formula("kv-cache").expanded - (L_local + L_global) * 2 * 2 * B * C * E) == 0
    assert neo.formula("decode-flops").expanded.coeff(C) == 4 * B * E * L_local + 4 * B * E * L_global
    assert neo.formula("kv-cache", window="rolling").expanded.has(Min(C, C_win))


def test_falcon_cache_matches_its_class() -> None:
    """Falcon's first form caches one key/value head; its grouped form caches copies of G heads for all A heads."""
    assert expand(architecture("falcon").formula("kv-cache").expanded - 2 * 2 * B * C * L * E / A) == 0
    grouped = architecture("falcon", grouped=True)
    assert expand(grouped.formula("kv-cache").expanded - 2 * 2 * B * C * L * E) == 0
    assert expand(grouped.params.part("h.self_attention.query_key_value").expanded - E * (E + 2 * G * E / A)) == 0


def test_fused_and_separate_gates_are_equal() -> None:
    one, two = GatedMLP(fused="gate_up_proj"), GatedMLP()
    for quantity in ("params", "flops", "train-flops"):
        assert one.formula(quantity).equals(two.formula(quantity).expanded)
    stored = [weight.shape for _, weight in one.ledger.weights]
    assert stored == [(2 * H, E), (E, H)]


def test_parallel_norms_read_the_same_input() -> None:
    """In parallel, no norm reads the output of another sublayer; sequentially, the second does."""
    for parallel in (True, False):
        ledger = architecture("gpt-neox", parallel=parallel).ledger
        first, second, _ = (entry for _, entry in ledger if entry.kind is OperationKind.NORM)
        assert (first.inputs == second.inputs) is parallel


@pytest.mark.parametrize("name", OWN)
def test_activations_of_custom_attention_are_refused(name: str) -> None:
    model = architecture(name)
    for implementation in ("eager", "sdpa"):
        for quantity in ("activations", "train-memory"):
            with pytest.raises(SymformerError, match="the tensors that its own attention code saves are not known"):
                model.formula(quantity, implementation=implementation)
    assert model.formula("train-memory", implementation="none").expanded != 0


def read(tmp_path: Path, **config: Any) -> sf.Model:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), "utf-8")
    return from_config(str(path))


PHI = {"model_type": "phi", "hidden_size": 2560, "num_attention_heads": 32}  # heads of 80


@pytest.mark.parametrize(
    ("fields", "number"),
    [
        ({}, 40),  # the class rotates a half by default
        ({"partial_rotary_factor": 0.4}, 32),  # Phi-2
        ({"partial_rotary_factor": 0.4, "rope_parameters": {"rope_type": "default", "rope_theta": 7.0}}, 32),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0, "partial_rotary_factor": 0.3}}, 24),
    ],
)
def test_partial_rotary_factor_is_read(fields: dict[str, Any], number: int, tmp_path: Path) -> None:
    """int(80·0.3) is 24: the class multiplies floats, and so does our reading of its config."""
    assert read(tmp_path, **PHI, **fields).known[D_rope] == number


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            {**PHI, "partial_rotary_factor": 0},
            "'partial_rotary_factor' is 0 in the config; it should be above 0 and at",
        ),
        ({**PHI, "partial_rotary_factor": 1.5}, "is 1.5 in the config; it should be above 0 and at most 1"),
        ({**PHI, "partial_rotary_factor": True}, "is True in the config; it should be above 0 and at most 1"),
        ({**PHI, "partial_rotary_factor": "half"}, "is 'half' in the config; it should be above 0 and at most 1"),
        ({**PHI, "partial_rotary_factor": 0.01}, "which rounds down to 0 of D = 80"),
        ({**PHI, "partial_rotary_factor": 0.0126}, "D_rope=1 is not a multiple of 2"),
        (
            {**PHI, "partial_rotary_factor": 0.5, "rope_scaling": {"type": "default", "partial_rotary_factor": 0.4}},
            "twice: 'partial_rotary_factor' = 0.5 and 'rope_scaling.partial_rotary_factor' = 0.4; keep one",
        ),
        ({**PHI, "qk_layernorm": True}, "'qk_layernorm' is True in the config; this affects the count"),
        ({"model_type": "phi3", "rope_scaling": {"type": "linear", "factor": 2}}, "choose from default, longrope, su"),
        ({"model_type": "phi3", "rope_scaling": {"type": "su"}}, "which requires 'short_factor'"),
        (
            {"model_type": "falcon", "new_decoder_architecture": True, "parallel_attn": False},
            "no Falcon has grouped=true with parallel=false",
        ),
        ({"model_type": "falcon", "num_ln_in_parallel_attn": 2}, "no Falcon has norms=two with grouped=false"),
        (
            {"model_type": "falcon", "num_ln_in_parallel_attn": 3},
            "is 3 in the config; only None or 1 or 2 is supported",
        ),
        ({"model_type": "mpt", "attn_config": {"clip_qkv": 6}}, "'clip_qkv' is 6 in the config; this affects the"),
        (
            {"model_type": "mpt", "attn_config": [1]},
            "'attn_config' is [1] in the config; it should be an object or null",
        ),
        ({"model_type": "mpt", "attn_config": {"rings": 7}}, "the field 'rings' = 7 is not supported"),
        ({"model_type": "openai-gpt", "afn": "mish"}, "only 'gelu' or 'relu' or 'silu' or 'swish' is supported"),
        (
            {"model_type": "gpt_neo", "num_layers": 2, "attention_types": [[["global"], 2]]},
            "the config has no layer of the kind 'local'",
        ),
        ({"model_type": "gpt_neo", "attention_types": [["global"]]}, "it should be a list of pairs [kinds, repeats]"),
        (
            {"model_type": "gpt_neo", "attention_layers": ["global"] * 24},
            "'attention_layers' contradicts 'attention_types' in the config; remove the field",
        ),
    ],
)
def test_unsupported_config_gives_a_one_sentence_error(config: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SymformerError) as caught:
        read(tmp_path, **config)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_gpt_1_uses_unfused_gelu(tmp_path: Path) -> None:
    assert read(tmp_path, model_type="openai-gpt").component.activation == "gelu_new"  # type: ignore[attr-defined]


def test_phi_head_has_a_bias() -> None:
    assert architecture("phi").params.part("lm_head").equals(V * E + V)
    assert architecture("phi", tied=True).params.part("lm_head").equals(V)
