"""The layers of LFM2-MoE: the first ones are dense convolution layers, and all others have experts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import UnreadError
from ..language.sizes import format_value
from .common_fields import Config
from .config_fields import Field, whole_number
from .layers import Layers

DEPTH = Field(("num_hidden_layers",), 32)
CONVOLUTION, ATTENTION = "conv", "full_attention"


@dataclass(frozen=True)
class DenseFirstLayers(Layers):
    """A list of convolution and attention layers, and the number of dense layers, which must be convolution layers.

    >>> from symformer.language.symbols import L_attn, L_conv_x, L_dense
    >>> layers = DenseFirstLayers({"dense": L_dense, "conv": L_conv_x, "full_attention": L_attn})
    >>> kinds = ["conv", "conv", "full_attention", "conv", "full_attention"]
    >>> layers.read({"num_hidden_layers": 5, "layer_types": kinds, "num_dense_layers": 1})
    {L_dense: 1, L_conv_x: 2, L_attn: 2}
    """

    pattern: tuple[str, ...] = ()
    depth: Field = DEPTH
    dense: str = "num_dense_layers"

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, self.dense)

    def place_of(self, kind: str) -> tuple[str, str, str]:
        if kind == "dense":
            return self.dense, "", ""
        without = (self.name, "", f"{CONVOLUTION}, without the dense layers")
        return without if kind == CONVOLUTION else super().place_of(kind)

    def listed(self, config: Config) -> Any:
        """Return the kind of every layer. Raises ConfigError."""
        listed, dense = super().listed(config), whole_number(self.dense, config.get(self.dense, 2))
        if not isinstance(listed, list) or any(kind not in (CONVOLUTION, ATTENTION) for kind in listed):
            raise UnreadError(
                f"{self.name!r} is {format_value(listed)} in the config, or missing; it should be a list of "
                f"{CONVOLUTION!r} and {ATTENTION!r}"
            )
        if ATTENTION in listed[:dense]:
            raise UnreadError(
                f"{self.name!r} has attention in one of the first {dense} layers, which are dense in the config; only "
                f"dense layers of the kind {CONVOLUTION!r} are supported"
            )
        return ["dense"] * min(dense, len(listed)) + listed[dense:]

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the list, one kind after another, and the number of dense layers."""
        dense, convolutions, attention = (numbers[size] for size in self.sizes.values())
        listed = [CONVOLUTION] * (dense + convolutions) + [ATTENTION] * attention
        return {self.name: listed, self.depth.names[0]: len(listed), self.dense: dense}
