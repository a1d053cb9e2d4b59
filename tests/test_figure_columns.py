"""Figures of several models: differences are marked, matching parts are at the same height, and slides."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from symformer.documents.figures.architecture import architecture_figure
from symformer.documents.figures.browser_text_width import ScreenRuler
from symformer.documents.figures.figure import Figure
from symformer.documents.figures.figure_diff import mark_differences
from symformer.documents.figures.figure_page import NARROW, drawing
from symformer.documents.figures.fitted_drawing import fitted_drawing
from symformer.documents.figures.narrow_columns import column_width, narrow_columns
from symformer.documents.figures.primitives import Drawing, Rect, Words
from symformer.documents.formats.html import FORMAT as HTML
from symformer.documents.formats.page_layout import A4
from symformer.language.errors import OptionError
from symformer.output.blocks import plain
from symformer.targets.resolution import resolve

from .figure_faults import faults, smallest
from .model_figures import figure, frames
from .samples import sampled

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


# -- several models in narrow columns ----------------------------------------------------------------------------------

ROWS = (
    ("gpt2", "llama-3-8b", "deepseek-v3", "mamba2-2.7b"),
    ("t5-small", "bert-base-uncased", "whisper-tiny", "gemma-2-9b"),
    ("llama", "mixtral", "nemotron-h"),
)


def row(*targets: str) -> list[Figure]:
    shown = [figure(target) for target in targets]
    return narrow_columns(shown, shown[0])


def differing(column: Figure) -> list[str]:
    return [box.title for box in column.graph.boxes() if box.differs]


@pytest.mark.parametrize("targets", sampled(len(ROWS), map(list, ROWS)))
def test_narrow_columns_are_legible_on_a_page(targets: tuple[str, ...]) -> None:
    columns = row(*targets)
    drawn = fitted_drawing(columns, A4)
    assert faults(drawn) == []
    assert smallest(drawn, A4.enlarged(drawn.width, drawn.height)) >= 6
    whole = drawing(*columns, column=column_width(len(columns)), most=column_width(len(columns)))
    assert faults(whole) == []
    assert whole.width == pytest.approx(450)  # on A4, whose text is 453 points wide at margins of 2.5 cm
    on_screen = fitted_drawing(columns, HTML.page, ScreenRuler())
    assert faults(on_screen) == []
    assert on_screen.width == pytest.approx(450)  # a screen scrolls a wide figure


def test_emphasis_is_where_the_structure_differs_from_the_first() -> None:
    """Mixtral replaces the MLP of Mistral by experts (Jiang et al. 2024, section 2), and Mistral is Llama with windows
    (Jiang et al. 2023, section 2). Llama-3-70B differs from Llama-2-7B in sizes and in its key/value heads.
    """
    first, sizes, experts, windows = row("llama-2-7b", "llama-3-70b", "mixtral-8x7b", "mistral")
    assert all(box.differs is None for box in first.graph.boxes())
    assert differing(sizes) == []
    assert differing(experts) == ["Mixture of experts"]
    assert differing(windows) == ["Self-attention"]
    _, biases, _ = row("llama-2-7b", "qwen2-7b", "gpt2")  # 2EAD + 2EGD + AD + 2GD
    assert differing(biases) == ["Self-attention"]
    assert [plain(note) for box in windows.graph.boxes() for note in box.notes if box.differs] == [
        "rotary positions",
        "window of C_win tokens",
    ]


def test_biases_masks_and_activations_are_differences_of_structure() -> None:
    """Whisper's key projections have no bias (4E² + 3E), its activation is the exact GELU, and its encoder has no mask.

    BERT has the parameters of GPT-2's attention, 4E² + 4E, and also the exact GELU.
    """
    _, whisper, _ = row("gpt2", "whisper-tiny", "llama")
    encoder, decoder = frames(whisper.graph)
    assert differing(replace(whisper, graph=encoder.graph)) == ["Self-attention", "Feed-forward network"]
    assert differing(replace(whisper, graph=decoder.graph)) == [
        "Self-attention",
        "Layer normalization",
        "Cross-attention",
        "Feed-forward network",
    ]
    for side in mark_differences(figure("gpt2"), figure("bert-base-uncased")):
        assert {"Self-attention", "Feed-forward network"} <= {*differing(side)}


def test_each_kind_of_layer_is_compared_with_the_most_similar_one() -> None:
    """DeepSeek-V3's dense layers have the MLP of Llama, and its other layers have experts (DeepSeek-AI 2024, 4.2)."""
    _, deepseek, _ = row("llama-3-8b", "deepseek-v3", "gpt2")
    dense, experts = frames(deepseek.graph)
    assert differing(replace(deepseek, graph=dense.graph)) == ["Multi-head latent attention"]
    _, llama, _ = row("deepseek-v3", "llama-3-8b", "gpt2")
    assert differing(llama) == ["Self-attention"]
    assert differing(replace(deepseek, graph=experts.graph)) == ["Multi-head latent attention", "Mixture of experts"]


def test_matching_parts_of_all_columns_are_at_the_same_height() -> None:
    drawn = drawing(*row(*ROWS[0]), column=column_width(4), most=column_width(4))
    step = column_width(4) + NARROW
    lower: dict[str, dict[int, float]] = {}
    boxes = [each for each in drawn.shapes if isinstance(each, Rect) and each.radius == 2.2]
    for words in (each for each in drawn.shapes if isinstance(each, Words) and each.size == 7.2):
        title = plain(words.line).removeprefix("≠ ")
        for box in boxes:
            if box.x < words.x < box.x + box.w and box.y < words.y < box.y + box.h:
                column = lower.setdefault(title, {})
                column[int(box.x // step)] = min(column.get(int(box.x // step), inf), box.y + box.h)  # the upper one
    for title, count in {"Token": 1, "Token embedding": 3, "Language-model head": 4, "RMS normalization": 3}.items():
        assert len(lower[title]) == count, title
        assert max(lower[title].values()) - min(lower[title].values()) < 0.5, title
    assert lower["Self-attention"][0] == pytest.approx(lower["Multi-head latent"][2], abs=0.5)
    assert lower["Token"][0] == pytest.approx(lower["Token embedding"][1], abs=4)  # lower than its neighbour by less


def test_numbers_without_formulas_are_stated_in_narrow_columns() -> None:
    said = [plain(each.line) for each in drawing(*row(*ROWS[0])).shapes if isinstance(each, Words)]
    assert "8,030,261,248 parameters" in said  # of the model on the hub
    assert "4,722,432 · 45.5%" in said  # 8·768² + 5·768, 12 times in 124,439,808
    assert not any("E" in each and "²" in each for each in said)
    assert "× 12" in said
    drawn = drawing(*row("llama", "mixtral", "gpt2"))
    assert "× L" in [plain(each.line) for each in drawn.shapes if isinstance(each, Words)]


def test_encoders_decoders_and_colours_are_explained_in_narrow_columns() -> None:
    """Whisper has an encoder and a decoder (Radford et al. 2022, section 2.2), of 4 layers each in the tiny model."""
    said = [plain(each.line) for each in drawing(*row("gpt2", "llama-3-8b", "whisper-tiny")).shapes
            if isinstance(each, Words)]  # fmt: skip
    assert "Encoder × 4" in said
    assert "Decoder × 4" in said
    assert "× 12" in said  # of GPT-2, which has only one list of layers
    assert any(each.startswith("Grey with a thin edge: as in GPT-2. ≠ with a heavy edge:") for each in said)


def test_only_the_column_that_is_too_high_has_layers_as_boxes() -> None:
    """A layer of DeepSeek-V3 has the most boxes in this figure."""
    drawn = fitted_drawing(row(*ROWS[0]), A4)
    boxes = [each for each in drawn.shapes if isinstance(each, Words) and "Layers drawn" in plain(each.line)]
    assert len(boxes) == 1
    assert 2 * column_width(4) < boxes[0].left < 3 * (column_width(4) + NARROW)
    assert "Self-attention" in [plain(each.line) for each in drawn.shapes if isinstance(each, Words)]


# -- slides ------------------------------------------------------------------------------------------------------------


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


def test_four_models_fit_a_slide() -> None:
    models = [(model, model.params) for model, _ in map(resolve, ROWS[0])]
    drawn = architecture_figure(models, wide=True)
    assert drawn.width / drawn.height == pytest.approx(16 / 9)
    assert smallest(drawn, 960 / drawn.width) >= 6
    assert faults(drawn) == []
    with pytest.raises(OptionError, match="5 targets are given; a figure has room for at most 4 columns"):
        architecture_figure([*models, models[0]])


def test_a_wide_figure_shows_the_inside_of_the_main_parts() -> None:
    said = [plain(each.line) for each in slide("gpt2").shapes if isinstance(each, Words) and each.size > 8]
    assert said == ["GPT-2", "Self-attention", "Feed-forward network"]
    model, other = resolve("gpt2")[0], resolve("llama-2-7b")[0]
    both = architecture_figure([(model, model.params), (other, other.params)], wide=True)
    assert both.width / both.height == pytest.approx(16 / 9)
    assert faults(both) == []
