"""Figures of models by their targets, and the frames of a graph."""

from __future__ import annotations

from symformer.documents.figures.figure import Figure, Frame, Graph
from symformer.documents.figures.figure_builder import FigureBuilder
from symformer.targets.resolution import resolve
from symformer.views.figure_facts import figure_facts


def builder(target: str, quantity: str = "params", **conventions: str) -> FigureBuilder:
    model, _ = resolve(target)
    return FigureBuilder(figure_facts(model, model.formula(quantity, **conventions)))


def figure(target: str, quantity: str = "params", **conventions: str) -> Figure:
    return builder(target, quantity, **conventions).architecture()


def frames(graph: Graph) -> list[Frame]:
    return [node for each in graph.graphs() for node in each.nodes if isinstance(node, Frame)]
