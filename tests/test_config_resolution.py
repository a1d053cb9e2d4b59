"""Configs without a built-in architecture are answered from torch code, in every command, or refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from click.testing import CliRunner, Result

import symformer as sf
from symformer import witness
from symformer.catalogue import config_match, entries
from symformer.commands.cli import cli
from symformer.language.errors import ConfigError, UnknownNameError, UnreadError, WitnessError

from .samples import sampled
from .test_tiny_configs import B, C, S, counted

pytestmark = pytest.mark.usefixtures("arcee_not_built_in")

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
    """An empty catalogue; tests of the real one are in test_catalogue.py."""
    monkeypatch.setattr(config_match, "find_entry", lambda *said: None)
    monkeypatch.setattr(entries, "find_entry", lambda *said: None)
    monkeypatch.setattr(config_match, "census_types", dict)


@pytest.fixture
def path(tmp_path: Path) -> str:
    place = tmp_path / "config.json"
    place.write_text(json.dumps(ARCEE))
    return str(place)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_traced_config_matches_torch(path: str) -> None:
    model = sf.model(path)
    theirs = counted(ARCEE)
    assert all(theirs.values())
    assert len(theirs) == 4
    for quantity, number in theirs.items():
        length = {"params": {}, "decode-flops": {"B": B, "C": C}}.get(quantity, {"B": B, "S": S})
        assert model.formula(quantity).value(**length) == number, quantity
    assert model.id == "hf-arcee"
    assert model.set({"L": 5}).params.value() == counted({**ARCEE, "num_hidden_layers": 5})["params"]


def test_every_command_traces_the_config(path: str, tmp_path: Path) -> None:
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


def test_config_refused_by_reader_and_trace_gives_both_reasons(tmp_path: Path) -> None:
    place = tmp_path / "config.json"
    place.write_text(json.dumps({"model_type": "gpt2", "architectures": ["GPT2ForEverything"]}))
    refused = run("show", str(place))
    assert refused.exit_code == 2
    assert "'GPT2ForEverything', whose head is not supported; supported classes: " in refused.stderr
    assert "tracing its torch code also failed: the config names the class 'GPT2ForEverything'" in refused.stderr
    assert refused.stderr.count("config.json") == 1


@pytest.mark.parametrize("fields", [{"vocab_size": -5}, {"vocab_size": "97"}])
def test_unknown_size_is_refused(fields: dict[str, Any], tmp_path: Path) -> None:
    place = tmp_path / "config.json"
    place.write_text(json.dumps({**ARCEE, **fields}))
    assert run("show", str(place)).exit_code == 2


SMALL = {"vocab_size": 97, "hidden_size": 24, "num_attention_heads": 6}
# Fields that no architecture supports, but the class does: null, a missing list, layers of another kind.
OTHER: list[dict[str, Any]] = [
    {"model_type": "falcon", "architectures": ["FalconForCausalLM"], **SMALL, "num_hidden_layers": 3, "bias": None},
    {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **SMALL, "attention_dropout": None},
    {"model_type": "nemotron_h", "architectures": ["NemotronHForCausalLM"], **SMALL, "layers_block_type": None},
    {"model_type": "deepseek_v2", "architectures": ["DeepseekV2ForCausalLM"], **SMALL, "num_experts_per_tok": None},
]


@pytest.mark.parametrize("config", sampled(2, OTHER), ids=lambda config: config["model_type"])
def test_uncomposed_configs_are_traced(config: dict[str, Any], tmp_path: Path) -> None:
    """Compare with the parameters of the transformers class of the same file."""
    place = tmp_path / "config.json"
    place.write_text(json.dumps(config))
    with torch.device("meta"):
        made = getattr(transformers, config["architectures"][0])(transformers.AutoConfig.from_pretrained(tmp_path))
    document = json.loads(run("show", str(place), "--json").stdout)
    assert document["provenance"]["by"] == "trace"
    assert document["value"] == sum(each.numel() for each in made.parameters())


def test_options_of_traced_models_are_refused(path: str) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown option 'dropout' of .*"):
        sf.model(path, dropout=False)


def test_missing_torch_error_names_the_package(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str = "") -> Any:
        raise WitnessError("this needs torch, which is not installed: pip install 'symformer[torch]'")

    monkeypatch.setattr(witness, "torch_side", missing)
    with pytest.raises(
        UnreadError, match=r"'arcee', which no built-in architecture supports; .*torch, which is not installed"
    ):
        sf.model(path)


def test_composed_models_do_not_import_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(name: str = "") -> Any:
        raise AssertionError("torch was requested")

    monkeypatch.setattr(witness, "torch_side", asked)
    place = tmp_path / "config.json"
    place.write_text(json.dumps({"model_type": "gpt2"}))
    # the smallest model of Radford et al. 2019, with its 50,257 tokens
    assert sf.model(str(place)).params.value() == 124_439_808
    place.write_text(json.dumps({"model_type": "gpt2", "n_embd": -768}))
    with pytest.raises(ConfigError, match="'n_embd' is -768"):
        sf.model(str(place))


FACTORY = """
from torch import nn
def mlp(E, hidden):
    return nn.Sequential(nn.Linear(E, hidden), nn.Linear(hidden, E))
def wide(E):
    return nn.Linear(E, E if E == 999 else 2 * E)
def deep(E, depth=2):
    return nn.ModuleList(nn.Linear(E, E) for _ in range(depth))
"""
AT = ["--set", "E=64", "--set", "hidden=100"]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/mine.py").write_text(FACTORY)
    monkeypatch.chdir(tmp_path / "here")


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        # two matrices of 64 by 100, and biases of 100 and of 64
        (["show", "mine:mlp", *AT], "= 12,964"),
        (["tree", "mine:mlp", *AT], "12,964"),
        (["show", "mine.py:mlp", *AT], "= 12,964"),
        (["show", "./mine.py:mlp", *AT], "= 12,964"),
        (["trace", "mine.py:mlp", "--size", "E=64", "--size", "hidden=100"], "N = 2·E·hidden + E + hidden"),
        (["derive", "../here/mine.py:mlp", *AT, "-o", "-", "--format", "md"], "12,964"),
        (["derive", "mine:mlp", *AT, "-o", "-", "--format", "md"], "12,964"),
        # also of gpt2, whose width is a multiple of 12 heads: 2*96*100 + 96 + 100
        (["compare", "mine:mlp", "gpt2", "--set", "E=96", "--set", "hidden=100"], "19,396"),
    ],
)
def test_factory_is_traced_with_its_arguments_as_sizes(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.stderr
    assert said in done.stdout


ENDING = {
    "hard": "def f(E): os._exit(0)",
    "soft": "def f(E): sys.exit(0)",
    "other": "def f(E): os.execvp('true', ['true'])",
    "import": "os._exit(0)",
    "later": "def f(E):\n    if E > 20: os._exit(0)\n    return nn.Linear(E, E)",
    "input": "def f(E): return nn.Linear(E, int(input()))",
}


ENDED = """
import sys
from symformer.commands.cli import main
for how in sys.argv[1:]:
    sys.argv = ["symformer", "show", f"ends_{how}:f", "--set", "E=8"]
    try:
        main()
    except SystemExit as ended:
        print(how, ended.code, file=sys.stderr)
"""


def test_code_that_ends_the_process_gives_a_one_sentence_error(tmp_path: Path) -> None:
    """Run in a subprocess, because code that succeeds in ending it would also end the tests."""
    for how, code in ENDING.items():
        (tmp_path / f"ends_{how}.py").write_text(f"import os, sys\nfrom torch import nn\n{code}\n")
    done = subprocess.run(
        [sys.executable, "-c", ENDED, *ENDING],
        cwd=tmp_path,
        input="5\n",
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert (done.returncode, done.stdout) == (0, "")
    lines = done.stderr.splitlines()
    assert lines[1::2] == [f"{how} 2" for how in ENDING]
    said = {"soft": "SystemExit: 0", "other": "the code ends the process with os.execv", "input": "EOFError"}
    for how, sentence in zip(ENDING, lines[::2], strict=True):
        assert sentence.startswith("symformer: ")
        assert said.get(how, "the code ends the process with os._exit") in sentence


def test_traced_code_may_end_a_child_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os\nfrom torch import nn\ndef f(E):\n    if not (pid := os.fork()): os._exit(0)\n"
    (tmp_path / "forking.py").write_text(code + "    os.waitpid(pid, 0)\n    return nn.Linear(E, E)\n")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["show", "forking:f", "--set", "E=8"])
    assert (done.exit_code, "= 72" in done.stdout) == (0, True)  # 8*8 + 8


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["show", "mine:mlp"],
            "needs a size for each argument, such as E=64; its arguments are E, hidden",
        ),
        (
            ["trace", "mine:deep"],
            "needs a size for each argument, such as E=64; its arguments are E, depth=2",
        ),
        (["show", "mine:mlp", "--set", "E=64"], "mine:mlp needs a size for hidden; its arguments are E, hidden"),
        (["trace", "mine:mlp", "--size", "hidden=9"], "mine:mlp needs a size for E; its arguments are E, hidden"),
        (
            ["show", "mine:deep", "--set", "E=64", "--set", "detph=3"],
            "mine:deep has no argument 'detph'; did you mean depth? its arguments are E, depth=2",
        ),
        (["show", "mine:mlp", *AT, "--set", "Q=3"], "mine:mlp has no argument 'Q'; its arguments are E, hidden"),
        (["show", "nowhere/mine.py:mlp", *AT], "nowhere/mine.py:mlp: the file nowhere/mine.py does not exist"),
        (["show", "./mine.py:nope", *AT], "cannot be imported: AttributeError: module 'mine"),
        (
            ["show", "mine:mlp", *AT, "--option", "tied=true"],
            "tied=true is not a size of mine:mlp; a factory has no options",
        ),
        # 999 wide in and out, and a bias: beyond all sampled sizes the code behaves differently
        (["show", "mine:wide", "--set", "E=999"], "stores 999,000 parameters at {'E': 999}, but the formula gives 1,9"),
        (["show", "mine:mlp", *AT, "-q", "flops"], "flops needs a forward pass; describe its inputs with"),
    ],
)
def test_invalid_factory_arguments_give_a_one_sentence_error(arguments: list[str], sentence: str) -> None:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert not done.stdout
