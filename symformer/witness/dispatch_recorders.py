"""Observation of a running model: which module runs, which matrix products torch dispatches, which tensors are saved.

Products are observed below autograd, as the operations that torch actually dispatches, forward and backward.
"""

from __future__ import annotations

import sys
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, _FlopCounterMode, flop_registry

from ..language.errors import WitnessError
from .fake_shapes import FakeShapes, Shapes

Rows = dict[str, tuple[int, ...]]
Factors = tuple[int, ...]
Site = tuple[tuple[CodeType, int], ...]  # functions and the position reached in each
aten = torch.ops.aten
SHAPES, FAKES = Shapes(), FakeShapes()


class RunningModule:
    """The module of a model that is currently running."""

    def __init__(self, model: nn.Module) -> None:
        self.modules = dict(model.named_modules())  # kept, so that no id is reused by a module created later
        self.names = {id(module): name for name, module in reversed(self.modules.items())}
        self.open = [""]
        self.ran = {""}  # modules whose forward was called; of others at most the weights were read

    def __enter__(self) -> Any:
        self.hooks = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for hook in self.hooks:
            hook.remove()

    def _enter(self, module: nn.Module, inputs: object) -> None:
        self.open.append(self.names.get(id(module), self.open[-1]))
        self.ran.add(self.now)

    def _leave(self, module: nn.Module, inputs: object, output: object) -> None:
        self.open.pop()

    @property
    def now(self) -> str:
        """The path of the module."""
        return self.open[-1]


class ShapeTally:
    """The number of occurrences of each shape, by module path and call site."""

    def __init__(self) -> None:
        self.times: dict[str, dict[Site, dict[Factors, int]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(int))
        )

    def add(self, module: str, name: str, factors: Factors, site: Site = ()) -> None:
        """Count one occurrence."""
        self.times[f"{module}.{name}" if module else name][site][factors] += 1

    @property
    def rows(self) -> Rows:
        """One row for each shape at a path and call site: the number of occurrences, and the shape."""
        return {name: (self.times[path][site][factors], *factors) for name, path, site, factors in self.named}

    @property
    def named(self) -> Iterator[tuple[str, str, Site, Factors]]:
        """The name of each row and its count."""
        for path, sites in self.times.items():
            for number, (site, each) in enumerate(sites.items(), 1):
                for other, factors in enumerate(each, 1):
                    name = path + f"-{number}" * (number > 1 or other > 1) + f"-{other}" * (other > 1)
                    yield name, path, site, factors


def _site() -> Site:
    """Return the call site of an operation: the code positions from the innermost out to the module's forward."""
    frame: FrameType | None = sys._getframe(1)
    found = []
    while frame is not None and frame.f_code.co_name != "_call_impl":
        found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


class SavedTensor:
    """A reference of the graph to a saved tensor. It lives as long as the graph."""

    def __init__(self, tensor: Tensor | None) -> None:
        self.tensor = tensor


class SavedStorages(RunningModule):
    """Every storage that autograd saves, by the module in which it is first saved."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        weights = (*model.parameters(), *model.buffers())
        self.weights = {parameter.untyped_storage()._cdata for parameter in weights}
        self.tally = ShapeTally()
        # This keeps the storages, so that none is freed and its address reused. The tensors would keep the graph, which
        # refers to these hooks, and nothing would ever be freed.
        self.held: dict[int, torch.UntypedStorage] = {}
        self._found: dict[int, tuple[str, Factors]] = {}  # by storage: the module and the shape when it is first saved
        # By storage, the references of the graph; None for a tensor that a checkpoint keeps.
        self._references: dict[int, list[weakref.ref[SavedTensor] | None]] = defaultdict(list)

    def saved_hooks(self, backward: bool = False) -> saved_tensors_hooks:
        """Return hooks that record each tensor that autograd saves.

        An operation that saves its own output and the output refer to each other. Only a backward pass would release
        both, so without one the hooks save nothing.
        """

        def pack(tensor: Tensor) -> SavedTensor:
            saved = SavedTensor(tensor if backward else None)
            self._keep(tensor, weakref.ref(saved))
            return saved

        return saved_tensors_hooks(pack, lambda saved: saved.tensor)

    def keep(self, tensor: Tensor) -> None:
        """Record a tensor that a checkpoint keeps."""
        self._keep(tensor, None)

    def _keep(self, tensor: Tensor, reference: weakref.ref[SavedTensor] | None) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata in self.weights:
            return
        self._references[storage._cdata].append(reference)
        if storage._cdata not in self.held:
            self.held[storage._cdata] = storage
            whole = tensor.numel() * tensor.element_size() == storage.nbytes()
            factors = (*tensor.shape, tensor.element_size()) if whole else (storage.nbytes(),)
            self._found[storage._cdata] = self.now, tuple(map(int, factors))

    def settle(self, freed: bool = False) -> None:
        """Count the tensors that the graph of the output still has, or with ``freed`` all of them.

        Torch frees the others during the forward pass: the output does not depend on their operations, such as the
        scores by which a router chooses groups of experts.
        """
        for key, (module, factors) in self._found.items():
            if freed or any(each is None or each() is not None for each in self._references[key]):
                self.tally.add(module, "kept", factors)
        self._found = {}


@contextmanager
def record_saved(model: nn.Module, backward: bool = False) -> Iterator[SavedStorages]:
    """Record what autograd saves during a run of the model, with or without a backward pass."""
    seen = SavedStorages(model)
    with seen, seen.saved_hooks(backward):
        yield seen
    seen.settle(freed=True)  # of a graph that is gone


class UnmaskedMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode in which every boolean tensor reads as True: no token is padding, so nothing is masked."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: nothing here is compiled, and skipping the compiler costs as much as an operation itself."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is aten._local_scalar_dense.default and args[0].dtype is torch.bool:
            return True
        return func(*args, **(kwargs or {}))


class OutputCache(UnmaskedMode):  # type: ignore[no-untyped-call]
    """A cache of the outputs that torch computes. Modes that observe a run must be above it to see every operation.

    Code that is only built has no mask: with ``masks`` false, reading a value raises.
    """

    def __init__(self, masks: bool = True) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.masks = masks

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is aten._local_scalar_dense.default:
            if not self.masks:
                return func(*args, **(kwargs or {}))
            return super().__torch_dispatch__(func, types, args, kwargs)
        return SHAPES.call(func, args, kwargs)


class FakeOutputCache(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The same for the fake tensors of a mode, which must be active below."""

    def __init__(self, mode: FakeTensorMode) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.fake = mode

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.prim.device.default:
            return args[0].fake_device
        FAKES.mode = self.fake
        return FAKES.call(func, args, kwargs)


class Counter(OutputCache):
    """The number of operations dispatched while this mode is active."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.times = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.times += 1
        return super().__torch_dispatch__(func, types, args, kwargs)


class FlopCounter(FlopCounterMode):
    """Torch's own FLOP counter, for the whole model.

    Torch's mode tests every call of an operation for exceptions and for a decomposition, which takes as long as the
    operation itself. The answer depends only on the operation, so this counter keeps it.
    """

    def __init__(self) -> None:
        super().__init__(display=False, custom_mapping=dict(FORMULAS))
        self.mod_tracker = WholeModelCounter()  # type: ignore[assignment]

    def __enter__(self) -> FlopCounter:
        self.flop_counts.clear()
        self.mode = FlopMode(self)
        self.mode.__enter__()  # type: ignore[no-untyped-call]
        return self


class WholeModelCounter(nullcontext[None]):
    """A module tracker for torch's counter that counts only in the model as a whole."""

    parents = frozenset(["Global"])


class FlopMode(_FlopCounterMode):  # type: ignore[no-untyped-call]
    """Torch's mode, with a short cut for operations that it neither decomposes nor treats as an exception."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in _PLAIN:
            _PLAIN[func] = _is_plain(func)
        if not _PLAIN[func]:
            return super().__torch_dispatch__(func, types, args, kwargs)  # type: ignore[no-untyped-call]
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        return self.counter._count_flops(func._overloadpacket, out, args, kwargs)  # type: ignore[no-untyped-call]


_PLAIN: dict[Any, bool] = {}  # for each operation, whether torch's mode only calls and counts it


def _is_plain(func: Any) -> bool:
    if not isinstance(func, torch._ops.OpOverload) or func._can_decompose():
        return False
    returned = func._schema.returns  # the exceptions of torch's mode return a size, a stride or the like
    return bool(returned) and all("Tensor" in str(each.type) for each in returned)


class Products(OutputCache):
    """Every matrix product dispatched while this mode is active, by the module that ran it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.where, self.forward, self.backward = RunningModule(model), ShapeTally(), ShapeTally()
        self.now = self.forward  # the tally of the current pass
        self.flops = 0  # by the formulas of torch's own counter
        # torch's sequence number of an operation's gradient -> the module it ran in and its call site
        self.makers: dict[int, tuple[str, Site]] = {}

    def __enter__(self) -> Any:
        self.where.__enter__()
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: Any) -> None:
        self.where.__exit__()
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        packet = func.overloadpacket
        if packet in UNCOUNTED:
            raise WitnessError(f"{packet} multiplies and sums, but torch's FLOP counter does not count it")
        if packet is aten._local_scalar_dense:
            return super().__torch_dispatch__(func, types, args, kwargs)
        out = SHAPES.call(func, args, kwargs)
        if packet in flop_registry:
            self.flops += FORMULAS.get(packet, flop_registry[packet])(*args, **(kwargs or {}), out_val=out)
        if packet in FACTORS or packet in DIFFERENTIATED:
            node = torch._C._current_autograd_node()
            if node is None:
                module, site = self.makers[torch._C._autograd._get_sequence_nr() - 1] = self.where.now, _site()
            else:
                module, site = self.makers.get(node._sequence_nr(), ("", ()))
            self.now, ending = (self.forward, "") if node is None else (self.backward, "_backward")
            for factors in FACTORS[packet](args, out) if packet in FACTORS else ():
                self.saw(module, str(packet).removeprefix("aten.") + ending, factors, site, args, out)
        return out

    def saw(self, module: str, name: str, factors: Factors, site: Site, args: Any, out: Any) -> None:
        """Record one product with its inputs and its output."""
        self.now.add(module, name, factors, site)

    @property
    def rows(self) -> Rows:
        """The rows of both passes."""
        return {**self.forward.rows, **self.backward.rows}


def _convolution(x: Tensor, weight: Tensor, out: Tensor, transposed: bool) -> Factors:
    return (x.shape[0], *(x if transposed else out).shape[2:], *weight.shape)


def _convolution_backward(args: Any, out: Any) -> list[Factors]:
    """Return the factors of each gradient of a convolution, which has as many as the convolution itself."""
    gradient, x, weight, transposed = args[0], args[1], args[2], args[7]
    return [_convolution(x, weight, gradient, transposed) for side in out[:2] if side is not None]


def _grouped(*args: Any, out_val: Any = None, **facts: Any) -> int:
    """Return the FLOPs of a convolution's gradients, from torch's formula for one group.

    For several groups, torch multiplies every input channel with every output channel for the gradient of the weight.
    That is too large by the number of groups: each group is a convolution of its own channels.
    """
    counted: int = flop_registry[aten.convolution_backward](*args, **facts, out_val=out_val)
    groups, weighed = args[9], args[10][1]
    if groups == 1 or not weighed:
        return counted
    mask = [args[10][0], False, args[10][2]]
    alone: int = flop_registry[aten.convolution_backward](*args[:10], mask, **facts, out_val=out_val)
    return alone + (counted - alone) // int(groups)


_grouped._get_raw = True  # type: ignore[attr-defined]  # makes FlopCounterMode pass tensors, as to its own formulas
# Operations without counted products whose gradients contain some: a triangular system.
DIFFERENTIATED = (aten.linalg_solve_triangular,)
# Operations that torch's counter overcounts, each with the formula to use instead.
CORRECTED: Mapping[Any, Callable[..., int]] = {aten.convolution_backward: _grouped}


def _remembered(formula: Callable[..., int]) -> Callable[..., int]:
    """Return one of torch's formulas for a product of matrices, which computes each combination of shapes once."""
    known: dict[Any, int] = {}

    def flops(*args: Any, **facts: Any) -> int:
        shapes = tuple(each.shape if isinstance(each, Tensor) else None for each in args)
        if shapes not in known:
            known[shapes] = formula(*args, **facts)
        return known[shapes]

    flops._get_raw = True  # type: ignore[attr-defined]
    return flops


# The formulas that replace the ones in torch's counter.
FORMULAS: Mapping[Any, Callable[..., int]] = {
    **CORRECTED,
    **{packet: _remembered(flop_registry[packet]) for packet in (aten.mm, aten.addmm, aten.bmm, aten.baddbmm)},
}
# The sizes that each operation multiplies: the sizes of its output and of the sum. Two FLOPs per product.
FACTORS: Mapping[Any, Callable[[Any, Any], list[Factors]]] = {
    aten.mm: lambda args, out: [(*args[0].shape, args[1].shape[1])],
    aten.addmm: lambda args, out: [(*args[1].shape, args[2].shape[1])],
    aten.bmm: lambda args, out: [(*args[0].shape, args[1].shape[2])],
    aten.baddbmm: lambda args, out: [(*args[1].shape, args[2].shape[2])],
    aten._grouped_mm: lambda args, out: [(*args[0].shape, args[1].shape[2])],
    aten.convolution: lambda args, out: [_convolution(args[0], args[1], out, args[6])],
    aten.convolution_backward: _convolution_backward,
}
# Products that torch's counter silently ignores, so that it could not check a formula with them.
UNCOUNTED = frozenset(
    (
        aten.mv,
        aten.addmv,
        aten.dot,
        aten.vdot,
        aten.addbmm,
        aten._int_mm,
        aten._euclidean_dist,
        aten._trilinear,
        aten._cdist_forward,
    )
) - {*flop_registry}
