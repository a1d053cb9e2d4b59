"""The short form of a derivation, the attachments of a PDF, and content that occurs once in several chapters."""

from __future__ import annotations

import json
import re
from shutil import which

import pytest
from click.testing import CliRunner
from pypdfium2 import PdfDocument

from symformer.architectures import architecture, names
from symformer.commands.cli import cli
from symformer.documents.derivation_document import document
from symformer.documents.formats import Engine, render
from symformer.documents.formats.typ import FORMAT as TYPST
from symformer.language.errors import RuleError
from symformer.language.notation.text import text
from symformer.language.symbols import B, S
from symformer.output.blocks import (
    Code,
    Contents,
    Document,
    Equation,
    FigureBlock,
    Heading,
    Math,
    Paragraph,
    Table,
    plain,
)
from symformer.targets.resolution import resolve

from .samples import sampled


def made(name: str, *quantities: str, form: str = "full") -> Document:
    model = architecture(name)
    run = {B: 2, S: 96} if quantities else {}
    return document(model.set(run) if run else model, quantities or ["params"], "1.2.3", form=form)


OTHERS = ("flops", "kv-cache", "train-memory")  # of a third of the architectures each
CASES = [*((name, "params") for name in names())]
CASES += [(name, quantity) for place, quantity in enumerate(OTHERS) for name in names()[place::3]]
# 29 terms with maxima over chunks of a gated delta rule, each of which takes a line
LONGER = [(name, "train-memory") for name in ("olmo-hybrid", "qwen3-5", "qwen3-5-moe")]
LONGER += [(name, "train-memory") for name in ("falcon-h1", "zamba2")]  # 25 terms of a scan in chunks, in each layer
LONGER.append(("granitemoehybrid", "train-memory"))  # mixers, attention and experts in two kinds of layers


@pytest.mark.parametrize(("name", "quantity"), sampled(67, [case for case in CASES if case not in LONGER]))
def test_short_form_is_one_page(name: str, quantity: str) -> None:
    try:
        short = document(architecture(name), [quantity], "1.2.3", form="short")
    except RuleError:
        pytest.skip("the model does not have this quantity")
    assert len(PdfDocument(render(short, "pdf"))) == 1


@pytest.mark.parametrize("engine", ["typst", "latex"])
def test_short_form_has_a_figure_if_there_is_room(engine: Engine) -> None:
    """The table of parts has their amounts, so the figure names all parts of the layer instead of one box for it."""
    if engine == "latex" and not which("pdflatex"):
        pytest.skip("pdflatex is not installed")
    said = printed(made("gpt2", form="short"), engine)
    assert "Figure 1: The architecture of GPT-2" in said
    assert "Feed-forward network" in said
    crowded = printed(made("deepseek-v3", "flops", form="short"), engine)
    assert "Figure 1" not in crowded
    assert "Certified against" in crowded


def printed(document: Document, engine: Engine) -> str:
    """Return the text of the only page of a PDF."""
    (page,) = PdfDocument(render(document, "pdf", engine))
    return " ".join(page.get_textpage().get_text_range().split())


def test_text_of_a_full_page_is_reduced_to_at_most_three_quarters() -> None:
    """Jamba has 19 symbols and 11 parts: more than a page at full size."""
    source = TYPST.spell(made("jamba", form="short"))
    assert "#on-one-page[" in source
    assert "#on-one-page[" not in TYPST.spell(made("gpt2"))
    assert "#on-one-page[" not in TYPST.spell(made("gpt2", "params", "flops", form="short"))  # several chapters


def test_short_form_shows_the_first_terms_of_a_long_sum_in_a_table() -> None:
    short = document(architecture("nemotron-h"), ["train-memory"], "1.2.3", form="short")
    cells = [plain(row[2]) for block in short.blocks if isinstance(block, Table) for row in block.rows if len(row) > 2]
    assert any(re.search(r", and \d+ more terms$", cell) for cell in cells)
    assert max(map(len, cells)) < 250
    (result,) = (block for block in short.blocks if isinstance(block, Equation) and block.key)
    assert len(result.chain.steps) == 1  # the structured form only


def test_short_form_has_result_parts_and_certificate() -> None:
    short = made("gpt2", form="short")
    assert [block.number for block in short.blocks if isinstance(block, Equation)] == [1]
    table = [block for block in short.blocks if isinstance(block, Table)][-1]
    # per layer: two norms of 2·768; attention 4·768² + 4·768; the MLP 8·768² + 5·768; each 12 times
    assert [row[3] for row in table.rows] == [
        ["38,597,376"],
        ["786,432"],
        ["18,432"],
        ["28,348,416"],
        ["18,432"],
        ["56,669,184"],
        ["1,536"],
    ]
    said = [block for block in short.blocks if isinstance(block, Paragraph)][-1]
    assert str(said.line[0]).startswith("Certified")


def heads(document: Document) -> list[str]:
    return [str(block.line[0]) for block in document.blocks if isinstance(block, Heading)]


def words(document: Document) -> str:
    """Return its paragraphs, without mathematics."""
    lines = [block.line for block in document.blocks if isinstance(block, Paragraph)]
    pieces = [piece.text if isinstance(piece, Code) else piece for line in lines for piece in line]
    return "".join(piece for piece in pieces if isinstance(piece, str))


def symbols(document: Document) -> list[str]:
    (table,) = (each for each in document.blocks if isinstance(each, Table) and each.head[0] == ["Symbol"])
    return [text(row[0][0].shown) for row in table.rows if isinstance(row[0][0], Math)]


def test_short_form_of_a_component_says_what_it_is_and_explains_its_figure() -> None:
    """The figure has tensors of shape [B, S, E]; the subtitle says that there is no certificate."""
    model, _ = resolve("component:gated-mlp")
    short = document(model, ["params"], "1", form="short")
    said = words(short)
    assert "every element of every weight" in said
    assert "SwiGLU, a gated feed-forward network with SiLU" in said
    assert "No stored certificate" not in said
    assert "no certificate" in short.subtitle
    assert symbols(short) == ["B", "S", "E", "H"]
    (figure,) = [block for block in short.blocks if isinstance(block, FigureBlock)]
    assert plain(figure.caption).startswith("The computation of component:gated-mlp, from bottom to top")


def test_short_form_lists_its_conventions() -> None:
    """Memory traffic needs the bytes per element, and FLOPs need the counted pairs."""
    traffic = words(document(architecture("gpt2"), ["traffic"], "1.2.3", form="short", dtype="fp32"))
    assert "phase=prefill" in traffic
    assert "dtype=fp32" in traffic
    assert "attention=full" in words(made("gpt2", "flops", form="short"))
    assert "Counted with" not in words(made("gpt2", form="short"))  # parameters have no choices


@pytest.mark.parametrize("ratio", ["mfu", "attention-share", "pipeline-bubble", "intensity"])
def test_short_form_of_a_ratio_is_short(ratio: str) -> None:
    short = document(architecture("gpt2"), [ratio], "1.2.3", form="short")
    assert heads(short) == []
    assert [table.head[0] for table in short.blocks if isinstance(table, Table)] == [["Symbol"]]


def test_ratio_describes_both_sides_without_trivial_rows() -> None:
    share = document(architecture("gpt2"), ["attention-share"], "1.2.3")
    assert " denotes the FLOPs of the products of attention and " in words(share)
    assert "Row by row" not in heads(share)  # the products of attention are all of their own FLOPs: 1 and 1
    assert "Row by row" in heads(document(architecture("gpt2"), ["intensity"], "1.2.3"))


def test_appendix_letter_is_not_listed_as_a_size() -> None:
    """PaLM's appendix B has no batch: FLOPs of tokens over FLOPs of devices contain no sequences."""
    found = document(architecture("gpt2"), ["mfu"], "1.2.3")
    assert "appendix B." in words(found)
    assert "B" not in symbols(found)


def test_pipeline_bubble_needs_no_width() -> None:
    """(p - 1)/m, Narayanan et al. 2021, section 2.2.1; the only condition is that stages divide the layers."""
    assert symbols(document(architecture("gpt2"), ["pipeline-bubble"], "1.2.3")) == ["L", "N_pp", "N_micro"]


def test_long_table_may_break_before_the_next_equation() -> None:
    """Otherwise most of a page may stay empty."""
    source = TYPST.spell(document(architecture("gpt2"), ["params", "flops", "train-memory"], "1.2.3"))
    assert "long: true, sticky: false" in source
    assert "long: true, sticky: true" not in source


def test_pdf_embeds_its_formulas_and_papers() -> None:
    files = dict(made("gpt2").attached)
    (told,) = json.loads(files["formulas.json"])
    assert (told["id"], told["value"]) == ("gpt2.params", 124_439_808)  # Radford et al. 2019, the published model
    assert "@" in files["references.bib"]
    assert "{vaswani2017" in files["references.bib"]
    pdf = render(made("gpt2"), "pdf")
    assert b"formulas.json" in pdf
    assert b"pdfuaid" in pdf  # PDF/UA: tagged, with each formula in words


def test_chapters_are_listed_and_share_one_symbol_table() -> None:
    whole = made("gpt2", "params", "flops", "train-memory")
    assert isinstance(whole.blocks[0], Contents)
    chapters = [block for block in whole.blocks if isinstance(block, Heading) and block.level == 1]
    anchors = ["symbols", "params", "flops", "train-memory", "relative"]
    assert [block.anchor for block in chapters if block.anchor] == anchors
    for extension in ("md", "html"):
        told = render(whole, extension).decode()
        assert all(f'href="#{name}"' in told or f"](#{name})" in told for name in ("symbols", "flops"))
    assert r"\tableofcontents" in render(whole, "tex").decode()
    told = render(whole, "md").decode()
    assert told.count("One row of $`E`$ elements for each token of the vocabulary") == 1
    assert (
        "](#" not in render(made("gpt2"), "md").decode().split("## Definition and conventions")[0]
    )  # not for a single chapter


def test_short_form_of_macros_is_refused() -> None:
    result = CliRunner().invoke(cli, ["derive", "gpt2", "-o", "x.tex", "--macros", "--length", "short"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "remove one of the two" in result.stderr


def test_untrained_tables_are_not_described_as_zero() -> None:
    """The sines of a DiT are a fixed table: 256 rows of 1,152, which are among its parameters."""
    said = words(made("dit-xl-2"))
    assert "every element of every weight, trained or not, is counted" in said
