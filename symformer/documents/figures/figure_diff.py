"""Two figures side by side: parts that only one has, or whose formulas differ, are marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...language.notation.text import text
from ...output.blocks import Line, Math
from .column_alignment import node_kind
from .figure import Box, Figure, Frame, Graph, Node, Plus

GREY = "Grey: the same in both models."
MARKED = f"≠: missing from the other model, or with a different formula or computation there. {GREY}"


def mark_differences(left: Figure, right: Figure) -> tuple[Figure, Figure]:
    """Return both figures with their differences marked."""
    first, second = _graphs(left.graph, right.graph)
    return tuple(  # type: ignore[return-value]
        replace(figure, graph=graph, notes=[*figure.notes, MARKED if _marked(first) or _marked(second) else GREY])
        for figure, graph in ((left, first), (right, second))
    )


def _graphs(left: Graph, right: Graph) -> tuple[Graph, Graph]:
    """Return both graphs with the differences between matching nodes marked."""
    ours, theirs = list(left.nodes), list(right.nodes)
    pairs = matching(left, right)
    for place, node in enumerate(ours):
        if place not in pairs:
            ours[place] = mark_missing(node)
    for place, node in enumerate(theirs):
        if place not in pairs.values():
            theirs[place] = mark_missing(node)
    for place, other in pairs.items():
        ours[place], theirs[other] = _pair(ours[place], theirs[other])
    return replace(left, nodes=ours), replace(right, nodes=theirs)


def matching(left: Graph, right: Graph) -> dict[int, int]:
    """Return the places of matching nodes: as many as possible in the same order, with equal titles if possible."""
    ours, theirs = list(left.nodes), list(right.nodes)
    best = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]  # the score of the first nodes of each
    for place, one in enumerate(ours):
        for other, two in enumerate(theirs):
            paired = best[place][other] + _likeness(one, two)
            best[place + 1][other + 1] = max(best[place][other + 1], best[place + 1][other], paired)
    found: dict[int, int] = {}
    place, other = len(ours), len(theirs)
    while place and other:
        likeness = _likeness(ours[place - 1], theirs[other - 1])
        if likeness and best[place][other] == best[place - 1][other - 1] + likeness:
            place, other = place - 1, other - 1
            found[place] = other
        elif best[place][other] == best[place - 1][other]:
            place -= 1
        else:
            other -= 1
    return dict(sorted(found.items()))


def _likeness(one: Node, other: Node) -> int:
    if node_kind(one) != node_kind(other):
        return 0
    return 1 if isinstance(one, Plus) or isinstance(other, Plus) or one.title != other.title else 2


def _pair(one: Node, other: Node) -> tuple[Node, Node]:
    if isinstance(one, Frame) and isinstance(other, Frame):
        first, second = _graphs(one.graph, other.graph)
        differ = one.times != other.times or (one.title, words_of(one.notes)) != (other.title, words_of(other.notes))
        return replace(one, graph=first, differs=differ), replace(other, graph=second, differs=differ)
    if isinstance(one, Box) and isinstance(other, Box):
        facts = [(each.amount.shown, each.times) for each in (one, other)]
        if facts[0] == facts[1] and structure_of(one) == structure_of(other):
            return replace(one, differs=False), replace(other, differs=False)
        return mark_missing(one), mark_missing(other)
    return one, other


def structure_of(box: Box) -> object:
    """Return the computation of a box, without sizes."""
    return box.title, words_of(box.notes), box.experts is not None, box.structure


def words_of(notes: Sequence[Line]) -> list[str]:
    """Return the text of notes without the names of weights, which differ between libraries."""
    return ["".join(text(piece.shown) for piece in note if isinstance(piece, Math)) + str(note[0]) for note in notes]


def mark_missing(node: Node) -> Node:
    """Return a node with everything in it marked as missing from another model."""
    if isinstance(node, Frame):
        return replace(
            node, differs=True, graph=replace(node.graph, nodes=[mark_missing(each) for each in node.graph.nodes])
        )
    return node if isinstance(node, Plus) else replace(node, differs=True)


def _marked(graph: Graph) -> bool:
    frames = [node for each in graph.graphs() for node in each.nodes if isinstance(node, Frame)]
    return any(box.differs for box in graph.boxes()) or any(frame.differs for frame in frames)
