r"""An audit of a paper: every macro and every ``\symformer{id}{number}`` held to what the formulas give today."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from ..answers.citations import find, target_of
from ..answers.targets import pairs, resolve
from ..language.errors import OptionError, SymformerError, TargetError
from ..language.notation.text import number as shown
from ..language.symbols import SYMBOLS
from ..language.target import Kind, parse
from .macros import Asked, Macro, formulas_of, macros, number
from .manuscript import Definition, Manuscript, Spot, Use, read

_GROUPING = re.compile(r"\{,\}|\\[,;:! ]|\\thinspace|\\ensuremath|\\num|[{}$~,\s\u00a0\u2009\u202f]")


@dataclass(frozen=True)
class Difference:
    """What stands in a paper, and what would be right."""

    spot: Spot
    what: str  # a macro, or an id
    found: str
    right: str

    def __str__(self) -> str:
        return f"{self.spot}: {self.what} is {self.found}, and would be {self.right}"


@dataclass(frozen=True)
class Unread:
    """What could not be held to anything, and why."""

    spot: Spot
    why: str

    def __str__(self) -> str:
        return f"{self.spot}: {self.why}"


@dataclass
class Audit:
    """What an audit found."""

    files: Sequence[str]
    checked: int = 0
    differs: list[Difference] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As ``audit --json`` prints it."""
        return {
            "files": list(self.files),
            "checked": self.checked,
            "differs": [
                {**asdict(each.spot), "what": each.what, "found": each.found, "right": each.right}
                for each in self.differs
            ],
            "unread": [{**asdict(each.spot), "why": each.why} for each in self.unread],
        }


@dataclass(frozen=True)
class _Source:
    """What a file of macros was made from, and what it would have in it today."""

    spot: Spot
    asked: Asked
    macros: Mapping[str, Macro]
    stems: tuple[str, ...]  # what the names of its macros begin with

    @property
    def ids(self) -> set[str]:
        """The ids that its formulas begin with."""
        return {f"{self.asked.target.partition('@')[0]}.{name}" for name in self.asked.quantities}


def audit(path: str) -> Audit:
    """Hold a paper to its formulas. Raises DocumentError where the paper itself cannot be read."""
    paper = read(path)
    folder = Path(os.path.realpath(path)).parent
    found = Audit(paper.files, unread=[Unread(*each) for each in paper.unread])
    sources: list[_Source] = []
    for spot, line in paper.marks:
        try:
            sources.append(_source(spot, Asked.of(line), folder))
        except SymformerError as error:
            found.unread.append(Unread(spot, str(error)))
    for definition in paper.definitions:
        _hold(definition, sources, found)
    for use in paper.uses:
        try:
            _check(use, sources, paper, folder, found)
        except SymformerError as error:
            found.unread.append(Unread(use.spot, f"{use.id[:200]} cannot be checked: {error}"))
    return found


def _source(spot: Spot, asked: Asked, folder: Path) -> _Source:
    target = _opened(asked.target, (folder / spot.file).parent)
    model, conventions = resolve(target, asked.options, asked.sizes, asked.quantities)
    formulas = formulas_of(model, asked.quantities, conventions)
    known = {macro.name: macro for macro in macros(model, formulas)}
    heads = [next(name for name, each in known.items() if each.id.endswith(f".{one}")) for one in asked.quantities]
    return _Source(spot, asked, known, tuple(heads))


def _opened(target: str, folder: Path) -> str:
    """A target of a paper as it is opened here: no code of anybody's is run for it. Raises TargetError."""
    kind = parse(target).kind
    if kind is Kind.FACTORY:
        raise TargetError(f"{target} is a factory, whose code an audit does not run; name a model that is known here")
    if target == "-":
        raise TargetError("its config.json was read from standard input; write the macros again from a file")
    return os.path.relpath(folder / target) if kind is Kind.CONFIG else target


def _hold(definition: Definition, sources: Sequence[_Source], found: Audit) -> None:
    """Hold one definition to the file of macros that it stands in, or else to any that has its name."""
    own = [source for source in sources if source.spot.file == definition.spot.file]
    source = next((each for each in [*own[::-1], *sources] if definition.name in each.macros), None)
    name = f"\\{definition.name}"
    if source is None:
        if any(definition.name.startswith(stem) for each in own for stem in each.stems):
            found.checked += 1
            right = "no macro of what this file is made from"
            found.differs.append(Difference(definition.spot, name, _plain(definition.body), right))
        return
    found.checked += 1
    macro = source.macros[definition.name]
    if definition.body is None or " ".join(definition.body.split()) != macro.body:
        found.differs.append(Difference(definition.spot, name, _plain(definition.body), f"{macro.body} ({macro.id})"))


def _plain(body: str | None) -> str:
    return "defined in a way that is not read" if body is None else " ".join(body.split())


def _check(use: Use, sources: Sequence[_Source], paper: Manuscript, folder: Path, found: Audit) -> None:
    """Hold one number to its formula. Raises SymformerError where there is none to hold it to."""
    options, sizes = _given(use, sources)
    id = use.id
    target = target_of(id)
    if parse(target).kind is Kind.CONFIG:
        id = _opened(target, folder) + id[len(target) :]
    right = _value(id, tuple(options.items()), sizes)
    found.checked += 1
    if _read(use.number, paper) != right:
        found.differs.append(Difference(use.spot, use.id, use.number, shown(right)))


def _given(use: Use, sources: Sequence[_Source]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The options and sizes of a use: its own, or those of the file of macros that is made from the same."""
    if use.options:
        given = pairs(use.options.split(","))
        sizes = tuple(f"{name}={value}" for name, value in given.items() if name in SYMBOLS)
        return {name: value for name, value in given.items() if name not in SYMBOLS}, sizes
    same = [source for source in sources if any(f"{use.id}.".startswith(f"{id}.") for id in source.ids)]
    ways = {(tuple(source.asked.options.items()), source.asked.sizes) for source in same}
    if len(ways) > 1:
        spots = " and ".join(str(source.spot) for source in same)
        raise OptionError(
            rf"{spots} are made from it with different options; say which, as in \symformer[tied=false]{{ID}}{{NUMBER}}"
        )
    chosen, sizes = next(iter(ways), ((), ()))
    return dict(chosen), sizes


@cache
def _value(id: str, options: tuple[tuple[str, str], ...], sizes: tuple[str, ...]) -> int | Fraction:
    model, formula, _ = find(id, dict(options), sizes)
    value = number(formula, model)
    if value is None:
        missing = ", ".join(str(size) for size in formula.symbols if size not in model.known)
        raise OptionError(f"no number for {missing}; give each, as in \\symformer[{missing.split(',')[0]}=1]")
    return value


def _read(text: str, paper: Manuscript) -> int | Fraction | None:
    """A number as a paper prints it: digits in groups, or a macro of one; None for what is no whole number."""
    bodies = {each.name: each.body for each in paper.definitions}
    for _ in range(3):  # a number, its macro, and one that stands for that
        text = re.sub(r"\\([A-Za-z]+)", lambda found: bodies.get(found[1]) or found[0], text)
    text = re.sub(r"\\ifdefined\\num(.*?)\\else.*?\\fi", r"\1", text)
    above, stroke, below = _GROUPING.sub("", text).partition("/")
    if not all(part.isascii() and part.isdigit() and len(part) < 1_000 for part in (above, below or "1")):
        return None
    if stroke and not int(below or "0"):
        return None
    ratio = Fraction(int(above), int(below)) if stroke else Fraction(int(above))
    return int(ratio) if ratio.denominator == 1 else ratio
