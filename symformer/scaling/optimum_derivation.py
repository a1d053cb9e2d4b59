"""The derivation of the optimum of a parametric law, step by step; every step is checked with SymPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import Add, Expr, Integer, Symbol, cancel, diff, exp, expand, expand_log, log, powsimp, together

from ..language.errors import DerivationError
from ..language.notation.display_tree import Minus, Sum, Tree
from ..output.blocks import Block, Equation, Line, Math, Paragraph
from ..output.chain import Chain
from .law_equations import (
    FLOPS,
    LOSS,
    OPTIMAL_SIZE,
    OPTIMAL_TOKENS,
    SIZE,
    TOKENS,
    DisplayedMath,
    letter,
    negative,
    number,
    over,
    plus,
    power,
    times,
)

FLOOR, SIZE_SCALE, DATA_SCALE = letter("c", "0"), letter("c", "N"), letter("c", "tok")
SIZE_POWER, DATA_POWER, RATIO = letter("α"), letter("β"), letter("g")
LETTERS = {"E": FLOOR, "A": SIZE_SCALE, "B": DATA_SCALE, "alpha": SIZE_POWER, "beta": DATA_POWER}
_SIX = number(6)
_BOTH = plus(SIZE_POWER, DATA_POWER)
_SHARE = over(FLOPS, _SIX)

LAW = plus(FLOOR, over(SIZE_SCALE, power(SIZE, SIZE_POWER)), over(DATA_SCALE, power(TOKENS, DATA_POWER)))
BUDGET = times(_SIX, SIZE, TOKENS)
AFFORDED = over(FLOPS, times(_SIX, SIZE))
ALONG = plus(
    FLOOR,
    over(SIZE_SCALE, power(SIZE, SIZE_POWER)),
    times(DATA_SCALE, power(over(times(_SIX, SIZE), FLOPS), DATA_POWER)),
)
SLOPE = plus(
    times(DATA_POWER, DATA_SCALE, power(over(times(_SIX, SIZE), FLOPS), DATA_POWER)),
    negative(over(times(SIZE_POWER, SIZE_SCALE), power(SIZE, SIZE_POWER))),
)
QUOTIENT = over(times(SIZE_POWER, SIZE_SCALE), times(DATA_POWER, DATA_SCALE))
ROOT = times(QUOTIENT, power(_SHARE, DATA_POWER))
SIZE_SHARE, DATA_SHARE = letter("a"), letter("b")  # the exponents of the optimal parameters and tokens
SIZE_EXPONENT, DATA_EXPONENT = over(DATA_POWER, _BOTH), over(SIZE_POWER, _BOTH)
BEST_SIZE = times(RATIO, power(_SHARE, SIZE_SHARE))
BEST_TOKENS = times(over(number(1), RATIO), power(_SHARE, DATA_SHARE))
BEST_LOSS = plus(FLOOR, times(over(_BOTH, DATA_POWER), over(SIZE_SCALE, power(OPTIMAL_SIZE, SIZE_POWER))))


# The part of the loss above its floor, as a positive symbol.
REDUCIBLE = DisplayedMath(Sum((LOSS, Minus(FLOOR.tree))), Symbol("reducible", positive=True))
SIZE_OF_LOSS = power(
    times(over(_BOTH, DATA_POWER), over(SIZE_SCALE, REDUCIBLE)),
    over(number(1), SIZE_POWER),
)


@dataclass(frozen=True)
class Statement:
    """A claim of the derivation: two expressions that are equal."""

    name: str
    left: Expr
    right: Expr


def statements() -> Sequence[Statement]:
    """Return the claims of the derivation, as SymPy expressions."""
    size = SIZE.value
    best = {
        RATIO.value: QUOTIENT.value ** (1 / _BOTH.value),
        SIZE_SHARE.value: SIZE_EXPONENT.value,
        DATA_SHARE.value: DATA_EXPONENT.value,
    }
    best_size, best_tokens = BEST_SIZE.value.xreplace(best), BEST_TOKENS.value.xreplace(best)
    along = {TOKENS.value: AFFORDED.value}
    rising, falling = (abs(term) for term in SLOPE.value.args)
    at_best = {OPTIMAL_SIZE.value: best_size}
    return (
        Statement("the budget is spent", BUDGET.value.xreplace(along), FLOPS.value),
        Statement("the loss along the budget", LAW.value.xreplace(along), ALONG.value),
        Statement("its derivative by ln N", size * diff(ALONG.value, size), SLOPE.value),
        Statement("the root", (rising / falling).xreplace({size: best_size}), Integer(1)),
        Statement("the root as a power", best_size**_BOTH.value, ROOT.value),
        Statement("the optimal tokens", AFFORDED.value.xreplace({size: best_size}), best_tokens),
        Statement(
            "the reducible loss",
            ALONG.value.xreplace({size: best_size}) - FLOOR.value,
            (BEST_LOSS.value - FLOOR.value).xreplace(at_best),
        ),
        Statement(
            "the size of a loss",
            (BEST_LOSS.value - FLOOR.value).xreplace({OPTIMAL_SIZE.value: SIZE_OF_LOSS.value}),
            REDUCIBLE.value,
        ),
    )


def prove() -> None:
    """Check every step. Raises DerivationError for one that does not hold."""
    for each in statements():
        if not _equal(each.left, each.right):
            raise DerivationError(f"the derivation of the optimum is wrong: {each.name}")


def _equal(left: Expr, right: Expr) -> bool:
    """Return True if two expressions of positive symbols are equal.

    Products are compared by their logarithms. A sum is compared term by term: the terms divided by the other side must
    have the sum 1.
    """
    if expand(left - right) == 0 or _logarithm(left / right) == 0:
        return True
    shares = [exp(_logarithm(term / right)) for term in Add.make_args(left)]
    return bool(cancel(together(Add(*shares) - 1)) == 0)


def _logarithm(product: Expr) -> Expr:
    """Return the logarithm of a product of positive factors, as a sum without equal terms."""
    return cancel(together(expand(expand_log(log(powsimp(product)), force=True))))


def derivation_blocks() -> list[Block]:
    """Return the derivation, after checking every step. Raises DerivationError."""
    prove()
    return [
        _said("The law gives the loss of a model with ", SIZE, " parameters after ", TOKENS, " tokens:"),
        _equation(LOSS, LAW),
        _said("Training takes 6 FLOPs per parameter and token. A budget of ", FLOPS, " FLOPs therefore buys"),
        _equation(TOKENS.tree, AFFORDED),
        _said("tokens, and the loss along the budget is"),
        _equation(LOSS, ALONG),
        _said("Its derivative by the logarithm of ", SIZE, " is"),
        _equation(None, SLOPE),
        _said(
            "The first term grows with ",
            SIZE,
            " and the second one falls, so the derivative grows from minus infinity to infinity and has one root, the "
            "minimum of the loss. At the root the two terms are equal:",
        ),
        _equation(power(OPTIMAL_SIZE, _BOTH).tree, ROOT),
        _said("so that"),
        _equation(OPTIMAL_SIZE.tree, BEST_SIZE),
        _equation(OPTIMAL_TOKENS.tree, BEST_TOKENS),
        _said("with"),
        _equation(SIZE_SHARE.tree, SIZE_EXPONENT),
        _equation(DATA_SHARE.tree, DATA_EXPONENT),
        _equation(power(RATIO, _BOTH).tree, QUOTIENT),
        _said("The loss at the optimum is"),
        _equation(LOSS, BEST_LOSS),
        _said("This is also the fewest FLOPs for that loss. A loss therefore needs"),
        _equation(OPTIMAL_SIZE.tree, SIZE_OF_LOSS),
        _said("parameters."),
    ]


def _said(*pieces: str | DisplayedMath) -> Paragraph:
    line: Line = [Math(each.tree) if isinstance(each, DisplayedMath) else each for each in pieces]
    return Paragraph(line)


def _equation(label: Tree | None, shown: DisplayedMath) -> Equation:
    return Equation(Chain(() if label is None else (label,), (shown.tree,)))


def rising_with_inference(most: DisplayedMath) -> Equation:
    """Return the first term of the derivative with inference tokens, for models below a size."""
    left = plus(number(1), negative(over(SIZE, most)))
    return _equation(None, over(times(DATA_POWER, DATA_SCALE), times(power(TOKENS, DATA_POWER), left)))
