"""The base class of components: immutable values whose ``forward`` uses only the operations of `Operations`."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from sympy import Expr

from ..formulas.formula import Formula
from ..language.aliases import Alias
from ..language.errors import OptionError, UnknownNameError, choose
from ..language.frozen import FrozenDict, Immutable
from ..language.plugins import Plugins
from ..language.shape_lines import shape_line
from ..language.sizes import Condition, Relations
from ..ledger.facts import Ledger, Tensor
from ..ledger.operations import Operations, record
from ..ledger.placement import Cut
from ..quantities import quantity as find_quantity
from ..quantities.quantity import Quantity
from ..quantities.spellings import spelled

Names = tuple[str, ...]  # the type of an option that is a list of names, separated by commas
_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, kw_only=True)
class Component(Immutable, ABC):
    """A part of a model.

    A subclass is a frozen dataclass with the class attributes below and a ``forward``. Its fields of type ``bool``,
    ``Literal`` or ``Names`` are options, fields of type ``Expr`` are sizes, and fields of type ``str`` are the names of
    its modules in torch.

    Examples
    --------
    >>> import symformer as sf
    >>> mlp = sf.component("gated-mlp")
    >>> mlp.name, mlp.params, mlp.shapes
    ('gated-mlp', 3*E*H, 'x[...,E] -> y[...,E]')

    """

    title: ClassVar[str]  # "Self-attention"
    role: ClassVar[str]  # its row in a comparison: "attention"
    purpose: ClassVar[str] = ""  # a sentence on why a model has it, for documents
    tower: ClassVar[str] = ""  # the tower of a multimodal model that it is: "vision", "projector" or "language"
    shapes: ClassVar[str]  # "x[B,S,E] -> y[B,S,E]"
    # What inputs are, mostly further ones, by their names in ``shapes``: {"memory": "is the output of the encoder"}.
    further_inputs: ClassVar[Mapping[str, str]] = FrozenDict()
    relations: ClassVar[Relations] = FrozenDict()  # sizes that others determine, if the part is used alone
    constraints: ClassVar[tuple[Condition, ...]] = ()

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Raise TypeError for a field that hides a method or a property of a base class."""
        super().__init_subclass__(**arguments)
        if isinstance(relations := vars(cls).get("relations"), dict):
            cls.relations = FrozenDict(relations)
        if isinstance(inputs := vars(cls).get("further_inputs"), dict):
            cls.further_inputs = FrozenDict(inputs)
        for name in inspect.get_annotations(cls):
            for base in cls.__mro__[1:]:
                declared = name in inspect.get_annotations(base)  # subclasses may set declared attributes
                if name in vars(base) and not declared:
                    raise TypeError(f"{cls.__name__}.{name} hides {base.__name__}.{name}; rename the field")

    @abstractmethod
    def forward(self, ops: Operations, *inputs: Any) -> Any:
        """Record the operations of this part and return its output.

        Parameters
        ----------
        ops
            The operations that a part may use.
        *inputs
            The input tensors, as in ``shapes``.

        Returns
        -------
        Tensor
            The output, as in ``shapes``.

        Raises
        ------
        ShapeError
            If two shapes do not match.

        Examples
        --------
        A linear layer of H rows: ``return ops.linear("", x, H)``.

        """

    def split(self, cut: Cut) -> Component:
        """Return this part on one rank. Sizes that are not divided are the same on every rank.

        Parameters
        ----------
        cut
            The divisions of sizes over ranks.

        Returns
        -------
        Component
            The part of one rank; itself if nothing of it is divided.

        Examples
        --------
        A part overrides it to divide its own sizes: ``return replace(self, out=cut.share(self.out))``.

        """
        return self

    @cached_property
    def ledger(self) -> Ledger:
        """Return the ledger of this part alone, for inputs of the shapes in ``shapes``."""
        return record(self)

    @property
    def totals(self) -> Relations:
        """Return sizes that are totals of others, such as the number of layers of all kinds."""
        return {}

    @property
    def library(self) -> str:
        """Return the library that has this part as a torch class, or ""."""
        return ""

    @property
    def functions(self) -> Names:
        """The ends of the paths of operations for which its torch class calls a function instead of a module."""
        return ()

    @property
    def activation_refusal(self) -> str:
        """Return why the saved tensors of its torch class are not known, or "" if they are known."""
        return ""

    @property
    def accepts_sdpa(self) -> bool:
        """Return whether its torch class accepts torch's fused attention."""
        return True

    def for_quantity(self, question: Quantity, given: Mapping[str, str]) -> Component:
        """Return the part whose ledger has a quantity under these conventions: itself, unless it is traced.

        Parameters
        ----------
        question
            The quantity.
        given
            Its conventions.

        Returns
        -------
        Component
            The part to count.

        Raises
        ------
        RuleError
            If the part is traced and the trace cannot measure the quantity.

        Examples
        --------
        >>> import symformer as sf
        >>> mlp = sf.component("mlp")
        >>> mlp.for_quantity(find_quantity("flops"), {}) is mlp
        True

        """
        return self

    @property
    def name(self) -> str:
        """Return the name on the command line: the file name with hyphens, or the registered name."""
        return _named(type(self))

    def formula(self, quantity: str = "params", **conventions: str) -> Formula:
        """Return the formula of a quantity of this part alone.

        Parameters
        ----------
        quantity
            The name of the quantity, such as ``"flops"``.
        **conventions
            Conventions that differ from the defaults.

        Returns
        -------
        Formula
            The closed form.

        Raises
        ------
        UnknownNameError, OptionError
            If the quantity or a convention is unknown.
        RuleError
            If the quantity is not supported for this part.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.component("gated-mlp").formula("flops")
        6*B*S*E*H

        """
        question = find_quantity(quantity)
        given = spelled(conventions, question.choices)
        return question.formula(self, self.name, given, dict(self.relations))

    def with_relations(self, relations: Relations) -> Component:
        """Return this part with relations between sizes substituted into its own sizes.

        Parameters
        ----------
        relations
            The expression of each size that others determine.

        Returns
        -------
        Component
            The part in the other sizes.

        Examples
        --------
        >>> import symformer as sf
        >>> from symformer.symbols import E, H
        >>> sf.component("linear").with_relations({H: 4*E}).params
        4*E**2 + 4*E

        """
        sizes = {item.name: size for item in fields(self) if isinstance(size := getattr(self, item.name), Expr)}
        return replace(self, **{name: size.xreplace(relations) for name, size in sizes.items()})

    @property
    def about(self) -> str:
        """Return the description for documents: the first paragraph of the docstring, with citation keys."""
        return " ".join((type(self).__doc__ or "").split("\n\n")[0].split())

    @property
    def params(self) -> Formula:
        """Return the formula of the number of parameters."""
        return self.formula("params")

    @classmethod
    def choices(cls) -> dict[str, tuple[Any, ...]]:
        """Return the values of each option; () for an option that is a list of names.

        Returns
        -------
        dict
            The values by the name of the option.

        Examples
        --------
        >>> import symformer as sf
        >>> type(sf.component("linear")).choices()
        {'bias': (True, False)}

        """
        return dict(_choices(cls))

    @classmethod
    def options_from(cls, given: Mapping[str, str | bool]) -> dict[str, Any]:
        """Parse options given as text, as in ``--option tied=false``.

        Parameters
        ----------
        given
            The value of each option, as text or as a Python value.

        Returns
        -------
        dict
            The values for the fields of the class.

        Raises
        ------
        UnknownNameError
            If there is no such option.
        OptionError
            If an option does not have that value.

        Examples
        --------
        >>> import symformer as sf
        >>> type(sf.component("linear")).options_from({"bias": "false"})
        {'bias': False}

        """
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
                spelt_choices = [spell_option(choice) for choice in choices[name]]
                remedy = choose(value, spelt_choices, f"choose {name}={' or '.join(spelt_choices)}")
                raise OptionError(f"{name}={value} is not valid; {remedy}")
            read[name] = value
        return read

    def options_text(self) -> str:
        """Return the options as text: ``head=lm, tied=true``.

        Returns
        -------
        str
            All options with their values.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.component("linear").options_text()
        'bias=true'

        """
        chosen = {name: getattr(self, name) for name in self.choices()}
        said = [f"{name}={spell_option(value)}" for name, value in chosen.items() if value != ()]
        return ", ".join(said) or "no options"

    @property
    def changed_options(self) -> dict[str, str]:
        """Return the options that differ from the defaults, as text."""
        defaults = {item.name: item.default for item in fields(self)}
        return {
            name: spell_option(getattr(self, name)) for name in self.choices() if getattr(self, name) != defaults[name]
        }

    # Former names
    unread = Alias("activation_refusal")
    answering = Alias("for_quantity")
    under = Alias("with_relations")
    chosen = Alias("changed_options")
    spell = Alias("options_text")


@cache
def _named(part: type[Component]) -> str:
    if not part.__module__.startswith("symformer."):  # of another package
        for group in ("architectures", "components"):
            if name := Plugins(group, Component).name_of(part):
                return name
    return part.__module__.rpartition(".")[2].replace("_", "-")


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
    """Parse a comma-separated string or a list of names. Raises OptionError for no names and for duplicates."""
    names = tuple(name.strip() for name in given.split(",")) if isinstance(given, str) else given
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) and name for name in names):
        raise OptionError(f"{option}={given} is not valid; it needs names, such as {option}=q_proj,v_proj")
    if twice := [name for name in names if names.count(name) > 1]:
        raise OptionError(f"{option}={given} has {twice[0]} twice; remove one")
    return tuple(names)


def spell_option(value: object) -> str:
    """Return the value of an option as written on the command line."""
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def inputs_for(part: Component, x: Tensor, context: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Return the inputs of a part inside a block: x, and the block's further inputs if the part has more than one.

    If the further inputs are a mapping, select those that the part's ``shapes`` name.
    """
    wanted = [axes.name for axes in shape_line(part.shapes).inputs[1:]]
    if context and isinstance(context[0], Mapping):
        return (x, *(context[0][name] for name in wanted))
    return (x, *context) if wanted else (x,)


def context_signature(part: Component | None) -> str:
    """Return the further inputs of a part as in its ``shapes``: ``, bias[1,A,S,S]``."""
    inputs = part.shapes.partition("->")[0].rstrip() if part else ""
    return inputs[inputs.find("]") + 1 :]
