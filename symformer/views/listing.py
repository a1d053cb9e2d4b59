"""Lists of the available architectures, presets, components, quantities, and the options of a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

from .. import architectures as all_architectures
from .. import components as all_components
from ..components.base import Component, spell_option
from ..devices import devices as all_devices
from ..language.errors import SymformerError, UnknownNameError
from ..language.frozen import Immutable
from ..language.symbols import letter, print_order
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.tabular import Tabular
from ..papers import Paper, cited_papers, paper
from ..quantities import quantities as all_quantities
from ..quantities import quantity as find_quantity
from ..quantities.quantity import PLACEMENT, Quantity
from ..targets.resolution import model as find_model


class ListEntry:
    """An entry of a list. Its class has ``name`` and ``title``."""

    name: str
    title: str

    @property
    def columns(self) -> dict[str, Any]:
        """The cells of the entry in a table."""
        raise NotImplementedError

    def __repr__(self) -> str:
        kind = type(self).__name__.removesuffix("Info").lower()
        return f"<{kind} {self.name}: {self.title}>"


class CitingEntry(ListEntry):
    """An entry that cites papers."""

    papers: tuple[Paper, ...]

    @property
    def paper(self) -> Paper | None:
        """The first paper that it cites."""
        return next(iter(self.papers), None)


T = TypeVar("T", bound=ListEntry)


@dataclass(frozen=True, repr=False)
class Listing(Immutable, Tabular, Sequence[T], Generic[T]):
    """An immutable list whose entries are found by position or by name."""

    what: str
    entries: tuple[T, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries, in order."""
        return tuple(each.name for each in self.entries)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> Listing[T]: ...
    def __getitem__(self, key: int | str | slice) -> T | Listing[T]:
        if isinstance(key, str):
            if key not in self._places:
                raise UnknownNameError(self.what, key, self.names)
            return self.entries[self._places[key]]
        return Listing(self.what, self.entries[key]) if isinstance(key, slice) else self.entries[key]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[T]:
        return iter(self.entries)

    def __contains__(self, item: object) -> bool:
        return item in self._places if isinstance(item, str) else item in self.entries

    def table(self) -> dict[str, list[Any]]:
        """Return the columns by name, with one row per entry."""
        rows = [each.columns for each in self.entries]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:6])
        what = self.what if len(self) == 1 else "quantities" if self.what == "quantity" else f"{self.what}s"
        return f"<{len(self)} {what}: {shown}{', ...' if len(self) > 6 else ''}>"


@dataclass(frozen=True, repr=False)
class ArchitectureInfo(CitingEntry, Immutable):
    """An architecture: its paper, sizes and options.

    Attributes
    ----------
    name, title
        The name for :func:`symformer.model`, and the display name.
    paper
        The first paper that it cites, or None.
    papers
        All papers that it cites.
    sizes
        The meaning of each size, by letter.
    conventions
        The values of each option; the first is the default. An option with a list of names has no values.
    presets
        The names of its presets.
    model_types
        The ``model_type`` of each config.json that it reads.

    """

    name: str
    title: str
    papers: tuple[Paper, ...]
    sizes: Mapping[str, str]
    conventions: Mapping[str, tuple[str, ...]]
    presets: tuple[str, ...]
    model_types: tuple[str, ...]

    def model(self, **options: Any) -> Model:
        """Return the model of the architecture, with its options set."""
        return all_architectures.architecture(self.name, **options)

    @property
    def columns(self) -> dict[str, Any]:
        """The cells of the entry in a table."""
        return {
            "name": self.name,
            "title": self.title,
            "paper": self.paper.short if self.paper else "",
            "sizes": " ".join(self.sizes),
            "conventions": _spelled(self.conventions),
            "presets": len(self.presets),
        }


@dataclass(frozen=True, repr=False)
class PresetInfo(CitingEntry, Immutable):
    """The published sizes of one model.

    Attributes
    ----------
    name, title
        The name for :func:`symformer.model`, and the display name of its architecture.
    architecture
        The name of its architecture.
    papers
        The papers of its architecture.
    sizes
        The value of each size, by letter.
    conventions
        The options that differ from the defaults of the architecture.
    source, hub
        Where the sizes are published, and the id on the Hub ("" if there is none).
    params
        The published number of parameters, or None if no exact number is published.

    """

    name: str
    title: str
    architecture: str
    papers: tuple[Paper, ...]
    sizes: Mapping[str, int]
    conventions: Mapping[str, str]
    source: str
    hub: str
    params: int | None

    def model(self, **options: Any) -> Model:
        """Return the model at the sizes of the preset, with further options set."""
        return all_architectures.architecture(self.name, **options)

    @property
    def columns(self) -> dict[str, Any]:
        """The cells of the entry in a table."""
        return {
            "name": self.name,
            "title": self.title,
            "architecture": self.architecture,
            "sizes": _spelled(self.sizes),
            "conventions": _spelled(self.conventions),
            "params": self.params,
            "hub": self.hub,
            "source": self.source,
        }


@dataclass(frozen=True, repr=False)
class ComponentInfo(CitingEntry, Immutable):
    """A component: its paper, shapes, sizes and options.

    Attributes
    ----------
    name, title
        The name for :func:`symformer.component`, and the display name; the target is ``component:NAME``.
    papers
        The papers that it cites.
    shapes
        The shapes of its inputs and its output: ``x[...,E] -> y[...,E]``.
    sizes
        The meaning of each size, by letter.
    conventions
        The values of each option; the first is the default.

    """

    name: str
    title: str
    papers: tuple[Paper, ...]
    shapes: str
    sizes: Mapping[str, str]
    conventions: Mapping[str, tuple[str, ...]]

    def component(self, **options: Any) -> Component:
        """Return the component, with its options set."""
        return all_components.component(self.name, **options)

    @property
    def columns(self) -> dict[str, Any]:
        """The cells of the entry in a table."""
        return {
            "name": self.name,
            "title": self.title,
            "paper": self.paper.short if self.paper else "",
            "shapes": self.shapes,
            "sizes": " ".join(self.sizes),
            "conventions": _spelled(self.conventions),
        }


@dataclass(frozen=True, repr=False)
class QuantityInfo(ListEntry, Immutable):
    """A quantity: its unit, definition, sizes and conventions.

    Attributes
    ----------
    name, title
        The name for :meth:`symformer.Model.formula`, and the display name.
    unit, statement
        The unit, and the definition in words.
    papers
        The papers that the definition cites.
    sizes
        The meaning of each size of the run that it depends on for a decoder (GPT-2), by letter.
    conventions
        The meaning of each value of each convention; the first value is the default. The conventions of parallel ranks
        are the same for all quantities and are in ``options``.

    """

    name: str
    title: str
    unit: str
    statement: str
    papers: tuple[Paper, ...]
    conventions: Mapping[str, Mapping[str, str]]

    @property
    def paper(self) -> Paper | None:
        """The first paper that the definition cites."""
        return next(iter(self.papers), None)

    @cached_property
    def sizes(self) -> Mapping[str, str]:
        """The meaning of each size of the run that it depends on for a decoder (GPT-2), by letter."""
        try:
            formula = all_architectures.architecture("gpt2").formula(self.name)
        except SymformerError:  # it needs a convention, such as a number of ranks
            return {}
        asked = {*formula.dependencies, *formula.defining_sizes}
        return _meanings(size for size in asked if letter(size).run)

    @property
    def columns(self) -> dict[str, Any]:
        """The cells of the entry in a table."""
        return {
            "name": self.name,
            "title": self.title,
            "unit": self.unit,
            "sizes": " ".join(self.sizes),
            "conventions": _spelled({name: tuple(values) for name, values in self.conventions.items()}),
            "statement": self.statement,
        }


@dataclass(frozen=True, repr=False)
class DeviceInfo(ListEntry, Immutable):
    """A device: its memory, bandwidth, peaks and links, each as its source states it.

    Attributes
    ----------
    name, title
        The name for ``--device``, and the display name.
    memory, bandwidth
        The bytes of its memory (vendors state GB, 10^9 bytes), and the bytes per second between memory and processor;
        None if no source states them.
    peak
        The dense peak FLOPs per second by dtype.
    links
        The bytes per second of each kind of link, both directions together.
    source
        Where the values are published.

    """

    name: str
    title: str
    memory: int | None
    bandwidth: int | None
    peak: Mapping[str, int]
    links: Mapping[str, int]
    source: str

    def sizes(self, dtype: str = "") -> dict[str, int]:
        """Return the sizes of a time bound on the device, for :meth:`symformer.Model.set`.

        Parameters
        ----------
        dtype
            The dtype of the peak; by default bf16, or fp16 if the device states no bf16.

        Returns
        -------
        dict
            ``N_bw`` and ``N_peak``.

        Raises
        ------
        OptionError
            If no source states one of them.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.devices()["a100-80gb"].sizes()
        {'N_bw': 2039000000000, 'N_peak': 312000000000000}

        """
        found = all_devices()[self.name]
        return {"N_bw": found.stated_bandwidth(), "N_peak": found.peak_of(dtype)[1]}

    @property
    def columns(self) -> dict[str, Any]:
        """The cells of the entry in a table."""
        return {
            "name": self.name,
            "title": self.title,
            "memory": self.memory,
            "bandwidth": self.bandwidth,
            "peak": _spelled(self.peak),
            "links": _spelled(self.links),
            "source": self.source,
        }


@dataclass(frozen=True, repr=False)
class OptionInfo(ListEntry, Immutable):
    """An option of a target or a convention of a quantity.

    Attributes
    ----------
    name
        The name, as in ``--option NAME=VALUE`` or as a keyword argument.
    kind
        "option" of the model, "convention" of the quantity, or "placement" on parallel ranks.
    values
        The meaning of each value; "" if the value says it. Empty if the value is a list of names.
    default, chosen
        The default, and the value of the target.

    """

    name: str
    kind: str
    values: Mapping[str, str]
    default: str
    chosen: str

    @property
    def title(self) -> str:  # type: ignore[override]
        """The kind and the values."""
        return f"{self.kind}, {' or '.join(self.values) or 'a list of names'}"

    @property
    def columns(self) -> dict[str, Any]:
        """The cells of the entry in a table."""
        return {
            "name": self.name,
            "kind": self.kind,
            "values": ", ".join(self.values),
            "default": self.default,
            "chosen": self.chosen,
        }


def architectures() -> Listing[ArchitectureInfo]:
    """Return all architectures, with those that other packages register.

    Returns
    -------
    Listing of ArchitectureInfo
        Found by position or by name; ``to_pandas()`` and ``to_markdown()`` give a table.

    Examples
    --------
    >>> import symformer as sf
    >>> found = sf.architectures()["gpt2"]
    >>> found.title, found.paper.short, found.sizes["E"]
    ('GPT-2', 'Radford et al. 2019', 'hidden size')
    >>> found.conventions["tied"]
    ('true', 'false')

    """
    return Listing("architecture", tuple(map(_architecture, all_architectures.all_names())))


def presets(architecture: str | None = None) -> Listing[PresetInfo]:
    """Return all presets, or the presets of one architecture.

    Parameters
    ----------
    architecture
        The name of an architecture.

    Returns
    -------
    Listing of PresetInfo
        Found by position or by name; ``to_pandas()`` and ``to_markdown()`` give a table.

    Raises
    ------
    UnknownNameError
        If there is no such architecture.

    Examples
    --------
    >>> import symformer as sf
    >>> found = sf.presets("llama")["llama-3-8b"]
    >>> found.sizes["E"], found.params, found.architecture
    (4096, 8030261248, 'llama')

    """
    if architecture is not None:
        all_architectures.architecture_class(architecture)
    facts = all_architectures.presets()
    named = {each["architecture"] for each in facts.values()}
    known = {each: _papers(all_architectures.architecture_class(each)) for each in named}
    return Listing(
        "preset",
        tuple(
            PresetInfo(
                name,
                all_architectures.architecture_class(each["architecture"]).title,
                each["architecture"],
                known[each["architecture"]],
                each["sizes"],
                {option: spell_option(value) for option, value in each.get("options", {}).items()},
                each["source"],
                each.get("hub", ""),
                _published(each.get("params")),
            )
            for name, each in facts.items()
            if architecture in (None, each["architecture"])
        ),
    )


def components() -> Listing[ComponentInfo]:
    """Return all components, with those that other packages register.

    Returns
    -------
    Listing of ComponentInfo
        Found by position or by name; ``to_pandas()`` and ``to_markdown()`` give a table.

    Examples
    --------
    >>> import symformer as sf
    >>> found = sf.components()["gated-mlp"]
    >>> found.paper.short, found.shapes, sorted(found.sizes)
    ('Shazeer 2020', 'x[...,E] -> y[...,E]', ['E', 'H'])

    """
    return Listing("component", tuple(map(_component, all_components.all_names())))


def quantities() -> Listing[QuantityInfo]:
    """Return all quantities, with those that other packages register.

    Returns
    -------
    Listing of QuantityInfo
        Found by position or by name; ``to_pandas()`` and ``to_markdown()`` give a table.

    Examples
    --------
    >>> import symformer as sf
    >>> found = sf.quantities()["flops"]
    >>> found.unit, sorted(found.sizes), list(found.conventions["attention"])
    ('FLOPs', ['B', 'S'], ['full', 'causal'])

    """
    return Listing("quantity", tuple(map(_quantity, all_quantities().values())))


def devices() -> Listing[DeviceInfo]:
    """Return all devices.

    Returns
    -------
    Listing of DeviceInfo
        Found by position or by name; ``to_pandas()`` and ``to_markdown()`` give a table.

    Examples
    --------
    >>> import symformer as sf
    >>> found = sf.devices()["h100-80gb"]
    >>> found.memory, found.bandwidth, found.peak["bf16"]
    (80000000000, 3350000000000, 989000000000000)

    """
    return Listing(
        "device",
        tuple(
            DeviceInfo(each.name, each.title, each.memory, each.bandwidth, each.peak, each.links, each.source)
            for each in all_devices().values()
        ),
    )


def options(target: Model | AnyTarget, quantity: str = "params") -> Listing[OptionInfo]:
    """Return the options of a target and the conventions of a quantity.

    Parameters
    ----------
    target
        A model, or any target of :func:`symformer.model`.
    quantity
        The quantity whose conventions are listed.

    Returns
    -------
    Listing of OptionInfo
        The options of the model, then the conventions of the quantity, then the options of parallel ranks.

    Raises
    ------
    SymformerError
        A subclass, if the target or the quantity is unknown.

    Examples
    --------
    >>> import symformer as sf
    >>> found = sf.options("gpt2", "flops")
    >>> found["tied"].values, found["attention"].default
    ({'true': '', 'false': ''}, 'full')

    """
    component, question = find_model(target).component, find_quantity(quantity)
    defaults = type(component)() if type(component).choices() else component
    found = [
        OptionInfo(
            name,
            "option",
            {spell_option(value): "" for value in values},
            spell_option(getattr(defaults, name)),
            spell_option(getattr(component, name)),
        )
        for name, values in component.choices().items()
    ]
    for name, convention in question.choices.items():
        kind = "placement" if name in PLACEMENT else "convention"
        found.append(OptionInfo(name, kind, dict(convention.meanings), convention.default, convention.default))
    return Listing("option", tuple(found))


def _architecture(name: str) -> ArchitectureInfo:
    cls = all_architectures.architecture_class(name)
    return ArchitectureInfo(
        name,
        cls.title,
        _papers(cls),
        _meanings(size for size in cls().ledger.sizes if not letter(size).run),
        _choices(cls),
        tuple(all_architectures.presets_of(name)),
        all_architectures.model_types(name),
    )


def _component(name: str) -> ComponentInfo:
    part = all_components.component(name)
    return ComponentInfo(
        name,
        part.title,
        _papers(type(part)),
        part.shapes,
        _meanings(size for size in part.ledger.sizes if not letter(size).run),
        _choices(type(part)),
    )


def _quantity(question: Quantity) -> QuantityInfo:
    known = {name: dict(each.meanings) for name, each in question.choices.items() if name not in PLACEMENT}
    meant = [meaning for values in known.values() for meaning in values.values()]
    measure = question.measure
    papers = tuple(map(paper, cited_papers([question.statement, *meant])))
    return QuantityInfo(measure.name, measure.title, measure.unit, question.statement, papers, known)


def _papers(part: type[Component]) -> tuple[Paper, ...]:
    return tuple(map(paper, cited_papers([part().about, part.__doc__ or ""])))


def _choices(part: type[Component]) -> dict[str, tuple[str, ...]]:
    """Return the values of each option as text, the default first."""
    made = part()
    found: dict[str, tuple[str, ...]] = {}
    for name, values in part.choices().items():
        default = spell_option(getattr(made, name))
        found[name] = tuple(sorted(map(spell_option, values), key=lambda value: value != default))
    return found


def _meanings(sizes: Any) -> dict[str, str]:
    return {str(size): letter(size).meaning for size in sorted(sizes, key=print_order)}


def _published(params: Any) -> int | None:
    """Return the published number of parameters, which is stored with its source."""
    if isinstance(params, Mapping):
        return next((value for value in params.values() if isinstance(value, int)), None)
    if isinstance(params, list | tuple):
        return next((value for value in params if isinstance(value, int)), None)
    return params if isinstance(params, int) else None


def _spelled(values: Mapping[str, Any]) -> str:
    spell: Callable[[Any], str] = lambda each: "|".join(each) if isinstance(each, tuple) else str(each)  # noqa: E731
    return ", ".join(f"{name}={spell(value)}" for name, value in values.items())
