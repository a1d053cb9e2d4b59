"""The ``compare`` function: builds a comparison of models, with optional tied totals and a common divisor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from sympy import Expr, Integer, Symbol, expand

from ..architectures import composed_model
from ..formulas.formula import Formula
from ..language.aliases import former
from ..language.arithmetic import parse
from ..language.errors import OptionError, UnknownNameError, naming
from ..language.notation.text import text
from ..language.sizes import Numbers, evaluate
from ..language.symbols import NamedSizes, symbol
from ..language.target import AnyTarget
from ..ledger.facts import ONE
from ..models.model import Model
from ..quantities import canonical, is_quantity, quantities
from .equal_totals import TiedTotals, model_of, same_quantity_of, tied_totals
from .model_comparison import Comparison, ComparisonCell, Row
from .role_totals import ROLES, has_only_totals, role_totals
from .shared_letters import own_letters, renamed_numbers

Asked = Model | Formula | AnyTarget


@former(same="match", by="adjust")
def compare(
    a: Asked,
    b: Asked,
    *more: Asked,
    quantity: str = "",
    per: Expr | str = "",
    match: str = "",
    adjust: Symbol | str = "",
    left: Mapping[str, str] | None = None,
    right: Mapping[str, str] | None = None,
    totals: bool = False,
    **conventions: str,
) -> Comparison:
    """Compare models in one quantity. Sizes with equal values share a letter.

    Parameters
    ----------
    a, b, more
        Models, their names, or formulas, such as ``gpt2.params.part("h")``.
    quantity
        The quantity to compare, ``"params"`` by default. It may also be the last positional argument.
    per
        A product of sizes by which all totals are divided, such as ``"B*C"``.
    match, adjust
        A quantity to make equal in all models, and the size to adjust for it: ``match="params", adjust="L"``
        adjusts L in every model except the first.
    left, right
        Conventions of the first or the second of two models.
    totals
        Write L for L_dense + L_moe in formulas that contain only their sum.
    conventions
        Conventions of the quantity, for all models.

    Returns
    -------
    Comparison
        The rows by role, the totals, their difference and ratio, and the crossovers.

    Raises
    ------
    OptionError
        If the quantity is a ratio, which does not add up over parts, or if the arguments do not fit together.
    SizeError
        If no size makes the totals equal.

    Examples
    --------
    >>> compare("bert-base-uncased", "gpt2").difference_leading
    -8*E**2*L + 2*E*H*L
    >>> compare("gpt2", "gpt2-xl").difference_leading
    12*E_1**2*L_1 - 12*E_2**2*L_2
    >>> compare("llama-2-7b", "llama-2-70b", "deepseek-v2", "kv-cache", per="B*C")
    <kv-cache of llama-2-7b, 524,288, of llama-2-70b, 327,680, and of deepseek-v2, 69,120>

    """
    sides = [a, b, *more]
    if not quantity and isinstance(sides[-1], str) and is_quantity(sides[-1]):
        quantity = str(sides.pop())
    quantity = canonical(quantity)
    if len(sides) < 2:
        raise OptionError("a comparison needs at least two models; for a single model, use its formula")
    if (left or right) and len(sides) > 2:
        raise OptionError(f"left and right need exactly two models, but {len(sides)} are given; pass formulas instead")
    given = [{**conventions, **(left or {})}, *({**conventions, **(right or {})} for _ in sides[1:])]
    formulas = _formulas(sides, quantity, given)
    divisor = _product(per, formulas) if per else ONE
    ties: dict[int, TiedTotals] = {}
    if bool(match) != bool(str(adjust)):
        raise OptionError("match= and adjust= need each other: the totals to make equal, and the size to adjust")
    if match:
        size = symbol(str(adjust), _sizes(formulas))
        ties = {place: tied_totals(formulas[0], other, match, size) for place, other in enumerate(formulas) if place}
        formulas = [
            same_quantity_of(formula, ties[place].model, formula.measure.name) if place else formula
            for place, formula in enumerate(formulas)
        ]
    return _compared(formulas, ties, divisor, totals)


def _formulas(sides: Sequence[Asked], quantity: str, given: Sequence[Mapping[str, str]]) -> list[Formula]:
    """Return the formula of one quantity for each model."""
    own = [each for each in sides if isinstance(each, Formula)]
    quantity = quantity or (own[0].measure.name if own else "params")
    found = []
    for each, conventions in zip(sides, given, strict=True):
        if isinstance(each, Formula):
            if each.measure.name != quantity:
                raise OptionError(f"{each.id} is not a {quantity} formula; compare formulas of one quantity")
            if conventions:
                raise OptionError(f"{each.id} already has its conventions; pass the model to choose others")
            found.append(each)
        else:
            model = composed_model(each) if each is not sides[-1] else _last(each)
            found.append(model.formula(quantity, **conventions))
    for formula in found:
        if formula.measure.unit != found[0].measure.unit:
            units = f"{found[0].id} is counted in {found[0].measure.unit}, and {formula.id} in {formula.measure.unit}"
            raise OptionError(f"{units}; compare counts in one unit")
        if not formula.additive:
            raise OptionError(
                f"{quantity} is a {formula.form}, which does not add up over parts; compare {formula.sides}"
            )
    return found


def _last(side: Model | AnyTarget) -> Model:
    """Return the model of the last argument, which may also be a misspelt quantity. Raises UnknownNameError."""
    try:
        return composed_model(side)
    except UnknownNameError as error:
        near = get_close_matches(error.name, [*error.known, *quantities()], n=1)
        if isinstance(side, str) and near and is_quantity(near[0]):
            raise UnknownNameError("target or quantity", side, quantities()) from None
        raise


def _compared(formulas: Sequence[Formula], ties: Mapping[int, TiedTotals], per: Expr, totals: bool) -> Comparison:
    models = [model_of(formula) for formula in formulas]
    # The code of a traced model does not state the roles of its parts, so only totals are compared.
    told = not any(model.provenance.reading for model in models)
    parts = [{**(role_totals(formula) if told else {}), "total": formula.expanded} for formula in formulas]
    for formula, exprs in zip(formulas, parts, strict=True):
        for role, expr in exprs.items():
            amount = formula.collect_totals(expr) if totals and has_only_totals(formula) else expr
            exprs[role] = amount if per == 1 else _over(amount, per, formula)
    used = [{size for expr in exprs.values() for size in expr.free_symbols} for exprs in parts]
    for place, tie in ties.items():
        used[0] |= tie.first.expanded.free_symbols
        used[place] |= tie.second.expanded.free_symbols
    known = [model.known for model in models]
    own = own_letters(known, used, {(place, tie.size) for place, tie in ties.items()})
    sides = [_sides(*each) for each in zip(formulas, parts, known, own, strict=True)]
    none = ComparisonCell(Integer(0), 0)
    rows: list[Row] = [(role, *(each.get(role, none) for each in sides)) for role in (*ROLES, "total")]
    return Comparison(
        tuple(models),
        tuple(formulas),
        tuple(row for row in rows if row[0] == "total" or any(side.expr != 0 for side in row[1:])),
        tuple(map(renamed_numbers, known, used, own)),
        tuple(own),
        tuple(range(1, len(models) + 1)),
        {place + 1: tie.called(own[0], own[place]) for place, tie in ties.items()},
        per,
    )


def _sides(
    formula: Formula, parts: Mapping[str, Expr], numbers: Numbers, own: Mapping[Symbol, Symbol]
) -> dict[str, ComparisonCell]:
    if set(formula.symbols) <= numbers.keys():
        with naming(model_of(formula).target):
            formula.value()  # checks every condition
    return {
        role: ComparisonCell(
            expr.xreplace(own), evaluate(expr, numbers, formula.id) if expr.free_symbols <= numbers.keys() else None
        )
        for role, expr in parts.items()
    }


def _sizes(formulas: Sequence[Formula]) -> NamedSizes:
    return NamedSizes.joined(each.accepted_sizes for each in formulas)


def _product(per: Expr | str, formulas: Sequence[Formula]) -> Expr:
    """Return the divisor, a product of sizes. Raises OptionError for anything else."""
    found = parse(per, _sizes(formulas)) if isinstance(per, str) else per
    powers = found.as_powers_dict()
    if not powers or not all(base.is_Symbol and power.is_Integer and power > 0 for base, power in powers.items()):
        raise OptionError(f"{text(found)} is not a product of sizes; give one, such as B*C")
    return found


def _over(expr: Expr, per: Expr, formula: Formula) -> Expr:
    """Divide an amount by a product of sizes. Raises OptionError if a term does not contain the product."""
    found = expand(expr / per)
    if not found.is_polynomial(*per.free_symbols):
        raise OptionError(f"{formula.id} is not proportional to {text(per)}: it is {text(formula.display_expr)}")
    return found
