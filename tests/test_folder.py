"""Several targets in one call: one file each in a folder; all files are written or none."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner, Result

from symformer.commands.cli import cli
from symformer.documents.document_request import DocumentRequest
from symformer.documents.folder import file_names, folder_files, stem
from symformer.language.errors import DocumentError
from symformer.output.files import write_all

from .samples import sampled

SMALL = {  # of GPT-2's names for its sizes, all different
    "model_type": "gpt2",
    "n_embd": 24,
    "n_layer": 5,
    "n_head": 3,
    "n_inner": 40,
    "vocab_size": 71,
    "n_positions": 17,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    return tmp_path


def derive(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["derive", *arguments], prog_name="symformer")


def refused(*arguments: str) -> str:
    """Return the error message of a call that writes nothing."""
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    result = derive(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.count("\n") == 1
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before
    return result.stderr


def left(folder: str = "out") -> list[str]:
    return sorted(os.listdir(folder))


def test_folder_files_equal_single_files() -> None:
    result = derive("gpt2", "component:mlp", "-o", "out/")
    assert result.exit_code == 0, result.output
    assert left() == ["component-mlp.pdf", "gpt2.pdf"]
    assert derive("gpt2", "-o", "alone.pdf").exit_code == 0
    assert Path("out/gpt2.pdf").read_bytes() == Path("alone.pdf").read_bytes()


@pytest.mark.parametrize("extension", ["tex", "md", "typ", "html"])
def test_one_format_applies_to_all_targets(extension: str) -> None:
    assert derive("component:mlp", "component:linear", "-o", "out", "--format", extension).exit_code == 0
    assert left() == [f"component-linear.{extension}", f"component-mlp.{extension}"]
    for name in ("linear", "mlp"):
        assert derive(f"component:{name}", "-o", f"x.{extension}").exit_code == 0
        assert Path(f"out/component-{name}.{extension}").read_bytes() == Path(f"x.{extension}").read_bytes()


def test_single_target_is_written_into_a_folder() -> None:
    assert derive("component:mlp", "-o", "out", "--format", "md", "--length", "short").exit_code == 0
    assert derive("component:mlp", "-o", "x.md", "--length", "short").exit_code == 0
    assert Path("out/component-mlp.md").read_bytes() == Path("x.md").read_bytes()


FORMS = {
    ("--fragment",): ["bert.tex", "gpt2.tex"],
    ("--macros",): ["bert.tex", "gpt2.tex"],
    ("--format", "zip"): ["bert.zip", "gpt2.zip"],
    ("--live",): ["bert.html", "gpt2.html"],
    ("--format", "md", "--template", "own.md"): ["bert.md", "gpt2.md"],
    ("--format", "md", "--flavour", "commonmark"): ["bert.md", "gpt2.md"],
}


@pytest.mark.parametrize("option", sampled(2, [[*option] for option in FORMS]), ids=" ".join)
def test_every_output_form_is_written_per_target(option: list[str]) -> None:
    names = FORMS[tuple(option)]
    Path("own.md").write_text("Of <%= document.title %>")
    assert derive("gpt2", "bert", "-o", "out", *option).exit_code == 0
    assert left("out") == names
    alone = str(Path("alone").with_suffix(Path(names[0]).suffix))
    assert (
        derive("bert", "-o", alone, *(each for each in option if each not in ("--format", "zip", "md"))).exit_code == 0
    )
    assert (Path("out") / names[0]).read_bytes() == Path(alone).read_bytes()


def test_a_folder_of_archives_and_of_macros() -> None:
    assert derive("bert", "gpt2", "-o", "archives/", "--format", "zip").exit_code == 0
    with ZipFile("archives/bert.zip") as archive:
        assert archive.namelist() == ["anc/formulas.json", "main.tex"]
    assert derive("bert", "gpt2", "-o", "macros/", "--macros").exit_code == 0
    assert "params" in Path("macros/gpt2.tex").read_text()


def test_macros_in_a_folder_use_relative_config_paths() -> None:
    Path("tiny").mkdir()
    Path("tiny/config.json").write_text(json.dumps(SMALL))
    assert derive("tiny/config.json", "gpt2", "-o", "out/", "--macros").exit_code == 0
    assert '"target": "../tiny/config.json"' in Path("out/tiny.tex").read_text().splitlines()[0]


def test_failing_target_is_named_and_no_file_is_written() -> None:
    both = ("gpt2", "llama-2-7b", "-o", "out")
    # P, the learned positions, is a size of GPT-2; Llama has rotary positions
    assert "unknown symbol 'P' of llama-2-7b" in refused(*both, "--set", "P=64")
    assert "unknown option 'embedding_dropout' of llama-2-7b" in refused(*both, "--option", "embedding_dropout=false")
    assert "symformer: vit: " in refused("gpt2", "vit", "-o", "out", "-q", "kv-cache")
    assert "unknown target 'nope'" in refused("gpt2", "nope", "-o", "out")
    assert "nowhere/config.json does not exist" in refused("gpt2", "nowhere/config.json", "-o", "out")
    # P = 1,024 in GPT-2 and 512 in BERT: only the first can run a sequence of 700 tokens
    assert re.search(
        r"bert-base-uncased.*S=700", refused("gpt2", "bert-base-uncased", "-o", "out", "-q", "flops", "--set", "S=700")
    )


def test_refused_output_paths() -> None:
    assert "the macros of one TARGET, but 2 are given" in refused("gpt2", "bert", "-o", "x.tex", "--macros")
    assert "out/x has no extension" in refused("gpt2", "bert", "-o", "out/x")
    Path("file").touch()
    assert "file/ cannot be created, because a file has that name" in refused("gpt2", "bert", "-o", "file/")
    assert "the folder nowhere does not exist; create it first" in refused("gpt2", "bert", "-o", "nowhere/out/")


def test_folder_is_created_after_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    assert derive("component:mlp", "component:linear", "-o", "new/", "--format", "md").exit_code == 0
    assert left("new") == ["component-linear.md", "component-mlp.md"]
    refused("gpt2", "nope", "-o", "other/")

    def stopped(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stopped)
    assert derive("component:mlp", "-o", "other/", "--format", "md").exit_code == 130
    assert not Path("other").exists()


def test_incompatible_options_are_refused() -> None:
    Path("own.typ").touch()
    for options, words in {
        ("--live", "--format", "pdf"): "--live writes .html, but each file in out is .pdf",
        ("--fragment", "--format", "md"): "--fragment writes .tex, but --format is md",
        ("--flavour", "github"): "--flavour applies to Markdown only, but each file in out is .pdf",
        ("--template", "own.typ"): "--template writes text formats only, but each file in out is .pdf",
        ("--macros", "--fragment"): "remove one of the two",
        ("--live", "--macros"): "remove one of the two",
    }.items():
        assert words in refused("gpt2", "bert", "-o", "out", *options)


def test_duplicate_file_names_are_refused() -> None:
    for place in ("a/tiny", "b/tiny"):
        Path(place).mkdir(parents=True)
        Path(place, "config.json").write_text(json.dumps(SMALL))
    assert "gpt2 is given twice" in refused("gpt2", "bert", "gpt2", "-o", "out")
    said = refused("a/tiny", "b/tiny/config.json", "-o", "out")
    assert "a/tiny and b/tiny/config.json are both given, but tiny.pdf holds one document" in said
    with pytest.raises(DocumentError, match=r"A/b and a/B are both given, but a-B\.md"):
        file_names(["A/b", "a/B"], "md")


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("gpt2", "gpt2"),
        ("llama-3.1-8b", "llama-3.1-8b"),
        ("hf:qwen3_moe", "hf-qwen3_moe"),
        ("openai-community/gpt2", "openai-community-gpt2"),
        ("openai-community/gpt2@main", "openai-community-gpt2-main"),
        ("torch.nn:Linear", "torch.nn-Linear"),
        ("../models/tiny/config.json", "tiny"),
        ("./.hidden.json", "hidden"),
        ("模型/config.json", "模型"),
        ("a_%&#${}^~<>|`'\" b/config.json", "a_---------------b"),  # 15 that file names must not have
        ("-", "config"),
        ("...json", "config"),
    ],
)
def test_file_is_named_after_its_target(target: str, name: str) -> None:
    assert stem(target) == name


def test_long_names_and_obstacles_are_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(order: DocumentRequest, target: str) -> None:
        raise AssertionError("work before the folder is looked at")

    Path("out/gpt2.pdf").mkdir()
    Path("x" * 252).mkdir()  # with .pdf, one byte longer than a file name may be
    monkeypatch.setattr(DocumentRequest, "resolved", work)
    assert "out/gpt2.pdf is a folder" in refused("bert", "gpt2", "-o", "out")
    assert "cannot be written: File name too long" in refused("bert", "x" * 252 + "/config.json", "-o", "out")


def test_full_disk_keeps_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("out/a.md").write_text("kept")
    stage, calls = os.fdopen, []

    def full(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return stage(*arguments)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(DocumentError, match=r"out/c\.md cannot be written: No space left"):
        write_all("out", {"a.md": b"new", "b.md": b"new", "c.md": b"new"})
    assert left() == ["a.md"]
    assert Path("out/a.md").read_text() == "kept"


def test_folder_is_written_from_python() -> None:
    made = folder_files(DocumentRequest("1", "md", sets=["E=24"]), ["gpt2", "component:mlp"], "out")
    assert list(made) == ["gpt2.md", "component-mlp.md"]
    assert left() == []
    # 12LE^2 + 13LE + VE + PE + 2E at a width of 24: 82,944 + 3,744 + 1,206,168 + 24,576 + 48
    assert b"1,317,480" in made["gpt2.md"]
