"""The catalogue: what it says of a config without torch is what torch makes of it, or it says nothing.

A few random configs of every class run by default, and as many as ``SHELF`` says in the environment.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer import witness
from symformer.catalogue import shelf
from symformer.catalogue.record import OPERATIONS, opened
from symformer.catalogue.shelf import FOLDER, TYPES, find
from symformer.catalogue.traced import STORED
from symformer.commands.cli import cli
from symformer.configs.known import INERT
from symformer.language.errors import SymformerError
from symformer.witness.calling import caller_for
from symformer.witness.classes import Source, of_config, of_head
from symformer.witness.points import session
from symformer.witness.runs import RUNS
from symformer.witness.session import Session

EACH = int(os.environ.get("SHELF", "3"))  # configs of a class
SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(2**32)
CLASSES = shelf.classes()
TIMES = (1, 2, 3)
RUN = {"B": 3, "S": 37}


def fields_of(name: str) -> tuple[str, dict[str, Any]]:
    """The model type of a class on the shelf, and the fields of its default config."""
    (first, _), *_ = shelf.on_shelf(name)
    source = of_config({"model_type": first.model_types[0], "architectures": [name]}, "config.json")
    default: dict[str, Any] = source.config({}).to_dict()
    return first.model_types[0], default


def drawn(name: str, draw: random.Random) -> dict[str, Any]:
    """A config as people write them: some sizes, some left out, some switches turned, and now and then an odd field."""
    model_type, default = fields_of(name)
    config: dict[str, Any] = {"model_type": model_type, "architectures": [name]}
    for field, value in default.items():
        if field in INERT or field.endswith("_token_id"):
            continue
        if type(value) is int and value > 1 and draw.random() < 0.7:
            small = value if value < 16 else value // draw.choice((2, 4))
            config[field] = small * draw.choice(TIMES)
        elif isinstance(value, bool) and draw.random() < 0.3:
            config[field] = draw.random() < 0.5
        elif isinstance(value, float) and draw.random() < 0.2:
            config[field] = value / 2
    if draw.random() < 0.1:
        config["a_field_that_nobody_knows"] = draw.choice([3, True, None])
    return config


def made(config: Mapping[str, Any]) -> tuple[Source, Session] | None:
    """The model that transformers makes of a config, on meta; None where it makes none."""
    source = of_config(config, "config.json")
    fields = {field: value for field, value in config.items() if field != "architectures"}
    try:
        at = session(lambda point: source.build(fields), {})
        at.model()
    except Exception:
        return None
    return source, at


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_on_the_shelf_is_what_torch_makes_of_a_config(name: str) -> None:
    draw, answered = random.Random(f"{SEED}{name}"), 0  # noqa: S311
    for _ in range(EACH):
        config = drawn(name, draw)
        torchs, known = made(config), find(config)
        if known is None or torchs is None:
            continue
        source, at = torchs
        try:
            model = opened("config.json", known)
        except SymformerError:
            continue  # sizes that do not fit, by what the trace knows
        answered += 1
        theirs = sum(map(prod, at.stored().values()))
        assert theirs
        assert model.params.value() == theirs, (SEED, config)
        try:
            formula = model.formula("flops")
            value = formula.value(**RUN)
        except SymformerError:
            continue
        counter = at.flops(partial(caller_for(source.run_as, RUNS["flops"]), point=RUN))
        assert value == counter.get_total_flops() > 0, (SEED, config)
    if EACH >= 30:
        assert answered


def test_there_is_something_on_the_shelf() -> None:
    assert len(CLASSES) >= 3
    types: dict[str, str] = json.loads((FOLDER / TYPES).read_text())
    assert {*types.values()} <= {*CLASSES}
    for model_type, name in types.items():
        assert of_head(model_type).name == name
    for name in CLASSES:
        for entry, _ in shelf.on_shelf(name):
            assert entry.name == name
            assert {*entry.records} <= {STORED, OPERATIONS}
            assert entry.versions.keys() == {"torch", "transformers"}


ARCEE = {"model_type": "arcee", "architectures": ["ArceeForCausalLM"], "num_hidden_layers": 5}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No torch."""

    def asked(name: str = "") -> Any:
        raise AssertionError("torch was asked for")

    monkeypatch.setattr(witness, "torch_side", asked)


@pytest.mark.usefixtures("alone")
def test_a_config_is_answered_without_torch(tmp_path: Path) -> None:
    place = tmp_path / "config.json"
    place.write_text(json.dumps({**ARCEE, "hidden_size": 96, "num_attention_heads": 6, "vocab_size": 97}))
    model = sf.model(str(place))
    assert model.provenance.by == "catalogue"
    # D = 96/6 = 16 and G = A = 6, as the config leaves them out; H = 18,432 by default, and nothing is tied:
    # 5·(4·96·96 + 2·96·18,432 + 2·96) + 2·97·96 + 96 = 5·(36,864 + 3,538,944 + 192) + 18,624 + 96
    assert model.params.value() == 17_898_720
    assert model.formula("decode-flops").value(B=1, C=9) > 0


@pytest.mark.parametrize(
    "fields",
    [
        {"nobody_knows": 3},
        {"num_attention_heads": None},
        {"num_attention_heads": True},
        {"num_attention_heads": 6.0},
        {"num_attention_heads": 7},  # of 2,560, which leaves D no whole number
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
def test_what_is_of_no_structure_on_the_shelf_is_not_answered_for(fields: dict[str, Any]) -> None:
    assert find(ARCEE) is not None
    assert find({**ARCEE, **fields}) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"hidden_act": "silu", "rope_theta": 5e5, "rope_scaling": None, "max_position_embeddings": 8192},
        {"num_key_value_heads": None, "head_dim": None},
        {"eos_token_id": [1, 2], "transformers_version": "5.0", "torch_dtype": "bfloat16", "use_cache": True},
        {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0}},
        {"attention_bias": True},
    ],
)
def test_what_changes_nothing_may_say_what_it_likes(fields: dict[str, Any]) -> None:
    known = find({**ARCEE, **fields})
    assert known is not None
    torchs = made({**ARCEE, **fields})
    assert torchs is not None
    assert opened("config.json", known).params.value() == sum(map(prod, torchs[1].stored().values()))


def test_a_config_without_a_class_is_read_as_the_first_that_its_type_has(tmp_path: Path) -> None:
    place = tmp_path / "config.json"
    place.write_text(json.dumps({field: value for field, value in ARCEE.items() if field != "architectures"}))
    found = sf.model(str(place))
    assert found.provenance.by == "catalogue"
    assert found.provenance.assumed == ("no 'architectures': read as ArceeForCausalLM",)


def test_the_catalogue_is_listed_and_searched() -> None:
    listed = CliRunner().invoke(cli, ["catalogue", "--json"])
    assert [each["class"] for each in json.loads(listed.stdout)] == CLASSES
    (found,) = json.loads(CliRunner().invoke(cli, ["catalogue", "ARCEE", "--json"]).stdout)
    assert found["types"] == ["arcee"]
    assert found["structures"] == len(shelf.on_shelf("ArceeForCausalLM")) >= 2
    assert "ArceeForCausalLM" in CliRunner().invoke(cli, ["catalogue"]).stdout
    refused = CliRunner().invoke(cli, ["catalogue", "nothing"])
    assert refused.exit_code == 2
    assert "unknown class or model type 'nothing'" in refused.stderr
