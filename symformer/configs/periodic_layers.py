"""The layers of Jamba: which have attention, and which have experts, each at a regular interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import Numbers, format_value
from ..language.symbols import L_attn, L_moe, L_ssm, L_ssm_d
from .common_fields import Config
from .config_fields import whole_number
from .layers import Layers

ATTENTION, EXPERTS = ("attn_layer_period", "attn_layer_offset"), ("expert_layer_period", "expert_layer_offset")
DEFAULTS: Mapping[str, int] = dict(zip((*ATTENTION, *EXPERTS), (8, 4, 2, 1), strict=True))
COUNTED = ("num_experts", "num_local_experts")  # with one expert, every layer is dense
DENSE: Mapping[str, Symbol] = {"mamba": L_ssm, "attention": L_attn}
SPARSE: Mapping[str, Symbol] = {"mamba": L_ssm_d, "attention": L_attn, "experts": L_moe}
Places = frozenset[int]


@dataclass(frozen=True)
class PeriodicLayers(Layers):
    """Two periods, each with an offset: layers with attention instead of a state-space mixer, and layers with experts.

    Only layers with a state-space mixer may have experts.

    >>> from symformer.configs.config_fields import Field
    >>> layers = PeriodicLayers(SPARSE, (), Field(("num_hidden_layers",), 32), "attn_layer_period")
    >>> layers.read({}), layers.read({"num_experts": 1})
    ({L_ssm_d: 12, L_attn: 4, L_moe: 16}, {L_ssm: 28, L_attn: 4})
    """

    alternating = True

    @property
    def names(self) -> tuple[str, ...]:
        return (*DEFAULTS, *self.depth.names)

    def place_of(self, kind: str) -> tuple[str, str, str]:
        return self.name, "", "with the offset of attention, and the period and the offset of the experts"

    def read(self, config: Config) -> Numbers:
        """Return the number of layers of each kind. Raises ConfigError."""
        depth = self.listable(config)
        attention, sparse, kinds = self._placed(config, depth)
        if attention & sparse:
            raise UnreadError(
                f"{ATTENTION[0]!r} and {EXPERTS[0]!r} in the config give layer {min(attention & sparse)} both "
                "attention and experts; only layers with a state-space mixer and experts are supported"
            )
        found = Counter("attention" if n in attention else "experts" if n in sparse else "mamba" for n in range(depth))
        if none := [kind for kind in kinds if not found[kind]]:
            raise UnreadError(
                f"the config has no layer of the kind {none[0]!r} among {depth}, but the formula needs at least one of "
                "each kind"
            )
        return {size: found[kind] for kind, size in kinds.items()}

    def _placed(self, config: Config, depth: int) -> tuple[Places, Places, Mapping[str, Symbol]]:
        """Return the layers with attention and those with experts, and the kinds of layers. Raises ConfigError."""
        attention, sparse = (_places(depth, *_period(config, *names)) for names in (ATTENTION, EXPERTS))
        if next((config[name] for name in COUNTED if name in config), None) == 1:
            return attention, frozenset(), DENSE
        return attention, sparse, SPARSE

    def order_in(self, config: Config) -> tuple[Symbol, ...]:
        """Return the size that counts each layer, in order."""
        depth = self.listable(config)
        attention, sparse, kinds = self._placed(config, depth)
        names = ("attention" if n in attention else "experts" if n in sparse else "mamba" for n in range(depth))
        return tuple(kinds[name] for name in names)

    def order(self, numbers: Mapping[Symbol, int]) -> list[Symbol]:
        """Return the size that counts each layer, in the order that `write` gives them."""
        found = self.write(numbers)
        depth = found[self.depth.names[0]]
        attention, sparse = (_places(depth, *(found[name] for name in names)) for names in (ATTENTION, EXPERTS))
        others = L_ssm_d if L_moe in numbers else L_ssm
        sparse = sparse if L_moe in numbers else frozenset()
        return [L_attn if n in attention else L_moe if n in sparse else others for n in range(depth)]

    def tested(self, sizes: Collection[Symbol]) -> tuple[Numbers, ...]:
        """Return numbers of layers that periods can give, enough to determine an affine formula."""
        sparse = ((4, 2, 3), (4, 3, 2), (4, 2, 5), (5, 2, 3))
        kinds, rows = (SPARSE, sparse) if L_moe in sizes else (DENSE, ((3, 2), (3, 4), (4, 2)))
        return tuple(dict(zip(kinds.values(), row, strict=True)) for row in rows)

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return periods and offsets that give these numbers of layers. Raises ConfigError if there are none."""
        depth = numbers[L_attn] + (numbers[L_ssm_d] + numbers[L_moe] if L_moe in numbers else numbers[L_ssm])
        for attention in _periods(depth, numbers[L_attn]):
            for experts in _periods(depth, numbers[L_moe]) if L_moe in numbers else (EXPERTS_OFF,):
                if L_moe not in numbers or not _places(depth, *attention) & _places(depth, *experts):
                    found = dict(zip((*ATTENTION, *EXPERTS), (*attention, *experts), strict=True))
                    return {**found, self.depth.names[0]: depth}
        spelt = ", ".join(f"{size}={numbers[size]}" for size in (L_ssm, L_ssm_d, L_attn, L_moe) if size in numbers)
        raise ConfigError(f"no period of layers in a config gives {spelt}")


EXPERTS_OFF = (DEFAULTS[EXPERTS[0]], DEFAULTS[EXPERTS[1]])


def _period(config: Config, period: str, offset: str) -> tuple[int, int]:
    """Return a period and its offset. Raises ConfigError."""
    every, first = (config.get(name, DEFAULTS[name]) for name in (period, offset))
    whole_number(period, every)
    if type(first) is not int or not 0 <= first < every:
        raise ConfigError(
            f"{offset!r} is {format_value(first)} in the config; it should be an integer from 0 to {every - 1}, below "
            f"{period!r}"
        )
    return every, first


def _places(depth: int, period: int, offset: int) -> Places:
    """Return the layers that a period and an offset select."""
    return frozenset(range(offset, depth, period))


def _periods(depth: int, count: int) -> Iterable[tuple[int, int]]:
    """Yield the periods and offsets that select this many layers."""
    for period in range(1, depth + 1):
        for offset in range(period):
            if len(range(offset, depth, period)) == count:
                yield period, offset
