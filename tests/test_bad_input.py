"""Damaged or impossible configs: one sentence, exit status 2, and nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from symformer.catalogue import entries
from symformer.commands.cli import cli
from symformer.configs.config_json import read_config
from symformer.configs.config_source import open_config
from symformer.language.errors import CatalogueError, ConfigError

from .test_config_resolution import ARCEE

pytestmark = pytest.mark.usefixtures("arcee_not_built_in")

GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 12, "n_head": 3}
NO_TYPE = "it should be the name of a model type, such as 'gpt2'"
ONE_CLASS = "it should be a list of one class name"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYMFORMER_CACHE", str(tmp_path / "store"))
    return tmp_path / "store"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="symformer")


def refused(store: Path, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("symformer: ")
    assert result.stderr.count("\n") == 1
    assert not store.exists()
    return result.stderr


# For every reader: built-in models, the catalogue, and traces.
BASES = [GPT2, ARCEE, {"model_type": "ctrl", "architectures": ["CTRLLMHeadModel"], "n_embd": 12, "n_head": 3}]
ODD: list[tuple[dict[str, Any], str]] = [
    *[({"model_type": odd}, NO_TYPE) for odd in ("../../etc", "/etc/passwd", "", "gpt2\n", "\ud800", "x" * 5000)],
    *[({"model_type": odd}, NO_TYPE) for odd in (5, 1.5, True, [], ["gpt2"], {"gpt2": 1})],
    *[({"architectures": odd}, ONE_CLASS) for odd in ([], ["A", "B"], "GPT2Model", {}, 5, [None], [["GPT2Model"]])],
    *[({"architectures": [odd]}, "which is not a class name") for odd in ("../x", "no such", "", "\ud800")],
    *[({size: 0}, f"'{size}' is 0; a size is an integer from 1") for size in ("hidden_size", "n_embd", "vocab_size")],
    ({"num_hidden_layers": -5}, "'num_hidden_layers' is -5; a size"),
    ({"vocab_size": 10**30}, "'vocab_size' is a number of 31 digits; a size"),
    *[({"vocab_size": odd}, "which is not an integer") for odd in ("24", "", 24.5, float("nan"), True)],
    ({"vocab_size": 24.0}, "'vocab_size' is 24.0, which is not written as an integer; write 24"),
]


@pytest.mark.parametrize("base", BASES, ids=lambda config: config["model_type"])
@pytest.mark.parametrize(("fields", "sentence"), ODD, ids=lambda value: repr(value)[:40])
def test_impossible_config_values_are_refused(
    base: dict[str, Any], fields: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    place = tmp_path / "config.json"
    place.write_text(json.dumps({**base, **fields}))
    with pytest.raises(ConfigError, match=r"config\.json: ") as caught:
        open_config(str(place))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("command", ["show", "tree", "trace", "cite"])
def test_every_command_gives_a_one_sentence_error(command: str, tmp_path: Path, store: Path) -> None:
    place = tmp_path / "config.json"
    for fields, sentence in ODD[:: len(ODD) // 6]:
        place.write_text(json.dumps({**ARCEE, **fields}))
        assert sentence in refused(store, command, str(place))
    page = tmp_path / "page.md"
    assert sentence in refused(store, "derive", str(place), "-o", str(page))
    assert not page.exists()


@pytest.mark.parametrize("name", ["GPT2Config", "Path", "__class__", "PreTrainedModel", "X" * 300])
def test_class_that_is_not_a_model_is_refused(name: str, tmp_path: Path, store: Path) -> None:
    place = tmp_path / "config.json"
    for base in BASES:
        place.write_text(json.dumps({**base, "architectures": [name]}))
        assert f"names the class '{name[:80]}', but transformers has no model" in refused(store, "show", str(place))


DEEP = "nests lists or objects more than 32 levels deep, which no config.json does"


def test_nested_lists_in_an_unused_field_are_ignored(tmp_path: Path) -> None:
    """At the maximum depth the file is read, and fields that no code reads are ignored, as by the class."""
    place = tmp_path / "config.json"
    place.write_text(json.dumps(GPT2)[:-1] + ', "lists": ' + "[" * 31 + "1" + "]" * 31 + "}")
    assert read_config(str(place))["n_embd"] == GPT2["n_embd"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[" * 100_000 + "]" * 100_000, DEEP),
        ('{"a":' * 100_000, DEEP),
        (
            json.dumps(GPT2)[:-1] + ', "lists": ' + "[" * 100 + "[1, 2], " * 375_000 + "0" + "]" * 100 + "}",
            DEEP,
        ),
        ("\ufeff" + json.dumps(GPT2), "begins with a byte order mark; save it as UTF-8 without one"),
        ('{"n_embd": 1' + "0" * 5000 + "}", "contains a number with thousands of digits, too large for a size"),
        (json.dumps(GPT2)[:-5], "is not valid JSON"),
        ("// mine\n" + json.dumps(GPT2), "is not valid JSON"),
    ],
    ids=["lists", "objects", "much", "mark", "digits", "half", "comment"],
)
def test_invalid_json_is_refused(text: str, sentence: str, tmp_path: Path, store: Path) -> None:
    place = tmp_path / "config.json"
    place.write_text(text, "utf-8")
    assert sentence in refused(store, "show", str(place))


def test_invalid_size_is_named_with_its_file(tmp_path: Path, store: Path) -> None:
    place = tmp_path / "config.json"
    place.write_text(json.dumps({**ARCEE, "head_dim": 10**20}))
    assert "config.json: D is 1" in refused(store, "show", str(place))


# Disk errors: the catalogue's own files


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the folder of a catalogue with one class, to be damaged by a test."""
    name = "ArceeForCausalLM.arcee.json"
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / name).write_bytes((entries.FOLDER / name).read_bytes())
    monkeypatch.setattr(entries, "FOLDER", folder)
    entries.find_entry.cache_clear()
    yield folder / name
    entries.find_entry.cache_clear()


DAMAGE: dict[str, Any] = {
    "empty": lambda whole: b"",
    "null": lambda whole: b"null",
    "nulls": lambda whole: b"[null]",
    "half": lambda whole: whole[: len(whole) // 2],
    "zeros": lambda whole: whole[:512] + bytes(512) + whole[1024:],
    "bytes": lambda whole: b"\xff\xfe" + whole,
    "deep": lambda whole: b"[" * 100_000,
    "without records": lambda whole: whole.replace(b'"records"', b'"record"'),
    "without switches": lambda whole: whole.replace(b'"switches"', b'"switch"'),
    "a formula": lambda whole: whole.replace(b'"E/A"', b'"E/"'),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_catalogue_file_is_refused(how: str, damaged: Path, tmp_path: Path, store: Path) -> None:
    whole = damaged.read_bytes()
    damaged.write_bytes(DAMAGE[how](whole))
    assert damaged.read_bytes() != whole
    place = tmp_path / "config.json"
    place.write_text(json.dumps(ARCEE))
    sentence = "the catalogue's file of ArceeForCausalLM is damaged ("
    assert sentence in refused(store, "show", str(place))
    with pytest.raises(CatalogueError, match="reinstall symformer"):
        entries.find_entry("ArceeForCausalLM", "arcee")
    assert sentence in refused(store, "catalogue")


def test_traced_model_cites_its_code(store: Path) -> None:
    entry = run("cite", "hf:gpt2.params.transformer.h").stdout
    assert entry.startswith("@misc{hf-gpt2.params.transformer.h,")
    assert "$12 E^{2} + 13 E$" in entry  # 4E² + 4E of attention, 8E² + 5E of the MLP, 4E of two norms, by hand
