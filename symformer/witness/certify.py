"""The check: every row of a formula against every parameter of a torch model, at random sizes, with a stated bound."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product

from sympy import Expr, Integer, Mul, Poly, Symbol, expand

from ..architectures import architecture, presets_of
from ..architectures.base import Architecture
from ..certificates import Certificate
from ..errors import WitnessError
from ..formula import Formula
from ..model import Model
from ..notation.text import text
from ..sizes import Divides, Numbers, evaluate
from ..symbols import RANK, C, P, S
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

    @property
    def exact(self) -> bool:
        return self.certificate is not None

    def row(self) -> list[str]:
        """The cells of its line: target, options, quantity, class, points, degree, bound, seed, verdict."""
        options = ", ".join(f"{name}={value}" for name, value in self.model.component.chosen.items())
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


def provable(model: Model) -> list[str]:
    """The quantities that the torch side of a model can settle."""
    component = model.component
    if not isinstance(component, Architecture):
        return []
    return [
        "params",
        *(
            name
            for name, oracle in ORACLES.items()
            if (not oracle.cached or keeps_cache(component)) and oracle.library in ("", component.witness.library)
        ),
    ]


def verify(target: Model | str, seed: int | None = None, quantity: str = "params") -> Verdict:
    """Check one quantity of a model against its torch witness, and certify it.

    Raises WitnessError for a target or a quantity that has no witness. Pass ``seed`` to repeat a run; otherwise it is
    drawn. The conventions are those under which torch counts.
    """
    model = architecture(target) if isinstance(target, str) else target
    component = model.component
    if not isinstance(component, Architecture):
        raise WitnessError(f"{model.target} has no torch model of its own; verify an architecture or a preset")
    if quantity not in provable(model):
        raise WitnessError(f"torch settles {', '.join(provable(model))} of {model.target}, not {quantity!r}")
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    # The relations of a model (H = 4E) are given up: what holds for every H holds for that one.
    general = replace(model, relations={}, numbers={})
    formula = general.formula(quantity, **(ORACLES[quantity].conventions if quantity in ORACLES else {}))
    divides = (each for each in general.constraints if isinstance(each, Divides))
    plan = _plan(general, formula, (*divides, *component.witness.conditions))
    draw = random.Random(seed)

    for depth in plan.depths:
        for _ in range(plan.points):
            if differences := _differences(general, formula, plan.draw(draw, depth)):
                return Verdict(model, quantity, None, tuple(differences))
    checked, differences = _presets(model) if quantity == "params" else ({}, [])
    if differences:
        return Verdict(model, quantity, None, tuple(differences))
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
        depths=tuple(", ".join(f"{name}={number}" for name, number in depth.items()) for depth in plan.depths),
        points=plan.points,
        degree=plan.degree,
        largest=plan.largest,
        bound=float(f"{float(plan.bound):.2e}"),
        seed=seed,
        presets=checked,
    )
    return Verdict(model, quantity, certificate, ())


def _differences(model: Model, formula: Formula, numbers: Numbers) -> list[Mismatch]:
    component = model.component
    assert isinstance(component, Architecture)
    if formula.measure.name == "params":
        return compare_rows(model, formula, numbers, stored_rows(component, build(component, numbers)))
    theirs = ORACLES[formula.measure.name].count(component, numbers)
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
        rows = stored_rows(component, build(component, preset.known))
        if differences := compare_rows(preset, preset.params, preset.known, rows):
            return checked, differences
        checked[name] = sum(_elements(row.shape) for row in rows)
    return checked, []


@dataclass(frozen=True)
class _Plan:
    """How sizes are drawn: each size is a product of fresh variables, so that what must divide does."""

    sizes: Mapping[Symbol, Expr]  # widths and heads, in fresh variables
    fresh: tuple[Symbol, ...]
    depths: tuple[Numbers, ...]
    degree: int
    largest: int
    points: int
    bound: Fraction

    def draw(self, source: random.Random, depth: Numbers) -> Numbers:
        """Sizes that are all different, uniformly among those that are."""
        while True:
            values = {name: Integer(source.randint(1, self.largest)) for name in self.fresh}
            numbers = {size: int(expr.xreplace(values)) for size, expr in self.sizes.items()} | depth
            if P in numbers:  # a position for every token; no formula of a run has P in it
                numbers[P] += numbers.get(S, 0) + numbers.get(C, 0)
            if len(set(numbers.values())) == len(numbers):
                return {size: numbers[size] for size in sorted(numbers, key=RANK.__getitem__)}


def _plan(model: Model, formula: Formula, conditions: tuple[Divides, ...]) -> _Plan:
    entries = list(model.ledger)
    depths = sorted({name for count, _ in entries for name in count.free_symbols}, key=RANK.__getitem__)
    needed = {name for _, weight in model.ledger.weights for dim in weight.shape for name in dim.free_symbols}
    needed |= {name for condition in conditions for name in _names(condition)}
    products = [line.terms[index].factors for _, line in formula.root.leaves() for index in range(len(line.terms))]
    tensors = [weight.shape for _, weight in model.ledger.weights]
    if formula.measure.name in ORACLES:  # the model runs, so its batch, its lengths and its activations count too
        shapes = [tensor.shape for _, entry in entries for tensor in (*entry.inputs, entry.output)]
        needed |= {name for shape in (*products, *shapes) for dim in shape for name in dim.free_symbols}
        tensors += shapes
    widths = sorted(needed - set(depths), key=RANK.__getitem__)
    sizes, fresh = _parametrise(widths, conditions)

    degree = max(_degree(factors, sizes, fresh) for factors in products)
    largest = min(_LARGEST, int(_ELEMENTS ** (1 / max(_degree(shape, sizes, fresh) for shape in tensors))))
    # A draw in which two sizes coincide is thrown away; that makes the rest likelier by no more than this.
    pairs = len(list(combinations(range(len(sizes) + len(depths)), 2)))
    once = Fraction(degree, largest) / (1 - Fraction(pairs * degree, largest))
    points = 1
    while once**points > TARGET:
        points += 1
    # Two values of each depth settle a count that is affine in it; primes keep them apart from one another.
    if any(Poly(formula.expanded, *depths).degree(name) > 1 for name in depths):
        raise WitnessError(f"{formula.id} is not affine in its depths, so two of each do not settle it")
    pairs_of_depths = [(2, 3), (5, 7), (11, 13)][: len(depths)]
    grid = tuple(dict(zip(depths, choice, strict=True)) for choice in product(*pairs_of_depths))
    return _Plan(sizes, tuple(fresh), grid, degree, largest, points, once**points)


def _names(condition: Divides) -> set[Symbol]:
    found: set[Symbol] = condition.divisor.free_symbols | condition.dividend.free_symbols
    return found


def _parametrise(widths: list[Symbol], conditions: tuple[Divides, ...]) -> tuple[dict[Symbol, Expr], list[Symbol]]:
    """Each size as a fresh variable times everything that must divide it."""
    fresh = {size: Symbol(f"f_{size.name}", integer=True, positive=True) for size in widths}

    def expr(size: Symbol) -> Expr:
        factors = [condition.divisor for condition in conditions if condition.dividend == size]
        result: Expr = fresh[size]
        for factor in factors:
            result = result * (expr(factor) if isinstance(factor, Symbol) else factor)
        return result

    return {size: expr(size) for size in widths}, list(fresh.values())


def _degree(shape: tuple[Expr, ...], sizes: Mapping[Symbol, Expr], fresh: list[Symbol]) -> int:
    return int(Poly(expand(Mul(*shape).xreplace(dict(sizes))), *fresh).total_degree())


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(r"\.".join(r"\d+" if word == "*" else re.escape(word) for word in path.split(".")))


def _elements(shape: tuple[int, ...]) -> int:
    total = 1
    for dim in shape:
        total *= dim
    return total


def _spell(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{dim:,}" for dim in shape)
