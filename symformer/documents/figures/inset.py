"""The figure of a model in its derivation: behind its symbols, drawn when a language asks for it."""

from __future__ import annotations

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
