"""The conventions under which papers count, as switches: each a sentence, and what it adds to our formula."""

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
from ..ledger.facts import ATTENDING, MULTIPLYING, Kind
from ..models.model import Model
from ..quantities import quantity as find_quantity
from ..quantities.quantity import COUNTED
from .naming import STORED
from .pieces import PRIME, Piece, added, fingerprint, is_zero, pieces

MOST = 4  # conventions at once
MULTIPLES = (8, 16, 32, 64, 128, 256, 512, 1024)  # that a vocabulary is rounded up to
LONG = 60  # terms of an account, up to which they are tried so
PAIRS = 40  # of a quantity's own conventions, tried two at a time
CHOICES = 6  # of an option, that are tried
_SYMBOLIC = ("dtype = symbolic",)  # which bytes are divided by to count elements
_SILENT = ("activation", "dropout")  # options that no paper counts by


@dataclass(frozen=True)
class Switch:
    """One convention beside those that were asked for, and what it adds to our formula."""

    name: str
    added: Expr


@dataclass(frozen=True)
class Variant:
    """Our formula under other options of the model or conventions of the quantity."""

    names: tuple[str, ...]
    formula: Formula
    puts: Mapping[Symbol, Expr] = field(default_factory=dict)
    whole: bool = False  # whether it is the rule set of others, of which nothing else is left out


@dataclass(frozen=True)
class Reckoned:
    """A printed formula over our sizes, for one meaning of the number of parameters, if it contains that."""

    expr: Expr
    name: str = ""  # a sentence that states which parameters N counts
    counts: str = ""  # the same as a key, which letters.json uses


def search(
    model: Model, formula: Formula, part: str | None, theirs: Sequence[Reckoned], asked: Mapping[str, str]
) -> list[Switch] | None:
    """The fewest conventions under which ours is one of theirs; None where no few of them make it so."""
    wanted = [(fingerprint(each.expr), each) for each in theirs]
    best: list[Switch] | None = None
    for variant in _variants(model, formula, part, asked, theirs):
        for found in _of_variant(variant, formula, wanted, MOST if best is None else len(best) - 1):
            if best is None or len(found) < len(best):
                best = found
    return best


def _of_variant(
    variant: Variant, base: Formula, wanted: Sequence[tuple[int | None, Reckoned]], most: int
) -> Iterator[list[Switch]]:
    parts = pieces(variant.formula, variant.puts)
    whole = added(parts)
    start = fingerprint(whole)
    change = expand(whole - base.expanded)
    first = [Switch(name, change if number == 0 else Integer(0)) for number, name in enumerate(variant.names)]
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
                            found.append(Switch(name, expand(ours - ours / factor + (Integer(0) if own else change))))
                        if each.name:
                            found.append(Switch(each.name, Integer(0)))
                        if len(found) <= most:
                            yield found


def _scales(formula: Formula, whole: Expr) -> list[tuple[str, Expr]]:
    """What one of ours is in theirs: of one token, of one sequence, elements instead of bytes."""
    free = whole.free_symbols
    found: list[tuple[str, Expr]] = [("", Integer(1))]
    if B in free:
        found.append(("one sequence is counted, not B of them", 1 / B))
        found += [("one token is counted, not all B·S", 1 / (B * S))] * (S in free)
        found += [("one token is counted, not all B·C", 1 / (B * C))] * (C in free)
    if W in free:
        found += [(f"{name + ', and ' if name else ''}elements are counted, not bytes", by / W) for name, by in found]
    if formula.within is not None and formula.copies != 1:
        found += [
            (
                f"all {text(formula.copies)} copies are counted, not one" + (f", and {name}" if name else ""),
                by * formula.copies,
            )
            for name, by in found
        ]
    twice = {"FLOPs": ("multiply-adds are counted, 2 FLOPs each", Rational(1, 2))}
    twice["MACs"] = ("FLOPs are counted, 2 for each multiply-add", Integer(2))
    if formula.measure.unit in twice:
        said, other = twice[formula.measure.unit]
        found += [(f"{name}, and {said}" if name else said, by * other) for name, by in found]
    return found


def groups_of(formula: Formula, parts: Sequence[Piece]) -> list[list[Switch]]:
    """The switches of a quantity over its pieces; of each group one at most."""
    if formula.measure.name in STORED:
        groups = _stored(parts, whole=formula.within is None)
    elif formula.measure.unit in ("FLOPs", "MACs"):
        groups = _multiplied(parts)
    else:
        groups = []
    return [kept for group in groups if (kept := _different(group))]


def _different(group: Sequence[tuple[str, Sequence[Piece], Expr]]) -> list[Switch]:
    found: dict[Expr, Switch] = {}
    for name, some, share in group:
        amount = expand(added(list(some)) * share)
        if amount != 0:
            found.setdefault(amount, Switch(name, amount))
    return list(found.values())


_Group = list[tuple[str, Sequence[Piece], Expr]]
_OUT = Integer(-1)


def _stored(parts: Sequence[Piece], whole: bool) -> list[_Group]:
    norms = [each for each in parts if each.entry.kind is Kind.NORM]
    outer = [each for each in norms if not each.repeated] if whole else []
    final = [each for each in outer if each.path == outer[-1].path]
    tables = [each for each in parts if each.entry.kind is Kind.LOOKUP]
    head = [each for each in parts if each.entry.logits and not each.label.endswith(".bias")]
    placed = [each for each in tables if each.entry.function == "positions"]
    words = [each for each in tables if each.entry.function == "tokens"]
    linear = (*MULTIPLYING, Kind.EXPERTS)
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
            ("the head is the embeddings' (or one of the two is left out)", head, _OUT),
            ("the embeddings are left out", tables, _OUT),
            ("the embeddings and the head are left out", [*tables, *head], _OUT),
            ("the embeddings of positions are left out", placed, _OUT),
            ("the embeddings of tokens are left out", words, _OUT),
            (
                "the embeddings alone are counted",
                [each for each in parts if each not in tables] if tables else [],
                _OUT,
            ),
        ],
        [("the pooler is left out", pooler, _OUT)],
    ]
    return groups


def _multiplied(parts: Sequence[Piece]) -> list[_Group]:
    core = [each for each in parts if each.entry.kind in ATTENDING]
    others = [each for each in parts if each not in core] if core else []
    logits = [each for each in parts if each.entry.logits]
    return [
        [
            ("attention's products of tokens with tokens are left out", core, _OUT),
            ("attention is counted at a mean context of S/2 tokens", core, Rational(-1, 2)),
            # Twice the others and once the core, halved: of causal attention alone, before multiply-adds of all of it.
            (
                "attention's products of tokens with tokens alone are counted, at a mean context of S/2 tokens",
                [*others, *others, *core] if others else [],
                Rational(-1, 2),
            ),
            ("attention's products of tokens with tokens alone are counted", others, _OUT),
        ],
        [("the logits are left out", logits, _OUT)],
    ]


def parameters(model: Model, counts: str = "") -> list[Reckoned]:
    """Return the possible meanings of the number of parameters in a formula: all, or the one with the given key."""
    formula = model.formula("params")
    parts = pieces(formula)
    total = added(parts)
    tables = [each for each in parts if each.entry.kind is Kind.LOOKUP]
    placed = [each for each in tables if each.entry.function == "positions"]
    head = [each for each in parts if each.entry.logits and not each.label.endswith(".bias")]
    matrices = [each for each in parts if each.entry.kind in (*MULTIPLYING, Kind.EXPERTS) and each.repeated]
    matrices = [each for each in matrices if not each.label.endswith(".bias")]
    without = "its number of parameters leaves out the embeddings"
    ways = [
        Reckoned(total, "its number of parameters is all of them", "all"),
        Reckoned(expand(total - added(tables)), without, "no embeddings"),
        Reckoned(expand(total - added(placed)), f"{without} of positions", "no positions"),
        Reckoned(expand(total - added([*tables, *head])), f"{without} and the head", "no embeddings, no head"),
        Reckoned(added(matrices), "its number of parameters is that of the layers' matrices", "matrices"),
        Reckoned(
            expand(added(matrices) + _head(parts)),
            "its number of parameters is that of the layers' matrices and the head's",
            "matrices and head",
        ),
    ]
    try:
        active = model.formula("active-params").expanded
        ways.append(Reckoned(active, "its number of parameters is that of those active for a token", "active"))
    except SymformerError:
        pass
    found: dict[Expr, Reckoned] = {}
    for each in ways:
        if counts in ("", each.counts):
            found.setdefault(each.expr, each)
    return list(found.values())


def _head(parts: Sequence[Piece]) -> Expr:
    """The matrix of the logits: the head's own, or the table of tokens that it shares."""
    own = [each for each in parts if each.entry.logits and not each.label.endswith(".bias")]
    return added(own or [each for each in parts if each.entry.function == "tokens"])


def _variants(
    model: Model, formula: Formula, part: str | None, asked: Mapping[str, str], theirs: Sequence[Reckoned]
) -> Iterator[Variant]:
    """Our formula, then with one option or convention changed, then with two conventions changed."""
    seen: set[Expr] = {formula.expanded}
    base = Variant((), formula)
    yield base
    for name, puts in (*_padded(model, theirs), *_numbered(model, formula, theirs)):
        yield Variant((name,), formula, puts)
    quantity = formula.measure.name
    known = find_quantity(quantity).conventions
    ways = [
        {name: choice}
        for name, convention in known.items()
        for choice in convention.meanings
        if choice != formula.conventions.get(name, convention.default)
        and (not convention.quiet or name in formula.conventions)  # what is left out of weights has switches of its own
    ]
    for other in _options(model):
        named = [f"{key} = {value}" for key, value in _changed(model, other)]
        made = _made(other, quantity, asked, part)
        if made is not None and made.expanded not in seen:
            seen.add(made.expanded)
            yield Variant(tuple(named), made)
    pairs = [{**one, **two} for one, two in combinations(ways, 2) if one.keys() != two.keys()]
    few = len(pieces(formula)) <= LONG
    for way in [*ways, *(pairs[:PAIRS] if few else [])]:
        made = _made(model, quantity, {**asked, **way}, part)
        if made is not None and made.expanded not in seen:
            seen.add(made.expanded)
            yield Variant(tuple(f"{key} = {value}" for key, value in way.items()), made)
    others = find_quantity(quantity).choices.get(COUNTED)
    for choice in others.meanings if others else ():
        made = _made(model, quantity, {**asked, COUNTED: choice}, part)
        if made is not None and made.measure.unit == formula.measure.unit and made.expanded not in seen:
            seen.add(made.expanded)
            yield Variant((f"{COUNTED} = {choice}",), made, whole=True)


def _made(model: Model, quantity: str, asked: Mapping[str, str], part: str | None) -> Formula | None:
    try:
        made = model.formula(quantity, **asked)
        return made if part is None else made.part(part)
    except SymformerError:
        return None


def _options(model: Model) -> Iterator[Model]:
    """The same model with one option changed."""
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


def _padded(model: Model, theirs: Sequence[Reckoned]) -> Iterator[tuple[str, dict[Symbol, Expr]]]:
    """What a formula rounds the vocabulary up to: as it writes it, or to a usual multiple where it has a number."""
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


def _numbered(model: Model, formula: Formula, theirs: Sequence[Reckoned]) -> Iterator[tuple[str, dict[Symbol, Expr]]]:
    """What stands for the sizes that a formula does not have by name: the model's numbers, and 4E for H where it can;
    one at a time, then all of them.
    """
    free = set().union(*(each.expr.free_symbols for each in theirs))
    known = model.known
    ways: dict[Symbol, Expr] = {
        size: Integer(known[size]) for size in formula.symbols if size in known and size not in free
    }
    if H in formula.symbols and H not in free and E in free and known.get(H) in (None, 4 * known.get(E, 0)):
        ways[H] = 4 * E
    for some in [*([size] for size in ways), *([list(ways)] if len(ways) > 1 else [])]:
        yield " and ".join(f"{size} is {text(ways[size])}" for size in some), {size: ways[size] for size in some}
