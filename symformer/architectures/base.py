"""The base of every architecture: a whole model, how a config.json fills its sizes, and who bears witness to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sympy import Expr

from ..components.base import Component
from ..configs.fields import Chance, Choice, Field, Fields, Function, Labels, Layers, Share, Switch
from ..language.sizes import Divides

__all__ = [
    "Architecture",
    "Chance",
    "Choice",
    "Field",
    "Fields",
    "Function",
    "Labels",
    "Layers",
    "Share",
    "Switch",
    "Witness",
]


@dataclass(frozen=True)
class Witness:
    """The torch side of an architecture, by name; only :mod:`symformer.witness` imports it."""

    library: str  # the module that holds the classes named in Fields.classes, where they do not name their own
    config: str = ""  # the class that a config is made with; empty where the sizes are keyword arguments
    prefix: str = ""  # what stands before every row in a class with a head
    rename: Mapping[str, str] = field(default_factory=dict)  # torch's word -> ours, inside parameter names
    stacks: Mapping[str, Expr] = field(default_factory=dict)  # our names for kinds of layers in torch's one list
    arguments: Mapping[str, Any] = field(default_factory=dict)  # what else the class is made with
    conditions: tuple[Divides, ...] = ()  # what the class asks for beyond what the formula needs
    masked: bool = True  # whether it takes a mask [B,1,S,C]; else it is given none, and makes its own
    cached: bool = True  # whether it has a cache, where its attention could use one
    unread: str = ""  # why it is not known what its code keeps for the backward pass, where nobody read that off it
    author: str = ""  # who wrote it, where that is not plain from the library's name


@dataclass(frozen=True, kw_only=True)
class Architecture(Component):
    """A whole model. A subclass adds how configs fill it, its witness, and the variants that are certified."""

    role: ClassVar[str] = "model"
    fields: ClassVar[Fields]
    witness: ClassVar[Witness]
    # Each variant is a set of options; the first is the default. Every one is proved, and printed in the derivation.
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)

    @property
    def library(self) -> str:
        """The library of its witness."""
        return self.witness.library

    @property
    def unread(self) -> str:
        """Why it is not known what its class keeps for the backward pass; "" where it is."""
        return self.witness.unread
