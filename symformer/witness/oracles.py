"""What torch itself says of a model that runs: FLOPs by its own counter, and the bytes of its own cache.

Everything runs on the meta device or with fake tensors, so sizes cost nothing. Each oracle asserts that it counted
what it is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import torch
from sympy import Symbol
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
from torch.utils.flop_counter import FlopCounterMode

from ..architectures.base import Architecture
from ..errors import WitnessError
from ..ledger import Kind
from ..shapes import shape_line
from ..sizes import evaluate
from ..symbols import B, C, N_new, S, V_type
from .calling import unpadded
from .measure import build
from .running import ends

Numbers = Mapping[Symbol, int]
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Oracle:
    """What settles one quantity: the conventions under which torch counts, and the count."""

    count: Callable[..., int]  # of an architecture and its numbers, and of what a further way says
    by: str  # what counts, in words
    conventions: Mapping[str, str]
    ways: tuple[Mapping[str, str], ...] = ()  # further conventions, settled for the first variant of an architecture
    once: bool = False  # whether it is slow, and settled for the first variant of an architecture only
    cached: bool = False  # whether it needs a class that keeps a cache
    needs: Kind | None = None  # an operation without which there is nothing to settle
    library: str = ""  # whether it counts what this library's code does, and no other's


def forward_flops(component: Architecture, numbers: Numbers) -> int:
    """One forward pass."""
    model = build(component, numbers).eval()
    return _counted(component, lambda: _run(component, model, numbers), torch.no_grad())


def train_flops(
    component: Architecture,
    numbers: Numbers,
    recompute: str = "none",
    early_stop: bool = False,
    prepare: Callable[[nn.Module], object] = lambda model: None,
) -> int:
    """One forward and one backward pass, a part of the forward computed again by torch's checkpoint if asked for.

    Torch stops computing again, unless told otherwise, once it has every tensor that the backward pass reads: early.
    """
    model = build(component, numbers).train().requires_grad_(True)
    prepare(model)
    core: AbstractContextManager[Any] = nullcontext()
    if recompute == "full":
        enable: Any = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)
        enable({"use_reentrant": False})
        # Transformers then asks for a gradient of the embeddings' output, which only the reentrant checkpoint needs.
        undo: Any = model.disable_input_require_grads
        undo()
    elif recompute == "selective":
        core = _checkpointed_attention(model)
    with set_checkpoint_early_stop(early_stop), core:
        return _counted(component, lambda: _backward(_run(component, model, numbers)), nullcontext())


@contextmanager
def _checkpointed_attention(model: nn.Module) -> Iterator[None]:
    """The attention that transformers writes out, behind a checkpoint of its own."""
    module: Any = import_module(type(model).__module__)
    plain, calls = module.eager_attention_forward, []

    def attention(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return checkpoint(plain, *args, use_reentrant=False, **kwargs)

    module.eager_attention_forward = attention
    try:
        yield
    finally:
        module.eager_attention_forward = plain
    if not calls:
        raise WitnessError(f"{type(model).__name__} ran no attention of its module: nothing was checkpointed")


def prefill_flops(component: Architecture, numbers: Numbers) -> int:
    """A prompt of S tokens, its keys and values kept."""
    model = build(component, numbers).eval()
    return _counted(component, lambda: _run(component, model, numbers, cache=_cache(component, model)), torch.no_grad())


def decode_flops(component: Architecture, numbers: Numbers) -> int:
    """One token after C that are in the cache."""
    model, cache = _filled(component, numbers)
    one = {**numbers, S: 1}
    return _counted(component, lambda: _run(component, model, one, cache=cache), torch.no_grad())


def generation_flops(component: Architecture, numbers: Numbers) -> int:
    """A prompt of S tokens, then a pass for each new token but the first, which the prompt's logits give."""
    model = build(component, numbers).eval()
    cache = _cache(component, model)

    def generate() -> None:
        _run(component, model, numbers, cache=cache, last=True)
        for _ in range(numbers[N_new] - 1):
            _run(component, model, {**numbers, S: 1}, cache=cache)

    flops = _counted(component, generate, torch.no_grad())
    held = {layer.keys.shape[2] for layer in cache.layers}
    if held != {numbers[S] + numbers[N_new] - 1}:
        raise WitnessError(f"the cache of {component.name} holds {held} tokens after generating: it was not used")
    return flops


def activation_bytes(
    component: Architecture,
    numbers: Numbers,
    implementation: str = "eager",
    dropout: str = "off",
    recompute: str = "none",
    dtype: str = "fp32",
    fake: bool = True,
) -> int:
    """The bytes of every storage that a forward pass keeps for the backward pass, weights left out.

    On the CPU, and fake unless real memory is asked for: a fake tensor goes where a real one would, and has no memory.
    The meta device will not do: there a layer norm keeps single precision, and a model cannot make its own mask.
    """
    with FakeTensorMode() if fake else nullcontext(), unpadded():
        with _dtype(_DTYPES[dtype]):
            model = build(component, numbers, "cpu").train().requires_grad_(True)
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.1 if dropout == "on" else 0.0
        weights = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
        kept: dict[int, Tensor] = {}  # holds the tensors too, so that no storage is freed and its place used again

        def keep(tensor: Tensor) -> Tensor:
            kept.setdefault(tensor.untyped_storage()._cdata, tensor)
            return tensor

        with _recomputing(model, recompute, keep), saved_tensors_hooks(keep, lambda tensor: tensor):
            output = _run(component, model, numbers, implementation=implementation, masked=False)
        total = sum(tensor.untyped_storage().nbytes() for storage, tensor in kept.items() if storage not in weights)
    if not total or output is None:
        raise WitnessError(f"{component.name} keeps nothing for the backward pass: nothing was counted")
    return total


@contextmanager
def _dtype(dtype: torch.dtype) -> Iterator[None]:
    """Weights that are made here have this precision: fake ones cannot be cast afterwards."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def _recomputing(model: Any, recompute: str, keep: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Torch's checkpoint around every layer, as transformers puts it, or around every attention function.

    What a checkpoint is given it holds, positional or by keyword; the hooks see only the first of these.
    """
    from transformers import modeling_utils

    interface: Any = modeling_utils.AttentionInterface
    times = 0

    def checkpointed(function: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal times
        times += 1
        given = [*args, *kwargs.values(), *(function.keywords.values() if isinstance(function, partial) else ())]
        for value in given:
            for tensor in value if isinstance(value, tuple) else (value,):
                if isinstance(tensor, Tensor):
                    keep(tensor)
        return checkpoint(function, *args, use_reentrant=False, **kwargs)

    find = interface.get_interface
    if recompute == "full":
        model._set_gradient_checkpointing(gradient_checkpointing_func=checkpointed)
    elif recompute == "selective":
        interface.get_interface = lambda *args: partial(checkpointed, find(*args))
    try:
        yield
    finally:
        interface.get_interface = find
    if not times and recompute != "none":
        raise WitnessError("no layer was checkpointed: nothing was counted")


def train_bytes(
    component: Architecture,
    numbers: Numbers,
    recipe: str = "fp32",
    optimizer: str = "adam",
    implementation: str = "none",
    recompute: str = "none",
    device: str = "meta",
) -> int:
    """Parameters, gradients and the optimizer's own state after a real step; and the activations, if asked for.

    In half precision the step is made on a master copy of the parameters, in single precision.
    """
    single = recipe == "fp32"
    model = build(component, numbers, device).train().requires_grad_(True)
    parameters = list(model.to(torch.float32 if single else torch.bfloat16).parameters())
    masters = parameters if single else [parameter.detach().to(torch.float32) for parameter in parameters]
    for master in masters:
        master.grad = torch.zeros_like(master)
    makes: dict[str, Callable[[], Any]] = {
        "adam": lambda: torch.optim.AdamW(masters, foreach=False),
        "sgd": lambda: torch.optim.SGD(masters, foreach=False),
        "momentum": lambda: torch.optim.SGD(masters, momentum=0.9, foreach=False),
        "adafactor": lambda: torch.optim.Adafactor(masters, foreach=False),
    }
    stepped = makes[optimizer]()
    stepped.step()
    states = [value for state in stepped.state.values() for value in state.values() if isinstance(value, Tensor)]
    if optimizer != "sgd" and not states:
        raise WitnessError(f"{optimizer} keeps no state for {component.name}: nothing was counted")
    given = [torch.zeros_like(parameter) for parameter in parameters] if recipe == "bf16" else []
    gradients = given or [master.grad for master in masters if master.grad is not None]
    copies = [] if single else masters
    total: int = sum(tensor.untyped_storage().nbytes() for tensor in (*parameters, *gradients, *copies, *states))
    if implementation == "none":
        return total
    dtype = "fp32" if single else "bf16"
    way = {"implementation": implementation, "recompute": recompute, "dtype": dtype}
    return total + activation_bytes(component, numbers, **way, fake=device == "meta")


def inference_bytes(component: Architecture, numbers: Numbers) -> int:
    """Parameters, the cache after C tokens, and the logits of one more."""
    model, cache = _filled(component, numbers)
    held = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    before = _bytes_of(cache)
    with torch.no_grad():
        output = _run(component, model, {**numbers, S: 1}, cache=cache)
    logits = getattr(output, "logits", None)
    return held + before + (logits.untyped_storage().nbytes() if logits is not None else 0)


def _bytes_of(cache: Any) -> int:
    tensors = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def cache_bytes(component: Architecture, numbers: Numbers) -> int:
    """The bytes of the model's own cache object after C tokens."""
    _, cache = _filled(component, numbers)
    total = _bytes_of(cache)
    if not total:
        raise WitnessError(f"the cache of {component.name} is empty: nothing was counted")
    return total


def active_elements(component: Architecture, numbers: Numbers) -> int:
    """Every unique parameter, but of the experts' tables only what the experts of one token hold."""
    model: Any = build(component, numbers)
    total, experts = sum(int(parameter.numel()) for parameter in model.parameters()), 0
    for module in model.modules():
        tables = [weight for weight in module.parameters(recurse=False) if weight.dim() == 3]
        if hasattr(module, "num_experts") and tables:
            experts += 1
            idle = module.num_experts - model.config.num_experts_per_tok
            total -= sum(int(weight.numel()) // int(weight.shape[0]) * int(idle) for weight in tables)
    if not experts:
        raise WitnessError(f"the torch class of {component.name} has no experts: nothing was counted")
    return total


_COUNTER = "the total, by torch's FlopCounterMode"
_PRODUCTS = {"embedding": "lookup", "count": "contractions"}

ORACLES: dict[str, Oracle] = {
    "flops": Oracle(forward_flops, _COUNTER, {**_PRODUCTS, "attention": "full", "logits": "all"}),
    "train-flops": Oracle(
        train_flops, _COUNTER, {"attention": "full", "embedding": "lookup", "train": "all", "recompute": "none"}
    ),
    "prefill-flops": Oracle(prefill_flops, _COUNTER, {**_PRODUCTS, "attention": "full", "logits": "all"}, cached=True),
    "decode-flops": Oracle(decode_flops, _COUNTER, _PRODUCTS, cached=True),
    "generation-flops": Oracle(generation_flops, _COUNTER, {**_PRODUCTS, "attention": "full"}, once=True, cached=True),
    "active-params": Oracle(
        active_elements,
        "the elements of the parameters, less those of the experts that a token does not go to",
        {},
        needs=Kind.EXPERTS,
    ),
    "activations": Oracle(
        activation_bytes,
        "the bytes of every unique storage that torch's saved_tensors_hooks and its checkpoint are given",
        {"implementation": "eager", "dropout": "off", "recompute": "none", "dtype": "fp32"},
        (
            {"dropout": "on"},
            {"recompute": "selective"},
            {"recompute": "full"},
            {"dtype": "bf16"},
            {"implementation": "sdpa"},
            {"implementation": "sdpa", "dtype": "bf16"},
            {"implementation": "sdpa", "dtype": "bf16", "recompute": "full"},
        ),
        library="transformers",
    ),
    "train-memory": Oracle(
        train_bytes,
        "the bytes of the parameters, of their gradients and of a real optimizer's state after a real step; and of the "
        "activations, as saved_tensors_hooks and torch's checkpoint are given them",
        {"recipe": "fp32", "optimizer": "adam", "implementation": "none", "dropout": "off", "recompute": "none"},
        (
            {"optimizer": "sgd"},
            {"optimizer": "momentum"},
            {"recipe": "bf16"},
            {"recipe": "bf16-fp32-gradients"},
            {"implementation": "eager"},
            {"recipe": "bf16", "implementation": "sdpa", "recompute": "full"},
        ),
    ),
    "inference-memory": Oracle(
        inference_bytes,
        "the bytes of the parameters, of the model's own cache and of the logits it returns",
        {"weights": "fp32", "cache": "fp32", "window": "needed", "latent": "compressed", "logits": "fp32"},
        cached=True,
    ),
    "kv-cache": Oracle(
        cache_bytes,
        "the bytes of the model's own cache after a forward pass",
        {"dtype": "fp32", "window": "needed", "latent": "compressed"},
        cached=True,
    ),
}


def _counted(component: Architecture, run: Callable[[], object], grad: AbstractContextManager[Any]) -> int:
    counter = FlopCounterMode(display=False)
    # The fused attention kernels count nothing in silence; the plain one is asked for.
    with grad, sdpa_kernel(SDPBackend.MATH), counter:
        run()
    counts = {str(name): count for name, count in counter.get_flop_counts()["Global"].items()}
    kinds = {entry.kind for _, entry in component.ledger}
    if Kind.SCORES in kinds and not counts.get("aten.bmm"):
        raise WitnessError(f"the attention of {component.name} counted no FLOPs: {counts}")
    by_module = counter.get_flop_counts().items()
    if Kind.EXPERTS in kinds and not any(sum(each.values()) for name, each in by_module if name.endswith(".experts")):
        raise WitnessError(f"the experts of {component.name} counted no FLOPs: {counts}")
    if not (counts.get("aten.mm") or counts.get("aten.addmm")):
        raise WitnessError(f"the linear layers of {component.name} counted no FLOPs: {counts}")
    return int(counter.get_total_flops())


def _filled(component: Architecture, numbers: Numbers) -> tuple[nn.Module, Any]:
    model = build(component, numbers).eval()
    cache = _cache(component, model)
    with torch.no_grad():
        _run(component, model, {**numbers, S: numbers[C]}, cache=cache)
    return model, cache


def _cache(component: Architecture, model: Any) -> Any:
    if not keeps_cache(component):
        raise WitnessError(f"the torch class of {component.name} keeps no cache, so none can be measured")
    from transformers import DynamicCache

    return DynamicCache(config=model.config)


def keeps_cache(component: Architecture) -> bool:
    """Whether the witness has a cache of its own and attention that can use one."""
    masks = {entry.mask for _, entry in component.ledger if entry.kind in (Kind.SCORES, Kind.MIX)}
    return component.witness.library == "transformers" and masks == {"causal"}


def _run(
    component: Architecture,
    model: nn.Module,
    numbers: Numbers,
    *,
    cache: Any = None,
    implementation: str = "eager",
    masked: bool = True,
    last: bool = False,
) -> Any:
    device = next(model.parameters()).device
    inputs = []
    for axes in shape_line(component.shapes).inputs:
        shape = [evaluate(dim, numbers, axes.name) for dim in axes.dims]
        dtype = torch.long if len(shape) == 2 else torch.float32
        inputs.append(torch.zeros(shape, dtype=dtype, device=device))
    if component.witness.library != "transformers":
        return model(*inputs)
    config: Any = model.config
    config._attn_implementation = implementation
    config._experts_implementation = "batched_mm"  # the default, grouped_mm, counts nothing in silence
    new = numbers[S]
    facts: dict[str, Any] = {}
    if masked:  # on meta no mask can be made
        kinds: list[str] = getattr(config, "layer_types", None) or [""]
        masks = {}
        for kind in set(kinds):  # a window keeps fewer tokens than came before
            seen = new if cache is None else cache.get_mask_sizes(new, kinds.index(kind))[0]
            masks[kind] = torch.zeros(numbers[B], 1, new, seen, device=device)
        facts["attention_mask"] = masks if len(masks) > 1 else masks[kinds[0]]
    if masked or not keeps_cache(component):  # else a causal model makes its own
        facts["position_ids"] = torch.zeros(1, new, dtype=torch.long, device=device)
    if V_type in component.fields.sizes:
        facts["token_type_ids"] = torch.zeros(numbers[B], new, dtype=torch.long, device=device)
    if keeps_cache(component):
        facts |= {"use_cache": cache is not None, "past_key_values": cache}
    if last and hasattr(model, "lm_head"):
        facts["logits_to_keep"] = 1
    return model(*inputs, **facts)


def _backward(output: Any) -> None:
    """Backward from a number that depends on everything the model is for, so that every gradient is asked for."""
    torch.autograd.backward([tensor.sum() for tensor in ends(output)])
