"""Config fields of traced models have letters by rule: short, unique, and accepted next to the field."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

import symformer as sf
from symformer import architectures
from symformer.catalogue import diffusers_models, entries
from symformer.catalogue.codec import from_data
from symformer.catalogue.record import Record
from symformer.language.errors import SizeError, SymformerError
from symformer.language.letter_rules import letters_of_fields, meaning_of_field, other_names
from symformer.language.symbols import FORMER, LETTERS, MEASURES, SYMBOLS, letter, named_symbol, symbol

NAME = re.compile(r"[A-Z](_[a-z0-9]+)*")

# Statements of the papers.
EXPECTED = {
    "linear_num_key_heads": "A_k_lin",
    "linear_num_value_heads": "A_v_lin",
    "linear_key_head_dim": "D_k_lin",
    "linear_conv_kernel_dim": "K_conv",
    "mamba_d_state": "N_state",
    "num_attention_heads": "A",
    "text_config.num_key_value_heads": "G",
    "vision_config.num_hidden_layers": "L_vis",
    "vision_config.patch_size": "Z_patch",
    "audio_config.d_model": "E_aud",
    "decoder_ffn_dim": "H_dec",
    "encoder_attention_heads": "A_enc",
    "o_lora_rank": "R_out",
    "index_head_dim": "D_idx",
    "depths[2]": "L_2",
    "hidden_size_per_layer_input": "E_pli",
    "spatial_merge_size": "J_merge",
    "window_size": "C_w",
}


def test_fields_have_the_letters_of_the_papers() -> None:
    assert letters_of_fields(list(EXPECTED)) == EXPECTED


def test_every_size_of_the_catalogue_has_a_short_letter_of_its_own() -> None:
    sets = [entries.letters(kept) for name, kind in entries.classes() for kept in entries.variants(name, kind)]
    for name in diffusers_models.classes():
        kept = diffusers_models.find_class(name)
        assert kept is not None
        sets += [letters_of_fields(formula["letters"]) for formula in kept.formulas]
    assert len(sets) > 600
    mixed = random.Random(0)  # noqa: S311
    for found in sets:
        assert len({*found.values()}) == len(found)
        for field, own in found.items():
            assert NAME.fullmatch(own), (field, own)
            assert own in LETTERS or len(own.replace("_", "")) <= 8, (field, own)
            assert own not in MEASURES
            assert field == own or own not in LETTERS or not LETTERS[own].run, (field, own)  # B, S, R, C_q
            assert not re.search(r"_b\d", own), (field, own)  # the last resort of the rule
        fields = mixed.sample(sorted(found), len(found))
        assert letters_of_fields(fields) == found  # whatever the order
        names = other_names(found)
        assert all(names[field] == own for field, own in found.items() if field != own)


def test_no_letter_of_the_alphabet_or_of_a_built_in_model_is_long() -> None:
    """Letters and digits count, as in the subscript that a formula prints."""
    sizes = {str(size) for name in architectures.names() for size in sf.architecture(name).sizes}
    assert sizes <= LETTERS.keys()
    assert {own for own in {*sizes, *LETTERS} if len(own.replace("_", "")) > 8} == set()


def test_former_letters_are_accepted() -> None:
    """The letters were renamed because they had more than eight characters, or to agree with those."""
    for old, new in FORMER.items():
        assert old not in LETTERS
        assert symbol(old) == SYMBOLS[new]
    jamba = sf.model("jamba-v0.1")
    assert jamba.set({"L_ssm_dense": 5}) == jamba.set({"L_ssm_d": 5})
    with pytest.raises(SizeError, match="L_ssm_d is given twice"):
        jamba.set({"L_ssm_dense": 5, "L_ssm_d": 5})
    found = sf.sweep(jamba, {"L_ssm_dense": [5, 7]}, filters=["L_ssm_dense > 5"])
    assert [*found.table()["L_ssm_d"]] == [7]
    # L_ssm and L_dense are the sums of L_ssm_d with L_moe and with L_attn.
    said = str(sf.model("jamba").params).replace("L_dense", "(L_ssm_dense + L_attn)")
    assert sf.check(said, against="jamba").verdict == "equal"


def test_a_letter_depends_on_other_fields_only_if_they_have_the_same() -> None:
    own = ["hidden_size", "num_hidden_layers", "vision_config.hidden_size", "vision_config.depth"]
    alone = letters_of_fields(own)
    more = letters_of_fields([*own, "audio_config.hidden_size", "text_config.hidden_size", "window_size"])
    assert {field: more[field] for field in own} == alone
    assert more["text_config.hidden_size"] == "E_txt"  # E is the hidden_size at the top level


@pytest.mark.parametrize("name", ["Qwen3NextForCausalLM.qwen3_next", "FlavaModel.flava"])
def test_formulas_are_those_of_the_file_with_other_letters(name: str) -> None:
    """The file names sizes by fields. At random sizes, the formulas have the same value."""
    data = json.loads((Path(entries.FOLDER) / f"{name}.json").read_text("utf-8"))
    stored: Record = from_data(Record, data["records"]["params"])
    found = entries.finder(entries.read(data), entries.ConfigMatch({}))("params")
    drawn = random.Random(1)  # noqa: S311
    sizes = {field: 60 * drawn.randint(2, 9) for field in stored.letters}
    values = [
        each.counted.total.xreplace({named_symbol(own): sizes[field] for field, own in each.letters.items()})
        for each in (stored, found)
    ]
    assert values[0] == values[1]
    assert found.letters != stored.letters


def test_no_output_of_a_traced_model_has_a_long_name() -> None:
    formula = sf.model("hf:qwen3_next").params
    for written in (formula.code(), formula.text(), formula.latex(), formula.typst(), str(formula.rows.table())):
        assert "linear_num_value_heads" not in written
    assert r"A_{\mathrm{v,lin}}" in formula.latex()
    assert max(len(each.replace("_", "")) for each in re.findall(r"[A-Za-z_]+", formula.code())) <= 8


def test_a_size_can_be_given_by_its_letter_or_its_field() -> None:
    model = sf.model("hf:gemma3")
    by_letter = model.set({"E_vis": 40, "H_vis": 77})
    for field in ("vision_config.hidden_size", "vision_config_hidden_size"):
        assert model.set({field: 40, "H_vis": 77}) == by_letter
    sizes = {"L": 2, "E": 6, "H": 7, "A": 3, "G": 1, "D": 2, "V": 11, "L_vis": 1, "E_vis": 8, "H_vis": 5}
    sizes |= {"A_vis": 2} if any(str(size) == "A_vis" for size in model.sizes) else {}
    sizes |= {"Z": 28, "Z_patch": 14, "N_chan": 3}
    fields = {str(size): model.field_of(size) for size in model.sizes}
    assert fields["Z_patch"] == "vision_config.patch_size"
    spelled = {fields.get(name) or name: value for name, value in sizes.items()}
    assert spelled != sizes
    assert model.params.value(spelled) == model.params.value(sizes)
    with pytest.raises(SizeError, match="E_vis is given twice"):
        model.set({"E_vis": 40, "vision_config.hidden_size": 40})
    with pytest.raises(SymformerError, match=r"unknown symbol 'audio_config\.hidden_size'"):
        model.set({"audio_config.hidden_size": 40})


def test_searches_accept_the_field() -> None:
    rwkv, sizes = sf.model("hf:rwkv"), {"L": 2, "E": 5, "H": 7, "V": 11}
    for name in ("attention_hidden_size", "E_attn"):
        found = sf.sweep(rwkv, {name: [24, 32]}, sizes=sizes, filters=[f"{name} > 24"], sort_by=f"max:{name}", limit=1)
        assert [*found.table()["E_attn"]] == [32]
        solved = sf.solve(rwkv, 1_000, unknowns=f"{name}=8:64:8", sizes=sizes, tolerance="20%")
        assert solved.to_json()["for"] == ["E_attn"]
        assert sf.sensitivity(rwkv)[name].size == named_symbol("E_attn")
        assert rwkv.params.compile()(**sizes, **{name: 24}) == rwkv.params.value(**sizes, E_attn=24)
        assert rwkv.params.diff(name).expanded == rwkv.params.diff("E_attn").expanded


def test_the_columns_of_a_file_are_letters_or_fields(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("note,attention_hidden_size,L\na,24,2\nb,32,3\n")
    found = sf.sweep(sf.model("hf:rwkv"), str(file), sizes={"E": 5, "H": 7, "V": 11})
    assert {name: [*column] for name, column in found.table().items() if name != "params"} == {
        "note": ["a", "b"],
        "E_attn": [24, 32],
        "L": [2, 3],
    }
    file.write_text("attention_hidden_size,E_attn\n24,24\n")
    with pytest.raises(SymformerError, match="two columns for E_attn, attention_hidden_size and E_attn"):
        sf.sweep(sf.model("hf:rwkv"), str(file), sizes={"E": 5, "H": 7, "V": 11, "L": 2})


def test_the_meaning_of_a_letter_outside_the_alphabet_is_that_of_its_field() -> None:
    model = sf.model("hf:rwkv")
    own = named_symbol("E_attn")
    assert model.field_of(own) == "attention_hidden_size"
    assert model.meaning(own) == meaning_of_field("attention_hidden_size") == "attention hidden size"
    assert not letter(own).word
    assert meaning_of_field("mask_decoder_config.iou_head_depth") == "iou head depth of the mask decoder"
