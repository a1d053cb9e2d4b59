"""The layers of Zamba2: state-space mixers, some after one of several shared transformer blocks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import UnreadError
from ..language.sizes import Numbers, format_value
from ..language.symbols import L_hyb, L_ssm, N_group
from .common_fields import LAYER_TYPES, Config
from .layers import FORMER, Layers

MIXER, SHARED = "linear_attention", "hybrid"
# The list of the class: its layers with a shared block, of 54.
USUAL = tuple(SHARED if place in (6, 12, 18, 24, 30, 36, 42, 47, 51) else MIXER for place in range(54))
KINDS: Mapping[str, Symbol] = {SHARED: L_hyb, MIXER: L_ssm}
PLACES = "hybrid_layer_ids"


@dataclass(frozen=True)
class SharedLayers(Layers):
    """A list of layers, each with a state-space mixer only or also with a shared transformer block.

    >>> from symformer.configs.config_fields import Field
    >>> layers = SharedLayers(KINDS, USUAL, Field(("num_hidden_layers",), 54), "layers_block_type")
    >>> layers.read({}), layers.read({"num_hidden_layers": 3, "layers_block_type": ["mamba", "mamba", "hybrid"]})
    ({L_hyb: 9, L_ssm: 45}, {L_hyb: 1, L_ssm: 2})
    """

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, LAYER_TYPES, PLACES)

    def listed(self, config: Config) -> Any:
        """Return the kind of every layer. Raises UnreadError if two fields contradict each other."""
        if LAYER_TYPES in config and config[LAYER_TYPES] is None:
            raise UnreadError(f"{LAYER_TYPES!r} is null in the config; remove the field")
        lists = [config[name] for name in (self.name, LAYER_TYPES) if config.get(name) is not None]
        if lists != lists[:1] * len(lists):
            raise UnreadError(f"{self.name!r} and {LAYER_TYPES!r} in the config differ; keep one of them")
        listed = lists[0] if lists else list(USUAL)
        if not isinstance(listed, list):
            return listed
        found = [FORMER.get(kind, kind) if isinstance(kind, str) else kind for kind in listed]
        places = [place for place, kind in enumerate(found) if kind == SHARED]
        if PLACES in config and config[PLACES] != places:
            raise UnreadError(
                f"{PLACES!r} is {format_value(config[PLACES])} in the config, but the layers of the kind {SHARED!r} "
                f"are {format_value(places)}; remove the field"
            )
        return found

    def tested(self, sizes: Collection[Symbol]) -> tuple[Numbers, ...]:
        """Return numbers of layers and blocks for which no block is unused, enough to determine an affine formula."""
        rows = ((2, 4, 3), (5, 4, 3), (2, 5, 3), (2, 5, 4))
        return tuple(dict(zip((L_ssm, L_hyb, N_group), row, strict=True)) for row in rows)
