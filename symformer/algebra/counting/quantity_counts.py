"""Counts of a quantity with its own conventions, such as a cache, and the FLOPs of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Add, Expr, Integer, Symbol

from ...formulas.formula import Formula
from ...language.errors import OptionError, SizeError, SymformerError
from ...language.number_words import PERCENT
from ...language.printed_number import PrintedNumber
from ...language.symbols import B, C, N_tok, P, S, letter, symbol
from ...ledger.facts import ATTENDING, OperationKind
from ...models.model import Model
from ...quantities import quantity as find_quantity
from ...quantities.cache_rules import SIZES
from ...quantities.quantity import COUNTED
from .counting_changes import CountingChange, FormulaTerm, exclusion, row_total, rows_of
from .counting_method import CountingMethod, numbers_of_model
from .parameter_counts import of_weights

HALF = Fraction(1, 2)
MACS = frozenset({"macs"})
NONE: Mapping[str, str] = {}


def operation_counts(
    model: Model, number: PrintedNumber, quantity: str, cost: int = 0, given: Mapping[str, str] = NONE
) -> Iterator[CountingMethod]:
    """Yield the FLOPs of a run, exactly and by the rules of thumb: 2 or 6 per parameter and token."""
    model = model_of_run(model, quantity, given)
    formula = model.formula(quantity, **given)
    scale = HALF if number.unit == "MACs" and quantity != "macs" else Fraction(1)
    says = ("the backward pass counted too",) if cost else ()
    plain = count_of_quantity(model, number, quantity, given)
    yield replace(plain, counts=_run_said(model, formula, quantity, number), scale=scale, says=says)
    rules = {"flops": (2, "2 FLOPs"), "macs": (1, "1 multiply-add"), "train-flops": (6, "6 FLOPs")}
    rules["run-flops"] = rules["train-flops"]
    if quantity not in rules or S not in model.known:
        return
    each, said = rules[quantity]
    tokens = model.known[N_tok] if quantity == "run-flops" else model.known[B] * model.known[S]
    thumb = of_weights(model, "active-params" if symbol("X") in model.known else "params", "")
    counts = f"{said} per parameter and token for {tokens:,} tokens"
    says = (*says, "attention left out")
    yield replace(thumb, counts=counts, scale=scale * each * tokens, says=says, unit=formula.measure.unit)


def model_of_run(model: Model, quantity: str, conventions: Mapping[str, str]) -> Model:
    """Return the model with the sizes of a run: by default one sequence of its maximum length."""
    formula = model.formula(quantity, **conventions)
    wanting = [size for size in formula.symbols if size not in model.known]
    given: dict[Symbol | str, Expr | int | str] = {}
    if N_tok in wanting:
        raise SizeError(f"{quantity} of {model.target} depends on N_tok; give it as --set N_tok=300000000000")
    if B in wanting:
        given[B] = Integer(1)
    for size in (S, C):
        if size in wanting:
            if P not in model.known:
                raise SizeError(f"{quantity} of {model.target} depends on {size}; give it as --set {size}=2048")
            given[size] = Integer(model.known[P])
    return model.set(given) if given else model


def _run_said(model: Model, formula: Formula, quantity: str, number: PrintedNumber) -> str:
    unit = "MACs" if number.unit == "MACs" else formula.measure.unit
    asked = [size for size in (B, S, C, N_tok) if size in formula.symbols]
    run = ", ".join(f"{size} = {model.known[size]:,}" for size in asked)
    forward, both = "one forward pass", "one forward and backward pass"
    of = {"flops": forward, "macs": forward, "train-flops": both}.get(quantity)
    return f"the {unit} of {of}" + (f" ({run})" if run else "") if of else f"the {formula.measure.title} ({run})"


def count_of_quantity(model: Model, number: PrintedNumber, quantity: str, given: Mapping[str, str]) -> CountingMethod:
    """Return the count of a quantity, with all values of its conventions that are not given as alternatives."""
    model = model_of_run(model, quantity, given)
    formula = model.formula(quantity, **given)
    unit, scale = formula.measure.unit, Fraction(1)
    run = ", ".join(f"{size} = {model.known[size]:,}" for size in (B, S, C, N_tok) if size in formula.symbols)
    counts = f"the {formula.measure.title}" + (f" ({run})" if run else "")
    if unit == "bytes" and number.unit == "elements":
        size = SIZES.get(formula.conventions.get("dtype", ""))
        if size is None:
            raise OptionError(f"{number.text!r} is in elements, but {quantity} is counted in bytes")
        counts, scale, unit = counts.replace("bytes of", "elements of"), Fraction(1, int(size)), "elements"

    def made() -> list[CountingChange]:
        found = [
            switch for switch in other_conventions(model, formula, quantity, given) if not switch.decides & given.keys()
        ]
        if unit in ("FLOPs", "MACs"):
            return [*found, *_products(formula, number)]
        return [switch for switch in found if unit == formula.measure.unit or "dtype" not in switch.decides]

    return CountingMethod(counts, formula, numbers_of_model(model, formula), scale=scale, made=made, unit=unit)


def share_of_quantity(model: Model, quantity: str, given: Mapping[str, str]) -> CountingMethod:
    """Return the count of a percentage, with the given conventions only."""
    formula = model.formula(quantity, **given)
    numbers = numbers_of_model(model, formula)
    run = ", ".join(f"{size} = {numbers[size]:,}" for size in formula.symbols if letter(size).run)
    return CountingMethod(f"the {formula.measure.title} ({run})", formula, numbers, scale=Fraction(100), unit=PERCENT)


def other_conventions(
    model: Model, formula: Formula, quantity: str, given: Mapping[str, str]
) -> Iterator[CountingChange]:
    """Yield a switch for every other value of each convention."""
    known = find_quantity(quantity).choices
    for name, convention in known.items():
        if convention.hidden_by_default and name != COUNTED:
            continue
        for choice in convention.usual:
            meaning = convention.meanings[choice]
            if choice == formula.conventions.get(name, convention.default):
                continue
            try:
                other = model.formula(quantity, **{**given, name: choice})
            except SymformerError:
                continue
            each = 2 if (formula.measure.unit, other.measure.unit) == ("FLOPs", "MACs") else 1
            change = each * other.root.each - formula.root.each
            if change != 0 and change.free_symbols <= model.known.keys():
                said = f"{name}={choice}"
                # A rule set decides all conventions, including attention and the head.
                decides = {name, *known, "attention", "logits"} if name == COUNTED else {name}
                yield CountingChange(frozenset(decides), said, change, rows=_differing(formula, other), meaning=meaning)


def _products(formula: Formula, number: PrintedNumber) -> list[CountingChange]:
    """Return switches that omit products from a FLOP count, and one that converts between FLOPs and MACs."""
    rows = rows_of(formula)
    core = row_total(row for row in rows if row.entry.kind in ATTENDING)
    rest = row_total(row for row in rows if not _of_each(row))
    said, factor = "each multiply-add counted once, as MACs", HALF
    if "MACs" in (number.unit, formula.measure.unit):
        said, factor = "each multiply-add counted twice, as FLOPs", Fraction(2)
    return [
        *exclusion("attention", "the attention core (scores and weighted values) left out", core),
        *exclusion("logits", "the head left out", row_total(row for row in rows if row.entry.logits)),
        *exclusion("attention logits", "only the products of tokens with the layers' weight matrices counted", rest),
        CountingChange(MACS, said, scale=factor),
    ]


def _of_each(row: FormulaTerm) -> bool:
    """Return True for the product of each token with a matrix of a layer, rather than of one vector per sequence."""
    return row.entry.kind is OperationKind.LINEAR and "*" in row.line.path and len(row.entry.inputs[0].shape) > 2


def _differing(formula: Formula, other: Formula) -> tuple[str, ...]:
    """Return the paths of the rows in which two formulas of one model differ."""
    ours, theirs = (
        {row.line.path: Add(*(each.total for each in rows if each.line.path == row.line.path)) for row in rows}
        for rows in (rows_of(formula), rows_of(other))
    )
    return tuple(path for path in dict.fromkeys([*ours, *theirs]) if ours.get(path, 0) != theirs.get(path, 0))
