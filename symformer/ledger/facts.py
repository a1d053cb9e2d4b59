"""The ledger: what a model computes, as facts. One entry for each operation, in symbols; no formula lives here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sympy import Expr, Integer, Symbol, cancel

from ..language.errors import ShapeError
from ..language.frozen import FrozenDict, FrozenList
from ..language.shapes import Shape

if TYPE_CHECKING:
    from .operations import Operations

Mask = Literal["none", "causal"]
# What is divided by the root of a head's width; a number of the model's own may stand for one over that root. Scores
# of distances are divided with those of tokens that they are added to.
Scale = Literal["scores", "queries", "none", "number", "distances"]
Factor = Literal["", "root", "over root"]  # what a tensor is multiplied by: a number, or by way of its width
Table = Literal["tokens", "positions", "segments", "distances", "classes"]  # what the rows of a stored table stand for
Order = Literal["kind by kind", "first", "any"]  # of layers of several kinds; "first" is any, but for the first layer
ROTARY = ("rotary", "rotary_single")  # tables to rotate by, in the model's own precision or in single
INDEXED = "indexed"  # of a position that is another one in each sequence: a copy, and no view
STATE = "state"  # of a cache that torch filled, what is neither keys nor values
ZERO, ONE = Integer(0), Integer(1)
# Elementwise functions without weights of their own, by the names of transformers.
Activation = Literal[
    "gelu",
    "gelu_new",
    "gelu_pytorch_tanh",
    "gelu_fast",
    "gelu_accurate",
    "gelu_python",
    "gelu_python_tanh",
    "gelu_10",
    "quick_gelu",
    "relu",
    "relu2",
    "relu6",
    "leaky_relu",
    "silu",
    "hardswish",
    "mish",
    "tanh",
    "sigmoid",
    "laplace",
    "sqrtsoftplus",
    "linear",
]


class Kind(StrEnum):
    """The closed set of operations. A quantity has one rule for each of them."""

    LOOKUP = "lookup"  # rows of a table, chosen by index
    LINEAR = "linear"  # x · Wᵀ + b
    CONVOLUTION = "convolution"  # the same matrix over a window of positions at every place that it slides to
    SCORES = "scores"  # queries · keysᵀ, by head
    SOFTMAX = "softmax"
    MIX = "mix"  # attention weights · values, by head
    NORM = "norm"
    ACTIVATION = "activation"
    MULTIPLY = "multiply"  # elementwise product of two tensors
    ADD = "add"  # elementwise sum of two tensors
    DROPOUT = "dropout"
    ROTATE = "rotate"  # rotary positions applied to the heads
    POSITIONS = "positions"  # a fixed table of positions
    JOIN = "join"  # two tensors side by side, along the last axis, or one before the other, along the sequence
    SELECT = "select"  # one position of each sequence
    ROUTE = "route"  # the best of several, with a weight for each
    EXPERTS = "experts"  # x · Wᵀ, by a matrix of its own for each expert chosen
    COMBINE = "combine"  # what the chosen experts give, weighted and added up
    MATCH = "match"  # each row of one tensor with each row of another
    SCAN = "scan"  # a state carried from token to token: it decays, takes the token in and is read
    PRODUCT = "product"  # x · y, of two tensors that were both computed: what for, nothing says
    PARAMETER = "parameter"  # a weight stored by itself, used by other operations
    MOVE = "move"  # from rank to rank: nothing is computed
    OBSERVED = "observed"  # what torch was seen to store or do, and nobody recognised: it answers what it was seen for


# Families, of which every kind but OBSERVED is in one. A table that says something of a family decides it for each kind
# in it: a new kind joins a family, and has a row of its own only where it is told apart.
STORING = (Kind.LOOKUP, Kind.LINEAR, Kind.CONVOLUTION, Kind.NORM, Kind.EXPERTS, Kind.PARAMETER)  # weights
MULTIPLYING = (Kind.LINEAR, Kind.CONVOLUTION)  # of these, what is read whole by a stored matrix; a vector is a bias
ATTENDING = (Kind.SCORES, Kind.MIX)  # meet what earlier tokens left
POINTWISE = (Kind.SOFTMAX, Kind.ACTIVATION, Kind.MULTIPLY, Kind.ADD, Kind.ROTATE)  # compute each element by itself
ARRANGING = (Kind.DROPOUT, Kind.POSITIONS, Kind.JOIN, Kind.SELECT, Kind.MOVE)  # compute nothing that is counted
ROUTING = (Kind.ROUTE, Kind.COMBINE)  # choose experts, and weigh them
CARRYING = (Kind.SCAN,)  # hand a state on from token to token
MATRICES = "matrices"  # the function of a product with a stored table of matrices, which is no attention
MATCHING = (Kind.MATCH, Kind.PRODUCT)  # multiply what was computed with what was computed, by no attention
WEIGHTLESS = (*ATTENDING, *POINTWISE, *ARRANGING, *ROUTING, *CARRYING, *MATCHING)


@dataclass(frozen=True, eq=False)
class Tensor:
    """An activation: its shape and the entry that made it. A view names the tensor whose storage it looks into."""

    name: str
    shape: Shape
    base: Tensor | None = None
    grad: Expr = ZERO  # whether training needs its gradient: 1, 0, or the share of a repeated layer's copies that do
    mask: Mask = "none"  # which query-key pairs it holds a needed number for, where it has one for each pair
    window: Expr | None = None  # and how far back these look
    whole: bool = False  # and whether a cache keeps every token nevertheless
    chunked: bool = False  # and whether the window is a chunk
    encoded: bool = False  # whether nothing that a decoder reads is in it: it is there before the first new token
    place: int | None = None  # of a piece of a split, which of them

    def view(self, shape: Shape, name: str = "") -> Tensor:
        """The same storage in another shape."""
        return Tensor(name or self.name, shape, self, self.grad, encoded=self.encoded)

    @property
    def width(self) -> Expr:
        """The last axis."""
        return self.shape[-1]


@dataclass(frozen=True)
class Weight:
    """A stored parameter, by its path as torch would name it."""

    path: str
    shape: Shape
    share: Expr = ONE  # of the copies that run, those that are stored: fewer where layers share their weights


@dataclass(frozen=True, eq=False)
class Entry:
    """One operation."""

    kind: Kind
    path: str  # "h.*.attn.c_attn": as torch names the module, * for a repeated layer
    inputs: tuple[Tensor, ...]
    output: Tensor
    weights: tuple[Weight, ...] = ()  # stored here
    shared: tuple[Weight, ...] = ()  # used here, stored by another entry
    function: str = ""  # which activation, norm, table or collective; a softmax's precision; a scale; a mix's layout
    mask: Mask = "none"  # which query-key pairs the attention needs
    window: Expr | None = None  # how many keys, its own among them, a query looks back on; None: all
    whole: bool = False  # whether a cache keeps every token nevertheless, and a new one is held against all of them
    chunked: bool = False  # whether the window is a chunk: no query sees a key of an earlier chunk of so many tokens
    chunk: Expr | None = None  # of a scan, how many tokens it takes at a time, by matrix products; None: one
    causal: bool = False  # of a convolution, whether it looks back only: a cache then stands for what it reads again
    latent: tuple[Tensor, ...] = ()  # what the keys and values of attention can be made from again, where they are
    skipped: Expr = ZERO  # of a table of positions, the rows that stand before the first token's
    held: bool = False  # of a lookup, whether the model holds its indices itself, and keeps no others
    capped: bool = False  # of scores or logits, whether they are drawn within bounds: c·tanh(x/c)
    adapter: bool = False  # whether it is a part of an adapter, and those alone are trained
    frozen: bool = False  # whether its weights are stored as such, and not trained
    fixed: bool = False  # and of these, whether they never are: sines that are stored among the weights
    # Whether it runs over all tokens in a cache, and not over the new ones only; of scores, whether their keys do.
    recalled: bool = False
    logits: bool = False  # whether its output is one number for each token of the vocabulary
    module: bool = False  # whether it is a module of its own in torch's print(model)
    measured: str = ""  # the one quantity that it was read off torch for; an operation answers every quantity
    share: Tensor | None = None  # of keys or values that came from all ranks, those that are this rank's own
    summed: Shape | None = None  # of a sum over ranks, what is left to this rank, and a bias is added to

    def __post_init__(self) -> None:
        if self.weights and self.kind not in (*STORING, Kind.OBSERVED):
            raise ShapeError(f"{self.path}: the operation {self.kind.value!r} stores no weights; see ledger.STORING")


class Part(Protocol):
    """Anything that can write itself into a ledger."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def shapes(self) -> str: ...

    def forward(self, ops: Operations, *inputs: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Mixture:
    """Layers of several kinds in one list."""

    path: str  # of what all of them have: "layers.*"
    total: Expr  # how many there are of all kinds
    order: Order = "any"


@dataclass(eq=False)
class Scope:
    """A part inside another, with the entries and parts it wrote, in order."""

    name: str
    part: Part
    count: Expr = ONE
    loop: tuple[Tensor, Tensor, Tensor] | None = (
        None  # of repeated layers: what goes in, what each reads, what it gives
    )
    handed: tuple[Tensor, ...] = ()  # what each of repeated layers reads beside its input
    distinct: Expr | None = None  # of repeated layers, how many have weights of their own; None: all
    mixture: Mixture | None = None  # that these layers are one kind of
    among: Expr | None = None  # of how many layers these are some, where only what is their own stands here
    items: list[Entry | Scope] = field(default_factory=list)

    @property
    def repeated(self) -> bool:
        return self.name.endswith("*")

    def walk(self) -> Iterator[Scope]:
        """This part and all parts below it, in order."""
        yield self
        for item in self.items:
            if isinstance(item, Scope):
                yield from item.walk()


class Ledger:
    """Everything a model computes, as a tree of scopes whose leaves are entries.

    What several kinds of layers have alike is one entry; ``apart`` has each kind by itself, one kind after another, for
    whoever follows tensors from entry to entry.
    """

    def __init__(
        self,
        root: Scope,
        output: Any,
        apart: Ledger | None = None,
        copies: Mapping[Entry, tuple[tuple[Expr, Entry], ...]] | None = None,
    ) -> None:
        for scope in root.walk():
            scope.items = FrozenList(scope.items)
        self.root = root
        self.output = output
        self.apart = apart or self
        self._copies = FrozenDict(copies or {})

    def copies(self, entry: Entry) -> tuple[tuple[Expr, Entry], ...]:
        """What an entry is where the kinds are apart: one entry, or one for each kind and its share of all layers."""
        return self._copies.get(entry, ((ONE, entry),))

    def __iter__(self) -> Iterator[tuple[Expr, Entry]]:
        """Each entry with the number of times it stands in the model."""
        return _walk(self.root, ONE)

    @cached_property
    def sizes(self) -> frozenset[Symbol]:
        """The symbols of its shapes."""
        return frozenset(sizes_of(self))

    @property
    def weights(self) -> list[tuple[Expr, Weight]]:
        """Each stored weight with its number of copies."""
        return [(count * weight.share, weight) for count, entry in self for weight in entry.weights]


def sizes_of(entries: Iterable[tuple[Expr, Entry]]) -> set[Symbol]:
    """The symbols of these entries' shapes, windows, chunks and numbers of copies."""
    found: set[Symbol] = set()
    for count, entry in entries:
        tensors: list[Tensor | Weight] = [entry.output, *entry.inputs, *entry.weights, *entry.shared]
        spans = [span for span in (entry.window, entry.chunk) if span is not None]
        for expr in (count, *spans, *(dim for each in tensors for dim in each.shape)):
            found |= expr.free_symbols
        for weight in entry.weights:
            found |= weight.share.free_symbols
    return found


def _walk(scope: Scope, count: Expr) -> Iterator[tuple[Expr, Entry]]:
    count = count * scope.count
    for item in scope.items:
        if isinstance(item, Scope):
            yield from _walk(item, count)
        else:
            yield count, item


def equal(left: Expr, right: Expr) -> bool:
    """Whether two sizes are the same expression."""
    return bool(left == right or cancel(left - right) == 0)
