"""A formula: an expression over the alphabet, with its derivation, its conventions and a stable id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sympy import Add, Expr, Integer, Mul, Symbol, expand, igcd

from .account import Line, Measure
from .arithmetic import parse, size
from .errors import SizeError, UnknownNameError
from .notation.latex import latex
from .notation.text import code, text
from .notation.tree import growth
from .sizes import Condition, Numbers, Relations, close, evaluate, whole
from .symbols import RANK, symbol

if TYPE_CHECKING:
    from fractions import Fraction

    from .derivation import Derivation


class Source(Protocol):
    """Where a formula's numbers come from: the model it belongs to."""

    def numbers_for(self, spec: object) -> Numbers: ...


@dataclass(frozen=True)
class Leading:
    """The terms that grow fastest with the model, and what they leave out."""

    expr: Expr
    rest: Expr

    @classmethod
    def of(cls, polynomial: Expr) -> Leading:
        """The leading terms of an expanded polynomial."""
        terms = Add.make_args(polynomial)
        highest = max(growth(term) for term in terms)
        kept = Add(*(term for term in terms if growth(term) == highest))
        return cls(kept, polynomial - kept)

    def left_out(self, numbers: Mapping[Symbol, int]) -> Fraction:
        """The share of the whole that the leading terms leave out, exactly."""
        from fractions import Fraction

        whole = evaluate(self.expr + self.rest, numbers, "the share left out")
        return Fraction(evaluate(self.rest, numbers, "the share left out"), whole)

    def __repr__(self) -> str:
        return code(self.expr)


@dataclass(frozen=True)
class Row:
    """One entry of the breakdown."""

    path: str
    count: Expr  # copies in the whole
    each: Expr  # what one copy comes to, expanded

    @property
    def total(self) -> Expr:
        return expand(self.count * self.each)


@dataclass(frozen=True, eq=False)
class Formula:
    """What one quantity comes to for one model, in closed form.

    ``expr`` is the truth as it adds up, ``expanded`` the polynomial. ``repr`` is plain arithmetic over the alphabet.
    """

    id: str
    measure: Measure
    root: Line
    relations: Relations = field(default_factory=dict)
    conventions: Mapping[str, str] = field(default_factory=dict)
    constraints: tuple[Condition, ...] = ()
    source: Source | None = None
    additive: ClassVar[bool] = True  # whether it is the sum of its rows

    @cached_property
    def expr(self) -> Expr:
        """The sum over the parts, with the model's relations put in."""
        return self.root.each.xreplace(self.relations)

    @cached_property
    def expanded(self) -> Expr:
        """The polynomial."""
        return expand(self.expr)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols it needs numbers for, in the order of the alphabet."""
        return tuple(sorted(self.expanded.free_symbols, key=RANK.__getitem__))

    @cached_property
    def derivation(self) -> Derivation:
        """The steps from the shapes to the polynomial, each proved equal to the next."""
        from .derivation import derive

        return derive(self.root, self.measure, self.relations)

    @property
    def rows(self) -> list[Row]:
        """One row for each entry that counts, or that is a module of its own in torch and counts nothing."""
        found: dict[str, Row] = {}
        for count, line in self.root.leaves():
            if line.each == 0 and not (line.entry and line.entry.module):
                continue
            each = expand(line.each.xreplace(self.relations))
            if line.path in found:  # a module used twice, such as one dropout for two residuals
                each += found[line.path].each
            found[line.path] = Row(line.path, count.xreplace(self.relations), each)
        return list(found.values())

    def of_row(self, row: Row, numbers: Numbers) -> int | Fraction:
        """What a row comes to in all its copies."""
        return evaluate(row.total, numbers, row.path)

    def leading(self) -> Leading:
        """The terms of highest growth. The width of a head stays put as models grow, so ``D`` does not count.

        >>> import symformer as sf
        >>> sf.architecture("gpt2").params.leading()
        12*L*E**2
        """
        return Leading.of(self.expanded)

    def value(self, spec: object = None, **numbers: int) -> int:
        """The exact integer at a preset, a dict, a path to a ``config.json``, or the model's own numbers.

        Raises SizeError for symbols without a number, for sizes that do not divide as the model needs, and for
        numbers that break a relation this formula was simplified with.

        >>> import symformer as sf
        >>> sf.architecture("gpt2").params.value("gpt2-xl")
        1557611200
        """
        given = self._numbers(spec, numbers)
        for target, expr in self.relations.items():
            if target in given and expr.free_symbols <= given.keys():
                expected = evaluate(expr, given, str(target))
                if given[target] != expected:
                    raise SizeError(
                        f"{self.id} was simplified with {target} = {text(expr)}, which is {expected} and not "
                        f"{given[target]}; make the model from those sizes to keep {target} in the formula"
                    )
        for constraint in self.constraints:
            constraint.check(given)
        return self._at(given)

    def _at(self, numbers: Numbers) -> int:
        return evaluate(self.expanded, numbers, self.id)

    def _numbers(self, spec: object, extra: Mapping[str, int]) -> Numbers:
        if isinstance(spec, Mapping):
            numbers: Numbers = {}
            extra = {**{str(name): number for name, number in spec.items()}, **extra}
        elif self.source is not None:
            numbers = dict(self.source.numbers_for(spec))
        elif spec is None:
            numbers = {}
        else:
            raise SizeError(f"{self.id} belongs to no model, so {spec!r} names no sizes; give a dict of numbers")
        return numbers | {symbol(name): whole(name, number) for name, number in extra.items()}

    def partial(self, **values: int | str | Expr) -> Formula:
        """The formula with some symbols fixed, to a number or to an expression over the others.

        >>> from symformer.components.mlp import MLP
        >>> MLP().params.partial(H="4*E")
        8*E**2 + 5*E
        """
        relations = dict(self.relations)
        for name, given in values.items():
            target = symbol(name)
            relations[target] = given if isinstance(given, Expr) else size(str(given))
            if relations[target] == target:  # D="D": free again
                del relations[target]
        return replace(self, relations=close(relations))

    def equals(self, other: Formula | Expr | str) -> bool:
        """Whether the other comes to the same, under this formula's relations.

        >>> from symformer.components.self_attention import SelfAttention
        >>> SelfAttention(bias=False, output_bias=False).params.equals("E*E + 3*E*(D*A)")
        True
        """
        expr = other.expr if isinstance(other, Formula) else parse(other) if isinstance(other, str) else other
        return bool(expand(expr.xreplace(self.relations) - self.expanded) == 0)

    def part(self, path: str) -> Formula:
        """The formula of one copy of a part or of an operation: ``part("h.attn")`` is ``gpt2.params.h.attn``."""
        parts = {line.key: line for line in (*self.root.walk(), *self.root.parts())}
        if path not in parts:
            raise UnknownNameError("part", path, filter(None, parts))
        line = parts[path]
        return replace(self, id=f"{self.id}.{path}" if path else self.id, root=line)

    @property
    def digest(self) -> str:
        """A fingerprint of every term, before the model's relations are put in: what a certificate is bound to."""
        from hashlib import sha256

        terms = [
            f"{term.label} x {code(count)} = {' * '.join(map(code, term.factors))}"
            for count, line in self.root.leaves()
            for term in line.terms
        ]
        return sha256("\n".join(terms).encode()).hexdigest()[:16]

    def latex(self) -> str:
        """LaTeX mathematics, in house order."""
        return latex(self.expanded)

    def typst(self) -> str:
        """Typst mathematics, in house order."""
        from .notation.typst import typst

        return typst(self.expanded)

    def text(self) -> str:
        """Unicode for people: ``12LE² + 13LE``."""
        return text(self.expanded)

    def code(self) -> str:
        """Plain arithmetic over the alphabet."""
        return code(self.expanded)

    def __repr__(self) -> str:
        return self.code()

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Formula):
            return self.expanded == other.expanded
        if isinstance(other, Expr | int):
            return bool(expand(self.expanded - (Integer(other) if isinstance(other, int) else other)) == 0)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.expanded)


@dataclass(frozen=True, eq=False)
class Ratio(Formula):
    """One formula over another: FLOPs for each byte. Its rows are ratios too, and do not add up.

    ``value`` is an exact :class:`fractions.Fraction`.
    """

    counts: Measure = field(kw_only=True)  # what stands above
    over: Formula = field(kw_only=True)
    additive: ClassVar[bool] = False

    @property
    def above(self) -> Formula:
        """The numerator, as a formula of its own."""
        return replace(self.over, id=f"{self.id}.{self.counts.name}", measure=self.counts, root=self.root)

    @cached_property
    def expr(self) -> Expr:
        """The quotient in lowest terms, as far as whole numbers and powers of single symbols go."""
        return _lowest(expand(self.root.each.xreplace(self.relations)), self.over.expanded)

    @property
    def expanded(self) -> Expr:
        """The quotient."""
        return self.expr

    @property
    def rows(self) -> list[Row]:
        """Each operation's own ratio, where it has a denominator."""
        below = {row.path: row for row in self.over.rows}
        rows = super().rows
        return [
            replace(row, each=_lowest(row.each, below[row.path].each))
            for row in rows
            if row.path in below and below[row.path].each != 0
        ]

    def of_row(self, row: Row, numbers: Numbers) -> Fraction:
        """A row's own ratio, which is that of each of its copies."""
        return _quotient(row.each, numbers, row.path)

    def _at(self, numbers: Numbers) -> Any:
        return _quotient(self.expr, numbers, self.id)


def _quotient(expr: Expr, numbers: Numbers, what: str) -> Fraction:
    from fractions import Fraction

    above, below = expr.as_numer_denom()
    return Fraction(evaluate(above, numbers, what), evaluate(below, numbers, what))


def _lowest(above: Expr, below: Expr) -> Expr:
    """A quotient of two polynomials without the whole numbers and powers that every term of both has."""
    terms = [term.as_coeff_Mul() for side in (above, below) for term in Add.make_args(side)]
    if above == 0:
        return above
    shared = Integer(igcd(*(abs(int(number)) for number, _ in terms)))
    powers = [powers_of.as_powers_dict() for _, powers_of in terms]
    common = Mul(shared, *(base ** min(each.get(base, 0) for each in powers) for base in powers[0] if base != 1))
    return expand(above / common) / expand(below / common)
