"""What a command prints of one formula: as JSON by the contract, and as the tree of its modules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sympy import Expr, Integer, expand

from .account import Line
from .errors import OptionError
from .formula import Formula
from .ledger import ONE, ZERO, Entry, Kind
from .model import Model
from .notation.text import code, text

if TYPE_CHECKING:
    from fractions import Fraction

_TORCH = {
    Kind.LOOKUP: "Embedding",
    Kind.LINEAR: "Linear",
    Kind.DROPOUT: "Dropout",
    Kind.PARAMETER: "Parameter",
    Kind.STORED: "Parameter",
}


def show_json(model: Model, formula: Formula) -> dict[str, Any]:
    """The document that ``show --json`` prints. In the breakdown, ``value`` is ``count`` times ``formula``.

    A ratio that is not whole is a string of two integers, "p/q"; its rows are ratios of their own.
    """
    numbers = model.known
    return {
        "target": model.target,
        "architecture": model.id,
        "quantity": formula.measure.name,
        "unit": formula.measure.unit,
        "conventions": conventions(model, formula),
        "formula": formula.code(),
        "latex": formula.latex(),
        "symbols": {str(name): number for name, number in numbers.items()},
        "value": _exact(value_of(formula, model)),
        "breakdown": [
            {
                "path": row.path,
                "count": code(row.count),
                "formula": code(row.each),
                "value": _exact(formula.of_row(row, numbers)) if row.total.free_symbols <= numbers.keys() else None,
            }
            for row in formula.rows
        ],
    }


def _exact(value: int | Fraction | None) -> int | str | None:
    return value if value is None or isinstance(value, int) else int(value) if value.denominator == 1 else str(value)


def conventions(model: Model, formula: Formula) -> dict[str, str]:
    """Every convention of the quantity, and the options of the model that differ from its usual form."""
    return {**formula.conventions, **model.component.chosen}


def value_of(formula: Formula, model: Model) -> int | None:
    """The number, or None while a symbol has none."""
    return formula.value() if set(formula.symbols) <= model.known.keys() else None


@dataclass
class Node:
    """A module as torch names it, with all that stands below it."""

    name: str
    label: str = ""
    total: Expr = ZERO
    count: Expr = ONE
    below: dict[str, Node] = field(default_factory=dict)

    def lines(self, guide: str = "", branch: str = "") -> Iterator[tuple[str, Node]]:
        """Each module, indented as a tree."""
        times = f"{text(self.count)} × " if self.count != 1 else ""
        title = ": ".join(filter(None, (self.name, times + self.label)))
        yield branch + title, self
        nodes = list(self.below.values())
        for index, node in enumerate(nodes):
            last = index == len(nodes) - 1
            yield from node.lines(guide + ("   " if last else "│  "), guide + ("└─ " if last else "├─ "))


def module_tree(model: Model, formula: Formula) -> Node:
    """The modules of a model as ``print(model)`` nests them, each with what it comes to in all its copies."""
    if not formula.additive:
        raise OptionError(
            f"{formula.measure.name} is a ratio, which does not add up over modules; see `symformer show`"
        )
    root = Node(model.target)
    _grow(root, formula.root, Integer(1), formula)
    for _, node in root.lines():
        node.total = expand(node.total)
    return root


def _grow(root: Node, line: Line, count: Expr, formula: Formula) -> None:
    count = count * line.count.xreplace(formula.relations)
    words = [word for word in line.path.split(".") if word not in ("*", "")]
    entry = line.entry
    if entry is None or entry.module or line.each != 0:
        node = root
        along = [root]
        for word in words:
            node = node.below.setdefault(word, Node(word))
            along.append(node)
        if entry is None:
            node.label = node.label or (type(line.part).__name__ if line.part else "")
            node.count = line.count.xreplace(formula.relations) if line.count != 1 else node.count
        else:
            if not node.label or words == []:
                node.label = node.label or describe(entry)
            amount = (count * line.each).xreplace(formula.relations)
            for above in along:
                above.total = above.total + amount
    for below in line.lines:
        _grow(root, below, count, formula)


def describe(entry: Entry) -> str:
    """An entry as torch would print the module."""
    if entry.kind in (Kind.LOOKUP, Kind.LINEAR):
        weight = (*entry.weights, *entry.shared)[0]
        sizes = weight.shape if entry.kind is Kind.LOOKUP else weight.shape[::-1]
        bias = any(w.path.endswith("bias") for w in (*entry.weights, *entry.shared))
        extra = "" if entry.kind is Kind.LOOKUP or bias else ", bias=False"
        return f"{_TORCH[entry.kind]}({', '.join(map(text, sizes))}{extra})"
    if entry.kind is Kind.NORM:
        return {"layer": "LayerNorm", "rms": "RMSNorm", "rms_offset": "RMSNorm"}.get(entry.function, entry.function)
    if entry.kind is Kind.ACTIVATION:
        return {"gelu": "GELU", "gelu_new": "NewGELU", "silu": "SiLU", "relu": "ReLU", "tanh": "Tanh"}.get(
            entry.function, entry.function
        )
    return _TORCH.get(entry.kind, entry.kind.value)


def share(part: int | Fraction, whole: int) -> Fraction:
    """A part of a whole, exactly."""
    from fractions import Fraction

    return Fraction(part) / whole if whole else Fraction(0)
