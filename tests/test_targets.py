"""Targets: their kind is decided in one place, and targets that cannot be opened are errors with a hint."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from sympy import Expr

from symformer import architectures, components
from symformer.architectures import composed_model
from symformer.components.base import Component
from symformer.components.moe import MoE
from symformer.language.errors import (
    LISTED,
    ConfigError,
    FetchError,
    OptionError,
    SizeError,
    TargetError,
    UnknownNameError,
    WitnessError,
    listed,
)
from symformer.language.symbols import E, L
from symformer.language.target import TargetKind, parse
from symformer.ledger.facts import Tensor
from symformer.ledger.operations import Operations
from symformer.targets.opened_target import names
from symformer.targets.resolution import pairs, resolve
from symformer.witness import trace

KINDS = {
    "gpt2": (TargetKind.NAME, "gpt2"),
    "llama-3.2-1b": (TargetKind.NAME, "llama-3.2-1b"),
    "": (TargetKind.NAME, ""),
    "component:mlp": (TargetKind.COMPONENT, "mlp"),
    "component:": (TargetKind.COMPONENT, ""),
    "hf:qwen3_moe": (TargetKind.HF, "qwen3_moe"),
    "hf:a/b.json": (TargetKind.HF, "a/b.json"),  # the prefix decides before the rest is read
    "torch.nn:Linear": (TargetKind.FACTORY, "torch.nn:Linear"),
    "package:factory": (TargetKind.FACTORY, "package:factory"),
    "mine.py:factory": (TargetKind.FACTORY, "mine.py:factory"),
    "../models/mine.py:factory": (TargetKind.FACTORY, "../models/mine.py:factory"),
    "models/mine.py": (TargetKind.HUB, "models/mine.py"),
    "models/x.py:y/config.json": (TargetKind.CONFIG, "models/x.py:y/config.json"),
    "config.json": (TargetKind.CONFIG, "config.json"),
    "here/config.json": (TargetKind.CONFIG, "here/config.json"),
    "openai-community/gpt2.json": (TargetKind.CONFIG, "openai-community/gpt2.json"),
    "./gpt2": (TargetKind.CONFIG, "./gpt2"),
    "../evil:ok": (TargetKind.CONFIG, "../evil:ok"),  # a path, not an importable module
    "/models/x": (TargetKind.CONFIG, "/models/x"),
    "a/b/c": (TargetKind.CONFIG, "a/b/c"),
    "-": (TargetKind.CONFIG, "/dev/stdin"),
    ".": (TargetKind.CONFIG, "."),
    "..": (TargetKind.CONFIG, ".."),
    "openai-community/gpt2": (TargetKind.HUB, "openai-community/gpt2"),
    "meta-llama/Llama-3.2-1B": (TargetKind.HUB, "meta-llama/Llama-3.2-1B"),
    "openai-community/gpt2@main": (TargetKind.HUB, "openai-community/gpt2"),
    "openai-community/gpt2@refs/pr/3": (TargetKind.HUB, "openai-community/gpt2"),
    "ada@home/gpt2": (TargetKind.CONFIG, "ada@home/gpt2"),
}


@pytest.mark.parametrize("text", KINDS)
def test_the_kind_of_a_target(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = parse(text)
    assert (target.kind, target.name) == KINDS[text]
    assert str(target) == text


def test_an_existing_file_is_not_a_hub_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    Path("models/mine").write_text(json.dumps({"model_type": "gpt2", "n_layer": 3}))
    assert parse("models/mine").kind is TargetKind.CONFIG
    assert resolve("models/mine")[0].component == resolve("gpt2")[0].component


@pytest.mark.parametrize("name", ["tiny", "./tiny", "tiny/", "models/tiny", ".", "absolute"])
def test_a_folder_is_read_as_the_config_in_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("tiny", "models/tiny", "."):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_layer": 3}))
    monkeypatch.chdir(tmp_path)
    target = str(tmp_path / "tiny") if name == "absolute" else name
    model, _ = resolve(target)
    assert (model.target, model.known[L]) == (target, 3)
    assert composed_model(target).component == model.component
    assert architectures.from_config(target).known == model.known


@pytest.mark.parametrize("name", ["tiny", "./tiny", ".", "models/tiny"])
def test_a_folder_without_a_config_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models/tiny").mkdir(parents=True)
    (tmp_path / "tiny").mkdir()
    monkeypatch.chdir(tmp_path)
    for read in (resolve, trace):
        with pytest.raises(ConfigError, match=rf"^{name} is a folder without a config\.json; give the path of one$"):
            read(name)
    (tmp_path / "tiny/config.json").mkdir()
    with pytest.raises(ConfigError, match=r"tiny/config\.json is a folder without a config\.json"):
        resolve("tiny")


def test_a_trace_reads_the_config_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny").mkdir()
    Path("tiny/config.json").write_text(json.dumps({"model_type": "gpt2", "n_layer": 3}))
    for target in ("tiny", "./tiny"):
        assert trace(target).model.target == target


def test_every_listed_name_resolves() -> None:
    assert len(names()) > 60
    for name in names():
        model, _ = resolve(name)
        assert model.target == name
        assert composed_model(name).component == model.component  # the reader of numbers uses the same function


REFUSED = {
    "openai-community/gpt2": ["download the config.json of openai-community/gpt2", "symformer show gpt2"],
    "meta-llama/Llama-2-7b-hf": ["HF_HUB_OFFLINE is set", "download the config.json", "llama-2-7b"],
    "meta-llama/Llama-2-7b-chat-hf": [
        "download the config.json",
        "or use the preset llama-2-7b, which has its sizes: `symformer show",
    ],
    "qwen/qwen3-30b-a3b-base": [
        "or use the preset qwen3-30b-a3b, which has its sizes"
    ],  # the Hub ignores the case of ids
    "somebody/qwen3-30b-a3b": ["qwen3-30b-a3b is built in"],
    "qwen3-30b-a3": ["unknown target 'qwen3-30b-a3'; did you mean qwen3-30b-a3b"],
    "somebody/something": ["download the config.json of somebody/something"],
    "package:factory": ["package:factory cannot be imported: ModuleNotFoundError"],
    "nonsense": ["unknown target 'nonsense'", "`symformer list` shows them all"],
    "x" * 5_000: ["unknown target 'xxx"],
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_unsupported_target_error_suggests_an_alternative(text: str) -> None:
    with pytest.raises((FetchError, OptionError, TargetError, UnknownNameError, WitnessError)) as refused:
        resolve(text)
    assert all(words in str(refused.value) for words in REFUSED[text])
    assert len(str(refused.value)) < LISTED + 300


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpt2", "hf:gpt2"),
        ("gpt2", "symformer show gpt2"),
        ("component:mlp", "symformer show component:mlp"),
    ],
)
def test_untraceable_target_error_suggests_an_alternative(text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        trace(text)


def test_a_file_without_an_extension_is_suggested_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").touch()
    with pytest.raises(UnknownNameError, match=r"write \./mine"):
        resolve("mine")


def test_value_resolves_a_target_like_the_commands() -> None:
    gpt2 = architectures.architecture("gpt2").params
    assert gpt2.value("gpt2-xl") == 1_557_611_200
    with pytest.raises(FetchError, match="download the config"):
        gpt2.value("openai-community/gpt2")
    with pytest.raises(SizeError, match="'component:mlp' is a mlp, not a gpt2"):
        gpt2.value("component:mlp")


@pytest.mark.parametrize("name", ["name", "path", "target", "self", "cls"])
def test_an_option_may_have_the_name_of_an_argument(name: str) -> None:
    with pytest.raises(UnknownNameError, match=f"unknown option '{name}' of gpt2"):
        resolve("gpt2", {name: "x"})
    with pytest.raises(UnknownNameError, match=f"unknown option '{name}' of component:mlp"):
        resolve("component:mlp", {name: "x"})


def test_the_error_for_a_foreign_convention_names_its_quantity() -> None:
    with pytest.raises(
        UnknownNameError, match=r"it is a convention of .*flops.*; select one of these quantities with -q"
    ):
        resolve("gpt2", {"attention": "causal"}, quantities=["params"])
    assert resolve("gpt2", {"attention": "causal"}, quantities=["flops"])[1] == {"attention": "causal"}


def test_duplicate_options_and_sizes_are_refused() -> None:
    with pytest.raises(OptionError, match="tied is given twice, as 'true' and as 'false'"):
        pairs(["tied=true", "tied=false"])
    with pytest.raises(SizeError, match="L is given twice, as 3 and as 4"):
        resolve("gpt2", sets=["L=3", "E=24", "L=4"])
    with pytest.raises(SizeError, match="L is given twice"):
        resolve("gpt2", sets=["L=3", " L = 3"])


def test_lists_in_error_messages_are_bounded() -> None:
    assert listed(["a", "b"]) == "a, b"
    many = listed(f"name-{number}" for number in range(10_000))
    assert len(many) < LISTED + 30
    assert many.endswith(" more")
    shown = many.count("name-")
    assert f"and {10_000 - shown:,} more" in many


# Parts


@pytest.mark.parametrize("hidden", ["ledger", "chosen", "params", "name", "spell", "library", "choices"])
def test_a_field_that_hides_an_attribute_is_refused_at_class_definition(hidden: str) -> None:
    def forward(self: Component, ops: Operations, x: Tensor) -> Tensor:
        return ops.linear("", x, E)

    with pytest.raises(TypeError, match=rf"Hiding\.{hidden} hides Component\.{hidden}"):
        dataclass(frozen=True, kw_only=True)(
            type("Hiding", (Component,), {"__annotations__": {hidden: Expr}, hidden: E, "forward": forward})
        )
    with pytest.raises(TypeError, match="hides MoE"):
        type("Further", (MoE,), {"__annotations__": {"split": Expr}})


def test_no_field_of_a_part_hides_an_attribute() -> None:
    """Check every class in another way: each attribute of an instance is as its class states."""
    parts: list[Component] = [components.component(name) for name in components.names()]
    parts += [architectures.architecture(name).component for name in architectures.names()]
    assert len(parts) > 30
    for part in parts:
        assert isinstance(part.changed_options, dict)
        assert isinstance(part.choices(), dict)
        assert part.name
        assert part.ledger


def test_a_folder_named_like_a_preset_does_not_hide_the_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the name of a preset does not hide the preset."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("gpt2")
    assert resolve("gpt2")[0].params.value() == 124_439_808
