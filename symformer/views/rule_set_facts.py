"""The facts on the page of rule sets: how code bases and papers count FLOPs, compared with our count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sympy import Expr, Rational, expand

from ..architectures import architecture
from ..formulas.formula import Formula
from ..language.errors import SymformerError
from ..models.model import Model
from ..quantities import quantity as find_quantity
from ..quantities.quantity import COUNTED, Quantity
from ..quantities.rule_sets import IMAGES, PROMPT, TRAINING
from ..quantities.rule_sets.rule_set import RuleSet

# The presets shown for each quantity, with a run of one sequence or one image.
ASKED: Mapping[str, tuple[Mapping[str, RuleSet], Mapping[str, dict[str, int]]]] = {
    "train-flops": (
        TRAINING,
        {
            "gpt2": {"B": 1, "S": 1024},
            "llama-2-7b": {"B": 1, "S": 4096},
            "mixtral-8x7b": {"B": 1, "S": 4096},
            "qwen3-30b-a3b": {"B": 1, "S": 4096},
            "gpt-oss-20b": {"B": 1, "S": 4096},
        },
    ),
    "prefill-flops": (
        PROMPT,
        {
            "gpt2": {"B": 1, "S": 1024},
            "llama-2-7b": {"B": 1, "S": 4096},
            "mixtral-8x7b": {"B": 1, "S": 4096},
            "gpt-oss-20b": {"B": 1, "S": 4096},
        },
    ),
    "flops": (IMAGES, {"vit-base-patch16-224": {"B": 1}}),
}


@dataclass(frozen=True)
class CountFacts:
    """The count of one model by one rule set."""

    formula: Formula
    difference: Expr  # ours - theirs, in their unit
    percent: Fraction  # theirs - ours, relative to ours


@dataclass(frozen=True)
class RuleSetFacts:
    """A rule set with its count of each model, or the reason why it does not cover the model."""

    rules: RuleSet
    counts: Mapping[str, CountFacts | str]


@dataclass(frozen=True)
class CountedQuantity:
    """A quantity that rule sets count, with the models that are compared."""

    quantity: Quantity
    conventions: Mapping[str, str]
    runs: Mapping[str, Mapping[str, int]]  # the sizes of the run of each model
    rule_sets: tuple[RuleSetFacts, ...]


def counted_quantities() -> Iterator[CountedQuantity]:
    """Yield each quantity with the count of every model by every rule set."""
    for name, (sets, runs) in ASKED.items():
        models = {preset: architecture(preset).set(dict(run)) for preset, run in runs.items()}
        found = find_quantity(name)
        yield CountedQuantity(
            found,
            found.choose({}),
            runs,
            tuple(
                RuleSetFacts(rules, {preset: _count(name, rules, model) for preset, model in models.items()})
                for rules in sets.values()
            ),
        )


def _count(quantity: str, rules: RuleSet, model: Model) -> CountFacts | str:
    ours = model.formula(quantity)
    try:
        theirs = model.formula(quantity, **{COUNTED: rules.name})
    except SymformerError as error:
        return str(error).removeprefix(f"counted={rules.name}: ")
    scale = Rational(1, 2) if theirs.measure.unit == "MACs" else Rational(1)  # a multiply-add is two FLOPs
    difference = ours.collect_totals(expand(scale * ours.display_expr - theirs.display_expr))
    percent = (Fraction(theirs.value()) / (Fraction(ours.value()) * Fraction(scale.p, scale.q)) - 1) * 100
    return CountFacts(theirs, difference, percent)
