"""Models: a component with a name, sizes, and relations between sizes. Every target resolves to a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from sympy import Expr, Integer, Symbol

from ..components.base import Component
from ..formulas.formula import Formula
from ..language.aliases import Alias
from ..language.errors import RuleError, SizeError, SymformerError, UnknownNameError
from ..language.frozen import FrozenDict, Immutable
from ..language.notation.text import text
from ..language.sizes import (
    Condition,
    Equals,
    Numbers,
    Relations,
    check_relation,
    close_relations,
    evaluate_relation,
    format_value,
    substitute,
    whole,
)
from ..language.symbols import (
    FORMER,
    RUN_SIZES,
    SYMBOLS,
    NamedSizes,
    letter,
    named_symbol,
    print_order,
    suggested_letter,
    symbol,
)
from ..language.target import AnyTarget, is_config, is_module, name_of
from ..ledger.facts import Ledger, OperationKind
from ..output.blocks import BriefBlock, Equation, Heading, Math, Piece, Table
from ..output.notebook import Shown
from ..quantities import quantity as find_quantity
from ..quantities.quantity import Quantity
from ..quantities.spellings import spelled
from .provenance import ConfigLocation, Provenance, size_meaning


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(Immutable, Shown):
    """A component with sizes: an architecture at a preset or a config.json, or without any sizes.

    Parameters
    ----------
    target
        The name that the user gave, such as ``"gpt2-xl"``.
    component
        The component.
    numbers
        The sizes that have a value.
    relations
        The sizes that are expressions over others, such as ``H = 4*E``.
    provenance
        The source of the formulas and the sizes.
    read_numbers
        The function that resolves another target to a model, to take its sizes.

    Examples
    --------
    >>> import symformer as sf
    >>> gpt2 = sf.model("gpt2")
    >>> gpt2.title, gpt2.id, gpt2.params.value()
    ('GPT-2', 'gpt2', 124439808)
    >>> gpt2.set({"L": 24}).params.value()  # 124439808 + 12*(12*768*768 + 13*768)
    209494272
    >>> gpt2 == sf.model("gpt2")
    True

    """

    target: str
    component: Component
    numbers: Numbers = field(default_factory=dict)
    relations: Relations = field(default_factory=dict)
    provenance: Provenance = field(default_factory=Provenance)
    read_numbers: Callable[[AnyTarget], Model] | None = None

    def __post_init__(self) -> None:
        """Check and normalize every size and every relation."""
        object.__setattr__(self, "numbers", {name: whole(name, number) for name, number in self.numbers.items()})
        object.__setattr__(
            self, "relations", {name: check_relation(name, value) for name, value in self.relations.items()}
        )
        super().__post_init__()

    @property
    def ledger(self) -> Ledger:
        """Return the ledger of the component."""
        return self.component.ledger

    @property
    def id(self) -> str:
        """Return the prefix of formula ids: the name of the architecture or component."""
        return self.component.name

    @property
    def name(self) -> str:
        """Return the name of the target without local folders: for a config.json, its folder and file name."""
        return name_of(self.target)

    @property
    def title(self) -> str:
        """Return the display name."""
        return self.component.title

    @property
    def constraints(self) -> tuple[Condition, ...]:
        """Return the conditions under which the formulas hold."""
        totals = self.component.totals.items()
        return (
            *self.component.constraints,
            *(Equals(size, value, _sum_or_share(value)) for size, value in totals),
        )

    @cached_property
    def sizes(self) -> tuple[Symbol, ...]:
        """Return the sizes of the model, in the order of the alphabet."""
        found = set(self.ledger.sizes)
        for value in self.relations.values():
            found |= value.free_symbols
        for constraint in self.constraints:
            found |= constraint.symbols
        return tuple(sorted(found, key=print_order))

    @property
    def params(self) -> Formula:
        """Return the formula of the number of parameters."""
        return self.formula("params")

    def formula(self, quantity: str = "params", **conventions: str) -> Formula:
        """Return the closed form of a quantity.

        Parameters
        ----------
        quantity
            The name of the quantity, such as ``"flops"``.
        **conventions
            Conventions that differ from the defaults, such as ``attention="causal"``.

        Returns
        -------
        Formula
            The closed form, with its derivation, its value and its text in several languages.

        Raises
        ------
        UnknownNameError, OptionError
            If the quantity, a convention or its value is unknown.
        RuleError
            If the quantity is not supported for this model under these conventions.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("gpt2").formula("flops", attention="causal")
        2*B*S**2*L*E + 24*B*S*L*E**2 + 2*B*S*L*E + 2*B*S*V*E

        """
        question = find_quantity(quantity)
        conventions = self._in_own_format(question, spelled(conventions, question.choices))
        self._check_format(question, conventions)
        model = self._with_sizes_for(question, conventions)
        return question.formula(model.component, model.id, conventions, model.relations, model)

    def stage_formula(self, quantity: str, **conventions: str) -> Formula:
        """Return the closed form of a quantity for one pipeline stage with any number of layers of each kind.

        Parameters
        ----------
        quantity
            The name of the quantity, such as ``"inference-memory"``.
        **conventions
            Its conventions; ``pipeline`` names the stage.

        Returns
        -------
        Formula
            The closed form, with the numbers of layers of the stage.

        Raises
        ------
        UnknownNameError, OptionError, RuleError
            As for ``formula``, and if pipeline stages do not support the model.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("gpt2").stage_formula("weight-memory", pipeline="middle", weights="bf16")
        24*L*E**2 + 26*L*E

        """
        question = find_quantity(quantity)
        conventions = self._in_own_format(question, spelled(conventions, question.choices))
        self._check_format(question, conventions)
        model = self._with_sizes_for(question, conventions)
        return question.formula(model.component, model.id, conventions, model.relations, model, free_layers=True)

    def check_format(self, quantity: str, conventions: Mapping[str, str]) -> None:
        """Raise an error if the model is quantized and a quantity depends on how its weights are stored.

        Parameters
        ----------
        quantity
            The name of the quantity.
        conventions
            Its conventions.

        Returns
        -------
        None
            If the quantity is supported.

        Raises
        ------
        RuleError
            If the quantity depends on the storage format.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("gpt2").check_format("params", {})

        """
        question = find_quantity(quantity)
        self._check_format(question, self._in_own_format(question, conventions))

    def _in_own_format(self, question: Quantity, given: Mapping[str, str]) -> dict[str, str]:
        """Return the conventions with the format of its published weights, unless a format is given."""
        own = self.provenance.weights
        return {"weights": own, **given} if own and question.takes_own_format(self.component) else dict(given)

    def _check_format(self, question: Quantity, conventions: Mapping[str, str]) -> None:
        scheme = self.provenance.quantized
        if scheme and (why := question.format_dependence(self.component, conventions)):
            field = self.provenance.unsupported
            unread = f", and {field}, which is not supported" if field else ""
            raise RuleError(
                f"{question.measure.name} of {self.target}, quantized by {scheme}, is not supported: {why}{unread}; "
                "remove the field to count the weights before quantization"
            )

    def with_sizes_for(self, quantity: str, conventions: Mapping[str, str] | None = None) -> Model:
        """Return the model with the sizes that its config has for one quantity.

        Parameters
        ----------
        quantity
            The name of the quantity.
        conventions
            Conventions other than the defaults, which can need more sizes, such as a window.

        Returns
        -------
        Model
            The model with these sizes; itself if its config has no others.

        Raises
        ------
        UnknownNameError, RuleError
            If no quantity has this name, or if it is not known for the config.

        Examples
        --------
        >>> import symformer as sf
        >>> gpt2 = sf.model("gpt2")
        >>> gpt2.with_sizes_for("flops") == gpt2
        True

        """
        question = find_quantity(quantity)
        return self._with_sizes_for(question, self._in_own_format(question, conventions or {}))

    def _with_sizes_for(self, question: Quantity, conventions: Mapping[str, str] | None) -> Model:
        own = dict(question.default_sizes(self.component, conventions or {}))
        if self.provenance.group and (conventions or {}).get("weights") == self.provenance.weights:
            own = dict.fromkeys(own, self.provenance.group)
        if missing := {size: number for size, number in own.items() if size not in self.known}:
            return replace(self, numbers={**self.numbers, **missing})._with_sizes_for(question, conventions)
        if not self.provenance.config:
            return self
        model = self._at_config(self.provenance.for_quantity(question.measure.name))
        unknown = model._unknown(question, conventions) if conventions else frozenset()
        return model._at_config(self.provenance.for_quantity(question.measure.name, unknown)) if unknown else model

    def _at_config(self, read: Provenance) -> Model:
        # A measured quantity can have sizes on which the parameters do not depend.
        places, config = read.places, {**self.provenance.config, **read.config}
        own = {named_symbol(name): config[place.field] for name, place in places.items() if place.field in config}
        more = {size: number for size, number in own.items() if size not in (*self.numbers, *self.relations)}
        known = replace(self.provenance, numbers={**own, **self.provenance.numbers})
        return replace(self, numbers={**more, **self.numbers}, provenance=known)

    def _unknown(self, question: Quantity, conventions: Mapping[str, str]) -> frozenset[str]:
        """Return the sizes without a value that the operations need under these conventions."""
        try:
            formula = question.formula(self.component, self.id, conventions, self.relations)
        except SymformerError:  # raised again when the formula is requested
            return frozenset()
        if all(line.entry is None or line.entry.kind is OperationKind.OBSERVED for _, line in formula.root.leaves()):
            return frozenset()
        return frozenset(str(size) for size in formula.dependencies - self.known.keys() if not letter(size).run)

    @cached_property
    def known(self) -> Numbers:
        """Return the values of the sizes, including those that follow from relations."""
        numbers = dict(self.numbers)
        totals = self.component.totals
        for target, value in close_relations({**totals, **self.relations}, totals).items():
            if target not in numbers and value.free_symbols <= numbers.keys():
                numbers[target] = evaluate_relation(target, value, numbers, target in totals)
        return FrozenDict({name: numbers[name] for name in sorted(numbers, key=print_order)})

    def numbers_for(self, formula: Formula, spec: object, given: Mapping[Symbol, int]) -> Numbers:
        """Return the sizes of this model, or of another target of the same architecture, for a formula.

        Parameters
        ----------
        formula
            The formula that asks for them.
        spec
            Another target whose sizes are used, or None for this model.
        given
            The sizes to replace.

        Returns
        -------
        dict
            The value of each size.

        Raises
        ------
        SizeError
            If the other target has another architecture or other options.

        Examples
        --------
        >>> import symformer as sf
        >>> gpt2 = sf.model("gpt2")
        >>> from symformer.symbols import L
        >>> gpt2.numbers_for(gpt2.params, "gpt2-xl", {})[L]
        48

        """
        model = self if spec is None else self._named(spec)
        if spec is not None and model.provenance.weights != formula.conventions.get("weights"):
            model._check_format(find_quantity(formula.measure.name), {})  # the formula is for another format
        own = {name: Integer(number) for name, number in given.items() if name in model.settable}
        return {**(model.set(own) if own else model).known, **given}

    def _named(self, spec: object) -> Model:
        if self.read_numbers is None or not (
            isinstance(spec, (str, os.PathLike)) or is_config(spec) or is_module(spec)
        ):
            raise SizeError(f"{format_value(spec)} does not name sizes of {self.id}; give a dict of sizes")
        other = self.read_numbers(cast(AnyTarget, spec))
        if other.id != self.id:
            raise SizeError(f"{other.target!r} is a {other.id}, not a {self.id}")
        if other.component != self.component:
            theirs, ours = (model.component.options_text() for model in (other, self))
            raise SizeError(
                f"{other.target!r} is a {self.id} with {theirs}, but this formula is for {ours}; open the model from it"
            )
        return other

    @property
    def rope(self) -> str:
        """Return the type of scaling of the rotary frequencies, such as "llama3", or ""."""
        return self.provenance.rope

    @cached_property
    def settable(self) -> NamedSizes:
        """Return the sizes that can be set: the sizes of the model, and every size of a run."""
        return NamedSizes({*self.sizes, *self.numbers, *RUN_SIZES}, self.names)

    @cached_property
    def names(self) -> Mapping[str, Symbol]:
        """Return its sizes by other names: the config fields of a class of the catalogue or a trace, former letters."""
        former = {name: own for name, own in FORMER.items() if named_symbol(own) in self.sizes}
        return FrozenDict({name: named_symbol(own) for name, own in {**former, **self.provenance.names}.items()})

    def size_name(self, name: str) -> str:
        """Return the letter of a size that is given by another name, such as its config field; other text unchanged.

        Parameters
        ----------
        name
            Any text.

        Returns
        -------
        str
            The letter, or the text.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("hf:qwen3_next").size_name("linear_num_value_heads")
        'A_v_lin'

        """
        found = self.names.get(name)
        return name if found is None or named_symbol(name) in self.settable else str(found)

    def meaning(self, size: Symbol) -> str:
        """Return the meaning of the letter of a size, or of its config field if the alphabet lacks the letter.

        Parameters
        ----------
        size
            A size of the model or of a run.

        Returns
        -------
        str
            A phrase.

        Examples
        --------
        >>> import symformer as sf
        >>> from symformer.symbols import E
        >>> sf.model("gpt2").meaning(E)
        'hidden size'

        """
        field = self.field_of(size)
        return size_meaning(size, ConfigLocation(field) if field else None)

    def field_of(self, size: Symbol) -> str:
        """Return the config field of a size of a class of the catalogue or a trace.

        Parameters
        ----------
        size
            A size of the model.

        Returns
        -------
        str
            The field, such as ``vision_config.hidden_size``; empty if there is none.

        Examples
        --------
        >>> import symformer as sf
        >>> from symformer.symbols import E
        >>> sf.model("hf:rwkv").field_of(E)
        'hidden_size'

        """
        return next((name for name, own in self.provenance.names.items() if own == size.name), "")

    def set(self, values: Mapping[Symbol | str, Expr | int | str]) -> Model:
        """Return the model with some sizes set.

        A relation that the new sizes violate is removed, so its symbol appears in the formula.

        Parameters
        ----------
        values
            The value of each size: an integer, or an expression over other sizes, such as ``"4*E"``.

        Returns
        -------
        Model
            A new model; this one is unchanged.

        Raises
        ------
        UnknownNameError
            If the model does not have a size.
        SizeError
            If the sizes violate a condition.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("gpt2").set({"L": 24, "H": "3*E"}).params
        10*L*E**2 + 12*L*E + V*E + P*E + 2*E

        """
        return self.set_unchecked(values).validated()

    def set_unchecked(self, values: Mapping[Symbol | str, Expr | int | str]) -> Model:
        """Return the model with some sizes set, without checking its conditions.

        Parameters
        ----------
        values
            The value of each size, as in ``set``.

        Returns
        -------
        Model
            A new model; this one is unchanged.

        Raises
        ------
        UnknownNameError, SizeError
            If the model does not have a size, or a value cannot be a size.

        Examples
        --------
        >>> import symformer as sf
        >>> from symformer.symbols import A
        >>> sf.model("gpt2").set_unchecked({"A": 7}).numbers[A]  # 7 does not divide 768
        7

        """
        numbers, relations = dict(self.numbers), dict(self.relations)
        seen: dict[Symbol, object] = {}
        for name, given in values.items():
            target = symbol(name.name if isinstance(name, Symbol) else str(name), self.settable)
            if target in seen:
                raise SizeError(f"{target} is given twice, as {seen[target]} and as {name}; keep one")
            seen[target] = name
            if target not in self.settable:
                hint = suggested_letter(str(name))
                raise UnknownNameError(
                    f"symbol of {self.target}", str(name), () if hint else map(str, self.sizes), hint
                )
            value = check_relation(target, given, self.settable)
            if unknown := value.free_symbols - self.settable - {*SYMBOLS.values()}:
                raise SizeError(f"{target}={text(value)}: {min(map(str, unknown))} is not a size of {self.target}")
            numbers.pop(target, None)
            if isinstance(value, Integer):
                numbers[target] = int(value)
            elif value == target:  # H="H" makes H free
                relations.pop(target, None)
            else:
                relations[target] = value
        for target, value in list(relations.items()):
            if target in numbers and not self._holds(value, numbers, numbers[target]):
                del relations[target]
        return replace(self, numbers=numbers, relations=close_relations(relations))

    def _holds(self, value: Expr, numbers: Numbers, number: int) -> bool:
        return bool(value.free_symbols <= numbers.keys() and substitute(value, numbers) == number)

    def check_run_sizes(self, formulas: Iterable[Formula]) -> None:
        """Raise an error if a size of the run has no effect on these formulas, or violates a condition of one.

        Parameters
        ----------
        formulas
            The formulas that are shown.

        Returns
        -------
        None
            If every size of the run is used.

        Raises
        ------
        SizeError
            If a size has no effect or violates a condition.

        Examples
        --------
        >>> import symformer as sf
        >>> gpt2 = sf.model("gpt2").set({"S": 1024})
        >>> gpt2.check_run_sizes([gpt2.formula("flops")])

        """
        run = [name for name in (*self.numbers, *self.relations) if letter(name).run]
        formulas = tuple(formulas) if run else ()
        asked = {name for formula in formulas for name in formula.dependencies}
        named = {name for formula in formulas for name in formula.defining_sizes}
        for name in run:
            if formulas and name not in asked | named:
                value = self.numbers.get(name) or text(self.relations[name])
                whose = " and ".join(dict.fromkeys(formula.id for formula in formulas))
                runs = [str(each) for each in sorted(asked, key=print_order) if letter(each).run]
                raise SizeError(
                    f"{name}={value} has no effect: {whose} does not depend on {name} ({letter(name).meaning})"
                    + (
                        f"; its run {'sizes are' if len(runs) > 1 else 'size is'} {', '.join(runs)}"
                        if runs
                        else ", nor on any other run size"
                    )
                    + ("; ranks need an option, such as tensor=on" if letter(name).ranks else "")
                )
        for formula in formulas:
            for constraint in formula.constraints:
                constraint.check(self.known)

    def validated(self) -> Model:
        """Return the model unchanged, after checking the conditions between its sizes.

        Returns
        -------
        Model
            This model.

        Raises
        ------
        SizeError
            If a condition is violated.

        Examples
        --------
        >>> import symformer as sf
        >>> gpt2 = sf.model("gpt2")
        >>> gpt2.validated() is gpt2
        True

        """
        for constraint in self.constraints:
            constraint.check(self.numbers)
        known = self.known
        for constraint in self.constraints:
            constraint.check(known)
        return self

    def __eq__(self, other: object) -> Any:
        """Return whether both have the same target, parts, sizes and provenance."""
        if not isinstance(other, Model):
            return NotImplemented
        if self is other:
            return True
        names = ("target", "numbers", "relations", "component", "provenance")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash((self.target, self.numbers))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={number}" for name, number in self.known.items())
        return f"{self.title}({sizes}): {self._stored}"

    @property
    def _stored(self) -> str:
        """Return the number of parameters as text, shortened if it is long, or the reason that there is none."""
        try:
            params = self.params
        except SymformerError as error:
            return str(error)
        return params.text() if params.to_blocks() else repr(params)

    def to_blocks(self) -> list[BriefBlock]:
        """Return the blocks that a notebook displays.

        Returns
        -------
        list
            The title, the number of parameters as an equation, and a table of the sizes that have a value.

        Examples
        --------
        >>> import symformer as sf
        >>> [block.kind for block in sf.model("gpt2").to_blocks()]
        ['heading', 'equation', 'table']

        """
        found: list[BriefBlock] = [Heading(1, [self.title])]
        with suppress(SymformerError):
            found += [each for each in self.params.to_blocks() if isinstance(each, Equation)]
        rows: list[list[Piece]] = [
            [Math.of(size), self.meaning(size), f"{number:,}"] for size, number in self.known.items()
        ]
        return [*found, Table.of(["symbol", "meaning", "value"], rows, "llr")] if rows else found

    # Former names
    asked_by = Alias("check_run_sizes")
    checked = Alias("validated")
    sized = Alias("with_sizes_for")
    unchecked = Alias("set_unchecked")


def _sum_or_share(value: Expr) -> str:
    """Return what to set instead of a size that others determine: the terms of a sum, or the total of a share."""
    whole = next(iter(value.free_symbols), None) if len(value.free_symbols) == 1 else None
    return "set the terms of this sum instead" if whole is None else f"set {whole} instead"
