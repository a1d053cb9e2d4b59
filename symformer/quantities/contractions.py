"""What every count of FLOPs rests on: the contractions of an entry, 2 FLOPs for each multiply-add.

A linear layer is one contraction, and so is the layer of the experts that a token goes to; attention is two, queries
with keys and weights with values. Biases, norms, activations and softmax are elementwise: no contraction, and counted
by a table of their own where that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr, Integer

from ..account import Term
from ..ledger import Entry, Kind
from .elementwise import at_the_last, elements, elementwise
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
EMBEDDING = Convention(
    {
        "lookup": "the token embedding is a lookup and costs nothing",
        "matmul": "the token embedding is a product of one-hot rows with the table of V rows; learned positions and "
        "segments stay lookups",
    }
)
COUNT = Convention(
    {
        "contractions": "matrix products only",
        "all": "matrix products and elementwise operations, these by a stated table: 3 FLOPs an element for a softmax, "
        "7 for a layer norm with scale and bias, 1 for a sum",
    }
)
PRODUCTS = (Kind.LINEAR, Kind.EXPERTS, Kind.SCORES, Kind.MIX)
COUNTED = (
    *PRODUCTS,
    Kind.LOOKUP,
    *(Kind.SOFTMAX, Kind.NORM, Kind.ACTIVATION, Kind.MULTIPLY, Kind.ADD, Kind.ROTATE),
    *(Kind.JOIN, Kind.ROUTE, Kind.COMBINE),
)


@dataclass(frozen=True)
class Contraction:
    """One contraction of a forward pass, and the two whose gradients training may need."""

    factors: tuple[Expr, ...]
    sides: tuple[tuple[str, Expr], ...]  # what is multiplied, and whether its gradient is needed

    def forward(self, path: str) -> Term:
        """The FLOPs of the product itself."""
        return Term(path, self.factors)

    def backward(self, path: str) -> list[Term]:
        """The FLOPs of each gradient that is needed: a product of the same size as the forward's."""
        needed = [(name, grad) for name, grad in self.sides if grad != 0]
        return [Term(f"{path} (gradient of {name})", _scaled(self.factors, grad)) for name, grad in needed]


def contractions(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """The contraction of an entry; none for an elementwise operation, and none for a lookup that costs nothing."""
    if entry.kind is Kind.LOOKUP:
        rows, width = (*entry.weights, *entry.shared)[0].shape
        if entry.function != "tokens" or conventions["embedding"] == "lookup":
            return ()
        factors = (TWO, *entry.inputs[0].shape, rows, width)
        return (Contraction(factors, (("the input", Integer(0)), ("the weight", Integer(1)))),)
    return (contraction(entry, conventions),) if entry.kind in PRODUCTS else ()


def contraction(entry: Entry, conventions: Conventions) -> Contraction:
    """The contraction of a linear layer, of the experts chosen, of attention scores or of attention's mix."""
    if entry.kind is Kind.LINEAR:
        x = entry.inputs[0]
        batch, *positions, out = entry.output.shape
        if at_the_last(entry, conventions):
            positions = []
        return Contraction((TWO, batch, *positions, x.width, out), (("the input", x.grad), ("the weight", Integer(1))))
    if entry.kind is Kind.EXPERTS:
        x = entry.inputs[0]
        *positions, out = entry.output.shape
        return Contraction((TWO, *positions, x.width, out), (("the input", x.grad), ("the weight", Integer(1))))
    left, right = entry.inputs
    scores = entry.output if entry.kind is Kind.SCORES else left
    batch, heads, *pairs = elements(scores.shape, entry, conventions)
    width = left.width if entry.kind is Kind.SCORES else entry.output.width
    names = ("the queries", "the keys") if entry.kind is Kind.SCORES else ("the weights", "the values")
    return Contraction((TWO, batch, heads, *pairs, width), ((names[0], left.grad), (names[1], right.grad)))


def forward(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """What an entry comes to in a forward pass: its contraction, and its elementwise operations where those count."""
    terms = [product.forward(entry.path) for product in contractions(entry, conventions)]
    if conventions["count"] == "all":
        terms += elementwise(entry, conventions)
    return tuple(terms)


def ran(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """What torch ran: a term of its own for each product, forward or backward."""
    return (Term(entry.path, (TWO, *entry.output.shape)),)


def rules(counted: Rule) -> Mapping[Kind, Rule]:
    """A table in which one rule counts what contracts or works elementwise, and the rest adds nothing."""
    free = (Kind.DROPOUT, Kind.POSITIONS, Kind.SELECT, Kind.PARAMETER, Kind.MOVE)
    return dict.fromkeys(COUNTED, counted) | dict.fromkeys(free, nothing) | {Kind.CONTRACTION: ran}


def _scaled(factors: tuple[Expr, ...], share: Expr) -> tuple[Expr, ...]:
    return factors if share == 1 else (*factors, share)
