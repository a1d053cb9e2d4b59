"""Where a size or an option stands in a config: its names, what it is when left out, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from sympy import Expr, Symbol

from ..language.errors import ConfigError, SizeError, UnreadError
from ..language.notation.text import text
from ..language.sizes import Numbers, evaluate, shown, whole
from ..language.symbols import letter
from ..ledger.facts import Activation
from .known import Config
from .rotary import PARTLY, ROTARY

SAME_FUNCTION = {"swish": "silu"}  # transformers' further name -> ours


@dataclass(frozen=True)
class Field:
    """Where a size stands in a config.json: its names, the first the current one, and what it is when left out."""

    names: tuple[str, ...]
    default: int | Expr | None = None
    beside: Symbol | None = None  # another size, where the field holds the sum of the two
    null: bool = False  # whether the class takes null, and then does as if the field were left out
    auto: bool = field(default=False, repr=False)  # whether it takes "auto", and then does so
    twins: tuple[str, ...] = ()  # fields of the same size in another part, with a like default; all have to agree

    @property
    def part_of(self) -> str:
        """The size that the field holds a part or a multiple of; "" where it holds a number of its own."""
        return ""

    def read(self, size: Symbol, config: Config) -> int | Expr:
        """The number, or an expression over other sizes. Raises ConfigError naming the field and its value."""
        number = self._read(size, config)
        for twin in self.twins:
            if (other := replace(self, names=(twin,), twins=()).read(size, config)) != number:
                raise UnreadError(
                    f"in the config {self.names[0]!r} is {number} and {twin!r} is {other}; only one "
                    f"{size} ({letter(size).meaning}) for both is known"
                )
        return number

    def _read(self, size: Symbol, config: Config) -> int | Expr:
        found = {name: config[name] for name in self.names if name in config}
        found = {name: value for name, value in found.items() if not (self.auto and value == "auto")}
        for name in [name for name, value in found.items() if value is None]:
            if not self.null:  # some classes take it, and do what nothing composed does
                raise UnreadError(
                    f"{name!r} is null in the config, and {size} ({letter(size).meaning}) is a whole number; give one, "
                    "or leave the field out"
                )
            del found[name]
        if not found:
            if self.default is None:
                names = " or ".join(map(repr, self.names))
                raise UnreadError(f"the config has no {names}, and {size} ({letter(size).meaning}) has no default")
            return self.default
        numbers = {name: whole_number(name, value) for name, value in found.items()}
        if len(set(numbers.values())) > 1:
            both = " and ".join(f"{name!r} = {number}" for name, number in numbers.items())
            raise ConfigError(f"the config gives {size} ({letter(size).meaning}) twice: {both}; keep one")
        return next(iter(numbers.values()))


class Derived(Field):
    """Where a config has a size by another one."""

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """The number, as the class computes it. Raises ConfigError."""
        raise NotImplementedError

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> float:
        """What is read as this number."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Multiple(Derived):
    """Where a config has how many times another size goes into this one: a mixer's inner width, by its expansion."""

    of: Symbol

    @property
    def part_of(self) -> str:
        return str(self.of)

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        return int(self.read(size, config)) * numbers[self.of]

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> int:
        return number // numbers[self.of]


@dataclass(frozen=True, kw_only=True)
class Share(Derived):
    """Where a config has a size as a part of another one: of a head's width, what rotary positions turn."""

    of: Expr
    part: float  # where the field is left out

    @property
    def part_of(self) -> str:
        return text(self.of)

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """The number, as the class computes it. Raises ConfigError."""
        parts = {name: config[name] for name in self.names if name in config}
        for name in ROTARY:
            if isinstance(inside := config.get(name), dict) and PARTLY in inside:
                parts[f"{name}.{PARTLY}"] = inside[PARTLY]
        if any(part != next(iter(parts.values())) for part in parts.values()):
            both = " and ".join(f"{name!r} = {shown(value)}" for name, value in parts.items())
            raise ConfigError(f"the config gives {size} ({letter(size).meaning}) twice: {both}; keep one")
        name, value = next(iter(parts.items()), (self.names[0], self.part))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise ConfigError(f"{name!r} is {shown(value)} in the config; it should be above 0 and at most 1")
        whole = evaluate(self.of, numbers, str(size))
        if not (number := int(whole * value)):
            raise ConfigError(f"{name!r} is {shown(value)} in the config, which is nothing of {self.part_of} = {whole}")
        return number

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> float:
        """A part that is read as this number."""
        whole = evaluate(self.of, numbers, self.names[0])
        exact = number / whole
        return exact if int(whole * exact) == number else (number + 0.5) / whole


@dataclass(frozen=True)
class Labels(Field):
    """Where the number of a classifier's classes stands, or a name for each of them."""

    def read(self, size: Symbol, config: Config) -> int | Expr:
        """The number of names, where there are any, which transformers counts; else as any other."""
        number, names = self.names
        counted = super().read(size, {name: value for name, value in config.items() if name != names})
        if config.get(names) is None:
            return counted
        if not isinstance(config[names], dict) or not config[names]:
            raise ConfigError(f"{names!r} is {shown(config[names])} in the config; it should be a name for each class")
        if number in config and counted != len(config[names]):
            raise ConfigError(
                f"{number!r} is {counted} in the config, and {names!r} names {len(config[names])}; keep one"
            )
        return len(config[names])


@dataclass(frozen=True)
class Choice:
    """Where a field stands each of whose values stands for one of an option's, and what it is when left out."""

    name: str
    meanings: Mapping[Any, Any]  # the field's value -> the option's
    default: Any

    def read(self, config: Config) -> Any:
        """The option. Raises ConfigError."""
        value = config.get(self.name, self.default)
        for known, option in self.meanings.items():
            if value == known and isinstance(value, bool) == isinstance(known, bool):
                return option
        known = " or ".join(map(repr, self.meanings))
        raise UnreadError(f"{self.name!r} is {shown(value)} in the config; only {known} is known")

    def write(self, option: Any) -> Any:
        """The first of the field's values for an option. Raises ConfigError where none stands for it."""
        for value, meaning in self.meanings.items():
            if meaning == option:
                return value
        known = " or ".join(dict.fromkeys(str(meaning) for meaning in self.meanings.values()))
        raise ConfigError(f"no value of {self.name!r} in a config stands for {option}; some stand for {known}")


@dataclass(frozen=True)
class Switch:
    """Where an option stands that a config.json has as true or false, and what it is when left out."""

    name: str
    default: bool

    def read(self, config: Config) -> bool:
        """The option. Raises ConfigError."""
        value = config.get(self.name, self.default)
        if not isinstance(value, bool):
            refused = UnreadError if value is None else ConfigError
            raise refused(f"{self.name!r} is {shown(value)} in the config, which is not true or false")
        return value

    def write(self, option: Any) -> Any:
        """The field's value for an option."""
        return option


@dataclass(frozen=True)
class Function:
    """Where the activation function stands, by the names of transformers."""

    name: str
    default: str
    same: Mapping[str, str] = field(default_factory=dict)  # a name -> the function that the class takes for it

    def read(self, config: Config) -> str:
        """The function, by our name. Raises ConfigError."""
        value = config.get(self.name, self.default)
        if isinstance(value, str):
            value = {**SAME_FUNCTION, **self.same}.get(value, value)
        if value not in get_args(Activation):
            raise UnreadError(
                f"{self.name!r} is {shown(value)} in the config, which is no activation function without weights of "
                f"its own; known: {', '.join(get_args(Activation))}"
            )
        return str(value)

    def write(self, option: Any) -> Any:
        """The field's value for an option."""
        return option


@dataclass(frozen=True)
class Chance:
    """Where a probability of dropout stands; the option is whether it is more than 0."""

    name: str
    default: float

    def read(self, config: Config) -> bool:
        """Whether there is anything to drop. Raises ConfigError."""
        value = config.get(self.name, self.default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            refused = UnreadError if value is None else ConfigError
            raise refused(
                f"{self.name!r} is {shown(value)} in the config; a probability of dropout is from 0 to less than 1"
            )
        return value > 0

    def write(self, option: Any) -> Any:
        """A probability that reads as the option."""
        return (self.default or 0.1) if option else 0.0


Setting = Choice | Switch | Function | Chance  # where an option stands


def whole_number(name: str, value: object) -> int:
    try:
        return whole(f"{name!r}", value)
    except SizeError as error:
        raise ConfigError(f"in the config, {error}") from None
