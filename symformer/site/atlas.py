"""The atlas: a page for every model, the index, the comparison and the reference pages."""

from __future__ import annotations

from collections.abc import Iterator

from .atlas_entry import AtlasEntry
from .atlas_index import index_files
from .atlas_target import chosen_targets
from .compare_page import comparison_files
from .page_pool import all_model_files
from .site_file import SiteFile, SiteOptions


def atlas(options: SiteOptions) -> Iterator[SiteFile]:
    """Yield the files of the atlas. Raises UnknownNameError for an unknown target."""
    targets = chosen_targets(options.targets)
    entries: list[AtlasEntry] = []
    for made in all_model_files(targets, options):
        entries.append(made.entry)
        yield from made.files
    yield from index_files(entries, options)
    yield from comparison_files(options)
