"""Activations of models with gated delta rules, compared with what autograd saves in transformers' code on the CPU."""

from __future__ import annotations

import pytest

from symformer import SymformerError, architecture
from symformer.architectures.base_architecture import Architecture
from symformer.language.symbols import SYMBOLS
from symformer.witness.torch_counts import activation_bytes

# transformers processes 64 tokens at once: 70 tokens are two chunks, the second with padding.
SIZES = {
    **{"B": 2, "S": 70, "V": 29, "E": 20, "H": 13, "A": 6, "G": 3, "D": 10, "D_rope": 8, "K_conv": 4},
    **{"A_k_lin": 2, "A_v_lin": 4, "D_k_lin": 7, "D_v_lin": 9, "L_lin": 1, "L_attn": 1, "L": 2},
    **{"X": 11, "K": 5, "M": 16, "M_shared": 24},
}
WHOLE = {"S": 128}
ALIKE = {"A_k_lin": 4}  # as many heads of keys as of values
ALONE = {"B": 1}
HALF = {"dtype": "bf16"}


@pytest.mark.parametrize(
    ("target", "options", "changed", "way"),
    [
        ("qwen3-5", {}, {}, {}),
        ("qwen3-5", {}, {}, HALF | {"implementation": "sdpa"}),
        ("qwen3-5", {}, WHOLE, {}),
        ("qwen3-5", {}, WHOLE, HALF),
        ("qwen3-5", {}, WHOLE | ALIKE, {}),
        ("qwen3-5", {}, WHOLE | ALONE, {}),
        ("qwen3-5", {}, WHOLE | ALIKE | ALONE, {}),
        ("qwen3-5", {}, {"S": 64}, {}),  # a single chunk
        ("qwen3-5", {}, {"S": 64} | ALIKE, {}),
        ("qwen3-5", {}, {"S": 64} | ALONE, {}),
        ("qwen3-5", {}, {"S": 40} | ALIKE | ALONE, {}),
        ("qwen3-5", {}, {"S": 40}, HALF | {"recompute": "full"}),
        ("qwen3-5-moe", {}, {}, HALF | {"moe": "batched"}),
        ("qwen3-5-moe", {}, ALONE, {"moe": "batched", "recompute": "selective"}),
        ("olmo-hybrid", {}, ALIKE, {}),
        ("olmo-hybrid", {"doubled": False}, {}, HALF),
        ("olmo-hybrid", {"rotary": False}, ALONE, HALF | {"recompute": "full"}),
        ("olmo-hybrid", {"rotary": False}, {"S": 40}, {"recompute": "selective"}),
    ],
)
def test_delta_rules_save_what_torch_saves(
    target: str, options: dict[str, bool], changed: dict[str, int], way: dict[str, str]
) -> None:
    model = architecture(target, **options)
    assert isinstance(model.component, Architecture)
    drawn = {**SIZES, **changed}
    formula = model.formula("activations", **way)
    sizes = {name: drawn[name] for name in map(str, formula.dependencies) if name in drawn}
    numbers = {SYMBOLS[name]: number for name, number in drawn.items()}
    assert formula.value(sizes) == activation_bytes(model.component, numbers, **way) > 0


@pytest.mark.parametrize(
    ("target", "options", "changed", "said"),
    [
        (
            "qwen3-next",
            {},
            {},
            "the gates that it copies in another order are not known; to exclude activations, choose",
        ),
        ("kimi-linear", {}, {}, "a decay for each row .* not supported; train-memory with implementation=none"),
        ("qwen3-5", {}, {"A_k_lin": 1, "A_v_lin": 1}, "A_v_lin=1: in that case torch saves views of the inputs"),
        ("qwen3-5", {}, {"D_k_lin": 1}, "D_k_lin=1: in that case torch saves views of the inputs"),
    ],
)
def test_unknown_tensors_of_delta_rules_are_refused(
    target: str, options: dict[str, str], changed: dict[str, int], said: str
) -> None:
    drawn = {**SIZES, **changed}

    def value() -> int:
        formula = architecture(target, **options).formula("activations", dtype="fp32")
        return formula.value({name: drawn[name] for name in map(str, formula.dependencies) if name in drawn})

    with pytest.raises(SymformerError, match=said):
        value()
