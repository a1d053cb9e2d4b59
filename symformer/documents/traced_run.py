"""The operations of each part of a traced model, as far as they are recognized in a run of its code.

A trace shows each matrix product, norm and lookup with the module that runs it, but not how the results are combined,
so these operations are listed, not written as equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sympy import Expr

from ..catalogue.module_scopes import kind_sizes
from ..formulas.account import Line as AccountLine
from ..ledger.facts import UNRECOGNIZED, Entry, Ledger, OperationKind
from ..output.blocks import Block, Code, Line, Math, Paragraph, Piece, listed, maybe
from .sentences import sentence

_TABLES = {
    "tokens": "token embedding",
    "positions": "position embedding",
    "segments": "segment embedding",
}
_NAMES = {
    OperationKind.LINEAR: "matrix product",
    OperationKind.CONVOLUTION: "convolution",
    OperationKind.SCORES: "attention scores",
    OperationKind.MIX: "weighted sum of values",
    OperationKind.EXPERTS: "matrix product of each chosen expert",
    OperationKind.MATCH: "product of each row with each row",
    OperationKind.SCAN: "state-space scan",
}


@dataclass(frozen=True)
class TracedRun:
    """The operations of a traced model, by the part of the derivation that contains them."""

    rows: Mapping[str, tuple[Entry, ...]]  # key of a part -> its operations, in the order of the run

    @classmethod
    def of(cls, parts: Sequence[tuple[Expr, AccountLine]], operations: Ledger) -> TracedRun:
        """Return the run of a model. ``parts`` has the parts with a section, each with its number of copies.

        The numbers of copies are in terms of the sizes of the config.
        """
        rows: dict[str, list[Entry]] = {}
        sizes = kind_sizes(operations.root)
        for copied, entry in operations:
            count = copied.xreplace(sizes)
            inside = [(copies, line) for copies, line in parts if _contains(line.path, entry.path)]
            deepest = max((len(line.path) for _, line in inside), default=0)
            nearest = [(copies, line) for copies, line in inside if len(line.path) == deepest]
            alike = [line for copies, line in nearest if copies == count]  # kinds of layers have the same path
            common = [line for _, line in nearest if not line.is_kind]
            for line in (alike or common)[:1]:
                rows.setdefault(line.key, []).append(entry)
        return cls({key: tuple(own) for key, own in rows.items()})

    def introduction(self) -> list[Block]:
        """Return a paragraph on the recognized parts that papers describe, in the order of the run."""
        known = dict.fromkeys(each for own in self.rows.values() for entry in own for each in _described(entry))
        return [Paragraph(sentence(f"Recognized in a run of its code: {'; '.join(known)}."))] if known else []

    def is_recognized(self, line: AccountLine) -> bool:
        """Return whether the purpose of every operation of a part is known."""
        return all(entry.kind not in UNRECOGNIZED for entry in self.rows.get(line.key, ()))

    def operations(self, line: AccountLine) -> list[Piece]:
        """Return the recognized operations of a part, separated by semicolons."""
        known: dict[tuple[str | Math, ...], list[str]] = {}
        for entry in self.rows.get(line.key, ()):
            if entry.kind not in UNRECOGNIZED and entry.kind is not OperationKind.PARAMETER:
                names = known.setdefault(_operation(entry), [])
                names += [_within(entry, line)] if entry.kind not in _UNNAMED else []
        said: list[Piece] = []
        for what, names in known.items():
            said += [*maybe(said, "; "), *what, *maybe(bool(names), " (", *_codes(names), ")")]
        return said

    def blocks(self, line: AccountLine) -> list[Block]:
        """Return a sentence on a part's operations, and one on each module with operations that are only counted."""
        unknown: dict[str, list[str]] = {}
        for entry in self.rows.get(line.key, ()):
            if entry.kind in UNRECOGNIZED:
                module, _, row = entry.path.rpartition(".")
                unknown.setdefault(module, []).append(row)
        known = self.operations(line)
        blocks: list[Block] = [Paragraph(["Operations in a run: ", *known, "."])] if known else []
        for module, rows in unknown.items():
            number = len(dict.fromkeys(rows))
            times = "a product" if number == 1 else f"{number} products"
            where: Line = [f"The purpose of {times} of computed tensors in ", Code(module or "the whole"), " is not "]
            counted = "recognized. The FLOPs include it, as the row " if number == 1 else _INCLUDED
            blocks.append(Paragraph([*where, counted, *_codes(rows), "."]))
        return blocks


def without_run(why: str) -> list[Block]:
    """Return a paragraph that says why a derivation has no computations: no run of the class is known."""
    said = "Only the weights of this class are known, not its computation. The reason: "
    plain = next((_OF_VALUES for name in ("torch.nonzero", "Tensor.item") if f"{name}()" in why), why)
    return [Paragraph([said, plain, *maybe(plain[-1:] not in ".…", ".")])]


_OF_VALUES = "what its code computes depends on the values of tensors, and a trace has only their shapes."


_INCLUDED = "recognized. The FLOPs include them, as the rows "
_UNNAMED = (OperationKind.SCORES, OperationKind.MIX)  # their rows are not modules of the class


def _codes(names: Sequence[str]) -> Line:
    return listed(*([Code(name)] for name in dict.fromkeys(names)))


def _described(entry: Entry) -> list[str]:
    """Return the parts described in papers to which an operation belongs."""
    match entry.kind:
        case OperationKind.NORM if entry.function.startswith("rms"):
            return ["RMS normalization, Zhang and Sennrich 2019 [zhang2019]"]
        case OperationKind.NORM:
            return ["layer normalization, Ba et al. 2016 [ba2016]"]
        case OperationKind.SCORES if entry.window is not None:
            return [_ATTENTION, "sliding windows, Beltagy et al. 2020 [beltagy2020], section 3.1"]
        case OperationKind.SCORES:
            return [_ATTENTION]
        case OperationKind.EXPERTS:
            return ["a mixture of experts, Shazeer et al. 2017 [shazeer2017]"]
    return []


_ATTENTION = "attention, Vaswani et al. 2017 [vaswani2017], section 3.2"


def _contains(outer: str, inner: str) -> bool:
    return not outer or f"{inner}.".startswith(f"{outer}.")


def _within(entry: Entry, line: AccountLine) -> str:
    """Return the path of an entry relative to a part; the last word of the part's path for the part itself."""
    if entry.path == line.path:
        return entry.path.rpartition(".")[2]
    return entry.path.removeprefix(f"{line.path}.") if line.path else entry.path


def _operation(entry: Entry) -> tuple[str | Math, ...]:
    """Return an operation in words."""
    if entry.kind is OperationKind.NORM:
        return ("RMS norm" if entry.function.startswith("rms") else "layer norm",)
    if entry.kind is OperationKind.LOOKUP:
        return (_TABLES.get(entry.function, "lookup in a table"),)
    if entry.kind is OperationKind.SCORES and entry.window is not None:
        return ("attention scores within a window of ", Math.of(entry.window), " tokens")
    return (_NAMES.get(entry.kind, entry.kind.value),)
