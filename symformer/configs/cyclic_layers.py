"""Layers of several kinds whose pattern the config states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..language.errors import UnreadError
from ..language.sizes import format_value
from .common_fields import Config
from .config_fields import Field
from .layers import Layers

DEPTH = Field(("num_hidden_layers",), 26)
TIMES = 100  # the class repeats the pattern at most so often


@dataclass(frozen=True)
class CyclicLayers(Layers):
    """A list of kinds that repeats until all layers have one, as in RecurrentGemma.

    >>> from symformer.language.symbols import L_attn, L_rec
    >>> CyclicLayers({"recurrent": L_rec, "attention": L_attn}).read({"num_hidden_layers": 7})
    {L_rec: 5, L_attn: 2}
    """

    pattern: tuple[str, ...] = ("recurrent", "recurrent", "attention")
    depth: Field = DEPTH
    name: str = "block_types"

    def listed(self, config: Config) -> Any:
        """Return the kind of every layer. Raises UnreadError."""
        pattern, depth = config.get(self.name, [*self.pattern]), self.listable(config)
        if not isinstance(pattern, list) or not pattern or any(kind not in [*self.sizes] for kind in pattern):
            raise UnreadError(
                f"{self.name!r} is {format_value(pattern)} in the config; it should be a list of "
                f"{' and '.join(map(repr, self.sizes))}"
            )
        if depth > TIMES * len(pattern):
            raise UnreadError(
                f"{self.name!r} has {len(pattern)} kinds in the config, which the class repeats {TIMES} times, but "
                f"{self.depth.names[0]!r} is {depth}"
            )
        return [pattern[layer % len(pattern)] for layer in range(depth)]
