"""The labels of arrows: the shape of a tensor where it changes, and its role in attention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from ...language.notation.display_tree import TensorName, tree
from ...language.shape_lines import Shape
from ...output.blocks import Line, Math, Piece
from .figure import Arrow, Graph, Plus
from .slashed_fractions import one_line

# Inputs with another name in figures: tables of rotary positions, a decoder's tokens, and the output of its encoder.
INPUTS = {"angles": "cos, sin", "target": "t", "memory": "m"}


def shape_text(name: str, shape: Shape) -> Line:
    """Return a name with a shape, such as ``tokens [B, S]``."""
    name = INPUTS.get(name, name)
    dims: list[Piece] = []
    for dim in shape:
        dims += [", " if dims else "", *one_line(tree(dim))]
    # LaTeX has Greek letters in mathematics only
    named: Line = [name] if name.isascii() else [Math(TensorName(name))]
    if not dims:
        return named
    before: Line = [] if not name else [f"{name} "] if name.isascii() else [*named, " "]
    return [*before, "[", *dims, "]"]


def _without_ones(shape: Shape | None) -> Shape:
    """Return a shape without its first axes of 1, which broadcasting may add."""
    axes = tuple(shape or ())
    return axes if not axes or axes[0] != 1 else _without_ones(axes[1:])


def label_arrows(graph: Graph, ports: Sequence[Shape]) -> Graph:
    """Return a graph whose arrows have labels.

    A tensor has one label: next to the head of its first arrow, unless its source has an input of the same shape, or
    it is an input of the graph, which is named with its shape where the graph starts. The label of a sum is after the
    sum and not before it. Queries, keys and values have labels of their own.

    Parameters
    ----------
    graph
        The graph.
    ports
        The shape of each input of the graph.

    """
    signs = {node.key for node in graph.nodes if isinstance(node, Plus)}
    into: dict[str, list[Arrow]] = defaultdict(list)
    for each in graph.arrows:
        into[each.target].append(each)

    def changed(arrow: Arrow) -> bool:
        shape = _without_ones(arrow.shape)
        if not arrow.source:
            return shape != _without_ones(ports[arrow.leaves])
        if arrow.source in signs:
            return all(map(changed, into[arrow.source]))
        turned = (*shape[:-2], *shape[:-3:-1])  # a view with the last two axes exchanged
        return not {shape, turned} & {_without_ones(each.shape) for each in into[arrow.source]}

    known: set[tuple[str, int, str, Shape]] = set()
    arrows: list[Arrow] = []
    for each in graph.arrows:
        shape = tuple(each.shape or ())
        key = (each.source, each.leaves, each.role, shape)
        new = key not in known and each.target not in signs and (changed(each) or len(each.role) == 1)
        if each.target not in signs:
            known |= {key, (each.source, each.leaves, "", shape)}
        label = shape_text(each.role, shape if new else ())
        arrows.append(replace(each, label=tuple(label) if any(label) else ()))
    return replace(graph, arrows=arrows)
