"""A strip of the layers of a model in order, with one bar per layer and a legend of their kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from sympy import Symbol

from ...language.sizes import Numbers
from ...language.symbols import letter
from ...ledger.facts import Ledger
from ...ledger.layer_kinds import mixtures
from ...output.blocks import Line, Math, Piece
from .primitives import BLACK, LEADING, SMALL, WHITE, Circle, Path, Rect, Shape, Words, arrow
from .text_width import Ruler

# Kinds differ in colour (Okabe and Ito) and in height, for printing in black and white.
INKS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
HEIGHTS = (7.0, 4.4, 2.2)
PITCH = 7.0  # maximum width of a bar with the gap after it
THIN = 2.6  # minimum
GAP = 0.8
KEY = 5.0  # width of a bar of the legend
WIDE, SLIM = 9.8, 4.4  # the widest layer in the column of a frame, and in a narrow column of one of several models
TALLEST = 11.0  # maximum height of a layer in the column, with the gap after it
ENTRY, EXIT = (
    10.0,
    6.0,
)  # minimum length of the arrow into the first layer of the column, and of the line out of the last


@dataclass(frozen=True)
class LayerStrip:
    """The kinds of layers of one list of layers, and the kind of each layer from the first to the last."""

    kinds: Sequence[Symbol]  # the sizes that count them
    order: Sequence[int]

    def words(self) -> str:
        """Return the order in words, such as ``3 L_dense, 58 L_moe``, with a repeated period stated once."""
        order = list(self.order)
        period = next(n for n in range(1, len(order) + 1) if order[n:] == order[: len(order) - n])
        times, rest = divmod(len(self.order), period)
        runs = [f"{len(list(run))} {self.kinds[kind]}" for kind, run in groupby(self.order[:period])]
        said = ", ".join(runs)
        return said if times == 1 else f"{said}, repeated" + (f" {times} times" if not rest else "")


def layer_strips(ledger: Ledger, layers: Sequence[Symbol], known: Numbers) -> Iterator[LayerStrip]:
    """Yield the strip of each list of layers whose order is known.

    Parameters
    ----------
    ledger
        The ledger with separate kinds of layers.
    layers
        The size that counts each layer, as the config orders them; empty if it is not known.
    known
        The values of sizes.

    """
    for mixture, scopes in mixtures(ledger).items():
        counts = [scope.count for scope in scopes if isinstance(scope.count, Symbol)]
        if len(counts) < len(scopes) or any(count not in known for count in counts):
            continue
        kinds = list(dict.fromkeys(counts))
        numbers: Mapping[Symbol, int] = {kind: int(known[kind]) for kind in kinds}
        if mixture.order == "kind by kind":
            yield LayerStrip(kinds, [kinds.index(kind) for kind in counts for _ in range(numbers[kind])])
        elif Counter(layers) == Counter({kind: number for kind, number in numbers.items() if number}):
            yield LayerStrip(kinds, [kinds.index(layer) for layer in layers])


def bar(kind: int, x: float, y: float, width: float) -> Rect:
    """Return the bar of a layer of one kind; ``y`` is its lower end."""
    high = HEIGHTS[kind % len(HEIGHTS)]
    return Rect(x, y - high, width, high, fill=INKS[kind % len(INKS)], stroke=0)


def column_shapes(strip: LayerStrip | None, x: float, wide: float, high: float, flows: bool) -> list[Shape]:
    """Return the layers of a frame one above another, the first at the bottom, with the arrow through all of them.

    Parameters
    ----------
    strip
        The layers; None if their order is not known, for a first and a last layer with dots between them.
    x
        The middle of the column.
    wide
        The width of the widest layer.
    high
        The height of the frame.
    flows
        Whether the data flow is known, which the arrow shows.

    """
    shapes: list[Shape] = []
    room = high - ENTRY - EXIT
    if strip is None:
        top, foot = EXIT, high - ENTRY
        shapes += [Rect(x - wide / 2, y, wide, wide, fill=WHITE, stroke=0.5) for y in (top, foot - wide)]
        middle = (top + foot) / 2
        shapes += [Circle(x, middle + step, 0.5, fill=BLACK) for step in (-4.0, 0.0, 4.0)]
        if flows:
            shapes += [Path(((x, top + wide), (x, middle - 8))), Path(((x, middle + 8), (x, foot - wide)))]
    else:
        pitch = min(TALLEST, room / len(strip.order))
        long = pitch - GAP * min(1, pitch / 4)
        foot = high - ENTRY - (room - pitch * len(strip.order)) / 2
        top = foot - pitch * (len(strip.order) - 1) - long
        for place, kind in enumerate(strip.order):
            own = wide * HEIGHTS[kind % len(HEIGHTS)] / HEIGHTS[0]
            y = foot - place * pitch - long
            shapes.append(Rect(x - own / 2, y, own, long, fill=INKS[kind % len(INKS)], stroke=0))
    return [*shapes, *arrow([(x, high), (x, foot)]), Path(((x, top), (x, 0)), wire=True)] if flows else shapes


def strip_shapes(strip: LayerStrip, room: float, ruler: Ruler) -> tuple[list[Shape], float]:
    """Return the shapes of a strip and their height, from its top."""
    count = len(strip.order)
    named: Line = [f"Layers 1 to {count}"]
    wide = ruler.width(named, SMALL)
    y = LEADING
    shapes: list[Shape] = [Words(0, y - 2, named, wide, SMALL)]
    start = wide + 6
    rows = ceil(count * THIN / (room - start))
    each = ceil(count / rows)
    pitch = min(PITCH, (room - start) / each)
    for place, kind in enumerate(strip.order):
        row, column = divmod(place, each)
        shapes.append(bar(kind, start + column * pitch, y + row * LEADING - 1, pitch - GAP * min(1, pitch / 4)))
    y += (rows - 1) * LEADING + 2
    x = room
    for kind, size in enumerate(strip.kinds):
        number: list[Piece] = [Math.of(size), f" = {strip.order.count(kind)} "]
        lines = _wrapped(number, letter(size).meaning, room - KEY - 4, ruler)
        width = ruler.width(lines[0], SMALL)
        if x + KEY + 4 + width > room:
            x, y = 0.0, y + LEADING
        shapes.append(bar(kind, x, y - 1.5, KEY))
        for place, line in enumerate(lines):
            y += LEADING * (place > 0)
            shapes.append(Words(x + KEY + 3, y - 2, line, ruler.width(line, SMALL), SMALL))
        x += room if len(lines) > 1 else KEY + 3 + width + 10
    return shapes, y


def _wrapped(start: Sequence[Piece], words: str, room: float, ruler: Ruler) -> list[Line]:
    """Return a line of the legend, broken into several if it is too long."""
    lines: list[list[Piece]] = [[*start]]
    for word in words.split():
        if ruler.width([*lines[-1], word], SMALL) > room:
            lines.append([])
        lines[-1] = [*lines[-1], f"{word} "]
    return [*lines]
