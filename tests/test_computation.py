"""The computation of a part follows from its operations: as printed in papers, and with its own options."""

from __future__ import annotations

import re

import pytest
from sympy import expand

import symformer as sf
from symformer.architectures import architecture
from symformer.documents.computation import computation, computations
from symformer.documents.ledger_dataflow import scope_of
from symformer.documents.operation_roles import operation_roles
from symformer.formulas.factorization import factored
from symformer.language.notation.display_tree import value
from symformer.language.notation.latex import latex
from symformer.language.notation.text import text
from symformer.ledger.facts import Scope
from symformer.views.derivation_facts import purposes

# Written by hand from the papers: Vaswani et al. 2017, eq. 1 and 2; Shazeer 2020, eq. 6; Ba et al. 2016, eq. 4; Zhang
# and Sennrich 2019, eq. 4; Xiong et al. 2020, table 1; DeepSeek-AI 2024, section 2.1; Jiang et al. 2024, section 2.1.
LINES = {
    ("gpt2", "h.*.attn"): [
        "[q, k, v] = x W_c_attnᵀ + b_c_attn [B, S, E + E + E]",
        "y = softmax_causal(q kᵀ/√(E/A)) v W_c_projᵀ + b_c_proj [B, S, E]",
    ],
    ("gpt2", "h.*.mlp"): ["y = GELU_tanh(x W_c_fcᵀ + b_c_fc) W_c_projᵀ + b_c_proj […, E]"],
    ("gpt2", "h.*.ln_1"): ["y = (x - mean(x))/std(x) ⊙ w + b […, E]"],
    ("gpt2", "h.*"): ["h = x + attn(ln_1(x)) [B, S, E]", "y = h + mlp(ln_2(h)) [B, S, E]"],
    ("gpt2", ""): [
        "x_0 = wte(t) + wpe(i) [B, S, E]",
        "x_n = h_n(x_n-1) [B, S, E]",
        "y = ln_f(x_L) W_wteᵀ [B, S, V]",
    ],
    ("llama", "layers.*.self_attn"): [
        "q = x W_q_projᵀ [B, A, S, D]",
        "k = x W_k_projᵀ [B, G, S, D]",
        "v = x W_v_projᵀ [B, G, S, D]",
        "y = softmax_causal(rotate(q, θ) (rotate(k, θ))ᵀ/√(D)) v W_o_projᵀ [B, S, E]",
    ],
    ("llama", "layers.*.mlp"): ["y = (SiLU(x W_gate_projᵀ) ⊙ x W_up_projᵀ) W_down_projᵀ […, E]"],
    ("llama", "layers.*.input_layernorm"): ["y = x/rms(x) ⊙ w […, E]"],
    ("gemma", "layers.*.input_layernorm"): ["y = x/rms(x) ⊙ (1 + w) […, E]"],
    ("mixtral", "layers.*.mlp"): [
        "g = route_K(x W_gateᵀ) [B, S, K]",
        "[h_e, r_e] = x W_gate_up_proj,eᵀ [B, S, K, M + M]",
        "y = ∑_e g_e (SiLU(h_e) ⊙ r_e) W_down_proj,eᵀ [B, S, E]",
    ],
    ("bert", "encoder.layer.*"): [  # its feed-forward network is not a torch module
        "h = attention.output.LayerNorm(x + attention(x)) [B, S, E]",
        "r = h W_intermediate.denseᵀ + b_intermediate.dense [B, S, H]",
        "f = GELU(r) W_output.denseᵀ + b_output.dense [B, S, E]",
        "y = output.LayerNorm(h + f) [B, S, E]",
    ],
    ("gemma3-multimodal", "vision_tower"): [  # its class reads last_hidden_state, not the output of the pooling head
        "x_0 = patch_embedding(x) + position_embedding(i_img) [B_vis, Z²/Z_patch², E_vis]",
        "x_n = layers_n(x_n-1) [B_vis, Z²/Z_patch², E_vis]",
        "y = post_layernorm(x_L_vis) [B_vis, Z²/Z_patch², E_vis]",
    ],
    ("t5", "decoder.block.*"): [
        "h = x + SelfAttention(layer.0.layer_norm(x), ρ) [B, S, E]",
        "r = h + EncDecAttention(layer.1.layer_norm(h), m) [B, S, E]",
        "y = r + DenseReluDense(layer.2.layer_norm(r)) [B, S, E]",
    ],
    ("mamba2", "layers.*.mixer"): [
        "[h, r, δ] = x W_in_projᵀ [B, S, A_ssm·D_ssm + (A_ssm·D_ssm + 2·G_ssm·N_state) + A_ssm]",
        "[u, β, γ] = SiLU(conv_channel(W_conv1d, r) + b_conv1d) [B, S, A_ssm·D_ssm + G_ssm·N_state + G_ssm·N_state]",
        "f = scan(u, softplus(δ + w_dt_bias), -exp(w_A_log), β, γ, w_D) [B, S, A_ssm·D_ssm]",
        "a = f ⊙ SiLU(h) [B, S, A_ssm·D_ssm]",
        "y = (a/rms_group(a) ⊙ w_norm) W_out_projᵀ [B, S, E]",
    ],
    ("deepseek-v3", "dense_layers.*.self_attn"): [
        "[q_nope, q_rope] = q_a_layernorm(x W_q_a_projᵀ) W_q_b_projᵀ [B, A, S, D_nope + D_rope]",
        "[h, k_rope] = x W_kv_a_proj_with_mqaᵀ [B, S, R_kv + D_rope]",
        "[k_nope, v] = kv_a_layernorm(h) W_kv_b_projᵀ [B, A, S, D_nope + D_v]",
        "q = [q_nope, rotate(q_rope, θ)] [B, A, S, D_nope + D_rope]",
        "k = [k_nope, rotate(k_rope, θ)] [B, A, S, D_nope + D_rope]",
        "r = softmax_causal(q kᵀ/√(D_nope + D_rope)) v [B, S, A·D_v]",
        "y = r W_o_projᵀ [B, S, E]",
    ],
}


def part(name: str, path: str) -> Scope:
    return scope_of_path(architecture(name).component.ledger.apart.root, path)


def scope_of_path(root: Scope, path: str) -> Scope:
    """Return the first line at a path; a part without its own name has the path of the enclosing part."""
    return next(scope for each, scope in walked(root, ()) if ".".join(filter(None, each)) == path)


def walked(scope: Scope, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Scope]]:
    here = (*path, scope.name)
    return [(here, scope), *(each for item in scope.items if isinstance(item, Scope) for each in walked(item, here))]


@pytest.mark.parametrize(("name", "path"), LINES)
def test_computed_line_of_a_part(name: str, path: str) -> None:
    found = [f"{text(line.name)} = {text(line.shown)} {text(line.shape)}" for line in computation(part(name, path))]
    assert found == LINES[name, path]


@pytest.mark.parametrize("name", ["deepseek-v3", "deepseek-v32", "kimi-linear", "minicpm3", "youtu", "flux", "sd3"])
def test_parts_of_queries_and_keys_have_the_same_indices(name: str) -> None:
    """The parts are joined in the same order in queries and keys, such as elements without and with positions."""
    found = 0
    for _, scope in walked(architecture(name).component.ledger.apart.root, ()):
        lines = [text(line.shown) for line in computation(scope)] if "Attention" in type(scope.part).__name__ else []
        joined = [re.findall(rf"\[{x}_(\w+)[;,] (?:rotate\()?{x}_(\w+)", " ".join(lines)) for x in "qk"]
        assert not all(joined) or joined[0] == joined[1]
        assert all(pair in (("nope", "rope"), ("1", "2")) for pairs in joined for pair in pairs)
        found += sum(map(len, joined))
    assert found


def test_repeated_layers_state_their_count() -> None:
    lines = computation(part("deepseek-v3", ""))
    assert [str(line.times) for line in lines if line.times is not None] == ["L_dense", "L_moe"]
    assert text(lines[2].shown) == "x_L_dense"


def test_two_adapters_have_different_names() -> None:
    adapted = architecture("llama", lora="q_proj,v_proj")
    scope = scope_of_path(adapted.component.ledger.apart.root, "layers.*.self_attn")
    told = " ".join(text(line.shown) for line in computation(scope))
    assert all(name in told for name in ("W_q_proj.lora_Aᵀ", "W_v_proj.lora_Aᵀ"))
    assert "W_lora" not in told


def test_part_with_dora_has_no_line() -> None:
    """Its norm of a matrix and its update is not among the operations."""
    adapted = architecture("llama", dora="q_proj")
    assert computation(scope_of_path(adapted.component.ledger.apart.root, "layers.*.self_attn")) == []
    assert computation(scope_of_path(adapted.component.ledger.apart.root, "layers.*.mlp"))


def test_part_with_several_outputs_has_no_line() -> None:
    assert computation(part("llama", "layers.*.self_attn.rotary")) == []


def test_dropout_has_no_computed_line() -> None:
    assert computation(part("gpt2", "drop")) == []


def test_part_is_found_by_path_and_identity() -> None:
    ledger = architecture("gpt2").component.ledger
    own = part("gpt2", "h.*.ln_2")
    assert scope_of(own.part, "h.*.ln_2", ledger) is not None
    assert scope_of(object(), "h.*.ln_2", ledger) is None


def test_part_used_twice_is_found_at_its_path() -> None:
    """The norm of DeepSeek's queries has R_q elements, but otherwise its part equals every other norm."""
    model = architecture("deepseek-v3")
    line = next(each for each in model.params.root.parts() if each.key == "layers.self_attn.q_a_layernorm")
    scope = scope_of(line.part, line.path, model.component.ledger)
    assert scope is not None
    assert text(computation(scope)[0].shape) == "[…, R_q]"


@pytest.mark.parametrize(
    ("name", "path", "said"),
    [
        (
            "deepseek-v3",
            "dense_layers.*.self_attn",
            {
                "q_a_proj": "queries",
                "q_a_layernorm": "queries",
                "q_b_proj": "queries",
                "kv_a_proj_with_mqa": "keys and values",
                "kv_a_layernorm": "keys and values",
                "kv_b_proj": "keys and values",
                "o_proj": "output",
            },
        ),
        (
            "llama",
            "layers.*.self_attn",
            {"q_proj": "queries", "k_proj": "keys", "v_proj": "values", "o_proj": "output"},
        ),
        ("gpt2", "h.*.attn", {"c_attn": "queries, keys and values", "c_proj": "output"}),
        ("gpt2", "h.*.mlp", {}),
    ],
)
def test_roles_of_attention_weights(name: str, path: str, said: dict[str, str]) -> None:
    found = operation_roles(part(name, path))
    assert {what: found[what] for what in said} == said
    assert bool(found) == bool(said)


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        # 2LEAD + 2LEGD + 3LEH + 2LE + 2VE + E, by hand
        ("llama", "LE(2D(A + G) + 3H + 2) + E(2V + 1)"),
        # 12LE² + 13LE + VE + PE + 2E, by hand
        ("gpt2", "LE(12E + 13) + E(V + P + 2)"),
    ],
)
def test_common_factors_are_factored_out(target: str, shown: str) -> None:
    assert text(factored(architecture(target).params.display_expr)) == shown


@pytest.mark.parametrize("name", ["deepseek-v3", "mamba2", "t5", "nemotron-h", "vit", "clip", "gpt-oss"])
def test_factoring_keeps_the_value(name: str) -> None:
    params = architecture(name).params
    shown = factored(params.display_expr)
    assert expand(value(shown) - params.display_expr) == 0
    assert "(" in latex(shown)


@pytest.mark.parametrize("quantity", ["train-memory", "flops", "inference-memory"])
@pytest.mark.parametrize("name", ["gpt2", "llama", "t5", "qwen2"])
def test_roles_sum_to_the_total(name: str, quantity: str) -> None:
    formula = architecture(name).formula(quantity)
    parts = purposes(formula)
    assert len(parts) > 1
    assert expand((sum(parts.values()) - formula.display_expr).xreplace(formula.relations)) == 0


def test_adam_in_float32_uses_16_bytes_per_parameter() -> None:
    """Weight, gradient and two moments of 4 bytes each: Rajbhandari et al. 2020, section 3.1, in single precision."""
    parts = purposes(sf.architecture("gpt2").formula("train-memory", implementation="none"))
    assert [*parts] == ["weights", "gradients", "optimizer's state"]
    params = sf.architecture("gpt2").params.display_expr
    assert expand(parts["weights"] - 4 * params) == 0
    assert expand(parts["gradients"] - 4 * params) == 0
    state = expand(parts["optimizer's state"] - 8 * params)  # plus the step counter of each weight, 4 bytes:
    assert str(state) == "48*L + 16"  # 12 in each layer; wte, wpe, and two of ln_f


def test_results_are_numbered_only_if_letters_and_lines_are_used_up() -> None:
    """Whisper's encoder and decoder have more results than letters; those that are read once are written there."""
    names = [text(line.name) for line in computation(architecture("whisper").component.ledger.root)]
    assert names == ["h", "r", "f", "a", "x_0", "x_n", "m", "z_0", "z_n", "y"]


def test_the_same_part_in_layers_of_several_kinds_has_the_same_letters() -> None:
    """gpt-oss: the mask of local attention makes a line long, so the scores have a line of their own in both kinds."""
    local, others = computations([part("gpt-oss", f"{kind}_layers.*.self_attn") for kind in ("local", "global")])
    assert [text(line.name) for line in local] == [text(line.name) for line in others] == [*"qkvhry"]
    alone = computation(part("gpt-oss", "global_layers.*.self_attn"))
    assert [text(line.name) for line in alone] == [*"qkvhy"]
