"""A class with field values other than its defaults, and with its layers counted by kind.

Some classes cannot be built from their own defaults, and some have a size that is null by default. If a config lists
the kind of every layer, the stored parameters follow from the number of layers of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, cast

from ..catalogue.entries import field_name, part_of
from .transformers_classes import TracedClass

COUNTED = "_layers"  # suffix of a kind: the number of its layers
KINDS = (  # names of layer kinds in configs
    *("attention", "full_attention", "sliding_attention", "linear_attention"),
    *("mamba", "recurrent", "conv", "hybrid", "moe", "mlp", "dense", "sparse"),
)
DEPTH, LAYER_TYPES = "num_hidden_layers", "layer_types"
WORDS = ("_types", "_type", "_pattern")  # suffixes of lists of kinds, as opposed to lists of positions
RATIOS, INDEXES = ("_ratios",), ("_idxs", "_indices", "_indexes")
RATIO = (0, 1, 2, 4, 8, 16, 32, 64, 128)  # values of a layer in such a list
SOME = (((0,), 3), ((1, 2), 4), ((0, 3), 5), ((), 2))  # layer positions and depths to test
SIGNS = tuple("*-MEADLGSRCmeadlgsrc")  # characters for kinds in a pattern


@dataclass(frozen=True)
class FieldVariant(TracedClass):
    """A class whose configs have other defaults, and the number of layers of each kind as separate sizes.

    The list of kinds may be one of a part, such as text_config.layer_types.
    """

    given: Mapping[str, Any] = field(default_factory=dict, hash=False)
    listed: str = ""  # the field that lists the kind of every layer, or the positions of the first kind
    kinds: tuple[str, ...] = ()
    each: int = 1  # layers of each kind by default
    derived: tuple[str, ...] = ()  # fields that the class derives from the given ones and that no config sets

    def config(self, fields: Mapping[str, Any]) -> Any:
        """Return the config with these fields and the given ones."""
        said = _over(self.given, fields)
        for path in self.derived:
            _scope(said, part_of(path)).pop(field_name(path), None)
        if not self.listed:
            return self._kept(super().config(said))
        part, name = part_of(self.listed), field_name(self.listed)
        scope = _scope(said, part)
        asked = {kind: scope.pop(kind + COUNTED) for kind in self.kinds if kind + COUNTED in scope}
        if self.located:
            spread = _spread({kind: asked.get(kind, self.each) for kind in self.kinds})
            scope[name] = [layer for layer, kind in enumerate(spread) if kind == self.kinds[0]]
            scope[DEPTH] = len(spread)
            return self._kept(self._counted(super().config(said)))
        if asked or name not in _scope(dict(fields), part):
            scope[name] = _spread({kind: asked.get(kind, self.each) for kind in self.kinds})
        scope.pop(DEPTH, None)  # as many as are listed
        made = _made(super().config, said, part, len(scope[name]))
        if [*_listed(made, self.listed)] != scope[name]:  # some classes fix the kind of the last layer
            scope[name] = scope[name][::-1]
            made = _made(super().config, said, part, len(scope[name]))
        return self._kept(self._counted(made))

    @property
    def located(self) -> bool:
        """Whether the list holds the positions of one kind instead of kinds."""
        return bool(self.listed) and not field_name(self.listed).endswith(WORDS)

    def _counted(self, made: Any) -> Any:
        """Return a config with the number of its layers of each kind."""
        part = part_of(self.listed)
        holder = getattr(made, part) if part else made
        if self.located:
            first = len(getattr(holder, field_name(self.listed)))
            counts = dict(zip(self.kinds, (first, getattr(holder, DEPTH) - first), strict=True))
        else:
            counts = {kind: _listed(made, self.listed).count(kind) for kind in self.kinds}
        for kind, number in counts.items():
            vars(holder)[kind + COUNTED] = number
        return made

    def _kept(self, made: Any) -> Any:
        """Return a config with the given fields that its class converts without storing them."""
        for path, value in paths(self.given).items():
            config = getattr(made, part_of(path)) if part_of(path) else made
            if field_name(path) not in vars(config) and not isinstance(value, Mapping):
                vars(config)[field_name(path)] = value
        return made


def paths(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given fields by their paths, including those of parts."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        found |= (
            {f"{name}.{each}": inner for each, inner in value.items()}
            if isinstance(value, dict) and value
            else {name: value}
        )
    return found


def _over(given: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return given fields overridden by others, part by part."""
    said = {**given, **fields}
    for name, value in given.items():
        if isinstance(value, Mapping):
            said[name] = {**value, **(fields.get(name) or {})}
    return said


def _scope(said: dict[str, Any], part: str) -> dict[str, Any]:
    """Return a writable mapping of the fields of a part, or of the whole config."""
    if not part:
        return said
    said[part] = dict(said.get(part) or {})
    return cast(dict[str, Any], said[part])


def _listed(made: Any, path: str) -> list[str]:
    return [*map(str, getattr(getattr(made, part_of(path)) if part_of(path) else made, field_name(path)))]


def variant(
    source: TracedClass,
    given: Mapping[str, Any],
    listed: str = "",
    kinds: tuple[str, ...] = (),
    derived: tuple[str, ...] = (),
    each: int = 1,
) -> TracedClass:
    """Return a class with some fields given, counting the layer kinds that a field lists, by default or as named."""
    own = {each.name: getattr(source, each.name) for each in fields(TracedClass)}
    if listed and not kinds:
        kinds = tuple(dict.fromkeys(_listed(source.config(given), listed)))
    return FieldVariant(**own, given=given, listed=listed, kinds=kinds, derived=derived, each=each)


def spellings(source: TracedClass) -> dict[str, dict[str, str]]:
    """Return the fields that list layer kinds, each with a map from its name of a kind to the size that counts it."""
    if not isinstance(source, FieldVariant) or not source.listed or source.located:
        return {}
    found: dict[str, dict[str, str]] = {}
    part = f"{part_of(source.listed)}." if part_of(source.listed) else ""
    for name in (field_name(source.listed), LAYER_TYPES, "hybrid_override_pattern", *_ending(source, RATIOS)):
        known = {str(word): _kind(source, name, word) for word in _words(name, source.kinds)}
        kept = {word: part + kind + COUNTED for word, kind in known.items() if kind in source.kinds}
        if {*kept.values()} == {part + kind + COUNTED for kind in source.kinds}:
            found[part + name] = kept
    return found


def truncated_lists(source: TracedClass) -> tuple[str, ...]:
    """Return the lists of layer kinds of which a class reads only as many entries as it has layers."""
    assert isinstance(source, FieldVariant)
    found = []
    for name, known in spellings(source).items():
        words = [int(word) if word.isdigit() else word for word in known]
        kinds = [field_name(known[str(word)]).removesuffix(COUNTED) for word in words]
        with suppress(Exception):  # any error of the config class for a list that is too long
            two = {field_name(name): [words[0], words[-1], words[0]], DEPTH: 2}
            if _inside(source, two) == [kinds[0], kinds[-1]]:
                found.append(name)
    return tuple(found)


def position_lists(source: TracedClass) -> dict[str, dict[str, str]]:
    """Return the fields that list the positions of one kind, and the sizes that count this kind and the other one.

    Each is tested with several positions and depths.
    """
    if not isinstance(source, FieldVariant) or not source.listed:
        return {}
    if source.located:
        into = f"{part_of(source.listed)}." if part_of(source.listed) else ""
        first, other = (into + kind + COUNTED for kind in source.kinds)
        return {source.listed: {"in": first, "out": other}}
    found = {}
    for name in _ending(source, INDEXES) if len(source.kinds) == 2 else ():
        for kind, other in (source.kinds, source.kinds[::-1]):
            if all(
                _placed(source, name, {*places}, depth) == _at(places, depth, kind, other) for places, depth in SOME
            ):
                part = f"{part_of(source.listed)}." if part_of(source.listed) else ""
                found[part + name] = {"in": part + kind + COUNTED, "out": part + other + COUNTED}
    return found


def _inside(source: FieldVariant, fields: Mapping[str, Any]) -> list[str]:
    """Return the layer kinds of a config with these fields in the part that lists them, or in the whole config."""
    part = part_of(source.listed)
    return _listed(_plain(source).config(_over(source.given, {part: fields} if part else fields)), source.listed)


def _placed(source: FieldVariant, name: str, places: set[int], depth: int) -> list[str]:
    """Return the layer kinds of a config that lists some positions, or [] if the class rejects it."""
    with suppress(Exception):  # any error of the config class
        return _inside(source, {name: sorted(places), DEPTH: depth})
    return []


def _at(places: Sequence[int], depth: int, kind: str, other: str) -> list[str]:
    return [kind if layer in places else other for layer in range(depth)]


def _ending(source: TracedClass, ends: tuple[str, ...]) -> list[str]:
    """Return the fields with such a suffix that a config class declares or takes from its keyword arguments."""
    from .fields_read import keyword_names

    assert isinstance(source, FieldVariant)
    part = part_of(source.listed)
    holder = source.config_class.sub_configs[part] if part else source.config_class
    named = {*getattr(holder, "__annotations__", ()), *keyword_names(holder)}
    return sorted(name for name in named if name.endswith(ends))


def _plain(source: FieldVariant) -> TracedClass:
    return TracedClass(**{each.name: getattr(source, each.name) for each in fields(TracedClass)})


def _made(config: Callable[[Mapping[str, Any]], Any], said: Mapping[str, Any], part: str, depth: int) -> Any:
    """Return the config of a list of layers, with its depth if the class accepts that."""
    try:
        return config(_over(said, {part: {DEPTH: depth}} if part else {DEPTH: depth}))
    except Exception:  # any error of a config class that derives the depth from the list
        return config(said)


def _words(name: str, kinds: Iterable[str]) -> Iterable[str | int]:
    if name.endswith(RATIOS):
        return RATIO
    return SIGNS if name.endswith("pattern") else dict.fromkeys((*kinds, *KINDS))


def _kind(source: FieldVariant, name: str, word: str | int) -> str:
    """Return the kind of the first of two equal layers in a config, or "" if the class rejects it."""
    with suppress(Exception):  # any error of the config class
        return _of_all(source, name, word, 2)[0]
    return ""


def _of_all(source: FieldVariant, name: str, word: str | int, depth: int) -> list[str]:
    part = part_of(source.listed)
    one = {name: str(word) * depth if name.endswith("pattern") else [word] * depth}
    said = _over(source.given, {part: one} if part else one)
    return _listed(_made(_plain(source).config, said, part, depth), source.listed)


def depth_field(source: TracedClass) -> str:
    """Return the depth field if a class does not derive the depth from its list of layers, or ""."""
    if not isinstance(source, FieldVariant) or not source.listed:
        return ""
    part = part_of(source.listed)
    with suppress(Exception):  # any error of the config class for a list without a depth
        kind = source.kinds[0]
        one = {field_name(source.listed): [0] if source.located else [kind]}
        made = _plain(source).config(_over(source.given, {part: one} if part else one))
        if getattr(getattr(made, part) if part else made, DEPTH) == 1:
            return ""
    return f"{part}.{DEPTH}".lstrip(".")


def last_layer_kind(source: TracedClass) -> str:
    """Return the size that counts the kind that a class always uses for the last layer, or ""."""
    assert isinstance(source, FieldVariant)
    made = {kind: _of_all(source, field_name(source.listed), kind, 2)[-1] for kind in source.kinds}
    return next((end + COUNTED for kind, end in made.items() if kind != end), "")


def _spread(counts: Mapping[str, int]) -> list[str]:
    """Return a list with this many layers of each kind, in turn."""
    left = dict(counts)
    found = []
    while any(left.values()):
        for kind, number in left.items():
            if number:
                found.append(kind)
                left[kind] -= 1
    return found
