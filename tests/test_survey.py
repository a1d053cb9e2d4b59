"""Surveys: several models in one document, with one table of letters, linked totals, plots and differences."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from sympy import Symbol

import symformer as sf
from symformer.certificates import certificates_of
from symformer.documents.figures.line_plot import LinePlot, PlotLine
from symformer.documents.figures.primitives import Drawing, Words
from symformer.documents.figures.primitives import Path as Polyline
from symformer.documents.formats import render
from symformer.documents.formats.page_layout import A4, Page
from symformer.documents.model_table import ModelTable
from symformer.documents.survey_document import USUAL, survey, with_lengths
from symformer.documents.survey_plots import curves
from symformer.language.errors import SizeError
from symformer.language.notation.display_tree import Label, sizes_of, value
from symformer.language.sizes import evaluate
from symformer.language.symbols import C, S
from symformer.output.blocks import (
    Block,
    Document,
    Equation,
    FigureBlock,
    FloatSentence,
    Heading,
    Math,
    Paragraph,
    Ref,
    References,
    Table,
    formulas_in,
    plain,
)
from symformer.quantities import quantities as all_quantities

from .figure_faults import faults, smallest
from .samples import sampled
from .test_cli import run

FOUR = ("gpt2", "llama-3-8b", "deepseek-v3", "mamba2-2.7b")


@cache
def surveyed(*names: str, quantities: Sequence[str] = USUAL, form: str = "full") -> Document:
    return survey([sf.model(name) for name in names], quantities, "0", [{}] * len(names), form)


def tables(document: Document) -> dict[str, Table]:
    return {plain(block.caption).partition(" ")[0]: block for block in document.blocks if isinstance(block, Table)}


def rows(table: Table) -> list[list[str]]:
    return [[plain(cell) for cell in row] for row in table.rows]


# Totals and formulas


def test_totals_are_linked_to_their_equations() -> None:
    document = surveyed(*FOUR)
    totals = tables(document)["Parameters,"]
    # P = 1,024 limits GPT-2, so all costs are at S = C = 1,024; see test_model_table.py for the arithmetic
    assert rows(totals) == [
        ["gpt2", "124M (1)", "124M (1)", "284.8 MFLOPs (6)", "36.86 kB (10)"],
        ["llama-3-8b", "8.03B (2)", "8.03B (2)", "15.55 GFLOPs (7)", "131.1 kB (11)"],
        ["deepseek-v3", "671B (3)", "37.6B (5)", "78.37 GFLOPs (8)", "70.27 kB (12)"],
        ["mamba2-2.7b", "2.70B (4)", "2.70B (4)", "6.077 GFLOPs (9)", "166.5 kB (13)"],
    ]
    equations = {block.number: block for block in document.blocks if isinstance(block, Equation)}
    for number, row in enumerate(totals.rows, 1):
        for cell, quantity in zip(row[1:], USUAL, strict=True):
            (ref,) = (piece for piece in cell if isinstance(piece, Ref))
            equation = equations[ref.number]
            (label,) = equation.chain.labels
            assert equation.id == ref.id
            assert isinstance(label, Label)
            assert "abcd"[number - 1] in label.name.split(", ")
            formula = sf.model(FOUR[number - 1]).set({"B": 3, "S": 300, "C": 500}).formula(quantity)
            numbers = formula.with_totals(formula.source.known)  # type: ignore[union-attr]
            assert evaluate(value(equation.chain.steps[-1]), numbers, "") == formula.value()


def test_models_with_the_same_formula_share_an_equation() -> None:
    document = surveyed("gpt2", "gpt2-xl", "llama-3-8b", "gpt2", quantities=("params",))
    assert rows(tables(document)["Parameters."]) == [
        ["gpt2 (a)", "124M (1)"], ["gpt2-xl", "1.56B (1)"], ["llama-3-8b", "8.03B (2)"], ["gpt2 (d)", "124M (1)"],
    ]  # fmt: skip
    equations = [block for block in document.blocks if isinstance(block, Equation)]
    assert [(each.id, each.chain.labels[0].name) for each in equations] == [  # type: ignore[attr-defined]
        ("gpt2.params", "a, b, d"), ("llama.params", "c"),
    ]  # fmt: skip
    told = [plain(block.line) for block in document.blocks if isinstance(block, Paragraph)]
    same = "gpt2 (a), gpt2-xl and gpt2 (d) have the same structure; only sizes can differ."
    assert f"{same} Figure 1 shows the structures side by side." in told


def test_formulas_of_one_architecture_with_other_options_have_their_own_ids() -> None:
    models = [sf.model("gpt2"), sf.model("gpt2", tied=False)]
    document = survey(models, ("params",), "0", [{}] * 2)
    equations = [block for block in document.blocks if isinstance(block, Equation)]
    assert [each.id for each in equations] == ["gpt2.params", "gpt2.params.2"]
    told = [plain(block.line) for block in document.blocks if isinstance(block, Paragraph)]
    assert any(line.startswith("Head: ") for line in told)


def test_many_models_have_tables_that_fit_a_page() -> None:
    names = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "llama-3-8b", "qwen3-8b", "gemma-2-9b", "mixtral-8x7b")
    document = surveyed(*names)
    symbols = [block for block in document.blocks if isinstance(block, Table) and plain(block.head[0]) == "Symbol"]
    labels = [each.name for block in document.blocks if isinstance(block, Equation) for each in block.chain.labels
              if isinstance(each, Label) and each.letter == "F"]  # fmt: skip
    assert labels == ["a, b, c, d", "e, f, g", "h"]  # windows do not reduce the FLOPs of Gemma 2 at attention=full
    assert [len(table.head) for table in symbols] == [6, 5]  # four models each; meanings in the first
    assert sum("at four values" in plain(block.caption) for block in document.blocks if isinstance(block, Table)) == 4
    figures = [plain(block.caption) for block in document.blocks if isinstance(block, FigureBlock)]
    assert len(figures) == 2  # of the five structures; lines of eight models cannot be told apart in a plot
    assert all(caption.startswith("The structures") for caption in figures)


@pytest.mark.parametrize(
    ("names", "length"),
    [
        (FOUR, 1024),  # GPT-2 has 1,024 positions
        (FOUR[1:], 2048),
        (("bert-base-uncased", "llama-3-8b"), 512),  # BERT has 512
        (("whisper-tiny", "gpt2"), 256),  # the decoder has 448
    ],
)
def test_costs_are_stated_at_a_length_that_all_models_support(names: tuple[str, ...], length: int) -> None:
    models = with_lengths([sf.model(name) for name in names], USUAL, [{}] * len(names))
    assert {model.known[S] for model in models} == {length}
    assert {model.known[C] for model in models if C in model.known} == {length}


def test_a_given_length_is_kept() -> None:
    models = with_lengths([sf.model(name).set({"S": 96}) for name in FOUR], USUAL, [{}] * 4)
    assert {model.known[S] for model in models} == {96}
    assert {model.known[C] for model in models} == {1024}


# Letters


@pytest.mark.parametrize("names", [FOUR, ("gpt2", "t5-small", "gemma-2-9b"), ("falcon-7b", "gpt2")])
def test_every_letter_of_the_document_has_one_row(names: tuple[str, ...]) -> None:
    document = surveyed(*names)
    (table,) = (block for block in document.blocks if isinstance(block, Table) and plain(block.head[0]) == "Symbol")
    letters = [value(piece.shown) for row in table.rows for piece in row[0] if isinstance(piece, Math)]
    assert len(letters) == len(set(letters)) == len(table.rows)
    others: list[Block] = [block for block in document.blocks if block is not table]
    assert {size for shown in formulas_in(others) for size in sizes_of(shown)} == set(letters)
    assert all(plain(row[1]) for row in table.rows)
    for size, row in zip(letters, table.rows, strict=True):
        for name, cell in zip(names, row[2:], strict=True):
            known = sf.model(name).known
            if size in known:
                assert plain(cell) == f"{known[Symbol(size.name, integer=True, positive=True)]:,}"


def test_the_structure_is_stated_in_words() -> None:
    found = {row[0]: row[1:] for row in rows(tables(surveyed(*FOUR))["Structure"])}
    assert found["Positions"] == ["learned position embeddings", "rotary positions", "rotary positions", "—"]
    assert found["Norms"] == ["layer norms", "RMS norms", "RMS norms", "RMS norms"]
    assert found["Biases"] == ["attention, MLP", "—", "—", "mixer's convolution"]
    assert found["Mixer"][2].startswith("multi-head latent attention")
    assert [len(block.head) for block in surveyed("gpt2", "bert-base-uncased", *FOUR[1:]).blocks
            if isinstance(block, Table) and "Structure" in plain(block.caption)] == [4, 3]  # fmt: skip


def test_all_structure_tables_have_the_same_rows() -> None:
    """Neither of the models in the second table has positions, and the row says so."""
    found = [
        [row[0] for row in rows(block)]
        for block in surveyed("gpt2", "llama-3-8b", "deepseek-v3", "mamba2-2.7b", "nemotron-h-8b").blocks
        if isinstance(block, Table) and "Structure" in plain(block.caption)
    ]
    assert len(found) == 2
    assert "Positions" in found[1]
    assert found[0] == found[1]


@pytest.mark.parametrize("names", [FOUR, ("gpt2", "llama-3-8b"), (*FOUR, "t5-small", "gemma-2-9b", "qwen3-8b")])
def test_each_table_and_figure_is_mentioned_before_it(names: tuple[str, ...]) -> None:
    """No two of them have a sentence in common in their captions."""
    seen: set[tuple[str, int]] = set()
    sentences: list[str] = []
    for block in surveyed(*names).blocks:
        if isinstance(block, Paragraph):
            said = [piece for piece in block.line if isinstance(piece, FloatSentence)]
            seen |= {(each.what, each.number) for piece in said for each in (piece, *piece.further)}
        elif isinstance(block, Table | FigureBlock):
            assert ("Table" if isinstance(block, Table) else "Figure", block.number) in seen, plain(block.caption)
            sentences += plain(block.caption).removesuffix(".").split(". ")
    assert len(seen) >= 5
    assert len(sentences) == len({*sentences})


# Plots


def test_plots_have_the_values_of_the_formulas() -> None:
    models = with_lengths([sf.model(name) for name in FOUR], USUAL, [{}] * 4)
    flops, cache = curves(sf.table(models, USUAL, per="token"))
    assert [figure.id for each in (flops, cache) for figure in each.figures()] == ["survey.flops", "survey.kv-cache"]
    gpt2, llama, _, mamba = (dict(line.points) for line in flops.lines)
    assert list(gpt2) == [64, 128, 256, 512, 1024]  # 1,024 positions
    assert gpt2[512] == 169_869_312 + 77_194_752 + 36_864 * 512  # 24LE² + 2VE + 4SLE
    assert list(llama)[-1] == 2**20
    for length in (64, 4096):
        assert mamba[length] * length == sf.model("mamba2-2.7b").formula("flops").value(B=1, S=length)
    gpt2, llama, _, mamba = (dict(line.points) for line in cache.lines)
    assert llama[4096] == 131_072 * 4096
    assert set(mamba.values()) == {170_524_672}  # the state of 64 layers
    # 4·12·768·256 and 2·2·32·8·128·256 bytes; GPT-2 has 1,024 positions
    assert rows(cache.tables()[0])[0] == ["256", "9.437 MB", "33.55 MB", "17.99 MB", "170.5 MB"]
    assert [row[1] for row in rows(cache.tables()[0])[1:]] == ["—", "—", "—"]


def test_a_line_ends_at_the_learned_positions_of_its_model() -> None:
    models = with_lengths([sf.model(name) for name in ("whisper-tiny", "llama-3-8b")], USUAL, [{}] * 2)
    flops, cache = curves(sf.table(models, USUAL, per="token"))
    # 448 learned positions, Radford et al. 2022; 2 bytes of keys and of values of the decoder and of 1,500 frames
    assert cache.lines[0].points[-1] == (448, 4 * 4 * 384 * (448 + 1500))
    assert [x for x, _ in flops.lines[0].points] == [64, 128, 256, 448]
    assert all(not figure.floats for curve in (flops, cache) for figure in curve.figures())
    document = surveyed("whisper-tiny", "llama-3-8b")
    (said,) = [each for each in told(document) if "its learned positions" in each]
    assert "A model has no value beyond its learned positions; the tables show a dash." in said
    assert said.endswith("are also evaluated beyond the context length of their training.")
    assert "placement: none" in render(document, "typ").decode()


def told(document: Document) -> list[str]:
    return [plain(block.line) for block in document.blocks if isinstance(block, Paragraph)]


def test_falling_costs_are_explained_for_the_models_that_have_them() -> None:
    encoder = "The encoder of whisper-tiny runs once, however many tokens the decoder has, so its share of the cost "
    scan = "The scan of mamba2-2.7b pads a sequence to whole chunks of C_chunk tokens, so "
    found = told(surveyed("gpt2", "whisper-tiny", "mamba2-2.7b"))
    assert [any(each.startswith(said) for each in found) for said in (encoder, scan)] == [True, True]
    # a chunk has 256 tokens: half a chunk costs as many operations of the scan as a whole one
    flops = sf.model("mamba2-2.7b").formula("flops")
    assert flops.value(B=1, S=128) * 2 > flops.value(B=1, S=256)
    assert not any("runs once" in each or "whole chunks" in each for each in told(surveyed("gpt2", "llama-3-8b")))


def test_models_have_letters_and_their_formulas_state_the_relations_that_they_use() -> None:
    document = surveyed(*FOUR)
    found = told(document)
    assert document.subtitle.endswith("Totals are computed exactly and rounded for display.")
    assert any(each.startswith("(c) deepseek-v3: DeepSeek-V3, ") for each in found)
    assert "The formulas of gpt2 use H = 4E." in found
    assert not any("several indices" in each for each in found)
    assert any("An equation with several indices" in each for each in told(surveyed("gpt2", "gpt2-xl")))
    assert plain(tables(document)["Parameters,"].head[-1]) == "Cache and state per token"
    assert plain(tables(surveyed("gpt2", "llama-3-8b"))["Parameters,"].head[-1]) == "Key/value cache per token"


def test_one_sentence_states_the_certificates_of_all_models() -> None:
    (said,) = [each for each in told(surveyed(*FOUR)) if " are certified against " in each]
    assert said.startswith(
        "The formulas for the parameters of gpt2, llama-3-8b, deepseek-v3 and mamba2-2.7b are certified"
    )
    (largest,) = (each.bound for each in certificates_of("llama") if each.id == "llama.params" and not each.options)
    assert 3.3e-13 < largest <= 3.4e-13  # the largest of the four
    assert said.endswith("with probability at most 3.4 × 10⁻¹³.")
    (said,) = [each for each in told(surveyed("gpt2", "llama-3-8b", quantities=("kv-cache",))) if "certified" in each]
    assert " are certified under dtype=fp32 against " in said


def test_no_plot_without_a_length() -> None:
    assert curves(sf.table(["gpt2"], ["params"], per="token")) == []
    assert curves(sf.table(["mamba2-2.7b"], ["kv-cache"], per="token", sizes={"C": 9})) == []  # constant


def test_a_plot_keeps_its_text_and_lines_inside() -> None:
    names = [f"a-model-with-a-long-name-{number}" for number in range(7)]
    lines = [PlotLine([name], [(64, 10 * place + 1), (4096, 10**6)]) for place, name in enumerate(names)]
    plot = LinePlot(lines, ["length"], ["bytes"], "B", "title", "alt")
    drawn: Drawing = plot.drawing(Page(figure=(226, 400)))
    for shape in drawn.shapes:
        if isinstance(shape, Words):
            assert shape.size >= 6
            assert shape.left >= -0.01
            assert shape.left + shape.width <= drawn.width + 0.01
            assert 0 <= shape.y <= drawn.height
        elif isinstance(shape, Polyline):
            assert all(0 <= x <= drawn.width and 0 <= y <= drawn.height for x, y in shape.points)
    legend = [
        shape.y for shape in drawn.shapes if isinstance(shape, Words) and shape.line in [[each] for each in names]
    ]
    top = min(y for shape in drawn.shapes if isinstance(shape, Polyline) and len(shape.points) == 2
              for _, y in shape.points if shape.ink == "#DDDDDD")  # fmt: skip
    assert len(legend) == 7
    assert max(legend) < top  # the legend is outside the data


# Quantities without a cost per token

WHOLE = ("params", "weight-memory", "train-memory", "inference-memory")


def test_quantities_without_a_cost_per_token_are_stated_as_a_whole() -> None:
    document = surveyed("gpt2", "llama-3-8b", quantities=WHOLE)
    (totals, *_) = [block for block in document.blocks if isinstance(block, Table)]
    assert plain(totals.caption).startswith(
        "Parameters, weights, training memory and inference memory at B = 1, S = 512 and C = 512."
    )
    weights, cache, logits = 2 * 8_030_261_248, 2 * 2 * 32 * 8 * 128 * 512, 4 * 128_256  # bf16, bf16 and fp32
    assert rows(totals)[1][:3] == ["llama-3-8b", "8.03B (2)", "16.06 GB (4)"]
    assert (weights, rows(totals)[1][4]) == (16_060_522_496, "16.13 GB (8)")
    assert 16_125_000_000 < weights + cache + logits < 16_135_000_000
    notes = [plain(block.line) for block in document.blocks if isinstance(block, Paragraph)]
    assert not any("Divided by" in note for note in notes)


def test_plots_are_only_of_quantities_that_depend_on_a_length() -> None:
    models = with_lengths([sf.model(name) for name in ("gpt2", "llama-3-8b")], WHOLE, [{}] * 2)
    drawn = curves(ModelTable.of(models, WHOLE, [{}] * 2, per_token=True, totals=True))
    assert [(each.title, each.length) for each in drawn] == [
        ("training memory of one sequence", S), ("inference memory of one sequence", C),
    ]  # fmt: skip
    _, llama = (dict(line.points) for line in drawn[1].lines)
    assert llama[8192] - llama[4096] == 131_072 * 4096  # the cache of 4,096 more tokens
    document = surveyed("gpt2", "llama-3-8b", quantities=("params", "weight-memory"))
    figures = [block.id for block in document.blocks if isinstance(block, FigureBlock)]
    assert len(figures) == 1  # the structures


NEED_SIZES = {"run-flops", "generation-flops", "train-time", "prefill-time", "decode-time", "mfu", "hfu"}
NEED_SIZES |= {"pipeline-bubble"}  # the sizes of a device, a layout or a run


@pytest.mark.parametrize("quantity", sampled(4, sorted(all_quantities()), lambda name: name == "intensity"))
def test_a_survey_of_any_quantity_has_values_or_is_refused(quantity: str) -> None:
    names = ("gpt2", "llama-3-8b", "mamba2-2.7b")
    if quantity in NEED_SIZES:
        with pytest.raises(SizeError, match="no value for N_"):
            surveyed(*names, quantities=(quantity,))
        return
    document = surveyed(*names, quantities=(quantity,))
    (totals, *_) = [block for block in document.blocks if isinstance(block, Table)]
    assert any(row[-1] != "—" for row in rows(totals))
    equations = [block for block in document.blocks if isinstance(block, Equation)]
    assert bool(equations) == sf.model("gpt2").formula(quantity).additive


def test_a_missing_size_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run("derive", "gpt2", "llama-3-8b", "-o", "a.pdf", "-q", "run-flops")
    assert refused.exit_code == 2
    assert "no quantity has a value for any of the models (no value for N_tok); give sizes with --set" in refused.stderr
    assert not Path("a.pdf").exists()
    given = run("derive", "gpt2", "llama-3-8b", "-o", "-", "--format", "md", "-q", "run-flops", "--set", "N_tok=3000")
    assert given.exit_code == 0, given.output
    assert "FLOPs of a training run at four values of the sequence length" in given.stdout


# Differences and references


def test_differences_are_from_the_first_model() -> None:
    document = surveyed(*FOUR)
    told = {plain(block.line) for block in document.blocks if isinstance(block, Paragraph)}
    for name in FOUR[1:]:
        for line in sf.compare(name, "gpt2").structure.paragraphs(terms=None):
            assert plain(line) in told
    figures = [block for block in document.blocks if isinstance(block, FigureBlock)]
    assert [plain(figure.caption).partition(". ")[0] for figure in figures[2:]] == [
        "The structures of gpt2, llama-3-8b, deepseek-v3 and mamba2-2.7b."
    ]
    drawn = figures[2].draw(A4)
    assert faults(drawn) == []
    assert smallest(drawn, A4.enlarged(drawn.width, drawn.height)) >= 6


def test_figures_of_a_survey_show_each_structure_once() -> None:
    document = surveyed("gpt2", "gpt2-xl", "llama-3-8b", quantities=("params",))
    (pair,) = [block for block in document.blocks if isinstance(block, FigureBlock)]
    assert plain(pair.caption).startswith("GPT-2 and Llama side by side")
    document = surveyed("gpt2", "llama-3-8b", "mixtral-8x7b", "mamba2-2.7b", "gemma-2-9b", quantities=("params",))
    figures = [block for block in document.blocks if isinstance(block, FigureBlock)]
    assert [plain(figure.caption).partition(". ")[0] for figure in figures] == [
        "The structures of gpt2, llama-3-8b and mixtral-8x7b.",
        "The structures of mamba2-2.7b and gemma-2-9b, compared with gpt2.",
    ]
    told = [plain(block.line) for block in document.blocks if isinstance(block, Paragraph)]
    both = "Figure 1 and Figure 2 show the structures side by side."
    assert f"{both} Different sizes and numbers of sublayers in a block are not marked." in told
    said = [plain(each.line) for each in figures[1].draw(A4).shapes if isinstance(each, Words)]
    assert "≠ with a heavy edge: GPT-2 has no such part, or " in " ".join(said)


def test_papers_are_listed_once_and_attached() -> None:
    document = surveyed(*FOUR)
    (references,) = (block for block in document.blocks if isinstance(block, References))
    keys = [key for key, *_ in references.entries]
    assert len(keys) == len(set(keys)) >= 5
    files = dict(document.attached)
    assert re.findall(r"@\w+\{([^,]+),", files["references.bib"]) == keys
    facts = json.loads(files["survey.json"])
    assert facts["models"][2]["quantities"]["active-params"]["value"] == 37_552_282_624


def test_a_short_survey_has_no_plots_and_no_differences() -> None:
    blocks = surveyed(*FOUR, form="short").blocks
    assert not any(isinstance(block, FigureBlock) for block in blocks)
    assert [plain(block.line) for block in blocks if isinstance(block, Heading) and block.level == 1] == [
        "Totals", "The models", "Definitions and conventions", "Formulas", "References",
    ]  # fmt: skip


# The command


@pytest.mark.parametrize("extension", ["pdf", "md", "html", "tex", "typ", "zip"])
def test_derive_writes_a_survey_in_every_format(
    extension: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("derive", "gpt2", "deepseek-v3", "-o", f"s.{extension}", "--length", "short")
    assert result.exit_code == 0, result.output
    content = Path(f"s.{extension}").read_bytes()
    if extension == "pdf":
        assert content.startswith(b"%PDF")
        return
    if extension == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert archive.namelist() == ["anc/formulas.json", "main.tex"]
            assert json.loads(archive.read("anc/formulas.json"))["models"][1]["target"] == "deepseek-v3"
            content = archive.read("main.tex")
    for words in ("A survey of gpt2 and deepseek-v3", "70.27 kB", "latent"):
        assert words in content.decode(), words


def test_options_apply_to_all_models_or_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("derive", "gpt2", "gpt2", "-o", "-", "--format", "md", "--option", "2:tied=false", "--option",
                 "attention=causal", "--set", "S=512", "-q", "params", "-q", "flops")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "163M" in result.stdout  # 124,439,808 + 50,257·768 = 163,037,184
    assert "at $`S`$ = 512" in result.stdout
    assert "`attention=causal`" in result.stdout


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex, which CI's own check has")
@pytest.mark.exhaustive
def test_a_survey_compiles_with_latex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tex").write_bytes(render(surveyed(*FOUR), "tex"))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "a"]
    for _ in range(2):
        done = subprocess.run(command, check=False, capture_output=True)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2_000:]
    log = Path("a.log").read_text(errors="replace")
    assert "Overfull" not in log
    assert "undefined" not in log


def test_the_table_alone_is_that_of_the_table_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GPT-2 has 124,439,808 parameters and Llama 3 8B 8,030,261,248, counted in their classes on meta."""
    monkeypatch.chdir(tmp_path)
    targets = ["gpt2", "llama-3-8b"]
    assert run("derive", *targets, "--form", "table", "-o", "a.csv").exit_code == 0
    asked = [word for name in USUAL for word in ("-q", name)]
    lengths = ["--set", "S=1024", "--set", "C=1024"]  # the longest that GPT-2 has positions for
    done = run("table", *targets, *asked, "--per", "token", *lengths, "-o", "b.csv")
    assert done.exit_code == 0, done.output
    written = Path("a.csv").read_text("utf-8")
    assert written == Path("b.csv").read_text("utf-8")
    assert written.splitlines()[1].startswith("gpt2,124439808,124439808,")
    assert written.splitlines()[2].startswith("llama-3-8b,8030261248,8030261248,")
    refused = run("derive", *targets, "--form", "table", "--live", "-o", "c.html")
    assert refused.exit_code == 2
    assert "--form table cannot be combined with --live" in refused.output
    assert not Path("c.html").exists()
