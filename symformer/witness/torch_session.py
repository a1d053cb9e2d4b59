"""A model at one point, and its named rows according to torch: stored, multiplied, saved, cached.

Sessions build and run every model on the meta device or with fake CPU tensors, so size costs nothing. They also run
silently: the output and logs of traced code are not part of an answer.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cached_property
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..language.errors import WitnessError
from .dispatch_recorders import (
    Counter,
    FakeOutputCache,
    FlopCounter,
    OutputCache,
    Products,
    Rows,
    SavedStorages,
    UnmaskedMode,
)
from .value_reads import has_values

KEPT = ("keys", "values")  # the names of cached tensors with a place for each token
Run = Callable[[nn.Module], Any]  # calls a model and returns its output


class ExitError(Exception):
    """Traced code tried to end its process."""


class Session:
    """One model at one point. It is built once per device and dtype, and may run there any number of times."""

    def __init__(self, build: Callable[[], nn.Module]) -> None:
        self._build = build
        self._models: dict[tuple[str, torch.dtype], nn.Module] = {}

    @cached_property
    def fake(self) -> FakeTensorMode:
        """Return the mode of the fake tensors. Most sessions need none, and it takes longer than a small model."""
        return FakeTensorMode()

    def model(self, device: str = "meta", dtype: torch.dtype = torch.float32) -> nn.Module:
        """Return the model on a device: meta, cpu, or fake, which is a CPU without memory."""
        key = (device, dtype)
        if key not in self._models:
            with self._on(device), _dtype(dtype):
                self._models[key] = built(self._build, "meta" if device == "meta" else "cpu")
        return self._models[key]

    def stored(self) -> Rows:
        """Return the shape of every unique parameter, by its path."""
        named = self.model().named_parameters(remove_duplicate=True)
        return {name: tuple(map(int, parameter.shape)) for name, parameter in named}

    def products(self, run: Run, *, backward: bool = False, train: bool = False) -> Products:
        """Return every matrix product of a run, with or without a backward pass, by the module it ran in."""
        seen = Products(self.model())
        self.run(run, seen, backward=backward, train=train)
        return seen

    def flops(self, run: Run, *modes: Any, **how: Any) -> FlopCounter:
        """Return torch's own counter after a run; other modes may observe the same run."""
        counter = FlopCounter()
        self.run(run, *(modes or [OutputCache()]), counter, **how)
        return counter

    def operations(self, run: Run) -> int:
        """Return the number of operations in a run. If it grows with a length, the code loops over the tokens."""
        counter = Counter()
        self.run(run, counter)
        return counter.times

    def run(
        self,
        run: Run,
        *modes: Any,
        grad: bool = False,
        backward: bool = False,
        train: bool = False,
        prepare: Callable[[nn.Module], object] = lambda model: None,
    ) -> Any:
        """Return the output of a run on meta, observed by ``modes``, with or without a backward pass."""
        grad = grad or backward
        model = self.model().train(train)
        trainable(model, grad)
        prepare(model)
        # Torch silently counts nothing for fused attention kernels, so the plain one is used.
        plain = sdpa_kernel(SDPBackend.MATH)
        with silence(), torch.device("meta"), plain, torch.set_grad_enabled(grad), ExitStack() as entered:
            for mode in modes:
                entered.enter_context(mode)
            output = run(model)
            if backward:
                torch.autograd.backward([each.sum() for each in differentiable_outputs(output)])
        return output

    def kept(
        self,
        run: Run,
        *,
        device: str = "fake",
        dtype: torch.dtype = torch.float32,
        train: bool = False,
        within: Callable[[nn.Module, SavedStorages], AbstractContextManager[Any]] = lambda model, seen: _unmasked(),
    ) -> SavedStorages:
        """Return what autograd saves in a forward pass, excluding weights: each storage at its first use.

        Tensors are fake unless real memory is requested. On meta, a layer norm saves other tensors.
        """
        model = self.model(device, dtype).train(train)
        seen = SavedStorages(model)
        with silence(), self._on(device), within(model, seen), seen, seen.saved_hooks():
            output = run(model)
            seen.settle()
        if output is None:
            raise WitnessError(f"{type(model).__name__} returns nothing: nothing was counted")
        return seen

    def cached(self, run: Run) -> Rows:
        """Return the shape of every tensor of the cache that a model fills and returns."""
        output = self.run(run, OutputCache())
        return {
            row: tuple(tensor.shape) for row, tensor in tensors_of(getattr(output, "past_key_values", None)).items()
        }

    @contextmanager
    def _on(self, device: str) -> Iterator[None]:
        with ExitStack() as entered:
            if device == "fake":
                entered.enter_context(self.fake)
                entered.enter_context(FakeOutputCache(self.fake))
            yield


def _unmasked() -> AbstractContextManager[Any]:
    return UnmaskedMode()  # type: ignore[no-untyped-call]


def built(build: Callable[[], nn.Module], device: str = "meta") -> nn.Module:
    """Build a model silently on a device, without initializing its weights."""
    with ExitStack() as entered:
        for each in (
            silence(),
            torch.device(device),
            torch.no_grad(),
            _without_initialisation(),
            _without_generation(),
        ):
            entered.enter_context(each)
        entered.enter_context(_without_old_constructors())
        if device == "meta":
            entered.enter_context(OutputCache(masks=False))
        model = build()
        if hasattr(model, "tie_weights"):
            cast(Any, model).tie_weights()  # on meta, the weights are not tied yet
    if device == "meta" and not all(parameter.is_meta for parameter in model.parameters()):
        model.to("meta")  # torch.Tensor(size) ignores the device
    for parameter in model.parameters():
        if not parameter.requires_grad:
            cast(Any, parameter).untrained = True
    return model


def trainable(model: nn.Module, wanted: bool = True) -> None:
    """Enable or disable the gradients of all weights except those that the class itself freezes."""
    for parameter in model.parameters():
        parameter.requires_grad_(wanted and not hasattr(parameter, "untrained"))


def differentiable_outputs(output: Any) -> list[Tensor]:
    """Return the tensors to differentiate: the logits if there are any, otherwise the first output."""
    if isinstance(output, Tensor):
        return [output]
    names = ("logits", "prediction_logits", "seq_relationship_logits", "pooler_output")
    return [each for name in names if isinstance(each := getattr(output, name, None), Tensor)] or [output[0]]


def tensors_of(cache: Any) -> dict[str, Tensor]:
    """Return every floating-point tensor of a cache, layer by layer; values that are the keys are not repeated."""
    found: dict[str, Tensor] = {}
    for stack, each in _stacks(cache):
        for place, layer in enumerate(each.layers):
            own: dict[int, tuple[str, Tensor]] = {}
            for name, tensor in _named(layer):
                if isinstance(tensor, Tensor) and tensor.is_floating_point() and tensor.numel():
                    own.setdefault(id(tensor), (f"{stack}layers.{place}.{name}", tensor))
            found |= dict(own.values())
    return found


def is_state(row: str) -> bool:
    """Return True if a row of a cache is neither keys nor values, by its name in the layer."""
    return row.rpartition(".")[2] not in KEPT


def _named(layer: Any) -> Iterator[tuple[str, Any]]:
    """Yield the named attributes of a cache layer; several states of one name are numbered."""
    for name, value in vars(layer).items():
        if isinstance(value, dict):
            yield from ((f"{name}_{number}", each) for number, each in value.items())
        else:
            yield name, value


def _stacks(cache: Any) -> list[tuple[str, Any]]:
    if cache is None:
        raise WitnessError("the model returns no cache")
    if hasattr(cache, "cross_attention_cache"):
        return [("self.", cache.self_attention_cache), ("cross.", cache.cross_attention_cache)]
    return [("", cache)]


class NullStream(io.TextIOBase):
    """A stream that discards everything. It stays open, because traced code may keep a reference to it."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Discard the text and return its length."""
        return len(text)

    def writable(self) -> bool:
        return True


NOWHERE = NullStream()


def _drop(logger: logging.Logger, record: logging.LogRecord) -> None:
    """Discard a log record."""


@contextmanager
def silence() -> Iterator[None]:
    """Suppress everything that other code prints, warns or logs, and restore the previous state afterwards.

    Both Python's streams and their file descriptors are redirected, because a logger may hold an old stream and C++
    uses only descriptors. The code also cannot read our standard input or end this process.
    """
    if sys.stdout is NOWHERE:
        yield
        return
    streams, files = (sys.stdout, sys.stderr), list[tuple[int, int]]()
    disabled, log = logging.root.manager.disable, logging.Logger.callHandlers
    nowhere = os.open(os.devnull, os.O_RDWR)
    with warnings.catch_warnings(), _contained():
        try:
            _flush(*streams)
            for number in (0, 1, 2):
                with suppress(OSError):  # closed, so there is nothing to redirect
                    files.append((os.dup(number), number))
                    os.dup2(nowhere, number)
            sys.stdout = sys.stderr = NOWHERE
            cast(Any, logging.Logger).callHandlers = _drop  # logging.disable would visit every logger
            warnings.simplefilter("ignore")
            yield
        finally:
            _flush(*streams)
            for copy, number in files:
                os.dup2(copy, number)
                os.close(copy)
            sys.stdout, sys.stderr = streams
            cast(Any, logging.Logger).callHandlers = log
            if logging.root.manager.disable != disabled:
                logging.disable(disabled)
            os.close(nowhere)


@contextmanager
def _contained() -> Iterator[None]:
    """Raise ExitError in code that tries to end or replace this process."""
    before: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in ("_exit", "execv", "execve")}
    here = os.getpid()

    def refusing(name: str) -> Callable[..., Any]:
        def refuse(*given: Any) -> Any:
            if os.getpid() != here:  # a child process of the code may end itself
                return before[name](*given)
            raise ExitError(f"the code ends the process with os.{name}")

        return refuse

    for name in before:
        setattr(os, name, refusing(name))
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(os, name, function)


def _flush(*streams: Any) -> None:
    for stream in streams:
        with suppress(Exception):  # missing, closed, or a custom stream of the caller
            stream.flush()


@contextmanager
def _dtype(dtype: torch.dtype) -> Iterator[None]:
    """Create weights in this precision: fake tensors cannot be cast afterwards."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class _FloatTensor:
    """A replacement for the legacy constructor, which ignores devices and always allocates real memory."""

    def __new__(cls, *given: Any) -> Any:
        data = len(given) == 1 and not isinstance(given[0], (int, torch.Size))
        return torch.as_tensor(given[0], dtype=torch.float32) if data else torch.empty(*given)


@contextmanager
def _without_old_constructors() -> Iterator[None]:
    before, torch.FloatTensor = torch.FloatTensor, _FloatTensor  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        torch.FloatTensor = before  # type: ignore[misc]


def _filling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that fills a tensor only if the code being built may read its values."""
    return lambda tensor, *args, **kwargs: function(tensor, *args, **kwargs) if has_values() else tensor


@contextmanager
def _without_initialisation() -> Iterator[None]:
    """Skip the random initialization of weights, which takes most of the time on meta and has no effect."""
    fillers = {name: getattr(nn.init, name) for name in dir(nn.init) if name.endswith("_") and not name.startswith("_")}
    theirs: dict[str, Any] = getattr(sys.modules.get("transformers.initialization"), "TORCH_INIT_FUNCTIONS", {})
    before = dict(theirs)  # transformers copied these functions when it was imported
    for name, function in fillers.items():
        setattr(nn.init, name, _filling(function))
    for name, function in before.items():
        theirs[name] = _filling(function)
    uniform = Tensor.uniform_  # which wav2vec 2.0 calls on a mask token
    Tensor.uniform_ = _filling(uniform)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Tensor.uniform_ = uniform  # type: ignore[method-assign]
        for name, function in fillers.items():
            setattr(nn.init, name, function)
        theirs.update(before)


@contextmanager
def _without_generation() -> Iterator[None]:
    """Skip the generation config, of which a model of transformers makes several copies."""
    model: Any = getattr(sys.modules.get("transformers.modeling_utils"), "PreTrainedModel", None)
    before = model and vars(model)["can_generate"]
    if model:
        model.can_generate = classmethod(lambda cls: False)
    try:
        yield
    finally:
        if model:
            model.can_generate = before
