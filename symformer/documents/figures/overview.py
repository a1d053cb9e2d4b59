"""A figure with some of its layers as single boxes, for a page that has no room for all their parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sympy import Expr

from ...ledger.facts import ONE
from .figure import Box, Figure, Frame, Graph, Node

CLOSED = "Layers drawn as one box contain several parts."


def closed(figure: Figure) -> Figure | None:
    """Return a figure in which the frame with the most boxes is a single box, or None if it has no frames.

    Frames that contain further frames are kept until these are single boxes.
    """
    frames = innermost_frames(figure.graph)
    if not frames:
        return None
    largest = max(frames, key=lambda frame: len(list(frame.graph.boxes())))
    notes = [*figure.notes, *([CLOSED] if CLOSED not in figure.notes else [])]
    return replace(figure, graph=close_frame(figure.graph, largest), notes=notes)


def innermost_frames(graph: Graph) -> list[Frame]:
    """Return the frames that contain no further frames."""
    return [frame for frame in _frames(graph) if not any(_inner(frame))]


def close_frame(graph: Graph, closing: Frame) -> Graph:
    """Return a graph in which a frame is a single box."""
    return _graph(graph, closing, ONE)


def with_fewer_boxes(figures: Sequence[Figure]) -> list[Figure] | None:
    """Return figures with a frame of the one with the most boxes as a single box; None if there are no frames."""
    open_figures = [figure for figure in figures if any(_frames(figure.graph))]
    if not open_figures:
        return None
    largest = max(open_figures, key=lambda figure: len(list(figure.graph.boxes())))
    return [closed(figure) or figure if figure is largest else figure for figure in figures]


def _frames(graph: Graph) -> Iterator[Frame]:
    for each in graph.graphs():
        yield from (node for node in each.nodes if isinstance(node, Frame))


def _inner(frame: Frame) -> Iterator[Frame]:
    return (node for node in frame.graph.nodes if isinstance(node, Frame))


def _graph(graph: Graph, closing: Frame, copies: Expr) -> Graph:
    return replace(graph, nodes=[_node(node, closing, copies) for node in graph.nodes])


def _node(node: Node, closing: Frame, copies: Expr) -> Node:
    if not isinstance(node, Frame):
        return node
    count = copies * node.times
    if node is closing:
        times = node.times if node.bracketed else ONE  # otherwise it is one of the notes
        compared = [box.differs for box in node.graph.boxes() if box.differs is not None]
        differs = node.differs or any(compared) if compared else None
        notes = () if node.mixed else node.notes  # a box does not show the order of its layers
        box = Box(node.key, node.title, node.name, "other", node.amount, count, times, notes)
        return replace(box, differs=differs)
    return replace(node, graph=_graph(node.graph, closing, count))
