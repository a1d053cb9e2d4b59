r"""An audit of a paper: every macro and every ``\symformer{id}{number}`` compared with the current formulas."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..algebra.token_costs import DIVIDED, value_per_token
from ..formulas.formula import Formula
from ..language.errors import (
    UNSUPPORTED,
    ArithmeticTextError,
    OptionError,
    SizeError,
    SymformerError,
    TargetError,
    listed,
    quoted,
)
from ..language.notation.significant import significant
from ..language.notation.text import exact_text
from ..language.notation.text import number as shown
from ..language.printed_number import printed
from ..language.target import TargetKind, parse
from ..models.model import Model
from ..targets.resolution import pairs, resolve
from ..views.citations import find, target_of
from ..views.derivation_facts import formulas_of
from .macros import Macro, MacroRequest, macros, number
from .manuscript import FormulaReference, MacroDefinition, Manuscript, PaperLocation, read

FORMULAS = 500  # different formulas of one paper
LONGEST = 2_000  # characters of a number with its macros written out
SHOWN = 200  # characters quoted from a paper in a message
_SIGNS = {r"\%": "%", r"\geq": "≥", r"\ge": "≥", r"\mu": "µ", "μ": "µ"}
DASHES = ("—", "–", "---", "--")  # in the place of a value that does not exist
_SIZE = re.compile(r"[A-Z]\w*")  # the name of a size; those of quantities and options have small letters
_PIECES = re.compile(r"\\[A-Za-z]+|[^\\]+|\\")
_GROUPING = re.compile(r"\{,\}|\\[,;:! ]|\\thinspace|\\ensuremath|\\num|[{}$~,\s\u00a0\u2009\u202f]")


@dataclass(frozen=True)
class Difference:
    """A number or macro of a paper that differs from the current formula."""

    spot: PaperLocation
    what: str  # a macro, or an id
    found: str
    right: str

    def __str__(self) -> str:
        return f"{self.spot}: {self.what} is {self.found}; expected {self.right}"


@dataclass(frozen=True)
class Unread:
    """A mark or number that could not be checked, with the reason."""

    spot: PaperLocation
    why: str

    def __str__(self) -> str:
        return f"{self.spot}: {self.why}"


@dataclass
class Audit:
    """The result of an audit."""

    files: Sequence[str]
    checked: int = 0
    differs: list[Difference] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the result as ``audit --json`` prints it."""
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
    """The model and formulas of a macro file, and the macros that it would contain today."""

    spot: PaperLocation
    asked: MacroRequest
    model: Model
    formulas: Mapping[str, Formula]  # by target and quantity, such as gpt2.params
    macros: Mapping[str, Macro]
    stems: tuple[str, ...]  # prefixes of its macro names


def audit(path: str, *, configs: bool = False, told: Callable[[int, int], None] | None = None) -> Audit:
    """Compare every macro and number of a paper with the current formulas.

    Parameters
    ----------
    path
        The main file of the paper.
    configs
        Whether to open the configs that the paper names, on disk and on the Hub. A paper may come from anyone, so by
        default only its own files are read and the network is not used.
    told
        Called with the number of marks checked and their total.

    Raises
    ------
    DocumentError
        If the paper itself cannot be read.

    """
    paper = read(path)
    return _Auditor(paper, Path(os.path.realpath(path)).parent, configs).audit(told or (lambda done, total: None))


class _Auditor:
    """A single audit; builds each macro file and each formula once."""

    def __init__(self, paper: Manuscript, folder: Path, configs: bool) -> None:
        self.paper, self.folder, self.configs = paper, folder, configs
        self.found = Audit(paper.files, unread=[Unread(*each) for each in paper.unread])
        self.sources: list[_Source] = []
        self.made: dict[object, _Source] = {}  # the different macro files, by their source
        self.bodies = {each.name: each.body for each in paper.definitions}
        self.right: dict[object, int | Fraction | SymformerError] = {}  # by options and id
        self.computed = 0  # of these, the formulas
        self.sized: dict[object, Mapping[str, int]] = {}  # the sizes of models, by target and options
        self.read: dict[str, int | Fraction | None] = {}
        self.units: dict[object, str] = {}  # of the formulas, by options and id

    def audit(self, told: Callable[[int, int], None]) -> Audit:
        paper, found = self.paper, self.found
        total = len(paper.marks) + len(paper.uses)
        for done, (spot, line) in enumerate(paper.marks):
            told(done, total)
            try:
                self.sources.append(self._source(spot, MacroRequest.of(line)))
            except SymformerError as error:
                found.unread.append(Unread(spot, str(error)))
        _hold_all(paper.definitions, self.sources, found)
        for done, use in enumerate(paper.uses, len(paper.marks)):
            told(done, total)
            try:
                self._check(use)
            except SymformerError as error:
                found.unread.append(Unread(use.spot, f"{use.id[:200]} cannot be checked: {error}"))
        return found

    def _source(self, spot: PaperLocation, asked: MacroRequest) -> _Source:
        target = self._opened(asked.target, (self.folder / spot.file).parent)
        same = (target, asked.quantities, tuple(asked.options.items()), asked.sizes)
        if same in self.made:
            return replace(self.made[same], spot=spot, asked=asked)
        self._counted()
        model, conventions = resolve(target, asked.options, asked.sizes, asked.quantities)
        formulas = formulas_of(model, asked.quantities, conventions)
        known = {macro.name: macro for macro in macros(model, formulas)}
        heads = [next(name for name, each in known.items() if each.id.endswith(f".{one}")) for one in asked.quantities]
        stem = asked.target.partition("@")[0]
        ids = {f"{stem}.{name}": formula for name, formula in zip(asked.quantities, formulas, strict=True)}
        self.made[same] = _Source(spot, asked, model, ids, known, tuple(heads))
        return self.made[same]

    def _counted(self) -> None:
        """Raise OptionError if the paper has too many different formulas."""
        if self.computed + len(self.sized) + len(self.made) >= FORMULAS:
            raise OptionError(f"the paper names more than {FORMULAS:,} different formulas; audit it in parts")

    def _opened(self, target: str, folder: Path) -> str:
        """Return the target as the audit may open it: a known name, or a config if allowed. Raises TargetError."""
        kind = parse(target).kind
        said = quoted(target)
        if kind is TargetKind.FACTORY:
            raise TargetError(
                f"{said} is a factory, but an audit runs no code; name an architecture, a preset or a config"
            )
        if target == "-":
            raise TargetError("the macros were generated from a config.json on stdin; generate them from a file")
        if kind in (TargetKind.COMPONENT, TargetKind.HF) or (kind is TargetKind.NAME and not os.path.isdir(target)):
            return target
        if not self.configs:
            where = "a model on the Hub" if kind is TargetKind.HUB else "a path on this machine"
            raise TargetError(f"{said} is {where}, which an audit opens only with --configs")
        return target if kind is TargetKind.HUB else os.path.relpath(folder / target)

    def _check(self, use: FormulaReference) -> None:
        """Compare one number with its formula, or a dash with the lack of a value.

        Raises SymformerError if there is a number, but no such formula.
        """
        try:
            right = self._right(use)
        except (SizeError, *UNSUPPORTED):
            if use.number not in DASHES:
                raise
            self.found.checked += 1
            return
        self.found.checked += 1
        if self._read(use.number) != right and not self._rounds_to(use, right):
            self.found.differs.append(Difference(use.spot, use.id, use.number[:SHOWN], shown(right)))

    def _rounds_to(self, use: FormulaReference, right: int | Fraction) -> bool:
        """Return True if a number with a prefix or decimals, such as 124M or 14.97 TFLOPs, is a correct rounding.

        This is also True of a value as a table prints it, such as 11.8% or 144.3 FLOPs/byte.
        """
        text = _plain_number(use.number)
        if text.isdigit():
            return False  # digits alone are exact
        unit = self.units[use.options, use.id]
        if text in map(_plain_number, (significant(right, unit), f"{exact_text(right)} {unit}")):
            return True
        try:
            read = printed(text)
        except ArithmeticTextError:
            return False
        return read.unit in ("", unit) and read.fits(right, coarsely=False) in ("exact", "rounded")

    def _right(self, use: FormulaReference) -> int | Fraction:
        same = (use.options, use.id)
        if same not in self.right:
            try:
                self.right[same] = self._computed(use)
            except SymformerError as error:
                self.right[same] = error
        found = self.right[same]
        if isinstance(found, SymformerError):
            raise found
        return found

    def _computed(self, use: FormulaReference) -> int | Fraction:
        """Return the value of a formula under the options of its mark, or of the macro file that contains it."""
        given = pairs(use.options.split(",")) if use.options else {}
        per = given.pop("per", "")
        if per and f"per={per}" != DIVIDED:
            raise OptionError(f"per={per} is not supported; write {DIVIDED}, or leave it out")
        sizes = tuple(f"{name}={value}" for name, value in given.items() if _SIZE.fullmatch(name))
        options = {name: value for name, value in given.items() if not _SIZE.fullmatch(name)}
        self.units[use.options, use.id] = ""
        if not use.options and (of := self._of_macros(use)):
            model, formula = of
        else:
            id_ = self._id(use.id)
            if target := _sized(id_):
                if per:
                    raise OptionError(f"{DIVIDED} applies to costs, and {id_} is a size; leave it out")
                return self._size(target, id_[len(target) + 1 :], options, sizes)
            self._counted()
            self.computed += 1
            model, formula, _ = find(id_, options, sizes)
        self.units[use.options, use.id] = formula.measure.unit
        if per:
            return value_per_token(formula, model.known)
        value = number(formula, model)
        if value is None:
            missing = ", ".join(str(size) for size in formula.symbols if size not in model.known)
            raise SizeError(f"no value for {missing}; set each, as in \\symformer[{missing.split(',')[0]}=1]")
        return value

    def _size(self, target: str, name: str, options: Mapping[str, str], sizes: Sequence[str]) -> int:
        """Return a size of a model. Raises SizeError if the model has none of this name."""
        same = (target, tuple(options.items()), tuple(sizes))
        if same not in self.sized:
            self._counted()
            model, _ = resolve(target, options, sizes)
            self.sized[same] = {str(size): value for size, value in model.known.items()}
        if name not in self.sized[same]:
            raise SizeError(f"{target} has no size {name}")
        return self.sized[same][name]

    def _id(self, id: str) -> str:
        """Return an id whose target the audit may open. Raises TargetError."""
        target = _sized(id) or target_of(id)
        return self._opened(target, self.folder) + id[len(target) :] if target else id

    def _of_macros(self, use: FormulaReference) -> tuple[Model, Formula] | None:
        """Return the model and formula of the macro file with this id. Raises OptionError if several differ."""
        same = [(each, id) for each in self.made.values() for id in each.formulas if f"{use.id}.".startswith(f"{id}.")]
        ways = {(tuple(source.asked.options.items()), source.asked.sizes) for source, _ in same}
        if len(ways) > 1:
            spots = listed(str(source.spot) for source, _ in same)
            raise OptionError(
                rf"{spots} use it with different options; state the options, as in "
                r"\symformer[tied=false]{ID}{NUMBER}"
            )
        if not same:
            return None
        source, id = same[0]
        return source.model, source.formulas[id].part(use.id[len(id) + 1 :])

    def _read(self, text: str) -> int | Fraction | None:
        """Return a number as a paper prints it: digits in groups, or a macro of one; None for any other text."""
        if text not in self.read:
            self.read[text] = _number(text, self.bodies)
        return self.read[text]


def _plain_number(text: str) -> str:
    r"""Return a number without the spaces and the commands around it.

    >>> _plain_number("11.8\\%"), _plain_number(r"$\ge$ 1.2 ms")
    ('11.8%', '≥1.2ms')
    """
    for written, sign in _SIGNS.items():
        text = text.replace(written, sign)
    return _GROUPING.sub("", text)


def _sized(id_: str) -> str:
    """Return the target of an id that names a size, such as gpt2.L, or "" for the id of a formula."""
    target, _, name = id_.rpartition(".")
    return target if _SIZE.fullmatch(name) and target_of(f"{target}.params") == target else ""


def _hold_all(definitions: Sequence[MacroDefinition], sources: Sequence[_Source], found: Audit) -> None:
    """Compare each definition with its macro file, or else with any macro file that has the same name."""
    first: dict[str, _Source] = {}
    last: dict[tuple[str, str], _Source] = {}
    stems: dict[str, set[str]] = {}
    for source in sources:
        stems.setdefault(source.spot.file, set()).update(source.stems)
        for name in source.macros:
            first.setdefault(name, source)
            last[source.spot.file, name] = source
    for each in definitions:
        own = last.get((each.spot.file, each.name)) or first.get(each.name)
        _hold(each, own, tuple(stems.get(each.spot.file, ())), found)


def _hold(definition: MacroDefinition, source: _Source | None, stems: tuple[str, ...], found: Audit) -> None:
    name = f"\\{definition.name}"
    if source is None:
        if definition.name.startswith(stems):
            found.checked += 1
            right = "no macro of this name"
            found.differs.append(Difference(definition.spot, name, _plain(definition.body), right))
        return
    found.checked += 1
    macro = source.macros[definition.name]
    if definition.body is None or " ".join(definition.body.split()) != macro.body:
        found.differs.append(Difference(definition.spot, name, _plain(definition.body), f"{macro.body} ({macro.id})"))


def _plain(body: str | None) -> str:
    return "defined in an unsupported way" if body is None else " ".join(body.split())[:SHOWN]


def _number(text: str, bodies: Mapping[str, str | None]) -> int | Fraction | None:
    for _ in range(3):  # a macro that expands to a macro that expands to a number
        pieces = [bodies.get(each[1:]) or each if each[0] == "\\" else each for each in _PIECES.findall(text)]
        if sum(map(len, pieces)) > LONGEST:
            return None
        text = "".join(pieces)
    text = re.sub(r"\\ifdefined\\num(.*?)\\else.*?\\fi", r"\1", text)
    above, stroke, below = _GROUPING.sub("", text).partition("/")
    if not all(part.isascii() and part.isdigit() and len(part) < 1_000 for part in (above, below or "1")):
        return None
    if stroke and not int(below or "0"):
        return None
    ratio = Fraction(int(above), int(below)) if stroke else Fraction(int(above))
    return int(ratio) if ratio.denominator == 1 else ratio
