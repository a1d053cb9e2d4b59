"""The stored weights of a model in a format, as rows of numbers: shapes, copies, and bytes by part or type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from sympy import Expr, Symbol

from ..formulas.formula import Formula
from ..language.sizes import evaluate
from ..ledger.facts import Entry, OperationKind
from ..models.model import Model
from ..quantities.weight_formats.gguf import PREFIX

_PART = re.compile(r".* \(([^()]*)\)", re.DOTALL)


@dataclass(frozen=True)
class ModelRow:
    """A stored weight of the model.

    Attributes
    ----------
    path : str
        Its name, with * for the number of a layer.
    copies : int
        The number of layers that store it.
    shape : tuple[int, ...]
        The shape of one copy.
    parts : Mapping[str, int]
        The bytes of all copies: by the type of a GGUF file, or by the part of a quantization format, or under "".
    tokens : bool
        Whether it is the table of token embeddings.

    """

    path: str
    copies: int
    shape: tuple[int, ...]
    parts: Mapping[str, int]
    tokens: bool = False

    @property
    def bytes(self) -> int:
        """The bytes of all copies."""
        return sum(self.parts.values())

    @property
    def elements(self) -> int:
        """The elements of all copies."""
        return self.copies * prod(self.shape)


def model_rows(model: Model, formula: Formula) -> list[ModelRow]:
    """Return the weights that weight memory counts, in execution order. Raises SizeError if a size has no value."""
    numbers = formula.with_totals(formula.source.known if formula.source is not None else model.known)
    found: list[ModelRow] = []
    is_gguf = formula.conventions.get("weights", "").startswith(PREFIX)
    for count, line in formula.root.leaves():
        entry = line.entry
        if entry is None:
            continue
        terms = [(term.weight or term.label.partition(" (")[0], term.label, count * term.expr) for term in line.terms]
        for weight in entry.weights:
            copies = evaluate(count * weight.share, numbers, weight.path)
            shape = tuple(evaluate(dim, numbers, weight.path) for dim in weight.shape)
            own = [(label, each) for owner, label, each in terms if owner == weight.path]
            parts = _parts(own, numbers, weight.path)
            if copies:
                found.append(ModelRow(weight.path, copies, shape, parts, _is_tokens(entry)))
        if is_gguf and not entry.weights and terms:  # the factors of the rotary frequencies
            owner, label, each = terms[0]
            parts = _parts([(label, each)], numbers, owner)
            found.append(ModelRow(owner, 1, (sum(parts.values()) // 4,), parts))
    return found


def _parts(terms: Sequence[tuple[str, Expr]], numbers: Mapping[Symbol, int], path: str) -> dict[str, int]:
    parts: dict[str, int] = {}
    for label, expr in terms:
        named = _PART.fullmatch(label)
        size = evaluate(expr, numbers, path)
        if size:
            parts[named[1] if named else ""] = parts.get(named[1] if named else "", 0) + size
    return parts


def _is_tokens(entry: Entry) -> bool:
    return entry.kind is OperationKind.LOOKUP and entry.function == "tokens"
