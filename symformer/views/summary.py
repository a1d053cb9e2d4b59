"""The output for one formula: its JSON document, and the tree of its modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from sympy import Expr, Integer, Symbol, expand

from ..components.base import Component
from ..formulas import ranks
from ..formulas.account import Line as AccountLine
from ..formulas.formula import Formula
from ..language.errors import OptionError
from ..language.notation.text import code
from ..language.sizes import Numbers
from ..language.symbols import letter
from ..ledger.facts import ONE, ZERO, Entry, OperationKind, Part
from ..models.model import Model
from ..output.blocks import Line
from ..quantities import quantity as find_quantity

_TORCH = {
    OperationKind.LOOKUP: "Embedding",
    OperationKind.LINEAR: "Linear",
    OperationKind.DROPOUT: "Dropout",
    OperationKind.PARAMETER: "Parameter",
    OperationKind.OBSERVED: "Parameter",
}


def show_json(model: Model, formula: Formula) -> dict[str, Any]:
    """Return the document that ``show --json`` prints. In the breakdown, ``value`` is ``count`` times ``formula``.

    A ratio that is not an integer is a string of two integers, "p/q". Each of its rows is a separate ratio.
    """
    numbers = model.known
    return {
        "target": model.target,
        **config_commit(model),
        "architecture": model.id,
        "quantity": formula.measure.name,
        "unit": formula.measure.unit,
        "conventions": conventions(model, formula),
        "notes": notes(model, formula),
        "formula": formula.code(),
        "latex": formula.latex(),
        "symbols": {str(name): number for name, number in numbers.items()},
        "value": _exact(value_of(formula, model)),
        "missing": [str(size) for size in missing_of(formula, model)],
        **ranks.facts(formula.ranks, numbers),
        "breakdown": [
            {
                "path": row.path,
                "count": code(row.count),
                "formula": code(row.each),
                "value": _exact(formula.row_total(row, numbers)) if row.total.free_symbols <= numbers.keys() else None,
            }
            for row in formula.rows
        ],
    }


def config_commit(model: Model) -> dict[str, str]:
    """Return the commit of the config of a Hub model, or nothing for any other model."""
    return {"commit": model.provenance.commit} if model.provenance.commit else {}


def _exact(value: int | Fraction | None) -> int | str | None:
    return value if value is None or isinstance(value, int) else int(value) if value.denominator == 1 else str(value)


def conventions(model: Model, formula: Formula) -> dict[str, str]:
    """Return the conventions of the quantity and the non-default options of the model."""
    return {**formula.conventions, **model.component.changed_options}


def notes(model: Model, formula: Formula) -> list[str]:
    """Return notes on a value: how states are stored, and which given sizes have no effect."""
    return [*find_quantity(formula.measure.name).notes_for(formula), *unused_size_notes(model.known, formula)]


def unused_size_notes(known: Numbers, formula: Formula) -> list[str]:
    """Return a sentence for each given size that defines the quantity but has no effect on this model."""
    unused = formula.defining_sizes - formula.dependencies
    return [
        f"{size} = {number:,} ({letter(size).meaning}) has no effect: {formula.id} is the same for every {size}."
        for size, number in known.items()
        if size in unused
    ]


def remarks(model: Model, formula: Formula) -> list[Line]:
    """Return the number of ranks and the notes."""
    return [*ranks.stated(formula.ranks, model.known), *([note] for note in notes(model, formula))]


def missing_of(formula: Formula, model: Model) -> tuple[Symbol, ...]:
    """Return the sizes of a formula without a value, in the order of the alphabet."""
    return tuple(size for size in formula.symbols if size not in model.known)


def value_of(formula: Formula, model: Model) -> int | None:
    """Return the value, or None if a size has no value."""
    return None if missing_of(formula, model) else formula.value(model.known)


# Returns the description of a module, given a function that spells sizes.
Label = Callable[[Callable[[Expr], str]], str]


def _nothing(spell: Callable[[Expr], str]) -> str:
    return ""


def _class_of(part: Part) -> Label:
    """Return the label of a part: its class, or the class of the code if it was traced."""
    own = vars(part).get("title", "") if isinstance(part, Component) else ""  # built-in parts inherit their title
    read = own.partition(" ")[0]
    return lambda spell: read or type(part).__name__


@dataclass
class ModuleNode:
    """A module by its name in torch, with all modules below it."""

    name: str
    label: Label = _nothing
    total: Expr = ZERO
    count: Expr = ONE
    among: Expr | None = None  # the number of layers of all kinds
    below: dict[str, ModuleNode] = field(default_factory=dict)

    def title(self, spell: Callable[[Expr], str]) -> str:
        """Return its name, the number of copies and its description."""
        some = f" of {spell(self.among)}" if self.among is not None else ""
        times = f"{spell(self.count)}{some} × " if self.count != 1 else ""
        return ": ".join(filter(None, (self.name, times + self.label(spell))))

    def lines(self, under: str = "", branch: str = "") -> Iterator[tuple[tuple[str, str], ModuleNode]]:
        """Yield each module with its branch of the tree: the text before its first line and before the others."""
        nodes = list(self.below.values())
        yield (branch, under + ("│" if nodes else "")), self
        for index, node in enumerate(nodes):
            last = index == len(nodes) - 1
            yield from node.lines(under + ("   " if last else "│  "), under + ("└─ " if last else "├─ "))


def module_tree(model: Model, formula: Formula) -> ModuleNode:
    """Return the modules of a model, nested as in ``print(model)``, each with the total of all its copies."""
    if not formula.additive:
        raise OptionError(f"{formula.measure.name} is a ratio and cannot be summed over modules; use `symformer show`")
    root = ModuleNode(model.target)
    _grow(root, formula.root, Integer(1), formula)
    for _, node in root.lines():
        node.total = formula.collect_totals(expand(node.total))
    return root


def _grow(root: ModuleNode, line: AccountLine, count: Expr, formula: Formula) -> None:
    count = count * line.count.xreplace(formula.display_relations)
    words = [word for word in line.path.split(".") if word not in ("*", "")]
    entry = line.entry
    if line.among is not None and not any(
        one.each != 0 or (one.entry and one.entry.module) for _, one in line.leaves()
    ):
        return  # a kind of layer without rows of its own in this quantity
    if entry is None or _stands(line):
        node = root
        along = [root]
        for word in words:
            node = node.below.setdefault(word, ModuleNode(word))
            along.append(node)
        if entry is None:
            if node.label is _nothing and line.part:
                node.label = _class_of(line.part)
            node.count = line.count.xreplace(formula.display_relations) if line.count != 1 else node.count
            node.among = line.among or node.among
        else:
            if node.label is _nothing:
                node.label = partial(describe, entry)
            amount = (count * line.each).xreplace(formula.display_relations)
            for above in along:
                above.total = above.total + amount
    for below in line.lines:
        _grow(root, below, count, formula)


def _stands(line: AccountLine) -> bool:
    """Return True if an operation has its own line: its count is not zero, or it is a module in torch."""
    return line.each != 0 or (line.entry is not None and line.entry.module)


def describe(entry: Entry, spell: Callable[[Expr], str]) -> str:
    """Return an entry as torch would print the module."""
    if entry.kind in (OperationKind.LOOKUP, OperationKind.LINEAR):
        weight = (*entry.weights, *entry.shared)[0]
        sizes = weight.shape if entry.kind is OperationKind.LOOKUP else weight.shape[::-1]
        bias = any(w.path.endswith("bias") for w in (*entry.weights, *entry.shared))
        extra = "" if entry.kind is OperationKind.LOOKUP or bias else ", bias=False"
        return f"{_TORCH[entry.kind]}({', '.join(map(spell, sizes))}{extra})"
    if entry.kind is OperationKind.CONVOLUTION:
        (out, each, *kernel), into = entry.weights[0].shape, entry.inputs[0].shape[1]
        extra = "" if each == into else f", groups={spell(into)}"
        extra += "" if len(entry.weights) > 1 else ", bias=False"
        return f"Conv{len(kernel)}d({spell(into)}, {spell(out)}, kernel={'×'.join(map(spell, kernel))}{extra})"
    if entry.kind is OperationKind.NORM:
        return {"layer": "LayerNorm"}.get(
            entry.function, "RMSNorm" if entry.function.startswith("rms") else entry.function
        )
    if entry.kind is OperationKind.ACTIVATION:
        return {"gelu": "GELU", "gelu_new": "NewGELU", "silu": "SiLU", "relu": "ReLU", "tanh": "Tanh"}.get(
            entry.function, entry.function
        )
    return _TORCH.get(entry.kind, entry.kind.value)


def share(part: int | Fraction, whole: int | Fraction) -> Fraction:
    """Return a part divided by the whole, exactly."""
    return Fraction(part) / whole if whole else Fraction(0)
