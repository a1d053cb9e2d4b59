"""Sizes of files with weights: the bytes of the tensors, and of a header whose length depends on the tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, prod

from sympy import Integer

from ...language.printed_number import PrintedNumber
from ...language.sizes import evaluate
from ...language.symbols import V
from ...ledger.facts import OperationKind
from ...models.model import Model
from ...quantities.weight_formats.gguf import PREFIX
from .counting_changes import CountingChange, Rank
from .counting_method import CountingMethod
from .counting_variants import CountingVariant
from .weight_sizes import in_format

# Bytes of a GGUF header for each token of the vocabulary: a text with its length, a type, and a score or merges. They
# are 23 for the 32,000 tokens of Llama 2, 39 for Qwen 2.5 and 61 for the 128,256 tokens of Llama 3.
PER_TOKEN = (20, 65)
# Bytes of a header for each tensor: its name, type, shape and place.
PER_TENSOR = (60, 220)
PARTS = 4  # the most tensors in which a format keeps a matrix: codes, scales, zero points and group indices
MOST = 5  # formats that explain a size; more identify none
NEAR, CHANCE = Fraction(1, 10), Fraction(1, 20)  # as in explanations by several changed conventions
MEANING = "the names, types and shapes of the tensors; in a GGUF file also the tokenizer"


def file_sizes(
    model: Model, asked: PrintedNumber, found: Sequence[CountingMethod], is_file: bool
) -> list[CountingVariant]:
    """Return the counts of weights that are smaller than a file by a plausible header, the smallest header first.

    Parameters
    ----------
    model : Model
        The model.
    asked : PrintedNumber
        The size of a file, with all digits.
    found : Sequence[CountingMethod]
        The possible counts of its tensors.
    is_file : bool
        Whether the number is printed as bytes. Any other number must be unlikely to match by chance.

    Returns
    -------
    list[CountingVariant]
        At most ``MOST``; none if more fit, because then the size identifies none of them.

    """
    formats = [way for way in found if any(said.startswith("weights=") for said in way.says)]
    is_gguf = [any(said.startswith(f"weights={PREFIX}") for said in way.says) for way in formats]
    narrow = [*_plain(model), *(way for way, wide in zip(formats, is_gguf, strict=True) if not wide)]
    wide = [way for way, wide in zip(formats, is_gguf, strict=True) if wide]
    tensors = _tensors(model)
    fitting: dict[int, CountingVariant] = {}  # the first count with each value
    by_chance = Fraction(0)  # the expected number of matches of a random number near this one
    # The headers of safetensors files are short, so a match by chance is unlikely; GGUF headers contain the tokenizer.
    for ways, each_token in ((narrow, (0, 0)), (wide, PER_TOKEN)):
        least, most = _header_bounds(model, each_token)
        most += tensors * PER_TENSOR[1] * (PARTS - 1) * (ways is narrow)
        near = {way.value for way in ways if abs(asked.value - way.value) <= NEAR * asked.value}
        by_chance += len(near) * (most - least) / (2 * NEAR * asked.value)
        if by_chance > CHANCE and not is_file:
            break
        for way in ways:
            header = asked.value - way.value
            if header.denominator == 1 and least <= header <= most:
                fitting.setdefault(int(header), _with_header(way, int(header)))
    return [fitting[header] for header in sorted(fitting)] if len(fitting) <= MOST else []


def _header_bounds(model: Model, each_token: tuple[int, int]) -> tuple[int, int]:
    """Return the least and the most bytes of a header."""
    tensors, tokens = _tensors(model), model.known.get(V, 0)
    least, most = (tensors * each + tokens * by for each, by in zip(PER_TENSOR, each_token, strict=True))
    return least, most


def rounded_file_sizes(model: Model, asked: PrintedNumber, ways: Iterable[CountingMethod]) -> Iterator[CountingMethod]:
    """Yield the GGUF files that are rounded to a number only with a header, with the smallest such header."""
    least, most = _header_bounds(model, PER_TOKEN)
    for way in ways:
        name = way.formula.conventions.get("weights", "")
        if asked.whole or not name.startswith(PREFIX) or asked.fits(way.value, coarsely=False) == "rounded":
            continue
        header = ceil(max(asked.value - asked.step / 2 - way.value, Fraction(least)))
        if header <= min(asked.value + asked.step / 2 - way.value, Fraction(most)):
            says = f"a header of at least {header:,} bytes"
            change = CountingChange(frozenset({"header"}), says, Integer(header), meaning=MEANING)
            yield replace(way, stated=(change,))


def _plain(model: Model) -> Iterator[CountingMethod]:
    """Yield the weights of a safetensors file: in the format in which they are published, and in bf16 or float32."""
    own = model.provenance.weights
    for name in dict.fromkeys((own, "bf16", "fp32")):
        if name:
            yield from in_format(model, name, f"the size of the weights (weights={name})", ())


def _with_header(way: CountingMethod, header: int) -> CountingVariant:
    says = f"a header of {header:,} bytes"
    change = CountingChange(frozenset({"header"}), says, Integer(header), meaning=MEANING, rank=Rank.RARE)
    return CountingVariant(way, (change,), way.value + header)


def _tensors(model: Model) -> int:
    """Return the number of tensors in a file, with the experts one by one."""
    total = 0
    for count, entry in model.ledger:
        for weight in entry.weights:
            copies = evaluate(count * weight.share, model.known, weight.path)
            stacked = entry.kind is OperationKind.EXPERTS and len(weight.shape) == 3
            total += copies * (evaluate(prod(weight.shape[:1]), model.known, weight.path) if stacked else 1)
    return total
