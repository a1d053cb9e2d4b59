"""Rule sets that count matrix products only, with training at three times the forward pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sympy import Expr

from ...formulas.account import Term
from ...ledger.facts import Entry, OperationKind
from .common_rules import SILENT, SIX, attention_rules, counts_nothing, matrix, rule_by_role
from .linear_roles import Role, RoleTable
from .rule_set import Counting

LAYER = (Role.READ, Role.OUTPUT, Role.MLP, Role.SHARED)  # the matrices of a layer that every such rule set counts


def table(
    who: str,
    pairs: Callable[[Entry, RoleTable, Expr], tuple[Expr, ...]],
    *,
    silent: tuple[Role, ...] = (),
    router: bool = False,
    each: Expr = SIX,
    **others: Counting,
) -> Mapping[OperationKind, Counting]:
    """Return the table of such a rule set.

    Parameters
    ----------
    who : str
        The name of the code base in error messages.
    pairs : Callable
        The number of query-key pairs of an attention layer, as factors.
    silent : tuple[Role, ...]
        The roles of linear layers that add nothing.
    router : bool
        Whether routers count.
    each : Expr
        The FLOPs per multiply-add: 2 for a forward pass, 6 for training.
    **others : Counting
        The rules of other kinds of operations, by kind.

    """

    def product(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
        return matrix(entry, each)

    rules: dict[Role, Counting] = dict.fromkeys((Role.HEAD, *LAYER), product)
    rules |= dict.fromkeys(silent, counts_nothing)
    rules[Role.ROUTER] = product if router else counts_nothing
    return {
        **SILENT,
        **dict.fromkeys((OperationKind.LOOKUP, OperationKind.NORM, OperationKind.PARAMETER), counts_nothing),
        OperationKind.LINEAR: rule_by_role(who, rules),
        OperationKind.EXPERTS: product,
        **attention_rules(pairs, each),
        **{OperationKind[name.upper()]: rule for name, rule in others.items()},
    }
