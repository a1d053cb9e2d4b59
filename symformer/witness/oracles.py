"""What torch itself says of a model that runs: FLOPs by its own counter, and the bytes of its own cache.

Everything runs on the meta device, so sizes cost nothing. Each oracle asserts that it counted what it is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from sympy import Symbol
from torch import Tensor, nn
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
from .measure import build

Numbers = Mapping[Symbol, int]


@dataclass(frozen=True)
class Oracle:
    """What settles one quantity: the conventions under which torch counts, and the count."""

    count: Callable[[Architecture, Numbers], int]
    by: str  # what counts, in words
    conventions: Mapping[str, str]
    cached: bool = False  # whether it needs a class that keeps a cache
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
    return _counted(component, lambda: _run(component, model, numbers, cache=_cache(component)), torch.no_grad())


def decode_flops(component: Architecture, numbers: Numbers) -> int:
    """One token after C that are in the cache."""
    model, cache = _filled(component, numbers)
    one = {**numbers, S: 1}
    return _counted(component, lambda: _run(component, model, one, cache=cache, before=numbers[C]), torch.no_grad())


def generation_flops(component: Architecture, numbers: Numbers) -> int:
    """A prompt of S tokens, then a pass for each new token but the first, which the prompt's logits give."""
    model, cache = build(component, numbers).eval(), _cache(component)

    def generate() -> None:
        _run(component, model, numbers, cache=cache, last=True)
        for passed in range(numbers[N_new] - 1):
            _run(component, model, {**numbers, S: 1}, cache=cache, before=numbers[S] + passed)

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
    device: str = "meta",
) -> int:
    """The bytes of every storage that a forward pass keeps for the backward pass, weights left out."""
    model = build(component, numbers, device).train().requires_grad_(True)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.1 if dropout == "on" else 0.0
    weights = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    kept: dict[int, Tensor] = {}  # holds the tensors too, so that no storage is freed and its place used again

    def keep(tensor: Tensor) -> Tensor:
        kept.setdefault(tensor.untyped_storage()._cdata, tensor)
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        output = _run(component, model, numbers, implementation=implementation)
    total = sum(tensor.untyped_storage().nbytes() for storage, tensor in kept.items() if storage not in weights)
    if not total or output is None:
        raise WitnessError(f"{component.name} keeps nothing for the backward pass: nothing was counted")
    return total


def train_bytes(
    component: Architecture,
    numbers: Numbers,
    optimizer: str = "adam",
    implementation: str = "none",
    device: str = "meta",
) -> int:
    """Parameters, gradients and the optimizer's own state after a real step; and the activations, if asked for."""
    model = build(component, numbers, device).train().requires_grad_(True)
    parameters = list(model.parameters())
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    makes: dict[str, Callable[[], Any]] = {
        "adam": lambda: torch.optim.AdamW(parameters, foreach=False),
        "sgd": lambda: torch.optim.SGD(parameters, foreach=False),
        "momentum": lambda: torch.optim.SGD(parameters, momentum=0.9, foreach=False),
        "adafactor": lambda: torch.optim.Adafactor(parameters, foreach=False),
    }
    stepped = makes[optimizer]()
    stepped.step()
    states = [value for state in stepped.state.values() for value in state.values() if isinstance(value, Tensor)]
    if optimizer != "sgd" and not states:
        raise WitnessError(f"{optimizer} keeps no state for {component.name}: nothing was counted")
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    total = sum(tensor.untyped_storage().nbytes() for tensor in (*parameters, *gradients, *states))
    if implementation == "none":
        return total
    return total + activation_bytes(component, numbers, implementation, device=device)


def inference_bytes(component: Architecture, numbers: Numbers) -> int:
    """Parameters, the cache after C tokens, and the logits of one more."""
    model, cache = _filled(component, numbers)
    held = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    before = _bytes_of(cache)
    with torch.no_grad():
        output = _run(component, model, {**numbers, S: 1}, cache=cache, before=numbers[C])
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


_COUNTER = "the total, by torch's FlopCounterMode"
_PRODUCTS = {"embedding": "lookup", "count": "contractions"}

ORACLES: dict[str, Oracle] = {
    "flops": Oracle(forward_flops, _COUNTER, {**_PRODUCTS, "attention": "full", "logits": "all"}),
    "train-flops": Oracle(
        train_flops, _COUNTER, {"attention": "full", "embedding": "lookup", "train": "all", "recompute": "none"}
    ),
    "prefill-flops": Oracle(prefill_flops, _COUNTER, {**_PRODUCTS, "attention": "full", "logits": "all"}, cached=True),
    "decode-flops": Oracle(decode_flops, _COUNTER, _PRODUCTS, cached=True),
    "generation-flops": Oracle(generation_flops, _COUNTER, {**_PRODUCTS, "attention": "full"}, cached=True),
    "activations": Oracle(
        activation_bytes,
        "the bytes of every unique storage that torch's saved_tensors_hooks are given",
        {"implementation": "eager", "dropout": "off"},
        library="transformers",
    ),
    "train-memory": Oracle(
        train_bytes,
        "the bytes of the parameters, of their gradients and of a real optimizer's state after a real step",
        {"recipe": "fp32", "optimizer": "adam", "implementation": "none", "dropout": "off"},
    ),
    "inference-memory": Oracle(
        inference_bytes,
        "the bytes of the parameters, of the model's own cache and of the logits it returns",
        {"weights": "fp32", "cache": "fp32", "logits": "fp32"},
        cached=True,
    ),
    "kv-cache": Oracle(
        cache_bytes, "the bytes of the model's own cache after a forward pass", {"dtype": "fp32"}, cached=True
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
    if not (counts.get("aten.mm") or counts.get("aten.addmm")):
        raise WitnessError(f"the linear layers of {component.name} counted no FLOPs: {counts}")
    return int(counter.get_total_flops())


def _filled(component: Architecture, numbers: Numbers) -> tuple[nn.Module, Any]:
    model, cache = build(component, numbers).eval(), _cache(component)
    with torch.no_grad():
        _run(component, model, {**numbers, S: numbers[C]}, cache=cache)
    return model, cache


def _cache(component: Architecture) -> Any:
    if not keeps_cache(component):
        raise WitnessError(f"the torch class of {component.name} keeps no cache, so none can be measured")
    from transformers import DynamicCache

    return DynamicCache()


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
    before: int = 0,
    implementation: str = "eager",
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
    new = numbers[S]
    facts: dict[str, Any] = {}
    if implementation == "eager":  # on meta no mask can be made, and the fused kernel is quickest, and usual, without
        facts["attention_mask"] = torch.zeros(numbers[B], 1, new, before + new, device=device)
    if implementation == "eager" or not keeps_cache(component):  # a causal model would make a mask from positions
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
    names = ("logits", "prediction_logits", "seq_relationship_logits", "pooler_output")
    named = [tensor for name in names if isinstance(tensor := getattr(output, name, None), Tensor)]
    ends = [output] if isinstance(output, Tensor) else named or [output[0]]
    torch.autograd.backward([tensor.sum() for tensor in ends])
