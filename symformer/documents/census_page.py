"""The census as pages: every model type of transformers with its formulas, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..catalogue.entries import CatalogueEntry, census_types, find_entry
from ..catalogue.record import OPERATIONS
from ..models.provenance import libraries
from ..views.catalogue_class import CatalogueClass, catalogue_class, fixed_sizes
from .pages import page

MOST = 32  # types per page, so that a browser renders all of the mathematics


@dataclass(frozen=True)
class CensusClass:
    """The formulas of the class of one model type, their symbols, and their limits."""

    title: str
    found: CatalogueClass
    letters: Mapping[str, str]  # the config fields that have a letter
    fixed: Sequence[tuple[str, str, str]]  # sizes that are fixed or that follow another size
    unrun: str  # why it has no formula for its FLOPs
    refusals: Mapping[str, Sequence[str]]  # unsupported quantities, by reason


def pages(name: str, title: str, heads: Sequence[str]) -> dict[str, str]:
    """Return the Markdown pages of the model types whose first head is one of ``heads``, by file name.

    The first page counts them; the others list the formulas.
    """
    filed = {kind: each for kind, each in census_types().items() if each.head in heads}
    read = {kind: kept for kind, each in filed.items() if (kept := find_entry(each.name, kind))}
    pieces = [list(read)[start : start + MOST] for start in range(0, len(read), MOST)]
    files = {f"{name}-{number}.md": kinds for number, kinds in enumerate(pieces, 1)}
    links = {kind: (file, f"{kind}, {filed[kind].name}") for file, kinds in files.items() for kind in kinds}
    counted = {
        "types": filed.keys(),
        "built": {kind for kind, each in filed.items() if each.builds},
        "formulas": read.keys(),
        "symbolic": {kind for kind, kept in read.items() if not kept.config.constants},
        "operations": {kind for kind, kept in read.items() if OPERATIONS in kept.records},
    }
    columns = {head: {kind for kind, each in filed.items() if each.head == head} for head in heads}
    if len(heads) > 1:
        columns["all"] = set(filed)
    versions = [libraries(kept.config.versions) for kept in read.values()]
    made = {
        f"{name}.md": page(
            "census.md",
            title=title,
            versions=list(dict.fromkeys(versions)),
            heads=list(columns),
            counts={what: [len(kinds & column) for column in columns.values()] for what, kinds in counted.items()},
            fixed=[(kind, *links[kind], kept.config.constants) for kind, kept in read.items() if kept.config.constants],
            missing=[(kind, each) for kind, each in filed.items() if kind not in read],
            files=files,
        )
    }
    for file, kinds in files.items():
        classes = [_class(links[kind][1], read[kind]) for kind in kinds]
        made[file] = page("census-formulas.md", title=title, kinds=kinds, census=f"{name}.md", classes=classes)
    return made


def _class(title: str, kept: CatalogueEntry) -> CensusClass:
    found = catalogue_class(kept)
    refusals: dict[str, list[str]] = {}
    for quantity, why in found.refusals.items():
        refusals.setdefault(why, []).append(quantity)
    letters = {name: field for name, field in found.fields.items() if name != field}
    return CensusClass(title, found, letters, list(fixed_sizes(found)), kept.config.run_refusal, refusals)
