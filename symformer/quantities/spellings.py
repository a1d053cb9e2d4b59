"""Other spellings of quantities and conventions: likely first guesses. Answers state the names themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..language.errors import OptionError

if TYPE_CHECKING:
    from .quantity import Convention

QUANTITIES: Mapping[str, str] = {
    "activation-memory": "activations",
    "arithmetic-intensity": "intensity",
    "communication-bytes": "communication",
    "memory-traffic": "traffic",
    "parameters": "params",
    "total-train-flops": "run-flops",
    "training-flops": "train-flops",
    "training-memory": "train-memory",
}
# The convention, and one of its values: conventions of one name differ between quantities.
CONVENTIONS: Mapping[str, tuple[str, str]] = {
    "cache_dtype": ("cache", "bf16"),
    "cached_positions": ("tokens", "one"),
    "dropout_on": ("dropout", "on"),
    "exclude": ("without", "embeddings"),
    "logits_at": ("logits", "last"),
    "logits_dtype": ("logits", "fp32"),
    "mask": ("attention", "causal"),
    "message_size": ("count", "payload"),
    "mla_cache": ("latent", "compressed"),
    "operations": ("count", "contractions"),
    "passes": ("step", "training"),
    "precision": ("recipe", "bf16"),
    "relative_to": ("over", "step"),
    "rules": ("counted", "here"),
    "traffic_model": ("kernels", "flash"),
    "train_scope": ("train", "lora"),
    "weights_dtype": ("weights", "bf16"),
    "window_cache": ("window", "rolling"),
}
VALUES: Mapping[tuple[str, str], str] = {
    ("dropout", "false"): "off",
    ("dropout", "true"): "on",
    ("counted", "symformer"): "here",
    ("count", "with-elementwise"): "all",
    ("optimizer", "adamw"): "adam",
    ("optimizer", "adamw-8bit"): "adam-8bit",
    ("optimizer", "galore-adamw"): "galore-adam",
    ("optimizer", "paged-adamw"): "paged-adam",
    ("optimizer", "paged-adamw-8bit"): "paged-adam-8bit",
    ("optimizer", "sgd-8bit"): "momentum-8bit",
    ("optimizer", "sgd-momentum"): "momentum",
    ("optimizer", "torchao-adamw-4bit"): "torchao-adam-4bit",
    ("optimizer", "torchao-adamw-8bit"): "torchao-adam-8bit",
    ("optimizer", "torchao-adamw-fp8"): "torchao-adam-fp8",
}


def spelled(given: Mapping[str, str], choices: Mapping[str, Convention]) -> dict[str, str]:
    """Return conventions by their own names. Raises OptionError for a convention given in two spellings."""
    found: dict[str, str] = {}
    for name, value in given.items():
        own, sample = CONVENTIONS.get(name, (name, ""))
        if name in choices or own not in choices or (sample and sample not in choices[own].meanings):
            own = name
        if own in found or (own != name and own in given):
            raise OptionError(f"{own} is given twice, as {name} and as {own}; keep one")
        meanings = choices[own].meanings if own in choices else {}
        other = VALUES.get((own, str(value).lower()), value)
        found[own] = other if value not in meanings and other in meanings else value
    return found
