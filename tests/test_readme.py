"""Everything in the README and in the user guide runs as written: commands, Python, and the example of a component.

The snippets of a page run in their order, in a folder of their own.
"""

from __future__ import annotations

import doctest
import re
import shlex
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from symformer.commands.cli import cli

from .samples import sampled

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
DOCS = ROOT / "docs"
GUIDE = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md"))}
PAGES = {"README.md": README, **GUIDE}
OUTPUT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Blocks that are shown and not run. Those in `sh` set symformer up, as .ci/run and .ci/release.py do.
SHOWN = {"sh", "toml", "math", "toctree", "commands", "eval-rst"}
SETUP = {
    "README.md": [
        "pip install . && symformer derive gpt2 -o gpt2.pdf\n",
        "pip install -e '.[test]' && pytest -n auto\n",
    ],
    "docs/how-to/install.md": ["python -m venv .venv\n. .venv/bin/activate\npip install .\n"],
    "docs/how-to/site.md": [
        "symformer site -o site/ --only gpt2 --only llama-2-7b --serve\n",
        "SYMFORMER_SITE=http://127.0.0.1:8000/ symformer show llama-2-7b -q kv-cache --set C=8192 --open\n",
    ],
}


def fences(page: str) -> list[tuple[str, str]]:
    """Return the code blocks of a page, each with its language."""
    return re.findall(r"^```\{?([\w-]*)\}?\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def blocks(language: str, page: str = README) -> list[str]:
    return [text for kind, text in fences(page) if kind == language]


def snippets(page: str) -> Iterator[tuple[str, Any]]:
    """Yield what runs on a page, in order: files to save, commands with the output shown, and Python sessions."""
    for language, text in fences(page):
        named = re.match(r"(?:#|%) ([\w.]+)\n", text)
        if named:
            yield "file", (named[1], text)
        elif language == "json":
            yield "file", ("config.json", text)
        elif language == "console":
            for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = piece.partition("\n")
                yield "command", (command, output)
        elif text.startswith(">>>"):
            yield "session", text
        else:
            yield language, text


def commands(page: str) -> list[str]:
    return [snippet[0] for kind, snippet in snippets(page) if kind == "command"]


def run(command: str, output: str) -> None:
    """Run a command, and compare the output shown; a line ``...`` in it stands for omitted lines."""
    program, *arguments = shlex.split(command)
    assert program == "symformer", command
    result = CliRunner().invoke(cli, arguments, prog_name="symformer")
    refused = output.startswith("symformer: ")  # an error message
    assert result.exit_code == (2 if refused else 0), (command, result.output)
    if output:
        assert doctest.OutputChecker().check_output(output, result.output, OUTPUT), f"$ {command}\n{result.output}"


RUNNING = [name for name, page in PAGES.items() if {"command", "session"} & {kind for kind, _ in snippets(page)}]
SLOW = (
    "documents",
    "layouts",
    "certificates",
    "own-model",
    "own-module",
    "teaching",
    "compare",
    "figures",
    "published",
    "verify",
)


@pytest.mark.parametrize("name", sampled(1000, RUNNING, lambda name: Path(name).stem not in SLOW))
def test_a_page_runs_as_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)
    names: dict[str, Any] = {}
    for kind, snippet in snippets(PAGES[name]):
        if kind == "file":
            (tmp_path / snippet[0]).write_text(snippet[1], "utf-8")
        elif kind == "command":
            run(*snippet)
        elif kind == "session":
            test = doctest.DocTestParser().get_doctest(snippet, names, name, name, 0)
            said: list[str] = []
            failed = doctest.DocTestRunner(optionflags=OUTPUT).run(test, out=said.append, clear_globs=False).failed
            assert failed == 0, "".join(said)
            names = test.globs
    for saved in tmp_path.glob("*.py"):  # a module that a session imported
        if saved.stem not in known:
            sys.modules.pop(saved.stem, None)


def test_every_block_of_the_guide_runs_or_is_known() -> None:
    for name, page in PAGES.items():
        rest = [(kind, text) for kind, text in snippets(page) if kind not in {"file", "command", "session", *SHOWN}]
        assert all("class Bottleneck" in text or "class Tiny" in text for kind, text in rest), (name, rest)
        assert blocks("sh", page) == SETUP.get(name, []), name
    assert len(RUNNING) > 30
    assert len(commands(README)) >= 10
    assert "docs/guide.md" not in "".join(PAGES.values())


def test_no_page_repeats_a_command_of_another() -> None:
    """Tutorials may: they are read by themselves."""
    rest = [command for name, page in PAGES.items() if "tutorials" not in name for command in commands(page)]
    assert len(set(rest)) >= len(rest) - 6


def test_the_main_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(blocks("sh")[0].partition("&& symformer ")[2])
    assert CliRunner().invoke(cli, arguments, prog_name="symformer").exit_code == 0
    assert (tmp_path / "gpt2.pdf").read_bytes().startswith(b"%PDF")


def test_the_component_example_runs(tmp_path: Path) -> None:
    """It is copied into a separate file, with nothing else available."""
    (source,) = [block for block in blocks("python") if "class Bottleneck" in block]
    module = saved_module(tmp_path / "bottleneck.py", source)
    (example,) = doctest.DocTestFinder().find(module.Bottleneck, module=module, globs=vars(module))[:1]
    assert doctest.DocTestRunner().run(example) == (0, 1)
    assert module.Bottleneck().choices() == {}


def test_the_architecture_example_runs(tmp_path: Path) -> None:
    (source,) = [block for block in blocks("python", GUIDE["docs/how-to/extensions.md"]) if "class Tiny" in block]
    module = saved_module(tmp_path / "tiny.py", source)
    assert str(module.Tiny().params) == "2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E"  # Llama's, README


def saved_module(path: Path, source: str) -> Any:
    path.write_text(source, "utf-8")
    spec = spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [*PAGES, "CONTRIBUTING.md"])
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
    assert len(text.splitlines()) < 200
