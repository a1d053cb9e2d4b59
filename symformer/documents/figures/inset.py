"""The figure of a model in its derivation: before the first heading, drawn when a language asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...formulas.formula import Formula
from ...models.model import Model
from ..blocks import Block, Heading, Picture

if TYPE_CHECKING:
    from .shapes import Drawing


def illustrated(blocks: Sequence[Block], model: Model, formula: Formula) -> list[Block]:
    """A chapter with the figure of what it is about; a ratio, which does not add up over boxes, has none."""
    if not formula.additive:
        return list(blocks)
    place = next((place for place, block in enumerate(blocks) if isinstance(block, Heading)), len(blocks))
    return [*blocks[:place], Picture(partial(_drawn, model, formula)), *blocks[place:]]


def _drawn(model: Model, formula: Formula) -> Drawing:
    from .drawing import drawing  # which most languages never ask for
    from .reading import Reader

    return drawing(Reader(model, formula).architecture())
