"""The shortest sum of products of sizes that agrees exactly with all measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import prod

from sympy import Add, Expr, Integer, Min, Mul, Rational, Symbol, ceiling, floor

from ..language.errors import WitnessError

PLAIN = 64  # the largest denominator of a coefficient; larger ones fit by chance
MANY = 1000  # most candidate products
POWERS = (64, 128, 256, 2, 4, 8, 16, 32)  # block sizes to try if no config field states one
LONGEST = 100  # most terms
PRIME = 2**61 - 1  # larger than any denominator of a coefficient, and than almost every size
SPARE = 3  # points that a fit must match in addition to those that determine it

Point = Mapping[str, int]
Letters = Mapping[str, Symbol]
Number = Callable[[Point], int | None]  # a measurement; None if the code does not reach it


@dataclass(frozen=True)
class Blocks:
    """The number of blocks in a length, with or without a shorter last one."""

    length: str
    size: str | int  # of a block
    short: bool

    def at(self, point: Point) -> int:
        """Return the number of blocks at a point."""
        size = point[self.size] if isinstance(self.size, str) else self.size
        return (point[self.length] + (size - 1) * self.short) // size

    def expr(self, letters: Letters) -> Expr:
        """Return the number of blocks in symbols."""
        size = letters[self.size] if isinstance(self.size, str) else Integer(self.size)
        return (ceiling if self.short else floor)(letters[self.length] / size)


Factor = str | Blocks
Monomial = tuple[tuple[Factor, int], ...]


class UnfitError(WitnessError):
    """A measurement that is not a short sum of products of the sizes that change it."""

    def __init__(self, what: str, moves: Sequence[str]) -> None:
        super().__init__(f"{what} is not a short sum of products of {', '.join(moves) or 'any size'}")
        self.moves = moves


def monomial(each: Monomial, point: Point) -> Fraction:
    """Return a product of powers of sizes at a point."""
    return prod((Fraction(_value(factor, point)) ** power for factor, power in each), start=Fraction(1))


def fit(
    what: str,
    moves: Sequence[str],
    sample: list[dict[str, int]],
    letters: Letters,
    measure: Number,
    *,
    more: Callable[[int, Sequence[str]], None] = lambda wanted, moves: None,
    lengths: Sequence[str] = (),
    blocks: Sequence[str] = (),
) -> Expr:
    """Return the shortest sum of products of ``moves`` that agrees with every point of a sample.

    Parameters
    ----------
    what
        The name of the measurement, for error messages.
    moves
        The sizes that change it.
    sample
        The points, to which ``more`` may add.
    letters
        The symbol of each size.
    measure
        The measurement at a point.
    more
        A function that extends the sample to a number of points at which some sizes differ.
    lengths
        Sizes that may enter as the minimum of themselves and a window, or as a number of blocks.
    blocks
        The sizes of such blocks, in addition to powers of two.

    Raises
    ------
    UnfitError
        If no sum agrees.

    """
    plain = _sum(moves, moves, sample, letters, measure, more)
    if plain is not None:
        return plain
    for over in moves if len(moves) > 1 else ():  # a batch of patches plus extra tokens
        if all((number := measure(point)) is None or number % point[over] == 0 for point in sample):
            rest = [each for each in moves if each != over]
            shared = _sum(rest, moves, sample, letters, partial(_share, measure, over), more)
            if shared is not None:
                return letters[over] * shared
    for name in lengths:
        within = [point for point in sample if (number := measure(point)) is None or number < point[name]]
        if within and len(within) < len(sample) and all((measure(point) or 0) <= point[name] for point in sample):
            shorter = _sum(moves, moves, within, letters, measure, lambda wanted, moves: None)
            if shorter is not None:
                return Min(letters[name], shorter)
    best: Expr | None = None
    for name, size, short in product(lengths, [*blocks, *(POWERS if lengths else ())], (True, False)):
        if name not in letters or (isinstance(size, str) and size not in letters):
            continue
        count = Blocks(name, size, short)
        names = list(dict.fromkeys([*moves, name, *([size] if isinstance(size, str) else [])]))
        instead: list[Factor] = [count if each == name else each for each in names]
        beside: list[Factor] = [count, *names]
        for factors in (instead, beside):
            most = len(Add.make_args(best)) - 1 if best is not None else LONGEST
            shorter = _sum(factors, names, sample, letters, measure, more, most) if most else None
            best = best if shorter is None else shorter
    if best is None:
        raise UnfitError(what, moves)
    return best


def _sum(
    factors: Sequence[Factor],
    names: Sequence[str],
    sample: list[dict[str, int]],
    letters: Letters,
    measure: Number,
    more: Callable[[int, Sequence[str]], None],
    most: int = LONGEST,
) -> Expr | None:
    """Return the shortest sum of products of some factors with at most ``most`` terms, or None."""
    for basis in _bases(factors, sample, measure):
        if len(basis) > most:
            continue
        more(len(basis) + SPARE, names)
        points = [(point, number) for point in sample if (number := measure(point)) is not None]
        if len({tuple(point[name] for name in names) for point, _ in points}) < len(basis):
            break
        empty = {f for f in factors if any(_value(f, point) == 0 for point, _ in points)}
        if any(power < 0 and factor in empty for each in basis for factor, power in each):
            continue
        values = [{factor: _value(factor, point) for factor in factors} for point, _ in points]
        if not _solvable(basis, values, [number for _, number in points]):
            continue
        table = [[monomial(each, point) for each in basis] for point, _ in points]
        solution = _solve(table, [number for _, number in points])
        if solution is not None and all(c.denominator <= PLAIN for c in solution):
            return sum(
                (
                    Rational(c.numerator, c.denominator) * Mul(*(_expr(f, letters) ** power for f, power in each))
                    for c, each in zip(solution, basis, strict=True)
                ),
                Integer(0),
            )
    return None


def _share(measure: Number, over: str, point: Point) -> int | None:
    """Return a measurement per unit of a size, or -1, which fits no sum, if it is not an integer."""
    number = measure(point)
    return number if number is None else number // point[over] if number % point[over] == 0 else -1


def _value(factor: Factor, point: Point) -> int:
    return point[factor] if isinstance(factor, str) else factor.at(point)


def _expr(factor: Factor, letters: Letters) -> Expr:
    return letters[factor] if isinstance(factor, str) else factor.expr(letters)


def _bases(moves: Sequence[Factor], sample: Sequence[Point], measure: Number) -> Iterable[list[Monomial]]:
    """Yield sets of products to try, shortest first: one product, sums of sizes, products of two, quotients."""
    ones: list[Monomial] = [((name, 1),) for name in moves]
    pairs: list[Monomial] = [((a, 1), (b, 1)) for a, b in combinations(moves, 2)]
    triples: list[Monomial] = [tuple((name, 1) for name in three) for three in combinations(moves, 3)]
    below: list[Monomial] = [
        (*((top, 1) for top in tops), (name, -1))
        for name in moves
        for size in (1, 2)
        for tops in combinations([each for each in moves if each != name], size)
    ]
    yield [()]
    if moves:
        yield from ([each] for each in _products(moves, sample, measure))
        yield ones
        yield [(), *ones]
        for powers in product((1, -1, 2, -2), repeat=len(moves) if len(moves) < 4 else 0):
            yield [(), tuple(zip(moves, powers, strict=False))]
        for over in moves if len(moves) < 4 else ():  # a batch of one token plus patches
            rest = [each for each in moves if each != over]
            for powers in product((1, -1, 2, -2), repeat=len(rest)):
                yield [((over, 1),), ((over, 1), *zip(rest, powers, strict=True))]
        for over in moves:
            yield [each for each in below if (over, -1) in each]
        yield [(), *ones, *pairs]
        if len(moves) < 4:
            yield [(), *ones, *pairs, *(((name, 2),) for name in moves)]
        yield [*ones, *pairs, *below]
        if len(moves) < 5:
            yield [(), *ones, *pairs, *triples]
            yield [(), *ones, *pairs, *triples, *below]


def _products(moves: Sequence[Factor], sample: Sequence[Point], measure: Number) -> Iterator[Monomial]:
    """Yield the products that are consistent with changing one size at a time, which determines its power."""
    first, number = sample[0], measure(sample[0])
    choices: list[tuple[int, ...]] = []
    for factor in moves:
        powers: tuple[int, ...] = (1, -1, 2, -2, 0)
        for point in sample[1:] if number else ():
            changed = measure(point)
            if (
                not isinstance(factor, str)
                or changed is None
                or [name for name in point if point[name] != first[name]] != [factor]
            ):
                continue
            if any(isinstance(other, Blocks) and other.at(point) != other.at(first) for other in moves):
                continue
            step = Fraction(point[factor], first[factor])
            powers = tuple(power for power in powers if step**power == Fraction(changed, number))
        choices.append(powers)
    for powers in product(*choices) if prod(map(len, choices)) <= MANY else ():
        yield tuple((factor, power) for factor, power in zip(moves, powers, strict=True) if power)


def _solve(table: Sequence[Sequence[Fraction]], values: Sequence[int]) -> list[Fraction] | None:
    """Return the only exact solution of an overdetermined system, or None if there is none or several."""
    width = len(table[0])
    if width == 1:
        share = next((value / row[0] for row, value in zip(table, values, strict=True) if row[0]), Fraction(0))
        return [share] if all(share * row[0] == value for row, value in zip(table, values, strict=True)) else None
    rows = [[*row, Fraction(value)] for row, value in zip(table, values, strict=True)]
    for column in range(width):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        top = [each / rows[column][column] for each in rows[column]]
        rows[column] = top
        for r, row in enumerate(rows):
            if r != column and row[column]:
                rows[r] = [a - row[column] * b for a, b in zip(row, top, strict=True)]
    if any(row[-1] for row in rows[width:]):
        return None
    return [rows[column][-1] for column in range(width)]


def _solvable(basis: Sequence[Monomial], values: Sequence[Mapping[Factor, int]], numbers: Sequence[int]) -> bool:
    """Return False if the system has no solution modulo a prime, and therefore none with small denominators.

    This takes a fraction of the time of exact arithmetic; True means that exact arithmetic has to decide.
    """
    if any(value % PRIME == 0 for each in values for value in each.values() if value):
        return True
    left = []
    for at, number in zip(values, numbers, strict=True):
        row = []
        for each in basis:
            term = 1
            for factor, power in each:
                term = term * pow(at[factor], power, PRIME) % PRIME
            row.append(term)
        left.append([*row, number % PRIME])
    for column in range(len(basis)):
        place = next((r for r in range(column, len(left)) if left[r][column]), None)
        if place is None:
            return True
        left[column], left[place] = left[place], left[column]
        inverse = pow(left[column][column], -1, PRIME)
        top = [each * inverse % PRIME for each in left[column]]
        for r in range(column + 1, len(left)):
            if factor_of := left[r][column]:
                left[r] = [(a - factor_of * b) % PRIME for a, b in zip(left[r], top, strict=True)]
    return not any(row[-1] for row in left[len(basis) :])
