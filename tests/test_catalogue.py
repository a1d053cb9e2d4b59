"""The catalogue answers a config without torch as torch does, or not at all.

A few random configs of a few classes run by default. ``SHELF`` in the environment sets the number of configs for every
class, and ``SEED`` the seed. ``python -m tests.test_catalogue 1000`` prints how many of 1,000 random configs are
answered.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import pytest
import transformers
from click.testing import CliRunner
from sympy import expand

import symformer as sf
from symformer import witness
from symformer.catalogue import entries
from symformer.catalogue.config_match import find, match_or_none, refusal_reason
from symformer.catalogue.entries import COMMON, FOLDER, LIVE, TYPES, OptionEffect
from symformer.catalogue.measured_model import STORED
from symformer.catalogue.record import OPERATIONS, model_of_records
from symformer.commands.cli import cli
from symformer.configs.common_fields import INERT
from symformer.configs.config_json import read_config
from symformer.language.arithmetic import parse
from symformer.language.errors import CatalogueError, SymformerError
from symformer.language.symbols import LETTERS, A, D, E, G, H, L, V
from symformer.witness.fields_read import names_looked_up
from symformer.witness.inert_fields import inert_subset, other_values
from symformer.witness.measured_points import session
from symformer.witness.model_calls import call_spec, caller_for
from symformer.witness.run_traces import RUNS
from symformer.witness.torch_session import Session
from symformer.witness.transformers_classes import TracedClass, of_config

FEW = 8  # classes that run by default
EACH = int(os.environ.get("SHELF", "2"))  # configs per class
SEED = int(os.environ.get("SEED", "1"))
KNOWN = entries.classes()
CLASSES = KNOWN if "SHELF" in os.environ else random.Random(SEED).sample(KNOWN, min(FEW, len(KNOWN)))  # noqa: S311
TIMES = (1, 2, 3)
RUN = {"B": 3, "B_vis": 2, "S": 37, "S_enc": 41}


def some(default: Mapping[str, Any], draw: random.Random) -> dict[str, Any]:
    """Return fields as people write them: some sizes, some omitted, some switches set; a whole part with changes."""
    found: dict[str, Any] = {}
    for field, value in default.items():
        if field in INERT or field.endswith("_token_id"):
            continue
        if type(value) is int and value > 1 and draw.random() < 0.7:
            small = value if value < 16 else value // draw.choice((2, 4))
            found[field] = small * draw.choice(TIMES)
        elif isinstance(value, bool) and draw.random() < 0.3:
            found[field] = draw.random() < 0.5
        elif isinstance(value, float) and draw.random() < 0.2:
            found[field] = value / 2
        elif isinstance(value, dict) and "model_type" in value and draw.random() < 0.6:
            found[field] = {**value, **some(value, draw)}
    return found


def drawn(name: str, model_type: str, draw: random.Random) -> dict[str, Any]:
    """Return a config of a class."""
    beside = {"model_type": model_type, "architectures": [name]}
    source = of_config(beside, "config.json")
    own = some(source.config({}).to_dict(), draw)
    return {**beside, source.part: own} if source.part else {**own, **beside}


def made(config: Mapping[str, Any]) -> tuple[TracedClass, Session] | None:
    """Return the model that transformers builds from a config on meta, or None."""
    source = of_config(config, "config.json")
    fields = {field: value for field, value in source.own(config, "config.json").items() if field != "architectures"}
    try:
        at = session(lambda point: source.build(fields), {})
        at.model()
    except Exception:
        return None
    return source, at


def answered(config: Mapping[str, Any]) -> bool | None:
    """Return whether the catalogue's answer equals torch's, or None for a config that transformers rejects."""
    torchs, known = made(config), find(config)
    if torchs is None:
        return None
    if known is None:
        return False
    source, at = torchs
    try:
        model = model_of_records("config.json", known)
    except SymformerError:
        return False  # sizes that do not fit, according to the trace
    theirs = sum(map(prod, at.stored().values()))
    assert theirs
    assert model.params.value() == theirs, (SEED, config)
    try:
        formula = model.formula("flops")
        value = formula.value(**{size: RUN[size] for size in map(str, formula.symbols) if size in RUN})
    except SymformerError:
        return True
    try:
        counter = at.flops(partial(caller_for(call_spec(source), RUNS["flops"]), point=RUN))
    except Exception:  # sizes with which it can be built but not run
        return True
    assert value == counter.get_total_flops() > 0, (SEED, config)
    return True


@pytest.mark.parametrize(("name", "model_type"), CLASSES)
def test_catalogue_matches_torch_on_configs(name: str, model_type: str) -> None:
    draw = random.Random(f"{SEED}{name}{model_type}")  # noqa: S311
    told = [answered(drawn(name, model_type, draw)) for _ in range(EACH)]
    if EACH >= 30:
        assert any(told)


def test_the_catalogue_has_at_least_530_classes() -> None:
    assert len(KNOWN) >= 530
    for name, model_type in KNOWN:
        kept = entries.find_entry(name, model_type)
        assert kept is not None
        assert (kept.config.name, kept.config.model_type) == (name, model_type)
        assert {STORED} <= {*kept.records} <= {STORED, OPERATIONS}
        assert kept.config.versions.keys() == {"torch", "transformers"}


def _names(data: Any, said: bool = False) -> Iterator[str]:
    """Yield the texts in the conditions and shapes of stored data."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key not in ("letters", "places", "because", "is", "remedy"):
                yield from _names(value, said or key in ("conditions", "shape"))
    elif isinstance(data, list):
        for each in data:
            yield from _names(each, said)
    elif isinstance(data, str) and said:
        yield from re.findall(r"[A-Za-z_]\w*", data)


def test_every_stored_letter_is_assigned_to_a_field() -> None:
    everywhere = {name for name, letter in LETTERS.items() if not letter.word} | {"floor", "ceil", "Max", "Min"}
    kept = [place for place in FOLDER.glob("*.json") if place.name not in (COMMON, LIVE, TYPES)]
    assert len(kept) > 500
    for place in kept:
        data = json.loads(place.read_text("utf-8"))
        for records in (data["records"], *(turn["records"] for turn in data["option_effects"])):
            for quantity, each in records.items():
                whose = {**data["records"].get(quantity, {}).get("letters", {}), **each["letters"]}
                assert {*_names(each)} <= everywhere | {*whose.values()}, (place.name, quantity)


ARCEE = {"model_type": "arcee", "architectures": ["ArceeForCausalLM"], "num_hidden_layers": 5}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make any use of torch fail."""

    def asked(name: str = "") -> Any:
        raise AssertionError("torch was requested")

    monkeypatch.setattr(witness, "torch_side", asked)


def test_named_sizes_are_known_in_a_fresh_process() -> None:
    """In a process without registered letters: an expression over mamba_d_ssm is printed with that name."""
    asked = {"model_type": "falcon_h1", "architectures": ["FalconH1ForCausalLM"], "num_hidden_layers": 2}
    again = f"from symformer.catalogue.config_match import find; print(find({asked}) is not None)"
    assert subprocess.run([sys.executable, "-c", again], check=True, capture_output=True).stdout == b"True\n"


@pytest.mark.usefixtures("alone", "arcee_not_built_in")
def test_a_config_is_answered_without_torch(tmp_path: Path) -> None:
    place = tmp_path / "config.json"
    place.write_text(json.dumps({**ARCEE, "hidden_size": 96, "num_attention_heads": 6, "vocab_size": 97}))
    model = sf.model(str(place))
    assert model.provenance.by == "catalogue"
    # D = 96/6 = 16 and G = A = 6, which the config omits; H = 18,432 by default, and nothing is tied: 5·(4·96·96 +
    # 2·96·18,432 + 2·96) + 2·97·96 + 96 = 5·(36,864 + 3,538,944 + 192) + 18,624 + 96
    assert model.params.value() == 17_898_720
    assert model.formula("decode-flops").value(B=1, C=9) > 0


@pytest.mark.parametrize(
    "fields",
    [
        {"layer_types": 3},  # some code of the library reads it, but this class does not have it
        {"Nobody_knows": 3},
        {"num_attention_heads": None},
        {"num_attention_heads": True},
        {"num_attention_heads": 6.0},
        {"num_attention_heads": 7},  # of 2,560, so D would not be an integer
        {"hidden_size": 0},
        {"tie_word_embeddings": 1},
        {"attention_bias": None},
        {"hidden_act": "a_function"},
        {"rope_parameters": {"rope_type": "a_type"}},
        {"rope_parameters": {"partial_rotary_factor": 0.5, "rope_type": "default"}},
        {"rope_theta": "10000"},
        {"max_position_embeddings": -1},
        {"quantization_config": {"bits": 4}},
        {"model_type": "llama"},
        {"model_type": None},
        {"architectures": ["LlamaForCausalLM"]},
        {"architectures": ["../classes"]},
        {"architectures": ["_types"]},
        {"architectures": None, "model_type": "_types"},
        {"architectures": []},
        {"architectures": 7},
    ],
)
def test_configs_with_an_unknown_structure_are_not_answered(fields: dict[str, Any]) -> None:
    assert find(ARCEE) is not None
    assert find({**ARCEE, **fields}) is None


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {"layer_types": ["full"]},
            "the catalogue's formulas of ArceeForCausalLM do not cover this config: layer_types is [",
        ),
        ({"hidden_size": "768"}, "hidden_size is '768'"),
        ({"attention_bias": None}, "attention_bias is null"),
        ({"num_attention_heads": 7}, "it has no head_dim, and its default E/A is not an integer"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"model_type": "dbrx", "architectures": ["DbrxForCausalLM"]}, "the catalogue has no DbrxForCausalLM: trans"),
        ({"model_type": "nobodys"}, ""),
    ],
)
def test_the_reason_for_no_answer_is_stated(fields: dict[str, Any], why: str) -> None:
    assert refusal_reason(ARCEE) == ""
    found = refusal_reason({**ARCEE, **fields})
    assert why in found
    assert bool(found) == bool(why)


@pytest.mark.parametrize("turned", [(), ("mlp_bias",), ("attention_bias", "tie_word_embeddings")])
def test_changes_of_independent_switches_add_up(turned: tuple[str, ...]) -> None:
    config = {**ARCEE, "hidden_size": 96, "num_attention_heads": 6, "vocab_size": 97, **dict.fromkeys(turned, True)}
    known = find(config)
    assert known is not None
    # as above 17,898,720; a bias of the MLP adds H = 18,432 and E = 96 in each of 5 layers; one of the attention adds
    # 4E; and a tied head removes V·E
    more = {"mlp_bias": 5 * (18_432 + 96), "attention_bias": 5 * 4 * 96, "tie_word_embeddings": -97 * 96}
    model = model_of_records("config.json", known)
    assert model.params.value() == 17_898_720 + sum(more[name] for name in turned)
    said = "the effects of attention_bias and tie_word_embeddings were traced one at a time and added"
    assert (said in model.provenance.assumed) is (len(turned) == 2)


def test_changes_of_interacting_switches_are_not_added() -> None:
    """A pair that was traced together is answered; one that was not is refused, although each alone is known."""
    kept = entries.find_entry("ArceeForCausalLM", "arcee")
    assert kept is not None
    first, second, *_ = kept.option_effects
    both = {**first.fields, **second.fields}
    alone = match_or_none(kept, {**ARCEE, **first.fields})
    assert alone is not None
    assert match_or_none(kept, {**ARCEE, **both}) is not None
    meeting = replace(kept, option_effects=(*kept.option_effects, OptionEffect(fields=both, records={})))
    assert match_or_none(meeting, {**ARCEE, **first.fields}) == alone
    assert match_or_none(meeting, {**ARCEE, **both}) is None
    apart = replace(kept, config=replace(kept.config, single_switches=True))
    assert match_or_none(apart, {**ARCEE, **first.fields}) == alone
    assert match_or_none(apart, {**ARCEE, **both}) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"hidden_act": "silu", "rope_theta": 5e5, "rope_scaling": None, "max_position_embeddings": 8192},
        {"num_key_value_heads": None, "head_dim": None},
        {"eos_token_id": [1, 2], "transformers_version": "5.0", "torch_dtype": "bfloat16", "use_cache": True},
        {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0}},
        {"attention_bias": True},
        {"nobody_knows": 3, "no_line_of_code_asks_for_it": {"any": "thing"}},
    ],
)
def test_inert_fields_accept_any_value(fields: dict[str, Any]) -> None:
    known = find({**ARCEE, **fields})
    assert known is not None
    torchs = made({**ARCEE, **fields})
    assert torchs is not None
    assert model_of_records("config.json", known).params.value() == sum(map(prod, torchs[1].stored().values()))


@pytest.mark.usefixtures("arcee_not_built_in")
def test_a_config_without_a_class_uses_the_first_class_of_its_type(tmp_path: Path) -> None:
    place = tmp_path / "config.json"
    place.write_text(json.dumps({field: value for field, value in ARCEE.items() if field != "architectures"}))
    found = sf.model(str(place))
    assert found.provenance.by == "catalogue"
    assert found.provenance.assumed == ("no 'architectures' field, so read as ArceeForCausalLM",)


def test_parameters_are_known_if_a_field_affects_only_a_run() -> None:
    """BigBird's blocks determine which tokens attend to which; a matrix of 3 million is the same for any block size."""
    config = {"model_type": "big_bird", "architectures": ["BigBirdForCausalLM"], "num_hidden_layers": 2}
    usual, other = find(config), find({**config, "block_size": 16})
    assert usual is not None
    assert other is not None
    assert model_of_records("x", usual).formula("flops").symbols
    model = model_of_records("x", other)
    torchs = made({**config, "block_size": 16})
    assert torchs is not None
    assert model.params.value() == sum(map(prod, torchs[1].stored().values())) > 0
    with pytest.raises(CatalogueError, match="the effect of block_size on a run of BigBirdForCausalLM is not in"):
        model.formula("flops")


@pytest.mark.exhaustive
def test_a_trace_uses_the_same_sizes_as_the_catalogue() -> None:
    """Apertus has heads of width E/A by default, and the formula of its parameters has that width too."""
    model = sf.model("hf:apertus")
    assert D in model.formula("params").symbols
    assert D in model.formula("activations", implementation="eager").symbols


def test_a_field_of_another_type_is_not_answered() -> None:
    config = {"model_type": "big_bird", "architectures": ["BigBirdForCausalLM"], "num_hidden_layers": 2}
    assert find({**config, "block_size": "16"}) is None


@pytest.mark.parametrize("width", [96, 97])  # 6 heads of 16 each, or with a remainder of one
@pytest.mark.parametrize("more", [{}, {"head_dim": 10}, {"head_dim": 10, "num_key_value_heads": 2}])
def test_a_head_dimension_that_a_class_reads_may_be_given(width: int, more: dict[str, int]) -> None:
    """Apertus omits the head dimension in its own config and then rounds E/A down."""
    sizes = {"num_hidden_layers": 2, "hidden_size": 96, "num_attention_heads": 6, "vocab_size": 97}
    config = {"model_type": "apertus", "architectures": ["ApertusForCausalLM"], **sizes, "hidden_size": width}
    known, torchs = find({**config, **more}), made({**config, **more})
    assert known is not None
    assert torchs is not None
    assert model_of_records("x", known).params.value() == sum(map(prod, torchs[1].stored().values())) > 0


def test_inert_fields_are_found_by_bisection() -> None:
    """One has an effect at its second value, one is always refused, and one only at its first value."""
    seen: list[dict[str, Any]] = []

    def same(said: Mapping[str, Any]) -> bool | None:
        seen.append(dict(said))
        if said.get("moves") == 2:
            return False
        return None if "refused" in said or said.get("picky") == 1 else True

    asked = {"moves": [1, 2], "refused": [1, 2], "picky": [1, 2, 3], "still": [1, 2], "once": [1]}
    assert inert_subset(asked, same) == {"picky": [2, 3], "still": [1, 2], "once": [1]}
    assert seen[0] == dict.fromkeys(asked, 1)
    assert inert_subset({}, same) == {}


def test_relations_do_not_apply_in_a_missing_part() -> None:
    """The text part of Mistral 3 has heads of 128 by default, but of E/A = 160 if a config states that part."""
    config = {"model_type": "mistral3", "architectures": ["Mistral3Model"]}
    known, torchs = find(config), made(config)
    assert known is not None
    assert torchs is not None
    assert model_of_records("x", known).params.value() == sum(map(prod, torchs[1].stored().values())) > 0


def test_a_field_derived_from_sizes_is_not_the_default_at_other_sizes() -> None:
    """Laguna lists the heads of each layer, and a given list stays unchanged even if the number of layers differs."""
    config = {"model_type": "laguna", "architectures": ["LagunaForCausalLM"]}
    assert find({**config, "num_attention_heads": 64}) is not None
    assert find({**config, "num_attention_heads": 64, "num_attention_heads_per_layer": [48] * 40}) is None


@pytest.mark.parametrize("name", ["ApertusForCausalLM.apertus", "ArceeForCausalLM.arcee", "BartForCausalLM.bart"])
def test_every_field_that_is_read_is_known_to_the_catalogue(name: str) -> None:
    """Every name that is looked up in a config while a model is built and run is known to the catalogue."""
    kept = entries.find_entry(*name.split("."))
    assert kept is not None
    assert kept.config.names_read is not None
    source = of_config({"model_type": kept.config.model_type, "architectures": [kept.config.name]}, "config.json")
    looked = names_looked_up(source)
    assert {"vocab_size", "hidden_act" if "bart" not in name else "activation_function"} <= looked
    common = json.loads((FOLDER / (LIVE if kept.config.common_names_read else COMMON)).read_text())
    assert looked <= {*source.config({}).to_dict(), *kept.config.names_read, *common}


def test_a_size_below_the_minimum_of_a_formula_is_not_answered() -> None:
    kept = entries.find_entry("ArceeForCausalLM", "arcee")
    assert kept is not None
    bounded = replace(kept, config=replace(kept.config, minimums={"num_hidden_layers": 3}))
    assert match_or_none(bounded, {**ARCEE, "num_hidden_layers": 2}) is None
    assert match_or_none(bounded, {**ARCEE, "num_hidden_layers": 3}) is not None
    # a single layer of DeepSeek-V4 has a kind that two or more layers do not have
    single = {"model_type": "deepseek_v4", "architectures": ["DeepseekV4ForCausalLM"], "num_hidden_layers": 1}
    assert find(single) is None
    assert find({**single, "num_hidden_layers": 4}) is not None


def test_a_field_whose_default_has_another_meaning_is_not_answered() -> None:
    """HRM derives its layers from the layers of a stack, and vice versa: 128 given ones are 1,024 in total."""
    config = {"model_type": "hrm_text", "architectures": ["HrmTextForCausalLM"], "hidden_size": 768}
    torchs, known = made(config), find(config)
    assert torchs is not None
    assert known is not None
    assert model_of_records("config.json", known).params.value() == sum(map(prod, torchs[1].stored().values()))
    assert find({**config, "num_hidden_layers": 128}) is None


def _whole(model_type: str, folder: Path) -> dict[str, Any]:
    """Return the complete config of a type, written to a file and read back."""
    place = folder / "config.json"
    place.write_text(transformers.AutoConfig.for_model(model_type).to_json_string(use_diff=False))
    return read_config(str(place))


# A list of layers derived from other fields, a limit that JSON cannot represent, a head width rounded down from
# 4,096/96, a flag named like a function, and a number without a language.
@pytest.mark.parametrize("model_type", ["lfm2", "bamba", "glm4_moe", "xlm"])
def test_a_config_with_all_defaults_written_out_is_the_default_config(model_type: str, tmp_path: Path) -> None:
    config = _whole(model_type, tmp_path)
    torchs, known = made(config), find(config)
    assert torchs is not None
    assert known is not None
    assert model_of_records("config.json", known).params.value() == sum(map(prod, torchs[1].stored().values()))


def test_a_list_derived_from_sizes_is_traced_at_other_sizes(tmp_path: Path) -> None:
    """LFM2's list has the kinds of 32 layers, so a config with 8 layers cannot have it."""
    config = _whole("lfm2", tmp_path)
    assert find({**config, "num_hidden_layers": 8}) is None
    assert find({"model_type": "lfm2", "num_hidden_layers": 8}) is not None
    for fields in ({"hidden_size": 512}, {"layer_types": ["conv"] * 31 + ["full_attention"]}):
        torchs, known = made({**config, **fields}), find({**config, **fields})
        assert torchs is not None
        assert known is not None
        assert model_of_records("config.json", known).params.value() == sum(map(prod, torchs[1].stored().values()))


def test_a_number_with_an_effect_above_a_threshold_is_not_inert() -> None:
    # for minimums of 8 or 19, MobileNet widens no layer of 32 channels or more, but it does for 40
    assert [each for each in other_values("min_depth", 8) if each > 32]
    assert find({"model_type": "mobilenet_v1", "min_depth": 40}) is None
    assert find({"model_type": "mobilenet_v1", "min_depth": 8}) is not None


def test_the_catalogue_is_listed_and_searched() -> None:
    listed = CliRunner().invoke(cli, ["catalogue", "--json"])
    assert [(each["class"], each["type"]) for each in json.loads(listed.stdout)] == KNOWN
    (found,) = json.loads(CliRunner().invoke(cli, ["catalogue", "ARCEE", "--json"]).stdout)
    assert found["type"] == "arcee"
    assert found["switches"] == ["attention_bias", "mlp_bias", "tie_word_embeddings"]
    # two matrices of the MLP, four of the attention, two norms per layer and one at the end, the embedding and the head
    assert parse(found["formulas"]["params"]) == expand(2 * L * E * (H + D * (A + G) + 1) + 2 * V * E + E)
    adds = {tuple(each["switches"].items()): each["formula"] for each in found["adds"]}
    # the biases of queries, keys, values and output, and of the two matrices of the MLP; a tied head is not stored
    by_hand = {"attention_bias": L * (A * D + 2 * G * D + E), "mlp_bias": L * (H + E), "tie_word_embeddings": -V * E}
    assert {name: parse(each) for ((name, on),), each in adds.items() if on is True} == {
        name: expand(each) for name, each in by_hand.items()
    }
    assert "ArceeForCausalLM" in CliRunner().invoke(cli, ["catalogue"]).stdout
    alone = CliRunner().invoke(cli, ["catalogue", "arcee"]).stdout
    assert "2LEAD + 2LEGD + 2LEH + 2LE + 2VE + E" in alone
    assert "mlp_bias=true             LE + LH" in alone
    berts = json.loads(CliRunner().invoke(cli, ["catalogue", "bert", "--json"]).stdout)
    assert {each["type"] for each in berts} == {"bert"}  # of all with that name
    refused = CliRunner().invoke(cli, ["catalogue", "nothing"])
    assert refused.exit_code == 2
    assert "unknown class or model type 'nothing'" in refused.stderr


def test_conditions_of_a_formula_are_stated_next_to_it() -> None:
    """The heads of Qwen2-VL have width 128 in a run, and any width in the parameters; the run had no images."""
    found = CliRunner().invoke(cli, ["catalogue", "Qwen2VLForConditionalGeneration"]).stdout
    for line in (
        "in F, text_config.hidden_size is always 128*text_config.num_attention_heads: the code supports no other value",
        "run without pixel_values, pixel_values_videos: operations on these inputs are not counted",
    ):
        assert line in found.splitlines()
    pages = (Path(__file__).parent.parent / "reports").glob("census-image-text-*.md")
    page = "".join(each.read_text("utf-8") for each in pages)
    assert "- in F, `text_config.hidden_size` is always 128\\*text\\_config.num\\_attention\\_heads: the code" in page
    (data,) = json.loads(CliRunner().invoke(cli, ["catalogue", "Qwen2VLForConditionalGeneration", "--json"]).stdout)
    assert len(data["held"]) == 2


def many(times: int) -> None:
    """Print how many random configs of all types are answered; missing types have no answers."""
    draw, told = random.Random(SEED), []  # noqa: S311
    types = entries.census_types()
    every = [model_type for model_type, filed in types.items() if filed.builds]
    kept = {model_type: types[model_type].name for model_type in every if (types[model_type].name, model_type) in KNOWN}
    while len(told) < times:
        model_type = draw.choice(every)
        each = answered(drawn(kept[model_type], model_type, draw)) if model_type in kept else False
        told += [] if each is None else [each]
    print(f"seed {SEED}: of {times} configs of {len(every)} types {sum(told)} are answered, and none is wrong")  # noqa: T201


if __name__ == "__main__":
    many(int(sys.argv[1]))
