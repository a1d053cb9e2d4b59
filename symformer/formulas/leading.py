"""The leading terms of a formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Add, Expr, Symbol

from ..language.aliases import Alias
from ..language.notation.display_tree import growth
from ..language.notation.text import code
from ..language.sizes import evaluate

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True)
class Leading:
    """The leading terms of a formula and the remaining terms."""

    expr: Expr
    rest: Expr

    @classmethod
    def of(cls, polynomial: Expr) -> Leading:
        """Split an expanded polynomial into leading and remaining terms."""
        terms = Add.make_args(polynomial)
        highest = max(growth(term) for term in terms)
        fastest = Add(*(term for term in terms if growth(term) == highest))
        return cls(fastest, polynomial - fastest)

    def omitted_share(self, numbers: Mapping[Symbol, int]) -> Fraction:
        """Return the exact share of the total that the leading terms omit."""
        from fractions import Fraction

        total = evaluate(self.expr + self.rest, numbers, "the share left out")
        return Fraction(evaluate(self.rest, numbers, "the share left out"), total) if total else Fraction(0)

    def __repr__(self) -> str:
        return code(self.expr)

    # Former names
    left_out = Alias("omitted_share")
