"""What each implementation keeps from the forward pass for the backward pass.

An operation keeps tensors that its gradient needs: some that it reads, some that it makes. Operations share tensors,
so a tensor is counted once, with the operation that made it. Weights are left out. What is computed again in the
backward pass keeps what it reads, and nothing that it makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sympy import Expr, Integer, Symbol

from ..formulas.account import Term
from ..language.errors import RuleError
from ..language.sizes import AtMost, Condition, Excludes
from ..language.symbols import B, S
from ..ledger.adapters import is_adapted
from ..ledger.facts import ATTENDING, INDEXED, ONE, ROTARY, ZERO, Entry, Kind, Ledger, Scope, Tensor
from ..ledger.kinds import mixtures
from ..ledger.placement import CHOICES, in_flight
from .kernels import IMPLEMENTATIONS
from .kernels.saves import LONG, SINGLE, SIZES, made
from .quantity import Convention, Conventions, Counted
from .several import together

FUSED = 256  # the widest head of grouped queries for which transformers leaves the grouping to torch's fused attention


@dataclass
class Kept:
    """Which tensors are kept.

    Of what repeated layers give, all copies but the last are read by the next layer, and the last by what follows; so
    the two are noted apart.
    """

    conventions: Conventions
    makers: Mapping[int, Entry]
    loops: Mapping[int, Scope]  # what each layer reads -> the repeated layers
    whole: set[int] = field(default_factory=set)
    inside: set[int] = field(default_factory=set)
    entered: set[int] = field(default_factory=set)  # repeated layers that keep what they are given

    def storage(self, tensor: Tensor) -> Tensor:
        """The tensor whose memory this one looks into: views and a dropout that is off have none of their own."""
        if tensor.base is not None:
            return self.storage(tensor.base)
        maker = self.makers.get(id(tensor))
        off = self.conventions["dropout"] == "off"
        if maker is not None and (_selects(maker) or (maker.kind is Kind.DROPOUT and off)):
            return self.storage(maker.inputs[0])
        return tensor

    def made(self, tensor: Tensor) -> bool:
        """Whether the model makes it, and it is not given to the model from outside."""
        key = id(self.storage(tensor))
        return key in self.makers or key in self.loops

    def keep(self, tensor: Tensor) -> None:
        """Keep a tensor, or where it is what every repeated layer reads, what went in and what each layer gave."""
        storage = self.storage(tensor)
        scope = self.loops.get(id(storage))
        if scope is not None and scope.loop is not None:
            self.entered.add(id(scope))
            self.keep(scope.loop[0])
            self.inside.add(id(self.storage(scope.loop[2])))
        elif id(storage) not in self.makers:
            raise RuleError(f"activations counts what a model makes, and {storage.name!r} is given to it from outside")
        else:
            self.whole.add(id(storage))

    def share(self, entry: Entry) -> Expr:
        """The share of an entry's copies whose output is kept."""
        given = {id(self.storage(scope.loop[2])): scope.count for scope in self.loops.values() if scope.loop}
        key = id(entry.output)
        if key not in given:
            return ONE if key in self.whole else ZERO
        last, others = key in self.whole, key in self.inside
        count = given[key]
        return ONE if last and others else 1 / count if last else (count - 1) / count if others else ZERO


def _selects(maker: Entry) -> bool:
    """Whether it is a view of one position, the same in every sequence."""
    return maker.kind is Kind.SELECT and maker.function != INDEXED


def activation_terms(ledger: Ledger, conventions: Conventions) -> dict[int, tuple[Term, ...]]:
    """The bytes kept of what each entry makes, by the entry's identity. Raises RuleError for a kind that is refused."""
    return together(ledger, _kept(ledger.apart, conventions))


def _kept(ledger: Ledger, conventions: Conventions) -> dict[int, tuple[Term, ...]]:
    """The same where each kind of layers stands by itself."""
    implementation = conventions["implementation"]
    if implementation != "megatron" and (shared := [name for name in CHOICES if name in conventions]):
        raise RuleError(
            f"{shared[0]}={conventions[shared[0]]} and implementation={implementation}: what one rank of many keeps is "
            "known for implementation=megatron only"
        )
    if is_adapted(ledger):
        raise RuleError(
            "what is kept for the backward pass of a model of which only the adapters are trained is not stated; "
            "train-memory without activations is known, with implementation=none"
        )
    makers = {id(entry.output): entry for _, entry in ledger}
    if sinks := [entry for _, entry in ledger if entry.kind is Kind.SOFTMAX and entry.shared]:
        raise RuleError(f"{sinks[0].path}: what is kept of a softmax with a sink is not known")
    if implementation != "megatron":
        _plain(ledger, makers, conventions)
    table = IMPLEMENTATIONS[implementation]
    if _written_out(ledger, conventions):
        if (conventions["dtype"], conventions["recompute"]) != ("fp32", "none"):
            raise RuleError("implementation=sdpa with dropout=on is known for dtype=fp32 and recompute=none only")
        table = {**table, **{kind: IMPLEMENTATIONS["eager"][kind] for kind in (Kind.SCORES, Kind.SOFTMAX, Kind.MIX)}}
    loops = {id(scope.loop[1]): scope for scope in ledger.root.walk() if scope.loop}
    kept = Kept(conventions, makers, loops)
    again = _recomputed(ledger, makers, conventions["recompute"])
    inside = {id(entry) for region in again for entry in region}
    terms: dict[int, tuple[Term, ...]] = {}
    for _, entry in ledger:
        saved = table[entry.kind](entry, conventions)  # refused, whether or not it would be kept
        if entry.output.grad == 0 or id(entry) in inside:
            continue
        for tensor in (*saved.reads, *((entry.output,) if saved.output else ())):
            kept.keep(tensor)
        outside = [tensor for tensor in saved.given if not kept.made(tensor)]
        for tensor in saved.given:
            if tensor not in outside:
                kept.keep(tensor)
        given = (made(entry, "input", tensor.shape, SIZES[conventions["dtype"]]) for tensor in outside)
        terms[id(entry)] = (*given, *saved.makes)
    for region in again:
        within = {id(entry.output) for entry in region}
        for tensor in (tensor for entry in region for tensor in entry.inputs):
            if id(kept.storage(tensor)) not in within:
                kept.keep(tensor)
    _hold(ledger, kept)
    size = SIZES[conventions["dtype"]]
    for entry in makers.values():
        if (share := kept.share(entry)) != 0:
            each = SINGLE if entry.function == "rotary_single" else size
            factors = (*entry.output.shape, each, *((share,) if share != 1 else ()))
            terms[id(entry)] = (Term(f"{entry.path} (output)", factors), *terms.get(id(entry), ()))
    if again and implementation != "megatron":
        for entry, term in _handed(ledger, conventions):
            terms[id(entry)] = (*terms.get(id(entry), ()), term)
    if (copies := in_flight(conventions.get("pipeline", "off"))) != 1:
        return {key: tuple(Term(term.label, (*term.factors, copies)) for term in some) for key, some in terms.items()}
    return terms


def _hold(ledger: Ledger, kept: Kept) -> None:
    """Raise RuleError where what is kept hangs on which kind of layer follows which."""
    for mixture, kinds in mixtures(ledger).items():
        if mixture.order != "kind by kind" and len({id(kind) in kept.entered for kind in kinds}) > 1:
            raise RuleError(
                f"{ledger.root.part.title} has layers of {len(kinds)} kinds, of which some keep what they are given "
                "and some do not: what is kept hangs on their order"
            )


def _plain(ledger: Ledger, makers: Mapping[int, Entry], conventions: Conventions) -> None:
    """Raise RuleError where what is kept of attention is not known: of some with a trained bias or scaled queries."""
    sdpa = conventions["implementation"] == "sdpa"
    for _, entry in ledger:
        if entry.kind is Kind.SCORES and entry.function == "queries" and sdpa:
            raise RuleError(f"{entry.path}: what torch's fused attention keeps of scaled queries is not known")
        maker = makers.get(id(entry.inputs[0])) if entry.kind is Kind.ADD else None
        if maker is None or maker.kind is not Kind.SCORES or entry.inputs[1].grad == 0:
            continue
        if sdpa:
            raise RuleError(f"{entry.path}: what torch's fused attention keeps where a bias is added is not known")
        if conventions["recompute"] != "none":
            raise RuleError(f"{entry.path}: what torch's checkpoint holds of a bias that layers share is not known")


def _recomputed(ledger: Ledger, makers: Mapping[int, Entry], recompute: str) -> list[list[Entry]]:
    """What is computed again, each time as one: the core of an attention, scores to mix; or a repeated layer."""
    if recompute == "full":
        if any(scope.distinct is not None for scope in ledger.root.walk()):
            raise RuleError(
                "recompute=full: transformers computes no layer again of a model whose layers share weights"
            )
        return [[entry for _, entry in Ledger(scope, None)] for scope in ledger.root.walk() if scope.loop]
    cores = []
    for _, entry in ledger if recompute == "selective" else ():
        if entry.kind is Kind.MIX:
            cores.append([entry])
            while cores[-1][-1].kind is not Kind.SCORES:
                cores[-1].append(makers[id(cores[-1][-1].inputs[0])])
    return cores


def _handed(ledger: Ledger, conventions: Conventions) -> Iterator[tuple[Entry, Term]]:
    """What transformers hands to every layer and torch's checkpoint holds: a mask, and the positions to rotate by.

    Written out, attention reads its mask [B,1,S,S] in the model's precision; the fused kernel is told instead. A mask
    serves all layers that have its like, so each of them has its share of it.
    """
    for _, entry in ledger:
        if entry.kind is Kind.SCORES and entry.mask == "none" and entry.window is not None:
            raise RuleError(
                f"{entry.path}: what transformers hands to layers whose attention is local on both sides is not known "
                f"with recompute={conventions['recompute']}; recompute=none is"
            )
    masked = [(count, entry) for count, entry in ledger if entry.kind is Kind.SCORES and entry.mask != "none"]
    masks = {(entry.mask, entry.window, entry.chunked): (count, entry) for count, entry in reversed(masked)}
    for count, entry in masks.values() if conventions["implementation"] == "eager" else ():
        batch, _, queries, keys = entry.output.shape
        factors = (batch, queries, keys, SIZES[conventions["dtype"]], 1 / count)
        yield entry, Term(f"{entry.path} (mask)", factors)
    for _, entry in ledger:
        if entry.kind is Kind.POSITIONS and entry.function in ROTARY:
            yield entry, Term(f"{entry.path} (positions)", (entry.output.shape[1], LONG))
    handed = {each.name for scope in ledger.root.walk() for each in scope.handed}
    for _, entry in ledger:  # the indices themselves are of another tensor, so many rows further down
        if entry.kind is Kind.LOOKUP and entry.skipped != 0 and entry.inputs[0].name in handed:
            yield entry, Term(f"{entry.path} (positions)", (*entry.inputs[0].shape, LONG))


def _written_out(ledger: Ledger, conventions: Conventions) -> bool:
    """Whether torch writes its fused attention out: on the CPU no kernel drops attention weights."""
    if (conventions["implementation"], conventions["dropout"]) != ("sdpa", "on"):
        return False
    weights = {id(entry.inputs[0]) for _, entry in ledger if entry.kind is Kind.MIX}
    return any(entry.kind is Kind.DROPOUT and id(entry.output) in weights for _, entry in ledger)


def implemented(part: Counted, implementation: str, besides: str = "") -> None:
    """Raise RuleError for an implementation that a model's library does not have; ``besides`` is what else there is."""
    if implementation not in ("eager", "sdpa"):
        return
    if part.library != "transformers":
        raise RuleError(
            f"implementation={implementation} is what transformers keeps, and transformers does not have this model; "
            f"choose a model that it has, or implementation=megatron{besides}"
        )
    if part.unread:
        raise RuleError(
            f"implementation={implementation} is what transformers keeps, and {part.unread}; "
            f"choose implementation=megatron{besides}"
        )


def kept_conditions(ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
    """Where transformers copies the keys and values of a group for each of its queries; where it makes a mask."""
    scores = [entry for _, entry in ledger if entry.kind is Kind.SCORES]
    grouped = {k.shape[1:4:2] for q, k in (entry.inputs for entry in scores) if q.shape[1] != k.shape[1]}
    found: list[Condition] = []
    if conventions["implementation"] == "sdpa":
        # The fused kernel is told that attention is causal; of a window it has to be given a mask, of floats in each
        # layer, and with a mask transformers copies grouped keys and values: masking_utils._ignore_causal_mask_sdpa.
        held = "transformers then makes a mask, which every layer keeps; choose implementation=eager"
        windows = {entry.window for entry in scores if entry.window is not None}
        found += [AtMost(S, window - 1, held) for window in sorted(windows, key=str)]
    if _written_out(ledger, conventions):
        copied = "torch then copies the queries and the keys once more"
        alone = {B, *(heads for heads in (entry.inputs[0].shape[1] for entry in scores) if heads.is_Symbol)}
        found += [Excludes((size,), copied) for size in sorted(alone, key=str)]
    elif conventions["recompute"] != "none":  # then it keeps what it would have copied
        return tuple(found)
    for group, width in sorted(grouped, key=str):
        if conventions["implementation"] == "eager" and isinstance(group, Symbol):
            found.append(Excludes((B, group), "torch then keeps a view where it would keep a copy"))
        if conventions["implementation"] == "sdpa":
            found.append(
                AtMost(width, Integer(FUSED), "transformers then copies keys and values for each of a group's heads")
            )
    return tuple(found)


DROPOUT = Convention({"off": "no dropout", "on": "dropout keeps its noise"}, lambda entry: entry.kind is Kind.DROPOUT)


RECOMPUTE = Convention(
    {
        "none": "nothing is recomputed",
        "selective": "the attention core, from scores to mix, is computed again and keeps what it reads",
        "full": "every repeated layer is computed again and keeps what it reads",
    },
    lambda entry: entry.kind in ATTENDING or "*" in entry.path.split("."),
)
