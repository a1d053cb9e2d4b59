"""The role of each product and each weight of a run, determined from the tensors it reads and never from names.

A product with a stored matrix is a linear layer; two products with a softmax in between are attention. Tensors are
tracked through the operations: which are views of a weight, which derive from scores, and how many elements they had
before they were repeated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.utils._python_dispatch import _disable_current_modes

from ..ledger.facts import Mask
from .dispatch_recorders import Factors, Products, Site

aten = torch.ops.aten
Key = tuple[str, Site, Factors]  # identifies a product, as in a tally


@dataclass(frozen=True)
class LinearProduct:
    """A product with a stored matrix, [out, in] or [in, out], and the bias added in the same operation."""

    weight: str
    out_first: bool
    bias: str = ""


@dataclass(frozen=True)
class ExpertProduct:
    """A product of every token with every matrix of a stored table, [X, in, out]."""

    weight: str


@dataclass(frozen=True)
class SelectedProduct:
    """A product with matrices selected from a stored table, [X, out, in] or [X, in, out]."""

    weight: str
    out_first: bool


@dataclass(frozen=True)
class Scores:
    """Queries times keys, recognized by the softmax that follows. Keys are repeated for the heads that share them."""

    keys: int  # number of elements before repetition


@dataclass(frozen=True)
class WeightedValues:
    """Attention weights times values."""

    scores: Key
    values: int  # number of elements before repetition
    last: bool  # True if the weights are the right factor


@dataclass(frozen=True)
class ConvolutionProduct:
    """A convolution with a stored matrix."""

    weight: str
    bias: str
    alone: bool  # depthwise: every channel has its own window
    before: bool  # padded like a causal one: the outputs after the last token are dropped
    stride: tuple[int, ...]  # 0 if it equals the window


Role = LinearProduct | ExpertProduct | SelectedProduct | Scores | WeightedValues | ConvolutionProduct


@dataclass(frozen=True)
class Pattern:
    """The pairs of queries and keys with a weight, as a mask with or without a window or chunks."""

    mask: Mask
    window: int = 0  # keys that the last query sees, without a mask as many on its other side; 0 for all
    chunk: int = 0  # tokens per chunk, in which each query sees the keys up to its own; 0 without chunks


@dataclass(frozen=True)
class TableLookup:
    """A lookup of rows in a table."""

    module: str  # the module that ran it
    shape: tuple[int, ...]  # shape of the index
    by: str  # what the index is; "" if the run has no values
    first: int  # the smallest index


@dataclass
class Origin:
    """The known facts about a tensor."""

    tensor: Tensor  # kept, so that its id is not reused
    elements: int  # number of elements before repetition
    weight: str = ""  # the weight whose elements it contains, and no others
    chosen: str = ""  # the weight whose rows tokens selected
    scores: frozenset[Key] = frozenset()  # the products of activations it derives from
    softmax: bool = False


# Operations whose output contains only elements of their first input, possibly repeated.
SAME = frozenset(
    (
        *(aten.view, aten._unsafe_view, aten.reshape, aten.unsqueeze, aten.squeeze, aten.expand, aten.repeat),
        *(aten.clone, aten._to_copy, aten.alias, aten.detach, aten.permute, aten.transpose, aten.t, aten.contiguous),
        *(aten.lift_fresh, aten.copy_, aten.repeat_interleave),
    )
)
MET = frozenset((aten.add, aten.add_, aten.mul, aten.sub))
SOFTMAXES = frozenset((aten._softmax, aten._safe_softmax))
PRODUCTS = frozenset((aten.mm, aten.addmm, aten.bmm, aten.baddbmm))


class Roles(Products):  # type: ignore[no-untyped-call]
    """Every product of a run with its role, and the use of the weights that no product reads."""

    def __init__(self, model: nn.Module, inputs: Mapping[str, Tensor]) -> None:
        super().__init__(model)
        self.stored = dict(model.named_parameters(remove_duplicate=True))
        self.weights = {each.untyped_storage()._cdata: (name, each) for name, each in self.stored.items()}
        head = getattr(model, "get_output_embeddings", lambda: None)()
        self.heads = {name for name, module in model.named_modules() if module is head and head is not None}
        self.inputs = inputs  # the model's inputs, by what they index
        self.origins: dict[int, Origin] = {}
        self.roles: dict[Key, set[Role | None]] = defaultdict(set)
        self.lookups: dict[str, list[TableLookup]] = defaultdict(list)  # by weight, in order
        self.norms: dict[str, set[str]] = defaultdict(set)  # by module with only vectors, the norm it computes
        self.normed: dict[str, Counter[tuple[int, ...]]] = defaultdict(Counter)  # and the shapes of its inputs
        self.order: dict[str, int] = {}  # the order in which weights were first read and products ran
        self.patterns: dict[Key, set[Pattern | None]] = defaultdict(set)
        self.distinct: dict[Key, set[int]] = defaultdict(set)  # distinct rows multiplied with selected matrices
        self.read: dict[Key, set[tuple[int, ...]]] = defaultdict(set)  # input shapes of a convolution
        self.picked: dict[str, set[tuple[int, ...]]] = defaultdict(set)  # rows of each weight that tokens selected
        self.met: set[str] = set()  # weights that an elementwise operation read directly
        self.keys_of: dict[Key, int] = {}  # for each product of activations, the elements of its right factor

    def __enter__(self) -> Any:
        self.hook = register_module_forward_hook(self._ran)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        self.hook.remove()
        super().__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = super().__torch_dispatch__(func, types, args, kwargs)
        packet = func.overloadpacket
        if packet is aten.embedding and (weight := self._origin(args[0]).weight):
            self.lookups[weight].append(TableLookup(self.where.now, tuple(args[1].shape), *self._index(args[1])))
        for each in _tensors((out,)) if packet not in PRODUCTS else ():
            self._follow(packet, args, each)
        return out

    # -- tensors -------------------------------------------------------------------------------------------------

    def _origin(self, tensor: Tensor) -> Origin:
        if id(tensor) not in self.origins:
            owner = self.weights.get(tensor.untyped_storage()._cdata)
            whole = owner is not None and owner[1].numel() == tensor.numel()
            self.origins[id(tensor)] = Origin(tensor, tensor.numel(), owner[0] if owner and whole else "")
            if owner:
                self.order.setdefault(owner[0], len(self.order))
        return self.origins[id(tensor)]

    def _follow(self, packet: Any, args: Any, out: Tensor) -> None:
        """Record the origin of the output of an operation other than a product."""
        inputs = [self._origin(each) for each in _tensors(args)]
        found = Origin(out, out.numel())
        if packet in SAME and inputs:
            first = inputs[-1] if packet is aten.copy_ else inputs[0]
            found = Origin(out, min(first.elements, out.numel()), first.weight, first.chosen)
        elif packet in (aten.index, aten.index_select) and inputs and inputs[0].weight:
            found.chosen = inputs[0].weight
            if "expert" in inputs[0].weight:
                self.picked[inputs[0].weight].add(tuple(out.shape))
        elif packet in MET:
            self.met.update(each.weight for each in inputs if each.weight)
        elif packet is aten.cat:
            found.elements = sum(each.elements for each in inputs)
        made = [each for each in inputs if each.scores]
        if made:
            found.scores = frozenset().union(*(each.scores for each in made))
            found.softmax = packet in SOFTMAXES or any(each.softmax for each in made)
        self.origins[id(out)] = found

    # -- products ------------------------------------------------------------------------------------------------

    def saw(self, module: str, name: str, factors: Factors, site: Site, args: Any, out: Any) -> None:
        """Record a product and its role, if known."""
        super().saw(module, name, factors, site, args, out)
        key = (f"{module}.{name}" if module else name, site, factors)
        if not isinstance(out, Tensor):
            return
        self.order.setdefault(key[0], len(self.order))
        made = Origin(out, out.numel())
        if name == "convolution":
            self.roles[key].add(self._slid(args))
            self.read[key].add(tuple(args[0].shape))
            self.origins[id(out)] = made
            return
        added = name in ("addmm", "baddbmm")
        left, right = (self._origin(each) for each in args[1 if added else 0 :][:2])
        bias = self._origin(args[0]) if added else None
        role: Role | None = None
        if left.weight or left.chosen or right.weight or right.chosen:
            stored = left if left.weight or left.chosen else right
            plain = stored.tensor.stride(-1) == 1  # as the right factor it is [in, out]
            role = self._with(stored, bias, plain if stored is left else not plain)
            read = (right if stored is left else left).tensor
            if isinstance(role, SelectedProduct) and not read.is_meta:
                with _disable_current_modes():
                    self.distinct[key].add(len(torch.unique(read.reshape(read.shape[0], -1), dim=0)))
        elif {*left.scores, *right.scores}:
            of, other = (left, right) if left.softmax else (right, left)
            if of.softmax and len(of.scores) == 1 and not other.scores:
                (scores,) = of.scores
                role = WeightedValues(scores, other.elements, of is right)
                self.roles[scores].add(Scores(self.keys_of.get(scores, 0)))
                self.patterns[scores].add(_pattern(of.tensor, of is right))
        else:
            made.scores = frozenset([key])
            self.keys_of[key] = right.elements
        if role is not None or key not in self.keys_of:
            self.roles[key].add(role)
        self.origins[id(out)] = made

    def _slid(self, args: Any) -> Role | None:
        """Return the role of a convolution with a stored matrix, or None if it is transposed."""
        x, weight, bias, stride, padding, dilation, transposed, _, groups = args
        held = self._origin(weight).weight
        added = self._origin(bias).weight if bias is not None else ""
        alone = groups == x.shape[1] == weight.shape[0]
        if transposed or not held or (bias is not None and not added):
            return None
        back = alone and len(padding) == 1 and (*stride, *dilation) == (1, 1) and padding[0] == weight.shape[2] - 1
        steps = zip(stride, weight.shape[2:], strict=True)
        return ConvolutionProduct(
            held, added, alone, back, tuple(0 if step == window > 1 else step for step, window in steps)
        )

    def _with(self, stored: Origin, bias: Origin | None, out_first: bool) -> Role | None:
        """Return the role of a product with a stored matrix or with matrices selected from a stored table."""
        if stored.chosen:
            return SelectedProduct(stored.chosen, out_first) if bias is None else None
        if self.stored[stored.weight].dim() == 3:
            return ExpertProduct(stored.weight)
        if self.stored[stored.weight].dim() != 2 or (bias is not None and not bias.weight):
            return None
        return LinearProduct(stored.weight, out_first, bias.weight if bias else "")

    # -- facts that need values -----------------------------------------------------------------------------------

    def _index(self, index: Tensor) -> tuple[str, int]:
        """Return what an index is (a model input, consecutive positions or distances of positions) and its minimum."""
        if index.is_meta or not index.numel():
            return "", 0
        with _disable_current_modes():
            first = int(index.min())
            for name, given in self.inputs.items():
                if given.shape == index.shape and torch.equal(given, index):
                    return name, first
            steps = index.diff(dim=-1) if index.dim() else index
            if steps.numel() and bool((steps == 1).all()):
                return "positions", first
            square = index.dim() > 1 and index.shape[-1] == index.shape[-2] > 1
            along = square and torch.equal(index[..., 1:, 1:], index[..., :-1, :-1])
            return "distances" if along and bool((index != first).any()) else "others", first

    def _ran(self, module: nn.Module, inputs: Any, output: Any) -> None:
        """Record the norm that a module with only vectors computes."""
        given = next(iter(inputs), None)
        own = list(module.parameters())
        if not own or any(each.dim() != 1 for each in own) or not isinstance(given, Tensor):
            return
        self.normed[self.where.names.get(id(module), "")][tuple(given.shape)] += 1
        if given.is_meta:
            return
        with _disable_current_modes():
            same = isinstance(output, Tensor) and output.shape == given.shape and given.shape[-1:] == own[0].shape
            self.norms[self.where.names.get(id(module), "")].add(_norm(module, given, output, own) if same else "")


def _norm(module: nn.Module, x: Tensor, y: Tensor, own: Sequence[Tensor]) -> str:
    """Return the norm that computes y from x with these weights, or "" if there is none."""
    said = [value for value in vars(module).values() if isinstance(value, float) and 0 < value < 1e-2]
    x, y = x.float(), y.float()
    centred = x - x.mean(-1, keepdim=True)
    for eps in (*said, *EPSILONS):
        for name, each in (("layer", centred), ("rms", x)):
            unit = each * torch.rsqrt(each.square().mean(-1, keepdim=True) + eps)
            offset = [(f"{name}_offset", unit * (1 + own[0]))] if len(own) == 1 else []
            plain = [(name, unit * own[0] + (own[1] if len(own) > 1 else 0))] if len(own) < 3 else []
            for said_so, one in (*plain, *offset):
                if torch.allclose(one, y, rtol=1e-4, atol=1e-5):
                    return said_so
    return ""


EPSILONS = (1e-5, 1e-6, 1e-8, 1e-12)


def _pattern(weights: Tensor, turned: bool) -> Pattern | None:
    """Return the mask and window of computed attention weights, or None if they have another form."""
    if weights.is_meta:
        return None
    with _disable_current_modes():
        seen = (weights.transpose(-1, -2) if turned else weights) != 0
        queries, keys = seen.shape[-2:]
        if bool(seen.all()):
            return Pattern("none")
        if queries % keys:
            return None
        heads = queries // keys  # heads that share their keys may be folded into the queries
        folded = seen.reshape(-1, heads, keys, keys), seen.reshape(-1, keys, heads, keys).transpose(1, 2)
        whole = torch.ones(keys, keys, dtype=torch.bool)
        for each in folded:
            last = int(each[0, 0, -1].sum())
            band = whole.triu(1 - last)  # at most this many keys back
            if bool((each == band.tril()).all()):
                return Pattern("causal", last if last < keys else 0)
            if bool((each == band.tril(last - 1)).all()):
                return Pattern("none", last)
            place = torch.arange(keys)
            for chunk in range(2, keys):
                together = place[:, None] // chunk == place // chunk
                if bool((each == together.tril()).all()):
                    return Pattern("causal", chunk=chunk)
        return None


def _tensors(args: Any) -> list[Tensor]:
    """Return every tensor among the arguments of an operation, in order."""
    found: list[Tensor] = []
    for each in args:
        if isinstance(each, Tensor):
            found.append(each)
        elif isinstance(each, (list, tuple)):
            found += _tensors(each)
    return found
