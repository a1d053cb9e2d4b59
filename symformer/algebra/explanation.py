"""The explanation of a published number: a sentence, its arithmetic, and the other plausible counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from sympy import Expr, Rational

from ..architectures import composed_model, presets
from ..formulas import ranks
from ..formulas.totals import definitions
from ..language.aliases import Alias
from ..language.errors import OptionError, joined
from ..language.notation.display_tree import Word, tree
from ..language.notation.text import code, json_number, number, to_digits
from ..language.number_words import PERCENT
from ..language.printed_number import PrintedNumber
from ..language.symbols import B, C, N_dev, N_peak, N_tok, N_tps, S, V
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Equation, Line, Paragraph, Table
from ..output.chain import Chain
from .counting.counting_changes import value_at
from .counting.counting_variants import CountingVariant, as_int, value_of
from .counting.plausibility import with_conventions
from .counting.training_compute import FEW, RULE
from .result import Answer

Verdict = Literal["exact", "rounded", "convention", "unexplained"]
SHOWN = 2  # rows named in one line


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Answer):
    """The explanation of a published number of a model, or the statement that no known count matches."""

    model: Model
    printed: PrintedNumber
    verdict: Verdict
    own_count: CountingVariant  # symformer's own count
    match: CountingVariant  # the matching count, or the nearest one
    equally_good: tuple[CountingVariant, ...] = ()  # equally good counts
    doubt: str = ""  # why a matching count is not reported as an explanation

    @property
    def match_kind(self) -> str:
        """How the number represents the count: exact, rounded or cut off."""
        return self.match.match_kind(self.printed)

    @cached_property
    def target_text(self) -> str:
        """The target, with the sizes and options that differ from the target's own."""
        target, known = self.model.target, self.model.known
        named = composed_model(target) if target in presets() else None
        theirs = named.known if named is not None else {}
        options = self.model.component.changed_options
        usual = named.component.changed_options if named is not None else {}
        other = [f"{name}={value}" for name, value in options.items() if usual.get(name) != value]
        run = {B, S, C, N_tok, N_tps, N_dev, N_peak}
        own = {size: value for size, value in known.items() if theirs.get(size) != value and size not in run}
        other += [f"{size} = {value:,}" for size, value in own.items()]
        return f"{target} with {joined(other)}" if other else target

    @property
    def value(self) -> int | Fraction:
        """The exact value of the matching count, or of symformer's count if none matches."""
        return as_int((self.own_count if self.verdict == "unexplained" else self.match).value)

    @property
    def difference(self) -> int | Fraction:
        """The matching count minus symformer's count, or the printed number minus it if no count matches."""
        counted = self.printed.value if self.verdict == "unexplained" else self.match.value
        return as_int(counted - self.own_count.value)

    @cached_property
    def change(self) -> Expr | None:
        """The difference as a formula, or None if it has none."""
        return None if self.verdict == "unexplained" else self.match.change(self.own_count.method)

    @property
    def reason(self) -> str:
        """One sentence that states what the number counts, with the arithmetic."""
        shown, target, found = self.printed.text, self.target_text, self.match
        counts = f"{found.method.counts} of {target}"
        if self.verdict in ("exact", "rounded"):
            steps = found.steps()
            if " = " not in steps or found.method.unit == PERCENT:
                steps = ""
            counted = f": {steps}" if steps else f", {self.format_value(found.value)}"
            if self.verdict == "exact":
                return f"{shown} is {counts}{counted if steps else ''}, exactly"
            digits = self.printed.digits_of(found.value)
            said = {"rounded": f"rounded to {digits}", "cut off": f"truncated to {digits}"}
            return f"{shown} is {counts}{counted}, {said.get(self.match_kind, 'exactly')}"
        if self.verdict == "convention":
            ends = "exactly" if self.match_kind == "exact" else f"which rounds to {self.printed.figure}"
            if self.printed.letter:
                near = _near(found.value / self.printed.scale)
                ends = f"which is {'exactly ' * (self.match_kind == 'exact')}{near} {self.printed.letter}iB"
            if found.method.nominal and found.method.scale != 1:
                ends += f"; the exact count is {self.format_value(self._counted_exactly)}"
            return f"{shown} is {counts}, {with_conventions(found.otherwise)}: {found.steps()}, {ends}"
        away = self.printed.value - found.value
        side = "less" if away > 0 else "more"
        near = f"{found.method.counts}{', ' + with_conventions(found.otherwise) if found.otherwise else ''}"
        unit = f" {found.method.unit}" * (found.method.unit not in ("elements", PERCENT))
        nearest = f"{near}, is {self.format_value(found.value)}{unit} ({self.format_value(abs(away))} {side})"
        return f"{shown} cannot be identified as a count of {target}: " + (
            self.doubt or f"the nearest count, {nearest}{self.hint}"
        )

    @property
    def _counted_exactly(self) -> Fraction:
        """The exact count behind the size in the name of the model, in the same unit."""
        way = self.match.method
        return way.scale * value_at(way.formula.root.each, way.numbers)

    def format_value(self, value: Fraction | int) -> str:
        """Return a count with separators, or a share as a percentage with two decimals."""
        return f"{float(round(value, 2)):.2f}%" if self.own_count.method.unit == PERCENT else number(value)

    @property
    def hint(self) -> str:
        """For an unexplained number, the vocabulary or the training tokens that would match it, without a source."""
        way, asked = self.own_count.method, self.printed
        if way.unit == "FLOPs" and way.scale >= RULE * FEW:
            needed = to_digits(asked.value / (RULE * value_at(way.whole, way.numbers)), 3)
            return f"; {RULE} FLOPs per parameter would equal it for {needed:,f} tokens"
        tokens = way.numbers.get(V)
        if tokens is None or not asked.whole or asked.zeros is not None or way.unit != "elements":
            return ""
        row = way.scale * value_at(way.whole.diff(V), way.numbers)
        rows = (asked.value - self.own_count.value) / row if row else Fraction(1, 2)
        if rows.denominator != 1 or not tokens / 2 < tokens + rows < 2 * tokens:
            return ""
        return f"; with a vocabulary of {int(tokens + rows):,} the match would be exact"

    @property
    def meanings(self) -> dict[str, str]:
        """The meaning of each convention in the explanation."""
        switches = self.match.changes if self.verdict == "convention" else ()
        return {switch.says: switch.meaning for switch in switches if switch.meaning}

    @property
    def alternatives(self) -> list[str]:
        """The equally good explanations, one line each."""
        own = self.match.method.counts
        return [
            f"{each.method.counts + ', ' if each.method.counts != own else ''}{with_conventions(each.otherwise)}: "
            + each.steps()
            for each in self.equally_good
        ]

    @property
    def rows(self) -> list[tuple[str, tuple[str, ...], int | Fraction]]:
        """The changed conventions: each with its rows and the difference that it makes alone."""
        way, found = self.match.method, list[tuple[str, tuple[str, ...], int | Fraction]]()
        before = way.scale * value_at(way.whole, way.numbers) - self.own_count.value
        if before and way.unit == self.own_count.method.unit and self.verdict == "convention":
            found.append((" and ".join(way.says) or way.counts, (), as_int(before)))
        for switch in self.match.changes if self.verdict == "convention" else ():
            alone = value_of(way, (switch,)) - way.scale * value_at(way.whole, way.numbers)
            found.append((switch.says, switch.rows, as_int(alone)))
        return found

    def rank_lines(self) -> list[Line]:
        """Return the number of ranks if the values are per rank."""
        return ranks.stated(self.match.method.formula.ranks, self.model.known)

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as ``explain --json`` prints it; a fraction is a string "p/q"."""
        return {
            "target": self.model.target,
            "number": self.printed.text,
            "verdict": self.verdict,
            "because": self.reason,
            "value": json_number(self.value),
            "difference": json_number(self.difference),
            "formula": None if self.change is None else code(self.change),
            "counts": self.match.method.formula.measure.name,
            "unit": self.match.method.unit,
            **ranks.facts(self.match.method.formula.ranks, self.model.known),
            "fits": self.match_kind or None,
            "otherwise": list(self.match.otherwise) if self.verdict == "convention" else [],
            "rows": [
                {"what": what, "rows": list(rows), "value": json_number(each)}
                for what, rows, each in self.rows
            ],
            "meanings": self.meanings,
            "alternatives": self.alternatives,
            "options": self.model.component.changed_options,
            "symbols": {str(size): value for size, value in self.own_count.method.numbers.items()},
        }  # fmt: skip

    def table(self) -> dict[str, list[Any]]:
        """Return symformer's count and the changed conventions, each with the difference that it makes alone."""
        plain: tuple[str, tuple[str, ...], int | Fraction] = ("symformer's count", (), as_int(self.own_count.value))
        columns = zip(*(plain, *self.rows), strict=True)
        return {name: list(column) for name, column in zip(("what", "rows", "value"), columns, strict=True)}

    def _picture(self, by: str) -> Plot:
        raise OptionError("an explanation is a sentence and has no plot; print it, or use table()")

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self.reason}>"

    def to_blocks(self) -> list[BriefBlock]:
        """Return the sentence, symformer's count, and a table of the changed conventions with their meanings."""
        plain = self.own_count
        ours = plain.method.formula
        if self.verdict == "convention" and self.match.method.formula.measure.unit == "bytes":
            ours = self.match.method.formula  # bytes of a weight format are not a multiple of the parameters
        found: list[BriefBlock] = [
            Paragraph([self.reason]),
            *(Paragraph([f"or {line}"]) for line in self.alternatives),
            Equation(Chain((ours.label,), (tree(ours.display_expr),))),
            *map(Paragraph, definitions(ours.relations, ours.totals & ours.display_expr.free_symbols)),
            *map(Paragraph, self.rank_lines()),
        ]
        if self.verdict != "convention":
            return found
        if self.rows:
            rows = [["symformer's count", number(plain.value), ""]]
            rows += [[what, number(each), _some(paths)] for what, paths, each in self.rows]
            found.append(Table.of(["", self.match.method.unit, "rows"], rows, "lrl"))
        found += [Paragraph([f"{name}: {meaning}"]) for name, meaning in self.meanings.items()]
        if self.change is not None and self.change != 0:
            amount = tree(Rational(self.difference.numerator, self.difference.denominator))
            steps = (tree(self.change), *([amount] if self.change.free_symbols else []))
            found.append(Equation(Chain((Word("difference"),), steps)))
        return found

    # Former names
    because = Alias("reason")
    how = Alias("match_kind")
    others = Alias("equally_good")
    reading = Alias("match")
    whose = Alias("target_text")
    spell = Alias("format_value")


def _some(paths: Sequence[str]) -> str:
    """Return the first row names and the number of further ones."""
    more = f", and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return ", ".join(paths[:SHOWN]) + more


def _near(value: Fraction) -> str:
    return f"{to_digits(value, 4):f}"
