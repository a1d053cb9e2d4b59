"""Parser for arithmetic and conditions over sizes and quantities, such as ``kv-cache(C=32768) <= 80GB``.

The names of quantities contain hyphens. The longest name of a quantity wins over a subtraction, so ``train-flops/E`` is
a quotient and ``params - E`` a difference. Numbers may have a prefix, a unit or a percent sign.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from sympy import Add, Expr, Rational, Symbol

from ..amounts import measured
from ..arithmetic import MAX_INTEGER, MAX_LENGTH, parse
from ..errors import ArithmeticTextError, OptionError, quoted
from ..frozen import FrozenDict, Immutable

Named = Callable[[str], str]  # the own name of a quantity that is given in any spelling; "" for any other word

RELATIONS = ("<=", ">=", "!=", "==", "=", "<", ">", "divides")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z][A-Za-z0-9_]*)*", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# A number with what may follow it: a percent sign, a prefix without space, or a unit.
_NUMBER = re.compile(
    r"\d+(?:_\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?"
    r"(?:\s*%|\s*(?:[kKMGTPE]?FLOPs?|[kKMGTP]?MACs?|[kKMGTP]i?B|bytes?|elements?|parameters?|tokens?|seconds?|[mµun]?s)"
    r"(?![\w-])|[KMBTP](?!\w))?",
    re.ASCII,
)
_RELATION = re.compile(r"<=|>=|!=|==|=|<|>|\bdivides\b")
_SPELLED = {"≤": "<=", "≥": ">=", "≠": "!=", "·": "*", "×": "*", "−": "-", "^": "**"}


@dataclass(frozen=True)
class QuantityTerm:
    """A quantity in an expression: its name, its arguments, and the model that it is counted for."""

    name: str
    target: str = ""  # another model; "" for the model in question
    arguments: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        parts = [*([self.target] if self.target else []), *(f"{name}={value}" for name, value in self.arguments)]
        return f"{self.name}({', '.join(parts)})" if parts else self.name


@dataclass(frozen=True)
class ParsedExpression(Immutable):
    """Arithmetic in which symbols stand for quantities and for numbers with a unit."""

    text: str
    expr: Expr
    terms: Mapping[Symbol, QuantityTerm] = field(default_factory=dict)
    numbers: Mapping[Symbol, str] = field(default_factory=dict)  # the numbers as written

    @property
    def names(self) -> list[str]:
        """The names of its quantities."""
        return list(dict.fromkeys(each.name for each in self.terms.values()))

    @property
    def sizes(self) -> set[Symbol]:
        """The sizes that are named outside the arguments of quantities."""
        return {*self.expr.free_symbols} - {*self.terms, *self.numbers}

    @property
    def name(self) -> str:
        """The name of the quantity, if the expression is nothing else; otherwise ""."""
        term = self.terms.get(self.expr) if isinstance(self.expr, Symbol) else None
        return term.name if term is not None and str(term) == term.name else ""

    def unit(self, units: Mapping[Symbol, str]) -> str:
        """Return the unit of a sum of quantities and numbers; "" for any other expression, such as a product.

        Parameters
        ----------
        units
            The unit of each symbol that has one.

        Raises
        ------
        OptionError
            If the sum has terms in several units.

        """
        found = dict[str, Expr]()
        for term in Add.make_args(self.expr):
            own = term.as_coeff_Mul()[1]
            if own == 1 or units.get(own) == "":
                continue
            if own not in units:
                return ""
            found[units[own]] = own
        if len(found) > 1:
            raise OptionError(f"{quoted(self.text)} adds {' and '.join(found)}; compare quantities of one unit")
        return next(iter(found), "")

    def values(self, unit: str) -> dict[Symbol, Rational]:
        """Return the numbers, which are in a unit unless they have one. Raises ArithmeticTextError."""
        found = {}
        for place, written in self.numbers.items():
            value, _ = measured(written, unit)
            found[place] = Rational(value.numerator, value.denominator)
        return found


@dataclass(frozen=True)
class ParsedCondition(Immutable):
    """Two expressions and the relation between them."""

    text: str
    relation: str  # one of RELATIONS
    left: ParsedExpression
    right: ParsedExpression

    @property
    def names(self) -> list[str]:
        """The names of the quantities in it."""
        return list(dict.fromkeys([*self.left.names, *self.right.names]))

    @property
    def definition(self) -> Symbol | None:
        """The size that the condition defines, if it is an equation with only a size on its left side."""
        left = self.left.expr
        return left if self.relation == "=" and isinstance(left, Symbol) and left in self.left.sizes else None


def expression(text: str, named: Named, own: Collection[Symbol] = ()) -> ParsedExpression:
    """Parse arithmetic over sizes, quantities and numbers with units.

    Parameters
    ----------
    text
        The expression.
    named
        A function that returns the own name of a quantity, and "" for any other word.
    own
        The sizes of a model, which may be named as well as the letters of the alphabet.

    Raises
    ------
    ArithmeticTextError, UnknownNameError
        If the text is not arithmetic, or names something unknown.

    Examples
    --------
    >>> found = expression("20*params(L=2) - 1e9", {"params": "params"}.get)
    >>> list(map(str, found.terms.values())), list(found.numbers.values())
    (['params(L=2)'], ['1e9'])

    """
    spelt = _plain(text)
    mark = "q_"
    while mark in spelt:
        mark += "_"
    terms: dict[Symbol, QuantityTerm] = {}
    numbers: dict[Symbol, str] = {}
    names: dict[str, Expr] = {}
    parts: list[str] = []
    for piece in _pieces(spelt, named, own):
        if isinstance(piece, str):
            parts.append(piece)
            continue
        word = f"{mark}{len(names)}"
        if isinstance(piece, QuantityTerm):  # the same quantity is the same symbol, so that it can cancel
            known = next((place for place, each in terms.items() if each == piece), None)
            place = known or Symbol(word, nonnegative=True)
            terms[place] = piece
        else:
            place = Symbol(word, positive=True)
            numbers[place] = piece.text
        names[word] = place
        parts.append(f" {word} ")
    expr = parse("".join(parts), own, names=names, shown=text)
    used = expr.free_symbols
    return ParsedExpression(
        text.strip(),
        expr,
        FrozenDict({place: each for place, each in terms.items() if place in used}),
        FrozenDict({place: each for place, each in numbers.items() if place in used}),
    )


def conditions(text: str, named: Named, own: Collection[Symbol] = ()) -> tuple[ParsedCondition, ...]:
    """Parse conditions that are joined by ``and``, or chained as in ``1e9 <= params <= 2e9``.

    Raises OptionError if there is no relation, and the same errors as ``expression``.

    >>> [each.text for each in conditions("1 < E <= 8 and A divides E", lambda word: "")]
    ['1 < E', 'E <= 8', 'A divides E']
    """
    if re.search(r"\sor\s", text):
        raise OptionError(f"{quoted(text.strip())} contains `or`, which is not supported; join conditions with `and`")
    found = []
    for clause in _clauses(_plain(text)):
        sides, relations = _split(clause)
        if not relations or not all(side.strip() for side in sides):
            raise OptionError(
                f"{quoted(text.strip())} is not a condition; write 'params <= 7e9', 'H = 4*E' or '64 divides E'"
            )
        for place, relation in enumerate(relations):
            left, right = (expression(side, named, own) for side in sides[place : place + 2])
            found.append(ParsedCondition(f"{left.text} {relation} {right.text}", relation, left, right))
    return tuple(found)


def is_condition(text: str) -> bool:
    """Return whether a text relates two expressions in another way than ``NAME = VALUE``.

    >>> is_condition("H = 4*E"), is_condition("2*H = 4*E"), is_condition("E <= 8"), is_condition("N_tok=params(L=2)")
    (False, True, True, False)
    """
    clauses = _clauses(_plain(text)) if len(text) <= MAX_LENGTH else []
    if len(clauses) != 1:
        return len(clauses) > 1
    sides, relations = _split(clauses[0])
    return bool(relations) and (relations != ["="] or not _PLAIN.fullmatch(sides[0].strip()))


def quantities(text: str, named: Named) -> list[str]:
    """Return the names of the quantities in a text, including those in arguments; it need not be valid.

    >>> quantities("20*params(N_tok=flops) <= E", lambda word: word if word in ("params", "flops") else "")
    ['params', 'flops']
    """
    found = list[str]()
    for piece in _pieces(_plain(text), named, ()):
        if isinstance(piece, QuantityTerm):
            found.append(piece.name)
            for _, value in piece.arguments:
                found += quantities(value, named)
    return list(dict.fromkeys(found))


def is_arithmetic(text: str, named: Named) -> bool:
    """Return whether a text has neither quantities nor numbers with a unit, so that it is arithmetic over sizes.

    >>> is_arithmetic("4*E", lambda word: ""), is_arithmetic("2e12", lambda word: "")
    (True, False)
    """
    return all(isinstance(piece, str) for piece in _pieces(_plain(text), named, ()))


@dataclass(frozen=True)
class _Number:
    text: str


def _plain(text: str) -> str:
    """Return the text with the relations and signs of plain text in ASCII."""
    if len(text) > MAX_LENGTH:
        raise ArithmeticTextError(f"the expression has {len(text):,} characters; the limit is {MAX_LENGTH:,}")
    for sign, spelt in _SPELLED.items():
        text = text.replace(sign, spelt)
    return text


def _pieces(text: str, named: Named, own: Collection[Symbol]) -> Iterator[str | QuantityTerm | _Number]:
    """Yield the quantities and the numbers with a unit of a text, and all other text between them."""
    at = 0
    while at < len(text):
        word = _WORD.match(text, at)
        if word:
            spelt, name = _longest(word[0], named)
            at += len(spelt)
            if not name:
                yield spelt
                continue
            if any(str(size) == spelt for size in own):
                raise ArithmeticTextError(f"{spelt} is a size and a quantity here; rename the size")
            (target, arguments), at = _arguments(text, at, name)
            yield QuantityTerm(name, target, arguments)
            continue
        number = _NUMBER.match(text, at)
        if number:
            at = number.end()
            plain = number[0].isdecimal() and int(number[0]) <= MAX_INTEGER
            yield number[0] if plain else _Number(number[0])
            continue
        yield text[at]
        at += 1


def _longest(word: str, named: Named) -> tuple[str, str]:
    """Return the longest start of a word that names a quantity, with its own name; else the letters up to a hyphen."""
    parts = word.split("-")
    for count in range(len(parts), 0, -1):
        spelt = "-".join(parts[:count])
        if name := named(spelt):
            return spelt, name
    return parts[0], ""


def _arguments(text: str, at: int, name: str) -> tuple[tuple[str, tuple[tuple[str, str], ...]], int]:
    """Return the model and the arguments in the brackets after a quantity, and the index behind them."""
    if text[at : at + 1] != "(":
        return ("", ()), at
    depth, end = 0, at
    for end in range(at, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if depth == 0:
            break
    if depth:
        raise ArithmeticTextError(f"{quoted(text[at - len(name) :])} has a bracket that is not closed")
    target, found = "", list[tuple[str, str]]()
    for each in separated(text[at + 1 : end], ","):
        key, equals, value = (part.strip() for part in each.partition("="))
        if not equals and key and not target and not found:
            target = key.strip("'\"")
        elif not equals or not _PLAIN.fullmatch(key) or not value:
            raise ArithmeticTextError(
                f"{quoted(each.strip())} is not an argument of {name}; write {name}(C=4096), or {name}(MODEL, C=4096)"
            )
        elif key in dict(found):
            raise ArithmeticTextError(f"{key} is given twice in the arguments of {name}; keep one")
        else:
            found.append((key, value))
    return (target, tuple(found)), end + 1


def separated(text: str, sign: str) -> list[str]:
    """Split a text at a sign outside brackets.

    >>> separated("max:params,kv-cache(C=1,B=2)", ",")
    ['max:params', 'kv-cache(C=1,B=2)']
    """
    parts, depth = [""], 0
    for each in text:
        depth += (each in "([") - (each in ")]")
        if each == sign and depth == 0:
            parts.append("")
        else:
            parts[-1] += each
    return parts if len(parts) > 1 or parts[0].strip() else []


def _split(clause: str) -> tuple[list[str], list[str]]:
    """Return the sides and the relations of a clause, outside brackets."""
    sides, relations, start = list[str](), list[str](), 0
    for found in _RELATION.finditer(clause):
        before = clause[: found.start()]
        if before.count("(") == before.count(")"):
            sides.append(clause[start : found.start()])
            relations.append(found[0])
            start = found.end()
    return [*sides, clause[start:]], relations


def _clauses(text: str) -> list[str]:
    """Return the conditions that ``and`` joins, without brackets around each."""
    parts, start = list[str](), 0
    for found in re.finditer(r"\band\b", text):
        before = text[: found.start()]
        if before.count("(") == before.count(")"):
            parts.append(text[start : found.start()])
            start = found.end()
    parts.append(text[start:])
    if len(parts) > 1:
        return [each for part in parts for each in _clauses(part)]
    whole = text.strip()
    while whole.startswith("(") and whole.endswith(")") and not _split(whole)[1] and _RELATION.search(whole):
        depth, closed = 0, 0
        for place, each in enumerate(whole):
            depth += (each == "(") - (each == ")")
            if depth == 0:
                closed = place
                break
        if closed != len(whole) - 1:
            break
        whole = whole[1:-1].strip()
        if re.search(r"\band\b", whole):
            return _clauses(whole)
    return [whole]
