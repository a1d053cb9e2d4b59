"""Bar charts: values by name, for one or more series, with the value next to each bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base_plot import Plot
from .chart import POWERS, Exact
from .style import HATCHES, INKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 0.8  # the share of the space of a name that its bars fill
ACROSS, LETTER, MOST = 2.35, 0.042, 1.8  # inches: the axes, a character of a value, and the longest value


@dataclass(frozen=True)
class Bars(Plot):
    """A bar chart with one value per name and series. ``written`` holds the text of each value."""

    label: str
    names: Sequence[str]
    series: Mapping[str, Sequence[Exact]]
    written: Mapping[str, Sequence[str]]
    notes: Sequence[str] = ()

    @property
    def height(self) -> float:
        """Return the height in inches."""
        several = len(self.series) > 1
        return 0.6 + 0.15 * len(self.names) * max(1.2, len(self.series)) + 0.14 * len(self.series) * several

    def draw(self, figure: Figure) -> None:
        """Draw the bars."""
        axes = figure.subplots()
        thick = WIDE / len(self.series)
        low = min(0.0, *(float(each) for numbers in self.series.values() for each in numbers))
        high = max(0.0, *(float(each) for numbers in self.series.values() for each in numbers))
        for place, (name, numbers) in enumerate(self.series.items()):
            at = [row - WIDE / 2 + (place + 0.5) * thick for row in range(len(self.names))]
            widths = [float(each) for each in numbers]
            axes.barh(
                at,
                widths,
                height=thick * 0.92,
                color=INKS[place % len(INKS)],
                hatch=HATCHES[place % len(HATCHES)],
                edgecolor="white",
                linewidth=0.4,
                label=name,
            )
            for y, width, word in zip(at, widths, self.written[name], strict=True):
                side, shift = ("left", 2) if width >= 0 else ("right", -2)
                axes.annotate(word, (width, y), (shift, 0), textcoords="offset points", va="center", ha=side, size=5.5)
        longest = max(len(word) for words in self.written.values() for word in words)
        written = min(MOST, LETTER * longest + 0.1)
        room = written / (ACROSS - written) * (high - low or 1)
        axes.set_xlim(low - room * (low < 0), high + room * (high > 0 or low == 0))
        axes.axvline(0, color="black", linewidth=0.5)
        axes.ticklabel_format(axis="x", scilimits=POWERS)
        axes.set_yticks(range(len(self.names)), list(self.names))
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.set_xlabel(self.label)
        axes.spines[["top", "right", "left"]].set_visible(False)
        if len(self.series) > 1:
            figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", handlelength=1.6)
