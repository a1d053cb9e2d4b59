"""The layers of MiMo-V2-Flash: which attend within a window, and which have experts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import UnreadError
from ..language.sizes import Numbers, format_value
from .common_fields import Config
from .config_fields import Field
from .layers import FORMER, Layers

DEPTH = Field(("num_hidden_layers",), 48)
FULL, WINDOWED, DENSE, SPARSE = "full_attention", "sliding_attention", "dense", "sparse"
NETWORKS = "mlp_layer_types"
# Fields of the released config that repeat the two lists, with 1 for a layer with a window or with experts.
REPEATED = {"hybrid_layer_pattern": WINDOWED, "moe_layer_freq": SPARSE}


@dataclass(frozen=True)
class WindowedExpertLayers(Layers):
    """Two lists: layers with a window or with full attention, and layers with or without experts.

    If they are missing, the first layer and every sixth one have full attention, and only the first one is dense.

    >>> from symformer.language.symbols import L_dense, L_glo_x, L_local
    >>> kinds = {"dense": L_dense, "sliding_attention": L_local, "full_attention": L_glo_x}
    >>> WindowedExpertLayers(kinds).read({"num_hidden_layers": 13})
    {L_dense: 1, L_local: 10, L_glo_x: 2}
    """

    pattern: tuple[str, ...] = ()
    depth: Field = DEPTH

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, NETWORKS, *REPEATED)

    def place_of(self, kind: str) -> tuple[str, str, str]:
        if kind == DENSE:
            return NETWORKS, DENSE, ""
        return (self.name, "", f"{FULL}, without the dense layers") if kind == FULL else super().place_of(kind)

    def read(self, config: Config) -> Numbers:
        """Return the number of layers of each kind. Raises ConfigError."""
        attends, networks = self._lists(config)
        found = {WINDOWED: attends, SPARSE: networks}
        for name, kind in REPEATED.items():
            expected = [int(each == kind) for each in found[kind]]
            if config.get(name, expected) not in (expected, None):
                other = self.name if kind == WINDOWED else NETWORKS
                raise UnreadError(
                    f"{name!r} is {format_value(config[name])} in the config, but {other!r} implies {expected}"
                )
        kinds = Counter(zip(attends, networks, strict=True))
        if kinds.keys() != {(FULL, DENSE), (WINDOWED, SPARSE), (FULL, SPARSE)}:
            raise UnreadError(
                f"{self.name!r} and {NETWORKS!r} in the config combine attention and experts in an unsupported way; "
                "dense layers, which must have full attention, and layers with experts of both kinds of attention must "
                "occur"
            )
        numbers = {DENSE: kinds[FULL, DENSE], WINDOWED: kinds[WINDOWED, SPARSE], FULL: kinds[FULL, SPARSE]}
        return {size: numbers[kind] for kind, size in self.sizes.items()}

    def order_in(self, config: Config) -> tuple[Symbol, ...]:
        """Return the size that counts each layer, in order."""
        pairs = zip(*self._lists(config), strict=True)
        return tuple(self.sizes[DENSE if network == DENSE else attends] for attends, network in pairs)

    def _lists(self, config: Config) -> tuple[list[str], list[str]]:
        """Return the attention and the network of each layer. Raises ConfigError."""
        depth = self.listable(config)
        usual = [WINDOWED if layer and (layer + 1) % 6 else FULL for layer in range(depth)]
        attends = self._list(config, self.name, usual, (FULL, WINDOWED))
        return attends, self._list(config, NETWORKS, [DENSE] + [SPARSE] * (depth - 1), (DENSE, SPARSE))

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return both lists, one kind after another."""
        dense, windowed, full = (numbers[self.sizes[kind]] for kind in (DENSE, WINDOWED, FULL))
        return {
            self.depth.names[0]: dense + windowed + full,
            self.name: [FULL] * dense + [WINDOWED] * windowed + [FULL] * full,
            NETWORKS: [DENSE] * dense + [SPARSE] * (windowed + full),
        }

    def _list(self, config: Config, name: str, usual: list[str], kinds: tuple[str, ...]) -> list[str]:
        """Return one of the two lists."""
        if (listed := config.get(name)) is None:
            return usual
        if name == self.name and isinstance(listed, list):
            listed = [FORMER.get(kind, kind) if isinstance(kind, str) else kind for kind in listed]
        if not isinstance(listed, list) or len(listed) != len(usual) or any(each not in kinds for each in listed):
            raise UnreadError(
                f"{name!r} is {format_value(listed)} in the config; it should be a list of {len(usual)} kinds, each "
                f"{' or '.join(map(repr, kinds))}"
            )
        return listed
