"""The figures of a model: the whole model, one part, or several models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from ...formulas import ranks
from ...formulas.formula import Formula
from ...language.errors import OptionError
from ...models.model import Model
from ...output.blocks import plain
from ...views.figure_facts import figure_facts
from .figure import Figure
from .figure_builder import FigureBuilder
from .figure_diff import mark_differences
from .figure_page import COLUMN, drawing
from .narrow_columns import column_width, narrow_columns
from .primitives import Drawing
from .wide_drawing import wide_drawing

Counted = tuple[Model, Formula]


def architecture_figure(models: Sequence[Counted], part: str | None = None, wide: bool = False) -> Drawing:
    """Return the figure of one model, of one part, or of several models side by side.

    Two models have the formulas of their parts. More models are narrow columns, which show differences of structure
    from the first.

    Parameters
    ----------
    models
        Up to four models, each with the formula to show.
    part
        The id of a part of the model, such as ``h.attn``; requires a single model.
    wide
        Whether the drawing has the proportions of a slide, with the inside of the main parts next to the model.

    Raises
    ------
    OptionError
        For more than four models, or for a part of several models.
    UnknownNameError
        If the model has no such part.

    """
    reader, *others = [FigureBuilder(figure_facts(model, formula)) for model, formula in models]
    notes = [[*map(plain, ranks.stated(formula.ranks, model.known))] for model, formula in models]
    if part is not None:
        if others:
            raise OptionError("a part can be drawn for one target only; give one")
        shown = [_noted(reader.part(part), notes[0])]
    elif len(others) > 1:
        shown = [*map(_noted, [reader.architecture(), *(other.architecture() for other in others)], notes)]
        shown = narrow_columns(shown, shown[0])
    elif others:
        shown = [*map(_noted, mark_differences(reader.architecture(), others[0].architecture()), notes)]
    else:
        shown = [_noted(reader.architecture(), notes[0])]
    if not wide:
        column = column_width(len(shown)) if len(others) > 1 else COLUMN
        return drawing(*shown, column=column, most=column if len(others) > 1 else inf)
    return wide_drawing(shown, reader.main_parts() if part is None and not others else [])


def _noted(figure: Figure, notes: Sequence[str]) -> Figure:
    """Return a figure with additional notes below it."""
    return replace(figure, notes=[*figure.notes, *notes])
