"""The modules of a model as a tree, each with its share of a quantity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sympy import Expr, Integer, expand

from ..components.base import Component
from ..formulas import ranks
from ..formulas.account import Line as AccountLine
from ..formulas.formula import Formula
from ..language.errors import OptionError
from ..language.notation.text import code, percent
from ..language.sizes import evaluate
from ..ledger.facts import ONE, ZERO, Entry, OperationKind, Part
from ..models.model import Model
from ..output.blocks import BriefBlock, Line, Math, Paragraph, Table, plain
from .provenance_lines import provenance_json, provenance_lines
from .summary import config_commit, missing_of, notes, remarks, share, value_of

_TORCH = {
    OperationKind.LOOKUP: "Embedding",
    OperationKind.LINEAR: "Linear",
    OperationKind.DROPOUT: "Dropout",
    OperationKind.PARAMETER: "Parameter",
    OperationKind.OBSERVED: "Parameter",
}


@dataclass
class ModuleNode:
    """A module by its name in torch, with all modules below it."""

    name: str
    label: Line = ()  # its class, as torch prints it
    total: Expr = ZERO  # of all copies
    value: int | None = None  # of the total, if all sizes have values
    count: Expr = ONE
    among: Expr | None = None  # the number of layers of all kinds
    below: dict[str, ModuleNode] = field(default_factory=dict)

    @property
    def title(self) -> Line:
        """Its name, the number of copies and its class."""
        some: Line = [" of ", Math.of(self.among)] if self.among is not None else []
        times: Line = [Math.of(self.count), *some, " × "] if self.count != 1 else []
        described = [*times, *self.label]
        return [self.name, *[": "] * bool(self.name and described), *described]

    def lines(self, under: str = "", branch: str = "") -> Iterator[tuple[tuple[str, str], ModuleNode]]:
        """Yield each module with its branch of the tree: the text before its first line and before the others."""
        nodes = list(self.below.values())
        yield (branch, under + ("│" if nodes else "")), self
        for index, node in enumerate(nodes):
            last = index == len(nodes) - 1
            yield from node.lines(under + ("   " if last else "│  "), under + ("└─ " if last else "├─ "))


@dataclass(frozen=True)
class ModuleTree:
    """The modules of a model, nested as in ``print(model)``, each with the total of all its copies."""

    model: Model
    formula: Formula
    root: ModuleNode
    whole: int | None  # the value of the formula, if all sizes have values

    @classmethod
    def of(cls, model: Model, formula: Formula) -> ModuleTree:
        """Return the tree of a model. Raises OptionError for a ratio."""
        if not formula.additive:
            raise OptionError(
                f"{formula.measure.name} is a {formula.form} and cannot be summed over modules; use `symformer show`"
            )
        root, whole = ModuleNode(model.target), value_of(formula, model)
        _grow(root, formula.root, Integer(1), formula)
        for _, node in root.lines():
            node.total = formula.collect_totals(expand(node.total))
            node.value = None if whole is None else evaluate(node.total, formula.with_totals(model.known), node.name)
        return cls(model, formula, root, whole)

    def to_blocks(self) -> list[BriefBlock]:
        """Return the table of the modules, with their shares if all sizes have values, and notes on the formula."""
        model, formula, whole = self.model, self.formula, self.whole
        branches, rows = [], list[Sequence[Line]]()
        for branch, node in self.root.lines():
            cells: list[Line] = [node.title, [Math.of(node.total)]]
            if whole is not None and node.value is not None:
                cells += [[f"{node.value:,}"], [percent(share(node.value, whole))]]
            branches.append(branch)
            rows.append(cells)
        head: list[Line] = [["module"], [formula.measure.title]]
        head += [] if whole is None else [[formula.measure.unit], ["share"]]
        said = [*remarks(model, formula), *([line] for line in provenance_lines(model, formula))]
        return [Table(head, rows, "llrr"[: len(head)], branches=branches), *map(Paragraph, said)]

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``tree --json`` prints."""
        model, formula = self.model, self.formula
        return {
            "target": model.target,
            **config_commit(model),
            "quantity": formula.measure.name,
            "unit": formula.measure.unit,
            "missing": [str(size) for size in missing_of(formula, model)],
            "notes": notes(model, formula),
            **ranks.facts(formula.ranks, model.known),
            "modules": [
                {"module": branch + plain(node.title), "formula": code(node.total), "value": node.value}
                for (branch, _), node in self.root.lines()
            ],
            "provenance": provenance_json(model, formula),
        }


def _grow(root: ModuleNode, line: AccountLine, count: Expr, formula: Formula) -> None:
    count = count * line.count.xreplace(formula.display_relations)
    words = [word for word in line.path.split(".") if word not in ("*", "")]
    entry = line.entry
    if line.is_kind and not any(one.each != 0 or (one.entry and one.entry.module) for _, one in line.leaves()):
        return  # a kind of layer without rows of its own in this quantity
    if entry is None or _stands(line):
        node = root
        along = [root]
        for word in words:
            node = node.below.setdefault(word, ModuleNode(word))
            along.append(node)
        if entry is None:
            if line.part:
                node.label = node.label or [_class_of(line.part)]
            listed = line.is_kind and node.count != 1  # the node has the layers of all kinds
            node.count = node.count if line.count == 1 or listed else line.count.xreplace(formula.display_relations)
            node.among = (line.among if line.is_kind and not listed else None) or node.among
        else:
            node.label = node.label or describe(entry)
            amount = (count * line.each).xreplace(formula.display_relations)
            for above in along:
                above.total = above.total + amount
    for below in line.lines:
        _grow(root, below, count, formula)


def _stands(line: AccountLine) -> bool:
    """Return True if an operation has its own line: its count is not zero, or it is a module in torch."""
    return line.each != 0 or (line.entry is not None and line.entry.module)


def _class_of(part: Part) -> str:
    """Return the class of a part, or the class of the code if it was traced."""
    own = vars(part).get("title", "") if isinstance(part, Component) else ""  # built-in parts inherit their title
    return own.partition(" ")[0] or type(part).__name__


def describe(entry: Entry) -> Line:
    """Return an entry as torch would print the module."""
    if entry.kind in (OperationKind.LOOKUP, OperationKind.LINEAR):
        weight = (*entry.weights, *entry.shared)[0]
        sizes = weight.shape if entry.kind is OperationKind.LOOKUP else weight.shape[::-1]
        bias = any(w.path.endswith("bias") for w in (*entry.weights, *entry.shared))
        extra = "" if entry.kind is OperationKind.LOOKUP or bias else ", bias=False"
        return [f"{_TORCH[entry.kind]}(", *_joined(sizes, ", "), f"{extra})"]
    if entry.kind is OperationKind.CONVOLUTION:
        (out, each, *kernel), into = entry.weights[0].shape, entry.inputs[0].shape[1]
        groups: Line = [] if each == into else [", groups=", Math.of(into)]
        bias_off = "" if len(entry.weights) > 1 else ", bias=False"
        shape = [*_joined([into, out], ", "), ", kernel=", *_joined(kernel, "×")]
        return [f"Conv{len(kernel)}d(", *shape, *groups, f"{bias_off})"]
    if entry.kind is OperationKind.NORM:
        norm = "RMSNorm" if entry.function.startswith("rms") else entry.function
        return ["LayerNorm" if entry.function == "layer" else norm]
    if entry.kind is OperationKind.ACTIVATION:
        names = {"gelu": "GELU", "gelu_new": "NewGELU", "silu": "SiLU", "relu": "ReLU", "tanh": "Tanh"}
        return [names.get(entry.function, entry.function)]
    return [_TORCH.get(entry.kind, entry.kind.value)]


def _joined(sizes: Sequence[Expr], between: str) -> Line:
    first, *others = map(Math.of, sizes)
    return [first, *(piece for size in others for piece in (between, size))]
