"""Names in any script, with any signs, and numbers of any length, in every format."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pypdfium2
import pytest
import typst
from click.testing import CliRunner

from symformer.commands.cli import cli
from symformer.documents.formats import render
from symformer.documents.formats.html import FORMAT as HTML
from symformer.documents.formats.missing_glyphs import plain_id, replace_in_typst, replace_missing_letters
from symformer.language.notation.display_tree import Label, TensorName, tree
from symformer.language.notation.latex import latex
from symformer.language.notation.typst import typst as spell_typst
from symformer.language.symbols import E, H
from symformer.output.blocks import Code, Document, Equation, Heading, Math, Paragraph, Ref, Strong, Table, numbered
from symformer.output.chain import Chain

from .samples import sampled

SIGNS = "_%&#${}\\^~<>|`'\""
SCRIPTS = "模型 نموذج é🙂"
NAMES = {
    "signs": SIGNS,
    "scripts": SCRIPTS,
    "dashes": "a--b---c '' ?` ,,",
    "long": "x" * 300,
    "long of another script": "模" * 100,
    "control": "a\x07b\u200bc\n\td\ufffd",
    "macro": r"\input{x}\end{document}$$ \\ % # &",
    "decomposed": "e\u0301 o\u0308",
}
TEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex, which CI's own check has")


def hostile(name: str) -> Document:
    """Return a document with a name in every possible place."""
    chain = Chain((Label("N", name, 4 * E**2),), (tree(4 * E**2),))
    blocks, _ = numbered(
        [
            Heading(1, [Code(name)], f"x.{name}"),
            Paragraph(["Of ", Code(name), " and ", name, " with ", Math.of(E), " by ", Ref(f"x.{name}")]),
            Equation(chain, key=True, id=f"x.{name}", reasons=[["by ", Code(name)]]),
            Paragraph([Strong(name), ": ", Math(TensorName("W", name))]),
            Table([["Name"], ["Size"]], [[[Code(name)], [name]]], "ll"),
        ]
    )
    return Document(name, name, blocks, [name], [("formulas.json", json.dumps([name], ensure_ascii=False))])


def printed(pdf: bytes) -> str:
    """Return the letters of a PDF without the space between them."""
    read = pypdfium2.PdfDocument(pdf)
    text = "".join(read[place].get_textpage().get_text_range() for place in range(len(read)))
    return re.sub(r"[\s\ufffe\u200b\x02]", "", text)


@pytest.mark.parametrize("name", NAMES)
def test_pdf_shows_every_name(name: str) -> None:
    made = render(hostile(NAMES[name]), "pdf")
    assert made.startswith(b"%PDF")
    assert made == render(hostile(NAMES[name]), "pdf")


def test_pdf_writes_missing_glyphs_as_code_points() -> None:
    assert "[U+6A21][U+578B]" in printed(render(hostile("模型"), "pdf"))
    assert "[U+1F642]" in printed(render(hostile("a🙂"), "pdf"))
    fair = Document("model", "", [Paragraph(["é, ł, σ, ², ≈, – and Ж are printed, ", Code("配置"), " is told"])])
    text = printed(render(fair, "pdf"))
    assert "é,ł,σ,²,≈,–andЖareprinted,[U+914D][U+7F6E]istold" in text
    # ASCII and Typst's own characters are not tested
    assert replace_in_typst("a–b") == "a–b"


@pytest.mark.parametrize("name", NAMES)
def test_typst_reads_every_name(name: str) -> None:
    source = render(hostile(NAMES[name]), "typ")
    assert typst.compile(source, root=Path(__file__).parent.parent / "templates").startswith(b"%PDF")
    assert name != "scripts" or SCRIPTS in source.decode()


@pytest.mark.parametrize("flavour", ["github", "jupyter", "commonmark"])
@pytest.mark.parametrize("name", NAMES)
def test_names_do_not_end_markdown_math(name: str, flavour: str) -> None:
    source = render(hostile(NAMES[name]), "md", flavour=flavour).decode()  # type: ignore[arg-type]
    spans = {"github": r"\$`(.*?)`\$", "jupyter": r"(?<![\\$`])\$(?!\$)(.+?)(?<!\\)\$", "commonmark": r"$^"}[flavour]
    inline = re.findall(spans, re.sub(r"``+.*?``+", "", source))
    assert flavour == "commonmark" or any("W_" in each for each in inline)
    for each in inline:
        assert "`" not in each
        assert "|" not in each
        assert each.replace(r"\{", "").replace(r"\}", "").count("{") == each.replace(r"\{", "").replace(
            r"\}", ""
        ).count("}")
    assert "<a id=" not in source or not re.search(r'<a id="[^"]*[<>\s`][^"]*"', source)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u200b]", source)


@pytest.mark.parametrize("name", NAMES)
def test_html_shows_every_name(name: str) -> None:
    page = HTML.spell(hostile(NAMES[name]))
    assert page.count("<script") == 1
    assert "模型 نموذج é🙂" in page or name != "scripts"


# LaTeX


def test_accented_letters_are_written_as_latex_commands() -> None:
    # the LaTeX Companion's commands: an accent above its letter, without the dot of i and j
    assert replace_missing_letters("éÅ ç ñ ï ĵ ő š") == r"\'{e}\r{A} \c{c} \~{n} " + r"\"{\i} \^{\j} \H{o} \v{s}"
    assert replace_missing_letters("Łukasz Großmann, Æneas – 3×4 ≈ 12°") == (
        r"\L{}ukasz Gro\ss{}mann, \AE{}neas -- 3$\times$4 $\approx$ 12$^\circ$"
    )
    assert replace_missing_letters("e\u0301") == r"\'{e}"
    assert replace_missing_letters("模") == r"\symformerletter{模}{6A21}"
    assert replace_missing_letters(replace_missing_letters("a模型é")) == replace_missing_letters("a模型é")
    # right-to-left letters and combining marks: by number under every engine
    assert replace_missing_letters("ن") == "[U+0646]"
    assert replace_missing_letters("x\u0335") == "x[U+0335]"


def test_name_within_mathematics_is_escaped() -> None:
    assert latex(Label("N", "a%b#c", E)) == r"N_{\mathrm{a\%b\#c}}"
    assert latex(Label("N", "x{y}$", E)) == r"N_{\mathrm{x\{y\}\$}}"
    assert latex(TensorName("W", "é")) == r"W_{\mathrm{\text{é}}}"
    assert spell_typst(Label("N", 'a"b\\', E)) == 'N_"a\\"b\\\\"'
    assert latex(Label("N", "h.ln_1", E)) == r"N_{\mathrm{h.ln\_1}}"


def test_adjacent_characters_do_not_form_ligatures() -> None:
    source = render(Document("a--b", "''", [Paragraph([Code("--set ?`")])]), "tex").decode()
    assert r"{\LARGE a-{}-b\par}" in source
    assert r"\texttt{\mbox{-{}-set} ?\`{}}" in source


def test_letter_macro_is_defined_only_where_needed() -> None:
    for extension in ("tex", "fragment", "bundled"):
        assert render(hostile("模"), extension).startswith(rb"\providecommand\symformerletter[2]")
        assert b"symformerletter" not in render(hostile("é ن"), extension)


def test_user_template_includes_the_letter_macro(odd: str) -> None:
    Path("own.tex").write_text("<%= language.prose(document.title) %>: <%= language.code('模') %>")
    arguments = ["derive", odd, "--template", "own.tex", "-o", "x.tex"]
    assert CliRunner().invoke(cli, arguments, prog_name="symformer").exit_code == 0
    made = Path("x.tex").read_text()
    assert made.startswith(r"\providecommand\symformerletter[2]")
    assert made.endswith(r"\texttt{\symformerletter{模}{6A21}}")


def test_ids_are_valid_labels_in_every_language() -> None:
    assert plain_id("gpt2.params.h.ln_1") == "gpt2.params.h.ln_1"
    assert plain_id("a%b") != plain_id("a$b")
    source = render(hostile("a%b"), "tex").decode()
    assert r"\label{eq:x.a+25b}" in source
    assert r"\eqref{eq:x.a+25b}" in source


@TEX
@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
def test_latex_sets_every_name(engine: str, tmp_path: Path) -> None:
    if shutil.which(engine) is None:
        pytest.skip(f"no {engine}")
    both = render(hostile(SIGNS + SCRIPTS), "tex").decode()
    for number, name in enumerate(NAMES.values()):
        body = render(hostile(name), "tex").decode().partition(r"\begin{document}")[2].partition(r"\end{document}")[0]
        body = body.replace("{eq:", f"{{eq:{number}").replace(r"\label{x", rf"\label{{{number}x")
        both = both.replace(r"\end{document}", body + r"\end{document}")
    (tmp_path / "a.tex").write_text(both)
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "a.tex"]
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2_000:]
    log = (tmp_path / "a.log").read_text(errors="replace")
    assert "Missing character" not in log
    assert "undefined references" not in log
    text = printed((tmp_path / "a.pdf").read_bytes())
    assert "[U+6A21][U+578B]" in text
    assert "[U+0646][U+0645][U+0648][U+0630][U+062C]" in text
    assert "[U+1F642]" in text


# From the command line


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A config.json with the largest possible sizes, in a folder with an odd name."""
    monkeypatch.chdir(tmp_path)
    folder = Path(SCRIPTS + SIGNS)
    folder.mkdir()
    large = dict.fromkeys(("n_embd", "n_inner", "vocab_size", "n_positions"), 10**15)
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_layer": 5, "n_head": 5, **large}))
    return str(folder)


RUN = ["--set", f"B={10**15}", "--set", f"S={10**15}"]


@pytest.mark.parametrize(
    "arguments",
    sampled(
        3,
        [
            *(
                ["derive", "-q", "flops", *RUN, "-o", f"x.{each}"]
                for each in ("pdf", "tex", "md", "typ", "html", "zip")
            ),
            ["derive", "-o", "x.tex", "--fragment"],
            ["derive", "-o", "x.tex", "--macros"],
            ["derive", "-o", "x.html", "--live"],
            *(["compare", "gpt2", "-o", f"x.{each}"] for each in ("pdf", "tex", "md", "typ", "html")),
            *(["plot", "-o", f"x.{each}"] for each in ("svg", "pdf", "png", "tex")),
            ["plot", "--kind", "shares", "-o", "x.svg"],
            *(["compare", "gpt2", *more, "-o", "x.png"] for more in ([], ["--crossover", "L"])),
            ["compare", "-q", "flops", "--divide-by", "params", *RUN[:2], "-o", "x.png"],
            *(["sensitivity", *more, "-o", "x.png"] for more in ([], ["--x", "L"])),
            ["solve", "--at-most", f"{10**32}", "--find", "L", "-o", "x.png"],
            ["sweep", "--grid", "L=1:9:2", "-o", "x.png"],
            ["show", "--json"],
        ],
    ),
    ids=" ".join,
)
def test_odd_folder_name_in_every_output(arguments: list[str], odd: str) -> None:
    result = CliRunner().invoke(cli, [*arguments, odd], prog_name="symformer")
    assert result.exit_code == 0, result.output
    if arguments[0] == "show":
        # 4LE^2 + 2LEH + 9LE + LH + VE + PE + 2E with L = 5 and all others X = 10^15: 32 X^2 + 52 X
        assert json.loads(result.stdout)["value"] == 32 * 10**30 + 52 * 10**15
        assert json.loads(result.stdout)["target"] == odd
        return
    (made,) = Path().glob("x.*")
    if made.suffix == ".zip":
        with ZipFile(made) as archive:
            assert json.loads(archive.read("anc/formulas.json"))[0]["target"] == odd


def test_wide_numbers_wrap_in_table_cells() -> None:
    number = f"{10**60 + 1:,}"
    table = Table([["Value"], ["Share"]], [[[number], ["100.0%"]]], "rr")
    document = Document("t", "t", [table, Paragraph(["1,000 ", Math.of(H)])])
    latex_, typst_ = (render(document, extension).decode() for extension in ("tex", "typ"))
    assert latex_.count(r",\allowbreak{}000") == 19  # groups of 0 of 10^60 + 1; the last is 001
    assert typst_.count(",\u200b000") == 19
    assert "1,000" in latex_
    assert number in render(document, "md").decode()
