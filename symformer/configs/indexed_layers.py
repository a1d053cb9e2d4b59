"""Layers of two kinds, where the config lists the places of the layers of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import format_value
from .common_fields import Config
from .config_fields import Field
from .layers import Layers

DEPTH = Field(("num_hidden_layers",), 32)  # the default of LFM2 and Bamba


@dataclass(frozen=True)
class IndexedLayers(Layers):
    """A list of places, from 0: layers in it are of the last kind, all others of the first, as in Bamba.

    >>> from symformer.language.symbols import L_attn, L_ssm
    >>> layers = IndexedLayers({"linear_attention": L_ssm, "full_attention": L_attn}, name="attn_layer_indices")
    >>> layers.read({"num_hidden_layers": 5, "attn_layer_indices": [3]})
    {L_ssm: 4, L_attn: 1}
    """

    pattern: tuple[str, ...] = ()
    depth: Field = DEPTH
    places: str = ""  # the field with the places, if `name` is a list of the kinds of all layers

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(filter(None, (*super().names, self.places)))

    def place_of(self, kind: str) -> tuple[str, str, str]:
        if self.places:  # the list of all kinds is used
            return super().place_of(kind)
        return self.name, "", "its length" if kind == [*self.sizes][-1] else "the layers that it does not list"

    def listed(self, config: Config) -> Any:
        """Return the kind of every layer. Raises ConfigError."""
        name = self.places or self.name
        given, places = config.get(self.name) if self.places else None, config.get(name)
        if places is None and given is not None:
            return given
        if not isinstance(places, list) or not all(type(place) is int and place >= 0 for place in places):
            refused = UnreadError if places is None else ConfigError
            raise refused(
                f"{name!r} is {format_value(places)} in the config, or missing; it should list the layers of the kind "
                f"{list(self.sizes)[-1]!r}, numbered from 0"
            )
        first, last = self.sizes
        found = [last if layer in places else first for layer in range(self.listable(config))]
        if given is not None and given != found:
            raise ConfigError(f"{name!r} contradicts {self.name!r} in the config; remove one of the two")
        return found

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the list, one kind after another."""
        if self.places:
            return super().write(numbers)
        first, last = (numbers[size] for size in self.sizes.values())
        return {self.name: list(range(first, first + last)), self.depth.names[0]: first + last}
