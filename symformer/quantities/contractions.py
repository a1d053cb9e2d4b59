"""What every count of FLOPs rests on: the contractions of an entry, 2 FLOPs for each multiply-add.

A linear layer is one contraction, and so is the layer of the experts that a token goes to; attention is two, queries
with keys and weights with values. Biases, norms, activations and softmax are elementwise: no contraction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr, Integer, Min

from ..account import Term
from ..ledger import Entry, Kind
from .quantity import Convention, Conventions, Rule, nothing

TWO = Integer(2)

ATTENTION = Convention(
    {
        "full": "attention counts every query-key pair, masked or not: S² of them",
        "causal": "attention under a causal mask counts only the pairs it keeps: S(S+1)/2, or "
        "fewer where a window slides",
    }
)
LOGITS = Convention(
    {
        "all": "logits are computed at all positions",
        "last": "logits are computed at the last position only",
    }
)


@dataclass(frozen=True)
class Contraction:
    """One contraction of a forward pass, and the two whose gradients training may need."""

    factors: tuple[Expr, ...]
    sides: tuple[tuple[str, Expr], tuple[str, Expr]]  # what is multiplied, and whether its gradient is needed

    def forward(self, path: str) -> Term:
        """The FLOPs of the product itself."""
        return Term(path, self.factors)

    def backward(self, path: str) -> list[Term]:
        """The FLOPs of each gradient that is needed: a product of the same size as the forward's."""
        needed = [(name, grad) for name, grad in self.sides if grad != 0]
        return [Term(f"{path} (gradient of {name})", _scaled(self.factors, grad)) for name, grad in needed]


def contraction(entry: Entry, conventions: Conventions) -> Contraction:
    """The contraction of a linear layer, of the experts chosen, of attention scores or of attention's mix."""
    if entry.kind is Kind.LINEAR:
        x = entry.inputs[0]
        batch, *positions, out = entry.output.shape
        if entry.logits and conventions.get("logits") == "last":
            positions = []
        return Contraction((TWO, batch, *positions, x.width, out), (("the input", x.grad), ("the weight", Integer(1))))
    if entry.kind is Kind.EXPERTS:
        x = entry.inputs[0]
        *positions, out = entry.output.shape
        return Contraction((TWO, *positions, x.width, out), (("the input", x.grad), ("the weight", Integer(1))))
    left, right = entry.inputs
    scores = entry.output if entry.kind is Kind.SCORES else left
    batch, heads, queries, keys = scores.shape
    width = left.width if entry.kind is Kind.SCORES else entry.output.width
    pairs: tuple[Expr, ...] = (queries, keys)
    if conventions.get("attention") == "causal" and entry.mask == "causal":
        # Query i sees min(i, window) keys: m(2S - m + 1)/2 pairs for m = min(S, window), and so S(S + 1)/2 with none.
        seen = queries if entry.window is None else Min(queries, entry.window)
        pairs = (seen, (2 * queries - seen + 1) / 2) if entry.window is not None else (queries * (keys + 1) / 2,)
    names = ("the queries", "the keys") if entry.kind is Kind.SCORES else ("the weights", "the values")
    return Contraction((TWO, batch, heads, *pairs, width), ((names[0], left.grad), (names[1], right.grad)))


def forward(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The forward contraction alone."""
    return (contraction(entry, conventions).forward(entry.path),)


def rules(counted: Rule) -> Mapping[Kind, Rule]:
    """A table in which contractions are counted by one rule and elementwise operations add nothing."""
    return {
        Kind.LINEAR: counted,
        Kind.EXPERTS: counted,
        Kind.SCORES: counted,
        Kind.MIX: counted,
        Kind.LOOKUP: nothing,
        Kind.SOFTMAX: nothing,
        Kind.NORM: nothing,
        Kind.ACTIVATION: nothing,
        Kind.MULTIPLY: nothing,
        Kind.ADD: nothing,
        Kind.DROPOUT: nothing,
        Kind.ROTATE: nothing,
        Kind.POSITIONS: nothing,
        Kind.JOIN: nothing,
        Kind.SELECT: nothing,
        Kind.ROUTE: nothing,
        Kind.COMBINE: nothing,
        Kind.PARAMETER: nothing,
        Kind.MOVE: nothing,
    }


def _scaled(factors: tuple[Expr, ...], share: Expr) -> tuple[Expr, ...]:
    return factors if share == 1 else (*factors, share)
