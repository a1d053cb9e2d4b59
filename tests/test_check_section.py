"""The section on the check against torch: its numbers can be recomputed, and its sentences hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import symformer as sf
from symformer import architectures, certificates
from symformer.certificates import Certificate, certificates_of
from symformer.documents.derivation_document import document
from symformer.documents.verification import WHOLE_ONLY, certificate_blocks
from symformer.output.blocks import Paragraph, Table, lines, plain
from symformer.views.example_facts import LISTED
from symformer.witness.certification import checks


def certificate(id: str) -> Certificate:
    return next(each for each in certificates_of(id.partition(".")[0]) if each.id == id and not each.options)


def told(found: Certificate) -> tuple[str, dict[str, str]]:
    """Return the paragraph of a certificate, and the facts of its table."""
    said, facts = certificate_blocks(found, "This formula")
    assert isinstance(said, Paragraph)
    assert isinstance(facts, Table)
    return plain(said.line), {plain(name): plain(value) for name, value in facts.rows}


def test_the_bound_of_every_certificate_follows_from_the_printed_numbers() -> None:
    cases = {
        (each["degree"], each["largest"], each["points"], each["bound"]): each
        for name in architectures.names()
        if (place := Path(certificates.__file__).parent / f"{name}.json").is_file()
        for each in json.loads(place.read_text("utf-8"))
    }
    assert len(cases) > 100
    for (degree, largest, points, bound), facts in cases.items():
        fields = {name: fact for name, fact in facts.items() if name != "rests"}
        found = Certificate(**{**fields, "depths": tuple(facts["depths"])})
        said, table = told(found)
        _, probable, rest = said.partition("differ with probability at least ")
        distinct = float(rest.partition(". ")[0]) if probable else 1
        computed = (degree / (largest * distinct)) ** points
        assert computed == pytest.approx(bound, rel=0.03)  # both sides have two or three digits
        digits, exponent = plain_power(table["Bound"])
        assert re.fullmatch(r"[1-9]\.\d", digits)
        assert 0 <= float(digits) - computed / 10.0**exponent < 0.1  # rounded up to two digits
        assert 0 < distinct <= 1


def plain_power(shown: str) -> tuple[str, int]:
    digits, _, power = shown.partition(" × 10")
    return digits, int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")).strip("^()"))


def test_the_probability_of_distinct_sizes_is_that_of_the_plan() -> None:
    planned = next(check for check in checks(sf.model("gpt2")) if check.claims[0].quantity == "params").planned
    assert certificate("gpt2.params").distinct == pytest.approx(float(planned.distinct), abs=2e-3)


@pytest.mark.parametrize(
    ("id", "sentences"),
    [
        ("gpt2.params", ["The count is affine in L, so two values of it determine the count."]),
        (
            "nemotron-h.params",
            [
                "The count is a sum over layers, so it is affine in the depths together; one setting and one change of "
                "each depth determine it.",
                "The count is at most quadratic in K_conv, so three values of it suffice.",
            ],
        ),
        # the periods of its layers cannot give one change of each depth; see PeriodicLayers.tested
        ("jamba.params", ["affine in the depths together; these settings determine it."]),
    ],
)
def test_the_settings_determine_the_count(id: str, sentences: list[str]) -> None:
    said, _ = told(certificate(id))
    assert all(each in said for each in sentences)
    assert "affine in each depth" not in said


def test_points_settings_and_weights_are_defined() -> None:
    said, facts = told(certificate("nemotron-h.params"))
    assert (
        "For each of these settings, the formula was compared at 6 points, which are random choices of all other sizes."
        in said
    )
    assert "18 stored weights by name and shape, each name counted once for all layers, and the total" in said
    assert facts["Points"] == (
        "6 random points for each choice of (L_ssm, L_attn, L_mlp) from (2, 3, 4), (5, 3, 4), (2, 5, 4), (2, 3, 5); "
        "K_conv from 7, 8, 9"
    )


def test_the_checked_presets_and_those_with_the_formula_are_counted_consistently() -> None:
    """The config.json of granite-3b-code-base and granite-8b-code-base have attention and MLP biases, as no others."""
    said = [*map(plain, lines(document(sf.model("llama"), ["params"], "0").blocks))]
    (sharing,) = [line for line in said if line.endswith("symformer list --presets.")]
    more, total = map(int, re.findall(r"\d+", sharing))
    assert total == more + LISTED
    assert f"{total + 2} presets at full size, each compared with the formula of its own options: all {total} with" in (
        " ".join(said)
    )
    assert any("granite-8b-code-base and granite-3b-code-base with other options" in line for line in said)


def short_form_of(target: str) -> str:
    found = document(sf.model(target), ["params"], "0", form="short").blocks
    *_, said = [plain(block.line) for block in found if isinstance(block, Paragraph)]
    return said


def test_the_short_form_states_points_for_each_setting() -> None:
    """The sampling plan of GPT-2 has two depths, the plan of Qwen3-VL four settings of depths by five of J_merge."""
    beginning = ": each weight by name and shape, and the total, at "
    for target, settings in (("gpt2", "2 depths"), ("qwen3-vl", "20 settings of the depths and a few other sizes")):
        said = short_form_of(target)
        assert beginning in said
        ending = f" random choices of the sizes, for each of {settings}. A formula that differs there would have passed"
        assert ending in said


def test_the_share_of_a_rank_has_the_check_of_the_whole_model_only() -> None:
    found = document(sf.model("llama-3-8b"), ["params"], "0", tensor="on")
    assert found.subtitle.endswith(
        "; the formula of the whole model is checked against torch; its division over ranks is not."
    )
    assert WHOLE_ONLY in [plain(block.line) for block in found.blocks if isinstance(block, Paragraph)]


@pytest.mark.parametrize(
    ("target", "required"),
    [
        ("llama-3-8b", "; the class requires that E is a multiple of A"),  # transformers: validate_architecture
        ("gpt2", ""),  # the formula itself needs it
    ],
)
def test_conditions_of_the_class_alone_are_stated(target: str, required: str) -> None:
    blocks = document(sf.model(target), ["params"], "0").blocks
    rows = [row for block in blocks if isinstance(block, Table) for row in block.rows]
    (sizes,) = [plain(row[1]) for row in rows if plain(row[0]) == "Sizes"]
    assert sizes.partition("all sizes distinct")[2] == required
