"""The base of every part: a frozen value whose ``forward`` is written in the closed set of operations."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from sympy import Expr

from ..formulas.formula import Formula
from ..language.errors import OptionError, UnknownNameError
from ..language.frozen import FrozenDict, Immutable
from ..language.shapes import shape_line
from ..language.sizes import Condition, Relations
from ..ledger.facts import Ledger, Tensor
from ..ledger.operations import Operations, record
from ..ledger.placement import Cut
from ..quantities import quantity as find_quantity
from ..quantities.quantity import Quantity

Names = tuple[str, ...]  # the type of an option that takes names, with commas between them
_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, kw_only=True)
class Component(Immutable, ABC):
    """A part of a model.

    A subclass is a frozen dataclass with the class attributes below and a ``forward``. Its fields of type ``bool``,
    ``Literal`` or ``Names`` are its options, those of type ``Expr`` are sizes, and those of type ``str`` are names that
    torch has for it.
    """

    title: ClassVar[str]  # "Self-attention"
    role: ClassVar[str]  # which row of a comparison it belongs to: "attention"
    shapes: ClassVar[str]  # "x[B,S,E] -> y[B,S,E]"
    relations: ClassVar[Relations] = FrozenDict()  # sizes determined by others, if the part is used alone
    constraints: ClassVar[tuple[Condition, ...]] = ()

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Refuse a field that hides a method or a property of a part: whoever asks for the one would get the other."""
        super().__init_subclass__(**arguments)
        if isinstance(relations := vars(cls).get("relations"), dict):
            cls.relations = FrozenDict(relations)
        for name in inspect.get_annotations(cls):
            for base in cls.__mro__[1:]:
                declared = name in inspect.get_annotations(base)  # what is declared is there for subclasses to give
                if name in vars(base) and not declared:
                    raise TypeError(f"{cls.__name__}.{name} hides {base.__name__}.{name}; call the field otherwise")

    @abstractmethod
    def forward(self, ops: Operations, *inputs: Any) -> Any:
        """Write this part's entries and return its output."""

    def split(self, cut: Cut) -> Component:
        """This part as one of several ranks has it. What is not divided stands on every rank."""
        return self

    @cached_property
    def ledger(self) -> Ledger:
        """This part alone, on inputs of the shapes its shape line names."""
        return record(self)

    @property
    def totals(self) -> Relations:
        """Sizes that count several kinds together: of layers of two kinds, how many there are."""
        return {}

    @property
    def library(self) -> str:
        """The library that has this part as a torch class; "" for none."""
        return ""

    @property
    def unread(self) -> str:
        """Why it is not known what its class keeps for the backward pass; "" where it is."""
        return ""

    def answering(self, question: Quantity, given: Mapping[str, str]) -> Component:
        """The part whose ledger answers a quantity under these conventions: itself, unless its facts are measured."""
        return self

    @property
    def name(self) -> str:
        """The name on the command line: the file's name with hyphens."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    def formula(self, quantity: str = "params", **conventions: str) -> Formula:
        """One quantity of this part alone. Raises UnknownNameError, OptionError and RuleError."""
        return find_quantity(quantity).formula(self, self.name, conventions, dict(self.relations))

    def under(self, relations: Relations) -> Component:
        """This part with relations between sizes put into its own: what it is in a model that has them."""
        sizes = {item.name: size for item in fields(self) if isinstance(size := getattr(self, item.name), Expr)}
        return replace(self, **{name: size.xreplace(relations) for name, size in sizes.items()})

    @property
    def about(self) -> str:
        """What it is, for a document: the first paragraph of its docstring. A paper is cited by its key in brackets."""
        return " ".join((type(self).__doc__ or "").split("\n\n")[0].split())

    @property
    def params(self) -> Formula:
        """The number of parameters."""
        return self.formula("params")

    @classmethod
    def choices(cls) -> dict[str, tuple[Any, ...]]:
        """Its options, each with the values it takes; with none, where it takes names."""
        return dict(_choices(cls))

    @classmethod
    def options_from(cls, given: Mapping[str, str | bool]) -> dict[str, Any]:
        """Options as text (``--option tied=false``), read. Raises UnknownNameError and OptionError."""
        choices = cls.choices()
        read: dict[str, Any] = {}
        for name, spelt in given.items():
            if name not in choices:
                raise UnknownNameError("option", name, choices)
            if not choices[name]:
                read[name] = _names(name, spelt)
                continue
            value = _BOOLEANS.get(str(spelt).lower(), spelt) if choices[name] == (True, False) else spelt
            if value not in choices[name]:
                expected = " or ".join(spell_option(choice) for choice in choices[name])
                raise OptionError(f"{name}={value} is not understood; {name} is {expected}")
            read[name] = value
        return read

    def spell(self) -> str:
        """Its options for a sentence: ``head=lm, tied=true``."""
        chosen = {name: getattr(self, name) for name in self.choices()}
        said = [f"{name}={spell_option(value)}" for name, value in chosen.items() if value != ()]
        return ", ".join(said) or "no options"

    @property
    def chosen(self) -> dict[str, str]:
        """The options that differ from this part's defaults, as text."""
        defaults = {item.name: item.default for item in fields(self)}
        return {
            name: spell_option(getattr(self, name)) for name in self.choices() if getattr(self, name) != defaults[name]
        }


@cache
def _choices(part: type[Component]) -> Mapping[str, tuple[Any, ...]]:
    hints = get_type_hints(part)
    found: dict[str, tuple[Any, ...]] = {}
    for item in fields(part):
        if hints[item.name] is bool:
            found[item.name] = (True, False)
        elif get_origin(hints[item.name]) is Literal:
            found[item.name] = get_args(hints[item.name])
    return {**found, **{item.name: () for item in fields(part) if hints[item.name] == Names}}


def _names(option: str, given: object) -> Names:
    """Names with commas between them, or apart. Raises OptionError for none, and for one that stands there twice."""
    names = tuple(name.strip() for name in given.split(",")) if isinstance(given, str) else given
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) and name for name in names):
        raise OptionError(f"{option}={given} is not understood; it takes names, such as {option}=q_proj,v_proj")
    if twice := [name for name in names if names.count(name) > 1]:
        raise OptionError(f"{option}={given} names {twice[0]} twice; keep one")
    return tuple(names)


def spell_option(value: object) -> str:
    """An option's value as it is written on the command line."""
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_by(part: Component, x: Tensor, context: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """What a part inside a block reads: x, and what the block was given beside it if the part has a second input.

    Of what was given by name, as a mapping, it reads what its shape line names.
    """
    wanted = [axes.name for axes in shape_line(part.shapes).inputs[1:]]
    if context and isinstance(context[0], Mapping):
        return (x, *(context[0][name] for name in wanted))
    return (x, *context) if wanted else (x,)


def beside(part: Component | None) -> str:
    """What a part reads beside its first input, as its shape line spells it: ``, bias[1,A,S,S]``."""
    inputs = part.shapes.partition("->")[0].rstrip() if part else ""
    return inputs[inputs.find("]") + 1 :]
