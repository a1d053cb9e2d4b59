"""The figure of a model in its derivation, drawn on demand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...formulas.formula import Formula
from ...models.model import Model
from ...output.blocks import Code, FigureBlock, Line, listed, maybe
from ...views.figure_facts import FigureFacts, figure_facts
from .primitives import MOST_COLUMNS

if TYPE_CHECKING:
    from ..formats.page_layout import Page
    from .figure import Figure
    from .primitives import Drawing
    from .text_width import Ruler


# What a text says about figures of several models; the notes of a drawing explain the marks.
UNCOUNTED = "Different sizes and numbers of sublayers in a block are not marked."


def illustration(found: FigureFacts, filled: bool = True) -> list[FigureBlock]:
    """Return the figure of a model; it only names the parts if it is not ``filled``."""
    return [FigureBlock(partial(_drawn, found, filled), _caption(found, filled), found.formula.id)]


def compact_illustration(found: FigureFacts) -> list[FigureBlock]:
    """Return the figure of a model for the rest of a page, with as much detail as fits."""
    draw, overviews = partial(_drawn, found, True), partial(_overviews, found)
    return [FigureBlock(draw, _caption(found, filled=False), found.formula.id, overviews=overviews)]


def comparison_figure(models: Sequence[Model], formulas: Sequence[Formula]) -> list[FigureBlock]:
    """Return the figure of two models; empty if one of the formulas is not a sum over boxes."""
    if len(models) != 2 or not all(formula.additive for formula in formulas):
        return []
    sides = [figure_facts(*side) for side in zip(models, formulas, strict=True)]
    caption: Line = [
        f"{' and '.join(each.subject.title for each in sides)} side by side, each with its own symbols; ≠ marks parts "
        "that the other model lacks, or for which it has a different formula or computation, and grey parts are the "
        "same in both."
    ]
    return [FigureBlock(partial(_both, sides), caption, f"{formulas[0].id}.beside")]


def aligned_figures(
    models: Sequence[Model], formulas: Sequence[Formula | None], names: Sequence[str]
) -> list[FigureBlock]:
    """Return figures of several models in narrow columns, each compared with the first model.

    Models whose formula is not a sum over boxes are left out. Many models have several figures.

    Parameters
    ----------
    models
        The models.
    formulas
        The formula of each model whose parts are drawn, or None.
    names
        The name of each model.

    """
    sides = [
        (figure_facts(model, formula), name)
        for model, formula, name in zip(models, formulas, names, strict=True)
        if formula is not None and formula.additive
    ]
    if len(sides) < 2 or formulas[0] is not sides[0][0].formula:
        return []
    groups = -(-len(sides) // MOST_COLUMNS)
    step = -(-len(sides) // groups)
    first, first_name = sides[0]
    blocks: list[FigureBlock] = []
    for start in range(0, len(sides), step):
        some = sides[start : start + step]
        caption: Line = ["The structures of ", *listed(*([Code(name)] for _, name in some))]
        caption = [*caption, *maybe(start, ", compared with ", Code(first_name)), "."]
        shown = [found for found, _ in some]
        blocks.append(FigureBlock(partial(_columns, shown, first), caption, f"survey.structure.{start + 1}"))
    return blocks


def _caption(found: FigureFacts, filled: bool) -> Line:
    """Return the caption of the figure of one model."""
    if not filled and found.is_traced:
        return [f"The parts of {found.subject.title}, in the order in which its code names them."]
    if not filled and not found.is_model:
        return ["The computation of ", Code(found.subject.name), ", from bottom to top, with shapes of tensors."]
    if not filled:
        return [f"The architecture of {found.subject.title}, from bottom to top."]
    order = "in the order in which its code names them" if found.is_traced else "from bottom to top"
    what = "parts" if found.is_traced else "architecture" if found.is_model else "computation"
    told = f"each part with its {found.formula.measure.title}, as a formula where there is room"
    if found.value is not None:
        which = "all its copies in layers of the same kind" if found.has_kinds else "all its copies"
        told += f", as a number, and as the share of {which} in the total"
    name = found.subject.title if found.is_model else Code(found.subject.name)
    return [f"The {what} of ", name, f", {order}, {told}."]


def _drawn(found: FigureFacts, filled: bool, page: Page, ruler: Ruler | None = None) -> Drawing:
    from .fitted_drawing import fitted_drawing  # most languages never need it

    return fitted_drawing([_figure(found, filled)], page, ruler)


def _overviews(found: FigureFacts, page: Page) -> list[Drawing]:
    from .fitted_drawing import overview_drawings

    return overview_drawings(_figure(found, True), page)


def _figure(found: FigureFacts, filled: bool) -> Figure:
    from .figure_builder import FigureBuilder
    from .unfilled import unfilled

    figure = FigureBuilder(found).architecture()
    return figure if filled else unfilled(figure)


def _columns(sides: Sequence[FigureFacts], first: FigureFacts, page: Page, ruler: Ruler | None = None) -> Drawing:
    from .figure_builder import FigureBuilder
    from .fitted_drawing import fitted_drawing
    from .narrow_columns import narrow_columns

    reference = FigureBuilder(first).architecture()
    shown = [reference if side is first else FigureBuilder(side).architecture() for side in sides]
    return fitted_drawing(narrow_columns(shown, reference), page, ruler)


def _both(sides: Sequence[FigureFacts], page: Page, ruler: Ruler | None = None) -> Drawing:
    from .figure_builder import FigureBuilder
    from .figure_diff import mark_differences
    from .fitted_drawing import fitted_drawing

    return fitted_drawing(mark_differences(*(FigureBuilder(side).architecture() for side in sides)), page, ruler)
