"""The figure of a model in its derivation: behind its symbols, drawn when a language asks for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...formulas.formula import Formula
from ...models.model import Model
from ..blocks import Block, Picture

if TYPE_CHECKING:
    from .shapes import Drawing


def illustration(model: Model, formula: Formula) -> list[Block]:
    """The figure of what a document is about; a ratio, which does not add up over boxes, has none."""
    return [Picture(partial(_drawn, model, formula))] if formula.additive else []


def _drawn(model: Model, formula: Formula) -> Drawing:
    from .drawing import drawing  # which most languages never ask for
    from .reading import Reader

    return drawing(Reader(model, formula).architecture())
