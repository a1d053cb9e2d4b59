"""Charts: lines and points, with horizontal and vertical lines for limits and marks for crossings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .base_plot import Plot
from .style import INKS, MARKS, STROKES, grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Exact = int | Fraction
DASHES: dict[str, Any] = {"color": "#333333", "linewidth": 0.7, "zorder": 1.5}
ACROSS: tuple[Any, ...] = ((0, (6, 2)), (0, (2, 2)), (0, (4, 1, 1, 1)))  # strokes of horizontal and vertical lines
DEEP = 1000  # with more points than this, points are small
FEW = 40  # with more steps than this, steps have no marks
POWERS = (-4, 5)  # powers of ten beyond which an axis factors them out


@dataclass(frozen=True)
class Series:
    """A named series of x and y values."""

    name: str
    xs: Sequence[Exact]
    ys: Sequence[Exact]
    kind: str = "line"  # or "points", "hollow" or "faint" points, "mark" for highlighted points, or "steps"


@dataclass(frozen=True)
class ReferenceLine:
    """A horizontal line, or a vertical one if ``upright``, at a value."""

    name: str
    at: Exact
    upright: bool = False


@dataclass(frozen=True)
class Chart(Plot):
    """A chart of several series over one x-axis."""

    xlabel: str
    ylabel: str
    series: Sequence[Series]
    across: Sequence[ReferenceLine] = ()
    notes: Sequence[str] = ()
    from_zero: bool = True
    logarithmic: bool = False

    @property
    def height(self) -> float:
        """Return the height in inches."""
        return 2.2 + 0.14 * len(self._names)

    @property
    def _names(self) -> set[str]:
        return {each.name for each in self.series if each.name} | {each.name for each in self.across if each.name}

    def draw(self, figure: Figure) -> None:
        """Draw the chart."""
        axes = figure.subplots()
        inks: dict[str, int] = {}
        for each in self.series:
            place = len(inks) if each.kind == "mark" else inks.setdefault(each.name, len(inks))
            place %= len(INKS)
            xs, ys = [float(x) for x in each.xs], [float(y) for y in each.ys]
            axes.plot(xs, ys, label=each.name or None, **_look(each.kind, place, len(xs)))
        number = -1
        for rule in self.across:
            number += bool(rule.name)  # a line without a name belongs to the one before it
            line = axes.axvline if rule.upright else axes.axhline
            line(float(rule.at), linestyle=ACROSS[number % len(ACROSS)], label=rule.name or None, **DASHES)
        if self.logarithmic:
            axes.set_xscale("log")
            axes.set_yscale("log")
        else:
            axes.ticklabel_format(scilimits=POWERS)
            if self.from_zero:
                axes.set_xlim(left=0)
                axes.set_ylim(bottom=0)
        axes.set_xlabel(self.xlabel)
        axes.set_ylabel(self.ylabel)
        grid(axes)
        if self._names:
            figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", handlelength=2.8)


def _look(kind: str, place: int, count: int) -> dict[str, Any]:
    ink: dict[str, Any] = {"color": INKS[place], "marker": MARKS[place]}
    match kind:
        case "line":
            return {**ink, "linestyle": STROKES[place], "markevery": max(1, count // 6)}
        case "steps":
            marked = {"markersize": 3} if count <= FEW else {"marker": ""}
            return {**ink, "linestyle": STROKES[place], "drawstyle": "steps-post", "zorder": 3, **marked}
        case "faint":
            return {"color": "#999999", "marker": ".", "linestyle": "none", "markersize": 2 if count > DEEP else 3.5}
        case "mark":
            return {"color": "black", "marker": "o", "linestyle": "none", "markersize": 6, "fillstyle": "none"}
    style = {"fillstyle": "none"} if kind == "hollow" else {}
    return {**ink, "linestyle": "none", "zorder": 3, **style}
