"""Two figures side by side: parts that only one has, or whose formulas differ, are marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from ...language.notation.text import text
from ...output.blocks import Line, Math
from .column_alignment import node_kind
from .figure import Box, Figure, Frame, Graph, Node, Plus

GREY = "Grey: the same in both models."
MARKED = f"≠: missing from the other model, or with a different formula there. {GREY}"


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
    """Return the places of matching nodes."""
    names, others = ([node_kind(node) for node in graph.nodes] for graph in (left, right))
    return {
        block.a + n: block.b + n
        for block in SequenceMatcher(None, names, others, autojunk=False).get_matching_blocks()
        for n in range(block.size)
    }


def _pair(one: Node, other: Node) -> tuple[Node, Node]:
    if isinstance(one, Frame) and isinstance(other, Frame):
        first, second = _graphs(one.graph, other.graph)
        differ = one.times != other.times or (one.title, words_of(one.notes)) != (other.title, words_of(other.notes))
        return replace(one, graph=first, differs=differ), replace(other, graph=second, differs=differ)
    if isinstance(one, Box) and isinstance(other, Box):
        facts = [(each.title, each.amount.shown, each.times, words_of(each.notes)) for each in (one, other)]
        if facts[0] == facts[1]:
            return replace(one, differs=False), replace(other, differs=False)
        return mark_missing(one), mark_missing(other)
    return one, other


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
