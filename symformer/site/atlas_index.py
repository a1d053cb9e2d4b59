"""The index of the atlas: the architectures, lists of all models by letter and by mechanism, and data for a search.

The index is an overview that works without scripts. A script replaces its table by the answers of a search in the data.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..documents.formats.base_language import templates
from .atlas_entry import AtlasEntry
from .mechanisms import MEANINGS, mechanism_slug
from .site_file import SiteFile, SiteOptions
from .site_page import Metadata, site_page

DESCRIPTION = (
    "An atlas of transformers: parameters, FLOPs, KV cache and memory in closed form, each formula derived step by "
    "step and checked against the model's PyTorch code."
)
KINDS = ("architecture", "preset", "class")
NOT_STATED = "not stated"
OTHER = "other"  # the list of the models whose names do not start with a letter
# The facts of a row of the data, in order: names, the indices of its kind and family, its sizes, and of its mechanisms.
ROW = ("name", "title", "kind", "family", "hub", "params", "active", "layers", "width", "year", "size", "mechanisms")


def index_files(entries: Sequence[AtlasEntry], options: SiteOptions) -> Iterator[SiteFile]:
    """Yield the index of these models, its script and its data, and the lists by letter and by mechanism."""
    ordered = _ordered(entries)
    families = dict(
        sorted({each.family: each.family_title for each in entries}.items(), key=lambda each: each[1].lower())
    )
    lists = _by_letter(entries)
    shared = {
        "letters": [*lists],
        "presets": Counter(each.family for each in entries if each.kind == "preset"),
        "not_stated": NOT_STATED,
    }
    found = {name: [each for each in ordered if name in each.mechanisms] for name in MEANINGS}
    found = {name: models for name, models in found.items() if models}
    yield site_page(
        "index.html.jinja",
        "index.html",
        "atlas",
        options=options,
        current=True,
        policy={"connect-src": ("'self'",)},
        metadata=Metadata("symformer: an atlas of transformers", DESCRIPTION, _site(options)),
        entries=_overview(ordered),
        total=len(entries),
        families=[(words, name) for name, words in families.items()],
        mechanisms=[(name, MEANINGS[name]) for name in found],
        counts=Counter(entry.kind for entry in entries),
        **shared,
    )
    for letter, models in lists.items():
        yield _list(letter, models, options, shared)
    yield from _mechanism_pages(found, entries, options)
    yield SiteFile("models.json", _compact(index_data(ordered, [*families])))
    yield SiteFile("assets/index.js", (templates() / "site" / "index.js").read_bytes())


def index_data(entries: Sequence[AtlasEntry], families: Sequence[str]) -> dict[str, Any]:
    """Return the facts of the index for scripts, with a row for each model and names that repeat by their index."""
    mechanisms = [name for name in MEANINGS if any(name in each.mechanisms for each in entries)]
    places = {name: place for place, name in enumerate(mechanisms)}
    rows = []
    for each in entries:
        facts: dict[str, Any] = dict.fromkeys(ROW) | each.to_json()
        facts["kind"], facts["family"] = KINDS.index(each.kind), families.index(each.family)
        facts["mechanisms"] = [places[name] for name in each.mechanisms]
        rows.append([facts[name] for name in ROW])
    return {"row": ROW, "kinds": KINDS, "families": families, "mechanisms": mechanisms, "models": rows}


def _overview(ordered: Sequence[AtlasEntry]) -> list[AtlasEntry]:
    """Return the rows of the index: the architectures, or all models of a site without any."""
    return [each for each in ordered if each.kind == "architecture"] or [*ordered]


def _by_letter(entries: Sequence[AtlasEntry]) -> dict[str, list[AtlasEntry]]:
    """Return the models by the first letter of their titles, in the order of the alphabet."""
    found: dict[str, list[AtlasEntry]] = {}
    for entry in sorted(entries, key=lambda each: (each.title.lower(), each.name)):
        first = entry.title[0].lower()
        found.setdefault(first if re.fullmatch("[a-z]", first) else OTHER, []).append(entry)
    return dict(sorted(found.items(), key=lambda each: (each[0] == OTHER, each[0])))


def _list(letter: str, models: Sequence[AtlasEntry], options: SiteOptions, shared: Mapping[str, Any]) -> SiteFile:
    """Return the page with the models whose titles start with a letter."""
    heading = "Other models" if letter == OTHER else f"Models with {letter.upper()}"
    about = f"{len(models)} models of the atlas, with their parameters, sizes and mechanisms."
    return site_page(
        "list.html.jinja",
        f"list/{letter}.html",
        "atlas",
        options=options,
        metadata=Metadata(f"{heading} · symformer", about),
        heading=heading,
        letter=letter,
        entries=models,
        **shared,
    )


def _mechanism_pages(
    found: Mapping[str, Sequence[AtlasEntry]], entries: Sequence[AtlasEntry], options: SiteOptions
) -> Iterator[SiteFile]:
    """Yield a page with the models of each mechanism, and the list of the mechanisms."""
    if not found:
        return
    about = "The mechanisms of the models of the atlas, with the models that have each."
    yield site_page(
        "mechanisms.html.jinja",
        "mechanisms/index.html",
        "atlas",
        options=options,
        metadata=Metadata("Mechanisms · symformer", about),
        mechanisms=[
            {
                "name": name,
                "slug": mechanism_slug(name),
                "meaning": MEANINGS[name],
                "counts": Counter(each.kind for each in models),
            }
            for name, models in found.items()
        ],
    )
    classes = sum(each.kind == "class" for each in entries)
    for name, models in found.items():
        own = [each for each in models if each.kind == "class"]
        yield site_page(
            "mechanism.html.jinja",
            f"mechanisms/{mechanism_slug(name)}.html",
            "atlas",
            options=options,
            metadata=Metadata(f"{name[0].upper()}{name[1:]} · symformer", f"Models with {name}: {MEANINGS[name]}."),
            name=name,
            meaning=MEANINGS[name],
            families=_families(models),
            classes=own,
            unknown=classes - len(own),
        )


def _families(models: Sequence[AtlasEntry]) -> list[tuple[str, str, list[AtlasEntry]]]:
    """Return the title, the path or "", and the presets of each architecture among these models."""
    found: dict[str, tuple[str, str, list[AtlasEntry]]] = {}
    for each in models:
        if each.kind != "class":
            title, path, presets = found.get(each.family, (each.family_title, "", []))
            if each.kind == "preset":
                found[each.family] = title, path, [*presets, each]
            else:
                found[each.family] = title, each.path, presets
    return [*found.values()]


def _ordered(entries: Sequence[AtlasEntry]) -> list[AtlasEntry]:
    """Return the architectures, each followed by its presets from the smallest, and then the catalogue."""
    titles = {entry.family: entry.family_title.lower() for entry in entries}
    return sorted(
        entries,
        key=lambda entry: (
            entry.kind == "class",
            titles[entry.family],
            KINDS.index(entry.kind),
            entry.params or 0 if entry.kind == "preset" else 0,
            entry.name.lower(),
        ),
    )


def _site(options: SiteOptions) -> dict[str, str]:
    found = {"@context": "https://schema.org", "@type": "WebSite", "name": "symformer", "description": DESCRIPTION}
    return found | ({"url": options.base_url} if options.base_url else {})


def _compact(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
