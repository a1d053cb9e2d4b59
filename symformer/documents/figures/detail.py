"""The inside of the main parts of a model: attention, experts and mixers, without amounts, drawn on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...formulas.account import Line as AccountLine
from ...ledger.facts import OperationKind
from ...output.blocks import Code, FigureBlock, Line
from ...views.figure_facts import FigureFacts
from ...views.formula_facts import is_per_rank
from ..layer_lists import class_path, in_class, kind_words
from .expert_choice import expert_choice

if TYPE_CHECKING:
    from ..formats.page_layout import Page
    from .figure import Graph, Node
    from .primitives import Drawing
    from .text_width import Ruler

MIXERS = ("attention", "state-space mixer", "linear attention", "recurrent block")
MOST = 24  # operations of a part; more are not legible
WIDEST = 250.0  # points: the width of a detail before it is scaled to the page


def detail(facts: FigureFacts, part: str, name: Line = ()) -> FigureBlock | None:
    """Return the figure of the inside of a part, if it is the first of its kind with attention, experts or a mixer.

    Parameters
    ----------
    facts
        The facts of the figure of the model.
    part
        The key of the part, such as ``layers.self_attn``.
    name
        The name of the part in the caption; by default, its key.

    """
    if facts.is_traced or is_per_rank(facts.formula) or part not in _first_parts(facts):
        return None
    kinds = _kinds(facts, part)
    whole = max((each for _, each in kinds), key=lambda each: len(_computation(each)) + len(_windows(each)))
    if len(whole.lines) > MOST:
        return None
    others = [each for each in kinds if _computation(each[1]) != _computation(whole)]
    shown: Line = name or [Code(part)]
    if others:
        same = [each.path for _, each in kinds if _computation(each) == _computation(whole)]
        shown = in_class(same, facts.formula)[0]
    shapes = ", from bottom to top, with shapes of tensors."
    caption: Line = ["The computation of ", *shown, shapes, *_lacking(whole, others)]
    return FigureBlock(partial(_drawn, facts, whole), caption, f"{facts.formula.id}.{part}.inside")


def _first_parts(facts: FigureFacts) -> list[str]:
    """Return the keys of the first part of each kind; a part inside of another one is not drawn again."""
    found: dict[str, str] = {}
    todo: list[AccountLine] = [facts.formula.root]
    while todo:
        line = todo.pop(0)
        if _has_detail(line):
            found.setdefault(line.part.title if line.part is not None else "", line.key)
        else:
            todo = [*line.lines, *todo]
    return [*found.values()]


def _kinds(facts: FigureFacts, part: str) -> list[tuple[AccountLine | None, AccountLine]]:
    """Return a part in each kind of layers that contains it, with the layers; the part alone if there are no kinds."""
    every = list(facts.formula.root.parts())
    own = next(line for line in every if line.key == part)
    apart = {line.path: line for line in facts.root.parts()}
    kinds = [line for line in every if line.listed and own.path.startswith(f"{line.listed}.")]
    found = [(kind, apart.get(f"{kind.path}{own.path.removeprefix(kind.listed)}")) for kind in kinds]
    return [(kind, line) for kind, line in found if line is not None] or [(None, own)]


def _computation(part: AccountLine) -> list[object]:
    """Return the text that the figure of a part shows for each operation."""
    entries = [line.entry for line in part.walk() if line.entry is not None]
    return [(entry.kind, entry.function, entry.window, entry.chunked) for entry in entries]


def _windows(part: AccountLine) -> list[AccountLine]:
    return [line for line in part.walk() if line.entry is not None and line.entry.window is not None]


def _rotated(part: AccountLine) -> bool:
    return any(line.entry is not None and line.entry.kind is OperationKind.ROTATE for line in part.walk())


def _lacking(whole: AccountLine, others: Sequence[tuple[AccountLine | None, AccountLine]]) -> Line:
    """Return a sentence on the window and the positions that a part does not have in other kinds of layers."""
    without = {
        tuple(
            what for what, has in (("window", _windows), ("rotary positions", _rotated)) if has(whole) and not has(each)
        )
        for _, each in others
    }
    lacks = without.pop() if len(without) == 1 else ()
    if "window" not in lacks:  # the name of layers without rotary positions says so
        return []
    kind = others[0][0]
    layers = kind_words(kind) if len(others) == 1 and kind is not None else []
    named = isinstance(layers[0], str) if layers else False
    who: Line = [str(layers[0]).capitalize(), *layers[1:]] if named else ["The other layers"]
    return [" ", *who, f" have no {' and no '.join(lacks)}."]


def _has_detail(line: AccountLine) -> bool:
    if line.entry is not None:
        return False
    role = getattr(line.part, "role", "")
    entries = [each.entry for each in line.walk() if each.entry is not None]
    return role in MIXERS or (role == "MLP" and expert_choice(entries) is not None)


def _drawn(facts: FigureFacts, part: AccountLine, page: Page, ruler: Ruler | None = None) -> Drawing:
    from .figure_builder import FigureBuilder
    from .figure_page import drawing

    figure = FigureBuilder(facts).part(part.key, amounts=False)
    amount = replace(figure.amount, value=None)
    target = f"{facts.subject.name} {class_path(part.path, facts.formula)}"
    shown = replace(
        figure, target=target, graph=_without_amounts(figure.graph), narrow=True, filled=False, amount=amount
    )
    width = min(WIDEST, page.figure[0])
    return drawing(shown, column=width, most=page.figure[1], ruler=ruler)


def _without_amounts(graph: Graph) -> Graph:
    return replace(graph, nodes=[_plain(node) for node in graph.nodes])


def _plain(node: Node) -> Node:
    from .figure import Frame, Plus

    if isinstance(node, Plus):
        return node
    bare = replace(node, amount=replace(node.amount, value=None, share=None, stated=False))
    return replace(bare, graph=_without_amounts(bare.graph)) if isinstance(bare, Frame) else bare
