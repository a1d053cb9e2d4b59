"""Activations of models with scans, compared with what autograd saves in transformers' code on the CPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symformer import SymformerError, architecture
from symformer.architectures.base_architecture import Architecture
from symformer.architectures.zamba2 import Zamba2
from symformer.language.symbols import SYMBOLS
from symformer.witness.torch_counts import activation_bytes, train_bytes

SIZES = {
    **{"B": 3, "S": 7, "V": 29, "E": 40, "H": 32, "A": 12, "G": 4, "D": 14, "D_rope": 7, "X": 9, "K": 2, "M": 16},
    **{"M_shared": 24, "A_ssm": 8, "D_ssm": 5, "G_ssm": 2, "N_state": 11, "K_conv": 4, "C_chunk": 6, "H_ssm": 80},
    **{"R_dt": 3, "L": 2},
}
MIXED = {"D": 20, "D_rope": 10, "L_ssm": 2, "L_attn": 1, "L": 3}
JAMBA = {"L_ssm": 3, "L_attn": 2, "L_ssm_d": 1, "L_dense": 3, "L_moe": 2, "L": 5}
NEMOTRON = {"L_ssm": 2, "L_attn": 1, "L_mlp": 3, "L": 6}
ZAMBA = {"L_ssm": 2, "L_hyb": 3, "L": 5, "N_group": 2, "R_adapter": 6, "A": 5, "G_ssm": 4}
HALF = {"dtype": "bf16"}


@pytest.mark.parametrize(
    ("target", "options", "changed", "way"),
    [
        ("mamba2", {}, {}, {}),
        ("mamba2", {}, {}, HALF),
        ("mamba2", {}, {"S": 18}, HALF),  # whole chunks
        ("mamba2", {}, {"S": 5}, {}),  # a single chunk
        ("mamba2", {}, {"S": 5, "B": 1}, {}),
        ("mamba2", {}, {"B": 1}, HALF),
        ("mamba2", {"residual_in_float32": False, "bias": True}, {}, HALF),
        ("mamba2", {"activation": "relu", "convolution_bias": False}, {"G_ssm": 8}, {}),
        ("mamba2", {}, {}, HALF | {"recompute": "full"}),
        ("mamba", {}, {}, {}),
        ("mamba", {}, {}, HALF),
        ("mamba", {}, {"B": 1}, HALF),
        ("mamba", {"residual_in_float32": False}, {}, HALF | {"recompute": "full"}),
        ("falcon-mamba", {}, {}, {}),
        ("falcon-mamba", {}, {"B": 1, "S": 9}, HALF),
        ("bamba", {}, MIXED, HALF),  # 10 of 20 elements of each head rotate
        ("bamba", {"attention_bias": True}, MIXED | {"B": 1, "S": 5}, {"implementation": "sdpa"}),
        ("granitemoehybrid", {}, MIXED, HALF | {"moe": "batched"}),
        ("granitemoehybrid", {"experts": False, "rotary": True}, MIXED | {"D_rope": 20}, HALF),
        ("jamba", {}, JAMBA, HALF | {"moe": "batched"}),
        ("jamba", {}, JAMBA, {"moe": "batched", "implementation": "sdpa"}),
        ("jamba", {"experts": False}, {"L_ssm": 2, "L_attn": 1, "L": 3}, {"recompute": "full"}),
        ("nemotron-h", {}, NEMOTRON, {}),
        ("nemotron-h", {"mixer_bias": True}, NEMOTRON | {"B": 1, "S": 5}, HALF),
        ("nemotron-h", {}, NEMOTRON, HALF | {"implementation": "sdpa", "recompute": "full"}),
        ("nemotron-h", {}, NEMOTRON, {"recompute": "selective"}),
        ("zamba2", {"bias": True}, ZAMBA, HALF),
        ("zamba2", {}, ZAMBA, HALF | {"recompute": "selective"}),
        ("zamba2", {"attention_adapters": True, "rotary": True}, ZAMBA | {"B": 1, "S": 5}, {"implementation": "sdpa"}),
        ("falcon-h1", {}, {"D_rope": 14}, HALF),
        ("falcon-h1", {"mixer_norm": True}, {"D_rope": 14}, HALF),
        ("falcon-h1", {"mixer_norm": True, "norm_first": False}, {"D_rope": 14}, HALF),
        ("falcon-h1", {}, {"D_rope": 14, "B": 1, "S": 5}, {"implementation": "sdpa"}),
    ],
)
def test_scans_save_what_torch_saves(
    target: str, options: dict[str, bool | str], changed: dict[str, int], way: dict[str, str]
) -> None:
    model = architecture(target, **options)
    assert isinstance(model.component, Architecture)
    drawn = {**SIZES, **changed}
    formula = model.formula("activations", **way)
    sizes = {name: drawn[name] for name in map(str, formula.dependencies) if name in drawn}
    numbers = {SYMBOLS[name]: number for name, number in drawn.items()}
    assert formula.value(sizes) == activation_bytes(model.component, numbers, **way) > 0


@pytest.mark.parametrize("kinds", ["hhhss", "shshh", "hshsh"])
def test_inputs_of_layers_do_not_depend_on_the_order_of_their_kinds(kinds: str) -> None:
    """In single precision, a Mamba layer saves its input, and a layer with a shared block only the sum with it."""
    spelled = {"h": "hybrid", "s": "linear_attention"}
    arguments = {**Zamba2.witness.arguments, "layers_block_type": [spelled[kind] for kind in kinds]}

    class Ordered(Zamba2):
        witness = replace(Zamba2.witness, arguments=arguments)

    drawn = {**SIZES, **ZAMBA}
    formula = architecture("zamba2").formula("activations", dtype="fp32")
    sizes = {name: drawn[name] for name in map(str, formula.dependencies) if name in drawn}
    numbers = {SYMBOLS[name]: number for name, number in drawn.items()}
    assert formula.value(sizes) == activation_bytes(Ordered(), numbers, dtype="fp32") > 0
    producers = {line.path for _, line in formula.root.leaves() if line.terms}
    assert not {path for path in producers if path.endswith("residual")}  # counted with the norms that read them


def test_scans_take_part_in_training_memory() -> None:
    model = architecture("mamba2")
    assert isinstance(model.component, Architecture)
    way = {"recipe": "pure-bf16", "optimizer": "sgd"}
    formula = model.formula("train-memory", **way)
    sizes = {name: SIZES[name] for name in map(str, formula.dependencies) if name in SIZES}
    numbers = {SYMBOLS[name]: number for name, number in SIZES.items()}
    assert formula.value(sizes) == train_bytes(model.component, numbers, **way, implementation="eager") > 0


@pytest.mark.parametrize(
    ("target", "changed", "way", "said"),
    [
        ("mamba2", {"A_ssm": 1, "G_ssm": 1}, {}, "A_ssm=1: in that case torch saves views of the inputs of a scan"),
        ("mamba", {"H_ssm": 1, "E": 1}, {}, "H_ssm=1: in that case torch saves views of the inputs of a scan"),
        ("mamba2", {"S": 1, "K_conv": 1}, {}, "S=1: in that case torch saves views of the inputs of a scan"),
        ("mamba2", {}, {"recompute": "selective"}, "Mamba-2 has no attention to recompute"),
        ("zamba2", {}, {"recompute": "full"}, "layers that share weights; choose recompute=none or selective"),
    ],
)
def test_unknown_tensors_of_scans_are_refused(
    target: str, changed: dict[str, int], way: dict[str, str], said: str
) -> None:
    drawn = {**SIZES, **changed}

    def value() -> int:
        formula = architecture(target).formula("activations", **way)
        return formula.value({name: drawn[name] for name in map(str, formula.dependencies) if name in drawn})

    with pytest.raises(SymformerError, match=said):
        value()


def test_scans_with_frozen_weights_are_refused() -> None:
    with pytest.raises(SymformerError, match="a scan with frozen weights is not supported"):
        architecture("falcon-h1", lora="q_proj").formula("activations")
