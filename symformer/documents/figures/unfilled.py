"""A figure without its amounts, for a page on which the reader computes them."""

from __future__ import annotations

from dataclasses import replace

from sympy import Integer

from .figure import Amount, Box, Figure, Frame, Graph, Node

NONE = Amount(Integer(0), Integer(0))


def unfilled(figure: Figure) -> Figure:
    """Return a figure that names its parts without their formulas, numbers and shares."""
    return replace(figure, amount=NONE, graph=_graph(figure.graph), filled=False)


def _graph(graph: Graph) -> Graph:
    return replace(graph, nodes=[*map(_node, graph.nodes)])


def _node(node: Node) -> Node:
    match node:
        case Frame(graph=graph):
            return replace(node, amount=NONE, graph=_graph(graph))
        case Box():
            return replace(node, amount=NONE)
    return node
