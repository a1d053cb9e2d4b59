"""The layers of Gemma 3n: which have a window, which reuse keys and values, and which have sparse activations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import Numbers, format_value
from ..language.symbols import L_glo_re, L_global, L_loc_re, L_local, L_sparse
from .common_fields import Config
from .layers import Layers

LOCAL, GLOBAL = "sliding_attention", "full_attention"
SHARED, SPARSE = "num_kv_shared_layers", "activation_sparsity_pattern"
USUAL_SHARED, USUAL_SPARSE = 15, 10  # layers, if the config does not state them
SHARE = 0.95  # of the activations of a sparse layer, those that become 0


REUSING = "reusing "  # the prefix of the kinds of layers that reuse keys and values
OWN = {LOCAL: L_local, GLOBAL: L_global}
KINDS = {**OWN, f"{REUSING}{LOCAL}": L_loc_re, f"{REUSING}{GLOBAL}": L_glo_re, SPARSE: L_sparse}


@dataclass(frozen=True)
class ReusingLayers(Layers):
    """A list of layers with a window and without one, the number of layers that reuse the keys and values of earlier
    layers, which are the last ones, and a list with a number above 0 for each layer with sparse activations.

    >>> from symformer.configs.config_fields import Field
    >>> layers = ReusingLayers(KINDS, (LOCAL,) * 4 + (GLOBAL,), Field(("num_hidden_layers",), 35))
    >>> layers.read({})
    {L_local: 16, L_global: 4, L_loc_re: 12, L_glo_re: 3, L_sparse: 10}
    >>> layers.read({"num_hidden_layers": 7, "num_kv_shared_layers": 0})
    {L_local: 6, L_global: 1}
    """

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, SHARED, SPARSE)

    def read(self, config: Config) -> Numbers:
        """Return the number of layers of each kind. Raises ConfigError."""
        numbers = Layers(OWN, self.pattern, self.depth, self.name).read(config)
        depth, shared, sparse = self.listable(config), self.shared(config), sum(self.sparse(config))
        if shared:
            kinds = self.listed(config) or [self.pattern[layer % len(self.pattern)] for layer in range(depth)]
            own, reusing = kinds[: depth - shared], kinds[depth - shared :]
            for kind in (LOCAL, GLOBAL):
                if kind not in own or kind not in reusing:
                    raise UnreadError(
                        f"{SHARED!r} is {shared} in the config; the last {shared} of {depth} layers, and the layers "
                        f"before them, must each have a layer {LOCAL!r} and a layer {GLOBAL!r}"
                    )
            numbers = {L_local: own.count(LOCAL), L_global: own.count(GLOBAL)}
            numbers |= {L_loc_re: reusing.count(LOCAL), L_glo_re: reusing.count(GLOBAL)}
        return {**numbers, L_sparse: sparse} if sparse else numbers

    def place_of(self, kind: str) -> tuple[str, str, str]:
        if kind == SPARSE:
            return SPARSE, "", "its numbers above 0"
        if kind in OWN:
            return self.name, "", f"{kind}, without the layers that reuse keys and values"
        return SHARED, "", f"those of the kind {kind.removeprefix(REUSING)}"

    def shared(self, config: Config) -> int:
        """Return the number of layers that reuse keys and values. Raises ConfigError."""
        shared, depth = config.get(SHARED, USUAL_SHARED), self.listable(config)
        if isinstance(shared, bool) or not isinstance(shared, int) or not 0 <= shared < depth:
            raise ConfigError(
                f"{SHARED!r} is {format_value(shared)} in the config; it should be an integer from 0 to {depth - 1}"
            )
        return shared

    def sparse(self, config: Config) -> list[bool]:
        """Return whether each layer has sparse activations. Raises ConfigError."""
        depth, listed = self.listable(config), config.get(SPARSE)
        if listed is None:
            return [layer < USUAL_SPARSE < depth for layer in range(depth)]
        shares = listed if isinstance(listed, list) else []
        fit = all(not isinstance(each, bool) and isinstance(each, int | float) and 0 <= each < 1 for each in shares)
        if len(shares) != depth or not fit:
            raise ConfigError(
                f"{SPARSE!r} is {format_value(listed)} in the config; it should be a list of {depth} numbers, each at "
                "least 0 and less than 1"
            )
        return [each > 0 for each in shares]

    def order(self, numbers: Mapping[Symbol, int]) -> list[Symbol]:
        """Return the size that counts each layer, in the order that `write` gives them."""
        return [size for size in (L_local, L_global, L_loc_re, L_glo_re) for _ in range(numbers.get(size, 0))]

    def tested(self, sizes: Collection[Symbol]) -> tuple[Numbers, ...]:
        """Return small numbers of layers, of which one changes at a time."""
        first = {size: place for place, size in enumerate(sorted(sizes, key=str), 1)}
        return (first, *({**first, size: len(first) + 1} for size in first))

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the lists, one kind after another."""
        kinds = {L_local: LOCAL, L_global: GLOBAL, L_loc_re: LOCAL, L_glo_re: GLOBAL}
        order = self.order(numbers)
        sparse = numbers.get(L_sparse, 0)
        return {
            self.name: [kinds[size] for size in order],
            self.depth.names[0]: len(order),
            SHARED: sum(numbers.get(size, 0) for size in (L_loc_re, L_glo_re)),
            SPARSE: [SHARE] * sparse + [0.0] * (len(order) - sparse),
        }


@dataclass(frozen=True)
class ReusedKeysAndValues:
    """The option that the last layers reuse keys and values, read from the fields of the layers."""

    layers: ReusingLayers
    name: str = SHARED
    default: int = USUAL_SHARED

    def read(self, config: Config) -> bool:
        """Return whether some layers reuse keys and values. Raises ConfigError."""
        return self.layers.shared(config) > 0

    def write(self, option: Any) -> int:
        """Return a number of layers, which the fields of the layers replace."""
        return USUAL_SHARED if option else 0


@dataclass(frozen=True)
class SparseActivations:
    """The option that some layers have sparse activations, read from the fields of the layers."""

    layers: ReusingLayers
    name: str = SPARSE
    default: None = None

    def read(self, config: Config) -> bool:
        """Return whether some layers have sparse activations. Raises ConfigError."""
        return any(self.layers.sparse(config))

    def write(self, option: Any) -> None:
        """Return the default list, which the fields of the layers replace."""
        return
