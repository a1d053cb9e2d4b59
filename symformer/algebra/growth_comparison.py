"""Comparisons as several sizes grow: the limit of the ratio, and the larger total in the end."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sympy import Expr, oo

from ..formulas.asymptotics import eventual_sign, in_the_end, leading_terms, limit_in
from ..formulas.growth_order import GrowthOrder
from ..language.errors import SizeError
from ..language.notation.text import code
from ..language.sizes import Numbers, substitute
from .quotient_limits import lowest_terms


@dataclass(frozen=True)
class GrowthComparison:
    """The ratio and the difference of two totals as sizes grow.

    Parameters
    ----------
    order
        The growth order, with the letters of the comparison.
    limit
        The limit of the ratio, ``sympy.oo`` if it has no bound, or None if the order does not determine it.
    leading
        The leading terms of the ratio, or None if the second total is 0.
    sign
        The sign of the difference in the end: 1 if the first total is larger; None if it is undecided.

    Examples
    --------
    >>> from symformer.language.symbols import E, S
    >>> attention, mlp = 4*S**2*E + 8*S*E**2, 16*S*E**2
    >>> found = GrowthComparison.of(attention, mlp, attention - mlp, GrowthOrder.read("S >> E"))
    >>> found.limit, found.sign
    (oo, 1)

    """

    order: GrowthOrder
    limit: Expr | None
    leading: Expr | None
    sign: int | None

    @classmethod
    def of(
        cls, first: Expr, second: Expr, difference: Expr, order: GrowthOrder, numbers: Numbers | None = None
    ) -> GrowthComparison:
        """Return the comparison of two totals. Raises SizeError if the order leaves a min or max open.

        ``numbers`` are the values of fixed sizes, which are used only where the letters do not decide.
        """
        fixed = {size: number for size, number in (numbers or {}).items() if size not in order.sizes}
        first, second, difference = (in_the_end(each, order, "a total") for each in (first, second, difference))
        sign = eventual_sign(difference, order)
        if sign is None:
            sign = eventual_sign(substitute(difference, fixed), order)
        if second == 0:
            return cls(order, None, None, sign)
        ratio = lowest_terms(first, second)
        growing = [size for size in order.sizes if size in ratio.free_symbols]
        if not growing:
            return cls(order, ratio, ratio, sign)
        leading = leading_terms(ratio, order, "the ratio", partial=True)
        for each in (ratio, substitute(ratio, fixed)):
            with suppress(SizeError):
                return cls(order, limit_in(each, order, "the ratio", partial=True), leading, sign)
        return cls(order, None, leading, sign)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON data."""
        limit = None if self.limit is None else "unbounded" if self.limit is oo else code(self.limit)
        larger = None if self.sign is None else {1: "left", 0: "equal", -1: "right"}[self.sign]
        leading = None if self.leading is None else code(self.leading)
        return {"order": str(self.order), "limit": limit, "leading": leading, "larger": larger}
