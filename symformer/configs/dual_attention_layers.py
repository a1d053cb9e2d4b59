"""Layers of which a list in the config names those with a second attention."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import UnreadError
from ..language.sizes import Numbers, format_value
from ..language.symbols import L, L_dual
from .common_fields import Config
from .layers import Layers

DUAL = "dual_attention_layers"


@dataclass(frozen=True)
class DualAttentionLayers(Layers):
    """A list of the layers with a second attention, from 0. The last layer may not be in it.

    >>> from symformer.configs.config_fields import Field
    >>> layers = DualAttentionLayers({"dual": L_dual}, (), Field(("num_layers",), 18), DUAL)
    >>> layers.read({"num_layers": 4, "dual_attention_layers": [2, 0]})
    {L_dual: 2}
    """

    def read(self, config: Config) -> Numbers:
        """Return the number of layers in the list, if there are any. Raises UnreadError."""
        listed, depth = config.get(self.name, []), self.deep(config, None)
        whole = isinstance(listed, list | tuple) and all(type(each) is int for each in listed)
        if not whole or len({*listed}) < len(listed) or not all(0 <= each < depth - 1 for each in listed):
            raise UnreadError(
                f"{self.name!r} is {format_value(listed)} in the config; it should list different layers, numbered "
                f"from 0, without the last of {depth} layers"
            )
        return {L_dual: len(listed)} if listed else {}

    def tested(self, sizes: Collection[Symbol]) -> tuple[Numbers, ...]:
        """Return depths with at least one layer of each kind."""
        return ({L: 5, L_dual: 2}, {L: 6, L_dual: 2}, {L: 5, L_dual: 3}) if L_dual in sizes else ()

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the list with the first layers."""
        return {self.name: list(range(numbers.get(L_dual, 0)))}


@dataclass(frozen=True)
class DualAttention:
    """The option that some layers have a second attention."""

    name: str = DUAL
    default: tuple[int, ...] = ()

    def read(self, config: Config) -> bool:
        """Return whether the list has layers."""
        return bool(config.get(self.name))

    def write(self, option: Any) -> list[int]:
        """Return a list of layers."""
        return [0] if option else []
