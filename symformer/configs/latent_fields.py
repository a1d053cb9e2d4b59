"""Sizes of a model of latent images that other fields of its config must allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..language.errors import UnreadError
from ..language.sizes import Numbers, format_value
from ..language.symbols import Z_patch
from .common_fields import Config
from .config_fields import Derived, MultipleField

WIDTH = "caption_projection_dim"
PLACES = "pos_embed_max_size"


@dataclass(frozen=True, kw_only=True)
class ProjectedWidthField(MultipleField):
    """The field of a head dimension; another field repeats the width of all heads.

    >>> from symformer.language.symbols import A, E
    >>> field = ProjectedWidthField(("attention_head_dim",), 64, of=A)
    >>> field.taken(E, {"attention_head_dim": 5, "caption_projection_dim": 15}, {A: 3})
    15
    """

    usual: int = 1152  # the value that the class uses without the other field

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number. Raises UnreadError if the other field has another value."""
        width, stated = super().taken(size, config, numbers), config.get(WIDTH, self.usual)
        if isinstance(stated, bool) or stated != width:
            raise UnreadError(
                f"{WIDTH!r} is {format_value(stated)} in the config, or by default; it should be {self.names[0]!r} "
                f"times the number of heads, {width}"
            )
        return width

    @property
    def others(self) -> Mapping[str, Any]:
        return {WIDTH: self.usual}

    def others_at(self, number: int, numbers: Mapping[Symbol, int]) -> Mapping[str, Any]:
        """Return the other field with the same width."""
        return {WIDTH: number}


@dataclass(frozen=True, kw_only=True)
class LatentSideField(Derived):
    """The field of the side of a latent image, whose patches have fixed positions up to a maximum."""

    usual: int = 96  # the maximum that the class uses without its field

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number. Raises UnreadError if there are more patches on a side than positions."""
        side, most = int(self.read(size, config)), config.get(PLACES, self.usual)
        if type(most) is not int or most < 1 or side // numbers[Z_patch] > most:
            raise UnreadError(
                f"{PLACES!r} is {format_value(most)} in the config, or by default; it should be at least the number of "
                f"patches on a side, {side // numbers[Z_patch]}"
            )
        return side

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> int:
        return number

    @property
    def others(self) -> Mapping[str, Any]:
        return {PLACES: self.usual}

    def others_at(self, number: int, numbers: Mapping[Symbol, int]) -> Mapping[str, Any]:
        """Return as many positions on a side as there are elements."""
        return {PLACES: number}
