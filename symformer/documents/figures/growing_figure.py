"""The figure of a model on slides: large names, and the parts derived so far in colour with their formulas.

The current part has a heavy edge, and the parts to come are pale outlines. The text of a drawing has at least the size
of a title, so a drawing is enlarged on its slide without text that is too small to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from sympy import Integer

from ...language.notation.display_tree import tree
from ...ledger.facts import ONE
from ...output.blocks import Code, Line, Strong, plain
from .box_content import FORMULA, PAD, TINTS, TITLE
from .figure import Amount, Box, Figure, Frame, Graph, Node
from .figure_body import figure_body
from .figure_page import BETWEEN, COLUMN, drawing, usual_width
from .layer_strip import strip_shapes
from .operation_labels import PRODUCTS, READS
from .overview import close_frame, innermost_frames
from .primitives import WHITE, Drawing, Rect, Shape, Words
from .slashed_fractions import one_line
from .text_width import Ruler
from .towers import towers
from .wide_drawing import GAP, side_by_side

USUAL, LEAST = 10.5, 9.1  # points: the usual and the smallest text of a figure on a slide; scales are rounded down
SIDE, WHOLE = (262.0, 372.0), (770.0, 372.0)  # points: the room next to the text of a slide, and on a slide of its own
EMPTY = Amount(Integer(0), Integer(0))
EDGE, FAINT, OUTLINE = 1.8, "#757575", "#BBBBBB"  # the edge of the current part; names and edges of parts to come
APART = 12.0  # between two strips of layers
STRIP, NARROWEST = 300.0, 428.0  # width of a strip before it is enlarged, and minimum width of a drawing
INSIDE = 5.0  # between a frame and the drawing in it
FRAME = 34.0  # points that frames take from the width of a box


@dataclass(frozen=True)
class DerivedParts:
    """The progress of a derivation: the keys of the nodes with a result, and of those that a slide is about.

    ``focus`` are the nodes that a figure shows if it has no room for all.
    """

    done: frozenset[str] = frozenset()
    current: frozenset[str] = frozenset()
    focus: frozenset[str] = frozenset()


def growing_drawing(figure: Figure, parts: DerivedParts, ruler: Ruler) -> Drawing | None:
    """Return the figure next to the text of a slide, or None if it is too high even with closed layers.

    If it is too high, its text is smaller. Then only one of two towers is drawn, then layers without the current part
    as single boxes, then only the layer with the current part, and then all layers as single boxes.
    """
    about = parts.current or parts.focus
    layer, tower = _layer(figure, about), _tower(figure, about)
    open_figures = ((figure, USUAL, _Closed.NONE), (figure, LEAST, _Closed.NONE), (tower, LEAST, _Closed.NONE))
    partly = ((figure, LEAST, _Closed.OTHERS), (tower, LEAST, _Closed.OTHERS))
    alone = ((layer, USUAL, _Closed.NONE), (layer, LEAST, _Closed.NONE))
    for shown, size, closed in (
        *open_figures,
        *partly,
        *alone,
        (tower, LEAST, _Closed.ALL),
        (figure, LEAST, _Closed.ALL),
    ):
        drawn = None if shown is None else _side_drawing(shown, parts, ruler, size, closed)
        if drawn is not None:
            return drawn
    return None


class _Closed(Enum):
    """Which layers may be drawn as single boxes: none, those without the current part, or all."""

    NONE = "none"
    OTHERS = "others"
    ALL = "all"


def _tower(figure: Figure, keys: frozenset[str]) -> Figure | None:
    """Return the first tower of a figure that contains one of some nodes, or None if there are no towers."""
    found = towers(figure.graph)
    for graph in (found.encoder, found.decoder) if found is not None else ():
        if keys & {node.key for each in graph.graphs() for node in each.nodes}:
            return replace(figure, graph=graph)
    return None


def _layer(figure: Figure, keys: frozenset[str]) -> Figure | None:
    """Return the first layer that contains one of some boxes, alone, or None if none does."""
    for frame in _frames(figure.graph):
        if keys & {node.key for node in frame.graph.nodes if isinstance(node, Box)}:
            return replace(figure, graph=Graph([frame]))
    return None


def _side_drawing(figure: Figure, parts: DerivedParts, ruler: Ruler, size: float, closed: _Closed) -> Drawing | None:
    width, most = (length * TITLE / size for length in SIDE)
    around = {frame.key for frame in _frames(figure.graph) if parts.current & _keys(frame)}
    shown: Figure | None = replace(figure, graph=_plain(figure.graph, width - FRAME, ruler))
    while shown is not None:
        graph = _framed(shown.graph, parts.done)
        body = figure_body(graph, width - 2, ruler)
        if ruler.settle():
            shown = replace(figure, graph=_plain(figure.graph, width - FRAME, ruler))
            continue
        if body.height <= most:
            coloured = _coloured(body.shapes, graph, replace(parts, current=parts.current | around))
            shapes = [shape.moved(1, 0) for shape in coloured]
            return Drawing(width, body.height + 2, shapes, figure.title, _alt(figure, parts))
        shown = None if closed is _Closed.NONE else _smaller(shown, parts.current or parts.focus, closed)
    return None


def whole_drawing(figure: Figure, parts: Sequence[Figure], ruler: Ruler) -> Drawing | None:
    """Return the figure of a model on a slide of its own, with as many main parts in detail as fit next to it.

    Each of these is in a frame. Return None if the figure is too high even with closed layers.
    """
    broad, most = (length * TITLE / LEAST for length in WHOLE)
    shown: Figure | None = _with_ends(_headed(figure, ruler), figure.graph)
    while shown is not None:
        width = usual_width([shown], most=broad)
        body = figure_body(shown.graph, width - 2, ruler)
        while ruler.settle():
            body = figure_body(shown.graph, width - 2, ruler)
        if body.height <= most:
            break
        shown = _smaller(shown, frozenset(), _Closed.ALL)
    if shown is None:
        return None
    shapes = [_enlarged(shape.moved(1, 0)) for shape in body.shapes]
    whole = Drawing(width, body.height + 2, shapes, figure.title, figure.alt)
    beside = [whole]
    for part in parts:
        headed = _with_ends(_with_roles(_headed(part, ruler)), part.graph)
        drawn = _in_frame(drawing(replace(headed, title=f"{part.title} in detail"), ruler=ruler))
        if drawn.height <= most and sum(each.width + GAP for each in (*beside, drawn)) <= broad:
            beside.append(drawn)
    high = max(each.height for each in beside)
    wide = sum(each.width for each in beside) + GAP * (len(beside) + 1)
    width = max(wide, NARROWEST, min(broad, high * broad / most))
    return side_by_side(beside, width, high)


def _with_roles(figure: Figure) -> Figure:
    """Return a figure whose arrows of queries, keys and values have these letters."""
    arrows = [replace(each, label=(each.role,)) if len(each.role) == 1 else each for each in figure.graph.arrows]
    return replace(figure, graph=replace(figure.graph, arrows=arrows))


def _with_ends(figure: Figure, named: Graph) -> Figure:
    """Return a figure with the names of the inputs and outputs of a graph, without their shapes."""
    ports = [_first_word(line) or [""] for line in named.ports]
    return replace(figure, graph=replace(figure.graph, ports=ports, results=[*map(_first_word, named.results)]))


def _first_word(line: Line) -> Line:
    """Return the name before a shape, if there is one."""
    word = line[0].strip(" [") if line and isinstance(line[0], str) else ""
    return [word] if word else []


def _enlarged(shape: Shape) -> Shape:
    """Return a shape; the name of an input or an output has the size of a title."""
    if not isinstance(shape, Words) or shape.size >= TITLE:
        return shape
    return replace(shape, size=TITLE, width=shape.width * TITLE / shape.size)


def _in_frame(drawn: Drawing) -> Drawing:
    """Return a drawing in a frame."""
    width, height = drawn.width + 2 * INSIDE, drawn.height + 2 * INSIDE
    frame = Rect(0, 0, width, height, ink=OUTLINE, stroke=0.8, radius=4)
    shapes = [_enlarged(shape.moved(INSIDE, INSIDE)) for shape in drawn.shapes]
    return replace(drawn, width=width, height=height, shapes=[frame, *shapes])


def order_drawing(figure: Figure, ruler: Ruler) -> Drawing | None:
    """Return the strips of the layers of a model, one below another, or None if it has none."""
    if not figure.strips:
        return None
    width = STRIP
    while True:
        placed = [strip_shapes(strip, width, ruler) for strip in figure.strips]
        if not ruler.settle():
            break
    shapes: list[Shape] = []
    y = 0.0
    for drawn, high in placed:
        shapes += [shape.moved(0, y) for shape in drawn]
        y += high + APART
    alt = " ".join(f"Layers, from the first: {strip.words()}." for strip in figure.strips)
    return Drawing(width, y, shapes, figure.title, alt)


def without_formulas(figure: Figure) -> Figure:
    """Return a figure with the names of its parts only."""
    return replace(figure, graph=_unlabelled(figure.graph))


def _unlabelled(graph: Graph) -> Graph:
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, Frame):
            nodes.append(replace(node, amount=EMPTY, graph=_unlabelled(node.graph)))
        else:
            nodes.append(replace(node, amount=EMPTY) if isinstance(node, Box) else node)
    return replace(graph, nodes=nodes)


def _headed(figure: Figure, ruler: Ruler) -> Figure:
    """Return a figure with nothing above its graph but its title, and no text that is smaller."""
    graph = _plain(figure.graph, COLUMN - BETWEEN - FRAME, ruler)
    while ruler.settle():
        graph = _plain(figure.graph, COLUMN - BETWEEN - FRAME, ruler)
    return replace(figure, target="", amount=EMPTY, graph=graph, notes=(), strips=())


def _plain(graph: Graph, room: float, ruler: Ruler) -> Graph:
    """Return a graph with the names of its parts, and their formulas as far as they fit a line."""
    graph = _bypassed(graph)
    arrows = [replace(each, label=()) for each in graph.arrows]
    nodes = [_plain_node(node, room, ruler) for node in graph.nodes]
    return replace(
        graph, nodes=nodes, arrows=arrows, ports=[[""] for _ in graph.ports], results=[[]] * len(graph.gives)
    )


def _bypassed(graph: Graph) -> Graph:
    """Return a graph without operations that contribute nothing to the quantity, such as activation functions."""
    for node in graph.nodes:
        into = [each for each in graph.arrows if each.target == node.key]
        idle = isinstance(node, Box) and node.role == "other" and node.amount.shown == 0
        if not idle or len(into) != 1 or not into[0].source:
            continue
        source = into[0].source
        arrows = [each for each in graph.arrows if each.target != node.key]
        graph = replace(
            graph,
            nodes=[each for each in graph.nodes if each.key != node.key],
            arrows=[
                replace(each, source=source, tap=into[0].tap) if each.source == node.key else each for each in arrows
            ],
            gives=[source if key == node.key else key for key in graph.gives],
        )
    return graph


def _plain_node(node: Node, room: float, ruler: Ruler) -> Node:
    if isinstance(node, Frame):
        name = "" if node.title else node.name
        graph = _plain(node.graph, room, ruler)
        return replace(node, name=name, notes=(), graph=graph, amount=_short(node.amount, room / 2, ruler))
    if isinstance(node, Box):
        # One name per box, so that it is large: the title, or the name in torch of one of several matrix products.
        title = "" if node.title in PRODUCTS and node.name else node.title
        name = "" if title else node.name
        amount = _short(node.amount, room - 2 * PAD, ruler)
        tied = [plain(note) for note in node.notes if note[0] == READS] if node.amount.shown == 0 else []
        title = f"{title} ({tied[0].removesuffix('.weight')})" if title and tied else title
        return replace(node, title=title, name=name, notes=(), experts=None, copies=ONE, amount=amount)
    return node


def _short(amount: Amount, room: float, ruler: Ruler) -> Amount:
    """Return the formula of an amount alone, or nothing if it does not fit a line."""
    if amount.shown == 0 or ruler.width(one_line(tree(amount.shown)), FORMULA) > room:
        return EMPTY
    return Amount(amount.each, amount.shown)


def _framed(graph: Graph, done: frozenset[str]) -> Graph:
    """Return a graph without the formulas of frames that are not derived yet."""
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, Frame):
            amount = node.amount if node.key in done else EMPTY
            nodes.append(replace(node, amount=amount, graph=_framed(node.graph, done)))
        else:
            nodes.append(node)
    return replace(graph, nodes=nodes)


def _smaller(figure: Figure, current: frozenset[str], closed: _Closed) -> Figure | None:
    """Return a figure with one more frame as a single box, those with a current part last; None if it has no more."""
    frames = [frame for frame in innermost_frames(figure.graph) if closed is _Closed.ALL or not current & _keys(frame)]
    if not frames:
        return None
    largest = max(frames, key=lambda each: (not current & _keys(each), len(list(each.graph.boxes()))))
    return replace(figure, graph=_once(close_frame(figure.graph, largest)))


def _once(graph: Graph) -> Graph:
    """Return a graph whose boxes have no number of copies in the whole, which a note below a figure would explain."""
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, Frame):
            nodes.append(replace(node, graph=_once(node.graph)))
        else:
            nodes.append(replace(node, copies=ONE) if isinstance(node, Box) else node)
    return replace(graph, nodes=nodes)


def _frames(graph: Graph) -> Iterator[Frame]:
    return (node for each in graph.graphs() for node in each.nodes if isinstance(node, Frame))


def _keys(frame: Frame) -> set[str]:
    return {box.key for box in frame.graph.boxes()}


def _coloured(shapes: Sequence[Shape], graph: Graph, parts: DerivedParts) -> Iterator[Shape]:
    """Yield the shapes of a graph in the colours of the progress."""
    boxes = {f"box {box.key}": box for box in graph.boxes()}
    rects = [shape for shape in shapes if isinstance(shape, Rect) and shape.mark in boxes]
    for shape in shapes:
        if isinstance(shape, Words) and not plain(shape.line):
            continue  # the name of an input without a name
        if isinstance(shape, Rect) and shape.mark in boxes:
            yield _edge(shape, boxes[shape.mark], parts)
        elif isinstance(shape, Words) and (key := _around(shape, rects)) and key not in parts.done:
            if any(isinstance(piece, Strong | Code) for piece in shape.line):
                yield shape if key in parts.current else replace(shape, ink=FAINT)
        else:
            yield shape


def _edge(shape: Rect, box: Box, parts: DerivedParts) -> Rect:
    ink = TINTS.get(box.role, TINTS["other"])[1]
    if box.key in parts.current:
        return replace(shape, ink=ink, stroke=EDGE)
    return shape if box.key in parts.done else replace(shape, fill=WHITE, ink=OUTLINE)


def _around(words: Words, rects: Sequence[Rect]) -> str:
    """Return the key of the box that contains some words; "" if none does."""
    for rect in rects:
        if rect.x <= words.left <= rect.x + rect.w and rect.y <= words.y <= rect.y + rect.h:
            return rect.mark.removeprefix("box ")
    return ""


def _alt(figure: Figure, parts: DerivedParts) -> str:
    """Return the alternative text: the parts that are emphasized, and those that are derived."""
    names = {box.key: box.title or box.name for box in figure.graph.boxes()}
    said = [
        f"{what}: {', '.join(dict.fromkeys(names[key] for key in names if key in keys))}."
        for what, keys in (("Emphasized", parts.current), ("Derived so far", parts.done))
        if keys & names.keys()
    ]
    return " ".join([f"The parts of {figure.title}.", *said])
