"""Formulas as program code prints them: every product has an operator, so a run of letters can be one identifier."""

from __future__ import annotations

import re
from collections.abc import Collection

from .words import EITHER, FUNCTIONS, known, too_long

_TOKEN = re.compile(
    r"(?P<number>\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)"
    r"|(?P<open>[(\[])|(?P<close>[)\]])|(?P<power>[⁰¹²³⁴-⁹]+)|(?P<operator>\*\*|//|[-+*/^=≈×·,])|(?P<space>\s+)"
)
_SCIENTIFIC = re.compile(r"(\d+)(?:\.(\d+))?[eE]\+?(\d+)")
_DIGITS = 18  # largest exponent of a number such as 1e9


def as_code(text: str, identifiers: Collection[str] = ()) -> tuple[str, frozenset[str]]:
    """Return a formula without attribute prefixes, and the identifiers in it; none if the text is not code.

    A text is code if each product in it has an operator and it has an identifier of several letters, or no letters.

    Parameters
    ----------
    text
        A formula.
    identifiers
        Known names, in addition to those of the parser.

    Examples
    --------
    >>> text, names = as_code("6*cfg.n_layer*d_model + 1e9")
    >>> text, sorted(names)
    ('6*n_layer*d_model + 10**9', ['d_model', 'n_layer'])
    >>> as_code("12 n_layer d_model^2")
    ('12 n_layer d_model^2', frozenset())

    """
    made: list[str] = []
    names: set[str] = set()
    operand, at = False, 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return text, frozenset()
        kind, said, at = found.lastgroup, found.group(), found.end()
        if kind in ("number", "name", "open") and operand:
            return text, frozenset()
        if kind == "name":
            said = said.rpartition(".")[2]
            if said in FUNCTIONS and text[at : at + 1] == "(":
                made.append(said)
                continue
            names.add(said)
        elif kind == "number" and (number := _SCIENTIFIC.fullmatch(said)) and int(number[3]) <= _DIGITS:
            said = _power_of_ten(number[1], number[2] or "", int(number[3]))
        if kind != "space":
            operand = kind in ("number", "name", "close", "power")
        made.append(said)
    multiplied = any(each in text for each in "*×·")
    if not multiplied or (names and all(len(each) == 1 for each in names)):
        return text, frozenset()
    return "".join(made), frozenset(each for each in names if each in identifiers or _is_identifier(each))


def _power_of_ten(whole: str, decimals: str, exponent: int) -> str:
    """Return a number in scientific notation as a product."""
    if exponent < len(decimals):
        return f"({whole}.{decimals}*10**{exponent})"
    digits, rest = int(whole + decimals), exponent - len(decimals)
    return f"({digits}*10**{rest})" if digits != 1 else f"10**{rest}"


def _is_identifier(name: str) -> bool:
    """Return True if a run of letters in code is one name, and not a product of letters such as sbh."""
    letters = name.replace("_", "")
    return ("_" in name and len(letters) > 2) or name in EITHER or bool(known(name)) or too_long(name)
