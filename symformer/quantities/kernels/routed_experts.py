"""Tensors that transformers saves for experts and their routers.

A pair is a token and one of its K experts. There are B·S·K of them, however the router distributes the tokens, so the
sums over all experts are exact although the share of one expert is not known.
"""

from __future__ import annotations

from sympy import Expr, Integer

from ...formulas.account import Term
from ...language.errors import RuleError
from ...language.sizes import Condition, Divides
from ...ledger.facts import ONE, Entry, Ledger, OperationKind
from ...ledger.routers import ROUTERS, Router
from ..quantity import Convention, Conventions
from .saves import LONG, SINGLE, SIZES, Saves, made, single

GROUPED, BATCHED, LOOPED = "grouped", "batched", "looped"
INTEGER = Integer(4)  # bytes of an index of a grouped product
ALIGNED = 16  # bytes that divide the rows of the matrices of a grouped product

EXPERTS = Convention(
    {
        GROUPED: "one grouped product for all experts, experts_implementation=grouped_mm, the default of transformers",
        BATCHED: "a copy of the matrix of each chosen expert for every token, experts_implementation=batched_mm",
        LOOPED: "a loop over the experts, experts_implementation=eager",
    },
    lambda entry: entry.kind is OperationKind.EXPERTS,
    omitted=True,
    unusual=[BATCHED, LOOPED],
)


def router_of(entry: Entry) -> Router:
    """Return the code of a router. Raises RuleError if it is not known."""
    if entry.function not in ROUTERS:
        raise RuleError(f"{entry.path}: the tensors that the class saves for the choice of experts are not known")
    return ROUTERS[entry.function]


def weight_size(entry: Entry, conventions: Conventions) -> Expr:
    """Return the bytes of the weight of an expert, which a router may leave in float32."""
    router = router_of(entry)
    return SINGLE if router.single_scores and not router.cast else SIZES[conventions["dtype"]]


def route(entry: Entry, conventions: Conventions) -> Saves:
    """Return the scores, the indices of the chosen experts, the operands of the division, and the weights by pair.

    The indices select the weights or the matrices. A loop and a grouped product copy the weights in another order.
    """
    router, (x,) = router_of(entry), entry.inputs
    pairs, size = entry.output.shape, SINGLE if router.single_scores else SIZES[conventions["dtype"]]
    makes = [made(entry, "experts", pairs, LONG)]
    ordered = conventions["moe"] != BATCHED
    # If the scores of the chosen experts are not cast, they are the weights.
    same = router.chosen_first and (not router.cast or single(conventions))
    if not router.chosen_first:
        makes.append(made(entry, "scores", x.shape, size))
    elif not same:
        makes.append(made(entry, "scores", pairs, size))
    if router.masked:
        makes.append(made(entry, "other groups", x.shape, ONE))
    if router.divided:
        makes += [made(entry, "chosen scores", pairs, size), made(entry, "sums", (*pairs[:-1], ONE), size)]
    if ordered:
        makes.append(made(entry, "weights by expert", pairs, weight_size(entry, conventions)))
    return Saves(output=same or not ordered, makes=tuple(makes))


def experts(entry: Entry, conventions: Conventions) -> Saves:
    """Return a copy of the tokens for each pair, or the hidden elements of the pairs, and the indices of both.

    The product of a batch also saves the copied matrices.
    """
    x, chosen = entry.inputs
    pairs, size, way = chosen.shape, SIZES[conventions["dtype"]], conventions["moe"]
    first = len(x.shape) == len(pairs)
    makes: list[Term] = []
    if first:
        if not entry.frozen:
            makes.append(made(entry, "input by expert", (*pairs, x.width), size))
        if way == GROUPED:
            makes += [made(entry, "tokens", pairs, LONG), made(entry, "order of the weights", pairs, LONG)]
            if len(entry.weights) > 1:
                makes.append(made(entry, "experts of the biases", pairs, LONG))
            makes.append(made(entry, "ends of the experts", entry.weights[0].shape[:1], INTEGER))
        elif way == LOOPED:
            makes.append(made(entry, "tokens and places", (Integer(2), *pairs), LONG))
    if way == BATCHED:
        makes.append(made(entry, "matrices", (*pairs, *entry.weights[0].shape[1:]), size))
    return Saves(() if first or entry.frozen else (x,), makes=tuple(makes))


def combine(entry: Entry, conventions: Conventions) -> Saves:
    """Return the outputs of the experts; a grouped product restores their order, and a loop adds a weighted copy."""
    if entry.function or len(entry.inputs) == 1:
        raise RuleError(f"{entry.path}: activation memory of this sum in transformers is not supported")
    x, chosen = entry.inputs
    makes: list[Term] = []
    if conventions["moe"] == GROUPED:
        makes.append(made(entry, "order of the tokens", chosen.shape, LONG))
    elif conventions["moe"] == LOOPED:
        makes.append(made(entry, "weighted outputs", x.shape, SIZES[conventions["dtype"]]))
    return Saves((x,), makes=tuple(makes))


def aligned(ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
    """Return the conditions under which torch has a grouped product: each row of a matrix fills 16-byte blocks."""
    if conventions.get("moe") != GROUPED or conventions["implementation"] not in ("eager", "sdpa"):
        return ()
    size = 4 if single(conventions) else 2
    widths = {
        width
        for _, entry in ledger
        if entry.kind is OperationKind.EXPERTS
        for width in (entry.inputs[0].width, entry.output.width)
    }
    remedy = "torch has no grouped product otherwise; choose moe=batched or moe=looped"
    return tuple(Divides(Integer(ALIGNED // size), width, remedy) for width in sorted(widths, key=str))
