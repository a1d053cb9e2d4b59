"""Parser for formulas and equations: in an equation the left side is a name, and the right side is parsed."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from sympy import Expr

from ..errors import AmbiguousRunError, ReadingError, quoted
from .code_text import as_code
from .grammar import Parser
from .name_tokens import named
from .tokens import CLOSING, Token, tokens

_CROSS = re.compile(r"(?<=[\w)\]²³] )x(?= [\w(\[])")  # a lone x between factors
ALTERNATIVES = 8  # ways of parsing that are tried, and ambiguous runs of letters in one formula
LONGEST = 6  # letters of a product without spaces


@dataclass(frozen=True)
class ParsedEquation:
    """A parsed formula."""

    text: str
    left: str  # the name left of the relation, as written; empty if there is none
    relation: str  # "=", "≈", or empty
    expr: Expr  # over symbols for the names, which are not yet sizes of a model
    names: tuple[str, ...]  # in order of appearance


def read(
    text: str, words: Collection[str] = (), identifiers: Collection[str] = (), products: Collection[str] = ()
) -> ParsedEquation:
    r"""Parse a formula, or the right side of an equation, in LaTeX, Python or plain text.

    Parameters
    ----------
    text
        The formula.
    words
        Declared names, which are not split into letters.
    identifiers
        Further names that are not split into letters in program code, where each product has an operator.
    products
        Runs of letters that are products of their letters.

    Raises
    ------
    ReadingError
        If the text is not a formula or is ambiguous.

    Examples
    --------
    >>> read(r"N \approx 12lh^2\left(1 + \frac{13}{12h}\right)").expr
    12*h**2*l*(1 + 13/(12*h))
    >>> read("b h(34 + 5as/h)").names
    ('b', 'h', 'a', 's')
    >>> read("6 * self.num_params * args.seq_length").names
    ('num_params', 'seq_length')

    """
    text = _CROSS.sub("×", text)
    written, own = as_code(text, identifiers)
    words = {*words, *own}
    found = tokens(written)
    left, relation, right = _sides(found, text)
    parser = Parser(named(right, words, products), text, words)
    expr = parser.whole()
    return ParsedEquation(text.strip(), left, relation, expr, tuple(parser.names))


def read_alternatives(text: str, words: Collection[str], identifiers: Collection[str]) -> list[ParsedEquation]:
    """Parse a formula in every way that its runs of letters allow: as one name, or as a product of letters.

    Parameters
    ----------
    text, words, identifiers
        The formula and its names, as for ``read``.

    Raises
    ------
    ReadingError
        If no way of parsing succeeds.

    Examples
    --------
    >>> [each.names for each in read_alternatives("2 bs + h", (), ())]
    [('b', 's', 'h'), ('bs', 'h')]

    """
    found: list[ParsedEquation] = []
    first: ReadingError | None = None
    left: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((), ())]
    while left and len(found) < ALTERNATIVES:
        own, products = left.pop(0)
        try:
            found.append(read(text, {*words, *own}, identifiers, products))
        except AmbiguousRunError as error:
            first = first or error
            if len(own) + len(products) < ALTERNATIVES:
                if len(error.run) <= LONGEST and len(set(error.run)) == len(error.run):
                    left.append((own, (*products, error.run)))
                left.append(((*own, error.run), products))
        except ReadingError as error:
            first = first or error
    if not found:
        raise first or ReadingError(f"{quoted(text.strip())} is not a formula")
    return found


def _sides(found: list[Token], text: str) -> tuple[str, str, list[Token]]:
    """Split tokens at the relations: the first side, the first relation, and the last side."""
    depth, places = 0, []
    for place, token in enumerate(found):
        depth += (token.kind in CLOSING) - (token.kind in CLOSING.values())
        if token.kind == "relation" and depth <= 0:
            places.append(place)
    if not places:
        return "", "", found
    left, right = found[: places[0]], found[places[-1] + 1 :]
    if not right:
        raise ReadingError(f"{quoted(text.strip())} has nothing to the right of {found[places[-1]].text}")
    if not _is_name(left) and not _is_quotient(left, right):
        what = "a formula on each side" if len(left) > 1 and len(right) > 1 else "no name on its left side"
        raise ReadingError(f"{quoted(text.strip())} has {what}; give only one of them, or write N = ...")
    spelt = "".join(" " * (token.spaced and number > 0) + token.text for number, token in enumerate(left))
    return spelt.strip("| "), found[places[0]].text, right


def _is_quotient(left: list[Token], right: list[Token]) -> bool:
    """Return True if a left side is a fraction of two names that the right side lacks, such as t_pb/t_id."""
    letters = [token.text for token in left if token.kind in ("letters", "word")]
    sums = any(token.kind in ("+", "-", "number") for token in left)
    divided = any(token.kind in ("frac", "/") for token in left)
    return divided and not sums and set(letters).isdisjoint(token.text for token in right)


def _is_name(left: list[Token]) -> bool:
    """Return True if a left side is a name, such as N, C_{forward}, |\\Theta| or F(B, S)."""
    kinds = [token.kind for token in left if token.kind != "|"]
    if not kinds or kinds[0] not in ("letters", "word", "accent"):
        return False
    depth, below = 0, False
    for place, kind in enumerate(kinds[1:], 1):
        depth += (kind in ("{", "(")) - (kind in ("}", ")"))
        if kind == "_":
            below = True
        elif depth == 0 and kind in ("letters", "word", "number"):
            words = kind != "number" and not any(each.kind == "_" for each in left)
            if not (below and kinds[place - 1] == "_") and not words and kinds[0] != "accent":
                return False
        elif kind not in ("{", "}", "(", ")", ",", "'", "letters", "word", "number", "-", "accent"):
            return False
        if depth == 0 and kind == "-":
            return False
    return True
