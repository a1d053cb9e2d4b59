"""Layers of several kinds in a config: a list of names, a pattern, a word, or pieces of a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sympy import Symbol

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import Numbers, shown
from ..language.symbols import L
from .known import Config
from .places import Field, whole_number

DEPTH = Field(("num_hidden_layers",))  # the usual name
WORD, LISTED, WINDOW = "sliding_window_pattern", "layer_types", "sliding_window"
LETTERS = {"L": "sliding_attention", "G": "full_attention"}  # local and global


def without_words(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config that lists its layers where a word such as ``LLLG`` stands for them, in its parts too.

    Configs of EXAONE 4 have such a word, which its class in transformers does not read. Raises ConfigError for other
    letters, for a word that contradicts the list, and for a last layer with a window: EXAONE's own documentation makes
    the last layer global whatever the word, and no code does.

    >>> without_words({"num_hidden_layers": 4, "sliding_window": 8, "sliding_window_pattern": "LG"})["layer_types"]
    ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention']
    """
    found = {name: without_words(each) if isinstance(each, dict) else each for name, each in config.items()}
    word, listed, depth = (found.get(name) for name in (WORD, LISTED, DEPTH.names[0]))
    if not isinstance(word, str) or found.get(WINDOW) is None:  # without a window the word changes nothing
        return found
    if not word or {*word} - {*LETTERS}:
        raise ConfigError(
            f"{WORD!r} is {shown(word)} in the config; it should be a number of layers, or the letters L (sliding "
            "window) and G (full attention), one for each layer of the pattern"
        )
    if listed is None and isinstance(depth, int):
        if word[(depth - 1) % len(word)] == "L":
            raise ConfigError(
                f"{WORD!r} is {shown(word)} in the config, and gives the last of {depth} layers a window, which the "
                f"documentation of such words rules out; list the kind of each layer in {LISTED!r}"
            )
        found[LISTED] = [LETTERS[word[layer % len(word)]] for layer in range(depth)]
    elif isinstance(listed, list):
        spelt = [LETTERS[word[layer % len(word)]] for layer in range(len(listed))]
        if listed not in (spelt, [*spelt[:-1], LETTERS["G"]]):
            raise ConfigError(f"{WORD!r} is {shown(word)} in the config, and {LISTED!r} lists other layers; remove one")
    else:
        return found
    del found[WORD]
    return found


@dataclass(frozen=True)
class Layers:
    """How a config tells of layers of several kinds: a list of names, or a pattern that repeats down the depth."""

    sizes: Mapping[str, Symbol]  # the name of a kind -> how many layers there are of it
    pattern: tuple[str, ...]  # what repeats where the list is left out
    depth: Field
    name: str = "layer_types"

    def read(self, config: Config) -> Numbers:
        """How many layers there are of each kind. Raises ConfigError."""
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
                f"{self.name!r} has a layer {shown(odd[0])} in the config; only {' and '.join(self.sizes)} are known"
            )
        else:
            counts = {kind: listed.count(kind) for kind in self.sizes}
            if len(listed) != depth:
                raise ConfigError(
                    f"{self.name!r} has {len(listed)} layers in the config and {self.depth.names[0]!r} is {depth}"
                )
        if none := [kind for kind, count in counts.items() if count == 0]:
            raise UnreadError(f"the config has no layer of the kind {none[0]!r}, and the formula is for all kinds")
        return {size: counts[kind] for kind, size in self.sizes.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """Every field that tells of them."""
        return (self.name, *self.depth.names)

    def listed(self, config: Config) -> Any:
        """The kind of every layer, or None where the pattern stands for the list."""
        return config.get(self.name)

    def deep(self, config: Config, listed: Any) -> int:
        """How many layers there are. Raises ConfigError."""
        return int(self.depth.read(L, config))

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """The list, one kind after another: what a model stores and computes does not depend on the order."""
        listed = [kind for kind, size in self.sizes.items() for _ in range(numbers[size])]
        return {self.name: listed, self.depth.names[0]: len(listed)}


@dataclass(frozen=True)
class Spelt(Layers):
    """A list that nothing stands for; another field may have it as a word, a letter for each layer: ``M-M*-``."""

    pattern: tuple[str, ...] = ()
    depth: Field = DEPTH
    word: str = "hybrid_override_pattern"
    letters: Mapping[str, str] = field(default_factory=dict)  # the kind that each letter stands for

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, self.word)

    def listed(self, config: Config) -> Any:
        """The list, or what is spelt where there is none. Raises ConfigError."""
        listed = config.get(self.name)
        if listed is None and isinstance(word := config.get(self.word), str):
            return [self.letters.get(each, each) for each in word]
        if not isinstance(listed, list):
            refused = UnreadError if listed is None else ConfigError
            raise refused(f"{self.name!r} is {shown(listed)} in the config, or left out; it is a list of kinds")
        return listed

    def deep(self, config: Config, listed: Any) -> int:
        """As many as are listed, and that is what the depth has to be where it is given."""
        return super().deep(config, listed) if config.get(self.depth.names[0]) is not None else len(listed)


@dataclass(frozen=True)
class Rounds(Layers):
    """As GPT-Neo's config has them: pieces of the list, each with how often it comes, ``[[["global", "local"], 12]]``.

    Where they are left out there is the pattern, as often as in the model that was released first.
    """

    rounds: int = 12
    whole: str = "attention_layers"  # the field in which the list may stand as well

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, self.whole)

    def listed(self, config: Config) -> Any:
        """The list that they come to. Raises ConfigError."""
        found = []
        given = config.get(self.name)
        for each in [[list(self.pattern), self.rounds]] if given is None else given if isinstance(given, list) else [0]:
            if not (isinstance(each, list) and len(each) == 2 and isinstance(each[0], list)):
                raise ConfigError(f"{self.name!r} is {shown(given)} in the config; it should be pieces of a list")
            found += each[0] * whole_number(self.name, each[1])
        if self.whole in config and config[self.whole] != found:
            raise ConfigError(f"{self.whole!r} is not what {self.name!r} comes to in the config; leave it out")
        return found

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """One piece for each kind."""
        pieces = [[[kind], numbers[size]] for kind, size in self.sizes.items()]
        return {self.name: pieces, self.depth.names[0]: sum(numbers[size] for size in self.sizes.values())}
