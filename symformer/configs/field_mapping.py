"""The mapping between a config.json and an architecture: every field is read, ignored as irrelevant, or rejected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sympy import Expr, Symbol

from ..language.errors import ConfigError, SizeError, UnreadError, listed
from ..language.sizes import Numbers, evaluate, format_value
from ..language.symbols import letter
from .common_fields import FIXED, INERT, LAYER_TYPES, READ, Config, spelling
from .config_fields import (
    Derived,
    EitherField,
    EitherProbability,
    Field,
    FractionField,
    RotaryBase,
    same_in_every_layer,
    whole_number,
)
from .layers import Layers
from .rotary import ROPE_BASE, ROPES, ROTARY, check_rotary
from .sections import flatten, nest

if TYPE_CHECKING:
    from ..components.base import Component
    from .config_fields import Setting


UNUSED = (None, False, "none")  # the values of an option, such as a head, without which a size is not used


@dataclass(frozen=True)
class Fields:
    """The mapping between the fields of a config and the sizes and options of an architecture, in both directions.

    The mapping is total. A field is read, repeats a value that is read, must have a supported value, or does not affect
    any count. Every other field is an error that names it.
    """

    sizes: Mapping[Symbol, Field] = field(default_factory=dict)
    options: Mapping[str, Setting] = field(default_factory=dict)
    layers: Layers | None = None  # for models that mix layers of several kinds
    # option -> the size whose field is null without the option, or repeats the default if the default is another size
    nullable: Mapping[str, Symbol] = field(default_factory=dict)
    apart: Mapping[str, tuple[Symbol, Symbol]] = field(default_factory=dict)  # option -> two sizes, equal without it
    needs: Mapping[Symbol, str] = field(default_factory=dict)  # size -> the option that uses it
    nested: Mapping[str, Fields] = field(default_factory=dict)  # a field that holds fields, none of which is read
    # A field that holds the fields of a part, which are read by path -> another field that can repeat them.
    sections: Mapping[str, str] = field(default_factory=dict)
    model_types: tuple[str, ...] = ()
    classes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # torch class -> the options it implies
    restated: Mapping[str, Expr] = field(default_factory=dict)  # a field that repeats sizes, or is null -> its value
    assumed: Mapping[str, int] = field(default_factory=dict)  # such a field -> the value that the class uses without it
    echoes: Mapping[str, tuple[str, Mapping[Any, Any]]] = field(default_factory=dict)  # a field that repeats an option
    fixed: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # a field that affects counts -> allowed values
    # The same for fields whose default in the class is not supported, so that a config must have them.
    required: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    rotary: bool = False  # whether the model has rotary position embeddings
    ropes: tuple[str, ...] = ROPES  # the types of rotary embedding that its class supports
    rope_needs: tuple[str, ...] = ()  # the parts of rotary embeddings that its class requires for every type
    rope_takes: tuple[str, ...] = ()  # further parts of rotary embeddings, which do not affect any count
    apiece: tuple[str, ...] = ()  # the layer kinds that each have an entry of their own in 'rope_parameters'
    inert: tuple[str, ...] = ()  # further fields that do not affect any count
    # A section -> the fields that the class uses if the section is null or missing, if they differ from its defaults.
    filled: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    language: str = ""  # the section of the language model, with its rotary embeddings and its layer kinds
    turned: tuple[str, ...] = ()  # the sections with rotary embeddings, if there are several

    def within(self, section: str) -> Fields:
        """Return these fields as a section of the config of a larger model, which has its own types and classes.

        >>> from symformer.language.symbols import E
        >>> Fields({E: Field(("hidden_size",), 7)}).within("text_config").sizes[E].names
        ('text_config.hidden_size',)
        """
        if self.sections or self.nested or any(isinstance(place, Derived) for place in self.sizes.values()):
            raise NotImplementedError(f"fields of {', '.join(self.model_types)} in the section {section!r}")

        def inside(names: Mapping[str, Any]) -> dict[str, Any]:
            return {f"{section}.{name}": value for name, value in names.items()}

        def renamed(place: Field) -> Field:
            names, twins = ([f"{section}.{name}" for name in each] for each in (place.names, place.twins))
            return replace(place, names=tuple(names), twins=tuple(twins))

        return Fields(
            sizes={size: renamed(place) for size, place in self.sizes.items()},
            options={name: _renamed(each, f"{section}.{each.name}") for name, each in self.options.items()},
            layers=self.layers and self.layers.within(section),
            nullable=self.nullable,
            apart=self.apart,
            needs=self.needs,
            restated=inside(self.restated),
            assumed=inside(self.assumed),
            echoes=inside(self.echoes),
            fixed=inside(self.fixed),
            required=inside(self.required),
            sections={section: ""},
            rotary=self.rotary,
            ropes=self.ropes,
            rope_needs=self.rope_needs,
            apiece=self.apiece,
            inert=tuple(inside(dict.fromkeys(self.inert))),
        )

    def combined_with(self, base: Fields) -> Fields:
        """Return the fields of this class merged with the fields of a base class; this class takes precedence."""
        said: dict[str, Any] = {"inert": (*base.inert, *self.inert)}
        for item in fields(self):
            ours, theirs = getattr(self, item.name), getattr(base, item.name)
            if isinstance(ours, Mapping):
                said[item.name] = {**theirs, **ours}
            elif item.name not in said:
                said[item.name] = theirs if ours == item.default else ours
        return Fields(**said)

    def read(self, config: Config) -> tuple[dict[str, Any], Numbers]:
        """Return the options and the sizes of a config.

        Raises
        ------
        ConfigError
            If a field is malformed, or contradicts another field.
        UnreadError
            If a field or its value is not supported.

        """
        config = self._filled(config)
        self._hold(flatten(config, {*self.sections, *self.sections.values()}))
        for section, again in self.sections.items():
            config = self._once(config, section, again)
        return self._read(flatten(config, self.sections))

    def layer_order(self, config: Config) -> tuple[Symbol, ...]:
        """Return the size that counts each layer of a config that can be read, in order; () if it is not known."""
        if self.layers is None:
            return ()
        config = self._filled(config)
        for section, again in self.sections.items():
            config = self._once(config, section, again)
        return self._order_in(flatten(config, self.sections))

    def layer_order_at(self, numbers: Numbers, stated: Config) -> tuple[Symbol, ...]:
        """Return the size that counts each layer at given sizes, with some fields of the config; () if not known."""
        if self.layers is None:
            return ()
        return self._order_in(self.layers.unfolded({**self.layers.depth_field(numbers), **stated}))

    def _order_in(self, config: Config) -> tuple[Symbol, ...]:
        try:
            return self.layers.order_in(config) if self.layers else ()
        except ConfigError:  # some kinds of layers are described by several fields
            return ()

    def _filled(self, config: Config) -> Config:
        """Return a config with its layers in the form that is read, and with the sections that it leaves out."""
        config = self.layers.unfolded(config) if self.layers else config
        for section, fields_of in self.filled.items():
            config = {**config, section: dict(fields_of)} if config.get(section) is None else config
        return config

    def _once(self, config: Config, section: str, again: str) -> Config:
        """Return a config without the second copy of a section. Raises ConfigError.

        transformers reads the second copy, with defaults for its missing fields, so both must have the same values.
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
                        f"{name!r} is {ours} in {section!r} but {theirs} in {again!r} in the config; "
                        "keep one of the two sections"
                    )
        return other

    def _read(self, config: Config) -> tuple[dict[str, Any], Numbers]:
        """Return the options and the sizes of a flat config with only supported fields. Raises ConfigError."""
        options = self._options(config)
        options |= {option: setting.read(config) for option, setting in self.options.items()}
        left_out = set()
        for option, size in self.nullable.items():
            options[option] = self._given(size, config)
            left_out |= set() if options[option] else {size}
        unused = {size for size, option in self.needs.items() if options.get(option) in UNUSED}
        for size in unused:
            place = self.sizes[size]
            if (place.absent is None and not place.unset) or self._given(size, config):
                place.read(size, config)  # an invalid value is an error even if the option is off
        left_out |= unused
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
                    raise ConfigError(f"in the config, {both}, which leaves no {letter(size).meaning}")
                numbers[size] = total - other
        for size, value in found.items():
            if isinstance(value, Expr):
                try:
                    numbers[size] = evaluate(value, numbers, str(size))
                except SizeError:
                    sizes = ", ".join(f"{name}={numbers[name]}" for name in sorted(value.free_symbols, key=str))
                    raise UnreadError(  # some classes round the quotient down
                        f"the config has no {size}, and its default {value} is not an integer for {sizes}"
                    ) from None
        numbers |= {size: place.taken(size, config, numbers) for size, place in derived.items()}
        for option, (size, other) in self.apart.items():
            options[option] = numbers[size] != numbers[other]
            if not options[option]:
                del numbers[size]
        for name, (option, values) in self.echoes.items():
            if name in config and config[name] != values[options[option]]:
                raise ConfigError(
                    f"{name!r} is {format_value(config[name])} in the config, but {self.options[option].name!r} "
                    f"implies {values[options[option]]!r}; remove the field"
                )
        for name, expr in self.restated.items():
            expected = evaluate(expr, numbers, name)
            if name in self.assumed and name not in config and self.assumed[name] != expected:
                raise ConfigError(
                    f"the config has no {name!r}, and the class then uses {self.assumed[name]}, but {expr} is "
                    f"{expected}; set it to {expected}"
                )
            if (given := config.get(name)) is None:
                continue
            if whole_number(name, same_in_every_layer(name, given, config)) != expected:
                raise ConfigError(
                    f"{name!r} is {format_value(given)} in the config, but {expr} is {expected}; remove the field"
                )
        if self.layers is None and config.get(self._inside(LAYER_TYPES)) is not None:
            self._alike(config[self._inside(LAYER_TYPES)], options, numbers)
        return options, numbers

    def _given(self, size: Symbol, config: Config) -> bool:
        """Return True if a config has a size that is optional in the model."""
        place = self.sizes[size]
        numbers = [config[name] for name in place.names if name in config]
        missing = (None,) if place.absent is None else (place.absent,)
        given = [number for number in numbers if isinstance(number, bool) or number not in missing]
        return bool(given) if numbers else place.default is not None

    def _hold(self, config: Config) -> None:
        """Raise ConfigError for an unsupported field or an unsupported value."""
        fixed = {name: known for name, known in self._everywhere(FIXED).items() if name not in self.known}
        fixed |= {**self.fixed, **self.required}
        for name, values in self.required.items():
            if name not in config:
                known = " or ".join(map(repr, values))
                raise UnreadError(f"the config has no {name!r}; its default is not supported, only {known}")
        twice = {again: section for section, again in self.sections.items()}
        for name, value in config.items():
            head, dot, inside = name.partition(".")
            path = f"{twice.get(head, head)}{dot}{inside}"  # a second copy has the path of the first
            if path in fixed:
                if not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in fixed[path]):
                    known = " or ".join(map(repr, fixed[path]))
                    raise UnreadError(
                        f"{name!r} is {format_value(value)} in the config; this affects the count, and only {known} is "
                        "supported"
                    )
            elif name in self.nested:
                if not isinstance(value, dict | None):
                    raise ConfigError(
                        f"{name!r} is {format_value(value)} in the config; it should be an object or null"
                    )
                self.nested[name]._hold(value or {})
            elif self.rotary and name in self.rotary_fields:
                self._hold_rotary(name, value)
            elif path not in self.known:
                raise UnreadError(
                    f"the field {format_value(name)} = {format_value(value)} is not supported; remove it if it does "
                    "not affect the model"
                )

    def _without_own(self, name: str, value: Any) -> Any:
        """Return rotary embeddings without the parts that only this class accepts. Raises ConfigError."""
        if not isinstance(value, dict):
            return value
        if value.get(ROPE_BASE, 1) is None and any(isinstance(each, RotaryBase) for each in self.options.values()):
            value = {part: given for part, given in value.items() if part != ROPE_BASE}
            if value.get("rope_type", "default") != "default":
                raise UnreadError(f"{name!r} has a type in the config, but no base; remove the type")
        for part in (part for part in self.rope_takes if part in value):
            given = value[part]
            numbers = isinstance(given, list) and all(type(each) is int and each >= 0 for each in given)
            if not (isinstance(given, bool) or (numbers and len(given) == 3)):
                raise ConfigError(
                    f"{name!r} has {part!r} = {format_value(given)} in the config; it should be a list of three numbers"
                )
        return {part: given for part, given in value.items() if part not in self.rope_takes}

    def _hold_rotary(self, name: str, value: Any) -> None:
        """Raise ConfigError for unsupported rotary embeddings, of all layers or of one layer kind."""
        partly = any(isinstance(each, FractionField) for each in self.sizes.values())
        if name == ROPE_BASE and value is None and ROPE_BASE in {each.name for each in self.options.values()}:
            return
        if not self.apiece or name != self._inside("rope_parameters") or not isinstance(value, dict):
            check_rotary(name, self._without_own(name, value), self.ropes, partly, self.rope_needs)
            return
        for kind, given in value.items():
            if kind not in self.apiece:
                raise ConfigError(
                    f"{name!r} has {format_value(kind)} = {format_value(given)} in the config; it should have an "
                    f"object for each of {' and '.join(map(repr, self.apiece))}"
                )
            check_rotary(f"{name}.{kind}", given, self.ropes, partly)

    @cached_property
    def known(self) -> frozenset[str]:
        """Return all fields that are read, repeat a value that is read, or have no effect."""
        read = {name for place in self.sizes.values() for name in (*place.names, *place.twins)}
        read |= {place.whole for place in self.sizes.values() if isinstance(place, FractionField) and place.whole}
        read |= {name for place in self.sizes.values() if isinstance(place, Derived) for name in place.others}
        read |= {place.name for place in self.options.values()} | set(self.restated) | set(self.echoes)
        read |= {place.also for place in self.options.values() if isinstance(place, EitherField | EitherProbability)}
        alike = {self._inside(LAYER_TYPES)} if self.language or not self.sections else set()
        read |= set(self.layers.names) if self.layers else alike
        said = self._everywhere(dict.fromkeys(("architectures", *INERT)))
        return frozenset({*read, *READ, *said, *self.inert})

    def _everywhere(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return rules for fields of every config, extended to the same fields in each section of this config."""
        return {**known, **{f"{section}.{name}": each for section in self.sections for name, each in known.items()}}

    @cached_property
    def rotary_fields(self) -> frozenset[str]:
        """Return the paths of the fields of rotary embeddings."""
        paths = [f"{section}.{name}" for section in self.turned for name in ROTARY]
        return frozenset(paths or map(self._inside, ROTARY))

    def _inside(self, name: str) -> str:
        """Return the path of a field of the language model."""
        return f"{self.language}.{name}" if self.language else name

    def _alike(self, listed: Any, options: Mapping[str, Any], numbers: Numbers) -> None:
        """Raise ConfigError for a layer list with kinds other than the only one of this architecture."""
        kind = "sliding_attention" if options.get("window") else "full_attention"
        towers = ("vis",) if self.language else ()
        depth = sum(
            number
            for size, number in numbers.items()
            if letter(size).base == "L" and letter(size).subscript not in towers
        )
        if not isinstance(listed, list) or len(listed) != depth or any(each != kind for each in listed):
            raise UnreadError(
                f"{self._inside(LAYER_TYPES)!r} is {format_value(listed)} in the config; only {depth} layers of "
                f"{kind!r} are supported"
            )

    def _options(self, config: Config) -> dict[str, Any]:
        named = config.get("architectures")
        if named is None:
            return {}
        if not (isinstance(named, list) and len(named) == 1 and isinstance(named[0], str)):
            raise ConfigError(
                f"'architectures' is {format_value(named)} in the config; it should be a list of one class name"
            )
        known = next((name for name in self.classes if spelling(name) == spelling(named[0])), "")
        if not known:
            raise UnreadError(
                f"'architectures' names {format_value(named[0])}, whose head is not supported; supported classes: "
                f"{listed(name for name in self.classes if name.isidentifier())}"
            )
        return dict(self.classes[known])

    def write(self, component: Component, numbers: Mapping[Symbol, int]) -> dict[str, Any]:
        """Return the config of a component at given sizes: the inverse of `read`."""
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
        for size, place in self.sizes.items():
            config |= place.others_at(numbers[size], numbers) if isinstance(place, Derived) else {}
        config |= {each.name: each.write(getattr(component, option)) for option, each in self.options.items()}
        config |= {name: evaluate(self.restated[name], numbers, name) for name in self.assumed}
        config |= self.layers.write(numbers) if self.layers else {}
        for option, size in self.nullable.items():
            if not getattr(component, option):
                config[self.sizes[size].names[0]] = self.sizes[size].absent
        for option, (size, other) in self.apart.items():
            if not getattr(component, option):
                config[self.sizes[size].names[0]] = numbers[other]
        config |= {name: known[0] for name, known in self.required.items()}
        return nest(config, self.sections)

    def class_for(self, component: Component) -> str:
        """Return the torch class with the same options as the component. Raises ConfigError."""
        for name, options in self.classes.items():
            if all(getattr(component, option) == value for option, value in options.items()):
                return name
        raise ConfigError(f"no torch class corresponds to {component.name} with {component.options_text()}")


def _renamed(setting: Any, name: str) -> Any:
    """Return the setting of an option, which is a frozen dataclass, with the name of another field."""
    return replace(setting, name=name)
