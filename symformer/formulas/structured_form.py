"""The short form of a formula: parts that it repeats have a name, and common factors precede brackets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from sympy import Add, Expr, Symbol, ceiling, expand, factor, floor

from ..language.errors import DerivationError
from ..language.notation.display_tree import FractionNode, Label, Minus, Number, Product, Size, Sum, Tree, tree, value
from ..language.notation.text import text
from ..language.symbols import C_chunk, Z, Z_patch, letter, named_symbol, print_order
from .factorization import LONG, factored

MOST = 16  # terms of a sum that is factored into several sums


@dataclass(frozen=True)
class NamedPart:
    """A part that several terms of a formula contain, with the name that stands for it."""

    label: Label
    meaning: str

    @property
    def definition(self) -> Expr:
        """The expression that the name stands for."""
        return self.label.stands_for

    @property
    def symbol(self) -> Symbol:
        """The name as a symbol."""
        return named_symbol(f"{self.label.letter}_{self.label.name}")

    def labelled(self, expr: Expr) -> Tree:
        """Return the display tree of an expression that contains the name as a symbol."""
        shown: Tree = _labelled(tree(expr), {self.symbol: self.label})
        return shown


@dataclass(frozen=True)
class StructuredForm:
    """A formula in its short form and as a polynomial, both in terms of the named parts."""

    steps: tuple[Tree, ...]  # the short form and the polynomial; one step if they are the same
    parts: tuple[NamedPart, ...]

    def short(self, expr: Expr) -> Tree:
        """Return the short form of another expression in terms of the same named parts."""
        shown: Tree = _labelled(_short(with_names(expr, self.parts)), {part.symbol: part.label for part in self.parts})
        return shown


def structured(expr: Expr) -> StructuredForm:
    """Return the short form of a formula, and verify that it is equal to the formula.

    Parameters
    ----------
    expr : Expr
        A formula, expanded.

    Returns
    -------
    StructuredForm
        The short form and the polynomial. A part that several terms contain, such as the number of chunks of a
        sequence or of patches of an image, has a name in both.

    Raises
    ------
    DerivationError
        If a form differs from the formula.

    Examples
    --------
    >>> from symformer.language.symbols import B, E, L, N_tp, S
    >>> form = structured(expand((8*B*L*E**2 + 4*B*L*E) * Z**2 / Z_patch**2))
    >>> text(form.steps[0]), text(tree(form.parts[0].definition))
    ('4BLEN[patch](2E + 1)', 'Z²/Z_patch²')
    >>> text(structured(expand((20*B*S*E*L + 8*E) * (1 - 1/N_tp))).steps[0])
    '4E(5BSL + 2)(1 - 1/N_tp)'
    >>> text(structured(expand((16*B*S*E*L + 8*B*S*E) * (1 - 1/N_tp))).steps[0])
    '8BSE(2L + 1)(1 - 1/N_tp)'

    """
    parts: list[NamedPart] = []
    shorter = expr
    for letters, meaning, find in _PARTS:
        definition = find(shorter)
        if definition is None:
            continue
        part = NamedPart(Label(*letters, definition), f"the number of {meaning}")
        if part.symbol not in expr.free_symbols:
            shorter = _with_name(shorter, part.definition, part.symbol)
            parts.append(part)
    labels = {part.symbol: part.label for part in parts}
    steps = tuple(_labelled(step, labels) for step in (_short(shorter), tree(shorter)))
    for step in steps:
        if expand(value(step) - expr) != 0:
            raise DerivationError(f"the short form {text(step)} is not equal to {text(expr)}")
    return StructuredForm(tuple(dict.fromkeys(steps)), tuple(parts))


def _chunks(expr: Expr) -> Expr | None:
    """Return the number of chunks of a sequence, if several terms contain it."""
    terms = Add.make_args(expr)
    for each in sorted(expr.atoms(ceiling), key=str):
        above, below = each.args[0].as_numer_denom()
        chunked = below == C_chunk or below.is_Integer
        if chunked and above.is_Symbol and letter(above).run and sum(term.has(each) for term in terms) > 1:
            return each
    return None


def _patches(expr: Expr) -> Expr | None:
    """Return the number of patches of an image, if several terms contain it."""
    for each in (floor(Z / Z_patch) ** 2, Z**2 / Z_patch**2):
        if sum(_times(term, each) > 0 for term in Add.make_args(expr)) > 1:
            return each
    return None


_PARTS = (
    (("N", "chunk"), "chunks in a sequence", _chunks),
    (("N", "patch"), "patches in an image", _patches),
)


def with_names(expr: Expr, parts: Sequence[NamedPart]) -> Expr:
    """Return an expanded expression with the symbols of named parts."""
    for part in parts:
        expr = _with_name(expr, part.definition, part.symbol)
    return expr


def _with_name(expr: Expr, definition: Expr, name: Symbol) -> Expr:
    """Return a formula with the name instead of every power of a part."""
    if not definition.is_Mul and not definition.is_Pow:
        return expr.xreplace({definition: name})
    return Add(*(term / definition**n * name**n for term in Add.make_args(expr) for n in [_times(term, definition)]))


def _times(term: Expr, definition: Expr) -> int:
    """Return how often a term contains a product of powers."""
    powers = term.as_powers_dict()
    wanted = definition.as_powers_dict()
    return max(0, min(int(powers.get(base, 0) / power) for base, power in wanted.items()))


def _short(expr: Expr) -> Tree:
    """Return the factored form, with the factor 1 - 1/N of a collective operation over N ranks at the end.

    The terms of layers and those outside the layers stay apart, unless all of them have that factor.
    """
    terms = Add.make_args(expr)
    if (found := collective(expr)) is not None:
        return found
    depths = [{size for size in term.free_symbols if letter(size).unit == "layers"} for term in terms]
    return min(factored(expr), (all(depths) and _product(expr)) or tree(expr), key=lambda each: len(text(each)))


def collective(expr: Expr) -> Tree | None:
    """Return an expanded expression as a product with the factor 1 - 1/N of a collective operation over N ranks.

    Returns None if it does not have that factor.

    >>> from symformer.language.symbols import B, E, N_tp, S
    >>> text(collective(expand(4*B*S*E * (1 - 1/N_tp))))
    '4BSE(1 - 1/N_tp)'
    """
    terms = Add.make_args(expr)
    for ranks in sorted((each for each in expr.free_symbols if letter(each).ranks), key=print_order):
        divided = [term for term in terms if term.as_powers_dict().get(ranks, 0) == -1]
        whole = expand(-ranks * Add(*divided))
        if divided and expand(expr - whole * (1 - 1 / ranks)) == 0 and not whole.has(ranks):
            once = Sum((Number(1), Minus(FractionNode(Number(1), Size(ranks)))))
            inner = _product(whole) or factored(whole)
            return Product((*(inner.factors if isinstance(inner, Product) else (inner,)), once))
    return None


def _product(expr: Expr) -> Tree | None:
    """Return a polynomial as a product of sums; None if it has no factors, or is too long for a line."""
    found = factor(expr) if 1 < len(Add.make_args(expr)) <= MOST else expr
    shown = tree(found) if found.is_Mul and found.has(Add) else None
    return shown if shown and len(text(shown)) <= LONG else None


def _labelled(shown: Any, labels: Mapping[Symbol, Label]) -> Any:
    """Return a display tree with labels instead of the symbols of named parts."""
    if isinstance(shown, Size) and shown.symbol in labels:
        return labels[shown.symbol]
    if isinstance(shown, tuple):
        return tuple(_labelled(each, labels) for each in shown)
    if is_dataclass(shown) and not isinstance(shown, type) and labels:
        return replace(shown, **{each.name: _labelled(getattr(shown, each.name), labels) for each in fields(shown)})
    return shown
