"""Everything in the README runs as written: its commands, its Python, its example of a component."""

from __future__ import annotations

import doctest
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from symformer.cli import cli
from symformer.components.base import Component
from symformer.ledger import Operations, Tensor
from symformer.symbols import H

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """Each command after a ``$``, with the output that the README shows for it."""
    found = []
    for block in blocks("console"):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = piece.partition("\n")
            found.append((command, output))
    return found


def test_the_two_commands_are_there() -> None:
    """.ci/run runs these two, read from here."""
    assert blocks("sh") == [
        "pip install . && symformer derive gpt2 -o gpt2.pdf\n",
        "pip install -e '.[test]' && pytest\n",
    ]
    assert len(commands()) >= 8


@pytest.mark.parametrize(("command", "output"), commands(), ids=lambda value: value[:40])
def test_commands_print_what_is_shown(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command)
    assert program == "symformer"
    result = CliRunner().invoke(cli, arguments, prog_name="symformer")
    assert result.exit_code == 0, result.output
    if output:
        assert [line.split() for line in result.stdout.splitlines()] == [line.split() for line in output.splitlines()]


def test_main_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(blocks("sh")[0].partition("&& symformer ")[2])
    assert CliRunner().invoke(cli, arguments, prog_name="symformer").exit_code == 0
    assert (tmp_path / "gpt2.pdf").read_bytes().startswith(b"%PDF")


def test_python() -> None:
    session = "".join(block for block in blocks("python") if block.startswith(">>>"))
    test = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
    assert len(test.examples) >= 8
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_example_of_a_component() -> None:
    (source,) = [block for block in blocks("python") if "class Bottleneck" in block]
    scope = {"dataclass": dataclass, "Component": Component, "Operations": Operations, "Tensor": Tensor, "H": H}
    exec(compile(source, "README.md", "exec"), {**scope, "__name__": __name__}, scope)  # noqa: S102
    (example,) = doctest.DocTestFinder().find(scope["Bottleneck"], globs=scope)[:1]
    assert doctest.DocTestRunner().run(example) == (0, 1)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", README):
        path = next(filter(None, target))
        assert path.startswith("https://") or (ROOT / path).exists(), path


def test_every_named_file_exists() -> None:
    for path in re.findall(r"`((?:symformer|tests)/[\w./]*)`", README):
        assert (ROOT / path).exists(), path
