"""A scan: what torch counts of it by tokens and by chunks that do not divide, and what its own cache holds."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    DynamicCache,
    Mamba2Config,
    Mamba2ForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    NemotronHConfig,
    NemotronHForCausalLM,
)

from symformer import SymformerError, architecture
from symformer.models.model import Model
from symformer.witness.session import built, tensors_of

MAMBA = {"V": 29, "E": 12, "L": 2, "H_ssm": 36, "N_state": 5, "R_dt": 7, "K_conv": 4}
MAMBA2 = {"V": 29, "E": 24, "L": 2, "A_ssm": 6, "D_ssm": 8, "G_ssm": 3, "N_state": 5, "K_conv": 4, "C_chunk": 9}
HYBRID = {
    **{"V": 29, "E": 24, "H": 22, "L_ssm": 3, "L_attn": 1, "L_mlp": 2, "A": 12, "G": 4, "D": 14},
    **{"A_ssm": 6, "D_ssm": 8, "G_ssm": 3, "N_state": 5, "K_conv": 7, "C_chunk": 9},
}
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
}
B = 2


def at(model: Model, quantity: str, sizes: dict[str, int], **facts: object) -> int:
    run = {name: number for name, number in facts.items() if isinstance(number, int)}
    formula = model.formula(quantity, **{name: str(value) for name, value in facts.items() if name not in run})
    asked = {str(name) for name in formula.asks} | set(sizes)
    return formula.value(sizes, **{name: number for name, number in run.items() if name in asked})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tokens", [8, 9, 21])  # fewer than a chunk, one, and two with some left over
def test_torch_counts_the_same(name: str, tokens: int) -> None:
    sizes, build = MODELS[name]
    model, torchs = architecture(name), built(build, "cpu").eval()
    torchs.config._attn_implementation = "eager"  # of the fused kernels torch counts nothing on the CPU
    assert at(model, "params", sizes) == sum(weight.numel() for weight in torchs.parameters())
    ids = torch.zeros(B, tokens, dtype=torch.long)
    cache = DynamicCache(config=torchs.config)
    own = {"past_key_values" if name == "nemotron-h" else "cache_params": cache}
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


@pytest.mark.parametrize("name", MODELS)
def test_the_state_keeps_its_precision(name: str) -> None:
    """In half precision keys, values and the places of the convolution have 2 bytes, and the state has 4."""
    sizes, build = MODELS[name]
    torchs = built(build, "cpu").eval().to(torch.bfloat16)
    cache = DynamicCache(config=torchs.config)
    own = {"past_key_values" if name == "nemotron-h" else "cache_params": cache}
    with torch.no_grad():
        torchs(torch.zeros(B, 3, dtype=torch.long), use_cache=True, **own)  # fewer than the convolution looks back on
    held = tensors_of(cache)
    assert {row.rpartition(".")[2]: tensor.dtype for row, tensor in held.items()}["recurrent_states_0"] == torch.float32
    bytes_ = sum(tensor.numel() * tensor.element_size() for tensor in held.values())
    assert at(architecture(name), "kv-cache", sizes, B=B, C=3) == bytes_
    # of Mamba by hand: 2 layers of 4 places of 2 bytes and 5 numbers of 4 bytes, for each of 36 channels
    assert at(architecture("mamba"), "kv-cache", MAMBA, B=B) == 2 * 2 * 36 * (4 * 2 + 5 * 4)


def test_what_is_not_known_of_a_scan_is_refused() -> None:
    mamba, hybrid = architecture("mamba-130m"), architecture("nemotron-h-8b")
    for quantity, conventions, said in (
        ("activations", {}, "what transformers keeps of a scan, which it writes out token by token, is not known"),
        ("traffic", {}, "depends on the kernel that runs it"),
        ("flops", {"count": "all"}, "no count of FLOPs is stated for what a scan does element by element"),
        ("params", {"tensor": "on"}, "a scan is not known with tensor=on"),
        ("flops", {"context": "on"}, "is not known with context=on"),
    ):
        for model in (mamba, hybrid):
            with pytest.raises(SymformerError, match=said):
                model.formula(quantity, **conventions)
    with pytest.raises(SymformerError, match=r"S=3 .* is less than K_conv=4 .*transformers then pads the prompt"):
        mamba.formula("prefill-flops").value(B=1, S=3)
    with pytest.raises(SymformerError, match="N_state=1"):
        architecture("mamba2").set({"N_state": 1})
