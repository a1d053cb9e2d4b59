"""Placement: what one rank of many holds and computes, written as a ledger of its own.

A part says how its sizes are cut (:meth:`Component.split`); the operations here do the rest: they divide what is
repeated among stages and what is read among ranks, and write down what has to move between ranks. Every quantity then
counts a rank's ledger by the rules it has for the whole model's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, cast

from sympy import Expr, Integer, Mul, Symbol, ceiling, fraction

from .errors import RuleError
from .ledger import ONE, Entry, Kind, Ledger, Mask, Operations, Part, Scope, Table, Tensor, Weight
from .shapes import Shape, shape_line
from .sizes import AtMost, Condition, Divides
from .symbols import RANK, I_pp, N_cp, N_ep, N_pp, N_tp, S, V

PADDING = 128  # Megatron-LM's make_vocab_size_divisible_by

# Each kind of parallelism is a convention; the first value is the whole model on one rank.
CHOICES: Mapping[str, Mapping[str, str]] = {
    "tensor": {
        "off": "no tensor parallelism",
        "on": "heads, hidden widths and the vocabulary are divided among N_tp ranks, Shoeybi et al. 2019, section 3",
        "sequence": "heads, hidden widths and the vocabulary are divided among N_tp ranks, and what lies between "
        "them along the sequence, Korthikanti et al. 2022, section 4.2.2",
    },
    "pipeline": {
        "off": "no pipeline",
        "first": "the first of N_pp stages: the embeddings and its share of the layers",
        "middle": "a stage with I_pp stages before it: its share of the layers",
        "last": "the last of N_pp stages: its share of the layers and the head, with a copy of what is tied",
    },
    "context": {
        "off": "every rank has whole sequences",
        "on": "each of N_cp ranks has its share of every sequence; keys and values go round",
    },
    "expert": {
        "off": "every rank has all experts",
        "on": "the experts of a layer are divided among N_ep ranks",
    },
    "vocab": {
        "stored": "the vocabulary as the model stores it",
        "padded": f"the vocabulary is padded to a multiple of {PADDING}·N_tp rows, as Megatron-LM does",
    },
}


@dataclass(frozen=True)
class Cut:
    """How the sizes of a part become those of one rank."""

    tensor: Expr  # how many ranks share heads, hidden widths and the vocabulary
    experts: Expr  # how many share the experts of a layer
    padded: bool

    def share(self, size: Expr) -> Expr:
        """A rank's share of heads or of a hidden width. One head alone is on every rank, Shazeer 2019."""
        return size if size == 1 or size.has(N_tp) else size / self.tensor

    def rows(self, size: Expr) -> Expr:
        """A rank's share of the rows of a vocabulary."""
        if size.has(N_tp):
            return size
        return PADDING * ceiling(size / (PADDING * self.tensor)) if self.padded else size / self.tensor

    def experts_of(self, size: Expr) -> Expr:
        """A rank's share of the experts of a layer."""
        return size if size.has(N_ep) else size / self.experts


class Divisible(Part, Protocol):
    """A part that says how it is cut."""

    def split(self, cut: Cut) -> Divisible: ...


@dataclass(frozen=True)
class Placement:
    """One choice for each kind of parallelism."""

    tensor: str = "off"
    pipeline: str = "off"
    context: str = "off"
    expert: str = "off"
    vocab: str = "stored"

    @classmethod
    def of(cls, chosen: Mapping[str, str]) -> Self:
        """The placement among conventions that were chosen."""
        return cls(**{name: chosen[name] for name in CHOICES if name in chosen})

    @property
    def cut(self) -> Cut:
        """How sizes are cut."""
        tensor = ONE if self.tensor == "off" else N_tp
        return Cut(tensor, N_ep if self.expert == "on" else ONE, self.vocab == "padded")


WHOLE = Placement()


def place(part: Divisible, placement: Placement) -> Ledger:
    """The ledger of one rank. Raises RuleError for a part that cannot be placed so."""
    split = part.split(placement.cut)
    ops = _RankOperations(split, placement)
    inputs = [Tensor(axes.name, ops.local(axes.example)) for axes in shape_line(part.shapes).inputs]
    ledger = Ledger(ops.root, ops.run(split, inputs))
    if placement.expert == "on" and not any(entry.kind is Kind.EXPERTS for _, entry in ledger):
        raise RuleError(f"{part.title} has no experts for expert=on to divide")
    if placement.pipeline != "off":
        return Ledger(_stage(ledger.root, placement.pipeline), ledger.output)
    return ledger


def conditions(ledger: Ledger, placement: Placement, known: Sequence[Condition]) -> tuple[Condition, ...]:
    """What has to divide what, for every size of a rank's ledger to be whole; and where a middle stage can stand."""
    shapes = [tensor.shape for _, entry in ledger for tensor in (*entry.inputs, entry.output)]
    shapes += [weight.shape for _, weight in ledger.weights]
    shapes.append(tuple(scope.count for scope in _scopes(ledger.root)))
    divided = {fraction(dim) for shape in shapes for dim in shape if not dim.has(ceiling)}
    ranks = {N_tp, N_pp, N_cp, N_ep}
    found = {(below, above) for above, below in divided if isinstance(above, Symbol) and below.free_symbols & ranks}
    implied = {rule.dividend for rule in known if isinstance(rule, Divides) and (N_tp, rule.divisor) in found}
    rules: list[Condition] = [
        Divides(below, above, "choose sizes that divide, or vocab=padded" if above == V else Divides.remedy)
        for below, above in sorted(found, key=lambda pair: RANK[pair[1]])
        if above not in implied
    ]
    if placement.pipeline == "middle":
        rules.append(AtMost(I_pp, N_pp - 2, "a middle stage has one after it"))
    return tuple(rules)


class _RankOperations(Operations):
    """The same operations as one of many ranks carries them out."""

    def __init__(self, part: Part, placement: Placement) -> None:
        super().__init__(part)
        self.placement = placement
        self.cut = placement.cut
        self.sequence = placement.tensor == "sequence"
        self._read: dict[int, tuple[Tensor, Tensor]] = {}  # what has been brought to every rank, by what it was

    def local(self, shape: Shape) -> Shape:
        """The shape of an input as this rank has it: its share of the tokens."""
        tokens = S
        if self.placement.context == "on":
            tokens = tokens / N_cp
        if self.sequence:
            tokens = tokens / N_tp
        return tuple(dim.xreplace({S: tokens}) for dim in shape)

    def run(self, part: Part, inputs: Sequence[Any]) -> Any:
        """Run a part. Its shape line is of the whole model, which holds it to it when it is composed."""
        return part.forward(self, *inputs)

    def _enter(self, scope: Scope, inputs: Sequence[Any]) -> Any:
        scope.part = cast(Divisible, scope.part).split(self.cut)
        return super()._enter(scope, inputs)

    def repeat(self, name: str, count: Expr, part: Part, x: Tensor, *context: Any) -> Tensor:
        """The share of the layers that one stage has."""
        return super().repeat(name, count if self.placement.pipeline == "off" else count / N_pp, part, x, *context)

    def lookup(self, name: str, index: Tensor, rows: Expr, width: Expr, table: Table, **facts: Any) -> Tensor:
        """A rank looks up the rows it has; the sum over the ranks is the embedding."""
        divided = rows.has(N_tp)
        x = super().lookup(name, self._gathered(index) if divided else index, rows, width, table, **facts)
        return self._leave(name, x) if divided else x

    def linear(self, name: str, x: Tensor, out: Expr, **facts: Any) -> Tensor:
        """By columns where the output is divided, by rows where the input is; Shoeybi et al. 2019, section 3."""
        columns, rows = out.has(N_tp), x.width.has(N_tp)
        y = super().linear(name, self._brought(name, x) if columns and not rows else x, out, **facts)
        return self._leave(name, y) if rows and not columns else y

    def experts(self, name: str, x: Tensor, chosen: Tensor, rows: Expr, out: Expr) -> Tensor:
        """Tokens go to the ranks that have their experts; a rank is sent as many as it sends."""
        if out.has(N_tp) and not x.width.has(N_tp):
            x = self._brought(name, x)
        if self.placement.expert == "on" and len(x.shape) == len(chosen.shape):
            x = self._move(name, "all-to-all", x, (*chosen.shape, x.width), None)
        return super().experts(name, x, chosen, rows, out)

    def combine(self, name: str, x: Tensor, weights: Tensor) -> Tensor:
        """What experts give comes back, and where their widths are divided, it is summed over the ranks."""
        if self.placement.expert == "on":
            x = self._move(name, "all-to-all", x, x.shape, None)
        y = super().combine(name, x, weights)
        return y if self.placement.tensor == "off" else self._leave(name, y)

    def route(self, name: str, x: Tensor, chosen: Expr) -> Tensor:
        """A choice for every token that this rank has."""
        if self.sequence:
            raise RuleError(f"{self._path(name)}: experts are not known with tensor=sequence; tensor=on is")
        return super().route(name, x, chosen)

    def join(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """What stands side by side has the same tokens."""
        if self.sequence:
            raise RuleError(f"{self._path(name)}: latent attention is not known with tensor=sequence; tensor=on is")
        return super().join(name, x, y)

    def scores(self, name: str, q: Tensor, k: Tensor, mask: Mask, window: Expr | None = None, **facts: Any) -> Tensor:
        """A rank's queries with the keys of all ranks."""
        if window is not None and self.placement.context == "on":
            raise RuleError(f"{self._path(name)}: a window is not known with context=on, which divides the sequence")
        if self.sequence and q.shape[1].has(N_tp) != k.shape[1].has(N_tp):
            raise RuleError(f"{self._path(name)}: one key/value head for all is not known with tensor=sequence")
        return super().scores(name, q, self._round(name, "keys", k), mask, window, **facts)

    def mix(self, name: str, p: Tensor, v: Tensor, mask: Mask, window: Expr | None = None, **facts: Any) -> Tensor:
        """Attention weights with the values of all ranks."""
        return super().mix(name, p, self._round(name, "values", v), mask, window, **facts)

    def positions(self, name: str, length: Expr, width: Expr, function: str) -> Tensor:
        """Rotary tables are read where the sequence is whole again."""
        return super().positions(
            name, length * N_tp if self.sequence and function == "rotary" else length, width, function
        )

    def select(self, name: str, x: Tensor) -> Tensor:
        """One position stands on one rank only where the sequence is divided."""
        if self.sequence or self.placement.context == "on":
            raise RuleError(f"{self._path(name)} reads one position, which one rank has where the sequence is divided")
        return super().select(name, x)

    def _move(self, name: str, function: str, x: Tensor, shape: Shape, base: Tensor | None) -> Tensor:
        path = self._path(".".join(filter(None, (name, function.replace("-", "_")))))
        y = Tensor(path, shape, base, x.grad)
        self._scopes[-1].items.append(Entry(Kind.MOVE, path, (x,), y, function=function))
        return y

    def _gathered(self, x: Tensor) -> Tensor:
        return self.index(x.name, *_along(x.shape, N_tp)) if self.sequence else x

    def _brought(self, name: str, x: Tensor) -> Tensor:
        """What a linear by columns reads: every rank has it, or it is gathered for as long as it is read."""
        if id(x) not in self._read:
            if self.sequence:
                y = self._move(name, "all-gather", x, _along(x.shape, N_tp), x)
            else:
                y = self._move(name, "copy", x, x.shape, x)
            self._read[id(x)] = (x, y)
        return self._read[id(x)][1]

    def _leave(self, name: str, y: Tensor) -> Tensor:
        """The sum over the ranks of what a linear by rows gives."""
        if self.sequence:
            return self._move(name, "reduce-scatter", y, _along(y.shape, 1 / N_tp), None)
        return self._move(name, "all-reduce", y, y.shape, y)

    def _round(self, name: str, what: str, k: Tensor) -> Tensor:
        if self.placement.context == "off":
            return k
        batch, heads, length, width = k.shape
        path = self._path(f"{name}.{what}")
        whole = Tensor(path, (batch, heads, length * N_cp, width), k, k.grad)
        self._scopes[-1].items.append(Entry(Kind.MOVE, path, (k,), whole, function="ring"))
        return whole


def _along(shape: Shape, factor: Expr) -> Shape:
    """A shape with its axis of tokens, the second, made longer or shorter."""
    return (shape[0], shape[1] * factor, *shape[2:])


def _scopes(scope: Scope) -> list[Scope]:
    return [scope, *(found for item in scope.items if isinstance(item, Scope) for found in _scopes(item))]


def _stage(root: Scope, which: str) -> Scope:
    """One stage of a model: what stands before its layers, its share of them, what stands after."""
    stacks = [index for index, item in enumerate(root.items) if isinstance(item, Scope) and item.loop]
    if len(stacks) != 1:
        raise RuleError(
            f"{root.part.title} has {len(stacks)} stacks of equal layers; stages are known for one stack only"
        )
    at = stacks[0]
    before, stack, after = root.items[:at], cast(Scope, root.items[at]), root.items[at + 1 :]
    given, inner, last = cast(tuple[Tensor, Tensor, Tensor], stack.loop)
    send = Entry(Kind.MOVE, "send", (last,), Tensor("send", last.shape, last, last.grad), function="send")
    if which == "first":
        return replace(root, items=[*before, stack, send])
    tables = [item for item in before if isinstance(item, Entry) and item.kind is Kind.POSITIONS]
    received = Tensor("receive", given.shape, None, ONE)
    receive = Entry(Kind.MOVE, "receive", (), received, function="receive")
    layers = replace(stack, loop=(received, inner, last))
    if which == "middle":
        return replace(root, items=[*tables, receive, layers, send])
    stage = replace(root, items=[*tables, receive, layers, *after])
    own = {weight for _, weight in Ledger(stage, None).weights}
    return _each(stage, lambda entry: _copied(entry, own))


def _copied(entry: Entry, own: set[Weight]) -> Entry:
    """What another stage stores, this one stores too."""
    missing = tuple(weight for weight in entry.shared if weight not in own)
    own.update(missing)
    return replace(entry, weights=(*entry.weights, *missing)) if missing else entry


def _each(scope: Scope, change: Callable[[Entry], Entry]) -> Scope:
    items = [_each(item, change) if isinstance(item, Scope) else change(item) for item in scope.items]
    return replace(scope, items=items)


def evenly(weights: Sequence[Weight], ranks: Symbol) -> tuple[Condition, ...]:
    """What has to divide what for every one of these weights to be shared evenly: the fewest conditions that do."""
    rules: list[Divides] = []
    for elements in sorted(
        {Mul(*weight.shape) for weight in weights}, key=lambda size: (not size.is_Symbol, str(size))
    ):
        above, below = fraction(elements)
        rule = Divides(below * ranks, above)
        implied = any(
            above.has(one.dividend) and one.divisor == rule.divisor for one in rules if one.dividend.is_Symbol
        )
        if not implied and not elements.has(ceiling):
            rules.append(rule)
    return tuple(rules)


def in_flight(pipeline: str) -> Expr:
    """Micro-batches whose activations a stage holds at once under 1F1B, Narayanan et al. 2021, section 2.2.1."""
    return {"first": N_pp, "middle": N_pp - I_pp}.get(pipeline, Integer(1))
