"""Log lines of vLLM and llama.cpp on the memory of a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from ..formulas.formula import Formula
from ..language.errors import OptionError, SymformerError, joined
from ..language.notation.display_tree import tree
from ..language.notation.text import code, json_number, number
from ..language.printed_number import PrintedNumber, printed
from ..language.symbols import B, C
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Equation, Paragraph
from ..output.chain import Chain
from ..quantities.weight_formats import MEANINGS
from ..quantities.weight_formats.gguf import PREFIX
from .result import FormulaAnswer

GIB = 2**30
PAGE = 16  # tokens of a block of vLLM, unless --block-size is given
LONGEST = 1_000  # characters of a line


@dataclass(frozen=True)
class LogLine:
    """A line of a log.

    Attributes
    ----------
    text : str
        The statement in the line.
    kind : str
        "cache tokens", "bits per weight", "loaded weights" of vLLM, or "" if the number alone can be explained.
    number : PrintedNumber
        The number.
    quantity : str
        The quantity that it counts, or "" if its unit determines it.
    sizes : Mapping[str, int]
        The sizes that the line states.
    conventions : Mapping[str, str]
        The conventions that the line states.
    bits : PrintedNumber | None
        The bits per weight.

    """

    text: str
    kind: Literal["", "cache tokens", "bits per weight", "loaded weights"]
    number: PrintedNumber
    quantity: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    conventions: Mapping[str, str] = field(default_factory=dict)
    bits: PrintedNumber | None = None


_NUMBER = r"(\d+(?:,\d{3})*(?:\.\d+)?)"
Read = Callable[[re.Match[str]], LogLine]


def _tokens(found: re.Match[str]) -> LogLine:
    return LogLine(found[0], "cache tokens", printed(found[1]), "kv-cache")


def _blocks(found: re.Match[str]) -> LogLine:
    tokens = PAGE * int(found[1].replace(",", ""))
    return LogLine(found[0], "cache tokens", printed(str(tokens)), "kv-cache")


def _bits_per_weight(found: re.Match[str]) -> LogLine:
    size = printed(f"{found[1]} {found[2]}")
    return LogLine(found[0], "bits per weight", size, "weight-memory", bits=printed(found[3]))


def _binary(found: re.Match[str]) -> LogLine:
    """Return a size in GiB; earlier versions of vLLM call this unit GB."""
    return LogLine(found[0], "loaded weights", printed(f"{found[1]} GiB"))


def _bytes(found: re.Match[str]) -> LogLine:
    return LogLine(found[0], "", printed(f"{found[1]} bytes"))


def _parameters(found: re.Match[str]) -> LogLine:
    return LogLine(found[0], "", printed(f"{found[1]}{found[2]}"))


def _cache(found: re.Match[str]) -> LogLine:
    """Return the size of llama.cpp's cache, with the cells, sequences and type that the line states.

    Earlier versions call MiB "MB".
    """
    cells, sequences, dtype = found[2], found[3], found[4]
    sizes = {"C": int(cells), "B": int(sequences or 1)} if cells else {}
    given = {"dtype": {"f16": "fp16", "f32": "fp32"}.get(dtype, dtype)} if dtype else {}
    return LogLine(found[0], "", printed(f"{found[1]} MiB"), "kv-cache", sizes, given)


# The first match decides. Sources: vllm/v1/core/kv_cache_utils.py and vllm/v1/worker/gpu_model_runner.py of vLLM;
# src/llama-model.cpp, src/llama-model-loader.cpp and src/llama-kv-cache.cpp of llama.cpp.
_LINES: tuple[tuple[re.Pattern[str], Read], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), read)
    for pattern, read in (
        (rf"GPU KV cache size: {_NUMBER} tokens", _tokens),
        (r"GPU blocks: (\d+(?:,\d{3})*)", _blocks),
        (rf"(?:model|file) size\s*= {_NUMBER} ([KMGT]iB) \({_NUMBER} BPW\)", _bits_per_weight),
        (rf"(?:Model loading took|Loading model weights took|model weights take) {_NUMBER} ?Gi?B", _binary),
        (
            rf"(?:KV self size|KV cache size|llama_kv_cache\w*:\s+size)\s*=\s*{_NUMBER} Mi?B"
            r"(?:\s*\(\s*(\d+) cells,\s*\d+ layers,\s*(?:(\d+)(?:/\d+)?) seqs\))?(?:, K \((\w+)\))?",
            _cache,
        ),
        (rf"model params\s*= {_NUMBER} ([KMBT])\b", _parameters),
        (r"\"?total_size\"?\s*[:=]\s*(\d+)", _bytes),
    )
)


def log_line(text: str) -> LogLine | None:
    """Return the statement in a line of a log, or None if there is none.

    >>> found = log_line("INFO kv_cache_utils.py:524] GPU KV cache size: 131,072 tokens")
    >>> found.kind, found.number.value, log_line("124M")
    ('cache tokens', Fraction(131072, 1), None)
    """
    if len(text) > LONGEST:
        return None
    for pattern, read in _LINES:
        if found := pattern.search(" ".join(text.split())):
            return read(found)
    return None


@dataclass(frozen=True, eq=False, repr=False)
class LogExplanation(FormulaAnswer):
    """The explanation of a line of a log."""

    model: Model
    line: LogLine
    verdict: Literal["exact", "rounded", "unexplained"]
    reason: str
    formula: Formula
    value: int
    formats: tuple[str, ...] = ()  # the weight formats that have the stated size

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as ``explain --json`` prints it."""
        return {
            "target": self.model.target,
            "number": self.line.text,
            "verdict": self.verdict,
            "because": self.reason,
            "value": json_number(self.value),
            "formula": code(self.formula.expanded),
            "counts": self.formula.measure.name,
            "unit": self.formula.measure.unit,
            "formats": list(self.formats),
            "symbols": {str(size): value for size, value in self.model.known.items()},
        }

    def table(self) -> dict[str, list[Any]]:
        """Return the bytes that the line states."""
        return {"what": [self.line.text], "bytes": [self.value]}

    def _picture(self, by: str) -> Plot:
        raise OptionError("an explanation is a sentence and has no plot; print it, or use table()")

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self.reason}>"

    def to_blocks(self) -> list[BriefBlock]:
        """Return the sentence and the formula."""
        ours = Equation(Chain((self.formula.label,), (tree(self.formula.display_expr),)))
        return [Paragraph([self.reason]), ours, *(Paragraph(line) for line in self.rank_lines())]


def explain_log_line(model: Model, line: LogLine, conventions: Mapping[str, str]) -> LogExplanation:
    """Return the meaning of a line for a model. Raises SymformerError if the line does not determine it."""
    if line.kind == "cache tokens":
        return _cache_of_tokens(model, line, conventions)
    if conventions:
        raise OptionError(f"{next(iter(conventions))} has no effect on the line {line.text!r}; remove it")
    return _format_of_bits(model, line)


def _cache_of_tokens(model: Model, line: LogLine, conventions: Mapping[str, str]) -> LogExplanation:
    """Return the size of vLLM's cache, which is proportional to the tokens if every layer caches all tokens."""
    tokens = int(line.number.value)

    def at(count: int) -> int:
        return int(model.set({B: 1, C: count}).formula("kv-cache", **conventions).value())

    whole, page = at(tokens), at(PAGE)
    if whole * PAGE != page * tokens or at(2 * tokens) != 2 * whole:
        raise OptionError(
            f"{line.text!r} determines the memory only if every token takes the same number of bytes, but "
            f"{model.target} has windows or states of a fixed size. vLLM then prints the number of concurrent requests "
            "times their length; use `symformer show -q kv-cache` and set B and C"
        )
    each = Fraction(whole, tokens)
    shown = f"{number(whole)} bytes ({whole / GIB:.2f} GiB)"
    reason = (
        f"{line.text} is {shown} of keys and values for {model.target}, on all ranks together: {number(tokens)} tokens "
        f"of {number(each)} bytes each, for all requests"
    )
    sized = model.set({B: 1, C: tokens})
    return LogExplanation(sized, line, "exact", reason, sized.formula("kv-cache", **conventions), whole)


def _format_of_bits(model: Model, line: LogLine) -> LogExplanation:
    """Return the types of GGUF files with the stated size and bits per weight."""
    assert line.bits is not None  # noqa: S101 (the kind of the line)
    parameters = int(model.params.value())
    fitting: dict[str, tuple[Formula, int]] = {}
    refusal: SymformerError | None = None
    nearest: tuple[int, str, Formula] | None = None
    for name in (each for each in MEANINGS if each.startswith(PREFIX)):
        try:
            formula = model.formula("weight-memory", weights=name)
            size = int(formula.value())
        except SymformerError as error:
            refusal = refusal or error
            continue
        away = abs(size - line.number.value)
        if nearest is None or away < abs(nearest[0] - line.number.value):
            nearest = (size, name, formula)
        if line.number.fits(size) == "rounded" and line.bits.fits(Fraction(8 * size, parameters)) in (
            "rounded",
            "exact",
        ):
            fitting[name] = (formula, size)
    if nearest is None:
        raise refusal or OptionError(f"no GGUF type is supported for {model.target}")
    if not fitting:
        size, name, formula = nearest
        reason = (
            f"{line.text} does not match the size of {model.target} in any GGUF type; the nearest is {name}, "
            f"{number(size)} bytes ({size / GIB:.2f} GiB, {8 * size / parameters:.2f} bits per weight)"
        )
        return LogExplanation(model, line, "unexplained", reason, formula, size)
    name, (formula, size) = next(iter(fitting.items()))
    reason = (
        f"{line.text} is the size of {model.target} with weights={joined(list(fitting))}: {number(size)} bytes, "
        f"{8 * size / parameters:.4f} bits for each of {number(parameters)} parameters, without the file's header"
    )
    return LogExplanation(model, line, "rounded", reason, formula, size, tuple(fitting))
