"""Calls of transformers models on sizes alone: B sequences of S tokens, without padding, with or without a cache."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import nn

from ..language.errors import WitnessError
from .config_integers import ConfigIntegers
from .index_checks import in_tables
from .interpolation import Point
from .measured_points import Call, Points
from .run_traces import BATCHED, BATCHES, PICTURED, RUNS, SHALLOW, SHORT, Run, accepts
from .sampling import DEEP
from .transformers_classes import TracedClass

PICTURES = "image"  # the head of a model that reads only images
PIXELS = "pixel_values"
COLOURS = 3  # channels of an image if the config does not state them
_PLACES = "torch_compilable_check"  # transformers' check that image tokens match the images


@dataclass(frozen=True)
class CallSpec:
    """How a model is called: its head, and the letter of the number of images in addition to tokens, if any."""

    head: str
    pictures: str = ""


def caller_for(way: CallSpec, run: Run) -> Call:
    """Return a function that calls a model with eager attention and experts; after another pass, on one token."""
    head = way.head

    def call(model: nn.Module, point: Point, after: Any = None, last: bool = False) -> Any:
        config: Any = model.config
        for each in [config, *(getattr(config, name, None) for name in config.sub_configs)]:
            if each is not None:
                each.use_cache = run.cache  # not every forward has an argument of that name
        for each in [config, *(vars(module).get("config") for module in model.modules())]:  # stacks may have copies
            if hasattr(each, "_attn_implementation"):
                each._attn_implementation = "eager"
                each._experts_implementation = "batched_mm"  # torch silently counts nothing for the default, grouped_mm
        takes = inspect.signature(model.forward).parameters
        device = next(model.parameters()).device
        if head == PICTURES:
            return model(**{PIXELS: torch.zeros(point["B"], *picture(config), device=device)})

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
            given["input_ids"] = tokens(length="S_enc" if head == "seq2seq" else run.length)
        if way.pictures and after is None:
            given[PIXELS] = torch.zeros(point[way.pictures], *picture(config), device=device)
        with unpadded(), without_placeholder_checks(model), _last(model, given) if last else nullcontext():
            return model(**given)

    return call


@cache
def call_spec(source: TracedClass) -> CallSpec:
    """Return how a class is called: with images, with tokens, or with both if it reads both.

    The number of images is independent of the number of texts if the code accepts that. Models whose code rejects
    images of the config's size get none. This is tested on the default config, with few layers and unchanged.
    """
    if source.reads() == PIXELS:
        return CallSpec(PICTURES)
    alone = CallSpec(source.run_as)
    config = source.config({})
    if PIXELS not in source.unread() or not _pictured(config):
        return alone
    placing = ConfigIntegers(config)
    shallow = {name: SHALLOW for name, size in placing.start.items() if DEEP.search(name) and size > SHALLOW}
    tokens = {"S": SHORT[0], "S_enc": SHORT[1], "B": BATCHES[0], "B_vis": PICTURED[0]}

    def build(point: Point) -> nn.Module:
        return source.build(placing.placed({}, {name: size for name, size in point.items() if name not in tokens}))

    for letter in ("B_vis", "B"):
        way = CallSpec(source.run_as, letter)
        goes = Points(build, in_tables(caller_for(way, RUNS["flops"]))).dispatched
        if any(accepts(goes, {**depth, **tokens}) for depth in (shallow, {})):
            return way
    return alone


def _pictured(config: Any) -> bool:
    with suppress(Exception):  # any error of a config class without such a field
        return bool(picture(config))
    return False


def picture(config: Any) -> tuple[int, int, int]:
    """Return the channels, the height and the width of a config's images. Raises WitnessError."""
    both: list[Any] = [config, getattr(config, "vision_config", None)]
    said = next((each for each in both if hasattr(each, "image_size")), None)
    if said is None:
        raise WitnessError("the config has no image_size, so the size of its images is unknown")
    side = said.image_size
    height, width = side if isinstance(side, (list, tuple)) else (side, side)
    return getattr(said, "num_channels", COLOURS), height, width


def _encoded(states: torch.Tensor) -> Any:
    from transformers.modeling_outputs import BaseModelOutput

    return BaseModelOutput(last_hidden_state=states)


def _as_deep(config: Any) -> Any:
    """Return a cache for a standalone decoder whose config states the encoder's depth as its depth, or else None."""
    layers = getattr(config, "decoder_layers", None)
    if config.is_encoder_decoder or layers is None or layers == getattr(config, "num_hidden_layers", layers):
        return None
    from transformers import DynamicCache

    decoder = copy(config)
    decoder.num_hidden_layers = layers
    return DynamicCache(config=decoder)


@contextmanager
def _last(model: Any, given: dict[str, Any]) -> Iterator[None]:
    """Compute the logits of the last position only; without an option for it, the head reads only that position."""
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        given["logits_to_keep"] = 1
        yield
        return
    head = model.get_output_embeddings()
    if head is None:
        raise WitnessError("the module that computes the logits is unknown")

    def read(module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
        states = given[0].is_floating_point()  # not tokens, which the same module may look up
        return (given[0][:, -1:], *given[1:]) if states else given

    hook = head.register_forward_pre_hook(read)
    try:
        yield
    finally:
        hook.remove()


def lengths_of(way: CallSpec, run: Run) -> tuple[str, ...]:
    """Return the letters of the batches and lengths of a run, with the encoder's input first."""
    if way.head == PICTURES:
        return ("B",)  # the config determines the number of patches, and so of tokens
    beside = ("B_vis",) if way.pictures == "B_vis" else ()
    return ("B", *beside, "S_enc", run.length) if way.head == "seq2seq" else ("B", *beside, run.length)


def caller_of_factory(
    inputs: Callable[..., Any], start: Point
) -> tuple[Callable[[Run], Call], Callable[[Run], tuple[str, ...]]]:
    """Return a function that calls a module with the inputs of a factory, and the letters of the run among them."""
    names = tuple(inspect.signature(inputs).parameters)
    takes = tuple(name for name in names if name not in start)
    for name in takes:
        if name not in (*BATCHED, "S", "S_enc"):
            known = ", ".join([*start, *BATCHED, "S", "S_enc"])
            raise WitnessError(f"inputs requires {name}, which is not a size; available sizes: {known}")

    def calls(run: Run) -> Call:
        if run.cache:
            raise WitnessError("the module of a factory has no cache that can be traced")

        def call(model: nn.Module, point: Point) -> Any:
            given = inputs(**{name: point[name] for name in names})
            return model(*given) if isinstance(given, tuple) else model(given)

        return call

    return calls, lambda run: takes


def encoded_images(model: Any, pixels: torch.Tensor) -> dict[str, Any]:
    """Return square images as a model reads them that expects patches and a grid for each image: already encoded.

    The class computes indices from the grids, for which they need values, so they are given here. On meta it cannot
    select the tokens of images either, so the features for them replace the tokens instead of being added to them.
    """
    whole = getattr(model, "model", model)
    vision, language, config = whole.visual, whole.language_model, model.config.vision_config
    images, side = pixels.shape[0], pixels.shape[-1] // config.patch_size
    patches, tokens = side**2, side**2 // config.spatial_merge_size**2
    device = pixels.device
    found = vision(
        pixels.reshape(images * patches, -1),
        grid_thw=torch.tensor([[1, side, side]] * images, device="cpu"),
        cu_seqlens=torch.arange(images + 1, device="cpu") * patches,
        max_seqlen=patches,
        position_ids=torch.zeros(images * patches, 2, dtype=torch.long, device=device),
        interp_indices=torch.zeros(images * patches, 4, dtype=torch.long, device=device),
        interp_weights=torch.zeros(images * patches, 4, dtype=pixels.dtype, device=device),
    )
    found.pooler_output = found.pooler_output.split(tokens)
    found.deepstack_features = [each.split(tokens) for each in found.deepstack_features]
    language._deepstack_process = lambda x, mask, features: x.masked_scatter(mask[..., None], features)
    return {"mm_encoder_outputs": {"image": found}}


@contextmanager
def without_placeholder_checks(model: nn.Module) -> Iterator[None]:
    """Skip the check that the number of image tokens matches the images: it needs values, which meta lacks."""
    own = {sys.modules[type(each).__module__] for each in model.modules()}
    before = {each: check for each in own if (check := getattr(each, _PLACES, None))}

    def known(told: Any, *why: Any, **more: Any) -> None:
        if not isinstance(told, torch.Tensor):
            next(iter(before.values()))(told, *why, **more)

    for each in before:
        setattr(each, _PLACES, known)
    try:
        yield
    finally:
        for each, check in before.items():
            setattr(each, _PLACES, check)


@contextmanager
def unpadded() -> Iterator[None]:
    """Assume that no token is padding and no row holds several sequences: transformers cannot check it on meta."""
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
