"""Crossovers: the values of one size at which a difference changes sign, as exact formulas and as integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from sympy import (
    Add,
    Expr,
    Integer,
    Max,
    Min,
    Mul,
    Poly,
    Rational,
    Symbol,
    ceiling,
    expand,
    floor,
    fraction,
    igcd,
    ilcm,
    sign,
    together,
)

from ..formulas.factorization import factored
from ..formulas.ratio import lowest
from ..language.notation.display_tree import (
    FractionNode,
    Label,
    Minus,
    Power,
    Product,
    Root,
    Sum,
    Tree,
    terms_tree,
    tree,
    value,
)
from ..language.notation.text import json_number, text, to_digits
from ..language.sizes import AtMost, Condition, Divides, Numbers, substitute
from ..language.symbols import print_order

SHOWN = 24  # maximum number of terms of a readable solution
DIGITS = 12  # digits of an irrational crossover
MOST = 4_000  # maximum number of terms of a polynomial for the substitution size -> size + 1


@dataclass(frozen=True)
class Span:
    """A range of integers in which a difference has one sign; ``last`` is None if the range is unbounded."""

    sign: int
    first: int
    last: int | None

    @property
    def text(self) -> str:
        """The range in words: ``≥ 946``, ``1 to 75`` or ``20``."""
        if self.last is None:
            return f"≥ {self.first:,}"
        return f"{self.first:,}" + (f" to {self.last:,}" if self.last != self.first else "")


@dataclass(frozen=True)
class CrossoverPoint:
    """The value of one size at which a difference is 0, as a formula in the other sizes.

    Above that value the difference has the sign ``above``, and below it the opposite sign.
    """

    size: Symbol
    shown: Tree
    above: int


def constant_sign(difference: Expr) -> int | None:
    """Return the sign of a difference for all sizes >= 1, or None if undecided.

    >>> from symformer.language.symbols import E, G, H
    >>> constant_sign(3*E*H - 2*E), constant_sign(E - 3*E*H), constant_sign(E*H - G), constant_sign(Integer(0))
    (1, -1, None, 0)
    """
    common = without_common_factor(difference)
    sizes = _sizes(common)
    if common.is_Integer:
        return int(sign(common))
    if not common.is_polynomial(*sizes):
        return None
    if found := _one_sign(common):
        return found
    terms = Add.make_args(common)
    if len(terms) * 2 ** max(sum(term.as_powers_dict()[size] for size in sizes) for term in terms) > MOST:
        return None
    from_one = expand(common.xreplace({size: size + 1 for size in sizes}))
    at_one = from_one.subs(dict.fromkeys(sizes, 0))
    return _one_sign(from_one) if at_one != 0 else None


def _one_sign(polynomial: Expr) -> int | None:
    signs = {int(sign(term.as_coeff_Mul()[0])) for term in Add.make_args(polynomial)}
    return signs.pop() if len(signs) == 1 else None


def coefficients(polynomial: Expr, size: Symbol) -> list[Expr]:
    """Return the coefficients of the powers of one size, the highest first, or [] for a non-polynomial."""
    found: dict[int, list[Expr]] = {}
    for term in Add.make_args(expand(polynomial)):
        power = term.as_powers_dict().get(size, Integer(0))
        rest = term / size**power
        if not power.is_Integer or power < 0 or rest.has(size):
            return []
        found.setdefault(int(power), []).append(rest)
    return [Add(*found.get(power, ())) for power in range(max(found), -1, -1)]


def without_common_factor(difference: Expr) -> Expr:
    """Return a difference divided by the common factor of its terms, which is positive, so its sign stays the same.

    >>> from symformer.language.symbols import B, E, H, S
    >>> without_common_factor(4*B*S*E*H - 6*B*S*E**2)
    -3*E + 2*H
    """
    if difference == 0:
        return difference
    parts = [term.as_coeff_Mul() for term in Add.make_args(expand(difference))]
    powers = [rest.as_powers_dict() for _, rest in parts]
    bases = {base for each in powers for base, power in each.items() if base.is_Symbol and power.is_Integer}
    least = {base: min(each.get(base, Integer(0)) for each in powers) for base in bases}
    content = Integer(igcd(0, *(number.p for number, _ in parts))) / ilcm(1, 1, *(number.q for number, _ in parts))
    return expand(difference / Mul(content, *(base**power for base, power in least.items())))


def _sizes(expr: Expr) -> list[Symbol]:
    return sorted(expr.free_symbols, key=print_order)


def solve(left: Label, right: Label, size: Symbol) -> CrossoverPoint | None:
    """Return the value of one size at which the left and right sides are equal.

    If one side does not contain the size, its label may stand for it, if that makes the formula shorter. Return None if
    there is no such value, if there are several, if that is undecided, or if the formula is too long to read.

    >>> from symformer.language.symbols import E, G, H, L
    >>> sides = Label("N", "1", 12*L*E**2 + 2*E), Label("N", "2", 3*L*E*H + E)
    >>> [text(solve(*sides, each).shown) for each in (H, E)]
    ['(12LE + 1)/(3L)', '(3LH - 1)/(12L)']
    >>> text(solve(Label("N", "1", 12*L*E**2 + 2*E), Label("N", "2", G*H), E).shown)
    '(√(12LHG + 1) - 1)/(12L)'
    """
    first, second = value(left), value(right)
    difference = without_common_factor(first - second)
    above = _above(difference, size)
    if not above:
        return None
    found = [_solution(difference, size)]
    for mine, other, label in ((first, second, right), (second, first, left)):
        if size in mine.free_symbols and size not in other.free_symbols:
            found.append(_solution(mine, size, label))
    shown = [each for each in found if each is not None]
    return CrossoverPoint(size, min(shown, key=lambda each: len(text(each))), above) if shown else None


def zero_of(difference: Expr, size: Symbol) -> CrossoverPoint | None:
    """Return the value of one size at which a difference is 0, in the other sizes; None as for :func:`solve`.

    >>> from symformer.language.symbols import A, E, H, L
    >>> found = zero_of(12*L*E**2 - 3*L*E*H - 2*E*L, H)
    >>> text(found.shown), found.above
    ('(12E - 2)/3', -1)
    """
    common = without_common_factor(difference)
    if len(Add.make_args(common)) > SHOWN:
        return None
    above = _above(common, size)
    shown = _solution(common, size) if above else None
    return CrossoverPoint(size, shown, above) if shown is not None and above else None


def _above(difference: Expr, size: Symbol) -> int | None:
    """Return the sign above the only positive root of a difference in one size, or None if undecided."""
    highest, *others = coefficients(difference, size) or [difference]
    if len(others) not in (1, 2):
        return None
    above = constant_sign(highest)
    if len(others) == 1 or (above is not None and constant_sign(others[-1]) == -above):
        return above  # by Descartes' rule, a quadratic has one positive root if its first and last signs differ
    return None


def _solution(amount: Expr, size: Symbol, label: Label | None = None) -> Tree | None:
    """Return the size at which an amount equals the label's value, or 0 without a label."""
    by_power = coefficients(amount, size)
    if len(by_power) not in (2, 3) or sum(len(Add.make_args(each)) for each in by_power) > SHOWN:
        return None
    a, *middle, last = by_power
    if not label and constant_sign(a) == -1:
        a, middle, last = -a, [-each for each in middle], -last
    if not middle:
        if not label:
            above, below = fraction(together(lowest(expand(-last), a)))
            return _over(factored_difference(above), expand(below))
        return _over(_less(label, last), a)
    b = middle[0]
    if not label:
        common = Integer(igcd(0, *(int(each.as_coeff_Mul()[0]) for each in Add.make_args(b))))
        half = expand(b / 2) if common % 2 == 0 else None
        inside = expand((half**2 if half is not None else b**2) - (1 if half is not None else 4) * a * last)
        root: Tree = Root(factored_difference(inside))
        rest, below = (half, a) if half is not None else (b, 2 * a)
    else:
        product = Product((*_factors(expand(4 * a)), _less(label, last)))
        root = Root(product if b == 0 else Sum((_squared(b), product)))
        rest, below = b, 2 * a
    return _over(root if rest == 0 else Sum((root, *_signed(-rest))), below)


def _less(label: Label, rest: Expr) -> Tree:
    return terms_tree([label, *_signed(-rest)]) if rest != 0 else label


def factored_difference(polynomial: Expr) -> Tree:
    """Return the positive terms, factored, minus the negative terms, factored.

    >>> from symformer.language.symbols import A, E, H, L, V
    >>> text(factored_difference(12*L*E**2 + 13*L*E - 2*L*E*A - 3*L*E*H - V*E))
    'LE(12E + 13) - LE(3H + 2A) - VE'
    """
    return terms_tree(_signed(polynomial))


def _signed(polynomial: Expr) -> list[Tree]:
    terms = Add.make_args(expand(polynomial))
    more = Add(*(term for term in terms if term.as_coeff_Mul()[0] > 0))
    less = expand(more - polynomial)
    return [*(_terms(factored(more)) if more != 0 else []), *(map(Minus, _terms(factored(less))) if less != 0 else [])]


def _terms(shown: Tree) -> tuple[Tree, ...]:
    return shown.terms if isinstance(shown, Sum) else (shown,)


def _squared(expr: Expr) -> Tree:
    return tree(expr**2) if not isinstance(expr, Add) else Power(factored(expr), 2)


def _factors(expr: Expr) -> tuple[Tree, ...]:
    shown = factored(expr)
    return shown.factors if isinstance(shown, Product) else (shown,)


def _over(above: Tree, below: Expr) -> Tree:
    return above if below == 1 else FractionNode(above, factored(expand(below)))


def spans(difference: Expr, size: Symbol) -> tuple[Span, ...]:
    """Return the exact ranges of sign, from 1, of a difference in one size; () if it rounds a quotient of the size.

    The real roots are isolated in rational intervals, and the difference is evaluated at every integer next to one.
    Between these integers its sign is constant.

    >>> from symformer.language.symbols import L
    >>> spans(3*L**2 - 27*L, L)
    (Span(sign=-1, first=1, last=8), Span(sign=0, first=9, last=9), Span(sign=1, first=10, last=None))
    """
    found: list[Span] = []
    for first, last, piece in _pieces(expand(difference), size, 1, None):
        if not piece.is_polynomial(size):
            return ()
        found += _of_piece(piece, size, first, last)
    joined: list[Span] = []
    for each in found:
        same = joined and joined[-1].sign == each.sign
        joined.append(Span(each.sign, joined.pop().first, each.last) if same else each)
    return tuple(joined)


@dataclass(frozen=True)
class EqualPoint:
    """A value of one size at which a difference is 0: exact if it is rational, else rounded to twelve digits."""

    value: Fraction
    exact: bool = True

    def to_json(self) -> int | str:
        """Return an exact value as an integer or a string "p/q", and a rounded value as a decimal in a string."""
        found = json_number(self.value)
        return found if self.exact and found is not None else f"{to_digits(self.value, DIGITS):f}"


def equal_points(difference: Expr, size: Symbol) -> tuple[EqualPoint, ...]:
    """Return the values of one size, at least 1, at which a difference in it is 0, in ascending order.

    A difference that is 0 over a whole range, or that rounds a quotient of the size, has none; :func:`spans` has the
    ranges.

    >>> from symformer.language.symbols import L
    >>> [each.to_json() for each in equal_points((3*L - 27)*(7*L - 100)*(L**2 - 2), L)]
    ['1.41421356237', 9, '100/7']
    """
    found: set[EqualPoint] = set()
    if difference.free_symbols != {size}:
        return ()
    for first, last, piece in _pieces(expand(difference), size, 1, None):
        if not piece.is_polynomial(size):
            return ()
        if size not in piece.free_symbols:
            continue
        exact = Poly(piece, size)
        for (low, high), _ in exact.intervals():
            root = EqualPoint(_fraction(low)) if low == high else _root(exact, low, high)
            near = first - 1 < root.value and (last is None or root.value < last + 1)
            here = {size: Rational(root.value)}  # between two integers, another argument of a min or max may be active
            if near and root.value >= 1 and (difference - piece).xreplace(here) == 0:
                found.add(root)
    return tuple(sorted(found, key=lambda each: each.value))


def _fraction(number: Rational) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _root(polynomial: Poly, low: Rational, high: Rational) -> EqualPoint:
    """Return the root in an isolating interval."""
    for factor, _ in polynomial.factor_list()[1]:
        if factor.degree() == 1:
            slope, constant = factor.all_coeffs()
            if low <= -constant / slope <= high:
                return EqualPoint(_fraction(Rational(-constant / slope)))
    low, high = polynomial.refine_root(low, high, eps=Rational(1, 10**DIGITS) * max(1, abs(high)))
    return EqualPoint(Fraction(to_digits(_fraction(low), DIGITS)), exact=False)


def _pieces(expr: Expr, size: Symbol, first: int, last: int | None) -> Iterator[tuple[int, int | None, Expr]]:
    """Yield the ranges in which each min and max has a single active argument, with the expression there."""
    atoms = [each for each in expr.atoms(Min, Max) if not any(inner.has(Min, Max) for inner in each.args)]
    if not atoms or expr.has(floor, ceiling):
        yield first, last, expr
        return
    chosen = min(atoms, key=str)
    if not all(each.is_polynomial(size) and Poly(each, size).degree() < 2 for each in chosen.args):
        yield first, last, expr
        return
    cuts = set()
    for one, other in combinations(chosen.args, 2):
        between = Poly(one - other, size)
        if between.degree() == 1:
            slope, constant = between.all_coeffs()
            cuts.add(int(floor(-constant / slope)))
    pick = min if isinstance(chosen, Min) else max
    for start, end in _parts(cuts, first, last):
        best = pick(chosen.args, key=lambda each, start=start: each.subs(size, start))  # type: ignore[misc]
        yield from _pieces(expand(expr.xreplace({chosen: best})), size, start, end)


def _parts(cuts: Iterable[int], first: int, last: int | None) -> Iterator[tuple[int, int | None]]:
    """Yield the ranges of integers between first and last, split after each cut."""
    inside = sorted(cut for cut in cuts if first <= cut and (last is None or cut < last))
    starts = [first, *(cut + 1 for cut in inside)]
    yield from zip(starts, [*inside, last], strict=True)


def _of_piece(polynomial: Expr, size: Symbol, first: int, last: int | None) -> list[Span]:
    if size not in polynomial.free_symbols:
        return [Span(int(sign(polynomial)), first, last)]
    exact = Poly(polynomial, size)
    beside = {
        number
        for (low, high), _ in exact.intervals(eps=Integer(1) / 4)
        for number in range(int(floor(low)) - 1, int(floor(high)) + 2)
    }
    return [Span(int(sign(exact.eval(start))), start, end) for start, end in _parts(beside, first, last)]


@dataclass(frozen=True)
class AllowedValues:
    """The allowed values of one size if the others have numbers: its bounds, divisors and multiples.

    >>> from symformer.language.symbols import A, G
    >>> of_heads = AllowedValues.of(G, [Divides(G, A)], {A: 32, G: 8})
    >>> [each for each in range(1, 40) if each in of_heads]
    [1, 2, 4, 8, 16, 32]
    >>> of_heads.narrowed([Span(-1, 1, 19), Span(0, 20, 20), Span(1, 21, None)])
    (Span(sign=-1, first=1, last=16), Span(sign=1, first=32, last=32))
    """

    low: int = 1
    high: int | None = None
    multiple_of: tuple[int, ...] = ()
    divides: tuple[int, ...] = ()

    @classmethod
    def of(cls, size: Symbol, conditions: Iterable[Condition], numbers: Mapping[Symbol, int]) -> AllowedValues:
        """Return the values that the conditions between the size and a number allow."""
        others = {name: number for name, number in numbers.items() if name != size}
        found = cls()
        for each in conditions:
            match each:
                case Divides(divisor=small, dividend=large) | AtMost(low=small, high=large):
                    small, large = substitute(small, others), substitute(large, others)
                    whole = isinstance(each, Divides)
                    if small == size and large.is_Integer:
                        found &= cls(1, int(large), (), (int(large),) * whole)
                    if large == size and small.is_Integer:
                        found &= cls(int(small), None, (int(small),) * whole)
        return found

    def __and__(self, other: AllowedValues) -> AllowedValues:
        tops = [each for each in (self.high, other.high) if each is not None]
        return AllowedValues(
            max(self.low, other.low),
            min(tops, default=None),
            (*self.multiple_of, *other.multiple_of),
            (*self.divides, *other.divides),
        )

    def __contains__(self, number: int) -> bool:
        bounded = self.low <= number and (self.high is None or number <= self.high)
        whole = all(number % each == 0 for each in self.multiple_of)
        return bounded and whole and all(each % number == 0 for each in self.divides)

    def narrowed(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """Return the spans cut to their first and last allowed numbers, without empty spans."""
        found = []
        for each in spans:
            low = max(each.first, self.low)
            high = min((top for top in (each.last, self.high) if top is not None), default=None)
            first = self._next(low, 1, high)
            if first is not None:
                found.append(Span(each.sign, first, None if high is None else self._next(high, -1, low) or high))
        return tuple(found)

    def _next(self, start: int, step: int, end: int | None) -> int | None:
        """Return the first allowed number from a start in steps of 1 or -1."""
        for number in range(start, start + step * STEPS, step):
            if end is not None and (number - end) * step > 0:
                return None
            if number in self:
                return number
        return start


STEPS = 100_000  # maximum number of integers tried


def crossings(
    difference: Expr, numbers: Numbers, allowed: Mapping[Symbol, AllowedValues]
) -> dict[Symbol, tuple[Span, ...]]:
    """Return, for each size, the ranges of sign of a difference, holding the other sizes fixed.

    A size is omitted if another one has no number and can affect the sign.
    """
    common = without_common_factor(difference)
    found = {}
    for size in _sizes(common):
        others = {name: number for name, number in numbers.items() if name != size}
        only = without_common_factor(substitute(common, others))
        if only.free_symbols <= {size} and (signs := allowed.get(size, AllowedValues()).narrowed(spans(only, size))):
            found[size] = signs
    return found
