"""The short form of a formula: the names of repeated parts, common factors, and detection of a wrong form."""

from __future__ import annotations

import pytest
from sympy import expand

from symformer.architectures import architecture
from symformer.formulas import structured_form
from symformer.formulas.structured_form import structured
from symformer.language.errors import DerivationError
from symformer.language.notation.display_tree import tree, value
from symformer.language.notation.text import text

# Two forward all-reduces for each layer and one for the embedding, and as many backward, in bytes of float32:
# 2(2L + 1) tensors of 4BSE bytes, of which each rank sends and receives (1 - 1/N_tp) of the bytes.
CASES = {
    ("llama", "communication", "tensor"): ("8BSE(2L + 1)(1 - 1/N_tp)", []),
    ("mpt", "flops", ""): ("4BSLE(S + 6E) + 2BSVE", []),
    ("vit", "flops", ""): (
        "4BLE(N[patch](2E + H + N[patch] + 2) + 2E + H + 1) + 2BE(Z²·N_chan + E)",
        ["N[patch] = Z²/Z_patch²"],
    ),
    ("qwen3-next", "kv-cache", ""): ("", []),
    ("mamba2", "flops", ""): ("", ["N[chunk] = ceil(S/C_chunk)"]),
    ("sam", "flops", ""): ("", ["N[patch] = floor(Z/Z_patch)²"]),
}


@pytest.mark.parametrize(("target", "quantity", "on"), CASES, ids=str)
def test_short_forms_name_repeated_parts_and_take_factors_out(target: str, quantity: str, on: str) -> None:
    formula = architecture(target).formula(quantity, **({on: "on"} if on else {}))
    form = structured(formula.display_expr)
    shown, parts = CASES[target, quantity, on]
    assert [f"{text(part.label)} = {text(tree(part.definition))}" for part in form.parts] == parts
    if shown:
        assert text(form.steps[0]) == shown
    for step in form.steps:
        assert expand(value(step) - formula.display_expr) == 0


def test_a_name_that_the_model_uses_is_not_taken() -> None:
    formula = architecture("vit").formula("flops")
    taken = formula.display_expr + structured_form.named_symbol("N_patch")
    assert structured(taken).parts == ()


def test_a_wrong_short_form_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structured_form, "_short", lambda expr: tree(expr + 1))
    with pytest.raises(DerivationError, match="is not equal to"):
        structured(architecture("gpt2").formula("params").display_expr)
