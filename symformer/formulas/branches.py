"""Branches of formulas with min and max: the ranges in which each has one active argument, and the formula there."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Max, Min, Symbol, expand

from ..language.frozen import Immutable
from ..language.sizes import Numbers, substitute
from ..output.blocks import Line, Math, plain

MAX_BRANCHES = 8  # more are not told apart

Inequality = tuple[Expr, Expr]  # the smaller side, and the larger


@dataclass(frozen=True)
class Branch(Immutable):
    """A range of the sizes, and a formula in it.

    Parameters
    ----------
    conditions
        The inequalities that hold in it, each with its smaller side first. On the border, where both sides are equal,
        the formula of the neighbouring branch holds too.
    expr
        The formula without the calls of min and max that contain the size.

    """

    conditions: tuple[Inequality, ...]
    expr: Expr

    def holds(self, numbers: Numbers) -> bool | None:
        """Return whether its conditions hold strictly at some sizes; None if a size has no number."""
        signs = [substitute(high - low, numbers) for low, high in self.conditions]
        if any(not each.is_number for each in signs):
            return None
        return all(bool(each > 0) for each in signs)

    @property
    def text(self) -> str:
        """The conditions, such as ``C < C_win - 1``."""
        return " and ".join(plain(line) for line in self.lines)

    @property
    def lines(self) -> list[Line]:
        """The conditions, each with a single size on its left if it has one."""
        return [
            [Math.of(high), " > ", Math.of(low)] if high.is_Symbol else [Math.of(low), " < ", Math.of(high)]
            for low, high in self.conditions
        ]


def branches(expr: Expr, size: Symbol) -> tuple[Branch, ...]:
    """Return the branches of a formula in one size; a single one without conditions if there is nothing to decide.

    Returns () if there are more than eight.

    >>> from symformer.language.symbols import C, C_win, E
    >>> for each in branches(2*E*Min(C, C_win - 1), C):
    ...     print(each.text, each.expr)
    C < C_win - 1 2*C*E
    C > C_win - 1 2*C_win*E - 2*E
    >>> branches(2*E*Min(C, C_win - 1), E)[0].conditions
    ()
    """
    found = [Branch((), expr)]
    while len(found) <= MAX_BRANCHES:
        for place, each in enumerate(found):
            calls = [call for call in each.expr.atoms(Min, Max) if size in call.free_symbols]
            inner = [call for call in calls if not any(part.has(*calls) for part in call.args)]
            if inner:
                found[place : place + 1] = _split(each, min(inner, key=str))
                break
        else:
            return tuple(found)
    return ()


def _split(branch: Branch, call: Expr) -> list[Branch]:
    """Return one branch for each argument of a call that is the active one."""
    found = []
    for active in sorted(call.args, key=lambda each: (len(each.args), str(each))):
        others = [each for each in call.args if each != active]
        own = tuple((active, each) if isinstance(call, Min) else (each, active) for each in others)
        if any((high, low) in branch.conditions for low, high in own):  # the opposite of a condition that holds
            continue
        conditions = tuple(dict.fromkeys((*branch.conditions, *own)))
        found.append(Branch(conditions, expand(branch.expr.xreplace({call: active}))))
    return found
