"""The check of every row of a formula against every row of a torch model, at random sizes, with a stated bound."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod

from sympy import Symbol

from ..architectures import architecture, composed_model, presets_of, variants
from ..architectures.base_architecture import Architecture
from ..certificates import Certificate
from ..formulas.formula import Formula
from ..language.errors import RuleError, WitnessError
from ..language.frozen import Immutable
from ..language.sizes import AtMost, Divides, Equals, evaluate
from ..language.symbols import C, K, N_new, S, X
from ..language.target import AnyTarget
from ..ledger.adapters import is_adapted
from ..models.model import Model
from ..quantities import quantities
from ..quantities import quantity as find_quantity
from .row_comparison import Mismatch, compare_parts, compare_rows
from .sampling_plan import SamplingPlan, SamplingRegion, Side, new_tokens, plan, sides_of
from .stored_weights import build, class_path, stored_rows, versions, witness_class
from .torch_counts import ORACLES, TorchWitness, keeps_cache, returns_last_logits

Way = Mapping[str, str]

RESTING = 2  # least number of points per place, for a formula whose rows all belong to the first variant
LOOSE = Fraction(1, 1000)  # the largest bound to leave for such a formula


@dataclass(frozen=True)
class Verdict(Immutable):
    """The outcome of a check: a certificate or the mismatched rows."""

    model: Model
    quantity: str
    certificate: Certificate | None
    mismatches: tuple[Mismatch, ...]
    way: Mapping[str, str] = field(default_factory=dict)  # the conventions that differ from torch's defaults

    @property
    def exact(self) -> bool:
        return self.certificate is not None

    def row(self) -> list[str]:
        """Return the table cells: target, options, quantity, class, points, degree, bound, seed, verdict."""
        said = {**self.model.component.changed_options, **self.way}
        options = ", ".join(f"{name}={value}" for name, value in said.items())
        if self.certificate is None:
            return [self.model.target, options, self.quantity, "", "", "", "", "", "DIFFERS"]
        proved = self.certificate
        numbers = [str(proved.points * len(proved.depths)), str(proved.degree), f"{proved.bound:.1e}", str(proved.seed)]
        exact = f"exact, with {self.model.id}" if proved.depends_on else "exact"
        return [self.model.target, options, self.quantity, proved.witness, *numbers, exact]

    def to_json(self) -> dict[str, object]:
        """Return the verdict as ``verify --json`` prints it."""
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
    """Return the quantities that torch can check for a model, the first variant also under additional conventions."""
    component = model.component
    if not isinstance(component, Architecture):
        return []
    library = component.witness.library
    witness_class(component)  # fails here if its library is not installed, before anything runs
    found: list[tuple[str, Mapping[str, str]]] = [("params", {})]
    kinds = {entry.kind for _, entry in model.ledger}
    for name, oracle in ORACLES.items():
        if (oracle.cached and not keeps_cache(component)) or oracle.library not in ("", library):
            continue
        if (oracle.once and component.changed_options) or (oracle.last and not returns_last_logits(component)):
            continue
        if (oracle.needs and oracle.needs not in kinds) or not _answers(model, name, counted_by(name, {})):
            continue
        if quantities()[name].check_description(model.formula(name, **counted_by(name, {}))):
            continue  # it is checked in another way
        found.append((name, {}))
        for way in oracle.ways if not component.changed_options else ():
            question = quantities()[name]
            if not _answers(model, name, counted_by(name, way)):
                continue
            conditions = question.conditions(component.ledger, question.choose(counted_by(name, way)))
            if any(isinstance(condition, AtMost | Equals) for condition in conditions):
                continue  # sampled sizes are large and differ; formulas that need other sizes are left to the tests
            found.append((name, way))
    return found


def _answers(model: Model, quantity: str, conventions: Mapping[str, str]) -> bool:
    """Return True if a model has a formula under these conventions."""
    try:
        model.formula(quantity, **conventions)
    except RuleError:
        return False
    return True


def verify(
    target: Model | AnyTarget, seed: int | None = None, quantity: str = "params", way: Way | None = None
) -> Verdict:
    """Check one quantity of a model against its torch witness and certify it.

    Parameters
    ----------
    target
        A model or a target, such as "gpt2".
    seed
        The seed of the random sizes, drawn if it is None; pass it to repeat a run.
    quantity
        The quantity to check.
    way
        Conventions that differ from those under which torch counts by default.

    Raises
    ------
    WitnessError
        If the target or the quantity has no witness.

    """
    model = composed_model(target)
    (verdict,) = verify_many(model, [(quantity, dict(way or {}))], seed)
    return verdict


def verify_many(model: Model, asked: Sequence[tuple[str, Way]], seed: int | None = None) -> list[Verdict]:
    """Check several quantities of a model, in order; all share one session of the torch class at each point."""
    component = model.component
    if reading := model.provenance.reading:
        raise WitnessError(
            f"{model.target} was checked against torch, at {reading.points} random configs, when it was traced; "
            "`verify` accepts only architectures and presets"
        )
    if not isinstance(component, Architecture):
        raise WitnessError(f"{model.target} has no built-in torch model; verify an architecture or a preset")
    if is_adapted(model.ledger):
        raise WitnessError(
            f"{model.target} has adapters, which only the tests compare with peft; verify the model without them"
        )
    known = provable(model)
    for quantity, way in asked:
        find_quantity(quantity).choose(dict(way))  # raises for a name or a value that does not exist
        if (quantity, dict(way)) not in known:
            settled = dict.fromkeys(name for name, _ in known)
            spelt = " with ".join([repr(quantity), *(f"{name}={value}" for name, value in way.items())])
            raise WitnessError(f"torch can verify {', '.join(settled)} of {model.target}, but not {spelt}")
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    keys = {_key(quantity, way) for quantity, way in asked}
    verdicts: dict[Key, Verdict] = {}
    for check in checks(model):
        wanted = [claim for claim in check.claims if claim.key in keys]
        for claim, found in check.compare(wanted, seed):
            checked, others = _presets(model) if claim.quantity == "params" and not found else ({}, [])
            differences = (*found, *others)
            certificate = None if differences else check.certificate(claim, seed, checked)
            verdicts[claim.key] = Verdict(model, claim.quantity, certificate, differences, claim.way)
    return [verdicts[_key(quantity, way)] for quantity, way in asked]


Key = tuple[str, str]  # identifies a claim of a model


def _key(quantity: str, way: Way) -> Key:
    return quantity, str(dict(way))


@dataclass(frozen=True)
class Claim:
    """The claim to certify: a formula under some conventions."""

    quantity: str
    way: Way
    formula: Formula
    rests: str = ""  # digest of the first variant's formula, if that has every row of this one

    @property
    def key(self) -> Key:
        return _key(self.quantity, self.way)

    def points(self, planned: SamplingPlan) -> int:
        """Return the number of points at each place."""
        needed = planned.points(self.formula)
        if not self.rests:
            return needed
        points, once = RESTING, planned.once(self.formula)
        while once**points >= LOOSE:
            points += 1
        return min(points, needed)


@dataclass(frozen=True)
class CertificationRun:
    """The claims of a model whose sizes are sampled alike, which share a session of the torch class at each point."""

    model: Model
    claims: tuple[Claim, ...]
    planned: SamplingPlan

    def compare(self, claims: Sequence[Claim], seed: int) -> list[tuple[Claim, list[Mismatch]]]:
        """Compare some claims at all their points; return for each the rows that differ at its first mismatch."""
        wrong: dict[Key, list[Mismatch]] = {claim.key: [] for claim in claims}
        points = {claim.key: claim.points(self.planned) for claim in claims}
        for place, region in enumerate(self.planned.places):
            here = [claim for claim in claims if self.planned.visits(claim.formula, region)]
            for point in range(max((points[claim.key] for claim in here), default=0)):
                left = [claim for claim in here if not wrong[claim.key] and point < points[claim.key]]
                wrong |= self.compare_at(left, self.session(seed, place, point))
        return [(claim, wrong[claim.key]) for claim in claims]

    def places(self, claim: Claim) -> tuple[SamplingRegion, ...]:
        """Return the places at which a claim is tested."""
        return tuple(place for place in self.planned.places if self.planned.visits(claim.formula, place))

    def session(self, seed: int, place: int, point: int) -> TorchWitness:
        """Return the session of the torch class at one point of a place."""
        numbers = self.planned.draw(random.Random(f"{seed} {place} {point}"), self.planned.places[place])
        component = self.model.component
        assert isinstance(component, Architecture)
        return TorchWitness(component, numbers, twice=point == 0)

    def compare_at(self, claims: Sequence[Claim], witness: TorchWitness) -> dict[Key, list[Mismatch]]:
        """Return the rows of each claim that differ at a point."""
        return {claim.key: _differences(self.model, claim, witness) for claim in claims}

    def certificate(self, claim: Claim, seed: int, presets: Mapping[str, int]) -> Certificate:
        """Return the certificate for a claim without mismatches at any of its points."""
        component, formula, points = self.model.component, claim.formula, claim.points(self.planned)
        assert isinstance(component, Architecture)
        module, name = class_path(component)
        return Certificate(
            id=formula.id,
            options=component.changed_options,
            conventions=dict(formula.conventions),
            digest=formula.digest,
            witness=f"{module}.{name}",
            author=component.witness.author if module.startswith("symformer") else "",
            versions=versions(component),
            compared=_said(self.model, claim),
            depths=tuple(spelt for place in self.places(claim) for spelt in place.spell(formula)),
            points=points,
            degree=self.planned.degrees[formula.digest],
            largest=self.planned.largest,
            bound=self.planned.bound(formula, points),
            seed=seed,
            presets=presets,
            depends_on=claim.rests,
        )


def checks(model: Model) -> list[CertificationRun]:
    """Return all checks of a model, whatever is requested, so that a seed repeats each claim by itself."""
    component = model.component
    assert isinstance(component, Architecture)
    # Relations of a model (H = 4E) are dropped: a formula that holds for every H also holds for that one.
    # Torch counts the weights before quantization.
    model = replace(model, provenance=replace(model.provenance, weights=""))
    general = replace(model, relations={}, numbers={})
    drawn = (each for each in general.constraints if isinstance(each, Divides | AtMost))
    conditions = (*drawn, *component.witness.conditions)
    alike: dict[tuple[tuple[Side, ...], ...], list[Claim]] = {}
    for quantity, way in provable(model):
        formula = general.formula(quantity, **counted_by(quantity, way))
        alike.setdefault(sides_of(formula), []).append(Claim(quantity, way, formula, _rests_on(model, formula)))
    return [
        CertificationRun(general, tuple(claims), plan(general, [claim.formula for claim in claims], conditions))
        for claims in alike.values()
    ]


def _differences(model: Model, claim: Claim, witness: TorchWitness) -> list[Mismatch]:
    formula, numbers = claim.formula, dict(witness.numbers)
    if claim.quantity == "params":
        rows = stored_rows(witness.component, witness.model(), numbers)
        return compare_rows(model, formula, numbers, rows)
    oracle = ORACLES[claim.quantity]
    if _at_every_expert(model, claim):
        numbers[K] = numbers[X]
    numbers.pop(C if oracle.length == S else S, None)  # the formula does not have the other length
    for new in new_tokens(formula) or (0,):
        at = {**numbers, N_new: new} if new else numbers
        witness.numbers = {**witness.numbers, N_new: new} if new else witness.numbers
        found = oracle.count(witness, **claim.way)
        if found.parts is not None and oracle.rows:
            differences = compare_parts(formula, at, found, oracle.added)
        else:
            ours = evaluate(formula.expanded, at, formula.id)
            differences = [] if ours == found.total else [Mismatch("total", f"{ours:,}", f"{found.total:,}", at)]
        if differences:
            return differences
    return []


def _rests_on(model: Model, formula: Formula) -> str:
    """Return the digest of the first variant's formula if that has every row of this formula, or ""."""
    if not model.component.changed_options or formula.measure.name == "params":
        return ""
    first = replace(variants(architecture(model.id))[0], relations={}, numbers={})  # a preset of its name has options
    try:
        whole = first.formula(formula.measure.name, **formula.conventions)
    except RuleError:
        return ""
    return whole.digest if _rows(formula) <= _rows(whole) else ""


def _rows(formula: Formula) -> frozenset[tuple[object, ...]]:
    return frozenset((term.label, count, *term.factors) for count, line in formula.root.leaves() for term in line.terms)


def _said(model: Model, claim: Claim) -> str:
    """Describe what was compared at every point, and with which counter."""
    if claim.quantity == "params":
        return f"{len(model.ledger.weights)} stored weights by name and shape, and the total"
    oracle = ORACLES[claim.quantity]
    compared = f"{oracle.rows}, and {oracle.by}" if oracle.rows else oracle.by
    every = ", at K = X, because the class multiplies every token by all X experts"
    return f"{compared}{every if _at_every_expert(model, claim) else ''}"


def _at_every_expert(model: Model, claim: Claim) -> bool:
    """Return whether a formula with K experts per token is compared with a class that uses all X for each token."""
    component = model.component
    every = isinstance(component, Architecture) and component.witness.every_expert
    return every and claim.formula.measure.unit == "FLOPs"


def counted_by(quantity: str, way: Way) -> dict[str, str]:
    """Return torch's conventions for a quantity, overridden by ``way``."""
    return {**ORACLES[quantity].conventions, **way} if quantity in ORACLES else {}


def _presets(model: Model) -> tuple[dict[str, int], list[Mismatch]]:
    """Build every preset with this model's options, and the model itself if it has numbers, at full size.

    A preset with options that no variant has is checked along with the first variant, against the preset's formula.
    """
    presets = {name: architecture(name) for name in presets_of(model.id)}
    others = [variant.component for variant in variants(model)]
    first = bool(others) and model.component == others[0]
    if model.target not in presets and set(model.params.symbols) <= model.known.keys():
        presets[model.target] = model
    checked: dict[str, int] = {}
    built: dict[tuple[str, frozenset[tuple[Symbol, int]]], int] = {}  # many presets have the same sizes
    for name, preset in presets.items():
        component = preset.component
        ours = component == model.component or (first and component not in others)
        if not ours or not isinstance(component, Architecture):
            continue
        same = (repr(component), frozenset(preset.known.items()))
        if same not in built:
            rows = stored_rows(component, build(component, preset.known), preset.known)
            if differences := compare_rows(preset, preset.params, preset.known, rows):
                return checked, differences
            built[same] = sum(prod(row.shape) for row in rows)
        checked[name] = built[same]
    return checked, []
