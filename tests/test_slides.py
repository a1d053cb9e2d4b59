"""Slides: one step each, a figure that grows with the derivation, no overflow, and no text too small to read."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
import typst
from click.testing import CliRunner, Result
from sympy import Symbol

from symformer.architectures import names
from symformer.commands.cli import cli
from symformer.documents.figures.box_content import TINTS
from symformer.documents.figures.primitives import WHITE, Drawing, Rect, Words
from symformer.documents.formats.base_language import templates
from symformer.documents.formats.slide_layout import BESIDE, FULL
from symformer.documents.formats.typst_slides import render_slides
from symformer.documents.slide_deck import Slide, SlideDeck
from symformer.documents.slides import lecture
from symformer.language.errors import DocumentError
from symformer.language.notation.display_tree import Label, Size, sizes_of
from symformer.language.notation.text import text
from symformer.language.symbols import symbol
from symformer.output.blocks import Equation, FigureBlock, Math, Paragraph, References, Table, formulas_in, plain
from symformer.targets.resolution import resolve

from .figure_faults import faults, smallest
from .samples import sampled

ENTRY = ("key", "Somebody and others", "A title", "A place, 2020")
LEAST = 9.0  # points
E = symbol("E")


@cache
def slides_of(target: str, *quantities: str) -> SlideDeck:
    asked = quantities or ("params",)
    model, conventions = resolve(target, quantities=asked)
    return lecture(model, asked, "0", **conventions)


def titles(deck: SlideDeck) -> list[str]:
    return [plain(slide.title) for slide in deck.slides]


def named(deck: SlideDeck, title: str) -> list[Slide]:
    return [slide for slide in deck.slides if plain(slide.title) == title]


def drawn(block: FigureBlock | None, slide: Slide) -> Drawing:
    assert block is not None
    return block.draw(slide.layout.page)


def derive(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["derive", *arguments], prog_name="symformer")


def test_a_lecture_on_gpt2_has_one_step_per_slide() -> None:
    assert titles(slides_of("gpt2")) == [
        "GPT-2: parameters in closed form",
        "The architecture of GPT-2",
        "Definition: parameters",
        "How to read the computations",
        "The model",
        "Pre-norm block",
        "The simple parts",
        "Self-attention",
        "Self-attention: notation",
        "Self-attention: parameters",
        "Feed-forward network",
        "Feed-forward network: parameters",
        "Pre-norm block: insert the totals of the parts",
        "Pre-norm block: collect terms",
        "The model: insert the totals of the parts",
        "The model: collect terms",
        "The number for gpt2",
        "Where the parameters are",
        "References",
    ]


def test_a_sum_grows_by_one_line_per_slide_and_is_numbered_when_complete() -> None:
    deck = slides_of("gpt2")
    sums = [block for slide in deck.slides for block in slide.blocks if isinstance(block, Equation)]
    layer = [each for each in sums if each.chain.labels[0] == Label("N", "h", 12 * E**2 + 13 * E)]
    # two norms of 2E, attention 4E² + 4E, the MLP 8E² + 5E: 12E² + 13E
    assert [text(each.chain.steps[-1]) for each in layer] == [
        "N[ln_1] + N[attn] + N[ln_2] + N[mlp]",
        "2E + (4E² + 4E) + 2E + (8E² + 5E)",
        "12E² + 13E",
    ]
    assert [len(each.chain.steps) for each in layer] == [1, 2, 3]
    assert [bool(each.number) for each in layer] == [False, False, True]


def test_matrix_products_have_their_names_in_the_figure() -> None:
    """The names of the projections in transformers' LlamaAttention; in a layer, all of them are linear."""
    deck = slides_of("llama-3-8b")
    (whole,) = named(deck, "The architecture of Llama")
    block = next(block for block in whole.blocks if isinstance(block, FigureBlock))
    said = [plain(each.line) for each in drawn(block, whole).shapes if isinstance(each, Words)]
    assert {"q_proj", "k_proj", "v_proj", "o_proj"} <= {*said}
    assert "Linear" not in said
    assert {"tokens", "logits", "x", "cos, sin", "Self-attention in detail"} <= {*said}  # inputs and outputs are named
    assert plain(whole.paths) == "from bottom to top, each part with the parameters of one copy"


def test_the_number_and_the_shares_are_those_of_the_sizes() -> None:
    deck = slides_of("gpt2")
    (number,) = named(deck, "The number for gpt2")
    equation = next(block for block in number.blocks if isinstance(block, Equation))
    # 12·12·768² + 13·12·768 + (50,257 + 1,024 + 2)·768
    assert text(equation.chain.steps[-1]) == "124,439,808"
    (shares,) = named(deck, "Where the parameters are")
    block = next(block for block in shares.blocks if isinstance(block, FigureBlock))
    said = [plain(each.line) for each in drawn(block, shares).shapes if isinstance(each, Words)]
    # 12·(8·768² + 5·768) = 56,669,184, and 50,257·768 = 38,597,376, of 124,439,808
    assert said[:4] == [
        "Feed-forward network h.*.mlp",
        "56,669,184 (45.5%)",
        "Token embedding wte",
        "38,597,376 (31.0%)",
    ]
    bars = [each for each in drawn(block, shares).shapes if isinstance(each, Rect)]
    assert bars[1].w / bars[0].w == pytest.approx(38_597_376 / 56_669_184)


def states(slide: Slide) -> dict[str, str]:
    """Return the state of each box of the figure of a slide."""
    found = {}
    for each in drawn(slide.figure, slide).shapes:
        if isinstance(each, Rect) and each.mark.startswith("box "):
            found[each.mark.removeprefix("box ")] = (
                "current" if each.stroke > 1 else "to come" if each.fill == WHITE else "done"
            )
    return found


def test_the_figure_grows_with_the_derivation() -> None:
    deck = slides_of("gpt2")
    every = {"wte", "wpe", "h.ln_1", "h.attn", "h.ln_2", "h.mlp", "ln_f", "lm_head"}

    def state(title: str) -> dict[str, set[str]]:
        found = states(named(deck, title)[0])
        assert found.keys() == every
        return {each: {key for key in found if found[key] == each} for each in ("done", "current", "to come")}

    small = every - {"h.attn", "h.mlp"}
    assert state("The model") == {"done": set(), "current": set(), "to come": every}
    assert state("The simple parts") == {"done": small, "current": set(), "to come": {"h.attn", "h.mlp"}}
    assert state("Self-attention") == {"done": small, "current": {"h.attn"}, "to come": {"h.mlp"}}
    assert state("Feed-forward network") == {"done": small | {"h.attn"}, "current": {"h.mlp"}, "to come": set()}
    assert state("The model: collect terms") == {"done": every, "current": set(), "to come": set()}


def test_parts_have_their_colour_and_formula_once_they_are_derived() -> None:
    deck = slides_of("gpt2")

    def said(title: str) -> list[str]:
        slide = named(deck, title)[0]
        return [plain(each.line) for each in drawn(slide.figure, slide).shapes if isinstance(each, Words)]

    assert "4E² + 4E" not in said("Self-attention: parameters")
    assert "4E² + 4E" in said("Feed-forward network")
    assert "12E² + 13E" not in said("Pre-norm block: insert the totals of the parts")
    assert "12E² + 13E" in said("Pre-norm block: collect terms")
    slide = named(deck, "Self-attention")[0]
    box = next(
        each for each in drawn(slide.figure, slide).shapes if isinstance(each, Rect) and each.mark == "box h.attn"
    )
    assert (box.fill, box.ink) == TINTS["attention"]


FIGURES = ["gpt2", "whisper", "deepseek-v3", "nemotron-h", "t5", "vit", "llama", "gemma3-multimodal", "jamba"]


@pytest.mark.parametrize("target", sampled(3, FIGURES))
def test_figures_on_slides_are_legible_and_without_overlaps(target: str) -> None:
    for slide in slides_of(target).slides:
        for block in (slide.figure, *(block for block in slide.blocks if isinstance(block, FigureBlock))):
            if block is not None:
                page = slide.layout.page
                found = block.draw(page)
                scale = page.enlarged(found.width, found.height)
                assert smallest(found, scale) >= LEAST
                assert found.width * scale <= page.broad
                assert found.height * scale <= page.high
                if slide.figure is not None or slide.paths:
                    assert faults(found) == []


def compiled(source: bytes) -> tuple[int, list[float], list[float]]:
    """Return the number of pages, the type of each slide, and the type of each formula and table, in points."""
    options: dict[str, Any] = {"root": templates(), "ignore_system_fonts": True}
    printed = typst.compile(source, format="png", ppi=10, **options)
    fitted, scaled = (
        json.loads(typst.query(source, label, field="value", **options)) for label in ("<fitted>", "<scaled>")
    )
    return len(printed) if isinstance(printed, list) else 1, fitted, scaled


@pytest.mark.parametrize("target", sampled(40, names()[::2], also=lambda name: name == "mbart"))
def test_nothing_overflows_a_slide_or_is_smaller_than_nine_points(target: str) -> None:
    deck = slides_of(target)
    pages, fitted, scaled = compiled(render_slides(deck, "typ"))
    assert pages == len(deck.slides)
    assert min(fitted) >= LEAST  # 0 if a slide has no room
    assert min(scaled) >= LEAST


QUANTITIES = [
    ("gpt2", "flops"),
    ("llama-3-70b", "kv-cache"),
    ("nemotron-h", "flops"),
    ("deepseek-v3", "train-memory"),
    ("mixtral-8x7b", "active-params"),
    ("t5", "activations"),
    ("component:mlp", "params"),
    ("component:latent-attention", "params"),
    ("hf:bamba", "params"),
    ("hf:qwen3_moe", "params"),
]


@pytest.mark.parametrize(("target", "quantity"), sampled(4, QUANTITIES))
def test_slides_of_other_quantities_and_targets_fit(target: str, quantity: str) -> None:
    deck = slides_of(target, quantity)
    pages, fitted, scaled = compiled(render_slides(deck, "typ"))
    assert (pages, min([LEAST, *fitted, *scaled])) == (len(deck.slides), LEAST)


@pytest.mark.parametrize("target", ["gpt2", "deepseek-v3"])
def test_every_size_is_explained_where_it_occurs_first(target: str) -> None:
    known: set[Symbol] = set()
    deck = slides_of(target).slides
    for slide in deck:
        for block in slide.notes:
            if isinstance(block, Paragraph) and block.defines:
                known |= {
                    piece.shown.symbol
                    for piece in block.line
                    if isinstance(piece, Math) and isinstance(piece.shown, Size)
                }
        if plain(slide.title).endswith(": symbols") or plain(slide.title).endswith(": notation"):
            known |= {size for shown in formulas_in(slide.blocks) for size in sizes_of(shown)}
        used = {size for shown in formulas_in(slide.every_block()) for size in sizes_of(shown)}
        title = plain(slide.title)
        after = {  # explained on a slide after the last one of the step
            size
            for each in deck
            if plain(each.title) in (f"{title}: symbols", f"{title}: notation")
            for shown in formulas_in(each.blocks)
            for size in sizes_of(shown)
        }
        assert used <= known | after, title


def test_several_quantities_follow_each_other_after_a_slide_each() -> None:
    deck = slides_of("gpt2", "params", "kv-cache")
    kinds = [plain(slide.title) for slide in deck.slides if slide.kind == "section"]
    assert kinds == ["Parameters", "Bytes of the key/value cache"]
    numbers = [
        block.number for slide in deck.slides for block in slide.blocks if isinstance(block, Equation) and block.number
    ]
    assert numbers == list(range(1, len(numbers) + 1))
    # a figure has the formulas of one quantity, so the second has the names only
    start = next(place for place, slide in enumerate(deck.slides) if plain(slide.title) == kinds[1])
    said = [
        plain(each.line)
        for slide in deck.slides[start:]
        if slide.figure is not None
        for each in drawn(slide.figure, slide).shapes
        if isinstance(each, Words)
    ]
    assert "Self-attention" in said
    assert "4E² + 4E" not in said


def test_slides_are_reproducible_and_tagged(tmp_path: Path) -> None:
    first, second = (render_slides(lecture(resolve("gpt2")[0], ["params"], "0"), "pdf") for _ in range(2))
    assert first == second
    pages = pypdfium2.PdfDocument(first)
    assert [(round(page.get_width()), round(page.get_height())) for page in pages] == [(842, 474)] * 19  # 16:9
    assert b"pdfuaid" in first
    out = tmp_path / "s.pdf"
    assert derive("gpt2", "-o", str(out), "--form", "slides").exit_code == 0
    assert len(pypdfium2.PdfDocument(out.read_bytes())) == 19


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gpt2", "-o", "s.tex"], "slides are written as .pdf or .typ, but s.tex is .tex"),
        (["gpt2", "-o", "s.zip"], "slides are written as .pdf or .typ, but s.zip is .zip"),
        (["gpt2", "-o", "s.pdf", "--length", "short"], "cannot be combined with --length short"),
        (["gpt2", "-o", "s.html", "--live"], "cannot be combined with --live"),
        (["gpt2", "-o", "s.tex", "--fragment"], "cannot be combined with --fragment"),
        (["gpt2", "-o", "s.tex", "--macros"], "cannot be combined with --macros"),
        (["gpt2", "-o", "s.pdf", "--engine", "latex"], "cannot be combined with --engine latex"),
        (["gpt2", "t5", "-o", "s.pdf"], "a document of one TARGET, but 2 are given"),
        (["gpt2", "-o", "s.pdf", "-q", "intensity"], "intensity is a ratio"),
        (["gpt2", "-o", "s.pdf", "-q", "train-time"], "train-time is a lower bound"),
    ],
)
def test_slides_refuse_what_they_cannot_show(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = derive(*arguments, "--form", "slides")
    assert result.exit_code == 2
    assert said in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_template_and_slides_are_refused_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.jinja").write_text("<%= document.title %>")
    result = derive("gpt2", "-o", "s.typ", "--form", "slides", "--template", "own.jinja")
    assert result.exit_code == 2
    assert "cannot be combined with --template" in result.output


def test_a_folder_gets_one_lecture_per_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert derive("gpt2", "component:mlp", "-o", "out/", "--form", "slides", "--format", "typ").exit_code == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["component-mlp.typ", "gpt2.typ"]


def test_the_former_spelling_of_length_still_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert derive("component:mlp", "-o", "a.md", "--form", "short").exit_code == 0
    assert derive("component:mlp", "-o", "b.md", "--length", "short").exit_code == 0
    assert Path("a.md").read_bytes() == Path("b.md").read_bytes()


def test_a_format_without_slides_is_refused_in_python() -> None:
    with pytest.raises(DocumentError, match=r"slides are written as \.pdf or \.typ, but \.md is \.md"):
        render_slides(slides_of("component:mlp"), "md")


def test_long_tables_are_divided_with_their_heads_and_one_total() -> None:
    rows = [[[f"row {place}"], [Math.of(place * E)]] for place in range(1, 41)]
    table = Table([["Row"], ["Amount"]], rows, "ll", total=True)
    pieces = FULL.divided([table])
    found = [block for blocks in pieces for block in blocks]
    assert len(found) == 4  # 13 rows of 1.3 lines, with the head and the space below, on a slide of 19 lines
    assert [each.head for each in found if isinstance(each, Table)] == [table.head] * 4
    assert [row for each in found if isinstance(each, Table) for row in each.rows] == rows
    assert [each.total for each in found if isinstance(each, Table)] == [False, False, False, True]


def test_a_sentence_that_introduces_a_block_stays_with_it() -> None:
    long = Paragraph(["word " * 200])
    lead = Paragraph(["In the decoder:"])
    pieces = BESIDE.divided([long, lead, Paragraph(["other " * 110])])
    assert [block is lead for block in pieces[-1]] == [True, False]


def test_references_on_a_further_slide_continue_the_numbers() -> None:
    pieces = [block for slide in FULL.divided([References([ENTRY] * 30)]) for block in slide]
    assert len(pieces) > 1
    numbers = [n for each in pieces if isinstance(each, References) for n, _ in enumerate(each.entries, each.first)]
    assert numbers == [*range(1, 31)]


def test_notation_and_heads_are_explained_on_the_slides_that_use_them() -> None:
    deck = slides_of("gpt2")
    (simple,) = named(deck, "The simple parts")
    notes = [plain(row[0]) for block in simple.notes if isinstance(block, Table) for row in block.rows]
    assert "⊙" in notes
    assert not [each for each in notes if "in a shape" in each]  # its table prints no shapes
    split = "Queries, keys and values are split into heads before the scores"
    told = [
        plain(slide.title)
        for slide in deck.slides
        for block in (*slide.blocks, *slide.notes)
        if isinstance(block, Paragraph) and split in plain(block.line)
    ]
    assert told == ["Self-attention"]


def test_arrows_of_queries_keys_and_values_are_labelled() -> None:
    (slide,) = named(slides_of("gpt2"), "The architecture of GPT-2")
    (block,) = [block for block in slide.blocks if isinstance(block, FigureBlock)]
    words = {plain(each.line) for each in drawn(block, slide).shapes if isinstance(each, Words)}
    assert {"q", "k", "v"} <= words
