"""The parts of a model in a chapter: where each is used, its weights, and its total."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace

from sympy import Expr, Integer, Symbol, expand, fraction

from ..components.base import Component
from ..components.pre_norm_block import PreNormBlock
from ..formulas.account import Line as AccountLine
from ..formulas.account import Term, together
from ..formulas.derivation import Reason, Section
from ..formulas.factorization import factored
from ..formulas.formula import Formula
from ..language.errors import joined
from ..language.notation.display_tree import Label, Sum, tree
from ..language.shape_lines import shape_line
from ..language.symbols import letter
from ..ledger.facts import Ledger, Scope
from ..output.blocks import (
    Assignment,
    Block,
    Code,
    Equation,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Ref,
    Table,
    capital,
    listed,
    maybe,
)
from ..output.chain import Chain
from ..views.derivation_facts import PartFacts
from ..views.formula_facts import is_per_rank
from ..views.module_names import is_layer_list, usual_name
from .computation import computation
from .distinct_paths import ModuleNames
from .layer_lists import class_path, in_class
from .layer_order_text import layer_order
from .ledger_dataflow import scope_of, scopes_of
from .legend import legend
from .operation_roles import operation_roles
from .sentences import sentence
from .traced_run import TracedRun, without_run


def about_part(line: AccountLine, formula: Formula) -> list[Piece]:
    """Return a description of a part, with the sizes of this instance in place of its class's default sizes."""
    if not isinstance(line.part, Component) or line.is_kind:
        return []
    part = line.part.with_relations(formula.display_relations)
    sizes: dict[Symbol, Expr] = {}
    for each in fields(part):
        if isinstance(each.default, Symbol):
            sizes.setdefault(each.default, getattr(part, each.name))
    reads = next((entry.inputs[0].shape for below in line.walk() if (entry := below.entry) and entry.inputs), ())
    takes = shape_line(part.shapes).inputs
    width = takes[0].dims[-1] if takes and takes[0].dims else None
    if isinstance(width, Symbol) and reads and not letter(width).run:
        sizes.setdefault(width, reads[-1])
    about = part.about
    if line.is_common and isinstance(part, PreNormBlock):
        kinds = [each.part for each in formula.root.walk() if each.is_kind and each.among == line.count]
        about = part.about_with(each for each in kinds if isinstance(each, Component))
    return sentence(about, sizes)


def parts(found: PartFacts, formula: Formula, first: bool = True) -> list[Block]:
    """Return the blocks for a chapter's parts; only the ``first`` chapter says what each part is and computes."""
    columns, sections = found.columns, found.steps.sections
    computes = _Computes(sections, found.ledger, formula) if first and found.run is None else None
    traced = _traced(found.run, sections, formula) if first and found.run is not None else None
    printed = [*(each for each in sections if not each.composite), *(each for each in sections if each.composite)]
    places = {line.key: id_of(section.line, formula) for section in printed for line in section.lines}
    blocks: list[Block] = []
    kept = [section for section in sections[:-1] if section.chain is not None]
    copies = {line.key: count.xreplace(formula.display_relations) for count, line in formula.root.counted()}

    def apart(section: Section) -> Line:
        """Return what distinguishes a part from others with the same title: its name, its path or its key.

        If these are equal in the class, the kind of its layers or the number of its copies distinguishes it.
        """
        line, title = section.line, _title(section, formula)
        alike = [other.line for other in kept if _title(other, formula) == title]
        names = (_word(line), line.path.removesuffix(".*"))
        others = ([_word(each) for each in alike], [each.path.removesuffix(".*") for each in alike])
        own = next((name for name, every in zip(names, others, strict=True) if every.count(name) == 1), "")
        if not own and len({copies[each.key] for each in alike}) == len(alike):  # as in blocks of several widths
            return [", ", Math.of(copies[line.key]), " copy" if copies[line.key] == 1 else " copies"]
        return maybe(len(alike) > 1, ", ", *in_class([own or line.key], formula)[0])

    for section in sections[:-1]:
        if not section.composite and section.chain is not None:
            blocks += _part(formula, section, columns, computes, places, apart(section), traced)
    blocks += _silent(formula)
    stored = without_run(found.run_refusal) if first and found.run_refusal else []
    blocks = [*stored, *(traced.introduction() if traced else ()), *blocks]
    blocks = [Heading(1, ["The parts"]), *blocks] if blocks else []
    orders = {} if is_per_rank(formula) or not first else layer_order(found.ledger, found.layers, found.known)
    composites = [section for section in sections[:-1] if section.composite]
    for section in composites:
        if section.chain is None:
            continue
        title = _title(section, formula)
        shown = f"{title[0].lower()}{title[1:]}" if isinstance(title, str) and title[:2].istitle() else title
        alone = isinstance(title, Code) or (isinstance(title, str) and title.startswith(OUTSIDE))
        named = [title] if alone else ["The ", shown]
        blocks.append(Heading(1, [*named, *apart(section)], f"{formula.id}.{section.line.key}"))
        does, located = _computed(computes, section, formula), _places(section, formula, computes)
        if does and section.line.is_kind and section.common is None:  # all but the table is about the whole layer
            blocks += [Paragraph(["Each of these layers computes:"]), *does, *located]
        else:
            blocks += [*located, *does, *(traced.blocks(section.line) if traced else ())]
        if section.line.is_common:  # only the first chapter states the order
            adding = any(each.common is section.line for each in sections)
            said: list[Piece] = [Math(section.chain.labels[0]), ADDED] if adding else []
            said += [*maybe(adding, " "), *orders.pop(section.line.path, [])]
            blocks += [Paragraph(said)] if said else []
        if section.terms:
            blocks.append(_table_of_parts(section, columns, formula, places))
            blocks += _ideas(computes, section, formula)
        blocks.append(_equation(section, section.chain, formula, places))
    whole = sections[-1]
    if whole.chain is None:
        return _explained(blocks, sections, formula, computes)
    blocks.append(Heading(1, ["The model" if found.is_model else "The whole"], formula.id))
    blocks += [*_computed(computes, whole, formula), *(traced.blocks(whole.line) if traced else ())]
    blocks += map(Paragraph, orders.values())
    if not whole.composite and whole.terms:
        blocks.append(_term_table(whole, columns, formula))
    return _explained([*blocks, _equation(whole, whole.chain, formula, places)], sections, formula, computes)


def _traced(run: Ledger, sections: Sequence[Section], formula: Formula) -> TracedRun:
    """Return the operations of a traced model by section."""
    shown = {line.key for section in sections for line in section.lines}
    counted = ((count.xreplace(formula.relations), line) for count, line in formula.root.counted())
    return TracedRun.of([(count, line) for count, line in counted if line.key in shown], run)


def _explained(
    blocks: list[Block], sections: Sequence[Section], formula: Formula, computes: _Computes | None
) -> list[Block]:
    """Return the blocks with distinct names of weights and modules, and the notation after the first heading."""
    blocks = computes.names.applied(blocks) if computes else blocks
    read = legend(blocks)
    ranks: list[Block] = [Paragraph([RANKS])] if read and is_per_rank(formula) else []
    return [*blocks[:1], *read, *ranks, *_state(sections, formula), *blocks[1:]]


ADDED = " is what all of these layers have in common. The total of each kind of layers adds its own parts to it."
RANKS = "Computations are for all ranks together; weights are per rank."


OUTSIDE = "Outside the layers"


def _title(section: Section, formula: Formula) -> Piece:
    """Return the title of a section: the title of a built-in part, or the usual name of a traced module.

    A traced module whose layers are counted separately is titled by what remains of it.
    """
    line = section.line
    if isinstance(line.part, Component):
        if not line.is_kind:
            return line.part.title
        meaning = letter(line.count).meaning if isinstance(line.count, Symbol) else ""
        if meaning.startswith("layers "):
            return capital(meaning)
        return "Other layers" if line.listed else Code(line.name)
    words = [word for word in line.path.split(".") if word != "*"]
    below = [one.path.removeprefix(f"{line.path}.") for one in line.walk()]
    below += ["experts"] * any(word.endswith("_experts") for word in line.key.split("."))
    last = words[-1] if words else ""
    if line.path.endswith("*") and is_layer_list(last):
        if line.is_kind:
            what = line.name.removeprefix(f"{last}_")
            return f"Layers of kind {what}" if what.isdigit() else f"Layers with {_with(what)}"
        return "Sublayer" if "*" in line.path.split(".")[:-1] else "Layers" if line.is_common else "Layer"
    if any(_is_list(path) for path in _apart(line, formula)):
        whole = [usual_name(each.path.rpartition(".")[2]) for each in section.lines]
        return f"{OUTSIDE} of the {joined(dict.fromkeys(whole))}" if all(whole) else OUTSIDE
    if usual := usual_name(last, below):
        return capital(usual)
    label = section.chain.labels[0] if section.chain else None
    own = label.name if isinstance(label, Label) else line.name
    return Code(own if own.rpartition(".")[2] in words or not words else last)  # the class has no conv_layers_1


def _word(line: AccountLine) -> str:
    """Return the last word of the path of a traced module, and the name of any other part."""
    words = [word for word in line.path.split(".") if word not in ("*", "")]
    return line.name if isinstance(line.part, Component) or not words else words[-1]


def _is_list(path: str) -> bool:
    """Return True if a path of a traced module means the layers of a list."""
    return path.endswith(".*") and is_layer_list(path.split(".")[-2])


def _with(module: str) -> str:
    """Return what layers of one kind have, in words: an MLP instead of experts is a dense one."""
    usual = usual_name(module)
    article = {"MLP": "a dense ", "indexer": "an ", **dict.fromkeys(("Mamba mixer", "mixer", "router"), "a ")}
    return f"{article.get(usual, '')}{usual}" if usual else module


def _part(
    formula: Formula,
    section: Section,
    columns: tuple[str, str],
    computes: _Computes | None,
    places: Mapping[str, str],
    apart: Line,
    traced: TracedRun | None,
) -> list[Block]:
    blocks: list[Block] = [Heading(2, [_title(section, formula), *apart], f"{formula.id}.{section.line.key}")]
    blocks += [*_places(section, formula, computes), *_computed(computes, section, formula)]
    blocks += traced.blocks(section.line) if traced else ()
    blocks.append(_term_table(section, columns, formula))
    if section.chain:
        blocks.append(_equation(section, section.chain, formula, places))
    return blocks


class _Computes:
    """The computations of a model's parts, as far as its ledger contains them."""

    def __init__(self, sections: Sequence[Section], ledger: Ledger, formula: Formula) -> None:
        counted = [section.line for section in sections if section.chain is not None]
        self.kinds = {line.path for line in counted if line.is_kind}
        self.ledger, self.placed = ledger, is_per_rank(formula)
        self.names = ModuleNames(lambda path: class_path(path, formula))

    def lines(self, line: AccountLine) -> list[tuple[str, Scope, tuple[Assignment, ...]]]:
        """Return the computation of a part, line by line, for each path where it is used.

        Layers of a kind that has its own section are left to that section.
        """
        return [(where, scope, tuple(computation(scope))) for where, scope in self._scopes(line)]

    def descriptions(self, line: AccountLine, formula: Formula) -> Mapping[str, list[Piece]]:
        """Return the description of a part for each path where it is used, if kinds of layers differ in it."""
        parts = {where: replace(line, part=scope.part) for where, scope in self._scopes(line)}
        found = {where: about_part(each, formula) for where, each in parts.items()}
        return found if any(each != found[where] for each in found.values() for where in found) else {}

    def _scopes(self, line: AccountLine) -> list[tuple[str, Scope]]:
        scopes = scopes_of(line.part, line.path, self.ledger, self.placed)
        return [(where, scope) for where, scope in scopes if where == line.path or where not in self.kinds]

    def ideas(self, line: AccountLine) -> Mapping[str, str]:
        """Return the purpose of each operation of an attention part."""
        scope = scope_of(line.part, line.path, self.ledger, self.placed)
        return operation_roles(scope) if scope is not None else {}


def _computed(computes: _Computes | None, section: Section, formula: Formula) -> list[Block]:
    """Return the computation of a part, separately for each path if the computations or the descriptions differ."""
    found: list[tuple[tuple[Assignment, ...], list[Piece], list[tuple[str, Scope]]]] = []
    for line in section.lines if computes else ():
        about = computes.descriptions(line, formula) if computes else {}
        for where, scope, lines in computes.lines(line) if computes else ():
            said = about.get(where, [])
            same = next((places for other, told, places in found if (other, told) == (lines, said)), None)
            if same is not None:
                same.append((where, scope))
            elif lines or said:
                found.append((lines, said, [(where, scope)]))
    if computes is None:
        return []
    if len(found) < 2:
        return [computes.names.add(lines, places) for lines, _, places in found]
    shared, told = _shared([split_sentences(said) for _, said, _ in found])
    blocks: list[Block] = [Paragraph(shared)] if shared else []
    for (lines, _, places), said in zip(found, told, strict=True):
        names = in_class([where for where, _ in places], formula)
        into = "For " if any(len(name) > 1 for name in names) else "In "  # some names end with "in the layers with ..."
        blocks.append(Paragraph([into, *listed(*names), *([": ", *said] if said else [":"])]))
        blocks += [computes.names.add(lines, places)] if lines else []
    return blocks


def split_sentences(said: Sequence[Piece]) -> list[list[Piece]]:
    """Return the sentences of a description."""
    found: list[list[Piece]] = [[]]
    for piece in said:
        first, *others = _BETWEEN.split(piece) if isinstance(piece, str) else [piece]
        found[-1].append(first)
        found += [[other] for other in others]
    return [each for each in found if any(each)]


def _shared(descriptions: Sequence[list[list[Piece]]]) -> tuple[list[Piece], list[list[Piece]]]:
    """Return the sentences that all descriptions share, and the others of each.

    If the first sentences differ, which name the parts, nothing is shared.
    """
    first, *others = descriptions
    shared = [each for each in first if all(each in other for other in others)]
    if not first or first[0] not in shared:
        shared = []
    return _joined(shared), [_joined([each for each in own if each not in shared]) for own in descriptions]


def _joined(sentences: Sequence[list[Piece]]) -> list[Piece]:
    return [piece for place, each in enumerate(sentences) for piece in ([" ", *each] if place else each)]


_BETWEEN = re.compile(r"(?<=\.) (?=[A-Z])")


def _equation(section: Section, chain: Chain, formula: Formula, places: Mapping[str, str]) -> Equation:
    """Return the equation of a part with the reason for each step; ``places`` maps parts to equation ids."""
    reasons = [_reason(reason, formula, places) for reason in chain.reasons]
    return Equation(chain, id=id_of(section.line, formula), reasons=reasons)


def _reason(reason: Reason, formula: Formula, places: Mapping[str, str]) -> Line:
    relations: list[Line] = [
        [Math.of(size), " = ", Math.of(formula.relations[size])] for size in reason if isinstance(size, Symbol)
    ]
    parts = dict.fromkeys(places[line.key] for line in reason if isinstance(line, AccountLine))
    every = list(dict.fromkeys(places.values()))
    runs: list[list[str]] = []
    for each in sorted(parts, key=every.index):
        if runs and every.index(each) == every.index(runs[-1][-1]) + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    said = relations
    for run in runs:
        said += [[Ref(run[0]), " to ", Ref(run[-1])]] if len(run) > 2 else [[Ref(each)] for each in run]
    return ["by ", *listed(*said)] if said else []


def id_of(line: AccountLine, formula: Formula) -> str:
    """Return the id of the equation of a part."""
    return f"{formula.id}.sum" if line is formula.root else f"{formula.id}.{line.key}"


def _places(section: Section, formula: Formula, computes: _Computes | None) -> list[Block]:
    """Return the places where a part is used and its description, one paragraph per distinct description."""
    said: list[tuple[list[Piece], list[AccountLine]]] = []
    for line in section.lines:
        by_kind = computes is not None and computes.descriptions(line, formula)
        about = about_part(line, formula) if computes and not by_kind else []
        same = next((lines for other, lines in said if other == about), None)
        if same is None:
            said.append((about, [line]))
        else:
            same.append(line)
    blocks: list[Block] = []
    for about, lines in said:
        where: list[Piece] = []
        # Copies of one module that differ only in the backward pass are the same here.
        distinct = {(each.path, each.count): each for each in lines}.values()
        for line, path in _in_lists(distinct, formula):
            one = _layers(line, section.common is not None, first=not where)
            repeated = line.count != 1 or line.is_kind
            some = not repeated and _elsewhere(line, formula)
            where += [*maybe(where, "; " if some or repeated else ", "), *maybe(repeated, *one)]
            where += [*maybe(some, "in some of " if where else "In some of "), *path, *maybe(some, " only")]
            if not isinstance(line.part, Component) and (apart := _apart(line, formula)):
                where += [" without ", *listed(*([Code(other)] for other in apart))]
        kinds = [*_kinds(lines[0], formula)] if not isinstance(lines[0].part, Component) else []
        described = computes is not None and bool(computes.descriptions(lines[0], formula))
        rest: Line = [", for each kind of layer:" if described else ":"]
        blocks.append(Paragraph([*where, *([". ", *about] if about else [". ", *kinds] if kinds else rest)]))
    return blocks


def _in_lists(lines: Iterable[AccountLine], formula: Formula) -> list[tuple[AccountLine, Line]]:
    """Return lines with their paths in the class; those that differ only in the kind of their layers are one."""
    alike: dict[object, list[AccountLine]] = {}
    for line in lines:
        one = line.path and line.count == 1 and not line.is_kind
        alike.setdefault(class_path(line.path, formula) if one else line.key, []).append(line)
    found: list[tuple[AccountLine, Line]] = []
    for first, *others in alike.values():
        if first.is_kind or not first.path:
            found.append((first, [Code(class_path(first.path, formula) or first.name)]))
        else:
            found.append((first, in_class([each.path for each in (first, *others)], formula)[0]))
    return found


def _kinds(line: AccountLine, formula: Formula) -> Line:
    """Return a sentence on the kinds of layers of a traced model, at the part that all layers have in common."""
    if not line.is_common:
        return []
    kinds = [each for each in formula.root.walk() if each.is_kind and each.each != 0]
    said: list[Line] = [
        [Math.of(each.count), f" {_kind_of(each, line.name)}"] for each in kinds if each.path == line.path
    ]
    first = bool(kinds) and kinds[0].path == line.path  # the explanation is the same for every list of layers
    return ["Kinds of layers: ", *listed(*said), ".", *maybe(first, " ", SAME_NUMBER)] if said else []


SAME_NUMBER = (
    "A trace tells in how many layers a weight occurs, not in which. Weights that occur in equally many layers are "
    "therefore shown together."
)


def _kind_of(line: AccountLine, name: str) -> str:
    what = line.name.removeprefix(f"{name}_")
    return f"of kind {what}" if what.isdigit() else f"with {_with(what)}"


def _layers(line: AccountLine, whole_layer: bool, first: bool) -> Line:
    """Return which layers a part belongs to: identical layers, all layers of several kinds, or one kind only.

    With ``whole_layer``, the section of a kind counts the whole layer.
    """
    if line.is_kind and line.among is not None:
        count, among = Math.of(line.count), Math.of(line.among)
        if whole_layer:
            return [count, " of the ", among, " layers, "]
        return ["Specific to " if first else "specific to ", count, " of the ", among, " layers, "]
    times, among = fraction(line.count)
    if line.parallel and among != 1:
        return ["In " if first else "in ", Math.of(times), " of the ", Math.of(among), " layers, "]
    if line.parallel:
        return ["One of " if first else "one of ", Math.of(line.count), " side by side, "]
    if among != 1:  # a part whose weights layers share, or a part inside it whose weights they do not share
        stored, around = Math.of(times), Math.of(among)
        return ["Stored " if first else "stored ", stored, " times for ", around, " copies of the part around it, "]
    if line.is_common:
        return ["Common to all " if first else "common to all ", Math.of(line.count), " layers, "]
    whole = isinstance(line.part, Component) or not line.path.endswith(".*") or _is_list(line.path)
    return ["One of " if first else "one of ", Math.of(line.count), f" identical {'layers' if whole else 'copies'}, "]


def _elsewhere(line: AccountLine, formula: Formula) -> bool:
    """Return True if other lines have the same path: in a list of mixed modules, each kind is counted separately."""
    if isinstance(line.part, Component) or not line.path.endswith("*"):
        return False
    return any(other.path == line.path and other is not line for other in formula.root.parts())


def _apart(line: AccountLine, formula: Formula) -> list[str]:
    """Return the submodules counted separately from a module, as a trace counts a list of layers."""
    if not line.path or _elsewhere(line, formula):
        return []
    inside = {id(below) for below in line.walk()}
    paths = dict.fromkeys(
        other.path
        for other in formula.root.parts()
        if other.each != 0
        and other.path.startswith(f"{line.path}.")
        and other.key.startswith(f"{line.key}.")
        and id(other) not in inside
    )
    return [path for path in paths if not any(path.startswith(f"{other}.") for other in paths)]


def named(path: str, formula: Formula) -> Code:
    """Return the name of a row; a row for the whole target has the target's name."""
    path = class_path(path, formula)
    return Code(path if path.strip(" ") == path != "" else formula.id.rpartition(".")[0] + path)


def _term_table(section: Section, columns: tuple[str, str], formula: Formula) -> Table:
    rows: list[Sequence[Line]] = []
    for _, term in section.terms:
        rows.append([[named(_label(section, term), formula)], *_amount(term)])
    return _table(section, columns, formula, rows)


def _table_of_parts(section: Section, columns: tuple[str, str], formula: Formula, places: Mapping[str, str]) -> Table:
    """Return the table of a part's own terms and its subparts, in order; each subpart refers to its own equation."""
    rows: list[Sequence[Line]] = []
    prefix = f"{section.line.path}." if section.line.path else ""
    if (common := section.common) is not None:
        total = expand(common.each.xreplace(formula.display_relations))
        rows.append([["common to all layers"], [Ref(places[common.key])], [Math.of(total)]])
    for line in section.line.lines:
        name = line.path.removeprefix(prefix)
        if line.entry is None and line.each != 0:
            each = expand((line.count * line.each).xreplace(formula.display_relations))
            rows.append([[named(name, formula)], [Ref(places[line.key])], [Math.of(each)]])
        for term in together(line.terms) if line.entry is not None else ():
            rows.append([[named(_label(section, term), formula)], *_amount(term)])
    return _table(section, columns, formula, rows)


def _amount(term: Term) -> list[Line]:
    """Return the factors of a term and their expanded product."""
    return [[Math.shape(term.factors)], [Math.of(expand(term.expr))]]


def _label(section: Section, term: Term) -> str:
    """Return the label of a row within its part; a weight counted per element in a single row has just its name."""
    rows = [other for _, other in section.terms if other.weight == term.weight and len(other.factors) > 1]
    label = term.weight if term.made_of and len(rows) == 1 else term.label
    label = label.replace("(1/σ)", "(reciprocal root)")  # in a document, σ is the logistic function
    return label.removeprefix(f"{section.line.path}.") if section.line.path else label


def _table(section: Section, columns: tuple[str, str], formula: Formula, rows: Sequence[Sequence[Line]]) -> Table:
    """Return the table of a part; a table with a single row has no caption."""
    head: list[Line] = [[columns[0].capitalize()], [columns[1].capitalize()], [capital(formula.measure.unit)]]
    paths = dict.fromkeys(class_path(path, formula) for path in section.paths if path)
    first = Code(class_path(section.line.path, formula))
    whose: Line = [first, "; the others have the same rows"] if len(paths) > 1 else [*map(Code, paths)]
    caption = [capital(formula.measure.unit), " of ", *(whose or ["the whole"]), "."]
    return Table(head, rows, "lll", caption=caption if len(rows) > 1 else ())


def _state(sections: Sequence[Section], formula: Formula) -> list[Block]:
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
    return [Paragraph([*line, ", for its ", *listed(*kinds), "."])]


def _ideas(computes: _Computes | None, section: Section, formula: Formula) -> list[Block]:
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
    unit = capital(formula.measure.unit)
    caption: Line = [unit, " of ", Code(class_path(section.line.path, formula) or section.line.name), " by purpose."]
    return [Table([["Purpose"], [unit]], rows, "ll", caption=caption)]


def _silent(formula: Formula) -> list[Block]:
    """Return a paragraph on the parts that contribute nothing, and why a tied module does not."""
    counting = [line.path for line in formula.root.walk() if line.each != 0]
    names = [
        row.path
        for row in formula.rows
        if row.each == 0 and not any(path == row.path or path.startswith(f"{row.path}.") for path in counting)
    ]
    names = [*{class_path(name, formula): name for name in reversed(names)}.values()][::-1]
    if not names:
        return []
    line: list[Piece] = ["These parts contribute nothing: "]
    for index, name in enumerate(names):
        line += [", " if index else "", named(name, formula)]
    line.append(".")
    for _, account in formula.root.leaves():
        entry = account.entry
        if account.each == 0 and entry and entry.shared and entry.module:
            line += [" ", Code(entry.path), " uses ", Code(entry.shared[0].path)]
            line += [", which is counted where it is stored." if formula.measure.name == "params" else "."]
    return [Paragraph(line)]
