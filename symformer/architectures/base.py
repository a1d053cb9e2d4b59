"""The base of every architecture: a whole model, how a config.json fills its sizes, and who bears witness to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, reduce
from typing import Any, ClassVar

from sympy import Expr

from ..components.base import Component
from ..components.base import Names as Words
from ..configs.fields import (
    Chance,
    Choice,
    Field,
    Fields,
    Function,
    Labels,
    Layers,
    Multiple,
    Rounds,
    Setting,
    Share,
    Spelt,
    Switch,
)  # fmt: skip
from ..configs.usual import HEAD_WIDTH, NO_TABLE, NO_WINDOW, OPENAI, PLAIN, rotating, usual
from ..language.sizes import Divides
from ..language.symbols import A, E
from ..ledger.adapters import CHANGES, Adapter, adapted
from ..ledger.facts import Activation, Ledger
from ..ledger.operations import record

# An architecture's file has from here whatever says how a config fills it, and who bears witness to it.
__all__ = [
    "HEADS_DIVIDE",
    "HEAD_WIDTH",
    "NO_TABLE",
    "NO_WINDOW",
    "OPENAI",
    "OWN_ATTENTION",
    "PLAIN",
    "Activation",
    "Architecture",
    "Chance",
    "Choice",
    "Field",
    "Fields",
    "Function",
    "Labels",
    "Layers",
    "Multiple",
    "Names",
    "Rounds",
    "Share",
    "Spelt",
    "Switch",
    "Variants",
    "Witness",
    "option",
    "rotating",
    "unknown",
    "usual",
]


LORA = "Hu et al. 2021 [hu2021], section 4.1"
HOULSBY = "Houlsby et al. 2019 [houlsby2019], section 2.1"
# What a class may ask for where the width of its heads is their own: that E/A is whole as well.
HEADS_DIVIDE = (Divides(A, E),)
OWN_ATTENTION = "the code of its attention is its own, and nobody has read off it what it keeps"
Variants = tuple[Mapping[str, Any], ...]
SETTING = "setting"  # in what a dataclass keeps of a field: where a config has it


@dataclass(frozen=True)
class Names:
    """What torch calls the parts of a model."""

    table: str = "embed_tokens"
    positions: str = ""  # a table of those; "" where there is none
    layers: str = "layers"
    norm: str = "norm"
    head: str = "lm_head"


def option(setting: Setting) -> Any:
    """An option that a config has: where it stands there. Where a config leaves it out, it is what it is by default.

    A subclass says it again where it stands elsewhere, or where its default is another.
    """
    return field(default=setting.read({}), metadata={SETTING: setting})


def unknown(part: str) -> str:
    """Why it is not known what a class keeps for the backward pass."""
    return f"what the class keeps of {part} is not known"


@dataclass(frozen=True)
class Witness:
    """The torch side of an architecture, by name; only :mod:`symformer.witness` imports it."""

    stem: str = ""  # what transformers calls its classes by: Llama, of LlamaConfig, LlamaModel and LlamaForCausalLM
    library: str = "transformers"  # the module that holds the classes, where they do not name their own
    prefix: str = "model."  # what stands before every row in a class with a head
    rename: Mapping[str, str] = field(default_factory=dict)  # torch's word -> ours, inside parameter names
    stacks: Mapping[str, Expr] = field(default_factory=dict)  # our names for kinds of layers in torch's one list
    arguments: Mapping[str, Any] = field(default_factory=dict)  # what else the class is made with
    conditions: tuple[Divides, ...] = ()  # what the class asks for beyond what the formula needs
    masked: bool = True  # whether it takes a mask [B,1,S,C]; else it is given none, and makes its own
    cached: bool = True  # whether it has a cache, where its attention could use one
    unread: str = ""  # why it is not known what its code keeps for the backward pass, where nobody read that off it
    author: str = ""  # who wrote it, where that is not plain from the library's name

    @property
    def config(self) -> str:
        """The class that a config is made with; empty where the sizes are keyword arguments."""
        return f"{self.stem}Config" if self.stem else ""


class Collected:
    """What the configs of an architecture say: what its class and the bases of it say, and where its options stand."""

    def __get__(self, instance: Architecture | None, owner: type[Architecture]) -> Fields:
        return _collected(owner)


@cache
def _collected(owner: type[Architecture]) -> Fields:
    said = [vars(base)["config"] for base in reversed(owner.__mro__) if "config" in vars(base)]
    whole: Fields = reduce(lambda base, own: own.beside(base), said)
    stem = owner.witness.stem
    return replace(
        whole,
        options={item.name: item.metadata[SETTING] for item in dataclasses.fields(owner) if SETTING in item.metadata},
        classes=whole.classes or {f"{stem}{end}": options for end, options in owner.heads.items()},
        model_types=whole.model_types or ((owner.__module__.rpartition(".")[2],) if stem else ()),
    )


@dataclass(frozen=True, kw_only=True)
class Architecture(Component):
    """A whole model. A subclass adds how configs fill it, its witness, and the variants that are certified."""

    lora: Words = ()  # the linear layers that have an update of low rank beside them, by the last words of their names
    adapters: Words = ()  # those that have a narrow hidden layer after them

    role: ClassVar[str] = "model"
    # How configs fill it, beside what is said of its bases and of its options. It reads the model type that its file is
    # called by, unless it says otherwise.
    config: ClassVar[Fields] = Fields()
    heads: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # how torch's classes end -> the options each stands for
    witness: ClassVar[Witness]
    # Each variant is a set of options; the first is the default. Every one is proved, and printed in the derivation.
    variants: ClassVar[Variants] = ({},)

    fields = Collected()

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
