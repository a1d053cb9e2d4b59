"""The layers of models with sparse attention: dense layers, then layers with experts, all with an indexer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..language.errors import UnreadError
from ..language.sizes import format_value
from .common_fields import LAYER_TYPES, Config
from .config_fields import whole_number
from .layers import DenseLayers

KIND = "indexed_attention"
INDEXERS = "indexer_types"
PATTERNS = ("index_topk_pattern", "index_topk_freq", "index_skip_topk_offset")


@dataclass(frozen=True)
class SparseAttentionLayers(DenseLayers):
    """A list of dense layers and layers with experts, or else the number of dense layers, as in DeepSeek-V3.2.

    >>> from symformer.configs.config_fields import Field
    >>> from symformer.language.symbols import L_dense, L_moe
    >>> depth = Field(("num_hidden_layers",), 61)
    >>> layers = SparseAttentionLayers({"dense": L_dense, "sparse": L_moe}, (), depth, "mlp_layer_types")
    >>> layers.read({"num_hidden_layers": 5, "first_k_dense_replace": 2})
    {L_dense: 2, L_moe: 3}
    """

    dense: str = "first_k_dense_replace"  # the field with the number of dense layers
    first: int = 3  # its default

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, self.dense, LAYER_TYPES)

    def listed(self, config: Config) -> Any:
        """Return the list. Raises UnreadError for layers without an indexer."""
        depth, types = self.listable(config), config.get(LAYER_TYPES)
        if types is not None and types != [KIND] * depth:
            raise UnreadError(
                f"{LAYER_TYPES!r} is {format_value(types)} in the config; only {depth} layers of {KIND!r} are supported"
            )
        dense = min(whole_number(self.dense, config.get(self.dense, self.first)), depth)
        first, second = self.sizes
        if config.get(self.name) is None:
            return [first] * dense + [second] * (depth - dense)
        return super().listed(config)


@dataclass(frozen=True)
class IndexerLayers(SparseAttentionLayers):
    """The same, with further fields that state which layers have an indexer of their own, as in GLM-5.

    >>> from symformer.configs.config_fields import Field
    >>> from symformer.language.symbols import L_dense, L_moe
    >>> depth = Field(("num_hidden_layers",), 78)
    >>> layers = IndexerLayers({"dense": L_dense, "sparse": L_moe}, (), depth, "mlp_layer_types")
    >>> layers.read({"num_hidden_layers": 5, "indexer_types": ["full"] * 5})
    {L_dense: 3, L_moe: 2}
    """

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, INDEXERS, *PATTERNS)

    def listed(self, config: Config) -> Any:
        """Return the list. Raises UnreadError for a layer that uses the keys of an earlier layer's indexer."""
        depth, pattern = self.listable(config), config.get(PATTERNS[0])
        every: Any = ["full"] * depth
        name, value, full = INDEXERS, config.get(INDEXERS), every
        if value is None and pattern is not None:
            name, value, full = PATTERNS[0], pattern, "F" * depth if isinstance(pattern, str) else every
        elif value is None:
            name, value, full = PATTERNS[1], config.get(PATTERNS[1], 1), 1
            whole_number(PATTERNS[2], config.get(PATTERNS[2], 2))
        if value != full or isinstance(value, bool):
            raise UnreadError(
                f"{name!r} is {format_value(value)} in the config; only {format_value(full)} is supported, which gives "
                "every layer an indexer of its own"
            )
        return super().listed(config)
