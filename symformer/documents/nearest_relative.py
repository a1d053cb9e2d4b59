"""The section of a derivation that states how a model differs from its nearest relative."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sympy import Add, Expr, Integer, expand, fraction

from ..algebra.structure import PartDifference
from ..algebra.structure_words import SHORT, line
from ..formulas.factorization import factored
from ..language.errors import DerivationError
from ..language.notation.display_tree import Label, Minus, Product, Sum, Tree, ordered_terms, terms_tree, tree, value
from ..language.notation.text import text
from ..output.blocks import Block, Code, Heading, Line, Math, Paragraph, Piece, Table, capital, listed, maybe
from ..views.relative_facts import RelativeFacts
from .formats.page_layout import breadth

ANCHOR = "relative"
OTHERS = {
    "params": "in parameters",
    "flops": "in FLOPs",
    "kv-cache": "in the KV cache",
}  # the differences that the command prints


def nearest(found: RelativeFacts, labels: Iterable[Label] = ()) -> list[Block]:
    """Return the relative in a sentence, and the parts that differ in a table with the difference of the totals.

    Parameters
    ----------
    found
        The facts of the comparison.
    labels
        The totals of parts that the document derives, in which long differences are written.

    """
    structure = found.structure
    first, second = structure.names
    blocks: list[Block] = [Heading(1, ["Nearest relative"], ANCHOR), Paragraph(_chosen(found))]
    if structure.same:
        same: list[Line] = [[f"{first} has the structure of {second}: {structure.same_line}."]]
        return [*blocks, _notes(found, same)]
    title = found.title
    totals = _totals(labels)
    head: list[Line] = [["Part"], [first], [second], [capital(title)]]
    rows: list[Sequence[Line]] = [
        [[each.part], *_cells(each, found, totals), _amount(each.amounts[found.quantity], totals)]
        for each in structure.differences
    ]
    total = len(rows) > 1
    if total:
        rows.append([["Total"], [], [], _amount(structure.totals[found.quantity], totals)])
    caption: Line = [
        f"{first} and its nearest relative. The last column is the {title} of {first} minus the {title} of {second}, "
        "at equal sizes."
    ]
    names = "w" if any(len(each.part) > WRAPPED for each in structure.differences) else "l"
    blocks.append(Table(head, rows, f"{names}www", total=total, caption=caption))
    blocks += [notes] if (notes := _notes(found)).line else []
    others: list[Line] = [[OTHERS[name]] for name in found.others]
    own = structure.models[0]
    changed = [f" --option 1:{name}={value}" for name, value in own.component.changed_options.items()]
    changed += [f" --option 2:{name}=true" for name in found.counted]
    command = f"symformer compare {own.id} {found.relative.name} --structure{''.join(changed)}"
    return [*blocks, Paragraph(["For the differences ", *listed(*others), ": ", Code(command), "."])]


def _cells(part: PartDifference, found: RelativeFacts, totals: Sequence[Label]) -> tuple[Line, Line]:
    """Return a part in each of the two models: the amounts if they differ, but not the structure."""
    sides = part.sides.get(found.quantity, ())
    if len({*sides}) < 2 or any(len(Add.make_args(side)) > SHORT for side in sides):
        return part.cells
    own, other = ([*_amount(side, totals), f" {found.title}"] for side in sides)
    return own, other


WIDEST = 24  # characters of a difference in one line
WRAPPED = 24  # characters of the longest name of a part that is not broken over lines
SEVERAL = 3  # the fewest terms of a total that its label replaces
NAMED = 3  # architectures that are as near as the relative, at most, of which each is named


def _chosen(found: RelativeFacts) -> Line:
    """Return sentences on the relative, why it is the nearest, and the architectures that are as near."""
    relative = found.relative
    first, second = found.structure.names
    named: list[Piece] = [f"The nearest relative of {first} is ", second, " (", Code(relative.name), ")"]
    if relative.stated:
        return [*named, ", as named in symformer's catalogue; it need not differ in the fewest parts."]
    among = f" {relative.among}" if relative.among else ""
    subject = f"{first} with its default options" if found.changed else first
    said = f": none of the older architectures in symformer's catalogue{among} differs from {subject} in fewer parts."
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


def _totals(labels: Iterable[Label]) -> list[Label]:
    """Return the labels of totals with several terms, each total once, from the longest."""
    found: dict[Expr, Label] = {}
    for label in labels:
        whole = expand(label.stands_for)
        if label.name and len(Add.make_args(whole)) >= SEVERAL:
            found.setdefault(whole, replace(label, stands_for=whole))
    return sorted(found.values(), key=lambda label: -len(Add.make_args(label.stands_for)))


def _amount(amount: Expr, totals: Sequence[Label]) -> Line:
    """Return a difference in factored form.

    If that is too long for a line of its column, return it term by term, with the totals of parts of the document.
    """
    shown = _gains_first(amount)
    if breadth(shown) <= WIDEST:
        return [Math(shown)]
    rest, more, fewer = expand(amount), list[Tree](), list[Tree]()
    for label in totals:
        gained, lost = _multiples(rest, label)
        rest = expand(rest - (gained - lost) * label.stands_for)
        more += [_product(gained, label)] if gained != 0 else []
        fewer += [Minus(_product(lost, label))] if lost != 0 else []
    terms = [*more, *map(tree, ordered_terms(rest) if rest != 0 else ()), *fewer]
    if expand(value(Sum(tuple(terms))) - amount) != 0:
        raise DerivationError(f"{text(Sum(tuple(terms)))} is not equal to {text(amount)}")
    return [Math(terms_tree(terms))]


def _product(times: Expr, label: Label) -> Tree:
    return label if times == 1 else Product((factored(times), label))


def _multiples(amount: Expr, label: Label) -> tuple[Expr, Expr]:
    """Return the monomials by which a total is multiplied in a sum of terms: those with plus, and those with minus."""
    first, *others = Add.make_args(label.stands_for)
    there = amount.as_coefficients_dict()
    gained, lost = Integer(0), Integer(0)
    for term, number in there.items():
        times = number * term / first
        if fraction(times)[1] != 1:
            continue
        parts = [(times * other).as_coeff_Mul() for other in others]
        if all(there.get(each, 0) == coefficient for coefficient, each in parts):
            gained, lost = (gained, lost - times) if times.as_coeff_Mul()[0] < 0 else (gained + times, lost)
    return gained, lost


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
