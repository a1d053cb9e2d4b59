"""The data types of the ledger: one entry per operation of a model, with symbolic shapes and no formulas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sympy import Expr, Integer, Symbol, cancel

from ..language.errors import ShapeError
from ..language.frozen import FrozenDict, FrozenList
from ..language.shape_lines import Shape

if TYPE_CHECKING:
    from .operations import Operations

Mask = Literal["none", "causal"]
# What is scaled by 1 / sqrt(head dimension), or by a number that the model defines instead. Scores of distances are
# scaled together with the token scores they are added to.
# Scores of rows or columns are products of queries with a table of the distances along that axis of an image.
Scale = Literal["scores", "queries", "none", "number", "distances", "rows", "columns"]
Factor = Literal["", "root", "over root"]  # the factor of a tensor: a number, sqrt(width) or 1 / sqrt(width)
Table = Literal["tokens", "layers", "positions", "segments", "distances", "classes"]  # the meaning of a table's rows
Order = Literal["kind by kind", "first", "any"]  # of layers of several kinds; "first" fixes only the first layer
HALF_ROTARY = "rotary_half"  # a rotary table without the second half of each row, which repeats the first
COMPLEX_ROTARY = "rotary_complex"  # a rotary table of complex numbers, one for each pair of elements
REPEATED_ROTARY = "rotary_repeated"  # a rotary table that each layer copies, with every angle twice in a row
REPEATED_SINGLE_ROTARY = "rotary_repeated_single"  # the same, in float32 for every dtype of the model
SEQUENCE_ROTARY = "rotary_by_sequence"  # a rotary table for each sequence
INTERLEAVED_ROTARY = "rotary_interleaved"  # the same, with a time, a height and a width as the positions of a token
ROTARY = (
    "rotary",
    "rotary_single",
    SEQUENCE_ROTARY,
    INTERLEAVED_ROTARY,
    HALF_ROTARY,
    COMPLEX_ROTARY,
    REPEATED_ROTARY,
    REPEATED_SINGLE_ROTARY,
)  # rotary tables, in the model's dtype or, if single, in float32
SHIFTED_SOFTMAX = "shifted"  # a softmax from whose input the maximum of each row is subtracted first
INDEXED = "indexed"  # a selection of a different position in each sequence: a copy, not a view
REST = "rest"  # a selection of every position but the first
SHIFTED = "shifted"  # a selection of the previous position for each position
ENDS = ("first", "last")  # a selection of the first or the last positions
EARLIER = "earlier"  # a selection of the output of an earlier layer instead of the last
LISTED = "listed"  # a selection of the output of each of the layers that a list names
PLACED = "placed"  # a selection of the tokens that stand for images
RESAMPLED = "resampled"  # a combination of neighbouring rows of a table, weighted by their distance
POOLED = "pooled"  # a combination of positions: the mean of each square of neighbouring patches
SUMMED = "summed"  # a combination of the elements of each row: their sum
STREAM = "stream"  # a selection of one of several residual streams
OTHER_STREAMS = "other streams"  # a selection of all residual streams but the first
JOINED_STREAMS = "joined streams"  # a join of a residual stream and further ones
MAGNITUDE = "magnitude"  # a combination of the elements of each row: the root of their mean square
SUBTRACTED = "subtracted"  # an addition of the negative of the other tensor
AVERAGED = "averaged"  # a combination of residual streams: their mean
SHARED_SUM = "shared_sum"  # the name of the sum of the outputs of routed and of shared experts
SCATTERED = "scattered"  # a join in which tokens of the second tensor replace tokens of the first
WINDOWS = "windows"  # a join of the square windows of an image, filled up with zeros
UNWINDOWED = "from windows"  # a join of the tokens of an image, given those of its windows
WEIGHT_NORM = ("weight_v", "weight_g")  # a matrix for each position of a kernel, which is normalized, and its lengths
GATHERED = ("by query", "by key")  # a selection of the column of the distance of each query and key
BY_ROW = "by row"  # a delta rule whose decay differs between the rows of a state
GENERAL = "general"  # a delta rule with different keys for the value that it replaces and for the new value
RESCALED = "rescaled"  # a product with trained magnitudes, over the norms of the rows of the matrix and its update
INTERPOLATED = "interpolated"  # an addition of a share of the difference to another tensor
STREAMS = "streams"  # an operation on the residual streams of each token
COPIES = "copies"  # a join of equal copies of a tensor
ROW = "row"  # a join of all rows of a token, such as residual streams
BACK = "back"  # a rotation by the negative angles
OVERLAPPING = "overlapping"  # a compression whose entries also contain the tokens before their own
COMPRESSED = "compressed"  # a sum with the scores of the compressed keys only
BY_HEAD = "by head"  # a choice of keys whose sums over heads are elementwise, not a matrix product
GROUPED = "grouped"  # a linear layer with a matrix of its own for each group of elements
FIRST_VALUES = "first_values"  # the name of an input: the values of the first layer
EARLIER_INPUTS = "earlier inputs"  # a causal convolution whose state lacks the current input
REUSED_KEYS, REUSED_VALUES = "reused_keys", "reused_values"  # names of inputs: the keys and values of an earlier layer
GAUSSIAN_TOP_K = "gaussian_top_k"  # a norm: the excess of each element over a threshold of its row, or 0
STATE = "state"  # a tensor of a traced cache that is neither keys nor values
ZERO, ONE = Integer(0), Integer(1)
# Elementwise functions without weights, by their names in transformers.
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


class OperationKind(StrEnum):
    """The closed set of operations. Every quantity has one rule for each."""

    LOOKUP = "lookup"  # rows of a table, chosen by index
    LINEAR = "linear"  # x · Wᵀ + b
    CONVOLUTION = "convolution"  # a kernel that slides over the positions
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
    JOIN = "join"  # concatenation of two tensors along the last axis or along the sequence
    SELECT = "select"  # one position of each sequence, or one column for each query and key
    ROUTE = "route"  # the top-k experts of each token, with their weights
    EXPERTS = "experts"  # x · Wᵀ, with one matrix per chosen expert
    COMBINE = "combine"  # the sum of the outputs of the chosen experts, usually weighted; or the mean of positions
    MATCH = "match"  # the product of each row of one tensor with each row of another
    SCAN = "scan"  # a recurrent state: it decays, is updated with each token, and is read
    DELTA_RULE = "delta rule"  # the same, but each update replaces the value that the state has for the token's key
    RECURRENCE = "recurrence"  # a recurrent state of one number per channel, with learned gates
    CHOOSE = "choose"  # the keys that each query attends to, chosen by weighted sums of scores over heads
    COMPRESS = "compress"  # one entry for each group of tokens: their sum, weighted by a softmax over the group
    PRODUCT = "product"  # x · y of two computed tensors in a trace, with unknown purpose
    PARAMETER = "parameter"  # a weight stored by itself, used by other operations
    MOVE = "move"  # communication between ranks: no computation
    OBSERVED = "observed"  # traced from torch and not recognized: counts only for the quantity it was traced for


# Families of kinds; every kind except OBSERVED is in one. A table can give one rule to a whole family. A new kind joins
# a family and needs its own row only if its rule differs.
STORING = (
    OperationKind.LOOKUP,
    OperationKind.LINEAR,
    OperationKind.CONVOLUTION,
    OperationKind.NORM,
    OperationKind.EXPERTS,
    OperationKind.PARAMETER,
)  # have weights
MULTIPLYING = (
    OperationKind.LINEAR,
    OperationKind.CONVOLUTION,
)  # multiply their whole input by a stored matrix; vectors are biases
ATTENDING = (OperationKind.SCORES, OperationKind.MIX)  # read keys or values of earlier tokens
POINTWISE = (
    OperationKind.SOFTMAX,
    OperationKind.ACTIVATION,
    OperationKind.MULTIPLY,
    OperationKind.ADD,
    OperationKind.ROTATE,
)  # compute each element by itself
ARRANGING = (
    OperationKind.DROPOUT,
    OperationKind.POSITIONS,
    OperationKind.JOIN,
    OperationKind.SELECT,
    OperationKind.MOVE,
)  # compute nothing that is counted
ROUTING = (OperationKind.ROUTE, OperationKind.COMBINE)  # choose experts and weight their outputs
CARRYING = (OperationKind.SCAN, OperationKind.DELTA_RULE, OperationKind.RECURRENCE)  # carry a recurrent state
COMPRESSING = (OperationKind.COMPRESS,)  # replace each group of tokens by one entry
MATRICES = "matrices"  # the function of a product with a stored table of matrices (not attention)
MATCHING = (
    OperationKind.MATCH,
    OperationKind.CHOOSE,
    OperationKind.PRODUCT,
)  # multiply two computed tensors outside attention
UNRECOGNIZED = (OperationKind.OBSERVED, OperationKind.PRODUCT)  # counted in a trace, with unknown purpose
WEIGHTLESS = (*ATTENDING, *POINTWISE, *ARRANGING, *ROUTING, *CARRYING, *COMPRESSING, *MATCHING)


@dataclass(frozen=True, eq=False)
class Tensor:
    """An activation: its shape and its gradient. A view refers to the tensor whose storage it shares."""

    name: str
    shape: Shape
    base: Tensor | None = None
    grad: Expr = ZERO  # whether training needs its gradient: 1, 0, or the share of repeated layers that need it
    mask: Mask = "none"  # the mask of a tensor with one element per query-key pair
    window: Expr | None = None  # the window of such a tensor
    whole: bool = False  # whether the cache stores every token despite the window
    chunked: bool = False  # whether the window is a chunk
    chosen: Expr | None = None  # the number of keys that are chosen for each query of such a tensor
    compressed: Expr | None = None  # the number of tokens for each of the compressed keys of such a tensor
    encoded: bool = False  # whether it depends only on an encoder's input, so it exists before the first new token
    place: int | None = None  # the index of a piece of a split

    def view(self, shape: Shape, name: str = "") -> Tensor:
        """Return a view of the same storage with another shape."""
        return Tensor(name or self.name, shape, self, self.grad, encoded=self.encoded)

    @property
    def root(self) -> Tensor:
        """The tensor that owns the storage of this view, or this tensor if it is not a view."""
        return self if self.base is None else self.base.root

    @property
    def width(self) -> Expr:
        """The last axis."""
        return self.shape[-1]


@dataclass(frozen=True)
class Weight:
    """A stored weight, named by its torch path."""

    path: str
    shape: Shape
    share: Expr = ONE  # the ratio of stored to executed copies: less than 1 if layers share their weights


@dataclass(frozen=True, eq=False)
class Entry:
    """One operation of a model."""

    kind: OperationKind
    path: str  # "h.*.attn.c_attn": the torch path of the module, with * for a repeated layer
    inputs: tuple[Tensor, ...]
    output: Tensor
    weights: tuple[Weight, ...] = ()  # stored here
    shared: tuple[Weight, ...] = ()  # used here, stored by another entry
    function: str = ""  # the activation, norm, table, collective, softmax dtype, scale or layout of a mix
    mask: Mask = "none"  # the query-key pairs that the attention needs
    # The number of tokens whose keys a query sees, including its own; None: all. 0: only compressed keys.
    window: Expr | None = None
    whole: bool = False  # whether the cache stores every token despite the window, and a new token reads all of them
    chunked: bool = False  # whether the window is a chunk: no query sees a key of an earlier chunk of that length
    # The number of keys that are chosen for each query, or all that it sees if these are fewer; None: all. As in
    # transformers, the cache stores every token, and the products of a new token with all of them are computed.
    chosen: Expr | None = None
    # The number of tokens of each compressed entry. Attention has a key for each entry after the keys of tokens, and a
    # query sees those whose tokens it or earlier tokens complete; ``chosen`` then counts these only.
    compressed: Expr | None = None
    keyed: bool = False  # mix: whether the values are the keys, which the cache contains once
    detached: bool = False  # whether it runs without gradients, although its weights may be trained separately
    # Scan or delta rule: the number of tokens processed at once by matrix products; None: one.
    chunk: Expr | None = None
    groups: Expr = ONE  # norm: the number of groups of a row that are normalized separately
    # Norm, activation, product or sum: whether the class keeps its result in float32, even in half precision.
    float32: bool = False
    causal: bool = False  # convolution: whether it reads earlier positions only, so they can be cached
    latent: tuple[Tensor, ...] = ()  # attention: the latents from which the keys and values can be recomputed
    # Table of positions: the number of rows before the first token's row. Earlier layer: the number of layers after it.
    skipped: Expr = ZERO
    held: bool = False  # lookup: whether the model stores the indices itself
    capped: bool = False  # scores or logits: whether they are soft-capped, c·tanh(x/c)
    adapter: bool = False  # whether it is part of an adapter; then only adapters are trained
    frozen: bool = False  # whether its weights are not trained
    fixed: bool = False  # whether its weights are never trained, such as stored sinusoidal positions
    # Whether it runs over all cached tokens rather than the new ones; for scores, whether their keys do.
    recalled: bool = False
    logits: bool = False  # whether its output has one number per token of the vocabulary
    module: bool = False  # whether it is a separate module in torch's print(model), or a stored parameter
    used: Expr = ONE  # the share of its copies whose results reach the output; the others get no gradient
    reused: bool = False  # attention: whether the keys and values are those that an earlier layer computes and caches
    blocks: bool = False  # attention: whether tokens of an image or of a prompt also attend to its later tokens
    measured: str = ""  # the only quantity it was traced for; "" for an operation, which counts for every quantity
    share: Tensor | None = None  # keys or values gathered from all ranks: this rank's shard
    summed: Shape | None = None  # linear layer with a sum over ranks: the shape of this rank's result, before the bias

    @property
    def is_parameter(self) -> bool:
        """Whether it is a stored parameter itself, or applies parameters that are not in a module of their own."""
        return any(weight.path == self.path for weight in self.weights)

    def __post_init__(self) -> None:
        if self.weights and self.kind not in (*STORING, OperationKind.OBSERVED):
            raise ShapeError(f"{self.path}: the operation {self.kind.value!r} cannot store weights; see ledger.STORING")


class Part(Protocol):
    """A component whose ``forward`` records its operations in a ledger."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def shapes(self) -> str: ...

    def forward(self, ops: Operations, *inputs: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Mixture:
    """A list of layers of several kinds."""

    path: str  # the path of their shared operations: "language_model.layers.*"
    name: str  # the same inside the part that has the layers: "layers.*"
    total: Expr  # the number of layers of all kinds
    order: Order = "any"

    @property
    def above(self) -> str:
        """Return the path of the part that has the layers."""
        return self.path.removesuffix(self.name).rstrip(".")


@dataclass(eq=False)
class Scope:
    """A part inside another, with its entries and inner parts in order."""

    name: str
    part: Part
    count: Expr = ONE
    loop: tuple[Tensor, Tensor, Tensor] | None = (
        None  # repeated layers: their input, the input of each layer, and its output
    )
    handed: tuple[Tensor, ...] = ()  # further inputs of each repeated layer
    # Whether its copies are side by side rather than in sequence. Inside repeated layers, the count is the share of the
    # layers that have the part.
    parallel: bool = False
    distinct: Expr | None = None  # the number of repeated layers with their own weights; None: all
    mixture: Mixture | None = None  # the mixture of layers that these are one kind of
    among: Expr | None = None  # the number of layers of all kinds, if this scope is one of several of a list
    label: str = ""  # its name in ids, if its path does not distinguish it from others
    listed: str = ""  # the path of the list in the class, if these are its layers of one kind
    counted: Expr | None = None  # the count in terms of other sizes, if it is a letter of its own
    items: list[Entry | Scope] = field(default_factory=list)

    @property
    def repeated(self) -> bool:
        return self.name.endswith("*")

    def walk(self) -> Iterator[Scope]:
        """Yield this part and all parts below it, in order."""
        yield self
        for item in self.items:
            if isinstance(item, Scope):
                yield from item.walk()


class Ledger:
    """All operations of a model, as a tree of scopes whose leaves are entries.

    An operation that several layer kinds share is one entry. In ``apart`` the kinds are separate and follow one
    another, so tensors can be followed from entry to entry.
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
        """Return the entries of ``apart`` that an entry represents, each with its share of all layers."""
        return self._copies.get(entry, ((ONE, entry),))

    def __iter__(self) -> Iterator[tuple[Expr, Entry]]:
        """Yield each entry with its number of copies in the model."""
        return _walk(self.root, ONE)

    @cached_property
    def sizes(self) -> frozenset[Symbol]:
        """The symbols of the ledger's shapes."""
        return frozenset(sizes_of(self))

    @property
    def weights(self) -> list[tuple[Expr, Weight]]:
        """Each stored weight with its number of copies."""
        return [(count * weight.share, weight) for count, entry in self for weight in entry.weights]


def sizes_of(entries: Iterable[tuple[Expr, Entry]]) -> set[Symbol]:
    """Return the symbols in the shapes, windows, chunks and numbers of copies of entries.

    Parameters
    ----------
    entries : Iterable[tuple[Expr, Entry]]
        Entries with their number of copies.

    """
    found: set[Symbol] = set()
    for count, entry in entries:
        tensors: list[Tensor | Weight] = [entry.output, *entry.inputs, *entry.weights, *entry.shared]
        spans = [each for each in (entry.window, entry.chunk, entry.chosen, entry.compressed) if each is not None]
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
    """Return True if two sizes are the same expression."""
    return bool(left == right or cancel(left - right) == 0)
