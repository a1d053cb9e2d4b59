"""Everything in the README and in the user guide runs as written: commands, Python, and the example of a component."""

from __future__ import annotations

import doctest
import re
import shlex
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from click.testing import CliRunner

from symformer.commands.cli import cli

from .samples import sampled

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PAGES = {"README.md": README, "docs/guide.md": (ROOT / "docs/guide.md").read_text("utf-8")}
OUTPUT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def commands(page: str) -> list[tuple[str, str]]:
    """Return each command after a ``$``, with the output that the page shows."""
    found = []
    for block in blocks("console", page):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = piece.partition("\n")
            found.append((command, output))
    return found


def named_files(page: str) -> dict[str, str]:
    """Return each code block whose first line names a file in a comment, and the JSON as config.json, by file name."""
    named = re.findall(r"```\w+\n((?:#|%) ([\w.]+)\n.*?)```", page, re.DOTALL)
    return {name: text for text, name in [*named, *((text, "config.json") for text in blocks("json", page))]}


EVERY = [command for page in PAGES.values() for command in commands(page)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages show; commands write their outputs into it."""
    made = tmp_path_factory.mktemp("pages")
    for page in PAGES.values():
        for name, text in named_files(page).items():
            (made / name).write_text(text, "utf-8")
    return made


def test_the_readme_has_both_setup_commands() -> None:
    """.ci/run reads these two commands from the README."""
    assert blocks("sh") == [
        "pip install . && symformer derive gpt2 -o gpt2.pdf\n",
        "pip install -e '.[test]' && pytest -n auto\n",
    ]


SLOW = ("symformer layout", "symformer trace", "symformer derive gpt2 llama-2-7b")


def test_each_page_has_its_own_commands_and_files() -> None:
    assert [len(commands(page)) >= 10 for page in PAGES.values()] == [True, True]
    assert len({command for command, _ in EVERY}) == len(EVERY)
    assert [set(named_files(page)) for page in PAGES.values()] == [
        {"mine.py", "config.json"},
        {"small.py", "paper.tex"},
    ]


@pytest.mark.parametrize(
    ("command", "output"), sampled(1000, EVERY, lambda case: not case[0].startswith(SLOW)), ids=lambda value: value[:40]
)
def test_commands_print_the_output_shown(
    command: str, output: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line ``...`` in the output stands for omitted lines."""
    monkeypatch.chdir(folder)
    program, *arguments = shlex.split(command)
    assert program == "symformer"
    result = CliRunner().invoke(cli, arguments, prog_name="symformer")
    assert result.exit_code == 0, result.output
    if output:
        assert doctest.OutputChecker().check_output(output, result.stdout, OUTPUT), result.stdout


def test_the_main_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(blocks("sh")[0].partition("&& symformer ")[2])
    assert CliRunner().invoke(cli, arguments, prog_name="symformer").exit_code == 0
    assert (tmp_path / "gpt2.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("name", PAGES)
def test_the_python_examples_run(name: str) -> None:
    session = "".join(block for block in blocks("python", PAGES[name]) if block.startswith(">>>"))
    test = doctest.DocTestParser().get_doctest(session, {}, name, name, 0)
    assert len(test.examples) >= 4
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


@pytest.mark.parametrize("name", [*PAGES, "CONTRIBUTING.md", "docs/releasing.md"])
def test_every_link_has_a_target(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    folder = (ROOT / name).parent
    for path, anchor in re.findall(r"\]\(([^)#]*)(#[^)]*)?\)", text) + re.findall(r"src=\"([^\"]+)()\"", text):
        assert path.startswith("https://") or (folder / path).exists(), path
        if anchor:
            linked = (folder / path).read_text("utf-8") if path else text
            assert anchor.removeprefix("#") in headings(linked), (path, anchor)


def headings(text: str) -> list[str]:
    """Return the anchors of a page's headings on GitHub."""
    return [heading.replace(",", "").replace(" ", "-").lower() for heading in re.findall(r"(?m)^#+ (.+)$", text)]


def test_every_path_in_contributing_exists() -> None:
    """A file is named by its path, or by its path inside the package; NAME and EXT stand for new names."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = [path for path in re.findall(r"`((?:\w+/)+[\w.]*)`", text) if not re.search("NAME|EXT", path)]
    assert len(named) > 15
    assert [path for path in named if not any((folder / path).exists() for folder in (ROOT, ROOT / "symformer"))] == []
    assert len(text.splitlines()) < 180
