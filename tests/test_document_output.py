"""Files are written completely or not at all, and files that are not our outputs are left alone."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import pytest
from click.testing import CliRunner, Result

from symformer.commands.cli import cli
from symformer.documents import gallery_pages
from symformer.documents.formats import pdf
from symformer.language.errors import DocumentError
from symformer.output import files


def derive(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["derive", "component:linear", *arguments], prog_name="symformer")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir())


def test_a_symbolic_link_is_kept_and_its_target_written(folder: Path) -> None:
    Path("there").mkdir()
    Path("there/real.md").write_text("old")
    Path("there/real.md").chmod(0o640)
    Path("link.md").symlink_to("there/real.md")
    Path("chain.md").symlink_to("link.md")
    assert derive("-o", "chain.md").exit_code == 0
    assert Path("chain.md").is_symlink()
    assert Path("link.md").is_symlink()
    assert Path("there/real.md").read_text().startswith("# Linear")
    assert stat.S_IMODE(Path("there/real.md").stat().st_mode) == 0o640
    assert left(folder) == ["chain.md", "link.md", "there"]
    assert left(folder / "there") == ["real.md"]


def test_writing_through_a_dangling_link_creates_its_target(folder: Path) -> None:
    Path("link.md").symlink_to("new.md")
    assert derive("-o", "link.md").exit_code == 0
    assert Path("link.md").is_symlink()
    assert Path("new.md").read_text().startswith("# Linear")


def test_special_files_are_refused_and_left_unchanged(folder: Path) -> None:
    os.mkfifo("pipe.md")
    Path("device.md").symlink_to(os.devnull)
    Path("loop.md").symlink_to("loop.md")
    Path("lost.md").symlink_to("nowhere/x.md")
    before = left(folder)
    for name, words in {
        "pipe.md": "is a pipe",
        "device.md": "is a device",
        "loop.md": "cannot be written",
        "lost.md": "nowhere does not exist",
        "/dev/full": "is a device",
    }.items():
        result = derive("-o", name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
        with pytest.raises(DocumentError):
            files.write(name if name.endswith(".md") else "pipe.md", b"x")
    assert left(folder) == before
    assert stat.S_ISFIFO(os.stat("pipe.md").st_mode)
    assert all(Path(name).is_symlink() for name in ("device.md", "loop.md", "lost.md"))


def test_a_file_with_two_hard_links_is_refused(folder: Path) -> None:
    Path("one.md").write_text("kept")
    os.link("one.md", "two.md")
    result = derive("-o", "two.md")
    assert result.exit_code == 2
    assert "two.md is one of 2 hard links to a file" in result.stderr
    assert Path("one.md").read_text() == Path("two.md").read_text() == "kept"
    assert os.stat("one.md").st_nlink == 2


def test_the_longest_allowed_file_names_are_written(folder: Path) -> None:
    longest = "x" * 252 + ".md"  # 255 bytes, the limit of file systems
    assert derive("-o", longest).exit_code == 0
    assert left(folder) == [longest]
    for name in ("x" * 253 + ".md", "x/" * 3_000 + "y.md", "模" * 100 + ".md"):
        result = derive("-o", name)
        assert result.exit_code == 2
        assert "cannot be written" in result.stderr
        assert "Traceback" not in result.output
    assert left(folder) == [longest]


def test_a_file_name_that_is_too_long_is_one_sentence() -> None:
    name = "x" * 300
    for arguments in (
        ["show", name],
        ["show", f"./{name}.json"],
        ["show", f"{name}/{name}"],
        ["gallery", name],
        ["gallery", "--check", name],
        ["census", "gpt2", "-o", name],
        ["cite", name],
        ["cite", f"gpt2.params.{name}"],
        ["verify", name],
        ["show", "gpt2", "-q", name],
        ["show", "gpt2", "--set", f"{name}=3"],
        ["show", "gpt2", "--option", f"{name}=3"],
    ):
        result = CliRunner().invoke(cli, arguments, prog_name="symformer")
        assert (result.exit_code, result.stdout) == (2, ""), arguments
        assert result.stderr.count("\n") == 1
        assert len(result.stderr) < 1_300


def test_a_gallery_needs_an_existing_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(version: str) -> dict[str, bytes]:
        raise AssertionError("a minute of work before the folder is looked for")

    monkeypatch.setattr(gallery_pages, "pages", work)
    Path("file").touch()
    for arguments in (["gallery", "--check", "nowhere"], ["gallery", "nowhere"], ["gallery", "--check", "file"]):
        result = CliRunner().invoke(cli, arguments, prog_name="symformer")
        assert result.exit_code == 2
        assert "does not exist" in result.stderr


def test_a_gallery_is_written_only_if_all_of_it_is_writable(folder: Path) -> None:
    os.mkfifo("b.md")
    with pytest.raises(DocumentError, match="is a pipe"):
        files.write_all(".", {"a.md": b"a", "b.md": b"b"})
    assert left(folder) == ["b.md"]


def test_an_interrupted_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("x.md").write_text("kept")

    def stopped(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        files.write("x.md", b"new")
    assert left(folder) == ["x.md"]
    assert Path("x.md").read_text() == "kept"


# Standard output


def test_a_derivation_is_printed_in_the_given_format() -> None:
    for form, start in {
        "md": b"# Linear",
        "tex": b"\\documentclass",
        "typ": b"",
        "pdf": b"%PDF",
        "html": b"<!DOCTYPE",
    }.items():
        result = derive("-o", "-", "--format", form)
        assert result.exit_code == 0
        assert result.stderr == ""
        assert result.stdout_bytes.startswith(start)
        assert derive("-o", f"x.{form}").exit_code == 0
        assert Path(f"x.{form}").read_bytes() == result.stdout_bytes


def test_conflicting_or_missing_formats_are_refused() -> None:
    for arguments, words in {
        ("-o", "-"): "set the format, as in --format md",
        ("-o", "x.md", "--format", "tex"): "x.md ends in .md, but --format is tex",
        ("-o", "-", "--format", "doc"): "'doc' is not one of",
    }.items():
        result = derive(*arguments)
        assert result.exit_code == 2
        assert words in result.stderr
    assert derive("-o", "x.md", "--format", "md").exit_code == 0


# pdflatex

ODD = {
    "exit 0": "wrote no PDF",
    "kill -9 $$": "was stopped by signal 9",
    "printf '! bad \\033[31m\\377\\n'; exit 3": r"failed with status 3 and wrote no PDF: ! bad \x1b[31m",
    "mkdir derivation.pdf; exit 0": "wrote no PDF",
    "echo no PDF > derivation.pdf": "wrote no PDF",
    'rm -rf "$PWD"': "and wrote no PDF",
}


def latex(script: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    Path("bin").mkdir(exist_ok=True)
    Path("bin/pdflatex").write_text(script)
    Path("bin/pdflatex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path.cwd() / 'bin'}:/usr/bin:/bin")
    return derive("-o", "x.pdf", "--engine", "latex")


@pytest.mark.parametrize("script", ODD)
def test_unusual_pdflatex_failures_are_one_sentence(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = latex(f"#!/bin/sh\n{script}\n", monkeypatch)
    assert (result.exit_code, result.stdout) == (2, "")
    if "rm -rf" not in script:
        assert ODD[script] in result.stderr
    assert result.stderr.count("\n") == 1
    assert "\x1b" not in result.stderr
    assert left(folder) == ["bin"]


def test_a_pdflatex_that_cannot_run_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = latex("neither a program nor a script", monkeypatch)
    assert result.exit_code == 2
    assert "cannot be run" in result.stderr


def test_a_hanging_pdflatex_is_stopped_with_its_children(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "LATEX_SECONDS", 0.3)
    started = folder / "started"
    result = latex(f"#!/bin/sh\nsleep 60 & echo $! $$ > {started}\nwait\n", monkeypatch)
    assert result.exit_code == 2
    assert "did not finish within" in result.stderr
    pids = started.read_text().split()
    assert len(pids) == 2
    for _ in range(1_000):  # a signal may arrive late
        if not any(map(runs, pids)):
            return
        sleep(0.01)
    raise AssertionError("what pdflatex started still runs")


def runs(pid: str) -> bool:
    """Return True if a process has not ended; an ended one may still be listed until its parent waits for it."""
    state = Path(f"/proc/{pid}/stat")
    try:
        return state.read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed there")
def test_a_deleted_working_directory_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    sentence = "symformer: the working directory has been deleted; change to an existing one\n"
    for arguments in (
        ["derive", "component:linear", "-o", "x.md"],
        ["gallery", "."],
        ["gallery", "--check", "."],
        ["census", "gpt2"],
        ["verify", "gpt2"],
        ["trace", "torch.nn:Linear", "--size", "in_features=3"],
    ):
        result = CliRunner().invoke(cli, arguments, prog_name="symformer")
        assert (result.exit_code, result.stdout, result.stderr) == (2, "", sentence), arguments
    absolute = str(tmp_path / "x.pdf")
    assert derive("-o", absolute).exit_code == 0
    assert Path(absolute).read_bytes().startswith(b"%PDF")
    assert derive("-o", "-", "--format", "md").exit_code == 0
    assert CliRunner().invoke(cli, ["show", "gpt2"]).exit_code == 0


CONFIG = (
    '{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 12, "n_head": 3, "n_layer": 2, '
    '"vocab_size": 101, "n_positions": 32}'
)
# Every command that writes a file, with that file as its input. The input path is spelled in every possible way.
OVERWRITING = {
    "rows.csv": ("E,L\n768,12\n", ["sweep gpt2 --from rows.csv"]),
    "rows.jsonl": ('{"L": 12}\n', ["sweep gpt2 --from rows.jsonl"]),
    "template.md": ("<%= document.title %>", ["derive component:linear --template template.md"]),
    "config.md": (
        CONFIG,
        [
            "derive ./config.md",
            "derive -",
            "derive /dev/stdin",
            "derive gpt2 ./config.md --live",
            "compare gpt2 ./config.md",
            "compare ./config.md -q flops --divide-by params",
        ],
    ),
    "config.svg": (
        CONFIG,
        [
            "plot ./config.svg",
            "compare ./config.svg gpt2",
            "solve ./config.svg --total 5000 --find L",
            "sensitivity ./config.svg",
            "sweep ./config.svg --grid L=1:5:1",
        ],
    ),
}


@pytest.mark.parametrize(
    ("name", "command"), [(name, each) for name, (_, all_) in OVERWRITING.items() for each in all_]
)
@pytest.mark.parametrize("alias", ["same", "dot", "symbolic link", "hard link"])
def test_an_output_that_is_also_an_input_is_refused(name: str, command: str, alias: str, folder: Path) -> None:
    content, _ = OVERWRITING[name]
    Path(name).write_text(content)
    output = {"same": name, "dot": f"../{folder.name}/{name}"}.get(alias, f"alias{Path(name).suffix}")
    if "link" in alias:
        (Path(output).symlink_to if alias == "symbolic link" else Path(output).hardlink_to)(name)
    with standard_input(name):
        result = CliRunner().invoke(cli, [*command.split(), "-o", output], prog_name="symformer")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"symformer: {output} is an input of this command and would be overwritten; write to another file\n"
    )
    assert Path(name).read_text() == content
    assert left(folder) == sorted({name, *([output] if "link" in alias else [])})


@contextmanager
def standard_input(path: str) -> Iterator[None]:
    """Redirect the descriptor itself, because a command reads /dev/stdin, not Python's stream."""
    before = os.dup(0)
    with Path(path).open("rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_a_folder_that_contains_the_input_is_not_written_over_it(folder: Path) -> None:
    Path("config.md").write_text(CONFIG)
    Path("linked.md").symlink_to("config.md")  # the file of ./linked is linked.md
    Path("linked").symlink_to("config.md")
    result = CliRunner().invoke(cli, ["derive", "./linked", "-o", "./", "--format", "md"], prog_name="symformer")
    assert result.exit_code == 2
    assert "linked.md is an input of this command" in result.stderr
    assert Path("config.md").read_text() == CONFIG
    Path("model").mkdir()
    Path("model/model.svg").write_text(CONFIG)
    Path("model/config.json").symlink_to("model.svg")
    result = CliRunner().invoke(cli, ["plot", "model", "-o", "model/model.svg"], prog_name="symformer")
    assert result.exit_code == 2
    assert Path("model/model.svg").read_text() == CONFIG


def test_the_same_file_is_written_by_a_command_that_does_not_read_it(folder: Path) -> None:
    Path("rows.csv").write_text("L\n12\n")
    command = ["sweep", "gpt2", "--from", "rows.csv", "-o"]
    for output in ("other.csv", "other.csv"):  # an earlier output is replaced
        assert CliRunner().invoke(cli, [*command, output], prog_name="symformer").exit_code == 0
    # 12*12*768^2 + 13*12*768 + 50257*768 + 1024*768 + 2*768, as published
    assert Path("other.csv").read_text() == "L,params\n12,124439808\n"
    assert derive("-o", "rows.csv.md").exit_code == 0


def test_a_folder_with_a_file_extension_needs_a_trailing_slash(folder: Path) -> None:
    Path("paper.md").mkdir()
    Path("v1.0").mkdir()
    result = derive("-o", "paper.md")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "paper.md is a folder, but its name ends like a file; use -o paper.md/ to" in result.stderr
    assert left(folder / "paper.md") == []
    assert derive("-o", "paper.md/", "--format", "typ").exit_code == 0
    assert derive("-o", "v1.0", "--format", "typ").exit_code == 0
    assert left(folder / "paper.md") == left(folder / "v1.0") == ["component-linear.typ"]
