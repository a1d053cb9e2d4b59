"""Heat maps: a value for each pair of two sizes; pairs without a value stay empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base_plot import Plot
from .chart import Exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TICKS = 6  # on an axis


@dataclass(frozen=True)
class HeatMap(Plot):
    """A heat map in which darker cells have larger values, also when printed in black and white."""

    xlabel: str
    ylabel: str
    label: str
    xs: Sequence[int]
    ys: Sequence[int]
    numbers: Mapping[tuple[int, int], Exact]
    notes: Sequence[str] = ()

    @property
    def height(self) -> float:
        """Return the height in inches."""
        return 2.4

    def draw(self, figure: Figure) -> None:
        """Draw the heat map."""
        axes = figure.subplots()
        cells = [[float(self.numbers.get((x, y), float("nan"))) for x in self.xs] for y in self.ys]
        image = axes.imshow(cells, cmap="cividis_r", aspect="auto", origin="lower", interpolation="nearest")
        for values, put in ((self.xs, axes.set_xticks), (self.ys, axes.set_yticks)):
            step = -(-len(values) // TICKS)
            put(range(0, len(values), step), [f"{value:,}" for value in values[::step]])
        axes.set_xlabel(self.xlabel)
        axes.set_ylabel(self.ylabel)
        bar = figure.colorbar(image, ax=axes, pad=0.02)
        bar.set_label(self.label)
        bar.outline.set_linewidth(0.5)
