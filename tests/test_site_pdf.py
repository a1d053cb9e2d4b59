"""PDF in the playground: the compiler from npm, the fonts of Typst, and the module that Python imports there."""

import json
import sys
import tarfile
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha512
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import typst

from symformer.commands.browser_entry import answer
from symformer.documents.formats import missing_glyphs
from symformer.language.errors import SiteError
from symformer.site import playground_files
from symformer.site.browser_typst import typst_module
from symformer.site.npm_package import NpmPackage
from symformer.site.playground_files import playground
from symformer.site.site_file import SiteOptions
from symformer.site.typst_fonts import displayed_characters, typst_fonts

NATIVE = typst  # the package, while another module has its name


class Compiler:
    """The compiler of the browser, with the installed Typst."""

    def __init__(self, without: str = "") -> None:
        self.without = without
        self.calls: list[str] = []

    def pdf(self, source: str, timestamp: int) -> SimpleNamespace:
        self.calls.append("pdf")
        try:
            return SimpleNamespace(content=NATIVE.compile(source.encode(), timestamp=timestamp, format="pdf"))
        except RuntimeError as error:
            return SimpleNamespace(error=str(error))

    def query(self, source: str, selector: str, field: str) -> SimpleNamespace:
        self.calls.append("query")
        return SimpleNamespace(content=NATIVE.query(source.encode(), selector, field=field))

    def lacks(self, text: str) -> bool:
        return text in self.without


def test_a_question_with_the_compiler_writes_pdf() -> None:
    compiler = Compiler()
    found = json.loads(answer(json.dumps({"arguments": ["derive", "component:mlp", "-o", "a.pdf"]}), compiler))
    assert [file["name"] for file in found["files"]] == ["a.pdf"]
    assert b64decode(found["files"][0]["content"]).startswith(b"%PDF-")
    assert {*compiler.calls} == {"query", "pdf"}
    assert sys.modules["typst"] is NATIVE


def test_errors_of_the_compiler_and_other_formats_are_one_sentence() -> None:
    class Broken(Compiler):
        def pdf(self, source: str, timestamp: int) -> SimpleNamespace:
            return SimpleNamespace(error="unknown variable: x")

    for compiler, file, sentence in (
        (Broken(), "a.pdf", "Typst rejected the document: unknown variable: x"),
        (Compiler(), "a.png", "the playground writes no .png with Typst; run the command on your own computer"),
    ):
        found = json.loads(answer(json.dumps({"arguments": ["plot", "component:mlp", "-o", file]}), compiler))
        assert found["error"] == sentence


def test_characters_that_the_compiler_lacks_are_code_points() -> None:
    with typst_module(Compiler(without="ᚠ")):
        assert missing_glyphs.replace_in_typst("ᚠᚢ") == "[U+16A0]ᚢ"
    missing_glyphs._missing.cache_clear()


@pytest.fixture(scope="module")
def fonts() -> Mapping[str, bytes]:
    return typst_fonts()


def test_the_fonts_are_those_that_typst_embeds(fonts: Mapping[str, bytes]) -> None:
    assert len(fonts) == len(typst.Fonts(include_system_fonts=False).fonts())
    assert {font[:4] for font in fonts.values()} == {b"OTTO", b"\0\1\0\0"}
    sizes = {(len(font), sha512(font).hexdigest()) for font in fonts.values()}
    assert len(sizes) == len(fonts)


def test_a_typst_without_fonts_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_typst.abi3.so").write_bytes(b"OTTO\0\11" + bytes(400) + b"OTTO\0\5")  # no table, and cut off
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr("symformer.site.typst_fonts.find_spec", lambda name: spec)
    with pytest.raises(SiteError, match="has no fonts"):
        typst_fonts()


def test_only_characters_that_typst_displays_are_listed(fonts: Mapping[str, bytes]) -> None:
    runs = displayed_characters([[*fonts.values()][-1]])  # DejaVu Sans Mono
    shown = {chr(code) for first, last in runs for code in range(first, last + 1)}
    assert {*"AéЖ→"} <= shown
    assert not {*"模✖"} & shown  # the font lists the second, but Typst takes another font, which lacks it
    assert all(last < first for (_, last), (first, _) in pairwise(runs))


def test_a_package_is_taken_only_with_its_pinned_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.mjs").write_text("1")
    with tarfile.open(tmp_path / "made.tgz", "w:gz") as tar:
        tar.add(tmp_path / "a.mjs", "package/pkg/a.mjs")
    npm = tmp_path / "npm"
    npm.write_text(f'#!/bin/sh\n[ "$2" = @lab/a@1.0 ] && cp {tmp_path}/made.tgz "$6/lab-a-1.0.tgz"\n')
    npm.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr("symformer.site.npm_package.cache_folder", lambda kind: tmp_path / "cache" / kind)
    right = b64encode(sha512((tmp_path / "made.tgz").read_bytes()).digest()).decode()
    package = NpmPackage("@lab/a", "1.0", right, ("pkg/a.mjs",))
    assert package.files() == {"a.mjs": b"1"}
    npm.unlink()
    npm.symlink_to("/nowhere")
    assert package.files() == {"a.mjs": b"1"}  # from the cache
    (tmp_path / "cache" / "a" / "a-1.0.tgz").write_bytes(b"damaged")
    npm.unlink()
    npm.write_text('#!/bin/sh\necho other > "$6/lab-a-1.0.tgz"\n')
    npm.chmod(0o700)
    with pytest.raises(SiteError, match="SHA-512 differs"):
        package.files()


@pytest.mark.parametrize("pdf", [True, False])
def test_a_site_without_pdf_has_no_compiler(pdf: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "typst_ts_web_compiler.mjs")
    monkeypatch.setattr(NpmPackage, "files", lambda self: dict.fromkeys(names, b""))
    monkeypatch.setattr(playground_files, "node", lambda: "node")
    monkeypatch.setattr(playground_files, "package_archive", lambda *given: b"")
    monkeypatch.setattr(playground_files, "typst_archive", lambda release: bytes(17_000_000))
    files = {file.path: file.content.decode() for file in playground(SiteOptions(pdf=pdf))}
    page, worker = files["playground.html"], files["sw.js"]
    assert ('data-download="pdf"' in page) == ("The first PDF loads a compiler of 17 MB" in page) == pdf
    assert ("assets/playground/typst.bin.gz" in files) == ("assets/playground/typst.mjs" in files) == pdf
    assert f"LATER = {json.dumps(['assets/playground/typst.bin.gz'] if pdf else [])}" in worker
    assert worker.count("typst.bin.gz") == int(pdf)  # it is not fetched at the first visit
