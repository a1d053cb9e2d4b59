"""Figures: boxes sum to the whole, arrows follow the ledger, nothing overlaps, and names are never executed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pypdfium2
import pytest
from click.testing import CliRunner, Result
from sympy import Add, expand

from symformer.architectures import names
from symformer.commands.cli import cli
from symformer.documents.figures.architecture import architecture_figure
from symformer.documents.figures.box_content import TINTS
from symformer.documents.figures.browser_text_width import ScreenRuler
from symformer.documents.figures.dark_theme import colours, dark
from symformer.documents.figures.drawing_files import FORMATS, emit
from symformer.documents.figures.figure import Figure, Frame, Graph, Plus
from symformer.documents.figures.figure_builder import FigureBuilder
from symformer.documents.figures.figure_diff import mark_differences
from symformer.documents.figures.figure_page import COLUMN, drawing
from symformer.documents.figures.fitted_drawing import fitted_drawing
from symformer.documents.figures.layer_strip import INKS
from symformer.documents.figures.overview import CLOSED, closed
from symformer.documents.figures.primitives import BLACK, GREY, WHITE, Drawing, Rect, Words
from symformer.documents.figures.primitives import Path as Line
from symformer.documents.figures.towers import towers
from symformer.documents.formats.html import FORMAT as HTML
from symformer.documents.formats.page_layout import A4
from symformer.language.errors import OptionError
from symformer.language.symbols import symbol
from symformer.output.blocks import plain
from symformer.targets.resolution import resolve
from symformer.views.figure_facts import figure_facts

from .figure_faults import faults, smallest
from .samples import sampled

SHOWN = ("gpt2", "llama-2-7b", "deepseek-v3", "t5", "vit", "mamba2", "transformer", "gemma2", "clip", "whisper", "palm")
LIFTED = ("hf:qwen3_moe", "hf:bert")


def reader(target: str, quantity: str = "params", **conventions: str) -> FigureBuilder:
    model, _ = resolve(target)
    return FigureBuilder(figure_facts(model, model.formula(quantity, **conventions)))


def figure(target: str, quantity: str = "params", **conventions: str) -> Figure:
    return reader(target, quantity, **conventions).architecture()


def plot(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["plot", *arguments], prog_name="symformer")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- the boxes sum to the whole ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [*names(), "deepseek-v3", "llama-2-70b", "component:self-attention", *LIFTED])
def test_boxes_sum_to_the_formula(target: str) -> None:
    """The formula is summed over the ledger, independently of the drawn boxes."""
    model, _ = resolve(target)
    formula = model.formula("params")
    boxes = list(FigureBuilder(figure_facts(model, formula)).architecture().graph.boxes())
    assert boxes
    total = Add(*(box.copies * box.amount.each for box in boxes))
    assert expand(total.xreplace(formula.relations) - formula.expanded) == 0


@pytest.mark.parametrize(
    ("target", "quantity", "conventions"),
    [
        ("gemma2", "flops", {"attention": "causal"}),
        ("t5", "flops", {"count": "all"}),
        ("llama", "train-memory", {}),
        ("deepseek-v3", "active-params", {}),
        ("mistral", "kv-cache", {}),
        ("gpt2", "activations", {}),
        ("llama", "params", {"tensor": "on"}),
    ],
)
def test_boxes_sum_to_total_for_every_quantity(target: str, quantity: str, conventions: dict[str, str]) -> None:
    model, _ = resolve(target)
    formula = model.formula(quantity, **conventions)
    boxes = list(FigureBuilder(figure_facts(model, formula)).architecture().graph.boxes())
    total = Add(*(box.copies * box.amount.each for box in boxes))
    assert expand(total.xreplace(formula.relations) - formula.expanded) == 0


def test_shares_sum_to_one() -> None:
    boxes = list(figure("gpt2-xl").graph.boxes())
    assert sum(box.amount.share for box in boxes if box.amount.share is not None) == 1
    embedding = boxes[0]
    assert (embedding.name, embedding.amount.value) == ("wte", 50257 * 1600)
    assert embedding.amount.share == Fraction(50257 * 1600, 1557611200)  # as printed by Hugging Face for gpt2-xl


@pytest.mark.parametrize("part", ["h", "h.attn", "h.mlp"])
def test_part_figure_shows_its_operations(part: str) -> None:
    model, _ = resolve("gpt2")
    formula = model.formula("params")
    drawn = FigureBuilder(figure_facts(model, formula)).part(part)
    total = Add(*(box.copies * box.amount.each for box in drawn.graph.boxes()))
    assert expand(total.xreplace(formula.relations) - formula.part(part).expanded) == 0


# -- the arrows follow the ledger --------------------------------------------------------------------------------------


def arrows(graph: Graph) -> set[tuple[str, str]]:
    """Return each arrow by the last words of its ends; "in" for an arrow from outside."""
    return {(_last(each.source) or "in", _last(each.target)) for each in graph.arrows}


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def frames(graph: Graph) -> list[Frame]:
    return [node for each in graph.graphs() for node in each.nodes if isinstance(node, Frame)]


# x + f(norm(x)), twice: Radford et al. 2019, section 2.3, after figure 1 of Radford et al. 2018.
PRE_NORM = {
    *{("in", "ln_1"), ("ln_1", "attn"), ("attn", "attn_residual"), ("in", "attn_residual")},
    *{("attn_residual", "ln_2"), ("ln_2", "mlp"), ("mlp", "mlp_residual"), ("attn_residual", "mlp_residual")},
}
# norm(x + f(x)), twice: Vaswani et al. 2017, figure 1.
POST_NORM = {
    *{("in", "self_attn"), ("self_attn", "norm1_residual"), ("in", "norm1_residual"), ("norm1_residual", "norm1")},
    *{("norm1", "mlp"), ("mlp", "norm2_residual"), ("norm1", "norm2_residual"), ("norm2_residual", "norm2")},
}
# y = x + MLP(norm(x)) + attention(norm(x)): Chowdhery et al. 2022, section 2.
GPT_J = {("in", "ln_1"), ("ln_1", "attn"), ("ln_1", "mlp")} | {(one, "mlp_residual") for one in ("in", "attn", "mlp")}
PALM = {("in", "norm"), ("norm", "attention"), ("norm", "mlp")} | {
    (one, "mlp_residual") for one in ("in", "attention", "mlp")
}


@pytest.mark.parametrize(
    ("target", "expected"),
    [("gpt2", PRE_NORM), ("transformer-encoder-layer", POST_NORM), ("gptj", GPT_J), ("palm", PALM)],
)
def test_the_arrows_of_a_block(target: str, expected: set[tuple[str, str]]) -> None:
    (frame,) = frames(figure(target).graph)
    assert arrows(frame.graph) == expected


def test_collectives_keep_the_arrows() -> None:
    """Shoeybi et al. 2019, figure 3: the computation of a rank reads the same tensors as in the whole model."""
    (whole,) = frames(figure("llama-2-7b").graph)
    for tensor in ("on", "sequence"):
        drawn = figure("llama-2-7b", tensor=tensor, pipeline="middle")
        (frame,) = frames(drawn.graph)
        assert arrows(frame.graph) == arrows(whole.graph)
        assert arrows(drawn.graph) == {("receive", "layers"), ("layers", "send")}
        assert drawn.target == "one rank of llama-2-7b"


def test_bert_adds_before_normalizing() -> None:
    (frame,) = frames(figure("bert").graph)
    signs = [node.key for node in frame.graph.nodes if isinstance(node, Plus)]
    assert len(signs) == 2
    for sign in signs:  # Devlin et al. 2019, after Vaswani et al. 2017: the sum goes only through a norm
        (after,) = [each.target for each in frame.graph.arrows if each.source == sign]
        assert next(node for node in frame.graph.nodes if node.key == after).role == "norms"  # type: ignore[union-attr]


def test_gpt2_figure_adds_both_embeddings() -> None:
    """Token and position embeddings are added: Radford et al. 2018, equation 2."""
    assert arrows(figure("gpt2").graph) == {
        *{("in", "wte"), ("wte", "embed"), ("wpe", "embed"), ("embed", "h"), ("h", "ln_f"), ("ln_f", "lm_head")}
    }


def test_decoder_reads_the_encoder_output() -> None:
    """Vaswani et al. 2017, figure 1: into the second sublayer of each decoder layer."""
    drawn = figure("transformer")
    encoder, decoder = frames(drawn.graph)
    assert ("norm", "layers") in arrows(drawn.graph)
    (handed,) = [each for each in decoder.graph.arrows if not each.source and each.leaves == 1]
    assert _last(handed.target) == "multihead_attn"
    assert all(each.leaves == 0 for each in encoder.graph.arrows)


def test_layer_kinds_are_drawn_in_sequence_where_they_are_sequential() -> None:
    """DeepSeek-AI 2024, section 4.2: the first three layers are dense. In Gemma 2, every other layer is local."""
    assert ("dense_layers", "moe_layers") in arrows(figure("deepseek-v3").graph)
    mixed = figure("gemma2").graph
    assert [frame.key for frame in frames(mixed)] == ["kinds", "local_layers", "global_layers"]
    assert not frames(mixed)[0].graph.arrows
    assert [frame.number for frame in frames(figure("deepseek-v3").graph)] == [3, 58]  # of its config.json


@pytest.mark.parametrize("target", LIFTED)
def test_every_arrow_is_in_the_ledger(target: str) -> None:
    drawn = figure(target)
    assert [each for graph in drawn.graph.graphs() for each in graph.arrows] == []
    assert "there are no arrows" in drawn.notes[0]
    with pytest.raises(OptionError, match="traced from code"):
        reader(target).part("layers")


def test_arrows_of_a_part_have_shapes() -> None:
    """Q Kᵀ is [B, A, S, S] (Vaswani et al. 2017, section 3.2.1), and the heads are then merged into [B, S, A·D]."""
    drawn = reader("llama-2-7b").part("layers.self_attn")
    shapes = {(_last(each.source), _last(each.target)): each.shape for each in drawn.graph.arrows}
    b, s, a, d = map(symbol, "BSAD")
    assert shapes["scores", "softmax"] == shapes["softmax", "mix"] == (b, a, s, s)
    assert shapes["mix", "o_proj"] == (b, s, a * d)


# -- nothing overlaps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [*SHOWN, *LIFTED])
def test_no_overlaps_in_figures(target: str) -> None:
    drawn = drawing(figure(target))
    assert drawn.width in (COLUMN, 2 * COLUMN + 14)
    assert faults(drawn) == []
    assert smallest(drawn, 1) >= 6


TOO_HIGH = ("gemma3n", "sd3", "qwen3-vl", "t5gemma", "deepseek-v4")  # for a page, with all parts of all layers


@pytest.mark.parametrize("target", sampled(12, names(), lambda target: target in TOO_HIGH))
def test_no_overlaps_and_legible_on_a_page(target: str) -> None:
    """Labels are clear of lines and of each other in print and on screen; text is at least 6 points on A4."""
    shown = figure(target)
    printed = fitted_drawing([shown], A4)
    assert faults(printed) == []
    assert smallest(printed, A4.enlarged(printed.width, printed.height)) >= 6
    assert faults(fitted_drawing([shown], HTML.page, ScreenRuler())) == []


def test_layers_become_boxes_only_where_a_page_has_no_room() -> None:
    """The boxes of an overview still sum to the whole."""
    shown = figure("gemma3n")
    overview = closed(shown)
    assert overview is not None
    assert len(frames(overview.graph)) == len(frames(shown.graph)) - 1
    total, whole = (Add(*(box.copies * box.amount.each for box in each.graph.boxes())) for each in (overview, shown))
    assert expand(total - whole) == 0
    said = [str(each.line) for each in fitted_drawing([figure("llama")], A4).shapes if isinstance(each, Words)]
    assert not any(CLOSED.split()[0] in each for each in said)


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("gpt2", "h.attn"),
        ("llama-2-7b", "layers.mlp"),
        ("deepseek-v3", "dense_layers.self_attn"),
        ("deepseek-v3", "moe_layers.mlp"),
        ("mamba2", "layers.mixer"),
        ("gopher", "layers.attention"),
        ("transformer", "decoder.layers"),
    ],
)
def test_no_overlaps_in_part_figures(target: str, part: str) -> None:
    assert faults(drawing(reader(target).part(part))) == []


def test_overlaps_are_detected() -> None:
    box = Rect(10, 10, 50, 20, radius=2.2)
    line = Line(((0, 15), (90, 15)))
    assert len(faults(Drawing(100, 100, [box, Rect(40, 12, 50, 20, radius=2.2)]))) == 1
    assert len(faults(Drawing(100, 100, [box, line]))) == 1
    assert len(faults(Drawing(100, 100, [line, Line(((50, 15), (99, 15)))]))) == 1
    assert len(faults(Drawing(100, 100, [box, Words(12, 25, ["x"], 60)]))) == 1
    assert len(faults(Drawing(100, 100, [line, Words(30, 17, ["x"], 9)]))) == 1
    assert len(faults(Drawing(100, 100, [Words(30, 17, ["x"], 9), Words(38, 18, ["x"], 9)]))) == 1
    assert faults(Drawing(100, 100, [line, Words(30, 13, ["x"], 9)])) == []
    assert smallest(Drawing(100, 100, [Words(30, 14, ["x"], 9, 5)]), 1.2) == 6


# -- labels of arrows -------------------------------------------------------------------------------------------------


def labels(graph: Graph) -> dict[tuple[str, str], str]:
    """Return the labels of arrows as plain text, by the last words of their ends."""
    return {(_last(each.source) or "in", _last(each.target)): plain(each.label) for each in graph.arrows if each.label}


def test_a_shape_is_stated_once_where_it_changes() -> None:
    """GPT-2 (Radford et al. 2019): the embeddings are [B, S, E], and no layer changes that."""
    drawn = figure("gpt2").graph
    assert labels(drawn) == {("embed", "h"): "[B, S, E]"}
    assert labels(frames(drawn)[0].graph) == {}


@pytest.mark.parametrize(
    ("target", "part", "expected"),
    [
        # Vaswani et al. 2017, section 3.2.2: A heads of E/A numbers; GPT-2 computes all three in one product.
        (
            "gpt2",
            "h.attn",
            {
                ("c_attn", "scores"): ["q [B, A, S, E/A]", "k [B, A, S, E/A]"],
                ("c_attn", "mix"): ["v [B, A, S, E/A]"],
            },
        ),
        # Ainslie et al. 2023: G heads of keys and values. Rotary positions change queries and keys, not values.
        (
            "llama-2-70b",
            "layers.self_attn",
            {("rotary", "scores"): ["q [B, A, S, D]", "k [B, G, S, D]"], ("v_proj", "mix"): ["v [B, G, S, D]"]},
        ),
    ],
)
def test_attention_reads_queries_keys_and_values(
    target: str, part: str, expected: dict[tuple[str, str], list[str]]
) -> None:
    found: dict[tuple[str, str], list[str]] = {}
    for each in reader(target).part(part).graph.arrows:
        if each.role:
            found.setdefault((_last(each.source), _last(each.target)), []).append(plain(each.label))
    assert found == expected


def test_queries_keys_and_values_of_one_product_leave_it_apart() -> None:
    drawn = drawing(reader("gpt2").part("h.attn"))
    starts = {each.points[0] for each in drawn.shapes if isinstance(each, Line) and not each.filled}
    heights = [y for _, y in starts]
    assert max(map(heights.count, heights)) == 3


# -- layers of several kinds, and experts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "words"),
    [
        # The config.json of each: first_k_dense_replace 3 of 61 layers; sliding_window_pattern 2 of 42 and 6 of 62.
        ("deepseek-v3", ["3 L_dense, 58 L_moe"]),
        ("gemma-2-9b", ["1 L_local, 1 L_global, repeated 21 times"]),
        ("gemma-3-27b", ["5 L_local, 1 L_global, repeated"]),
        ("gemma2", []),  # no sizes
        ("gpt2", []),
    ],
)
def test_the_strip_states_the_order_of_layers(target: str, words: list[str]) -> None:
    shown = figure(target)
    assert [strip.words() for strip in shown.strips] == words
    assert all(f"Layers, from the first: {each}." in shown.alt for each in words)


def test_the_strip_of_nemotron_h_is_its_pattern() -> None:
    """``hybrid_override_pattern`` in the config.json of NVIDIA-Nemotron-Nano-9B-v2."""
    pattern = "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"
    (strip,) = figure("nemotron-nano-9b-v2").strips
    letters = {"L_ssm": "M", "L_attn": "*", "L_mlp": "-"}
    assert "".join(letters[str(strip.kinds[kind])] for kind in strip.order) == pattern


@pytest.mark.parametrize("target", ["deepseek-v3", "gemma-3-27b", "nemotron-nano-9b-v2"])
def test_the_strip_has_a_bar_for_each_layer_and_each_kind_of_the_legend(target: str) -> None:
    shown = figure(target)
    drawn = fitted_drawing([shown], A4)
    bars = [each for each in drawn.shapes if isinstance(each, Rect) and each.fill in INKS and not each.stroke]
    (strip,) = shown.strips
    in_head = [each for each in bars if each.y < 80 and each.h != 2.6]  # 2.6 is the height of the bar of a share
    marked = [frame for frame in frames(shown.graph) if frame.kind is not None]
    assert len(marked) == len(strip.kinds)
    assert len(in_head) == len(strip.order) + len(strip.kinds)
    assert faults(drawn) == []


def test_experts_are_drawn_with_their_router_and_shared_experts() -> None:
    """DeepSeek-AI 2024, section 4.2: 8 of 256 routed experts, and one shared expert. Jiang et al. 2024: 2 of 8."""
    (found,) = [box.experts for box in figure("deepseek-v3").graph.boxes() if box.experts]
    assert found.numbers == (8, 256)
    assert found.shared == symbol("X_shared")
    (found,) = [box.experts for box in figure("mixtral-8x7b").graph.boxes() if box.experts]
    assert (found.numbers, found.shared) == ((2, 8), None)
    squares = [each for each in drawing(figure("mixtral-8x7b")).shapes if isinstance(each, Rect) and each.w == 4.6]
    assert len(squares) == 8
    assert sum(each.fill != "#FFFFFF" for each in squares) == 2
    assert not any(box.experts for box in figure("gpt2").graph.boxes())


def test_the_experts_of_a_part_are_a_stack() -> None:
    part = reader("deepseek-v3").part("moe_layers.mlp").graph
    (stack,) = frames(part)
    assert stack.stacked
    assert {_last(box.key) for box in stack.graph.boxes()} >= {"gate_up_proj", "down_proj"}
    titles = {_last(node.key): node.title for node in part.nodes if not isinstance(node, Plus)}
    assert titles["gate"] == "Router"
    assert "shared_experts" in titles  # next to the stack


# -- an encoder next to its decoder ------------------------------------------------------------------------------------

SIDE_BY_SIDE = {  # the node whose output every layer of the other tower reads
    "transformer": "encoder.norm",  # Vaswani et al. 2017, figure 1
    "t5": "encoder.final_layer_norm",
    "whisper": "encoder.layer_norm",  # Radford et al. 2022, figure 1
    "bart": "encoder.layers",
    "llava": "multi_modal_projector",  # Liu et al. 2023, figure 1: the projection of the image features
}


@pytest.mark.parametrize("target", SIDE_BY_SIDE)
def test_an_encoder_is_next_to_its_decoder(target: str) -> None:
    shown = figure(target)
    found = towers(shown.graph)
    assert found is not None
    assert list(found.handed) == [SIDE_BY_SIDE[target]]
    drawn = drawing(shown)
    boxes = [each for each in drawn.shapes if isinstance(each, Rect) and each.radius in (2.2, 3)]
    assert all(box.x + box.w < drawn.width / 2 or box.x > drawn.width / 2 for box in boxes)
    crossing = [
        each
        for each in drawn.shapes
        if isinstance(each, Line) and each.points[0][0] < drawn.width / 2 < each.points[-1][0]
    ]
    assert len(crossing) == 1


def test_cross_attention_reads_keys_and_values_of_the_encoder() -> None:
    """Vaswani et al. 2017, section 3.2.3: queries come from the decoder, keys and values from the encoder."""
    _, decoder = frames(figure("transformer").graph)
    roles = {(_last(each.source) or "in", each.role) for each in decoder.graph.arrows if each.role}
    assert roles == {("norm1", "q"), ("in", "k, v")}


@pytest.mark.parametrize("target", ["gpt2", "clip", "deepseek-v3", "hf:bert"])
def test_other_figures_have_one_tower(target: str) -> None:
    assert towers(figure(target).graph) is None


# -- two models --------------------------------------------------------------------------------------------------------


def test_only_differences_are_marked() -> None:
    """Mixtral is Mistral with experts (Jiang et al. 2024, section 2), and Llama's layers are Mistral's."""
    left, right = mark_differences(figure("llama-2-7b"), figure("mixtral-8x7b"))
    for side in (left, right):
        assert [box.name for box in side.graph.boxes() if box.differs] == ["mlp"]
    same = mark_differences(figure("gpt2"), figure("gpt2-xl"))
    assert not any(box.differs for side in same for box in side.graph.boxes())
    both = drawing(left, right)
    assert faults(both) == []
    heavy = [each for each in both.shapes if isinstance(each, Rect) and each.radius == 2.2 and each.stroke > 1]
    assert len(heavy) == 2
    assert all(each.fill == "#D2ECE4" for each in heavy)  # the only boxes in colour
    colours = {each.fill for each in both.shapes if isinstance(each, Rect) and each.radius == 2.2} - {"#D2ECE4"}
    assert colours == {"#F2F2F2"}
    assert sum("≠" in str(each.line) for each in both.shapes if isinstance(each, Words)) == 4  # two boxes, two notes


@pytest.mark.parametrize(
    ("one", "two"), [("gpt2", "llama-2-7b"), ("gpt2", "deepseek-v3"), ("llama-2-7b", "mixtral-8x7b")]
)
def test_matching_parts_are_at_the_same_height(one: str, two: str) -> None:
    drawn = drawing(*mark_differences(figure(one), figure(two)))
    assert faults(drawn) == []
    lower: list[dict[str, float]] = [{}, {}]
    boxes = [each for each in drawn.shapes if isinstance(each, Rect) and each.radius == 2.2]
    for words in (each for each in drawn.shapes if isinstance(each, Words) and each.size == 7.2):
        title = plain(words.line).removeprefix("≠ ")
        for box in boxes:
            if box.x < words.x < box.x + box.w and box.y < words.y < box.y + box.h:
                lower[box.x > drawn.width / 2].setdefault(title, box.y + box.h)
    for title in ("Token embedding", "Self-attention", "Language-model head"):
        if title in lower[0] and title in lower[1]:
            assert lower[0][title] == pytest.approx(lower[1][title], abs=0.5), title
    assert "Language-model head" in lower[0]


def test_an_encoder_decoder_is_compared_on_a_page() -> None:
    """Half a page has no room for two towers side by side."""
    drawn = fitted_drawing(mark_differences(figure("transformer"), figure("xlm-roberta-base")), A4)
    assert faults(drawn) == []
    assert smallest(drawn, A4.enlarged(drawn.width, drawn.height)) >= 6


# -- slides and themes -------------------------------------------------------------------------------------------------


def slide(target: str) -> Drawing:
    model, _ = resolve(target)
    return architecture_figure([(model, model.params)], wide=True)


@pytest.mark.parametrize("target", sampled(5, ["gpt2", "whisper-small", "deepseek-v3", "hf:bert", "mamba2", "gemma2"]))
def test_a_wide_figure_is_a_legible_slide(target: str) -> None:
    """A slide of 13.33 by 7.5 inches is 960 points wide."""
    drawn = slide(target)
    assert drawn.width / drawn.height == pytest.approx(16 / 9)
    assert smallest(drawn, 960 / drawn.width) >= 6
    assert faults(drawn) == []


def test_a_wide_figure_shows_the_inside_of_the_main_parts() -> None:
    said = [plain(each.line) for each in slide("gpt2").shapes if isinstance(each, Words) and each.size > 8]
    assert said == ["GPT-2", "Self-attention", "Feed-forward network"]
    model, other = resolve("gpt2")[0], resolve("llama-2-7b")[0]
    both = architecture_figure([(model, model.params), (other, other.params)], wide=True)
    assert both.width / both.height == pytest.approx(16 / 9)
    assert faults(both) == []


def luminance(colour: str) -> float:
    """Return the relative luminance: WCAG 2.2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_both_themes_have_enough_contrast() -> None:
    """WCAG 2.2, criteria 1.4.3 and 1.4.11: 4.5 for text on its background, 3 for parts of a graphic."""
    for theme in ({}, colours()):
        behind = [theme.get(tint, tint) for tint, _ in TINTS.values()] + [theme.get(WHITE, WHITE)]
        for ink in (BLACK, GREY):
            for tint in behind:
                light, low = sorted((luminance(theme.get(ink, ink)), luminance(tint)), reverse=True)
                assert (light + 0.05) / (low + 0.05) >= 4.5, (ink, tint)


def test_a_dark_figure_has_no_light_colour() -> None:
    model, _ = resolve("nemotron-nano-9b-v2")
    drawn = dark(architecture_figure([(model, model.params)]))
    assert luminance(drawn.background) < 0.02
    for each in drawn.shapes:
        if isinstance(each, Words):
            assert luminance(each.ink) > 0.3
        elif isinstance(each, Rect) and each.fill not in ("", *colours().values()):
            assert each.fill in {"#E69F00", "#9C9200", "#CC79A7", "#777777", "#009E73"}  # bars, on both
    assert rb"\path[fill={rgb,255:red,21;green,23;blue,27}] (0,0)" in emit(drawn, "tex")


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", FORMATS)
def test_figures_are_reproducible(extension: str, folder: Path) -> None:
    for name in ("a", "b"):
        assert plot("gpt2", "-o", f"{name}.{extension}").exit_code == 0
    content = (folder / f"a.{extension}").read_bytes()
    assert content == (folder / f"b.{extension}").read_bytes()
    begins = {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG", "tex": b"% Requires tikz"}[extension]
    assert content.startswith(begins)


def test_svg_has_alternative_text(folder: Path) -> None:
    assert plot("gpt2", "-o", "gpt2.svg").exit_code == 0
    root = ElementTree.fromstring((folder / "gpt2.svg").read_text("utf-8"))  # noqa: S314 (our own file)
    said = root.find("{http://www.w3.org/2000/svg}title")
    assert said is not None
    assert "124,439,808 parameters" in str(said.text)
    assert "12 times Pre-norm block" not in str(said.text)  # L times: the letter of the formula
    assert "L times Pre-norm block" in str(said.text)


HOSTILE = r"""_%&#${}\^~<>|`'" ]]> \input{x} #read("x") <script>"""


def config(folder: Path, name: str) -> str:
    place = folder / name[:80]
    place.mkdir(parents=True)
    sizes = {"model_type": "gpt2", "vocab_size": 97, "n_positions": 31, "n_embd": 24, "n_layer": 3, "n_head": 4}
    (place / "config.json").write_text(json.dumps(sizes))
    return str(place / "config.json")


@pytest.mark.parametrize("extension", ["svg", "pdf", "tex"])
@pytest.mark.parametrize("name", [HOSTILE, "x" * 80, "[#]@<a>*b*$x$--"])
def test_hostile_names_are_printed_literally(name: str, extension: str, folder: Path) -> None:
    result = plot(config(folder, name), "-o", f"out.{extension}")
    assert result.exit_code == 0, result.output
    content = (folder / f"out.{extension}").read_bytes()
    if extension == "svg":
        root = ElementTree.fromstring(content)  # noqa: S314 (our own file)
        assert name in str(next(iter(root)).text)
        assert not root.findall(".//{http://www.w3.org/2000/svg}script")
    if extension == "tex" and name == HOSTILE:
        assert rb"\input{x}" not in content
        assert rb"\textbackslash{}input\{x\}" in content


@pytest.mark.skipif(
    shutil.which("pdflatex") is None
    or subprocess.run(["kpsewhich", "tikz.sty"], capture_output=True, check=False).returncode != 0,
    reason="no TeX with tikz",
)
def test_tikz_compiles(folder: Path) -> None:
    assert plot(config(folder, HOSTILE), "-o", "one.tex").exit_code == 0
    assert plot("llama-2-7b", "mixtral-8x7b", "-o", "two.tex").exit_code == 0
    head = r"\documentclass{article}\usepackage{amsmath,tikz}\begin{document}"
    (folder / "main.tex").write_text(rf"{head}\input{{one}}\clearpage\input{{two}}\end{{document}}")
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout[-2000:]
    assert "Output written on main.pdf (2 pages" in re.sub(r"\n", "", made.stdout)


REFUSED = {
    "three": (["gpt2", "llama", "bert", "-o", "a.svg"], "3 targets are given"),
    "no part": (["gpt2", "--kind", "part", "-o", "a.svg"], "--kind part requires --part"),
    "not a part": (["gpt2", "--kind", "part", "--part", "h.atn", "-o", "a.svg"], "unknown part 'h.atn'; did you mean"),
    "an operation": (["gpt2", "--kind", "part", "--part", "h.attn.c_attn", "-o", "a.svg"], "is a single operation"),
    "no slide": (
        ["gpt2", "--kind", "shares", "--form", "wide", "-o", "a.svg"],
        "--form has no effect with --kind shares",
    ),
    "parts of two": (
        ["gpt2", "llama", "--kind", "part", "--part", "h", "-o", "a.svg"],
        "a part can be drawn for one target only",
    ),
    "another kind's": (
        ["gpt2", "--device", "80GB", "-o", "a.svg"],
        "--device has no effect with --kind architecture; add --kind memory, or",
    ),
    "a ratio": (["gpt2", "-q", "intensity", "-o", "a.svg"], "intensity is a ratio"),
    "the format": (["gpt2", "-o", "a.md"], "a.md ends in .md; a figure needs the extension .svg, .pdf, .png or .tex"),
    "a plot as TikZ": (
        ["gpt2", "--kind", "shares", "-o", "a.tex"],
        "a plot needs the extension .svg, .pdf or .png, not .tex",
    ),
    "no unit": (["gpt2", "--kind", "memory", "--set", "S=9", "--device", "80", "-o", "a.svg"], "--device '80' is not"),
    "B is the axis": (["gpt2", "--kind", "memory", "--set", "B=2", "--set", "S=9", "-o", "a.svg"], "B is the x-axis"),
    "S is the axis": (["gpt2", "--kind", "flops", "--set", "S=2", "-o", "a.svg"], "S is the x-axis"),
    "no length": (["gpt2", "--kind", "memory", "-o", "a.svg"], "needs a value for S"),
    "no sizes": (["llama", "--kind", "flops", "-o", "a.svg"], "needs a value for"),
    "no device": (
        ["gpt2", "--kind", "roofline", "-o", "a.svg"],
        "set both, as in --peak 989TFLOPS --bandwidth 3.35TB/s",
    ),
    "no length yet": (
        ["gpt2", "--kind", "roofline", "--peak", "1TFLOPS", "--bandwidth", "1GB/s", "-o", "a.svg"],
        "gpt2 has no value for some sizes: prefill needs B, S; decode needs B, C",
    ),
    "not bytes": (
        ["gpt2", "--kind", "memory", "-q", "flops", "--set", "S=9", "-o", "a.svg"],
        "the plot needs bytes",
    ),
    "lifted shares": (["hf:bert", "--kind", "shares", "-o", "a.svg"], "is traced, so the roles"),
    "no such kind": (["gpt2", "--kind", "pie", "-o", "a.svg"], "'pie' is not one of"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_figure_arguments_are_refused(case: str, folder: Path) -> None:
    arguments, words = REFUSED[case]
    result = plot(*arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("extension", FORMATS)
def test_missing_glyphs_are_written_as_code_points(extension: str, folder: Path) -> None:
    assert plot(config(folder, "模"), "-o", f"out.{extension}").exit_code == 0
    content = (folder / f"out.{extension}").read_bytes()
    if extension == "pdf":
        found = pypdfium2.PdfDocument(content)[0].get_textpage().get_text_range()
        assert "[U+6A21]/config.json" in found
    if extension == "tex":
        assert r"\symformerletter{模}{6A21}/config.".encode() in content
        assert content.startswith(rb"\providecommand\symformerletter")


# -- in a derivation ---------------------------------------------------------------------------------------------------


def test_derivation_includes_its_figure(folder: Path) -> None:
    made = {}
    for extension in ("typ", "md", "tex"):
        arguments = ["derive", config(folder / extension, HOSTILE), "-q", "params", "-q", "flops", "--set", "S=7"]
        (folder / f"a.{extension}").touch()
        result = CliRunner().invoke(cli, [*arguments, "-o", f"a.{extension}"], prog_name="symformer")
        assert result.exit_code == 0, result.output
        made[extension] = (folder / f"a.{extension}").read_text("utf-8")
    assert made["typ"].count("#figure(") == 1  # of the first chapter
    assert "Self-attention attn: 4E" in made["typ"]  # its alternative text
    assert "tikzpicture" not in made["tex"]  # Debian's texlive-latex-recommended has no tikz
    assert "!" + "[" not in made["md"]


def test_ratio_has_no_figure(folder: Path) -> None:
    arguments = ["derive", "gpt2", "-q", "intensity", "-o", "a.typ"]
    result = CliRunner().invoke(cli, arguments, prog_name="symformer")
    assert result.exit_code == 0, result.output
    assert "#figure(" not in (folder / "a.typ").read_text("utf-8")
