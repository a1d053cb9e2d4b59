"""Layer kinds in a config: a list of names, a repeating pattern, a string of letters, or pieces of a list."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from sympy import Symbol

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import Numbers, format_value
from ..language.symbols import L
from .common_fields import LAYER_TYPES, Config
from .config_fields import Field, whole_number

DEPTH = Field(("num_hidden_layers",))  # the usual name
ROTATED, INTERVAL = "no_rope_layers", "no_rope_layer_interval"  # 1 for a layer that has rotary positions
DEEPEST = 100_000  # the maximum number of layers if they are listed one by one
WORD, LISTED, WINDOW = "sliding_window_pattern", "layer_types", "sliding_window"
# Former names of kinds, which transformers replaces in every config.
FORMER = {"mamba": "linear_attention", "attention": "full_attention"}
LETTERS = {"L": "sliding_attention", "G": "full_attention"}  # local and global


def without_words(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config with layer patterns such as ``LLLG`` expanded to lists, also in nested configs.

    Configs of EXAONE 4 have such patterns, but the class in transformers does not read them. Raises ConfigError for
    other letters, for a pattern that contradicts the list, and for a pattern that gives the last layer a window:
    EXAONE's documentation makes the last layer global for every pattern, but the code does not.

    >>> without_words({"num_hidden_layers": 4, "sliding_window": 8, "sliding_window_pattern": "LG"})["layer_types"]
    ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention']
    """
    found = {name: without_words(each) if isinstance(each, dict) else each for name, each in config.items()}
    word, listed, depth = (found.get(name) for name in (WORD, LISTED, DEPTH.names[0]))
    if not isinstance(word, str) or found.get(WINDOW) is None:  # without a window the pattern has no effect
        return found
    if not word or {*word} - {*LETTERS}:
        raise ConfigError(
            f"{WORD!r} is {format_value(word)} in the config; it should be a number of layers, or a string of the "
            "letters L (sliding window) and G (full attention), one for each layer of the pattern"
        )
    if listed is None and isinstance(depth, int):
        if word[(depth - 1) % len(word)] == "L":
            raise ConfigError(
                f"{WORD!r} is {format_value(word)} in the config, which gives the last of {depth} layers a window, but "
                "the documentation of such patterns makes the last layer global; list the kind of each layer in "
                f"{LISTED!r}"
            )
        found[LISTED] = [LETTERS[word[layer % len(word)]] for layer in range(depth)]
    elif isinstance(listed, list):
        spelt = [LETTERS[word[layer % len(word)]] for layer in range(len(listed))]
        if listed not in (spelt, [*spelt[:-1], LETTERS["G"]]):
            raise ConfigError(
                f"{WORD!r} is {format_value(word)} in the config, but {LISTED!r} lists other layers; remove one of the "
                "two"
            )
    else:
        return found
    del found[WORD]
    return found


@dataclass(frozen=True)
class Layers:
    """The layer kinds of a config: a list of names, or a repeating pattern."""

    sizes: Mapping[str, Symbol]  # the name of a kind -> its number of layers
    pattern: tuple[str, ...]  # the pattern that repeats if the list is missing
    depth: Field
    name: str = "layer_types"
    alternating: ClassVar[bool] = False  # whether `write` gives layers of different kinds in turn

    def read(self, config: Config) -> Numbers:
        """Return the number of layers of each kind. Raises ConfigError."""
        listed = self.listed(config)
        depth = self.deep(config, listed)
        if listed is None:
            whole_times, rest = divmod(depth, len(self.pattern))
            counts = {
                kind: whole_times * self.pattern.count(kind) + self.pattern[:rest].count(kind) for kind in self.sizes
            }
        elif not isinstance(listed, list) or not all(isinstance(kind, str) for kind in listed):
            raise ConfigError(f"{self.name!r} is not a list of {' and '.join(self.sizes)} in the config")
        elif odd := [kind for kind in listed if kind not in self.sizes]:
            raise UnreadError(
                f"{self.name!r} contains {format_value(odd[0])} in the config; only {' and '.join(self.sizes)} are "
                "supported"
            )
        else:
            counts = {kind: listed.count(kind) for kind in self.sizes}
            if len(listed) != depth:
                raise ConfigError(
                    f"{self.name!r} has {len(listed)} layers in the config, but {self.depth.names[0]!r} is {depth}"
                )
        if none := [kind for kind, count in counts.items() if count == 0]:
            raise UnreadError(
                f"the config has no layer of the kind {none[0]!r} in {self.name!r}, but the formula needs at least one "
                "of each kind"
            )
        return {size: counts[kind] for kind, size in self.sizes.items()}

    def within(self, section: str) -> Layers:
        """Return the same layers in a section of a config. Only lists with a repeating pattern can be in one."""
        if type(self) is not Layers:
            raise NotImplementedError(f"{type(self).__name__} in the section {section!r}")
        depth = replace(self.depth, names=tuple(f"{section}.{name}" for name in self.depth.names))
        return replace(self, name=f"{section}.{self.name}", depth=depth)

    @property
    def names(self) -> tuple[str, ...]:
        """Return every field that describes the layers."""
        return (self.name, *self.depth.names)

    def unfolded(self, config: Config) -> Config:
        """Return a config with its descriptions of the layers in the form that is read. Raises ConfigError."""
        return config

    def place_of(self, kind: str) -> tuple[str, str, str]:
        """Return the field for the layers of a kind, the entries that are counted if it is a list, or else a rule."""
        return self.name, kind, ""

    @property
    def places_of_kinds(self) -> Mapping[Symbol, tuple[str, str, str]]:
        """Return the field, the entries and the rule of each number of layers."""
        return {size: self.place_of(kind) for kind, size in self.sizes.items()}

    @property
    def depths(self) -> Mapping[Symbol, str]:
        """Return the field of each total number of layers."""
        return {L: self.depth.names[0]}

    def listed(self, config: Config) -> Any:
        """Return the kind of every layer, or None if the pattern applies."""
        listed = config.get(self.name)
        if self.name.rpartition(".")[2] != LAYER_TYPES or not isinstance(listed, list):
            return listed
        return [FORMER.get(kind, kind) if isinstance(kind, str) else kind for kind in listed]

    def deep(self, config: Config, listed: Any) -> int:
        """Return the number of layers. Raises ConfigError."""
        return int(self.depth.read(L, config))

    def listable(self, config: Config) -> int:
        """Return the number of layers, which are listed one by one. Raises ConfigError."""
        depth = self.deep(config, None)
        if depth > DEEPEST:
            raise UnreadError(
                f"{self.depth.names[0]!r} is {depth:,} in the config; a model with several kinds of layers may "
                f"have at most {DEEPEST:,}"
            )
        return depth

    def order(self, numbers: Mapping[Symbol, int]) -> list[Symbol]:
        """Return the size that counts each layer, in the order that `write` gives them."""
        return [size for size in self.sizes.values() for _ in range(numbers.get(size, 0))]

    def depth_field(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the field with the number of all layers."""
        return {self.depth.names[0]: sum(numbers.get(size, 0) for size in self.sizes.values())}

    def order_in(self, config: Config) -> tuple[Symbol, ...]:
        """Return the size that counts each layer of a config that can be read, in order; () if it is not known."""
        listed = self.listed(config)
        if listed is None and self.pattern:
            listed = [self.pattern[layer % len(self.pattern)] for layer in range(self.listable(config))]
        if not isinstance(listed, list) or any(kind not in self.sizes for kind in listed):
            return ()
        return tuple(self.sizes[kind] for kind in listed)

    def tested(self, sizes: Collection[Symbol]) -> tuple[Numbers, ...]:
        """Return the numbers of layers at which a class is tested, if `write` cannot give every number of them."""
        return ()

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the list, one kind after another. The order of the layers does not affect any count."""
        listed = [kind for kind, size in self.sizes.items() for _ in range(numbers[size])]
        return {self.name: listed, self.depth.names[0]: len(listed)}


@dataclass(frozen=True)
class SpelledLayers(Layers):
    """A list without a default pattern; another field can spell it with one letter per layer, as in ``M-M*-``."""

    pattern: tuple[str, ...] = ()
    depth: Field = DEPTH
    word: str = "hybrid_override_pattern"
    letters: Mapping[str, str] = field(default_factory=dict)  # letter -> the kind it means

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, self.word)

    def listed(self, config: Config) -> Any:
        """Return the list, spelled out from the letters if it is missing. Raises ConfigError."""
        listed = config.get(self.name)
        if listed is None and isinstance(word := config.get(self.word), str):
            return [self.letters.get(each, each) for each in word]
        if not isinstance(listed, list):
            refused = UnreadError if listed is None else ConfigError
            raise refused(
                f"{self.name!r} is {format_value(listed)} in the config, or missing; it should be a list of kinds"
            )
        return listed

    def deep(self, config: Config, listed: Any) -> int:
        """Return the depth field if present, otherwise the length of the list. `read` compares the two."""
        return super().deep(config, listed) if config.get(self.depth.names[0]) is not None else len(listed)


@dataclass(frozen=True)
class DenseLayers(Layers):
    """A list of layers of two kinds, with all layers of the first kind first. If it is missing, the first kind has one.

    >>> from symformer.language.symbols import L_dense, L_moe
    >>> kinds = DenseLayers({"dense": L_dense, "sparse": L_moe}, (), DEPTH, "mlp_layer_types")
    >>> kinds.read({"num_hidden_layers": 5})
    {L_dense: 1, L_moe: 4}
    """

    def listed(self, config: Config) -> Any:
        """Return the list. Raises UnreadError if the two kinds alternate."""
        first, second = self.sizes
        listed = config.get(self.name)
        if listed is None:
            return [first] + [second] * (self.listable(config) - 1)
        if isinstance(listed, list) and second in listed and first in listed[listed.index(second) :]:
            raise UnreadError(
                f"{self.name!r} has a layer {first!r} after a layer {second!r} in the config; only lists with all "
                f"{first!r} layers first are supported"
            )
        return listed


@dataclass(frozen=True)
class RotaryLayers(Layers):
    """A list of ones and zeros: 1 for a layer with rotary positions. All layers have full attention, as in SmolLM3.

    If the list is missing, another field states the period of the layers without positions.

    >>> from symformer.language.symbols import L_nope, L_rope
    >>> RotaryLayers({"1": L_rope, "0": L_nope}).read({"num_hidden_layers": 9, "no_rope_layer_interval": 3})
    {L_rope: 6, L_nope: 3}
    """

    pattern: tuple[str, ...] = ()
    depth: Field = DEPTH
    name: str = ROTATED

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, INTERVAL, LAYER_TYPES)

    def read(self, config: Config) -> Numbers:
        """Return the number of layers of each kind. Raises ConfigError."""
        types, depth = config.get(LAYER_TYPES), self.listable(config)
        if types is not None and types != ["full_attention"] * depth:
            raise UnreadError(
                f"{LAYER_TYPES!r} is {format_value(types)} in the config; only {depth} layers of 'full_attention' are "
                "supported"
            )
        return super().read(config)

    def listed(self, config: Config) -> Any:
        """Return the list with its numbers as strings. Raises ConfigError."""
        given = config.get(self.name)
        if given is None:
            interval = whole_number(INTERVAL, config.get(INTERVAL, 4))
            given = [int(layer % interval != 0) for layer in range(1, self.listable(config) + 1)]
        return [format_value(each) for each in given] if isinstance(given, list) else given

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the list, one kind after another."""
        found = super().write(numbers)
        return {**found, self.name: [int(each) for each in found[self.name]]}


@dataclass(frozen=True)
class RepeatedLayers(Layers):
    """GPT-Neo's format: pieces of the list, each with its number of repeats, ``[[["global", "local"], 12]]``.

    If the field is missing, the pattern repeats as often as in the first released model.
    """

    rounds: int = 12
    whole: str = "attention_layers"  # a field that can repeat the expanded list

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, self.whole)

    def listed(self, config: Config) -> Any:
        """Return the expanded list. Raises ConfigError."""
        found = []
        given = config.get(self.name)
        for each in [[list(self.pattern), self.rounds]] if given is None else given if isinstance(given, list) else [0]:
            if not (isinstance(each, list) and len(each) == 2 and isinstance(each[0], list)):
                raise ConfigError(
                    f"{self.name!r} is {format_value(given)} in the config; it should be a list of pairs [kinds, "
                    "repeats]"
                )
            found += each[0] * whole_number(self.name, each[1])
        if self.whole in config and config[self.whole] != found:
            raise ConfigError(f"{self.whole!r} contradicts {self.name!r} in the config; remove the field")
        return found

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return one piece for each kind."""
        pieces = [[[kind], numbers[size]] for kind, size in self.sizes.items()]
        return {self.name: pieces, self.depth.names[0]: sum(numbers[size] for size in self.sizes.values())}
