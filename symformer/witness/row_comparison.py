"""Row-by-row comparison of a ledger with torch: what it stores or runs, and which rows differ."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from sympy import Expr, Integer, Rational, Symbol

from ..formulas.account import Term
from ..formulas.formula import Formula
from ..language.errors import WitnessError
from ..language.notation.text import text
from ..language.sizes import Numbers, evaluate
from ..language.symbols import B, B_vis
from ..ledger.facts import ATTENDING, CARRYING, ROTARY, Entry, OperationKind
from ..models.model import Model
from ..quantities.saved_tensors import REST_OF_VIEW
from .stored_weights import StoredWeight
from .torch_counts import BACKWARD, FORWARD, TorchCount
from .weight_paths import with_stars

Key = tuple[str, str]  # module, pass
TABLES = Integer(2)


@dataclass(frozen=True)
class Mismatch:
    """A row in which the formula and the model differ, and the sizes."""

    path: str
    ours: str
    theirs: str
    numbers: Numbers

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={number}" for name, number in self.numbers.items())
        return f"{self.path}: formula {self.ours}, torch {self.theirs} (at {sizes})"


def compare_rows(model: Model, formula: Formula, numbers: Numbers, rows: list[StoredWeight]) -> list[Mismatch]:
    """Return the rows that differ in presence, shape or number of copies; if there are none, compare the total."""
    if not rows:
        raise WitnessError(f"the torch model of {model.id} has no parameters: nothing was checked")
    differences: list[Mismatch] = []
    theirs: dict[str, list[StoredWeight]] = {}
    patterns = {weight.path: _pattern(weight.path) for _, weight in model.ledger.weights}
    for row in rows:
        owners = [path for path, pattern in patterns.items() if pattern.fullmatch(row.path)]
        if len(owners) != 1:
            differences.append(Mismatch(row.path, "has no such row", f"stores {_spell(row.shape)}", numbers))
        else:
            theirs.setdefault(owners[0], []).append(row)
    for count, weight in model.ledger.weights:
        copies = evaluate(count, numbers, weight.path)
        shape = tuple(evaluate(dim, numbers, weight.path) for dim in weight.shape)
        symbolic = " × ".join(text(dim) for dim in weight.shape)
        ours = f"{copies} of {symbolic} = {_spell(shape)}"
        found = theirs.get(weight.path, [])
        if len(found) != copies or any(sorted(row.shape) != sorted(shape) for row in found):
            spelt = Counter(_spell(row.shape) for row in found)
            stored = " and ".join(f"{times} of {shown}" for shown, times in spelt.items()) or "stores none"
            differences.append(Mismatch(weight.path, ours, stored, numbers))
    total = sum(prod(row.shape) for row in rows)
    if not differences and (value := evaluate(formula.expanded, numbers, formula.id)) != total:
        differences.append(Mismatch("total", f"{value:,}", f"{total:,}", numbers))
    return differences


@dataclass(frozen=True)
class ComparedPart:
    """One product or tensor that a formula counts: its value and its number of occurrences."""

    path: str  # path of its entry
    label: str
    phase: str  # the pass it belongs to
    joins: tuple[int, str]  # key of parts that torch may run as one: same term, entries that read the same tensor
    value: int
    times: Fraction
    loops: bool = False  # True if torch may run it token by token
    images: int = 1  # the number of images, if torch may run it image by image
    view: bool = False  # True if torch may save it as a view of a whole projection


def compare_parts(formula: Formula, numbers: Numbers, found: TorchCount, added: bool = False) -> list[Mismatch]:
    """Return the parts that differ, each named by its entry; if there are none, compare the total.

    Torch's parts are identified by their module; an entry that is not a module, or one that torch never calls, ran in
    the enclosing module. If several entries ran in one module, their parts are compared as a multiset, or by their sum
    if ``added`` is set or one of them is a scan.
    """
    ours: dict[Key, list[ComparedPart]] = defaultdict(list)
    for part in _parts(formula, numbers):
        ours[_home(part.path, found.ran), part.phase].append(part)
    theirs: dict[Key, Counter[int]] = defaultdict(Counter)
    homes = {home for home, _ in ours}
    for (module, phase), values in (found.parts or {}).items():  # the core of an attention may be a module of its own
        theirs[next((home for home in _around(module) if home in homes), module), phase].update(values)
    differences: list[Mismatch] = []
    for key in dict.fromkeys((*ours, *theirs)):
        compare = _sums if added or any(part.loops for part in ours.get(key, [])) else _collections
        differences += compare(key, ours.get(key, []), theirs.get(key, {}), numbers, found.names)
    total = evaluate(formula.expanded, numbers, formula.id)
    if not differences and total != found.total:
        differences.append(Mismatch("total", f"{total:,}", f"{found.total:,}", numbers))
    return differences


def _parts(formula: Formula, numbers: Numbers) -> list[ComparedPart]:
    """Return every term of a formula with its number of copies; a fractional factor is a share of the copies."""
    given: dict[Symbol, Expr] = {name: Integer(number) for name, number in numbers.items()}
    known: dict[Expr, Fraction] = {}  # most factors occur in many terms

    def number(expr: Expr, what: str) -> Fraction:
        if expr not in known:
            value = expr.xreplace(given)
            if not isinstance(value, Rational):
                raise WitnessError(f"cannot compare row {what}: {text(value)} is not a number")
            known[expr] = Fraction(int(value.p), int(value.q))
        return known[expr]

    found = []
    for count, line in formula.root.leaves():
        for term in line.terms:
            factors = [number(factor, term.label) for factor in term.factors]
            share = prod((factor for factor in factors if factor.denominator != 1), start=number(count, line.path))
            value = prod(int(factor) for factor in factors if factor.denominator == 1)
            if line.entry is not None and line.entry.function in ROTARY and term.factors[0] == TABLES:
                value, share = value // 2, 2 * share  # cosines and sines are separate tensors
            if value and share:
                label, phase = term.label.removeprefix(line.path), BACKWARD if term.gradient else FORWARD
                loops = line.entry is not None and line.entry.kind in CARRYING
                apart = line.entry is not None and line.entry.kind in ATTENDING and B_vis in term.factors
                found.append(
                    ComparedPart(
                        path=line.path,
                        label=term.label,
                        phase=phase,
                        joins=(_source(line.entry), label),
                        value=value,
                        times=share,
                        loops=loops,
                        images=numbers[B_vis] if apart else 1,
                        view=numbers.get(B) == 1 and _is_view(line.entry, label, term),
                    )
                )
    return found


def _is_view(entry: Entry | None, label: str, term: Term) -> bool:
    """Return True for a part of which eager attention saves a view of a projection if there is one sequence."""
    if entry is None or label == REST_OF_VIEW:
        return entry is not None
    place = _OPERANDS.get((entry.kind, label.strip(" ()")))
    return place is not None and entry.inputs[place].shape == term.factors[:-1]  # keys and values of groups are copied


_OPERANDS = {
    (OperationKind.SCORES, "queries"): 0,
    (OperationKind.SCORES, "keys"): 1,
    (OperationKind.MIX, "values"): 1,
}


def _source(entry: Entry | None) -> int:
    """Return a key for the entry's input; an entry with several inputs shares them with no other entry."""
    return id(entry.inputs[0]) if entry is not None and len(entry.inputs) == 1 else id(entry)


def _home(path: str, modules: frozenset[str]) -> str:
    return next(home for home in _around(with_stars(path)) if home in modules)


def _around(path: str) -> Iterator[str]:
    """Yield a path and the paths of its enclosing modules, from the innermost to the model itself."""
    words = path.split(".")
    return (".".join(words[:length]) for length in range(len(words), -1, -1))


def _sums(
    key: Key, ours: list[ComparedPart], theirs: Mapping[int, int], numbers: Numbers, names: Mapping[int, str]
) -> list[Mismatch]:
    mine = sum((part.value * part.times for part in ours), start=Fraction(0))
    other = sum(value * times for value, times in theirs.items())
    if mine == other:
        return []
    spelt = f"{int(mine):,}" if mine.denominator == 1 else str(mine)
    return [Mismatch(_named(key, [part.path for part in ours]), spelt, f"{other:,}", numbers)]


def _collections(
    key: Key, ours: list[ComparedPart], theirs: Mapping[int, int], numbers: Numbers, names: Mapping[int, str]
) -> list[Mismatch]:
    """Compare values and their numbers of occurrences, with joint products separate or merged, as torch may do.

    The attention of several images is compared as one product, or as one for each image; the queries, keys and values
    of one sequence separately, or by the sum of the projections of which they are views.
    """
    joined: dict[tuple[int, str], list[ComparedPart]] = defaultdict(list)
    for part in ours:
        joined[part.joins].append(part)
    as_one = [_one(parts) for parts in joined.values()]
    each = [replace(part, value=part.value // part.images, times=part.times * part.images) for part in ours]
    if any(_tally(parts) == theirs for parts in (ours, as_one, each)) or _equal_with_views(ours, theirs):
        return []
    left = {value: Fraction(times) for value, times in theirs.items()}
    differences, unmatched = [], []
    for part in ours:
        if left.get(part.value, 0) >= part.times:
            left[part.value] -= part.times
        else:
            unmatched.append(part)
    over = {value: times for value, times in left.items() if times}
    spelt = " and ".join(f"{times} of {value:,}" for value, times in over.items()) or "none such"
    for part in unmatched:
        differences.append(Mismatch(part.label, f"{part.times} of {part.value:,}", spelt, numbers))
    named = [names[value] for value in over if value in names]
    return differences or [Mismatch(_named(key, named), "has no such row", spelt, numbers)]


def _equal_with_views(ours: list[ComparedPart], theirs: Mapping[int, int]) -> bool:
    """Return True if all parts but the views agree one by one, and the views agree in sum with the remaining parts."""
    left = {value: Fraction(times) for value, times in theirs.items()}
    for value, times in _tally([part for part in ours if not part.view]).items():
        left[value] = left.get(value, Fraction(0)) - times
    views = sum((part.value * part.times for part in ours if part.view), start=Fraction(0))
    return min(left.values(), default=Fraction(0)) >= 0 and views == sum(
        (value * times for value, times in left.items()), start=Fraction(0)
    )


def _one(parts: list[ComparedPart]) -> ComparedPart:
    first = parts[0]
    same = all(part.times == first.times for part in parts)
    return replace(first, value=sum(part.value for part in parts)) if same else first


def _tally(parts: list[ComparedPart]) -> Mapping[int, Fraction]:
    found: dict[int, Fraction] = defaultdict(Fraction)
    for part in parts:
        found[part.value] += part.times
    return found


def _named(key: Key, paths: Iterable[str]) -> str:
    """Return the names of the compared parts, or else of their module."""
    named = " and ".join(dict.fromkeys(paths)) or key[0] or "outside every module"
    return f"{named} (gradients)" if key[1] == BACKWARD else named


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(r"\.".join(r"\d+" if word == "*" else re.escape(word) for word in path.split(".")))


def _spell(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{dim:,}" for dim in shape)
