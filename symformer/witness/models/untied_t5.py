"""T5 and its relatives with an untied head, as in released checkpoints; transformers ties the head of new models."""

from __future__ import annotations

from transformers import MT5ForConditionalGeneration, T5ForConditionalGeneration, UMT5ForConditionalGeneration

TIED = dict.fromkeys(("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"), "shared.weight")


class UntiedT5(T5ForConditionalGeneration):  # type: ignore[no-untyped-call]
    _tied_weights_keys = TIED


class UntiedMT5(MT5ForConditionalGeneration):  # type: ignore[no-untyped-call]
    _tied_weights_keys = TIED


class UntiedUMT5(UMT5ForConditionalGeneration):  # type: ignore[no-untyped-call]
    _tied_weights_keys = TIED
