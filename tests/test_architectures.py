"""Whole models: published totals, rows computed by hand, and every preset."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from sympy import Integer, diff

import symformer as sf
from symformer.architectures import (
    architecture,
    architecture_class,
    names,
    preset_on_hub,
    presets,
    presets_of,
    variants,
)
from symformer.components import component_class
from symformer.components import names as components
from symformer.components.base import Component
from symformer.language.registry import Registry
from symformer.language.symbols import E, H, L, Z, letter, symbol
from symformer.language.target import TargetKind, parse
from symformer.papers import cited_papers, papers

from .models import cases
from .samples import sampled

TOTALS = [total for case in cases().values() for total in case.totals]
ROWS = {target: rows for case in cases().values() for target, rows in case.rows.items()}


@pytest.mark.parametrize(("target", "options", "total"), TOTALS)
def test_published_totals(target: str, options: dict[str, object], total: int) -> None:
    assert architecture(target, **options).params.value() == total


@pytest.mark.parametrize("target", ROWS)
def test_rows_match_hand_computed_values(target: str) -> None:
    model = architecture(target)
    found = {row.path: int(row.each.xreplace(model.known)) for row in model.params.rows}
    assert found == ROWS[target]
    assert list(found) == list(ROWS[target])  # in execution order


def test_gpt2_parts_match_raschka() -> None:
    """Raschka 2024, section 4.5: 2,360,064 in attention, 4,722,432 in the MLP, 7,085,568 in a block."""
    params = architecture("gpt-from-scratch").params
    assert params.part("trf_blocks.att").value() == 2_360_064
    assert params.part("trf_blocks.ff").value() == 4_722_432
    assert params.part("trf_blocks.norm1").value() + params.part("trf_blocks.norm2").value() == 3_072
    assert params.part("trf_blocks").value() == 7_085_568


def test_bert_large_embeddings_by_hand() -> None:
    """(30522 + 2 + 512)*1024 + 2*1024."""
    params = architecture("bert-large-uncased").params
    words = ("word_embeddings", "token_type_embeddings", "position_embeddings", "LayerNorm")
    assert sum(params.part(f"embeddings.{word}").value() for word in words) == 31_782_912


def test_layer_matches_the_bare_bones_transformer() -> None:
    params = architecture("bare-bones-transformer-lm").params
    assert params.part("layer").value({"E": 5, "H": 5}) == 200
    assert params.part("layer.attention").value() == 120
    assert params.part("layer.norm_1").value() == 10
    assert params.part("layer.mlp").value() == 181
    assert architecture("feed-forward-lm").params.part("embedding").value() == 1_280


def test_gpt2_parameter_polynomial() -> None:
    params = sf.architecture("gpt2").params
    assert params.text() == "12LE² + 13LE + VE + PE + 2E"
    assert params.code() == repr(params) == "12*L*E**2 + 13*L*E + V*E + P*E + 2*E"
    assert params._repr_latex_() == "$12 L E^{2} + 13 L E + V E + P E + 2 E$"
    assert params.value("gpt2-xl") == 1_557_611_200


def test_mixtral_active_parameters() -> None:
    """Mixtral 8x7B, 12.9B in the paper: all but 6 of 8 experts of 3 matrices 4096x14336 in each of 32 layers."""
    active = architecture("mixtral-8x7b").formula("active-params").value()
    assert active == 46_702_792_704 - 32 * 6 * 3 * 4_096 * 14_336 == 12_879_925_248
    # 58 layers without 248 of 256 experts of 3 matrices 7168x2048
    deepseek = architecture("deepseek-v3").formula("active-params").value()
    assert deepseek == 671_026_419_200 - 58 * 256 - 58 * 248 * 3 * 7_168 * 2_048
    # Without 124 of 128 experts, and 28 of 32, with their biases: 2880 to twice 2880 and back. The model card states
    # 5.13B and 3.61B, without the embedding of 201088 rows.
    expert = 3 * 2_880 * 2_880 + 3 * 2_880
    for target, total, idle, card in (
        ("gpt-oss-120b", 116_829_156_672, 36 * 124, "5.13"),
        ("gpt-oss-20b", 20_914_757_184, 24 * 28, "3.61"),
    ):
        active = architecture(target).formula("active-params").value()
        assert active == total - idle * expert
        assert f"{(active - 201_088 * 2_880) / 1e9:.2f}" == card
    # 26 layers without 58 of 64 experts of 3 matrices 2048x1408
    lite = architecture("deepseek-v2-lite").formula("active-params").value()
    assert lite == 15_706_484_224 - 26 * 58 * 3 * 2_048 * 1_408
    for target in ("gpt2", "llama-2-7b", "mamba-130m"):
        model = architecture(target)
        assert model.formula("active-params").equals(model.params)


@pytest.mark.parametrize("target", ["gpt2", "llama", "palm", "bert", "gpt-from-scratch", "mistral", "mixtral"])
def test_adding_a_layer_adds_one_block(target: str) -> None:
    params = architecture(target).params
    (block,) = [line.key for line in params.root.lines if line.count == L]
    assert diff(params.expanded, L) == params.part(block).expanded


def test_explicit_width_overrides_the_relation() -> None:
    wide = architecture("gpt2").set({H: Integer(5_000)})
    # per layer 2*768*5000 + 5000 + 768 instead of 2*768*3072 + 3072 + 768
    assert wide.params.value() == 124_439_808 + 12 * (2 * 768 + 1) * (5_000 - 3_072)
    assert "L*E*H" in wide.params.code()
    same = architecture("gpt2").set({H: Integer(3_072)})
    assert same.params.code() == architecture("gpt2").params.code()


def test_leading_terms_of_gpt2_and_llama() -> None:
    leading = architecture("gpt2").params.leading()
    assert leading.expr == 12 * L * E**2
    numbers = architecture("gpt2").known
    assert leading.omitted_share(numbers) == 1 - Fraction(12 * 12 * 768**2, 124_439_808)
    assert repr(architecture("llama").params.leading()) == "2*L*E*A*D + 2*L*E*G*D + 3*L*E*H"


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_complete_and_has_a_source(name: str) -> None:
    model, facts = architecture(name), presets()[name]
    known = {"architecture", "options", "sizes", "hub", "also", "source", "params", "weights", "rope"}
    assert facts.keys() <= known | {"layers", "positions"}
    assert model.params.value() > 0
    assert len(facts["source"]) > 10
    run = {size for size in model.sizes if letter(size).run or (size == Z and model.component.witness.each_image)}
    assert set(model.known) >= set(model.sizes) - run  # a model for images of any size has no image size
    assert model.known.keys() >= set(map(symbol, facts["sizes"]))  # without sizes that these options do not use
    # Published totals with their source: llmfit lists the contents of the safetensors files on the Hub.
    for counted_by, count in facts.get("params", {}).items():
        assert model.params.value() == count, counted_by


def test_published_model_names_are_presets() -> None:
    assert sum("hub" in facts for facts in presets().values()) >= 300
    assert sum("params" in facts for facts in presets().values()) >= 200
    assert all(parse(name).kind is TargetKind.NAME and name == name.lower() for name in presets())


def test_each_hub_repository_has_one_preset() -> None:
    ids = [each for facts in presets().values() for each in (facts.get("hub"), *facts.get("also", ())) if each]
    assert all(parse(each).kind is TargetKind.HUB for each in ids)
    assert len({each.lower() for each in ids}) == len(ids)
    for name, facts in presets().items():
        for each in (facts.get("hub"), *facts.get("also", ())):
            assert each is None or preset_on_hub(each) == preset_on_hub(each.upper()) == name
    assert preset_on_hub("somebody/something") is None


@pytest.mark.parametrize("name", names())
def test_every_architecture_has_a_description(name: str) -> None:
    made_by = architecture_class(name)
    assert ">>>" in (made_by.__doc__ or "")
    assert made_by().about
    assert presets_of(name), "a preset, so that its documents have numbers"
    totals = [target for target, _, _ in cases()[name].totals]
    assert any(target in presets() for target in totals)
    assert {presets()[target]["architecture"] if target in presets() else target for target in totals} == {name}
    assert len({tuple(model.component.changed_options.items()) for model in variants(architecture(name))}) == len(
        made_by.variants
    )


def test_every_cited_paper_is_in_the_bibliography() -> None:
    named = {key for name in names() for key in cited_papers([architecture(name).component.about])}
    named |= {key for name in components() for key in cited_papers([component_class(name)().about])}
    assert len(named) > 20
    assert named <= papers().keys()
    for key, paper in papers().items():
        assert re.search(r"(19|20)\d\d", key)
        assert str(paper.year) in key
        assert paper.bibtex().count("{") == paper.bibtex().count("}")
        assert paper.bibtex().isascii()


def test_file_without_a_component_is_refused() -> None:
    with pytest.raises(sf.SymformerError, match="should define one Component; it defines 0"):
        Registry("symformer.language", Component).load("errors")


def test_unknown_names_are_refused_with_suggestions() -> None:
    with pytest.raises(sf.SymformerError, match="did you mean gpt2"):
        architecture("gpt-2")
    with pytest.raises(sf.SymformerError, match=r"unknown option 'teid' of|unknown option 'teid'; did you mean tied"):
        architecture("gpt2", teid=False)
    with pytest.raises(sf.SymformerError, match=r"unknown part 'h.atn'; did you mean h.attn"):
        architecture("gpt2").params.part("h.atn")
    with pytest.raises(sf.SymformerError, match="'llama-2-7b' is a llama, not a gpt2"):
        architecture("gpt2").params.value("llama-2-7b")
    with pytest.raises(sf.SymformerError, match=r"is a llama with head=lm, tied=true, .* for head=lm, tied=false"):
        architecture("llama").params.value("llama-3.2-1b")
    with pytest.raises(sf.SymformerError, match="unknown quantity 'flosp'; did you mean flops"):
        architecture("gpt2").formula("flosp")


@pytest.mark.parametrize("name", sampled(3, names()))
def test_part_ids_are_unique(name: str) -> None:
    for variant in variants(architecture(name)):
        keys = [line.key for line in variant.params.root.walk()]
        assert len(set(keys)) == len(keys) > 1


def test_matrices_with_equal_names_get_different_symbols() -> None:
    """BERT's MLP has two matrices named dense: the first with H rows of E and a bias, the second with E rows of H."""
    bert = architecture("bert").params
    assert bert.part("encoder.layer.mlp.intermediate.dense").equals("E*H + H")
    assert bert.part("encoder.layer.mlp.output.dense").equals("E*H + E")


@pytest.mark.parametrize("name", names())
def test_no_row_is_named_after_a_part_with_several_rows(name: str) -> None:
    """A sink logit or a decay is a parameter of the part itself, and its row has its own name."""
    params = architecture(name).params
    several = {part.path for part in params.root.parts() if sum(line.each != 0 for line in part.lines) > 1}
    assert not several & {row.path for row in params.rows if row.each != 0}
