"""Slides of 16:9 as blocks: each has a title, the blocks of one step, and possibly a figure next to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ..output.blocks import Block, FigureBlock, Line
from .formats.slide_layout import BESIDE, FULL, SlideLayout


@dataclass(frozen=True)
class Slide:
    """One slide. ``notes`` are below its blocks, in smaller type: the symbols and words that occur first on it."""

    title: Line
    blocks: Sequence[Block]
    notes: Sequence[Block] = ()
    figure: FigureBlock | None = None  # next to the blocks
    paths: Line = ()  # the names of its part in the class, or how to read its figure
    place: str = ""  # its place among the slides of one step, such as "1 of 2"
    kind: Literal["title", "section", "step"] = "step"
    step: Sequence[Block] | None = None  # the undivided blocks of its step, on the first slide of a step with several

    @property
    def layout(self) -> SlideLayout:
        """The room for its blocks."""
        return FULL if self.figure is None else BESIDE

    def every_block(self) -> Iterator[Block]:
        """Yield its blocks and its notes."""
        yield from self.blocks
        yield from self.notes

    def every_undivided_block(self) -> Iterator[Block]:
        """Yield the blocks of its step and its notes; only the notes for the further slides of a step."""
        yield from self.blocks if self.step is None else self.step
        yield from self.notes


@dataclass(frozen=True)
class SlideDeck:
    """The slides of a lecture; ``attached`` are the names and contents of files that a PDF embeds."""

    title: str
    subtitle: str
    slides: Sequence[Slide]
    keywords: Sequence[str] = ()
    attached: Sequence[tuple[str, str]] = ()
