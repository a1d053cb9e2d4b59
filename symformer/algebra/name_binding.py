"""The reading of each name in a printed formula: the size of the target that it stands for.

A name can have several readings: the usual ones and rarer ones. ``reading_search`` tries them together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace

from sympy import Add, Expr, Pow, Symbol, cancel, expand, nan, zoo

from ..formulas.formula import Formula
from ..language.arithmetic import parse
from ..language.errors import ReadingError, SizeError, listed, quoted
from ..language.limits import ExpansionBound, Quotient
from ..language.notation.text import code, text
from ..language.parsing.name_tokens import is_one_name, name_symbol, one_name
from ..language.symbols import FORMER, LETTERS, SYMBOLS, is_size, letter, print_order
from .usual_names import COUNTED, PARAMETERS, rarer_readings, usual_readings

STORED = ("params", "active-params", "trainable-params")
USUAL, RARER = "a usual name", "a rarer name"  # sources of readings
COUNT = Symbol("number of parameters", positive=True)  # the placeholder for N, until a parameter count replaces it
_MEANINGS = {
    "A*D": "width of all heads",
    "B*S": "tokens of a batch",
    "E/A": "width of one head",
    "number of parameters": "number of parameters",
}


@dataclass(frozen=True)
class NameBinding:
    """One reading of a name in a formula, with its source and its rarity."""

    name: str
    expr: Expr
    source: str  # "the alphabet", "a usual name", "--paper kaplan2020", "--where"
    counts: str = ""  # for N: the keys of the parameters that it can count, separated by bars; empty for all keys
    rarity: int = 0  # 0 for the usual reading, more for others

    @property
    def guessed(self) -> bool:
        """Whether it is one of several readings that the field uses, and neither stated nor a letter or a field."""
        return self.source in (USUAL, RARER)

    @property
    def meaning(self) -> str:
        """The meaning of the size, for a table; empty for an expression without one."""
        return meaning(self.expr)

    @property
    def spelt(self) -> str:
        """The size as text: ``E``, ``E/A``, ``N`` for the number of parameters."""
        return "N" if self.expr == COUNT else text(self.expr)

    def to_json(self) -> dict[str, str]:
        """The reading as ``check --json`` prints it."""
        expr = "N" if self.expr == COUNT else code(self.expr)
        return {"name": self.name, "reading": expr, "meaning": self.meaning, "source": self.source}


def meaning(expr: Expr) -> str:
    """The meaning of a size or of a common product of sizes; empty if it has none."""
    if is_size(expr):
        return letter(expr).meaning
    return _MEANINGS.get(str(expr), "")


def parse_bindings(pairs: Iterable[str]) -> dict[str, str]:
    """Parse NAME=EXPR arguments, with names spelled as in parsed formulas, and relations. Raises ReadingError."""
    found: dict[str, str] = {}
    for each in pairs:
        name, equals, value = each.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise ReadingError(f"{quoted(each)} does not have the form NAME=EXPR, such as h=E")
        own = one_name(name.strip()) if is_one_name(name) else name.strip()  # a name, or the side of a relation
        if own in found:
            raise ReadingError(
                f"{own} is given twice, as {quoted(found[own])} and as {quoted(value.strip())}; remove one"
            )
        found[own] = value.strip()
    return found


def name_readings(
    names: Iterable[str],
    formula: Formula,
    where: Mapping[str, str],
    letters: Mapping[str, str],
    target: str,
    paper: str = "",
) -> list[tuple[NameBinding, ...]]:
    """Return the possible readings of each name, the usual ones first.

    Parameters
    ----------
    names
        The names of the printed formula.
    formula
        Our formula, whose sizes the names can stand for.
    where
        Readings that the user gives: arithmetic over our sizes, or ``N`` for the number of parameters. Such a name has
        no other reading.
    letters
        The notation of a paper, as ``letters_of`` returns it. Such a name has no other reading.
    target, paper
        The target and the key of the paper, for messages.

    Raises
    ------
    ReadingError
        If a name is unknown, or if ``where`` has a name that the formula lacks.

    """
    names = list(names)
    if unused := [each for each in where if each not in names]:
        raise ReadingError(f"--where {unused[0]}: the formula has no name {unused[0]}; its names are {listed(names)}")
    found: list[tuple[NameBinding, ...]] = []
    for name in names:
        if name in where:
            expr, counts = _stated(name, where[name], formula, target)
            found.append((NameBinding(name, expr, "--where", counts),))
        elif (told := _told(letters.get(name, ""), formula)) is not None:
            expr, counts = told
            found.append((NameBinding(name, expr, f"--paper {paper}".rstrip(), counts),))
        else:
            found.append(_guessed(name, names, formula, target))
    return found


def _stated(name: str, stated: str, formula: Formula, target: str) -> tuple[Expr, str]:
    """Return the reading given by the user, and the parameters it counts. Raises ReadingError for an unknown size."""
    if stated.strip() in PARAMETERS:
        return COUNT, ""
    if stated.strip() in COUNTED:
        return COUNT, COUNTED[stated.strip()]
    expr = parse(stated.replace("^", "**"), formula.accepted_sizes).xreplace(_absent(formula))
    if strange := sorted(map(str, expr.free_symbols - formula.accepted_sizes)):
        raise ReadingError(f"{name}={stated}: {target} has no size {strange[0]}; it has {_sizes(formula)}")
    return expr, ""


def _told(stated: str, formula: Formula) -> tuple[Expr, str] | None:
    """Return the reading in the notation of a paper: the first that the target has, or None.

    ``parameters: matrices`` is the number of parameters; the key names those that the paper counts.
    """
    word, colon, counts = stated.partition(": ")
    if colon and word == "parameters":
        return COUNT, counts
    for way in filter(None, stated.split("|")):
        expr = parse(way).xreplace(_absent(formula))
        if expr.free_symbols <= formula.accepted_sizes:
            return expr, ""
    return None


def _guessed(name: str, names: Collection[str], formula: Formula, target: str) -> tuple[NameBinding, ...]:
    """Return the readings of a name that the field uses, the usual ones first. Raises ReadingError if there is none."""
    candidates, source = _candidates(name, formula)
    found: dict[tuple[Expr, str], NameBinding] = {}

    def add(expr: Expr, source: str, rarity: int, counts: str = "") -> None:
        absent = expr != COUNT and not expr.as_numer_denom()[0].free_symbols <= _printed_sizes(formula)
        found.setdefault((expr, counts), NameBinding(name, expr, source, counts, rarity + absent))

    counted = formula.measure.name not in STORED
    if counted and name in COUNTED:
        add(COUNT, USUAL, 0, COUNTED[name])
    if name == "D" and any(each in PARAMETERS or each in COUNTED for each in names):
        for expr in _tokens(formula):
            add(expr, USUAL, 0)
    first = len(found)
    for place, expr in enumerate(candidates):
        several = source == USUAL and place > 0
        add(expr, source, int(several or first > 0))
    if name in PARAMETERS and (counted or not candidates):
        add(COUNT, USUAL, int(bool(candidates)))
    for expr in _elsewhere(name, formula):
        add(expr, RARER, 2 if found else 1)
    if not found:
        raise _unknown(name, formula, target)
    if len(found) == 1 and len(name) > 1:  # a word with one meaning, whether or not our formula has the size
        return tuple(replace(each, rarity=0) for each in found.values())
    return tuple(sorted(found.values(), key=lambda each: each.rarity))


def _printed_sizes(formula: Formula) -> AbstractSet[Symbol]:
    """Return the sizes in our formula, with those that it has by a relation."""
    printed: AbstractSet[Symbol] = formula.expanded.free_symbols
    return printed | {size for size, value in formula.relations.items() if value.free_symbols <= printed}


def _elsewhere(name: str, formula: Formula) -> tuple[Expr, ...]:
    """Return the rarer readings of a name over the sizes of the target."""
    if name == "N" and formula.measure.name not in STORED and formula.whole_account is None:
        return ()  # N is the number of parameters, except in a formula of parameters or of one part
    found = []
    for ways in rarer_readings(name):
        for way in ways:
            expr = COUNT if way == "COUNT" else parse(way)
            if expr.free_symbols <= formula.accepted_sizes | {COUNT}:
                if expr != COUNT or formula.measure.name not in STORED:
                    found.append(expr)
                break
    return tuple(found)


def _absent(formula: Formula) -> dict[Symbol, Expr]:
    """Return sizes that the target defines by others: E/A for the head dimension, A for the key/value heads."""
    taken, e, a, g, d = formula.accepted_sizes, SYMBOLS["E"], SYMBOLS["A"], SYMBOLS["G"], SYMBOLS["D"]
    found: dict[Symbol, Expr] = {}
    if d not in taken and SYMBOLS["D_nope"] not in taken and {e, a} <= taken:
        found[d] = e / a
    if g not in taken and a in taken:
        found[g] = a
    return found


def _candidates(name: str, formula: Formula) -> tuple[list[Expr], str]:
    """Return the possible readings of a name, and their source."""
    taken = formula.accepted_sizes
    name = FORMER.get(name, name)
    if name in LETTERS and SYMBOLS[name] in taken:
        return [SYMBOLS[name]], "the alphabet"
    fields = [SYMBOLS[each.name] for each in LETTERS.values() if name in each.config and SYMBOLS[each.name] in taken]
    if plain := [each for each in fields if "_" not in each.name]:
        fields = plain
    if fields:
        return fields, "a config field"
    found: list[Expr] = []
    for ways in usual_readings(name):
        for way in ways:
            expr = parse(way)
            if expr.free_symbols <= taken:
                if expr not in found:
                    found.append(expr)
                break
    if not found and name in LETTERS and (absent := _absent(formula)) and SYMBOLS[name] in absent:
        found = [absent[SYMBOLS[name]]]
    return found, USUAL


def _tokens(formula: Formula) -> list[Expr]:
    """Return the reading of D next to a number of parameters, as in 6ND: the tokens of a FLOP count."""
    if formula.measure.unit not in ("FLOPs", "MACs"):
        return []
    ways = (SYMBOLS["N_tok"], SYMBOLS["B"] * SYMBOLS["S"])
    return [each for each in ways if each.free_symbols <= formula.accepted_sizes][:1]


def _unknown(name: str, formula: Formula, target: str) -> ReadingError:
    hint = ""
    if ["W"] in usual_readings(name) and "dtype" in formula.conventions:
        hint = "; for the bytes per element, use --option dtype=symbolic"
    return ReadingError(
        f"{name} has no known meaning for {target}; define it with --where {name}=..., in terms "
        f"of the sizes {_sizes(formula)}{hint}"
    )


def _sizes(formula: Formula) -> str:
    return listed(sorted(formula.accepted_sizes, key=print_order))


def substitute_names(expr: Expr, named: Iterable[NameBinding], formula: Formula) -> Expr:
    """Return a formula over names as one over the target's sizes.

    Raises SizeError if it divides by zero, and ReadingError if it is too long to expand.
    """
    values = {name_symbol(each.name): each.expr for each in named}
    found = expr.xreplace(values).xreplace(formula.relations)
    check_length(found)
    found = expand(found)
    if any(isinstance(each.base, Add) and each.exp.is_Integer for each in found.atoms(Pow)):
        found = expand(cancel(found))
    if found.is_finite is False or found.has(nan, zoo):
        raise SizeError("with these names, the formula divides by zero")
    return found


def check_length(expr: Expr) -> None:
    """Raise ReadingError if a formula over sizes is too long to expand."""
    excess = Quotient.of(expr).excess
    with suppress(ValueError):  # roots, which have their own error
        excess = excess or ExpansionBound.of(expr, {}).excess
    if excess:
        raise ReadingError(f"with these names, the expanded formula can have {excess}")
