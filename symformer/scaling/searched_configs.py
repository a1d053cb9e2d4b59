"""The best configs of a model as blocks and as JSON data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..algebra.open_model import condition_lines
from ..language.frozen import Immutable
from ..language.notation.significant import significant
from ..language.notation.text import seconds
from ..language.symbols import named_symbol
from ..models.model import Model
from ..output.blocks import BriefBlock, Heading, Line, Math, Paragraph, Piece, Table, setting
from ..quantities import quantity as find_quantity
from .config_family import ConfigFamily
from .config_search import Config, ConfigRanking
from .fitted_number import approximate, tokens_text
from .scaling_law import TRAINING

SHOWN = 10  # configs of a Pareto front
MOST_LISTED = 1_000


@dataclass(frozen=True)
class SearchedConfigs(Immutable):
    """The configs of a model that were compared, and the best of them.

    Attributes
    ----------
    family : ConfigFamily
        The configs that were compared.
    ranking : ConfigRanking
        The best of them.
    aspect : tuple[Fraction, Fraction]
        The smallest and the largest width per layer.
    multiple : int
        The number that divides every width.
    budget : int | None
        The budget, or None if the configs reach a loss.
    pareto : str | None
        The quantity of the Pareto front.

    """

    family: ConfigFamily
    ranking: ConfigRanking
    aspect: tuple[Fraction, Fraction]
    multiple: int
    budget: int | None
    pareto: str | None

    @property
    def model(self) -> Model:
        """The model, with its fixed sizes."""
        return self.family.posed.model

    @property
    def of_flops(self) -> bool:
        """Whether the law counts the FLOPs per token instead of parameters."""
        return self.family.law.parameters == "flops-per-token"

    @property
    def approximation(self) -> str:
        """The training FLOPs per token that the law assumes."""
        return "M" if self.of_flops else "6*N"

    @property
    def listed(self) -> tuple[Config, ...]:
        """The Pareto front if there is one, else the best configs."""
        return self.ranking.front if self.pareto else self.ranking.best

    @property
    def conventions(self) -> dict[str, str]:
        """The conventions of the quantities."""
        found: dict[str, str] = {}
        for formula in self.family.posed.formulas:
            found |= find_quantity(formula.measure.name).shown_conventions(formula)
        return found

    @property
    def verdict(self) -> str:
        """The best config."""
        best = self.ranking.best[0]
        sizes = ", ".join(f"{name} = {number:,}" for name, number in best.sizes.items())
        what = "best" if best.loss is not None else "closest"
        return (
            f"the {what} of {self.ranking.searched:,} configs has {sizes}: {significant(best.parameters, 'elements')} "
            f"parameters on {tokens_text(best.tokens)}"
        )

    def table(self) -> dict[str, list[Any]]:
        """Return the columns of the listed configs."""
        rows = self.listed
        columns: dict[str, list[Any]] = {name: [each.sizes[name] for each in rows] for name in rows[0].sizes}
        columns["parameters"] = [each.parameters for each in rows]
        columns["tokens"] = [each.tokens for each in rows]
        columns["loss"] = [each.loss for each in rows]
        columns["training FLOPs"] = [each.training_flops for each in rows]
        columns["inference FLOPs"] = [each.inference_flops for each in rows]
        return columns | {name: [each.values[name] for each in rows] for name in rows[0].values}

    def to_json(self) -> dict[str, Any]:
        """Return the configs as JSON data."""
        family, ranking = self.family, self.ranking
        data: dict[str, Any] = {
            "search": {
                "ranked_by": "loss or FLOPs" if ranking.best[0].loss is not None else "distance from the optimal N",
                "configs": ranking.searched,
                "multiple": self.multiple,
                "aspect": [str(each) for each in self.aspect],
                "sizes": dict(family.numbers),
                "relations": {str(size): str(value) for size, value in family.posed.relations.items()},
                "conventions": self.conventions,
            },
            "configs": [each.to_json() for each in ranking.best],
            "approximate_choice": ranking.approximate.to_json(),
            "published": ranking.published.to_json() if ranking.published else None,
        }
        if self.pareto:
            front = [each.to_json() for each in ranking.front[:MOST_LISTED]]
            data["pareto"] = {"quantity": self.pareto, "configs": front}
        return data

    def to_blocks(self) -> list[BriefBlock]:
        """Return the best configs, the choice of the approximation, and the model's own config."""
        found: list[BriefBlock] = [Heading(2, ["Configs"]), *map(Paragraph, self._lines()), self._table()]
        found.append(Paragraph([self._approximation()]))
        if self.ranking.published is None:
            found.append(Paragraph([self._unqualified()]))
        return [*found, *self._front_blocks(self.pareto)] if self.pareto else found

    def _lines(self) -> list[Line]:
        """Return the fixed sizes, the sizes that follow, the conventions and the range of shapes."""
        lines = condition_lines(self.family.numbers, {}, {}, (), [])
        relations: list[Piece] = []
        for size, value in self.family.posed.relations.items():
            relations += [", " if relations else "where ", Math.of(size), " = ", Math.of(value)]
        settings: list[Piece] = []
        for name, choice in self.conventions.items():
            settings += [*([" "] if settings else []), setting(name, choice)]
        low, high = (f"{float(each):.4g}" for each in self.aspect)
        shapes = (
            f"widths are multiples of {self.multiple}, and the width divided by the number of layers is {low} to "
            f"{high}, because the law does not depend on the shape"
        )
        ranked = "the law states no loss of other models, so the configs whose N is closest to its optimum are listed"
        nearest: list[Line] = [[ranked]] if self.ranking.best[0].loss is None else []
        return [*lines, *([relations] if relations else []), settings, [shapes], *nearest]

    def _table(self) -> Table:
        ranking = self.ranking
        names, costs = list(ranking.best[0].sizes), list(ranking.best[0].values)
        fitted = [] if ranking.best[0].loss is None else ["fitted loss"]
        head: list[Line] = [["config"], *([Math.of(named_symbol(name))] for name in names)]
        ratio = [] if self.of_flops else ["tokens/N"]
        head += [[name] for name in ("parameters", "tokens", *ratio, *fitted, "FLOPs", *map(_with_unit, costs))]
        chosen: list[tuple[str, Config]] = [(f"{place}", each) for place, each in enumerate(ranking.best, 1)]
        chosen.append((f"{self.approximation}*N_tok", ranking.approximate))
        if ranking.published is not None:
            chosen.append((self.model.target, ranking.published))
        rows: list[list[Line]] = [
            [
                [name],
                *([f"{each.sizes[size]:,}" if size in each.sizes else ""] for size in names),
                [f"{each.parameters:,}"],
                [approximate(each.tokens)],
                *([f"{each.tokens / each.counted:.4g}"] for _ in ratio),
                *([f"{each.loss:.5f}"] for _ in fitted),
                [f"{each.flops:.4g}"],
                *([_value(each.values[cost])] for cost in costs),
            ]
            for name, each in chosen
        ]
        return Table(head, rows, "l" + "r" * (len(head) - 1))

    def _approximation(self) -> str:
        """Return the choice of the approximation, and its error."""
        chosen, best = self.ranking.approximate, self.ranking.best[0]
        exact = float(chosen.flops_per_token) / (1 if self.of_flops else TRAINING) / chosen.counted
        same = "the best config too" if chosen.sizes == best.sizes else "another config"
        spent = ""
        if self.budget is not None:
            beyond = chosen.flops / self.budget - 1
            spent = f" and is {abs(beyond):.1%} {'above' if beyond > 0 else 'below'} the budget"
        return (
            f"{self.approximation}*N_tok chooses {same}; training it on {approximate(chosen.tokens)} tokens takes "
            f"{exact:.3f} times as many FLOPs as {self.approximation}*N_tok{spent}"
        )

    def _unqualified(self) -> str:
        if self.budget is None:
            return f"{self.model.target} itself does not reach this loss with any number of tokens"
        return f"{self.model.target} itself has no FLOPs left for training: its inference tokens take the whole budget"

    def _front_blocks(self, pareto: str) -> list[BriefBlock]:
        front = self.ranking.front
        shown = _spread(front, SHOWN)
        head = [*front[0].sizes, "parameters", "fitted loss", _with_unit(pareto)]
        rows = [
            [
                *(f"{number:,}" for number in each.sizes.values()),
                f"{each.parameters:,}",
                f"{each.loss:.5f}",
                _value(each.values[pareto]),
            ]
            for each in shown
        ]
        said = f"Pareto front of the loss and {pareto}: {len(front):,} configs"
        if len(shown) < len(front):
            said += f", {len(shown)} of them shown; JSON lists up to {MOST_LISTED:,}"
        return [Paragraph([said]), Table.of(head, rows, "r" * len(head))]


def _with_unit(quantity: str) -> str:
    """Return a quantity as the head of a column, with its unit unless each value has one or it counts parameters."""
    unit = find_quantity(quantity).measure.unit
    return f"{quantity} ({unit})" if unit in ("bytes", "FLOPs", "MACs") else quantity


def _value(number: int | Fraction) -> str:
    """Return an exact number, or a lower bound on a time."""
    return f"≥ {seconds(number)}" if isinstance(number, Fraction) else f"{number:,}"


def _spread(every: tuple[Config, ...], most: int) -> list[Config]:
    """Return the first, the last, and evenly spaced entries between them."""
    if len(every) <= most:
        return list(every)
    return [every[round(place * (len(every) - 1) / (most - 1))] for place in range(most)]
