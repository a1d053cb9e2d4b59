"""Dense layers followed by layers with experts: a list or a number, and which of them have an indexer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import Numbers, format_value
from ..language.symbols import L_dense, L_idx, L_moe, L_reuse
from .common_fields import LAYER_TYPES, Config
from .config_fields import whole_number
from .layers import DenseLayers

KIND = "indexed_attention"
INDEXERS = "indexer_types"
FULL, SHARED = "full", "shared"
WORDS = {"F": FULL, "S": SHARED}
PATTERNS = ("index_topk_pattern", "index_topk_freq", "index_skip_topk_offset")


@dataclass(frozen=True)
class CountedDenseLayers(DenseLayers):
    """A list of dense layers and layers with experts, or else the number of dense layers, as in A.X K1.

    >>> from symformer.configs.config_fields import Field
    >>> depth = Field(("num_hidden_layers",), 61)
    >>> layers = CountedDenseLayers({"dense": L_dense, "sparse": L_moe}, (), depth, "mlp_layer_types")
    >>> layers.read({"num_hidden_layers": 5, "first_k_dense_replace": 2})
    {L_dense: 2, L_moe: 3}
    """

    dense: str = "first_k_dense_replace"  # the field with the number of dense layers
    first: int = 1  # its default

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, self.dense)

    def listed(self, config: Config) -> Any:
        """Return the list. Raises ConfigError."""
        depth = self.listable(config)
        dense = min(whole_number(self.dense, config.get(self.dense, self.first)), depth)
        first, second = self.sizes
        if config.get(self.name) is None:
            return [first] * dense + [second] * (depth - dense)
        return super().listed(config)


@dataclass(frozen=True)
class SparseAttentionLayers(CountedDenseLayers):
    """The same, with another list that states that all layers have sparse attention, as in DeepSeek-V3.2."""

    first: int = 3

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, LAYER_TYPES)

    def listed(self, config: Config) -> Any:
        """Return the list. Raises UnreadError for layers without sparse attention."""
        depth, types = self.listable(config), config.get(LAYER_TYPES)
        if types is not None and types != [KIND] * depth:
            raise UnreadError(
                f"{LAYER_TYPES!r} is {format_value(types)} in the config; only {depth} layers of {KIND!r} are supported"
            )
        return super().listed(config)


@dataclass(frozen=True)
class IndexerLayers(SparseAttentionLayers):
    """The same, with further fields that state which layers have an indexer, as in GLM-5.

    The other layers use the keys that the indexer of an earlier layer has chosen. Dense layers must have an indexer.

    >>> from symformer.configs.config_fields import Field
    >>> depth = Field(("num_hidden_layers",), 78)
    >>> layers = IndexerLayers({"dense": L_dense, "sparse": L_moe}, (), depth, "mlp_layer_types")
    >>> layers.read({"num_hidden_layers": 9})
    {L_dense: 3, L_moe: 6}
    >>> layers.read({"num_hidden_layers": 9, "index_topk_freq": 4, "index_skip_topk_offset": 3})
    {L_dense: 3, L_idx: 1, L_reuse: 5}
    """

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, INDEXERS, *PATTERNS)

    def read(self, config: Config) -> Numbers:
        """Return the number of layers of each kind. Raises ConfigError."""
        numbers, indexers = super().read(config), self.indexers(config)
        if all(indexers):
            return numbers
        dense, depth = numbers[L_dense], len(indexers)
        if not all(indexers[:dense]) or not any(indexers[dense:]):
            raise UnreadError(
                f"{INDEXERS!r} in the config, or its pattern, leaves a dense layer or all layers with experts without "
                "an indexer, which is not supported"
            )
        return {L_dense: dense, L_idx: sum(indexers[dense:]), L_reuse: depth - sum(indexers)}

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return both lists, one kind of layers after another."""
        if L_reuse not in numbers:
            return {**super().write(numbers), INDEXERS: None}
        dense, indexed, others = numbers[L_dense], numbers[L_idx], numbers[L_reuse]
        written = super().write({L_dense: dense, L_moe: indexed + others})
        return {**written, INDEXERS: [FULL] * (dense + indexed) + [SHARED] * others}

    def indexers(self, config: Config) -> list[bool]:
        """Return whether each layer has an indexer. Raises ConfigError."""
        depth, pattern = self.listable(config), config.get(PATTERNS[0])
        name, listed = INDEXERS, config.get(INDEXERS)
        if listed is None and pattern is not None:
            name, listed = PATTERNS[0], pattern
            if isinstance(pattern, str):
                listed = [WORDS.get(each, each) for each in pattern]
        if listed is None:
            period, offset = whole_number(PATTERNS[1], config.get(PATTERNS[1], 1)), config.get(PATTERNS[2], 2)
            if isinstance(offset, bool) or not isinstance(offset, int):
                raise ConfigError(f"{PATTERNS[2]!r} is {format_value(offset)} in the config; it should be an integer")
            return [max(layer - offset + 1, 0) % period == 0 for layer in range(depth)]
        if not isinstance(listed, list) or len(listed) != depth or any(each not in (FULL, SHARED) for each in listed):
            raise UnreadError(
                f"{name!r} is {format_value(listed)} in the config; it should be a list of {depth} kinds, each "
                f"{FULL!r} or {SHARED!r}"
            )
        return [each == FULL for each in listed]


@dataclass(frozen=True)
class ReusedKeys:
    """The option that some layers use the keys of an earlier layer's indexer, read from the fields of the layers."""

    layers: IndexerLayers
    name: str = PATTERNS[1]
    default: int = 1

    def read(self, config: Config) -> bool:
        """Return whether some layers have no indexer. Raises ConfigError."""
        return bool(config) and not all(self.layers.indexers(config))

    def write(self, option: Any) -> int:
        """Return a period of layers with an indexer."""
        return 4 if option else 1
