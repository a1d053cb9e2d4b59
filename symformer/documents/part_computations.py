"""The computations of the parts of a model, line by line, where its ledger contains them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from sympy import Expr, Symbol

from ..components.base import Component
from ..components.pre_norm_block import PreNormBlock
from ..formulas.account import Line as AccountLine
from ..formulas.derivation import Section
from ..formulas.formula import Formula
from ..formulas.part_labels import is_rest
from ..language.shape_lines import shape_line
from ..language.symbols import N_ep, N_tp, letter
from ..ledger.facts import Ledger, Part, Scope
from ..output.blocks import Assignment, Block, Line, Math, Paragraph, Piece, listed
from ..views.formula_facts import is_per_rank
from .computation import computations
from .distinct_paths import ModuleNames, has_own_names
from .layer_lists import class_path, in_class
from .ledger_dataflow import scope_of, scopes_of
from .operation_roles import operation_roles
from .sentences import sentence


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


class PartComputations:
    """The computations of a model's parts, as far as its ledger contains them."""

    def __init__(self, sections: Sequence[Section], ledger: Ledger, formula: Formula) -> None:
        counted = [section.line for section in sections if section.chain is not None]
        self.kinds = {line.path for line in counted if line.is_kind}
        self.ledger, self.placed = ledger, is_per_rank(formula)
        rests = [line.path for line in formula.root.parts() if is_rest(line, formula.root)]
        self.names = ModuleNames(lambda path: class_path(path, formula), rests)

    def lines(self, line: AccountLine) -> list[tuple[str, Scope, tuple[Assignment, ...]]]:
        """Return the computation of a part, line by line, for each path where it is used.

        Layers of a kind that has its own section are left to that section.
        """
        scopes = self._scopes(line)
        found = computations([scope for _, scope in scopes])
        return [(where, scope, tuple(lines)) for (where, scope), lines in zip(scopes, found, strict=True)]

    def about(self, line: AccountLine, formula: Formula) -> list[Piece]:
        """Return a description of a part; on a rank, of the whole part, as its computation, and then of its share."""
        whole = next((scope.part for _, scope in self._scopes(line)), None) if self.placed else None
        return about_part(line, formula) if whole is None else self._about_share(line, whole, formula)

    def _about_share(self, line: AccountLine, whole: Part | None, formula: Formula) -> list[Piece]:
        about = about_part(replace(line, part=whole), formula)
        return [*about, *_share(line.part, whole, about, formula)]

    def descriptions(self, line: AccountLine, formula: Formula) -> Mapping[str, list[Piece]]:
        """Return the description of a part for each path where it is used, if kinds of layers differ in it."""
        found = {where: self._about_share(line, scope.part, formula) for where, scope in self._scopes(line)}
        return found if any(each != found[where] for each in found.values() for where in found) else {}

    def _scopes(self, line: AccountLine) -> list[tuple[str, Scope]]:
        scopes = scopes_of(line.part, line.path, self.ledger, self.placed)
        return [(where, scope) for where, scope in scopes if where == line.path or where not in self.kinds]

    def ideas(self, line: AccountLine) -> Mapping[str, str]:
        """Return the purpose of each operation of an attention part."""
        scope = scope_of(line.part, line.path, self.ledger, self.placed)
        return operation_roles(scope) if scope is not None else {}


def _share(part: object, whole: object, about: Sequence[Piece], formula: Formula) -> list[Piece]:
    """Return a sentence on the sizes in the description of a whole part that one rank has only a share of."""
    if not isinstance(part, Component) or not isinstance(whole, Component):
        return []
    own, every = (each.with_relations(formula.display_relations) for each in (part, whole))
    shares: dict[Symbol, Expr] = {}
    for each in fields(every):
        size, share = getattr(every, each.name), getattr(own, each.name, None)
        if isinstance(size, Symbol) and isinstance(share, Expr) and share.has(N_tp, N_ep) and Math.of(size) in about:
            shares[size] = share
    said: list[Line] = []
    for size, share in shares.items():
        meaning = letter(size).meaning
        countable = meaning.split(" of ")[0].endswith("s")  # such as query heads, but not a width
        share_of: Line = ["the share ", Math.of(share), " of ", Math.of(size)]
        said.append([Math.of(share), f" {meaning}"] if countable else share_of)
    return [" One rank has ", *listed(*said), "."] if said else []


def computed(computes: PartComputations | None, section: Section, formula: Formula) -> list[Block]:
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
        return [block for lines, _, places in found for block in _at_first(computes, lines, places, formula)]
    shared, told = _shared([split_sentences(said) for _, said, _ in found])
    blocks: list[Block] = [Paragraph(shared)] if shared else []
    every = [in_class([where for where, _ in places], formula) for _, _, places in found]
    first, *_ = [lines for lines, _, _ in found]
    for (lines, _, places), said, names in zip(found, told, every, strict=True):
        changed = [each for each in lines if each not in first] if _is_alike(every) and lines is not first else []
        most = len(lines) == len(first) and 0 < len(changed) <= len(lines) / 2
        differ = "one line differs:" if len(changed) == 1 else f"{len(changed)} lines differ:"
        ending: Line = [": ", *said] if said else [f", {differ}"] if most else [":"]
        ending = [*ending, " ", f"{differ[0].upper()}{differ[1:]}"] if most and said else ending
        blocks.append(Paragraph([*_place(names, _is_alike(every)), *ending]))
        if lines:
            repeated = [each for each in lines if each not in changed] if most else []
            blocks += _at_first(computes, changed if most else lines, places, formula, repeated)
    return blocks


def _is_alike(every: Sequence[Sequence[Line]]) -> bool:
    """Return whether all places are the same module of the class, in layers of several kinds."""
    return len({names[0][0] if len(names) == 1 and len(names[0]) > 1 else None for names in every} - {None}) == 1


def _place(names: Sequence[Line], alike: bool) -> Line:
    """Return the beginning of a sentence on a computation at some places."""
    if alike:  # the path is stated before, once for all of them
        return ["In ", *names[0][2:]]
    # some names end with "in the layers with ..."
    return ["For " if any(len(name) > 1 for name in names) else "In ", *listed(*names)]


OTHER_PLACES = "The other places listed above use the same equations, each with its own weights."


def _at_first(
    computes: PartComputations,
    lines: Sequence[Assignment],
    places: Sequence[tuple[str, Scope]],
    formula: Formula,
    shared: Sequence[Assignment] = (),
) -> list[Block]:
    """Return a computation with the names of weights and modules at the first of its places in the class."""
    alike: dict[str, list[tuple[str, Scope]]] = {}
    for where, scope in places:
        alike.setdefault(class_path(where, formula), []).append((where, scope))
    first, *_ = [computes.names.add(lines, each, shared) for each in alike.values()]  # the others have names, too
    others = len(alike) > 1 and any(has_own_names(line.shown) for line in lines)
    return [first, *([Paragraph([OTHER_PLACES])] if others else [])]


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


INTO = ("In ", "For ")  # the beginnings of sentences on one of several places
_BETWEEN = re.compile(r"(?<=\.) (?=[A-Z])")
