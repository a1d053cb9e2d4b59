"""The census as a page: every model type of transformers, its formulas from the catalogue, or why it has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from ..answers.shelved import Known, held, known
from ..catalogue.record import OPERATIONS
from ..catalogue.shelf import Filed, Kept, filed_types, on_shelf
from ..formulas.formula import Formula
from ..language.notation.text import text
from .formats.md import Markdown

_code, _prose = Markdown().code, Markdown().prose


def page(title: str, heads: Sequence[str]) -> str:
    """The whole page, in Markdown, of the model types whose first head is one of these."""
    filed = {model_type: each for model_type, each in filed_types().items() if each.head in heads}
    read = {model_type: kept for model_type, each in filed.items() if (kept := on_shelf(each.name, model_type))}
    built = [model_type for model_type, each in filed.items() if each.builds]
    whole = [model_type for model_type, kept in read.items() if not kept.entry.still]
    lifted = [model_type for model_type, kept in read.items() if OPERATIONS in kept.records]
    columns = [[name for name in filed if filed[name].head == head] for head in heads]
    columns += [list(filed)] * (len(heads) > 1)
    versions = dict.fromkeys(_versions(kept.entry.versions) for kept in read.values())
    rows = [
        _counts("Types", columns, filed),
        _counts("that build from their default config", columns, built),
        _counts("with formulas", columns, read),
        _counts("with every usual size a symbol", columns, whole),
        _counts("with their operations too", columns, lifted),
    ]
    blocks = [
        f"# Census of {title}",
        f"Every model type of transformers whose first class is one of these, read off its own code by "
        f"`symformer census` with {' and '.join(versions)}, from its default config. N is the number of parameters and "
        "F the forward FLOPs of B sequences of S tokens. Every formula is exact, row by row, at fresh random configs "
        "that played no part in finding it; and what each class adds up to with its switches turned was held to torch "
        "at up to 20 random configs, and at least 8, before it was kept. A config.json of one of these is answered "
        "from here, without torch.",
        f"**{len(whole)} of the {len(built)} types that build, {100 * len(whole) / max(1, len(built)):.1f} %, have a "
        "formula in which every usual size is a symbol**: the vocabulary, the widths of the model and of its MLPs, the "
        "layers and the heads.",
        _table("|".join(["", *(f"{head}:" for head in heads), *["all:"] * (len(heads) > 1)]), rows),
    ]
    if odd := [[_link(name, filed[name]), _codes(read[name].entry.still)] for name in read if name not in whole]:
        blocks += ["## A usual size that stays a number", _table("Type|Stays a number", odd)]
    missing = {name: each for name, each in filed.items() if name not in read}
    for heading, builds in (("## No formula", True), ("## Those that do not build from their default config", False)):
        if table := [[_code(name), _prose(each.why)] for name, each in missing.items() if each.builds is builds]:
            blocks += [heading, _table("Type|Why", table)]
    blocks += [
        "## Formulas",
        "A name that is no letter is the config's own.",
        *(section(name, filed[name], kept) for name, kept in read.items()),
    ]
    return "\n\n".join(blocks) + "\n"


def section(model_type: str, filed: Filed, kept: Kept) -> str:
    """The formulas of one class, what their letters stand for, what its switches add, and what they do not say."""
    found = known(kept)
    formulas = "\n".join(_formula(each) for each in found.formulas.values())
    blocks = [f"### {_title(model_type, filed)}", f"```text\n{formulas}\n```"]
    if letters := [f"{_prose(name)} is {_code(place)}" for name, place in found.fields.items() if name != place]:
        blocks.append(", ".join(letters) + ".")
    if notes := "\n".join(f"- {note}" for note in _notes(kept, found)):
        blocks.append(notes)
    rows = [
        [_code(each.said), "not known" if each.adds is None else _prose(text(each.adds))] for each in found.switches
    ]
    if rows:
        blocks.append(_table("Where a config says|N is more by", rows))
    return "\n\n".join(blocks)


def _formula(formula: Formula) -> str:
    kept_together = formula.text().replace("+ ", "+\0").replace("- ", "-\0")  # a sign stays with the term after it
    lines = wrap(kept_together, 100, break_long_words=False)
    return f"{formula.measure.letter} = " + "\n    ".join(lines).replace("\0", " ")


def _notes(kept: Kept, found: Known) -> Iterable[str]:
    for before, name, why in held(found):
        yield f"{before}{_code(name) * bool(name)}{_prose(why)}"
    for condition in found.conditions:
        yield f"it holds where {_prose(str(condition))}"
    if kept.entry.unrun:
        yield f"F is not known: {_prose(kept.entry.unrun)}"
    for why in dict.fromkeys(found.refusals.values()):
        names = [name for name, each in found.refusals.items() if each == why]
        yield f"{', '.join(names)}: refused, for {_prose(why)}"


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _counts(what: str, columns: Sequence[Sequence[str]], names: Iterable[str]) -> list[str]:
    counted = set(names)
    return [what, *(str(len(counted.intersection(column))) for column in columns)]


def _codes(names: Iterable[str]) -> str:
    return ", ".join(map(_code, names))


def _title(model_type: str, filed: Filed) -> str:
    return f"{model_type}, {filed.name}"


def _link(model_type: str, filed: Filed) -> str:
    anchor = _title(model_type, filed).lower().replace(",", "").replace(" ", "-")
    return f"[{_prose(model_type)}](#{anchor})"


def _table(head: str, rows: Sequence[Sequence[str]]) -> str:
    """A table; a column whose name ends in a colon is one of numbers."""
    names = head.split("|")
    lines = [[name.rstrip(":") for name in names], ["---:" if name.endswith(":") else "---" for name in names], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
