"""Models side by side as a document: the models, their parts, the difference, the ratio and the crossovers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction

from sympy import Add, Expr, Integer, Rational, Symbol, expand

from ..algebra.crossover import CrossoverPoint, Span, constant_sign, factored_difference, solve, zero_of
from ..algebra.model_comparison import Comparison
from ..architectures import presets
from ..formulas.derivation import Chain
from ..formulas.factorization import factored
from ..formulas.formula import Leading
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.display_tree import Label, Minus, Sum, Tree, sizes_of, tree, value
from ..language.notation.text import percent, text
from ..language.sizes import substitute
from ..language.symbols import RANK, letter
from ..papers import paper
from ..quantities import quantity as find_quantity
from ..views.formula_facts import changed_conventions, check_of, conditions_of, ranks_of, subject_of
from . import blocks
from .blocks import (
    Block,
    Code,
    Document,
    Equation,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Ref,
    References,
    Strong,
    Table,
)
from .compared_models import ComparedModel, sides_of
from .condition_text import conditions
from .figures.inset import comparison_figure
from .limit_text import bracketed, growing, tied
from .part_sections import about_part
from .sentences import capital, listed, maybe, sentence
from .subject import Subject, in_brackets, of_one_rank
from .verification import short_check

LONG = 72  # characters of a numerator or denominator that fits a page
SHORT = 24  # characters of a formula in a table that also has the numbers
MOST_LEFT_OUT = Fraction(1, 2)  # leading terms that omit more are not printed
TERMS = 12  # a difference with more terms is not expanded
FEW, MOST = 4, 8  # crossover formulas, with and without numbers


def document(found: Sequence[Comparison], version: str) -> Document:
    """Return the comparison of models as a document, with one chapter per quantity.

    Parameters
    ----------
    found
        The comparisons, one per quantity, all of the same models.
    version
        The version of symformer, for the subtitle.

    """
    said: list[Block] = []
    for each in found:
        chapter = _ComparisonChapter(each).blocks()
        if len(found) > 1:
            said.append(Heading(1, [capital(each.formulas[0].measure.title + _divided(each))]))
            chapter = [replace(one, level=one.level + 1) if isinstance(one, Heading) else one for one in chapter]
        said += chapter
    said, keys = blocks.numbered(said)
    if keys:
        entries = [(key, paper(key).byline, paper(key).title, paper(key).place) for key in keys]
        said += [Heading(1, ["References"]), References(entries)]
    sides = sides_of(found[0])
    titles = [each.formulas[0].measure.title + _divided(each) for each in found]
    told = [_told(each, [side.name for side in sides]) for each in found]
    files = [("comparison.json", json.dumps(told, indent=1, ensure_ascii=False) + "\n")]
    if keys:
        files.append(("references.bib", "\n\n".join(paper(key).bibtex() for key in keys) + "\n"))
    counted = in_brackets(changed_conventions([replace(each.formulas[0], conventions=each.shared) for each in found]))
    return Document(
        f"{_and([side.titled for side in sides])}: {_and(titles)}{counted} compared",
        f"Compared by symformer {version} from closed forms; every number is exact.",
        said,
        ["transformer", *dict.fromkeys(model.title for model in found[0].models), *titles],
        files,
    )


def _told(found: Comparison, names: Sequence[str]) -> dict[str, object]:
    """Return the JSON of a comparison, with names instead of paths of this machine."""
    told = found.to_json()
    for pair, (place, name) in zip(told.get("pairs", []), enumerate(names[1:], 2), strict=False):
        pair |= {"left": names[0], "right": name, "places": [1, place]}
    return told | ({"models": list(names)} if "models" in told else {"left": names[0], "right": names[1]})


class _ComparisonChapter:
    """The chapter of one quantity."""

    def __init__(self, found: Comparison, sides: Sequence[ComparedModel] = (), whole: str = "") -> None:
        self.found = found
        self.sides = sides or sides_of(found)
        self.measure = found.formulas[0].measure
        stems = [formula.id.rpartition(".")[0] for formula in found.formulas]
        places = f".{found.places[-1]}" if whole else ""
        self.id = f"{'-and-'.join(stems)}.{self.measure.name}{places}"
        self.whole = whole or self.id  # the id of the chapter that states the totals
        self.numbers = found.numbers
        self.unit = self.measure.unit + _divided(found)

    def blocks(self) -> list[Block]:
        """Return all blocks of the chapter, in order."""
        result, counted = self._result(), self._counted()
        about = [
            Heading(1, ["The two models" if len(self.sides) == 2 else "The models"]),
            *map(self._about, self.sides),
        ]
        rest = self._parts()
        for pair, other in zip(self.found.pairs, self.sides[1:], strict=True):
            both = _ComparisonChapter(pair, [self.sides[0], other], self.id if len(self.sides) > 2 else "")._both()
            if len(self.sides) > 2:
                rest.append(Heading(1, [*self.sides[0].called, " and ", *other.called]))
                both = [replace(each, level=2) if isinstance(each, Heading) else each for each in both]
            rest += both
        holds = self._conditions()
        letters = self._letters([*result, *counted, *about, *holds, *rest])
        alone = self.found.per == 1 and not self.found.ties
        of_whole = all(
            each.id == f"{model.id}.{self.measure.name}"
            for model, each in zip(self.found.models, self.found.formulas, strict=True)
        )
        drawn = comparison_figure(self.found.models, self.found.formulas) if alone and of_whole else []
        return [*result, *about, *counted, *letters, *drawn, *holds, *rest]

    def _both(self) -> list[Block]:
        """Return the blocks on a pair: the difference, the ratio and the crossovers."""
        tie = self.found.tie
        said = tied(tie, self.found, self.sides, f"{self.id}.tied") if tie is not None else []
        said += self._difference()
        said += [*self._ratio(), *self._crossover()] if self.found.difference != 0 else []
        return said

    def _result(self) -> list[Block]:
        """Return the total of each model."""
        found = self.found
        said: list[Block] = []
        values = [side.value for side in found.totals if side.value is not None]
        if len(values) == 2 and len(self.sides) == 2:
            said.append(Paragraph([*self._comes(values[0], values[1]), "."]))
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

    def _comes(self, left: int, right: int) -> Iterator[Piece]:
        """Yield a sentence with both totals, their difference and the factor between them."""
        unit = self.unit
        for side, amount, after in zip(self.sides, (left, right), (f" {unit} and ", ""), strict=True):
            yield from side.called
            yield " totals " if side.number == 1 else " has "
            yield from (Strong(f"{amount:,}"), after)
        if left == right:
            yield "; the totals are equal"
            return
        more = "first" if left > right else "second"
        yield f"; the {more} has {abs(left - right):,} more"
        if min(left, right) and (times := _near(Fraction(max(left, right), min(left, right)))) != "1.000":
            yield f" and is {times} times as large"

    def _about(self, side: ComparedModel) -> Block:
        """Return a paragraph on one side: the model, its options, the source of its sizes and its check."""
        subject = Subject(subject_of(side.model, side.formula))
        part = side.formula.root.key if side.formula.within is not None else ""
        line: list[Piece] = [
            f"({side.number}) ",
            *maybe(part, "one ", Code(part), " of "),
            *side.line(subject.line),
            ": ",
            *side.line(about_part(side.formula.root, side.formula)),
        ]
        if line[-1] == ": ":
            line[-1] = f": {side.model.title}."
        if side.model.component.chosen:
            options = ", ".join(f"{name}={choice}" for name, choice in side.model.component.chosen.items())
            line += [" With ", Code(options), "."]
        if side.model.target in presets():
            line += [" Sizes from ", *sentence(presets()[side.model.target]["source"]), "."]
        line += maybe(subject.read_at, " ", *subject.read_at)
        line += maybe(subject.assumed, " ", *subject.assumed)
        line += [" ", *short_check(check_of(side.model, side.formula))]
        return Paragraph(line)

    def _counted(self) -> list[Block]:
        """Return the definition of the quantity and its conventions."""
        question = find_quantity(self.measure.name)
        states = dict.fromkeys(question.states(formula) for formula in self.found.formulas)
        said: list[Block] = [Heading(1, ["Definition and conventions"])]
        said += [Paragraph(sentence(each)) for each in states]
        for side in self.sides:
            if one := of_one_rank(ranks_of(side.formula, side.model.known), side.renamed):
                said.append(Paragraph([*side.called, ": ", *one]))
        if self.found.per != 1:
            said.append(Paragraph(["All amounts are divided by ", Math.of(self.found.per), "."]))
        every = {name: choice for each in reversed(self.found.formulas) for name, choice in question.said(each).items()}
        for name, choice in every.items():
            if all(name not in special for special in self.found.special):
                meaning = question.choices[name].meanings[choice]
                said.append(Paragraph([Code(f"{name}={choice}"), ": ", *sentence(meaning), "."]))
        for side, special in zip(self.sides, self.found.special, strict=True):
            for name, choice in special.items():
                meaning = question.choices[name].meanings[choice]
                said.append(
                    Paragraph(
                        [*side.called, " is counted with ", Code(f"{name}={choice}"), ": ", *sentence(meaning), "."]
                    )
                )
        return said

    def _letters(self, shown: Sequence[Block]) -> list[Block]:
        """Return the table of symbols in the chapter with their values; indexed forms of a letter share a row."""
        used = {size for each in blocks.formulas_in(shown) for size in sizes_of(each)}
        backs = [{name: size for size, name in side.own.items()} for side in self.sides]
        rows: dict[Symbol, list[list[Symbol]]] = {}
        for size in sorted(used, key=RANK.__getitem__):
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
                fits = any(
                    name in sizes for name in each for sizes in self.found.sizes
                )  # the size that makes the totals equal
                has = each and (size in side.mentioned or letter(size).run or fits)
                number = side.model.known.get(size) if has else None
                amounts.append([] if number is None else [f"{number:,}"])
            cells.append([_beside(names), [letter(size).meaning], *amounts])
        head: list[Line] = [["Symbol"], ["Meaning"], *(side.head for side in self.sides)]
        if not any(amount for row in cells for amount in row[2:]):
            head, cells = head[:2], [row[:2] for row in cells]
        said: list[Block] = [Table(head, cells, "cl" + "r" * (len(head) - 2), caption=["Symbols."])] if cells else []
        lacking = self.found.loose
        if lacking:
            line: list[Piece] = [
                *listed(*([Math.of(size)] for size in lacking)),
                " ",
                "has" if len(lacking) == 1 else "have",
            ]
            said.append(
                Paragraph(
                    [
                        *line,
                        " a value in only one of them and ",
                        "is" if len(lacking) == 1 else "are",
                        f" assumed equal in {'both' if len(self.sides) == 2 else 'all'}.",
                    ]
                )
            )
        return said

    def _conditions(self) -> list[Block]:
        """Return the conditions of each formula."""
        line: list[Piece] = []
        for side in self.sides:
            if notes := [side.line(note) for note in conditions(conditions_of(side.model, side.formula))]:
                start, holds = ("; for ", ", if ") if line else ("The formula holds for ", " if ")
                line += [start, *side.called, holds, *listed(*notes)]
        return [Paragraph([*line, "."])] if line else []

    def _parts(self) -> list[Block]:
        """Return the formulas by role; with numbers, also the amounts and their difference."""
        found = self.found
        if len(found.rows) < 3:  # one row and the total
            return []
        heads = [side.head for side in self.sides]
        trees = [
            [factored(side.gathered(each.expr)) for side, each in zip(self.sides, sides, strict=True)]
            for _, *sides in found.rows[:-1]
        ]
        formulas: list[list[Line]] = []
        for shown in trees:
            formulas.append([[Math(each)] for each in shown])
        formulas.append([[] for _ in self.sides])  # the formulas of the totals come first in the chapter
        roles: list[Line] = [[role] for role, *_ in found.rows]
        amounts = self._amounts()
        short = max(len(text(each)) for shown in trees for each in shown) <= SHORT
        heading = Heading(1, ["Part by part"])
        columns, less = len(self.sides), [["Difference"]] * (len(self.sides) == 2)
        right = "r" * (columns + len(less))
        unit = capital(self.unit)
        if short and amounts and columns == 2:
            rows = [[role, *cells, *each] for role, cells, each in zip(roles, formulas, amounts, strict=True)]
            return [
                heading,
                Table([["Part"], *heads, *heads, *less], rows, "l" * (columns + 1) + right, True, [f"{unit} by part."]),
            ]
        rows = [[role, *cells] for role, cells in zip(roles[:-1], formulas[:-1], strict=True)]
        said: list[Block] = [
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

    def _labels(self) -> tuple[Label, Label]:
        return self.sides[0].label, self.sides[1].label

    def _compared(self) -> tuple[Tree, Tree]:
        return self.sides[0].amount, self.sides[1].amount

    def _difference(self) -> list[Block]:
        found = self.found
        left, right = self._compared()
        said: list[Block] = [Heading(1, ["The difference"])]
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
            return [*said, Paragraph(["The totals are equal for all sizes."])]
        leading = Leading.of(found.difference)
        left_out = leading.left_out(self.numbers) if found.difference_value else None
        if leading.rest != 0 and (left_out is None or abs(left_out) <= MOST_LEFT_OUT):
            line += [*maybe(line, " "), "As all sizes grow together, its leading part is ", Math.of(leading.expr)]
            line += [f", which {_off(left_out)} with these sizes."] if left_out else ["."]
        return [*said, *([Paragraph(line)] if line else [])]

    def _ratio(self) -> list[Block]:
        """Return the ratio, factored if it fits a page, or else only its leading terms."""
        found = self.found
        said: list[Block] = [Heading(1, ["The ratio"])]
        if found.ratio is None or found.ratio_leading is None:
            return [*said, Paragraph([f"It is undefined: {found.no_ratio}."])]
        whole = value(found.ratio)
        exact = _rational(substitute(whole, dict(self.numbers)))
        shown = bracketed(found.ratio)
        line: list[Piece] = []
        if shown is not None or exact is not None:
            chain = Chain((Quotient(*self._labels()),), (shown or tree(Rational(exact)),))
            why: list[Line] = [] if shown else [["with these sizes"]]
            said.append(Equation(chain, id=f"{self.id}.ratio", reasons=why))
        else:
            above, below = (Ref(f"{self.whole}.{side.number}") for side in self.sides)
            line += ["It is ", above, " divided by ", below, "."]
        if found.no_ratio:
            line += [*maybe(line, " "), f"With these sizes, it is undefined: {found.no_ratio}."]
        elif exact is not None and not whole.is_number:
            line += ["With these sizes, it is ", *_exactly(exact), "."] if shown else [f"That is about {_near(exact)}."]
        leading = bracketed(found.ratio_leading)
        near = _rational(substitute(value(found.ratio_leading), dict(self.numbers)))
        off = abs(near / exact - 1) if near is not None and exact else 0
        if leading is not None and found.ratio_leading != found.ratio and off <= MOST_LEFT_OUT:
            line += [*maybe(line, " "), "The ratio of the leading terms is ", Math(leading)]
            if near is not None and not value(leading).is_number:
                line += [", which is ", *_exactly(near), " with these sizes"]
            line.append(".")
        said += [Paragraph(line)] if line else []
        return said + growing(found.limits, self.numbers)

    def _crossover(self) -> list[Block]:
        """Return the crossovers: where the totals are equal, and which side is larger elsewhere."""
        found = self.found
        first, second = self.sides
        said: list[Block] = [Heading(1, ["Which is larger"])]
        if (sign := constant_sign(found.difference)) is not None:
            return [*said, Paragraph([*(first if sign > 0 else second).called, " is larger for all sizes."])]
        known = expand(substitute(found.difference, dict(self.numbers)))
        if known.free_symbols and (sign := constant_sign(known)):
            free = sorted(known.free_symbols, key=RANK.__getitem__)
            more = (first if sign > 0 else second).called
            said.append(Paragraph(["With these sizes, ", *more, " is larger for every ", *_or(free), "."]))
        turning = {size: spans for size, spans in found.crossings.items() if len(spans) > 1}
        said += self._solved(turning)
        if turning:
            said += self._turns(turning)
        for side, sign in ((first, 1), (second, -1)):
            same = [size for size, spans in found.crossings.items() if [each.sign for each in spans] == [sign]]
            if same:
                said.append(
                    Paragraph(
                        [
                            "For every value of ",
                            *_or(same),
                            " alone, within the conditions, ",
                            *side.called,
                            " is larger.",
                        ]
                    )
                )
        return said if len(said) > 1 else []

    def _solved(self, turning: Collection[Symbol]) -> list[Block]:
        """Return the crossover formulas that fit a page; with numbers, only the shortest for these sizes."""
        free = self.found.difference.free_symbols
        whole = free <= self.numbers.keys()
        sizes = [size for size in free if not whole or size in turning]
        if self.found.per == 1:
            solutions = [solve(*self._labels(), size) for size in sizes]
        else:  # avoids a fraction such as U/(BC) inside another fraction
            solutions = [zero_of(self.found.difference, size) for size in sizes]
        fitting = [one for one in solutions if one is not None and _fits(one)]
        chosen = sorted(fitting, key=_telling)[: FEW if whole else MOST]
        if not chosen:
            return []
        said: list[Block] = [Paragraph(["The totals are equal if", " one of these holds:" * (len(chosen) > 1)])]
        where: list[list[Piece]] = []
        for each in sorted(chosen, key=lambda each: RANK[each.size]):
            id = f"{self.id}.crossover.{each.size}"
            said.append(Equation(Chain((tree(each.size),), (each.shown,)), id=id))
            where.append([Math.of(each.size), " is above " if each.above > 0 else " is below ", Ref(id)])
        side = "the other side" + " of each" * (len(chosen) > 1)
        first, second = (each.called for each in self.sides)
        said.append(Paragraph([*first, " is larger if ", *_or(where), "; on ", side, ", ", *second, " is larger."]))
        return said

    def _turns(self, turning: Mapping[Symbol, Sequence[Span]]) -> list[Block]:
        """Return a table of the integers for which each side is larger."""
        same = any(each.sign == 0 for spans in turning.values() for each in spans)
        head: list[Line] = [
            ["Size"],
            ["Current value"],
            *([*side.head, " is larger"] for side in self.sides),
            *_cells(same, ["Equal"]),
        ]
        rows: list[Sequence[Line]] = []
        for size, spans in turning.items():
            here = self.numbers.get(size)
            cells: list[Line] = [[Math.of(size)], [] if here is None else [f"{here:,}"]]
            cells += [[_ranges(spans, sign)] for sign in (1, -1)]
            rows.append([*cells, *_cells(same, [_ranges(spans, 0)])])
        line = "Changing one size within the conditions and holding everything else fixed:"
        return [
            Paragraph([line]),
            Table(head, rows, "crll" + "l" * same, caption=["Which is larger as one size changes."]),
        ]


def _divided(found: Comparison) -> str:
    """Return the suffix of a title or a unit for divided amounts, as in ``bytes per BC``."""
    return "" if found.per == 1 else f" per {text(found.per)}"


def _off(left_out: Fraction) -> str:
    """Return how far the leading terms are below the whole, or above it if the share is negative."""
    if left_out < 0:
        return f"exceeds it by {percent(-left_out)}"
    return f"omits {percent(left_out)} of it"


def _fits(solution: CrossoverPoint) -> bool:
    shown = solution.shown
    parts = (shown.numerator, shown.denominator) if isinstance(shown, Quotient) else (shown,)
    return all(len(text(each)) <= LONG for each in parts)


def _telling(solution: CrossoverPoint) -> tuple[bool, int, tuple[int, str]]:
    """Return a sort key that puts rows of tables and long formulas last."""
    return letter(solution.size).unit == "rows", len(text(solution.shown)), RANK[solution.size]


def _rational(expr: Expr) -> Fraction | None:
    return Fraction(int(expr.p), int(expr.q)) if expr.is_Rational else None


def _exactly(ratio: Fraction) -> list[Piece]:
    """Return a ratio as a fraction, followed by four digits if it is not an integer."""
    if ratio.denominator == 1:
        return [f"{ratio.numerator:,}"]
    if Fraction(_near(ratio).replace(",", "")) == ratio:
        return [_near(ratio)]
    return [f"{ratio.numerator:,}/{ratio.denominator:,} ≈ {_near(ratio)}"]


def _near(ratio: Fraction) -> str:
    return f"{Context(prec=4).divide(Decimal(ratio.numerator), Decimal(ratio.denominator)):,f}"


def _ranges(spans: Sequence[Span], sign: int) -> str:
    """Return ranges of integers in words, such as ``≥ 946`` or ``1 to 75``."""
    words = []
    for each in spans:
        if each.sign != sign:
            continue
        if each.last is None:
            words.append(f"≥ {each.first:,}")
        elif each.last == each.first:
            words.append(f"{each.first:,}")
        else:
            words.append(f"{each.first:,} to {each.last:,}")
    return ", ".join(words) or "never"


def _beside(names: Sequence[Symbol]) -> Line:
    """Return letters separated by commas."""
    line: list[Piece] = []
    for name in names:
        line += [*maybe(line, ", "), Math.of(name)]
    return line


def _or(notes: Sequence[Symbol | Line]) -> list[Piece]:
    line: list[Piece] = []
    for place, note in enumerate(notes):
        between = " or " if place == len(notes) - 1 else ", "
        line += [*maybe(place, between), *([Math.of(note)] if isinstance(note, Symbol) else note)]
    return line


def _cells(said: object, *lines: Line) -> Sequence[Line]:
    """Return the cells if ``said`` is true, or none."""
    return lines if said else ()


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
