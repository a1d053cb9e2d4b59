"""Contractions of an entry, at 2 FLOPs per multiply-add: the basis of every FLOP count.

A linear layer is one contraction, and so is an expert layer. Attention is two: queries with keys, and attention weights
with values. Biases, norms, activations and softmax are elementwise: they are not contractions, and a separate table
counts them if ``count=all``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sympy import Expr, Integer, ceiling

from ..formulas.account import Term
from ..language.errors import RuleError
from ..ledger.facts import (
    ARRANGING,
    ATTENDING,
    BY_HEAD,
    BY_ROW,
    COMPRESSING,
    EARLIER_INPUTS,
    GENERAL,
    ONE,
    POINTWISE,
    ROUTING,
    ZERO,
    Entry,
    OperationKind,
)
from .elementwise import at_last_position, convolved_shape, elements, elementwise
from .quantity import Convention, Conventions, Rule, measured, refuse_observed, require_total, rows

TWO = Integer(2)

ATTENTION = Convention(
    {
        "full": "counts every query-key pair, masked or not",
        "causal": "under a causal mask, counts only unmasked query-key pairs: S(S+1)/2, or fewer with a sliding window "
        "or with keys chosen for each query",
    },
    lambda entry: entry.kind in ATTENDING and entry.mask == "causal",
)
LOGITS = Convention(
    {
        "all": "logits are computed at all positions",
        "last": "logits are computed at the last position only",
    },
    lambda entry: entry.logits,
)
EMBEDDING = Convention(
    {
        "lookup": "the token embedding is a lookup and has no FLOPs",
        "matmul": "the token embedding is a matrix product of one-hot rows with the table of V rows; position and "
        "segment embeddings remain lookups",
    },
    lambda entry: entry.kind is OperationKind.LOOKUP and entry.function == "tokens",
)
PRODUCTS = Convention(
    {
        "all": "counts every product",
        "attention": "counts only the two products of attention, queries with keys and attention weights with values",
        "others": "counts every product except the two of attention, queries with keys and attention weights with "
        "values",
    },
    hidden_by_default=True,
)
COUNT = Convention(
    {
        "contractions": "counts matrix products and convolutions only",
        "all": "counts matrix products and elementwise operations, the latter by a fixed table: per element, 3 FLOPs "
        "for a softmax, 7 for a layer norm with scale and bias, 1 for a sum",
    }
)


def applies_general_delta_rule(entry: Entry) -> bool:
    """Return whether an operation is the generalized delta rule of RWKV-7, which carries a recurrent state."""
    return entry.kind is OperationKind.DELTA_RULE and entry.function == GENERAL


RECURRENT_RULE: Mapping[Callable[[Entry], bool], str] = {
    applies_general_delta_rule: "The generalized delta rule is computed token by token, with two products of the state "
    "and a vector for each token; a kernel that computes it in chunks has more products."
}


@dataclass(frozen=True)
class Contraction:
    """One contraction of a forward pass, and the operands whose gradients training may need."""

    factors: tuple[Expr, ...]
    sides: tuple[tuple[str, Expr], ...]  # each operand, and whether its gradient is needed
    what: str = ""  # its name, if the entry has several contractions
    used: Expr = ONE  # the share of its copies that need gradients at all
    backward_only: bool = False  # whether only the backward pass has this product

    def forward(self, path: str) -> Term:
        """Return the FLOPs of the forward product."""
        return Term(f"{path} ({self.what})" if self.what else path, self.factors)

    def backward(self, path: str) -> list[Term]:
        """Return the FLOPs of each gradient that is needed: a product of the same size as the forward product."""
        needed = [(name, grad * self.used) for name, grad in self.sides if grad * self.used != 0]
        if self.used not in (ZERO, ONE) and any(grad not in (ZERO, ONE) for _, grad in self.sides):
            raise RuleError(
                f"{path}: the first layer needs no gradient of its input and the last layer is not used, so this "
                "quantity does not support adapters in this model; choose adapters outside of it"
            )
        return [Term(f"{path} (gradient of {name})", _scaled(self.factors, grad), name) for name, grad in needed]


def lookup(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """i[...] -> x[..., E]: 2 · i · V · E for the token table [V, E] with embedding=matmul, otherwise nothing."""
    rows, width = (*entry.weights, *entry.shared)[0].shape
    if entry.function != "tokens" or conventions["embedding"] == "lookup":
        return ()
    factors = (TWO, *entry.inputs[0].shape, rows, width)
    return (Contraction(factors, (("the input", Integer(0)), ("the weight", ZERO if entry.frozen else ONE))),)


def linear(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """x[B, ..., in] · W[out, in] -> y[B, ..., out]: 2 · B · ... · in · out."""
    x = entry.inputs[0]
    batch, *positions, out = entry.output.shape
    if at_last_position(entry, conventions):
        positions = []
    factors = (TWO, batch, *positions, x.width, out)
    return (Contraction(factors, (("the input", x.grad), ("the weight", ZERO if entry.frozen else ONE))),)


def convolution(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """x[B, in, n] * W[out, in/groups, k] -> y[B, out, m]: 2 · B · out · m · in/groups · k, including padding.

    Each gradient has as many products: the gradient of x pairs the same elements, the gradient of W sums over B and m.
    """
    x, weight = entry.inputs[0], entry.weights[0]
    if entry.function == EARLIER_INPUTS and conventions.get("attention") == "new":  # elementwise
        return ()
    factors = (TWO, *convolved_shape(entry, conventions), *weight.shape[1:])
    return (Contraction(factors, (("the input", x.grad), ("the weight", ZERO if entry.frozen else ONE))),)


def experts(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """x[B, S, (K,) in] · W[X, out, in] -> y[B, S, K, out]: 2 · B · S · K · in · out."""
    x = entry.inputs[0]
    *positions, out = entry.output.shape
    factors = (TWO, *positions, x.width, out)
    return (Contraction(factors, (("the input", x.grad), ("the weight", ZERO if entry.frozen else ONE))),)


def scores(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """q[B, A, S, D] · k[B, G, C, D] -> s[B, A, S, C]: 2 · B · A · pairs · D."""
    q, k = entry.inputs
    factors = (TWO, *elements(entry.output.shape, entry, conventions), q.width)
    return (Contraction(factors, (("the queries", q.grad), ("the keys", k.grad))),)


def mix(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """p[B, A, S, C] · v[B, G, C, D] -> y[B, A, S, D]: 2 · B · A · pairs · D."""
    p, v = entry.inputs
    factors = (TWO, *elements(p.shape, entry, conventions), entry.output.width)
    return (Contraction(factors, (("the weights", p.grad), ("the values", v.grad))),)


def match(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """x[B, E] · y[C, E] -> s[B, C]: 2 · B · C · E."""
    x, y = entry.inputs
    factors = (TWO, *entry.output.shape, x.width)
    return (Contraction(factors, (("one side", x.grad), ("the other side", y.grad))),)


def choose(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """w[B, S, A] · s[B, A, S, C] -> m[B, 1, S, C]: 2 · B · pairs · A, for all pairs from which keys are chosen.

    Sums over heads that the class computes elementwise are not a matrix product.
    """
    if entry.function == BY_HEAD:
        return ()
    scored, weights = entry.inputs
    batch, _, *pairs = elements(entry.output.shape, replace(entry, chosen=None), conventions)
    factors = (TWO, batch, *pairs, weights.width)
    return (Contraction(factors, (("the scores", scored.grad), ("the weights", weights.grad))),)


def scan(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """h[B, A, D, N] · c[B, G, N] -> y[B, A, D] after each token: 2 · B · S · A · D · N; the rest is elementwise.

    With chunks of Q tokens, Dao and Gu 2024, section 6: in each of the ceil(S/Q) chunks, all pairs of tokens are
    multiplied (masked pairs included), the chunk's state is computed, and the preceding state is read. The states of
    all chunks and the initial one are then combined once. A single new token uses the recurrent form.
    """
    x, _, write, read = entry.inputs
    batch, heads, length, width = x.shape
    state = write.width
    every = (TWO, batch, heads)
    if entry.chunk is None or conventions.get("attention") == "new":
        factors = (*every, length, *([width] if width != 1 else []), state)
        return (Contraction(factors, (("the state", x.grad), ("the readout", read.grad))),)
    size, chunks = entry.chunk, ceiling(length / entry.chunk)
    within = (("the left side", x.grad), ("the right side", x.grad))
    found = {
        "pairs in a chunk": (chunks, size, size, state),
        "values in a chunk": (chunks, size, size, width),
        "states of chunks": (chunks, size, width, state),
        "from chunk to chunk": (chunks + 1, chunks + 1, width, state),
        "reading the state": (chunks, size, width, state),
    }
    return tuple(Contraction((*every, *factors), within, what) for what, factors in found.items())


def delta_rule(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """Queries and keys[B, G, S, D], v[B, A, S, N] -> y[B, A, S, N] in ceil(S/Q) chunks of Q tokens, as below.

    Yang et al. 2024, section 3.3. In each chunk, queries and keys are multiplied with all keys, masked pairs included;
    a triangular system is solved for the new values and for the keys that read the state; then the state is read twice
    and updated. The two solutions are not matrix products, but the gradient of each contains one. The first state is
    zero and has no gradient, and nothing reads the last one.

    If the decay differs by row, the products of queries and keys are elementwise, and the system is solved by a matrix
    inverse, Kimi Team 2025, section 3. For a single new token, transformers computes the rule elementwise.
    """
    if entry.function == GENERAL:
        return general_delta_rule(entry)
    if conventions.get("attention") == "new":
        return ()
    q, k, v, *_ = entry.inputs
    batch, heads, length, values = v.shape
    keys, size = k.width, entry.chunk or ONE
    chunks = ceiling(length / size)
    every, pairs = (TWO, batch, heads, chunks), (TWO, batch, heads, chunks, size, size)
    later = (TWO, batch, heads, chunks - 1, size, keys, values)  # from chunk to chunk
    state = (Contraction(later, (("the state", k.grad),), backward_only=True),)

    def reading(by: str, grad: Expr) -> tuple[Contraction, ...]:
        return (Contraction((*every, size, keys, values), ((by, grad),), f"state read by {by}"), *state)

    within: tuple[Contraction, ...]
    if entry.function == BY_ROW:
        within = (
            Contraction((*pairs, values), (("the inverse", k.grad), ("the values", v.grad)), "new values"),
            Contraction((*pairs, keys), (("the inverse", k.grad), ("the keys", k.grad)), "keys that read the state"),
        )
    else:
        within = (
            Contraction((*pairs, keys), (("the keys", k.grad), ("the other keys", k.grad)), "pairs of keys"),
            Contraction((*pairs, keys), (("the queries", q.grad), ("the keys", k.grad)), "queries and keys"),
            Contraction((*pairs, values), (("the system", k.grad),), backward_only=True),
            Contraction((*pairs, keys), (("the system", k.grad),), backward_only=True),
        )
    return (
        *within,
        *reading("keys", k.grad),
        *reading("queries", q.grad),
        Contraction((*pairs, values), (("the weights", q.grad), ("the values", v.grad)), "values in a chunk"),
        Contraction((*every, size, keys, values), (), "state updates"),
        Contraction(later, (("the keys", k.grad), ("the values", v.grad)), backward_only=True),
    )


def general_delta_rule(entry: Entry) -> tuple[Contraction, ...]:
    """r, k, v, removal[B, A, S, D] -> y[B, A, S, D], token by token: two products of 2 · B · S · A · D · D each.

    Peng et al. 2025, section 4. The state is read once with the key of the value that is removed, and once, after the
    update, with the receptance; the rest is elementwise. The first state is zero and has no gradient.
    """
    r, k, v, _, removal, _ = entry.inputs
    batch, heads, length, values = v.shape
    every = (TWO, batch, heads)
    return (
        Contraction(
            (*every, length, k.width, values), (("the removal key", removal.grad),), "state read by removal keys"
        ),
        Contraction((*every, length - 1, k.width, values), (("the state", k.grad),), backward_only=True),
        Contraction(
            (*every, length, k.width, values), (("the state", k.grad), ("the receptance", r.grad)), "state read"
        ),
    )


def recurrence(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """x[B, A, S, D] · W[A, D, D] -> y[B, A, S, D] for each of two gates: 2 · B · A · S · D · D.

    The rest is elementwise.
    """
    (x,) = entry.inputs
    sides = (("the input", x.grad), ("the weight", ONE))
    return tuple(Contraction((TWO, *x.shape, x.width), sides, what) for what in ("input gate", "recurrence gate"))


def product(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """x[b, m, n] · y[b, n, p] -> z[b, m, p]: 2 · b · m · n · p."""
    x, y = entry.inputs
    factors = (TWO, *entry.output.shape[:-1], x.width, entry.output.width)
    return (Contraction(factors, (("the left side", x.grad), ("the right side", y.grad))),)


def none(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """Return no contraction."""
    return ()


CONTRACTIONS: Mapping[OperationKind, Callable[[Entry, Conventions], tuple[Contraction, ...]]] = require_total(
    {
        OperationKind.LOOKUP: lookup,
        OperationKind.LINEAR: linear,
        OperationKind.CONVOLUTION: convolution,
        OperationKind.EXPERTS: experts,
        OperationKind.SCORES: scores,
        OperationKind.MIX: mix,
        OperationKind.MATCH: match,
        OperationKind.CHOOSE: choose,
        OperationKind.SCAN: scan,
        OperationKind.DELTA_RULE: delta_rule,
        OperationKind.RECURRENCE: recurrence,
        OperationKind.PRODUCT: product,
        **rows(none, OperationKind.NORM, OperationKind.PARAMETER, *POINTWISE, *ARRANGING, *ROUTING, *COMPRESSING),
        OperationKind.OBSERVED: refuse_observed,
    },
    "contractions",
)


def contractions(entry: Entry, conventions: Conventions) -> tuple[Contraction, ...]:
    """Return the contractions of an entry: none for elementwise operations and lookups.

    Without gradients, a contraction has no backward pass.
    """
    found = CONTRACTIONS[entry.kind](entry, conventions)
    if entry.detached:
        return tuple(replace(each, sides=()) for each in found)
    return found if entry.used == 1 else tuple(replace(each, used=entry.used) for each in found)


def forward(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of an entry in a forward pass: its contractions and, with count=all, its elementwise operations.

    Parameters
    ----------
    entry : Entry
        An operation.
    conventions : Conventions
        The conventions of the quantity.

    Raises
    ------
    RuleError
        For an operation without a rule.

    """
    which = conventions.get("products", "all")
    found = contractions(entry, conventions)
    wanted = which == "all" or (entry.kind in ATTENDING) == (which == "attention")
    terms = [product.forward(entry.path) for product in found if not product.backward_only] if wanted else []
    if conventions["count"] == "all" and which != "attention":
        terms += elementwise(entry, conventions)
    return tuple(terms)


def multiply_adds(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the multiply-adds of a forward pass: half the FLOPs of each contraction."""
    products = [product for product in contractions(entry, conventions) if not product.backward_only]
    return tuple(replace(product, factors=product.factors[1:]).forward(entry.path) for product in products)


def traced_flops(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of a traced product, forward or backward."""
    return (Term(entry.path, (TWO, *entry.output.shape)),)


def traced_multiply_adds(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the multiply-adds of a traced product."""
    return (Term(entry.path, entry.output.shape),)


def rules(counted: Rule, seen: str = "") -> Mapping[OperationKind, Rule]:
    """Return a table with one rule for the contractions of every kind.

    Parameters
    ----------
    counted : Rule
        The rule for every kind of operation.
    seen : str
        The quantity whose traced products the table accepts; "" to accept none.

    """
    traced = {OperationKind.OBSERVED: measured(seen, traced_flops)} if seen else {}
    return {**rows(counted, *CONTRACTIONS), **traced}


def _scaled(factors: tuple[Expr, ...], share: Expr) -> tuple[Expr, ...]:
    return factors if share == 1 else (*factors, share)
