"""Possible counts behind a published number: the quantities in its unit, each with alternative conventions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from sympy import Add, Expr, Integer, Symbol

from ...architectures import composed_model, presets
from ...formulas.formula import Formula
from ...formulas.ratio import Ratio
from ...language.errors import OptionError, SizeError, SymformerError, joined, needs_values
from ...language.frozen import Immutable
from ...language.printed_number import PERCENT, PrintedNumber
from ...language.symbols import B, C, N_tok, P, S, letter, symbol
from ...ledger.facts import ATTENDING, OperationKind
from ...models.model import Model
from ...quantities import quantity as find_quantity
from ...quantities.cache_rules import SIZES
from ...quantities.quantity import COUNTED
from ...quantities.weight_formats import MEANINGS, UNUSUAL, defaults
from . import parameter_changes
from .counting_changes import CountingChange, FormulaTerm, Rank, exclusion, row_total, rows_of, value_at

STORED = ("params", "active-params", "trainable-params")  # counts in elements with weights as rows
OPERATIONS = ("flops", "macs", "train-flops", "run-flops", "prefill-flops", "decode-flops", "generation-flops")
BYTES = {Fraction(2): "2 bytes (bf16 or fp16)", Fraction(4): "4 bytes (fp32)", Fraction(1): "1 byte (int8 or fp8)"}
# The units in which a quantity can be printed, by its own unit.
FITS = {"FLOPs": ("FLOPs", "MACs"), "MACs": ("MACs",), "bytes": ("bytes", "elements"), "elements": ("elements",)}
FITS |= dict.fromkeys(("of the FLOPs", "of the peak", "of the time"), (PERCENT,))
HALF = Fraction(1, 2)
MACS = frozenset({"macs"})
NONE: Mapping[str, str] = {}
HEADS = ("head", "tied", "pooler")  # options that determine the modules after the layers
OFF = Fraction(1, 4)  # the largest relative error of the size in a name
_SIZE = re.compile(r"(?<![^-_/])(\d+(?:\.\d+)?)([mb])(?![^-_/])")  # 7b of llama-2-7b; not 8x7b, nor a3b


@dataclass(frozen=True, eq=False)
class CountingMethod(Immutable):
    """One count: a formula with numbers, in a unit, and its alternative conventions."""

    counts: str  # "the number of parameters"
    formula: Formula
    numbers: Mapping[Symbol, int]
    model: Model | None = None  # the model, for a count of parameters
    scale: Fraction = Fraction(1)
    says: tuple[str, ...] = ()  # the conventions that already differ from symformer's count
    made: Callable[[], Sequence[CountingChange]] = tuple  # returns the alternative conventions, computed on demand
    unit: str = "elements"
    rank: Rank = Rank.PLAIN
    nominal: int = 0  # the parameters stated in the name of the model, if used

    @property
    def cost(self) -> int:
        """The number of conventions that already differ."""
        return len(self.says)

    @cached_property
    def changes(self) -> tuple[CountingChange, ...]:
        """The alternative conventions."""
        return tuple(self.made())

    @cached_property
    def whole(self) -> Expr:
        """The formula without substituted relations, so that each size can change alone."""
        if self.nominal:
            return Integer(self.nominal)
        above = self.formula.root.each
        return above / self.formula.denominator.root.each if isinstance(self.formula, Ratio) else above

    @cached_property
    def value(self) -> Fraction:
        """The exact value of the count."""
        return self.scale * value_at(self.whole, self.numbers)


def counting_methods(
    model: Model, number: PrintedNumber, quantity: str | None, given: Mapping[str, str]
) -> Iterator[CountingMethod]:
    """Yield the counts that a published number can be, plain counts first. Raises SymformerError if there are none."""
    if number.unit == PERCENT and quantity is None:
        raise OptionError(f"{number.text!r} is a percentage; name the quantity, as in -q mfu")
    if quantity is not None:
        _held(number, find_quantity(quantity).measure.unit, quantity)
        yield from _asked(model, number, quantity, given)
    elif given:
        raise OptionError(f"{next(iter(given))} is a convention of a quantity; name the quantity with -q")
    elif number.unit in ("FLOPs", "MACs"):
        yield from _operations(model, number, "flops")
        yield from _operations(model, number, "train-flops", 1)
    elif number.unit == "bytes":
        if own := model.provenance.weights:
            yield from in_format(model, own, f"the size of the weights as published (weights={own})", ())
        for way in _stored(model, number.active):
            for size, said in BYTES.items():
                yield _in_bytes(way, size, said)
        yield from _nominal(model, number.active)
        if not number.active:
            yield from _formats(model)
    else:
        yield from _stored(model, number.active)


def _held(number: PrintedNumber, unit: str, quantity: str) -> None:
    fits = FITS.get(unit, ())
    if not fits:
        raise OptionError(f"{quantity} is in {unit}; explain accepts only counts")
    if PERCENT in fits and number.unit != PERCENT:
        raise OptionError(f"{number.text!r} is not a percentage, but {quantity} is one; write it as in 46.2 %")
    if number.unit and number.unit not in fits:
        raise OptionError(f"{number.text!r} is in {number.unit}, but {quantity} is counted in {unit}")


def _asked(model: Model, number: PrintedNumber, quantity: str, given: Mapping[str, str]) -> Iterator[CountingMethod]:
    if quantity in STORED and not given:
        yield from _stored(model, quantity == "active-params", quantity)
    elif quantity in OPERATIONS:
        yield from _operations(model, number, quantity, given=given)
    elif number.unit == PERCENT:
        yield _share(model, quantity, given)
    else:
        yield _conventional(model, number, quantity, given)


def _stored(model: Model, active: bool, quantity: str = "params") -> Iterator[CountingMethod]:
    """Yield the parameter counts of the model, of its variants with one option changed, and of active experts."""
    wanted = "active-params" if active else quantity
    called = {"params": "the number of parameters", "active-params": "the number of active parameters"}
    yield _of_weights(model, wanted, called.get(wanted, "the number of trainable parameters"))
    if wanted == "params" and symbol("X") in model.known:
        way = _of_weights(model, "active-params", "the number of active parameters")
        yield replace(way, says=("only the experts that a token is routed to",), rank=Rank.HEAD)
    if wanted == "trainable-params":
        return
    for said, other in _options(model):
        rank = Rank.HEAD if said.partition("=")[0] in HEADS else Rank.PARTS
        yield replace(_of_weights(other, wanted, called[wanted]), says=(said,), rank=rank)


def _of_weights(model: Model, quantity: str, counts: str) -> CountingMethod:
    formula = model.formula(quantity)
    return CountingMethod(
        counts,
        formula,
        _numbers(model, formula),
        model,
        made=lambda: parameter_changes.parameter_changes(model, formula),
    )


def _in_bytes(way: CountingMethod, size: Fraction, said: str) -> CountingMethod:
    """Return a count of parameters in bytes, at ``size`` bytes per parameter."""
    model, formula = way.model, way.formula
    return replace(
        way,
        counts=f"the size, at {said} each, of the {way.counts.removeprefix('the number of ')}",
        scale=size,
        unit="bytes",
        made=(lambda: parameter_changes.parameter_changes(model, formula, size)) if model is not None else tuple,
    )


def in_format(model: Model, name: str, counts: str, says: tuple[str, ...]) -> Iterator[CountingMethod]:
    """Yield the bytes of the weights in a format; nothing if the format does not support the model."""
    try:
        formula = model.formula("weight-memory", weights=name)
        numbers = {**defaults(name), **_numbers_of(formula)}
    except SymformerError:
        return
    yield CountingMethod(counts, formula, numbers, says=says, unit="bytes", rank=Rank.PARTS if says else Rank.PLAIN)


def _formats(model: Model) -> Iterator[CountingMethod]:
    """Yield the bytes of the weights in each other format; formats with equally many bytes are one count."""
    found: dict[Fraction, tuple[CountingMethod, list[str]]] = {}
    has_experts = symbol("X") in model.known
    for name in (each for each in MEANINGS if each in UNUSUAL - {model.provenance.weights}):
        if not has_experts and name.endswith(("-experts", "_moe")):
            continue
        for way in in_format(model, name, "the size of the weights", (name,)):
            found.setdefault(way.value, (way, []))[1].append(name)
    for way, (name, *others) in found.values():
        alike = f", as many bytes as {joined(others)}" if others else ""
        yield replace(way, says=(f"weights={name} ({_library(name)}){alike}",))


def _library(name: str) -> str:
    """Return the first words of the meaning of a format: "AWQ" or "a GGUF file of type Q4_K_M"."""
    return MEANINGS[name].partition(";")[0].partition(":")[0].partition(",")[0]


def _numbers_of(formula: Formula) -> Mapping[Symbol, int]:
    """Return the numbers of a formula, after checking every condition."""
    formula.value()
    return formula.with_totals(formula.source.known) if formula.source is not None else {}


def _nominal(model: Model, active: bool) -> Iterator[CountingMethod]:
    """Return the number of parameters in the name of a model, such as 7B, in bytes.

    The model must have the unchanged sizes of that name and nearly as many parameters. Active parameters are skipped.
    """
    found = _SIZE.findall(model.name.lower())
    if active or len(found) != 1 or not _as_named(model):
        return
    digits, letter_ = found[0]
    stated = int(Fraction(digits) * {"m": 10**6, "b": 10**9}[letter_])
    way = _of_weights(model, "params", "the number of parameters")
    if not stated or abs(way.value - stated) > OFF * stated:
        return
    says = (f"the {digits}{letter_.upper()} in its name instead of {int(way.value):,}",)
    way = replace(way, says=says, rank=Rank.NOMINAL, nominal=stated, model=None)
    for size, said in {**BYTES, HALF: "4 bits"}.items():
        yield _in_bytes(way, Fraction(size), said)


def _as_named(model: Model) -> bool:
    """Return True if a model has the unchanged sizes of its target."""
    if model.target in presets():
        known = composed_model(model.target).known
        return all(model.known.get(size) == number for size, number in known.items())
    return True


def _numbers(model: Model, formula: Formula) -> Mapping[Symbol, int]:
    if lacking := [size for size in formula.symbols if size not in model.known]:
        raise SizeError(needs_values(formula.id, lacking, before="name a preset, or "))
    formula.value()  # checks every condition
    return model.known


def _options(model: Model) -> Iterator[tuple[str, Model]]:
    """Yield the variants of a model with one option changed that store other weights."""
    component, own = model.component, model.params.expanded
    for name, values in component.choices().items():
        if any(word in name for word in ("activation", "dropout", "window")):
            continue
        for value in values:
            if value == getattr(component, name):
                continue
            try:
                other = replace(model, component=replace(component, **{name: value}))
                if other.params.expanded != own:
                    other.params.value()
                    yield f"{name}={str(value).lower()}", other
            except (SymformerError, TypeError):
                continue


def _operations(
    model: Model, number: PrintedNumber, quantity: str, cost: int = 0, given: Mapping[str, str] = NONE
) -> Iterator[CountingMethod]:
    """Yield the FLOPs of a run, exactly and by the rules of thumb: 2 or 6 per parameter and token."""
    model = _run(model, quantity, given)
    formula = model.formula(quantity, **given)
    scale = HALF if number.unit == "MACs" and quantity != "macs" else Fraction(1)
    says = ("the backward pass counted too",) if cost else ()
    plain = _conventional(model, number, quantity, given)
    yield replace(plain, counts=_run_said(model, formula, quantity, number), scale=scale, says=says)
    rules = {"flops": (2, "2 FLOPs"), "macs": (1, "1 multiply-add"), "train-flops": (6, "6 FLOPs")}
    rules["run-flops"] = rules["train-flops"]
    if quantity not in rules or S not in model.known:
        return
    each, said = rules[quantity]
    tokens = model.known[N_tok] if quantity == "run-flops" else model.known[B] * model.known[S]
    thumb = _of_weights(model, "active-params" if symbol("X") in model.known else "params", "")
    counts = f"{said} per parameter and token for {tokens:,} tokens"
    says = (*says, "attention left out")
    yield replace(thumb, counts=counts, scale=scale * each * tokens, says=says, unit=formula.measure.unit)


def _run(model: Model, quantity: str, conventions: Mapping[str, str]) -> Model:
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


def _conventional(model: Model, number: PrintedNumber, quantity: str, given: Mapping[str, str]) -> CountingMethod:
    """Return the count of a quantity, with all values of its conventions that are not given as alternatives."""
    model = _run(model, quantity, given)
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
        found = [switch for switch in _otherwise(model, formula, quantity, given) if not switch.decides & given.keys()]
        if unit in ("FLOPs", "MACs"):
            return [*found, *_products(formula, number)]
        return [switch for switch in found if unit == formula.measure.unit or "dtype" not in switch.decides]

    return CountingMethod(counts, formula, _numbers(model, formula), scale=scale, made=made, unit=unit)


def _share(model: Model, quantity: str, given: Mapping[str, str]) -> CountingMethod:
    """Return the count of a percentage, with the given conventions only."""
    formula = model.formula(quantity, **given)
    numbers = _numbers(model, formula)
    run = ", ".join(f"{size} = {numbers[size]:,}" for size in formula.symbols if letter(size).run)
    return CountingMethod(f"the {formula.measure.title} ({run})", formula, numbers, scale=Fraction(100), unit=PERCENT)


def _otherwise(model: Model, formula: Formula, quantity: str, given: Mapping[str, str]) -> Iterator[CountingChange]:
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
