"""What an entry of the catalogue must know beyond its samples: layer periods, and sizes that the class rejects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from symformer.catalogue.config_match import find, refusal_reason
from symformer.catalogue.entries import FOLDER, read
from symformer.catalogue.record import model_of_records
from symformer.language.errors import CatalogueError
from symformer.witness import entry_builder
from symformer.witness.entry_builder import EntryBuilder
from symformer.witness.field_sorts import FieldSorts, FreedFields
from symformer.witness.head_divisors import HeadDivisor, HeadDivisors, equal_sizes, with_head_divisors
from symformer.witness.inert_fields import FieldTrials
from symformer.witness.layer_periods import LayerPeriods
from symformer.witness.measured_points import session
from symformer.witness.transformers_classes import of_config

INTERVAL = "no_rope_layer_interval"


def trials(name: str, model_type: str) -> FieldTrials:
    return FieldTrials(of_config({"model_type": model_type, "architectures": [name]}, "config.json"))


def torch_builds(config: Mapping[str, Any]) -> bool:
    source = of_config(config, "config.json")
    fields = {name: value for name, value in source.own(config, "config.json").items() if name != "architectures"}
    try:
        session(lambda point: source.build(fields), {}).model()
    except Exception:
        return False
    return True


def test_a_period_shows_only_in_a_deep_model_with_short_windows() -> None:
    """A shallow model with windows of 8,192 tokens caches the same for any interval of global layers."""
    tried = trials("SmolLM3ForCausalLM", "smollm3")
    usual = tried.told({"num_hidden_layers": 3})
    assert tried.inert({INTERVAL: 4}, {"num_hidden_layers": 3}, usual)
    idle = {INTERVAL: "int", "max_position_embeddings": "int"}
    assert LayerPeriods(tried, ["num_hidden_layers"], {}).effects(idle) == {INTERVAL: "int"}


def test_a_period_that_cannot_be_tested_is_not_called_a_field_without_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = trials("SmolLM3ForCausalLM", "smollm3")
    told = tried.told
    monkeypatch.setattr(tried, "told", lambda point: None if "num_hidden_layers" in point else told(point))
    assert LayerPeriods(tried, ["num_hidden_layers"], {}).effects({INTERVAL: "int|null", "rope_theta": "float"}) == {
        INTERVAL: "int"
    }


def test_a_written_entry_has_no_run_at_another_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trials of other kinds find no effect here, as for the entries written before."""
    monkeypatch.setattr(FieldSorts, "found", lambda self, fields: FreedFields())
    monkeypatch.setattr(HeadDivisors, "found", lambda self: iter(()))
    monkeypatch.setattr(entry_builder, "with_field_names", lambda source, trials, data: data)
    builder = EntryBuilder(of_config({"model_type": "smollm3"}, "config.json"), "hf:smollm3")
    monkeypatch.setattr(builder.proving, "proved", lambda data: data)
    data = json.loads((FOLDER / "SmolLM3ForCausalLM.smollm3.json").read_text()) | {"option_effects": []}
    del data["config"]["inert_for_params"][INTERVAL], data["switches"][INTERVAL]
    data["config"]["inert"][INTERVAL] = "int"
    found = builder.again(data)
    assert INTERVAL not in found["config"]["inert"]
    assert found["config"]["inert_for_params"][INTERVAL] == "int"
    assert found["switches"][INTERVAL] == 4  # the default of its config class


def test_a_condition_of_a_run_does_not_limit_the_parameters() -> None:
    """Inkling's heads in layers with a window have letters of their own, made from their names."""
    data = json.loads((FOLDER / "InklingForCausalLM.inkling_text.json").read_text())
    asked = HeadDivisor("swa_num_key_value_heads", "swa_num_attention_heads", builds=True)
    found = with_head_divisors(data, trials("InklingForCausalLM", "inkling_text"), [asked])
    condition = {"is": "Divides", "divisor": "swa_num_key_value_heads", "dividend": "swa_num_attention_heads"}
    assert condition in found["records"]["operations"]["lifted"]["conditions"]
    assert condition not in found["records"]["params"]["traced"].get("conditions", [])


@pytest.mark.parametrize(
    ("name", "model_type", "expected"),
    [
        # embed_dim must be divisible by num_heads
        ("Wav2Vec2Model", "wav2vec2", [HeadDivisor("num_attention_heads", "hidden_size", builds=False)]),
        # 32 query heads cannot share 7 pairs of keys and values; RoPE requires an even rotary dimension
        (
            "ArceeForCausalLM",
            "arcee",
            [
                HeadDivisor("num_attention_heads", "hidden_size", builds=False),
                HeadDivisor("num_key_value_heads", "num_attention_heads", builds=True),
                HeadDivisor("", "head_dim", builds=False),
            ],
        ),
        # heads of 256 with any width: Mistral's query projection is not square
        (
            "MistralForCausalLM",
            "mistral",
            [
                HeadDivisor("num_key_value_heads", "num_attention_heads", builds=True),
                HeadDivisor("", "head_dim", builds=False),
            ],
        ),
    ],
)
def test_heads_divide_a_width_where_torch_requires_it(name: str, model_type: str, expected: list[HeadDivisor]) -> None:
    kept = read(json.loads((FOLDER / f"{name}.{model_type}.json").read_text()))
    few = {"num_hidden_layers": 2}
    assert [*HeadDivisors(trials(name, model_type), tuple(kept.config.sizes), few, runs="wav" not in name).found()] == (
        expected
    )


def test_a_width_changes_together_with_a_size_that_must_equal_it() -> None:
    """SqueezeBERT has no projection between its embeddings and its layers."""
    data = json.loads((FOLDER / "SqueezeBertForMaskedLM.squeezebert.json").read_text())
    assert (ties := equal_sizes(data["records"])) == {"embedding_size": "hidden_size"}
    tried, sizes = trials("SqueezeBertForMaskedLM", "squeezebert"), ("num_attention_heads", "hidden_size")
    few = {"num_hidden_layers": 2}
    expected = [HeadDivisor("num_attention_heads", "hidden_size", builds=False)]
    assert [*HeadDivisors(tried, sizes, few, runs=False, ties=ties).found()] == expected
    assert [*HeadDivisors(tried, sizes, few, runs=False).found()] == []


# Each with a width that its heads do not divide, by default or as given: torch raises an error for the config.
REJECTED: Mapping[str, dict[str, Any]] = {
    "Wav2Vec2Model": {"model_type": "wav2vec2", "hidden_size": 640},  # 12 heads; other models run 80 groups of 8
    "BartForSequenceClassification": {"model_type": "bart", "encoder_attention_heads": 24},  # 1,024
    "BertLMHeadModel": {"model_type": "bert", "hidden_size": 640},  # 12 heads
    "GLPNModel": {"model_type": "glpn", "hidden_sizes": [32, 64, 168, 256]},  # 5 heads of the third stage
    "AudioFlamingo3Encoder": {"model_type": "audioflamingo3_encoder", "num_attention_heads": 24},  # 1,280
    "AriaForConditionalGeneration": {
        "model_type": "aria",
        "text_config": {"num_attention_heads": 24, "head_dim": 8},
    },  # 4,096
    "ArceeForCausalLM": {"model_type": "arcee", "head_dim": 81},
    "SqueezeBertForMaskedLM": {
        "model_type": "squeezebert",
        "hidden_size": 768,
        "embedding_size": 768,
        "num_attention_heads": 7,
    },
}


@pytest.mark.parametrize("name", REJECTED)
def test_the_catalogue_refuses_heads_that_torch_rejects(name: str) -> None:
    config = {"architectures": [name], **REJECTED[name]}
    assert not torch_builds(config)
    assert find(config) is None
    assert " is not a multiple of " in refusal_reason(config)


def test_groups_of_heads_that_torch_cannot_run_still_have_parameters() -> None:
    """32 query heads and 12 pairs of keys and values can be stored, but not multiplied."""
    known = find({"model_type": "arcee", "architectures": ["ArceeForCausalLM"], "num_key_value_heads": 12})
    assert known is not None
    model = model_of_records("config.json", known)
    assert model.params.value() > 0
    with pytest.raises(CatalogueError, match="A=32 is not a multiple of G=12"):
        model.formula("flops")
