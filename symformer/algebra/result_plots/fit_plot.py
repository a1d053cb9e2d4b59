"""A bar of memory for each weight format, against the memory of the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ...language.errors import SizeError
from ...output.base_plot import Plot
from ...output.style import HATCHES, INKS, escaped, literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..fit import DeviceFit

GB = 10**9


@dataclass(frozen=True)
class MemoryBars(Plot):
    """The weights of each format, with the cache and the logits, against the memory of the device."""

    names: Sequence[str]
    weights: Sequence[int]
    others: Sequence[int]
    room: int
    notes: Sequence[str] = ()

    @property
    def height(self) -> float:
        """Return the height in inches."""
        return 0.85 + 0.17 * len(self.names)

    def draw(self, figure: Figure) -> None:
        """Draw the bars and the line of the device."""
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
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=3, handlelength=1.6)


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
        said,
    )
