"""The head dimension of a model whose rotary positions have several axes, such as rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import UnreadError
from ..language.sizes import Numbers, format_value
from .common_fields import Config
from .config_fields import MultipleField

AXES = "axes_dims_rope"
USUAL = [16, 56, 56]  # the default of the class


@dataclass(frozen=True, kw_only=True)
class RotaryAxesField(MultipleField):
    """The field of a head dimension that is the sum of three even numbers, one for each axis of rotary positions.

    >>> from symformer.language.symbols import A, E
    >>> field = RotaryAxesField(("attention_head_dim",), 128, of=A)
    >>> field.taken(E, {"axes_dims_rope": [2, 4, 6], "attention_head_dim": 12}, {A: 3})
    36
    """

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number. Raises UnreadError unless the axes have even widths whose sum is the head dimension."""
        axes, width = config.get(AXES, USUAL), int(self.read(size, config))
        whole = isinstance(axes, list | tuple) and all(type(each) is int and each >= 0 for each in axes)
        if not whole or len(axes) != 3 or any(each % 2 for each in axes) or sum(axes) != width:
            raise UnreadError(
                f"{AXES!r} is {format_value(axes)} in the config; it should be three even numbers whose sum is "
                f"{self.names[0]!r}, {width}"
            )
        return super().taken(size, config, numbers)

    @property
    def others(self) -> Mapping[str, Any]:
        return {AXES: USUAL}

    def others_at(self, number: int, numbers: Mapping[Symbol, int]) -> Mapping[str, Any]:
        """Return axes of which only the first rotates, which is possible for every even head dimension."""
        return {AXES: [self.written(number, numbers), 0, 0]}
