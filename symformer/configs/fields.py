"""How a config.json fills an architecture: each field is read, known to change nothing, or refused by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from sympy import Expr, Symbol

from ..language.errors import ConfigError, SizeError, listed
from ..language.notation.text import text
from ..language.sizes import Numbers, evaluate, shown, whole
from ..language.symbols import L, letter
from ..ledger.facts import Activation
from .sections import flat, nested

if TYPE_CHECKING:
    from ..components.base import Component

Config = Mapping[str, Any]

# What the config of every model of transformers may say.
READ = ("model_type", "architectures")
LAYER_TYPES = "layer_types"
# Fields that change what the class stores, keeps or computes, or what its cache holds: the values that are known.
FIXED: Mapping[str, tuple[Any, ...]] = {
    "is_causal": (True,),  # the masks are made by it, whatever the class
    "is_encoder_decoder": (False,),
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (None,),
    "chunk_size_feed_forward": (0, None),
    "pruned_heads": ({}, None),
    "gradient_checkpointing": (False,),  # turns recomputation on, which is a convention here
    "partial_rotary_factor": (1, None),
    "sliding_window": (None,),  # a cache asks for it, whatever the class
    "use_sliding_window": (False, None),
    "attention_bias": (False,),
    "mlp_bias": (False,),
}
QUANTISED = ("quantization_config", "compression_config")
INERT = (
    # names, versions, and whose code it is
    *("_name_or_path", "name_or_path", "transformers_version", "auto_map", "custom_pipelines", "_commit_hash"),
    # the precision of the weights, and who computes attention and experts: conventions here
    *("dtype", "torch_dtype", "use_bfloat16", "_attn_implementation", "_attn_implementation_autoset"),
    *("attn_implementation", "experts_implementation", "_experts_implementation"),
    # what a forward pass gives back beside its output; a cache is part of the question here
    *("return_dict", "output_hidden_states", "output_attentions", "use_cache", "output_past", "torchscript"),
    "cache_implementation",
    # how weights are drawn; an epsilon
    *("initializer_range", "initializer_factor", "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"),
    # tokens by their numbers
    *("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id"),
    *("forced_bos_token_id", "forced_eos_token_id", "tokenizer_class", "prefix"),
    # how text is generated
    *("do_sample", "max_length", "min_length", "temperature", "top_k", "top_p", "typical_p", "num_beams"),
    *("num_beam_groups", "diversity_penalty", "repetition_penalty", "length_penalty", "early_stopping"),
    *("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "num_return_sequences", "bad_words_ids"),
    *("suppress_tokens", "begin_suppress_tokens", "exponential_decay_length_penalty", "remove_invalid_values"),
    *("output_scores", "return_dict_in_generate"),
    # heads that no class here has
    *("id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task"),
    *("task_specific_params", "classifier_dropout", "tie_encoder_decoder", "tf_legacy_loss"),
    # written by those who trained or converted a model, and read by no class here
    *("unsloth_fixed", "unsloth_version", "is_llama_config", "rope_interleaved", "sliding_window_size"),
    *("max_sequence_length", "model_max_length", "tokenizer_model_max_length", "tokenizer_padding_side"),
    *("neftune_noise_alpha", "unk_token_id", "cls_token_id", "mask_token_id"),
    "is_decoder",  # what attends to earlier tokens only does so anyway
)
# Rotary positions: they change the angles, and neither their number nor their shape.
ROTARY = ("rope_scaling", "rope_parameters", "rope_theta")
ROPES = ("default", "linear", "dynamic", "yarn", "llama3")  # the types that nearly every class takes
ROPE_NEEDS: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    "longrope": ("short_factor", "long_factor"),
    "su": ("short_factor", "long_factor"),  # the same, by an earlier name
}
ROPE_TAKES = (
    *("rope_type", "type", "rope_theta", "factor", "original_max_position_embeddings", "attention_factor"),
    *("beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor", "mscale", "mscale_all_dim", "truncate"),
    *("short_factor", "long_factor"),
)
PARTLY = "partial_rotary_factor"  # which part of a head turns, as rotary positions have it
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
                raise ConfigError(
                    f"in the config {self.names[0]!r} is {number} and {twin!r} is {other}; only one "
                    f"{size} ({letter(size).meaning}) for both is known"
                )
        return number

    def _read(self, size: Symbol, config: Config) -> int | Expr:
        found = {name: config[name] for name in self.names if name in config}
        found = {name: value for name, value in found.items() if not (self.auto and value == "auto")}
        for name in [name for name, value in found.items() if value is None]:
            if not self.null:
                raise ConfigError(
                    f"{name!r} is null in the config, and {size} ({letter(size).meaning}) is a whole number; give one, "
                    "or leave the field out"
                )
            del found[name]
        if not found:
            if self.default is None:
                names = " or ".join(map(repr, self.names))
                raise ConfigError(f"the config has no {names}, and {size} ({letter(size).meaning}) has no default")
            return self.default
        numbers = {name: _whole(name, value) for name, value in found.items()}
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
        raise ConfigError(f"{self.name!r} is {shown(value)} in the config; only {known} is known")

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
            raise ConfigError(f"{self.name!r} is {shown(value)} in the config, which is not true or false")
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
            raise ConfigError(
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
            raise ConfigError(
                f"{self.name!r} is {shown(value)} in the config; a probability of dropout is from 0 to less than 1"
            )
        return value > 0

    def write(self, option: Any) -> Any:
        """A probability that reads as the option."""
        return (self.default or 0.1) if option else 0.0


Setting = Choice | Switch | Function | Chance  # where an option stands


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
        elif not isinstance(listed, list) or not all(isinstance(kind, str) and kind in self.sizes for kind in listed):
            raise ConfigError(f"{self.name!r} is not a list of {' and '.join(self.sizes)} in the config")
        else:
            counts = {kind: listed.count(kind) for kind in self.sizes}
            if len(listed) != depth:
                raise ConfigError(
                    f"{self.name!r} has {len(listed)} layers in the config and {self.depth.names[0]!r} is {depth}"
                )
        if none := [kind for kind, count in counts.items() if count == 0]:
            raise ConfigError(f"the config has no layer of the kind {none[0]!r}, and the formula is for all kinds")
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
    depth: Field = Field(("num_hidden_layers",))
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
            raise ConfigError(f"{self.name!r} is {shown(listed)} in the config, or left out; it is a list of kinds")
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
            found += each[0] * _whole(self.name, each[1])
        if self.whole in config and config[self.whole] != found:
            raise ConfigError(f"{self.whole!r} is not what {self.name!r} comes to in the config; leave it out")
        return found

    def write(self, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """One piece for each kind."""
        pieces = [[[kind], numbers[size]] for kind, size in self.sizes.items()]
        return {self.name: pieces, self.depth.names[0]: sum(numbers[size] for size in self.sizes.values())}


@dataclass(frozen=True)
class Fields:
    """How a config fills an architecture, and how an architecture is written back as a config.

    Total: a field is read, or restates what is read, or must have one of the values that are known, or changes nothing
    that is counted. Every other field is refused by its name.
    """

    sizes: Mapping[Symbol, Field] = field(default_factory=dict)
    options: Mapping[str, Setting] = field(default_factory=dict)
    layers: Layers | None = None  # where a model's layers are of several kinds, mixed
    # option -> the size whose field is null without it, or says what is the default anyway where that is another size
    nullable: Mapping[str, Symbol] = field(default_factory=dict)
    apart: Mapping[str, tuple[Symbol, Symbol]] = field(default_factory=dict)  # option -> two sizes, the same without it
    needs: Mapping[Symbol, str] = field(default_factory=dict)  # a size -> the option without which nothing is so wide
    nested: Mapping[str, Fields] = field(default_factory=dict)  # a field that holds fields, none of which is read
    # A field that holds the fields of a part, which are read by their paths -> another in which they may stand again.
    sections: Mapping[str, str] = field(default_factory=dict)
    model_types: tuple[str, ...] = ()
    classes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # torch class -> the options it stands for
    restated: Mapping[str, Expr] = field(default_factory=dict)  # a field that says again what others say, or is null
    echoes: Mapping[str, tuple[str, Mapping[Any, Any]]] = field(default_factory=dict)  # or what an option is, by value
    fixed: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # a field that changes the model: what is known
    rotary: bool = False  # whether the model rotates by its positions
    ropes: tuple[str, ...] = ROPES  # and the types of rotary positions that its class takes
    apiece: tuple[str, ...] = ()  # kinds of layers, where 'rope_parameters' holds rotary positions for each of them
    inert: tuple[str, ...] = ()  # further fields that change nothing of what is counted

    def beside(self, base: Fields) -> Fields:
        """What is said here beside what a base says; of one thing, what is said here."""
        said: dict[str, Any] = {"inert": (*base.inert, *self.inert)}
        for item in fields(self):
            ours, theirs = getattr(self, item.name), getattr(base, item.name)
            if isinstance(ours, Mapping):
                said[item.name] = {**theirs, **ours}
            elif item.name not in said:
                said[item.name] = theirs if ours == item.default else ours
        return Fields(**said)

    def read(self, config: Config) -> tuple[dict[str, Any], Numbers]:
        """The options and the numbers of a config. Raises ConfigError."""
        self._hold(flat(config, {*self.sections, *self.sections.values()}))
        for section, again in self.sections.items():
            config = self._once(config, section, again)
        return self._read(flat(config, self.sections))

    def _once(self, config: Config, section: str, again: str) -> Config:
        """A config in which a section stands once: what stands there again is what transformers reads, and defaults
        for the rest, so it has to come to the same. Raises ConfigError.
        """
        once = {name: value for name, value in config.items() if name != again}
        if config.get(again) is None:
            return once
        other = {**once, section: config[again]}
        if once.get(section):
            (options, numbers), (switched, counted) = self.read(once), self.read(other)
            places = {size: place.names[0] for size, place in self.sizes.items()}
            places |= {option: place.name for option, place in self.options.items()}
            for each, name in places.items():
                ours, theirs = (found.get(each) for found in ({**options, **numbers}, {**switched, **counted}))
                if ours != theirs:
                    raise ConfigError(
                        f"{name!r} is {ours} by {section!r} and {theirs} by {again!r} in the config; keep one"
                    )
        return other

    def _read(self, config: Config) -> tuple[dict[str, Any], Numbers]:
        """The options and the numbers of a config whose fields are known, by their paths. Raises ConfigError."""
        options = self._options(config)
        options |= {option: setting.read(config) for option, setting in self.options.items()}
        left_out = set()
        for option, size in self.nullable.items():
            options[option] = self._given(size, config)
            left_out |= set() if options[option] else {size}
        left_out |= {size for size, option in self.needs.items() if not options[option]}
        derived = {size: place for size, place in self.sizes.items() if isinstance(place, Derived)}
        left_out |= derived.keys()
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
        numbers |= {size: place.taken(size, config, numbers) for size, place in derived.items()}
        for option, (size, other) in self.apart.items():
            options[option] = numbers[size] != numbers[other]
            if not options[option]:
                del numbers[size]
        for name, (option, values) in self.echoes.items():
            if name in config and config[name] != values[options[option]]:
                raise ConfigError(
                    f"{name!r} is {shown(config[name])} in the config, and by {self.options[option].name!r} it is "
                    f"{values[options[option]]!r}; leave it out"
                )
        for name, expr in self.restated.items():
            expected = evaluate(expr, numbers, name)
            if config.get(name) is not None and _whole(name, config[name]) != expected:
                raise ConfigError(f"{name!r} is {config[name]} in the config, and {expr} is {expected}; leave it out")
        if self.layers is None and config.get(LAYER_TYPES) is not None:
            self._alike(config[LAYER_TYPES], options, numbers)
        return options, numbers

    def _given(self, size: Symbol, config: Config) -> bool:
        """Whether a config has a size that a model may be without."""
        place = self.sizes[size]
        numbers = [config[name] for name in place.names if name in config]
        return any(number is not None for number in numbers) if numbers else place.default is not None

    def _hold(self, config: Config) -> None:
        """Raise ConfigError for a field that is not known, or has a value that is not."""
        check_unquantised(config)
        fixed = {name: known for name, known in self._everywhere(FIXED).items() if name not in self.known}
        fixed |= self.fixed
        twice = {again: section for section, again in self.sections.items()}
        for name, value in config.items():
            head, dot, inside = name.partition(".")
            path = f"{twice.get(head, head)}{dot}{inside}"  # as if it stood once
            if path in fixed:
                if not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in fixed[path]):
                    known = " or ".join(map(repr, fixed[path]))
                    raise ConfigError(
                        f"{name!r} is {shown(value)} in the config; that changes what is counted, and only {known} is "
                        "known"
                    )
            elif name in self.nested:
                if not isinstance(value, dict | None):
                    raise ConfigError(f"{name!r} is {shown(value)} in the config; it should be an object or null")
                self.nested[name]._hold(value or {})
            elif self.rotary and name in ROTARY:
                self._hold_rotary(name, value)
            elif path not in self.known:
                raise ConfigError(
                    f"the field {shown(name)} = {shown(value)} is not known here; remove it if it changes nothing, "
                    "or trace it"
                )

    def _hold_rotary(self, name: str, value: Any) -> None:
        """Raise ConfigError for rotary positions that are not known, of all layers or of one kind of them."""
        partly = any(isinstance(each, Share) for each in self.sizes.values())
        if not self.apiece or name != "rope_parameters" or not isinstance(value, dict):
            _check_rotary(name, value, self.ropes, partly)
            return
        for kind, given in value.items():
            if kind not in self.apiece:
                raise ConfigError(
                    f"{name!r} has {shown(kind)} = {shown(given)} in the config; it should have an object for each of "
                    f"{' and '.join(map(repr, self.apiece))}"
                )
            _check_rotary(f"{name}.{kind}", given, self.ropes, partly)

    @cached_property
    def known(self) -> frozenset[str]:
        """Every field that is read, restates what is read, or changes nothing."""
        read = {name for place in self.sizes.values() for name in (*place.names, *place.twins)}
        read |= {place.name for place in self.options.values()} | set(self.restated) | set(self.echoes)
        read |= set(self.layers.names) if self.layers else set() if self.sections else {LAYER_TYPES}
        said = self._everywhere(dict.fromkeys(("architectures", *QUANTISED, *INERT)))
        return frozenset({*read, *READ, *said, *self.inert})

    def _everywhere(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """What is known of fields of every config, and of the same in every section of this one."""
        return {**known, **{f"{section}.{name}": each for section in self.sections for name, each in known.items()}}

    def _alike(self, listed: Any, options: Mapping[str, Any], numbers: Numbers) -> None:
        """Raise ConfigError for a list of layers that are not all of the one kind that the architecture has."""
        kind = "sliding_attention" if options.get("window") else "full_attention"
        depth = sum(number for size, number in numbers.items() if letter(size).base == "L")
        if not isinstance(listed, list) or len(listed) != depth or any(each != kind for each in listed):
            raise ConfigError(
                f"{LAYER_TYPES!r} is {shown(listed)} in the config; only {depth} layers of {kind!r} are known here"
            )

    def _options(self, config: Config) -> dict[str, Any]:
        named = config.get("architectures")
        if named is None:
            return {}
        if not (isinstance(named, list) and len(named) == 1 and isinstance(named[0], str)):
            raise ConfigError(f"'architectures' is {shown(named)} in the config; it should be a list of one class name")
        if named[0] not in self.classes:
            raise ConfigError(
                f"'architectures' names {shown(named[0])}, whose head is not known here; known: "
                f"{listed(self.classes)}; of the others symformer trace reads the code"
            )
        return dict(self.classes[named[0]])

    def write(self, component: Component, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """The config of a component at given sizes: the inverse of read."""
        config: dict[str, Any] = {
            name: numbers[size] + (numbers[place.beside] if place.beside else 0)
            for size, place in self.sizes.items()
            if size in numbers and not isinstance(place, Derived)
            for name in (place.names[0], *place.twins)
        }
        config |= {
            place.names[0]: place.written(numbers[size], numbers)
            for size, place in self.sizes.items()
            if isinstance(place, Derived)
        }
        config |= {each.name: each.write(getattr(component, option)) for option, each in self.options.items()}
        config |= self.layers.write(numbers) if self.layers else {}
        for option, size in self.nullable.items():
            if not getattr(component, option):
                config[self.sizes[size].names[0]] = None
        for option, (size, other) in self.apart.items():
            if not getattr(component, option):
                config[self.sizes[size].names[0]] = numbers[other]
        return nested(config, self.sections)

    def class_for(self, component: Component) -> str:
        """The torch class whose options are the component's. Raises ConfigError."""
        for name, options in self.classes.items():
            if all(getattr(component, option) == value for option, value in options.items()):
                return name
        raise ConfigError(f"no torch class stands for {component.name} with {component.spell()}")


def _whole(name: str, value: object) -> int:
    if not isinstance(value, int):
        raise ConfigError(f"in the config, {name!r} is {shown(value)}, which is not a whole number")
    try:
        return whole(f"{name!r}", value)
    except SizeError as error:
        raise ConfigError(f"in the config, {error}") from None


def check_unquantised(config: Config) -> None:
    """Raise ConfigError for weights that are stored in another form than the model's class has them."""
    for name in config:
        if name.rpartition(".")[2] in QUANTISED and config[name] is not None:
            raise ConfigError(
                f"{name!r} is {shown(config[name])} in the config: its weights are stored in another form than the "
                "formulas count; remove it to count the model before it was quantised"
            )


def _check_rotary(name: str, value: Any, takes: tuple[str, ...], partly: bool) -> None:
    """Raise ConfigError for rotary positions that are not known to leave the shape of their angles as it is."""
    if name == "rope_theta":
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise ConfigError(f"{name!r} is {shown(value)} in the config; it should be a number above 0")
        return
    if value is None:
        return
    if not isinstance(value, dict):
        raise ConfigError(f"{name!r} is {shown(value)} in the config; it should be an object or null")
    kind = value.get("rope_type", value.get("type", "default"))
    if not isinstance(kind, str) or kind not in takes:
        raise ConfigError(
            f"{name!r} is of the type {shown(kind)} in the config, which is not known here; known: {', '.join(takes)}"
        )
    for each in ROPE_NEEDS[kind]:
        if value.get(each) is None:
            raise ConfigError(f"{name!r} is of the type {kind!r} in the config, which asks for {each!r}")
    for each, given in value.items():
        known_part = each == PARTLY and (partly or given in (1, None))
        if each not in ROPE_TAKES and not known_part:
            raise ConfigError(
                f"{name!r} has {each!r} = {shown(given)} in the config, which is not known here; remove it if it "
                "changes nothing, or trace it"
            )
