"""The blocks of a chapter in terms of the parts that its result names, such as the number of chunks N_chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from sympy import Expr, expand

from ..formulas.factorization import factored
from ..formulas.structured_form import NamedPart, StructuredForm, collective, structured, with_names
from ..language.errors import DerivationError
from ..language.notation.display_tree import (
    Call,
    FractionNode,
    Minus,
    Number,
    Power,
    Product,
    Size,
    Sum,
    Times,
    Tree,
    mapped,
    nodes,
    value,
)
from ..language.notation.text import text
from ..output.blocks import Block, Computation, Equation, Line, Math, Paragraph, Table, listed
from ..output.chain import Chain


def with_named_parts(blocks: Sequence[Block], form: StructuredForm) -> list[Block]:
    """Return the blocks after a result, with the same names for the parts that the result names.

    Sums with the factor 1 - 1/N of a collective operation become products, unless that is longer. Every change is
    verified.

    Parameters
    ----------
    blocks
        The blocks of a chapter after its result and the definitions of the names.
    form
        The short form of the result, with its named parts.

    """
    return [_named_block(block, form.parts) for block in blocks]


def definitions(parts: Sequence[NamedPart]) -> list[Block]:
    """Return a paragraph that defines the names of parts; empty if there are none."""
    said: list[Line] = [[Math(part.label), " = ", Math.of(part.definition), f" is {part.meaning}"] for part in parts]
    return [Paragraph(["Here ", *listed(*said), "."], defines=True)] if said else []


@dataclass
class SharedNames:
    """The named parts of several formulas in one document, each name with one definition."""

    parts: list[NamedPart] = field(default_factory=list)

    def short(self, expr: Expr) -> Tree:
        """Return the short form of a formula, without names if one of them has another definition in the document."""
        form = structured(expr)
        known = {part.label.name: part for part in self.parts}
        if any(known.get(part.label.name, part) != part for part in form.parts):
            return factored(expr)
        self.parts += [part for part in form.parts if part not in self.parts]
        return form.steps[0]


def _named_block(block: Block, parts: tuple[NamedPart, ...]) -> Block:
    match block:
        case Paragraph(line=line, defines=False):
            return replace(block, line=_line(line, parts))
        case Table(rows=rows):
            return replace(block, rows=[[_line(cell, parts) for cell in row] for row in rows])
        case Computation(lines=lines):
            return replace(block, lines=[replace(line, shape=_tree(line.shape, parts)) for line in lines])
        case Equation():
            return _equation(block, parts)
    return block


def _line(line: Line, parts: tuple[NamedPart, ...]) -> Line:
    return [Math(_tree(piece.shown, parts)) if isinstance(piece, Math) else piece for piece in line]


def _equation(block: Equation, parts: tuple[NamedPart, ...]) -> Equation:
    """Return an equation whose steps have names; a step that is equal to the one before it is left out."""
    chain = block.chain
    steps: list[Tree] = []
    reasons: list[Any] = []
    lines: list[Line] = []
    for place, step in enumerate(chain.steps):
        shown = _tree(step, parts)
        reason = chain.reasons[place] if place < len(chain.reasons) else ()
        line = block.reasons[place] if place < len(block.reasons) else ()
        if steps and shown == steps[-1]:
            reasons[-1], lines[-1] = reasons[-1] or reason, lines[-1] or line
            continue
        steps.append(shown)
        reasons.append(reason)
        lines.append(line)
    if steps == [*chain.steps]:
        return block
    return replace(block, chain=Chain(chain.labels, tuple(steps), tuple(reasons)), reasons=lines if any(lines) else ())


@lru_cache(maxsize=4096)  # a document shows the same expression again and again
def _tree(shown: Tree, parts: tuple[NamedPart, ...]) -> Tree:
    """Return a display tree with names. Raises DerivationError if its value changes."""

    def change(each: Tree) -> Tree:
        return _as_product(_named(each, parts))

    made: Tree = mapped(shown, change)
    if made != shown and any(expand(value(one) - value(other)) != 0 for one, other in _valued(shown, made)):
        raise DerivationError(f"{text(made)} is not equal to {text(shown)}")
    return made


def _valued(shown: Tree, made: Tree) -> list[tuple[Tree, Tree]]:
    """Return the pairs of expressions to compare: the axes of a shape, or the whole."""
    inside = getattr(shown, "items", None)
    return [*zip(inside, made.items, strict=True)] if inside is not None else [(shown, made)]  # type: ignore[attr-defined]


def _named(shown: Tree, parts: Sequence[NamedPart]) -> Tree:
    """Return a name instead of the expression that it stands for, or a product with names of some of its factors."""
    if not isinstance(shown, Call | FractionNode | Power | Product) or not _is_plain(shown):
        return shown
    for part in parts:
        expr = value(shown)
        if expr == part.definition:
            return part.label
        if not isinstance(shown, Call) and not expr.is_Add and with_names(expr, [part]) != expr:
            return part.labelled(with_names(expr, [part]))
    return shown


def _as_product(shown: Tree) -> Tree:
    """Return a sum as a product with the factor 1 - 1/N, unless that is longer, and with dots before such a product."""
    if isinstance(shown, Product) and any(isinstance(factor, Product) for factor in shown.factors[1:]):
        return Times(shown.factors)
    if not isinstance(shown, Sum) or not all(map(_is_plain, shown.terms)):
        return shown
    found = collective(expand(value(shown)))
    return found if found is not None and len(text(found)) <= len(text(shown)) else shown


def _is_plain(shown: Tree) -> bool:
    """Return True for a term of sizes and numbers, without labels and sums."""
    plain = Call | FractionNode | Minus | Number | Power | Product | Size
    return all(isinstance(each, plain) for each in nodes(shown))
