"""A bar of memory for each weight format against the memory of the device, and the longest context of each batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ...language.errors import SizeError
from ...output.base_plot import Plot
from ...output.style import HATCHES, INKS, escaped, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..fit import DeviceFit

GB = 10**9
STAIRS = 1.9  # the height of the second part, in inches
MOST = 4096  # sequences
DASHES = ("solid", (0, (6, 2)), (0, (2, 2)), (0, (6, 2, 1, 2)))


@dataclass(frozen=True)
class MemoryBars(Plot):
    """The weights of each format, with the cache and the logits, against the memory of the device."""

    names: Sequence[str]
    weights: Sequence[int]
    others: Sequence[int]
    room: int
    stairs: Sequence[tuple[str, Sequence[int]]] = ()  # some formats, with the longest context of 1, 2, 3, … sequences
    notes: Sequence[str] = ()

    @property
    def height(self) -> float:
        """Return the height in inches."""
        return 0.85 + 0.17 * len(self.names) + (STAIRS if self.stairs else 0)

    def draw(self, figure: Figure) -> None:
        """Draw the bars and the line of the device."""
        above = 0.85 + 0.17 * len(self.names)
        if self.stairs:
            axes, below = figure.subplots(2, 1, height_ratios=[above, STAIRS])
            self._draw_stairs(below)
        else:
            axes = figure.subplots()
        stored = [float(Fraction(each, GB)) for each in self.weights]
        cached = [float(Fraction(each, GB)) for each in self.others]
        rows = range(len(self.names))
        axes.barh(rows, stored, height=0.72, color=INKS[0], label="weights")
        axes.barh(
            rows, cached, left=stored, height=0.72, color=INKS[1], hatch=HATCHES[1], edgecolor="white", linewidth=0.4,
            label="cache and logits",
        )  # fmt: skip
        room = float(Fraction(self.room, GB))
        axes.axvline(room, color="black", linewidth=0.9, linestyle=(0, (6, 2)), label="usable")
        axes.set_xlim(0, 1.05 * max(room, *(a + b for a, b in zip(stored, cached, strict=True))))
        axes.set_yticks(rows, [literal(name) for name in self.names])
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.set_xlabel("memory of one device (GB)")
        axes.spines[["top", "right", "left"]].set_visible(False)
        self._legend(figure, axes)

    def _legend(self, figure: Figure, axes: Axes) -> None:
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=3, handlelength=1.6)

    def _draw_stairs(self, axes: Axes) -> None:
        """Draw the longest context over the number of sequences."""
        for (name, contexts), dashes in zip(self.stairs, DASHES, strict=False):
            batches = range(1, len(contexts) + 1)
            axes.step(batches, contexts, where="mid", color="black", linestyle=dashes, linewidth=1, label=literal(name))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        most = max(len(contexts) for _, contexts in self.stairs)
        ticks = [2**power for power in range(most.bit_length())]
        axes.set_xticks(ticks, [f"{each:,}" for each in ticks])
        axes.set_xlabel("sequences")
        axes.set_ylabel("longest context (tokens)")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=6.5, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)


def draw(found: DeviceFit) -> MemoryBars:
    """Return the plot of what fits. Raises SizeError if no format is supported."""
    rows = found.supported
    if not rows:
        raise SizeError(f"there is nothing to plot: {found.verdict}")
    devices = "1 device" if found.devices == 1 else f"{found.devices:,} devices"
    said = [
        f"{escaped(found.model.name)} on {devices}: $B = {found.batch:,}$, $C = {found.context:,}$",
        escaped(found.verdict),
    ]
    return MemoryBars(
        [each.weights for each in rows],
        [each.weight_bytes for each in rows],
        [each.needed - each.weight_bytes for each in rows],
        found.usable,
        _stairs(found),
        said,
    )


def _stairs(found: DeviceFit) -> list[tuple[str, Sequence[int]]]:
    """Return the longest contexts of up to four formats that fit: the largest, the smallest and two between."""
    rows = [each for each in found.supported if each.formula is not None]
    last, curves = max(len(rows) - 1, 0), len(DASHES) - 1
    places = sorted({round(place * last / curves) for place in range(len(DASHES))})
    stairs: list[tuple[str, Sequence[int]]] = []
    for row in (rows[place] for place in places if rows):
        contexts = []
        for batch in range(1, MOST + 1):
            context = row.formula.context(found.usable, batch) if row.formula else 0
            if context < found.context:  # below the given context, a window may not be full
                break
            contexts.append(context)
        if contexts:
            stairs.append((row.weights, contexts))
    return stairs
