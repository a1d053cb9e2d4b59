"""The base class of architectures: a whole model, its config fields, and its torch class for verification."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar

from sympy import Symbol

from ..components.base import Component
from ..components.base import Names as Words
from ..configs.config_fields import (
    AdjustedField,
    BoolField,
    Choice,
    EitherField,
    EitherProbability,
    EqualNumbersField,
    Field,
    FractionField,
    Function,
    Labels,
    MultipleField,
    OptionalNumberField,
    ProbabilityField,
    RotaryBase,
)
from ..configs.field_mapping import Fields
from ..configs.indexed_layers import IndexedLayers
from ..configs.layers import DenseLayers, Layers, RepeatedLayers, RotaryLayers, SpelledLayers
from ..configs.usual_fields import HEAD_WIDTH, NO_TABLE, NO_WINDOW, OPENAI, PLAIN, rotating, usual
from ..language.sizes import Divides
from ..language.symbols import A, E
from ..ledger.adapters import ALL, CHANGES, Adapter, adapted
from ..ledger.facts import Activation, Ledger
from ..ledger.operations import record

if TYPE_CHECKING:
    from ..configs.config_fields import Setting

# Architecture files import everything about config fields and torch classes from here.
__all__ = [
    "HEADS_DIVIDE",
    "HEAD_WIDTH",
    "NO_TABLE",
    "NO_WINDOW",
    "OPENAI",
    "OWN_ATTENTION",
    "PLAIN",
    "Activation",
    "AdjustedField",
    "Architecture",
    "BoolField",
    "Choice",
    "DenseLayers",
    "EitherField",
    "EitherProbability",
    "EqualNumbersField",
    "Field",
    "Fields",
    "FractionField",
    "Function",
    "IndexedLayers",
    "Labels",
    "Layers",
    "MultipleField",
    "Names",
    "OptionalNumberField",
    "ProbabilityField",
    "RepeatedLayers",
    "RotaryBase",
    "RotaryLayers",
    "SpelledLayers",
    "Variants",
    "WitnessSpec",
    "option",
    "rotating",
    "unknown",
    "usual",
]


LORA = "Hu et al. 2021 [hu2021], section 4.1"
DORA = "Liu et al. 2024 [liu2024b], section 4.1"
HOULSBY = "Houlsby et al. 2019 [houlsby2019], section 2.1"
DORA_MEANING = "Low-rank updates with a trained magnitude of each output feature (DoRA) are added to"
# Some classes require that E/A is an integer although their head dimension is independent of it.
HEADS_DIVIDE = (Divides(A, E),)
OWN_ATTENTION = "the tensors that its own attention code saves are not known"
Variants = tuple[Mapping[str, Any], ...]
SETTING = "setting"  # the metadata key of an option's config field


@dataclass(frozen=True)
class Names:
    """The names of a model's parts in torch."""

    table: str = "embed_tokens"
    positions: str = ""  # the position table, or "" if there is none
    layers: str = "layers"
    norm: str = "norm"
    head: str = "lm_head"


def option(setting: Setting) -> Any:
    """Declare an option with its config field, whose default is the default of the option.

    A subclass redeclares the option if its field or its default differs.
    """
    return field(default=setting.read({}), metadata={SETTING: setting})


def unknown(part: str) -> str:
    """Return the reason that the saved tensors of a class are not known."""
    return f"the tensors that the class saves for {part} are not known"


@dataclass(frozen=True)
class WitnessSpec:
    """The torch class of an architecture, by name. Only ``symformer.witness`` imports it."""

    stem: str = ""  # the prefix of its classes in transformers: Llama for LlamaConfig, LlamaModel, LlamaForCausalLM
    library: str = "transformers"  # the module of the classes, unless their names include it
    prefix: str = "model."  # the prefix of parameter names in a class with a head
    rename: Mapping[str, str] = field(default_factory=dict)  # torch's word -> symformer's word in parameter names
    arguments: Mapping[str, Any] = field(default_factory=dict)  # further arguments of the class or its config
    # The ends of the paths of operations for which the class calls a function instead of a module of that path.
    functions: tuple[str, ...] = ("attention_dropout",)  # which the attention functions of transformers apply
    conditions: tuple[Divides, ...] = ()  # conditions of the class that the formula does not need
    fixed: Mapping[Symbol, int] = field(default_factory=dict)  # sizes without effect on the counts, and their values
    masked: bool = True  # whether it accepts a mask [B,1,S,C]; otherwise it builds its own
    cached: bool = True  # whether it has a cache
    each_image: bool = False  # whether it reads patches with a grid, and attends within one image at a time
    every_expert: bool = False  # whether its code multiplies every token by all X experts, instead of K
    activation_refusal: str = ""  # why the saved tensors of its code are not known, if they are not
    accepts_sdpa: bool = True  # whether the class accepts torch's fused attention
    author: str = ""  # who wrote it, if the name of the library does not tell

    @classmethod
    def ours(cls, module: str, functions: tuple[str, ...] = ()) -> WitnessSpec:
        """Return the witness in a small torch module of symformer, written from a paper or for teaching."""
        path = f"symformer.witness.models.{module}"
        return cls(library=path, prefix="", functions=functions, author="a small torch module of symformer's own")

    @property
    def config(self) -> str:
        """Return the name of the config class, or "" if the sizes are keyword arguments."""
        return f"{self.stem}Config" if self.stem else ""


class CollectedFields:
    """The config fields of an architecture, collected from its class, its base classes and its options."""

    def __get__(self, instance: Architecture | None, owner: type[Architecture]) -> Fields:
        return collected_fields(owner, Architecture)


@cache
def collected_fields(owner: type[Architecture], since: type[Architecture]) -> Fields:
    """Return the config fields that a class and its bases define, down to the base ``since``."""
    bases = [base for base in reversed(owner.__mro__) if issubclass(base, since)]
    said = [vars(base)["config"] for base in bases if "config" in vars(base)]
    whole: Fields = reduce(lambda base, own: own.combined_with(base), said)
    stem, own = owner.witness.stem, {name for base in bases for name in vars(base).get("__annotations__", {})}
    options = {item.name: item.metadata[SETTING] for item in dataclasses.fields(owner) if SETTING in item.metadata}
    return replace(
        whole,
        options={name: setting for name, setting in options.items() if name in own},
        classes=whole.classes or {f"{stem}{end}": options for end, options in owner.heads.items()},
        model_types=whole.model_types or ((owner.__module__.rpartition(".")[2],) if stem else ()),
    )


def _layers(targets: Words) -> str:
    """Return the linear layers with an adapter as text."""
    return "every linear layer of its blocks" if targets == ALL else " and ".join(targets)


@dataclass(frozen=True, kw_only=True)
class Architecture(Component):
    """A whole model. A subclass sets its config fields, its torch class, and the variants that are certified."""

    lora: Words = ()  # the linear layers with a low-rank update, by the last words of their names; or all
    dora: Words = ()  # the linear layers with a low-rank update and a trained magnitude of each output feature
    adapters: Words = ()  # the linear layers followed by a bottleneck adapter

    role: ClassVar[str] = "model"
    # Its config fields, in addition to the fields of its bases and its options. It reads the model type of the same
    # name as its file, unless model_types is set.
    config: ClassVar[Fields] = Fields()
    heads: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # suffix of a torch class -> the options it implies
    witness: ClassVar[WitnessSpec]
    # Each variant is a set of options; the first is the default. All are verified and appear in the derivation.
    variants: ClassVar[Variants] = ({},)
    compared_with: ClassVar[str] = ""  # its nearest relative, if that is not the one that differs in the fewest parts
    # Options that count weights which a published total excludes, with words for these weights.
    uncounted: ClassVar[Mapping[str, str]] = {}

    fields = CollectedFields()

    @cached_property
    def ledger(self) -> Ledger:
        """Return the ledger of the whole model, including its adapters."""
        given = [Adapter(name, targets) for name in CHANGES if (targets := getattr(self, name))]
        return adapted(self, given) if given else record(self)

    @property
    def about(self) -> str:
        """Return the description for documents, with the adapters."""
        said = [super().about]
        said += [f"Low-rank updates (LoRA) are added to {_layers(self.lora)}, {LORA}."] if self.lora else []
        said += [f"{DORA_MEANING} {_layers(self.dora)}, {DORA}."] if self.dora else []
        said += [f"Bottleneck adapters follow {_layers(self.adapters)}, {HOULSBY}."] if self.adapters else []
        said += ["Only these are trained; all other weights are frozen."] if len(said) > 1 else []
        return " ".join(said)

    @property
    def library(self) -> str:
        """Return the library of its torch class."""
        return self.witness.library

    @property
    def functions(self) -> tuple[str, ...]:
        return self.witness.functions

    @property
    def activation_refusal(self) -> str:
        """Return why the saved tensors of its torch class are not known, or "" if they are known."""
        return self.witness.activation_refusal

    @property
    def accepts_sdpa(self) -> bool:
        """Return whether its torch class accepts torch's fused attention."""
        return self.witness.accepts_sdpa
