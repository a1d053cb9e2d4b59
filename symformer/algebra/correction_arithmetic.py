"""The arithmetic behind a correction: amounts or quotients, in letters or in numbers, evaluated exactly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from sympy import Expr

from ..formulas.derivation import substitution
from ..language.arithmetic import parse
from ..language.notation.display_tree import Number
from ..language.notation.latex import latex
from ..language.sizes import Numbers, evaluate
from ..language.symbols import named_symbol, print_order

NEAR = 5  # significant digits of a fraction


@dataclass(frozen=True, kw_only=True)
class WorkedLine:
    """One line of arithmetic: its description, the formula and the result.

    >>> WorkedLine(what="updates of rank 4", formula="24*2*4*(1024 + 1024)").steps()[-1]
    '393{,}216'
    >>> WorkedLine(what="elements", formula="60*(512 + 64)", over="95*2*8*128").steps()[1:]
    ['\\\\frac{34{,}560}{194{,}560}', '\\\\approx 0.17763']
    """

    what: str
    formula: str  # over sizes, or in numbers
    over: str = ""  # the divisor
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def numbers(self) -> Numbers:
        """The sizes by their symbols, in printing order."""
        found = {named_symbol(name): number for name, number in self.sizes.items()}
        return {size: found[size] for size in sorted(found, key=print_order)}

    @cached_property
    def value(self) -> Fraction:
        """The exact value."""
        return Fraction(self._number(self.formula), self._number(self.over) if self.over else 1)

    def _number(self, source: str) -> int:
        return evaluate(parse(source), self.numbers, self.what)

    def steps(self) -> list[str]:
        """Return the steps in LaTeX: in letters, in numbers, and the result."""
        if not self.over:
            expr = parse(self.formula)
            return (
                arithmetic_steps(expr.expand(), self.numbers)
                if expr.free_symbols
                else [_spelt(self.formula), self.result]
            )
        sides = [self.formula, self.over]
        written, computed = map(_written, sides), (latex(Number(self._number(each))) for each in sides)
        return [*dict.fromkeys([_quotient(*written), _quotient(*computed), self.result])]

    @property
    def result(self) -> str:
        """The result in LaTeX: an exact integer or a rounded decimal."""
        if self.value.denominator == 1:
            return latex(Number(int(self.value)))
        near = f"{float(self.value):.{NEAR}g}"
        return near if Fraction(near) == self.value else rf"\approx {near}"


def arithmetic_steps(expr: Expr, numbers: Numbers) -> list[str]:
    """Return an amount as equal steps in LaTeX: in letters, in numbers, and its value."""
    steps = substitution(expr, numbers).steps
    return [*dict.fromkeys([latex(expr), latex(steps[0]), latex(steps[-1])])]


def _quotient(above: str, below: str) -> str:
    return rf"\frac{{{above}}}{{{below}}}"


def _written(source: str) -> str:
    expr = parse(source)
    return latex(expr.expand()) if expr.free_symbols else _spelt(source)


def _spelt(source: str) -> str:
    """Return arithmetic such as ``24*(3 + 2**4)`` in LaTeX, without evaluating it."""
    spelt = re.sub(r"\s*\*\*\s*(\d+)", r"^{\1}", source)
    spelt = re.sub(r"\s*\*\s*", r" \\cdot ", spelt)
    return re.sub(r"\d+", lambda found: latex(Number(int(found[0]))), spelt)
