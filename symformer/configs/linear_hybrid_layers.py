"""Layers of two kinds, where a config can state the period of the second kind instead of a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from .common_fields import Config
from .config_fields import Field, whole_number
from .layers import DEPTH, Layers

EVERY = "full_attention_interval"


@dataclass(frozen=True)
class LinearHybridLayers(Layers):
    """A list of linear and full attention. If it is missing, every n-th layer has full attention, as in Qwen3-Next.

    >>> from symformer.language.symbols import L_attn, L_lin
    >>> kinds = {"linear_attention": L_lin, "full_attention": L_attn}
    >>> LinearHybridLayers(kinds).read({"num_hidden_layers": 7, "full_attention_interval": 3})
    {L_lin: 5, L_attn: 2}
    """

    pattern: tuple[str, ...] = ()
    depth: Field = DEPTH
    every: str = EVERY

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, self.every)

    def listed(self, config: Config) -> Any:
        """Return the kind of every layer. Raises ConfigError."""
        listed = super().listed(config)
        period = whole_number(self.every, config.get(self.every, 4))
        if listed is not None:
            return listed
        linear, full = self.sizes
        return [full if layer % period == 0 else linear for layer in range(1, self.listable(config) + 1)]

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the list, one kind after another, and the default period, which has no effect next to a list."""
        return {**super().write(numbers), self.every: 4}
