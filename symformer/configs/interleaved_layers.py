"""The layers of Llama 4: which attend within chunks, and which have experts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import Numbers, format_value
from ..language.symbols import L_dense, L_global, L_loc_x, L_local
from .common_fields import Config
from .config_fields import whole_number
from .layers import INTERVAL, ROTATED, Layers

CHUNKED, FULL = "chunked_attention", "full_attention"
LISTED, STEP = "moe_layers", "interleave_moe_layer_step"
Kind = tuple[bool, bool]  # whether a layer attends within chunks, and whether it has experts
EVERYWHERE: Mapping[Kind, Symbol] = {(True, True): L_local, (False, True): L_global}
INTERLEAVED: Mapping[Kind, Symbol] = {(True, False): L_dense, (True, True): L_loc_x, (False, True): L_global}


@dataclass(frozen=True)
class InterleavedLayers(Layers):
    """Two lists, or the intervals that replace them: layers with rotary positions, and layers with experts.

    A layer with rotary positions attends within chunks; a layer without them attends to all earlier tokens.
    """

    def read(self, config: Config) -> Numbers:
        """Return the number of layers of each kind. Raises ConfigError."""
        kinds = self._kinds(config)
        known = EVERYWHERE if all(moe for _, moe in kinds) else INTERLEAVED
        if kinds.keys() != known.keys():
            raise UnreadError(
                f"{LISTED!r} and {ROTATED!r} in the config combine attention and experts in an unsupported way; "
                "only chunked layers may be dense, but not all of them, and both chunked and full attention must occur"
            )
        return {size: kinds[kind] for kind, size in known.items()}

    def all_sparse(self, config: Config) -> bool:
        """Return whether every layer has experts. Raises ConfigError."""
        return all(moe for _, moe in self._kinds(config))

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, ROTATED, INTERVAL, LISTED, STEP)

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return both lists, one kind after another."""
        known = INTERLEAVED if L_loc_x in numbers else EVERYWHERE
        each = [kind for kind, size in known.items() for _ in range(numbers[size])]
        return {
            self.depth.names[0]: len(each),
            self.name: [CHUNKED if chunked else FULL for chunked, _ in each],
            ROTATED: [int(chunked) for chunked, _ in each],
            LISTED: [layer for layer, (_, moe) in enumerate(each) if moe],
        }

    def order_in(self, config: Config) -> tuple[Symbol, ...]:
        """Return the size that counts each layer, in order; () if the kinds are not supported."""
        kinds = self._placed(config)
        known = EVERYWHERE if all(moe for _, moe in kinds) else INTERLEAVED
        return tuple(known[kind] for kind in kinds) if known.keys() >= {*kinds} else ()

    def _kinds(self, config: Config) -> Counter[Kind]:
        return Counter(self._placed(config))

    def _placed(self, config: Config) -> list[Kind]:
        """Return the kind of each layer. Raises ConfigError."""
        depth = self.listable(config)
        chunked, moe = self._chunked(config, depth), self._with_experts(config, depth)
        return [(chunked[layer], layer in moe) for layer in range(depth)]

    def _chunked(self, config: Config, depth: int) -> list[bool]:
        """Return for each layer whether it attends within chunks."""
        rotated = config.get(ROTATED)
        interval = whole_number(INTERVAL, config.get(INTERVAL, 4))
        found = [(layer + 1) % interval != 0 for layer in range(depth)]
        if rotated:  # an empty list counts as missing
            if not isinstance(rotated, list) or len(rotated) != depth or any(each not in (0, 1) for each in rotated):
                raise UnreadError(
                    f"{ROTATED!r} is {format_value(rotated)} in the config; it should be a list of {depth} numbers, "
                    "each 0 or 1"
                )
            found = [bool(each) for each in rotated]
        listed = config.get(self.name)
        if listed is not None and listed != [CHUNKED if each else FULL for each in found]:
            raise UnreadError(
                f"{self.name!r} is {format_value(listed)} in the config; it should be {CHUNKED!r} for each layer "
                f"with rotary positions, and {FULL!r} for each other layer"
            )
        return found

    def _with_experts(self, config: Config, depth: int) -> set[int]:
        """Return the layers with experts."""
        step = whole_number(STEP, config.get(STEP, 1))
        listed = config.get(LISTED)
        if listed is None:
            return set(range(step - 1, depth, step))
        if not isinstance(listed, list):
            raise ConfigError(
                f"{LISTED!r} is {format_value(listed)} in the config; it should be a list of layer numbers"
            )
        return {number for each in listed if (number := _layer(each)) < depth}


def _layer(value: object) -> int:
    """Return the number of a layer, from 0. Raises ConfigError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"{LISTED!r} contains {format_value(value)} in the config; layers are numbered from 0")
    return value


@dataclass(frozen=True)
class Interleaving:
    """The option that some layers are dense, read from the fields that describe the layers."""

    layers: InterleavedLayers
    name: str = STEP
    default: int = 1

    def read(self, config: Config) -> bool:
        """Return whether some layers have no experts. Raises ConfigError."""
        return not self.layers.all_sparse(config)

    def write(self, option: Any) -> int:
        """Return the usual interval of layers with experts."""
        return 2 if option else 1
