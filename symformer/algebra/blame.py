"""Which rows explain a difference: one left out or counted twice, one with another size or another factor in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from sympy import Add, Expr, Integer, Rational, Symbol, expand

from ..formulas.formula import Formula
from ..language.notation.text import code, text
from .pieces import PRIME, Piece, fingerprint, is_zero, pieces

MOST = 12  # rows that are named
SIZES = 12  # that are tried in the place of another


@dataclass(frozen=True)
class Blame:
    """One row, and what the printed formula does with it."""

    path: str
    said: str  # "is left out", "has A where it should have G"
    ours: Expr  # what the row comes to here
    amount: Expr  # what of the difference it explains

    def to_json(self) -> dict[str, str]:
        """As ``check --json`` prints it."""
        return {"path": self.path, "said": self.said, "ours": code(self.ours), "amount": code(self.amount)}


@dataclass(frozen=True)
class _Candidate:
    path: str
    total: Expr
    row: bool  # a weight, a product or a row; else a part


def explain(formula: Formula, difference: Expr) -> list[Blame]:
    """The rows that a difference, ours less theirs, is of: alternatives, each of which explains all of it; else those
    that have terms in common with it.
    """
    found = pieces(formula)
    candidates = _candidates(formula, found)
    named: dict[str, Blame] = {}
    for each in (*in_one(formula, difference), *_multiple(candidates, difference)):
        named.setdefault(each.path, each)
    if named:
        return list(named.values())[:MOST]
    return (list(_of_two(candidates, difference)) or list(_in_common(candidates, difference)))[:MOST]


def in_one(formula: Formula, difference: Expr) -> list[Blame]:
    """The rows any one of which explains a difference alone: left out, counted twice, or with another size in it."""
    candidates = _candidates(formula, pieces(formula))
    return [*_left_out(candidates, difference), *_swapped(candidates, difference, formula)]


def _candidates(formula: Formula, found: Sequence[Piece]) -> list[_Candidate]:
    """Each weight or product, each row that has several, each part: the smallest first."""
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


def _left_out(candidates: Sequence[_Candidate], difference: Expr) -> Iterator[Blame]:
    for each in candidates:
        if each.total == difference:
            yield Blame(each.path, "is left out", each.total, difference)
        elif each.total == -difference:
            yield Blame(each.path, "is counted once too often", each.total, difference)


def _swapped(candidates: Sequence[_Candidate], difference: Expr, formula: Formula) -> Iterator[Blame]:
    """Rows with another size in the place of their own: one alone, or all that come to the same together."""
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
                    Blame(path, f"has {text(number)} where {own} should stand", total, difference) for path in paths
                )
            for other in (*sizes, Integer(1)):
                times = None if other == own else _swaps(total, own, other, difference, wanted, len(paths))
                if times is not None:
                    said = f"has {text(other)} where {own} should stand" if other != 1 else f"lacks its {own}"
                    yield from (Blame(path, said, total, expand(difference / times)) for path in paths)


def _number(total: Expr, own: Symbol, difference: Expr) -> Expr | None:
    """The number that stands in the place of a size, if one does: more than 1."""
    if isinstance(total, Add):
        return None
    rest = total - difference
    if isinstance(rest, Add):  # of several terms, where one is left if a number stands there
        return None
    found = expand(rest * own / total)
    return found if found.is_Rational and found > 1 else None


def _swaps(total: Expr, own: Symbol, other: Expr, difference: Expr, wanted: int | None, alike: int) -> int | None:
    """How many of rows that are alike have another size in the place of one, if a difference is that: once or wherever
    it stands.
    """
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


def _multiple(candidates: Sequence[_Candidate], difference: Expr) -> Iterator[Blame]:
    for each in candidates:
        share = _times(difference, each.total)
        if share is not None and share < 1 and (2 * share).is_integer:  # twice too often, or half of it
            yield Blame(each.path, f"is counted {text(1 - share)} times", each.total, difference)


def _of_two(candidates: Sequence[_Candidate], difference: Expr) -> Iterator[Blame]:
    """Two rows that explain it together, each left out or counted once too often."""
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
                    said = "is left out" if which > 0 else "is counted once too often"
                    for each in totals[total]:
                        yield Blame(each.path, said, total, expand(which * total))
                return


def _in_common(candidates: Sequence[_Candidate], difference: Expr) -> Iterator[Blame]:
    """Rows that have terms of the same sizes as the difference, or of those but one."""
    wanted = [_monomial(term) for term in Add.make_args(difference)]
    leaves = [each for each in candidates if each.row]
    exact = [each for each in leaves if any(_monomial(term) in wanted for term in Add.make_args(each.total))]
    for each in exact or [each for each in leaves if _near(each, wanted)]:
        yield Blame(each.path, "has terms of these sizes", each.total, difference)


def _near(each: _Candidate, wanted: Sequence[Expr]) -> bool:
    for term in Add.make_args(each.total):
        for other in wanted:
            powers = (_monomial(term) / other).as_powers_dict()
            if sum(abs(power) for base, power in powers.items() if base != 1 and power.is_number) <= 2:
                return True
    return False


def _monomial(term: Expr) -> Expr:
    return term.as_coeff_Mul()[1]


def _times(difference: Expr, amount: Expr) -> Rational | None:
    """How many times an amount a difference is, where it is a number of times."""
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
