"""The census as pages: every model type of transformers with its formulas, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..catalogue.entries import CatalogueEntry, CensusEntry, census_types, find_entry
from ..catalogue.record import OPERATIONS
from ..formulas.formula import Formula
from ..language.notation.display_tree import Label, tree
from ..language.notation.text import text
from ..output.blocks import Equation
from ..output.chain import Chain
from ..views.catalogue_class import CatalogueClass, catalogue_class, fixed_sizes
from .formats.md import FORMAT

_code, _prose = FORMAT.code, FORMAT.prose


def pages(name: str, title: str, heads: Sequence[str]) -> dict[str, str]:
    """Return the Markdown pages of the model types whose first head is one of ``heads``, by file name.

    The first page counts them; the others list the formulas.
    """
    filed = {model_type: each for model_type, each in census_types().items() if each.head in heads}
    read = {model_type: kept for model_type, each in filed.items() if (kept := find_entry(each.name, model_type))}
    built = [model_type for model_type, each in filed.items() if each.builds]
    pieces = [list(read)[start : start + MOST] for start in range(0, len(read), MOST)]
    places = {f"{name}-{number}.md": types for number, types in enumerate(pieces, 1)}
    on = {model_type: file for file, types in places.items() for model_type in types}
    whole = [model_type for model_type, kept in read.items() if not kept.entry.still]
    lifted = [model_type for model_type, kept in read.items() if OPERATIONS in kept.records]
    columns = [[name for name in filed if filed[name].head == head] for head in heads]
    columns += [list(filed)] * (len(heads) > 1)
    versions = dict.fromkeys(_versions(kept.entry.versions) for kept in read.values())
    rows = [
        _counts("Types", columns, filed),
        _counts("built from their default config", columns, built),
        _counts("with formulas", columns, read),
        _counts("with every main size a symbol", columns, whole),
        _counts("with operations", columns, lifted),
    ]
    blocks = [
        f"# Census of {title}",
        f"All model types of transformers whose first class is one of these, traced from the code of the class by "
        f"`symformer census` with {' and '.join(versions)}, using the default config. N is the number of parameters "
        "and F the forward FLOPs of B sequences of S tokens. Every formula matched torch, row by row, at held-out "
        "random configs. With config switches set, the total of each class was checked against torch at 8 to 20 random "
        "configs before it was stored. symformer answers a config.json of these types from this catalogue, without "
        "torch.",
        f"**{len(whole)} of the {len(built)} types that can be built ({100 * len(whole) / max(1, len(built)):.1f} %) "
        "have a formula in which every main size is a symbol**: the vocabulary size, the hidden and intermediate "
        "sizes, the layers and the heads.",
        _table("|".join(["", *(f"{head}:" for head in heads), *["all:"] * (len(heads) > 1)]), rows),
    ]
    still = {model_type: kept.entry.still for model_type, kept in read.items() if model_type not in whole}
    if odd := [[_link(each, filed[each], on[each]), _codes(names)] for each, names in still.items()]:
        blocks += ["## Types with a fixed main size", _table("Type|Fixed", odd)]
    missing = {model_type: each for model_type, each in filed.items() if model_type not in read}
    for heading, builds in (
        ("## Types without a formula", True),
        ("## Types that cannot be built from their default config", False),
    ):
        if table := [[_code(kind), _prose(each.why)] for kind, each in missing.items() if each.builds is builds]:
            blocks += [heading, _table("Type|Reason", table)]
    blocks += [
        "## Formulas",
        "\n".join(f"- [{_prose(types[0])} to {_prose(types[-1])}]({file})" for file, types in places.items()),
    ]
    made = {f"{name}.md": "\n\n".join(blocks) + "\n"}
    for file, types in places.items():
        head = [f"# Formulas of {title}: {_prose(types[0])} to {_prose(types[-1])}", HEAD.format(name=name)]
        sections = (section(model_type, filed[model_type], read[model_type]) for model_type in types)
        made[file] = "\n\n".join([*head, *sections]) + "\n"
    return made


MOST = 32  # types per page, so that a browser renders all of the mathematics
HEAD = "Names that are not defined below are config fields. [The census]({name}.md) states how formulas were checked."


def section(model_type: str, filed: CensusEntry, kept: CatalogueEntry) -> str:
    """Return the section of one class: its formulas, their symbols, the effect of its switches, and notes."""
    found = catalogue_class(kept)
    blocks = [f"## {_title(model_type, filed)}", *map(_formula, found.formulas.values())]
    if letters := [f"{_prose(name)} is {_code(place)}" for name, place in found.fields.items() if name != place]:
        blocks.append(", ".join(letters) + ".")
    if notes := "\n".join(f"- {note}" for note in _notes(kept, found)):
        blocks.append(notes)
    rows = [[_code(each.said), "unknown" if each.adds is None else _prose(text(each.adds))] for each in found.switches]
    if rows:
        blocks.append(_table("Config setting|Change in N", rows))
    return "\n\n".join(blocks)


def _formula(formula: Formula) -> str:
    chain = Chain((Label(formula.measure.letter, "", formula.display_expr),), (tree(formula.display_expr),))
    return FORMAT.display(Equation(chain))


def _notes(kept: CatalogueEntry, found: CatalogueClass) -> Iterable[str]:
    for before, name, why in fixed_sizes(found):
        yield f"{before}{_code(name) * bool(name)}{_prose(why)}"
    for condition in found.conditions:
        yield f"condition: {_prose(str(condition))}"
    if kept.entry.unrun:
        yield f"no formula for F: {_prose(kept.entry.unrun)}"
    for why in dict.fromkeys(found.refusals.values()):
        names = [name for name, each in found.refusals.items() if each == why]
        yield f"{', '.join(names)}: not supported ({_prose(why)})"


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _counts(what: str, columns: Sequence[Sequence[str]], names: Iterable[str]) -> list[str]:
    counted = set(names)
    return [what, *(str(len(counted.intersection(column))) for column in columns)]


def _codes(names: Iterable[str]) -> str:
    return ", ".join(map(_code, names))


def _title(model_type: str, filed: CensusEntry) -> str:
    return f"{model_type}, {filed.name}"


def _link(model_type: str, filed: CensusEntry, file: str) -> str:
    anchor = _title(model_type, filed).lower().replace(",", "").replace(" ", "-")
    return f"[{_prose(model_type)}]({file}#{anchor})"


def _table(head: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a table; a column whose name ends in a colon is right-aligned."""
    names = head.split("|")
    lines = [[name.rstrip(":") for name in names], ["---:" if name.endswith(":") else "---" for name in names], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
