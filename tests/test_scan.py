"""Scans: torch's counts token by token and in incomplete chunks, and the contents of its cache."""

from __future__ import annotations

import json

import pytest
import torch
from click.testing import CliRunner
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    DynamicCache,
    KimiLinearConfig,
    KimiLinearForCausalLM,
    Mamba2Config,
    Mamba2ForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    NemotronHConfig,
    NemotronHForCausalLM,
    Qwen3NextConfig,
    Qwen3NextForCausalLM,
)

from symformer import SymformerError, architecture
from symformer.commands.cli import cli
from symformer.components.chunked_scan import ChunkedScan
from symformer.language.symbols import SYMBOLS
from symformer.ledger.facts import Ledger
from symformer.ledger.operations import Operations
from symformer.ledger.operations import given as input_of
from symformer.models.model import Model
from symformer.quantities.traffic_rules import RULES
from symformer.witness.torch_session import built, tensors_of

MAMBA = {"V": 29, "E": 12, "L": 2, "H_ssm": 36, "N_state": 5, "R_dt": 7, "K_conv": 4}
MAMBA2 = {"V": 29, "E": 24, "L": 2, "A_ssm": 6, "D_ssm": 8, "G_ssm": 3, "N_state": 5, "K_conv": 4, "C_chunk": 9}
HYBRID = {
    **{"V": 29, "E": 24, "H": 22, "L_ssm": 3, "L_attn": 1, "L_mlp": 2, "A": 12, "G": 4, "D": 14},
    **{"A_ssm": 6, "D_ssm": 8, "G_ssm": 3, "N_state": 5, "K_conv": 7, "C_chunk": 9},
}
DELTA = {
    **{"V": 29, "E": 24, "L_lin": 2, "L_attn": 1, "A": 6, "G": 2, "D": 20, "D_rope": 8, "A_k_lin": 3, "A_v_lin": 12},
    **{"D_k_lin": 16, "D_v_lin": 14, "K_conv": 4, "X": 11, "K": 5, "M": 7, "M_shared": 13},
}
KIMI = {
    **{"V": 29, "E": 24, "H": 22, "L_dense": 1, "L_lin_x": 2, "L_attn": 1, "A": 6, "R_kv": 11, "D_nope": 10},
    **{"D_shared": 14, "D_v": 13, "A_lin": 3, "D_lin": 16, "K_conv": 4, "X": 9, "X_shared": 2, "K": 5, "M": 7},
}
MIXED = ["linear_attention", "linear_attention", "full_attention", "linear_attention"]
KINDS = ["linear_attention", "mlp", "full_attention", "linear_attention", "mlp", "linear_attention"]
MODELS = {
    "mamba": (
        MAMBA,
        lambda: MambaForCausalLM(
            MambaConfig(vocab_size=29, hidden_size=12, num_hidden_layers=2, expand=3, state_size=5, time_step_rank=7)
        ),
    ),
    "mamba2": (
        MAMBA2,
        lambda: Mamba2ForCausalLM(
            Mamba2Config(
                **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "num_heads": 6, "head_dim": 8},
                **{"n_groups": 3, "state_size": 5, "chunk_size": 9},
            )
        ),
    ),
    "nemotron-h": (
        HYBRID,
        lambda: NemotronHForCausalLM(
            NemotronHConfig(
                **{"vocab_size": 29, "hidden_size": 24, "intermediate_size": 22, "layers_block_type": KINDS},
                **{"num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 14, "mamba_num_heads": 6},
                **{"mamba_head_dim": 8, "n_groups": 3, "ssm_state_size": 5, "conv_kernel": 7, "chunk_size": 9},
                **{"pad_token_id": None},
            )
        ),
    ),
    "qwen3-next": (
        DELTA,
        lambda: Qwen3NextForCausalLM(
            Qwen3NextConfig(
                **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 3, "layer_types": MIXED[:3]},
                **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 20, "partial_rotary_factor": 0.4},
                **{"linear_num_key_heads": 3, "linear_num_value_heads": 12, "linear_key_head_dim": 16},
                **{"linear_value_head_dim": 14, "num_experts": 11, "num_experts_per_tok": 5},
                **{"moe_intermediate_size": 7, "shared_expert_intermediate_size": 13},
            )
        ),
    ),
    "kimi-linear": (
        KIMI,
        lambda: KimiLinearForCausalLM(
            KimiLinearConfig(
                **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 4, "layer_types": MIXED},
                **{"intermediate_size": 22, "num_attention_heads": 6, "num_key_value_heads": 6, "kv_lora_rank": 11},
                **{"qk_nope_head_dim": 10, "qk_rope_head_dim": 14, "v_head_dim": 13, "linear_num_heads": 3},
                **{"linear_head_dim": 16, "num_local_experts": 9, "n_shared_experts": 2, "num_experts_per_tok": 5},
                **{"moe_intermediate_size": 7, "pad_token_id": None},
            )
        ),
    ),
}
DELTA_RULES = ("qwen3-next", "kimi-linear")  # in chunks of 64 tokens
B = 2


def at(model: Model, quantity: str, sizes: dict[str, int], **facts: object) -> int:
    run = {name: number for name, number in facts.items() if isinstance(number, int)}
    formula = model.formula(quantity, **{name: str(value) for name, value in facts.items() if name not in run})
    asked = {str(name) for name in formula.dependencies} | set(sizes)
    return formula.value(sizes, **{name: number for name, number in run.items() if name in asked})


# Fewer tokens than a chunk, one chunk, and two with a remainder.
@pytest.mark.parametrize(
    ("name", "tokens"),
    [(name, tokens) for name in MODELS for tokens in ((21, 64, 130) if name in DELTA_RULES else (8, 9, 21))],
)
def test_scan_flops_match_torch(name: str, tokens: int) -> None:
    sizes, build = MODELS[name]
    model, torchs = architecture(name), built(build, "cpu").eval()
    torchs.config._experts_implementation = "batched_mm"
    torchs.config._attn_implementation = "eager"  # on the CPU torch counts nothing for the fused kernels
    assert at(model, "params", sizes) == sum(weight.numel() for weight in torchs.parameters())
    ids = torch.zeros(B, tokens, dtype=torch.long)
    cache = DynamicCache(config=torchs.config)
    own = {"cache_params" if name.startswith("mamba") else "past_key_values": cache}
    counts = []
    for given, facts in ((ids, {"use_cache": False}), (ids, {"use_cache": True, **own}), (ids[:, :1], own)):
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            torchs(given, **{"use_cache": True, **facts})
        counts.append(counter.get_total_flops())
    assert counts == [
        at(model, "flops", sizes, B=B, S=tokens),
        at(model, "prefill-flops", sizes, B=B, S=tokens),
        at(model, "decode-flops", sizes, B=B, C=tokens),
    ]


PRECISIONS = {  # the dtype of a model, and the bytes of its keys and values
    "bf16": (torch.bfloat16, 2),
    "fp16": (torch.float16, 2),
    "fp32": (torch.float32, 4),
    "fp8": (torch.bfloat16, 1),  # engines quantize only keys and values: no model computes in fp8
}


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", MODELS)
def test_a_convolution_state_has_the_models_dtype_and_a_recurrent_state_4_bytes(name: str, dtype: str) -> None:
    sizes, build = MODELS[name]
    computes_in, bytes_of_keys = PRECISIONS[dtype]
    torchs = built(build, "cpu").eval().to(computes_in)
    torchs.config._experts_implementation = "batched_mm"
    cache = DynamicCache(config=torchs.config)
    own = {"cache_params" if name.startswith("mamba") else "past_key_values": cache}
    with torch.no_grad():
        torchs(torch.zeros(B, 3, dtype=torch.long), use_cache=True, **own)  # fewer tokens than the convolution's kernel
    held = {row: (row.rpartition(".")[2], tensor) for row, tensor in tensors_of(cache).items()}
    assert {tensor.dtype for name, tensor in held.values() if name == "recurrent_states_0"} == {torch.float32}
    assert {tensor.dtype for name, tensor in held.values() if name == "conv_states_0"} == {computes_in}
    expected = sum(
        tensor.numel() * (bytes_of_keys if name in ("keys", "values") else tensor.element_size())
        for name, tensor in held.values()
    )
    model = architecture(name)
    assert at(model, "kv-cache", sizes, B=B, C=3, dtype=dtype) == expected > 0
    stored = sum(weight.numel() for weight in torchs.parameters())
    size = 1 if dtype == "fp8" else computes_in.itemsize
    logits = B * sizes["V"] * 4
    assert (
        at(model, "inference-memory", sizes, B=B, C=3, weights=dtype, cache=dtype) == size * stored + expected + logits
    )
    if dtype == "fp8":  # the dtype of the weights decides, not the dtype of the cache
        assert at(model, "inference-memory", sizes, B=B, C=3, cache="fp8") == 2 * stored + expected + logits


def test_the_bytes_of_a_convolution_state_by_hand() -> None:
    # Mamba: for each of 36 channels in 2 layers, 4 positions of 2 bytes and 5 numbers of 4 bytes
    assert at(architecture("mamba"), "kv-cache", MAMBA, B=B) == 2 * 2 * 36 * (4 * 2 + 5 * 4)
    # 4 layers of 8 heads of 128 for 4,096 tokens, keys and values, at 1 byte; 27 layers with 4 places of
    # 128·80 + 2·8·128 = 12,288 channels at 2 bytes, and states of 128·80·128 numbers at 4
    hybrid = architecture("nemotron-nano-9b-v2")
    expected = 4 * 8 * 128 * 4096 * 2 + 27 * 4 * 12_288 * 2 + 27 * 128 * 80 * 128 * 4
    assert expected == 33_554_432 + 27 * 4 * 12_288 * 2 + 141_557_760 == 177_766_400
    assert hybrid.formula("kv-cache", dtype="fp8").value(B=1, C=4096) == expected
    # A symbolic W is the size of both, so it cannot describe a cache in fp8.
    symbolic = hybrid.formula("kv-cache", dtype="symbolic")
    assert symbolic.value(B=1, C=4096, W=2) == 2 * 33_554_432 + 27 * 4 * 12_288 * 2 + 141_557_760
    with pytest.raises(SymformerError, match=r"W=1 .* is less than 2; .* choose dtype=fp8"):
        symbolic.value(B=1, C=4096, W=1)
    assert architecture("llama-2-7b").formula("kv-cache", dtype="symbolic").value(B=1, C=1, W=1) == 2 * 32 * 32 * 128
    with pytest.raises(SymformerError, match=r"W=1 .* is less than 2; .* choose weights=fp8"):
        hybrid.formula("inference-memory", weights="symbolic").value(B=1, C=4096, W=1)


def test_traffic_of_a_convolution_state_during_decoding_is_refused() -> None:
    x = input_of("x", (SYMBOLS["B"], SYMBOLS["E"], SYMBOLS["S"]))
    ops = Operations(ChunkedScan())
    ops.causal_depthwise_convolution("conv1d", x, SYMBOLS["K_conv"])
    _, entry = next(iter(Ledger(ops.root, None)))
    assert RULES[entry.kind](entry, {"phase": "prefill", "dtype": "bf16"})
    with pytest.raises(SymformerError, match="of a convolution state depend on the kernel"):
        RULES[entry.kind](entry, {"phase": "decode", "dtype": "bf16"})


@pytest.mark.parametrize(("target", "words"), [("mamba2-2.7b", 2), ("llama-2-7b", 0), ("whisper-tiny", 0)])
def test_show_states_the_dtype_of_each_state(target: str, words: int) -> None:
    for quantity in ("kv-cache", "inference-memory"):
        result = CliRunner().invoke(cli, ["show", target, "-q", quantity])
        assert result.exit_code == 0, result.output
        said = result.output
        assert ("The convolution state has the model's dtype" in said) == (words > 0)
        assert ("stored in float32, 4 bytes per element" in said) == (words > 0)
        notes = json.loads(CliRunner().invoke(cli, ["show", target, "-q", quantity, "--json"]).stdout)["notes"]
        assert len(notes) == words


def test_unsupported_quantities_of_a_scan_are_refused() -> None:
    mamba, hybrid = architecture("mamba-130m"), architecture("nemotron-h-8b")
    for quantity, conventions, said in (
        ("activations", {}, r"activation memory of .* is not supported|tensors that the class saves .* are not known"),
        ("flops", {"count": "all"}, "count=all does not support"),
        ("params", {"tensor": "on"}, "a delta rule is not supported with tensor=on"),
    ):
        for name in DELTA_RULES:
            with pytest.raises(SymformerError, match=said):
                architecture(name).formula(quantity, **conventions)
    for quantity, conventions, said in (
        ("traffic", {}, "of its state depend on the kernel"),
        ("flops", {"count": "all"}, "count=all does not support the elementwise work of a scan"),
        ("params", {"tensor": "on"}, "a scan is not supported with tensor=on"),
        ("flops", {"context": "on"}, "is not supported with context=on"),
    ):
        for model in (mamba, hybrid):
            with pytest.raises(SymformerError, match=said):
                model.formula(quantity, **conventions)
    with pytest.raises(SymformerError, match=r"S=3 .* is less than K_conv=4 .*transformers pads the prompt"):
        mamba.formula("prefill-flops").value(B=1, S=3)
    with pytest.raises(SymformerError, match="N_state=1"):
        architecture("mamba2").set({"N_state": 1})
