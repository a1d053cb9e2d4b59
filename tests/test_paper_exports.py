"""Outputs for authors: a single equation, a fragment, macros, BibTeX, and an archive for arXiv."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib import import_module
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner, Result
from sympy import Rational, expand

import symformer as sf
from symformer.architectures import names
from symformer.commands.cli import cli
from symformer.documents.derivation_document import document
from symformer.documents.formats import render
from symformer.documents.formats.column import ROOM, chunks, fill_lines, math_width, runs
from symformer.documents.gallery_pages import example
from symformer.documents.macros import named
from symformer.language.notation.display_tree import Label, tree
from symformer.language.symbols import E
from symformer.output.blocks import Cited, Code, Document, Equation, Heading, Math, Paragraph, Table, lines
from symformer.output.chain import Chain
from symformer.views.citations import bibtex
from symformer.views.notations import NOTATIONS

HOSTILE = "a_b%c&d#e$f{g}h\\i^j~k<l>m|n`o'p\"q"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), prog_name="symformer")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# One part, one equation

# GPT-2's attention: 3E x E with 3E biases and E x E with E: 4E^2 + 4E; at 768 that is 4*589,824 + 3,072 = 2,362,368.
EQUATIONS = {
    "latex": r"N_{\mathrm{attn}} = 4 E^{2} + 4 E",
    "typst": 'N_"attn" = 4 E^2 + 4 E',
    "markdown": r"$$N_{\mathrm{attn}} = 4 E^{2} + 4 E$$",
    "mathml": '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block" alttext="N[attn] = 4E² + 4E">'
    '<mrow><msub><mi>N</mi><mtext>attn</mtext></msub><mo form="infix">=</mo><mrow><mrow><mn>4</mn>'
    "<mo>\u2062</mo><msup><mi>E</mi><mn>2</mn></msup></mrow><mo>+</mo><mrow><mn>4</mn><mo>\u2062</mo><mi>E</mi></mrow></mrow></mrow></math>",
    "text": "N[attn] = 4E² + 4E",
    "code": "4*E**2 + 4*E",
}


@pytest.mark.parametrize("notation", EQUATIONS)
def test_equation_is_one_line_in_every_notation(notation: str) -> None:
    result = run("show", "gpt2", "--part", "h.attn", "--format", notation)
    assert (result.exit_code, result.stdout) == (0, EQUATIONS[notation] + "\n")
    whole = run("show", "deepseek-v3", "-q", "flops", "--format", notation).stdout
    assert whole.count("\n") == 1


def test_every_notation_names_a_function() -> None:
    for module, function, _, _ in NOTATIONS.values():
        assert callable(getattr(import_module(f"symformer.language.notation.{module}"), function))


def test_part_is_counted_for_one_copy() -> None:
    shown = run("show", "gpt2", "--part", "h.attn").stdout
    assert "N[attn] = 4E² + 4E = 2,362,368\n" in shown
    assert "one of L = 12 copies; together 4LE² + 4LE = 28,348,416\n" in shown  # 12 * 2,362,368
    assert run("show", "gpt2", "--part", "h.*.attn").stdout == shown  # torch's name
    facts = json.loads(run("show", "gpt2", "--part", "h", "--json").stdout)
    assert facts["part"]["id"] == "gpt2.params.h"
    assert facts["part"]["copies"] == {"formula": "L", "value": 12}
    # 12E^2 + 13E at 768: 12*589,824 + 9,984 = 7,087,872; in 12 layers 85,054,464
    assert facts["value"] == sum(row["value"] for row in facts["breakdown"]) == 7_087_872
    assert facts["part"]["together"] == {"formula": "12*L*E**2 + 13*L*E", "value": 85_054_464}


@pytest.mark.parametrize("target", ["gpt2", "deepseek-v3", "llama-2-7b", "bert-base-uncased"])
def test_rows_of_a_part_sum_to_it(target: str) -> None:
    formula = sf.model(target).params
    for line in formula.root.walk():
        part = formula.part(line.key)
        assert (
            expand(
                sum((row.total for row in part.rows), Rational(0))
                - expand(part.root.each.xreplace(part.display_relations))
            )
            == 0
        )
        if line is not formula.root and line.entry is not None:
            assert part.copies.free_symbols <= set(formula.symbols) | set(formula.relations) | formula.totals


def test_rows_common_to_all_layers_are_labelled() -> None:
    assert (
        "common to all L = 61 layers, counted for one of them" in run("show", "deepseek-v3", "--part", "layers").stdout
    )
    assert "of the L layers, counted for one of them" in run("show", "deepseek-v3", "--part", "moe_layers").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--format", "latex", "--json"], "--format latex prints only the equation and cannot be combined with --json"),
        (["--format", "latex", "--conventions"], "remove one of the two"),
        (["--format", "pdf"], "'pdf' is not one of"),
        (["--part", "h.atn"], "unknown part 'h.atn'; did you mean h.attn"),
        (["--part", ""], "the name of the part is empty"),
        (["--part", "h", "--conventions", "-q", "flops"], "remove one of the two"),
    ],
)
def test_invalid_show_arguments_are_refused(arguments: list[str], words: str) -> None:
    result = run("show", "gpt2", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


# The fragment


def fragment(target: str, quantity: str = "params") -> str:
    return render(document(example(target), [quantity], "1.2.3", "costs"), "fragment").decode()


def test_fragment_has_no_preamble_and_unique_labels() -> None:
    spelt = fragment("gpt2")
    for word in (r"\documentclass", r"\usepackage", r"\section", r"\begin{document}", r"\resizebox", "longtable"):
        assert not re.search(rf"^[^%]*{re.escape(word)}", spelt, re.MULTILINE), word
    assert {r"\label{eq:gpt2.params}", r"\label{eq:gpt2.params.h.attn}"} <= set(re.findall(r"\\label\{[^}]*\}", spelt))
    assert spelt.count(r"\label{eq:gpt2.params}") == 1
    assert spelt == fragment("gpt2")


@pytest.mark.parametrize("target", ["gpt2", "bert", "deepseek-v3"])
def test_fragment_and_cite_use_the_same_keys(target: str) -> None:
    spelt = fragment(target)
    asked = re.search(r"symformer cite (.*)", spelt)
    assert asked
    entries = re.findall(r"^@\w+\{([^,]*),", run("cite", *asked[1].split()).stdout, re.MULTILINE)
    keys = set(re.findall(r"\\cite\{([^}]*)\}", spelt))
    assert len(keys) > 3
    assert keys < set(entries)
    assert len(entries) == len(set(entries))


def test_wide_equations_break_at_operators() -> None:
    pieces = chunks(tree(sf.model("deepseek-v3").params.display_expr), ROOM)
    found = fill_lines(pieces, ROOM)
    assert len(found) > 3
    assert all(width <= ROOM for _, width in found)
    assert "".join(spelt for spelt, _ in found).count("+") == 16  # between 17 terms
    long = Label("N", "x" * 300, E)
    assert math_width(long) < ROOM
    assert max(map(len, runs("y" * 300))) < 20


def hostile(name: str) -> Document:
    chain = Chain((Label("N", "attn", 4 * E**2),), (tree(4 * E**2),))
    return Document(
        name,
        name,
        [
            Heading(1, [Code(name)]),
            Paragraph(["Of ", Code(name), " and ", name, " with ", Math.of(E)]),
            Equation(chain, key=True, id=f"x.{name}", number=1),
            Table([["Name"], ["Size"]], [[[Code(name)], [name]]], "ll"),
        ],
    )


def test_invalid_fragment_options_are_refused() -> None:
    for arguments, words in {
        ("-o", "x.md", "--fragment"): "x.md ends in .md; --fragment needs the extension .tex",
        ("-o", "x.tex", "--fragment", "--macros"): "remove one of the two",
        ("-o", "-", "--format", "md", "--macros"): "--macros writes .tex, but --format is md",
    }.items():
        result = run("derive", "gpt2", *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert words in result.stderr
    assert not list(Path().iterdir())


# Macros


def macros(*arguments: str) -> dict[str, str]:
    result = run("derive", *arguments, "-o", "-", "--macros")
    assert result.exit_code == 0, result.stderr
    found = re.findall(r"^\\newcommand\{\\([A-Za-z]+)\}\{(.*)\}$", result.stdout, re.MULTILINE)
    assert len(found) == len(dict(found)) == result.stdout.count(r"\newcommand"), "a name is defined once"
    return dict(found)


def test_macros_of_gpt2() -> None:
    found = macros("gpt2")
    assert found["GptTwoParams"] == r"\ensuremath{12 L E^{2} + 13 L E + V E + P E + 2 E}"
    assert found["GptTwoParamsValue"] == "124{,}439{,}808"  # as printed by transformers for gpt2
    assert found["GptTwoParamsRaw"] == "124439808"
    assert r"\num{124439808}" in found["GptTwoParamsSI"]
    assert found["GptTwoParamsHAttn"] == r"\ensuremath{4 E^{2} + 4 E}"
    assert found["GptTwoParamsHAttnValue"] == "2{,}362{,}368"


def test_macro_names_are_distinct_and_only_letters() -> None:
    assert named("llama-3.1-8b") == "LlamaThreePointOneEightB"
    assert named(HOSTILE).isalpha()
    assert named("模").isascii()
    for target in names():
        assert len(macros(target)) > 3
    # a part named value does not collide with the numbers of its parent
    bert = macros("bert-base-uncased")
    assert bert["BertBaseUncasedParamsEncoderLayerAttentionValuePart"] == r"\ensuremath{E^{2} + E}"
    assert bert["BertBaseUncasedParamsEncoderLayerAttentionValue"] == "2{,}362{,}368"  # 4*768^2 + 4*768


def test_macros_without_values_and_of_a_ratio() -> None:
    assert set(macros("component:mlp")) >= {"MlpParams"}
    assert not any(name.endswith(("Value", "Raw", "SI")) for name in macros("component:mlp"))
    ratio = macros("gpt2", "-q", "intensity", "--set", "B=1", "--set", "S=8")
    assert re.fullmatch(r"\d+/\d+", ratio["GptTwoIntensityRaw"])
    assert "GptTwoIntensitySI" not in ratio


def test_two_quantities_in_one_file() -> None:
    found = macros("gpt2", "-q", "params", "-q", "flops", "--set", "B=1", "--set", "S=2")
    # 24BSLE^2 + 4BS^2LE + 2BSVE with B=1, S=2: 48*12*589,824 + 16*12*768 + 4*50,257*768 = 494,275,584
    assert found["GptTwoFlopsRaw"] == str(48 * 12 * 768**2 + 16 * 12 * 768 + 4 * 50_257 * 768)
    assert found["GptTwoParamsRaw"] == "124439808"


# BibTeX


def keys(*arguments: str) -> list[str]:
    result = run("cite", *arguments)
    assert result.exit_code == 0, result.stderr
    return re.findall(r"^@\w+\{([^,]*),", result.stdout, re.MULTILINE)


def test_citing_several_ids_repeats_no_entry() -> None:
    found = keys("gpt2.params", "gpt2.params.h.attn", "bert.params", "vaswani2017", "gpt2.params")
    assert len(found) == len(set(found))
    assert {"gpt2.params", "gpt2.params.h.attn", "bert.params", "vaswani2017", "devlin2019"} <= set(found)


def test_each_formula_has_its_own_key() -> None:
    assert keys("gpt2.params")[0] == keys("gpt2-xl.params")[0] == "gpt2.params"
    assert keys("gpt2.params", "--option", "tied=false")[0] == "gpt2.params:tied-false"
    assert keys("gpt2.flops", "--option", "attention=causal")[0] == "gpt2.flops:attention-causal"
    both = keys("llama-3.2-1b.params", "llama-3.1-8b.params")
    assert {"llama.params:tied-true", "llama.params"} <= set(both)
    assert keys("hf:gpt2.params.transformer.h")[0] == "hf-gpt2.params.transformer.h"


def test_part_cites_its_papers() -> None:
    assert "radford2019" in keys("gpt2.params")
    assert keys("gpt2.params.h.attn") == ["gpt2.params.h.attn", "vaswani2017"]
    assert keys("gpt2.flops.h.mlp") == ["gpt2.flops.h.mlp", "vaswani2017"]


def test_option_applies_only_to_quantities_that_accept_it() -> None:
    found = keys("gpt2.flops", "gpt2.params", "--option", "attention=causal")
    assert {"gpt2.flops:attention-causal", "gpt2.params"} <= set(found)
    result = run("cite", "gpt2.params", "bert.params", "--option", "attention=causal")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "attention is not an option of gpt2.params, bert.params" in result.stderr


def test_arxiv_papers_have_an_address() -> None:
    assert "  url = {https://arxiv.org/abs/1706.03762}" in bibtex(["vaswani2017"], "1")
    assert "url" not in bibtex(["radford2019"], "1")  # a report of OpenAI that is not listed


@pytest.mark.parametrize("quantity", ["params", "flops"])
def test_derivation_citations_are_all_in_cite_output(quantity: str) -> None:
    paper = document(example("mixtral"), [quantity], "1", "costs")
    cited = {piece.key for line in lines(paper.blocks) for piece in line if isinstance(piece, Cited)}
    assert cited - set(keys(f"mixtral.{quantity}")) <= {"schwartz1980", "zippel1979"}  # the certificate has its bound


# The archive


def test_arxiv_archive() -> None:
    arguments = ("derive", "gpt2", "-q", "params", "-q", "flops")
    assert run(*arguments, "-o", "a.zip").exit_code == run(*arguments, "-o", "b.zip").exit_code == 0
    assert Path("a.zip").read_bytes() == Path("b.zip").read_bytes()
    with ZipFile(BytesIO(Path("a.zip").read_bytes())) as archive:
        assert archive.namelist() == ["anc/formulas.json", "main.tex"]
        main = archive.read("main.tex").decode()
        facts = json.loads(archive.read("anc/formulas.json"))
    assert [each["quantity"] for each in facts] == ["params", "flops"]
    assert facts[0]["value"] == 124_439_808
    assert set(re.findall(r"\\cite\{([^}]*)\}", main)) == set(re.findall(r"\\bibitem\{([^}]*)\}", main)) != set()
    for word in (r"\includegraphics", r"\write18", r"\input", r"\bibliography{", "/"):
        assert word not in re.sub(r"\\text\w+\{[^}]*\}|arXiv:\S+|//\S+|key/value", "", main) or word == "/"


# Typeset

ARTICLE = r"""\documentclass[10pt,twocolumn]{article}
\usepackage{amsmath,booktabs}
\input{macros}
\begin{document}
\section{One}\input{fragment}
In text \GptTwoParams{} is \GptTwoParamsValue{}, \GptTwoParamsSI{} or \GptTwoParamsRaw; as in $N = \GptTwoParams$.
\symformer{gpt2.params}{124{,}439{,}808}, \symformer[tied=false]{gpt2.params}{163{,}037{,}184}, \eqref{eq:gpt2.params}.
\end{document}
"""


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex, which CI's own check has")
def test_fragment_and_macros_in_two_columns() -> None:
    assert run("derive", "gpt2", "-o", "macros.tex", "--macros").exit_code == 0
    assert run("derive", "gpt2", "-o", "fragment.tex", "--fragment").exit_code == 0
    Path("paper.tex").write_text(ARTICLE)
    compile_("paper")
    for name, stem in {HOSTILE: "odd", "x" * 300: "long", "x_1." * 70: "dots"}.items():
        Path("fragment.tex").write_bytes(render(hostile(name), "fragment"))
        Path(f"{stem}.tex").write_text(ARTICLE.replace("eq:gpt2.params", "eq:none"))
        compile_(stem)


def compile_(stem: str) -> None:
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", stem]
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2_000:]
    log = Path(f"{stem}.log").read_text(errors="replace")
    assert [each for each in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log) if float(each) > 5] == []
