"""The numbers of a paper that count parameters, bytes or FLOPs of a model it names, each with its explanation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..architectures import presets
from ..language.errors import SymformerError
from ..language.parsing.latex_source import TableRow, plain_sentences, table_rows
from ..language.symbols import named_symbol
from ..models.model import Model
from .explain import explain
from .letter_definitions import described_size

MOST = 200  # numbers of one file that are explained
SHORTEST = 4  # letters and digits of a model's name that a paper can mention
MODELS = 8  # models with the sizes of a row that are tried
MATCHING = 3  # sizes of a table's row that identify a model
# A number with a unit that symformer counts. The words between the number and the unit belong to it.
_NUMBER = re.compile(
    r"(?<![\w.,-])(\d[\d,]*(?:\.\d+)?)\s?(billion|million|trillion|[BMTK]|[GMT]i?B|[kK]B)?[ -]"
    r"((?:total |active |activated |trainable |non-embedding |learnable |model )*(?:param(?:eter)?s?|FLOPs))\b"
    r"|(?<![\w.,-])(\d[\d,]*(?:\.\d+)?)\s?([GMT]i?B|[kK]B)\b"
    r"(?=[^.]{0,40}(?:of (?:weights|parameters)|KV cache|per token))"
)
_COUNTS = re.compile(r"\bparam|\bmodel size|\bsize of the model", re.IGNORECASE)
# Sizes that a paper states once for all rows of a table.
_STATED = {
    "V": re.compile(r"vocabulary size[^.]{0,40}? of \$?(\d[\d,]*)"),
    "P": re.compile(r"sequence length[^.]{0,40}? of \$?(\d[\d,]*)"),
}
_SUFFIX = re.compile(r"\b(billions?|millions?|B|M)\b")


@dataclass(frozen=True)
class PaperNumber:
    """One number of a paper, with its explanation."""

    line: int
    text: str  # the number as printed, with its unit
    target: str
    verdict: str  # "exact", "rounded", "convention" or "unexplained"
    reason: str
    file: str = ""

    def to_json(self) -> dict[str, Any]:
        """The number as ``check --file --json`` prints it."""
        return {
            "file": self.file or None,
            "line": self.line,
            "number": self.text,
            "target": self.target,
            "verdict": self.verdict,
            "reason": self.reason,
        }


def paper_numbers(
    source: str, models: Sequence[Model] = (), told: Callable[[int, int], None] | None = None
) -> list[PaperNumber]:
    r"""Return the numbers of a LaTeX source that count something of a model that it names, with explanations.

    A number in a sentence belongs to the only model that the sentence names. A number of parameters in a table belongs
    to the model that the row names, or to a model with the sizes of the row whose parameters it counts: a preset, or
    one of the given models with these sizes, and with the vocabulary and the sequence length that the paper states.

    Parameters
    ----------
    source
        The LaTeX source.
    models
        Models that rows of tables can have the sizes of.
    told
        A function that is called with the number of explained numbers and of all.

    Examples
    --------
    >>> [each] = paper_numbers("DeepSeek-V2 comprises 236B total parameters.")
    >>> each.target, each.verdict
    ('deepseek-v2', 'rounded')

    """
    found: list[PaperNumber] = []
    candidates = [*_in_sentences(source), *_in_tables(source, models)][:MOST]
    for done, each in enumerate(candidates):
        if told is not None:
            told(done, len(candidates))
        some = [
            one for target in each.targets[:MODELS] if (one := _explained(each.line, each.text, target)) is not None
        ]
        certain = [one for one in some if one.verdict in ("exact", "rounded")]
        found += certain[:1] or (some[:1] if each.named else [])
    return sorted(found, key=lambda each: each.line)


def _explained(line: int, text: str, target: str | Model) -> PaperNumber | None:
    try:
        said = explain(target, text)
    except SymformerError:
        return None
    return PaperNumber(line, text, said.model.target, said.verdict, said.reason)


@dataclass(frozen=True)
class _Candidate:
    """A number with the models that it can belong to."""

    line: int
    text: str
    targets: Sequence[str | Model]
    named: bool  # whether the paper names the first of them, so that a number without an explanation is reported


@cache
def _mentions() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern of the names of models, and the preset of each name in its plain form."""
    names = {_plain(name): name for name in presets() if len(_plain(name)) >= SHORTEST and re.search(r"\d", name)}
    ordered = sorted(names.values(), key=len, reverse=True)
    spelled = ["[ -]?".join(map(re.escape, re.findall(r"[a-z]+|[0-9.]+", name.lower()))) for name in ordered]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(spelled)})(?![\w.-]*\w)", re.IGNORECASE), names


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.lower())


def named_models(text: str) -> list[str]:
    """Return the presets that a text names, in their order.

    >>> named_models("LLaMA 2 7B and Mixtral-8x7B")
    ['llama-2-7b', 'mixtral-8x7b']
    """
    pattern, names = _mentions()
    return list(dict.fromkeys(names[_plain(each)] for each in pattern.findall(text) if _plain(each) in names))


@cache
def _families() -> Mapping[str, tuple[str, ...]]:
    """Return the presets of each family with few presets, by its name: the letters that their names start with."""
    found: dict[str, list[str]] = {}
    for name in presets():
        stem = re.match("[a-z]*", name)
        found.setdefault(stem[0] if stem else "", []).append(name)
    return {stem: tuple(names) for stem, names in found.items() if len(stem) >= SHORTEST and len(names) <= MODELS}


def family_models(text: str) -> list[str]:
    """Return the presets of the only family that a text names without a size, with a capital letter.

    >>> family_models("Mixtral only uses 13B active parameters")
    ['mixtral-8x7b', 'mixtral-8x22b', 'mixtral-8x22b-v0.1']
    """
    words = dict.fromkeys(word.lower() for word in re.findall(r"(?<![\w-])[A-Z][A-Za-z]+(?![\w-])", text))
    named = [word for word in words if word in _families()]
    return [*_families()[named[0]]] if len(named) == 1 else []


def _in_sentences(source: str) -> Iterator[_Candidate]:
    """Yield the numbers in sentences that name one model or family.

    The name of a model can also name its family: the 1.5B parameters of GPT-2 are those of gpt2-xl.
    """
    for line, sentence in plain_sentences(source):
        models = named_models(sentence)
        if len(models) == 1:
            larger = [name for name in presets() if name.startswith(f"{models[0]}-")]
            targets = [*models, *larger[: MODELS - 1]]
        else:
            targets = family_models(sentence) if not models else []
        for found in _NUMBER.finditer(sentence) if targets else ():
            yield _Candidate(line, found.group(), targets, named=len(models) == 1)


def _in_tables(source: str, models: Sequence[Model]) -> Iterator[_Candidate]:
    """Yield the numbers in columns of numbers of parameters."""
    stated = {
        size: int(found[1].replace(",", "")) for size, words in _STATED.items() if (found := words.search(source))
    }
    for row in table_rows(source):
        for place, head in enumerate(row.heads):
            cell = row.cells[place] if place < len(row.cells) else ""
            if not _COUNTS.search(head) or not re.match(r"\d", cell):
                continue
            suffix = "" if re.search(r"[A-Za-z]", cell) else _suffix(head)
            if suffix is not None and (targets := _row_models(row, models, stated)):
                alone = len(targets) == 1 and isinstance(targets[0], str)
                yield _Candidate(row.line, f"{cell}{suffix} parameters", targets, named=alone)


def _suffix(head: str) -> str | None:
    found = _SUFFIX.search(head)
    return None if found is None else {"b": "B", "m": "M"}[found.group()[0].lower()]


def _row_models(row: TableRow, models: Sequence[Model], stated: Mapping[str, int]) -> list[str | Model]:
    """Return the model that a row names, or the models whose sizes it has."""
    named = named_models(row.cells[0])
    if len(named) == 1:
        return [*named]
    sizes = {
        size: int(cell.replace(",", ""))
        for head, cell in zip(row.heads, row.cells, strict=False)
        if (size := described_size(head)) in ("E", "L", "A", "H", "G") and re.fullmatch(r"\d[\d,]*", cell)
    }
    if len(sizes) < MATCHING:
        return []
    return [*(name for name in presets() if _has(name, sizes)), *_sized(models, {**stated, **sizes})]


def _sized(models: Sequence[Model], sizes: Mapping[str, int]) -> Iterator[Model]:
    """Yield the models with the sizes of a row; the table's learned positions are the sequence length."""
    for model in models:
        own = {size: value for size, value in sizes.items() if named_symbol(size) in model.sizes}
        with suppress(SymformerError):
            yield model.set(dict(own))


def _has(name: str, sizes: dict[str, int]) -> bool:
    """Return True if a preset has these sizes; its layers may be of several kinds."""
    known = presets()[name]["sizes"]
    layers = known.get("L") or sum(value for size, value in known.items() if size.startswith("L_"))
    return all((layers if size == "L" else known.get(size)) == value for size, value in sizes.items())
