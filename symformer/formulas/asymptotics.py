"""Leading terms and limits of formulas as several sizes grow, exactly, also with min, max and rounding."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from sympy import (
    Add,
    Dummy,
    Expr,
    Integer,
    Max,
    Min,
    Mul,
    Pow,
    Symbol,
    cancel,
    ceiling,
    expand,
    floor,
    fraction,
    oo,
    together,
)

from ..language.errors import SizeError
from ..language.limits import Quotient
from ..language.notation.text import text
from .growth_order import GrowthOrder

MAX_TERMS = 2_000  # terms of a polynomial whose orders are compared with each other
MAX_CANCELLED = 100  # terms of a numerator and a denominator whose common factors are searched for

SHIFTED = 24  # terms of a coefficient whose sign is decided by expanding it around 1

Orders = dict[tuple[int, ...], Expr]  # the powers of the growing sizes, and the coefficient in the other sizes


def leading_terms(expr: Expr, order: GrowthOrder, name: str = "the formula", *, partial: bool = False) -> Expr:
    """Return the terms that no other term dominates in a growth order; of a quotient, those above over those below.

    If all leading terms have one sign, the formula divided by them tends to 1. An argument of max or min that wins in
    the end replaces it. With ``partial``, the order may name sizes that the formula does not contain.

    Raises
    ------
    SizeError
        If the order leaves open which argument of a max or min wins, or if the leading terms contain a rounding error.

    Examples
    --------
    >>> from symformer.language.symbols import C, C_win, E, S, V
    >>> leading_terms(4*S**2*E + 24*S*E**2 + 2*S*V*E, GrowthOrder.read("S >> E"))
    4*E*S**2
    >>> leading_terms(4*S**2*E + 24*S*E**2 + 2*S*V*E, GrowthOrder.read("E >> S >> 1"))
    24*E**2*S
    >>> leading_terms(E*Min(C, C_win) + E, GrowthOrder.read("E >> 1"))
    E*Min(C, C_win) + E

    """
    above, below = _sides(expr, order, name, partial)
    top, bottom = (_sum(_leading(side, order, name), order) for side in (above, below))
    return expand(top / bottom) if not isinstance(bottom, Add) else _lowest(top, bottom)


def limit_in(expr: Expr, order: GrowthOrder, name: str = "the formula", *, partial: bool = False) -> Expr:
    """Return the limit of a formula in a growth order: an expression in the fixed sizes, or plus or minus infinity.

    Raises
    ------
    SizeError
        If the limit depends on how the sizes grow beyond what the order states.

    Examples
    --------
    >>> from symformer.language.symbols import E, L, S, V
    >>> quotient = (12*L*E + S)/(L*E + V)
    >>> limit_in(quotient, GrowthOrder.read("L*E >> S")), limit_in(quotient, GrowthOrder.read("S >> L*E"))
    (12, oo)
    >>> limit_in(quotient, GrowthOrder.read("V >> S"))
    0

    """
    above, below = _sides(expr, order, name, partial)
    if above == 0:
        return Integer(0)
    top, bottom = _leading(above, order, name), _leading(below, order, name)
    if all(any(order.dominates(_less(order, under, over)) for under in bottom) for over in top):
        _one_sign(bottom, name, order)
        return Integer(0)
    if all(any(order.dominates(_less(order, over, under)) for over in top) for under in bottom):
        signs = _one_sign(top, name, order) * _one_sign(bottom, name, order)
        return oo if signs > 0 else -oo
    found = _lowest(_sum(top, order), _sum(bottom, order))
    if found.free_symbols & set(order.sizes):
        raise SizeError(
            f"{order} does not determine the limit of {name}, whose leading part is {text(found)}; state how "
            f"{_listed(order, found)} grows, or divide by it"
        )
    for side in (top, bottom):
        if len(side) > 1:  # several terms of one order could cancel
            _one_sign(side, name, order)
    return found


def eventual_sign(expr: Expr, order: GrowthOrder) -> int | None:
    """Return the sign of a polynomial or quotient once the sizes have grown enough, or None if that is undecided.

    >>> from symformer.language.symbols import E, S, V
    >>> eventual_sign(S - 6*E - 40, GrowthOrder.read("S >> E")), eventual_sign(S - V, GrowthOrder.read("S >> E"))
    (1, 1)
    >>> eventual_sign(E - V, GrowthOrder.read("S >> E")) is None
    True
    """
    above, below = map(expand, fraction(together(expr)))
    if above == 0:
        return 0
    found = 1
    for side in (above, below):
        terms = _orders(side, order)
        if terms is None:
            return None
        signs = {_sign(each) for each in _undominated(terms, order).values()}
        if len(signs) != 1 or None in signs:
            return None
        found *= signs.pop() or 0
    return found


def in_the_end(expr: Expr, order: GrowthOrder, name: str = "the formula") -> Expr:
    """Return a formula with the argument of each max and min that wins in the end.

    Calls of fixed sizes remain. Raises SizeError if the order leaves open which argument wins.

    >>> from symformer.language.symbols import C, C_win, E
    >>> in_the_end(E*Min(C, C_win - 1), GrowthOrder.read("C -> oo"))
    E*(C_win - 1)
    """
    growing = set(order.sizes)
    for _ in range(len(expr.atoms(Min, Max)) + 1):
        calls = [each for each in expr.atoms(Min, Max) if growing & each.free_symbols]
        inner = [each for each in calls if not any(part.atoms(Min, Max) & set(calls) for part in each.args)]
        if not inner:
            return expr
        expr = expr.xreplace({each: _winner(each, order, name) for each in inner})
    return expr


def _winner(call: Expr, order: GrowthOrder, name: str) -> Expr:
    """Return the argument that wins in the end; several that contain only fixed sizes stay in their call."""
    wanted = -1 if isinstance(call, Min) else 1
    left = list(call.args)
    for one in call.args:
        if any(other is not one and eventual_sign(_smooth(other - one)[0], order) == wanted for other in left):
            left.remove(one)
    if len(left) > 1 and any(each.free_symbols & set(order.sizes) for each in left):
        which = f"the {'smaller' if wanted < 0 else 'larger'} of {' and '.join(map(text, left))}"
        raise SizeError(f"{order} does not determine {which} in {name}; state which grows faster")
    return left[0] if len(left) == 1 else call.func(*left)


def _smooth(expr: Expr) -> tuple[Expr, set[Symbol]]:
    """Return an expression with each rounding as its argument plus an error of less than 1, and these errors."""
    errors: set[Symbol] = set()
    numbers = count(1)
    while calls := [each for each in expr.atoms(floor, ceiling) if not each.args[0].has(floor, ceiling)]:
        put = {}
        for each in sorted(calls, key=str):
            error = Dummy(f"error_{next(numbers)}", positive=True)
            errors.add(error)
            put[each] = each.args[0] + (error if isinstance(each, ceiling) else -error)
        expr = expr.xreplace(put)
    return expr, errors


def _sides(expr: Expr, order: GrowthOrder, name: str, partial: bool) -> tuple[Expr, Expr]:
    """Return the numerator and the denominator of a formula in the end, expanded. Raises SizeError."""
    missing = [str(size) for size in order.sizes if size not in expr.free_symbols]
    if missing and not partial:
        has = ", ".join(sorted(map(str, expr.free_symbols)))
        raise SizeError(f"{name} does not depend on {' and '.join(missing)}; its sizes are {has or 'none'}")
    expr = in_the_end(expr, order, name)
    growing = set(order.sizes)
    rounded = {each: Dummy(positive=True) for each in expr.atoms(floor, ceiling) if not growing & each.free_symbols}
    smooth, errors = _smooth(expr.xreplace(rounded))
    above, below = one_fraction(smooth, name)
    back = {dummy: each for each, dummy in rounded.items()}
    for side in (above, below):
        terms = _orders(side, order)
        if terms is not None and any(each.free_symbols & errors for each in _undominated(terms, order).values()):
            raise SizeError(f"as {order}, the leading part of {name} is a rounding error, which has no limit")
    plain = {error: Integer(0) for error in errors}
    return above.xreplace(plain | back), below.xreplace(plain | back)


def one_fraction(expr: Expr, name: str) -> tuple[Expr, Expr]:
    """Return a formula as one fraction of expanded sums. Raises SizeError if that is too long."""
    above, below = fraction(expr)
    if any(power.exp.is_negative and isinstance(power.base, Add) for power in (above + below).atoms(Pow)):
        if excess := Quotient.of(expr).excess:
            raise SizeError(f"{name} can have {excess} over one denominator; give sizes as numbers first")
        above, below = fraction(together(expr))
    return expand(above), expand(below)


def _leading(side: Expr, order: GrowthOrder, name: str) -> Orders:
    terms = _orders(expand(side), order)
    if terms is None:
        raise SizeError(f"{name} is not a quotient of polynomials in {_listed(order, side)}")
    return _undominated(terms, order)


def _orders(polynomial: Expr, order: GrowthOrder) -> Orders | None:
    """Return the coefficient of each product of growing sizes, or None for another expression."""
    found: dict[tuple[int, ...], list[Expr]] = {}
    growing = set(order.sizes)
    terms = Add.make_args(polynomial)
    if len(terms) > MAX_TERMS:
        raise SizeError(
            f"a side has {len(terms):,} terms, more than the limit of {MAX_TERMS:,}; give sizes as numbers first"
        )
    for term in terms:
        powers = term.as_powers_dict()
        own = [powers.get(size, Integer(0)) for size in order.sizes]
        rest = term / Mul(*(size**power for size, power in zip(order.sizes, own, strict=True)))
        if not all(power.is_Integer for power in own) or rest.free_symbols & growing:
            return None
        found.setdefault(tuple(map(int, own)), []).append(rest)
    sums = {powers: Add(*rests) for powers, rests in found.items()}
    return {powers: each for powers, each in sums.items() if each != 0}


def _undominated(terms: Orders, order: GrowthOrder) -> Orders:
    return {
        mine: each
        for mine, each in terms.items()
        if not any(order.dominates(_less(order, other, mine)) for other in terms if other != mine)
    }


def _less(order: GrowthOrder, over: tuple[int, ...], under: tuple[int, ...]) -> Mapping[Symbol, int]:
    return {size: a - b for size, a, b in zip(order.sizes, over, under, strict=True)}


def _sum(terms: Orders, order: GrowthOrder) -> Expr:
    def product(powers: tuple[int, ...]) -> Expr:
        return Mul(*(size**power for size, power in zip(order.sizes, powers, strict=True)))

    return expand(Add(*(product(powers) * each for powers, each in terms.items())))


def _one_sign(terms: Orders, name: str, order: GrowthOrder) -> int:
    """Return the sign that all coefficients have. Raises SizeError if they differ or are undecided."""
    signs = {_sign(each) for each in terms.values()}
    if len(signs) == 1 and (found := signs.pop()):
        return found
    shown = text(_sum(terms, order))
    raise SizeError(f"the limit of {name} as {order} depends on the sign of {shown}; give those sizes as numbers first")


def _sign(expr: Expr) -> int | None:
    """Return the sign of a coefficient for all sizes of at least 1, or None if it is undecided."""
    if expr.is_positive or expr.is_negative:
        return 1 if expr.is_positive else -1
    if not expr.is_polynomial(*expr.free_symbols) or len(Add.make_args(expr)) > SHIFTED:
        return None
    from_one = expand(expr.xreplace({size: size + 1 for size in expr.free_symbols}))
    signs = {bool(term.as_coeff_Mul()[0] > 0) for term in Add.make_args(from_one)}
    if len(signs) != 1 or from_one.xreplace(dict.fromkeys(expr.free_symbols, Integer(0))) == 0:
        return None
    return 1 if signs.pop() else -1


def _lowest(above: Expr, below: Expr) -> Expr:
    """Return a quotient in lowest terms, or unchanged if it is too long for that."""
    if len(Add.make_args(above)) + len(Add.make_args(below)) > MAX_CANCELLED:
        return above / below
    over, under = map(expand, fraction(cancel(above / below)))
    return over / under if isinstance(under, Add) else expand(over / under)


def _listed(order: GrowthOrder, expr: Expr) -> str:
    return " and ".join(str(size) for size in order.sizes if size in expr.free_symbols)
