"""T5 with an untied head, as in the released v1.1 checkpoints; transformers ties the head of every new model."""

from __future__ import annotations

from transformers import T5ForConditionalGeneration


class UntiedT5(T5ForConditionalGeneration):  # type: ignore[no-untyped-call]
    _tied_weights_keys = dict.fromkeys(("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"), "shared.weight")
