"""Conditions on the rows of a sweep, parsed from text."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sympy import Expr, Integer, Symbol, expand

from ..language.amounts import amount, is_amount
from ..language.arithmetic import parse
from ..language.errors import OptionError, quoted


@dataclass(frozen=True)
class Filter:
    """A condition on the rows of a sweep: ``params <= 7e9``, ``H = 4*E``, ``64 divides E``."""

    text: str
    how: str
    left: Expr
    right: Expr

    @classmethod
    def read(cls, argument: str, units: Mapping[str, str], own: Collection[Symbol] = ()) -> Filter:
        """Parse a condition over sizes and quantities. Raises OptionError, ArithmeticTextError, UnknownNameError."""
        found = re.fullmatch(r"(.+?)(<=|>=|!=|==|=|<|>|\bdivides\b)(.+)", argument.strip(), re.DOTALL)
        if found is None:
            raise OptionError(
                f"{quoted(argument)} is not a condition; write 'params <= 7e9', 'H = 4*E' or '64 divides E'"
            )
        words = found[1].strip(), found[3].strip()
        unit = next((units[each] for each in words if each in units), "")
        left, right = (_side(each, units, unit, own) for each in words)
        said = " ".join([words[0], found[2], words[1]])
        alone = [expand(left), expand(right)] if found[2] == "divides" else [expand(left - right)]
        if not any(each.free_symbols for each in alone):
            raise OptionError(f"{quoted(said)} is the same for every row; compare a size or a quantity")
        match found[2]:
            case "<=":
                return cls(said, "at most", left, right)
            case ">=":
                return cls(said, "at most", right, left)
            case "<":
                return cls(said, "at most", left + 1, right)
            case ">":
                return cls(said, "at most", right + 1, left)
            case "!=":
                return cls(said, "is not", left, right)
            case "divides":
                if expand(left) == 0:
                    raise OptionError(
                        f"{quoted(said)} is never true, because 0 divides no number; write '64 divides E'"
                    )
                return cls(said, "divides", left, right)
        return cls(said, "is", left, right)


def _side(word: str, units: Mapping[str, str], unit: str, own: Collection[Symbol]) -> Expr:
    if word in units:
        return _value(word)
    return Integer(amount(word, unit)) if is_amount(word) else parse(word, own)


def _value(quantity: str) -> Symbol:
    """Return the symbol of the value of a quantity."""
    return Symbol(quantity, integer=True)
