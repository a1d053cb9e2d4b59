"""The parameters that the ``N`` of a printed formula can count: all, without embeddings, matrices only, active."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from sympy import Expr, expand

from ..language.errors import SymformerError
from ..ledger.facts import MULTIPLYING, OperationKind
from ..models.model import Model
from .account_terms import AccountTerm, account_terms, total_of_terms


@dataclass(frozen=True)
class ParameterCount:
    """One meaning of the number of parameters of a model."""

    expr: Expr
    name: str  # a sentence that states which parameters are counted
    key: str  # the same as a key, which letters.json uses


def parameter_counts(model: Model) -> list[ParameterCount]:
    """Return the possible meanings of the number of parameters in a formula; some may be equal."""
    formula = model.formula("params")
    parts = account_terms(formula)
    total = total_of_terms(parts)
    tables = [each for each in parts if each.entry.kind is OperationKind.LOOKUP]
    placed = [each for each in tables if each.entry.function == "positions"]
    head = [each for each in parts if each.entry.logits and not each.label.endswith(".bias")]
    matrices = [each for each in parts if _is_matrix(each)]
    without = "its parameter count excludes the embeddings"
    ways = [
        ParameterCount(total, "its parameter count includes all parameters", "all"),
        ParameterCount(expand(total - total_of_terms(tables)), without, "no embeddings"),
        ParameterCount(
            expand(total - total_of_terms(placed)),
            "its parameter count excludes the position embeddings",
            "no positions",
        ),
        ParameterCount(
            expand(total - total_of_terms([*tables, *head])), f"{without} and the head", "no embeddings, no head"
        ),
        ParameterCount(total_of_terms(matrices), "its parameter count includes only the layers' matrices", "matrices"),
        ParameterCount(
            expand(total_of_terms(matrices) + _head(parts)),
            "its parameter count includes only the layers' matrices and the head",
            "matrices and head",
        ),
    ]
    with suppress(SymformerError):
        ways += _active(model)
    return ways


def _active(model: Model) -> list[ParameterCount]:
    """Return the counts of the parameters active for a token."""
    parts = account_terms(model.formula("active-params"))
    matrices = total_of_terms([each for each in parts if _is_matrix(each)])
    said = "its parameter count includes only the"
    return [
        ParameterCount(total_of_terms(parts), f"{said} parameters active for a token", "active"),
        ParameterCount(matrices, f"{said} layers' matrices active for a token", "active matrices"),
        ParameterCount(
            expand(matrices + _head(parts)),
            f"{said} layers' matrices active for a token and the head",
            "active matrices and head",
        ),
    ]


def _is_matrix(each: AccountTerm) -> bool:
    """Return True for the matrices of the layers."""
    multiplies = each.entry.kind in (*MULTIPLYING, OperationKind.EXPERTS)
    return multiplies and each.repeated and not each.label.endswith(".bias")


def _head(parts: Sequence[AccountTerm]) -> Expr:
    """Return the size of the head matrix: its own, or the tied token embedding."""
    own = [each for each in parts if each.entry.logits and not each.label.endswith(".bias")]
    return total_of_terms(own or [each for each in parts if each.entry.function == "tokens"])
