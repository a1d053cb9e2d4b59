"""Explanations of published numbers: an exact count, a rounded count, or a count under other conventions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, overload

from sympy import Expr, Rational

from ..architectures import composed_model, presets
from ..formulas import ranks
from ..formulas.totals import definitions
from ..language.aliases import Alias
from ..language.errors import ArithmeticTextError, OptionError, SymformerError, joined
from ..language.notation.display_tree import Word, tree
from ..language.notation.text import code, json_number, number, to_digits
from ..language.printed_number import PERCENT, PrintedNumber, printed
from ..language.symbols import B, C, N_dev, N_peak, N_tok, N_tps, S, V
from ..language.target import AnyTarget
from ..ledger.facts import ROTARY, OperationKind
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Equation, Line, Paragraph, Table
from ..output.chain import Chain
from ..quantities import quantity as find_quantity
from ..quantities.spellings import spelled
from .counting.counting_changes import CountingChange, Rank, value_at
from .counting.counting_methods import CountingMethod, counting_methods, in_format
from .counting.counting_variants import CountingVariant, as_int, counting_variants, value_of
from .counting.file_sizes import file_sizes
from .log_lines import LogExplanation, LogLine, explain_log_line, log_line
from .result import Answer

Verdict = Literal["exact", "rounded", "convention", "unexplained"]
MOST = {True: 3, False: 2}  # maximum number of changed conventions, for a number with all its digits and a rounded one
FEWEST = 2  # digits that a number needs to identify a changed convention
HANDFUL = 5  # matching counts above which a number identifies none of them
CHANCE = Fraction(1, 20)  # expected matches by chance above which several changed conventions explain nothing
NEAR = Fraction(1, 10)  # relative distance within which the matches by chance are estimated
SHOWN = 2  # rows named in one line
OPERATIONS = ("G", "T")  # suffixes of FLOPs printed without a unit; parameters have a B
BINARY = "powers of 1,024 printed as powers of 1,000"


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
            if self.verdict == "exact":
                return f"{shown} is {counts}, exactly"
            digits = self.printed.digits_of(found.value)
            said = {"rounded": f"rounded to {digits}", "cut off": f"truncated to {digits}"}
            return f"{shown} is {counts}, {self.format_value(found.value)}, {said.get(self.match_kind, 'exactly')}"
        if self.verdict == "convention":
            ends = "exactly" if self.match_kind == "exact" else f"which rounds to {shown}"
            if self.printed.letter:
                near = _near(found.value / self.printed.scale)
                ends = f"which is {'exactly ' * (self.match_kind == 'exact')}{near} {self.printed.letter}iB"
            if found.method.nominal:
                ends += f"; the exact count is {self.format_value(self._counted_exactly)}"
            return f"{shown} is {counts}, {_with(found.otherwise)}: {found.steps()}, {ends}"
        away = self.printed.value - found.value
        side = "less" if away > 0 else "more"
        near = f"{found.method.counts}{', ' + _with(found.otherwise) if found.otherwise else ''}"
        nearest = f"{near}, is {self.format_value(found.value)} ({self.format_value(abs(away))} {side})"
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
        """For an unexplained integer, the vocabulary size that would match it, although no source states that size."""
        way, asked = self.own_count.method, self.printed
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
        return [f"{_with(each.otherwise)}: {each.steps()}" for each in self.equally_good]

    @property
    def rows(self) -> list[tuple[str, tuple[str, ...], int | Fraction]]:
        """The changed conventions: each with its rows and the difference that it makes alone."""
        way, found = self.match.method, list[tuple[str, tuple[str, ...], int | Fraction]]()
        before = way.value - self.own_count.value
        if before and way.unit == self.own_count.method.unit and self.verdict == "convention":
            found.append((" and ".join(way.says) or way.counts, (), as_int(before)))
        for switch in self.match.changes if self.verdict == "convention" else ():
            alone = value_of(way, (switch,)) - way.value
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
        rows = [["symformer's count", "", number(plain.value)]]
        rows += [[what, _some(paths), number(each)] for what, paths, each in self.rows]
        found.append(Table.of(["", "rows", self.match.method.unit], rows, "llr"))
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


@overload
def explain(
    target: Model | AnyTarget, number: PrintedNumber | int, quantity: str | None = None, **conventions: str
) -> Explanation: ...


@overload
def explain(
    target: Model | AnyTarget, number: str, quantity: str | None = None, **conventions: str
) -> Explanation | LogExplanation: ...


def explain(
    target: Model | AnyTarget, number: PrintedNumber | str | int, quantity: str | None = None, **conventions: str
) -> Explanation | LogExplanation:
    """Explain a published number of a model, or a line from a log of vLLM or llama.cpp.

    The explanation uses the fewest changed conventions that match the number. If none match, it is the nearest count.

    Parameters
    ----------
    target
        A model or its name.
    number
        The published number as text, such as ``"6.7B"`` or ``"163,037,184"``, or an integer; or a line of a log, such
        as ``"GPU KV cache size: 131,072 tokens"`` or ``"model size = 4.58 GiB (4.89 BPW)"``.
    quantity, conventions
        The quantity that the number counts, and its conventions. By default, the unit of the number decides.

    Returns
    -------
    Explanation or LogExplanation
        ``reason`` is the sentence; ``table()`` has the terms.

    Raises
    ------
    SymformerError
        If the number cannot be read, or if the quantity is not a count.

    Examples
    --------
    >>> explain("gpt2", "163,037,184").reason
    '163,037,184 is the number of parameters of gpt2, with the tied head counted a second time: 124,439,808 + \
38,597,376 = 163,037,184, exactly'

    """
    model = composed_model(target)
    if quantity is not None:
        question = find_quantity(quantity)
        quantity, conventions = question.measure.name, spelled(conventions, question.choices)
    if isinstance(number, float):
        raise ArithmeticTextError(f"{number} is a float, which does not keep its printed digits; give it as text")
    if isinstance(number, str) and (line := log_line(number)):
        return _of_line(model, line, quantity, conventions)
    asked = number if isinstance(number, PrintedNumber) else printed(str(number))
    return _of_number(model, asked, quantity, conventions)


def _of_line(
    model: Model, line: LogLine, quantity: str | None, conventions: Mapping[str, str]
) -> Explanation | LogExplanation:
    """Explain a line of a log."""
    if quantity is not None and line.quantity and quantity != line.quantity:
        raise OptionError(f"{line.text!r} states {line.quantity}, not {quantity}; remove -q {quantity}")
    if line.kind == "loaded weights":
        found = _of_number(model, line.number, quantity, conventions)
        return (found.verdict == "unexplained" and _loaded_weights(model, line.number)) or found
    if line.kind:
        return explain_log_line(model, line, conventions)
    wanted = line.quantity or quantity
    choices = find_quantity(wanted).choices if wanted else {}
    stated = {name: value for name, value in line.conventions.items() if name in choices}
    sized = model.set(line.sizes) if line.sizes else model
    return _of_number(sized, line.number, wanted, {**stated, **conventions})


def _loaded_weights(model: Model, asked: PrintedNumber) -> Explanation | None:
    """Return the explanation of a size of weights that vLLM states, which includes its table of rotary positions.

    The table has a cosine and a sine of 2 bytes for each pair of rotary elements of each position of the config.
    """
    rotary = [entry for _, entry in model.ledger if entry.kind is OperationKind.POSITIONS and entry.function in ROTARY]
    positions = model.provenance.positions
    if len(rotary) != 1 or not positions:
        return None
    for way in in_format(model, model.provenance.weights or "bf16", "the size of the weights", ()):
        size = 2 * positions * rotary[0].output.width
        says = f"vLLM's table of rotary positions for {positions:,} tokens"
        change = CountingChange(frozenset({"rotary"}), says, size)
        found = CountingVariant(way, (change,), way.value + value_at(size, model.known))
        if found.match_kind(asked) == "rounded":
            return Explanation(model, asked, "convention", CountingVariant(way, (), way.value), found)
    return None


def _of_number(model: Model, asked: PrintedNumber, quantity: str | None, conventions: Mapping[str, str]) -> Explanation:
    counted = _explained(model, asked, quantity, conventions)
    open_ = counted.verdict == "unexplained" and quantity is None and not asked.unit
    if open_ and asked.text.replace(",", "").isdigit():
        other = _explained(model, replace(asked, unit="bytes"), None, conventions)  # such as the size of a checkpoint
        return counted if other.verdict == "unexplained" else other
    if open_ and asked.text.endswith(OPERATIONS):
        with suppress(SymformerError):  # FLOPs need a number of tokens, which may be missing
            other = _explained(model, replace(asked, unit="FLOPs"), None, conventions)
            return counted if other.verdict == "unexplained" else other
    return counted


def _explained(model: Model, asked: PrintedNumber, quantity: str | None, conventions: Mapping[str, str]) -> Explanation:
    """Explain a parsed number."""
    supply = counting_methods(model, asked, quantity, conventions)
    found: list[CountingMethod] = []
    for way in supply:  # lazy: the other counts are built only if no plain count fits
        found.append(way)
        if way.cost:
            break
    plain = CountingVariant(found[0], (), found[0].value)
    if best := _plainest(asked, [way for way in found if not way.cost]):
        printed_as, reading = best
        if printed_as is asked:
            return _counted(model, asked, reading, supply)
        return Explanation(model, printed_as, "convention", plain, reading)
    found += supply
    for exactly, count in _order(asked):
        level = list(counting_variants(found, count))
        so = asked
        fits = _fitting(asked, level, count, exactly)
        if not fits and asked.binary is not None:
            so = asked.binary
            fits = _fitting(so, (each.said(BINARY) for each in counting_variants(found, count - 1)), count)
        if fits and fits[0].rank is not Rank.NOMINAL and (doubt := _doubted(asked, fits, level, count)):
            return Explanation(model, asked, "unexplained", plain, fits[0], (), doubt)
        if fits:
            return Explanation(model, so, "convention", plain, fits[0], tuple(fits[1:]))
    if asked.whole and asked.unit == "bytes" and quantity is None:
        is_file = not asked.text.replace(",", "").isdigit()
        files = file_sizes(model, asked, found, is_file)
    else:
        files = []
    if files:
        return Explanation(model, asked, "convention", plain, files[0], tuple(files[1:]))
    return Explanation(model, asked, "unexplained", plain, _nearest(asked, plain, found))


def _plainest(asked: PrintedNumber, plain: Sequence[CountingMethod]) -> tuple[PrintedNumber, CountingVariant] | None:
    """Return the plain count that matches a number, and the number as read: in GB, or in GiB.

    An exact match comes first, in GB or GiB; then a count that rounds to the number, in GB before GiB; then a count
    that is truncated to it.
    """
    for taken, how in ((asked, "exact"), (asked.binary, "exact"), (asked, "rounded"), (asked.binary, "rounded")):
        for way in plain:
            if taken is not None and taken.fits(way.value) == how:
                reading = CountingVariant(way, (), way.value)
                return taken, reading if taken is asked else reading.said(BINARY)
    cut = next((way for way in plain if asked.fits(way.value)), None)
    return (asked, CountingVariant(cut, (), cut.value)) if cut is not None else None


def _counted(
    model: Model, asked: PrintedNumber, best: CountingVariant, supply: Iterable[CountingMethod]
) -> Explanation:
    """Return the explanation by a plain count; if it is truncated, counts that round to the number are as good."""
    how, others = best.match_kind(asked), list[CountingVariant]()
    if how == "cut off":
        level = counting_variants([best.method, *supply], 1)
        others = [each for each in _fitting(asked, level, 1) if each.match_kind(asked) == "rounded"]
    verdict: Verdict = "exact" if how == "exact" and asked.whole else "rounded"
    return Explanation(model, asked, verdict, best, best, tuple(others[:HANDFUL]))


def _nearest(asked: PrintedNumber, plain: CountingVariant, found: Sequence[CountingMethod]) -> CountingVariant:
    """Return the nearest plain count, or a count with one changed convention if that is much nearer."""

    def away(each: CountingVariant) -> Fraction:
        return abs(each.value - asked.value)

    least = min(counting_variants(found, 0), key=away, default=plain)
    other = min(counting_variants(found, 1), key=away, default=plain)
    return other if away(other) < away(least) * NEAR else least


def _order(asked: PrintedNumber) -> Iterator[tuple[bool, int]]:
    """Yield the search levels: exact matches before rounded ones, few changed conventions before many."""
    if asked.whole:
        yield from ((True, count) for count in range(1, MOST[True] + 1))
    if not asked.whole or asked.zeros is not None:
        yield from ((False, count) for count in range(1, MOST[False] + 1))


def _fitting(
    asked: PrintedNumber, readings: Iterable[CountingVariant], count: int, exactly: bool = False
) -> list[CountingVariant]:
    """Return the readings that match a number, one for each value, the most plausible first.

    Among equally plausible readings, exact counts come first, then rounded counts, then truncated counts.
    """
    found: dict[Fraction, CountingVariant] = {}
    for each in readings:
        how = asked.fits(each.value, coarsely=count == 0)
        if each.value == asked.value if exactly else how and not (count and how == "cut off"):
            before = found.get(each.value)
            if before is None or each.rank < before.rank:
                found[each.value] = each
    order = ("exact", "rounded", "cut off")
    return sorted(found.values(), key=lambda each: (each.rank, order.index(each.match_kind(asked))))


def _doubted(
    asked: PrintedNumber, fits: Sequence[CountingVariant], level: Sequence[CountingVariant], count: int
) -> str:
    """Return why a match proves nothing: too many counts match, or as many as by chance. Empty for a valid match."""
    if asked.digits < FEWEST and fits[0].match_kind(asked) != "exact":
        return f"the count {_with(fits[0].otherwise)} matches, but too many other counts match a single digit too"
    if len(fits) > HANDFUL:
        examples = "; ".join(_with(each.otherwise) for each in fits[:3])
        return f"{len(fits)} different counts match it ({examples}; …)"
    if count > 1:
        near = {each.value for each in level if abs(each.value - asked.value) <= NEAR * asked.value}
        chance = len(near) * asked.width / (2 * NEAR * asked.value)
        if chance > CHANCE:
            return (
                f"the count {_with(fits[0].otherwise)} matches, but so many counts are close to the number that "
                f"{asked.digits} digits can match by chance"
            )
    return ""


def _with(otherwise: Sequence[str]) -> str:
    return f"with {joined(otherwise)}" if otherwise else "as symformer counts it"


def _near(value: Fraction) -> str:
    return f"{to_digits(value, 4):f}"
