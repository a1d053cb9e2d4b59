"""How plots look, and how they are written: colours and strokes that tell apart without each other, the same bytes."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from ..language.errors import DocumentError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: Final = ("svg", "pdf", "png")
WIDTH = 3.15  # inches: a column of 8 cm
# Okabe and Ito's colours, each with a stroke, a hatch and a mark of its own for print in black.
INKS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STROKES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (1, 1)))
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
MOST = len(INKS)  # lines that are told apart
# matplotlib has no New Computer Modern: its own cut of Computer Modern stands in, for words and for mathematics.
LOOKS: dict[str, Any] = {
    "font.family": "serif",
    "font.serif": ["cmr10", "DejaVu Serif"],
    "mathtext.fontset": "cm",
    "axes.formatter.use_mathtext": True,
    "axes.unicode_minus": False,
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "legend.fontsize": 6.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "axes.linewidth": 0.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.4,
    "patch.linewidth": 0.5,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "legend.framealpha": 1,
    "legend.edgecolor": "white",
    "legend.fancybox": False,
    "svg.hashsalt": "symformer",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "text.usetex": False,
    "path.simplify": False,
}


def plotted(draw: Callable[[Figure], None], extension: str, height: float = 2.4) -> bytes:
    """What is drawn on an empty figure, as a file. Raises DocumentError where matplotlib is missing."""
    if extension not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise DocumentError(
            f"a plot is written as {known}, not as .{extension}; architecture and part are drawn as .tex"
        )
    try:
        import matplotlib
        from matplotlib.backends import backend_agg, backend_pdf, backend_svg  # noqa: F401
        from matplotlib.figure import Figure
    except ImportError:
        raise DocumentError("plots need matplotlib; pip install matplotlib, or pip install symformer[plots]") from None
    described: dict[str, dict[str, None]] = {
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # nothing of the machine's own taste
        matplotlib.rcParams.update(cast(Any, LOOKS))
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure)
        held = io.BytesIO()
        logging.getLogger("fontTools").setLevel(logging.ERROR)  # which finds our fonts old
        figure.savefig(held, format=extension, dpi=300, metadata=described[extension])
    return held.getvalue()


def literal(text: str) -> str:
    """A name as it stands, by its beginning and its end where it is long."""
    shown = _plain(text)
    return escaped(shown) if len(shown) <= LONGEST else spelt_short(shown)


def escaped(text: str) -> str:
    """Words as they stand: nothing in them starts mathematics, and what the font has not is told by its number."""
    # Computer Modern's text font lacks a few signs of ASCII, which its mathematics has
    return "".join(_SIGNS.get(character, character) for character in _plain(text))


def _plain(text: str) -> str:
    return "".join(each if each.isascii() and each.isprintable() else f"[U+{ord(each):04X}]" for each in text)


LONGEST = 34
_SIGNS = {
    "$": r"$\$$",
    "\\": r"$\backslash$",
    "_": r"$\_$",
    "<": r"$<$",
    ">": r"$>$",
    "{": r"$\{$",
    "}": r"$\}$",
    "|": r"$|$",
    "^": r"$\hat{\,}$",
    "~": r"$\sim$",
}


def spelt_short(text: str) -> str:
    """The beginning and the end of a long name."""
    return literal(f"{text[: LONGEST // 2 - 1]}...{text[len(text) - LONGEST // 2 + 2 :]}")


def grid(axes: Axes) -> None:
    """Thin lines behind what is drawn, and no box around it."""
    axes.grid(True, linewidth=0.3, color="#cccccc")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
