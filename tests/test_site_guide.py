"""The guide is complete, and its pages obey the rules of the site. The tests of the README run its snippets."""

from __future__ import annotations

import inspect
import re
import zlib
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import unescape
from pathlib import Path
from posixpath import join, normpath
from urllib.parse import unquote

import pytest

import symformer as sf
from symformer import extend
from symformer.commands.cli import cli
from symformer.language.errors import SiteError
from symformer.site import guide
from symformer.site.guide import guide_files, secured
from symformer.site.site_file import SiteOptions

DOCS = Path(__file__).parent.parent / "docs"
REFERENCE = {path.name: path.read_text("utf-8") for path in (DOCS / "reference").glob("*.md")}
EXTEND = "".join(path.read_text("utf-8") for path in (DOCS / "reference/extend").glob("*.md"))
DIRECTIVE = re.compile(r"^\.\. (?:auto\w+|listing-function|py:data):: (?:symformer\.)?(\w+)$", re.MULTILINE)
LISTED = re.compile(r"^   ([\w.]+)$", re.MULTILINE)  # an entry of an autosummary
PARTS = ("index.html", "compare.html", "playground.html", "assets/", "reference/")  # pages of the rest of the site


def documented(page: str) -> set[str]:
    return {name.rpartition(".")[2] for name in [*DIRECTIVE.findall(page), *LISTED.findall(page)]}


def test_the_reference_describes_every_public_name() -> None:
    found = set().union(*(documented(REFERENCE[name]) for name in ("python.md", "lists.md", "errors.md")))
    assert set(sf.__all__) <= found
    assert len(sf.__all__) > 40


def test_the_reference_describes_what_functions_return() -> None:
    functions = [found for name in sf.__all__ if inspect.isfunction(found := getattr(sf, name))]
    returned = {name for function in functions for name in re.findall(r"\w+", function.__annotations__["return"])}
    assert returned <= set().union(*map(documented, REFERENCE.values()))
    assert len(returned) > 12


def test_the_reference_describes_every_name_for_extensions() -> None:
    assert set(extend.__all__) - documented(EXTEND) == {"Component"}  # it is a name of symformer
    assert documented(EXTEND) <= {*extend.__all__, "extend"}


def test_the_reference_describes_every_operation_once() -> None:
    methods = [name for name, found in vars(extend.Operations).items() if callable(found) and name[0] != "_"]
    assert sorted(re.findall(r"automethod:: Operations\.(\w+)", EXTEND)) == sorted(methods)
    assert len(methods) > 70


def test_a_missing_sphinx_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guide, "find_spec", lambda name: None if name == "myst_parser" else object())
    with pytest.raises(SiteError, match=r"^the guide needs myst_parser; run pip install 'symformer\[site\]'$"):
        guide_files(SiteOptions())


def test_the_policy_allows_only_the_scripts_and_styles_of_the_page() -> None:
    page = secured('<meta charset="utf-8"><style>a {}</style><script>b()</script><svg style="display: none;"><pre>')
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[0]
    for kind, text in (("style", "a {}"), ("script", "b()")):
        assert f"{kind}-src 'self' 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "style=" not in page
    assert '<pre tabindex="0">' in page


@pytest.fixture(scope="module")
def pages() -> dict[str, bytes]:
    return {file.path: file.content for file in guide_files(SiteOptions())}


def links(page: str) -> Iterator[tuple[str, str]]:
    for kind, address in re.findall(r'<(?:a|link|script|img)\b[^>]*?\s(href|src)="([^"]*)"', page):
        yield kind, unescape(address)


@pytest.mark.exhaustive
def test_the_guide_builds_and_keeps_the_rules_of_the_site(pages: dict[str, bytes]) -> None:
    texts = {path: content.decode() for path, content in pages.items() if path.endswith(".html")}
    anchors = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    outside = set()
    for path, text in texts.items():
        assert not re.findall(r"<[^>]+ (?:style|on\w+)=", re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)), path
        assert not re.findall(r"&lt;(?:factory|function|object)\b| at 0x[0-9a-f]+|~(?:symformer|typing)\.", text), path
        policy = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)[0]
        for inline in re.findall(r"<(?:script|style)>(.*?)</", text, re.DOTALL):
            assert b64encode(sha256(inline.encode()).digest()).decode() in policy, path
        for kind, address in links(text):
            if re.match("https?:|mailto:", address):
                assert kind == "href", (path, address)  # a link to follow, not loaded by the page
                continue
            name, _, anchor = address.partition("#")
            target = normpath(join(Path(path).parent.as_posix(), unquote(name.partition("?")[0]))) if name else path
            if target.startswith("guide/"):
                assert target in pages, (path, address)
                assert not anchor or target not in anchors or anchor in anchors[target], (path, address)
            else:
                outside.add(target)
    assert all(target.startswith(PARTS) for target in outside), outside
    assert not [path for path in pages if path.endswith((".map", ".pickle", ".doctree", ".buildinfo"))]
    assert [path for path, text in texts.items() if len(text.encode()) > 100_000] == []


@pytest.mark.exhaustive
def test_the_built_reference_is_complete(pages: dict[str, bytes]) -> None:
    inventory = pages["guide/objects.inv"].split(b"\n", 4)[4]
    names = {line.split(" ")[0] for line in zlib.decompress(inventory).decode().splitlines()}
    assert {f"symformer.{name}" for name in sf.__all__} <= names
    assert {f"symformer.extend.{name}" for name in extend.__all__} - names == {"symformer.extend.Component"}
    text = unescape(re.sub(r"<[^>]+>", "", pages["guide/reference/commands.html"].decode()))
    for name, command in cli.commands.items():
        assert f"symformer {name}" in text
        for param in command.params:
            assert all(option in text for option in param.opts if option.startswith("-")), (name, param.opts)
    assert "--quantity Q" in text
    assert "\\symformer[" in text or "\\symformer{" in text  # a backslash of the help is not lost
