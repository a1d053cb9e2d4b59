"""The figure of a model in its derivation: behind its symbols, drawn when a language asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...answers.summary import value_of
from ...formulas.formula import Formula
from ...models.model import Model
from ..blocks import Block, Line, Picture

if TYPE_CHECKING:
    from .measure import Ruler
    from .shapes import Drawing


def illustration(model: Model, formula: Formula) -> list[Block]:
    """The figure of what a document is about; a ratio, which does not add up over boxes, has none."""
    if not formula.additive:
        return []
    return [Picture(partial(_drawn, model, formula), _caption(model, formula), formula.id)]


def beside(models: Sequence[Model], formulas: Sequence[Formula]) -> list[Block]:
    """The figure of two models, each in the letters of its own formula; none where one does not add up over boxes."""
    if len(models) != 2 or not all(formula.additive for formula in formulas):
        return []
    one, other = models
    caption: Line = [
        f"{one.title} and {other.title} side by side, each in its own letters: ≠ marks what the other has not, or has "
        "with another formula."
    ]
    return [Picture(partial(_both, models, formulas), caption, f"{formulas[0].id}.beside")]


def _caption(model: Model, formula: Formula) -> Line:
    """What it shows, and how it is read."""
    told = f"the formula of its {formula.measure.title}"
    if value_of(formula, model) is not None:
        told += ", their number, and the share that all copies of it have in the whole"
    if model.provenance.reading is not None:  # read off code: what its parts read is not known
        return [f"The parts of {model.title}, in the order in which its code names them: each with {told}."]
    return [f"The architecture of {model.title}, read from below: each part with {told}."]


def _drawn(model: Model, formula: Formula, column: float, most: float, ruler: Ruler | None = None) -> Drawing:
    from .drawing import drawing  # which most languages never ask for
    from .reading import Reader

    return drawing(Reader(model, formula).architecture(), column=column, most=most, ruler=ruler)


def _both(
    models: Sequence[Model], formulas: Sequence[Formula], column: float, most: float, ruler: Ruler | None = None
) -> Drawing:
    from .beside import compared
    from .drawing import BETWEEN, drawing
    from .reading import Reader

    figures = [Reader(model, formula).architecture() for model, formula in zip(models, formulas, strict=True)]
    half = min(column, (most - BETWEEN) / 2)
    return drawing(*compared(*figures), column=half, most=half, ruler=ruler)
