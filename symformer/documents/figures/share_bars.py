"""A chart of the shares of parts in a total, as horizontal bars with the colours of the figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...output.blocks import Line, plain
from .box_content import TINTS
from .primitives import BLACK, Drawing, Rect, Shape, Words
from .text_width import Ruler

TYPE = 13.0  # font size
ROW, BAR = 27.0, 16.0  # height of a row and of its bar
GAP = 9.0
MOST = 12  # bars of one chart


@dataclass(frozen=True)
class ShareBar:
    """A bar: the name of a part, its role, its share of the total, and its amount in words."""

    name: Line
    role: str
    share: float
    amount: str


def share_bars(bars: Sequence[ShareBar], width: float, ruler: Ruler) -> Drawing:
    """Return the chart; the longest bar has the full width between the names and the amounts."""
    while True:
        names = [ruler.width(bar.name, TYPE) for bar in bars]
        amounts = [ruler.width([bar.amount], TYPE) for bar in bars]
        if not ruler.settle():
            break
    start, most = max(names) + GAP, max(bar.share for bar in bars)
    room = width - start - max(amounts) - GAP
    shapes: list[Shape] = []
    for place, bar in enumerate(bars):
        top = place * ROW
        long = max(room * bar.share / most, 0.6)
        tint, ink = TINTS.get(bar.role, TINTS["other"])
        base = top + BAR - 3.4
        shapes.append(Words(start - GAP, base, bar.name, names[place], TYPE, "right", BLACK))
        shapes.append(Rect(start, top, long, BAR, fill=tint, ink=ink, stroke=0.7))
        shapes.append(Words(start + long + GAP, base, [bar.amount], amounts[place], TYPE, "left", BLACK))
    alt = "; ".join(f"{plain(bar.name)}: {bar.amount}" for bar in bars)
    return Drawing(width, len(bars) * ROW - (ROW - BAR) + 2, shapes, "Shares of the parts", f"{alt}.")
