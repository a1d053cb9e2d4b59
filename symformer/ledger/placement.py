"""Placement: the ledger of one rank, with what it stores, computes and communicates.

A part defines how its sizes are sharded (:meth:`Component.split`). The operations in this module divide repeated layers
among pipeline stages and inputs among ranks, and record the communication between ranks. Every quantity then applies
the same rules to the ledger of a rank as to the ledger of the whole model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, cast

from sympy import Expr, Integer, Mul, Symbol, ceiling, fraction

from ..language.errors import RuleError
from ..language.notation.text import text
from ..language.shape_lines import Shape, shape_line
from ..language.sizes import AtMost, Condition, Divides
from ..language.symbols import A, G, I_pp, N_cp, N_dp, N_ep, N_pp, N_tp, S, S_enc, V, print_order
from .facts import (
    ARRANGING,
    ATTENDING,
    CARRYING,
    COMPRESSING,
    MULTIPLYING,
    ONE,
    POINTWISE,
    ROTARY,
    STORING,
    Entry,
    Ledger,
    Mask,
    OperationKind,
    Order,
    Part,
    Scope,
    Table,
    Tensor,
)
from .layer_kinds import sharing
from .operations import Operations
from .operations import given as input_of
from .pipeline_stages import stage

PADDING = 128  # Megatron-LM's make_vocab_size_divisible_by
# The axis of its first input that an operation reduces or normalizes over: if ranks shard that axis, no rank can do it
# alone. None: the operation is elementwise, or its method below defines how ranks do it together.
REDUCED: Mapping[OperationKind, int | None] = {
    **dict.fromkeys((*STORING, *POINTWISE, *ARRANGING), None),
    **dict.fromkeys((OperationKind.NORM, OperationKind.SOFTMAX, OperationKind.ROUTE, *ATTENDING, *MULTIPLYING), -1),
    **dict.fromkeys((OperationKind.LINEAR, OperationKind.CONVOLUTION), None),  # these have such methods
    OperationKind.MATCH: -1,
    OperationKind.CHOOSE: 1,  # over heads
    OperationKind.COMBINE: -2,
    **dict.fromkeys(CARRYING, 2),  # from token to token
    **dict.fromkeys(COMPRESSING, 1),  # over the tokens of an entry
    **dict.fromkeys((OperationKind.PRODUCT, OperationKind.OBSERVED), None),  # only in traces, which have no ranks
}

# Each kind of parallelism is a convention; the first value means the whole model on one rank.
CHOICES: Mapping[str, Mapping[str, str]] = {
    "tensor": {
        "off": "no tensor parallelism",
        "on": "heads, intermediate sizes and the vocabulary are sharded over N_tp ranks, and every rank stores the "
        "other weights whole, such as norms and output biases, Shoeybi et al. 2019 [shoeybi2019], section 3",
        "sequence": "heads, intermediate sizes and the vocabulary are sharded over N_tp ranks, and the tensors between "
        "these layers are sharded along the sequence, Korthikanti et al. 2022 [korthikanti2022], section 4.2.2",
    },
    "pipeline": {
        "off": "no pipeline parallelism",
        "first": "the first of N_pp stages: the embeddings and 1/N_pp of the layers",
        "middle": "a stage with I_pp stages before it: 1/N_pp of the layers",
        "last": "the last of N_pp stages: 1/N_pp of the layers and the LM head, with a copy of any tied embedding",
    },
    "context": {
        "off": "every rank processes whole sequences",
        "on": "each of N_cp ranks processes a shard of every sequence; keys and values are exchanged in a ring",
    },
    "expert": {
        "off": "every rank stores all experts",
        "on": "the experts of a layer are divided among N_ep ranks, each with its own B sequences; tokens are assumed "
        "to be routed evenly, so a rank receives as many as it sends",
    },
    "vocab": {
        "stored": "the vocabulary size of the model, unpadded",
        "padded": f"the vocabulary is padded to a multiple of {PADDING}·N_tp rows, as in Megatron-LM",
    },
}


@dataclass(frozen=True)
class Cut:
    """How the sizes of a part are sharded for one rank."""

    tensor: Expr  # the number of ranks that share heads, intermediate sizes and the vocabulary
    experts: Expr  # the number of ranks that share the experts of a layer
    padded: bool  # whether the vocabulary is padded

    def share(self, size: Expr) -> Expr:
        """Return a rank's share of heads or of an intermediate size. A single head is on every rank, Shazeer 2019."""
        return size if size == 1 or size.has(N_tp) else size / self.tensor

    def rows(self, size: Expr) -> Expr:
        """Return a rank's share of the rows of a vocabulary."""
        if size.has(N_tp):
            return size
        return PADDING * ceiling(size / (PADDING * self.tensor)) if self.padded else size / self.tensor

    def experts_of(self, size: Expr) -> Expr:
        """Return a rank's share of the experts of a layer."""
        return size if size.has(N_ep) else size / self.experts


class Divisible(Part, Protocol):
    """A part that defines how its sizes are sharded."""

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
        """Return the placement that these conventions contain."""
        return cls(**{name: chosen[name] for name in CHOICES if name in chosen})

    @property
    def cut(self) -> Cut:
        """How the sizes of a part are sharded under this placement."""
        tensor = ONE if self.tensor == "off" else N_tp
        return Cut(tensor, N_ep if self.expert == "on" else ONE, self.vocab == "padded")


WHOLE = Placement()


def place(part: Divisible, placement: Placement) -> Ledger:
    """Return the ledger of one rank.

    Parameters
    ----------
    part : Divisible
        The part to place.
    placement : Placement
        The choice for each kind of parallelism.

    Raises
    ------
    RuleError
        For a part that does not support this placement.

    """
    split = part.split(placement.cut)
    ops = _RankOperations(split, placement)
    given = shape_line(part.shapes).inputs
    if placement.tensor != "off" and (heads := [axes.name for axes in given if {A, G} & set(axes.dims)]):
        raise RuleError(
            f"{part.title} takes heads as input ({', '.join(heads)}), and the part that computes them shards them; use "
            f"tensor={placement.tensor} with that part"
        )
    inputs = [input_of(axes.name, ops.local(axes.example)) for axes in given]
    ledger = sharing(ops.root, ops.run(split, inputs))
    if placement.expert == "on" and not any(entry.kind is OperationKind.EXPERTS for _, entry in ledger):
        raise RuleError(f"expert=on requires experts; {part.title} has none, so choose expert=off")
    if placement.pipeline != "off":
        if (several := sum(1 for scope in ledger.root.walk() if scope.loop)) != 1:
            raise RuleError(
                f"{split.title} has {several} stacks of repeated layers; pipeline stages support one stack only, so "
                "choose pipeline=off"
            )
        return Ledger(stage(ledger.root, placement.pipeline), ledger.output)
    return ledger


def conditions(ledger: Ledger, placement: Placement, known: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return the conditions of a placement: every size of the rank's ledger is an integer, and the stage exists.

    Parameters
    ----------
    ledger : Ledger
        The ledger of one rank.
    placement : Placement
        The choice for each kind of parallelism.
    known : Sequence[Condition]
        The conditions of the model.

    """
    shapes = [tensor.shape for _, entry in ledger for tensor in (*entry.inputs, entry.output)]
    shapes += [weight.shape for _, weight in ledger.weights]
    shapes.append(tuple(scope.count for scope in ledger.root.walk()))
    divided = {fraction(dim) for dim in {dim for shape in shapes for dim in shape} if not dim.has(ceiling)}
    ranks = {N_tp, N_pp, N_cp, N_ep}
    found = {(below, above) for above, below in divided if isinstance(above, Symbol) and below.free_symbols & ranks}
    implied = {rule.dividend for rule in known if isinstance(rule, Divides) and (N_tp, rule.divisor) in found}
    rules: list[Condition] = [
        Divides(below, above, "choose a multiple, or vocab=padded" if above == V else Divides.remedy)
        for below, above in sorted(found, key=lambda pair: print_order(pair[1]))
        if above not in implied
    ]
    if placement.pipeline == "middle":
        rules.append(AtMost(I_pp, N_pp - 2, "at least one stage must follow a middle stage"))
    elif placement.pipeline != "off":
        rules.append(AtMost(Integer(2), N_pp, "for a single stage choose pipeline=off"))
    return tuple(rules)


def ranks(placement: Placement, data: bool) -> Expr:
    """Return the number of ranks of a placement: the product of the degrees of all kinds of parallelism in use.

    The degrees multiply because each kind further divides the share of a rank: an expert is on one of N_ep ranks, and
    its hidden width is divided among N_tp ranks, so both together need N_tp·N_ep. The N_ep ranks process different
    sequences, and N_dp counts the replicas of all the others.

    >>> ranks(Placement(tensor="on", expert="on"), data=False)
    N_ep*N_tp
    """
    degrees = {
        N_tp: placement.tensor != "off",
        N_pp: placement.pipeline != "off",
        N_cp: placement.context == "on",
        N_ep: placement.expert == "on",
        N_dp: data,
    }
    return Mul(*(degree for degree, used in degrees.items() if used))


def replicas(kind: OperationKind, placement: Placement, data: bool) -> Expr:
    """Return the number of ranks that hold the same weight and process different tokens; 1 if there are no others.

    Gradients are summed over these ranks, and ZeRO shards over them. Tensor-parallel ranks process the same tokens.

    Parameters
    ----------
    kind : Kind
        The kind of the operation that stores the weight.
    placement : Placement
        The choice for each kind of parallelism.
    data : bool
        Whether there are N_dp data-parallel ranks.

    """
    ranks: Expr = N_dp if data else ONE
    if placement.context == "on":
        ranks = ranks * N_cp
    if placement.expert == "on" and kind is not OperationKind.EXPERTS:
        ranks = ranks * N_ep
    return ranks


class _RankOperations(Operations):
    """Operations as executed by one rank."""

    def __init__(self, part: Part, placement: Placement) -> None:
        super().__init__(part)
        self.placement = placement
        self.cut = placement.cut
        self.sequence = placement.tensor == "sequence"
        self._read: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}  # gathered inputs, by input and repeated layer
        self._summing: dict[int, Tensor] = {}  # gathered inputs, whose gradients are summed in the backward pass
        self._partial: dict[int, Tensor] = {}  # partial sums that are summed over the ranks later
        self._dispatched: dict[int, Tensor] = {}  # choices of experts whose tokens were sent to the experts' ranks
        self._shares: dict[int, Tensor] = {}  # this rank's shard of keys or values that were exchanged

    def local(self, shape: Shape) -> Shape:
        """Return the shape of this rank's shard of an input."""
        ranks = ONE
        if self.placement.context == "on":
            ranks = ranks * N_cp
        if self.sequence:
            ranks = ranks * N_tp
        return tuple(dim.xreplace({S: S / ranks, S_enc: S_enc / ranks}) for dim in shape)

    def run(self, part: Part, inputs: Sequence[Any]) -> Any:
        """Record a part without a shape check: its shape line describes the whole model, which is checked there."""
        return part.forward(self, *inputs)

    def _enter(self, scope: Scope, inputs: Sequence[Any]) -> Any:
        scope.part = cast(Divisible, scope.part).split(self.cut)
        return super()._enter(scope, inputs)

    def repeat(
        self, name: str, count: Expr, part: Part, x: Tensor, *context: Any, distinct: Expr | None = None
    ) -> Tensor:
        """Record one stage's share of the layers."""
        if self.placement.pipeline != "off" and distinct is not None:
            raise RuleError(f"{self._path(name)}: layers that share weights are not supported with pipeline stages")
        count = count if self.placement.pipeline == "off" else count / N_pp
        return super().repeat(name, count, part, x, *context, distinct=distinct)

    def mix_layers(
        self,
        name: str,
        total: Expr,
        kinds: Mapping[str, tuple[Expr, Part, tuple[Any, ...]]],
        x: Tensor,
        order: Order = "any",
    ) -> Tensor:
        """Record layers of several kinds. Raises RuleError for pipeline stages: their layers are undetermined."""
        if self.placement.pipeline != "off":
            raise RuleError(
                f"{self.root.part.title} has layers of {len(kinds)} kinds; pipeline stages support one kind only, "
                "except in fit and layout"
            )
        return super().mix_layers(name, total, kinds, x, order)

    def lookup(self, name: str, index: Tensor, rows: Expr, width: Expr, table: Table, **facts: Any) -> Tensor:
        """Record a lookup of this rank's rows, followed by a sum over the ranks."""
        if table == "distances" and (self.placement.tensor != "off" or self.placement.context != "off"):
            raise RuleError(
                f"{self._path(name)}: a table of distances, with one column per head, is not supported on several ranks"
            )
        divided = rows.has(N_tp)
        x = super().lookup(name, self._gathered(index) if divided else index, rows, width, table, **facts)
        return self._leave(name, x) if divided else x

    def linear(self, name: str, x: Tensor, out: Expr, **facts: Any) -> Tensor:
        """Record a column-parallel or a row-parallel layer; Shoeybi et al. 2019, section 3."""
        columns, rows = out.has(N_tp), x.width.has(N_tp)
        if columns and rows:
            raise RuleError(
                f"{self._path(name)}: a linear layer with a sharded input and a sharded output is not supported"
            )
        y = super().linear(name, self._brought(name, x) if columns else x, out, **facts)
        return self._leave(name, y) if rows else y

    def convolution(self, name: str, x: Tensor, out: Expr, kernel: Sequence[Expr | int], **facts: Any) -> Tensor:
        """Record a convolution: whole on every rank, or depthwise on this rank's channels."""
        path = self._path(name)
        if self.sequence or self.placement.context == "on":
            how, other = ("tensor=sequence", "tensor=on") if self.sequence else ("context=on", "context=off")
            raise RuleError(
                f"{path}: a convolution reads neighboring positions and is not supported with {how}; choose {other}"
            )
        groups = facts.get("groups", 1)
        if any(size.has(N_tp) for size in (x.shape[1], out)) and groups == 1:
            raise RuleError(f"{path}: a convolution over sharded channels is not supported")
        return super().convolution(name, x, out, kernel, **facts)

    def experts(self, name: str, x: Tensor, chosen: Tensor, rows: Expr, out: Expr, **facts: Any) -> Tensor:
        """Record experts after an all-to-all of tokens; a rank receives as many tokens as it sends."""
        divided = x.width.has(N_tp)
        if out.has(N_tp):
            if divided:
                raise RuleError(
                    f"{self._path(name)}: experts with a sharded input and a sharded output are not supported"
                )
            x = self._brought(name, x)
        if self.placement.expert == "on" and id(chosen) not in self._dispatched:
            self._dispatched[id(chosen)] = chosen
            x = self._move(name, "all-to-all", x, (*chosen.shape, x.width), None)
        y = super().experts(name, x, chosen, rows, out, **facts)
        if divided:
            self._partial[id(y)] = y
        return y

    def combine(self, name: str, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """Record the return of the experts' outputs, and their sum over the ranks if intermediate sizes are sharded.

        In that case each rank has a partial gradient of the weights.
        """
        partial = _of(self._partial, x)
        if self.placement.expert == "on":
            x = self._move(name, "all-to-all", x, x.shape, None)
        y = super().combine(name, x, self._brought(name, weights) if partial and weights else weights)
        return self._leave(name, y) if partial else y

    def route(self, name: str, x: Tensor, chosen: Expr, function: str = "") -> Tensor:
        """Record the routing of this rank's tokens."""
        if self.sequence:
            raise RuleError(f"{self._path(name)}: experts are not supported with tensor=sequence; choose tensor=on")
        return super().route(name, x, chosen, function)

    def choose_keys(self, name: str, s: Tensor, weights: Tensor, count: Expr, **facts: Any) -> Tensor:
        """Record the choice of keys. Raises RuleError if ranks shard the sequence."""
        if any(dim.has(N_cp) for dim in s.shape):
            raise RuleError(
                f"{self._path(name)}: keys that are chosen for each query are not supported with context=on; "
                "choose context=off"
            )
        return super().choose_keys(name, s, weights, count, **facts)

    def concatenate(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """Record a concatenation along the last axis."""
        if self.sequence:
            raise RuleError(
                f"{self._path(name)}: latent attention is not supported with tensor=sequence; choose tensor=on"
            )
        return super().concatenate(name, x, y)

    def prepend(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """Record a concatenation along the sequence. Raises RuleError if ranks shard the sequence."""
        if self.sequence or self.placement.context == "on":
            raise RuleError(f"{self._path(name)}: concatenating tokens is not supported if ranks shard the sequence")
        return super().prepend(name, x, y)

    def scores(self, name: str, q: Tensor, k: Tensor, mask: Mask, window: Expr | None = None, **facts: Any) -> Tensor:
        """Record the scores of this rank's queries with the keys of all ranks."""
        if facts.get("recalled") and (self.sequence or self.placement.context == "on"):
            raise RuleError(f"{self._path(name)}: keys of distances are not supported if ranks shard the sequence")
        if window is not None and self.placement.context == "on":
            raise RuleError(
                f"{self._path(name)}: a window is not supported with context=on, which shards the sequence; choose "
                "context=off"
            )
        if self.sequence and q.shape[1].has(N_tp) != k.shape[1].has(N_tp):
            raise RuleError(f"{self._path(name)}: a single key/value head is not supported with tensor=sequence")
        return super().scores(name, q, self._round(name, "keys", self._meeting(name, q, k)), mask, window, **facts)

    def weighted_values(
        self, name: str, p: Tensor, v: Tensor, mask: Mask, window: Expr | None = None, **facts: Any
    ) -> Tensor:
        """Record the mix of this rank's attention weights with the values of all ranks."""
        return super().weighted_values(
            name, p, self._round(name, "values", self._meeting(name, p, v)), mask, window, **facts
        )

    def scan(self, name: str, *inputs: Any, **facts: Any) -> Tensor:
        """Record a scan. Raises RuleError with tensor parallelism, which would replicate the whole state."""
        if self.placement.tensor != "off":
            raise RuleError(f"{self._path(name)}: a scan is not supported with tensor={self.placement.tensor}")
        return super().scan(name, *inputs, **facts)

    def delta_rule(self, name: str, *inputs: Any, **facts: Any) -> Tensor:
        """Record a delta rule. Raises RuleError with tensor parallelism, as for a scan."""
        if self.placement.tensor != "off":
            raise RuleError(f"{self._path(name)}: a delta rule is not supported with tensor={self.placement.tensor}")
        return super().delta_rule(name, *inputs, **facts)

    def general_delta_rule(self, name: str, *inputs: Any, **facts: Any) -> Tensor:
        """Record a generalized delta rule. Raises RuleError with tensor parallelism, as for a scan."""
        if self.placement.tensor != "off":
            raise RuleError(f"{self._path(name)}: a delta rule is not supported with tensor={self.placement.tensor}")
        return super().general_delta_rule(name, *inputs, **facts)

    def recurrence(self, name: str, *inputs: Any, **facts: Any) -> Tensor:
        """Record a recurrence. Raises RuleError with tensor parallelism, as for a scan."""
        if self.placement.tensor != "off":
            raise RuleError(f"{self._path(name)}: a recurrence is not supported with tensor={self.placement.tensor}")
        return super().recurrence(name, *inputs, **facts)

    def grouped_linear(self, name: str, x: Tensor, groups: Expr, out: Expr) -> Tensor:
        """Record the matrices of groups. Raises RuleError with tensor parallelism."""
        if self.placement.tensor != "off":
            raise RuleError(
                f"{self._path(name)}: a matrix for each group of heads is not supported with "
                f"tensor={self.placement.tensor}"
            )
        return super().grouped_linear(name, x, groups, out)

    def compress(self, name: str, x: Tensor, gate: Tensor, rate: Expr, *stored: Any, **facts: Any) -> Tensor:
        """Record a compression. Raises RuleError with tensor or context parallelism."""
        for kind in ("tensor", "context"):
            if (chosen := getattr(self.placement, kind)) != "off":
                raise RuleError(f"{self._path(name)}: compressed tokens are not supported with {kind}={chosen}")
        return super().compress(name, x, gate, rate, *stored, **facts)

    def positions(self, name: str, length: Expr, width: Expr, function: str) -> Tensor:
        """Record a table of positions. Rotary tables cover the gathered sequence."""
        return super().positions(
            name, length * N_tp if self.sequence and function in ROTARY else length, width, function
        )

    def select(self, name: str, x: Tensor, *, each: bool = False) -> Tensor:
        """Record the selection of a position. Raises RuleError if ranks shard the sequence."""
        if self.sequence or self.placement.context == "on":
            raise RuleError(
                f"{self._path(name)} selects one position, which only one rank has if ranks shard the sequence"
            )
        return super().select(name, x, each=each)

    def shift(self, name: str, x: Tensor) -> Tensor:
        """Record a token shift. Raises RuleError if ranks shard the sequence."""
        if self.sequence or self.placement.context == "on":
            raise RuleError(
                f"{self._path(name)} reads the previous position, which another rank may have if ranks shard the "
                "sequence"
            )
        return super().shift(name, x)

    def part_of_sequence(self, name: str, x: Tensor, length: Expr, function: Literal["first", "last"]) -> Tensor:
        """Record the selection of positions. Raises RuleError if ranks shard the sequence."""
        if self.sequence or self.placement.context == "on":
            raise RuleError(f"{self._path(name)}: a part of a sequence is not supported if ranks shard the sequence")
        return super().part_of_sequence(name, x, length, function)

    def _write(self, kind: OperationKind, name: str, inputs: tuple[Tensor, ...], shape: Shape, **facts: Any) -> Tensor:
        """Record an operation on this rank's shards of its inputs.

        Raises RuleError for a reduction over a sharded axis, and for a partial sum as input.
        """
        path = self._path(name)
        for x in inputs:
            if _of(self._partial, x) and kind is not OperationKind.COMBINE:
                raise RuleError(
                    f"{path} reads {x.name}, a partial sum on this rank; this operation has no rule for partial sums"
                )
        axis = REDUCED[kind]
        if axis is not None and inputs[0].shape[axis].free_symbols & {N_tp, N_cp, N_ep}:
            share = text(inputs[0].shape[axis])
            raise RuleError(f"{path}: {kind.value} needs a whole axis, but a rank has only a shard of it, {share}")
        if kind is not OperationKind.EXPERTS:  # the choice of experts has no gradient
            like = Tensor(path, shape)
            inputs = tuple(self._meeting(name, like, x) for x in inputs)
        if kind is OperationKind.LINEAR and self.sequence and inputs[0].width.has(N_tp):
            facts["summed"] = _along(shape, 1 / N_tp)
        if kind in (OperationKind.SCORES, OperationKind.MIX):
            facts["share"] = self._shares.get(id(inputs[1]))
        return super()._write(kind, name, inputs, shape, **facts)

    def _meeting(self, name: str, like: Tensor, x: Tensor) -> Tensor:
        """Return a replicated input of a sharded operation, marked so that its partial gradients are summed."""
        if self.placement.tensor != "on" or x.grad == 0 or _divided(x) or not _divided(like) or _of(self._summing, x):
            return x
        return self._brought(name, x)

    def _move(self, name: str, function: str, x: Tensor, shape: Shape, base: Tensor | None) -> Tensor:
        path = self._path(".".join(filter(None, (name, function.replace("-", "_")))))
        y = Tensor(path, shape, base, x.grad, encoded=x.encoded)
        self._scopes[-1].items.append(Entry(OperationKind.MOVE, path, (x,), y, function=function))
        return y

    def _gathered(self, x: Tensor) -> Tensor:
        return self.index(x.name, *_along(x.shape, N_tp)) if self.sequence else x

    def _brought(self, name: str, x: Tensor) -> Tensor:
        """Return the input of a column-parallel layer: replicated, or gathered along the sequence."""
        layers = next((scope for scope in reversed(self._scopes) if scope.repeated), self.root)
        key = (id(x), id(layers))
        if key not in self._read:
            if self.sequence:
                if not x.shape[1].has(N_tp):
                    raise RuleError(
                        f"{self._path(name)}: tensor=sequence shards sequences over N_tp ranks, but "
                        f"{text(x.shape[1])} is a fixed length"
                    )
                y = self._move(name, "all-gather", x, _along(x.shape, N_tp), x)
            else:
                y = self._move(name, "copy", x, x.shape, x)
            self._read[key] = (x, y)
            self._summing[id(y)] = y
        return self._read[key][1]

    def _leave(self, name: str, y: Tensor) -> Tensor:
        """Return the sum over the ranks of the output of a row-parallel layer."""
        if self.sequence:
            return self._move(name, "reduce-scatter", y, _along(y.shape, 1 / N_tp), None)
        return self._move(name, "all-reduce", y, y.shape, y)

    def _round(self, name: str, what: str, k: Tensor) -> Tensor:
        if self.placement.context == "off":
            return k
        batch, heads, length, width = k.shape
        path = self._path(f"{name}.{what}")
        if not length.has(N_cp):
            raise RuleError(
                f"{path}: context=on shards sequences over N_cp ranks, but {text(length)} is a fixed length"
            )
        whole = k.view((batch, heads, length * N_cp, width), path)
        self._shares[id(whole)] = k
        self._scopes[-1].items.append(Entry(OperationKind.MOVE, path, (k,), whole, function="ring"))
        return whole


def _of(marked: Mapping[int, Tensor], x: Tensor) -> bool:
    """Return True for a marked tensor or a view of one."""
    return id(x) in marked or (x.base is not None and _of(marked, x.base))


def _divided(x: Tensor) -> bool:
    """Return True if the tensor is sharded over tensor-parallel ranks."""
    return any(dim.has(N_tp) for dim in x.shape)


def _along(shape: Shape, factor: Expr) -> Shape:
    """Return a shape with its second axis (tokens) multiplied by a factor."""
    return (shape[0], shape[1] * factor, *shape[2:])


def even_sharing_conditions(ledger: Ledger, placement: Placement, data: bool) -> tuple[Condition, ...]:
    """Return the fewest divisibility conditions under which every weight is sharded evenly over the ranks that hold it.

    Parameters
    ----------
    ledger : Ledger
        The ledger of one rank.
    placement : Placement
        The choice for each kind of parallelism.
    data : bool
        Whether there are N_dp data-parallel ranks.

    Raises
    ------
    RuleError
        For a weight of one number, which cannot be sharded.

    """
    for _, entry in ledger:
        for weight in entry.weights:
            if not weight.shape and replicas(entry.kind, placement, data) != 1:
                raise RuleError(f"{weight.path} is a single number, which cannot be sharded evenly over ranks")
    shared = {
        (Mul(*weight.shape), replicas(entry.kind, placement, data)) for _, entry in ledger for weight in entry.weights
    }
    rules: list[Divides] = []
    for elements, ranks in sorted(shared, key=lambda pair: (not pair[0].is_Symbol, str(pair))):
        above, below = fraction(elements)
        rule = Divides(below * ranks, above)
        implied = any(
            above.has(one.dividend) and one.divisor == rule.divisor for one in rules if one.dividend.is_Symbol
        )
        if ranks != 1 and not implied and not elements.has(ceiling):
            rules.append(rule)
    return tuple(rules)


def in_flight(pipeline: str) -> Expr:
    """Return the number of micro-batches whose activations a stage stores at once with 1F1B.

    Narayanan et al. 2021, section 2.2.1.

    Parameters
    ----------
    pipeline : str
        The stage: a value of the convention ``pipeline``.

    """
    return {"first": N_pp, "middle": N_pp - I_pp}.get(pipeline, Integer(1))
