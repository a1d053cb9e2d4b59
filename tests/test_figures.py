"""The figure of a model: boxes sum to the whole, arrows follow the ledger, and nothing overlaps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from sympy import Add, cancel, expand

from symformer.architectures import names
from symformer.documents.figures.browser_text_width import ScreenRuler
from symformer.documents.figures.figure import Graph, Plus
from symformer.documents.figures.figure_builder import FigureBuilder
from symformer.documents.figures.figure_page import COLUMN, drawing
from symformer.documents.figures.fitted_drawing import fitted_drawing
from symformer.documents.figures.inset import illustration
from symformer.documents.figures.layer_strip import INKS
from symformer.documents.figures.overview import CLOSED, closed
from symformer.documents.figures.primitives import BLACK, Circle, Drawing, Rect, Words
from symformer.documents.figures.primitives import Path as Line
from symformer.documents.figures.slashed_fractions import one_line
from symformer.documents.figures.towers import towers
from symformer.documents.figures.wires import GAP, with_junctions
from symformer.documents.formats.html import FORMAT as HTML
from symformer.documents.formats.page_layout import A4
from symformer.language.errors import OptionError
from symformer.language.symbols import symbol
from symformer.output.blocks import Math, plain
from symformer.targets.resolution import resolve
from symformer.views.figure_facts import figure_facts

from .figure_faults import faults, smallest
from .model_figures import builder, figure, frames
from .samples import sampled

SHOWN = ("gpt2", "llama-2-7b", "deepseek-v3", "t5", "vit", "mamba2", "transformer", "gemma2", "clip", "whisper", "palm")
LIFTED = ("hf:qwen3_moe", "hf:bert")


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
        ("gemma3n", "flops", {"count": "all"}),  # L_sparse of its layers, of four kinds, have a sparse MLP
    ],
)
def test_boxes_sum_to_total_for_every_quantity(target: str, quantity: str, conventions: dict[str, str]) -> None:
    model, _ = resolve(target)
    formula = model.formula(quantity, **conventions)
    boxes = list(FigureBuilder(figure_facts(model, formula)).architecture().graph.boxes())
    total = Add(*(box.copies * box.amount.each for box in boxes))
    assert cancel(expand(total.xreplace(formula.relations) - formula.expanded)) == 0


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
        builder(target).part("layers")


def test_arrows_of_a_part_have_shapes() -> None:
    """Q Kᵀ is [B, A, S, S] (Vaswani et al. 2017, section 3.2.1), and the heads are then merged into [B, S, A·D]."""
    drawn = builder("llama-2-7b").part("layers.self_attn")
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


TOO_HIGH = ("sd3", "qwen3-vl", "t5gemma")  # for a page, with all parts of all layers; others are exhaustive cases


@pytest.mark.parametrize("target", sampled(20, names(), lambda target: target in TOO_HIGH))
def test_no_overlaps_and_legible_on_a_page(target: str) -> None:
    """Labels are clear of lines and of each other in print and on screen; text is at least 6 points on A4."""
    shown = figure(target)
    printed = fitted_drawing([shown], A4)
    assert faults(printed) == []
    assert smallest(printed, A4.enlarged(printed.width, printed.height)) >= 6
    assert faults(fitted_drawing([shown], HTML.page, ScreenRuler())) == []


SIZES = {symbol("L"): 36, symbol("L_deep"): 3}


@pytest.mark.parametrize(("target", "layers", "kinds"), [("qwen3-vl-8b", 33, True), ("qwen3-8b", 36, False)])
def test_a_share_covers_the_copies_that_its_note_states(target: str, layers: int, kinds: bool) -> None:
    """Of the 36 layers of Qwen3-VL's language model, the first 3 have a frame of their own (DeepStack)."""
    shown = figure(target)
    box = next(each for each in shown.graph.boxes() if each.name == "mlp" and each.copies.subs(SIZES) == layers)
    assert isinstance(box.amount.value, int)
    assert isinstance(shown.amount.value, int)
    assert box.amount.share == Fraction(layers * box.amount.value, shown.amount.value)
    said = " ".join(plain(each.line) for each in drawing(shown).shapes if isinstance(each, Words))
    assert ("shares include all copies in layers of the same kind." in said) == kinds
    assert ("shares include all copies." in said) != kinds
    model, _ = resolve(target)
    (block,) = illustration(figure_facts(model, model.formula("params")))
    assert plain(block.caption).endswith(f"all its copies{' in layers of the same kind' * kinds} in the total.")


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
        ("gpt-oss-20b", "layers.mlp"),  # the weights of the experts pass their stack
        ("mamba2", "layers.mixer"),
        ("gopher", "layers.attention"),
        ("transformer", "decoder.layers"),
    ],
)
def test_no_overlaps_in_part_figures(target: str, part: str) -> None:
    assert faults(drawing(builder(target).part(part))) == []


def test_overlaps_are_detected() -> None:
    box = Rect(10, 10, 50, 20, radius=2.2)
    line = Line(((0, 15), (90, 15)))
    assert len(faults(Drawing(100, 100, [box, Rect(40, 12, 50, 20, radius=2.2)]))) == 1
    assert len(faults(Drawing(100, 100, [box, line]))) == 1
    stack, arrow = Rect(10, 10, 50, 20, fill="#FBFBFB", radius=2), Line(((0, 15), (90, 15)), wire=True)
    assert len(faults(Drawing(100, 100, [arrow, stack]))) == 1  # behind the stack
    assert faults(Drawing(100, 100, [stack, arrow])) == []
    assert len(faults(Drawing(100, 100, [line, Line(((50, 15), (99, 15)))]))) == 1
    assert len(faults(Drawing(100, 100, [box, Words(12, 25, ["x"], 60)]))) == 1
    assert len(faults(Drawing(100, 100, [line, Words(30, 17, ["x"], 9)]))) == 1
    assert len(faults(Drawing(100, 100, [Words(30, 17, ["x"], 9), Words(38, 18, ["x"], 9)]))) == 1
    assert faults(Drawing(100, 100, [line, Words(30, 13, ["x"], 9)])) == []
    # at 10 points, the descender of the subscript in Z_patch is 3.8 below the baseline, and in A_ssm 2.5
    named = [Words(30, 11.5, [Math.of(symbol(name))], 9, 10) for name in ("Z_patch", "A_ssm")]
    assert [len(faults(Drawing(100, 100, [line, each]))) for each in named] == [1, 0]
    named = [replace(each, y=12.4) for each in named]  # 0.8 and 2.1 above the edge of a box at 17
    assert [len(faults(Drawing(100, 100, [replace(box, y=17), each]))) for each in named] == [1, 0]
    quotient = Math.of(symbol("E") / symbol("A"))
    assert len(faults(Drawing(100, 100, [Words(30, 50, [quotient], 9, 10)]))) == 1
    assert faults(Drawing(100, 100, [Words(30, 50, one_line(quotient.shown), 9, 10)])) == []
    head = Line(((42, 10), (40, 14), (44, 14)), filled=True)
    for mark in (head, Circle(42, 12, 1.3, fill=BLACK)):  # the dot of a branch
        assert len(faults(Drawing(100, 100, [mark, Words(30, 13, ["x"], 10.5)]))) == 1
        assert faults(Drawing(100, 100, [mark, Words(30, 13, ["x"], 9)])) == []
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
    for each in builder(target).part(part).graph.arrows:
        if each.role:
            found.setdefault((_last(each.source), _last(each.target)), []).append(plain(each.label))
    assert found == expected


def test_rotary_positions_read_cosines_and_sines() -> None:
    """Su et al. 2021, equation 34: x cos(mθ) + rotated x sin(mθ), with one row of both tables per position."""
    drawn = builder("llama-2-70b").part("layers.self_attn").graph
    assert [plain(each) for each in drawn.ports] == ["x [B, S, E]", "cos, sin [2, S, D]"]
    (rotary,) = [box for box in drawn.boxes() if _last(box.key) == "rotary"]
    assert (rotary.title, rotary.notes) == ("Rotary positions", [])


def test_queries_keys_and_values_of_one_product_leave_it_apart() -> None:
    drawn = drawing(builder("gpt2").part("h.attn"))
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


# ``hybrid_override_pattern`` in the config.json of NVIDIA-Nemotron-Nano-9B-v2.
NEMOTRON = "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"


def test_the_strip_of_nemotron_h_is_its_pattern() -> None:
    (strip,) = figure("nemotron-nano-9b-v2").strips
    letters = {"L_ssm": "M", "L_attn": "*", "L_mlp": "-"}
    assert "".join(letters[str(strip.kinds[kind])] for kind in strip.order) == NEMOTRON


@pytest.mark.parametrize(
    ("target", "layers", "kinds"), [("nemotron-nano-9b-v2", NEMOTRON, "M*-"), ("gpt-oss-20b", "LG" * 12, "LG")]
)
def test_one_arrow_enters_the_first_layer_and_leaves_the_last(target: str, layers: str, kinds: str) -> None:
    """The layers are one above another in the order of the config.json; gpt-oss alternates (OpenAI 2025, section 2)."""
    drawn = drawing(figure(target))
    bars = [each for each in drawn.shapes if isinstance(each, Rect) and each.fill in INKS and not each.stroke]
    middles = Counter(round(each.x + each.w / 2, 3) for each in bars)
    (x, count), *_ = middles.most_common()
    column = sorted((each for each in bars if round(each.x + each.w / 2, 3) == x), key=lambda each: -each.y)
    assert count == len(layers)
    assert [each.fill for each in column] == [INKS[kinds.index(letter)] for letter in layers]
    lines = [each for each in drawn.shapes if isinstance(each, Line)]
    heads = [each.points[0] for each in lines if each.filled]  # the tip of each arrow
    assert (x, pytest.approx(column[0].y + column[0].h)) in [(round(tip, 3), y) for tip, y in heads]
    assert (x, pytest.approx(column[-1].y)) in [(round(start, 3), y) for start, y in (each.points[0] for each in lines)]


def test_layers_in_an_unknown_order_are_dots_between_the_first_and_the_last() -> None:
    (kinds,) = [frame for frame in frames(figure("gemma2").graph) if frame.mixed]
    assert kinds.strip is None
    assert plain(kinds.notes[0]) == "in the order given by the config"
    squares = [each for each in drawing(figure("gemma2")).shapes if isinstance(each, Rect) and each.w == each.h > 7]
    assert len(squares) == 2


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
    drawn = drawing(figure("deepseek-v3"))
    row = [each for each in drawn.shapes if isinstance(each, Rect) and each.w == 4.6 and not each.radius]
    assert [each.fill != "#FFFFFF" for each in row] == [True] + [False] * 11  # 8 of 256 are less than 1 of 12
    assert any("8 of 256" in plain(each.line) for each in drawn.shapes if isinstance(each, Words))


def test_outputs_have_their_shape() -> None:
    """Whisper's decoder and Llama return logits, and ViT the output of its pooler."""
    said = {name: [plain(line) for line in figure(name).graph.results] for name in ("whisper-tiny", "llama", "vit")}
    assert said == {"whisper-tiny": ["logits [B, S, V]"], "llama": ["logits [B, S, V]"], "vit": ["[B, E]"]}


def test_stored_tables_and_tokens_have_titles() -> None:
    titles = {(box.name, box.title) for box in figure("vit").graph.boxes()}
    assert ("embeddings.position_embeddings", "Learned positions") in titles
    assert ("embeddings.cls_token", "Class token") in titles


def test_the_formula_of_layers_is_below_their_title_if_it_has_no_room_beside_it() -> None:
    """A decoder layer of Whisper: 8E² for two attentions, 2EH for the network, and 13E + H for vectors."""
    said = [
        plain(each.line) for each in fitted_drawing([figure("whisper-large")], A4).shapes if isinstance(each, Words)
    ]
    assert "E(8E + 2H + 13)" in said


def test_the_experts_of_a_part_are_a_stack() -> None:
    part = builder("deepseek-v3").part("moe_layers.mlp").graph
    (stack,) = frames(part)
    assert stack.stacked
    assert {_last(box.key) for box in stack.graph.boxes()} >= {"gate_up_proj", "down_proj"}
    assert stack.title == "Experts"
    matrices = [box.title for box in stack.graph.boxes() if _last(box.key) in ("gate_up_proj", "down_proj")]
    assert matrices == ["Linear of each expert"] * 2
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


# -- branches and crossings --------------------------------------------------------------------------------------------


def wire(*points: tuple[float, float]) -> Line:
    return Line(points, wire=True)


def test_a_branch_has_a_dot_and_a_crossing_a_gap() -> None:
    trunk, branch = wire((0, 0), (0, 20)), wire((0, 0), (0, 10), (30, 10), (30, 20))
    upright = wire((15, 0), (15, 20))
    found = with_junctions([trunk, branch, upright])
    dots = [(each.x, each.y) for each in found if isinstance(each, Circle)]
    assert dots == [(0, 10)]  # the corner of the branch has none
    lines = [tuple(each.points) for each in found if isinstance(each, Line)]
    gap = [((0, 0), (0, 10), (15 - GAP, 10)), ((15 + GAP, 10), (30, 10), (30, 20))]
    assert lines == [trunk.points, *gap, upright.points]  # the horizontal line has the gap


def test_a_line_that_continues_in_a_frame_has_no_dot() -> None:
    found = with_junctions([wire((5, 30), (5, 20)), wire((5, 20), (5, 8), (9, 8))])
    assert not any(isinstance(each, Circle) for each in found)


@pytest.mark.parametrize(
    ("target", "part"), [("nemotron-h-8b", "ssm_layers.mixer"), ("deepseek-v3", "layers.self_attn")]
)
def test_no_lines_of_different_tensors_cross_without_a_gap(target: str, part: str) -> None:
    drawn = drawing(builder(target).part(part))
    lines = [each for each in drawn.shapes if isinstance(each, Line) and each.wire]
    assert any(each.start not in (None, each.points[0]) for each in lines)  # a piece after a gap
    assert any(isinstance(each, Circle) and each.fill == BLACK for each in drawn.shapes)
    again = [each for each in with_junctions(lines) if isinstance(each, Line)]
    assert [tuple(each.points) for each in again] == [tuple(each.points) for each in lines]  # no crossing is left


def test_listed_layers_read_each_layer_and_not_the_last_output() -> None:
    """DeepStack reads layers in the middle of the image encoder (Bai et al. 2025, section 2.1)."""
    encoder = figure("qwen3-vl-8b")
    tap = next(each for each in encoder.graph.arrows if each.target == "deepstack")
    assert (tap.source, tap.tap) == ("visual", True)
    taps = {each.key: each.tap for each in frames(encoder.graph) if each.tap is not None}
    assert taps == {"visual": "visual.blocks", "visual.blocks": ""}
    merged = next(each for each in encoder.graph.arrows if each.source == "deepstack")
    assert merged.shape is not None
    assert len(merged.shape) == 3  # the merger itself groups the patches of a square
