"""Activations, byte by byte: what the hooks of torch are given, on the CPU and with real memory."""

from __future__ import annotations

import random

import pytest

from symformer import SymformerError, architecture
from symformer.architectures.base import Architecture
from symformer.symbols import SYMBOLS, A, B, E, H, S
from symformer.witness.oracles import activation_bytes

WAYS = [("eager", "off"), ("eager", "on"), ("sdpa", "off")]


def draw(target: str, seed: int) -> dict[str, int]:
    """Random sizes, all different: widths are what heads ask for."""
    source = random.Random(f"{target} {seed}")  # noqa: S311
    while True:
        small = {name: source.randint(2, 9) for name in ("B", "S", "L", "A", "G", "D")}
        sizes = {**small, "V": source.randint(20, 60), "P": source.randint(20, 60), "H": source.randint(5, 40)}
        if target in ("llama", "mistral"):
            sizes |= {"A": small["G"] * source.randint(2, 4), "D": 2 * small["D"]}
            sizes["E"] = sizes["A"] * source.randint(2, 5)
            del sizes["P"]
        else:
            sizes["E"] = sizes["A"] * source.randint(2, 9)
            del sizes["G"], sizes["D"]
        if target == "mistral":
            sizes["C_win"] = source.randint(2, 20)  # below the tokens there are, or above
        if target == "bert":
            sizes["V_type"] = source.randint(2, 60)
        if len(set(sizes.values())) == len(sizes):
            return sizes


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("implementation", "dropout"), WAYS)
@pytest.mark.parametrize("target", ["gpt2", "llama", "mistral", "bert"])
def test_bytes_that_the_hooks_see(target: str, implementation: str, dropout: str, seed: int) -> None:
    sizes = draw(target, seed)
    model = architecture(target)
    component = model.component
    assert isinstance(component, Architecture)
    numbers = {SYMBOLS[name]: number for name, number in sizes.items()}
    formula = model.formula("activations", implementation=implementation, dropout=dropout).partial(H="H")
    theirs = activation_bytes(component, numbers, implementation, dropout, device="cpu")
    assert formula.value(sizes) == theirs > 0


def test_the_expression_of_korthikanti() -> None:
    """Korthikanti et al. 2022, arXiv:2205.05198, eq. 1: sbh(34 + 5as/h) bytes a layer; here B·S·E·(34 + 5·A·S/E)."""
    layer = architecture("gpt2").formula("activations", implementation="megatron", dropout="on").part("h")
    assert layer.equals(S * B * E * (34 + 5 * A * S / E))
    core = layer.part("h.attn")  # eq. 2's first part: 11sbh + 5as²b, less the 2sbh that the norm before it made
    assert core.equals(9 * S * B * E + 5 * A * S**2 * B)


def test_what_an_implementation_is_not_for_is_refused() -> None:
    with pytest.raises(SymformerError, match="transformers does not have this model"):
        architecture("gpt-from-scratch").formula("activations")
    with pytest.raises(SymformerError, match="implementation=megatron is for layer, and this is rms"):
        architecture("llama").formula("activations", implementation="megatron")
    with pytest.raises(SymformerError, match="the fused kernel of the CPU has no dropout"):
        architecture("gpt2").formula("activations", implementation="sdpa", dropout="on")


def test_one_head_of_one_sequence_is_refused() -> None:
    """Torch keeps an expanded view there, so the formula, which counts the copy, would be wrong."""
    formula = architecture("llama-2-7b").formula("activations")
    with pytest.raises(SymformerError, match="does not hold for B=1 and G=1: torch then keeps a view"):
        formula.value({"B": 1, "G": 1, "S": 7, "V": 29, "E": 24, "H": 11, "L": 5, "A": 6, "D": 10})
    assert formula.value("llama-2-7b", B=1, S=7) > 0


def test_gelu_that_is_written_out_costs_three_more() -> None:
    gpt2 = architecture("gpt2").formula("activations").partial(H="H")
    assert gpt2.part("h.mlp").equals(20 * B * S * H)  # input, three products and output of the function, 4 bytes each
