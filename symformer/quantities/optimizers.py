"""The state that each optimizer keeps of a weight, as tensors with their bytes.

Implementations: torch 2.13 (``torch.optim``), bitsandbytes 0.50, transformers 5.23 (``Adafactor``), torchao 0.18
(``torchao.optim``) and galore-torch 1.0. Numbers that an implementation keeps as Python numbers are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sympy import Expr, Integer, Max, Min, Mul, ceiling, floor

from ..language.symbols import R
from ..ledger.facts import Entry, OperationKind, Weight
from .kernels.saves import SINGLE

BLOCK, SMALLEST = Integer(256), Integer(4096)  # elements per scale; elements of the smallest quantized weight
HALF_BLOCK = Integer(128)  # elements per scale of the 4-bit states of torchao
STEP = Integer(4)  # bytes of a counter or another float32 number that is kept once per weight
ONE, TWO = Integer(1), Integer(2)


@dataclass(frozen=True)
class UpdatedWeight:
    """A weight that an optimizer updates.

    Attributes
    ----------
    shape : tuple[Expr, ...]
        Its shape in torch.
    size : Expr
        The bytes of one element: 4 for float32 weights and float32 master weights.
    linear : bool
        Whether it is the matrix of a linear layer other than the LM head.

    """

    shape: tuple[Expr, ...]
    size: Expr = SINGLE
    linear: bool = False

    @property
    def elements(self) -> Expr:
        """The number of elements."""
        return Mul(*self.shape)


@dataclass(frozen=True)
class StateTensor:
    """One tensor of an optimizer's state; ``once`` if its size does not depend on the size of the weight."""

    name: str
    factors: tuple[Expr, ...]  # their product is the number of bytes
    once: bool = False


State = Callable[[UpdatedWeight], tuple[StateTensor, ...]]


@dataclass(frozen=True)
class Optimizer:
    """An optimizer.

    Attributes
    ----------
    meaning : str
        Its implementation and its state, in words.
    state : Callable[[UpdatedWeight], tuple[StateTensor, ...]]
        The tensors that it keeps of one weight.
    undivided : str
        Why ranks cannot each keep the state of their share of the elements; "" if they can.
    whole : str
        Why it supports neither adapters nor weights that are split over tensor-parallel ranks; "" if it does.

    """

    meaning: str
    state: State
    undivided: str = ""
    whole: str = ""


def updated(entry: Entry, weight: Weight, size: int) -> UpdatedWeight:
    """Return a weight of an operation as its optimizer sees it, given the bytes of one element."""
    linear = entry.kind is OperationKind.LINEAR and not entry.logits and len(weight.shape) == 2
    return UpdatedWeight(weight.shape, Integer(size), linear)


def like_weight(*names: str, once: tuple[str, ...] = ()) -> State:
    """Return the rule of tensors with the shape and dtype of the weight, and of numbers kept once per weight."""

    def state(weight: UpdatedWeight) -> tuple[StateTensor, ...]:
        tensors = (StateTensor(name, (*weight.shape, weight.size)) for name in names)
        return (*tensors, *(StateTensor(name, (STEP,), once=True) for name in once))

    return state


def in_single(*names: str, once: tuple[str, ...] = ()) -> State:
    """Return the rule of float32 tensors with the shape of the weight, and of numbers kept once per weight."""

    def state(weight: UpdatedWeight) -> tuple[StateTensor, ...]:
        tensors = (StateTensor(name, (*weight.shape, SINGLE)) for name in names)
        return (*tensors, *(StateTensor(name, (STEP,), once=True) for name in once))

    return state


def in_blocks(*names: str, once: tuple[str, ...] = ()) -> State:
    """Return the rule of tensors of 1 byte per element with a float32 scale per block; float32 for small weights.

    Dettmers et al. 2022, arXiv:2110.02861, as allocated by bitsandbytes >= 0.44 in ``init_state``; earlier versions
    use blocks of 2048. The step counter is not a tensor.
    """

    def state(weight: UpdatedWeight) -> tuple[StateTensor, ...]:
        elements = weight.elements
        large = Min(1, floor(elements / SMALLEST))  # 1 for a quantized weight, otherwise 0
        bytes_ = SINGLE * elements - large * (SINGLE * elements - elements - SINGLE * ceiling(elements / BLOCK))
        tensors = (StateTensor(name, (bytes_,)) for name in names)
        return (*tensors, *(StateTensor(name, (STEP,), once=True) for name in once))

    return state


def in_whole_blocks(block: Expr, codes: Expr, table: int) -> State:
    """Return the rule of Adam's moments in the formats of torchao.

    Parameters
    ----------
    block : Expr
        The elements per float32 scale. A moment is quantized if it consists of whole blocks and is not small.
    codes : Expr
        The bytes of one element.
    table : int
        The bytes of the table of values, which every moment has.

    """

    def state(weight: UpdatedWeight) -> tuple[StateTensor, ...]:
        elements = weight.elements
        fits = floor(block * floor(elements / block) / elements)  # 1 for whole blocks, otherwise 0
        quantized = Min(1, floor(elements / SMALLEST)) * fits
        plain = weight.size * elements
        moment = plain - quantized * (plain - codes * elements - SINGLE * elements / block - table)
        return (
            StateTensor("first moment", (moment,)),
            StateTensor("second moment", (moment,)),
            StateTensor("step", (STEP,), once=True),
        )

    return state


adam = like_weight("first moment", "second moment", once=("step",))


def adafactor(weight: UpdatedWeight) -> tuple[StateTensor, ...]:
    """Return one mean per row and per column of a matrix, or one per element otherwise, and the step counter."""
    return (*_means(weight.shape, weight.size), StateTensor("step", (STEP,), once=True))


def adafactor_of_transformers(weight: UpdatedWeight) -> tuple[StateTensor, ...]:
    """Return Adafactor's means in float32 and the root mean square of the weight; the step counter is no tensor."""
    return (*_means(weight.shape, SINGLE), StateTensor("root mean square", (STEP,), once=True))


def adafactor_with_moment(weight: UpdatedWeight) -> tuple[StateTensor, ...]:
    """Return the state of transformers' Adafactor and a first moment in float32."""
    return (StateTensor("first moment", (*weight.shape, SINGLE)), *adafactor_of_transformers(weight))


def muon(weight: UpdatedWeight) -> tuple[StateTensor, ...]:
    """Return one running mean of the gradient of a matrix; Adam's state of any other weight."""
    return like_weight("momentum")(weight) if weight.linear else adam(weight)


def galore_adam(weight: UpdatedWeight) -> tuple[StateTensor, ...]:
    """Return Adam's moments of the gradient projected to rank R, and the projector; the whole moments otherwise.

    Zhao et al. 2024, arXiv:2403.03507, as in ``GaLoreProjector`` with ``proj_type="std"``: the longer side of the
    matrix is kept, and there are at most as many singular vectors as elements on its shorter side.
    """
    if not weight.linear:
        return like_weight("first moment", "second moment")(weight)
    rows, columns = weight.shape
    rank = Min(R, rows, columns)
    return (
        StateTensor("first moment", (rank, Max(rows, columns), weight.size)),
        StateTensor("second moment", (rank, Max(rows, columns), weight.size)),
        StateTensor("projector", (rank, Min(rows, columns), weight.size)),
    )


def _means(shape: tuple[Expr, ...], size: Expr) -> tuple[StateTensor, ...]:
    if len(shape) < 2:
        return (StateTensor("second moment", (*shape, size)),)
    *before, rows, columns = shape
    return (StateTensor("row means", (*before, rows, size)), StateTensor("column means", (*before, columns, size)))


NUMBER_BYTES = "(4 bytes per number; 2 with recipe=pure-bf16)"
_WIDTH = f"the dtype of the updated weight {NUMBER_BYTES}"
_COUNTER = "a step counter of 4 bytes per weight tensor"
_CUT = "whether a shard of a weight is quantized, and in how many blocks, depends on how the weight is cut"
_MEANS = "the row and column means of a matrix cannot be sharded like its elements"
_NORM = "an update is scaled by the norm of a whole weight"
_BLOCKS = "1 byte per element with 4 bytes per block of 256 elements"
_SMALL = "weights below 4096 elements have 4 bytes per element instead"
_ONE_TABLE = "excludes a table of 1024 bytes that all weights share"
_TWO_TABLES = "excludes two tables of 1024 bytes that all weights share"
_PAGED = (
    "the states of weights of at least 100,000 elements are in managed memory, which is moved to the host when the "
    "device is full and is counted here"
)
_PLAIN = "weights below 4096 elements, or whose elements are not a multiple of"


def _torchao(format_: str, moment: str, block: int) -> str:
    return (
        f"{format_} of torchao: two moments of {moment}, and {_COUNTER}; {_PLAIN} {block}, have moments in {_WIDTH} "
        "instead"
    )


OPTIMIZERS: Mapping[str, Optimizer] = MappingProxyType(
    {
        "adam": Optimizer(f"Adam and AdamW of torch: two moments per element, each in {_WIDTH}, and {_COUNTER}", adam),
        "adam-8bit": Optimizer(
            f"Adam8bit and AdamW8bit of bitsandbytes, for every weight: two moments of {_BLOCKS}; {_SMALL}; "
            f"{_TWO_TABLES}",
            in_blocks("first moment", "second moment"),
            _CUT,
        ),
        "sgd": Optimizer("SGD without momentum: no state", like_weight()),
        "momentum": Optimizer(
            f"SGD of torch with momentum: one moment per element in {_WIDTH}", like_weight("momentum")
        ),
        "adafactor": Optimizer(
            "Adafactor of torch: one moment per row and per column of a matrix, or per element of any other weight, in "
            f"{_WIDTH}, and {_COUNTER}",
            adafactor,
            _MEANS,
        ),
        "adafactor-transformers": Optimizer(
            "Adafactor of transformers without beta1: one moment of 4 bytes per row and per column of a matrix, or per "
            "element of any other weight, and the root mean square of each weight, of 4 bytes",
            adafactor_of_transformers,
            _MEANS,
        ),
        "adafactor-beta1": Optimizer(
            "Adafactor of transformers with beta1: a first moment of 4 bytes per element, one second moment of 4 bytes "
            "per row and per column of a matrix, or per element of any other weight, and the root mean square of each "
            "weight, of 4 bytes",
            adafactor_with_moment,
            _MEANS,
        ),
        "amsgrad": Optimizer(
            "Adam and AdamW of torch with amsgrad=True: two moments and the largest second moment per element in "
            f"{_WIDTH}, and {_COUNTER}",
            like_weight("first moment", "second moment", "largest second moment", once=("step",)),
        ),
        "nadam": Optimizer(
            f"NAdam of torch: two moments per element, each in {_WIDTH}, and a step counter and a product of momentum "
            "factors of 4 bytes each per weight tensor",
            like_weight("first moment", "second moment", once=("step", "product of momentum factors")),
        ),
        "radam": Optimizer(f"RAdam of torch: two moments per element, each in {_WIDTH}, and {_COUNTER}", adam),
        "adamax": Optimizer(
            f"Adamax of torch: the first moment and the largest gradient per element in {_WIDTH}, and {_COUNTER}",
            like_weight("first moment", "largest gradient", once=("step",)),
        ),
        "adagrad": Optimizer(
            f"Adagrad of torch: the sum of squared gradients per element in {_WIDTH}, and {_COUNTER}",
            like_weight("sum of squares", once=("step",)),
        ),
        "adadelta": Optimizer(
            "Adadelta of torch: the means of the squared gradient and of the squared update per element in "
            f"{_WIDTH}, and {_COUNTER}",
            like_weight("second moment", "mean squared update", once=("step",)),
        ),
        "rmsprop": Optimizer(
            f"RMSprop of torch, neither centered nor with momentum: the second moment per element in {_WIDTH}, and "
            f"{_COUNTER}",
            like_weight("second moment", once=("step",)),
        ),
        "rmsprop-centered-momentum": Optimizer(
            "RMSprop of torch, centered and with momentum: the second moment, the first moment and the momentum per "
            f"element in {_WIDTH}, and {_COUNTER}",
            like_weight("second moment", "first moment", "momentum", once=("step",)),
        ),
        "asgd": Optimizer(
            f"ASGD of torch: the average of the weight per element in {_WIDTH}, and a step counter, a step size and an "
            "averaging factor of 4 bytes each per weight tensor",
            like_weight("average", once=("step", "step size", "averaging factor")),
        ),
        "rprop": Optimizer(
            f"Rprop of torch: the previous gradient and the step size per element in {_WIDTH}, and {_COUNTER}",
            like_weight("previous gradient", "step size", once=("step",)),
        ),
        "muon": Optimizer(
            f"Muon of torch for the matrices of linear layers except the LM head: one moment per element in {_WIDTH}; "
            f"AdamW for embeddings, the LM head, vectors and any other weight: two moments per element in the same "
            f"dtype, and {_COUNTER}",
            muon,
            "an update of Muon needs the whole matrix",
        ),
        "lion": Optimizer("Lion of bitsandbytes: one moment of 4 bytes per element", in_single("first moment")),
        "ademamix": Optimizer(
            "AdEMAMix of bitsandbytes: two first moments and a second moment of 4 bytes per element",
            in_single("fast first moment", "slow first moment", "second moment"),
        ),
        "lamb": Optimizer(
            "LAMB of bitsandbytes: two moments of 4 bytes per element, and the norm of the update, of 4 bytes per "
            "weight",
            in_single("first moment", "second moment", once=("norm",)),
            _NORM,
        ),
        "lars": Optimizer(
            "LARS of bitsandbytes: one moment of 4 bytes per element, and the norm of the update, of 4 bytes per "
            "weight",
            in_single("momentum", once=("norm",)),
            _NORM,
        ),
        "momentum-8bit": Optimizer(
            f"SGD8bit of bitsandbytes with momentum, for every weight: one moment of {_BLOCKS}; {_SMALL}; {_ONE_TABLE}",
            in_blocks("momentum"),
            _CUT,
        ),
        "lion-8bit": Optimizer(
            f"Lion8bit of bitsandbytes, for every weight: one moment of {_BLOCKS}; {_SMALL}; {_ONE_TABLE}",
            in_blocks("first moment"),
            _CUT,
        ),
        "rmsprop-8bit": Optimizer(
            f"RMSprop8bit of bitsandbytes, for every weight: the second moment of {_BLOCKS}; {_SMALL}; {_ONE_TABLE}",
            in_blocks("second moment"),
            _CUT,
        ),
        "adagrad-8bit": Optimizer(
            f"Adagrad8bit of bitsandbytes, for every weight: the sum of squared gradients of {_BLOCKS}; {_SMALL}; "
            f"{_ONE_TABLE}",
            in_blocks("sum of squares"),
            _CUT,
        ),
        "ademamix-8bit": Optimizer(
            f"AdEMAMix8bit of bitsandbytes, for every weight: two first moments and a second moment of {_BLOCKS}; "
            f"{_SMALL}; {_TWO_TABLES}",
            in_blocks("fast first moment", "slow first moment", "second moment"),
            _CUT,
        ),
        "lamb-8bit": Optimizer(
            f"LAMB8bit of bitsandbytes, for every weight: two moments of {_BLOCKS}, and the norm of the update, of 4 "
            f"bytes per weight tensor; {_SMALL}; {_TWO_TABLES}",
            in_blocks("first moment", "second moment", once=("norm",)),
            _CUT,
        ),
        "lars-8bit": Optimizer(
            f"LARS8bit of bitsandbytes, for every weight: one moment of {_BLOCKS}, and the norm of the update, of 4 "
            f"bytes per weight tensor; {_SMALL}; {_ONE_TABLE}",
            in_blocks("momentum", once=("norm",)),
            _CUT,
        ),
        "paged-adam": Optimizer(
            f"PagedAdam and PagedAdamW of bitsandbytes: two moments of 4 bytes per element; {_PAGED}",
            in_single("first moment", "second moment"),
        ),
        "paged-adam-8bit": Optimizer(
            f"PagedAdam8bit and PagedAdamW8bit of bitsandbytes, for every weight: two moments of {_BLOCKS}; {_SMALL}; "
            f"{_TWO_TABLES}; {_PAGED}",
            in_blocks("first moment", "second moment"),
            _CUT,
        ),
        "paged-lion": Optimizer(
            f"PagedLion of bitsandbytes: one moment of 4 bytes per element; {_PAGED}", in_single("first moment")
        ),
        "paged-lion-8bit": Optimizer(
            f"PagedLion8bit of bitsandbytes, for every weight: one moment of {_BLOCKS}; {_SMALL}; {_ONE_TABLE}; "
            f"{_PAGED}",
            in_blocks("first moment"),
            _CUT,
        ),
        "paged-ademamix": Optimizer(
            f"PagedAdEMAMix of bitsandbytes: two first moments and a second moment of 4 bytes per element; {_PAGED}",
            in_single("fast first moment", "slow first moment", "second moment"),
        ),
        "paged-ademamix-8bit": Optimizer(
            f"PagedAdEMAMix8bit of bitsandbytes, for every weight: two first moments and a second moment of {_BLOCKS}; "
            f"{_SMALL}; {_TWO_TABLES}; {_PAGED}",
            in_blocks("fast first moment", "slow first moment", "second moment"),
            _CUT,
        ),
        "torchao-adam-8bit": Optimizer(
            _torchao("Adam8bit and AdamW8bit", f"{_BLOCKS} and a table of 1024 bytes", 256),
            in_whole_blocks(BLOCK, ONE, 1024),
            _CUT,
        ),
        "torchao-adam-4bit": Optimizer(
            _torchao(
                "Adam4bit and AdamW4bit",
                "half a byte per element with 4 bytes per block of 128 elements and a table of 64 bytes",
                128,
            ),
            in_whole_blocks(HALF_BLOCK, ONE / TWO, 64),
            _CUT,
        ),
        "torchao-adam-fp8": Optimizer(
            _torchao("AdamFp8 and AdamWFp8", _BLOCKS, 256), in_whole_blocks(BLOCK, ONE, 0), _CUT
        ),
        "galore-adam": Optimizer(
            "GaLore's AdamW for the matrices of linear layers except the LM head: two moments of R elements per "
            "element of the longer side of the matrix, and a projector of R elements per element of the shorter side "
            f"(or of that side's length where R exceeds it), in {_WIDTH}; two moments per element of any other weight; "
            "excludes the other singular vectors, which galore-torch keeps allocated in float32",
            galore_adam,
            "the projected moments cannot be sharded like the elements of the weight",
            "GaLore is supported for whole matrices that are trained themselves",
        ),
    }
)
