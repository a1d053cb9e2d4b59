"""Explanations of published numbers: what a number of a model card, a paper or a log counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import overload

from ..architectures import composed_model
from ..language.errors import ArithmeticTextError, OptionError, SymformerError
from ..language.printed_number import PrintedNumber, printed
from ..language.target import AnyTarget
from ..ledger.facts import ROTARY, OperationKind
from ..models.model import Model
from ..quantities import quantity as find_quantity
from ..quantities.spellings import spelled
from .counting.counting_changes import CountingChange, value_at
from .counting.counting_methods import counting_methods
from .counting.counting_variants import CountingVariant
from .counting.file_sizes import file_sizes
from .counting.plausibility import plausible_counts
from .counting.weight_sizes import in_format
from .explanation import Explanation, Verdict
from .log_lines import LogExplanation, LogLine, explain_log_line, log_line

MANY = 10**17  # no model has so many parameters; a number without a unit is then the FLOPs of a training run
OPERATIONS = ("G", "T")  # suffixes of FLOPs printed without a unit; parameters have a B


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
    if open_ and (asked.text.endswith(OPERATIONS) or asked.value >= MANY):
        with suppress(SymformerError):  # FLOPs need a number of tokens, which may be missing
            other = _explained(model, replace(asked, unit="FLOPs"), None, conventions)
            return counted if other.verdict == "unexplained" else other
    return counted


def _explained(model: Model, asked: PrintedNumber, quantity: str | None, conventions: Mapping[str, str]) -> Explanation:
    """Explain a parsed number."""
    found = plausible_counts(asked, counting_methods(model, asked, quantity, conventions))
    if found.matches:
        return Explanation(
            model, found.printed, _verdict(asked, found.printed, found.counts[0]), found.own, *_split(found.counts)
        )
    if found.tried and asked.whole and asked.unit == "bytes" and quantity is None:
        is_file = not asked.text.replace(",", "").isdigit()
        if files := file_sizes(model, asked, found.tried, is_file):
            return Explanation(model, asked, "convention", found.own, *_split(files))
    return Explanation(model, asked, "unexplained", found.own, found.counts[0], (), found.doubt)


def _split(counts: Sequence[CountingVariant]) -> tuple[CountingVariant, tuple[CountingVariant, ...]]:
    return counts[0], tuple(counts[1:])


def _verdict(asked: PrintedNumber, taken: PrintedNumber, best: CountingVariant) -> Verdict:
    if best.otherwise or taken is not asked:
        return "convention"
    return "exact" if asked.whole and best.match_kind(asked) == "exact" else "rounded"
