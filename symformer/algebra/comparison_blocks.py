"""The blocks of a comparison, section by section: the terminal and notebooks print some of them, a document all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Add, Expr, Integer, Symbol, expand, fraction, oo

from ..formulas.factorization import factored
from ..formulas.leading import Leading
from ..formulas.totals import definitions
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.display_tree import Minus, Sum, Tree, sizes_of, tree, value
from ..language.notation.text import percent, text
from ..language.sizes import substitute
from ..language.symbols import letter, print_order, symbol
from ..output.blocks import (
    Block,
    BriefBlock,
    Equation,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Ref,
    Strong,
    Table,
    capital,
    formulas_in,
    listed,
    maybe,
    setting,
)
from ..output.chain import Chain
from .compared_model import ComparedModel, sides_of
from .crossover import (
    CrossoverPoint,
    EqualPoint,
    Span,
    constant_sign,
    factored_difference,
    solve,
    without_common_factor,
    zero_of,
)
from .equal_totals import TotalTie
from .quotient_blocks import PAGE, bracketed, decimal, equals, fits, limits_of, nearly, trimmed

if TYPE_CHECKING:
    from .model_comparison import Comparison

SHORT = 24  # characters of a formula in a table that also has the numbers
IN_LINE = 40  # characters of a formula in a sentence on a page
TERMS = 12  # a difference with more terms is not expanded
COLUMNS = 5  # models that the table of totals divides by each other
FEW, MOST = 4, 8  # crossover formulas, with and without numbers


def brief(found: Comparison, crossovers: Sequence[str] = (), exact: bool = False, growth: str = "") -> list[BriefBlock]:
    """Return the blocks that the terminal and notebooks print, with the crossovers of the given sizes.

    With ``exact``, fractions are printed next to their decimal values. ``growth`` is a growth order.
    """
    parts = ComparisonBlocks(found, most=None, exact=exact, growth=growth)
    title: Line = [*listed(*(side.called for side in parts.sides)), f": {parts.measure.title}{per(found)}"]
    facts = [
        *parts.result(),
        *(Paragraph(side.named) for side in parts.sides if side.named),
        *(Paragraph([setting(name, choice)]) for name, choice in found.common_conventions.items()),
        *parts.special(),
        *parts.options(),
        *map(Paragraph, found.rank_lines()),
        *parts.totals(),
    ]
    rest = [*parts.table(), *parts.pairs(crossovers)]
    return [Heading(1, title), *facts, *parts.symbols([*facts, *rest]), *rest]


def per(found: Comparison) -> str:
    """Return the suffix of a title or a unit for divided amounts, as in ``bytes per BC``."""
    return "" if found.divisor == 1 else f" per {text(found.divisor)}"


class ComparisonBlocks:
    """The sections of a comparison.

    Parameters
    ----------
    found
        The comparison.
    sides
        Its models; by default, all of them.
    whole
        For a pair, the id of the comparison that states the totals.
    most
        The number of characters of a formula that fits the page, or None for the terminal and notebooks.
    exact
        Whether to print fractions next to their decimal values.
    growth
        A growth order, such as ``S >> E``, for the limit of the ratio.

    """

    def __init__(
        self,
        found: Comparison,
        sides: Sequence[ComparedModel] = (),
        whole: str = "",
        most: int | None = PAGE,
        exact: bool = False,
        growth: str = "",
    ) -> None:
        self.found = found
        self.sides = sides or sides_of(found)
        self.measure = found.formulas[0].measure
        stems = [formula.id.rpartition(".")[0] for formula in found.formulas]
        places = f".{found.positions[-1]}" if whole else ""
        self.id = f"{'-and-'.join(stems)}.{self.measure.name}{places}"
        self.whole = whole or self.id
        self.most = most
        self.exact = exact
        self.growth = growth
        self.numbers = found.numbers
        self.unit = self.measure.unit + per(found)

    def result(self) -> list[BriefBlock]:
        """Return the total of each model, as a number and as a formula."""
        found = self.found
        said: list[BriefBlock] = []
        values = [side.value for side in found.totals if side.value is not None]
        if len(values) == 2 and len(self.sides) == 2:
            said.append(Paragraph([*self._against(values[0], values[1]), "."]))
        elif len(values) == len(self.sides):
            amounts = [
                [*side.called, " totals ", Strong(f"{each:,}")] for side, each in zip(self.sides, values, strict=True)
            ]
            said.append(Paragraph([*listed(*amounts), f" {self.unit}."]))
        elif self.numbers:
            known = [substitute(side.expr, dict(self.numbers)) for side in found.totals]
            clauses: list[Line] = [
                [*side.called, " totals ", Math.of(expand(each))] for side, each in zip(self.sides, known, strict=True)
            ]
            said.append(Paragraph(["With their sizes, ", *listed(*clauses), f" {self.unit}."]))
        for side in self.sides:
            chain = Chain((side.amount,), tuple(side.steps))
            chain.prove(side.relations)
            said.append(Equation(chain, id=f"{self.id}.{side.number}"))
        return said

    def _against(self, left: int, right: int) -> Iterator[Piece]:
        """Yield a sentence with both totals, their difference and the factor between them."""
        unit = self.unit
        for side, amount, after in zip(self.sides, (left, right), (f" {unit} and ", ""), strict=True):
            yield from side.called
            yield " totals "
            yield from (Strong(f"{amount:,}"), after)
        if left == right:
            yield "; the totals are equal"
            return
        more = "first" if left > right else "second"
        yield f"; the {more} is larger by {abs(left - right):,}"
        if min(left, right) and (times := nearly(Fraction(max(left, right), min(left, right)))) != "1.000":
            yield f", a factor of {times}"

    def special(self, meanings: Mapping[str, Mapping[str, Line]] | None = None) -> list[BriefBlock]:
        """Return the conventions that not all models share, with the meaning of each if it is given."""
        return [
            Paragraph(
                [
                    *side.called,
                    " is counted with ",
                    setting(name, choice),
                    *([": ", *meanings[name][choice]] if meanings else []),
                    ".",
                ]
            )
            for side, special in zip(self.sides, self.found.differing_conventions, strict=True)
            for name, choice in special.items()
        ]

    def options(self) -> list[BriefBlock]:
        """Return the options of each model that differ from the defaults."""
        chosen = [(side, side.model.component.changed_options) for side in self.sides]
        return [
            Paragraph([*side.called, " has ", *listed(*([setting(name, each)] for name, each in has.items())), "."])
            for side, has in chosen
            if has
        ]

    def totals(self) -> list[BriefBlock]:
        """Return the definition of each total that occurs in a formula."""
        found: dict[Symbol, Expr] = {}
        for side, total in zip(self.sides, self.found.totals, strict=True):
            found |= {size: side.relations[size] for size in self._totals(side) & total.expr.free_symbols}
        return [*map(Paragraph, definitions(found, found))]

    def _totals(self, side: ComparedModel) -> set[Symbol]:
        return {side.own.get(size, size) for size in side.formula.totals}

    def symbols(self, shown: Sequence[Block]) -> list[BriefBlock]:
        """Return the table of symbols in these blocks with their values; indexed forms of a letter share a row."""
        used = {size for each in formulas_in(shown) for size in sizes_of(each)}
        backs = [{name: size for size, name in side.own.items()} for side in self.sides]
        rows: dict[Symbol, list[list[Symbol]]] = {}
        for size in sorted(used, key=print_order):
            whose = [back.get(size) for back in backs]
            if any(whose):
                for place, own in enumerate(whose):
                    if own is not None:
                        rows.setdefault(own, [[] for _ in self.sides])[place].append(size)
            else:
                both = rows.setdefault(size, [[] for _ in self.sides])
                for place, side in enumerate(self.sides):
                    if size not in side.own:
                        both[place].append(size)
        cells: list[Sequence[Line]] = []
        for size, sides in rows.items():
            names = list(dict.fromkeys(name for each in sides for name in each))
            amounts: list[Line] = []
            for side, each in zip(self.sides, sides, strict=True):
                tied = any(name in sizes for name in each for sizes in self.found.sizes)  # adjusted for equal totals
                has = each and (size in side.mentioned or letter(size).run or tied)
                number = side.formula.with_totals(side.model.known).get(size) if has else None
                amounts.append([] if number is None else [f"{number:,}"])
            cells.append([listed(*([Math.of(name)] for name in names), last=", "), [self._meaning(size)], *amounts])
        head: list[Line] = [["Symbol"], ["Meaning"], *(side.head for side in self.sides)]
        if not any(amount for row in cells for amount in row[2:]):
            head, cells = head[:2], [row[:2] for row in cells]
        said: list[BriefBlock] = []
        if cells:
            said.append(Table(head, cells, "cl" + "r" * (len(head) - 2), caption=["Symbols."]))
        if lacking := self.found.assumed_equal:
            have, are = ("has", "is") if len(lacking) == 1 else ("have", "are")
            which = "both" if len(self.sides) == 2 else "all"
            line = f" {have} no value in one of the models and {are} assumed equal in {which}."
            said.append(Paragraph([*listed(*([Math.of(size)] for size in lacking)), line]))
        return said

    def table(self) -> list[BriefBlock]:
        """Return the formulas by role; with numbers, also the amounts and their difference."""
        found = self.found
        if len(found.rows) < 3:  # one row and the total
            return []
        heads = [side.head for side in self.sides]
        trees = [
            [factored(side.gathered(each.expr)) for side, each in zip(self.sides, sides, strict=True)]
            for _, *sides in found.rows[:-1]
        ]
        formulas: list[list[Line]] = [[[Math(each)] for each in shown] for shown in trees]
        formulas.append([[] for _ in self.sides])  # the formulas of the totals come first
        roles: list[Line] = [[role] for role, *_ in found.rows]
        amounts = self._amounts()
        short = max(len(text(each)) for shown in trees for each in shown) <= SHORT
        heading = Heading(1, ["Part by part"])
        columns = len(self.sides)
        less: list[Line] = [["Difference (1) − (2)"]] if columns == 2 else []
        right = "r" * (columns + len(less))
        unit = capital(self.unit)
        if short and amounts and columns == 2:
            rows = [[role, *cells, *each] for role, cells, each in zip(roles, formulas, amounts, strict=True)]
            return [
                heading,
                Table([["Part"], *heads, *heads, *less], rows, "l" * (columns + 1) + right, True, [f"{unit} by part."]),
            ]
        rows = [[role, *cells] for role, cells in zip(roles[:-1], formulas[:-1], strict=True)]
        said: list[BriefBlock] = [
            heading,
            Table([["Part"], *heads], rows, "l" + ("l" if short else "w") * columns, caption=["Formulas by part."]),
        ]
        if amounts:
            rows = [[role, *each] for role, each in zip(roles, amounts, strict=True)]
            said.append(Table([["Part"], *heads, *less], rows, "l" + right, True, [f"{unit} by part."]))
        return said

    def _amounts(self) -> list[list[Line]]:
        """Return the numbers row by row, with the difference of two; empty if a side has no number."""
        found: list[list[Line]] = []
        for _, *sides in self.found.rows:
            values = [each.value for each in sides if each.value is not None]
            if len(values) < len(sides):
                return []
            less = [[Math.of(Integer(values[0] - values[1]))]] if len(values) == 2 else []
            found.append([*([f"{each:,}"] for each in values), *less])
        return found

    def pairs(self, crossovers: Sequence[str] = ()) -> list[BriefBlock]:
        """Return the sections on the first model and each other one."""
        said: list[BriefBlock] = self._joint() if len(self.sides) > 2 else []
        for pair, other in zip(self.found.pairs, self.sides[1:], strict=True):
            if len(self.sides) == 2:
                return self._pair(crossovers)
            said.append(Heading(1, [*self.sides[0].called, " and ", *other.called]))
            inner = ComparisonBlocks(pair, [self.sides[0], other], self.id, self.most, self.exact, self.growth)._pair(
                crossovers
            )
            said += [replace(each, level=2) if isinstance(each, Heading) else each for each in inner]
        return said

    def _joint(self) -> list[BriefBlock]:
        """Return the tables of all totals relative to each other, and of their order as one size varies."""
        joint = self.found.joint
        said: list[BriefBlock] = []
        if all(side.value is not None for side in self.found.totals):
            against = self.sides if len(self.sides) <= COLUMNS else self.sides[:1]
            head: list[Line] = [["Model"], [capital(self.unit)], *([f"over ({side.number})"] for side in against)]
            rows: list[list[Line]] = [
                [
                    side.called,
                    [f"{total.value:,}"],
                    *([trimmed(each) if each is not None else ""] for each in ratios[: len(against)]),
                ]
                for side, total, ratios in zip(self.sides, self.found.totals, joint.ratios, strict=True)
            ]
            caption: Line = ["The totals, and each divided by the others."]
            said.append(Table(head, rows, "lr" + "r" * len(against), caption=caption))
        rows = []
        for size, ranges in joint.rankings.items():
            if len(ranges) < 2:
                continue
            here = self.numbers.get(size)
            for place, each in enumerate(ranges):
                names = [" = ".join(f"({self.sides[which].number})" for which in tied) for tied in each.ranking]
                now = [f"{here:,}"] if here is not None and place == 0 else []
                rows.append(
                    [
                        [Math.of(size)] if place == 0 else [],
                        now,
                        [Span(0, each.first, each.last).text],
                        [" > ".join(names)],
                    ]
                )
        if rows:
            caption = ["The order of all totals as one size varies and all others stay fixed (valid sizes only)."]
            head = [["Size"], ["Current value"], ["Range"], ["Largest first"]]
            said.append(Table(head, rows, "crll", caption=caption))
        return [Heading(1, ["All models"]), *said] if said else []

    def _pair(self, crossovers: Sequence[str]) -> list[BriefBlock]:
        said = self._tied(self.found.tie) if self.found.tie is not None else []
        said += self._difference()
        if self.found.difference != 0:
            said += [*self._ratio(), *self._crossover(crossovers)]
        return said

    def _tied(self, tie: TotalTie) -> list[BriefBlock]:
        """Return the size that makes the totals equal: as a formula, as an exact value, and the nearest integers."""
        first, other = self.sides
        said: list[BriefBlock] = [Heading(1, [f"At equal {tie.measure.title}"])]
        opens: Line = [*other.called, f" has as many {tie.measure.title} as ", *first.called]
        exact: Line = [Math.of(tie.size), equals(tie.exact, self.exact)] if tie.exact is not None else []
        line: list[Piece] = []
        if fits(tie.shown, self.most):
            id = f"{self.id}.tied"
            said += [Paragraph([*opens, " if"]), Equation(Chain((tree(tie.size),), (tie.shown,)), id=id)]
            line += ["At these sizes, ", *exact, "."] if exact else []
        elif exact:
            line += [*opens, " if ", *exact, "."]
        for number, more in tie.nearest:
            if number == tie.exact or more is None:
                continue
            line += [*maybe(line, " "), "At ", Math.of(tie.size), f" = {number:,}, ", *first.called]
            line += [f" has {abs(more):,} {'more' if more > 0 else 'fewer'}."]
        if tie.chosen is not None:
            line += [*maybe(line, " "), "All numbers here use ", Math.of(tie.size), f" = {tie.chosen:,}."]
        said += [Paragraph(line)] if line else []
        for what, expr in (("difference", self.found.tied_difference), ("ratio", self.found.tied_ratio)):
            if expr is not None and (self.most is None or len(text(expr)) <= IN_LINE):
                said.append(Paragraph([f"After substituting this formula, the {what} is ", Math.of(expr), "."]))
        return said

    def _difference(self) -> list[BriefBlock]:
        found = self.found
        left, right = (side.amount for side in self.sides)
        said: list[BriefBlock] = [Heading(1, ["The difference"])]
        written = expand(self.sides[0].written - self.sides[1].written)
        steps = [factored_difference(written)]
        if len(Add.make_args(written)) <= TERMS or steps[0] == tree(written):
            steps = [*dict.fromkeys((*steps, tree(written)))]
        chain = Chain((Sum((left, Minus(right))),), tuple(steps))
        chain.prove({**self.sides[0].relations, **self.sides[1].relations})
        said.append(Equation(chain, key=True, id=f"{self.id}.difference"))
        line: list[Piece] = []
        if found.difference_value is not None and not found.difference.is_number:
            line += ["With these sizes, it is ", Math.of(Integer(found.difference_value)), "."]
        if found.difference == 0:
            ratio = f"undefined: {found.no_ratio}" if found.no_ratio else "1"
            return [*said, Paragraph([f"The totals are equal for all sizes. Their ratio is {ratio}."])]
        leading = Leading.of(found.difference)
        if leading.rest != 0:
            left_out = leading.omitted_share(self.numbers) if found.difference_value else None
            line += [*maybe(line, " "), "As all sizes grow together, its leading part is ", Math.of(leading.expr)]
            line += [f", which {_off(left_out)} with these sizes."] if left_out else ["."]
        return [*said, *([Paragraph(line)] if line else [])]

    def _ratio(self) -> list[BriefBlock]:
        """Return the ratio, as a formula if it fits the page, with its value, its leading terms and its limits."""
        found = self.found
        said: list[BriefBlock] = [Heading(1, ["The ratio"])]
        if found.ratio is None or found.ratio_leading is None:
            return [*said, Paragraph([f"It is undefined: {found.no_ratio}."])]
        whole = value(found.ratio)
        exact = _rational(substitute(whole, dict(self.numbers)))
        shown = bracketed(found.ratio, self.most)
        line: list[Piece] = []
        if shown is not None:
            labels = (side.label for side in self.sides)
            said.append(Equation(Chain((Quotient(*labels),), (shown,)), id=f"{self.id}.ratio"))
        else:
            above, below = (Ref(f"{self.whole}.{side.number}") for side in self.sides)
            line += ["It is ", above, " divided by ", below, "."]
        if found.no_ratio:
            line += [*maybe(line, " "), f"With these sizes, it is undefined: {found.no_ratio}."]
        elif exact is not None and not whole.is_number:
            line += [*maybe(line, " "), "With these sizes, it is ", decimal(exact, self.exact), "."]
        leading = bracketed(found.ratio_leading, self.most)
        if leading is not None and found.ratio_leading != found.ratio:
            near = _rational(substitute(value(found.ratio_leading), dict(self.numbers)))
            line += [*maybe(line, " "), "The ratio of the leading terms is ", Math(leading)]
            if near is not None and not value(leading).is_number:
                line += [", which is ", decimal(near, self.exact), " with these sizes"]
            line.append(".")
        said += [Paragraph(line)] if line else []
        said += limits_of(found.limits, self.numbers, self.most, found.bounded_sizes, self.exact)
        return [*said, *self._in_growth()]

    def _in_growth(self) -> list[BriefBlock]:
        """Return the limit of the ratio in the growth order, and the side that is larger in the end."""
        if not self.growth:
            return []
        found = self.found.growth(self.growth)
        line: list[Piece] = ["As ", *found.order.line, ", the ratio "]
        if found.limit is None:
            ratio = found.leading
            line += (
                ["is asymptotically equal to ", Math(_factored(ratio))]
                if ratio is not None
                else [f"is undefined: {self.found.no_ratio}"]
            )
        elif found.limit is oo:
            line += ["tends to infinity"]
        else:
            number = _rational(substitute(found.limit, dict(self.numbers)))
            here = (
                [f" ({decimal(number, self.exact)} with these sizes)"]
                if number is not None and not found.limit.is_number
                else []
            )
            line += ["tends to ", Math.of(found.limit), *here]
        if found.sign:
            line += [", and ", *self._larger(found.sign), " is larger in the end"]
        return [Paragraph([*line, "."])]

    def _meaning(self, size: Symbol) -> str:
        """Return the meaning of a size in the first model that has it."""
        owners = [side.model for side in self.sides if size in side.model.settable]
        return owners[0].meaning(size) if owners else letter(size).meaning

    def _crossover(self, asked: Sequence[str]) -> list[BriefBlock]:
        """Return where the totals are equal and which side is larger elsewhere, as some sizes change.

        By default these are the sizes with the shortest formulas, whose present value may be on either side.
        """
        found = self.found
        said: list[BriefBlock] = [Heading(1, ["Which is larger"])]
        names = [symbol(name, self.found.all_sizes) for name in dict.fromkeys(asked)]
        if found.tie is not None:
            said += self._held(found.tie, names)
        if (sign := constant_sign(found.difference)) is not None:
            return [*said, Paragraph([*self._larger(sign), " is larger for all sizes."])]
        known = expand(substitute(found.difference, dict(self.numbers)))
        if known.free_symbols and (sign := constant_sign(known)):
            free = _or(sorted(known.free_symbols, key=print_order))
            said.append(Paragraph(["With these sizes, ", *self._larger(sign), " is larger for every ", *free, "."]))
        if names:
            return [*said, *self._asked(names)]
        turning = {size: spans for size, spans in found.crossings.items() if len(spans) > 1}
        said += [*self._solutions(self._shortest(turning)), *self._spans(turning, self.found.equal_at)]
        for side, sign in zip(self.sides, (1, -1), strict=True):
            same = [size for size, spans in found.crossings.items() if [each.sign for each in spans] == [sign]]
            if same:
                ends: Line = [" alone, ", *side.called, " is larger."]
                said.append(Paragraph(["For every valid value of ", *_or(same), *ends]))
        return said if len(said) > 1 else []

    def _asked(self, names: Sequence[Symbol]) -> list[BriefBlock]:
        """Return the crossovers of the given sizes."""
        difference = self.found.difference
        said: list[BriefBlock] = []
        solutions: list[CrossoverPoint] = []
        spans: dict[Symbol, Sequence[Span]] = {}
        for name in names:
            own = sorted(self.found.letters(name) & difference.free_symbols, key=print_order)
            if not own:  # a size of another pair, or only of the tie
                said.append(Paragraph(["The difference does not depend on ", Math.of(name), "."]))
            for size in own:
                if each := self.found.crossings.get(size):
                    spans[size] = each
                if (one := self._solution(size)) is not None:
                    solutions.append(one)
                elif size not in without_common_factor(difference).free_symbols:
                    said.append(Paragraph(_multiple(size)))
                else:
                    said.append(Paragraph(_unsolved(size)))
        return [*said, *self._solutions(solutions), *self._spans(spans, self.found.equal_at, sentences=True)]

    def _larger(self, sign: int) -> Line:
        """Return the name of the larger side for a sign of the difference."""
        return self.sides[0 if sign > 0 else 1].called

    def _solution(self, size: Symbol) -> CrossoverPoint | None:
        if self.found.divisor != 1:  # avoids a fraction such as U/(BC) inside another fraction
            return zero_of(self.found.difference, size)
        left, right = (side.label for side in self.sides)
        return solve(left, right, size)

    def _shortest(self, turning: Mapping[Symbol, Sequence[Span]]) -> list[CrossoverPoint]:
        """Return the crossover formulas that fit a page; with numbers, only the shortest for these sizes."""
        free = self.found.difference.free_symbols
        whole = free <= self.numbers.keys()
        solutions = [self._solution(size) for size in free if not whole or size in turning]
        fitting = [one for one in solutions if one is not None and fits(one.shown, PAGE)]
        return sorted(fitting, key=_telling)[: FEW if whole else MOST]

    def _solutions(self, solutions: Sequence[CrossoverPoint], part: str = "crossover") -> list[BriefBlock]:
        """Return crossover formulas, grouped by the side that is larger above them."""
        if not solutions:
            return []
        several = " one of these holds:" * (len(solutions) > 1)
        said: list[BriefBlock] = [Paragraph([f"The totals are equal if{several}"])]
        for above in (1, -1):
            ours = sorted((one for one in solutions if one.above == above), key=lambda one: print_order(one.size))
            for one in ours:
                said.append(Equation(Chain((tree(one.size),), (one.shown,)), id=f"{self.id}.{part}.{one.size}"))
            if ours:
                where = f" is larger above {'each of these values' if len(ours) > 1 else 'this value'}, and "
                said.append(Paragraph([*self._larger(above), where, *self._larger(-above), " below it."]))
        return said

    def _spans(
        self,
        spans: Mapping[Symbol, Sequence[Span]],
        equal: Callable[[Symbol], Sequence[EqualPoint]],
        sentences: bool = False,
    ) -> list[BriefBlock]:
        """Return a table, or sentences, with the integers for which each side is larger, and where they are equal."""
        if not spans:
            return []
        if sentences:
            return [Paragraph(self._sentence(size, each, equal(size))) for size, each in spans.items()]
        head: list[Line] = [
            ["Size"],
            ["Current value"],
            *([*side.head, " is larger"] for side in self.sides),
            ["Equal at"],
        ]
        rows: list[list[Line]] = []
        for size, each in spans.items():
            here = self.numbers.get(size)
            now: Line = [] if here is None else [f"{here:,}"]
            cells: list[Line] = [[_ranges(each, sign)] for sign in (1, -1)]
            rows.append([[Math.of(size)], now, *cells, [_points(equal(size), self.exact) or "never"]])
        caption = ["Which model is larger as one size varies and all others stay fixed (valid sizes only)."]
        return [Table(head, rows, "crlll", caption=caption)]

    def _sentence(self, size: Symbol, spans: Sequence[Span], equal: Sequence[EqualPoint]) -> Line:
        """Return a sentence with the integers for which each side is larger, and where the totals are equal."""
        clauses: list[Line] = []
        for side, sign in zip(self.sides, (1, -1), strict=True):
            ranges = [_condition(size, each) for each in spans if each.sign == sign]
            if ranges:
                clauses.append([*side.called, *maybe(not clauses, " is larger"), " for ", *listed(*ranges)])
        line: list[Piece] = [*listed(*clauses)]
        if equal:
            points: list[Line] = [[Math.of(size), self._equals(each)] for each in equal]
            line += [*maybe(line, "; "), "the totals are equal at ", *listed(*points)]
        here = self.numbers.get(size)
        line += [f" (now {here:,})"] if here is not None else []
        return [*line, "."]

    def _equals(self, point: EqualPoint) -> str:
        """Return the value at which totals are equal, after the sign = or ≈."""
        return equals(point.value, self.exact) if point.exact else f" ≈ {trimmed(point.value)}"

    def _held(self, tie: TotalTie, names: Sequence[Symbol]) -> list[BriefBlock]:
        """Return the crossovers with equal totals: the adjusted size follows the one that changes."""
        held = self.found.tied_crossovers
        titled: Line = [f"With equal {tie.measure.title}, adjusting ", Math.of(tie.size)]
        if held is None:
            why = ", no closed form shows which is larger: the difference contains a minimum or a maximum."
            return [Paragraph([*titled, why])] if names else []
        if (sign := held.sign()) is not None:
            end: Line = [*self._larger(sign), " is larger for all sizes."] if sign else ["the totals are equal."]
            return [Paragraph([*titled, ", ", *end])]
        if not names:
            return []
        said: list[BriefBlock] = [Paragraph([*titled, ":"])]
        spans: dict[Symbol, Sequence[Span]] = {}
        solutions: list[CrossoverPoint] = []
        for name in names:
            for size in [each for each in held.sizes if each in self.found.letters(name)]:
                decides = size in held.common.free_symbols
                if (one := held.solution(size)) is not None:
                    solutions.append(one)
                else:
                    said.append(Paragraph(_unsolved(size) if decides else _multiple(size)))
                if each := held.crossing(size):
                    spans[size] = each
                elif decides:
                    why = ": another size has no value, or the totals are never equal."
                    said.append(Paragraph(["No integer ", Math.of(size), why]))
            if tie.size in self.found.letters(name):
                said.append(Paragraph([Math.of(tie.size), " is the adjusted size and follows from the others."]))
        said += self._solutions(solutions, "tied-crossover")
        said += self._spans(spans, held.equal_at, sentences=True)
        fixed = self.numbers.get(tie.size)
        if fixed is None:
            return [*said, Paragraph(["Without equal totals:"])]
        return [*said, Paragraph(["With ", Math.of(tie.size), f" fixed at {fixed:,} instead:"])]


def _multiple(size: Symbol) -> Line:
    return [Math.of(size), " does not decide which is larger: the whole difference is a multiple of it."]


def _unsolved(size: Symbol) -> Line:
    return ["No short closed form gives the ", Math.of(size), " at which the totals are equal."]


def _off(left_out: Fraction) -> str:
    """Return how far the leading terms are below the whole, or above it if the share is negative."""
    if left_out > 1:
        return "has the opposite sign"
    if left_out < 0:
        return f"exceeds it by {percent(-left_out)}"
    return f"omits {percent(left_out)} of it"


def _telling(solution: CrossoverPoint) -> tuple[bool, int, tuple[int, str]]:
    """Return a sort key that puts rows of tables and long formulas last."""
    return letter(solution.size).unit == "rows", len(text(solution.shown)), print_order(solution.size)


def _factored(ratio: Expr) -> Tree:
    """Return a quotient with common factors in front of brackets."""
    above, below = map(expand, fraction(ratio))
    shown = bracketed(Quotient(tree(above), tree(below)) if below != 1 else tree(above), None)
    return shown or tree(ratio)


def _rational(expr: Expr) -> Fraction | None:
    return Fraction(int(expr.p), int(expr.q)) if expr.is_Rational else None


def _ranges(spans: Sequence[Span], sign: int) -> str:
    """Return the ranges of integers with one sign in words."""
    return ", ".join(each.text for each in spans if each.sign == sign) or "never"


def _condition(size: Symbol, span: Span) -> Line:
    """Return a range of integers as a condition on a size: ``L ≥ 217``."""
    name = Math.of(size)
    if span.last is None:
        return ["all ", name] if span.first == 1 else [name, f" ≥ {span.first:,}"]
    if span.first == span.last:
        return [name, f" = {span.first:,}"]
    return [name, f" ≤ {span.last:,}"] if span.first == 1 else [name, f" from {span.first:,} to {span.last:,}"]


def _points(points: Sequence[EqualPoint], exact: bool) -> str:
    """Return the values at which two totals are equal, rounded unless they are exact."""
    return " and ".join(decimal(each.value, True) if exact and each.exact else trimmed(each.value) for each in points)


def _or(sizes: Sequence[Symbol]) -> list[Piece]:
    return listed(*([Math.of(size)] for size in sizes), last=" or ")
