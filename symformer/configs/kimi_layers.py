"""The layers of Kimi Linear: the first ones are dense, and all others have experts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import format_value
from .common_fields import Config
from .config_fields import Field, whole_number
from .layers import Layers

DEPTH = Field(("num_hidden_layers",), 27)
LINEAR, FULL = "linear_attention", "full_attention"
SECTION = "linear_attn_config"
PLACES = {LINEAR: f"{SECTION}.kda_layers", FULL: f"{SECTION}.full_attn_layers"}  # numbered from 1
NETWORKS, FIRST = "mlp_layer_types", "first_k_dense_replace"
DENSE, SPARSE = "dense", "sparse"


@dataclass(frozen=True)
class KimiLayers(Layers):
    """A list of linear and full attention, or the places of each, and a list of the networks, or the number of dense
    ones, which come first and must have linear attention.

    >>> from symformer.language.symbols import L_attn, L_dense, L_lin_moe
    >>> layers = KimiLayers({"dense": L_dense, LINEAR: L_lin_moe, FULL: L_attn})
    >>> layers.read({"num_hidden_layers": 6, PLACES[LINEAR]: [1, 2, 3, 5], PLACES[FULL]: [4, 6]})
    {L_dense: 1, L_lin_moe: 3, L_attn: 2}
    """

    pattern: tuple[str, ...] = ()
    depth: Field = DEPTH

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, *PLACES.values(), NETWORKS, FIRST)

    def list_of(self, kind: str) -> str:
        """Return the field that lists the layers of a kind."""
        return NETWORKS if kind == DENSE else self.name

    def listed(self, config: Config) -> Any:
        """Return the kind of every layer. Raises ConfigError."""
        depth = self.listable(config)
        kinds, dense = self._attention(config, depth), self._dense(config, depth)
        if not isinstance(kinds, list) or len(kinds) != depth:
            return kinds
        if FULL in kinds[:dense]:
            raise UnreadError(
                f"one of the first {dense} layers, which are dense in the config, has full attention; only dense "
                "layers with linear attention are supported"
            )
        return [DENSE] * dense + kinds[dense:]

    def _attention(self, config: Config, depth: int) -> Any:
        if (listed := super().listed(config)) is not None:
            return listed
        given = [config.get(name) for name in PLACES.values()]
        if given == [None, None]:
            return [FULL if layer and layer % 4 == 0 else LINEAR for layer in range(depth)]
        linear, full = ((each if isinstance(each, list) else []) for each in given)
        places = [*linear, *full]
        if any(type(place) is not int for place in places) or sorted(places) != list(range(1, depth + 1)):
            raise ConfigError(
                f"{' and '.join(map(repr, PLACES.values()))} in the config should list each layer once, from 1 to "
                f"{depth}"
            )
        return [LINEAR if layer in linear else FULL for layer in range(1, depth + 1)]

    def _dense(self, config: Config, depth: int) -> int:
        """Return the number of dense layers. Raises UnreadError if they are not the first ones."""
        listed = config.get(NETWORKS)
        if listed is None:
            return min(whole_number(FIRST, config.get(FIRST, 1)), depth)
        dense = listed.count(DENSE) if isinstance(listed, list) else 0
        if listed != [DENSE] * dense + [SPARSE] * (depth - dense):
            raise UnreadError(
                f"{NETWORKS!r} is {format_value(listed)} in the config; only {depth} layers with all {DENSE!r} layers "
                f"before all {SPARSE!r} layers are supported"
            )
        return dense

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the lists of attention and of networks, one kind after another."""
        dense, linear, full = (numbers[size] for size in self.sizes.values())
        listed = [LINEAR] * (dense + linear) + [FULL] * full
        networks = [DENSE] * dense + [SPARSE] * (linear + full)
        return {self.name: listed, self.depth.names[0]: len(listed), NETWORKS: networks}
