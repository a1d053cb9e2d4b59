"""The atlas: a page for every model, the index, the comparison and the reference pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from ..certificates import certificates_of
from .atlas_entry import AtlasEntry
from .atlas_index import index_files
from .atlas_target import AtlasTarget, chosen_targets
from .compare_page import comparison_files
from .page_pool import all_model_files
from .reference_section import check_converter, reference_files
from .site_file import SiteFile, SiteOptions


def atlas(options: SiteOptions) -> Iterator[SiteFile]:
    """Return the files of the atlas, each made when it is taken.

    Raises
    ------
    UnknownNameError
        At once, if a target is unknown.
    SiteError
        At once, if a package that the reference pages need is missing.

    """
    targets = chosen_targets(options.targets)
    check_converter()
    return _files(targets, options)


def _files(targets: Sequence[AtlasTarget], options: SiteOptions) -> Iterator[SiteFile]:
    entries: list[AtlasEntry] = []
    for made in all_model_files(targets, options):
        entries.append(made.entry)
        yield from made.files
    yield from _certificates(entries)
    yield from index_files(entries, options)
    yield from comparison_files(options)
    yield from reference_files(options)


def _certificates(entries: Iterable[AtlasEntry]) -> Iterator[SiteFile]:
    """Yield the certificates of the architectures of these models."""
    for family in dict.fromkeys(entry.family for entry in entries if entry.kind != "class"):
        found = [each.to_json() for each in certificates_of(family)]
        if found:
            yield SiteFile(f"certificates/{family}.json", json.dumps(found, indent=1, ensure_ascii=False).encode())
