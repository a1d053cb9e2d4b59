"""Figures in columns: additional space, so that nodes with the same role are at the same height in every column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from .figure import Figure, Frame, Graph, Node, Plus


@dataclass
class AlignedRow:
    """Nodes of several figures that match: the key of each by the number of its figure, and the rows in frames."""

    kind: str
    keys: dict[int, str] = field(default_factory=dict)
    inner: list[AlignedRow] = field(default_factory=list)

    def walk(self) -> Iterator[AlignedRow]:
        """Yield this row and the rows in its frames, from the bottom."""
        yield self
        for row in self.inner:
            yield from row.walk()


def node_kind(node: Node) -> str:
    """Return a key that is equal for nodes that can match: parts with the same role, sums, frames."""
    if isinstance(node, Plus):
        return "+"
    return "frame" if isinstance(node, Frame) else f"{node.role} {node.title if node.role == 'other' else ''}"


def aligned(figures: Sequence[Figure], levels: Sequence[Mapping[str, float]]) -> list[Figure]:
    """Return figures with additional space, so that matching nodes are at the same height.

    Parameters
    ----------
    figures
        The figures.
    levels
        For each figure, the y of each node without additional space.

    """
    rows: list[AlignedRow] = []
    for number, figure in enumerate(figures):
        rows = _merged(rows, number, figure.graph)
    lifts: list[dict[str, float]] = [{} for _ in figures]
    shifts, last = [0.0] * len(figures), [-1.0] * len(figures)
    for row in (inner for each in rows for inner in each.walk()):
        standing = {
            number: levels[number][key]
            for number, key in row.keys.items()
            # A figure with two towers has no levels; a lower node is in another order in its figure.
            if key in levels[number] and levels[number][key] >= last[number]
        }
        top = max((y + shifts[number] for number, y in standing.items()), default=0.0)
        for number, y in standing.items():
            last[number] = y
            missing = top - y - shifts[number]
            if missing > 0:
                lifts[number][row.keys[number]] = missing
                shifts[number] += missing
    return [replace(figure, graph=_lifted(figure.graph, lift)) for figure, lift in zip(figures, lifts, strict=True)]


def _merged(rows: Sequence[AlignedRow], number: int, graph: Graph) -> list[AlignedRow]:
    """Return the rows with the nodes of a further figure: in a row of their kind, or in a row of their own."""
    names = [node_kind(node) for node in graph.nodes]
    found: list[AlignedRow] = []
    for tag, start, end, first, last in SequenceMatcher(
        None, [row.kind for row in rows], names, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            same = rows[start:end]
        else:
            found += rows[start:end]
            same = [AlignedRow(name) for name in names[first:last]]
        for row, node in zip(same, graph.nodes[first:last], strict=True):
            inner = _merged(row.inner, number, node.graph) if isinstance(node, Frame) else row.inner
            found.append(AlignedRow(row.kind, {**row.keys, number: node.key}, inner))
    return found


def _lifted(graph: Graph, lifts: Mapping[str, float]) -> Graph:
    nodes: list[Node] = []
    for node in graph.nodes:
        inner = replace(node, graph=_lifted(node.graph, lifts)) if isinstance(node, Frame) else node
        nodes.append(replace(inner, lift=lifts.get(node.key, 0.0)))
    return replace(graph, nodes=nodes)
