"""The choice of experts in a figure: a row of experts with the chosen ones filled, and shared experts apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import Expr

from ...language.symbols import symbol
from ...ledger.facts import Entry, OperationKind
from ...output.blocks import Line, Math
from .primitives import SMALL, Rect, Shape, Words
from .text_width import Ruler

SIDE, STEP = 4.6, 6.2
MOST = 12  # experts in a row
SHARED = symbol("X_shared")


@dataclass(frozen=True)
class ExpertChoice:
    """The number of experts that a router chooses, of how many, and the number of experts of every token."""

    chosen: Expr
    total: Expr
    numbers: tuple[int, int] | None = None  # the values of both
    shared: Expr | None = None  # the number of shared experts

    @property
    def line(self) -> Line:
        """The choice in words."""
        return ["the router chooses ", Math.of(self.chosen), " of ", Math.of(self.total), " experts"]


def expert_choice(entries: Sequence[Entry]) -> ExpertChoice | None:
    """Return the choice of experts that the operations of a part make, or None if they choose none."""
    routes = [entry for entry in entries if entry.kind is OperationKind.ROUTE]
    matrices = [entry for entry in entries if entry.kind is OperationKind.EXPERTS]
    if len(routes) != 1 or not matrices:
        return None
    (route,) = routes
    shared = [w for entry in entries if "shared" in entry.path for w in entry.weights if "gate" not in w.path[-12:]]
    sizes = {size for weight in shared for dim in weight.shape for size in dim.free_symbols}
    number = (SHARED if SHARED in sizes else symbol("X") ** 0) if shared else None
    return ExpertChoice(route.output.shape[-1], route.inputs[0].shape[-1], shared=number)


def routers(entries: Sequence[Entry]) -> set[str]:
    """Return the paths of the linear layers whose outputs choose experts, directly or after other operations."""
    made = {id(entry.output.root): entry for entry in entries}
    found: set[str] = set()
    todo = [tensor for entry in entries if entry.kind is OperationKind.ROUTE for tensor in entry.inputs]
    while todo:
        entry = made.get(id(todo.pop().root))
        if entry is not None and entry.kind is OperationKind.LINEAR:
            found.add(entry.path)
        elif entry is not None:
            todo += entry.inputs
    return found


def choice_shapes(choice: ExpertChoice, room: float, ink: str, ruler: Ruler) -> tuple[list[Shape], float]:
    """Return the rows of experts and their words, with their height; the row of one model has its own numbers.

    If not all experts fit the row, the share of those that are filled is the share of all experts that are chosen.
    """
    chosen, total = choice.numbers or (2, MOST + 1)
    dots = ruler.width(["…"], SMALL)
    count = min(total, MOST, max(2, int((room - dots - 1) / STEP)))
    filled = chosen if count == total or choice.numbers is None else max(1, round(count * chosen / total))
    marked = {place * count // filled for place in range(filled)} if filled else set()
    shapes: list[Shape] = [
        Rect(STEP * place, 2, SIDE, SIDE, fill=ink if place in marked else "#FFFFFF", stroke=0.4)
        for place in range(count)
    ]
    x = STEP * count + 1
    if total > count:
        shapes.append(Words(x, 6.4, ["…"], dots, SMALL))
        x += dots + 2
    y = 6.6
    said: Line = [Math.of(choice.chosen), " of ", Math.of(choice.total), " experts"]
    if choice.numbers:
        brief_choice = f"{choice.numbers[0]} of {choice.numbers[1]}"
        said = [*said, f" ({brief_choice})"]
        said = said if ruler.width(said, SMALL) <= room else [f"{brief_choice} experts"]
    lines: list[tuple[Line, bool]] = [(said, False)]
    if choice.shared is not None:
        brief: Line = ["and ", Math.of(choice.shared), " shared"]
        whole: Line = [*brief, ", which every token passes through"]
        fits = STEP + 3 + ruler.width(whole, SMALL) <= room
        lines.append((whole if fits else brief, True))
    for line, apart in lines:
        wide = ruler.width(line, SMALL)
        start = x + 3
        if apart:
            y, start = y + 8.6, STEP + 3
            shapes.append(Rect(0, y - 4.6, SIDE, SIDE, fill=ink, stroke=0.4, radius=1.4))
        elif start + wide > room:
            y, start = y + 8.6, 0.0
        shapes.append(Words(start, y, line, wide, SMALL))
    return shapes, y + 2.4
