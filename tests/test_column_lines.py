"""Long lines of mathematics in a column: where they break, and that they keep their brackets."""

from __future__ import annotations

import pytest

from symformer.documents.formats.column import chunks
from symformer.language.notation.display_tree import Applied, Pointwise, Product, TensorName, Transposed, Tree

X, GATE, UP, DOWN = TensorName("x"), *(TensorName("W", name) for name in ("gate", "up", "down"))
# (SiLU(x W_gate^T) ⊙ x W_up^T) W_down^T: Shazeer 2020, arXiv:2002.05202, eq. 6
PRODUCT = Pointwise((Applied("SiLU", (Product((X, Transposed(GATE))),)), Product((X, Transposed(UP)))))
SWIGLU = Product((PRODUCT, Transposed(DOWN)))


@pytest.mark.parametrize(
    ("shown", "signs"),
    [
        (SWIGLU, ["", r"\odot", r"\cdot"]),
        (Applied("scan", (TensorName("u"), TensorName("Δ"), TensorName("γ"))), ["", "", ""]),
    ],
)
def test_a_broken_line_keeps_its_brackets(shown: Tree, signs: list[str]) -> None:
    pieces = chunks(shown, 12)
    assert [each.sign for each in pieces] == signs
    line = "".join(each.spelt for each in pieces)
    depth = 0
    for place, character in enumerate(line):
        depth += (character == "(") - (character == ")")
        assert depth >= 0, line[: place + 1]
    assert depth == 0
    assert line.count("(") == (2 if shown is SWIGLU else 1)


def test_greek_letters_are_commands_of_latex() -> None:
    assert "".join(each.spelt for each in chunks(TensorName("γ"), 50)) == r"\gamma"
