"""A class with field values other than its defaults, and with its layers counted by kind.

Some classes cannot be built from their own defaults, and some have a size that is null by default. If a config lists
the kind of every layer, the stored parameters follow from the number of layers of each kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from .classes import Source

COUNTED = "_layers"  # suffix of a kind: the number of its layers
KINDS = (  # names of layer kinds in configs
    *("attention", "full_attention", "sliding_attention", "linear_attention"),
    *("mamba", "recurrent", "conv", "hybrid", "moe", "mlp", "dense", "sparse"),
)
SIGNS = tuple("*-MEADLGSRCmeadlgsrc")  # and their symbols in a pattern


@dataclass(frozen=True)
class Variant(Source):
    """A class whose configs have other defaults, and the number of layers of each kind as separate sizes."""

    given: Mapping[str, Any] = field(default_factory=dict, hash=False)
    listed: str = ""  # the field that lists the kind of every layer
    kinds: tuple[str, ...] = ()

    def config(self, fields: Mapping[str, Any]) -> Any:
        """Return the config with these fields and the given ones."""
        said = {**self.given, **fields}
        if not self.listed:
            return super().config(said)
        counts = {kind: said.pop(kind + COUNTED, 1) for kind in self.kinds}
        if self.listed not in fields:
            said[self.listed] = _spread(counts)
        said.pop("num_hidden_layers", None)  # as many as are listed
        made = super().config(said)
        for kind in self.kinds:
            vars(made)[kind + COUNTED] = getattr(made, self.listed).count(kind)
        return made


def variant(source: Source, given: Mapping[str, Any], listed: str = "") -> Source:
    """Return a class with some fields given, counting the layer kinds that a field lists by default."""
    own = {each.name: getattr(source, each.name) for each in fields(Source)}
    kinds: tuple[str, ...] = ()
    if listed:
        kinds = tuple(dict.fromkeys(getattr(source.config(given), listed)))
    return Variant(**own, given=given, listed=listed, kinds=kinds)


def spellings(source: Source) -> dict[str, dict[str, str]]:
    """Return the fields that list layer kinds, each with a map from its name of a kind to the size that counts it."""
    if not isinstance(source, Variant) or not source.listed:
        return {}
    found: dict[str, dict[str, str]] = {}
    plain = Source(**{each.name: getattr(source, each.name) for each in fields(Source)})
    for name in (source.listed, "layer_types", "hybrid_override_pattern"):
        known = {word: _kind(plain, source, name, word) for word in _words(name, source.kinds)}
        kept = {word: kind + COUNTED for word, kind in known.items() if kind in source.kinds}
        if {*kept.values()} == {kind + COUNTED for kind in source.kinds}:
            found[name] = kept
    return found


def _words(name: str, kinds: Iterable[str]) -> Iterable[str]:
    return SIGNS if name.endswith("pattern") else dict.fromkeys((*kinds, *KINDS))


def _kind(plain: Source, source: Variant, name: str, word: str) -> str:
    """Return the kind of the single layer that a config lists, or "" if the class does not accept it."""
    with suppress(Exception):  # whatever somebody's config raises of it
        (kind,) = getattr(
            plain.config({**source.given, name: word if name.endswith("pattern") else [word]}), source.listed
        )
        return str(kind)
    return ""


def _spread(counts: Mapping[str, int]) -> list[str]:
    """Return a list with this many layers of each kind, in turn."""
    left = dict(counts)
    found = []
    while any(left.values()):
        for kind, number in left.items():
            if number:
                found.append(kind)
                left[kind] -= 1
    return found
