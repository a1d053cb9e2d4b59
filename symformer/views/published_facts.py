"""The facts on the pages of published formulas, published numbers and corrections: one record per claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sympy import Add, Expr, Symbol

from ..algebra.check import FormulaCheck
from ..algebra.correction_arithmetic import arithmetic_steps
from ..algebra.explain import Explanation
from ..algebra.formula_claims import PrintedFormula, formula_claims
from ..algebra.name_binding import COUNT
from ..algebra.number_claims import PublishedNumber, number_claims
from ..algebra.usual_names import PARAMETERS
from ..architectures import names, presets
from ..components.base import spell_option
from ..language.arithmetic import parse
from ..language.notation.display_tree import Number
from ..language.notation.latex import latex
from ..language.notation.text import text
from ..language.parsing.name_tokens import name_symbol
from ..language.symbols import letter, print_order

LONG = 40  # characters of an expression, beyond which the note explains the name


@dataclass(frozen=True)
class FormulaFacts:
    """A published formula that was compared with ours."""

    claim: PrintedFormula
    check: FormulaCheck
    derivation: str  # the architecture of the target, or empty
    notation: Mapping[str, str]  # the names that differ from ours, with our expressions
    settings: Mapping[str, str]  # the options, conventions and sizes of the target
    terms: int  # of the difference


@dataclass(frozen=True)
class NumberFacts:
    """A published number that was compared with ours."""

    claim: PublishedNumber
    explanation: Explanation
    derivation: str  # the architecture of the target, or empty


@dataclass(frozen=True)
class CorrectionFacts:
    """The arithmetic of a number that needs a correction."""

    claim: PublishedNumber
    explanation: Explanation | None
    count: tuple[str, ...]  # our count: equal steps in LaTeX
    change: tuple[str, ...]  # the difference between the conventions: equal steps in LaTeX
    excess: Fraction  # the printed number minus our count; 0 if the printed number is rounded or explained


def compared_formulas() -> Mapping[str, list[FormulaFacts]]:
    """Return the formulas that were compared with ours, by verdict."""
    found: dict[str, list[FormulaFacts]] = {}
    for claim in formula_claims():
        if (check := claim.check) is not None:
            found.setdefault(claim.verdict, []).append(_formula_facts(claim, check))
    return found


def _formula_facts(claim: PrintedFormula, check: FormulaCheck) -> FormulaFacts:
    used = [each for each in check.name_bindings if name_symbol(each.name) in check.parsed.expr.free_symbols]
    own = [each for each in used if each.name not in PARAMETERS or each.expr != COUNT]
    notation = {each.name: each.spelt for each in own if each.name != str(each.expr)}
    options = {name: spell_option(value) for name, value in {**claim.model, **claim.options}.items()}
    return FormulaFacts(
        claim,
        check,
        _derivation(claim.target),
        {name: spelt for name, spelt in notation.items() if len(f"{name} = {spelt}") <= LONG},
        {**options, **{name: text(parse(str(value))) for name, value in claim.sets.items()}},
        len(Add.make_args(check.difference)),
    )


def compared_numbers() -> Mapping[str, list[NumberFacts]]:
    """Return the numbers that were compared with ours, by verdict, each in the order of the sources."""
    found: dict[str, list[NumberFacts]] = {}
    for claim in sorted_numbers():
        if (explanation := claim.explanation) is not None:
            found.setdefault(claim.verdict, []).append(NumberFacts(claim, explanation, _derivation(claim.target)))
    return found


@cache
def sorted_numbers() -> tuple[PublishedNumber, ...]:
    """Return every published number in the alphabetical order of the sources."""
    return tuple(sorted(number_claims(), key=lambda claim: (claim.whose.lower(), claim.id)))


def corrected_numbers() -> Mapping[str, list[CorrectionFacts]]:
    """Return the numbers that need a correction, by publisher."""
    found: dict[str, list[CorrectionFacts]] = {}
    for claim in sorted_numbers():
        if claim.correction:
            found.setdefault(publisher(claim.whose), []).append(_correction_facts(claim))
    return found


def publisher(whose: str) -> str:
    """Return the publisher of a number, without the model or table.

    >>> publisher("GPT-2 paper, table 2, XL"), publisher("keras-hub opt_2.7b_en")
    ('GPT-2 paper', 'keras-hub')
    """
    return "keras-hub" if whose.startswith("keras-hub ") else whose.partition(",")[0]


def _correction_facts(claim: PublishedNumber) -> CorrectionFacts:
    found = claim.explanation
    if found is None:
        return CorrectionFacts(claim, None, (), (), Fraction(0))
    way, change, value = found.own_count.method, found.change, found.own_count.value
    numbers = dict(way.numbers)
    whole = way.formula.display_expr
    ours = (
        arithmetic_steps(whole, numbers)
        if way.scale == 1 and whole.free_symbols <= numbers.keys()
        else [latex(Number(int(value)))]
    )
    worked = change is not None and change.free_symbols and change.free_symbols <= numbers.keys()
    steps = arithmetic_steps(change, numbers) if worked else []
    exact = found.verdict == "unexplained" or (found.verdict == "rounded" and found.printed.whole)
    excess = found.printed.value - value if exact else Fraction(0)
    return CorrectionFacts(claim, found, tuple(ours), tuple(steps), excess)


def letters_in(shown: Iterable[Expr]) -> list[tuple[Symbol, str]]:
    """Return the sizes in expressions with their meanings, in printing order."""
    sizes: set[Symbol] = set().union(*(each.free_symbols for each in shown))
    return [(size, letter(size).meaning) for size in sorted(sizes, key=print_order)]


def _derivation(target: str) -> str:
    """Return the architecture of a target, or an empty string if the target is a composed model."""
    own: str = presets().get(target, {}).get("architecture", target)
    return own if own in names() else ""
