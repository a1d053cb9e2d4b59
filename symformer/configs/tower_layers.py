"""Layers of several kinds in both towers of an encoder-decoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sympy import Symbol

from ..language.sizes import Numbers
from ..language.symbols import L_dec, L_enc
from .common_fields import LAYER_TYPES, Config
from .config_fields import Field
from .layers import Layers

ENCODER, DECODER = "encoder", "decoder"  # the sections of the config


def layers_of(tower: str, local: Symbol, whole: Symbol, depth: int) -> Layers:
    """Return the layers of one tower: in turn with and without a window."""
    kinds = {"sliding_attention": local, "full_attention": whole}
    return Layers(kinds, (*kinds,), Field((f"{tower}.num_hidden_layers",), depth), f"{tower}.{LAYER_TYPES}")


@dataclass(frozen=True)
class TowerLayers(Layers):
    """The layers of a decoder and of an encoder, each with its own list.

    >>> from symformer.language.symbols import L_glo_enc, L_global, L_loc_enc, L_local
    >>> towers = ("encoder", L_loc_enc, L_glo_enc, 7), ("decoder", L_local, L_global, 5)
    >>> encoder, decoder = (layers_of(*each) for each in towers)
    >>> TowerLayers(decoder.sizes, decoder.pattern, decoder.depth, decoder.name, encoder=encoder).read({})
    {L_loc_enc: 4, L_glo_enc: 3, L_local: 3, L_global: 2}
    """

    encoder: Layers = field(kw_only=True)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.encoder.names, *super().names)

    @property
    def places_of_kinds(self) -> Mapping[Symbol, tuple[str, str, str]]:
        return {**self.encoder.places_of_kinds, **super().places_of_kinds}

    @property
    def depths(self) -> Mapping[Symbol, str]:
        return {L_enc: self.encoder.depth.names[0], L_dec: self.depth.names[0]}

    def read(self, config: Config) -> Numbers:
        """Return the number of layers of each kind in both towers. Raises ConfigError."""
        return {**self.encoder.read(config), **super().read(config)}

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the lists of both towers, one kind after another."""
        return {**self.encoder.write(numbers), **super().write(numbers)}
