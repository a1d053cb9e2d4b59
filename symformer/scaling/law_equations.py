"""Mathematics with real exponents: expressions that hold their display tree and their SymPy value."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Add, Expr, Float, Integer, Mul, Symbol

from ..language.notation.display_tree import (
    Cross,
    FractionNode,
    Minus,
    Number,
    Power,
    Product,
    RealPower,
    Sum,
    TensorName,
    Tree,
    Word,
)
from ..output.blocks import Equation
from ..output.chain import Chain
from .allocation_law import AllocationLaw
from .scaling_law import TRAINING, GranularLaw, ParametricLaw, RoutedLaw, ScalingLaw


@dataclass(frozen=True)
class DisplayedMath:
    """An expression as it is displayed, with its value."""

    tree: Tree
    value: Expr


def letter(name: str, below: str = "") -> DisplayedMath:
    """Return a positive symbol."""
    return DisplayedMath(TensorName(name, below), Symbol(f"{name}_{below}" if below else name, positive=True))


def number(value: float, digits: int = 7) -> DisplayedMath:
    """Return an integer, or a fitted number with some significant digits.

    >>> from symformer.language.notation.text import text
    >>> text(number(406.4).tree), text(number(2e10).tree), text(number(6).tree)
    ('406.4', '2 × 10¹⁰', '6')
    """
    if isinstance(value, int):
        return DisplayedMath(Number(value), Integer(value))
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    spelt: Tree = Word(mantissa)
    if exponent:
        spelt = Cross((spelt, Power(Number(10), int(exponent))))
    return DisplayedMath(spelt, Float(value))


def plus(*terms: DisplayedMath) -> DisplayedMath:
    """Return a sum in the given order."""
    return DisplayedMath(Sum(tuple(each.tree for each in terms)), Add(*(each.value for each in terms)))


def negative(operand: DisplayedMath) -> DisplayedMath:
    """Return the negative of an expression."""
    return DisplayedMath(Minus(operand.tree), -operand.value)


def times(*factors: DisplayedMath) -> DisplayedMath:
    """Return a product in the given order."""
    return DisplayedMath(Product(tuple(each.tree for each in factors)), Mul(*(each.value for each in factors)))


def over(numerator: DisplayedMath, denominator: DisplayedMath) -> DisplayedMath:
    """Return a fraction."""
    return DisplayedMath(FractionNode(numerator.tree, denominator.tree), numerator.value / denominator.value)


def power(base: DisplayedMath, exponent: DisplayedMath) -> DisplayedMath:
    """Return a power with any exponent."""
    return DisplayedMath(RealPower(base.tree, exponent.tree), base.value**exponent.value)


SIZE, TOKENS, FLOPS = letter("N"), letter("N", "tok"), letter("F")
OPTIMAL_SIZE, OPTIMAL_TOKENS = letter("N", "opt"), letter("N", "tok,opt")
LOSS = Word("loss")


def law_equations(law: ScalingLaw) -> list[Equation]:
    """Return a law with its numbers, for the display of a result."""
    if isinstance(law, AllocationLaw):
        return _allocations(law)
    if isinstance(law, RoutedLaw):
        return []
    own = {name: number(float(value)) for name, value in law.constants.items()}
    size, tokens = SIZE, TOKENS
    if law.form == "repeated":
        size, tokens = letter("N", "eff"), letter("N", "tok,eff")
    slope = own["A"]
    if isinstance(law, GranularLaw):
        slope = plus(own["A"], over(own["g"], power(letter("G"), own["gamma"])))
    shown = plus(
        own["E"],
        over(slope, power(size, own["alpha"])),
        over(own["B"], power(tokens, own["beta"])),
    )
    return [Equation(Chain((LOSS,), (shown.tree,)))]


def optimum_equations(law: ScalingLaw) -> list[Equation]:
    """Return the optimum of a budget in closed form with numbers, for a law that has one."""
    if not isinstance(law, ParametricLaw):
        return []
    own = law.constants
    both = own["alpha"] + own["beta"]
    scale = (own["alpha"] * own["A"] / (own["beta"] * own["B"])) ** (1 / both)
    share = over(FLOPS, number(TRAINING))
    rows = (
        (OPTIMAL_SIZE, scale, own["beta"] / both),
        (OPTIMAL_TOKENS, 1 / scale, own["alpha"] / both),
    )
    return [
        Equation(Chain((label.tree,), (times(number(factor, 4), power(share, number(exponent, 4))).tree,)))
        for label, factor, exponent in rows
    ]


def _allocations(law: AllocationLaw) -> list[Equation]:
    own = law.constants
    budget = FLOPS if law.budget_unit == 1 else over(FLOPS, number(law.budget_unit))
    size = letter("M", "opt") if law.parameters == "flops-per-token" else OPTIMAL_SIZE
    found = []
    for label, factor, exponent in ((size, "k_N", "a"), (OPTIMAL_TOKENS, "k_D", "b")):
        if factor in own:
            shown = times(number(float(own[factor])), power(budget, number(float(own[exponent]))))
            found.append(Equation(Chain((label.tree,), (shown.tree,))))
    return found
