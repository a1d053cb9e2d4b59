"""Two figures side by side: parts that only one has, or whose formulas differ, are marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from ...language.notation.text import text
from ...output.blocks import Line, Math
from .figure import Box, Figure, Frame, Graph, Node, Plus

MARKED = "≠: missing from the other model, or with a different formula there."


def mark_differences(left: Figure, right: Figure) -> tuple[Figure, Figure]:
    """Return both figures with their differences marked."""
    first, second = _graphs(left.graph, right.graph)
    return tuple(  # type: ignore[return-value]
        replace(figure, graph=graph, notes=[*figure.notes, *([MARKED] if _marked(first) or _marked(second) else [])])
        for figure, graph in ((left, first), (right, second))
    )


def _graphs(left: Graph, right: Graph) -> tuple[Graph, Graph]:
    """Return both graphs with the differences between matching nodes marked."""
    ours, theirs = list(left.nodes), list(right.nodes)
    pairs = _matching(left, right)
    for place, node in enumerate(ours):
        if place not in pairs:
            ours[place] = _mark(node)
    for place, node in enumerate(theirs):
        if place not in pairs.values():
            theirs[place] = _mark(node)
    for place, other in pairs.items():
        ours[place], theirs[other] = _pair(ours[place], theirs[other])
    return replace(left, nodes=ours), replace(right, nodes=theirs)


def _matching(left: Graph, right: Graph) -> dict[int, int]:
    """Return the places of matching nodes."""
    names, others = ([_kind(node) for node in graph.nodes] for graph in (left, right))
    return {
        block.a + n: block.b + n
        for block in SequenceMatcher(None, names, others, autojunk=False).get_matching_blocks()
        for n in range(block.size)
    }


def align(left: Figure, right: Figure, levels: Sequence[Mapping[str, float]]) -> tuple[Figure, Figure]:
    """Return both figures with additional space, so that matching nodes are at the same height.

    Parameters
    ----------
    left, right
        The figures.
    levels
        For each figure, the y of each node without additional space.

    """
    lifts: tuple[dict[str, float], dict[str, float]] = ({}, {})
    shifts, last = [0.0, 0.0], [-1.0, -1.0]
    for pair in sorted(_pairs(left.graph, right.graph), key=lambda pair: levels[0].get(pair[0], 0.0)):
        if not all(key in known for key, known in zip(pair, levels, strict=True)):
            continue
        ys = [known[key] for key, known in zip(pair, levels, strict=True)]
        if any(y < before for y, before in zip(ys, last, strict=True)):
            continue  # in another order in the other model
        last = ys
        tops = [y + shift for y, shift in zip(ys, shifts, strict=True)]
        for side, (key, top) in enumerate(zip(pair, tops, strict=True)):
            if top < max(tops):
                lifts[side][key] = max(tops) - top
                shifts[side] += max(tops) - top
    return replace(left, graph=_lifted(left.graph, lifts[0])), replace(right, graph=_lifted(right.graph, lifts[1]))


def _pairs(left: Graph, right: Graph) -> Iterator[tuple[str, str]]:
    """Yield the keys of matching nodes, including those in matching frames."""
    for place, other in _matching(left, right).items():
        one, two = left.nodes[place], right.nodes[other]
        yield one.key, two.key
        if isinstance(one, Frame) and isinstance(two, Frame):
            yield from _pairs(one.graph, two.graph)


def _lifted(graph: Graph, lifts: Mapping[str, float]) -> Graph:
    nodes: list[Node] = []
    for node in graph.nodes:
        inner = replace(node, graph=_lifted(node.graph, lifts)) if isinstance(node, Frame) else node
        nodes.append(replace(inner, lift=lifts.get(node.key, 0.0)))
    return replace(graph, nodes=nodes)


def _pair(one: Node, other: Node) -> tuple[Node, Node]:
    if isinstance(one, Frame) and isinstance(other, Frame):
        first, second = _graphs(one.graph, other.graph)
        differ = one.times != other.times or (one.title, _said(one.notes)) != (other.title, _said(other.notes))
        return replace(one, graph=first, differs=differ), replace(other, graph=second, differs=differ)
    if isinstance(one, Box) and isinstance(other, Box):
        facts = [(each.title, each.amount.shown, each.times, _said(each.notes)) for each in (one, other)]
        if facts[0] == facts[1]:
            return replace(one, differs=False), replace(other, differs=False)
        return _mark(one), _mark(other)
    return one, other


def _said(notes: Sequence[Line]) -> list[str]:
    """Return the text of notes without the names of weights, which differ between libraries."""
    return ["".join(text(piece.shown) for piece in note if isinstance(piece, Math)) + str(note[0]) for note in notes]


def _kind(node: Node) -> str:
    """Return a key that is equal for nodes that can match: parts with the same role, sums, frames."""
    if isinstance(node, Plus):
        return "+"
    return "frame" if isinstance(node, Frame) else f"{node.role} {node.title if node.role == 'other' else ''}"


def _mark(node: Node) -> Node:
    if isinstance(node, Frame):
        return replace(node, differs=True, graph=replace(node.graph, nodes=[_mark(each) for each in node.graph.nodes]))
    return node if isinstance(node, Plus) else replace(node, differs=True)


def _marked(graph: Graph) -> bool:
    frames = [node for each in graph.graphs() for node in each.nodes if isinstance(node, Frame)]
    return any(box.differs for box in graph.boxes()) or any(frame.differs for frame in frames)
