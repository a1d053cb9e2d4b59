"""Models set side by side: what each is asked for, which totals are made equal first, and by what all is divided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sympy import Expr, Integer, Symbol, expand

from ..architectures import composed
from ..formulas.formula import Formula
from ..language.arithmetic import parse
from ..language.errors import OptionError, naming
from ..language.notation.text import text
from ..language.sizes import Numbers, evaluate
from ..language.symbols import symbol
from ..language.target import AnyTarget
from ..ledger.facts import ONE
from ..models.model import Model
from ..quantities import quantities
from .comparison import Comparison, Row, Side
from .letters import named, own_letters
from .roles import ROLES, by_role, gathers
from .tie import Tied, again, model_of, tied

Asked = Model | Formula | AnyTarget


def compare(
    a: Asked,
    b: Asked,
    *more: Asked,
    quantity: str = "",
    per: Expr | str = "",
    same: str = "",
    by: Symbol | str = "",
    left: Mapping[str, str] | None = None,
    right: Mapping[str, str] | None = None,
    totals: bool = False,
    **conventions: str,
) -> Comparison:
    """Compare models, each with its own numbers: over the same letters where these are the same.

    Each is a model, a target, or a formula of one: ``gpt2.params.part("h")``. The quantity may stand last without its
    name. ``left`` and ``right`` are conventions of one of two. ``same="params", by="L"`` chooses the L of each but the
    first so that it has as many; ``per="B*C"`` divides everything by a product of sizes; ``totals`` writes
    L for L_dense + L_moe where a formula has them in no other way.

    Raises OptionError for a quantity that does not add up, SizeError where no size makes two the same.

    >>> compare("bert-base-uncased", "gpt2").difference_leading
    -8*E**2*L + 2*E*H*L
    >>> compare("gpt2", "gpt2-xl").difference_leading
    12*E_1**2*L_1 - 12*E_2**2*L_2
    >>> compare("llama-2-7b", "llama-2-70b", "deepseek-v2", "kv-cache", per="B*C")
    <kv-cache of llama-2-7b, 524,288, of llama-2-70b, 327,680, and of deepseek-v2, 69,120>
    """
    sides = [a, b, *more]
    if not quantity and isinstance(sides[-1], str) and sides[-1] in quantities():
        quantity = str(sides.pop())
    if len(sides) < 2:
        raise OptionError("a comparison takes two models at least; for one alone, ask it for its formula")
    if (left or right) and len(sides) > 2:
        raise OptionError(f"left and right are of two models, and here are {len(sides)}; give formulas of them")
    given = [{**conventions, **(left or {})}, *({**conventions, **(right or {})} for _ in sides[1:])]
    formulas = _formulas(sides, quantity, given)
    divisor = _product(per) if per else ONE
    ties: dict[int, Tied] = {}
    if bool(same) != bool(str(by)):
        raise OptionError("same= and by= go together: which totals are made equal, and by which size of the others")
    if same:
        size = symbol(str(by))
        ties = {place: tied(formulas[0], other, same, size) for place, other in enumerate(formulas) if place}
        formulas = [
            again(formula, ties[place].model, formula.measure.name) if place else formula
            for place, formula in enumerate(formulas)
        ]
    return _compared(formulas, ties, divisor, totals)


def _formulas(sides: Sequence[Asked], quantity: str, given: Sequence[Mapping[str, str]]) -> list[Formula]:
    """One quantity of each."""
    own = [each for each in sides if isinstance(each, Formula)]
    quantity = quantity or (own[0].measure.name if own else "params")
    found = []
    for each, conventions in zip(sides, given, strict=True):
        if isinstance(each, Formula):
            if each.measure.name != quantity:
                raise OptionError(f"{each.id} is no {quantity}; a comparison is of one quantity")
            if conventions:
                raise OptionError(f"{each.id} has its conventions already; ask its model for the formula with others")
            found.append(each)
        else:
            model = composed(each)
            found.append(model.formula(quantity, **conventions))
    for formula in found:
        if formula.measure.unit != found[0].measure.unit:
            units = f"{found[0].id} is counted in {found[0].measure.unit}, and {formula.id} in {formula.measure.unit}"
            raise OptionError(f"{units} here; a comparison is in one unit")
        if not formula.additive:
            raise OptionError(f"{quantity} is a ratio, which does not add up over parts; compare its two sides")
    return found


def _compared(formulas: Sequence[Formula], ties: Mapping[int, Tied], per: Expr, totals: bool) -> Comparison:
    models = [model_of(formula) for formula in formulas]
    # Which role a part has, its code does not say: beside a traced model there are only totals.
    told = not any(model.provenance.reading for model in models)
    parts = [{**(by_role(formula) if told else {}), "total": formula.expanded} for formula in formulas]
    for formula, exprs in zip(formulas, parts, strict=True):
        for role, expr in exprs.items():
            amount = formula.gathered(expr) if totals and gathers(formula) else expr
            exprs[role] = amount if per == 1 else _over(amount, per, formula)
    used = [{size for expr in exprs.values() for size in expr.free_symbols} for exprs in parts]
    for place, tie in ties.items():
        used[0] |= tie.first.expanded.free_symbols
        used[place] |= tie.second.expanded.free_symbols
    known = [model.known for model in models]
    own = own_letters(known, used, {(place, tie.by) for place, tie in ties.items()})
    sides = [_sides(*each) for each in zip(formulas, parts, known, own, strict=True)]
    none = Side(Integer(0), 0)
    rows: list[Row] = [(role, *(each.get(role, none) for each in sides)) for role in (*ROLES, "total")]
    return Comparison(
        tuple(models),
        tuple(formulas),
        tuple(row for row in rows if row[0] == "total" or any(side.expr != 0 for side in row[1:])),
        tuple(map(named, known, used, own)),
        tuple(own),
        tuple(range(1, len(models) + 1)),
        {place + 1: tie.called(own[0], own[place]) for place, tie in ties.items()},
        per,
    )


def _sides(
    formula: Formula, parts: Mapping[str, Expr], numbers: Numbers, own: Mapping[Symbol, Symbol]
) -> dict[str, Side]:
    if set(formula.symbols) <= numbers.keys():
        with naming(model_of(formula).target):
            formula.value()  # checks every condition
    return {
        role: Side(
            expr.xreplace(own), evaluate(expr, numbers, formula.id) if expr.free_symbols <= numbers.keys() else None
        )
        for role, expr in parts.items()
    }


def _product(per: Expr | str) -> Expr:
    """What everything is divided by: sizes multiplied. Raises OptionError for anything else."""
    found = parse(per) if isinstance(per, str) else per
    powers = found.as_powers_dict()
    if not powers or not all(base.is_Symbol and power.is_Integer and power > 0 for base, power in powers.items()):
        raise OptionError(f"{text(found)} is no product of sizes, such as B*C; amounts are divided by nothing else")
    return found


def _over(expr: Expr, per: Expr, formula: Formula) -> Expr:
    """An amount over a product of sizes that every term of it has. Raises OptionError where one has not."""
    found = expand(expr / per)
    if not found.is_polynomial(*per.free_symbols):
        raise OptionError(f"{formula.id} is not in proportion to {text(per)}: it is {text(formula.written)}")
    return found
