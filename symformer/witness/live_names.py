"""The names in the library's common code that may change a model, as listed in ``_live.json``.

A config field can change a model only if code looks it up. A name is therefore listed if a class of ``CLASSES`` looks
it up while it is built and run, if a config class declares it and a run on shapes alone may not show its effect, if a
rule of the catalogue is about it, or if every config has an attribute of that name, which the field would replace. Each
name is tested on its own.

``python -m symformer.witness.live_names`` prints the names missing in the list, and those listed without a reason.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress

from ..catalogue.config_match import CHECKPOINTING, SCALING, THETA, WINDOWS, common_field_names
from ..configs.rotary import PARTLY
from .fields_read import names_looked_up
from .inert_fields import UNSEEN
from .transformers_classes import of_config

# Encoders, decoders and encoder-decoders, with recurrent states, experts, windows and images.
CLASSES = (
    ("gpt2", "GPT2LMHeadModel"),
    ("bert", "BertForMaskedLM"),
    ("bart", "BartForConditionalGeneration"),
    ("apertus", "ApertusForCausalLM"),
    ("gemma3_text", "Gemma3ForCausalLM"),
    ("qwen2", "Qwen2ForSequenceClassification"),
    ("qwen3_moe", "Qwen3MoeForCausalLM"),
    ("deepseek_v3", "DeepseekV3ForCausalLM"),
    ("mamba", "MambaForCausalLM"),
    ("vit", "ViTForImageClassification"),
    ("llava", "LlavaForConditionalGeneration"),
)
RULED = (*WINDOWS, THETA, SCALING, PARTLY, CHECKPOINTING)
METHODS = ("num_mtp_layers", "self")  # read by a method of every config, or an argument of each


def live_names(common: Collection[str], classes: Sequence[tuple[str, str]] = CLASSES) -> set[str]:
    """Return the names in common code that may change a model."""
    from transformers import PretrainedConfig

    found = {name for name in declared_fields() if UNSEEN.search(name)} | {*RULED, *METHODS, *dir(PretrainedConfig)}
    for model_type, name in classes:
        found |= names_looked_up(of_config({"model_type": model_type, "architectures": [name]}, "config.json"))
    return {name for name in found & {*common, *RULED} if name[0].islower()}


def declared_fields() -> set[str]:
    """Return the fields that the config classes of the library declare, and their other names."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    found: set[str] = set()
    for model_type in CONFIG_MAPPING:
        with suppress(Exception):  # an optional library is not installed
            for each in CONFIG_MAPPING[model_type].__mro__:
                found |= {*vars(each).get("__annotations__", ()), *vars(each).get("attribute_map", ())}
    return found


if __name__ == "__main__":
    names = live_names(common_field_names(whole=False))
    print(json.dumps([sorted(names - common_field_names()), sorted(common_field_names() - names)]))  # noqa: T201
