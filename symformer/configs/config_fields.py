"""Fields of sizes and options in a config: their names, their defaults, and the errors for unsupported values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, get_args

from sympy import Expr, Symbol

from ..language.errors import ConfigError, SizeError, UnreadError
from ..language.notation.text import text
from ..language.sizes import Numbers, evaluate, format_value, whole
from ..language.symbols import letter
from ..ledger.facts import Activation
from .common_fields import Config
from .rotary import PARTLY, ROTARY

SAME_FUNCTION = {"swish": "silu"}  # alias in transformers -> symformer's name


@dataclass(frozen=True)
class Field:
    """The config field of a size: its names, the current one first, and its default."""

    names: tuple[str, ...]
    default: int | Expr | None = None
    beside: Symbol | None = None  # another size, if the field holds the sum of the two
    null: bool = False  # whether the class accepts null, and treats it as missing
    auto: bool = field(default=False, repr=False)  # whether the class accepts "auto", and treats it as missing
    absent: int | None = field(default=None, repr=False)  # the value in a model without this size, instead of null
    unset: bool = field(default=False, repr=False)  # whether a model that does not use the size can leave it null
    listed: bool = field(
        default=False, repr=False
    )  # whether the field can be a list with one number per layer, all equal
    twins: tuple[str, ...] = ()  # fields of the same size in another part, with the same default; all must agree

    @property
    def part_of(self) -> str:
        """Return the size that the field is a fraction or a multiple of, or "" if the field holds the size itself."""
        return ""

    @property
    def rule(self) -> str:
        """Return how the class computes the size from the field, or "" if the field holds the size itself."""
        return ""

    def read(self, size: Symbol, config: Config) -> int | Expr:
        """Return the number, or an expression over other sizes.

        Raises
        ------
        ConfigError
            If the value is malformed, or two names of the field have different values.
        UnreadError
            If the value is null, or missing without a default, or differs between two parts that share the size.

        """
        number = self._read(size, config)
        for twin in self.twins:
            if (other := replace(self, names=(twin,), twins=()).read(size, config)) != number:
                raise UnreadError(
                    f"in the config {self.names[0]!r} is {number} and {twin!r} is {other}; both must be the same "
                    f"{size} ({letter(size).meaning})"
                )
        return number

    def _read(self, size: Symbol, config: Config) -> int | Expr:
        found = {name: config[name] for name in self.names if name in config}
        found = {name: value for name, value in found.items() if not (self.auto and value == "auto")}
        for name in [name for name, value in found.items() if value is None]:
            if not self.null:  # some classes accept null, with a behavior that no built-in architecture has
                raise UnreadError(
                    f"{name!r} is null in the config, but {size} ({letter(size).meaning}) is an integer; set it or "
                    "remove the field"
                )
            del found[name]
        if not found:
            if self.default is None:
                names = " or ".join(map(repr, self.names))
                raise UnreadError(f"the config has no {names}, and {size} ({letter(size).meaning}) has no default")
            return self.default
        if self.listed:
            found = {name: same_in_every_layer(name, value, config) for name, value in found.items()}
        numbers = {name: whole_number(name, value) for name, value in found.items()}
        if len(set(numbers.values())) > 1:
            both = " and ".join(f"{name!r} = {number}" for name, number in numbers.items())
            raise ConfigError(f"the config sets {size} ({letter(size).meaning}) twice: {both}; keep one")
        return next(iter(numbers.values()))


class Derived(Field):
    """The config field of a size that is relative to another size."""

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number, as the class computes it. Raises ConfigError."""
        raise NotImplementedError

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> float:
        """Return the field's value for a number."""
        raise NotImplementedError

    @property
    def others(self) -> Mapping[str, Any]:
        """Return the other fields that the size depends on, with the values for which `written` is the inverse."""
        return {}

    def others_at(self, number: int, numbers: Mapping[Symbol, int]) -> Mapping[str, Any]:
        """Return the same for a number; a subclass overrides it if the values depend on the number."""
        return self.others


@dataclass(frozen=True, kw_only=True)
class MultipleField(Derived):
    """The config field of a size that is a multiple of another, such as a mixer's inner width by its expansion.

    >>> from symformer.language.symbols import A_ssm, D_ssm, E
    >>> MultipleField(("mamba_expand",), 2, of=E / A_ssm).taken(D_ssm, {}, {E: 24, A_ssm: 6})
    8
    """

    of: Expr

    @property
    def part_of(self) -> str:
        return text(self.of)

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number. Raises UnreadError if it is not an integer."""
        times = int(self.read(size, config))
        try:
            return evaluate(times * self.of, numbers, str(size))
        except SizeError as error:
            raise UnreadError(f"{self.names[0]!r} is {times} in the config, and {error}") from None

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> int:
        return evaluate(number / self.of, numbers, self.names[0])


@dataclass(frozen=True)
class HalvedField(Derived):
    """The config field of a size that is half of it, rounded down, such as the width of RecurrentGemma's MLP.

    >>> from symformer.language.symbols import H
    >>> HalvedField(("intermediate_size",), 7680).taken(H, {"intermediate_size": 15}, {})
    7
    """

    @property
    def rule(self) -> str:
        return "half, rounded down"

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number. Raises UnreadError if it is 0."""
        whole = int(self.read(size, config))
        if whole < 2:
            raise UnreadError(f"{self.names[0]!r} is {whole} in the config; half of it, rounded down, is 0")
        return whole // 2

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> int:
        return 2 * number


@dataclass(frozen=True, kw_only=True)
class FractionField(Derived):
    """The config field of a size that is a fraction of another, such as the rotary dimensions of a head."""

    of: Expr
    part: float  # the default
    whole: str = ""  # a field that can state the size directly

    @property
    def part_of(self) -> str:
        return text(self.of)

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number, as the class computes it. Raises ConfigError."""
        parts = {name: config[name] for name in self.names if name in config}
        given = [inside.get(PARTLY) for name in ROTARY if isinstance(inside := config.get(name), dict)]
        if any(each != given[0] for each in given):  # the class reads one of the two objects
            both = " and ".join(repr(name) for name in ROTARY if isinstance(config.get(name), dict))
            raise UnreadError(f"{both} in the config state different values of {PARTLY!r}; keep one of them")
        for name in ROTARY:
            if isinstance(inside := config.get(name), dict) and PARTLY in inside:
                parts[f"{name}.{PARTLY}"] = inside[PARTLY]
        whole = evaluate(self.of, numbers, str(size))
        if config.get(self.whole) is not None:
            stated = whole_number(self.whole, config[self.whole])
            if stated > whole:
                raise ConfigError(
                    f"{self.whole!r} is {stated} in the config; it should be at most {self.part_of} = {whole}"
                )
            parts[self.whole] = stated / whole
        if any(part != next(iter(parts.values())) for part in parts.values()):
            both = " and ".join(f"{name!r} = {format_value(value)}" for name, value in parts.items())
            raise ConfigError(f"the config sets {size} ({letter(size).meaning}) twice: {both}; keep one")
        name, value = next(iter(parts.items()), (self.names[0], self.part))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise ConfigError(f"{name!r} is {format_value(value)} in the config; it should be above 0 and at most 1")
        if not (number := int(whole * value)):
            raise ConfigError(
                f"{name!r} is {format_value(value)} in the config, which rounds down to 0 of {self.part_of} = {whole}"
            )
        return number

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> float:
        """Return a fraction that reads as this number."""
        whole = evaluate(self.of, numbers, self.names[0])
        exact = number / whole
        return exact if int(whole * exact) == number else (number + 0.5) / whole


@dataclass(frozen=True, kw_only=True)
class KindFractionField(FractionField):
    """The same fraction for every layer kind, each of which has an entry of its own in ``rope_parameters``."""

    kinds: tuple[str, ...]

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number, as the class computes it. Raises ConfigError."""
        entries = config.get(self.names[0])
        for name in ROTARY:
            if name in config and name not in (self.names[0], "rope_theta"):
                raise UnreadError(
                    f"{name!r} is {format_value(config[name])} in the config; only {self.names[0]!r} is supported"
                )
        parts = [self.part]
        if entries is not None:
            for kind in self.kinds:
                if not isinstance(entry := entries.get(kind), dict) or not {"rope_type", "rope_theta"} <= entry.keys():
                    raise ConfigError(
                        f"'{self.names[0]}.{kind}' is {format_value(entry)} in the config; it should have 'rope_type' "
                        "and 'rope_theta'"
                    )
            parts = [entries[kind].get(PARTLY, self.part) for kind in self.kinds]
        if any(part != parts[0] for part in parts):
            raise UnreadError(f"the kinds in {self.names[0]!r} in the config state different values of {PARTLY!r}")
        return super().taken(size, {PARTLY: parts[0]}, numbers)

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> Any:
        """Return the entries of all kinds, with a fraction that reads as this number."""
        part = super().written(number, numbers)
        return {kind: {"rope_type": "default", "rope_theta": 1e4, PARTLY: part} for kind in self.kinds}


@dataclass(frozen=True, kw_only=True)
class EarlierTokensField(Derived):
    """The config field of a window; another field can state the number of tokens before the current one."""

    earlier: str = "sliding_window_size"

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the tokens in the window, with the current one. Raises ConfigError."""
        number = int(self.read(size, config))
        if (before := config.get(self.earlier)) is None:
            return number
        return whole_number(self.earlier, before) + 1

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> int:
        """Return the number itself."""
        return number

    @property
    def others(self) -> Mapping[str, Any]:
        """Return the other field, without an effect."""
        return {self.earlier: None}


@dataclass(frozen=True, kw_only=True)
class AdjustedField(Derived):
    """The config field of LFM2's intermediate size, which the class reduces and then rounds up."""

    adjusted: str = "block_auto_adjust_ff_dim"  # whether it does
    multiplier: str = "block_ffn_dim_multiplier"
    multiple: str = "block_multiple_of"  # the result is a multiple of this number

    @property
    def rule(self) -> str:
        return f"two thirds, rounded up to a multiple of ``{self.multiple}``, unless ``{self.adjusted}`` is false"

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number, as the class computes it. Raises ConfigError."""
        number = int(self.read(size, config))
        factor, multiple = config.get(self.multiplier, 1.0), whole_number(self.multiple, config.get(self.multiple, 256))
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 100:
            raise ConfigError(
                f"{self.multiplier!r} is {format_value(factor)} in the config; it should be above 0 and below 100"
            )
        if not BoolField(self.adjusted, True).read(config):
            return number
        number = int(factor * int(2 * number / 3))
        if not number:
            raise ConfigError(f"{self.names[0]!r} times {self.multiplier!r} in the config leaves no {size}")
        return -(-number // multiple) * multiple

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> int:
        """Return the number itself."""
        return number

    @property
    def others(self) -> Mapping[str, Any]:
        return {self.adjusted: False, self.multiplier: 1.0, self.multiple: 256}


@dataclass(frozen=True, kw_only=True)
class EqualNumbersField(Derived):
    """The config field with a list of equal numbers, one for each of a fixed number of layers."""

    layers: int

    @property
    def rule(self) -> str:
        return f"each of the {self.layers} numbers of the list"

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number. Raises ConfigError, or UnreadError if the numbers differ."""
        listed = config.get(self.names[0], [self.default] * self.layers)
        if not isinstance(listed, list) or len(listed) != self.layers or any(each != listed[0] for each in listed):
            raise UnreadError(
                f"{self.names[0]!r} is {format_value(listed)} in the config; only a list of {self.layers} equal "
                "numbers is supported"
            )
        return whole_number(self.names[0], listed[0])

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> Any:
        """Return the list."""
        return [number] * self.layers


@dataclass(frozen=True)
class Labels(Field):
    """The config field of the number of classes of a classifier, or of their names."""

    def read(self, size: Symbol, config: Config) -> int | Expr:
        """Return the number of names if there are any, as transformers does, otherwise the number."""
        number, names = self.names
        counted = super().read(size, {name: value for name, value in config.items() if name != names})
        if config.get(names) is None:
            return counted
        if not isinstance(config[names], dict) or not config[names]:
            raise ConfigError(
                f"{names!r} is {format_value(config[names])} in the config; it should be a name for each class"
            )
        if number in config and counted != len(config[names]):
            raise ConfigError(
                f"{number!r} is {counted} in the config, but {names!r} names {len(config[names])}; keep one"
            )
        return len(config[names])


if TYPE_CHECKING:  # a protocol takes a millisecond to create

    class Setting(Protocol):
        """The config field of an option, and its default."""

        @property
        def name(self) -> str:
            """The name of the field."""

        @property
        def default(self) -> Any:
            """The value of a missing field."""

        def read(self, config: Config) -> Any:
            """Return the option. Raises ConfigError."""

        def write(self, option: Any) -> Any:
            """Return the value of the field for an option."""


@dataclass(frozen=True)
class Choice:
    """The config field of an option, with a value of the option for each value of the field, and a default."""

    name: str
    meanings: Mapping[Any, Any]  # the field's value -> the option's
    default: Any

    def read(self, config: Config) -> Any:
        """Return the option. Raises UnreadError."""
        value = config.get(self.name, self.default)
        for known, option in self.meanings.items():
            if value == known and isinstance(value, bool) == isinstance(known, bool):
                return option
        known = " or ".join(map(repr, self.meanings))
        raise UnreadError(f"{self.name!r} is {format_value(value)} in the config; only {known} is supported")

    def write(self, option: Any) -> Any:
        """Return the first of the field's values for an option. Raises ConfigError if it has none."""
        for value, meaning in self.meanings.items():
            if meaning == option:
                return value
        known = " or ".join(dict.fromkeys(str(meaning) for meaning in self.meanings.values()))
        raise ConfigError(f"no value of {self.name!r} in a config means {option}; possible options: {known}")


@dataclass(frozen=True)
class RotaryBase:
    """The config field of an option for rotary positions: a null base means that there are none."""

    name: str = "rope_theta"
    default: bool = True

    def read(self, config: Config) -> bool:
        """Return whether the base is not null. Raises UnreadError if it is null in one of two places only."""
        inside = [each for name in ROTARY if isinstance(each := config.get(name), dict)]
        found = [each[self.name] is not None for each in (config, *inside) if self.name in each]
        if len(set(found)) > 1:
            raise UnreadError(f"{self.name!r} is null in one place of the config and a number in another; keep one")
        return not found or found[0]

    def write(self, option: bool) -> float | None:
        """Return the usual base, or null."""
        return 10_000.0 if option else None


@dataclass(frozen=True)
class BoolField:
    """The config field of an option that is true or false, and its default."""

    name: str
    default: bool

    def read(self, config: Config) -> bool:
        """Return the option. Raises ConfigError."""
        value = config.get(self.name, self.default)
        if not isinstance(value, bool):
            refused = UnreadError if value is None else ConfigError
            raise refused(f"{self.name!r} is {format_value(value)} in the config, which is neither true nor false")
        return value

    def write(self, option: Any) -> Any:
        """The field's value for an option."""
        return option


@dataclass(frozen=True)
class EitherField(BoolField):
    """An option that is true if the field is, or the same field of the language model, as LLaVA's tied head."""

    also: str = ""  # the other field, with the same default

    def read(self, config: Config) -> bool:
        """Return the option. Raises ConfigError."""
        either = [super().read(config), BoolField(self.also, self.default).read(config)]
        return any(either)


@dataclass(frozen=True)
class Function:
    """The config field of the activation function, which has the names of transformers."""

    name: str
    default: str
    same: Mapping[str, str] = field(default_factory=dict)  # a name -> the function that the class uses for it

    def read(self, config: Config) -> str:
        """Return symformer's name of the function. Raises UnreadError."""
        value = config.get(self.name, self.default)
        if isinstance(value, str):
            value = {**SAME_FUNCTION, **self.same}.get(value, value)
        if value not in get_args(Activation):
            raise UnreadError(
                f"{self.name!r} is {format_value(value)} in the config, which is not a supported activation function; "
                f"choose from {', '.join(get_args(Activation))}"
            )
        return str(value)

    def write(self, option: Any) -> Any:
        """The field's value for an option."""
        return option


@dataclass(frozen=True)
class ProbabilityField:
    """The config field of a dropout probability. The option is whether the probability is above 0."""

    name: str
    default: float

    def read(self, config: Config) -> bool:
        """Return True if the dropout probability is above 0. Raises ConfigError."""
        value = config.get(self.name, self.default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            refused = UnreadError if value is None else ConfigError
            raise refused(
                f"{self.name!r} is {format_value(value)} in the config; a dropout probability is at least 0 and less "
                "than 1"
            )
        return value > 0

    def write(self, option: Any) -> Any:
        """Return a probability that reads as the option."""
        return (self.default or 0.1) if option else 0.0


@dataclass(frozen=True)
class EitherProbability(ProbabilityField):
    """Two config fields of dropout probabilities. The option is whether one of them is above 0."""

    also: str = ""  # the other field, which is 0 by default

    def read(self, config: Config) -> bool:
        """Return True if one of the probabilities is above 0. Raises ConfigError."""
        return any([super().read(config), ProbabilityField(self.also, 0.0).read(config)])


@dataclass(frozen=True)
class OptionalNumberField:
    """The config field of a number above 0 that can be null. The option is whether it is a number."""

    name: str
    default: float | None = None

    def read(self, config: Config) -> bool:
        """Return True if the field has a number. Raises ConfigError."""
        value = config.get(self.name, self.default)
        if value is None:
            return False
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise ConfigError(f"{self.name!r} is {format_value(value)} in the config; it is a number above 0, or null")
        return True

    def write(self, option: Any) -> Any:
        """Return a value that reads as the option."""
        return (self.default or 30.0) if option else None


def same_in_every_layer(name: str, value: Any, config: Config) -> Any:
    """Return the value of a list with one value per layer, or the value itself. Raises UnreadError if layers differ."""
    if not isinstance(value, list):
        return value
    if len(value) != config.get("num_hidden_layers") or any(each != value[0] for each in value):
        raise UnreadError(
            f"{name!r} is {format_value(value)} in the config; only a list of one number per layer, all equal, is "
            "supported"
        )
    return value[0]


def whole_number(name: str, value: object) -> int:
    try:
        return whole(f"{name!r}", value)
    except SizeError as error:
        raise ConfigError(f"in the config, {error}") from None
