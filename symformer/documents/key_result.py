"""A short summary of a cost before its derivation: bytes per parameter, FLOPs per token."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sympy import Add, Expr, expand

from ..formulas.account import Term
from ..formulas.factorization import factored
from ..formulas.formula import Formula
from ..formulas.structured_form import StructuredForm
from ..language.notation.display_tree import Label, Number, Product, Tree, nodes, ordered_terms, terms_tree, tree, value
from ..language.sizes import substitute
from ..language.symbols import B, C, S
from ..output.blocks import Block, Equation, Line, Math, Paragraph, Piece, Table, capital, formulas_in, listed, maybe
from ..output.chain import Chain
from ..views.derivation_facts import AmountFacts
from ..views.formula_facts import SubjectFacts
from ..views.purpose_totals import ATTENTION, MATRICES
from .amount_table import Rows, amount_table
from .subject import subject_line

OF_STATE = ("weights", "gradients", "master weights", "optimizer's state")  # per parameter
_A_TOKEN = ("flops", "macs", "prefill-flops")
# per matrix element that a token is multiplied by
_EACH_ELEMENT = {"FLOPs": (2, "2 FLOPs"), "MACs": (1, "1 multiply-add")}


def message(
    formula: Formula,
    form: StructuredForm,
    value: int | Fraction | None,
    purposes: Sequence[AmountFacts],
    params: Label | None,
    subject: SubjectFacts,
) -> list[Block]:
    """Return the summary of a cost, and a table of its purposes if it has several.

    ``form`` names the parts that its formula repeats. ``params`` is the number of parameters, of which training memory
    is a multiple, and is stated for the ``subject``.
    """
    parts = {each.name: each.each for each in purposes}
    blocks: list[Block] = []
    if params:
        blocks += _a_parameter(formula, parts, params)
    elif formula.measure.name in _A_TOKEN:
        blocks += _a_token(parts, *_EACH_ELEMENT[formula.measure.unit])
    elif formula.measure.name == "kv-cache":
        blocks += _kept_a_token(formula)
    table = [_table(formula, form, value, purposes, params)] if len(parts) > 1 else []
    if params and any(each == params for shown in formulas_in([*blocks, *table]) for each in nodes(shown)):
        blocks += _parameters(formula, form, params, subject)
    return [*blocks, *table]


def _table(
    formula: Formula,
    form: StructuredForm,
    value: int | Fraction | None,
    purposes: Sequence[AmountFacts],
    params: Label | None,
) -> Table:
    unit = formula.measure.unit
    rows: Rows = []
    for each in purposes:
        shown = _times(each.each, params) if params and each.name in OF_STATE else None
        rows.append([[each.name], [Math(terms_tree([*shown]) if shown else form.short(each.each))]])
    head: list[Line] = [["Purpose"], [capital(unit)], ["Value"]]
    return amount_table(head, "ll", rows, purposes, value, [f"Breakdown of the {unit} by purpose."])


def _times(amount: Expr, stored: Label) -> list[Tree] | None:
    """Return an amount as a multiple of the parameters plus a rest, or None if that is not shorter."""
    first = ordered_terms(stored.stands_for)[0].as_coeff_Mul()
    times = amount.as_coefficients_dict()[first[1]] / first[0]
    rest = expand(amount - times * stored.stands_for)
    left = [tree(term) for term in ordered_terms(rest)] if rest != 0 else []
    if not times.is_Integer or times < 1 or len(left) > MOST_LEFT:
        return None
    return [stored if times == 1 else Product((Number(int(times)), stored)), *left]


MOST_LEFT = 3  # terms in addition to the bytes per parameter: the step counters, one per weight


def _a_parameter(formula: Formula, parts: dict[str, Expr], stored: Label) -> list[Block]:
    """Return the bytes per parameter and the terms that depend on the run: 16 N + …"""
    state = expand(Add(*(each for what, each in parts.items() if what in OF_STATE)))
    terms = _times(state, stored)
    if terms is None or not isinstance(times := terms[0], Product):
        return []
    rest = terms[1:]
    steps = Add(*(count * term.expr for count, line in formula.root.leaves() for term in line.terms if _steps(term)))
    counts = (
        rest and expand(value(terms_tree(rest)).xreplace(formula.relations) - steps.xreplace(formula.relations)) == 0
    )
    said: list[Line] = [["the optimizer's step counters (4 bytes for each weight tensor)"]] if counts else []
    if (kept := parts.get("activations")) is not None:
        # The letter of bytes without the subscript of this quantity, which stands before the names of parts.
        rest.append(activations := Label(formula.measure.letter.partition("_")[0], "activations", kept))
        said.append(["the activations, ", Math(activations)])
    chain = Chain((Label(formula.measure.letter, "", formula.display_expr),), (terms_tree([times, *rest]),))
    chain.prove(formula.relations)
    line: list[Piece] = ["Each of the ", Math(stored), " parameters takes ", Math(times.factors[0]), " bytes"]
    line += [*maybe(said, "; the total also includes ", *listed(*said)), ":"]
    return [Paragraph(line, defines=True), Equation(chain)]


def _parameters(formula: Formula, form: StructuredForm, stored: Label, subject: SubjectFacts) -> list[Block]:
    """Return the formula of the number of parameters, and its value if the sizes have values."""
    known = formula.with_totals(subject.known)
    line: list[Piece] = ["Here, ", Math(stored), " is the number of parameters"]
    if stored.stands_for.free_symbols <= known.keys():
        number = int(substitute(stored.stands_for, known))
        line += [f" ({number:,} for ", *subject_line(subject, formula), ")"]
    chain = Chain((stored,), (form.short(stored.stands_for),))
    chain.prove(formula.relations)
    return [Paragraph([*line, ":"]), Equation(chain)]


def _steps(term: Term) -> bool:
    return term.label.endswith(" (step)")


def _a_token(parts: dict[str, Expr], each: int, said: str) -> list[Block]:
    """Return the FLOPs per token for each element of the matrices it is multiplied by."""
    matrices = parts.get(MATRICES)
    met = expand(matrices / (each * B * S)) if matrices is not None else None
    if met is None or met.free_symbols & {B, S} or any(not _whole(term) for term in Add.make_args(met)):
        return []
    line: Line = ["Each of the ", Math.of(B * S), " tokens is multiplied by ", Math(factored(met))]
    after = f" matrix elements, at {said} each" + ("; attention is counted separately." if ATTENTION in parts else ".")
    return [Paragraph([*line, after])]


def _whole(term: Expr) -> bool:
    number, _ = term.as_coeff_Mul()
    return bool(number.is_Integer)


def _kept_a_token(formula: Formula) -> list[Block]:
    """Return the bytes per cached token."""
    token = expand(formula.display_expr / (B * C))
    if token == 0 or token.free_symbols & {B, C} or not all(map(_whole, Add.make_args(token))):
        return []
    return [Paragraph(["That is ", Math(factored(token)), f" {formula.measure.unit} per token."])]
