"""The derivation: from the shapes of the weights to the polynomial, as a list of steps verified on construction.

The section of a part writes out its sum, simplifies it and substitutes the relations of the model (``H = 4E``). The
section of a composite adds its parts by name, substitutes their results, and expands. The last section is the whole.

A list with several kinds of layers has a section for what all layers have in common, and one for each kind, which adds
this to its own parts. So the equation of a kind is the total of a layer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sympy import Add, Expr, Symbol, expand

from ..language.frozen import Immutable
from ..language.notation.display_tree import (
    Call,
    FractionNode,
    Label,
    Minus,
    Number,
    Power,
    Product,
    Size,
    Sum,
    Times,
    Tree,
    ordered_terms,
    terms_tree,
    tree,
    value,
)
from ..language.notation.text import text
from ..language.sizes import Relations, evaluate
from ..language.symbols import print_order
from ..ledger.facts import ONE
from ..output.blocks import BriefBlock, Equation, Paragraph
from ..output.chain import Chain
from ..output.notebook import Shown
from . import ranks
from .account import Line, Measure, Term, together
from .part_labels import part_labels
from .totals import gathered

Reason = tuple[Symbol | Line, ...]  # the sizes replaced by relations, or the parts whose results are substituted


@dataclass(frozen=True)
class NamedOperations:
    """Operations of a model or of its layers with the same amount, such as the sums of residual connections."""

    lines: tuple[Line, ...]
    chain: Chain  # their labels, the product of factors, and the amount


@dataclass(frozen=True)
class Section:
    """The total of one part."""

    lines: tuple[Line, ...]  # every place in the model where this part is used
    terms: tuple[tuple[Line, Term], ...]  # the table: entry and product
    chain: Chain | None  # None if the part contributes nothing
    composite: bool
    common: Line | None = None  # of a kind of layers: what all layers of its list have in common
    operations: tuple[NamedOperations, ...] = ()  # the operations outside its parts that its sum names

    @property
    def line(self) -> Line:
        """The first of its places, which the table describes."""
        return self.lines[0]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(line.path for line in self.lines)


@dataclass(frozen=True, repr=False)
class Derivation(Immutable, Shown):
    """The sections of a derivation, parts before their parents; the last one is the whole."""

    sections: tuple[Section, ...]
    relations: Relations
    ranks: Expr = ONE  # the number of ranks that the model is divided among
    known: Mapping[Symbol, int] = field(default_factory=dict)  # the known sizes of its model

    @property
    def whole(self) -> Section:
        return self.sections[-1]

    def __iter__(self) -> Iterator[Section]:
        return iter(self.sections)

    def __repr__(self) -> str:
        chains = self.chains
        labels = f" of {text(chains[-1].labels[0])}" if chains else ""
        steps = sum(len(chain.steps) for chain in chains)
        return f"<derivation{labels}: {len(self.sections)} sections, {steps} steps, each proved>"

    @property
    def chains(self) -> list[Chain]:
        """The chains of all sections with a nonzero total, after the chains of the operations that they name."""
        found: list[Chain] = []
        for section in self.sections:
            found += [each.chain for each in section.operations]
            found += [section.chain] if section.chain is not None else []
        return found

    def to_blocks(self) -> list[BriefBlock]:
        """Return every chain, parts before their parents."""
        stated = map(Paragraph, ranks.stated(self.ranks, self.known))
        return [*map(Equation, self.chains), *ranks.equations(self.ranks, self.known), *stated]


def derive(root: Line, measure: Measure, relations: Relations, totals: Relations) -> Derivation:
    """Return the derivation of an account, with totals in the last steps.

    Every step is verified. Raises DerivationError if a step is not an identity.
    """
    commons = _commons(root, relations, totals)
    operations = {id(line): _named_operations(line, root) for line in root.parts()}
    named = [each for lines in operations.values() for each in lines]
    shared = {id(line) for line in commons.values()}
    labels = part_labels(root, measure, shared, lambda line: expand(_layer(line, commons).xreplace(relations)), named)
    seen: dict[object, int] = {}
    sections: list[Section] = []
    for line in _parts_first(root):
        common = commons.get(id(line))
        key = (_shape_key(line), common and common.key)
        if key in seen and line is not root:
            place = seen[key]
            sections[place] = _merge(sections[place], line, labels)
            continue
        seen[key] = len(sections)
        sections.append(_section(line, labels, relations, totals, commons))
    for section in sections:
        for chain in [each.chain for each in section.operations] + ([section.chain] if section.chain else []):
            chain.prove({**relations, **totals})
    return Derivation(tuple(sections), relations)


def substitution(expr: Expr, numbers: Mapping[Symbol, int]) -> Chain:
    """Return the evaluation of a polynomial: values in each term, then the terms, then the sum; verified exactly.

    >>> from symformer.language.symbols import E, L
    >>> [text(step) for step in substitution(12*L*E**2 + 2*E, {E: 768, L: 12}).steps]
    ['12 · 12 · 768² + 2 · 768', '84,934,656 + 1,536', '84,936,192']
    """
    terms = ordered_terms(expr)
    written = [_with_numbers(tree(term), numbers) for term in terms]
    values = [_number(evaluate(term, numbers, text(term))) for term in terms]
    total = _number(evaluate(expr, numbers, text(expr)))
    steps = [terms_tree(written)] + ([terms_tree(values)] if len(values) > 1 else []) + [total]
    chain = Chain((), tuple(steps))
    chain.prove({})
    return chain


def _number(number: int) -> Tree:
    return Number(number) if number >= 0 else Minus(Number(-number))


def _with_numbers(shown: Tree, numbers: Mapping[Symbol, int]) -> Tree:
    match shown:
        case Size(symbol):
            return Number(numbers[symbol])
        case Power(base, exponent):
            return Power(_with_numbers(base, numbers), exponent)
        case Product(factors):
            return Times(tuple(_with_numbers(factor, numbers) for factor in factors))
        case Minus(operand):
            return Minus(_with_numbers(operand, numbers))
        case Sum(terms):
            return Sum(tuple(_with_numbers(term, numbers) for term in terms))
        case FractionNode(numerator, denominator):
            return FractionNode(_with_numbers(numerator, numbers), _with_numbers(denominator, numbers))
        case Call(function, arguments):
            return Call(function, tuple(_with_numbers(argument, numbers) for argument in arguments))
        case Number():
            return shown
    return _number(evaluate(value(shown), numbers, text(shown)))


def _parts_first(line: Line) -> Iterator[Line]:
    for below in line.lines:
        if below.entry is None:
            yield from _parts_first(below)
    yield line


def _is_composite(line: Line) -> bool:
    return any(below.entry is None and below.each != 0 for below in line.lines)


def _shape_key(line: Line) -> object:
    """Return a key equal for parts that share a section: same class, entry names and factors."""
    return (
        type(line.part).__name__,
        tuple(
            (
                below.path.removeprefix(line.path),
                below.count,
                _shape_key(below),
                *(term.factors for term in below.terms),
            )
            for below in line.lines
        ),
    )


def _commons(root: Line, relations: Relations, totals: Relations) -> dict[int, Line]:
    """Return what all layers of a list have in common, by the id of the line of each kind with parts of its own.

    The kinds of a traced model are groups of weights, and a layer can have several, so these are left out.
    """
    found: dict[int, Line] = {}
    for parent in root.parts():
        for common in parent.lines:
            kinds = _kinds(common, parent)
            if (
                common.is_common
                and common.each != 0
                and kinds
                and _others(common, kinds, relations, totals) is not None
            ):
                found |= {id(kind): common for kind in kinds}
    return found


def _kinds(common: Line, parent: Line) -> list[Line]:
    """Return the kinds of layers with parts of their own, of the list whose common parts are given."""
    return [each for each in parent.lines if each.is_kind and each.listed == common.path and each.each != 0]


def _others(common: Line, kinds: Iterable[Line], relations: Relations, totals: Relations) -> Expr | None:
    """Return the number of layers with nothing but the common parts; None if the kinds do not add up."""
    counted = (common.count - Add(*(kind.count for kind in kinds))).xreplace(relations).xreplace(totals)
    rest = expand(counted)
    return None if any(term.could_extract_minus_sign() for term in Add.make_args(rest)) else rest


def _summands(
    line: Line, relations: Relations, totals: Relations, commons: Mapping[int, Line]
) -> list[tuple[Expr, Line]]:
    """Return the nonzero lines that a composite adds, each with its number of copies."""
    found: list[tuple[Expr, Line]] = []
    if id(line) in commons:
        found.append((ONE, commons[id(line)]))
    for below in line.lines:
        kinds = _kinds(below, line) if below.is_common else []
        if kinds and all(commons.get(id(kind)) is below for kind in kinds):  # each kind includes the common parts
            rest = _others(below, kinds, relations, totals)
            found += [(rest, below)] if rest is not None and rest != 0 else []
        elif below.each != 0:
            found.append((below.count, below))
    return found


def _layer(line: Line, commons: Mapping[int, Line]) -> Expr:
    """Return the total of one copy of a line; of a kind of layers, including what all layers have in common."""
    return line.each + commons[id(line)].each if id(line) in commons else line.each


def _section(
    line: Line,
    labels: Mapping[int, Label],
    relations: Relations,
    totals: Relations,
    commons: Mapping[int, Line],
) -> Section:
    common = commons.get(id(line))
    table = tuple((below, term) for below in line.lines if below.entry is not None for term in together(below.terms))
    label = labels[id(line)]
    composite = _is_composite(line) or common is not None
    operations = _operations([each for each in line.lines if id(each) in labels and each.entry], labels, relations)
    general = expand(_layer(line, commons))
    special = expand(general.xreplace(relations))
    if special == 0:
        return Section((line,), table, None, composite, common)
    replaced = tuple(sorted(general.free_symbols & relations.keys(), key=print_order))
    if composite:
        parts = _summands(line, relations, totals, commons)
        named = [
            _times(count, labels[id(below)]) if id(below) in labels else _written(together(below.terms))
            for count, below in parts
        ]
        filled = [_times(count, tree(expand(_layer(below, commons).xreplace(relations)))) for count, below in parts]
        once = Add(*(count * _layer(below, commons) for count, below in parts)).free_symbols
        replaced = tuple(size for size in totals if size in special.free_symbols - once)
        total = gathered(special, totals)
        counted = tuple(size for size in totals if size in total.free_symbols - special.free_symbols)
        steps: list[tuple[Tree, Reason]] = [
            (terms_tree(named), ()),
            (terms_tree(filled), tuple(below for _, below in parts if below.entry is None)),
            (tree(special), replaced),
            (tree(total), counted),
        ]
    else:
        written = terms_tree([_written((term,)) for _, term in table])
        steps = [(written, ()), (tree(general), ()), (tree(special), replaced)]
    shown, reasons = zip(*_telling(steps), strict=True)
    return Section((line,), table, Chain((label,), shown, reasons), composite, common, operations)


def _named_operations(line: Line, root: Line) -> list[Line]:
    """Return the operations that the sum of a model or of a layer names, as it names its parts."""
    layers = any(below.path.endswith(".*") for below in (line, *line.lines))
    found = [below for below in line.lines if below.entry is not None and below.each != 0]
    named = _is_composite(line) and (line is root or layers)
    return found if named and len(found) <= FEW else []


FEW = 5  # more operations are written by their factors


def _operations(
    lines: Iterable[Line], labels: Mapping[int, Label], relations: Relations
) -> tuple[NamedOperations, ...]:
    """Return named operations with the equation of their amount, those with the same factors together."""
    groups: dict[Tree, list[Line]] = {}
    for line in lines:
        groups.setdefault(_written(together(line.terms)), []).append(line)
    found: list[NamedOperations] = []
    for written, alike in groups.items():
        names = dict.fromkeys(labels[id(line)] for line in alike)
        general = expand(alike[0].each)
        steps = _telling([(each, ()) for each in (written, tree(general), tree(expand(general.xreplace(relations))))])
        found.append(NamedOperations(tuple(alike), Chain(tuple(names), tuple(shown for shown, _ in steps))))
    return tuple(found)


def _telling(steps: list[tuple[Tree, Reason]]) -> list[tuple[Tree, Reason]]:
    """Drop steps that the next one only repeats, such as ``V · E`` before ``VE``."""
    found: list[tuple[Tree, Reason]] = []
    for shown, reason in steps:
        same = found.pop()[1] if found and _repeats(found[-1][0], shown) else ()
        found.append((shown, same or reason))
    return found


def _repeats(shown: Tree, following: Tree) -> bool:
    """Return whether a step has the terms of the following one, in another order at most."""
    if isinstance(shown, Sum) and isinstance(following, Sum):
        return Counter(_opened(shown)) == Counter(_opened(following))
    return _plain(shown) == following


def _opened(shown: Sum) -> list[Tree]:
    return [term for each in shown.terms for term in (each.terms if isinstance(each, Sum) else (each,))]


def _plain(shown: Tree) -> Tree:
    return Product(shown.factors) if isinstance(shown, Times) else shown


def _merge(section: Section, line: Line, labels: Mapping[int, Label]) -> Section:
    chain = section.chain
    label = labels[id(line)]
    if chain is not None and label not in chain.labels:
        chain = replace(chain, labels=(*chain.labels, label))
    return replace(section, lines=(*section.lines, line), chain=chain)


def _written(terms: tuple[Term, ...]) -> Tree:
    """Return products as in the shapes: ``E · 3E + 3E``."""
    products: list[Tree] = []
    for term in terms:
        factors = [tree(factor) for factor in term.factors if factor != 1] or [Number(1)]
        products.append(factors[0] if len(factors) == 1 else Times(tuple(factors)))
    return terms_tree(products)


def _times(count: Expr, shown: Tree) -> Tree:
    if count == 1:
        return shown
    # Two numbers next to each other would read as one: 3 · 56.
    return (Times if count.is_Integer and isinstance(shown, Number) else Product)((tree(count), shown))
