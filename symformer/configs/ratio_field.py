"""The config field of an intermediate size that can be null: another field then states its ratio to the hidden size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Symbol

from ..language.errors import ConfigError
from ..language.sizes import Numbers, evaluate, format_value
from .common_fields import Config
from .config_fields import Derived, whole_number


@dataclass(frozen=True, kw_only=True)
class RatioField(Derived):
    """The config field of an intermediate size, or, if it is null, of its ratio to another size.

    The class rounds the product of the ratio and the other size down to an integer, and then up to a multiple.

    >>> from symformer.language.symbols import E, H
    >>> RatioField(("intermediate_size",), of=E).taken(H, {"hidden_ratio": 3.6}, {E: 24})
    96
    """

    of: Expr
    ratio: str = "hidden_ratio"
    times: int = 4  # the ratio if it is null or missing
    multiple: int = 32

    @property
    def rule(self) -> str:
        return f"or ``{self.ratio}`` times {self.of}, rounded up to a multiple of {self.multiple}, if it is null"

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number, as the class computes it. Raises ConfigError."""
        name = self.names[0]
        if (stated := config.get(name)) is not None:
            return whole_number(name, stated)
        ratio = config.get(self.ratio)
        ratio = self.times if ratio is None else ratio
        if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio < math.inf:
            raise ConfigError(f"{self.ratio!r} is {format_value(ratio)} in the config; it should be a number above 0")
        number = int(evaluate(self.of, numbers, name) * ratio)
        if not number:
            raise ConfigError(f"{self.ratio!r} is {format_value(ratio)} in the config, which leaves no {size}")
        return -(-number // self.multiple) * self.multiple

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> int:
        """Return the number itself."""
        return number

    @property
    def others(self) -> Mapping[str, Any]:
        """Return the other field, without an effect."""
        return {self.ratio: None}
