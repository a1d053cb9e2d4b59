"""The section of a derivation that states how a model differs from its nearest relative."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Add, Expr, expand

from ..algebra.structure_words import line
from ..formulas.factorization import factored
from ..language.notation.display_tree import Minus, Sum, Tree, ordered_terms, tree
from ..output.blocks import Block, Code, Heading, Line, Math, Paragraph, Piece, Table, capital, listed, maybe
from ..views.relative_facts import RelativeFacts
from .formats.page_layout import breadth

ANCHOR = "relative"
OTHERS = {"params": "parameters", "flops": "FLOPs", "kv-cache": "the KV cache"}  # the quantities of a comparison


def nearest(found: RelativeFacts) -> list[Block]:
    """Return the relative in a sentence, and the parts that differ in a table with the difference of the totals."""
    structure = found.structure
    first, second = structure.names
    blocks: list[Block] = [Heading(1, ["Nearest relative"], ANCHOR), Paragraph(_chosen(found))]
    if structure.same:
        same: list[Line] = [[f"{first} has the structure of {second}: {structure.same_line}."]]
        return [*blocks, _notes(found, same)]
    title = found.title
    head: list[Line] = [["Part"], [first], [second], [capital(title)]]
    rows: list[Sequence[Line]] = [
        [[each.part], *each.cells, _amount(each.amounts[found.quantity])] for each in structure.differences
    ]
    total = len(rows) > 1
    if total:
        rows.append([["Total"], [], [], _amount(structure.totals[found.quantity])])
    caption: Line = [
        f"{first} and its nearest relative. The last column is the {title} of {first} minus the {title} of {second}, "
        "at equal sizes."
    ]
    blocks.append(Table(head, rows, "wwww", total=total, caption=caption))
    blocks += [notes] if (notes := _notes(found)).line else []
    others: list[Line] = [[f"in {words}"] for name, words in OTHERS.items() if name != found.quantity]
    own = structure.models[0]
    changed = [f" --option 1:{name}={value}" for name, value in own.component.changed_options.items()]
    changed += [f" --option 2:{name}=true" for name in found.counted]
    command = f"symformer compare {own.id} {found.relative.name} --structure{''.join(changed)}"
    return [*blocks, Paragraph(["For the differences ", *listed(*others), ": ", Code(command), "."])]


WIDEST = 24  # characters of a difference in one line
NAMED = 3  # architectures that are as near as the relative, at most, of which each is named


def _chosen(found: RelativeFacts) -> Line:
    """Return sentences on the relative, why it is the nearest, and the architectures that are as near."""
    relative = found.relative
    first, second = found.structure.names
    named: list[Piece] = [f"The nearest relative of {first} is ", second, " (", Code(relative.name), ")"]
    if relative.stated:
        return [*named, ", as named in symformer's catalogue; it need not differ in the fewest parts."]
    among = f" {relative.among}" if relative.among else ""
    said = f": none of the older architectures in symformer's catalogue{among} differs from {first} in fewer parts."
    if relative.experts is not None:
        words = ("with", "experts") if relative.experts else ("without", "none")
        said += f" Among those that differ in equally many, models {words[0]} experts come first, because {first} has "
        said += f"{words[1]}."
    ties: list[Line] = [[title, " (", Code(name), ")"] for name, title in found.ties.items()]
    more = len(ties) - NAMED
    ties = [*ties[:NAMED], [f"{more} more"]] if more > 1 else ties
    near = [" ", *listed(*ties), f" {'is' if len(ties) == 1 else 'are'} as near"]
    near += [f"; {second} is {'older' if len(ties) == 1 else 'the oldest'}" if relative.oldest else ""]
    return [*named, said, *maybe(ties, *near, ".")]


def _notes(found: RelativeFacts, said: Sequence[Line] = ()) -> Paragraph:
    """Return some sentences, and those on the sizes and the weights of the comparison."""
    structure = found.structure
    counted: list[Line] = [
        [f"The parameters of {structure.names[1]} include {each}, which its published total excludes."]
        for each in found.counted.values()
        if found.quantity == "params"
    ]
    sentences = [*said, *map(line, structure.size_notes), *counted]
    return Paragraph([piece for place, each in enumerate(sentences) for piece in (*[" "] * bool(place), *each)])


def _amount(amount: Expr) -> Line:
    """Return a difference in factored form, or term by term if that is too long for a line of its column."""
    shown = _gains_first(amount)
    if breadth(shown) <= WIDEST:
        return [Math(shown)]
    said: list[Piece] = []
    for place, term in enumerate(ordered_terms(expand(amount))):
        shown = tree(term)
        said += [" " * (place > 0), *maybe(place and not isinstance(shown, Minus), "+ "), Math(shown)]
    return [piece for piece in said if piece != ""]


def _gains_first(amount: Expr) -> Tree:
    """Return a difference in factored form: the additional terms of the model, minus the terms that it lacks."""
    terms = Add.make_args(amount)
    lost = Add(*(-term for term in terms if term.as_coeff_Mul()[0] < 0))
    if lost == 0:
        return factored(amount)
    gained = amount + lost
    both = [*_terms(factored(gained)) * (gained != 0), *map(Minus, _terms(factored(lost)))]
    return Sum(tuple(both)) if len(both) > 1 else both[0]


def _terms(shown: Tree) -> tuple[Tree, ...]:
    return shown.terms if isinstance(shown, Sum) else (shown,)
