"""The check: every row of a formula against every parameter of a torch model, at random sizes, with a stated bound."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from itertools import count as counting

from sympy import Expr, Integer, Min, Mul, Poly, Symbol, expand

from ..architectures import architecture, presets_of
from ..architectures.base import Architecture
from ..certificates import Certificate
from ..errors import RuleError, WitnessError
from ..formula import Formula
from ..ledger import Kind
from ..model import Model
from ..notation.text import text
from ..quantities import quantities
from ..sizes import AtMost, Divides, Numbers, evaluate
from ..symbols import RANK, C, N_new, P, S
from .measure import Stored, build, class_path, stored_rows, versions
from .oracles import ORACLES, keeps_cache

TARGET = Fraction(1, 10**12)
_ELEMENTS = 2**58  # of one tensor: its bytes still fit a signed 64-bit integer
_LARGEST = 2**20


@dataclass(frozen=True)
class Mismatch:
    """A row in which the formula and the model differ, and at which sizes."""

    path: str
    ours: str
    theirs: str
    numbers: Numbers

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={number}" for name, number in self.numbers.items())
        return f"{self.path}: formula {self.ours}, torch {self.theirs} (at {sizes})"


@dataclass(frozen=True)
class Verdict:
    """What a check came to: a certificate, or the rows that differ."""

    model: Model
    quantity: str
    certificate: Certificate | None
    mismatches: tuple[Mismatch, ...]
    way: Mapping[str, str] = field(default_factory=dict)  # the conventions that are not those torch first counts by

    @property
    def exact(self) -> bool:
        return self.certificate is not None

    def row(self) -> list[str]:
        """The cells of its line: target, options, quantity, class, points, degree, bound, seed, verdict."""
        said = {**self.model.component.chosen, **self.way}
        options = ", ".join(f"{name}={value}" for name, value in said.items())
        if self.certificate is None:
            return [self.model.target, options, self.quantity, "", "", "", "", "", "DIFFERS"]
        kept = self.certificate
        numbers = [str(kept.points * len(kept.depths)), str(kept.degree), f"{kept.bound:.1e}", str(kept.seed)]
        return [self.model.target, options, self.quantity, kept.witness, *numbers, "exact"]

    def to_json(self) -> dict[str, object]:
        """As ``verify --json`` prints it."""
        return {
            "target": self.model.target,
            "quantity": self.quantity,
            "conventions": dict(self.way),
            "exact": self.exact,
            "certificate": self.certificate.to_json() if self.certificate else None,
            "mismatches": [
                {
                    "path": row.path,
                    "formula": row.ours,
                    "torch": row.theirs,
                    "sizes": {str(k): v for k, v in row.numbers.items()},
                }
                for row in self.mismatches
            ],
        }


def provable(model: Model) -> list[tuple[str, Mapping[str, str]]]:
    """The quantities that the torch side of a model can settle; the first variant's in every further way as well."""
    component = model.component
    if not isinstance(component, Architecture):
        return []
    library = component.witness.library
    found: list[tuple[str, Mapping[str, str]]] = [("params", {})]
    kinds = {entry.kind for _, entry in model.ledger}
    for name, oracle in ORACLES.items():
        if (oracle.cached and not keeps_cache(component)) or oracle.library not in ("", library):
            continue
        if oracle.once and component.chosen:
            continue
        if (oracle.needs and oracle.needs not in kinds) or not _answers(model, name, counted_by(name, {})):
            continue
        found.append((name, {}))
        for way in oracle.ways if not component.chosen else ():
            question = quantities()[name]
            if not _answers(model, name, counted_by(name, way)):
                continue
            conditions = question.conditions(component.ledger, question.choose(counted_by(name, way)))
            if any(isinstance(condition, AtMost) for condition in conditions):
                continue  # sizes are drawn large, so what holds for small ones only is left to the tests
            found.append((name, way))
    return found


def _answers(model: Model, quantity: str, conventions: Mapping[str, str]) -> bool:
    """Whether a model has a formula under these conventions; what it refuses, it refuses in words."""
    try:
        model.formula(quantity, **conventions)
    except RuleError:
        return False
    return True


def verify(
    target: Model | str, seed: int | None = None, quantity: str = "params", way: Mapping[str, str] | None = None
) -> Verdict:
    """Check one quantity of a model against its torch witness, and certify it.

    Raises WitnessError for a target or a quantity that has no witness. Pass ``seed`` to repeat a run; otherwise it is
    drawn. The conventions are those under which torch counts, and where a further way is given, those that it names.
    """
    model = architecture(target) if isinstance(target, str) else target
    component, way = model.component, dict(way or {})
    if not isinstance(component, Architecture):
        raise WitnessError(f"{model.target} has no torch model of its own; verify an architecture or a preset")
    if (quantity, way) not in provable(model):
        settled = dict.fromkeys(name for name, _ in provable(model))
        spelt = " with ".join([repr(quantity), *(f"{name}={value}" for name, value in way.items())])
        raise WitnessError(f"torch settles {', '.join(settled)} of {model.target}, not {spelt}")
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    # The relations of a model (H = 4E) are given up: what holds for every H holds for that one.
    general = replace(model, relations={}, numbers={})
    formula = general.formula(quantity, **counted_by(quantity, way))
    drawn = (each for each in general.constraints if isinstance(each, Divides | AtMost))
    plan = _plan(general, formula, (*drawn, *component.witness.conditions))
    draw = random.Random(seed)

    for place in plan.places:
        for _ in range(plan.points):
            if differences := _differences(general, formula, plan.draw(draw, place), way):
                return Verdict(model, quantity, None, tuple(differences), way)
    checked, differences = _presets(model) if quantity == "params" else ({}, [])
    if differences:
        return Verdict(model, quantity, None, tuple(differences), way)
    module, name = class_path(component)
    rows = f"{len(general.ledger.weights)} stored weights by name and shape, and the total"
    certificate = Certificate(
        id=formula.id,
        options=component.chosen,
        conventions=dict(formula.conventions),
        digest=formula.digest,
        witness=f"{module}.{name}",
        author=component.witness.author if module.startswith("symformer") else "",
        versions=versions(component),
        compared=ORACLES[quantity].by if quantity in ORACLES else rows,
        depths=tuple(map(str, plan.places)),
        points=plan.points,
        degree=plan.degree,
        largest=plan.largest,
        bound=float(f"{float(plan.bound):.2e}"),
        seed=seed,
        presets=checked,
    )
    return Verdict(model, quantity, certificate, (), way)


def counted_by(quantity: str, way: Mapping[str, str]) -> dict[str, str]:
    """The conventions under which torch counts, in one of its ways."""
    return {**ORACLES[quantity].conventions, **way} if quantity in ORACLES else {}


def _differences(model: Model, formula: Formula, numbers: Numbers, way: Mapping[str, str]) -> list[Mismatch]:
    component = model.component
    assert isinstance(component, Architecture)
    if formula.measure.name == "params":
        return compare_rows(model, formula, numbers, stored_rows(component, build(component, numbers), numbers))
    theirs = ORACLES[formula.measure.name].count(component, numbers, **way)
    ours = evaluate(formula.expanded, numbers, formula.id)
    return [] if ours == theirs else [Mismatch("total", f"{ours:,}", f"{theirs:,}", numbers)]


def compare_rows(model: Model, formula: Formula, numbers: Numbers, rows: list[Stored]) -> list[Mismatch]:
    """The rows that differ: missing on either side, another shape, or another number of copies; then the total."""
    if not rows:
        raise WitnessError(f"the torch model of {model.id} has no parameters: nothing was checked")
    differences: list[Mismatch] = []
    theirs: dict[str, list[Stored]] = {}
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
    total = sum(_elements(row.shape) for row in rows)
    if not differences and (value := evaluate(formula.expanded, numbers, formula.id)) != total:
        differences.append(Mismatch("total", f"{value:,}", f"{total:,}", numbers))
    return differences


def _presets(model: Model) -> tuple[dict[str, int], list[Mismatch]]:
    """Every preset that has this model's options, and the model itself if it has numbers, built at full size."""
    presets = {name: architecture(name) for name in presets_of(model.id)}
    if model.target not in presets and set(model.params.symbols) <= model.known.keys():
        presets[model.target] = model
    checked: dict[str, int] = {}
    for name, preset in presets.items():
        component = preset.component
        if component != model.component or not isinstance(component, Architecture):
            continue
        rows = stored_rows(component, build(component, preset.known), preset.known)
        if differences := compare_rows(preset, preset.params, preset.known, rows):
            return checked, differences
        checked[name] = sum(_elements(row.shape) for row in rows)
    return checked, []


@dataclass(frozen=True)
class _Place:
    """Where points are drawn: at one depth, and on one side of every min, where the formula is a polynomial."""

    depth: Numbers
    sides: tuple[AtMost, ...]
    sizes: Mapping[Symbol, Expr]  # widths, heads and lengths, in fresh variables

    def __str__(self) -> str:
        depth = [f"{name}={number}" for name, number in self.depth.items()]
        return ", ".join([*depth, *(f"{text(side.high)} ≥ {text(side.low)}" for side in self.sides)])


@dataclass(frozen=True)
class _Plan:
    """How sizes are drawn: each size is a product of fresh variables, so that what must divide does."""

    places: tuple[_Place, ...]
    fresh: tuple[Symbol, ...]
    degree: int
    largest: int
    points: int
    bound: Fraction

    def draw(self, source: random.Random, place: _Place) -> Numbers:
        """Sizes that are all different, uniformly among those that are."""
        while True:
            values = {name: Integer(source.randint(1, self.largest)) for name in self.fresh}
            numbers = {size: int(expr.xreplace(values)) for size, expr in place.sizes.items()} | place.depth
            if P in numbers:  # a position for every token; no formula of a run has P in it
                numbers[P] += sum(numbers.get(length, 0) for length in (S, C, N_new))
            if len(set(numbers.values())) == len(numbers):
                return {size: numbers[size] for size in sorted(numbers, key=RANK.__getitem__)}


def _plan(model: Model, formula: Formula, conditions: tuple[Divides | AtMost, ...]) -> _Plan:
    entries = list(model.ledger)
    # What costs time to run, layers and passes, takes a few small values that settle it; the rest is drawn.
    deep = {name for count, _ in entries for name in count.free_symbols}
    depths = sorted(deep | ({N_new} & formula.expanded.free_symbols), key=RANK.__getitem__)
    needed = {name for _, weight in model.ledger.weights for dim in weight.shape for name in dim.free_symbols}
    needed |= {name for condition in conditions for name in condition.symbols}
    products = [line.terms[index].factors for _, line in formula.root.leaves() for index in range(len(line.terms))]
    tensors = [weight.shape for _, weight in model.ledger.weights]
    if formula.measure.name in ORACLES:  # the model runs, so its batch, its lengths and its activations count too
        shapes = [tensor.shape for _, entry in entries for tensor in (*entry.inputs, entry.output)]
        needed |= {name for shape in (*products, *shapes) for dim in shape for name in dim.free_symbols}
        tensors += shapes  # and a matrix for each expert that a token goes to, gathered
        tensors += [(*entry.output.shape, entry.inputs[0].width) for _, entry in entries if entry.kind is Kind.EXPERTS]
    widths = sorted(needed - set(depths), key=RANK.__getitem__)
    fresh = {size: Symbol(f"f_{size.name}", integer=True, positive=True) for size in widths}
    sides = _sides(products)
    drawn = [_parametrise(fresh, (*conditions, *side)) for side in sides]

    degree = max(
        _degree([factor.xreplace(side) for factor in factors], sizes)
        for side, sizes in zip(sides.values(), drawn, strict=True)
        for factors in products
    )
    largest = min(_LARGEST, int(_ELEMENTS ** (1 / max(_degree(shape, sizes) for sizes in drawn for shape in tensors))))
    # A draw in which two sizes coincide is thrown away; that makes the rest likelier by no more than this.
    pairs = len(list(combinations(range(len(fresh) + len(depths)), 2)))
    once = Fraction(degree, largest) / (1 - Fraction(pairs * degree, largest))
    points = 1
    while once**points > TARGET:
        points += 1
    grid = _grid(formula, depths)
    places = tuple(_Place(depth, side, sizes) for side, sizes in zip(sides, drawn, strict=True) for depth in grid)
    return _Plan(places, tuple(fresh.values()), degree, largest, points, once**points)


def _grid(formula: Formula, depths: list[Symbol]) -> tuple[Numbers, ...]:
    """Values of the depths that settle a count: two of each that it is affine in, one depth changed at a time.

    New tokens take three, in every combination: their cache grows as they come, so the count is quadratic in them. All
    values differ, to keep them apart, and are small, as each of them is run. Raises WitnessError where they settle
    nothing.
    """
    layers = [name for name in depths if name != N_new]
    small = counting(2)
    values = {name: (next(small), next(small)) for name in layers}
    if layers and Poly(formula.expanded, *layers).total_degree() > 1:
        raise WitnessError(f"{formula.id} is not affine in its depths, so two of each do not settle it")
    first = {name: pair[0] for name, pair in values.items()}
    grid = [first, *({**first, name: pair[1]} for name, pair in values.items())]
    if N_new not in depths:
        return tuple(grid)
    if Poly(formula.expanded, N_new).degree() > 2:
        raise WitnessError(f"{formula.id} is not quadratic in {N_new}, so three of them do not settle it")
    passes = (1, next(small), next(small))
    return tuple({**depth, N_new: number} for depth in grid for number in passes)


def _sides(products: list[tuple[Expr, ...]]) -> dict[tuple[AtMost, ...], dict[Expr, Expr]]:
    """Every choice of one side of each min: the condition it holds under, and what the min is there."""
    found = sorted({least for factors in products for each in factors for least in each.atoms(Min)}, key=str)
    choices = []
    for least in found:
        x, y = sorted(least.args, key=lambda arg: not isinstance(arg, Symbol))
        ahead = [name for name in y.free_symbols if y - name in (0, -1)]
        if not (isinstance(x, Symbol) and ahead):
            raise WitnessError(f"{text(least)} has sides that sizes cannot be drawn on")
        (size,) = ahead
        # y is the size, or one less; on the second side x is no less than the size, and what is left is on the first.
        choices.append([(AtMost(x + size - y, size), {least: x}), (AtMost(size, x), {least: y})])
    sides = {}
    for choice in product(*choices):
        sides[tuple(side for side, _ in choice)] = {key: each for _, branch in choice for key, each in branch.items()}
    return sides


def _parametrise(fresh: Mapping[Symbol, Symbol], conditions: tuple[Divides | AtMost, ...]) -> dict[Symbol, Expr]:
    """Each size as a fresh variable times everything that must divide it, and above everything it must not be under."""

    def expr(size: Symbol) -> Expr:
        result: Expr = fresh[size]
        for condition in conditions:
            if isinstance(condition, Divides) and condition.dividend == size:
                result = result * _put(condition.divisor)
        for condition in conditions:
            if isinstance(condition, AtMost) and condition.high == size:
                result = result + _put(condition.low) - 1
        return result

    def _put(bound: Expr) -> Expr:
        return bound.xreplace({name: expr(name) for name in bound.free_symbols})

    return {size: expr(size) for size in fresh}


def _degree(shape: Sequence[Expr], sizes: Mapping[Symbol, Expr]) -> int:
    drawn = expand(Mul(*shape).xreplace(dict(sizes)))
    # in what is drawn; a share of the copies of a layer has the depth below the line
    variables = [name for name in drawn.free_symbols if any(name in size.free_symbols for size in sizes.values())]
    return int(Poly(drawn, *variables).total_degree()) if variables else 0


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(r"\.".join(r"\d+" if word == "*" else re.escape(word) for word in path.split(".")))


def _elements(shape: tuple[int, ...]) -> int:
    total = 1
    for dim in shape:
        total *= dim
    return total


def _spell(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{dim:,}" for dim in shape)
