"""Relations between sizes, given as equations such as ``A*D=E``: one size as an expression over the others."""

from __future__ import annotations

from sympy import Expr, Integer, Symbol, expand, fraction, together

from ..language.arithmetic import parse
from ..language.errors import ReadingError, quoted
from ..language.notation.text import number
from ..language.symbols import A, E, L, V, letter, print_order
from ..models.model import Model

_BASIC = (E, V, L, A)  # sizes in which the others are expressed


def solved_relation(left: str, right: str, model: Model) -> tuple[Symbol, Expr]:
    """Return the size that an equation defines, and its value over the other sizes.

    Parameters
    ----------
    left, right
        The sides of the equation: arithmetic over the sizes of the model.
    model
        The model.

    Raises
    ------
    ReadingError
        If the equation holds for all sizes, contradicts the numbers of the model, or no size can be isolated.

    Examples
    --------
    >>> import symformer as sf
    >>> solved_relation("A*D", "E", sf.architecture("llama"))
    (D, E/A)

    """
    sides = [parse(side.replace("^", "**"), model.settable) for side in (left, right)]
    zero = expand(fraction(together(sides[0] - sides[1]))[0])
    text = f"{left.strip()}={right.strip()}"
    if zero == 0:
        raise ReadingError(f"--where {quoted(text)} holds for all sizes; remove it")
    own = {size for size in zero.free_symbols & set(model.sizes) if not letter(size).run}
    found = sorted(own, key=lambda size: (size in _BASIC, print_order(size)))
    numbers = [side.xreplace({size: Integer(value) for size, value in model.known.items()}) for side in sides]
    if all(each.is_Rational for each in numbers) and numbers[0] != numbers[1]:
        raise ReadingError(
            f"--where {quoted(text)} does not hold for {model.target}: the sides are {number(numbers[0])} and "
            f"{number(numbers[1])}"
        )
    for size in found:
        slope = zero.coeff(size, 1)
        rest = expand(zero - slope * size)
        if slope != 0 and size not in rest.free_symbols | slope.free_symbols:
            return size, together(-rest / slope)
    raise ReadingError(f"--where {quoted(text)} does not define a size of {model.target}; write a size, as in D=E/A")
