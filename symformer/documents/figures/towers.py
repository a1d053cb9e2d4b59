"""An encoder and the model that reads its output, side by side, with arrows from one to the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...output.blocks import Line
from .figure import Arrow, Frame, Graph


@dataclass(frozen=True)
class Towers:
    """The graphs of two towers, and the nodes of the first whose outputs the second reads.

    The last inputs of the second graph are these outputs, in the same order.
    """

    encoder: Graph
    decoder: Graph
    handed: Sequence[str]

    @property
    def entering(self) -> frozenset[int]:
        """The inputs of the second graph that come from the first."""
        count = len(self.decoder.ports)
        return frozenset(range(count - len(self.handed), count))


def towers(graph: Graph) -> Towers | None:
    """Return the towers of a graph, or None if no layers are read only as a further input of other layers.

    The nodes of the main tower are those on the way to the output that does not pass through a further input of a
    frame, such as the encoder output that every decoder layer reads. The rest is an encoder if it has layers.
    """
    frames = {node.key for node in graph.nodes if isinstance(node, Frame)}
    main: set[str] = set()
    todo = list(graph.gives)
    if not todo:  # the data flow is unknown
        return None
    while todo:
        key = todo.pop()
        if key not in main:
            main.add(key)
            into = (each for each in graph.arrows if each.target == key and each.source)
            todo += [each.source for each in into if key not in frames or each.enters == 0]
    rest = {node.key for node in graph.nodes} - main
    first = {key for part in _connected(rest, graph.arrows) if part & frames for key in part}
    if not first or any(each.source in main and each.target in first for each in graph.arrows):
        return None
    crossing = [each for each in graph.arrows if each.source in first and each.target not in first]
    handed = list(dict.fromkeys(each.source for each in crossing))
    nodes = [node for node in graph.nodes if node.key in first], [node for node in graph.nodes if node.key not in first]
    own = [each for each in graph.arrows if each.target not in first and each not in crossing]
    ports = sorted({each.leaves for each in own if not each.source})
    moved = [replace(each, leaves=ports.index(each.leaves)) if not each.source else each for each in own]
    moved += [replace(each, source="", leaves=len(ports) + handed.index(each.source)) for each in crossing]
    names: list[Line] = [*(graph.ports[port] for port in ports), *([""] for _ in handed)]
    encoder = Graph(nodes[0], [each for each in graph.arrows if each.target in first], graph.ports)
    return Towers(encoder, Graph(nodes[1], moved, names, graph.gives, graph.results), handed)


def _connected(keys: set[str], arrows: Sequence[Arrow]) -> list[set[str]]:
    """Return the connected parts of some of the nodes of a graph."""
    neighbours: dict[str, set[str]] = defaultdict(set)
    for each in arrows:
        if each.source in keys and each.target in keys:
            neighbours[each.source].add(each.target)
            neighbours[each.target].add(each.source)
    found: list[set[str]] = []
    left = set(keys)
    while left:
        part, todo = set[str](), [next(iter(sorted(left)))]
        while todo:
            key = todo.pop()
            if key not in part:
                part.add(key)
                todo += neighbours[key]
        found.append(part)
        left -= part
    return found
