"""One door: a config that nothing composed reads is opened by its torch code, in every command, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from click.testing import CliRunner, Result

import symformer as sf
from symformer import witness
from symformer.catalogue import matching, shelf
from symformer.commands.cli import cli
from symformer.language.errors import ConfigError, UnknownNameError, UnreadError, WitnessError

from .test_tiny_configs import B, C, S, counted

ARCEE: dict[str, Any] = {
    "model_type": "arcee",
    "architectures": ["ArceeForCausalLM"],
    "vocab_size": 97,
    "hidden_size": 24,
    "intermediate_size": 57,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "max_position_embeddings": 64,
    "tie_word_embeddings": True,
}


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue with nothing in it: what it has is tested in test_shelf.py."""
    monkeypatch.setattr(matching, "on_shelf", lambda name, model_type: None)
    monkeypatch.setattr(shelf, "on_shelf", lambda name, model_type: None)
    monkeypatch.setattr(matching, "filed_types", dict)


@pytest.fixture
def path(tmp_path: Path) -> str:
    place = tmp_path / "config.json"
    place.write_text(json.dumps(ARCEE))
    return str(place)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_a_config_read_off_its_code_gives_what_torch_counts(path: str) -> None:
    model = sf.model(path)
    theirs = counted(ARCEE)
    assert all(theirs.values())
    assert len(theirs) == 4
    for quantity, number in theirs.items():
        length = {"params": {}, "decode-flops": {"B": B, "C": C}}.get(quantity, {"B": B, "S": S})
        assert model.formula(quantity).value(**length) == number, quantity
    assert model.id == "hf-arcee"
    assert model.set({"L": 5}).params.value() == counted({**ARCEE, "num_hidden_layers": 5})["params"]


def test_every_command_opens_it(path: str, tmp_path: Path) -> None:
    stored = counted(ARCEE)["params"]
    document = json.loads(run("show", path, "--json").stdout)
    assert (document["architecture"], document["value"]) == ("hf-arcee", stored)
    told = document["provenance"]
    assert (told["by"], told["witness"]) == ("trace", "ArceeForCausalLM of transformers")
    assert told["points"] >= 3
    assert json.loads(run("tree", path, "--json").stdout)["modules"][0]["value"] == stored
    page = tmp_path / "page.md"
    assert run("derive", path, "-o", str(page)).exit_code == 0
    assert f"{stored:,}" in page.read_text()
    beside = run("compare", path, "llama-2-7b")
    assert f"{stored:,}" in beside.stdout, beside.stderr


def test_a_config_that_no_door_opens_says_why_not_by_either(tmp_path: Path) -> None:
    place = tmp_path / "config.json"
    place.write_text(json.dumps({"model_type": "gpt2", "architectures": ["GPT2ForEverything"]}))
    refused = run("show", str(place))
    assert refused.exit_code == 2
    assert "'GPT2ForEverything', whose head is not known here; known: " in refused.stderr
    assert "nor can it be read off its torch code: names the class 'GPT2ForEverything'" in refused.stderr
    assert refused.stderr.count("config.json") == 1


@pytest.mark.parametrize("fields", [{"vocab_size": -5}, {"vocab_size": "97"}])
def test_a_size_that_is_none_is_refused(fields: dict[str, Any], tmp_path: Path) -> None:
    place = tmp_path / "config.json"
    place.write_text(json.dumps({**ARCEE, **fields}))
    assert run("show", str(place)).exit_code == 2


SMALL = {"vocab_size": 97, "hidden_size": 24, "num_attention_heads": 6}
# What no architecture reads, and the class does: a null, a list left out, layers of another kind.
OTHER: list[dict[str, Any]] = [
    {"model_type": "falcon", "architectures": ["FalconForCausalLM"], **SMALL, "num_hidden_layers": 3, "bias": None},
    {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **SMALL, "attention_dropout": None},
    {"model_type": "nemotron_h", "architectures": ["NemotronHForCausalLM"], **SMALL, "layers_block_type": None},
    {"model_type": "deepseek_v2", "architectures": ["DeepseekV2ForCausalLM"], **SMALL, "num_experts_per_tok": None},
]


@pytest.mark.parametrize("config", OTHER, ids=lambda config: config["model_type"])
def test_what_nothing_composed_reads_is_asked_of_the_code(config: dict[str, Any], tmp_path: Path) -> None:
    """Held to the elements of the class that transformers makes of the same file."""
    place = tmp_path / "config.json"
    place.write_text(json.dumps(config))
    with torch.device("meta"):
        made = getattr(transformers, config["architectures"][0])(transformers.AutoConfig.from_pretrained(tmp_path))
    document = json.loads(run("show", str(place), "--json").stdout)
    assert document["provenance"]["by"] == "trace"
    assert document["value"] == sum(each.numel() for each in made.parameters())


def test_an_option_is_of_what_is_composed(path: str) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown option of .* 'tied'"):
        sf.model(path, tied=False)


def test_without_torch_one_sentence_says_what_to_install(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str = "") -> Any:
        raise WitnessError("torch is not installed, and this needs it: pip install 'symformer[torch]'")

    monkeypatch.setattr(witness, "torch_side", missing)
    with pytest.raises(UnreadError, match=r"'arcee', which no architecture here reads; .*torch is not installed, and"):
        sf.model(path)


def test_what_is_composed_imports_no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(name: str = "") -> Any:
        raise AssertionError("torch was asked for")

    monkeypatch.setattr(witness, "torch_side", asked)
    place = tmp_path / "config.json"
    place.write_text(json.dumps({"model_type": "gpt2"}))
    assert sf.model(str(place)).params.value() == 124_439_808  # Radford et al. 2019's smallest, with its 50,257 tokens
    place.write_text(json.dumps({"model_type": "gpt2", "n_embd": -768}))
    with pytest.raises(ConfigError, match="'n_embd' is -768"):
        sf.model(str(place))


FACTORY = """
from torch import nn
def mlp(E, hidden):
    return nn.Sequential(nn.Linear(E, hidden), nn.Linear(hidden, E))
def wide(E):
    return nn.Linear(E, E if E == 999 else 2 * E)
"""
AT = ["--set", "E=64", "--set", "hidden=100"]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(FACTORY)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        # two matrices of 64 by 100, and biases of 100 and of 64
        (["show", "mine:mlp", *AT], "= 12,964"),
        (["tree", "mine:mlp", *AT], "12,964"),
        (["derive", "mine:mlp", *AT, "-o", "-", "--as", "md"], "12,964"),
        # of gpt2 too, whose 12 heads divide it: 2*96*100 + 96 + 100
        (["compare", "mine:mlp", "gpt2", "--set", "E=96", "--set", "hidden=100"], "19,396"),
    ],
)
def test_a_factory_is_opened_by_the_sizes_that_are_its_arguments(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.stderr
    assert said in done.stdout


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show", "mine:mlp"], "mine:mlp is a factory, and takes a size for each of its arguments, such as --set E=64"),
        (["show", "mine:mlp", *AT, "--option", "tied=true"], "unknown option of mine:mlp 'tied'"),
        # 999 wide in and out, and a bias: where no size was drawn the code does something else
        (["show", "mine:wide", "--set", "E=999"], "stores 999,000 parameters at {'E': 999}, and the formula gives 1,9"),
        (["show", "mine:mlp", *AT, "-q", "flops"], "flops is read off a run, and only params without one"),
    ],
)
def test_what_a_factory_does_not_take_is_one_sentence(arguments: list[str], sentence: str) -> None:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert not done.stdout
