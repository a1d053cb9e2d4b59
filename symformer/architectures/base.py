"""The base of every architecture: a whole model, how a config.json fills its sizes, and who bears witness to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sympy import Expr, Symbol

from ..components.base import Component
from ..errors import ConfigError, SizeError
from ..sizes import Divides, Numbers, evaluate, whole
from ..symbols import L, letter


@dataclass(frozen=True)
class Field:
    """Where a size stands in a config.json: its names, the first the current one, and what it is when left out."""

    names: tuple[str, ...]
    default: int | Expr | None = None
    beside: Symbol | None = None  # another size, where the field holds the sum of the two

    def read(self, size: Symbol, config: Mapping[str, Any]) -> int | Expr:
        """The number, or an expression over other sizes. Raises ConfigError naming the field and its value."""
        found = {name: config[name] for name in self.names if config.get(name) is not None}
        if not found:
            if self.default is None:
                names = " or ".join(map(repr, self.names))
                raise ConfigError(f"the config has no {names}, and {size} ({letter(size).meaning}) has no default")
            return self.default
        numbers = {}
        for name, value in found.items():
            try:
                numbers[name] = whole(f"{name!r}", value)
            except SizeError as error:
                raise ConfigError(f"in the config, {error}") from None
        if len(set(numbers.values())) > 1:
            both = " and ".join(f"{name!r} = {number}" for name, number in numbers.items())
            raise ConfigError(f"the config gives {size} ({letter(size).meaning}) twice: {both}; keep one")
        return next(iter(numbers.values()))


@dataclass(frozen=True)
class Switch:
    """Where an option stands in a config.json, and what it is when left out."""

    name: str
    default: bool


@dataclass(frozen=True)
class Layers:
    """How a config tells of layers of several kinds: a list of names, or a pattern that repeats down the depth."""

    sizes: Mapping[str, Symbol]  # the name of a kind -> how many layers there are of it
    pattern: tuple[str, ...]  # what repeats where the list is left out
    depth: Field
    name: str = "layer_types"

    def read(self, config: Mapping[str, Any]) -> Numbers:
        """How many layers there are of each kind. Raises ConfigError."""
        listed = config.get(self.name)
        depth = int(self.depth.read(L, config))
        if listed is None:
            whole_times, rest = divmod(depth, len(self.pattern))
            counts = {
                kind: whole_times * self.pattern.count(kind) + self.pattern[:rest].count(kind) for kind in self.sizes
            }
        elif not isinstance(listed, list) or not all(kind in self.sizes for kind in map(str, listed)):
            raise ConfigError(f"{self.name!r} is not a list of {' and '.join(self.sizes)} in the config")
        else:
            counts = {kind: listed.count(kind) for kind in self.sizes}
            if self.depth.names[0] in config and len(listed) != depth:
                raise ConfigError(
                    f"{self.name!r} has {len(listed)} layers in the config and {self.depth.names[0]!r} is {depth}"
                )
        if none := [kind for kind, count in counts.items() if count == 0]:
            raise ConfigError(f"the config has no layer of the kind {none[0]!r}, and the formula is for both kinds")
        return {size: counts[kind] for kind, size in self.sizes.items()}

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """The list, one kind after another: what a model stores and computes does not depend on the order."""
        listed = [kind for kind, size in self.sizes.items() for _ in range(numbers[size])]
        return {self.name: listed, self.depth.names[0]: len(listed)}


@dataclass(frozen=True)
class Fields:
    """How a config fills an architecture, and how an architecture is written back as a config."""

    sizes: Mapping[Symbol, Field]
    switches: Mapping[str, Switch] = field(default_factory=dict)
    layers: Layers | None = None  # where a model's layers are of several kinds, mixed
    nullable: Mapping[str, Symbol] = field(default_factory=dict)  # option -> the size whose field is null without it
    model_types: tuple[str, ...] = ()
    classes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # torch class -> the options it stands for
    fixed: Mapping[str, Any] = field(default_factory=dict)  # a field that changes the model; only this value is known

    def read(self, config: Mapping[str, Any]) -> tuple[dict[str, Any], Numbers]:
        """The options and the numbers of a config. Raises ConfigError."""
        for name, expected in self.fixed.items():
            if (value := config.get(name, expected)) not in (expected, None):
                raise ConfigError(
                    f"{name!r} is {value!r} in the config; that changes the weights, and only {expected!r} is known"
                )
        options = self._options(config)
        for option, switch in self.switches.items():
            value = config.get(switch.name, switch.default)
            if not isinstance(value, bool):
                raise ConfigError(f"{switch.name!r} is {value!r} in the config, which is not true or false")
            options[option] = value
        left_out = set()
        for option, size in self.nullable.items():
            names = [name for name in self.sizes[size].names if name in config]
            options[option] = not names or any(config[name] is not None for name in names)
            left_out |= set() if options[option] else {size}
        found = {size: place.read(size, config) for size, place in self.sizes.items() if size not in left_out}
        numbers: Numbers = {size: value for size, value in found.items() if isinstance(value, int)}
        numbers |= self.layers.read(config) if self.layers else {}
        for size, place in self.sizes.items():
            if place.beside is not None:
                total, other = numbers[size], numbers[place.beside]
                if total <= other:
                    both = f"{place.names[0]!r} is {total} and {self.sizes[place.beside].names[0]!r} is {other}"
                    raise ConfigError(f"in the config {both}, which leaves no {letter(size).meaning}")
                numbers[size] = total - other
        for size, value in found.items():
            if isinstance(value, Expr):
                try:
                    numbers[size] = evaluate(value, numbers, str(size))
                except SizeError:
                    sizes = ", ".join(f"{name}={numbers[name]}" for name in sorted(value.free_symbols, key=str))
                    raise ConfigError(f"the config leaves {size} out, and {value} is not whole for {sizes}") from None
        return options, numbers

    def _options(self, config: Mapping[str, Any]) -> dict[str, Any]:
        named = config.get("architectures")
        if not named:
            return {}
        if not (isinstance(named, list) and len(named) == 1 and isinstance(named[0], str)):
            raise ConfigError(f"'architectures' is {named!r} in the config; it should be a list of one class name")
        if named[0] not in self.classes:
            raise ConfigError(
                f"'architectures' names {named[0]!r}, whose head is not known here; known: {', '.join(self.classes)}"
            )
        return dict(self.classes[named[0]])

    def write(self, component: Component, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """The config of a component at given sizes: the inverse of read."""
        config: dict[str, Any] = {
            place.names[0]: numbers[size] + (numbers[place.beside] if place.beside else 0)
            for size, place in self.sizes.items()
            if size in numbers
        }
        config |= {switch.name: getattr(component, option) for option, switch in self.switches.items()}
        config |= self.layers.write(numbers) if self.layers else {}
        for option, size in self.nullable.items():
            if not getattr(component, option):
                config[self.sizes[size].names[0]] = None
        return config

    def class_for(self, component: Component) -> str:
        """The torch class whose options are the component's. Raises ConfigError."""
        for name, options in self.classes.items():
            if all(getattr(component, option) == value for option, value in options.items()):
                return name
        raise ConfigError(f"no torch class stands for {component.name} with {component.spell()}")


@dataclass(frozen=True)
class Witness:
    """The torch side of an architecture, by name; only :mod:`symformer.witness` imports it."""

    library: str  # the module that holds the classes named in Fields.classes, where they do not name their own
    config: str = ""  # the class that a config is made with; empty where the sizes are keyword arguments
    prefix: str = ""  # what stands before every row in a class with a head
    rename: Mapping[str, str] = field(default_factory=dict)  # torch's word -> ours, inside parameter names
    stacks: Mapping[str, Symbol] = field(default_factory=dict)  # our names for kinds of layers in torch's one list
    arguments: Mapping[str, Any] = field(default_factory=dict)  # what else the class is made with
    conditions: tuple[Divides, ...] = ()  # what the class asks for beyond what the formula needs
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
