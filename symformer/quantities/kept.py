"""What each implementation keeps from the forward pass for the backward pass.

An operation keeps tensors that its gradient needs: some that it reads, some that it makes. Operations share tensors,
so a tensor is counted once, with the operation that made it. Weights are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sympy import Expr, Integer, Symbol

from ..account import Measure, Term
from ..errors import RuleError
from ..ledger import ONE, ZERO, Entry, Kind, Ledger, Scope, Tensor
from ..sizes import Condition, Excludes
from ..symbols import B
from .quantity import Convention, Conventions, rule_for

LONG = Integer(8)  # bytes of an index
_BYTES = {"eager": Integer(4), "sdpa": Integer(4), "megatron": Integer(2)}  # of an element
_NOISE = {"eager": Integer(4), "sdpa": Integer(4), "megatron": Integer(1)}  # of dropout's noise


@dataclass(frozen=True)
class Saves:
    """What one operation keeps: tensors it reads, its own output, and what it makes on the way."""

    reads: tuple[Tensor, ...] = ()
    output: bool = False
    makes: tuple[Term, ...] = ()


Saver = Callable[[Entry, Conventions], Saves]


def none(entry: Entry, conventions: Conventions) -> Saves:
    return Saves()


def lookup(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(makes=(Term(f"{entry.path} (indices)", (*entry.inputs[0].shape, LONG)),))


def linear(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(reads=entry.inputs)


def norm(entry: Entry, conventions: Conventions) -> Saves:
    """Layer: torch's kernel keeps mean and 1/σ. RMS: written out in Python, it keeps 1/σ and the normalised input."""
    if entry.function not in ("layer", "rms"):
        raise RuleError(f"{entry.path}: activations has no rule for the norm {entry.function!r}")
    one = (*entry.output.shape[:-1], ONE)
    if entry.function == "layer":
        return Saves(entry.inputs, makes=(_made(entry, "mean", one), _made(entry, "1/σ", one)))
    return Saves(entry.inputs, makes=(_made(entry, "1/σ", one), _made(entry, "normalised", entry.output.shape)))


def activation(entry: Entry, conventions: Conventions) -> Saves:
    """gelu_new is written out in Python, 0.5·x·(1 + tanh(c·(x + 0.044715·x³))), and keeps three products on the way."""
    match entry.function:
        case "gelu" | "silu":
            return Saves(entry.inputs)
        case "relu" | "tanh":
            return Saves(output=True)
        case "gelu_new":
            made = ("0.5x", "tanh", "1 + tanh")
            return Saves(entry.inputs, makes=tuple(_made(entry, name, entry.output.shape) for name in made))
    raise RuleError(f"{entry.path}: activations has no rule for the function {entry.function!r}")


def multiply(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(entry.inputs)


def dropout(entry: Entry, conventions: Conventions) -> Saves:
    """The noise, one for each element: a number on the CPU, a byte in Megatron."""
    if conventions["dropout"] == "off":
        return Saves()
    size = _NOISE[conventions["implementation"]]
    return Saves(makes=(Term(f"{entry.path} (noise)", (*entry.output.shape, size)),))


def rotate(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(reads=entry.inputs[1:])


def eager_scores(entry: Entry, conventions: Conventions) -> Saves:
    """Queries and keys, copied by head; keys of a group are copied for each of its heads."""
    q, k = entry.inputs
    heads = (*q.shape[:2], *k.shape[2:])
    return Saves(makes=(_made(entry, "queries", q.shape), _made(entry, "keys", heads)))


def softmax(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(output=True)


def eager_mix(entry: Entry, conventions: Conventions) -> Saves:
    """The weights, and the values copied by head."""
    p, v = entry.inputs
    return Saves((p,), makes=(_made(entry, "values", (*p.shape[:2], *v.shape[2:])),))


def fused_scores(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(entry.inputs)


def fused_mix(entry: Entry, conventions: Conventions) -> Saves:
    """Values, output and the logarithm of each row's sum; the weights are never stored."""
    if conventions["dropout"] == "on":
        raise RuleError(f"{entry.path}: the fused kernel of the CPU has no dropout; choose implementation=eager")
    return Saves(entry.inputs[1:], True, (_made(entry, "log-sum-exp", entry.inputs[0].shape[:3]),))


_COMMON: dict[Kind, Saver] = {
    Kind.LOOKUP: lookup,
    Kind.LINEAR: linear,
    Kind.NORM: norm,
    Kind.ACTIVATION: activation,
    Kind.MULTIPLY: multiply,
    Kind.DROPOUT: dropout,
    Kind.ROTATE: rotate,
    Kind.ADD: none,
    Kind.POSITIONS: none,
    Kind.SELECT: none,
    Kind.PARAMETER: none,
}


def reads(entry: Entry, conventions: Conventions) -> Saves:
    """Megatron's kernels keep what they read, and nothing of their own that is worth counting."""
    return Saves(reads=entry.inputs)


def megatron_norm(entry: Entry, conventions: Conventions) -> Saves:
    return _only(entry, ("layer",))


def megatron_activation(entry: Entry, conventions: Conventions) -> Saves:
    return _only(entry, ("gelu", "gelu_new"))


def _only(entry: Entry, functions: tuple[str, ...]) -> Saves:
    if entry.function not in functions:
        raise RuleError(
            f"{entry.path}: implementation=megatron is for {' and '.join(functions)}, and this is {entry.function}"
        )
    return Saves(reads=entry.inputs)


# Only what the paper counts: a gated or a rotary model has no rule here.
_MEGATRON: dict[Kind, Saver] = {
    Kind.LOOKUP: none,
    Kind.LINEAR: linear,
    Kind.NORM: megatron_norm,
    Kind.ACTIVATION: megatron_activation,
    Kind.DROPOUT: dropout,
    Kind.ADD: none,
    Kind.SCORES: reads,
    Kind.SOFTMAX: softmax,
    Kind.MIX: reads,
}
IMPLEMENTATIONS: dict[str, dict[Kind, Saver]] = {
    "eager": {**_COMMON, Kind.SCORES: eager_scores, Kind.SOFTMAX: softmax, Kind.MIX: eager_mix},
    "sdpa": {**_COMMON, Kind.SCORES: fused_scores, Kind.SOFTMAX: none, Kind.MIX: fused_mix},
    "megatron": _MEGATRON,
}


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

    def storage(self, tensor: Tensor) -> Tensor:
        """The tensor whose memory this one looks into: views and a dropout that is off have none of their own."""
        if tensor.base is not None:
            return self.storage(tensor.base)
        maker = self.makers.get(id(tensor))
        off = self.conventions["dropout"] == "off"
        if maker is not None and (maker.kind is Kind.SELECT or (maker.kind is Kind.DROPOUT and off)):
            return self.storage(maker.inputs[0])
        return tensor

    def keep(self, tensor: Tensor) -> None:
        """Keep a tensor, or where it is what every repeated layer reads, what went in and what each layer gave."""
        stored = self.storage(tensor)
        scope = self.loops.get(id(stored))
        if scope is not None and scope.loop is not None:
            self.keep(scope.loop[0])
            self.inside.add(id(self.storage(scope.loop[2])))
        elif id(stored) not in self.makers:
            raise RuleError(f"activations counts what a model makes, and {stored.name!r} is given to it from outside")
        else:
            self.whole.add(id(stored))

    def share(self, entry: Entry) -> Expr:
        """The share of an entry's copies whose output is kept."""
        given = {id(self.storage(scope.loop[2])): scope.count for scope in self.loops.values() if scope.loop}
        key = id(entry.output)
        if key not in given:
            return ONE if key in self.whole else ZERO
        last, others = key in self.whole, key in self.inside
        count = given[key]
        return ONE if last and others else 1 / count if last else (count - 1) / count if others else ZERO


def activation_terms(ledger: Ledger, conventions: Conventions, measure: Measure) -> dict[int, tuple[Term, ...]]:
    """The bytes kept of what each entry makes, by the entry's identity. Raises RuleError for a kind without a rule."""
    table = IMPLEMENTATIONS[conventions["implementation"]]
    entries = [entry for _, entry in ledger if entry.output.grad != 0]
    makers = {id(entry.output): entry for _, entry in ledger}
    kept = Kept(conventions, makers, {id(scope.loop[1]): scope for scope in _scopes(ledger.root) if scope.loop})
    terms: dict[int, tuple[Term, ...]] = {}
    for entry in entries:
        saved = rule_for(table, entry, measure)(entry, conventions)
        for tensor in (*saved.reads, *((entry.output,) if saved.output else ())):
            kept.keep(tensor)
        terms[id(entry)] = saved.makes
    size = _BYTES[conventions["implementation"]]
    for entry in makers.values():
        if (share := kept.share(entry)) != 0:
            factors = (*entry.output.shape, size, *((share,) if share != 1 else ()))
            terms[id(entry)] = (Term(f"{entry.path} (output)", factors), *terms.get(id(entry), ()))
    return terms


def implemented(library: str, implementation: str) -> None:
    """Raise RuleError where an implementation is one that a model's library does not have."""
    if implementation in ("eager", "sdpa") and library != "transformers":
        raise RuleError(
            f"implementation={implementation} is what transformers keeps, and transformers does not have this model; "
            "choose a model that it has, or implementation=megatron"
        )


def kept_conditions(ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
    """Grouped heads are copied for each of their queries, but one head of one sequence is only looked at again."""
    scores = [entry.inputs for _, entry in ledger if entry.kind is Kind.SCORES]
    groups = {k.shape[1] for q, k in scores if q.shape[1] != k.shape[1] and isinstance(k.shape[1], Symbol)}
    if conventions["implementation"] != "eager" or not groups:
        return ()
    because = "torch then keeps a view where it would keep a copy"
    return tuple(Excludes((B, group), because) for group in sorted(groups, key=str))


DROPOUT = Convention({"off": "no dropout", "on": "dropout keeps its noise"})


def _scopes(scope: Scope) -> list[Scope]:
    return [scope, *(found for item in scope.items if isinstance(item, Scope) for found in _scopes(item))]


def _made(entry: Entry, what: str, shape: tuple[Expr, ...]) -> Term:
    return Term(f"{entry.path} ({what})", (*shape, _BYTES["eager"]))
