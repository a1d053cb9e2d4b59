"""Every table of rules is total: a kind of operation adds terms, adds nothing by decision, or is refused."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from sympy import Integer

import symformer as sf
from symformer.architectures.palm import PaLM
from symformer.language.errors import RuleError, ShapeError
from symformer.language.symbols import B, E, N_tok, N_tps, S
from symformer.ledger.facts import (
    ARRANGING,
    ATTENDING,
    CARRYING,
    COMPRESSING,
    MATCHING,
    MULTIPLYING,
    POINTWISE,
    ROUTING,
    STORING,
    WEIGHTLESS,
    Entry,
    Ledger,
    OperationKind,
    Scope,
    Tensor,
    Weight,
)
from symformer.ledger.placement import REDUCED
from symformer.quantities import quantities
from symformer.quantities.contractions import CONTRACTIONS
from symformer.quantities.elementwise import ELEMENTWISE
from symformer.quantities.intensity import BYTES
from symformer.quantities.quantity import counts_nothing, refuse_others

TABLES = {f"{name} {number}": table for name, each in quantities().items() for number, table in enumerate(each.tables)}
TABLES |= {"contractions": CONTRACTIONS, "elementwise": ELEMENTWISE, "intensity bytes": BYTES.rules}
TABLES |= {"axes that ranks cannot reduce alone": REDUCED}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_a_row_for_every_kind(name):
    assert set(TABLES[name]) == set(OperationKind)


@pytest.mark.parametrize("name", quantities())
def test_a_table_without_a_row_for_every_kind_is_an_error(name, monkeypatch):
    """Add a kind without any rules."""
    question = quantities()[name]
    assert list(question.tables)
    monkeypatch.setattr(sys.modules["symformer.quantities.quantity"], "OperationKind", [*OperationKind, _Undecided])
    with pytest.raises(RuleError, match=rf"the table of {name} has no row for undecided; add a rule"):
        replace(question)


def test_a_kind_without_a_row_is_refused_with_the_reason(monkeypatch):
    """A new kind has no row in these tables, and they refuse it with their own reason."""
    monkeypatch.setattr(sys.modules["symformer.quantities.quantity"], "OperationKind", [*OperationKind, _Undecided])
    rule = refuse_others("nobody knows", {OperationKind.ADD: counts_nothing})[_Undecided]
    with pytest.raises(RuleError, match=r"^act: nobody knows$"):
        rule(Entry(OperationKind.ADD, "act", (), Tensor("act", (B, S, E))), {})


class _Undecided:
    value = "undecided"


class _Observed:
    """Return a part whose ledger is one traced row: a product of B, S and E, or a matrix of E and E."""

    constraints = ()
    totals = {}
    library = "transformers"
    activation_refusal = ""
    totals = {}
    title = "Observed"
    name = "observed"

    def __init__(self, measured: str) -> None:
        output = Tensor("h.*.keys", (B, S, E), grad=Integer(1))
        weights = (Weight("h.*.w", (E, E)),) if measured == "params" else ()
        entry = Entry(OperationKind.OBSERVED, "h.*.keys", (), output, weights=weights, measured=measured)
        self.ledger = Ledger(Scope("", self, items=[entry]), None)

    def for_quantity(self, question, given):
        return self


# A quantity that is derived from another uses its traced counts: one multiply-add for two FLOPs.
FOLLOWS = {
    ("weight-memory", "params"): 2 * E**2,
    ("macs", "flops"): B * S * E,
    ("run-flops", "train-flops"): 2 * N_tok * E,
}
FOLLOWS[("weight-memory", "params")] = 2 * E**2  # two bytes per element
FOLLOWS |= dict.fromkeys([("mfu", "train-flops"), ("hfu", "train-flops")], 2 * N_tps * E)


# Two FLOPs per product of the multiplied sizes; two bytes per element of a cache in bf16; for saved tensors, the bytes
# per element are among the sizes. A stored matrix has E·E elements.
SEEN = {"params": E**2, "flops": 2 * B * S * E, "train-flops": 2 * B * S * E, "activations": B * S * E}
SEEN["kv-cache"] = 2 * B * S * E


@pytest.mark.parametrize("measured", SEEN)
@pytest.mark.parametrize("name", quantities())
def test_traced_rows_answer_only_the_quantity_they_were_traced_for(name, measured):
    part = _Observed(measured)
    if name == "pipeline-bubble":  # it depends on no operation
        return
    ways = [{"implementation": each} for each in ("eager", "none")] if name == "train-memory" else [{}]
    for way in ways:
        if name == measured:
            assert quantities()[name].formula(part, "observed", way, {}) == SEEN[name]
        elif (name, measured) in FOLLOWS:
            found = quantities()[name].formula(part, "observed", way, {})
            assert getattr(found, "above", found) == FOLLOWS[name, measured]
        else:
            with pytest.raises(RuleError, match="so other quantities cannot count it"):
                quantities()[name].formula(part, "observed", way, {})


@pytest.mark.parametrize("quantity", ["activations", "train-memory"])
def test_a_component_refuses_what_its_model_refuses(quantity):
    """Transformers has no PaLM, so its saved tensors are unknown."""
    asked = {"implementation": "eager"}
    for door in (sf.architecture("palm"), PaLM()):
        with pytest.raises(RuleError, match="transformers does not have this model"):
            door.formula(quantity, **asked)


def test_a_refusal_gives_its_reason():
    with pytest.raises(
        RuleError, match=r"^layers\.\*\.mlp\.top_k: which experts' weights are read depends on the routing"
    ):
        sf.architecture("mixtral-8x7b").formula("traffic")


def test_every_kind_is_in_exactly_one_family():
    assert {*MULTIPLYING} < {*STORING}
    families = [STORING, ATTENDING, POINTWISE, ARRANGING, ROUTING, CARRYING, COMPRESSING, MATCHING]
    assert sorted(kind for family in families for kind in family) == sorted({*OperationKind} - {OperationKind.OBSERVED})
    assert {*WEIGHTLESS} == {*OperationKind} - {*STORING, OperationKind.OBSERVED}


@pytest.mark.parametrize("kind", WEIGHTLESS)
def test_a_kind_that_counts_no_weights_stores_none(kind):
    with pytest.raises(ShapeError, match=f"'{kind.value}' cannot store weights"):
        Entry(kind, "act", (), Tensor("act", (B, S, E)), weights=(Weight("act.weight", (E,)),))


def test_rows_are_counted_once_for_each_copy():
    """An identity of the table: 2 FLOPs per element of x[B,S,1] · W[E,1]."""
    x = Tensor("x", (B, S, Integer(1)))
    entry = Entry(
        OperationKind.LINEAR, "up", (x,), Tensor("up", (B, S, E)), weights=(Weight("up.weight", (E, Integer(1))),)
    )
    (product,) = CONTRACTIONS[OperationKind.LINEAR](entry, {})
    assert product.forward("up").expr == 2 * B * S * E


def test_a_product_of_two_tensors_is_one_contraction_and_its_two_gradients():
    """x[b,m,n] · y[b,n,p]: 2·b·m·n·p forward, and the same for each factor that needs a gradient."""
    b, m, n, p = map(Integer, (3, 5, 7, 11))
    x, y = Tensor("x", (b, m, n), grad=Integer(1)), Tensor("y", (b, n, p))
    (product,) = CONTRACTIONS[OperationKind.PRODUCT](
        Entry(OperationKind.PRODUCT, "bmm", (x, y), Tensor("bmm", (b, m, p))), {}
    )
    assert product.forward("bmm").expr == 2 * 3 * 5 * 7 * 11
    assert [term.gradient for term in product.backward("bmm")] == ["the left side"]


@pytest.mark.parametrize("quantity", ["kv-cache", "decode-flops", "inference-memory", "generation-flops"])
def test_token_mixing_products_refuse_decode_quantities(quantity):
    conventions = {name: each.default for name, each in quantities()[quantity].choices.items()}
    rule = quantities()[quantity].rules[OperationKind.PRODUCT]
    alone = Tensor("x", (B, S, E)), Tensor("y", (B, E, E)), Tensor("z", (B, S, E))
    meets = Tensor("x", (B, S, E)), Tensor("y", (B, E, S)), Tensor("z", (B, S, S))
    summed = Tensor("x", (B, E, S)), Tensor("y", (B, S, E)), Tensor("z", (B, E, E))
    found = [rule(Entry(OperationKind.PRODUCT, "bmm", (x, y), z), conventions) for x, y, z in (alone,)]
    assert not any(term.expr.has(S) for terms in found for term in terms) or quantity == "generation-flops"
    for x, y, z in (meets, summed):
        with pytest.raises(RuleError, match="this product combines tokens, and caching it is not supported"):
            rule(Entry(OperationKind.PRODUCT, "bmm", (x, y), z), conventions)
