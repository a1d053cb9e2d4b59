"""The tables of a part: its terms with their shapes, and its subparts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sympy import Expr, Integer, expand

from ..formulas.account import Line as AccountLine
from ..formulas.account import Measure, Term, together
from ..formulas.derivation import Section
from ..formulas.factorization import factored
from ..formulas.formula import Formula
from ..formulas.operation_names import term_name
from ..formulas.part_labels import modules_apart
from ..language.notation.display_tree import Sum, tree
from ..ledger.facts import OperationKind
from ..output.blocks import Block, Code, Line, Math, Paragraph, Ref, Table, capital, listed, maybe
from .layer_lists import class_path, in_class
from .part_computations import PartComputations
from .part_places import named, title_of


def term_table(section: Section, columns: tuple[str, str], formula: Formula) -> Table:
    rows: list[Sequence[Line]] = []
    for line, term in section.terms:
        rows.append([[named(term_label(section, line, term), formula)], *_amount(term, formula.measure)])
    return _table(section, columns, formula, rows)


def parts_table(section: Section, columns: tuple[str, str], formula: Formula, places: Mapping[str, str]) -> Table:
    """Return the table of a part's own terms and its subparts, in order; each subpart refers to its own equation."""
    rows: list[Sequence[Line]] = []
    prefix = f"{section.line.path}." if section.line.path else ""
    if (common := section.common) is not None:
        total = expand(common.each.xreplace(formula.display_relations))
        rows.append([["common to all layers"], [], [Math.of(total), " by ", Ref(places[common.key])]])
    for line in section.line.lines:
        name = line.path.removeprefix(prefix)
        if line.entry is None and line.each != 0:
            each = expand((line.count * line.each).xreplace(formula.display_relations))
            rows.append([[named(name, formula)], [], [Math.of(each), " by ", Ref(places[line.key])]])
        for term in together(line.terms) if line.entry is not None else ():
            rows.append([[named(term_label(section, line, term), formula)], *_amount(term, formula.measure)])
    return _table(section, columns, formula, rows)


def _amount(term: Term, measure: Measure) -> list[Line]:
    """Return the factors of a term and their expanded product."""
    return [[shape_of(term, measure)], [Math.of(expand(term.expr))]]


def shape_of(term: Term, measure: Measure) -> Math:
    """Return the factors of a term: in a count of parameters, the shape of a weight in torch, with axes of size 1."""
    return Math.shape(term.factors, whole=measure.unit == "elements")


def term_label(section: Section, line: AccountLine, term: Term) -> str:
    """Return the label of a row within its part; a weight counted per element in a single row has just its name."""
    rows = [other for _, other in section.terms if other.weight == term.weight and len(other.factors) > 1]
    label = term.weight if term.made_of and len(rows) == 1 else term_name(line.entry, term)
    for kind, word in _WORDS.items():
        label = label.replace(kind, word)
    return label.removeprefix(f"{section.line.path}.") if section.line.path else label


# Kinds of tensors in a document, where σ is the logistic function, and steps are those of the derivation.
_WORDS = {"(1/σ)": "(reciprocal root)", "(normalised)": "(normalized)", "(step)": "(step counter)"}


def _table(section: Section, columns: tuple[str, str], formula: Formula, rows: Sequence[Sequence[Line]]) -> Table:
    """Return the table of a part; a table with a single row has no caption."""
    unit = capital(unit_of(formula))
    head: list[Line] = [[columns[0].capitalize()], [columns[1].capitalize()], [unit]]
    caption: Line = [f"{unit} of ", *_whose(section, formula), "."]
    return Table(head, rows, "lll", caption=caption if len(rows) > 1 else ())


def _whose(section: Section, formula: Formula) -> Line:
    """Return the place of a part for a caption; a part without a module of its own also has its title."""
    line = section.line
    if not line.path:
        return ["the whole"]
    paths = {class_path(path, formula) for path in section.paths if path}
    (where,) = in_class([line.path], formula)
    inside = any(other.path == line.path and line in other.lines for other in formula.root.parts())
    title = title_of(section, formula)
    shown = inside and not line.is_kind and isinstance(title, str)
    named: Line = [f"the {str(title)[0].lower()}{str(title)[1:]} of "] if shown else []
    apart = [path.removesuffix(".*") for path in modules_apart(line, formula.root)]
    without: Line = [" without ", *listed(*([Code(path)] for path in apart))] if apart else []
    same: Line = ["; the table is the same for the other places listed above"] if len(paths) > 1 else []
    return [*named, *where, *without, *same]


def unit_of(formula: Formula) -> str:
    """Return the unit of a total, as in ``written_unit``."""
    return written_unit(formula.measure)


def written_unit(measure: Measure) -> str:
    """Return the unit of a measure: "parameters" for a total of weights, whose shapes count elements."""
    return "parameters" if measure.unit == "elements" else measure.unit


def bytes_per_parameter(sections: Sequence[Section], formula: Formula) -> list[Block]:
    """Return a sentence on the bytes per parameter if the weights have the same bytes in a single row."""
    terms = (term for section in sections for _, term in section.terms if term.made_of)
    first = next(terms, None)
    if first is None:
        return []
    kinds: list[Line] = [[each.label.removeprefix(first.weight).strip(" ()")] for each in first.made_of]
    at = next(place for place, factor in enumerate(first.factors) if factor != first.made_of[0].factors[place])
    numbers = Sum(tuple(tree(each.factors[at]) for each in first.made_of))
    whole = Math.of(first.factors[at])
    line: Line = ["Each parameter takes ", Math(numbers), " = ", whole, f" {formula.measure.unit}"]
    counters = any(term.label.endswith(STEP) for section in sections for _, term in section.terms)
    return [Paragraph([*line, ", for its ", *listed(*kinds), ".", *maybe(counters, COUNTERS)])]


def copied_heads(sections: Sequence[Section]) -> list[Block]:
    """Return a sentence on why saved keys and values have as many heads as the queries, if heads are grouped."""
    for line, term in (each for section in sections for each in section.terms):
        entry = line.entry
        if entry is None or entry.kind not in (OperationKind.SCORES, OperationKind.MIX):
            continue
        queries, own = (each.shape[1] for each in entry.inputs[:2])
        if queries != own and term.label.endswith(("(keys)", "(values)")) and queries in term.factors:
            once = "the only key/value head" if own == 1 else "each key/value head"
            said = (
                f"Attention without a fused kernel copies {once} for every query head that reads it, so its saved keys "
            )
            return [Paragraph([said, "and values have ", Math.of(queries), " heads, not ", Math.of(own), "."])]
    return []


STEP = " (step)"  # the end of the label of an optimizer's step counter
COUNTERS = " The optimizer also keeps a step counter of 4 bytes for each weight tensor."


def purpose_table(computes: PartComputations | None, section: Section, formula: Formula) -> list[Block]:
    """Return a table of attention's totals for its queries, for its keys and values, and for its output."""
    said = computes.ideas(section.line) if computes and formula.measure.unit == "elements" else {}
    groups: dict[str, Expr] = {}
    for line in section.line.lines:
        name = line.path.removeprefix(f"{section.line.path}.")
        if line.each != 0 and name in said:
            groups[said[name]] = groups.get(said[name], Integer(0)) + line.count * line.each
    whole = expand(sum(groups.values(), Integer(0)) - section.line.each)
    if len(groups) < 2 or whole != 0:
        return []
    rows: list[Sequence[Line]] = [
        [[f"for the {idea}"], [Math(factored(expand(each)))]] for idea, each in groups.items()
    ]
    unit = capital(unit_of(formula))
    caption: Line = [f"{unit} of ", *_whose(section, formula), " by purpose."]
    return [Table([["Purpose"], [unit]], rows, "ll", caption=caption)]
