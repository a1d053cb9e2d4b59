"""A formula: an expression over the alphabet with its derivation, its conventions and a stable id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from sympy import Add, Expr, Integer, Rational, Symbol, expand, fraction

from ..language.aliases import Alias
from ..language.arithmetic import parse
from ..language.errors import RuleError, SizeError, UnknownNameError
from ..language.frozen import Immutable
from ..language.limits import ExpansionBound
from ..language.notation.display_tree import Label, Number, tree
from ..language.notation.latex import latex
from ..language.notation.text import code, is_short, rounded, text
from ..language.sizes import (
    Condition,
    Equals,
    Numbers,
    Relations,
    check_relation,
    close_relations,
    evaluate,
    evaluate_relation,
    format_value,
    substitute,
    whole,
)
from ..language.symbols import NamedSizes, letter, named_symbol, print_order, symbol
from ..ledger.facts import ONE, sizes_of
from ..output.blocks import BriefBlock, Equation, Heading, Line, Paragraph
from ..output.chain import Chain
from ..output.notebook import Shown
from ..output.tabular import Tabular
from . import ranks
from .account import Line as AccountLine
from .account import Measure, Term
from .breakdown import Breakdown, Row
from .calculus import Calculus
from .operators import canonical, checked, has_quotient, same, substituted
from .totals import gathered, given_by

if TYPE_CHECKING:
    from fractions import Fraction

    from .compiled_formula import Compiled
    from .derivation import Derivation

MAX_REPR = 1_000  # characters
MAX_FORMULA = 10_000  # terms before like terms are collected


class SizeSource(Protocol):
    """The source of a formula's values: the model it belongs to."""

    @property
    def sizes(self) -> tuple[Symbol, ...]: ...

    @property
    def known(self) -> Numbers: ...

    @property
    def names(self) -> Mapping[str, Symbol]: ...

    @property
    def rope(self) -> str: ...

    def numbers_for(self, formula: Formula, spec: object, given: Mapping[Symbol, int]) -> Numbers: ...


@dataclass(frozen=True, eq=False)
class Formula(Calculus, Tabular, Immutable, Shown):
    """The closed form of one quantity of one model.

    ``expr`` is the sum over the parts, ``expanded`` the polynomial. ``repr`` is plain arithmetic over the alphabet, or
    a summary if that is too long for a screen.

    Formulas are added, subtracted, multiplied, divided and raised to integer powers, with each other, with numbers and
    with SymPy expressions over the sizes of :mod:`symformer.symbols`. A number that is added has the unit of the
    formula; different units are not added. ``a == b`` compares functions, not forms: units and the order of terms do
    not count. Equal formulas have equal hashes. Write the formula on the left of ``==``: SymPy compares forms.

    Parameters
    ----------
    id
        The stable id, such as ``"gpt2.params.h.attn"``.
    measure
        The name, title, letter and unit of the quantity.
    root, within
        The account that is summed, and the whole account if the root is a part of one.
    relations, totals, fixed
        Sizes that are expressions over others, the subset that stays in the printed form, and sizes that ``partial``
        set.
    conventions
        The conventions of the quantity.
    constraints
        The conditions under which the formula holds.
    source
        The model, which has the values of the sizes.
    named, ranks
        The sizes of a run that define the quantity, and the number of ranks if the formula is per rank.

    Examples
    --------
    >>> import symformer as sf
    >>> from symformer.symbols import E, L
    >>> gpt2 = sf.model("gpt2")
    >>> gpt2.params - 12*L*E**2
    13*L*E + V*E + P*E + 2*E
    >>> ratio = gpt2.formula("flops", attention="causal") / gpt2.params
    >>> ratio.unit
    'FLOPs/element'
    >>> f"{gpt2.params:,} parameters"
    '124,439,808 parameters'

    """

    id: str
    measure: Measure
    root: AccountLine
    relations: Relations = field(default_factory=dict)
    totals: frozenset[Symbol] = frozenset()  # targets of relations that stay in the printed form: L for all layers
    conventions: Mapping[str, str] = field(default_factory=dict)
    constraints: tuple[Condition, ...] = ()
    source: SizeSource | None = None
    whole_account: AccountLine | None = None  # the whole account, if the root is a part of one
    defining_sizes: frozenset[Symbol] = (
        frozenset()
    )  # sizes of a run that define the quantity, whether or not the formula contains them
    ranks: Expr = ONE  # the number of ranks, if the formula is per rank
    fixed: frozenset[Symbol] = frozenset()  # the sizes that partial() replaced
    additive: ClassVar[bool] = True  # True if it is the sum of its rows
    form: ClassVar[str] = "sum"
    sides: ClassVar[str] = ""  # the additive formulas that a formula that is not additive is computed from

    def __post_init__(self) -> None:
        """Raise SizeError if substituting the relations makes the formula too long to expand."""
        super().__post_init__()
        known = {target: ExpansionBound.of(relation, {}) for target, relation in self.relations.items()}
        if any(bound.terms > 1 or bound.degree > 2 for bound in known.values()):
            terms = ExpansionBound.of(self.root.each, known).terms
            if terms > MAX_FORMULA:
                longest = max(known, key=lambda target: (known[target].terms, str(target)))
                raise SizeError(
                    f"{self.id} with {longest} = {format_value(self.relations[longest])} can have {terms:,} terms, "
                    f"more than the limit of {MAX_FORMULA:,}; give {longest} as a number"
                )

    @cached_property
    def expr(self) -> Expr:
        """The sum over the parts, with the model's relations substituted."""
        return self.root.each.xreplace(self.relations)

    @cached_property
    def expanded(self) -> Expr:
        """The expanded polynomial."""
        return self._expanded

    @property
    def exact_value(self) -> Expr:
        """The value as an expression over the sizes, in which the relations are substituted."""
        return self.expanded

    @cached_property
    def _expanded(self) -> Expr:
        """The sum over the parts, expanded before the totals are substituted.

        A fraction of all layers such as ``L_local/L`` cancels with ``L``, but not with ``L_local + L_global``.
        """
        polynomial = expand(self.root.each.xreplace(self.display_relations))
        totals = given_by(self.relations, self.totals)
        return expand(polynomial.xreplace(totals)) if totals else polynomial

    @property
    def display_relations(self) -> Relations:
        """The relations substituted in the printed form: all except those for totals without a value."""
        return {
            target: value
            for target, value in self.relations.items()
            if target not in self.totals or not value.free_symbols
        }

    @cached_property
    def display_expr(self) -> Expr:
        """The polynomial as printed, with totals in place of their sums: L for L_dense + L_moe."""
        return (
            self.collect_totals(expand(self.root.each.xreplace(self.display_relations)))
            if self.totals
            else self.expanded
        )

    def collect_totals(self, polynomial: Expr) -> Expr:
        """Return a polynomial with terms that all kinds of layers share written with the total.

        Parameters
        ----------
        polynomial
            An expanded polynomial over the sizes.

        Returns
        -------
        sympy.Expr
            The same polynomial with L for L_dense + L_moe.

        Examples
        --------
        >>> import symformer as sf
        >>> from symformer.symbols import E, L_dense, L_moe
        >>> sf.model("deepseek-v3").params.collect_totals(L_dense*E + L_moe*E)
        E*L

        """
        return gathered(polynomial, given_by(self.relations, self.totals))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols that need values, in the order of the alphabet."""
        return tuple(sorted(self.expanded.free_symbols, key=print_order))

    @cached_property
    def dependencies(self) -> frozenset[Symbol]:
        """The sizes that affect it: those in it and in its conditions, and those in the relations for them."""
        shapes = sizes_of((count, line.entry) for count, line in self._whole.leaves() if line.entry is not None)
        found = {size for size in shapes if letter(size).ranks or not letter(size).run}
        found |= self._whole.each.free_symbols | self.ranks.free_symbols
        for constraint in self.constraints:
            found |= constraint.symbols
        for target, relation in self.relations.items():
            if target in found:
                found = found | relation.free_symbols
        return frozenset(found)

    @cached_property
    def accepted_sizes(self) -> NamedSizes:
        """The sizes that it accepts values for: sizes that affect it, and sizes of its model."""
        found = {*self.dependencies, *self.relations}
        if self.source is None:
            return NamedSizes(found)
        found |= {size for size in self.source.sizes if not letter(size).run} | self.source.known.keys()
        return NamedSizes(found, self.source.names)

    @property
    def operands(self) -> tuple[Formula, ...]:
        """The formulas that it combines: itself."""
        return (self,)

    @property
    def _whole(self) -> AccountLine:
        return self.whole_account or self.root

    @cached_property
    def derivation(self) -> Derivation:
        """The steps from the shapes to the polynomial, each verified as an identity."""
        from .derivation import derive

        steps = derive(self.root, self.measure, self.display_relations, given_by(self.relations, self.totals))
        return replace(steps, ranks=self.ranks, known=self._known)

    @property
    def rows(self) -> Breakdown:
        """One row for each entry that contributes, or that is a torch module without a contribution."""
        found: dict[tuple[str, Expr], Row] = {}
        for count, line in self.root.leaves():
            if line.each == 0 and not (line.entry and line.entry.module):
                continue
            each = expand(line.each.xreplace(self.display_relations))
            key = (
                line.path,
                count.xreplace(self.display_relations),
            )  # layers of two kinds may have rows with the same path
            if key in found:  # a module used twice, such as one dropout for two residuals
                each += found[key].each
            found[key] = Row(*key, each)
        return Breakdown(found.values(), self)

    def table(self) -> dict[str, list[Any]]:
        """Return the columns of ``rows``.

        Returns
        -------
        dict
            A list for each column.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("gpt2").params.table()["path"][:2]
        ['wte', 'wpe']

        """
        return self.rows.table()

    def row_total(self, row: Row, numbers: Numbers) -> int | Fraction:
        """Return the total of a row over all its copies.

        Parameters
        ----------
        row
            A row of ``rows``.
        numbers
            The value of each size in it.

        Returns
        -------
        int or Fraction
            The exact total.

        Raises
        ------
        SizeError
            If a size has no value.

        Examples
        --------
        >>> import symformer as sf
        >>> gpt2 = sf.model("gpt2")
        >>> gpt2.params.row_total(gpt2.params.rows[0], gpt2.known)  # 50257*768
        38597376

        """
        return evaluate(row.total, self.with_totals(numbers), row.path)

    def with_totals(self, numbers: Numbers) -> Numbers:
        """Return sizes with the totals that follow from them: all layers, or those with a better type.

        Parameters
        ----------
        numbers
            The values of some sizes.

        Returns
        -------
        dict
            The same values, and the values of the totals.

        Examples
        --------
        >>> import symformer as sf
        >>> from symformer.symbols import L, L_dense, L_moe
        >>> sf.model("deepseek-v3").params.with_totals({L_dense: 3, L_moe: 58})[L]
        61

        """
        missing = {
            total: evaluate_relation(total, self.relations[total], numbers, True)
            for total in self.totals
            if total not in numbers and self.relations[total].free_symbols <= numbers.keys()
        }
        return {**numbers, **missing}

    def value(self, spec: object = None, **numbers: int) -> int:
        """Return the exact integer value.

        Parameters
        ----------
        spec
            A preset, a dict of sizes or a path to a ``config.json``; by default the model's own sizes.
        **numbers
            Values of single sizes.

        Returns
        -------
        int
            The value; an exact ``fractions.Fraction`` for a ratio that is not an integer.

        Raises
        ------
        SizeError
            For symbols without a value, for a size that neither the formula nor its model has, for sizes that violate
            a condition, and for values that contradict a relation the formula was simplified with.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.architecture("gpt2").params.value("gpt2-xl")
        1557611200

        """
        return self._at(self._complete(self._numbers(spec, numbers)))

    def _complete(self, given: Numbers) -> Numbers:
        """Return the values completed by the relations, after checking all conditions."""
        for constraint in self.constraints:
            constraint.check(given)
        numbers = dict(given)
        for target, relation in self.relations.items():
            if relation.free_symbols <= given.keys():
                numbers[target] = evaluate_relation(target, relation, given, target in self.totals)
                if given.get(target, numbers[target]) != numbers[target]:
                    raise SizeError(
                        f"{self.id} was simplified with {target} = {text(relation)}, which is {numbers[target]} and "
                        f"not {given[target]}; create the model from those sizes to keep {target} in the formula"
                    )
        for constraint in self.constraints:
            constraint.check(numbers)
        return numbers

    def _at(self, numbers: Numbers) -> int:
        return evaluate(self.expanded, numbers, self.id)

    def _numbers(self, spec: object, extra: Mapping[str, int]) -> Numbers:
        named: Numbers = {}
        if isinstance(spec, Mapping):
            for name, number in spec.items():
                size = self._taken(str(name))
                if named.setdefault(size, whole(size, number)) != number:
                    raise SizeError(f"{size} is given twice, as {named[size]} and as {number}; keep one")
        given: Numbers = {}
        for name, number in extra.items():
            size = self._taken(name)
            if given.setdefault(size, whole(name, number)) != number:
                raise SizeError(f"{size} is given twice, as {given[size]} and as {number}; keep one")
        if isinstance(spec, Mapping):
            return named | given
        if self.source is not None:
            found = self.source.numbers_for(self, spec, given)
            # Sizes that partial() replaced keep that value, not the model's own.
            return {size: n for size, n in found.items() if spec is not None or size in given or size not in self.fixed}
        if spec is None:
            return given
        raise SizeError(f"{self.id} has no model, so {format_value(spec)} does not name sizes; give a dict of values")

    def _taken(self, name: str) -> Symbol:
        """Return the symbol with a name. Raises UnknownNameError, or SizeError if the formula has no such size."""
        own = self.accepted_sizes | self.defining_sizes
        size = symbol(name, own)
        if size not in own:
            known = ", ".join(map(str, sorted(self.accepted_sizes, key=print_order)))
            raise SizeError(f"{self.id} has no size {name} ({letter(size).meaning}); it has {known}")
        return size

    def partial(self, **values: int | str | Expr) -> Formula:
        """Return the formula with some sizes fixed to an integer or to an expression over the others.

        Parameters
        ----------
        **values
            The value of each size, by name: an integer, an expression, or text such as ``"4*E"``.

        Returns
        -------
        Formula
            The formula in the other sizes, with its rows and its derivation.

        Raises
        ------
        SizeError
            If the formula has no such size, or a value cannot be a size.

        Examples
        --------
        >>> from symformer.components.mlp import MLP
        >>> MLP().params.partial(H="4*E")
        8*E**2 + 5*E

        """
        relations, fixed = dict(self.relations), set[Symbol]()
        for name, given in values.items():
            target = self._taken(name)
            if target in fixed:
                raise SizeError(f"{target} is given twice, once as {name}; keep one")
            fixed.add(target)
            if target in self.totals:
                raise SizeError(f"{target} is {text(self.relations[target])} in {self.id}; set those sizes instead")
            relations[target] = check_relation(target, given, self.accepted_sizes)
            if relations[target] == target:  # D="D": free again
                del relations[target]
        numbers = {target: int(value) for target, value in relations.items() if isinstance(value, Integer)}
        for constraint in self.constraints:
            constraint.check(numbers)
        closed = close_relations(relations, self.totals)
        return replace(self, relations=closed, fixed=(self.fixed | fixed) & relations.keys())

    def equals(self, other: Formula | Expr | str) -> bool:
        """Return whether another formula or expression is equal under this formula's relations.

        Parameters
        ----------
        other
            A formula, an expression, or text such as ``"4*E*E"``.

        Returns
        -------
        bool
            True if both are equal wherever the relations hold.

        Raises
        ------
        ArithmeticTextError, UnknownNameError
            If text is not arithmetic over sizes.

        Examples
        --------
        >>> from symformer.components.self_attention import SelfAttention
        >>> SelfAttention(bias=False, output_bias=False).params.equals("E*E + 3*E*(D*A)")
        True

        """
        expr = (
            other.expr
            if isinstance(other, Formula)
            else parse(other, self.accepted_sizes)
            if isinstance(other, str)
            else other
        )
        return self._is(expr.xreplace(self.relations))

    def _is(self, expr: Expr) -> bool:
        return bool(expand(expr - self.expanded) == 0)

    def part(self, path: str) -> Formula:
        """Return the formula of one copy of a part or of an operation: ``part("h.attn")`` is ``gpt2.params.h.attn``.

        Parameters
        ----------
        path
            The key in an id, ``h.attn``, or the torch name, ``h.*.attn``; or a tower: ``vision``, ``projector`` or
            ``language``.

        Returns
        -------
        Formula
            The formula of one copy.

        Raises
        ------
        UnknownNameError
            If there is no such part.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("gpt2").params.part("h.attn")
        4*E**2 + 4*E

        """
        if not isinstance(path, str):
            raise SizeError(f"{format_value(path)} is not the path of a part; give a name such as 'h.attn'")
        path = path.replace(".*", "")
        parts = {line.key: line for line in (*self.root.walk(), *self.root.parts())}
        named = [(line.path.replace(".*", ""), line) for line in self.root.walk() if line.key != self.root.key]
        paths = [name for name, _ in named]
        others = {name: line for name, line in named if paths.count(name) == 1}  # torch's names, unless ambiguous
        others |= self.towers
        if path not in parts and path not in others:
            raise UnknownNameError("part", path, filter(None, [*self.towers, *parts]))
        found = parts.get(path) or others[path]
        line, key = replace(found, count=ONE), found.key if path else ""
        return replace(self, id=f"{self.id}.{key}" if key else self.id, root=line, whole_account=self._whole)

    @property
    def towers(self) -> Mapping[str, AccountLine]:
        """The parts that are towers of a multimodal model, by the names of the towers."""
        named = {getattr(line.part, "tower", ""): line for line in reversed([*self.root.parts()])}
        return {tower: line for tower, line in reversed(named.items()) if tower}

    @property
    def copies(self) -> Expr:
        """The number of copies of this part in its model.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.architecture("gpt2").params.part("h.attn").copies
        L

        """
        found = next((count for count, line in self._whole.counted() if line.key == self.root.key), ONE)
        return expand(found.xreplace(self.display_relations))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of every term before the model's relations are substituted, which certificates refer to."""
        from hashlib import sha256

        terms = [
            f"{term.label} x {code(count)} = {' * '.join(map(code, term.factors))}"
            for count, line in self.root.leaves()
            for term in line.terms
        ]
        return sha256("\n".join(terms).encode()).hexdigest()[:16]

    def compile(self) -> Compiled:
        """Return the formula as a function of integers or of NumPy, torch, JAX or Dask arrays.

        Returns
        -------
        Compiled
            A function with the sizes as keyword arguments.

        Raises
        ------
        OptionError
            If the formula is a ratio, which is not an integer.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.architecture("gpt2").params.compile()(L=12, V=50257, P=1024, E=768)
        124439808

        """
        from .compiler import compiled

        return compiled(self)

    def latex(self) -> str:
        """Return LaTeX mathematics, in house order.

        Returns
        -------
        str
            The text of ``display_expr``.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.component("gated-mlp").params.latex()
        '3 E H'

        """
        return latex(self.display_expr)

    def typst(self) -> str:
        """Return Typst mathematics, in house order.

        Returns
        -------
        str
            The text of ``display_expr``.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.component("gated-mlp").params.typst()
        '3 E H'

        """
        from ..language.notation.typst import typst

        return typst(self.display_expr)

    def text(self) -> str:
        """Return readable Unicode, in house order.

        Returns
        -------
        str
            The text of ``display_expr``.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.component("gated-mlp").params.text()
        '3EH'

        """
        return text(self.display_expr)

    def code(self) -> str:
        """Return plain arithmetic over the alphabet, in house order.

        Returns
        -------
        str
            The text of ``display_expr``.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.component("gated-mlp").params.code()
        '3*E*H'

        """
        return code(self.display_expr)

    def __repr__(self) -> str:
        return self.code() if self._short else f"<{self.id}: {self._extent}; code() has it whole>"

    def _repr_latex_(self) -> str | None:
        if not self._short:
            return None
        return ", ".join([f"${self.latex()}$", *(f"${chain}$" for chain in self._ranks_latex())])

    def _ranks_latex(self) -> list[str]:
        """Return the number of ranks as an equation; empty for a formula of the whole model."""
        chains = [each.chain for each in ranks.equations(self.ranks, self._known)]
        return [" = ".join(map(latex, [*chain.labels, *chain.steps])) for chain in chains]

    def to_blocks(self) -> list[BriefBlock]:
        """Return the blocks that a notebook displays.

        Returns
        -------
        list
            The id and the equation; for a formula per rank, also the number of ranks. Empty if the formula is too long
            for a screen.

        Examples
        --------
        >>> import symformer as sf
        >>> [block.kind for block in sf.component("mlp").params.to_blocks()]
        ['heading', 'equation']

        """
        if not self._short:
            return []
        known = self._known
        stated: list[BriefBlock] = [*map(Paragraph, ranks.stated(self.ranks, known))]
        return [Heading(1, [self.id]), self.equation(), *ranks.equations(self.ranks, known), *stated]

    @property
    def label(self) -> Label:
        """The left-hand side of the equation: N, or N_attn for a part."""
        return Label(self.measure.letter, self.root.name, self.display_expr)

    def equation(self) -> Equation:
        """Return the formula as an equation, with its value if all sizes have values.

        Returns
        -------
        Equation
            A block: the label of the formula, and the expression and its value as the steps of a chain.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.component("mlp").params.equation().spoken
        'N = 2EH + E + H'

        """
        steps, reasons = [tree(self.display_expr)], list[Line]()
        if self.display_expr.free_symbols and set(self.symbols) <= self._known.keys():
            with suppress(SizeError):  # a ratio to 0
                value = self.value()
                near = rounded(value, self.measure.unit)
                if is_short(value) or not near:
                    steps.append(Number(value) if value == int(value) else tree(Rational(value)))
                reasons = [*([[]] * (len(steps) - 1)), [near.replace("≈", "about")]] if near else []
        return Equation(Chain((self.label,), tuple(steps)), reasons=reasons)

    @property
    def _known(self) -> Mapping[Symbol, int]:
        """The known sizes of its model, with the totals that follow from them."""
        return self.with_totals(self.source.known) if self.source is not None else {}

    @cached_property
    def _short(self) -> bool:
        return len(self.code()) <= MAX_REPR

    @property
    def _extent(self) -> str:
        leading = code(self.leading().expr)
        terms = f"{len(Add.make_args(self.display_expr))} terms"
        return f"{terms}, led by {leading}" if len(leading) <= MAX_REPR // 2 else terms

    @property
    def unit(self) -> str:
        """The unit, such as ``"elements"`` or ``"bytes"``."""
        return self.measure.unit

    def combined(self, id: str, expr: Expr, unit: str, others: Iterable[Formula] = ()) -> Combination:
        """Return an expression of this formula, and of others, as a formula of its own.

        Parameters
        ----------
        id
            The id of the result.
        expr
            The expression, in the sizes of the formulas.
        unit
            Its unit.
        others
            The other formulas in it, whose conditions then also hold for the result.

        Returns
        -------
        Combination
            A formula without rows and derivation.

        Raises
        ------
        SizeError
            If the expression is too long.

        Examples
        --------
        >>> import symformer as sf
        >>> from sympy import Max
        >>> gpt2 = sf.model("gpt2").params
        >>> gpt2.combined("at-least", Max(gpt2.expanded, 10**9), "elements").value()
        1000000000

        """
        return Combination.of_formulas(id, expr, unit, (self, *others))

    def _without_size(self, size: Symbol) -> Self:
        """Return the formula without the conditions on a size that it no longer contains, such as an index."""
        if size in self.free_symbols:
            return self
        kept = tuple(each for each in self.constraints if size not in each.symbols)
        return replace(self, constraints=kept, fixed=self.fixed | {size})

    def _number(self) -> int | Fraction:
        return self.value()

    def __call__(self, spec: object = None, **numbers: int) -> int:
        """Return the exact value at some sizes: ``formula(L=24)`` is ``formula.value(L=24)``.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.component("mlp").params(E=2, H=5)  # 2*2*5 weights, 5 + 2 biases
        27

        """
        return self.value(spec, **numbers)

    def subs(self, *given: object, **named: object) -> Formula:
        """Return the formula with sizes replaced, all at once.

        Parameters
        ----------
        *given
            A size and its value; or a mapping; or a list of pairs. A size is a symbol or a name. A value is an integer,
            an expression over sizes, or text such as ``"4*E"``.
        **named
            Values by name.

        Returns
        -------
        Formula
            The formula in the other sizes.

        Raises
        ------
        SizeError
            If the formula has no such size, or a value cannot be a size.

        Examples
        --------
        >>> import symformer as sf
        >>> from symformer.symbols import E, L
        >>> gpt2 = sf.model("gpt2")
        >>> gpt2.params.subs(L, 2)
        V*E + P*E + 24*E**2 + 28*E
        >>> gpt2.params.subs(L, L + 1) - gpt2.params
        12*E**2 + 13*E

        """
        values = {
            size: self._sized(size, value) for size, value in substituted(given, named, self.accepted_sizes).items()
        }
        replaced = {*values}
        if not any(replaced & value.free_symbols for value in values.values()) and not isinstance(self, Combination):
            return self.partial(**{str(size): value for size, value in values.items()})
        return self.combined(f"{self.id} with {_assigned(values)}", self.expanded, self.unit).moved(values)

    def _sized(self, size: Symbol, value: object) -> Expr:
        self._taken(str(size))
        if size in self.totals:
            raise SizeError(f"{size} is {text(self.relations[size])} in {self.id}; set those sizes instead")
        return check_relation(size, value, self.accepted_sizes)

    # Former names
    asks = Alias("dependencies")
    takes = Alias("accepted_sizes")
    written = Alias("display_expr")
    gathered = Alias("collect_totals")
    simplified = Alias("display_relations")
    of_row = Alias("row_total")
    within = Alias("whole_account")
    named = Alias("defining_sizes")
    bases = Alias("operands")


def affects_formula(condition: Condition, formula: Formula) -> bool:
    """Return True if a condition is about sizes of a formula: a window does not affect the parameters."""
    own = {*formula.symbols, *formula.relations}
    of_run = {size for size in condition.symbols if letter(size).run and not letter(size).ranks}
    return bool(condition.symbols & own) and of_run <= own


@dataclass(frozen=True)
class Sources(Immutable):
    """The sources of several formulas: the sizes whose values they agree on."""

    of: tuple[SizeSource, ...]

    @property
    def sizes(self) -> tuple[Symbol, ...]:
        """Return the sizes of all sources."""
        return tuple(sorted({size for each in self.of for size in each.sizes}, key=print_order))

    @cached_property
    def known(self) -> Numbers:
        """Return the values that no two sources disagree about."""
        values: dict[Symbol, set[int]] = {}
        for each in self.of:
            for size, number in each.known.items():
                values.setdefault(size, set()).add(number)
        return {size: min(found) for size, found in values.items() if len(found) == 1}

    @cached_property
    def names(self) -> Mapping[str, Symbol]:
        """Return the other names of sizes that mean the same size in all sources."""
        return NamedSizes.joined(NamedSizes(each.names.values(), each.names) for each in self.of).names

    @property
    def rope(self) -> str:
        """Return "": the scaling of rotary frequencies belongs to each source."""
        return ""

    def numbers_for(self, formula: Formula, spec: object, given: Mapping[Symbol, int]) -> Numbers:
        """Return the sizes that the formulas agree on, with ``given`` replaced."""
        return {**self.known, **given}


_LETTERS = {"elements": "N", "FLOPs": "F", "bytes": "U"}


@dataclass(frozen=True, eq=False, repr=False)
class Combination(Formula):
    """The result of arithmetic on formulas. It has a value where they agree on the sizes, and no rows of its own."""

    formulas: tuple[Formula, ...] = field(kw_only=True)  # the formulas that it combines, whose conditions hold for it
    form: ClassVar[str] = "combination"
    sides: ClassVar[str] = "the formulas that it combines"

    @classmethod
    def of_formulas(cls, id: str, expr: Expr, unit: str, formulas: Iterable[Formula]) -> Combination:
        """Combine formulas. Raises SizeError if the expression is too long."""
        operands = [each.formula for each in dict.fromkeys(map(_ById, formulas))]
        of = tuple(each.formula for each in dict.fromkeys(_ById(base) for each in operands for base in each.operands))
        sources = tuple(dict.fromkeys(each.source for each in of if each.source is not None))
        relations: Relations = {}
        conditions: list[Condition] = []
        for each in operands:
            own, kept = held(each)
            conditions += own
            for target, value in kept.items():
                if relations.setdefault(target, value) != value:
                    conditions.append(Equals(target, value, f"{each.id} was simplified with it"))
        return cls(
            id=id,
            measure=Measure(id, id, _LETTERS.get(unit, "I"), "" if unit == "1" else unit),
            root=_line(id, canonical(checked(expr, id))),
            relations=relations,
            totals=frozenset[Symbol]().union(*(each.totals for each in operands)) & relations.keys(),
            constraints=tuple(dict.fromkeys(conditions)),
            source=Sources(sources) if sources else None,
            defining_sizes=frozenset[Symbol]().union(*(each.defining_sizes for each in operands)),
            fixed=frozenset[Symbol]().union(
                *(each.fixed | (each.relations.keys() if each.fixed else set()) for each in operands)
            ),
            formulas=of,
        )

    def moved(self, values: Mapping[Symbol, Expr]) -> Combination:
        """Return the combination with sizes replaced in the expression and in its conditions. Raises SizeError."""
        if tied := [size for size in values if size in self.relations]:
            relation = text(self.relations[tied[0]])
            raise SizeError(f"{tied[0]} is {relation} in {self.id}; substitute the sizes in it instead")
        expr = checked(self.expanded.xreplace(dict(values)), self.id)
        conditions = _moved(self, _moved(self, self.constraints, self.relations), values)
        gone = {*self.relations, *(size for size in values if size not in expr.free_symbols)}
        return replace(
            self,
            root=_line(self.id, canonical(expr)),
            relations={},
            totals=frozenset(),
            constraints=conditions,
            fixed=self.fixed | gone,
        )

    @property
    def operands(self) -> tuple[Formula, ...]:
        return self.formulas

    @cached_property
    def expr(self) -> Expr:
        """The expression, in which the relations of each formula are substituted already."""
        return self.root.each

    @property
    def expanded(self) -> Expr:
        """The expression as a polynomial, or as one quotient."""
        return self.expr

    @cached_property
    def display_expr(self) -> Expr:
        """The expression as printed, with totals in place of their sums."""
        return self.expr if has_quotient(self.expr) or not self.totals else self.collect_totals(self.expr)

    @property
    def additive(self) -> bool:  # type: ignore[override]
        """Whether it is a polynomial."""
        return not has_quotient(self.expr) and not fraction(self.expr)[1].free_symbols

    @cached_property
    def accepted_sizes(self) -> NamedSizes:
        """The sizes that it accepts values for."""
        return NamedSizes.joined((self.dependencies, *(each.accepted_sizes for each in self.formulas)))

    @property
    def derivation(self) -> Derivation:
        """Raise RuleError: only the formulas that it combines have derivations."""
        raise RuleError(f"{self.id} is arithmetic on formulas; derive each of them: {', '.join(self._names)}")

    @property
    def rows(self) -> Breakdown:
        """Raise RuleError: only the formulas that it combines have rows."""
        raise RuleError(f"{self.id} is arithmetic on formulas; ask each of them for its rows: {', '.join(self._names)}")

    def part(self, path: str) -> Formula:
        """Raise RuleError: only the formulas that it combines have parts."""
        raise RuleError(f"{self.id} is arithmetic on formulas; combine their parts: {', '.join(self._names)}")

    @property
    def copies(self) -> Expr:
        """One: a combination is not repeated."""
        return ONE

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(each.id for each in self.formulas))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the expression."""
        from hashlib import sha256

        return sha256(code(self.expr).encode()).hexdigest()[:16]

    def equation(self) -> Equation:
        """Return the expression, with its value if all sizes have values."""
        found = super().equation()
        steps = found.chain.steps
        chain = Chain(steps[:1], steps[1:]) if len(steps) > 1 else Chain((), steps)
        return replace(found, chain=chain, reasons=found.reasons[1:])

    def partial(self, **values: int | str | Expr) -> Combination:
        """Return the combination with some sizes fixed to an integer or to an expression over the others."""
        return self.moved(
            close_relations(
                {self._taken(name): self._sized(self._taken(name), value) for name, value in values.items()}
            )
        )

    def _is(self, expr: Expr) -> bool:
        return same(self.expr, expr)

    def _numbers(self, spec: object, extra: Mapping[str, int]) -> Numbers:
        given: dict[str, Any] = {}
        for pairs in (spec if isinstance(spec, Mapping) else {}, extra):
            for name, number in pairs.items():
                given[str(self._taken(str(name)))] = number
        if isinstance(spec, Mapping):
            return super()._numbers(given, {})
        found: dict[Symbol, tuple[int, Formula]] = {}
        for each in self.formulas:
            own = {
                name: number
                for name, number in given.items()
                if named_symbol(name) in each.accepted_sizes | each.defining_sizes
            }
            for size, number in each._numbers(spec, own).items():
                other, whose = found.setdefault(size, (number, each))
                if other != number and size in self.dependencies:
                    raise SizeError(
                        f"{size} is {other} in {_whose(whose)} and {number} in {_whose(each)}; give {size}, or combine "
                        "the values of the formulas"
                    )
        numbers = {size: number for size, (number, _) in found.items()}
        return numbers | {named_symbol(name): whole(name, number) for name, number in given.items()}

    def _taken(self, name: str) -> Symbol:
        size = super()._taken(name)
        if size in self.fixed and size not in self.expr.free_symbols:
            raise SizeError(f"{size} was replaced in {self.id}, so it has no effect; remove it")
        return size

    def _at(self, numbers: Numbers) -> Any:
        from fractions import Fraction

        found = substitute(self.expr, numbers)
        if isinstance(found, Rational) and not isinstance(found, Integer):
            return Fraction(int(found.p), int(found.q))
        return evaluate(self.expr, numbers, self.id)


class _ById:
    """A formula that is compared by identity: equal formulas of two models have different sizes."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.formula is other.formula

    def __hash__(self) -> int:
        return id(self.formula)


def _whose(formula: Formula) -> str:
    """Return the target of a formula's model, or its id."""
    return str(getattr(formula.source, "target", formula.id))


def _assigned(values: Mapping[Symbol, Expr]) -> str:
    return ", ".join(f"{size} = {code(value)}" for size, value in values.items())


def _line(id: str, expr: Expr) -> AccountLine:
    return AccountLine("", "", ONE, terms=(Term(id, (expr,)),))


def held(formula: Formula) -> tuple[Iterable[Condition], Relations]:
    """Return the conditions and relations of an operand; those that partial() set are in its expression already."""
    if not formula.fixed:
        return formula.constraints, formula.relations
    return _moved(formula, formula.constraints, formula.relations), {}


def _moved(formula: Formula, conditions: Iterable[Condition], values: Mapping[Symbol, Expr]) -> tuple[Condition, ...]:
    """Return conditions with sizes replaced. Raises SizeError if one is violated or has no form with them."""
    found = []
    for each in conditions:
        try:
            found.append(each.moved(values))
        except TypeError:
            raise SizeError(
                f"{formula.id} holds if {each}, which cannot be stated with {_assigned(values)}; substitute numbers"
            ) from None
    return tuple(each for each in found if each is not None)
