"""Several models in narrow columns: parts without formulas, and emphasis where the structure differs from the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from ...language.errors import OptionError
from ...language.notation.display_tree import tree
from ...output.blocks import Line, Strong, maybe
from .figure import Amount, Box, Figure, Frame, Graph, Node, Plus
from .figure_diff import mark_missing, matching, structure_of
from .figure_page import NARROW, SAME_KIND
from .primitives import MOST_COLUMNS
from .slashed_fractions import one_line
from .towers import towers

WIDEST = 450.0  # points: the width of all columns, for a page of A4
STATED = Fraction(1, 1000)  # parts with a smaller share of the total have no number


def narrow_columns(figures: Sequence[Figure], first: Figure) -> list[Figure]:
    """Return figures as narrow columns, with parts marked that the first model does not have.

    A part differs if its kind, mask, positions, window, biases, activation or experts are others; sizes do not count.

    Parameters
    ----------
    figures
        The figures of several models, in order. One of them can be ``first``.
    first
        The figure that the others are compared with.

    Raises
    ------
    OptionError
        For more figures than a page has room for.

    """
    if len(figures) > MOST_COLUMNS:
        raise OptionError(f"{len(figures)} targets are given; a figure has room for at most {MOST_COLUMNS} columns")
    frames = [node for graph in first.graph.graphs() for node in graph.nodes if isinstance(node, Frame)]
    columns = [
        figure if figure is first else replace(figure, graph=_marked(figure.graph, first.graph, frames))
        for figure in figures
    ]
    notes = [
        f"Grey with a thin edge: as in {first.title}. ≠ with a heavy edge: {first.title} has no such part, or a "
        "different one. Other colours show the role of a part."
    ]
    if any(figure.amount.value is not None for figure in figures):
        copies = f"all copies{SAME_KIND if any(figure.kinds for figure in figures) else ''}"
        notes.append(f"Numbers are per copy, and shares include {copies}; parts below 0.1% have no number.")
    columns = [replace(column, graph=_narrow(column.graph, _stacks(column.graph)), narrow=True) for column in columns]
    return [replace(columns[0], shared=notes), *columns[1:]]


def column_width(count: int, whole: float = WIDEST) -> float:
    """Return the width of each of several narrow columns, given the width of all."""
    return (whole - NARROW * (count - 1)) / count


# -- differences -------------------------------------------------------------------------------------------------------


def _marked(graph: Graph, other: Graph, frames: Sequence[Frame]) -> Graph:
    """Return a graph with the nodes marked that another graph does not have.

    Parameters
    ----------
    graph
        The graph.
    other
        The graph of the first model, or of one of its frames.
    frames
        All frames of the first model; each frame is compared with the one that it differs least from.

    """
    pairs = matching(graph, other)
    nodes: list[Node] = []
    for place, node in enumerate(graph.nodes):
        if isinstance(node, Frame):
            nodes.append(_closest(node, frames))
        elif isinstance(node, Plus):
            nodes.append(node)
        else:
            paired = other.nodes[pairs[place]] if place in pairs else None
            same = isinstance(paired, Box) and structure_of(paired) == structure_of(node)
            nodes.append(replace(node, differs=not same))
    return replace(graph, nodes=nodes)


def _closest(frame: Frame, frames: Sequence[Frame]) -> Node:
    """Return a frame, marked where it differs from the frame of the first model that it is most similar to."""
    candidates = [
        replace(frame, graph=_marked(frame.graph, each.graph, frames), differs=frame.title not in ("", each.title))
        for each in frames
    ]
    return min(candidates, key=_differing) if candidates else mark_missing(frame)


def _differing(frame: Frame) -> int:
    return frame.differs + sum(bool(box.differs) for box in frame.graph.boxes())


# -- columns -----------------------------------------------------------------------------------------------------------


def _stacks(graph: Graph) -> dict[str, str]:
    """Return whether each list of layers is of an encoder or of a decoder, by its key; empty without an encoder."""
    found = towers(graph)
    sides = [] if found is None else [(found.encoder, "Encoder"), (found.decoder, "Decoder")]
    return {node.key: word for side, word in sides for node in side.nodes if isinstance(node, Frame)}


def _narrow(graph: Graph, stacks: Mapping[str, str]) -> Graph:
    return replace(graph, nodes=[_column_node(node, stacks) for node in graph.nodes])


def _column_node(node: Node, stacks: Mapping[str, str]) -> Node:
    if isinstance(node, Plus):
        return node
    name = "" if node.title else node.name
    if isinstance(node, Box):
        return replace(node, name=name, amount=_amount(node.amount))
    stack: Line = [Strong(stacks[node.key])] if node.key in stacks else []
    number = None if node.kind is not None else node.number  # of a kind of layers, the legend states it
    often: Line = (
        ["× ", *(one_line(tree(node.times)) if number is None else [f"{number:,}"])] if node.times != 1 else []
    )
    repetitions: Line = [*stack, *maybe(stack and often, " "), *often]
    return replace(
        node,
        name=name,
        amount=_amount(node.amount),
        graph=_narrow(node.graph, stacks),
        notes=[*([repetitions] if repetitions else []), *node.notes],
        bracketed=False,
    )


def _amount(amount: Amount) -> Amount:
    """Return an amount without its formula, and without its number if that is a negligible share."""
    negligible = amount.share is not None and amount.share < STATED
    return replace(amount, stated=False, value=None if negligible else amount.value)
