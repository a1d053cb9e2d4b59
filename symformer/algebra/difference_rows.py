"""Rows that explain a difference: omitted, counted twice, or with another size or factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from sympy import Add, Expr, Integer, Rational, Symbol, expand

from ..formulas.formula import Formula
from ..language.aliases import Alias
from ..language.notation.text import code, text
from .account_terms import PRIME, AccountTerm, account_terms, fingerprint, is_zero

MOST = 12  # maximum number of reported rows
SIZES = 12  # maximum number of sizes tried in place of another one
TOGETHER = 6  # maximum number of rows that are left out together
STEPS = 3_000  # maximum number of partial sums that are tried


@dataclass(frozen=True)
class DifferenceRow:
    """One row, and how the printed formula treats it."""

    path: str
    statement: str  # "is left out", "has A instead of G"
    ours: Expr  # the row's total in our formula
    amount: Expr  # the part of the difference that it explains

    def to_json(self) -> dict[str, str]:
        """Return the row as ``check --json`` prints it."""
        return {"path": self.path, "said": self.statement, "ours": code(self.ours), "amount": code(self.amount)}

    # Former names
    said = Alias("statement")


@dataclass(frozen=True)
class _Candidate:
    path: str
    total: Expr
    row: bool  # True for a weight, a product or a row, False for a part


def difference_rows(formula: Formula, difference: Expr) -> list[DifferenceRow]:
    """Return the rows that explain a difference, ours minus theirs.

    Each row explains all of it. If there is no such row, return rows that explain it together: two kinds of rows, or up
    to ``TOGETHER`` rows that are left out. If there are none, return the rows with similar terms.
    """
    found = account_terms(formula)
    candidates = _candidates(formula, found)
    named: dict[str, DifferenceRow] = {}
    for each in (*single_explanations(formula, difference), *_multiple(candidates, difference)):
        named.setdefault(each.path, each)
    if named:
        return list(named.values())[:MOST]
    several = list(_of_two(candidates, difference)) or list(_left_out_together(candidates, difference))
    return (several or list(_in_common(candidates, difference)))[:MOST]


def single_explanations(formula: Formula, difference: Expr) -> list[DifferenceRow]:
    """Return the rows that each explain a difference alone: omitted, counted twice, or with another size."""
    candidates = _candidates(formula, account_terms(formula))
    return [*_left_out(candidates, difference), *_swapped(candidates, difference, formula)]


def explains(formula: Formula, difference: Expr) -> bool:
    """Return True if a single row explains a difference, or several rows that are left out do."""
    if single_explanations(formula, difference):
        return True
    candidates = _candidates(formula, account_terms(formula))
    return any(True for _ in _left_out_together(candidates, difference))


def _candidates(formula: Formula, found: Sequence[AccountTerm]) -> list[_Candidate]:
    """Return each weight or product, then each row with several of them, then each part."""
    terms: dict[str, dict[str, Expr]] = {}
    for piece in found:
        row = terms.setdefault(piece.path, {})
        row[piece.label] = row.get(piece.label, Integer(0)) + piece.total
    made = [
        _Candidate(path if len(row) == 1 else label, total, True)
        for path, row in terms.items()
        for label, total in row.items()
    ]
    made += [_Candidate(path, Add(*row.values()), True) for path, row in terms.items() if len(row) > 1]
    made += [
        _Candidate(line.path, expand((count * line.each).xreplace(formula.relations)), False)
        for count, line in formula.root.counted()
        if line.entry is None and line.path and line.path not in terms and line is not formula.root
    ]
    return [each for each in made if each.total != 0]


def _left_out(candidates: Sequence[_Candidate], difference: Expr) -> Iterator[DifferenceRow]:
    for each in candidates:
        if each.total == difference:
            yield DifferenceRow(each.path, "is left out", each.total, difference)
        elif each.total == -difference:
            yield DifferenceRow(each.path, "is counted one extra time", each.total, difference)


def _swapped(candidates: Sequence[_Candidate], difference: Expr, formula: Formula) -> Iterator[DifferenceRow]:
    """Yield rows with another size in place of their own: a single row, or all rows with the same total."""
    sizes = sorted({*formula.expanded.free_symbols, *difference.free_symbols}, key=str)[:SIZES]
    rows: dict[Expr, list[str]] = {}
    for each in candidates:
        if each.row:
            rows.setdefault(each.total, []).append(each.path)
    wanted = fingerprint(difference)
    for total, paths in rows.items():
        for own in sorted(total.free_symbols, key=str):
            if (number := _number(total, own, difference)) is not None:
                yield from (
                    DifferenceRow(path, f"has {text(number)} instead of {own}", total, difference) for path in paths
                )
            for other in (*sizes, Integer(1)):
                times = None if other == own else _swaps(total, own, other, difference, wanted, len(paths))
                if times is not None:
                    said = f"has {text(other)} instead of {own}" if other != 1 else f"lacks the factor {own}"
                    yield from (DifferenceRow(path, said, total, expand(difference / times)) for path in paths)


def _number(total: Expr, own: Symbol, difference: Expr) -> Expr | None:
    """Return the number, more than 1, that replaces a size in the printed formula, or None."""
    if isinstance(total, Add):
        return None
    rest = total - difference
    if isinstance(rest, Add):  # a number in place of the size leaves a single term
        return None
    found = expand(rest * own / total)
    return found if found.is_Rational and found > 1 else None


def _swaps(total: Expr, own: Symbol, other: Expr, difference: Expr, wanted: int | None, alike: int) -> int | None:
    """Return how many of some equal rows must have another size, in one place or in all, to explain a difference."""
    ways = [total * other / own]
    if total.has(own**2):
        ways.append(total.xreplace({own: other}))
    first = fingerprint(total)
    for theirs in ways:
        then = fingerprint(theirs)
        for times in range(1, alike + 1):
            unlike = None in (wanted, first, then) or ((first or 0) - (then or 0)) * times % PRIME != wanted
            if not unlike and expand(times * (total - theirs) - difference) == 0:
                return times
    return None


def _multiple(candidates: Sequence[_Candidate], difference: Expr) -> Iterator[DifferenceRow]:
    for each in candidates:
        share = exact_multiple(difference, each.total)
        if share is not None and share < 1 and (2 * share).is_integer:  # such as three times, or half
            yield DifferenceRow(each.path, f"is counted {text(1 - share)} times", each.total, difference)


def _of_two(candidates: Sequence[_Candidate], difference: Expr) -> Iterator[DifferenceRow]:
    """Yield two rows that together explain a difference, each omitted or counted one extra time."""
    totals: dict[Expr, list[_Candidate]] = {}
    for each in candidates:
        totals.setdefault(each.total, []).append(each)
    some = [(fingerprint(each), each) for each in list(totals)[:60]]
    wanted = fingerprint(difference)
    for (first, one), (second, two) in combinations(some, 2):
        for sign, other in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            unlike = None not in (first, second, wanted) and (
                (sign * (first or 0) + other * (second or 0) - (wanted or 0)) % PRIME != 0
            )
            if not unlike and expand(sign * one + other * two - difference) == 0:
                for total, which in ((one, sign), (two, other)):
                    said = "is left out" if which > 0 else "is counted one extra time"
                    for each in totals[total]:
                        yield DifferenceRow(each.path, said, total, expand(which * total))
                return


def _left_out_together(candidates: Sequence[_Candidate], difference: Expr) -> Iterator[DifferenceRow]:
    """Yield the fewest rows, none within another, whose totals sum to a difference."""
    wanted = _coefficients(difference)
    fitting = [(each, terms) for each in candidates if _fits(terms := _coefficients(each.total), wanted)]
    if any(value < 0 or not any(key in terms for _, terms in fitting) for key, value in wanted.items()):
        return
    steps = STEPS

    def cover(left: dict[Expr, Expr], count: int, used: tuple[_Candidate, ...]) -> tuple[_Candidate, ...] | None:
        nonlocal steps
        steps -= 1
        if not left:
            return used if count == 0 else None
        if count == 0 or steps < 0:
            return None
        first = min(left, key=str)  # some row must have this term
        for each, terms in fitting:
            if first in terms and _fits(terms, left) and not any(_within(each.path, one.path) for one in used):
                rest = {key: value - terms.get(key, 0) for key, value in left.items()}
                rest = {key: value for key, value in rest.items() if value != 0}
                if (found := cover(rest, count - 1, (*used, each))) is not None:
                    return found
        return None

    for count in range(2, TOGETHER + 1):
        if (found := cover(wanted, count, ())) is not None:
            order = sorted(found, key=candidates.index)
            yield from (DifferenceRow(each.path, "is left out", each.total, each.total) for each in order)
            return


def _coefficients(expr: Expr) -> dict[Expr, Expr]:
    return {monomial: number for number, monomial in (term.as_coeff_Mul() for term in Add.make_args(expr))}


def _fits(terms: dict[Expr, Expr], left: dict[Expr, Expr]) -> bool:
    """Return True if each coefficient is at most the one that is left."""
    return all(key in left and 0 < value <= left[key] for key, value in terms.items())


def _within(one: str, two: str) -> bool:
    """Return True if one of two paths contains the other."""
    return one == two or one.startswith(f"{two}.") or two.startswith(f"{one}.")


def _in_common(candidates: Sequence[_Candidate], difference: Expr) -> Iterator[DifferenceRow]:
    """Yield rows with terms of the same sizes as the difference, or of sizes that differ in one factor."""
    wanted = [_monomial(term) for term in Add.make_args(difference)]
    leaves = [each for each in candidates if each.row]
    exact = [each for each in leaves if any(_monomial(term) in wanted for term in Add.make_args(each.total))]
    for each in exact or [each for each in leaves if _near(each, wanted)]:
        yield DifferenceRow(each.path, "has similar terms", each.total, difference)


def _near(each: _Candidate, wanted: Sequence[Expr]) -> bool:
    for term in Add.make_args(each.total):
        for other in wanted:
            powers = (_monomial(term) / other).as_powers_dict()
            if sum(abs(power) for base, power in powers.items() if base != 1 and power.is_number) <= 2:
                return True
    return False


def _monomial(term: Expr) -> Expr:
    return term.as_coeff_Mul()[1]


def exact_multiple(difference: Expr, amount: Expr) -> Rational | None:
    """Return the number by which an amount is multiplied to equal a difference, or None."""
    if amount == 0 or difference == 0:
        return None
    first, own = Add.make_args(difference), Add.make_args(amount)
    if len(first) != len(own):
        return None
    share = first[0].as_coeff_Mul()
    match = next((term for term in own if _monomial(term) == share[1]), None)
    if match is None:
        return None
    times = share[0] / match.as_coeff_Mul()[0]
    return times if isinstance(times, Rational) and is_zero(difference - times * amount) else None
