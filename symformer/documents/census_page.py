"""The census as pages: every model type of transformers with its formulas, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .. import architectures
from ..catalogue.entries import CatalogueEntry, CensusEntry, census_types, find_entry, record
from ..catalogue.record import OPERATIONS
from ..language.notation.text import text
from ..language.symbols import print_order
from ..ledger.facts import UNRECOGNIZED
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
    totals: Mapping[str, str]  # the numbers of layers of one kind, in terms of the config fields
    fixed: Sequence[tuple[str, str, str]]  # sizes that are fixed or that follow another size
    unrun: str  # why it has no formula for its FLOPs
    refusals: Mapping[str, Sequence[str]]  # unsupported quantities, by reason


def pages(name: str, title: str, heads: Sequence[str]) -> dict[str, str]:
    """Return the Markdown pages of the model types whose first head is one of ``heads``, by file name.

    The first page counts them; the others list the formulas.
    """
    read = _read(heads)
    links = _links(name, read)
    made = {f"{name}.md": overview(name, title, heads)}
    for file in dict.fromkeys(file for file, _ in links.values()):
        kinds = [kind for kind, (other, _) in links.items() if other == file]
        classes = [_class(links[kind][1], read[kind]) for kind in kinds]
        made[file] = page("census-formulas.md", title=title, kinds=kinds, census=f"{name}.md", classes=classes)
    return made


def overview(name: str, title: str, heads: Sequence[str]) -> str:
    """Return the page that counts the model types whose first head is one of ``heads``."""
    filed, read = _filed(heads), _read(heads)
    built_in = {kind: name for name in architectures.names() for kind in architectures.model_types(name)}
    links = _links(name, read)
    counted = {
        "types": filed.keys(),
        "built": {kind for kind, each in filed.items() if each.builds},
        "formulas": read.keys(),
        "symbolic": {kind for kind, kept in read.items() if not kept.config.constants},
        **sorted_types(filed, read, built_in),
    }
    columns = {head: {kind for kind, each in filed.items() if each.head == head} for head in heads}
    if len(heads) > 1:
        columns["all"] = set(filed)
    versions = [libraries(kept.config.versions) for kept in read.values()]
    files: dict[str, list[str]] = {}
    for kind, (file, _) in links.items():
        files.setdefault(file, []).append(kind)
    return page(
        "census.md",
        title=title,
        versions=list(dict.fromkeys(versions)),
        heads=list(columns),
        counts={what: [len(kinds & column) for column in columns.values()] for what, kinds in counted.items()},
        fixed=[(kind, *links[kind], kept.config.constants) for kind, kept in read.items() if kept.config.constants],
        built_in=[(kind, built_in[kind]) for kind in filed if kind in built_in],
        missing=[(kind, each) for kind, each in filed.items() if kind not in read and kind not in built_in],
        files=files,
    )


def _filed(heads: Sequence[str]) -> dict[str, CensusEntry]:
    """Return the model types whose first head is one of ``heads``."""
    return {kind: each for kind, each in census_types().items() if each.head in heads}


def _read(heads: Sequence[str]) -> dict[str, CatalogueEntry]:
    """Return the entries of these types in the catalogue."""
    return {kind: kept for kind, each in _filed(heads).items() if (kept := find_entry(each.name, kind))}


def _links(name: str, read: Mapping[str, CatalogueEntry]) -> dict[str, tuple[str, str]]:
    """Return the file and the heading of the formulas of each type."""
    return {
        kind: (f"{name}-{place // MOST + 1}.md", f"{kind}, {kept.config.name}")
        for place, (kind, kept) in enumerate(read.items())
    }


def sorted_types(
    filed: Collection[str], read: Mapping[str, CatalogueEntry], built_in: Collection[str]
) -> Mapping[str, set[str]]:
    """Return the types by how they are answered; each type is in one set."""
    own = {*filed} & {*built_in}
    recognized = {kind for kind, kept in read.items() if kind not in own and _is_recognized(kept)}
    unrun = {kind for kind, kept in read.items() if OPERATIONS not in kept.records} - own
    return {
        "built_in": own,
        "recognized": recognized,
        "counted": {*read} - own - recognized - unrun,
        "unrun": unrun,
        "refused": {*filed} - own - {*read},
    }


def _is_recognized(kept: CatalogueEntry) -> bool:
    """Return True if every operation in a run of a class is recognized."""
    known = record(kept, (), OPERATIONS)
    return known is not None and not any(entry.kind in UNRECOGNIZED for _, entry in known.operations.rows)


def _class(title: str, kept: CatalogueEntry) -> CensusClass:
    found = catalogue_class(kept)
    refusals: dict[str, list[str]] = {}
    for quantity, why in found.refusals.items():
        refusals.setdefault(why, []).append(quantity)
    letters = {name: field for name, field in found.fields.items() if name != field}
    counted = {size: formula.relations[size] for formula in found.formulas.values() for size in formula.totals}
    totals = {str(size): text(counted[size]) for size in sorted(counted, key=print_order)}
    return CensusClass(title, found, letters, totals, list(fixed_sizes(found)), kept.config.run_refusal, refusals)
