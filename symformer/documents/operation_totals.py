"""The meanings of the named operations of a model or of a layer, such as its rotary tables and its residual sums."""

from __future__ import annotations

from ..formulas.account import Line as AccountLine
from ..formulas.derivation import NamedOperations, Section
from ..formulas.formula import Formula
from ..ledger.facts import ROTARY, OperationKind
from ..output.blocks import Block, Line, Math, Paragraph, Piece, listed, maybe
from .part_places import named
from .part_tables import written_unit

WORDS = {OperationKind.ADD: ("the sum", "the sums")}


def operation_totals(section: Section, formula: Formula) -> list[Block]:
    """Return a paragraph that states the amount of each operation that the sum of a section names.

    Parameters
    ----------
    section
        The section of the model or of a layer.
    formula
        The formula of the document.

    """
    line: list[Piece] = ["Here, "]
    for place, each in enumerate(section.operations):
        line += [*maybe(place, "; "), *_stated(each, formula)]
    return [Paragraph([*line, "."], defines=True)] if section.operations else []


def _stated(found: NamedOperations, formula: Formula) -> Line:
    """Return the equation of some operations and their names."""
    line: list[Piece] = []
    for label in found.chain.labels:
        line += [Math(label), " = "]
    unit, paths = written_unit(formula.measure), list(dict.fromkeys(each.path for each in found.lines))
    verb = "are" if unit.endswith("s") else "is"
    names: list[Line] = [[named(path, formula)] for path in paths]
    return [*line, Math(found.chain.steps[0]), f" {verb} the {unit} of {_word(found.lines)}", *listed(*names)]


def _word(lines: tuple[AccountLine, ...]) -> str:
    """Return what operations are, before their names; empty if the name says it."""
    entries = [line.entry for line in lines if line.entry is not None]
    if all(each.kind is OperationKind.POSITIONS and each.function in ROTARY for each in entries):
        return "the rotary tables "
    one, several = WORDS.get(entries[0].kind, ("", "")) if len({each.kind for each in entries}) == 1 else ("", "")
    word = several if len({line.path for line in lines}) > 1 else one
    return f"{word} " if word else ""
