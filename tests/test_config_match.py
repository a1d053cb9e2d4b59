"""Configs that the catalogue must refuse: sizes at which its class was not traced, and patterns at another depth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from symformer.catalogue.config_match import match_or_none
from symformer.catalogue.entries import EACH, CatalogueEntry, find_entry

ARCEE: dict[str, Any] = {"model_type": "arcee", "architectures": ["ArceeForCausalLM"], "hidden_size": 96}


def with_switches(**switches: Any) -> CatalogueEntry:
    """Return Arcee's entry as if its class had been traced only with these values of these fields."""
    kept = find_entry("ArceeForCausalLM", "arcee")
    assert kept is not None
    assert kept.entry.sizes["num_hidden_layers"] == 32
    assert kept.entry.depths == {"": "num_hidden_layers"}
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
    """Arcee's head dimension is E/A where a config leaves it out."""
    assert (match_or_none(with_switches(head_dim=16), {**ARCEE, **fields}) is not None) is answered


@pytest.mark.parametrize(
    ("layers", "listed", "answered"),
    [
        (32, ["near"] * 32, True),
        (32, ["near"] * 31 + ["far"], False),
        (4, ["near"] * 32, False),  # it is unknown which of them the class builds
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
