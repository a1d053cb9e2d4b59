"""The best configs of an architecture for a budget: whole layers, heads that divide, and exactly counted FLOPs.

The search is exhaustive over all depths and widths with a shape in a given range, as far as a bound allows: N and the
FLOPs per token grow with the width and the depth, so the shallowest config of a width bounds the loss, or the FLOPs, of
that width and of all larger ones. The memory grows too, so the search ends if no config of some widths fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import nsmallest
from typing import Any

from ..language.errors import SizeError
from ..language.frozen import Immutable
from ..language.notation.text import json_number
from .config_family import ConfigFamily, ConfigRow
from .config_goal import ConfigGoal

MOST_ROWS = 500_000
TOO_MANY = f"there are more than {MOST_ROWS:,} configs; choose a smaller range with --aspect, or a larger --multiple"
WIDEST = 65_536  # the widths whose conditions are tried before a search
POWERS = 40
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
    loss : float | None
        The loss of the law for these tokens, or None if the law states none.
    training_flops, inference_flops : int
        The FLOPs of training and of the inference tokens, rounded down.
    values : Mapping[str, int | Fraction]
        The values of further quantities, such as ``inference-memory``; a time is an exact fraction of a second.

    """

    sizes: Mapping[str, int]
    parameters: int
    counted: int
    flops_per_token: Fraction
    tokens: int
    loss: float | None
    training_flops: int
    inference_flops: int
    values: Mapping[str, int | Fraction]

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
            "fitted": [] if self.loss is None else ["loss"],
            "training_flops": self.training_flops,
            "inference_flops": self.inference_flops,
            **({"values": {name: json_number(each) for name, each in self.values.items()}} if self.values else {}),
        }


@dataclass(frozen=True)
class ConfigRanking(Immutable):
    """The best configs, the config that ``6*N*N_tok`` would choose, and the target's own.

    Attributes
    ----------
    best : tuple[Config, ...]
        The best configs, the best first.
    approximate : Config
        The best config if training took the FLOPs per token of the law, ``6*N``, with its exact cost.
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
    approximate: float  # the score if training took ``6*N`` FLOPs per token
    row: ConfigRow
    training: float
    inference: float
    fits: bool  # in the memory


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
    target = family.posed.model.target
    _check_size(family, goal, aspect, multiple)
    found: list[_Scored] = []
    every: list[_Scored] = []
    closest: _Scored | None = None
    searched, width, previous = 0, 0, 0.0
    while True:
        pairs: list[tuple[int, int]] = []
        for _ in range(WIDTHS):
            width += multiple
            pairs += [(layers, width) for layers in family.depths(width, *aspect)]
        searched += len(pairs)
        rows = _scored(family, goal, pairs)
        progress(searched, searched)
        if searched > 2 * MOST_ROWS:
            raise SizeError(TOO_MANY)
        if not rows:
            continue
        every += rows if pareto else []
        found = nsmallest(limit, [*found, *rows], key=lambda each: (each.score, each.row.layers))
        closest = min([*([closest] if closest else []), *rows], key=lambda each: each.approximate)
        if (least := min(each.training for each in rows)) < previous:
            raise SizeError(f"the FLOPs per token of {target} fall as it grows, so no search ends")
        previous = least
        if _ends(goal, rows, found[-1].score if len(found) == limit else math.inf, closest.approximate):
            break
    found = [each for each in found if not math.isinf(each.score)]
    if not found or math.isinf(closest.approximate):
        raise SizeError(_nothing(goal))
    own = next(family.rows([(family.own[family.depth], family.own["E"])]), None)
    return ConfigRanking(
        tuple(_config(family, goal, each.row) for each in found),
        _config(family, goal, closest.row, within=False),
        None if own is None or not _qualifies(family, goal, own) else _config(family, goal, own),
        searched,
        _front(family, goal, every, pareto) if pareto else (),
    )


def _ends(goal: ConfigGoal, rows: Sequence[_Scored], worst: float, closest: float) -> bool:
    """Return True if no config that is at least as large as the smallest of some rows can be among the best."""
    if not any(each.fits for each in rows):
        return True
    training, inference = min(each.training for each in rows), min(each.inference for each in rows)
    counted = min(each.row.counted for each in rows)
    bounds = (
        (goal.bound(counted, training, inference), worst),
        (goal.bound(counted, *goal.approximate_costs(counted)), closest),
    )
    return all(bound > best or math.isinf(bound) for bound, best in bounds)


def _check_size(family: ConfigFamily, goal: ConfigGoal, aspect: tuple[Fraction, Fraction], multiple: int) -> None:
    """Raise SizeError for a search over too many configs, or over none that satisfies the conditions of the model.

    The shallowest and deepest configs of a few widths show how far the search goes.
    """
    widths = range(multiple, WIDEST + 1, multiple)
    shallowest = [(depths[0], width) for width in widths if (depths := family.depths(width, *aspect))]
    if not shallowest or next(family.rows(shallowest), None) is None:
        raise SizeError(
            f"no width up to {WIDEST:,} satisfies the conditions of {family.posed.model.target}; set its sizes with "
            "--where, or choose another --multiple or --aspect"
        )
    best = closest = math.inf
    for power in range(POWERS):
        for factor in range(1, 8) if power == 0 else range(4, 8):
            width = factor * multiple * 2**power
            depths = family.depths(width, *aspect)
            rows = _scored(family, goal, [(depths[0], width), (depths[-1], width)]) if depths else []
            if not rows:
                continue
            best = min(best, *(each.score for each in rows))
            closest = min(closest, *(each.approximate for each in rows))
            count = width * width * (1 / aspect[0] - 1 / aspect[1]) / (2 * multiple * family.kinds)
            if _ends(goal, rows, best, closest):
                return
            if count > MOST_ROWS:
                raise SizeError(TOO_MANY)


def _nothing(goal: ConfigGoal) -> str:
    memory = f" in {goal.memory:,} bytes" if goal.memory is not None else ""
    return f"no config{memory} {goal.impossible}"


def _scored(family: ConfigFamily, goal: ConfigGoal, pairs: list[tuple[int, int]]) -> list[_Scored]:
    """Return the configs of depths and widths with their scores, which are infinite for those that do not qualify."""
    found = []
    for row in family.rows(pairs) if pairs else ():
        training, inference = (row.values[name] / family.length for name in ("train-flops", "flops"))
        fits = goal.memory is None or row.values["inference-memory"] <= goal.memory
        scores = [
            goal.score(row.counted, *costs) if fits else None
            for costs in ((training, inference), goal.approximate_costs(row.counted))
        ]
        exact, approximate = (math.inf if score is None else score for score in scores)
        found.append(_Scored(exact, approximate, row, training, inference, fits))
    return found


def _qualifies(family: ConfigFamily, goal: ConfigGoal, row: ConfigRow) -> bool:
    training, inference = (Fraction(row.values[name], family.length) for name in ("train-flops", "flops"))
    return goal.score(row.counted, float(training), float(inference)) is not None


def _config(family: ConfigFamily, goal: ConfigGoal, row: ConfigRow, *, within: bool = True) -> Config:
    """Return a config with its exact costs.

    Without ``within``, it is trained on the tokens of the approximation ``6*N*N_tok``, whatever they cost.
    """
    training, inference = (Fraction(row.values[name], family.length) for name in ("train-flops", "flops"))
    costs = (training, inference) if within else tuple(map(Fraction, goal.approximate_costs(row.counted)))
    if goal.budget is None:
        tokens = goal.tokens(row.counted, *map(float, costs))
        assert tokens is not None  # noqa: S101
        whole = math.ceil(tokens)
    else:
        whole = math.floor((goal.budget - costs[1] * goal.inference) / costs[0])
    return Config(
        family.sizes(row),
        row.values["params"],
        row.counted,
        training,
        whole,
        goal.fitted_loss(row.counted, whole),
        int(training * whole),
        int(inference * goal.inference),
        {name: value for name, value in row.values.items() if name not in ("params", "train-flops", "flops")},
    )


def _front(family: ConfigFamily, goal: ConfigGoal, every: list[_Scored], pareto: str) -> tuple[Config, ...]:
    """Return the configs that no other one beats in both the score and a quantity."""
    front: list[_Scored] = []
    for each in sorted(every, key=lambda one: (one.score, one.row.values[pareto])):
        if math.isinf(each.score):
            break
        if not front or each.row.values[pareto] < front[-1].row.values[pareto]:
            front.append(each)
    return tuple(_config(family, goal, each.row) for each in front)
