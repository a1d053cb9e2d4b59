"""Compilation of a formula: its expression and its conditions become a program over integers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sympy import Add, Expr, Integer, Max, Min, Mul, Pow, Rational, Symbol, ceiling, floor

from ..language.arithmetic import MAX_INTEGER
from ..language.errors import OptionError
from ..language.notation.text import text
from ..language.sizes import AtMost, Condition, Differs, Divides, Equals, Excludes, NotMultiple
from .compiled_formula import Compiled
from .program import CALL, Definition, Polynomial, Program, ProgramCondition, RationalFunction, Test, times, together

if TYPE_CHECKING:
    from .formula import Formula

NOTHING, UNIT = Polynomial(), Polynomial.number(1)


def compiled(formula: Formula) -> Compiled:
    """Compile a formula for integers and arrays. Raises OptionError for a ratio, which is not an integer."""
    if not formula.additive:
        raise OptionError(f"{formula.id} is a {formula.form}, not an integer; use {formula.sides} separately")
    return _compiled(formula, whole=True)


def is_integral(formula: Formula) -> bool:
    """Return whether the value of a formula is an integer where its conditions hold.

    Arithmetic on formulas has no such condition, so its form decides.
    """
    return formula.additive and (formula.form != "combination" or bool(formula.expanded.is_integer))


def compiled_exactly(formula: Formula) -> Compiled:
    """Compile a formula whose value need not be an integer: its program has the numerator and the denominator."""
    return _compiled(formula, whole=is_integral(formula))


def _compiled(formula: Formula, whole: bool) -> Compiled:
    known = formula.source.known if formula.source is not None else {}
    relations = formula.relations
    given = {str(size): number for size, number in known.items() if size not in relations}
    made = program(formula.exact_value, formula.constraints, relations, formula.id, formula.totals, whole)
    takes = formula.accepted_sizes
    names = {name: str(size) for name, size in takes.names.items()}
    return Compiled(formula.id, made, tuple(map(str, formula.symbols)), frozenset(map(str, takes)), given, names)


def program(
    expr: Expr,
    conditions: Iterable[Condition] = (),
    relations: Mapping[Symbol, Expr] | None = None,
    what: str = "",
    totals: Container[Symbol] = (),
    whole: bool = True,
) -> Program:
    """Return the program of an expression with its conditions and the relations between sizes.

    Of the sizes that relations determine, only ``totals`` can be zero: the number of layers of one kind. The value is
    an integer, unless ``whole`` is False.
    """
    writer, relations = _Writer(), relations or {}
    value = writer.read(expr)
    held = []
    for size, relation in relations.items():
        least = 0 if size in totals and not relation.is_positive else 1
        held += [writer.sound(size, relation, least), writer.equal(size, relation)]
    for each in conditions:
        held.append(writer.held(each, relations))
    if whole and value.denominator != UNIT:
        held.append(ProgramCondition(f"{what} is whole", (Test("divides", value.denominator, value.above),)))
    held = [*writer.divisors, *held]
    made = Program(value, tuple(writer.definitions))
    about = [replace(each, sizes=tuple(sorted(made.sizes_of(each.names)))) for each in held if each.tests]
    return replace(made, conditions=tuple(dict.fromkeys(about)))


def tested(said: str, how: str, left: Expr, right: Expr) -> Program:
    """Return a program without a value that tests how two expressions compare."""
    writer = _Writer()
    test = writer.test(how, writer.read(left), writer.read(right))
    if how == "divides":
        divisor, dividend = writer.read(left), writer.read(right)
        test = Test(how, divisor.above * dividend.denominator, dividend.above * divisor.denominator)
    return Program(
        RationalFunction(NOTHING), tuple(writer.definitions), (*writer.divisors, ProgramCondition(said, (test,)))
    )


class _Writer:
    """A builder of programs that defines each common subexpression once."""

    def __init__(self) -> None:
        self.definitions: list[Definition] = []
        self.divisors: list[ProgramCondition] = []  # divisors that may be 0

    def read(self, expr: Expr) -> RationalFunction:
        """Return an expression over one denominator."""
        if isinstance(expr, Rational):
            return RationalFunction(Polynomial.number(int(expr.p)), int(expr.q))
        if isinstance(expr, Symbol):
            return RationalFunction(Polynomial.name(str(expr.name)))
        if isinstance(expr, Add):
            above, number, below = together(map(self.read, expr.args))
            return RationalFunction(sum(above, NOTHING), number, below).lowest()
        if isinstance(expr, Mul):
            found = RationalFunction(UNIT)
            for each in expr.args:
                found *= self.read(each)
            return found
        if isinstance(expr, Pow) and isinstance(expr.exp, Integer):
            base, exponent = self.read(expr.base), abs(int(expr.exp))
            if expr.exp < 0:
                base = self.inverse(base, text(expr.base))
            below = tuple((name, power * exponent) for name, power in base.below)
            return RationalFunction(base.above**exponent, base.number**exponent, below).lowest()
        if isinstance(expr, floor | ceiling):
            sign = 1 if isinstance(expr, floor) else -1  # ceil(x) = -floor(-x)
            inside = self.read(sign * expr.args[0])
            under = inside.denominator
            whole = inside.above if under == UNIT else self.define("floor", inside.above, under)
            return RationalFunction(whole if sign > 0 else -whole)
        if isinstance(expr, Min | Max):
            above, number, below = together(map(self.read, expr.args))
            even = [(name, 1) for name, power in below if power % 2 and name.startswith(CALL)]
            more = Polynomial.of([(tuple(even), 1)])  # a definition may be negative, and its square is not
            arguments = [each * more for each in above]
            named = self.define("min" if isinstance(expr, Min) else "max", *arguments)
            return RationalFunction(named, number, times(below, tuple(even))).lowest()
        raise OptionError(f"{text(expr)} cannot be compiled: it is not arithmetic over integer sizes")

    def inverse(self, fraction: RationalFunction, said: str) -> RationalFunction:
        """Return the reciprocal of a fraction; a denominator that is not a monomial gets a definition."""
        above = fraction.above
        if len(above.terms) != 1:
            above = self.define("sum", above)
        (monomial, number) = above.terms[0]
        if any(name.startswith(CALL) for name, _ in monomial):
            self.divisors.append(ProgramCondition(f"{said} is not 0", (Test("is not", above, NOTHING),)))
        sign = 1 if number > 0 else -1
        return RationalFunction(fraction.denominator * Polynomial.number(sign), abs(number), monomial).lowest()

    def define(self, function: str, *arguments: Polynomial) -> Polynomial:
        """Return the name of a definition, which is added if it is new."""
        for each in self.definitions:
            if (each.function, each.arguments) == (function, arguments):
                return Polynomial.name(each.name)
        made = Definition(f"{CALL}{len(self.definitions)}", function, arguments)
        self.definitions.append(made)
        return Polynomial.name(made.name)

    def sound(self, size: Symbol, relation: Expr, smallest: int = 1) -> ProgramCondition:
        """Return the condition that a relation has a valid size as its value."""
        found = self.read(relation)
        below = found.denominator
        least = self.test("at most", RationalFunction(Polynomial.number(smallest)), found)
        most = self.test("at most", found, RationalFunction(Polynomial.number(MAX_INTEGER)))
        said = f"{size} = {text(relation)} is an integer from {smallest} to {MAX_INTEGER:,}"
        whole = [Test("divides", below, found.above)] if below != UNIT else []
        return ProgramCondition(said, (*whole, least, most))

    def equal(self, size: Symbol, relation: Expr) -> ProgramCondition:
        """Return the condition that a size, if given, equals its relation."""
        return ProgramCondition(f"{size} is {text(relation)}", (self.test("is", self.read(size), self.read(relation)),))

    def held(self, condition: Condition, relations: Mapping[Symbol, Expr]) -> ProgramCondition:
        """Return a condition as tests, with relations substituted."""

        def read(expr: Expr) -> RationalFunction:
            return self.read(expr.xreplace(dict(relations)))

        match condition:
            case Divides(divisor=small, dividend=large):
                divisor, dividend = read(small), read(large)
                left = divisor.above * dividend.denominator
                right = dividend.above * divisor.denominator
                tests = [Test("divides", left, right)]
            case NotMultiple(divisor=small, dividend=large):
                tests = [self.test("is not", read(small * floor(large / small)), read(large))]
            case AtMost(low=low, high=high):
                tests = [self.test("at most", read(low), read(high))]
            case Equals(size=size, value=value):
                tests = [self.test("is", read(size), read(value))]
            case Differs(left=left_size, right=right_size):
                tests = [self.test("is not", read(left_size), read(right_size))]
            case Excludes(ones=ones):
                tests = [self.test("is not", read(size), RationalFunction(UNIT)) for size in ones]
                return ProgramCondition(str(condition), tuple(tests), one=True)
            case _:
                raise OptionError(f"the condition that {condition} cannot be compiled")
        return ProgramCondition(str(condition), tuple(tests))

    def test(self, how: str, left: RationalFunction, right: RationalFunction) -> Test:
        """Return a test of two fractions, both multiplied by their common denominator."""
        (above, beside), _, below = together([left, right])
        even = [(name, 1) for name, power in below if power % 2 and name.startswith(CALL)]
        more = Polynomial.of([(tuple(even), 1)]) if even else UNIT
        if how == "less":  # both sides are integers
            return Test("at most", above * more + UNIT, beside * more)
        return Test(how, above * more, beside * more)
