"""Conventions under which papers count, as switches: each has a sentence and the terms it adds to our formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from sympy import Expr, Integer, Rational, Symbol, ceiling, expand

from ..components.base import spell_option
from ..formulas.formula import Formula
from ..language.errors import SymformerError
from ..language.notation.text import text
from ..language.symbols import B, C, E, H, S, V, W
from ..ledger.facts import ATTENDING, MULTIPLYING, OperationKind
from ..models.model import Model
from ..quantities import quantity as find_quantity
from ..quantities.quantity import COUNTED
from .account_terms import PRIME, AccountTerm, account_terms, fingerprint, is_zero, total_of_terms
from .name_binding import STORED

MOST = 4  # maximum number of conventions at once
MULTIPLES = (8, 16, 32, 64, 128, 256, 512, 1024)  # usual multiples to which a vocabulary is rounded up
LONG = 60  # maximum number of terms of a formula for pairs of conventions
PAIRS = 40  # maximum number of pairs of the quantity's own conventions
CHOICES = 6  # maximum number of values of an option
_SYMBOLIC = ("dtype = symbolic",)  # makes bytes per element a size, so that bytes can be converted to elements
_SILENT = ("activation", "dropout")  # options that do not affect the counts in papers


@dataclass(frozen=True)
class PaperConvention:
    """One convention in addition to the requested ones, and the terms it adds to our formula."""

    name: str
    added: Expr


@dataclass(frozen=True)
class OptionVariant:
    """Our formula under other options of the model or conventions of the quantity."""

    names: tuple[str, ...]
    formula: Formula
    puts: Mapping[Symbol, Expr] = field(default_factory=dict)
    whole: bool = False  # True for a complete published rule set, which is not combined with other switches


@dataclass(frozen=True)
class ConvertedFormula:
    """A printed formula over our sizes, for one meaning of the number of parameters, if it contains that."""

    expr: Expr
    name: str = ""  # a sentence that states which parameters N counts
    counts: str = ""  # the same as a key, which letters.json uses


def search(
    model: Model, formula: Formula, part: str | None, theirs: Sequence[ConvertedFormula], asked: Mapping[str, str]
) -> list[PaperConvention] | None:
    """Return the fewest conventions under which our formula equals one of theirs, or None."""
    wanted = [(fingerprint(each.expr), each) for each in theirs]
    best: list[PaperConvention] | None = None
    for variant in _variants(model, formula, part, asked, theirs):
        for found in _of_variant(variant, formula, wanted, MOST if best is None else len(best) - 1):
            if best is None or len(found) < len(best):
                best = found
    return best


def _of_variant(
    variant: OptionVariant, base: Formula, wanted: Sequence[tuple[int | None, ConvertedFormula]], most: int
) -> Iterator[list[PaperConvention]]:
    parts = account_terms(variant.formula, variant.puts)
    whole = total_of_terms(parts)
    start = fingerprint(whole)
    change = expand(whole - base.expanded)
    first = [PaperConvention(name, change if number == 0 else Integer(0)) for number, name in enumerate(variant.names)]
    switched = [] if variant.whole else groups_of(variant.formula, parts)
    groups = [[(fingerprint(each.added), each) for each in group] for group in switched]
    scales = [(fingerprint(factor), name, factor) for name, factor in _scales(variant.formula, whole)]
    if start is None:
        return
    for count in range(min(len(groups), most - len(first)) + 1):
        for some in combinations(groups, count):
            for chosen in product(*some):
                amount = start + sum(number or 0 for number, _ in chosen)
                for scaled, name, factor in scales:
                    for number, each in wanted:
                        if number is None or (amount * (scaled or 0) - number) % PRIME:
                            continue
                        ours = expand((whole + sum((one.added for _, one in chosen), Integer(0))) * factor)
                        if not is_zero(ours - each.expr):
                            continue
                        own = [] if variant.names == _SYMBOLIC and W in factor.free_symbols else first
                        found = [*own, *(one for _, one in chosen)]
                        if name:
                            found.append(
                                PaperConvention(name, expand(ours - ours / factor + (Integer(0) if own else change)))
                            )
                        if each.name:
                            found.append(PaperConvention(each.name, Integer(0)))
                        if len(found) <= most:
                            yield found


def _scales(formula: Formula, whole: Expr) -> list[tuple[str, Expr]]:
    """Return the unit conversions of a formula: per sequence, per token, elements instead of bytes."""
    free = whole.free_symbols
    found: list[tuple[str, Expr]] = [("", Integer(1))]
    if B in free:
        found.append(("one sequence is counted instead of B", 1 / B))
        found += [("one token is counted instead of B·S", 1 / (B * S))] * (S in free)
        found += [("one token is counted instead of B·C", 1 / (B * C))] * (C in free)
    if W in free:
        found += [
            (f"{name + ', and ' if name else ''}elements are counted instead of bytes", by / W) for name, by in found
        ]
    if formula.whole_account is not None and formula.copies != 1:
        found += [
            (
                f"all {text(formula.copies)} copies are counted instead of one" + (f", and {name}" if name else ""),
                by * formula.copies,
            )
            for name, by in found
        ]
    twice = {"FLOPs": ("multiply-adds are counted, 2 FLOPs each", Rational(1, 2))}
    twice["MACs"] = ("FLOPs are counted, 2 per multiply-add", Integer(2))
    if formula.measure.unit in twice:
        said, other = twice[formula.measure.unit]
        found += [(f"{name}, and {said}" if name else said, by * other) for name, by in found]
    return found


def groups_of(formula: Formula, parts: Sequence[AccountTerm]) -> list[list[PaperConvention]]:
    """Return groups of switches for the pieces of a formula; at most one switch per group applies."""
    if formula.measure.name in STORED:
        groups = _stored(parts, whole=formula.whole_account is None)
    elif formula.measure.unit in ("FLOPs", "MACs"):
        groups = _multiplied(parts)
    else:
        groups = []
    return [kept for group in groups if (kept := _different(group))]


def _different(group: Sequence[tuple[str, Sequence[AccountTerm], Expr]]) -> list[PaperConvention]:
    found: dict[Expr, PaperConvention] = {}
    for name, some, share in group:
        amount = expand(total_of_terms(list(some)) * share)
        if amount != 0:
            found.setdefault(amount, PaperConvention(name, amount))
    return list(found.values())


_Group = list[tuple[str, Sequence[AccountTerm], Expr]]
_OUT = Integer(-1)


def _stored(parts: Sequence[AccountTerm], whole: bool) -> list[_Group]:
    norms = [each for each in parts if each.entry.kind is OperationKind.NORM]
    outer = [each for each in norms if not each.repeated] if whole else []
    final = [each for each in outer if each.path == outer[-1].path]
    tables = [each for each in parts if each.entry.kind is OperationKind.LOOKUP]
    head = [each for each in parts if each.entry.logits and not each.label.endswith(".bias")]
    placed = [each for each in tables if each.entry.function == "positions"]
    words = [each for each in tables if each.entry.function == "tokens"]
    linear = (*MULTIPLYING, OperationKind.EXPERTS)
    biases = [each for each in parts if each.entry.kind in linear and each.label.endswith(".bias")]
    pooler = [each for each in parts if "pooler" in each.path]
    groups: list[_Group] = [
        [
            ("the final norm is left out", final, _OUT),
            ("all norms are left out", norms, _OUT),
            ("the biases of norms are left out", [each for each in norms if each.label.endswith(".bias")], _OUT),
        ],
        [("the biases are left out", biases, _OUT)],
        [
            ("the head is tied to the embeddings (or one of the two is left out)", head, _OUT),
            ("the embeddings are left out", tables, _OUT),
            ("the embeddings and the head are left out", [*tables, *head], _OUT),
            ("the position embeddings are left out", placed, _OUT),
            ("the token embeddings are left out", words, _OUT),
            (
                "only the embeddings are counted",
                [each for each in parts if each not in tables] if tables else [],
                _OUT,
            ),
        ],
        [("the pooler is left out", pooler, _OUT)],
    ]
    return groups


def _multiplied(parts: Sequence[AccountTerm]) -> list[_Group]:
    core = [each for each in parts if each.entry.kind in ATTENDING]
    others = [each for each in parts if each not in core] if core else []
    logits = [each for each in parts if each.entry.logits]
    return [
        [
            ("the attention core (scores and weighted values) is left out", core, _OUT),
            ("attention is counted at a mean context of S/2 tokens", core, Rational(-1, 2)),
            # Subtract half of (2 * others + core): only the core remains, halved for causal attention.
            (
                "only the attention core (scores and weighted values) is counted, at a mean context of S/2 tokens",
                [*others, *others, *core] if others else [],
                Rational(-1, 2),
            ),
            ("only the attention core (scores and weighted values) is counted", others, _OUT),
        ],
        [("the logits are left out", logits, _OUT)],
    ]


def parameters(model: Model, counts: str = "") -> list[ConvertedFormula]:
    """Return the possible meanings of the number of parameters in a formula: all, or the one with the given key."""
    formula = model.formula("params")
    parts = account_terms(formula)
    total = total_of_terms(parts)
    tables = [each for each in parts if each.entry.kind is OperationKind.LOOKUP]
    placed = [each for each in tables if each.entry.function == "positions"]
    head = [each for each in parts if each.entry.logits and not each.label.endswith(".bias")]
    matrices = [each for each in parts if each.entry.kind in (*MULTIPLYING, OperationKind.EXPERTS) and each.repeated]
    matrices = [each for each in matrices if not each.label.endswith(".bias")]
    without = "its parameter count excludes the embeddings"
    ways = [
        ConvertedFormula(total, "its parameter count includes all parameters", "all"),
        ConvertedFormula(expand(total - total_of_terms(tables)), without, "no embeddings"),
        ConvertedFormula(
            expand(total - total_of_terms(placed)),
            "its parameter count excludes the position embeddings",
            "no positions",
        ),
        ConvertedFormula(
            expand(total - total_of_terms([*tables, *head])), f"{without} and the head", "no embeddings, no head"
        ),
        ConvertedFormula(
            total_of_terms(matrices), "its parameter count includes only the layers' matrices", "matrices"
        ),
        ConvertedFormula(
            expand(total_of_terms(matrices) + _head(parts)),
            "its parameter count includes only the layers' matrices and the head",
            "matrices and head",
        ),
    ]
    try:
        active = model.formula("active-params").expanded
        ways.append(
            ConvertedFormula(active, "its parameter count includes only the parameters active for a token", "active")
        )
    except SymformerError:
        pass
    found: dict[Expr, ConvertedFormula] = {}
    for each in ways:
        if counts in ("", each.counts):
            found.setdefault(each.expr, each)
    return list(found.values())


def _head(parts: Sequence[AccountTerm]) -> Expr:
    """Return the size of the head matrix: its own, or the tied token embedding."""
    own = [each for each in parts if each.entry.logits and not each.label.endswith(".bias")]
    return total_of_terms(own or [each for each in parts if each.entry.function == "tokens"])


def _variants(
    model: Model, formula: Formula, part: str | None, asked: Mapping[str, str], theirs: Sequence[ConvertedFormula]
) -> Iterator[OptionVariant]:
    """Our formula, then with one option or convention changed, then with two conventions changed."""
    seen: set[Expr] = {formula.expanded}
    base = OptionVariant((), formula)
    yield base
    for name, puts in (*_padded(model, theirs), *_numbered(model, formula, theirs)):
        yield OptionVariant((name,), formula, puts)
    quantity = formula.measure.name
    known = find_quantity(quantity).conventions
    ways = [
        {name: choice}
        for name, convention in known.items()
        for choice in convention.usual
        if choice != formula.conventions.get(name, convention.default)
        and (
            not convention.hidden_by_default or name in formula.conventions
        )  # weights that are omitted have their own switches
    ]
    for other in _options(model):
        named = [f"{key} = {value}" for key, value in _changed(model, other)]
        made = _made(other, quantity, asked, part)
        if made is not None and made.expanded not in seen:
            seen.add(made.expanded)
            yield OptionVariant(tuple(named), made)
    pairs = [{**one, **two} for one, two in combinations(ways, 2) if one.keys() != two.keys()]
    few = len(account_terms(formula)) <= LONG
    for way in [*ways, *(pairs[:PAIRS] if few else [])]:
        made = _made(model, quantity, {**asked, **way}, part)
        if made is not None and made.expanded not in seen:
            seen.add(made.expanded)
            yield OptionVariant(tuple(f"{key} = {value}" for key, value in way.items()), made)
    others = find_quantity(quantity).choices.get(COUNTED)
    for choice in others.meanings if others else ():
        made = _made(model, quantity, {**asked, COUNTED: choice}, part)
        if made is not None and made.measure.unit == formula.measure.unit and made.expanded not in seen:
            seen.add(made.expanded)
            yield OptionVariant((f"{COUNTED} = {choice}",), made, whole=True)


def _made(model: Model, quantity: str, asked: Mapping[str, str], part: str | None) -> Formula | None:
    try:
        made = model.formula(quantity, **asked)
        return made if part is None else made.part(part)
    except SymformerError:
        return None


def _options(model: Model) -> Iterator[Model]:
    """Yield the model with one option changed."""
    for name, choices in model.component.choices().items():
        if not 1 < len(choices) <= CHOICES or any(word in name for word in _SILENT):
            continue
        for choice in choices:
            if choice != getattr(model.component, name):
                try:
                    yield replace(model, component=replace(model.component, **{name: choice}))
                except SymformerError:
                    continue


def _changed(model: Model, other: Model) -> Iterator[tuple[str, str]]:
    for name in model.component.choices():
        if getattr(model.component, name) != getattr(other.component, name):
            yield name, spell_option(getattr(other.component, name))


def _padded(model: Model, theirs: Sequence[ConvertedFormula]) -> Iterator[tuple[str, dict[Symbol, Expr]]]:
    """Yield padded vocabulary sizes: as the formula writes them, or at usual multiples if it contains numbers."""
    found: dict[Expr, None] = {}
    for each in theirs:
        for rounded in sorted(each.expr.atoms(ceiling), key=str):
            if rounded.free_symbols == {V} and (times := rounded.args[0] / V).is_Rational and times != 0:
                found.setdefault(rounded / times)
        if V in model.known and V not in each.expr.free_symbols:
            found.update({Integer(-(-model.known[V] // many) * many): None for many in MULTIPLES})
    for padded in found:
        if padded != model.known.get(V):
            yield f"the vocabulary is padded: V is {text(padded)}", {V: padded}


def _numbered(
    model: Model, formula: Formula, theirs: Sequence[ConvertedFormula]
) -> Iterator[tuple[str, dict[Symbol, Expr]]]:
    """Yield values for sizes missing in a formula, one at a time, then all: the model's numbers, or 4E for H."""
    free = set().union(*(each.expr.free_symbols for each in theirs))
    known = model.known
    ways: dict[Symbol, Expr] = {
        size: Integer(known[size]) for size in formula.symbols if size in known and size not in free
    }
    if H in formula.symbols and H not in free and E in free and known.get(H) in (None, 4 * known.get(E, 0)):
        ways[H] = 4 * E
    for some in [*([size] for size in ways), *([list(ways)] if len(ways) > 1 else [])]:
        yield " and ".join(f"{size} is {text(ways[size])}" for size in some), {size: ways[size] for size in some}
