"""Which of the names in the library's common code may change a model: the names that ``_live.json`` lists.

Code changes a model by a field only if it looks the field up in a config. So a name is listed if a class of ``CLASSES``
looks it up while it is built and run, or if a config class declares it and a run on shapes alone may not show what it
does, or if a rule of the catalogue is about it, or if every config has an attribute of that name, which a field would
replace. Each name stands for itself: none is tried together with another.
``python -m symformer.witness.live_names`` prints the names that the list lacks, and those that it has for no reason.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress

from ..catalogue.matching import CHECKPOINTING, SCALING, THETA, WINDOWS, shared
from ..configs.rotary import PARTLY
from .asking import looked_up
from .classes import of_config
from .trying import UNSEEN

# Encoders, decoders and both, with recurrent states, experts, windows and pictures.
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
METHODS = ("num_mtp_layers", "self")  # read by a method of every config, and an argument of each


def live(common: Collection[str], classes: Sequence[tuple[str, str]] = CLASSES) -> set[str]:
    """Return the names in common code that may change a model."""
    from transformers import PretrainedConfig

    found = {name for name in declared() if UNSEEN.search(name)} | {*RULED, *METHODS, *dir(PretrainedConfig)}
    for model_type, name in classes:
        found |= looked_up(of_config({"model_type": model_type, "architectures": [name]}, "config.json"))
    return {name for name in found & {*common, *RULED} if name[0].islower()}


def declared() -> set[str]:
    """Return the fields that the config classes of the library declare, and their other names."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    found: set[str] = set()
    for model_type in CONFIG_MAPPING:
        with suppress(Exception):  # a library of its own that is not installed
            for each in CONFIG_MAPPING[model_type].__mro__:
                found |= {*vars(each).get("__annotations__", ()), *vars(each).get("attribute_map", ())}
    return found


if __name__ == "__main__":
    names = live(shared(whole=False))
    print(json.dumps([sorted(names - shared()), sorted(shared() - names)]))  # noqa: T201
