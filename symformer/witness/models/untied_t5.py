"""T5 with a head of its own, as the released checkpoints of v1.1 have it: transformers ties it in every new model."""

from __future__ import annotations

from transformers import T5ForConditionalGeneration


class UntiedT5(T5ForConditionalGeneration):  # type: ignore[no-untyped-call]
    _tied_weights_keys = dict.fromkeys(("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"), "shared.weight")
