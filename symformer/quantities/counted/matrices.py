"""Rule sets that count products with the matrices that they know, three times the forward pass, and no vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sympy import Expr

from ...formulas.account import Term
from ...ledger.facts import Entry, Kind
from .common import SILENT, SIX, attending, by_role, matrix, nothing
from .roles import Reading, Role
from .rule_set import Counting

LAYER = (Role.READ, Role.OUTPUT, Role.MLP, Role.SHARED)  # what every such rule set counts in a layer


def table(
    who: str,
    pairs: Callable[[Entry, Reading, Expr], tuple[Expr, ...]],
    *,
    silent: tuple[Role, ...] = (),
    router: bool = False,
    each: Expr = SIX,
    **others: Counting,
) -> Mapping[Kind, Counting]:
    """The table of such a rule set: all matrices of layers, the logits, the router or not, and pairs of tokens."""

    def product(entry: Entry, reading: Reading) -> tuple[Term, ...]:
        return matrix(entry, each)

    rules: dict[Role, Counting] = dict.fromkeys((Role.HEAD, *LAYER), product)
    rules |= dict.fromkeys(silent, nothing)
    rules[Role.ROUTER] = product if router else nothing
    return {
        **SILENT,
        **dict.fromkeys((Kind.LOOKUP, Kind.NORM, Kind.PARAMETER), nothing),
        Kind.LINEAR: by_role(who, rules),
        Kind.EXPERTS: product,
        **attending(pairs, each),
        **{Kind[name.upper()]: rule for name, rule in others.items()},
    }
