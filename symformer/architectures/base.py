"""The base of every architecture: a whole model, how a config.json fills its sizes, and who bears witness to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from sympy import Expr

from ..components.base import Component, Names
from ..configs.fields import Chance, Choice, Field, Fields, Function, Labels, Layers, Rounds, Share, Switch
from ..language.sizes import Divides
from ..ledger.adapters import CHANGES, Adapter, adapted
from ..ledger.facts import Ledger
from ..ledger.operations import record

__all__ = [
    "Architecture",
    "Chance",
    "Choice",
    "Field",
    "Fields",
    "Function",
    "Labels",
    "Layers",
    "Rounds",
    "Share",
    "Switch",
    "Witness",
]


LORA = "Hu et al. 2021 [hu2021], section 4.1"
HOULSBY = "Houlsby et al. 2019 [houlsby2019], section 2.1"


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

    lora: Names = ()  # the linear layers that have an update of low rank beside them, by the last words of their names
    adapters: Names = ()  # those that have a narrow hidden layer after them

    role: ClassVar[str] = "model"
    fields: ClassVar[Fields]
    witness: ClassVar[Witness]
    # Each variant is a set of options; the first is the default. Every one is proved, and printed in the derivation.
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)

    @cached_property
    def ledger(self) -> Ledger:
        """The whole model, with its adapters where it has some."""
        given = [Adapter(name, targets) for name in CHANGES if (targets := getattr(self, name))]
        return adapted(self, given) if given else record(self)

    @property
    def about(self) -> str:
        """What it is, for a document, and what its adapters are."""
        said = [super().about]
        said += [f"Beside {' and '.join(self.lora)} stand updates of low rank (LoRA), {LORA}."] if self.lora else []
        said += [f"After {' and '.join(self.adapters)} stand adapters, {HOULSBY}."] if self.adapters else []
        said += ["These alone are trained, and the model is left as it is."] if len(said) > 1 else []
        return " ".join(said)

    @property
    def library(self) -> str:
        """The library of its witness."""
        return self.witness.library

    @property
    def unread(self) -> str:
        """Why it is not known what its class keeps for the backward pass; "" where it is."""
        return self.witness.unread
