"""User templates: they can produce the same documents as ours, and access nothing else."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from symformer.commands.cli import cli
from symformer.documents.derivation_document import document
from symformer.documents.formats import render, template_process, user_template
from symformer.documents.formats.base_language import templates
from symformer.documents.formats.html import FORMAT as HTML
from symformer.documents.formats.tex import FORMAT as LATEX
from symformer.language.errors import DocumentError
from symformer.output.blocks import Document
from symformer.targets.resolution import resolve

MADE = document(resolve("t5")[0], ["params", "kv-cache"], "1")
WRITTEN = ("tex", "md", "typ", "html")


def fill(template: str, extension: str = "tex", made: Document = MADE) -> bytes:
    return user_template.fill(made, extension, "github", template, "my.jinja")


@cache
def viewed(extension: str) -> str:
    """Return the views of the document as JSON."""
    return json.dumps(user_template.views(MADE, {"tex": LATEX, "html": HTML}[extension]))


def here(template: str, extension: str = "tex") -> dict[str, str]:
    """Fill in a template in this process, which avoids starting another; the views are plain JSON here too."""
    given = json.loads(viewed(extension))
    return template_process.fill({"template": template, "extension": extension, "flavour": "github", **given})


@pytest.mark.parametrize("extension", WRITTEN)
def test_built_in_templates_reproduce_the_built_in_output(extension: str) -> None:
    template = (templates() / f"derivation.{extension}.jinja").read_text("utf-8")
    assert fill(template, extension) == render(MADE, extension)


def test_a_template_may_use_the_document_and_the_language() -> None:
    assert here("<%= language.prose(document.title) %>") == {"text": LATEX.prose(MADE.title)}
    keys = "<% for block in document.blocks if block.kind == 'equation' and block.key %><%= block.id %>;<% endfor %>"
    assert here(keys) == {"text": "t5.params;t5.kv-cache;"}
    # Raffel et al. 2020, table 14, has a vocabulary and a width: VE is in the tables of elements
    cells = "<% for row in document.blocks[1].rows or [] %><%= row[0] %><% endfor %>"
    assert "refused" in here(cells), "a paragraph has no rows"
    assert here("<%= language.prose('a_b & c') %>") == {"text": r"a\_b \& c"}
    assert here("<%= language.line('<b>') %><%= '<b>' %>", "html") == {"text": "&lt;b&gt;&lt;b&gt;"}
    assert here("<%= language.strong('<b>') %>", "html") == {"text": "<strong>&lt;b&gt;</strong>"}


REACHING = {
    "<%= document.__class__ %>": "'__class__'",
    "<%= ''.__class__.__mro__ %>": "'__class__'",
    "<%= language.line.__globals__ %>": "'__globals__'",
    "<%= language.prose.__closure__ %>": "'__closure__'",
    "<%= language._replace(prose=1) %>": "'_replace'",
    "<%= document.blocks[0]._asdict() %>": "'_asdict'",
    "<%= document['__class__'] %>": "'__class__'",
    "<%= document | attr('__class__') %>": "No filter named 'attr'",
    "<%= [document] | map(attribute='__class__') | first %>": "'__class__'",
    "<%= '{0.__class__}'.format(document) %>": "'__class__'",
    "<%= '{a.__class__}'.format_map({'a': document}) %>": "'__class__'",
    "<%= joiner.__init__.__globals__ %>": "'__init__'",
    "<%= self.__init__ %>": "'__init__'",
    "<%= namespace.__init__ %>": "'__init__'",
    "<%= document.blocks[1].chain %>": "no attribute 'chain'",
    "<%= page.rows(document.blocks[1]) %>": "no attribute 'rows'",
    "<%= language.render(document, 'typst') %>": "no attribute 'render'",
    "<% include '/etc/passwd' %>": "refers to another file",
    "<% import 'derivation.tex.jinja' as x %>": "refers to another file",
    "<% from 'x' import y %>": "refers to another file",
    "<% extends 'derivation.tex.jinja' %>": "refers to another file",
    "<%= open('/etc/passwd') %>": "'open' is undefined",
    "<%= lipsum() %>": "'lipsum' is undefined",
    "<%= cycler.next %>\n<%= nothing %>": "line 2: 'nothing' is undefined",
    "a\n<% if %>": "line 2: Expected an expression",
    "<% for x in %>": "line 1",
    "<%= 1 / 0 %>": "line 1: division by zero",
    "<%= range(10 ** 9) %>": "Range too big",
    "<%= document.blocks.append(1) %>": "no attribute 'append'",
    "<% macro f() %><%= f() %><% endmacro %><%= f() %>": "infinitely recursive",
    "<%= " + "(" * 5000 + ")" * 5000 + " %>": "nested too deep",
    "<% for a in range(90000) %><%= 'x' * 1000 %><% endfor %>": "writes more than 20,000,000 characters",
}


@pytest.mark.parametrize("template", REACHING, ids=range(len(REACHING)))
def test_unsafe_templates_are_refused_in_one_sentence(template: str) -> None:
    said = here(template)
    assert list(said) == ["refused"], said
    assert REACHING[template] in said["refused"]
    assert "\n" not in said["refused"]


def test_a_template_can_access_only_text() -> None:
    """Any object reachable from a view is text, a number, or a list of these."""
    names = template_process._names(
        {"extension": "html", "flavour": "github", **user_template.views(MADE, HTML)}, template_process.Markup
    )
    kinds = set()

    def walk(value: Any) -> None:
        if isinstance(value, tuple):
            for each in value:
                walk(each)
        elif not callable(value):
            kinds.add(type(value))

    for name in ("document", "page", "language"):
        walk(names[name])
    assert kinds <= {str, int, bool, template_process.Markup}


def test_templates_that_exceed_time_or_memory_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        DocumentError, match=r"^the template my\.jinja is rejected: it needs more than|exceeded the time or"
    ):
        fill("<%= 'x' * 10 ** 11 %>")
    monkeypatch.setattr(user_template, "SECONDS", 2)
    loop = "<% for a in range(99999) %><% for b in range(99999) %><% endfor %><% endfor %>"
    with pytest.raises(DocumentError, match=r"^the template my\.jinja did not finish within 2 seconds$"):
        fill(loop)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill in templates without a new process, where a test does not depend on its limits: it takes half a second."""

    def run(command: list[str], input: bytes, **_: Any) -> SimpleNamespace:
        assert command[-1] == template_process.__name__
        return SimpleNamespace(stdout=json.dumps(template_process.fill(json.loads(input))).encode())

    there = SimpleNamespace(run=run, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(user_template, "subprocess", there)


def derive(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["derive", "component:linear", *arguments], prog_name="symformer")


def test_a_template_is_selected_by_its_file_name(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jinja"
    mine.write_text("<# mine #>= <%= document.title %>\n", "utf-8")
    assert derive("-o", str(tmp_path / "x.md"), "--template", str(mine)).exit_code == 0
    assert (tmp_path / "x.md").read_text("utf-8").startswith("= Linear: parameters in closed form")


def test_an_invalid_template_leaves_no_file(tmp_path: Path, in_process: None) -> None:
    for name, content in {"bad": b"<%= document.__class__ %>", "bytes": b"\xff\xfe", "large": b"x" * 1_000_001}.items():
        (tmp_path / name).write_bytes(content)
    for name, output, words in (
        ("bad", "x.tex", "is rejected: line 1: access to attribute '__class__'"),
        ("bytes", "x.tex", "is not UTF-8 text"),
        ("large", "x.tex", "the limit of 1,000,000 bytes"),
        ("nowhere", "x.tex", "is not a file"),
        (".", "x.tex", "is not a file"),
        ("a\0b", "x.tex", "template"),
        ("n" * 5000, "x.tex", "cannot be read"),
        ("bad", "x.pdf", "--template writes text formats only"),
    ):
        result = derive("-o", str(tmp_path / output), "--template", str(tmp_path / name))
        assert (result.exit_code, result.stdout) == (2, ""), name
        assert words in result.stderr, name
        assert result.stderr.count("\n") == 1, name
    assert sorted(place.name for place in tmp_path.iterdir()) == ["bad", "bytes", "large"]


def test_the_template_readme_is_correct() -> None:
    """Test the example in the templates' README, and every name listed there."""
    told = (templates() / "README.md").read_text("utf-8")
    example = told.partition("```jinja\n")[2].partition("```")[0]
    made = fill(example).decode()
    assert made.count(r"\begin{equation}\label{eq:t5.") == sum(
        block.kind == "equation" and bool(block.id) for block in MADE.blocks
    )
    for call in (
        "prose('a')",
        "code('a')",
        "strong('a')",
        "line('a')",
        "columns('lr')",
        "equation((document.blocks | selectattr('kind', 'equalto', 'equation') | list)[0])",
    ):
        assert f".{call.partition('(')[0]}(" in told
        assert list(here(f"<%= language.{call} %>")) == ["text"], call


@pytest.mark.parametrize(
    "tag", ["{{ document.title }}", "{{document.title|upper}}", "{% for block in document.blocks %}"]
)
def test_standard_jinja_tags_give_a_warning(tag: str, tmp_path: Path, in_process: None) -> None:
    template, output = tmp_path / "own.md", tmp_path / "out.md"
    template.write_text(f"first line\n# {tag}\n")
    arguments = ["--template", str(template), "-o", str(output)]
    result = derive(*arguments)
    assert (result.exit_code, output.exists()) == (2, False)
    assert f"own.md, line 2: {tag} is copied unchanged; write tags as <%= … %> and <% … %>" in result.stderr
    template.write_text(f"<%= document.title %>\n{tag}\n")  # it may be meant for another program
    result = derive(*arguments)
    assert result.exit_code == 0
    assert f"own.md, line 2: {tag} is copied unchanged" in result.stderr
    assert tag in output.read_text()


@pytest.mark.parametrize("text", [r"{{\bf x}}", "\\newcommand{\\x}{% a comment", "{{ other }}", r"${{a}_{b}}$ {%}"])
def test_braces_of_other_languages_are_not_tags(text: str, tmp_path: Path, in_process: None) -> None:
    template = tmp_path / "own.tex"
    template.write_text(text)
    result = derive("--template", str(template), "-o", str(tmp_path / "out.tex"))
    assert result.exit_code == 0
    assert "copied" not in result.stderr
    assert "own.tex has no tags, so the output has nothing of the document" in result.stderr
    template.write_text(f"{text}\n<%= document.title %>\n")
    assert "own.tex" not in derive("--template", str(template), "-o", str(tmp_path / "out.tex")).stderr
