"""A row of the index: the facts by which a model is found, sorted and filtered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import architectures
from ..algebra.relatives import published
from ..catalogue.entries import find_entry
from ..language.errors import SymformerError
from ..language.symbols import E, L
from ..models.model import Model
from ..papers import cited_papers, papers
from .atlas_target import AtlasTarget, Kind, architecture_of
from .mechanisms import mechanisms

NO_YEAR = 9999  # of an architecture without a paper
CATALOGUE = "catalogue"  # the family of the classes without a built-in architecture


@dataclass(frozen=True)
class AtlasEntry:
    """The facts of a model that the index shows.

    Attributes
    ----------
    name, title, path, kind
        The name, the display name, the path of its page, and whether it is an architecture, a preset or a class.
    family
        The name of its architecture, or "catalogue".
    hub
        Its id on the Hub, or "".
    year
        The year of the first paper of its architecture, or None.
    params, active
        Its parameters, and those that one token uses; None if a size has no value.
    layers, width
        The number of layers and the hidden size, or None.
    mechanisms
        The names of its mechanisms; of a class, only those that the catalogue proves.

    """

    name: str
    title: str
    path: str
    kind: Kind
    family: str
    family_title: str
    hub: str
    year: int | None
    params: int | None
    active: int | None
    layers: int | None
    width: int | None
    mechanisms: tuple[str, ...]

    @property
    def size(self) -> str:
        """The number of parameters in short, such as "8B" or "124M"; "" if it is not known.

        >>> short_count(8_030_261_248), short_count(124_439_808), short_count(671_026_419_200)
        ('8B', '124M', '671B')
        """
        return short_count(self.params) if self.params is not None else ""

    def to_json(self) -> dict[str, Any]:
        """Return the facts for scripts, without those that are not known."""
        facts: dict[str, Any] = {
            "name": self.name,
            "title": self.title if self.title != self.name else "",
            "path": self.path,
            "kind": self.kind,
            "family": self.family,
            "hub": self.hub,
            "year": self.year,
            "params": self.params,
            "active": self.active if self.active != self.params else None,
            "layers": self.layers,
            "width": self.width,
            "size": self.size,
            "mechanisms": list(self.mechanisms),
        }
        return {name: fact for name, fact in facts.items() if fact not in (None, "", [])}


def short_count(count: int) -> str:
    """Return a count with the precision with which sizes of models are spoken of.

    >>> short_count(6_738_415_616), short_count(1_557_611_200), short_count(4_500), short_count(25_557_032)
    ('6.7B', '1.6B', '4.5K', '25.6M')
    """
    for power, unit in ((12, "T"), (9, "B"), (6, "M"), (3, "K")):
        if count >= 10**power:
            scaled = count / 10**power
            shown = f"{scaled:.0f}" if scaled >= 100 else f"{scaled:.1f}".removesuffix(".0")
            return f"{shown}{unit}"
    return str(count)


def entry_of(target: AtlasTarget, model: Model) -> AtlasEntry:
    """Return the row of a model, which has the sizes of an example."""
    built_in = architecture_of(model)
    facts: Mapping[str, Any] = architectures.presets().get(target.name, {})
    year = published(model.id)[0] if built_in else NO_YEAR
    family, title = (model.id, built_in.title) if built_in else (CATALOGUE, "Catalogue")
    sizes = {str(size): number for size, number in model.known.items()}
    return AtlasEntry(
        name=target.name,
        title=page_title(target, model),
        path=target.path,
        kind=target.kind,
        family=family,
        family_title=title,
        hub=facts.get("hub", ""),
        year=None if year == NO_YEAR else year,
        params=_value(model, "params"),
        active=_value(model, "active-params"),
        layers=sizes.get(str(L)) or (sum(n for name, n in sizes.items() if name in ("L_enc", "L_dec")) or None),
        width=sizes.get(str(E)),
        mechanisms=mechanisms(model, find_entry(*target.config) if target.config else None),
    )


def page_title(target: AtlasTarget, model: Model) -> str:
    """Return the heading of the page of a model: a title, the name of a preset, or the name of a class."""
    if target.kind == "class":
        return target.config[0] if target.config else model.title
    return model.title if target.kind == "architecture" else target.name


def papers_of_architecture(model: Model) -> tuple[str, ...]:
    """Return the keys of the papers that the architecture of a model cites; () for a class of the catalogue."""
    built_in = architecture_of(model)
    return tuple(key for key in cited_papers([built_in.__doc__ or ""]) if key in papers()) if built_in else ()


def _value(model: Model, quantity: str) -> int | None:
    try:
        return int(model.formula(quantity).value())
    except SymformerError:
        return None
