"""The style of plots and their files: lines differ in colour and in stroke, and files are reproducible."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from ..language.errors import DocumentError, alternatives

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: Final = ("svg", "pdf", "png")
WIDTH = 3.15  # inches: a column of 8 cm
# The colours of Okabe and Ito, each with its own stroke, hatch and mark for printing in black and white.
INKS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STROKES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (1, 1)))
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
MOST = len(INKS)  # the number of distinguishable lines
# matplotlib does not include New Computer Modern; its Computer Modern is used for text and mathematics instead.
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


def plot_bytes(draw: Callable[[Figure], None], extension: str, height: float = 2.4) -> bytes:
    """Return the bytes of a file with a drawn figure. Raises DocumentError if matplotlib is not installed."""
    if extension not in FORMATS:
        raise DocumentError(
            f"a plot needs the extension {alternatives(f'.{name}' for name in FORMATS)}, not .{extension}; only --kind "
            "architecture and part can be .tex"
        )
    try:
        import matplotlib
        from matplotlib.backends import backend_agg, backend_pdf, backend_svg  # noqa: F401
        from matplotlib.figure import Figure
    except ImportError:
        raise DocumentError(
            "plots need matplotlib; run pip install matplotlib, or pip install symformer[plots]"
        ) from None
    described: dict[str, dict[str, None]] = {
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # ignore the user's configuration
        matplotlib.rcParams.update(cast(Any, LOOKS))
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure)
        held = io.BytesIO()
        logging.getLogger("fontTools").setLevel(logging.ERROR)  # it warns about old fonts
        figure.savefig(held, format=extension, dpi=300, metadata=described[extension])
    return held.getvalue()


def literal(text: str) -> str:
    """Return a name as plain text, shortened in the middle if it is long."""
    shown = _plain(text)
    return escaped(shown) if len(shown) <= LONGEST else spelt_short(shown)


def escaped(text: str) -> str:
    """Return a text with all special characters escaped; characters missing in the font become code points."""
    # the text font of Computer Modern lacks a few ASCII characters, which its mathematics font has
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
    """Return the beginning and the end of a long name."""
    return literal(f"{text[: LONGEST // 2 - 1]}...{text[len(text) - LONGEST // 2 + 2 :]}")


def grid(axes: Axes) -> None:
    """Draw thin grid lines behind the data, and remove the box around it."""
    axes.grid(True, linewidth=0.3, color="#cccccc")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
