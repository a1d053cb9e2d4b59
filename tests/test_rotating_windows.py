"""Families with rotary positions only in the sliding-window layers, such as EXAONE 4 and Cohere2."""

from __future__ import annotations

import pytest
from sympy import Poly

from symformer import architecture
from symformer.language.symbols import L_global, L_local
from symformer.witness.torch_counts import ORACLES

WAYS = [(quantity, way) for quantity in ("activations", "train-memory") for way in ORACLES[quantity].ways]


@pytest.mark.parametrize(("quantity", "way"), WAYS, ids=str)
def test_the_expanded_formula_is_a_polynomial_in_both_depths(quantity: str, way: dict[str, str]) -> None:
    formula = architecture("exaone4").formula(quantity, **{**ORACLES[quantity].conventions, **way})
    # The cache is a sum over the two kinds of layers, so it is affine in the two depths.
    assert Poly(formula.expanded, L_local, L_global).total_degree() == 1
