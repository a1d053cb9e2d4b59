"""The text below the table of a comparison: the sizes of each model, and how each one differs from the first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction

from sympy import Expr, Symbol

from ..algebra.crossover import CrossoverPoint, Span, constant_sign, without_common_factor
from ..algebra.equal_totals import TotalTie
from ..algebra.model_comparison import Comparison
from ..algebra.quotient_limits import Limit
from ..language.errors import SizeError, listed
from ..language.notation.display_tree import Tree, value
from ..language.notation.text import text
from ..language.sizes import Numbers
from ..language.symbols import RANK, letter, symbol

Spell = Callable[[Tree | Expr], str]
FEW = 3  # crossover formulas printed by default
LONG = 120  # characters of a limit that is printed
SHORT = 60  # characters of a crossover formula that is printed by default


def facts(found: Comparison, spell: Spell) -> Iterator[str]:
    """Yield the conventions, the options and sizes of each model, the sizes without a value, and the equal totals."""
    yield from (f"{name} = {choice}" for name, choice in found.shared.items())
    if found.per != 1:
        yield f"divided by {spell(found.per)}"
    for place, name in enumerate(found.names):
        options = {**found.special[place], **found.models[place].component.chosen}
        own = [f"{option} = {choice}" for option, choice in options.items()]
        if has := own + [f"{size} = {number:,}" for size, number in found.sizes[place].items()]:
            yield f"{name} has {', '.join(has)}"
    if loose := listed(found.loose):
        which = "both" if len(found.models) == 2 else "all"
        yield f"sizes without a value in one of the models are assumed equal in {which}: {loose}"
    yield from _totals(found, spell)
    used = set().union(*(side.expr.free_symbols for side in found.totals))
    free = sorted(used - found.numbers.keys(), key=RANK.__getitem__)
    if lacking := [str(size) for size in free if letter(size).run]:
        yield f"no value for {', '.join(lacking)}: set each with --set"
    for place, tie in found.ties.items():
        yield from _tied(tie, found, place, spell)


def _totals(found: Comparison, spell: Spell) -> Iterator[str]:
    """Yield the definition of each total that occurs in a formula."""
    for place, (formula, own) in enumerate(zip(found.formulas, found.own, strict=True)):
        used = found.totals[place].expr.free_symbols
        for total in sorted(formula.totals, key=RANK.__getitem__):
            if own.get(total, total) in used:
                yield f"{own.get(total, total)} is {spell(formula.relations[total].xreplace(dict(own)))}"


def _tied(tie: TotalTie, found: Comparison, place: int, spell: Spell) -> Iterator[str]:
    first, other = found.names[0], found.names[found.places.index(place)]
    exact = "" if tie.exact is None else f" = {_places(tie.exact)}"
    yield f"{other} equals {first} in {tie.measure.title} if {tie.size} = {spell(tie.shown)}{exact}"
    for number, more in tie.beside:
        by = f"{first} has {abs(more):,} {'more' if more > 0 else 'fewer'}" if more else "equal"
        said = "" if more is None and number != tie.exact else f": {by}"
        yield f"  at {tie.size} = {number:,}{said}" + ("; used in the comparison" if number == tie.chosen else "")


def lines(pair: Comparison, spell: Spell) -> Iterator[str]:
    """Yield the difference of two models, their ratio, and the limits of the ratio as one size grows."""
    difference, ratio, leading = pair.difference, pair.ratio, pair.ratio_leading
    whole = "" if pair.difference_value is None or difference.is_number else f" = {pair.difference_value:,}"
    yield f"difference  {spell(difference)}{whole}"
    yield f"  leading   {spell(pair.difference_leading)}"
    if pair.tied_difference is not None and pair.tie is not None:
        yield f"  tied      {spell(pair.tied_difference)}, after substituting {pair.tie.size}"
    if ratio is None or leading is None:
        yield f"no ratio: {pair.no_ratio}"
        return
    exact = "" if pair.ratio_value is None or value(ratio).is_number else f" = {spelt(pair.ratio_value)}"
    yield f"ratio       {spell(ratio)}{exact}"
    yield f"  leading   {spell(leading)}"
    if pair.tied_ratio is not None and pair.tie is not None:
        yield f"  tied      {spell(pair.tied_ratio)}, after substituting {pair.tie.size}"
    yield from (f"  {each}" for each in limits(pair.limits, pair.numbers, spell))
    if pair.no_ratio:
        yield f"no numeric ratio: {pair.no_ratio}"


def limits(found: Mapping[Symbol, Limit], numbers: Numbers, spell: Spell) -> Iterator[str]:
    """Yield the limits of a ratio as one size alone grows; sizes with the same limit share a line."""
    goes: dict[str, list[str]] = {}
    for size, each in found.items():
        to = "infinity" if each.kind == "unbounded" else "0" if each.shown is None else spell(each.shown)
        number = each.value(numbers)
        if each.shown is not None and len(to) > LONG:
            to = "a longer quotient (see --json)" if number is None else spelt(number)
        elif number is not None and each.shown is not None and value(each.shown).free_symbols:
            to += f" = {spelt(number)}"
        goes.setdefault(to, []).append(str(size))
    for to, sizes in goes.items():
        which = f"{', '.join(sizes[:-1])} or {sizes[-1]}" if sizes[1:] else sizes[0]
        yield f"limit     {to} as {which} alone tends to infinity"


def larger_model_lines(pair: Comparison, asked: Iterable[str], spell: Spell) -> Iterator[str]:
    """Yield the larger of two models and the crossovers, for the given sizes or those with the shortest formulas."""
    first, other = pair.names
    sign = constant_sign(pair.difference)
    names = [symbol(name) for name in dict.fromkeys(asked)]
    if pair.tie is not None:
        yield from _held(pair, pair.tie, names, spell)
    if sign is not None:
        said = f"{first if sign > 0 else other} is larger" if sign else "the totals are equal"
        yield f"{said} for all sizes"
        return
    if not names:
        told = _telling(pair)
        for found in told:
            yield from _solution(found, pair, spell)
        turning = [size for size, spans in pair.crossings.items() if len(spans) > 1]
        for size in [] if told else turning[:FEW]:
            yield from _ranges(size, pair)
        return
    for name in names:
        if not pair.letters(name) & pair.difference.free_symbols:  # a size of another pair, or of the tie only
            yield f"the difference does not depend on {name}"
            continue
        solved = pair.crossover(name)
        for size in sorted(pair.letters(name) & pair.difference.free_symbols, key=RANK.__getitem__):
            if size in solved:
                yield from _solution(solved[size], pair, spell)
            elif size not in without_common_factor(pair.difference).free_symbols:
                yield f"{size} alone does not decide which is larger: the whole difference is a multiple of it"
            else:
                yield f"no short closed form gives the {size} at which the totals are equal"
                yield from _ranges(size, pair)


def _held(pair: Comparison, tie: TotalTie, names: Sequence[Symbol], spell: Spell) -> Iterator[str]:
    """Yield the crossovers with equal totals: the adjusted size follows the one that changes."""
    first, other = pair.names
    titled = f"with equal {tie.measure.title}, adjusting {tie.size}:"
    if pair.held is None:
        if names:
            yield f"{titled} no closed form shows which is larger: the difference contains a minimum or a maximum"
        return
    sign = pair.held.sign()
    if sign is not None:
        yield f"{titled} " + (f"{first if sign > 0 else other} is larger" if sign else "the totals are equal")
        return
    for name in names:
        for size in [each for each in pair.held.sizes if each in pair.letters(name)]:
            found, spans = pair.held.solution(size), pair.held.crossing(size)
            if found is not None:
                above, below = (first, other) if found.above > 0 else (other, first)
                where = f"if {size} is above {spell(found.shown)}, and {below} if it is below"
                yield f"{titled} {above} is larger {where}"
            elif size not in pair.held.common.free_symbols:
                yield f"{titled} {size} does not decide which is larger: the whole difference is a multiple of it"
            else:
                yield f"{titled} no short closed form gives the {size} at which the totals are equal"
            if spans:
                yield f"  {_which(pair, spans)}, with all other sizes unchanged"
            elif size in pair.held.common.free_symbols:
                yield f"  no integer {size}: another size has no value, or no {tie.size} makes the totals equal"
        if tie.size in pair.letters(name):
            yield f"{tie.size} is the adjusted size and follows from the others"
    if names:
        yield (
            f"with {tie.size} fixed at {pair.numbers[tie.size]:,} instead:"
            if tie.size in pair.numbers
            else "without equal totals:"
        )


def check_size(found: Comparison, asked: Iterable[str]) -> None:
    """Raise SizeError for a size that affects no difference, before anything is printed."""
    for name in asked:
        size = symbol(name)
        if not any(pair.letters(size) & _deciding(pair) for pair in found.pairs):
            differ = set().union(*(_deciding(pair) for pair in found.pairs))
            backs = {own: base for names in found.own for base, own in names.items()}
            known = sorted({backs.get(each, each) for each in differ}, key=RANK.__getitem__)
            has = f"it depends on {listed(known)}" if known else "it depends on no size"
            raise SizeError(f"{name} does not affect the difference between {' and '.join(found.names)}: {has}")


def _deciding(pair: Comparison) -> set[Symbol]:
    """Return the sizes in the difference of two models, and those in their difference at equal totals."""
    return {*pair.difference.free_symbols, *(pair.held.sizes if pair.held is not None else ())}


def _telling(pair: Comparison) -> list[CrossoverPoint]:
    """Return the shortest solutions, for sizes whose value may be on either side of the crossover."""
    turning = {size for size, spans in pair.crossings.items() if len(spans) > 1}
    free = {size for size in pair.crossovers if size not in pair.crossings}
    chosen = [each for size, each in pair.crossovers.items() if size in turning | free]
    brief = sorted((each for each in chosen if len(text(each.shown)) <= SHORT), key=lambda each: len(text(each.shown)))
    return sorted(brief[:FEW], key=lambda each: RANK[each.size])


def _solution(found: CrossoverPoint, pair: Comparison, spell: Spell) -> Iterator[str]:
    first, other = pair.names
    above, below = (first, other) if found.above > 0 else (other, first)
    yield f"{above} is larger if {found.size} is above {spell(found.shown)}, and {below} if it is below"
    yield from (f"  {each}" for each in _ranges(found.size, pair))


def _ranges(size: Symbol, pair: Comparison) -> Iterator[str]:
    spans = pair.crossings.get(size)
    if not spans:
        return
    here = pair.numbers.get(size)
    said = "holding" if here is None else f"{size} = {here:,}; holding"
    yield f"{said} everything else fixed, {_which(pair, spans)}"


def _which(pair: Comparison, spans: Sequence[Span]) -> str:
    """Return which of two models is larger for which integers."""
    first, other = pair.names
    each = [
        f"{who} {ranges(spans, sign)}"
        for who, sign in ((f"{first} is larger", 1), ("equal", 0), (f"{other} is larger", -1))
        if any(span.sign == sign for span in spans)
    ]
    return "; ".join(each)


def ranges(spans: Sequence[Span], sign: int) -> str:
    """Return the ranges of integers with one sign, in words."""
    return ", ".join(each.said for each in spans if each.sign == sign)


def spelt(ratio: Fraction) -> str:
    """Return a ratio exactly, with four significant digits if it is not an integer."""
    if ratio.denominator == 1:
        return f"{ratio.numerator:,}"
    near = Context(prec=4).divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return f"{ratio.numerator:,}/{ratio.denominator:,} ≈ {near:f}"


def _places(exact: Fraction) -> str:
    """Return a number exactly, with two decimals if it is not an integer."""
    if exact.denominator == 1:
        return f"{exact.numerator:,}"
    near = Context(prec=40).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return f"{exact.numerator:,}/{exact.denominator:,} ≈ {near:,.2f}"
