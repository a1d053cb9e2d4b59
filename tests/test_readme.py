"""Everything in the README runs as written: its commands, its Python, and its example of a component."""

from __future__ import annotations

import doctest
import re
import shlex
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from click.testing import CliRunner

from symformer.commands.cli import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """Return each command after a ``$``, with the output shown in the README."""
    found = []
    for block in blocks("console"):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = piece.partition("\n")
            found.append((command, output))
    return found


def test_the_readme_has_both_setup_commands() -> None:
    """.ci/run reads these two commands from the README."""
    assert blocks("sh") == [
        "pip install . && symformer derive gpt2 -o gpt2.pdf\n",
        "pip install -e '.[test]' && pytest -n auto\n",
    ]
    assert len(commands()) >= 8


@pytest.mark.parametrize(("command", "output"), commands(), ids=lambda value: value[:40])
def test_commands_print_the_output_shown(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command)
    assert program == "symformer"
    result = CliRunner().invoke(cli, arguments, prog_name="symformer")
    assert result.exit_code == 0, result.output
    if output:
        assert [line.split() for line in result.stdout.splitlines()] == [line.split() for line in output.splitlines()]


def test_the_main_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(blocks("sh")[0].partition("&& symformer ")[2])
    assert CliRunner().invoke(cli, arguments, prog_name="symformer").exit_code == 0
    assert (tmp_path / "gpt2.pdf").read_bytes().startswith(b"%PDF")


def test_the_python_examples_run() -> None:
    session = "".join(block for block in blocks("python") if block.startswith(">>>"))
    test = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
    assert len(test.examples) >= 8
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_component_example_runs(tmp_path: Path) -> None:
    """It is copied into a separate file, with nothing else available."""
    (source,) = [block for block in blocks("python") if "class Bottleneck" in block]
    path = tmp_path / "bottleneck.py"
    path.write_text(source, "utf-8")
    spec = spec_from_file_location("bottleneck", path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    (example,) = doctest.DocTestFinder().find(module.Bottleneck, module=module, globs=vars(module))[:1]
    assert doctest.DocTestRunner().run(example) == (0, 1)
    assert module.Bottleneck().choices() == {}


def test_every_link_has_a_target() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", README):
        path = next(filter(None, target))
        assert path.startswith("https://") or (ROOT / path).exists(), path


def test_every_named_file_exists() -> None:
    for path in re.findall(r"`((?:symformer|tests)/[\w./]*)`", README):
        assert (ROOT / path).exists(), path


def test_every_path_in_contributing_exists() -> None:
    """A file is named by its path, or by its path inside the package; NAME and EXT stand for new names."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = [path for path in re.findall(r"`((?:\w+/)+[\w.]*)`", text) if not re.search("NAME|EXT", path)]
    assert len(named) > 15
    assert [path for path in named if not any((folder / path).exists() for folder in (ROOT, ROOT / "symformer"))] == []
    assert len(text.splitlines()) < 100
