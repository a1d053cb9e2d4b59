"""The layers of Kimi Linear: the first ones are dense, and all others have experts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import format_value
from .common_fields import LAYER_TYPES, Config
from .config_fields import Field, whole_number
from .layers import Layers

DEPTH = Field(("num_hidden_layers",), 27)
LINEAR, FULL = "linear_attention", "full_attention"
SECTION = "linear_attn_config"  # an object in checkpoints, whose fields the class reads as fields of the config
FLAT = {
    "head_dim": "linear_head_dim",
    "num_heads": "linear_num_heads",
    "short_conv_kernel_size": "linear_conv_kernel_dim",
}
PLACES = ("kda_layers", "full_attn_layers")  # in the same object: the layers of each kind, numbered from 1
NETWORKS, FIRST = "mlp_layer_types", "first_k_dense_replace"
DENSE, SPARSE = "dense", "sparse"


@dataclass(frozen=True)
class KimiLayers(Layers):
    """A list of linear and full attention, and a list of the networks, or the number of dense ones, which come first
    and must have linear attention. Checkpoints list the places of each kind of attention instead. Without either, the
    layers 5, 9, 13 and so on have full attention.

    >>> from symformer.language.symbols import L_attn, L_dense, L_lin_x
    >>> layers = KimiLayers({"dense": L_dense, LINEAR: L_lin_x, FULL: L_attn})
    >>> places = {"kda_layers": [1, 2, 3, 5], "full_attn_layers": [4, 6]}
    >>> layers.read(layers.unfolded({"num_hidden_layers": 6, "linear_attn_config": places}))
    {L_dense: 1, L_lin_x: 3, L_attn: 2}
    """

    pattern: tuple[str, ...] = ()
    depth: Field = DEPTH

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, NETWORKS, FIRST)

    def place_of(self, kind: str) -> tuple[str, str, str]:
        if kind == DENSE:
            return NETWORKS, DENSE, ""
        return (self.name, "", f"{LINEAR}, without the dense layers") if kind == LINEAR else super().place_of(kind)

    def unfolded(self, config: Config) -> Config:
        """Return a config with the fields of its object for linear attention, and with a list of all layers."""
        if SECTION not in config:
            return config
        inside = config[SECTION]
        if not isinstance(inside, dict):
            raise ConfigError(f"{SECTION!r} is {format_value(inside)} in the config; it should be an object")
        found = {name: value for name, value in config.items() if name != SECTION}
        for name, value in inside.items():
            flat = FLAT.get(name)
            if flat is None and name not in PLACES:
                raise UnreadError(
                    f"{SECTION!r} has {name!r} = {format_value(value)} in the config, which is not supported"
                )
            if flat is not None and found.setdefault(flat, value) != value:
                raise ConfigError(
                    f"{flat!r} is {format_value(found[flat])} in the config, but {name!r} in {SECTION!r} is "
                    f"{format_value(value)}; keep one"
                )
        # Like the class, use the pattern if only one of the two lists is stated.
        if config.get(LAYER_TYPES) is None and all(name in inside for name in PLACES):
            found[LAYER_TYPES] = self._placed(inside, self.listable(config))
        return found

    def _placed(self, inside: Config, depth: int) -> list[str]:
        """Return the kind of every layer, given the places of each kind. Raises ConfigError."""
        linear, full = (each if isinstance(each := inside.get(name), list) else [] for name in PLACES)
        places = [*linear, *full]
        if any(type(place) is not int for place in places) or sorted(places) != list(range(1, depth + 1)):
            raise ConfigError(
                f"{' and '.join(map(repr, PLACES))} in {SECTION!r} in the config should list each layer once, from 1 "
                f"to {depth}"
            )
        return [LINEAR if layer in linear else FULL for layer in range(1, depth + 1)]

    def listed(self, config: Config) -> Any:
        """Return the kind of every layer. Raises ConfigError."""
        depth = self.listable(config)
        kinds, dense = super().listed(config), self._dense(config, depth)
        if kinds is None:
            kinds = [FULL if layer and layer % 4 == 0 else LINEAR for layer in range(depth)]
        if not isinstance(kinds, list) or len(kinds) != depth or any(each not in (LINEAR, FULL) for each in kinds):
            raise UnreadError(
                f"{self.name!r} is {format_value(kinds)} in the config; it should be a list of {depth} kinds, each "
                f"{LINEAR!r} or {FULL!r}"
            )
        if FULL in kinds[:dense]:
            raise UnreadError(
                f"one of the first {dense} layers, which are dense in the config, has full attention; only dense "
                "layers with linear attention are supported"
            )
        return [DENSE] * dense + kinds[dense:]

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
