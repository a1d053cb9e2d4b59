"""Markdown flavours: the same document, with different notations for mathematics."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from symformer.commands.cli import cli
from symformer.documents.derivation_document import document
from symformer.documents.formats import FLAVOURS, render
from symformer.documents.formats.md import FLAVOURS as SPOKEN
from symformer.documents.formats.md import Markdown
from symformer.language.notation.display_tree import Label, tree
from symformer.language.symbols import E, H
from symformer.output.blocks import Code, Document, Equation, Math, Paragraph, Ref, Table, numbered
from symformer.output.chain import Chain
from symformer.targets.resolution import resolve

MADE = document(resolve("deepseek-v3")[0], ["params"], "1")


def told(flavour: str, made: Document = MADE) -> str:
    return SPOKEN[flavour].spell(made)


def code(source: str) -> tuple[list[str], list[str]]:
    """Return the code blocks and code spans according to a CommonMark parser."""
    parsed = MarkdownIt("commonmark").parse(source)
    spans = [each.content for token in parsed for each in token.children or [] if each.type == "code_inline"]
    return [token.content for token in parsed if token.type == "fence"], spans


def test_every_flavour_is_listed() -> None:
    assert tuple(SPOKEN) == FLAVOURS == ("github", "jupyter", "commonmark")
    assert render(MADE, "md") == render(MADE, "md", flavour="github")
    assert len({render(MADE, "md", flavour=flavour) for flavour in FLAVOURS}) == 3


@pytest.fixture
def whole_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not split long blocks of GitHub's Markdown, which the other flavours have in one piece."""
    monkeypatch.setattr(Markdown, "longest", None)


@pytest.mark.usefixtures("whole_blocks")
def test_jupyter_changes_only_math_delimiters() -> None:
    github = told("github")
    assert github.count("```math") > 10
    moved = re.sub(r"(?s)```math\n(.*?)\n```", r"$$\n\1\n$$", github).replace("$`", "$").replace("`$", "$")
    assert told("jupyter") == moved
    assert "$$" not in github
    assert "`" not in re.sub(r"`[^`$\n]*`", "", told("jupyter"))


@pytest.mark.usefixtures("whole_blocks")
def test_commonmark_has_no_math_delimiters() -> None:
    plain = told("commonmark")
    assert not re.search(r"\\(begin|frac|mathrm|tag|times|cdot)|\$|```math", plain)
    blocks, spans = code(plain)
    assert len(blocks) == told("github").count("```math")
    # section 2.1 of arXiv:2412.19437: 3·E·H per dense layer
    assert "N[dense_layers.mlp] = H · E + H · E + E · H\n                    = 3EH    (8)\n" in blocks
    assert {"L_dense", "H × E", "layers.*.self_attn"} <= set(spans)
    starts = [line.index("=") for line in blocks[5].splitlines()]
    assert len(set(starts)) == 1


def test_hostile_names_are_printed_literally() -> None:
    odd = "a`b``c ```` $x$ | <i> 模 \x07"
    chain = Chain((Label("N", odd, E),), (tree(E + H),))
    equation = Equation(chain, id="x", reasons=[["by ", Math.of(E), Code(odd), Ref("x")]])
    blocks, _ = numbered([equation, Paragraph([Math(chain.labels[0]), "."]), Table([["a"]], [[[Math.of(H)]]], "l")])
    source = told("commonmark", Document("t", "t", blocks))
    found, spans = code(source)
    seen = odd.replace("\x07", "\ufffd")
    assert found == [f"N[{seen}] = E + H    by E{seen}(1)    (1)\n"]
    assert spans == [f"N[{seen}]".replace("|", r"\|"), "H"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_flavour_is_selected_by_name(flavour: str, tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    result = CliRunner().invoke(cli, ["derive", "component:linear", "-o", str(path), "--flavour", flavour])
    assert result.exit_code == 0
    assert ("$$" in path.read_text("utf-8")) == (flavour == "jupyter")


def test_flavour_requires_markdown(tmp_path: Path) -> None:
    for name, given, words in (
        ("x.tex", "jupyter", "--flavour applies to Markdown only"),
        ("x.md", "doc", "'doc' is not one"),
    ):
        asked = ["derive", "component:linear", "-o", str(tmp_path / name), "--flavour", given]
        result = CliRunner().invoke(cli, asked, prog_name="symformer")
        assert (result.exit_code, result.stdout) == (2, "")
        assert words in result.stderr
    assert not list(tmp_path.iterdir())
