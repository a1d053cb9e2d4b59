"""The graph of a figure with the names of its inputs and outputs; an encoder and a decoder are side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...output.blocks import Line
from .figure import Graph
from .frames import draw_frame
from .graph_layout import GraphLayout
from .primitives import SMALL, Path, Shape, Words
from .text_width import Ruler
from .towers import Towers, towers
from .wires import with_junctions
from .x_coordinates import LANE

NAMED = 10.0  # height of the names of inputs or outputs
SIDE_BY_SIDE = 300.0  # minimum width of two towers; in less room, the second is above the first
APART = 4.0  # minimum between two of them


@dataclass(frozen=True)
class Body:
    """The shapes of a graph, from the top, and its height."""

    shapes: Sequence[Shape]
    height: float
    levels: Mapping[str, float] = field(default_factory=dict)  # the y of each node, unless there are two towers


def figure_body(graph: Graph, room: float, ruler: Ruler) -> Body:
    """Return the graph of a figure at a given width."""
    found = towers(graph) if room >= SIDE_BY_SIDE else None
    if found is not None:
        return _side_by_side(found, room, ruler)
    body, _ = _named(GraphLayout(graph, room, ruler, draw_frame, whole=True), ruler)
    return replace(body, shapes=with_junctions(body.shapes))


def _named(laid: GraphLayout, ruler: Ruler) -> tuple[Body, float]:
    """Return a graph with its inputs and outputs named, and the y of its lower end."""
    graph, placed = laid.graph, laid.placed()
    outs = [(out.exits, line) for out, line in zip(laid.outs, graph.results, strict=False)]
    shapes, y = _ends(outs, 6, laid.width, ruler)
    shapes += [shape.moved(0, y) for shape in placed.shapes]
    y += placed.height
    read = {each.leaves for each in graph.arrows if not each.source and laid.below(each)} - (laid.sided or frozenset())
    ports = zip(laid.ports, graph.ports, strict=True)
    named = [(port.exits, line) for n, (port, line) in enumerate(ports) if n in read]
    below, height = _ends(named, y + 7, laid.width, ruler)
    return Body([*shapes, *below], y + height, placed.levels), y


def _ends(ends: Sequence[tuple[float, Line]], y: float, room: float, ruler: Ruler) -> tuple[list[Shape], float]:
    """Return the names of inputs or outputs at the ends of their arrows, and their height."""
    said = sorted(((x, line) for x, line in ends if any(line)), key=lambda end: end[0])
    shapes: list[Shape] = []
    start = 0.0
    for place, (x, line) in enumerate(said):
        wide = ruler.width(line, SMALL)
        after = sum(ruler.width(each, SMALL) + APART for _, each in said[place + 1 :])
        middle = min(max(x, start + wide / 2), room - after - wide / 2)
        shapes.append(Words(middle, y, line, wide, SMALL, "center"))
        start = middle + wide / 2 + APART
    return shapes, NAMED if said else 2.0


def _side_by_side(found: Towers, room: float, ruler: Ruler) -> Body:
    """Return two towers next to each other; the second reads outputs of the first through its left edge."""
    between = LANE * (len(found.handed) + 1)
    width = (room - between) / 2
    first = GraphLayout(found.encoder, width, ruler, draw_frame, whole=True, right=frozenset(found.handed))
    second = GraphLayout(found.decoder, width, ruler, draw_frame, whole=True, sided=found.entering)
    (left, left_foot), (right, right_foot) = _named(first, ruler), _named(second, ruler)
    height = max(left_foot, right_foot)
    drop, lower = height - left_foot, height - right_foot
    shapes = [shape.moved(0, drop) for shape in left.shapes]
    shapes += [shape.moved(width + between, lower) for shape in right.shapes]
    starts = sorted(found.handed, key=lambda key: first.rights[key])
    for place, key in enumerate(starts):
        x, y = width + LANE * (place + 1), height - first.rights[key]
        port = len(found.decoder.ports) - len(found.handed) + found.handed.index(key)
        for end in second.sides[port]:
            points = (width, y), (x, y), (x, height - end), (width + between, height - end)
            shapes.append(Path(points, wire=True))
    return Body(with_junctions(shapes), height + max(left.height - left_foot, right.height - right_foot))
