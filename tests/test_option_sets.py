"""Sets of options without a certificate: configs that state them, compared with torch's classes for the same JSON."""

from __future__ import annotations

import random
from typing import get_args

import pytest

from symformer import SymformerError, architecture
from symformer.architectures import architecture_class
from symformer.configs.config_fields import BoolField, Choice, OptionalNumberField, ProbabilityField, RotaryBase
from symformer.configs.interleaved_layers import Interleaving
from symformer.configs.reusing_layers import ReusedKeysAndValues, SparseActivations
from symformer.configs.sparse_attention_layers import ReusedKeys
from symformer.ledger.facts import Activation
from symformer.witness.certification import verify

from .samples import sampled
from .test_config_fields import TYPES, Config, UntakenError, base, by_us, differences

SETS = 3


def drawn(model_type: str, source: random.Random) -> Config:
    """Return a small config with a random value of every option, and a class."""
    fields = architecture_class(TYPES[model_type].name).fields
    config = base(model_type, source.choice(TYPES[model_type].config.classes))
    for setting in fields.options.values():
        if isinstance(setting, BoolField):
            config[setting.name] = source.random() < 0.5
        elif isinstance(setting, ProbabilityField):
            config[setting.name] = source.choice([0.0, 0.25])
        elif isinstance(setting, OptionalNumberField):
            config[setting.name] = source.choice([None, 3.5])
        elif isinstance(setting, Choice):
            config[setting.name] = source.choice([*setting.meanings])
        elif isinstance(setting, Interleaving | ReusedKeys | RotaryBase):
            config[setting.name] = setting.write(source.random() < 0.5)
        elif isinstance(setting, ReusedKeysAndValues | SparseActivations):
            pass  # lists of layers, of which the small config has every kind
        else:  # half of them functions whose saved tensors are known
            kept = ("relu", "gelu", "silu", "gelu_new", "gelu_pytorch_tanh", "swish")
            config[setting.name] = source.choice(kept if source.random() < 0.5 else get_args(Activation))
    for size in fields.nullable.values():
        if source.random() < 0.4:
            config[fields.sizes[size].names[0]] = fields.sizes[size].absent
    return config


@pytest.mark.parametrize("model_type", sampled(6, TYPES))
def test_combined_options_match_torch(model_type: str) -> None:
    source, answered = random.Random(model_type), 0  # noqa: S311
    for _ in range(8 * SETS):
        config = drawn(model_type, source)
        ours = by_us(config)
        if isinstance(ours["params"], str):  # only if no class runs with it
            assert model_type == "falcon", ours
            continue
        try:
            assert differences(config) == {}, config
        except UntakenError:
            pytest.fail(f"torch has no such model, and it is answered: {config}")
        answered += 1
        if answered == SETS:
            return
    pytest.fail(f"{answered} sets were answered")


def test_an_activation_without_a_config_value_is_a_clear_error() -> None:
    """OpenAI's class has three functions by name; the formula for another one is valid too."""
    with pytest.raises(SymformerError, match="no value of 'afn' in a config means mish"):
        verify(architecture("gpt1", activation="mish"), seed=1)
