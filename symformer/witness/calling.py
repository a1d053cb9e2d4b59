"""How a model of transformers is run on nothing but sizes: B sequences of S tokens, without padding or a cache."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from .running import Call, Run
from .tracing import Point


def calling(head: str, run: Run) -> Call:
    """What runs a model with a head, its attention and its experts written out."""

    def call(model: nn.Module, point: Point) -> Any:
        config: Any = model.config
        for each in [config, *(getattr(config, name, None) for name in config.sub_configs)]:
            if each is not None:
                each._attn_implementation = "eager"
                each._experts_implementation = "batched_mm"  # the default, grouped_mm, counts nothing in silence
        takes = inspect.signature(model.forward).parameters
        device = next(model.parameters()).device
        tokens = torch.zeros(point["B"], point[run.length], dtype=torch.long, device=device)
        given: dict[str, Any] = {"use_cache": run.cache} if "use_cache" in takes else {}
        if head == "seq2seq":
            given["decoder_input_ids"] = tokens
        with _unpadded():
            return model(input_ids=tokens, **given)

    return call


@contextmanager
def _unpadded() -> Iterator[None]:
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
