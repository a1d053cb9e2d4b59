"""Plots of optima: curves of equal FLOPs, equal loss and equal memory, and the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..algebra.device_memory import bytes_text
from ..language.errors import OptionError
from ..output.chart import Chart, Series
from ..output.style import escaped
from .compute_optimum import BYTES, for_budget, parametric
from .scaling_law import INFERENCE, TRAINING, ParametricLaw

if TYPE_CHECKING:
    from .config_search import Config
    from .optimum import Optimum

CURVES = ("iso-flop", "iso-loss", "iso-memory")
POINTS = 65
SPAN = 16.0  # a curve extends from the optimum divided by this to the optimum times this
FACTORS = (0.25, 1.0, 4.0)  # of the budget


@dataclass(frozen=True)
class Curve:
    """A curve: its label, its fixed amount, and the amounts along it."""

    label: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def to_json(self) -> dict[str, object]:
        """Return the curve as JSON data."""
        return {"label": self.label, "x": list(self.xs), "y": list(self.ys)}


def curves(found: Optimum, kind: str) -> tuple[Curve, ...]:
    """Return the curves of one kind.

    Parameters
    ----------
    found
        The optimum.
    kind
        ``iso-flop``: the loss against N, at a quarter of the budget, the budget, and four times the budget.
        ``iso-loss``: the FLOPs against N, at the losses of these three optima.
        ``iso-memory``: the loss against the budget with at most the parameters that half the memory, the memory, and
        twice the memory hold.

    Raises
    ------
    OptionError
        If there is no such curve.

    """
    if kind not in CURVES:
        raise OptionError(f"{kind} is not a kind of curve; choose {', '.join(CURVES[:-1])} or {CURVES[-1]}")
    law = parametric(found.law, found.question.unique)
    inference = found.question.inference
    budget = found.continuous.training_flops + found.continuous.inference_flops
    if kind == "iso-memory":
        return _iso_memory(found, budget)
    made = []
    for factor in FACTORS:
        best = for_budget(found.law, budget * factor, inference=inference, unique=found.question.unique)
        sizes = [best.parameters * SPAN ** (2 * place / (POINTS - 1) - 1) for place in range(POINTS)]
        if kind == "iso-flop":
            along: Callable[[float], float | None] = _loss_along(law, budget * factor, inference)
            label = f"{budget * factor:.3g} FLOPs"
        else:
            assert best.loss is not None  # noqa: S101
            along = _flops_along(law, best.loss, inference)
            label = f"loss {best.loss:.4g}"
        points = [(size, value) for size in sizes if (value := along(size)) is not None]
        made.append(Curve(label, tuple(x for x, _ in points), tuple(y for _, y in points)))
    return tuple(made)


def _loss_along(law: ParametricLaw, budget: float, inference: int) -> Callable[[float], float | None]:
    def along(size: float) -> float | None:
        tokens = budget / (TRAINING * size) - inference * INFERENCE / TRAINING
        return law.loss(size, tokens) if tokens > 0 else None

    return along


def _flops_along(law: ParametricLaw, loss: float, inference: int) -> Callable[[float], float | None]:
    def along(size: float) -> float | None:
        tokens = law.tokens_for(size, loss)
        return None if tokens is None else TRAINING * size * tokens + INFERENCE * size * inference

    return along


def _iso_memory(found: Optimum, budget: float) -> tuple[Curve, ...]:
    memory, asked = found.question.memory, found.question
    if memory is None:
        raise OptionError("curves of equal memory need a memory; give --memory, such as --memory 80GiB")
    limits = [("no limit", math.inf)]
    limits += [(bytes_text(int(memory * each)).partition(",")[0], memory * each // BYTES) for each in (0.5, 1.0, 2.0)]
    budgets = [budget * 10 ** (4 * place / (POINTS - 1) - 2) for place in range(POINTS)]
    made = []
    for label, most in limits:
        best = [
            for_budget(found.law, one, inference=asked.inference, unique=asked.unique, most=most) for one in budgets
        ]
        made.append(Curve(label, tuple(budgets), tuple(each.loss or math.nan for each in best)))
    return tuple(made)


def draw(found: Optimum, kind: str = "") -> Chart:
    """Return the Pareto front if there is one and no kind of curve is given, else curves, by default of equal FLOPs."""
    if not kind and found.searched is not None and found.searched.pareto:
        return _front(found, found.searched.ranking.front, found.searched.pareto)
    kind = kind or "iso-flop"
    made = curves(found, kind)
    horizontal, vertical = {
        "iso-flop": ("$\\log_{10}$ N", "loss (fitted)"),
        "iso-loss": ("$\\log_{10}$ N", "$\\log_{10}$ FLOPs (fitted)"),
        "iso-memory": ("$\\log_{10}$ FLOPs", "loss (fitted)"),
    }[kind]
    scale = math.log10 if kind == "iso-loss" else float
    series = [
        Series(escaped(each.label), [math.log10(x) for x in each.xs], [scale(y) for y in each.ys])  # type: ignore[misc]
        for each in made
    ]
    if kind == "iso-flop" and found.question.budget is not None and found.configs:
        rows = found.configs
        xs, ys = [math.log10(each.counted) for each in rows], [each.loss for each in rows]
        series.append(Series("the best configs", xs, ys, "points"))  # type: ignore[arg-type]
    if kind != "iso-memory":
        best = found.continuous
        height = best.loss if kind == "iso-flop" else math.log10(best.training_flops + best.inference_flops)
        series.append(Series("the optimum", [math.log10(best.parameters)], [height], "mark"))  # type: ignore[list-item]
    return Chart(horizontal, vertical, series, (), [escaped(found.law.title)], from_zero=False)


def _front(found: Optimum, rows: Sequence[Config], quantity: str) -> Chart:
    xs, ys = [math.log10(each.values[quantity]) for each in rows], [each.loss for each in rows]
    label = f"$\\log_{{10}}$ {escaped(quantity)}"
    return Chart(
        label,
        "loss (fitted)",
        [Series("Pareto front", xs, ys, "points")],  # type: ignore[arg-type]
        (),
        [escaped(found.law.title)],
        from_zero=False,
    )
