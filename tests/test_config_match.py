"""Configs that the catalogue must refuse: sizes at which its class was not traced, and patterns at another depth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from huggingface_hub.errors import StrictDataclassFieldValidationError
from transformers import ArceeConfig, FuyuConfig, LlavaConfig, Mistral3Config

import symformer as sf
from symformer.catalogue.config_match import find, match, match_or_none
from symformer.catalogue.entries import EACH, CatalogueEntry, find_entry
from symformer.language.errors import CatalogueError

ARCEE: dict[str, Any] = {"model_type": "arcee", "architectures": ["ArceeForCausalLM"], "hidden_size": 96}


def with_switches(**switches: Any) -> CatalogueEntry:
    """Return Arcee's entry as if its class had been traced only with these values of these fields."""
    kept = find_entry("ArceeForCausalLM", "arcee")
    assert kept is not None
    assert kept.config.sizes["num_hidden_layers"] == 32
    assert kept.config.list_depths == {"": "num_hidden_layers"}
    return replace(kept, switches={**kept.switches, **switches})


@pytest.mark.parametrize(
    ("fields", "answered"),
    [
        ({"num_attention_heads": 6}, True),  # 96/6 = 16
        ({"num_attention_heads": 6, "head_dim": 16}, True),
        ({"num_attention_heads": 3}, False),  # 96/3 = 32
        ({"num_attention_heads": 6, "head_dim": 32}, False),
    ],
)
def test_a_size_traced_at_one_value_is_not_answered_at_another(fields: dict[str, int], answered: bool) -> None:
    """Arcee's head dimension is E/A if a config omits it."""
    assert (match_or_none(with_switches(head_dim=16), {**ARCEE, **fields}) is not None) is answered


@pytest.mark.parametrize(
    ("layers", "listed", "answered"),
    [
        (32, ["near"] * 32, True),
        (32, ["near"] * 31 + ["far"], False),
        (4, ["near"] * 32, False),  # it is unknown which of the two the class builds
        (4, ["near"] * 4, False),
        (4, None, True),
    ],
)
def test_a_list_of_all_layers_matches_only_its_own_depth(layers: int, listed: list[str] | None, answered: bool) -> None:
    kept = with_switches(kinds=["near"] * 32)
    fields = {} if listed is None else {"kinds": listed}
    found = match_or_none(kept, {**ARCEE, "num_attention_heads": 6, "num_hidden_layers": layers, **fields})
    assert (found is not None) is answered


@pytest.mark.parametrize(
    ("layers", "listed", "answered"),
    [
        (5, ["near", "near", "far", "near", "near"], True),
        (2, ["near", "near"], True),
        (3, ["near", "near", "far"], True),
        (5, ["near", "far", "near", "near", "far"], False),
        (4, ["near", "near", "far"], False),
        (3, ["near", "near", "far", "near"], False),
        (2, ["near", "far"], False),
    ],
)
def test_a_repeating_pattern_matches_any_depth(layers: int, listed: list[str], answered: bool) -> None:
    kept = with_switches(kinds={EACH: ["near", "near", "far"]})
    found = match_or_none(kept, {**ARCEE, "num_attention_heads": 6, "num_hidden_layers": layers, "kinds": listed})
    assert (found is not None) is answered


@pytest.mark.parametrize("field", ["attention_bias", "mlp_bias"])
@pytest.mark.parametrize("value", [0, 1, 0.0])
def test_a_number_is_not_a_boolean(field: str, value: float) -> None:
    """Transformers refuses such a config, so the catalogue does not answer it."""
    with pytest.raises(StrictDataclassFieldValidationError, match="expected bool"):
        ArceeConfig(**{field: value})
    kept = with_switches()
    config = {**ARCEE, "num_attention_heads": 6}  # of 16 elements: rotary positions need an even number
    assert match_or_none(kept, {**config, field: False}) is not None
    assert match_or_none(kept, {**config, field: value}) is None


@pytest.mark.parametrize("stated", [{}, {"spatial_merge_size": 2}])
def test_a_stated_default_is_answered_like_an_omitted_one(stated: dict[str, int]) -> None:
    """Torch counts 23,340,272,640 parameters of Mistral3Model(Mistral3Config()), which merges 2 by 2 patches."""
    assert Mistral3Config().spatial_merge_size == 2
    config = {"model_type": "mistral3", "architectures": ["Mistral3Model"], **stated}
    assert find(config) is not None  # from the catalogue, so nothing is traced
    assert sf.model(config).params.value() == 23_340_272_640


@pytest.mark.parametrize("given", [{}, {"text_config": {"model_type": "mistral"}}])
def test_an_entry_for_another_part_is_not_used_without_that_part(given: dict[str, Any]) -> None:
    """The second entry of LLaVA has Pixtral's images; transformers builds CLIP's if a config has no vision_config."""
    assert LlavaConfig().vision_config.model_type == "clip_vision_model"
    pixtral = find_entry("LlavaForConditionalGeneration", "llava", 2)
    assert pixtral is not None
    assert pixtral.switches["vision_config.model_type"] == "pixtral"
    config = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], **given}
    with pytest.raises(CatalogueError, match="it has no vision_config"):
        match(pixtral, config)


@pytest.mark.parametrize(("closing", "answered"), [("", True), ("conv_layers", True), ("full_attention_layers", False)])
def test_a_list_that_must_end_with_one_kind_is_refused_with_another_end(closing: str, answered: bool) -> None:
    lfm2 = find_entry("Lfm2ForCausalLM", "lfm2", 2)
    assert lfm2 is not None
    kept = replace(lfm2, config=replace(lfm2.config, final_kind=closing))
    config = {"model_type": "lfm2", "architectures": ["Lfm2ForCausalLM"], "num_hidden_layers": 3}
    listed = ["full_attention", "conv", "conv"]
    assert (match_or_none(kept, {**config, "layer_types": listed}) is not None) is answered


@pytest.mark.parametrize(
    ("fields", "answered"),
    [
        ({"hidden_size": 4096, "qk_layernorm": True, "hidden_act": "relu2"}, True),  # equal to the part's defaults
        ({"hidden_size": 1024}, False),  # FuyuConfig ignores it and builds its part with 4096
        ({"qk_layernorm": False}, False),
        ({"text_config": {"model_type": "persimmon", "hidden_size": 1024}, "hidden_size": 1024}, True),
        ({"text_config": {"model_type": "persimmon", "hidden_size": 1024}, "hidden_size": 4096}, False),
    ],
)
def test_a_field_beside_the_part_that_has_it_must_be_equal(fields: dict[str, Any], answered: bool) -> None:
    """FuyuConfig reads fields of its text_config at the top level only if a config has no text_config."""
    kept = find_entry("FuyuForCausalLM", "fuyu")
    assert kept is not None
    config = {"model_type": "fuyu", "text_config": {"model_type": "persimmon"}, **fields}
    assert (match_or_none(kept, config) is not None) is answered
    text = FuyuConfig(**{name: value for name, value in config.items() if name != "model_type"}).text_config
    built = FuyuConfig(text_config=config["text_config"]).text_config
    assert (text.hidden_size, text.qk_layernorm) == (built.hidden_size, built.qk_layernorm)
