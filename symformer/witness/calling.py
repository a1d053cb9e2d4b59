"""How a model of transformers is run on nothing but sizes: B sequences of S tokens, without padding or a cache."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from typing import Any

import torch
from torch import nn

from ..language.errors import WitnessError
from .fitting import Point
from .points import Call
from .runs import Run

PICTURES = "image"  # what a model is run as that reads pictures and nothing else


def caller_for(head: str, run: Run) -> Call:
    """What runs a model with a head, its attention and its experts written out; on one token after another pass."""

    def call(model: nn.Module, point: Point, after: Any = None, last: bool = False) -> Any:
        config: Any = model.config
        for each in [config, *(getattr(config, name, None) for name in config.sub_configs)]:
            if each is not None:
                each.use_cache = run.cache  # an argument of that name is not in every forward's signature
        for each in [config, *(vars(module).get("config") for module in model.modules())]:  # a stack may have a copy
            if hasattr(each, "_attn_implementation"):
                each._attn_implementation = "eager"
                each._experts_implementation = "batched_mm"  # the default, grouped_mm, counts nothing in silence
        takes = inspect.signature(model.forward).parameters
        device = next(model.parameters()).device
        if head == PICTURES:
            return model(pixel_values=torch.zeros(point["B"], *picture(config), device=device))

        def tokens(batch: int = point["B"], length: str = run.length) -> torch.Tensor:
            return torch.zeros(batch, point[length] if after is None else 1, dtype=torch.long, device=device)

        given: dict[str, Any] = {"use_cache": run.cache} if "use_cache" in takes else {}
        if after is not None:
            given["past_key_values"] = after.past_key_values
        elif run.cache and (cache := _as_deep(config)) is not None and "past_key_values" in takes:
            given["past_key_values"] = cache
        if head == "seq2seq":
            given["decoder_input_ids"] = tokens()
        if head == "masked" and "position_ids" in takes:
            given["position_ids"] = tokens(1)
        if "token_type_ids" in takes and getattr(config, "type_vocab_size", None):
            given["token_type_ids"] = tokens()
        if head == "seq2seq" and after is not None:
            given["encoder_outputs"] = _encoded(after.encoder_last_hidden_state)
        else:
            given["input_ids"] = tokens(length=lengths_of(head, run)[1])
        with unpadded(), _last(model, given) if last else nullcontext():
            return model(**given)

    return call


def picture(config: Any) -> tuple[int, int, int]:
    """The channels, the height and the width of the pictures that a config is for. Raises WitnessError."""
    both: list[Any] = [config, getattr(config, "vision_config", None)]
    said = next((each for each in both if hasattr(each, "image_size")), None)
    if said is None:
        raise WitnessError("its config says no image_size, so how large its pictures are is not known")
    side = said.image_size
    height, width = side if isinstance(side, (list, tuple)) else (side, side)
    return said.num_channels, height, width


def _encoded(states: torch.Tensor) -> Any:
    from transformers.modeling_outputs import BaseModelOutput

    return BaseModelOutput(last_hidden_state=states)


def _as_deep(config: Any) -> Any:
    """The cache of a decoder that is taken alone, where its config says the encoder's depth of it; None elsewhere."""
    layers = getattr(config, "decoder_layers", None)
    if config.is_encoder_decoder or layers is None or layers == getattr(config, "num_hidden_layers", layers):
        return None
    from transformers import DynamicCache

    decoder = copy(config)
    decoder.num_hidden_layers = layers
    return DynamicCache(config=decoder)


@contextmanager
def _last(model: Any, given: dict[str, Any]) -> Iterator[None]:
    """Logits of the last position alone: a head that cannot be asked for them is given no other position to read."""
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        given["logits_to_keep"] = 1
        yield
        return
    head = model.get_output_embeddings()
    if head is None:
        raise WitnessError("which module gives the logits is not known")

    def read(module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
        states = given[0].is_floating_point()  # and not tokens, where the same module looks these up
        return (given[0][:, -1:], *given[1:]) if states else given

    hook = head.register_forward_pre_hook(read)
    try:
        yield
    finally:
        hook.remove()


def lengths_of(head: str, run: Run) -> tuple[str, ...]:
    """The letters of the batch and the lengths that a model with a head is run with, what it reads first."""
    if head == PICTURES:
        return ("B",)  # a picture has as many tokens as patches, which its config says
    return ("B", "S_enc", run.length) if head == "seq2seq" else ("B", run.length)


def caller_of_factory(
    inputs: Callable[..., Any], start: Point
) -> tuple[Callable[[Run], Call], Callable[[Run], tuple[str, ...]]]:
    """What runs a module on the inputs that a function makes of sizes, and the letters of the run among these."""
    names = tuple(inspect.signature(inputs).parameters)
    takes = tuple(name for name in names if name not in start)
    for name in takes:
        if name not in ("B", "S", "S_enc"):
            known = ", ".join([*start, "B", "S", "S_enc"])
            raise WitnessError(f"the inputs ask for {name}, which is no size; they can ask for {known}")

    def calls(run: Run) -> Call:
        if run.cache:
            raise WitnessError("a module of one's own has no cache that a trace could read")

        def call(model: nn.Module, point: Point) -> Any:
            given = inputs(**{name: point[name] for name in names})
            return model(*given) if isinstance(given, tuple) else model(given)

        return call

    return calls, lambda run: takes


@contextmanager
def unpadded() -> Iterator[None]:
    """No token is padding and no row holds several sequences: on meta transformers cannot look."""
    from transformers import PreTrainedModel, masking_utils

    model: Any = PreTrainedModel
    packed, warn = masking_utils.find_packed_sequence_indices, model.warn_if_padding_and_no_attention_mask
    masking_utils.find_packed_sequence_indices = lambda *args, **kwargs: None
    model.warn_if_padding_and_no_attention_mask = lambda *args, **kwargs: None
    try:
        yield
    finally:
        masking_utils.find_packed_sequence_indices = packed
        model.warn_if_padding_and_no_attention_mask = warn
