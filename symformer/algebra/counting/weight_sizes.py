"""Sizes of weights in bytes: at a number of bytes each, in a format, or from the size in a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sympy import Symbol

from ...formulas.formula import Formula
from ...language.errors import OptionError, SymformerError, joined
from ...language.notation.text import number
from ...language.symbols import symbol
from ...models.model import Model
from ...quantities.weight_formats import MEANINGS, UNUSUAL, defaults
from ...quantities.weight_formats.gguf import PREFIX
from . import parameter_changes
from .counting_changes import Rank
from .counting_method import CountingMethod
from .parameter_counts import of_weights
from .published_sizes import has_published_sizes

BYTES = {Fraction(2): "2 bytes (bf16 or fp16)", Fraction(4): "4 bytes (fp32)", Fraction(1): "1 byte (int8 or fp8)"}
HALF = Fraction(1, 2)
# Formats in which models are usually published, the most frequent first.
USUAL = (
    *(f"{PREFIX}{name}" for name in (
        "q4_k_m", "q8_0", "q4_0", "q5_k_m", "q6_k", "q4_k_s", "q5_k_s", "q3_k_m", "q2_k", "q3_k_l", "q3_k_s", "q5_0",
        "q4_1", "q5_1", "iq4_xs", "iq4_nl", "f16", "bf16", "f32",
    )),
    "awq", "gptq", "fp8-block", "fp8-channel", "fp8-tensor", "int8", "nf4", "nf4-double", "w4a16", "w8a8",
    "mxfp4-experts", "mxfp4", "mlx-4", "mlx-8", "gptq-8",
)  # fmt: skip
WIDTHS = {"f16": "16", "half": "16", "bf16": "16", "float16": "16", "bfloat16": "16", "f32": "32", "float32": "32"}
ALIKE: Mapping[str, tuple[str, ...]] = {
    "4": ("awq", "gptq", "w4a16", "nf4", "fp4", "nf4-double", "fp4-double", "mxfp4", "nvfp4", "hqq", "exl3"),
    "8": ("int8", "w8a8", "fp8-channel", "fp8-tensor", "fp8-block"),
}
# Bytes per parameter of training in mixed precision with Adam.
STATES = {
    16: "2 bytes of weights, 2 of gradients, and 12 of Adam's states with a copy of the weights in fp32",
    18: "6 bytes of weights in both precisions, 4 of gradients, and 8 of Adam's states",
}
OFF = Fraction(1, 4)  # the largest relative error of the size in a name
_SIZE = re.compile(r"(?<![^-_/])(\d+(?:\.\d+)?)([mb])(?![^-_/])")  # 7b of llama-2-7b; not 8x7b, nor a3b


def in_bytes(way: CountingMethod, size: Fraction, said: str) -> CountingMethod:
    """Return a count of parameters in bytes, at ``size`` bytes per parameter."""
    model, formula = way.model, way.formula
    return replace(
        way,
        counts=f"the size, at {said} each, of the {way.counts.removeprefix('the number of ')}",
        scale=size,
        unit="bytes",
        made=(lambda: parameter_changes.parameter_changes(model, formula, size)) if model is not None else tuple,
    )


def in_format(model: Model, name: str, counts: str, says: tuple[str, ...]) -> Iterator[CountingMethod]:
    """Yield the bytes of the weights in a format; nothing if the format does not support the model."""
    try:
        formula = model.formula("weight-memory", weights=name)
        numbers = {**defaults(name), **_numbers_of(formula)}
    except SymformerError:
        return
    yield CountingMethod(counts, formula, numbers, says=says, unit="bytes", rank=Rank.FORMAT if says else Rank.PLAIN)


def format_sizes(model: Model, names: Sequence[str] = ()) -> Iterator[CountingMethod]:
    """Yield the bytes of the weights in each format, the usual formats first, or only in the named formats.

    Formats with equally many bytes are one count.
    """
    found: dict[Fraction, tuple[CountingMethod, list[str]]] = {}
    has_experts = symbol("X") in model.known
    others = [each for each in MEANINGS if each in UNUSUAL - {model.provenance.weights, *USUAL}]
    for name in names or (*USUAL, *others):
        if not has_experts and name.endswith(("-experts", "_moe")) and name not in names:
            continue
        for way in in_format(model, name, "the size of the weights", (name,)):
            found.setdefault(way.value, (way, []))[1].append(name)
    for way, (name, *more) in found.values():
        alike = f", as many bytes as {joined(more)}" if more else ""
        rank = Rank.FORMAT if name in USUAL or names else Rank.RARE
        yield replace(way, says=(f"weights={name} ({_library(name)}){alike}",), rank=rank)


def named_formats(words: Sequence[str]) -> tuple[list[str], list[Fraction]]:
    """Return the formats that words name, such as "q4_k_m" or "4-bit", and the bytes per parameter.

    Raises OptionError if a word names no format.

    >>> named_formats(["q4_k_m"])
    (['gguf:q4_k_m'], [])
    """
    names: dict[str, None] = {}
    widths: list[Fraction] = []
    for word in words:
        plain = word.removeprefix("ud-")
        bits = re.fullmatch(r"(?:int|fp)?(\d+)(?:-?bits?)?", WIDTHS.get(plain, plain))
        matching = [name for name in MEANINGS if name in (plain, f"{PREFIX}{plain}")]
        matching += [name for name in MEANINGS if name.startswith((f"{plain}-", f"{plain}:")) and name not in matching]
        if bits:
            widths.append(Fraction(int(bits[1]), 8))
        if bits and int(bits[1]) < 16:
            pattern = re.compile(rf"(?<!\d){bits[1]}(?!\d)")
            matching += [
                name
                for name in MEANINGS
                if (name in UNUSUAL and pattern.search(name)) or name in ALIKE.get(bits[1], ())
            ]
        if not matching and not bits:
            usual = joined([name.removeprefix(PREFIX) for name in USUAL])
            raise OptionError(f"{word} is not the name of a weight format; the usual formats are {usual}")
        names.update(dict.fromkeys(each for each in matching if each in UNUSUAL))
    return list(names), widths


def _library(name: str) -> str:
    """Return the first words of the meaning of a format: "AWQ" or "a GGUF file of type Q4_K_M"."""
    return MEANINGS[name].partition(";")[0].partition(":")[0].partition(",")[0]


def _numbers_of(formula: Formula) -> Mapping[Symbol, int]:
    """Return the numbers of a formula, after checking every condition."""
    formula.value()
    return formula.with_totals(formula.source.known) if formula.source is not None else {}


def named_size(model: Model, weights: CountingMethod) -> Iterator[CountingMethod]:
    """Yield the number of parameters in the name of a model, such as 7B.

    The model must have the unchanged sizes of that name and nearly as many parameters. In the name of a mixture of
    experts, the number of active parameters has no such form.
    """
    found = _SIZE.findall(model.name.lower())
    if weights.formula.measure.name == "active-params" or len(found) != 1 or not has_published_sizes(model):
        return
    digits, letter_ = found[0]
    stated = int(Fraction(digits) * {"m": 10**6, "b": 10**9}[letter_])
    if not stated or abs(weights.value - stated) > OFF * stated:
        return
    says = (f"the {digits}{letter_.upper()} in its name instead of {int(weights.value):,} parameters",)
    yield replace(weights, says=says, rank=Rank.NOMINAL, nominal=stated, model=None, made=tuple)


def named_size_in_bytes(model: Model, widths: Sequence[Fraction] = ()) -> Iterator[CountingMethod]:
    """Yield the number of parameters in the name of a model in bytes, at the usual or the given bytes per parameter."""
    for way in named_size(model, of_weights(model, "params", "the number of parameters")):
        for size in widths or (*BYTES, HALF):
            yield in_bytes(way, size, said_bytes(size))


def training_states(model: Model) -> Iterator[CountingMethod]:
    """Yield the bytes of weights, gradients and the states of Adam, by the usual rules of mixed precision."""
    weights = of_weights(model, "params", "the number of parameters")
    for way in (weights, *named_size(model, weights)):
        for size, said in STATES.items():
            states = in_bytes(way, Fraction(size), said)
            rank = max(way.rank, Rank.FORMAT)
            yield replace(states, says=(*way.says, said), rank=rank, counts=f"{size} bytes per parameter", made=tuple)


def said_bytes(size: Fraction) -> str:
    """Return a number of bytes per parameter in words.

    >>> said_bytes(Fraction(2)), said_bytes(Fraction(3, 4))
    ('2 bytes (bf16 or fp16)', '6 bits')
    """
    return BYTES.get(size, f"{number(8 * size)} bits")
