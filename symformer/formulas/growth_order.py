"""Growth orders: which sizes tend to infinity, and which of them faster, such as ``S >> E >> 1``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise, product
from math import gcd, lcm

from sympy import Expr, Mul, Symbol

from ..language.arithmetic import parse
from ..language.errors import SizeError, quoted
from ..language.frozen import Immutable
from ..language.notation.display_tree import tree
from ..language.notation.latex import latex
from ..language.notation.text import code
from ..language.symbols import print_order
from ..output.blocks import Line, Math, listed

MAX_SIZES = 6  # sizes in a growth order
MAX_STEPS = 6  # steps in it: the work is the number of subsets of sizes and steps

Powers = Mapping[Symbol, int]
Ray = tuple[int, ...]

_INFINITE = re.compile(r"(?:->|→|⟶)\s*(?:oo|∞|inf|infinity)", re.IGNORECASE)
_FASTER = re.compile(r">>|≫|⪢|\\gg\b")


@dataclass(frozen=True)
class GrowthOrder(Immutable):
    """Products of sizes of which each grows faster than the next: the quotient of both tends to infinity.

    ``S >> E`` states that S/E tends to infinity; E is any size of at least 1, which may grow too. ``S >> 1`` states
    that S tends to infinity, which is also written ``S -> oo``. Sizes that are not named stay fixed.

    Parameters
    ----------
    chains
        For each clause, its products in descending order, each with the powers of its sizes; 1 has none.

    Examples
    --------
    >>> from symformer.language.symbols import B, E, L, S
    >>> order = GrowthOrder.read("S >> E")
    >>> order.dominates({S: 1, E: -1}), order.dominates({E: 1}), GrowthOrder.read("S >> E >> 1").dominates({E: 1})
    (True, False, True)
    >>> print(GrowthOrder.read("S -> oo, L*E >> B"))
    S >> 1, L*E >> B

    """

    chains: tuple[tuple[Powers, ...], ...]

    @classmethod
    def read(cls, words: str, own: Collection[Symbol] = ()) -> GrowthOrder:
        """Parse a growth order. Raises SizeError, ArithmeticTextError or UnknownNameError.

        Parameters
        ----------
        words
            Clauses such as ``S >> E >> 1`` or ``S -> oo``, separated by commas. ``≫`` and ``→ ∞`` are accepted too.
        own
            The sizes that may be named in addition to the letters of the alphabet.

        """
        spelt = _INFINITE.sub(">> 1", words.replace(r"\infty", "oo").replace(r"\to", "->"))
        chains = []
        for clause in re.split(r"[,;]|\band\b", spelt):
            sides = _FASTER.split(clause)
            if len(sides) < 2 or not all(side.strip() for side in sides):
                raise SizeError(
                    f"{quoted(words)} is not a growth order; write one such as 'S >> E', 'S >> E >> 1' or 'S -> oo'"
                )
            chains.append(tuple(_product(parse(side, own), words) for side in sides))
        return cls.of(*chains)

    @staticmethod
    def is_spelt(words: str) -> bool:
        """Return whether a text is a growth order and not only the name of a size."""
        return bool(_FASTER.search(_INFINITE.sub(">> 1", words)))

    @classmethod
    def of(cls, *chains: tuple[Powers, ...]) -> GrowthOrder:
        """Return the order of some chains. Raises SizeError if they contradict each other or are too many."""
        found = cls(tuple(chains))
        if len(found.sizes) > MAX_SIZES or len(found._steps) > MAX_STEPS:
            raise SizeError(
                f"a growth order has at most {MAX_SIZES} sizes and {MAX_STEPS} steps, but {found} has "
                f"{len(found.sizes)} and {len(found._steps)}"
            )
        if any(all(_times(step, ray) == 0 for ray in found._rays) for step in found._steps):
            raise SizeError(f"no sizes grow as {found}: its steps contradict each other")
        return found

    @classmethod
    def infinite(cls, *sizes: Symbol) -> GrowthOrder:
        """Return the order in which each of some sizes tends to infinity, in any relation to the others."""
        return cls.of(*(({size: 1}, {}) for size in sizes))

    def renamed(self, names: Mapping[Symbol, Iterable[Symbol]]) -> GrowthOrder:
        """Return the order in which each size stands for some others; a clause holds for each choice of them.

        >>> from symformer.language.symbols import E, H, L, S
        >>> print(GrowthOrder.read("S >> E").renamed({S: [S], E: [H, L]}))
        S >> H, S >> L
        """
        chains = []
        for chain in self.chains:
            sizes = list(dict.fromkeys(size for each in chain for size in each))
            for choice in product(*(names[size] for size in sizes)):
                put = dict(zip(sizes, choice, strict=True))
                chains.append(tuple({put[size]: power for size, power in each.items()} for each in chain))
        return GrowthOrder.of(*chains)

    @cached_property
    def sizes(self) -> tuple[Symbol, ...]:
        """The sizes that it names, in the order of the alphabet."""
        return tuple(sorted({size for chain in self.chains for each in chain for size in each}, key=print_order))

    def dominates(self, powers: Powers) -> bool:
        """Return whether a product of powers of sizes tends to infinity in every way that the order allows.

        In terms of the logarithms of the sizes, the order is a cone, and the product grows along each of its rays.
        """
        along = [powers.get(size, 0) for size in self.sizes]
        if any(_times(along, ray) < 0 for ray in self._rays):
            return False
        level = [ray for ray in self._rays if _times(along, ray) == 0]
        return any(all(_times(step, ray) == 0 for ray in level) for step in self._steps)

    @cached_property
    def _steps(self) -> tuple[Ray, ...]:
        """For each step of a chain, the powers of its quotient, which tends to infinity."""
        found = (
            tuple(faster.get(size, 0) - slower.get(size, 0) for size in self.sizes)
            for chain in self.chains
            for faster, slower in pairwise(chain)
        )
        return tuple(dict.fromkeys(found))

    @cached_property
    def _rays(self) -> tuple[Ray, ...]:
        """The extreme rays of the cone of logarithms: sizes are at least 1, and quotients of the steps too."""
        n = len(self.sizes)
        units = [tuple(int(row == column) for column in range(n)) for row in range(n)]
        bounds = list(dict.fromkeys([*units, *self._steps]))
        found = dict.fromkeys(
            ray for tight in combinations(bounds, n - 1) for ray in _null_space(tight, n) if _inside(ray, bounds)
        )
        return tuple(found)

    @property
    def line(self) -> Line:
        """The order in words, such as ``S/E and E tend to infinity``."""
        found = (_expr(faster) / _expr(slower) for chain in self.chains for faster, slower in pairwise(chain))
        quotients = [[Math.of(each)] for each in dict.fromkeys(found)]
        return [*listed(*quotients), f" {'tend' if len(quotients) > 1 else 'tends'} to infinity"]

    def latex(self) -> str:
        """Return LaTeX mathematics, such as ``S \\gg E``."""
        return ",\\ ".join(_latex(chain) for chain in self.chains)

    def __str__(self) -> str:
        return ", ".join(" >> ".join(code(_expr(each)) for each in chain) for chain in self.chains)


def _latex(chain: tuple[Powers, ...]) -> str:
    sides = [latex(tree(_expr(each))) for each in chain]
    return rf"{sides[0]} \to \infty" if len(sides) == 2 and not chain[1] else r" \gg ".join(sides)


def _expr(powers: Powers) -> Expr:
    return Mul(*(size**power for size, power in powers.items()))


def _product(expr: Expr, words: str) -> dict[Symbol, int]:
    """Return the powers of a product of sizes; constant factors do not count. Raises SizeError."""
    _, rest = expr.as_coeff_Mul()
    powers = rest.as_powers_dict()
    if expr.is_positive is False or not all(
        base == 1 or (base.is_Symbol and power.is_Integer) for base, power in powers.items()
    ):
        raise SizeError(f"{code(expr)} in {quoted(words)} is not a product of sizes; write one such as S or L*E")
    return {base: int(power) for base, power in powers.items() if base != 1}


def _times(one: Collection[int], other: Collection[int]) -> int:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _inside(ray: Ray, bounds: Collection[Ray]) -> bool:
    return all(_times(bound, ray) >= 0 for bound in bounds)


def _null_space(rows: Collection[Ray], n: int) -> Iterator[Ray]:
    """Yield both directions of the line that is orthogonal to n - 1 vectors; nothing if they are dependent."""
    matrix = [[Fraction(each) for each in row] for row in rows]
    pivots: list[int] = []
    for column in range(n):
        place = len(pivots)
        pivot = next((row for row in range(place, len(matrix)) if matrix[row][column]), None)
        if pivot is None:
            continue
        matrix[place], matrix[pivot] = matrix[pivot], matrix[place]
        matrix[place] = [each / matrix[place][column] for each in matrix[place]]
        for row in range(len(matrix)):
            if row != place and matrix[row][column]:
                factor = matrix[row][column]
                matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[place], strict=True)]
        pivots.append(column)
    if len(pivots) != n - 1:
        return
    (free,) = set(range(n)) - set(pivots)
    line = [Fraction(0)] * n
    line[free] = Fraction(1)
    for row, column in enumerate(pivots):
        line[column] = -matrix[row][free]
    scale = lcm(*(each.denominator for each in line))
    whole = [int(each * scale) for each in line]
    common = gcd(*whole)
    yield tuple(each // common for each in whole)
    yield tuple(-each // common for each in whole)
