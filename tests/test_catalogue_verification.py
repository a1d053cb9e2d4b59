"""A catalogue entry that is wrong at some configs is limited to the others, or rejected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from symformer.catalogue.config_match import match_or_none
from symformer.catalogue.entries import FOLDER, finder, read
from symformer.catalogue.record import model_of_records
from symformer.language.errors import SizeError, WitnessError
from symformer.witness import catalogue_verification
from symformer.witness.catalogue_verification import CatalogueVerification
from symformer.witness.inert_fields import FieldTrials
from symformer.witness.transformers_classes import of_head

NAME = "BioGptForCausalLM"
USUAL = 4096  # the default of H in its configs
CONFIG = {"model_type": "biogpt", "architectures": [NAME]}


@pytest.fixture
def prover(monkeypatch: pytest.MonkeyPatch) -> CatalogueVerification:
    """Return a verification that needs few configs."""
    monkeypatch.setattr(catalogue_verification, "HELD", 12)
    source = of_head("biogpt", "causal")
    return CatalogueVerification(source, FieldTrials(source), {})


def entry() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{NAME}.biogpt.json").read_text())
    return found | {"option_effects": []}


@pytest.mark.exhaustive
def test_a_size_with_wrong_rows_is_pinned_to_its_default(prover: CatalogueVerification) -> None:
    """In the entry, one weight has the default of H as its width, for any H."""
    data = entry()
    counts = data["records"]["params"]["traced"]["counts"]
    (bias,) = (row for row in counts if row[0] == ["biogpt.layers.*.fc1.bias", ["H"]])
    bias[0] = [bias[0][0], [str(USUAL)]]
    found = prover.proved(data)
    assert found["switches"]["intermediate_size"] == USUAL
    kept = read(found)
    assert match_or_none(kept, CONFIG | {"intermediate_size": USUAL}) is not None
    assert match_or_none(kept, CONFIG | {"intermediate_size": 64}) is None
    at = match_or_none(kept, CONFIG | {"num_hidden_layers": 3})
    assert at is not None
    model = model_of_records(NAME, finder(kept, at))
    with pytest.raises(
        SizeError,
        match="H=64 is not 4,096; the formula was traced at 4,096 and holds for no other",
    ):
        model.params.value(H=64)
    (held,) = (each for each in model.provenance.reading.pinned if each.name == "intermediate_size")  # type: ignore[union-attr]
    assert held.value == USUAL
    assert found["config"]["constants"] == ["intermediate_size"]


@pytest.mark.exhaustive
def test_a_field_that_is_not_inert_is_pinned_to_its_default(prover: CatalogueVerification) -> None:
    data = entry()
    data["switches"].pop("tie_word_embeddings")
    data["config"]["inert"]["tie_word_embeddings"] = "bool"
    found = prover.proved(data)
    assert found["switches"]["tie_word_embeddings"] is True
    assert match_or_none(read(found), CONFIG | {"tie_word_embeddings": True}) is not None
    assert match_or_none(read(found), CONFIG | {"tie_word_embeddings": False}) is None


@pytest.mark.exhaustive
def test_an_entry_that_is_wrong_at_its_defaults_is_refused(prover: CatalogueVerification) -> None:
    data = entry()
    counts = data["records"]["params"]["traced"]["counts"]
    counts.append([["biogpt.nobody.weight", ["E"]], []])
    with pytest.raises(WitnessError, match=f"the entry of {NAME} is wrong at"):
        prover.proved(data)
