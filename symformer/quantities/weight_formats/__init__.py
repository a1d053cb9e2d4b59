"""Formats of stored weights: the bytes of every weight of a model, as a sum over the tensors in which it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sympy import Expr, Symbol

from ...formulas.account import Term
from ...language.errors import RuleError
from ...language.sizes import Condition, Divides, Relations
from ...ledger.adapters import is_adapted
from ...ledger.facts import Ledger, OperationKind, Weight
from ..cache_formats import ELEMENTS
from ..quantity import refuse_observed
from .gguf import PREFIX, GGUFPlan
from .gguf_mixtures import MIXTURES
from .linear_formats import LINEAR_FORMATS
from .stored_matrix import stored_matrices
from .weight_format import WeightFormat

ELEMENT_BYTES = ELEMENTS  # the formats in which every weight has the same number of bytes per element
_ELEMENTS = {
    "bf16": "2 bytes per element",
    "fp16": "2 bytes per element",
    "fp32": "4 bytes per element",
    "fp8": "1 byte per element, of every weight",
    "symbolic": "W bytes per element",
}
_KEPT = "the router, the LM head, embeddings, norms and biases keep 2 bytes per element"
_KEPT_BY_MLX = "norms and biases keep 2 bytes per element"
# The meaning of every format, by its name.
MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        **_ELEMENTS,
        **{
            name: f"{each.meaning}; {_KEPT_BY_MLX if name.startswith('mlx') else _KEPT}"
            for name, each in LINEAR_FORMATS.items()
        },
        **{
            f"{PREFIX}{name}": f"a GGUF file of type {name.upper()}, by the rules of llama.cpp at commit 007dbbf3, "
            "without the file's header; vectors, routers and tables of positions are stored in float32"
            for name in MIXTURES
        },
    }
)
UNUSUAL = frozenset(MEANINGS) - frozenset(ELEMENTS)


@dataclass(frozen=True)
class StoredWeights:
    """The weights of a model in one format."""

    terms: Mapping[int, tuple[Term, ...]]  # by the ``id`` of the entry that stores them
    conditions: tuple[Condition, ...] = ()
    totals: Relations = field(default_factory=dict)  # sizes that the terms name, such as the layers with a better type


def stored_weights(ledger: Ledger, name: str, numbers: Mapping[Symbol, int], rope: str = "") -> StoredWeights:
    """Return the bytes of every weight of a model in a format.

    Parameters
    ----------
    ledger : Ledger
        The operations of the model.
    name : str
        The format, such as "awq" or "gguf:q4_k_m".
    numbers : Mapping[Symbol, int]
        The sizes that have a value.
    rope : str
        The type of scaling of the rotary frequencies.

    Raises
    ------
    RuleError
        If the format does not support the model.

    """
    if name in ELEMENT_BYTES:
        return StoredWeights(_by_element(ledger, ELEMENT_BYTES[name]))
    for _, entry in ledger:
        if entry.kind is OperationKind.OBSERVED and entry.weights:
            raise RuleError(
                f"weights={name} needs the role of every weight, which a trace does not show ({entry.path})"
            )
    if is_adapted(ledger) and any(entry.kind is OperationKind.ROUTE for _, entry in ledger):
        raise RuleError(f"weights={name} is not supported for adapters of a model with experts")
    if name.startswith(PREFIX):
        if is_adapted(ledger):
            raise RuleError(f"weights={name} is not supported for a model with adapters; remove them")
        plan = GGUFPlan(ledger, name.removeprefix(PREFIX), numbers, rope)
        return StoredWeights(
            {entry: tuple(terms) for entry, terms in plan.terms.items()},
            tuple(plan.conditions.values()),
            plan.totals,
        )
    return _by_matrix(ledger, LINEAR_FORMATS[name])


def defaults(name: str) -> Mapping[Symbol, int]:
    """Return the values of the sizes that a format has, such as the elements per group."""
    return LINEAR_FORMATS[name].defaults if name in LINEAR_FORMATS else {}


def _by_element(ledger: Ledger, size: Expr) -> dict[int, tuple[Term, ...]]:
    found = {}
    for _, entry in ledger:
        if entry.kind is OperationKind.OBSERVED and entry.measured != "params":
            refuse_observed(entry, {})
        found[id(entry)] = tuple(_term(weight, "", (*weight.shape, size)) for weight in entry.weights)
    return found


def _by_matrix(ledger: Ledger, form: WeightFormat) -> StoredWeights:
    terms: dict[int, list[Term]] = {}
    conditions: dict[str, Condition] = {}
    for matrix in stored_matrices(ledger):
        if matrix.role in form.refused:
            raise RuleError(
                f"{matrix.weight.path}: weights={form.name} is not supported for a matrix of this kind ({matrix.role})"
            )
        quantized = matrix.role in form.roles
        copies = (matrix.copies,) if quantized and matrix.copies != 1 else ()
        terms.setdefault(id(matrix.entry), []).extend(
            _term(matrix.weight, part.name, (*copies, *part.factors)) for part in form.tensors(matrix)
        )
        for condition in form.conditions(matrix):
            if not (isinstance(condition, Divides) and (condition.dividend / condition.divisor).is_integer):
                conditions.setdefault(str(condition), condition)
    return StoredWeights({entry: tuple(each) for entry, each in terms.items()}, tuple(conditions.values()))


def _term(weight: Weight, part: str, factors: tuple[Expr, ...]) -> Term:
    share = (weight.share,) if weight.share != 1 else ()
    label = f"{weight.path} ({part})" if part else weight.path
    return Term(label, (*factors, *share), purpose="weights", weight=weight.path if part else "")
