"""The search for the fewest conventions under which a reading of a printed formula equals ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from sympy import Expr, Integer, Rational, Symbol, ceiling, expand, together

from ..components.base import spell_option
from ..formulas.formula import Formula
from ..language.errors import SymformerError
from ..language.notation.text import text
from ..language.symbols import A, D, E, G, H, V, W
from ..models.model import Model
from ..quantities import quantity as find_quantity
from ..quantities.quantity import COUNTED
from .account_terms import NOWHERE, PRIME, AccountTerm, Point, account_terms, fingerprint, is_zero, total_of_terms
from .paper_conventions import PaperConvention, groups_of, scales
from .reading_search import PrintedReading

MOST = 5  # maximum number of conventions at once
MULTIPLES = (8, 16, 32, 64, 128, 256, 512, 1024)  # usual multiples to which a vocabulary is rounded up
LONG = 60  # maximum number of terms of a formula for pairs of conventions
PAIRS = 40  # maximum number of pairs of the quantity's own conventions
CHOICES = 6  # maximum number of values of an option
LACKING = 5  # maximum number of different sets of sizes that readings lack
MAX_RATIO = 3  # largest denominator of H/E that a formula prints, as in 8E/3
COST = 3  # implausibility of a convention; a rare reading of one name has 1 or 2
_SYMBOLIC = ("dtype = symbolic",)  # makes bytes per element a size, so that bytes can be converted to elements
_SILENT = ("activation", "dropout")  # options that do not affect the counts in papers


@dataclass(frozen=True)
class Agreement:
    """A reading of the printed formula, and the conventions under which it equals ours."""

    reading: PrintedReading
    conventions: tuple[PaperConvention, ...]

    @property
    def implausibility(self) -> int:
        """A number that orders agreements: the conventions, then the rarity of the readings."""
        return COST * len(self.conventions) + self.reading.rarity


@dataclass(frozen=True)
class OptionVariant:
    """Our formula under other options of the model or conventions of the quantity."""

    names: tuple[str, ...]
    formula: Formula
    puts: Mapping[Symbol, Expr] = field(default_factory=dict)  # for sizes that the printed formula does not contain
    whole: bool = False  # True for a complete published rule set, which is not combined with other switches


def agreements(
    model: Model, formula: Formula, part: str | None, readings: Sequence[PrintedReading], asked: Mapping[str, str]
) -> list[Agreement]:
    """Return the most plausible agreements of a reading with our formula; several only if they are equally plausible.

    Parameters
    ----------
    model, formula, part
        Our model and its formula, of a part if that is not None.
    readings
        The readings of the printed formula.
    asked
        The requested conventions of the quantity.

    """
    wanted: dict[int, list[PrintedReading]] = {}
    for each in readings:
        if (number := each.fingerprint) is not None:
            wanted.setdefault(number, []).append(each)
    best: list[Agreement] = []
    for variant in _variants(model, formula, part, asked, readings):
        limit = best[0].implausibility if best else None
        for found in _of_variant(variant, formula, wanted, limit):
            if not best or found.implausibility < best[0].implausibility:
                best = [found]
            elif found.implausibility == best[0].implausibility:
                best.append(found)
    return best


def _of_variant(
    variant: OptionVariant, base: Formula, wanted: Mapping[int, list[PrintedReading]], limit: int | None
) -> Iterator[Agreement]:
    point = Point.of(variant.puts) if variant.puts else NOWHERE
    parts = account_terms(variant.formula) if base.additive else []
    whole = total_of_terms(parts) if base.additive else variant.formula.expanded
    start = fingerprint(whole, point) if point is not None else None
    if start is None or point is None:
        return
    fixed = {size for size, value in variant.puts.items() if size not in value.free_symbols}  # not a padded vocabulary
    switched = [] if variant.whole or not base.additive else groups_of(variant.formula, parts)
    groups = [[(fingerprint(each.added, point) or 0, each) for each in group] for group in switched]
    factors = [(fingerprint(factor, point) or 0, name, factor) for name, factor in scales(variant.formula, whole)]
    most = MOST if limit is None else limit // COST
    for count in range(max(0, min(len(groups), most - len(variant.names)) + 1)):
        for some in combinations(groups, count):
            for chosen in product(*some):
                amount = start + sum(number for number, _ in chosen)
                for scaled, name, factor in factors:
                    for reading in wanted.get(amount * scaled % PRIME, ()):
                        if reading.sizes.isdisjoint(fixed):
                            switches = [one for _, one in chosen]
                            yield from _proved(variant, base, parts, whole, switches, name, factor, reading)


def _proved(
    variant: OptionVariant,
    base: Formula,
    parts: Sequence[AccountTerm],
    whole: Expr,
    switches: Sequence[PaperConvention],
    name: str,
    factor: Expr,
    reading: PrintedReading,
) -> Iterator[Agreement]:
    """Yield the agreement if it holds exactly, with the terms that each convention adds."""
    puts = dict(variant.puts)
    put = expand(whole.xreplace(puts)) if base.additive else whole.xreplace(puts)
    chosen = [replace(each, added=expand(each.added.xreplace(puts))) for each in switches]
    ours = (put + sum((each.added for each in chosen), Integer(0))) * factor
    ours = expand(ours) if base.additive else together(ours)
    if not is_zero(ours - reading.expr):
        return
    change = expand(put - base.expanded) if base.additive else put - base.expanded
    first = [PaperConvention(each, change if place == 0 else Integer(0)) for place, each in enumerate(variant.names)]
    own = [] if variant.names == _SYMBOLIC and W in factor.free_symbols else first
    found = [*own, *chosen]
    if name:
        found.append(PaperConvention(name, expand(ours - ours / factor + (Integer(0) if own else change))))
    if reading.count is not None:
        found.append(PaperConvention(reading.count.name, Integer(0)))
    if len(found) <= MOST:
        yield Agreement(reading, tuple(found))


def _variants(
    model: Model, formula: Formula, part: str | None, asked: Mapping[str, str], readings: Sequence[PrintedReading]
) -> Iterator[OptionVariant]:
    """Our formula, then with one option or convention changed, then with two conventions changed."""
    seen: set[Expr] = {formula.expanded}
    base = OptionVariant((), formula)
    yield base
    for name, puts in _padded(model, readings):
        yield OptionVariant((name,), formula, puts)
    fixed = list(_fixed(model, formula, readings))
    for name, puts in fixed:
        yield OptionVariant((name,), formula, puts)
    quantity = formula.measure.name
    known = find_quantity(quantity).conventions
    ways = [
        {name: choice}
        for name, convention in known.items()
        for choice in convention.usual
        if choice != formula.conventions.get(name, convention.default)
        and (
            not convention.hidden_by_default or name in formula.conventions
        )  # weights that are omitted have their own switches
    ]
    for other in _options(model):
        named = [f"{key} = {value}" for key, value in _changed(model, other)]
        made = _made(other, quantity, asked, part)
        if made is not None and made.expanded not in seen:
            seen.add(made.expanded)
            yield OptionVariant(tuple(named), made)
    pairs = [{**one, **two} for one, two in combinations(ways, 2) if one.keys() != two.keys()]
    few = len(account_terms(formula)) <= LONG
    for way in [*ways, *(pairs[:PAIRS] if few else [])]:
        made = _made(model, quantity, {**asked, **way}, part)
        if made is not None and made.expanded not in seen:
            seen.add(made.expanded)
            yield OptionVariant(tuple(f"{key} = {value}" for key, value in way.items()), made)
    others = find_quantity(quantity).choices.get(COUNTED)
    for choice in others.meanings if others else ():
        made = _made(model, quantity, {**asked, COUNTED: choice}, part)
        if made is not None and made.measure.unit == formula.measure.unit and made.expanded not in seen:
            seen.add(made.expanded)
            yield OptionVariant((f"{COUNTED} = {choice}",), made, whole=True)


def _made(model: Model, quantity: str, asked: Mapping[str, str], part: str | None) -> Formula | None:
    try:
        made = model.formula(quantity, **asked)
        return made if part is None else made.part(part)
    except SymformerError:
        return None


def _options(model: Model) -> Iterator[Model]:
    """Yield the model with one option changed."""
    for name, choices in model.component.choices().items():
        if not 1 < len(choices) <= CHOICES or any(word in name for word in _SILENT):
            continue
        for choice in choices:
            if choice != getattr(model.component, name):
                try:
                    yield replace(model, component=replace(model.component, **{name: choice}))
                except SymformerError:
                    continue


def _changed(model: Model, other: Model) -> Iterator[tuple[str, str]]:
    for name in model.component.choices():
        if getattr(model.component, name) != getattr(other.component, name):
            yield name, spell_option(getattr(other.component, name))


def _padded(model: Model, readings: Sequence[PrintedReading]) -> Iterator[tuple[str, dict[Symbol, Expr]]]:
    """Yield padded vocabulary sizes: as the formula writes them, or at usual multiples if it contains numbers."""
    found: dict[Expr, None] = {}
    first = readings[0]
    if first.parsed.expr.has(ceiling):
        for rounded in sorted(first.expr.atoms(ceiling), key=str):
            if rounded.free_symbols == {V} and (times := rounded.args[0] / V).is_Rational and times != 0:
                found.setdefault(rounded / times)
    if V in model.known and not all(V in each.sizes for each in readings):
        found.update({Integer(-(-model.known[V] // many) * many): None for many in MULTIPLES})
    for padded in found:
        if padded != model.known.get(V):
            yield f"the vocabulary is padded: V is {text(padded)}", {V: padded}


def _fixed(
    model: Model, formula: Formula, readings: Sequence[PrintedReading]
) -> Iterator[tuple[str, dict[Symbol, Expr]]]:
    """Yield values for sizes that a printed formula lacks: relations of the model, then its numbers."""
    missing = {each: None for reading in readings if (each := frozenset(formula.symbols) - reading.sizes)}
    related = _relations(model, formula)
    known = model.known.keys()
    seen: set[tuple[tuple[Symbol, Expr], ...]] = set()
    for sizes in list(missing)[:LACKING]:
        ways = [(size, value) for size, values in related.items() if size in sizes for value in values]
        numbers = [(size, Integer(model.known[size])) for size in formula.symbols if size in sizes & known]
        some = [chosen for count in range(len(related) + 1) for chosen in combinations(ways, count)]
        some += [(each,) for each in numbers]
        some += [(*each, *(one for one in numbers if one[0] not in dict(each))) for each in some if numbers]
        for chosen in some:
            puts = dict(chosen)
            if chosen and len(puts) == len(chosen) and chosen not in seen:
                seen.add(chosen)
                said = [f"{size} is {text(value)}" for size, value in chosen]
                yield " and ".join(filter(None, (", ".join(said[:-1]), said[-1]))), puts


def _relations(model: Model, formula: Formula) -> dict[Symbol, list[Expr]]:
    """Return the relations between sizes that models commonly have and that this model does not contradict."""
    known, sizes = model.known, set(formula.symbols)
    found: dict[Symbol, list[Expr]] = {}
    if {D, A} <= formula.accepted_sizes and D in sizes:
        found[D] = [E / A]
    if G in sizes and A in formula.accepted_sizes:
        found[G] = [A]
    if H in sizes:
        found[H] = [4 * E]
        if H in known and E in known:
            ratio = Rational(known[H], known[E])
            found[H] = [ratio * E] if ratio.q <= MAX_RATIO else []
    return {size: [each for each in values if _holds(size, each, known)] for size, values in found.items()}


def _holds(size: Symbol, value: Expr, known: Mapping[Symbol, int]) -> bool:
    """Return True if a relation holds for the known sizes, or one of its sizes is unknown."""
    number = value.xreplace({each: Integer(known[each]) for each in value.free_symbols & known.keys()})
    return size not in known or bool(number.free_symbols) or number == known[size]
