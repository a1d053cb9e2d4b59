"""The layers of DeepSeek-V4 in a config: their attention, the sizes of their groups of tokens, and rotary positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import Numbers, evaluate, format_value
from ..language.symbols import C_csa, C_hca
from .common_fields import Config
from .config_fields import Derived, Field, FractionField, whole_number
from .layers import Layers
from .rotary import PARTLY, ROTARY

DEPTH = Field(("num_hidden_layers",), 43)
LOCAL, CSA, HCA = "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"
RATIOS = "compress_ratios"  # the same in checkpoints: one number per layer, and further ones for other modules
OF_RATIO = {0: LOCAL, 4: CSA, 128: HCA}
NETWORKS, HASHED = "mlp_layer_types", "num_hash_layers"
RATES: Mapping[str, tuple[Symbol, str, int]] = {  # kind of layer -> its size, its former field, and its default
    CSA: (C_csa, "compress_rate_csa", 4),
    HCA: (C_hca, "compress_rate_hca", 128),
}
ROPES = ("main", "compress")


@dataclass(frozen=True)
class CompressedLayers(Layers):
    """A list of layers with a sliding window, and with compressed keys of two kinds, which must both occur.

    Checkpoints state a number for each layer instead. Without either, the layers 3, 5, 7 and so on, counted from 0,
    have compressed sparse attention, and the others heavily compressed attention. A second list, or the number of the
    first layers whose experts are chosen by a fixed table, has no effect on counts.

    >>> from symformer.language.symbols import L_csa, L_hca, L_local
    >>> layers = CompressedLayers({LOCAL: L_local, CSA: L_csa, HCA: L_hca})
    >>> layers.read({"num_hidden_layers": 5, "compress_ratios": [0, 0, 4, 128, 4, 0]})
    {L_local: 2, L_csa: 2, L_hca: 1}
    >>> layers.read({"num_hidden_layers": 6})
    {L_csa: 2, L_hca: 4}
    """

    pattern: tuple[str, ...] = ()
    depth: Field = DEPTH

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, RATIOS, NETWORKS, HASHED)

    def read(self, config: Config) -> Numbers:
        """Return the number of layers of each kind. Raises ConfigError."""
        listed, depth = self.listed(config), self.listable(config)
        self._networks(config, depth)
        if missing := [kind for kind in (CSA, HCA) if kind not in listed]:
            raise UnreadError(f"the config has no layer of the kind {missing[0]!r}, but the formula needs at least one")
        return {size: listed.count(kind) for kind, size in self.sizes.items() if kind in listed}

    def listed(self, config: Config) -> Any:
        """Return the kind of every layer. Raises ConfigError."""
        depth, ratios = self.listable(config), config.get(RATIOS)
        name, kinds = self.name, config.get(self.name)
        if kinds is None and ratios is not None:
            if not isinstance(ratios, list) or any(type(each) is not int or each not in OF_RATIO for each in ratios):
                raise UnreadError(
                    f"{RATIOS!r} is {format_value(ratios)} in the config; it should be a list of "
                    f"{', '.join(map(str, OF_RATIO))}"
                )
            name, kinds = RATIOS, [OF_RATIO[each] for each in ratios]
        if kinds is None:
            return [CSA if layer > 2 and layer % 2 else HCA for layer in range(depth)]
        return self._first(name, kinds, depth, tuple(self.sizes))

    def _networks(self, config: Config, depth: int) -> None:
        """Raise ConfigError for layers with other networks than experts, which a router or a table chooses."""
        if (listed := config.get(NETWORKS)) is not None:
            self._first(NETWORKS, listed, depth, ("hash_moe", "moe"))
        hashed = config.get(HASHED)
        if hashed is not None and (type(hashed) is not int or hashed < 0):
            raise ConfigError(f"{HASHED!r} is {format_value(hashed)} in the config; it should be a number of layers")

    def _first(self, name: str, listed: Any, depth: int, kinds: tuple[str, ...]) -> list[str]:
        """Return the kinds of the layers; the class ignores further ones."""
        if not isinstance(listed, list) or len(listed) < depth or any(each not in kinds for each in listed[:depth]):
            raise UnreadError(
                f"{name!r} is {format_value(listed)} in the config; it should have a kind for each of {depth} layers, "
                f"each {' or '.join(map(repr, kinds))}"
            )
        return listed[:depth]

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the list of kinds, one kind after another."""
        listed = [kind for kind, size in self.sizes.items() for _ in range(numbers.get(size, 0))]
        return {self.name: listed, self.depth.names[0]: len(listed)}


@dataclass(frozen=True)
class SlidingLayers:
    """The option that some layers have a sliding window without compressed keys, read from the fields of the layers."""

    layers: CompressedLayers
    name: str = RATIOS
    default: None = None

    def read(self, config: Config) -> bool:
        """Return whether some layers have only a sliding window. Raises ConfigError."""
        return bool(config) and LOCAL in self.layers.listed(config)

    def write(self, option: Any) -> None:
        """Return no numbers: the layers are listed by name."""


@dataclass(frozen=True, kw_only=True)
class RateField(Derived):
    """The config field of the number of tokens of each group, in an object with a number for each kind of layer.

    >>> RateField(("compress_rates",), kind=CSA).taken(C_csa, {"compress_rate_csa": 6}, {})
    6
    """

    kind: str

    @property
    def rule(self) -> str:
        return f"its entry ``{self.kind}``, or ``{self.former}``"

    @property
    def former(self) -> str:
        """Return the former field, which takes precedence."""
        return RATES[self.kind][1]

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number. Raises ConfigError."""
        name, rates = self.names[0], config.get(self.names[0])
        if (stated := config.get(self.former)) is not None:
            return whole_number(self.former, stated)
        if rates is None:
            return RATES[self.kind][2]
        if not isinstance(rates, dict) or rates.keys() != RATES.keys():
            raise ConfigError(
                f"{name!r} is {format_value(rates)} in the config; it should be an object with a number for each of "
                f"{' and '.join(map(repr, RATES))}"
            )
        return whole_number(f"{name}.{self.kind}", rates[self.kind])

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> Any:
        """Return the object with the numbers of all kinds."""
        return {kind: numbers[size] for kind, (size, _, _) in RATES.items()}

    @property
    def others(self) -> Mapping[str, Any]:
        return {self.former: None}


@dataclass(frozen=True, kw_only=True)
class TwoRotaryField(FractionField):
    """The config field of the rotary dimensions of a head, as a fraction, for layers with and without compressed keys.

    The fraction takes precedence over the number of dimensions, ``whole``. If ``rope_parameters`` has an entry for each
    of the two, these state the fraction.
    """

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number, as the class computes it. Raises ConfigError."""
        whole, entries = evaluate(self.of, numbers, str(size)), config.get(ROTARY[1])
        part, stated = config.get(self.names[0]), config.get(self.whole)
        if part is None:
            part = self.part if stated is None else whole_number(self.whole, stated) / whole
        if isinstance(entries, dict) and any(kind in entries for kind in ROPES):
            if not all(isinstance(entries.get(kind), dict) for kind in ROPES):
                raise ConfigError(
                    f"{ROTARY[1]!r} is {format_value(entries)} in the config; it should have an object for each of "
                    f"{' and '.join(map(repr, ROPES))}"
                )
            parts = [entries[kind].get(PARTLY, 1.0) for kind in ROPES]
            if parts[0] != parts[1]:
                raise UnreadError(f"the kinds in {ROTARY[1]!r} in the config state different values of {PARTLY!r}")
            part = parts[0]
        return super().taken(size, {PARTLY: part}, numbers)
