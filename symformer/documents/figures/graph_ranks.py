"""The rows of a graph: each node above its inputs, and nodes without inputs directly below their readers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import inf

from .figure import Box, Frame, Graph, Node

KIND = 140.0  # minimum width in points of a kind of layers next to another
KINDS = 2  # kinds of layers side by side, if there is room
LEAST = 50.0  # minimum width in points of a box next to others


def ranks(graph: Graph, kinds: int = KINDS) -> dict[str, int]:
    """Return the row of each node: above its inputs, or directly below its first reader if it has no inputs."""
    keys = [node.key for node in graph.nodes]
    into: Mapping[str, list[str]] = defaultdict(list)
    out: Mapping[str, list[str]] = defaultdict(list)
    for each in graph.arrows:
        into[each.target].append(each.source)
        if each.source:
            out[each.source].append(each.target)
    if not graph.arrows and graph.nodes and all(isinstance(node, Frame) for node in graph.nodes):
        return {key: 1 + (len(keys) - 1 - place) // kinds for place, key in enumerate(keys)}
    if not graph.arrows:
        return {key: len(keys) - place for place, key in enumerate(keys)}
    found: dict[str, int] = {}

    def rank(key: str) -> int:
        if key not in found:
            found[key] = 1 + max((rank(source) for source in into[key] if source), default=0)
        return found[key]

    for key in keys:
        rank(key)
    given = {each.target for each in graph.arrows if not each.source and each.leaves == 0}
    free = {key for key in keys if key not in given and not any(into[key])}  # no inputs, direct or indirect
    for key in keys:
        free |= (
            {key}
            if into[key] and key not in given and all(not source or source in free for source in into[key])
            else set()
        )
    for key in reversed(keys):  # nodes that no input of the graph reaches
        if key in free and out[key]:
            found[key] = max(1, min(found[target] for target in out[key]) - 1)
    return found


def rows_of(graph: Graph, width: float = inf) -> list[list[Node]]:
    """Return the nodes by rows, from the bottom. Kinds of layers are side by side if the width has room for them."""
    found = ranks(graph, KINDS if width >= KINDS * KIND else 1)
    rows: list[list[Node]] = [[] for _ in range(max(found.values(), default=0))]
    for node in graph.nodes:
        rows[found[node.key] - 1].append(node)
    apart: list[list[Node]] = []
    for row in rows:  # frames share a row with frames only; other nodes move to a row above
        frames: list[Node] = [node for node in row if isinstance(node, Frame)]
        apart += [frames, [node for node in row if node not in frames]]
    return [part for row in apart for part in _split(row, graph, width)]


def _split(row: list[Node], graph: Graph, width: float) -> list[list[Node]]:
    """Return a row as rows that fit the width; nodes without inputs come last, next to their readers."""
    most = max(1, int(min(width / LEAST, len(row))))
    if len(row) <= most or not all(isinstance(node, Box) for node in row):
        return [row] if row else []
    read = {each.target for each in graph.arrows}
    ordered = sorted(row, key=lambda node: node.key not in read)
    return [ordered[start : start + most] for start in range(0, len(ordered), most)]


def breadth(graph: Graph) -> int:
    """Return the maximum number of frames side by side; about four boxes in a row count as one more."""
    return max(
        (max(sum(isinstance(node, Frame) for node in row), len(row) // 4 + 1) for row in rows_of(graph)), default=1
    )
