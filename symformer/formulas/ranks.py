"""The number of ranks of a per-rank answer: the product of the degrees of parallelism, as text and as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sympy import Expr, Symbol

from ..language.notation.display_tree import Number, Word, tree
from ..language.notation.text import code
from ..language.sizes import substitute
from ..language.symbols import N_dp, N_ep, letter, print_order
from ..ledger.facts import ONE
from ..output.blocks import Equation, Line, Math, plain
from ..output.chain import Chain

Numbers = Mapping[Symbol, int]


def count(ranks: Expr, numbers: Numbers) -> int | None:
    """Return the number of ranks, or None if a degree has no value."""
    found = substitute(ranks, numbers)
    return int(found) if found.is_Integer else None


def degrees(ranks: Expr) -> list[Symbol]:
    """Return the degrees of parallelism whose product is the number of ranks, in the order of the alphabet."""
    return sorted(ranks.free_symbols, key=print_order)


def kinds(ranks: Expr) -> str:
    """Return the meanings of the degrees: ``tensor-parallel ranks × expert-parallel ranks``."""
    return " × ".join(letter(each).meaning for each in degrees(ranks))


def composition(ranks: Expr) -> str:
    """Return sentences on how the degrees combine; empty for a formula of the whole model."""
    found = degrees(ranks)
    sentences = []
    if len(found) > 1:
        sentences.append("The degrees multiply, because each kind of parallelism further divides each rank's share.")
    if own := [letter(each).meaning for each in found if each in (N_dp, N_ep)]:
        sentences.append(f"{' and '.join(own).capitalize()} process different sequences.")
    return " ".join(sentences)


def stated(
    ranks: Expr, numbers: Numbers, of: str = "", renamed: Callable[[Expr], Expr] = lambda expr: expr
) -> list[Line]:
    """Return a line with the number of ranks; empty for a formula of the whole model.

    A degree without a value, such as one that a sweep varies, stays a symbol. ``of`` names the side of an answer, and
    ``renamed`` replaces symbols by the letters of that side.
    """
    if ranks == ONE:
        return []
    found = substitute(ranks, numbers)
    known: Line = [] if found == ranks else [f" = {int(found):,}"] if found.is_Integer else [" = ", Math.of(found)]
    start = f"All amounts{of and f' of {of}'} are per rank; the number of ranks is "
    return [[start, Math.of(renamed(ranks)), *known, f" ({kinds(ranks)}). {composition(ranks)}".rstrip()]]


def stated_of_each(sides: Sequence[tuple[str, Expr, Numbers]]) -> list[Line]:
    """Return the line of each side with its name, or one line without a name if all sides have the same ranks."""
    if len({(ranks, substitute(ranks, numbers)) for _, ranks, numbers in sides}) == 1:
        _, ranks, numbers = sides[0]
        return stated(ranks, numbers)
    lines = [line for name, ranks, numbers in sides for line in stated(ranks, numbers, name)]
    return list({plain(line): line for line in lines}.values())


def equations(ranks: Expr, numbers: Numbers) -> list[Equation]:
    """Return the equation ``ranks = N_tp N_ep = 64`` for LaTeX, which has no prose; empty for the whole model."""
    if ranks == ONE:
        return []
    found = substitute(ranks, numbers)
    known = [] if found == ranks else [Number(int(found)) if found.is_Integer else tree(found)]
    return [Equation(Chain((Word("ranks"),), (tree(ranks), *known)))]


def facts(ranks: Expr, numbers: Numbers) -> dict[str, Any]:
    """Return the number of ranks as data under the key ``ranks``; empty for a formula of the whole model."""
    if ranks == ONE:
        return {}
    return {
        "ranks": {
            "formula": code(ranks),
            "value": count(ranks, numbers),
            "given": {str(each): numbers[each] for each in degrees(ranks) if each in numbers},
            "degrees": {str(each): letter(each).meaning for each in degrees(ranks)},
            "composition": composition(ranks),
        }
    }
