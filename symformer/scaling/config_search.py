"""The best configs of an architecture for a budget: whole layers, heads that divide, and exactly counted FLOPs.

The search is exhaustive over all depths and widths with a shape in a given range, as far as a bound allows: N and the
FLOPs per token grow with the width and the depth, so the shallowest config of a width bounds the loss, or the FLOPs, of
that width and of all larger ones. The memory grows too, so the search ends if no config of some widths fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import nsmallest
from typing import Any

from ..language.errors import SizeError
from ..language.frozen import Immutable
from .config_family import ConfigFamily, ConfigRow
from .scaling_law import INFERENCE, TRAINING, ParametricLaw

MOST_ROWS = 1_000_000
WIDEST = 1_000_000
WIDTHS = 8  # evaluated together
Told = Callable[[int, int], None]


@dataclass(frozen=True)
class Config(Immutable):
    """A config of an architecture, and its optimal training within a budget or to a loss.

    Attributes
    ----------
    sizes : Mapping[str, int]
        The depth, the width, and the sizes that follow from them.
    parameters : int
        All parameters.
    counted : int
        N as the law counts it.
    flops_per_token : Fraction
        The exact training FLOPs per token.
    tokens : int
        The training tokens, rounded down.
    loss : float
        The loss of the law for these tokens.
    training_flops, inference_flops : int
        The FLOPs of training and of the inference tokens, rounded down.
    values : Mapping[str, int]
        The values of further quantities, such as ``inference-memory``.

    """

    sizes: Mapping[str, int]
    parameters: int
    counted: int
    flops_per_token: Fraction
    tokens: int
    loss: float
    training_flops: int
    inference_flops: int
    values: Mapping[str, int]

    @property
    def flops(self) -> int:
        """All FLOPs."""
        return self.training_flops + self.inference_flops

    def to_json(self) -> dict[str, Any]:
        """Return the config as JSON data."""
        return {
            "sizes": dict(self.sizes),
            "parameters": self.parameters,
            "counted_parameters": self.counted,
            "flops_per_token": str(self.flops_per_token),
            "tokens": self.tokens,
            "tokens_per_parameter": round(self.tokens / self.counted, 4),
            "loss": self.loss,
            "fitted": ["loss"],
            "training_flops": self.training_flops,
            "inference_flops": self.inference_flops,
            **({"values": dict(self.values)} if self.values else {}),
        }


@dataclass(frozen=True)
class ConfigGoal:
    """What configs are compared by: the loss of a budget, or the FLOPs that reach a loss."""

    law: ParametricLaw
    budget: int | None
    loss: float | None
    inference: int
    memory: int | None = None

    def tokens(self, counted: int, training: float, inference: float) -> float | None:
        """Return the training tokens of a config from its FLOPs per token, or None if it has none."""
        if self.budget is None:
            assert self.loss is not None  # noqa: S101
            return self.law.tokens_for(counted, self.loss)
        left = (self.budget - inference * self.inference) / training
        return left if left >= 1 else None

    def score(self, counted: int, training: float, inference: float) -> float | None:
        """Return the number by which configs are ranked, the best first, or None for one that does not qualify."""
        tokens = self.tokens(counted, training, inference)
        if tokens is None or math.isinf(tokens):
            return None
        if self.budget is None:
            return training * tokens + inference * self.inference
        return self.law.floor + self.law.capacity_term(counted) + self.law.data_term(tokens)

    def bound(self, training: float, inference: float) -> float:
        """Return a lower bound of the score of all configs with at least these FLOPs per token."""
        least = self.law.capacity_term(math.inf)
        if self.budget is None:
            assert self.loss is not None  # noqa: S101
            tokens = self.law.tokens_for(math.inf, self.loss)
            return math.inf if tokens is None else training * tokens + inference * self.inference
        left = (self.budget - inference * self.inference) / training
        return math.inf if left < 1 else self.law.floor + least + self.law.data_term(left)


@dataclass(frozen=True)
class ConfigRanking(Immutable):
    """The best configs, the config that ``6*N*N_tok`` would choose, and the target's own.

    Attributes
    ----------
    best : tuple[Config, ...]
        The best configs, the best first.
    approximate : Config
        The best config if training took ``6*N`` FLOPs per token, with its exact cost.
    published : Config | None
        The target's own config, or None if it does not qualify.
    searched : int
        The number of configs compared.
    front : tuple[Config, ...]
        The Pareto front of the loss against a quantity, from the best loss on.

    """

    best: tuple[Config, ...]
    approximate: Config
    published: Config | None
    searched: int
    front: tuple[Config, ...] = ()


@dataclass(frozen=True)
class _Scored:
    score: float
    row: ConfigRow
    training: float
    inference: float


def search(
    family: ConfigFamily,
    goal: ConfigGoal,
    *,
    aspect: tuple[Fraction, Fraction],
    multiple: int,
    limit: int,
    pareto: str | None = None,
    progress: Told = lambda done, total: None,
) -> ConfigRanking:
    """Return the best configs of a family.

    Parameters
    ----------
    family
        The configs.
    goal
        What they are compared by.
    aspect
        The smallest and the largest width per layer.
    multiple
        The number that divides every width.
    limit
        The number of configs to return.
    pareto
        A quantity for a Pareto front with the loss.
    progress
        Called with the number of configs compared, twice.

    Raises
    ------
    SizeError
        If no config qualifies, or there are too many.

    """
    found: list[_Scored] = []
    every: list[_Scored] = []
    closest: tuple[float, ConfigRow] | None = None
    searched, width = 0, 0
    previous = 0.0
    while True:
        pairs: list[tuple[int, int]] = []
        for _ in range(WIDTHS):
            width += multiple
            pairs += [(layers, width) for layers in family.depths(width, *aspect)]
        searched += len(pairs)
        if searched > MOST_ROWS:
            raise SizeError(
                f"there are more than {MOST_ROWS:,} configs; choose a smaller range with --aspect, or a larger "
                "--multiple"
            )
        least, lowest = math.inf, math.inf  # the FLOPs per token of training and of inference
        fits = goal.memory is None
        for scored, approximate in _scored(family, goal, pairs) if pairs else ():
            least, lowest = min(least, scored.training), min(lowest, scored.inference)
            fits = fits or scored.row.values["inference-memory"] <= (goal.memory or 0)
            if not math.isinf(scored.score):
                found.append(scored)
                if pareto:
                    every.append(scored)
            if approximate is not None and (closest is None or approximate < closest[0]):
                closest = approximate, scored.row
        progress(searched, searched)
        found = nsmallest(limit, found, key=lambda each: (each.score, each.row.layers))
        if math.isinf(least):
            if width > WIDEST:
                raise SizeError(
                    f"no width up to {WIDEST:,} satisfies the conditions of {family.posed.model.target}; set its sizes "
                    "with --where, or choose another --multiple"
                )
            continue
        if least < previous:
            raise SizeError(f"the FLOPs per token of {family.posed.model.target} fall as it grows, so no search ends")
        previous = least
        worst = found[-1].score if len(found) == limit else math.inf
        bound = goal.bound(least, lowest)
        if bound > worst or math.isinf(bound) or not fits:
            break
    if not found or closest is None:
        raise SizeError(_nothing(goal))
    own = next(family.rows([(family.own[family.depth], family.own["E"])]), None)
    return ConfigRanking(
        tuple(_config(family, goal, each.row) for each in found),
        _config(family, goal, closest[1], within=False),
        None if own is None or not _qualifies(family, goal, own) else _config(family, goal, own),
        searched,
        _front(family, goal, every, pareto) if pareto else (),
    )


def _nothing(goal: ConfigGoal) -> str:
    memory = f" in {goal.memory:,} bytes" if goal.memory is not None else ""
    if goal.budget is None:
        return f"no config{memory} reaches a loss of {goal.loss:g}; choose a larger loss"
    return f"no config{memory} trains on a token within {goal.budget:.4g} FLOPs; choose a larger budget"


def _scored(
    family: ConfigFamily, goal: ConfigGoal, pairs: list[tuple[int, int]]
) -> Iterator[tuple[_Scored, float | None]]:
    """Yield each config with its score, and its score if training took ``6*N`` FLOPs per token."""
    for row in family.rows(pairs):
        training, inference = (row.values[name] / family.length for name in ("train-flops", "flops"))
        fits = goal.memory is None or row.values["inference-memory"] <= goal.memory
        score = goal.score(row.counted, training, inference) if fits else None
        rough = goal.score(row.counted, TRAINING * row.counted, INFERENCE * row.counted) if fits else None
        yield _Scored(math.inf if score is None else score, row, training, inference), rough


def _qualifies(family: ConfigFamily, goal: ConfigGoal, row: ConfigRow) -> bool:
    training, inference = (Fraction(row.values[name], family.length) for name in ("train-flops", "flops"))
    return goal.score(row.counted, float(training), float(inference)) is not None


def _config(family: ConfigFamily, goal: ConfigGoal, row: ConfigRow, *, within: bool = True) -> Config:
    """Return a config with its exact costs.

    Without ``within``, it is trained on the tokens of the approximation ``6*N*N_tok``, whatever they cost.
    """
    training, inference = (Fraction(row.values[name], family.length) for name in ("train-flops", "flops"))
    costs = (float(training), float(inference)) if within else (TRAINING * row.counted, INFERENCE * row.counted)
    tokens = goal.tokens(row.counted, *costs)
    assert tokens is not None  # noqa: S101
    whole = math.floor(tokens) if goal.budget is not None else math.ceil(tokens)
    return Config(
        family.sizes(row),
        row.values["params"],
        row.counted,
        training,
        whole,
        goal.law.loss(row.counted, whole),
        int(training * whole),
        int(inference * goal.inference),
        {name: value for name, value in row.values.items() if name not in ("params", "train-flops", "flops")},
    )


def _front(family: ConfigFamily, goal: ConfigGoal, every: list[_Scored], pareto: str) -> tuple[Config, ...]:
    """Return the configs that no other one beats in both the score and a quantity."""
    front: list[_Scored] = []
    for each in sorted(every, key=lambda one: (one.score, one.row.values[pareto])):
        if not front or each.row.values[pareto] < front[-1].row.values[pareto]:
            front.append(each)
    return tuple(_config(family, goal, each.row) for each in front)
