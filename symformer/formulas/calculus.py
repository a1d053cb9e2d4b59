"""Calculus and algebra on formulas: derivatives, limits, leading terms, series, sums and forms."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

from sympy import Add, Expr, Integer, Mul, Symbol, apart, expand, fraction, oo
from sympy import diff as derivative
from sympy import factor as sympy_factor

from ..language.arithmetic import parse
from ..language.errors import SizeError
from ..language.limits import CALLS, MAX_DEGREE
from ..language.notation.text import text
from ..language.sizes import Relations, format_value, substitute
from ..language.symbols import NamedSizes
from .asymptotics import leading_terms, limit_in, one_fraction
from .growth_order import GrowthOrder
from .leading import Leading
from .operators import Operators, canonical, has_quotient, operand, size_of
from .rewriting import Rewriting, rewritten
from .series import PowerSeries
from .summation import summed

if TYPE_CHECKING:
    from .formula import Formula

MAX_FACTORED = 400  # terms that SymPy factors in a reasonable time
MAX_APART = 60  # terms of a quotient that SymPy decomposes in a reasonable time


class Calculus(Operators):
    """Calculus on a formula. Its class has the attributes that :class:`Operators` needs, and ``display_expr``."""

    @property
    def display_expr(self) -> Expr:
        """The expression as printed."""
        raise NotImplementedError

    def diff(self, *sizes: Symbol | str | int) -> Formula:
        """Return the derivative, with the other sizes held fixed.

        Parameters
        ----------
        *sizes
            The sizes to differentiate by, as symbols or names. A number after a size repeats it, as in SymPy.

        Returns
        -------
        Formula
            The derivative, in the same unit.

        Raises
        ------
        SizeError
            If a size is inside ceil, floor, max or min.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("gpt2").params.diff("E")
        24*L*E + 13*L + V + P + 2

        """
        if not sizes:
            raise SizeError("diff needs a size, such as diff('L')")
        expr, names = self.expanded, list[Symbol]()
        for each in sizes:
            if isinstance(each, Integral) and not isinstance(each, bool) and names:
                if not 0 <= int(each) <= MAX_DEGREE:
                    raise SizeError(f"the order {each} of a derivative is not an integer from 0 to {MAX_DEGREE}")
                names[-1:] = [names[-1]] * int(each)
            else:
                names.append(size_of(each, self._own))
        for size in names:
            if any(size in call.free_symbols for call in expr.atoms(*CALLS.values())):
                raise SizeError(f"{self.id} has no derivative in {size}, which is inside ceil, floor, max or min")
            expr = derivative(expr, size)
        by = ", ".join(map(str, names))
        return (
            self.combined(f"diff({self.id}, {by})", expr, self.unit)
            if names
            else self.combined(self.id, expr, self.unit)
        )

    def limit(self, size: Symbol | str | GrowthOrder, to: object = oo) -> Any:
        """Return the limit as one size or several sizes grow, with the other sizes held fixed.

        Parameters
        ----------
        size
            The size, as a symbol or a name; or a growth order of several sizes, such as ``"S >> E"``: S/E tends to
            infinity. ``"S >> E >> 1"`` states that E tends to infinity too.
        to
            ``sympy.oo``, or an integer for a single size.

        Returns
        -------
        Formula or sympy.Expr
            A formula; ``sympy.oo`` or ``-sympy.oo`` if there is no bound.

        Raises
        ------
        SizeError
            If the limit depends on more than is stated.

        Examples
        --------
        >>> import symformer as sf
        >>> gpt2 = sf.model("gpt2")
        >>> per_parameter = gpt2.formula("flops") / gpt2.params
        >>> per_parameter.limit("L")
        (4*B*S**2 + 24*B*S*E)/(12*E + 13)
        >>> from symformer.symbols import B, S
        >>> (per_parameter / (B*S)).limit("L >> 1, E >> S")  # 2 FLOPs per parameter and token
        2
        >>> gpt2.params.limit("L")
        oo

        """
        if isinstance(size, GrowthOrder) or (isinstance(size, str) and GrowthOrder.is_spelt(size)):
            order = self.growth_order(size)
            if to is not oo and to != oo:
                raise SizeError(
                    f"the limit of {self.id} as {order} has no single size that tends to {format_value(to)}"
                )
            target, found = str(order), limit_in(self.expanded, order, self.id)
            id = f"limit({self.id}, {target})"
        else:
            target = size_of(size, self._own)
            id = f"limit({self.id}, {target}, {to})"
            if to is oo or to == oo:
                order = GrowthOrder.infinite(target)
                found = limit_in(self.expanded, order, self.id) if target in self.free_symbols else self.expanded
            else:
                number = operand(to)
                if number is None or not isinstance(number, Integer):
                    raise SizeError(
                        f"the limit of {self.id} is for {target} = {format_value(to)}; give an integer or sympy.oo"
                    )
                found = substitute(canonical(self.expanded), {target: number})
                if not found.is_finite and not found.free_symbols:
                    raise SizeError(f"{self.id} divides by zero at {target} = {number}")
        if found in (oo, -oo):
            return found
        return self.combined(id, found, self.unit)

    def leading(self, order: str | GrowthOrder = "") -> Leading:
        """Return the leading terms, as the whole model grows or in a growth order.

        Without an order, the head dimension is constant as models grow, so ``D`` does not count.

        Parameters
        ----------
        order
            A growth order such as ``"S >> E"``: S/E tends to infinity, and sizes that it does not name stay fixed.

        Returns
        -------
        Leading
            ``expr`` has the leading terms and ``rest`` the others.

        Raises
        ------
        SizeError
            If the formula does not depend on a size of the order, or the order leaves the leading terms open.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.architecture("gpt2").params.leading()
        12*L*E**2
        >>> flops = sf.model("gpt2").formula("flops")
        >>> flops
        4*B*S**2*L*E + 24*B*S*L*E**2 + 2*B*S*V*E
        >>> flops.leading("S >> E"), flops.leading("E >> S, L >> 1"), flops.leading("V -> oo")
        (4*B*S**2*L*E, 24*B*S*L*E**2, 2*B*S*V*E)

        """
        if isinstance(order, str) and not order:
            return Leading.of(self.display_expr)
        first = leading_terms(self.expanded, self.growth_order(order), self.id)
        rest = self.expanded - first
        return Leading(first, canonical(rest) if has_quotient(rest) else expand(rest))

    def series(self, size: Symbol | str, order: int = 2) -> PowerSeries:
        """Return the series in powers of 1/size, with the exact remainder.

        Parameters
        ----------
        size
            The size, as a symbol or a name.
        order
            The highest power of 1/size, at most 6.

        Returns
        -------
        PowerSeries
            ``expr`` is the sum without the remainder.

        Raises
        ------
        SizeError
            If the formula is not a quotient of polynomials in the size for large sizes.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("gpt2").params.part("h.attn").series("E")
        4*E**2 + 4*E
        >>> from symformer.symbols import E, L
        >>> ratio = sf.model("gpt2").params / (12*L*E**2)
        >>> ratio.series("L", 1)
        (12*E + 13)/(12*E) + (V + P + 2)/(12*L*E)

        """
        return PowerSeries.of(self.expanded, size_of(size, self._own), order, self.id)

    def sum(self, size: Symbol | str, first: object = 1, last: object = "") -> Formula:
        """Return the sum over a size that runs through integers, in closed form.

        Parameters
        ----------
        size
            The size that runs, as a symbol or a name. It may stand for the number of a layer.
        first, last
            Its first and its last value: integers, expressions over sizes, or text. By default, from 1 to the size.

        Returns
        -------
        Formula
            The sum, in the same unit.

        Raises
        ------
        SizeError
            If the formula is not a polynomial in the size, apart from min and max of terms linear in it.

        Examples
        --------
        The FLOPs of decoding N_new tokens after S tokens:

        >>> import symformer as sf
        >>> step = sf.model("gpt2").formula("decode-flops")
        >>> step.sum("C", "S", "S + N_new - 1")
        4*B*S*N_new*L*E + 2*B*N_new**2*L*E + 24*B*N_new*L*E**2 + 2*B*N_new*L*E + 2*B*N_new*V*E

        Layers of different widths, with H = 64*L in layer L:

        >>> mlp = sf.component("gated-mlp").params
        >>> mlp.subs(H="64*L").sum("L")
        96*L**2*E + 96*L*E

        """
        target = size_of(size, self._own)
        if target not in self.free_symbols:
            raise SizeError(f"{self.id} does not depend on {target}, so it is not summed over it")
        start, end = (
            self._bound(target, target if isinstance(each, str) and not each else each) for each in (first, last)
        )
        id = f"sum({self.id}, {target}, {text(start)}, {text(end)})"
        found = summed(self.expanded, target, start, end, self.id)
        return self.combined(id, found, self.unit)._without_size(target)

    def _bound(self, size: Symbol, value: object) -> Expr:
        """Return a bound of a sum, which may be 0 or negative. Raises SizeError."""
        if isinstance(value, str):
            return parse(value, self.accepted_sizes)
        found = operand(value)
        if found is None or not found.is_integer:
            raise SizeError(f"{format_value(value)} is not a bound for {size}; give an integer or text such as 'S - 1'")
        return found

    def factor(self) -> Expr:
        """Return the factored expression. It is a SymPy expression, because formulas are printed as sums.

        Returns
        -------
        sympy.Expr
            The factored expression.

        Raises
        ------
        SizeError
            If there are too many terms.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.component("mlp", bias=False).params.factor()
        2*E*H

        """
        terms = sum(len(Add.make_args(expand(side))) for side in fraction(self.expanded))
        if terms > MAX_FACTORED:
            raise SizeError(f"{self.id} has {terms:,} terms, more than the {MAX_FACTORED} that factor() accepts")
        return sympy_factor(self.expanded)

    def collect(self, *sizes: Symbol | str) -> Expr:
        """Return the expression as a polynomial in some sizes, as a SymPy expression.

        Parameters
        ----------
        *sizes
            The sizes, as symbols or names.

        Returns
        -------
        sympy.Expr
            A sum over the powers of the sizes; the numerator over the denominator of a quotient.

        Raises
        ------
        SizeError
            If no size is given.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("gpt2").params.collect("E")
        12*E**2*L + E*(13*L + P + V + 2)

        """
        if not sizes:
            raise SizeError("collect needs a size, such as collect('E')")
        names = [size_of(each, self._own) for each in sizes]
        above, below = (_collected(side, names) for side in fraction(self.expanded))
        return above / below

    def apart(self, size: Symbol | str) -> Expr:
        """Return the partial fractions of a quotient in one size, as a SymPy expression.

        Parameters
        ----------
        size
            The size, as a symbol or a name.

        Returns
        -------
        sympy.Expr
            A polynomial in the size, and fractions with smaller numerators than denominators.

        Raises
        ------
        SizeError
            If the size is inside ceil, floor, max or min, or the quotient is too long.

        Examples
        --------
        >>> import symformer as sf
        >>> from symformer.symbols import E, L
        >>> (sf.model("gpt2").params.part("h.attn") / (E + 2)).apart("E")
        4*E - 4 + 8/(E + 2)

        """
        target = size_of(size, self._own)
        if any(target in call.free_symbols for call in self.expanded.atoms(*CALLS.values())):
            raise SizeError(f"{self.id} has no partial fractions in {target}, which is inside ceil, floor, max or min")
        above, below = one_fraction(self.expanded, self.id)
        if (terms := len(Add.make_args(above)) + len(Add.make_args(below))) > MAX_APART:
            raise SizeError(f"{self.id} has {terms} terms, more than the {MAX_APART} that apart() accepts")
        return apart(above / below, target) if target in below.free_symbols else expand(above / below)

    def rewritten(self, form: str) -> Rewriting:
        """Return another form of the formula, which prints as LaTeX and as other notations.

        Parameters
        ----------
        form
            ``factor``, ``collect E``, ``apart L``, ``series L`` or ``series L 3``, ``leading S >> E``, or ``limit L``,
            which is also ``limit L >> 1``.

        Returns
        -------
        Rewriting
            The form.

        Raises
        ------
        SizeError
            If the formula does not have the form.

        Examples
        --------
        >>> import symformer as sf
        >>> flops = sf.model("gpt2").formula("flops")
        >>> print(flops.rewritten("leading S >> E"))
        F ~ 4BS²LE as S >> E
        >>> print(flops.rewritten("collect L").latex())
        F = 4 B S L E (S + 6 E) + 2 B S V E

        """
        return rewritten(self, form)  # type: ignore[arg-type]

    @property
    def _own(self) -> NamedSizes:
        return NamedSizes(self.expanded.free_symbols, self.accepted_sizes.names)

    def growth_order(self, order: str | GrowthOrder) -> GrowthOrder:
        """Return a growth order of sizes of the formula.

        Parameters
        ----------
        order
            Text such as ``"S >> E"``, or the name of a single size that grows.

        Returns
        -------
        GrowthOrder
            The order, which ``limit`` and ``leading`` accept.

        Raises
        ------
        SizeError
            If the text is not a growth order, or its steps contradict each other.

        Examples
        --------
        >>> import symformer as sf
        >>> print(sf.model("gpt2").params.growth_order("L -> oo"))
        L >> 1

        """
        found = self._read_order(order)
        relations: Relations = getattr(self, "relations", {})
        totals: frozenset[Symbol] = getattr(self, "totals", frozenset())
        if total := next((size for size in found.sizes if size in totals and size not in self.free_symbols), None):
            raise SizeError(f"{total} is {text(relations[total])} in {self.id}; name the sizes that grow")
        return found

    def _read_order(self, order: str | GrowthOrder) -> GrowthOrder:
        if isinstance(order, str):
            if GrowthOrder.is_spelt(order) or "," in order:
                return GrowthOrder.read(order, self.accepted_sizes)
            return GrowthOrder.infinite(size_of(order.strip(), self.accepted_sizes))
        if not isinstance(order, GrowthOrder):
            raise SizeError(f"{format_value(order)} is not a growth order; write one such as 'S >> E'")
        return order


def _collected(polynomial: Expr, sizes: list[Symbol]) -> Expr:
    """Return a polynomial with the coefficient of each product of powers of some sizes in brackets."""
    found: dict[Expr, list[Expr]] = {}
    for term in Add.make_args(expand(polynomial)):
        powers = term.as_powers_dict()
        own = Mul(*(size ** powers[size] for size in sizes if size in powers and powers[size].is_Integer))
        found.setdefault(own, []).append(term / own)
    return Add(*(own * Add(*rests) for own, rests in found.items()))
