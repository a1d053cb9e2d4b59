"""The check of a paper's LaTeX source: the count that each formula gives, and whether the formula is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any

from ..architectures import composed_model
from ..language.errors import ReadingError, SymformerError
from ..language.parsing.equation import ParsedEquation, read_alternatives
from ..language.parsing.latex_source import MathSegment, math_segments
from ..models.model import Model
from ..output.blocks import BriefBlock, Code, Heading, Paragraph, Piece, Table
from ..quantities import quantity as find_quantity
from .check import check
from .counted_parameters import parameter_counts
from .counted_parts import JOINED, CountedPart, PartIndex
from .letter_definitions import letter_definitions
from .name_binding import COUNT, NameBinding, name_readings
from .paper_numbers import PaperNumber, paper_numbers
from .reading_search import PrintedReading, printed_readings
from .usual_names import COUNTED, PARAMETERS, code_names, field_names

MOST = 400  # formulas of a paper
SHORT = 3  # conventions of a match
PARTS = 3  # parts with the same amount that are named
SLOW = ("train-memory",)  # quantities with so many conventions that only their amounts are compared
MEGATRON = {"implementation": "megatron", "dropout": "on"}
STATES = {"recipe": "bf16", "implementation": "none"}


@dataclass(frozen=True)
class PaperQuantity:
    """A quantity with conventions that papers use, and the words that mention it."""

    name: str
    words: str  # a regular expression
    options: tuple[tuple[str, str], ...] = ()
    part: str = ""  # "layer" to check one layer

    @classmethod
    def of(cls, name: str, words: str, part: str = "", **options: str) -> PaperQuantity:
        """Return a quantity with its conventions as keywords."""
        return cls(name, words, tuple(options.items()), part)

    def mentions(self, row: str) -> int:
        """Return how many of the conventions the label of a table's row mentions."""
        words = {("recompute", "full"): "full", ("recompute", "selective"): "selective", ("tensor", "on"): "tensor"}
        words[("tensor", "sequence")] = "sequence"
        return sum(option in words and words[option] in row.lower() for option in self.options)


_PARAMS = r"param|weights|model size|\bsize of the model"
_FLOPS = r"flop|comput(e|ation)|operations|multipl"
_CACHE = r"cache"
_ACTIVATIONS = r"activation|storage|stores?\b"
_STATES = r"model state|optimizer|zero|memory (consum|requir)|gradients"
_BUBBLE = r"bubble"
QUANTITIES = (
    PaperQuantity.of("params", _PARAMS),
    PaperQuantity.of("active-params", _PARAMS),
    PaperQuantity.of("flops", _FLOPS),
    PaperQuantity.of("train-flops", _FLOPS),
    PaperQuantity.of("train-flops", _FLOPS, recompute="full"),
    PaperQuantity.of("run-flops", _FLOPS),
    PaperQuantity.of("kv-cache", _CACHE),
    PaperQuantity.of("kv-cache", _CACHE, tokens="one"),
    *(
        PaperQuantity.of("activations", _ACTIVATIONS, "layer", **MEGATRON, **more)
        for more in (
            {},
            {"tensor": "on"},
            {"tensor": "sequence"},
            {"recompute": "selective"},
            {"tensor": "on", "recompute": "selective"},
            {"tensor": "sequence", "recompute": "selective"},
            {"recompute": "full"},
        )
    ),
    PaperQuantity.of("train-memory", _STATES, **STATES),
    *(PaperQuantity.of("train-memory", _STATES, **STATES, data=data) for data in ("zero1", "zero2", "zero3")),
    PaperQuantity.of("pipeline-bubble", _BUBBLE),
    PaperQuantity.of("pipeline-bubble", _BUBBLE, schedule="interleaved"),
    PaperQuantity.of("attention-share", r"share|fraction|ratio"),
)
# The words of quantities that the left side of an equation names.
_LEFT = (
    (r"^(N|P|\\Theta|\\Psi|\\Phi)$|param", _PARAMS),
    (r"^[CF]\b|^C_|flop", _FLOPS),
    (r"bubble|t_\{?pb", _BUBBLE),
    (r"activation", _ACTIVATIONS),
)
# The unit that follows a formula, and the unit of the quantities that it can count.
_UNITS = (
    (r"[\s~]*bytes?\b", "bytes"),
    (r"[\s~]*(flops?\b|floating|operations)", "FLOPs"),
    (r"[\s~]*(trainable |total )?(parameters|weights)\b", "elements"),
)


@dataclass(frozen=True)
class PaperFormula:
    """One formula of a paper, with its count if that was recognized."""

    segment: MathSegment
    target: str = ""
    quantity: str = ""
    options: tuple[tuple[str, str], ...] = ()
    part: str = ""
    verdict: str = ""  # "equal", "convention" or "differs"; empty if it was not recognized
    reasons: tuple[str, ...] = ()  # conventions, or rows that each explain a difference
    bindings: tuple[NameBinding, ...] = ()

    @property
    def counts(self) -> str:
        """The count in words, such as ``flops of h.*.attn, gpt2``."""
        if not self.verdict:
            return ""
        options = "".join(f", {name}={value}" for name, value in self.options)
        part = f" of {self.part}" if self.part else ""
        return f"{self.quantity}{part}, {self.target}{options}"

    def to_json(self) -> dict[str, Any]:
        """The formula as ``check --file --json`` prints it."""
        return {
            "file": self.segment.file or None,
            "line": self.segment.line,
            "formula": self.segment.text,
            "target": self.target or None,
            "quantity": self.quantity or None,
            "options": dict(self.options),
            "part": self.part or None,
            "verdict": self.verdict or None,
            "reasons": list(self.reasons),
            "readings": [each.to_json() for each in self.bindings],
        }


@dataclass(frozen=True)
class PaperCheck:
    """The formulas of a paper with their counts, and its numbers with their explanations."""

    path: str
    targets: tuple[str, ...]
    letters: Mapping[str, str]  # the meanings that the paper gives
    formulas: tuple[PaperFormula, ...]
    numbers: tuple[PaperNumber, ...] = ()

    @property
    def recognized(self) -> tuple[PaperFormula, ...]:
        """The formulas whose count is known."""
        return tuple(each for each in self.formulas if each.verdict)

    @property
    def differing(self) -> tuple[PaperFormula, ...]:
        """The formulas that differ from ours in a row that is named."""
        return tuple(each for each in self.formulas if each.verdict == "differs")

    def to_json(self) -> dict[str, Any]:
        """The check as ``check --file --json`` prints it."""
        return {
            "file": self.path,
            "targets": list(self.targets),
            "letters": dict(self.letters),
            "formulas": [each.to_json() for each in self.formulas],
            "numbers": [each.to_json() for each in self.numbers],
        }

    def to_blocks(self) -> list[BriefBlock]:
        """Return the report: the letters, the recognized formulas with their counts, and the others."""
        known, other = self.recognized, [each for each in self.formulas if not each.verdict]
        found: list[BriefBlock] = [Heading(1, [self._summary])]
        if self.letters:
            said = ", ".join(f"{name} = {size}" for name, size in self.letters.items())
            found.append(Paragraph([f"letters that the paper defines: {said}"]))
        if known:
            rows: list[list[Piece]] = [
                [self._place(each), Code(each.segment.text), each.counts, _verdict(each)] for each in known
            ]
            found.append(Table.of(["line", "formula", "counts", "verdict"], rows, "rlll"))
        if other:
            rows = [[self._place(each), Code(each.segment.text)] for each in other]
            found.append(Table.of(["line", "not recognized"], rows, "rl"))
        if self.numbers:
            rows = [[self._line(each.file, each.line), each.text, each.target, each.reason] for each in self.numbers]
            found.append(Table.of(["line", "number", "model", "explanation"], rows, "rlll"))
        return found

    @property
    def _summary(self) -> str:
        explained = sum(each.verdict != "unexplained" for each in self.numbers)
        said = [f"{len(self.recognized)} of {len(self.formulas)} formulas recognized"] * bool(self.formulas)
        said += [f"{explained} of {len(self.numbers)} numbers explained"] * bool(self.numbers)
        return f"{self.path}: {', '.join(said)}"

    def _place(self, each: PaperFormula) -> str:
        """Return the line of a formula, with its file if there are several."""
        return self._line(each.segment.file, each.segment.line)

    def _line(self, file: str, line: int) -> str:
        files = {one.segment.file for one in self.formulas} | {each.file for each in self.numbers}
        return f"{file}:{line}" if len(files) > 1 else str(line)


def _verdict(each: PaperFormula) -> str:
    if each.verdict == "convention":
        return f"equal under a convention: {'; '.join(each.reasons)}"
    return f"differs: {', or '.join(each.reasons)}" if each.reasons else each.verdict


def check_paper(
    sources: str | Mapping[str, str],
    targets: Sequence[str | Model] = (),
    *,
    path: str = "paper",
    told: Callable[[int, int], None] | None = None,
) -> PaperCheck:
    """Find the formulas of a paper, and check those whose count can be recognized.

    A formula is recognized if it equals an amount of one of the targets that the words around it mention: a model, a
    part or an operation, under conventions that are named. A longer formula is also recognized if it differs from ours
    in rows that can be named.

    Parameters
    ----------
    sources
        The LaTeX source, or the sources of several files by file name.
    targets
        The models that the paper can mean; by default GPT-2 and Llama.
    path
        The name of the file, for the report.
    told
        A function that is called with the number of checked items and of all: numbers first, then formulas.

    Raises
    ------
    ReadingError
        If the source has no formulas, or more than 400.

    """
    files = {"": sources} if isinstance(sources, str) else sources
    segments = [replace(each, file=file) for file, text in files.items() for each in math_segments(text)]
    models = [composed_model(each) for each in targets or ("gpt2", "llama")]
    numbers = [replace(each, file=file) for file, text in files.items() for each in paper_numbers(text, models, told)]
    if not segments and not numbers:
        raise ReadingError(f"{path} has no formulas in LaTeX mathematics, and no numbers of models that it names")
    if len(segments) > MOST:
        raise ReadingError(f"{path} has {len(segments)} formulas; the limit is {MOST}; give one section of the paper")
    letters = letter_definitions("\n".join(files.values()))
    finder = _Finder(models, letters)
    found = []
    for number, each in enumerate(segments):
        if told is not None:
            told(number, len(segments))
        found.append(finder.formula(each))
    kept = tuple(each for each in found if each is not None)
    return PaperCheck(path, tuple(model.target for model in models), letters, kept, tuple(numbers))


def explain_paper(
    sources: str | Mapping[str, str], path: str = "paper", told: Callable[[int, int], None] | None = None
) -> PaperCheck:
    """Explain the numbers of a paper that count something of a model that it names.

    Parameters
    ----------
    sources, path, told
        The LaTeX source or sources, the name of the file, and a function for progress, as for ``check_paper``.

    Raises
    ------
    ReadingError
        If the paper has no such number.

    """
    files = {"": sources} if isinstance(sources, str) else sources
    numbers = [replace(each, file=file) for file, text in files.items() for each in paper_numbers(text, (), told)]
    if not numbers:
        raise ReadingError(
            f"{path} has no number of parameters, bytes or FLOPs next to a model that it names, such as Llama-2-7B"
        )
    return PaperCheck(path, (), {}, (), tuple(numbers))


class _Finder:
    """The search for the counts of formulas, which keeps the amounts of each target and quantity."""

    def __init__(self, models: Sequence[Model], letters: Mapping[str, str]) -> None:
        self.models, self.letters = models, letters
        self.index = cache(self._index)
        self.counts = cache(lambda place: parameter_counts(self.models[place]))

    def _index(self, place: int, quantity: PaperQuantity) -> PartIndex | None:
        model = self.models[place]
        try:
            formula = model.formula(quantity.name, **dict(quantity.options))
            return PartIndex.of(formula)
        except SymformerError:
            return None

    def formula(self, segment: MathSegment) -> PaperFormula | None:
        """Return the quantity that a formula counts, or None if it is no formula over names."""
        try:
            parses = read_alternatives(segment.text, field_names(), code_names())
        except ReadingError:
            return None
        parses = [each for each in parses if _substantial(each)]
        if not parses:
            return None
        differing: PaperFormula | None = None
        for _, family in groupby(_mentioned(segment), key=lambda each: each.words):
            quantities = list(family)
            found = self._short(segment, parses, quantities) or self._long(segment, parses, quantities)
            if found is not None and found.verdict != "differs":
                return found
            differing = differing or found
        return differing or PaperFormula(segment)

    def _short(
        self, segment: MathSegment, parses: Sequence[ParsedEquation], quantities: Sequence[PaperQuantity]
    ) -> PaperFormula | None:
        """Return the simplest amount that a formula equals."""
        best: tuple[tuple[int, ...], PaperFormula] | None = None
        parts: dict[tuple[int, ...], list[str]] = {}
        for order, quantity in enumerate(quantities):
            for place, model in enumerate(self.models):
                index = self.index(place, quantity)
                for reading, part in self._matches(index, place, parses) if index is not None else ():
                    # a multiple of the parameters of the model is no count of a part, whatever it equals by chance
                    if part.cost > SHORT or (part.path and any(each.expr == COUNT for each in reading.bindings)):
                        continue
                    rank = (part.cost + reading.rarity, -quantity.mentions(segment.row), order, place)
                    parts.setdefault(rank, []).append(part.path)
                    if best is None or rank < best[0]:
                        found = PaperFormula(
                            segment,
                            model.target,
                            quantity.name,
                            quantity.options,
                            part.path,
                            "convention" if part.conventions else "equal",
                            part.conventions,
                            reading.bindings,
                        )
                        best = (rank, found)
        if best is None:
            return None
        same = list(dict.fromkeys(parts[best[0]]))
        more = f" or {len(same) - PARTS} more" if len(same) > PARTS else ""
        return replace(best[1], part=" or ".join(same[:PARTS]) + more if "" not in same else "")

    def _matches(
        self, index: PartIndex, place: int, parses: Sequence[ParsedEquation]
    ) -> Iterator[tuple[PrintedReading, CountedPart]]:
        for parsed in parses:
            for reading in self._readings(index, place, parsed):
                if index.by_number.get(reading.fingerprint or -1):
                    for part in index.matching(reading.fingerprint, reading.expr):
                        yield reading, part

    def _readings(self, index: PartIndex, place: int, parsed: ParsedEquation) -> list[PrintedReading]:
        """Return the readings of a formula; letters that the paper defines have that meaning if the target has it."""
        formula = index.formula
        for said in (self._stated(parsed, index), {}):
            try:
                named = name_readings(parsed.names, formula, said, {}, self.models[place].target)
                counted = any(one.expr == COUNT for each in named for one in each)
                return printed_readings(parsed, formula, named, self.counts(place) if counted else ())
            except SymformerError:
                continue
        return []

    def _stated(self, parsed: ParsedEquation, index: PartIndex) -> dict[str, str]:
        sizes = {str(size) for size in index.formula.accepted_sizes}
        return {
            name: size for name, size in self.letters.items() if name in parsed.names and (size in sizes or size == "N")
        }

    def _long(
        self, segment: MathSegment, parses: Sequence[ParsedEquation], quantities: Sequence[PaperQuantity]
    ) -> PaperFormula | None:
        """Return the check of a formula with several terms, or with the number of parameters."""
        if not any(_long_enough(each) for each in parses):
            return None
        differing: PaperFormula | None = None
        for quantity in quantities:
            for place, model in enumerate(self.models):
                index = self.index(place, quantity)
                if index is None or quantity.name in SLOW:
                    continue
                said = {}
                for parsed in parses:
                    said.update(self._stated(parsed, index))
                part = _layer(index) if quantity.part == "layer" else None
                try:
                    found = check(segment.text, model, quantity.name, part=part, names=said, **dict(quantity.options))
                except SymformerError:
                    continue
                made = PaperFormula(
                    segment,
                    model.target,
                    quantity.name,
                    quantity.options,
                    part or "",
                    found.verdict,
                    tuple(each.name for each in found.conventions) or tuple(_rows(found.rows)),
                    found.name_bindings,
                )
                if found.verdict != "differs":
                    if sum(1 + each.count(JOINED) for each in made.reasons) <= SHORT:
                        return made
                    continue
                alone = found.rows and all(
                    each.amount == found.difference and "similar" not in each.statement for each in found.rows
                )
                if alone and part is None and differing is None:
                    differing = made
        return differing


def _rows(rows: Sequence[Any]) -> Iterator[str]:
    for each in rows[:3]:
        yield f"{each.path} {each.statement}"


def _layer(index: PartIndex) -> str | None:
    """Return the path of a layer, if all layers are alike."""
    layers = [line.path for count, line in index.formula.root.counted() if count.free_symbols and line.path]
    return layers[0].removesuffix(".*") if layers else None


def _substantial(parsed: ParsedEquation) -> bool:
    """Return True for a product or a sum of names, or a multiple of the number of parameters."""
    if len(parsed.names) >= 2:
        return True
    return bool(parsed.names) and (parsed.names[0] in PARAMETERS or parsed.names[0] in COUNTED or _power(parsed))


def _power(parsed: ParsedEquation) -> bool:
    return bool(re.search(r"(\^|\*\*)\{?\d", parsed.text))


def _long_enough(parsed: ParsedEquation) -> bool:
    counted = any(name in PARAMETERS or name in COUNTED for name in parsed.names)
    return counted or (len(parsed.names) >= 2 and bool(re.search(r"[+(^]|\*\*", parsed.text)))


def _mentioned(segment: MathSegment) -> list[PaperQuantity]:
    """Return the quantities that the words around a formula mention, the closest first."""
    places: dict[str, int] = {}
    context, after = segment.context.lower(), segment.after.lower()[:60]
    for words in {each.words for each in QUANTITIES}:
        last = max((found.end() for found in re.finditer(words, context)), default=-1)
        if last >= 0:
            places[words] = len(context) - last
        if (found := re.search(words, after)) is not None:
            places[words] = min(places.get(words, 10**6), found.start())
    if not places:
        section = segment.section.lower()
        for words in {each.words for each in QUANTITIES}:
            last = max((found.end() for found in re.finditer(words, section)), default=-1)
            if last >= 0:
                places[words] = len(section) - last
    left = segment.left.lower() if len(segment.left) > 3 else segment.left
    for pattern, words in _LEFT:
        if left and re.search(pattern, left):
            places[words] = -1
    ordered = sorted(places, key=lambda words: places[words])
    unit = next((unit for pattern, unit in _UNITS if re.match(pattern, after)), "")
    every = [each for words in ordered for each in QUANTITIES if each.words == words]
    return [each for each in every if not unit or find_quantity(each.name).measure.unit == unit]
