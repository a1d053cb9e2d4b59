"""The index of the atlas: a table of all models that works without scripts, and its data for search and filters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from ..documents.formats.base_language import templates
from .atlas_entry import AtlasEntry
from .mechanisms import MEANINGS
from .site_file import SiteFile, SiteOptions
from .site_page import Metadata, site_page

DESCRIPTION = (
    "An atlas of transformers: parameters, FLOPs, KV cache and memory in closed form, each formula derived step by "
    "step and checked against the model's PyTorch code."
)


def index_files(entries: Sequence[AtlasEntry], options: SiteOptions) -> Iterator[SiteFile]:
    """Yield the index of these models, its script and its data."""
    families = Counter((entry.family_title, entry.family) for entry in entries)
    present = {name for entry in entries for name in entry.mechanisms}
    yield site_page(
        "index.html.jinja",
        "index.html",
        "atlas",
        options=options,
        current=True,
        policy={"connect-src": ("'self'",)},
        metadata=Metadata("symformer: an atlas of transformers", DESCRIPTION, _site(options)),
        entries=_ordered(entries),
        families=sorted(families, key=lambda each: each[0].lower()),
        mechanisms=[(name, meaning) for name, meaning in MEANINGS.items() if name in present],
        counts=Counter(entry.kind for entry in entries),
    )
    data = [entry.to_json() for entry in entries]
    yield SiteFile("models.json", json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
    yield SiteFile("assets/index.js", (templates() / "site" / "index.js").read_bytes())


def _ordered(entries: Sequence[AtlasEntry]) -> list[AtlasEntry]:
    """Return the architectures, each followed by its presets from the smallest, and then the catalogue."""
    titles = {entry.family: entry.family_title.lower() for entry in entries}
    kinds = ("architecture", "preset", "class")
    return sorted(
        entries,
        key=lambda entry: (
            entry.kind == "class",
            titles[entry.family],
            kinds.index(entry.kind),
            entry.params or 0 if entry.kind == "preset" else 0,
            entry.name.lower(),
        ),
    )


def _site(options: SiteOptions) -> dict[str, str]:
    found = {"@context": "https://schema.org", "@type": "WebSite", "name": "symformer", "description": DESCRIPTION}
    return found | ({"url": options.base_url} if options.base_url else {})
