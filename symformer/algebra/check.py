"""Checks of published formulas against ours: equal, equal under a convention, or different, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Add, Expr, Rational, expand

from ..architectures import composed_model, names, presets, presets_of
from ..formulas import ranks
from ..formulas.formula import Formula
from ..formulas.ratio import Ratio
from ..language.aliases import Alias, former
from ..language.errors import OptionError, ReadingError, it_or_each, listed
from ..language.notation.display_tree import Minus, Sum, Word, tree
from ..language.notation.text import code, json_number, number, text, to_digits
from ..language.parsing.equation import ParsedEquation, read_alternatives
from ..language.parsing.name_tokens import is_one_name, name_symbol, one_name
from ..language.sizes import Numbers, substitute
from ..language.symbols import letter, named_symbol, print_order
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Code, Equation, Heading, Math, Paragraph, Piece, Table, setting
from ..output.chain import Chain
from ..papers.paper_letters import letters_of
from ..quantities import quantity as find_quantity
from ..quantities.spellings import spelled
from .account_terms import is_zero
from .closest_readings import ClosestReading, closest_readings, difference_of, no_agreement_error
from .convention_search import Agreement, agreements
from .counted_parameters import ParameterCount, parameter_counts
from .difference_rows import DifferenceRow, difference_rows, exact_multiple, single_explanations
from .name_binding import COUNT, STORED, NameBinding, name_readings
from .paper_conventions import PaperConvention
from .reading_search import MAX_READINGS, PrintedReading, printed_readings, without_common_factors
from .result import FormulaAnswer
from .size_relations import solved_relation
from .usual_names import code_names, field_names

PRESETS = 3  # maximum number of presets for the error of a formula without numbers


@dataclass(frozen=True)
class Error:
    """The error of a printed formula at one set of sizes."""

    at: str
    ours: int
    theirs: Fraction

    @property
    def share(self) -> Fraction:
        """The relative error in percent of our value; 0 if our value is 0."""
        return (self.theirs - self.ours) * 100 / self.ours if self.ours else Fraction(0)

    @property
    def percent(self) -> str:
        """The relative error to four digits; empty if our value is 0."""
        if not self.ours:
            return ""
        return f"{to_digits(self.share, 4).normalize():+f}" if self.share else "0"

    def to_json(self) -> dict[str, Any]:
        """Return the error as ``check --json`` prints it."""
        return {"at": self.at, "ours": self.ours, "theirs": json_number(self.theirs), "percent": self.percent}


@dataclass(frozen=True, repr=False)
class FormulaCheck(FormulaAnswer):
    """The result of comparing a printed formula with ours."""

    model: Model
    formula: Formula
    parsed: ParsedEquation
    name_bindings: tuple[NameBinding, ...]
    theirs: Expr  # the printed formula over our sizes
    verdict: str  # "equal", "convention" or "differs"
    conventions: tuple[PaperConvention, ...]
    difference: Expr  # ours - theirs
    rows: tuple[DifferenceRow, ...]
    errors: tuple[Error, ...]
    other_readings: tuple[ClosestReading, ...] = ()  # if it differs: the next closest readings of its names

    @property
    def verdict_text(self) -> str:
        """The verdict in words."""
        if self.verdict == "equal":
            return "equal"
        if self.verdict == "convention":
            return "equal under a convention: " + "; ".join(each.name for each in self.conventions)
        if self.multiple is not None:
            return f"differs: the printed formula is {text(self.multiple)} times ours"
        return "differs under every reading of its names" if self.other_readings else "differs"

    @property
    def multiple(self) -> Rational | None:
        """The number by which the printed formula is an exact multiple of ours, if it differs only in that."""
        if self.difference == 0 or self.formula.expanded == 0 or not self.formula.additive:
            return None
        return exact_multiple(self.theirs, self.formula.expanded)

    @property
    def alternatives(self) -> str:
        """The heading of the rows: each explains the difference, or all together do, or one of each amount."""
        if any("similar terms" in each.statement for each in self.rows):
            return "no single row explains it; rows with matching terms:"
        alone = all(each.amount == self.difference for each in self.rows)
        several = "one of these explains it:" if len(self.rows) > 1 else "this explains it:"
        if alone:
            return several
        together = expand(Add(*(each.amount for each in self.rows)) - self.difference) == 0
        return "these together explain it:" if together else "one row of each amount, together, explains it:"

    def to_json(self) -> dict[str, Any]:
        """Return the check as ``check --json`` prints it."""
        return {
            "target": self.model.target,
            "quantity": self.formula.measure.name,
            "unit": self.formula.measure.unit,
            "part": self.formula.root.path or self.formula.root.key if self.formula.whole_account else None,
            "formula": self.parsed.text,
            "names": {each.name: code(each.expr) for each in self.name_bindings if each.expr != COUNT},
            "readings": [each.to_json() for each in self.name_bindings],
            "theirs": code(self.theirs),
            "ours": self.formula.code(),
            **ranks.facts(self.formula.ranks, self.model.known),
            "verdict": self.verdict,
            "conventions": [{"name": each.name, "added": code(each.added)} for each in self.conventions],
            "difference": code(self.difference),
            "multiple": None if self.multiple is None else str(self.multiple),
            "other_readings": [each.to_json() for each in self.other_readings],
            "rows": [each.to_json() for each in self.rows],
            "error": [each.to_json() for each in self.errors],
            "options": {**self.formula.conventions, **self.model.component.changed_options},
        }

    def table(self) -> dict[str, list[Any]]:
        """Return the conventions or rows that explain the difference, if there are any."""
        found = [("", each.name, expand(-each.added)) for each in self.conventions]
        found += [(each.path, each.statement, each.amount) for each in self.rows]
        names = ("row", "in the printed formula", "difference")
        return {name: [each[place] for each in found] for place, name in enumerate(names)}

    def _picture(self, by: str) -> Plot:
        raise OptionError(
            f"a check has no plot; print it, or plot {self.formula.measure.name} of "
            f"{self.model.target} with sensitivity"
        )

    def __repr__(self) -> str:
        difference = "" if self.difference == 0 else f", ours - theirs = {code(self.difference)}"
        return f"<{self.formula.id}: {self.verdict_text}{difference}>"

    def to_blocks(self) -> list[BriefBlock]:
        """Return the verdict, both formulas and their difference, the meanings of the names, and the reasons."""
        what = self.formula.measure.title
        part = f" of one {self.formula.root.path or self.formula.root.key}" if self.formula.whole_account else ""
        found: list[BriefBlock] = [
            Heading(1, [f"{what}{part} of {self.model.target}: {self.verdict_text}"]),
            *self._equations(),
            *(
                Paragraph([f"{each.name} (", Math.of(each.added), ")"])
                for each in (self.conventions if self.verdict == "convention" else ())
                if each.added != 0
            ),
        ]
        found += [Paragraph([setting(name, choice)]) for name, choice in self.formula.conventions.items()]
        found += map(Paragraph, self.rank_lines())
        free = self.formula.expanded.free_symbols | self.theirs.free_symbols
        run = sorted((size for size in free - self.model.known.keys() if letter(size).run), key=print_order)
        if run and self.verdict != "equal":
            names = ", ".join(map(str, run))
            found.append(
                Paragraph([f"no value for {names}: set {it_or_each(run)} with --set to see the error in percent"])
            )
        return [*found, *self._tables()]

    def _equations(self) -> list[BriefBlock]:
        theirs, ours = Word("theirs"), Word("ours")
        sides = ((theirs, self.theirs), (ours, self.formula.display_expr))
        found: list[BriefBlock] = [Equation(Chain((name,), (tree(expr),))) for name, expr in sides]
        if self.difference != 0:
            found.append(Equation(Chain((Sum((ours, Minus(theirs))),), (tree(self.difference),))))
        return found

    def _tables(self) -> list[BriefBlock]:
        """Return the tables of the names, of the rows that explain the difference, and of the errors."""
        found: list[BriefBlock] = []
        if self.name_bindings:
            names = [[each.name, each.spelt, each.meaning, each.source] for each in self.name_bindings]
            found.append(Table.of(["name", "read as", "meaning", "source"], names, "llll"))
        if self.rows:
            rows: list[list[Piece]] = [[Code(each.path), each.statement, Math.of(each.ours)] for each in self.rows]
            head = ["row", "in the printed formula", "ours"]
            found.append(Table.of(head, rows, "lll", caption=[self.alternatives]))
        if self.other_readings:
            others: list[list[Piece]] = [[each.names, Math.of(each.difference)] for each in self.other_readings]
            caption = ["other readings of the names, which differ too:"]
            found.append(Table.of(["read as", "ours - theirs"], others, "ll", caption=caption))
        if self.errors:
            errors = [[each.at, f"{each.ours:,}", number(each.theirs), each.percent] for each in self.errors]
            found.append(Table.of(["at", "ours", "theirs", "error in %"], errors, "lrrr"))
        return found

    # Former names
    says = Alias("verdict_text")
    named = Alias("name_bindings")
    reading = Alias("parsed")


@former(where="names")
def check(
    formula: str,
    against: Model | AnyTarget,
    quantity: str = "params",
    *,
    part: str | None = None,
    names: Mapping[str, str] | None = None,
    paper: str | None = None,
    **conventions: str,
) -> FormulaCheck:
    """Compare a published formula, in LaTeX or Python, with ours.

    Parameters
    ----------
    formula
        The published formula, or an equation with the formula on its right side.
    against, quantity, part, conventions
        Our formula: a model or its name, a quantity, a part of the model, and conventions of the quantity.
    names
        The meanings of names, over our sizes: ``{"h": "E"}``, or ``{"P": "params"}`` for the number of parameters; and
        relations between our sizes: ``{"A*D": "E"}``. Names without a meaning here are read in every way that the
        field uses them.
    paper
        The key of the paper whose notation the formula uses.

    Returns
    -------
    FormulaCheck
        ``verdict`` is "equal", "convention" or "differs".
        ``conventions``, ``rows`` and ``multiple`` explain a difference; ``name_bindings`` has the reading.

    Raises
    ------
    ReadingError
        If the formula cannot be read, if a name in it has no known meaning, if it agrees under several readings that
        are different formulas, or if it agrees under none, a name can have other meanings, and no row explains the
        difference. The message lists the closest readings.

    Examples
    --------
    >>> check("12lh^2(1 + 13/(12h) + (V+s)/(12lh))", "gpt2", names={"h": "E"})
    <gpt2.params: equal under a convention: the final norm is left out, ours - theirs = 2*E>
    >>> check("12 L E^2 + 13 L E + (V + P) E + 2E", "gpt2").verdict
    'equal'

    """
    said = {one_name(name): value for name, value in (names or {}).items() if is_one_name(name)}
    equations = {name: value for name, value in (names or {}).items() if not is_one_name(name)}
    model = composed_model(against)
    if equations:
        model = model.set(dict(solved_relation(left, right, model) for left, right in equations.items()))
    question = find_quantity(quantity)
    quantity, conventions = question.measure.name, spelled(conventions, question.choices)
    whole = model.formula(quantity, **conventions)
    if not whole.additive and not isinstance(whole, Ratio):
        raise OptionError(f"{quantity} is a {whole.form}, which does not add up over parts; check {whole.sides}")
    ours = whole if part is None else whole.part(part)
    readings = _readings(formula, model, ours, said, paper or "")
    usual = readings[0]
    difference = difference_of(ours, usual.expr)
    if is_zero(difference) and usual.count is None:
        return _checked(model, ours, usual, "equal")
    found = agreements(model, ours, part, readings, conventions)
    # A mistake in one row is more plausible than several conventions at once.
    if found and (len(found[0].conventions) <= 1 or not single_explanations(ours, difference)):
        if len({each.reading.expr for each in found}) > 1:
            raise _ambiguous(found)
        first = found[0]
        return _checked(model, ours, first.reading, "convention" if first.conventions else "equal", first.conventions)
    if len(readings) >= MAX_READINGS:
        raise _too_many(readings)
    closest = closest_readings(ours, readings)
    if not closest[0].certain:
        raise no_agreement_error(closest)
    return _checked(model, ours, closest[0].reading, "differs", others=closest[1:])


def _ambiguous(found: Sequence[Agreement]) -> ReadingError:
    """Return the error for readings that agree equally well although they are different formulas."""
    said = [
        f"{listed(f'{each.name}={each.spelt}' for each in one.reading.bindings)} ({_under(one)})" for one in found[:3]
    ]
    return ReadingError(f"the formula agrees under several readings: {'; '.join(said)}; choose one with --where")


def _under(found: Agreement) -> str:
    return "; ".join(each.name for each in found.conventions) or "equal"


def _too_many(readings: Sequence[PrintedReading]) -> ReadingError:
    found: dict[str, set[str]] = {}
    for each in readings:
        for binding in each.bindings:
            found.setdefault(binding.name, set()).add(binding.spelt)
    several = [name for name, meanings in found.items() if len(meanings) > 1]
    stated = " ".join(f"{each.name}={each.spelt}" for each in readings[0].bindings if each.name in several[:2])
    return ReadingError(
        f"the formula has more than {MAX_READINGS:,} readings, because {listed(several)} have several meanings each; "
        f"state some of them, as in --where {stated}"
    )


def _readings(formula: str, model: Model, ours: Formula, said: Mapping[str, str], paper: str) -> list[PrintedReading]:
    """Return the readings of a printed formula, the most usual first. Raises ReadingError if there is none."""
    letters = letters_of(paper) if paper else {}
    found: list[PrintedReading] = []
    errors: list[ReadingError] = []
    counts: list[ParameterCount] = []
    for parsed in read_alternatives(formula, {*said, *field_names()}, code_names()):
        try:
            printed = parsed if ours.additive else without_common_factors(parsed)
            named = name_readings(printed.names, ours, said, letters, model.target, paper)
            if not counts and any(one.expr == COUNT for each in named for one in each):
                counts = parameter_counts(model)
            found += printed_readings(printed, ours, named, counts)
        except ReadingError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    unknown = [size for size in ours.symbols if not letter(size).run and size not in model.known]
    if not found[0].parsed.names and unknown:
        raise ReadingError(
            f"the formula is a number, but {model.target} has no value for {listed(unknown)}; name a preset, or set it"
        )
    counted = next((each.name for each in found[0].bindings if each.expr == COUNT), "")
    if ours.measure.name in STORED and counted and found[0].parsed.expr == name_symbol(counted):
        message = f"{counted} is the number of parameters, the quantity to check; write the formula over sizes"
        raise ReadingError(message)
    return sorted(found, key=lambda each: each.rarity)


def _checked(
    model: Model,
    ours: Formula,
    reading: PrintedReading,
    verdict: str,
    conventions: Sequence[PaperConvention] = (),
    others: Sequence[ClosestReading] = (),
) -> FormulaCheck:
    expr = reading.expr
    difference = difference_of(ours, expr)
    rows: tuple[DifferenceRow, ...] = ()
    if verdict == "differs" and ours.additive and exact_multiple(expr, ours.expanded) is None:
        rows = tuple(difference_rows(ours, difference))
    errors = tuple(_errors(model, ours, expr)) if verdict != "equal" else ()
    return FormulaCheck(
        model,
        ours,
        reading.parsed,
        reading.bindings,
        expr,
        verdict,
        tuple(conventions),
        difference,
        rows,
        errors,
        tuple(others),
    )


def _errors(model: Model, ours: Formula, theirs: Expr) -> list[Error]:
    """Return the errors at the model's own numbers, or else at the first and the worst presets of its architecture."""
    needed = ours.expanded.free_symbols | theirs.free_symbols
    if needed <= model.known.keys() or model.id != model.target or model.id not in names():
        return [found] if (found := _error(model.target, model.known, ours, theirs)) else []
    each = []
    for preset in presets_of(model.id):
        facts = presets()[preset]
        options = model.component.options_from(facts.get("options", {}))
        if all(getattr(model.component, name) == choice for name, choice in options.items()):
            numbers = {**{named_symbol(name): number for name, number in facts["sizes"].items()}, **model.numbers}
            if needed <= numbers.keys() and (found := _error(preset, numbers, ours, theirs)):
                each.append(found)
    worst = sorted(each[1:], key=lambda one: abs(one.share), reverse=True)[: PRESETS - 1]
    return [*each[:1], *worst]


def _error(at: str, numbers: Numbers, ours: Formula, theirs: Expr) -> Error | None:
    """Return the error at these numbers, or None if a number is missing or a condition fails."""
    own, other = (substitute(expr, numbers) for expr in (ours.expanded, theirs))
    if not isinstance(own, Rational) or not isinstance(other, Rational) or own.q != 1:
        return None
    return Error(at, int(own), Fraction(int(other.p), int(other.q)))
