r"""A model's formulas and numbers as LaTeX macros: \GptTwoParams, its value, and the same for every part."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Final

from ..formulas import ranks
from ..formulas.formula import Formula
from ..formulas.ratio import Ratio
from ..language.errors import DocumentError
from ..language.notation.text import code, exact_text
from ..language.target import TargetKind, name_of, parse
from ..models.model import Model
from ..output.blocks import plain
from .formats.base_language import printable

MARK: Final = "% symformer-macros "
_WORDS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_DIGITS = {str(digit): word for digit, word in enumerate(_WORDS)}
_ENDS = ("Value", "Raw", "SI")  # endings of the macros for a formula's number
_HELP = r"""% \NAME is a formula, \NAMEValue its value with digit grouping, \NAMERaw the bare digits, \NAMESI the value
% formatted by siunitx if it is loaded. \symformer[OPTION=VALUE,SIZE=VALUE]{ID}{NUMBER} prints NUMBER.
% `symformer audit PAPER.tex` checks all of them against the current formulas.
\providecommand{\symformer}[3][]{#3}"""


@dataclass(frozen=True)
class MacroRequest:
    """The request that a macro file was generated from, sufficient to generate it again."""

    version: str
    target: str
    quantities: tuple[str, ...]
    options: Mapping[str, str]
    sizes: tuple[str, ...]

    def line(self) -> str:
        """Return the first line of a macro file: a comment in plain ASCII."""
        return MARK + json.dumps(asdict(self))

    @classmethod
    def for_file(
        cls,
        version: str,
        model: Model,
        quantities: Sequence[str],
        options: Mapping[str, str],
        sizes: Sequence[str],
        file: str,
    ) -> MacroRequest:
        """Return the request for a file: a config.json by its path relative to it, a Hub model at the commit read."""
        target = parse(model.target)
        text = target.text
        if target.kind is TargetKind.CONFIG and text != "-":
            folder = os.path.dirname(file) if file != "-" else ""
            text = f"./{os.path.relpath(text, folder or os.curdir)}".replace(os.sep, "/").replace("./../", "../")
        elif target.kind is TargetKind.HUB and model.provenance.commit:
            text = f"{target.name}@{model.provenance.commit}"
        return cls(version, text, tuple(quantities), dict(options), tuple(sizes))

    @classmethod
    def of(cls, line: str) -> MacroRequest:
        """Parse the first line of a macro file. Raises DocumentError if the line is damaged."""
        try:
            said = json.loads(line.removeprefix(MARK))
            found = cls(
                said["version"], said["target"], tuple(said["quantities"]), dict(said["options"]), tuple(said["sizes"])
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            found = cls("", "", (), {}, ())
        words = (found.version, found.target, *found.quantities, *found.options, *found.options.values(), *found.sizes)
        if not found.target or not found.quantities or not all(isinstance(word, str) for word in words):
            raise DocumentError("its symformer-macros line is damaged; write the file again with derive --macros")
        return found


@dataclass(frozen=True)
class Macro:
    """One macro: its name without the backslash, its body, and the id of its formula."""

    name: str
    body: str
    id: str


def spelt(model: Model, formulas: Sequence[Formula], asked: MacroRequest) -> bytes:
    """Return the file: the request it is generated from, then every macro under its id."""
    lines = [asked.line(), f"% Written by symformer {asked.version}.", _HELP]
    sides = [(each.measure.name, each.ranks, model.known) for each in formulas]
    lines += [f"% {plain(line, code)}".replace("×", "x") for line in ranks.stated_of_each(sides)]
    before = ""
    for macro in macros(model, formulas):
        if macro.id != before:
            lines += ["", f"% {printable(macro.id)}"]
            before = macro.id
        lines.append(rf"\newcommand{{\{macro.name}}}{{{macro.body}}}")
    return ("\n".join(lines) + "\n").encode()


def macros(model: Model, formulas: Sequence[Formula]) -> Iterator[Macro]:
    """Yield every macro of a model: its formulas' own, then for one copy of each part and operation."""
    taken: set[str] = set()
    for formula in formulas:
        stem = named(_stem(model.target)) + named(formula.measure.name)
        whole = isinstance(formula, Ratio) and not formula.denominator.root.lines  # the denominator has no parts
        keys = [""] if whole else dict.fromkeys(line.key for line in formula.root.walk())
        parts = {key: formula.part(key) for key in keys}
        for key, part in parts.items():
            above = parts.get(key.rpartition(".")[0])
            alone = part.root.entry is not None and above is not None and above.expr == part.expr
            if key and (part.expr == 0 or alone):  # the part already has the total of its only operation
                continue
            name = _free(stem + named(key), taken)
            id = ".".join(filter(None, (model.name, formula.measure.name, key)))
            bodies = {"": rf"\ensuremath{{{part.latex()}}}", **numbers(part, model, name)}
            taken |= {name + end for end in ("", *_ENDS)}
            yield from (Macro(name + end, body, id) for end, body in bodies.items())


def numbers(formula: Formula, model: Model, name: str) -> dict[str, str]:
    """Return the value of a formula in each form, by macro ending; empty if a size has no value."""
    value = number(formula, model)
    if value is None:
        return {}
    raw = str(value)
    forms = {"Value": grouped(value), "Raw": raw}
    if isinstance(value, int):
        forms["SI"] = rf"\ifdefined\num\num{{{raw}}}\else\{name}Value\fi"
    return forms


def number(formula: Formula, model: Model) -> int | Fraction | None:
    """Return the exact value of a formula at the sizes of its model, or None if a size has no value."""
    if not set(formula.symbols) <= model.known.keys():
        return None
    value: int | Fraction = formula.value()
    return int(value) if value == int(value) else value


def grouped(value: int | Fraction) -> str:
    """Return a number with digit grouping that prints the same in text and in mathematics.

    >>> grouped(124439808), grouped(Fraction(1000, 3))
    ('124{,}439{,}808', '1{,}000/3')
    """
    return exact_text(value).replace(",", "{,}")


def named(text: str) -> str:
    """Return a name in letters only: digits, decimal points and non-ASCII letters are spelled out.

    >>> named("gpt2-xl"), named("llama-3.1-8b"), named("h.ln_1"), named("模")
    ('GptTwoXl', 'LlamaThreePointOneEightB', 'HLnOne', 'USixATwoOne')
    """
    found, starts = "", True
    for place, each in enumerate(text):
        if each.isascii() and each.isalpha():
            found += each.upper() if starts else each
            starts = False
            continue
        starts = True
        if each in _DIGITS:
            found += _DIGITS[each]
        elif each == "." and {text[place - 1 : place], text[place + 1 : place + 2]} <= _DIGITS.keys():
            found += "Point"
        elif not each.isascii():
            found += "U" + "".join(_DIGITS.get(digit, digit) for digit in f"{ord(each):X}")
    return found


def _stem(target: str) -> str:
    """Return the start of a target's macro names: for a config.json, the name of its folder."""
    kind = parse(target)
    if kind.kind is TargetKind.CONFIG:
        return name_of(target).removesuffix(".json").removesuffix("/config") or "config"
    return target if kind.kind is TargetKind.HF else kind.name if kind.kind is not TargetKind.FACTORY else target


def _free(name: str, taken: set[str]) -> str:
    """Return a name that does not clash with the macros already taken; deterministic for a given model."""
    name = name + "Part" if name.endswith(_ENDS) else name
    while any(name + end in taken for end in ("", *_ENDS)):
        name += "Alt"
    return name
