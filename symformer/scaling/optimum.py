"""The optimum of a budget of training FLOPs under a scaling law: in closed form, and among the configs of a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..algebra.device_memory import bytes_text, memory_bytes
from ..algebra.open_model import Given, Where
from ..algebra.result import Answer, Told, ignore_progress
from ..algebra.search_goal import whole_amount
from ..architectures import composed_model
from ..devices import chosen_device
from ..language.errors import OptionError, SizeError
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Cited, Heading, Line, Paragraph, Table
from .allocation_law import AllocationLaw
from .compute_optimum import BYTES, ComputeOptimum, for_budget, for_loss, parametric
from .config_family import ConfigFamily, check_dense
from .config_goal import ConfigGoal, FlopsForLoss, LossInBudget, NearestSize
from .config_search import Config, search
from .fitted_number import approximate, tokens_text
from .law_equations import law_equations, optimum_equations
from .laws import DEFAULT, scaling_law
from .scaling_law import ScalingLaw
from .searched_configs import SearchedConfigs

if TYPE_CHECKING:
    from .optimum_plot import Curve

SEARCHED = ("params", "train-flops", "flops")
MULTIPLE = 128
LIMIT = 10


@dataclass(frozen=True)
class ScalingQuestion:
    """A budget or a loss, and what else limits the optimum."""

    budget: int | None
    loss: float | None
    inference: int = 0
    unique: int | None = None
    memory: int | None = None

    def answered(self, law: ScalingLaw, most: float) -> ComputeOptimum:
        """Return the optimum of a law with at most some parameters.

        Raises OptionError if it has less than one parameter or one token.
        """
        if self.budget is not None:
            found = for_budget(law, self.budget, inference=self.inference, unique=self.unique, most=most)
        else:
            assert self.loss is not None  # noqa: S101
            found = for_loss(law, self.loss, inference=self.inference, unique=self.unique, most=most)
        for number, unit in ((found.parameters, "parameters"), (found.tokens, "tokens")):
            if number < 1:
                raise OptionError(
                    f"the optimum has {number:.2g} {unit}, less than one; give a larger budget or fewer tokens of "
                    "inference"
                )
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Optimum(Answer):
    """The optimum of a scaling law, as :func:`symformer.optimum` returns it."""

    law: ScalingLaw
    question: ScalingQuestion
    continuous: ComputeOptimum
    searched: SearchedConfigs | None = None

    @property
    def configs(self) -> tuple[Config, ...]:
        """The best configs, the best first; empty without a target."""
        return () if self.searched is None else self.searched.ranking.best

    def table(self) -> dict[str, list[Any]]:
        """Return the best configs, or the optimum of the law without a target."""
        if self.searched is not None:
            return self.searched.table()
        found = self.continuous
        return {
            "parameters": [found.parameters],
            "tokens": [found.tokens],
            "loss": [found.loss],
            "training FLOPs": [found.training_flops],
            "inference FLOPs": [found.inference_flops],
        }

    def to_json(self) -> dict[str, Any]:
        """Return the data that ``optimum --json`` prints."""
        asked, found = self.question, self.continuous
        data: dict[str, Any] = {
            "target": self.searched.model.target if self.searched else None,
            "law": self.law.to_json(),
            "budget": asked.budget,
            "loss": asked.loss,
            "inference_tokens": asked.inference,
            "unique_tokens": asked.unique,
            "memory": asked.memory,
            "optimum": {
                "fitted": True,
                "parameters": found.parameters,
                "tokens": found.tokens,
                "tokens_per_parameter": found.ratio,
                "loss": found.loss,
                "training_flops": found.training_flops,
                "inference_flops": found.inference_flops,
                "method": found.method,
                "memory_limited": found.limited,
                "granularity": found.granularity,
                "active_parameters": found.active,
            },
            "extrapolated": list(self._beyond(found)),
        }
        return data | (self.searched.to_json() if self.searched else {})

    def rank_lines(self) -> list[Line]:
        """Return [], because all values are for whole models."""
        return []

    def _picture(self, by: str) -> Plot:
        from .optimum_plot import draw

        return draw(self, by)

    def __repr__(self) -> str:
        return f"<optimum under {self.law.name}: {self.verdict}>"

    @property
    def verdict(self) -> str:
        """The best config, or the optimum of the law without a target."""
        if self.searched is not None:
            return self.searched.verdict
        return f"{self._counted(self.continuous.parameters)} on {tokens_text(self.continuous.tokens)}"

    def _counted(self, number: float) -> str:
        words = "FLOPs per token" if self.law.parameters == "flops-per-token" else "parameters"
        return f"{approximate(number)} {words}"

    def _beyond(self, found: ComputeOptimum) -> tuple[str, ...]:
        return self.law.beyond(parameters=found.parameters, tokens=found.tokens, budget=found.training_flops)

    def to_blocks(self) -> list[BriefBlock]:
        """Return the law, its optimum, and the best configs of the target."""
        model = self.searched.model if self.searched else None
        title = f"{model.title} ({model.target})" if model else "Compute-optimal training"
        found: list[BriefBlock] = [Heading(1, [title]), *self.law_blocks(), *self.optimum_blocks()]
        if self.searched is not None:
            found += self.searched.to_blocks()
        return [*found, Paragraph([self.verdict])]

    def law_blocks(self) -> list[BriefBlock]:
        """Return the law with its constants, their uncertainty and its counts."""
        law = self.law
        constants = ", ".join(f"{name} = {value:.7g}" for name, value in law.constants.items())
        found: list[Line] = [[f"{law.title}, {law.where} ", Cited(law.paper), "; all of its constants are fitted"]]
        equations = law_equations(law)
        if not equations:
            found.append([f"{law.formula}, with {constants}"])
        if law.uncertainty:
            spelt = [
                f"{name} {each[0]:g} to {each[1]:g}" if isinstance(each, tuple) else f"{name} ± {each:g}"
                for name, each in law.uncertainty.items()
            ]
            exponents = "; a and b are the exponents of the optimal N and N_tok" if "a" in law.uncertainty else ""
            found.append([f"published uncertainty ({law.interval}): {', '.join(spelt)}{exponents}"])
        else:
            found.append(["the paper states no uncertainty of the constants"])
        found.append([f"N counts {law.counted}; FLOPs: {law.flops}"])
        found += [[note] for note in law.notes]
        return [Paragraph(found[0]), *equations, *map(Paragraph, found[1:])]

    def optimum_blocks(self) -> list[BriefBlock]:
        """Return the question and the optimum of the law."""
        asked, found = self.question, self.continuous
        told = [f"budget {asked.budget:.4g} FLOPs" if asked.budget is not None else f"loss {asked.loss:g}"]
        if asked.inference:
            told.append(f"{approximate(asked.inference)} inference tokens, whose FLOPs are included")
        if asked.unique is not None:
            told.append(f"{approximate(asked.unique)} unique tokens")
        lines: list[Line] = [[", ".join(told)]]
        if asked.memory is not None:
            most = f"at most {asked.memory // BYTES:,} parameters at {BYTES} bytes each"
            lines.append([f"memory {bytes_text(asked.memory)}: {most}"])
        size = "FLOPs per token" if self.law.parameters == "flops-per-token" else "N"
        head = [size, "N_tok", "N_tok / N", "fitted loss", "training FLOPs"]
        cells = [
            approximate(found.parameters),
            approximate(found.tokens),
            f"{found.ratio:.4g}",
            "" if found.loss is None else f"{found.loss:.4f}",
            f"{found.training_flops:.4g}",
        ]
        if asked.inference:
            head.append("inference FLOPs")
            cells.append(f"{found.inference_flops:.4g}")
        if found.granularity is not None and found.active is not None:
            head += ["granularity", "active parameters"]
            cells += [f"{found.granularity}", approximate(found.active)]
        if found.loss is None:
            del head[3], cells[3]
        if self.law.parameters == "flops-per-token":
            del head[2], cells[2]
        blocks: list[BriefBlock] = [*map(Paragraph, lines)]
        blocks.append(Table.of([*head, "method"], [[*cells, found.method]], "r" * len(head) + "l"))
        if asked.unique is not None and found.tokens > asked.unique:
            blocks.append(Paragraph([f"every unique token is used {found.tokens / asked.unique:.3g} times"]))
        equations = optimum_equations(self.law) if found.method == "closed form" and asked.budget is not None else []
        if equations or isinstance(self.law, AllocationLaw):
            blocks += [*equations, Paragraph(["F is the budget in FLOPs."])]
        blocks += self._warnings(found)
        return blocks

    def _warnings(self, found: ComputeOptimum) -> list[BriefBlock]:
        names = {"parameters": "N", "tokens": "N_tok", "budget": "FLOPs"}
        ranges = [
            f"{names[name]} from {approximate(low)} to {approximate(high)}"
            for name in self._beyond(found)
            for low, high in (self.law.fitted_range[name],)
        ]
        return [Paragraph([f"extrapolated: the law was fitted to {', '.join(ranges)}"])] if ranges else []

    def curves(self, kind: str = "iso-flop") -> tuple[Curve, ...]:
        """Return curves of equal FLOPs (``iso-flop``), equal loss (``iso-loss``) or equal memory (``iso-memory``).

        Raises OptionError if there is no such curve.
        """
        from .optimum_plot import curves

        return curves(self, kind)

    def curve_blocks(self, kind: str) -> list[BriefBlock]:
        """Return tables of the curves of one kind, with nine points each."""
        vertical = "FLOPs" if kind == "iso-loss" else "loss"
        horizontal = "FLOPs" if kind == "iso-memory" else "N"
        found: list[BriefBlock] = []
        for each in self.curves(kind):
            points = list(zip(each.xs, each.ys, strict=True))[::8]
            rows = [[approximate(x), f"{y:.5g}"] for x, y in points]
            found.append(Table.of([horizontal, f"fitted {vertical} at {each.label}"], rows, "rr"))
        return found

    def plot(self, path: str | None = None, by: str = "") -> Plot:
        """Plot curves of one kind, by default of equal FLOPs, or the Pareto front, and write FILE.svg, .pdf or .png.

        Raises OptionError if there is no such curve.
        """
        return self._put(path, by)


def optimum(
    target: Model | AnyTarget | None = None,
    *,
    law: str | ScalingLaw = DEFAULT,
    budget: int | float | str | None = None,
    loss: float | None = None,
    inference_tokens: int | float | str | None = None,
    unique_tokens: int | float | str | None = None,
    memory: int | float | str | None = None,
    sizes: Given = None,
    relations: Where = None,
    aspect: tuple[int | float | Fraction, int | float | Fraction] | None = None,
    multiple: int = MULTIPLE,
    limit: int = LIMIT,
    pareto: str | None = None,
    device: str | None = None,
    progress: Told = ignore_progress,
    **conventions: str,
) -> Optimum:
    """Return the parameters and tokens that use a budget best, and the best configs of a model.

    Parameters
    ----------
    target
        A model, or any target of :func:`symformer.model`, whose depth and width are searched; its other sizes stay, or
        follow the width. Without it, only the optimum of the law is returned.
    law
        The scaling law, or its name; ``symformer optimum --laws`` lists them.
    budget
        The FLOPs of training and of the inference tokens, such as ``"1e21"``. Give this or ``loss``.
    loss
        The loss to reach with the fewest FLOPs.
    inference_tokens
        The tokens that the model processes after training. Their FLOPs are a part of the budget.
    unique_tokens
        The tokens of the data, for a law of repeated data.
    memory
        The bytes of a device that holds the model: 2 bytes per parameter for the optimum of the law, and the exact
        ``inference-memory`` for configs.
    sizes
        The sizes to set, such as ``{"V": 32000, "S": 4096}``. S, the length of a training sequence, is 2,048 or the
        longest that the model supports.
    relations
        The sizes that follow from the depth and the width, such as ``{"H": "4*E"}``.
    aspect
        The smallest and the largest width divided by the number of layers; by default, half and twice the target's.
    multiple
        The number that divides every width.
    limit
        The number of configs to return.
    pareto
        A quantity, such as ``"kv-cache"``: also return the Pareto front of the loss and this quantity.
    device
        The device of a time in ``pareto``, such as ``"h100-80gb"``, or a bandwidth and a peak.
    progress
        Called with the number of configs compared.
    **conventions
        Conventions of the quantities, such as ``attention="causal"``.

    Returns
    -------
    Optimum
        ``continuous`` is the optimum of the law, and ``configs`` the best configs. Numbers that depend on the law are
        fitted; parameters and FLOPs per token of configs are exact.

    Raises
    ------
    OptionError
        If the law does not answer the question, or the arguments do not fit together.
    SizeError
        If no config qualifies.

    Examples
    --------
    >>> found = optimum(law="hoffmann2022", budget="5.76e23")
    >>> round(found.continuous.parameters / 1e9, 1), round(found.continuous.ratio)
    (32.2, 93)
    >>> optimum("gpt2", law="besiroglu2024", budget="1e20").configs[0].sizes["E"]
    2048

    """
    own = law if isinstance(law, ScalingLaw) else scaling_law(law)
    question = _question(budget, loss, inference_tokens, unique_tokens, memory)
    most = math.inf if question.memory is None else question.memory // BYTES
    if most < 1:
        raise OptionError(f"memory={memory} holds no parameter; give the bytes of one device, such as 80GiB")
    continuous = question.answered(own, most)
    if target is None:
        if sizes or relations or aspect or pareto or device or conventions:
            raise OptionError("sizes, relations, aspect, pareto, device and conventions need a target; name a model")
        return Optimum(own, question, continuous)
    if multiple < 1 or limit < 1:
        raise OptionError("multiple and limit must be at least 1")
    model = composed_model(target)
    check_dense(model, own)
    goal = _goal(own, question)
    if pareto is not None and isinstance(goal, NearestSize):
        raise OptionError(f"{own.name} gives the optimum of a budget, but not the loss of a model; remove --pareto")
    extra = [*(["inference-memory"] if question.memory is not None else []), *([pareto] if pareto else [])]
    quantities = [*SEARCHED, *dict.fromkeys(name for name in extra if name not in SEARCHED)]
    if device is not None:
        if pareto is None or not pareto.endswith("-time"):
            raise OptionError("--device is for a time; add --pareto decode-time, or remove it")
        bandwidth, peak, _ = chosen_device(device).rates()
        sizes = {**(sizes or {}), "N_bw": bandwidth, "N_peak": peak}
    family = ConfigFamily.of(model, own, quantities, sizes, relations, conventions, multiple)
    shape = _aspect(aspect, family.aspect)
    ranking = search(family, goal, aspect=shape, multiple=multiple, limit=limit, pareto=pareto, progress=progress)
    return Optimum(
        own, question, continuous, SearchedConfigs(family, ranking, shape, multiple, question.budget, pareto)
    )


def _goal(law: ScalingLaw, question: ScalingQuestion) -> ConfigGoal:
    """Return what the configs of a question are compared by. Raises OptionError."""
    if isinstance(law, AllocationLaw) and question.budget is not None:
        return NearestSize(law, question.inference, question.memory, question.budget)
    own = parametric(law, question.unique)
    if question.budget is not None:
        return LossInBudget(own, question.inference, question.memory, question.budget)
    assert question.loss is not None  # noqa: S101
    return FlopsForLoss(own, question.inference, question.memory, question.loss)


def _question(
    budget: int | float | str | None,
    loss: float | None,
    inference: int | float | str | None,
    unique: int | float | str | None,
    memory: int | float | str | None,
) -> ScalingQuestion:
    if (budget is None) == (loss is None):
        raise OptionError("give either a budget or a loss, such as --budget 1e21 or --loss 2.2")
    if loss is not None and not (math.isfinite(loss) and loss > 0):
        raise OptionError(f"a loss of {loss:g} is not valid; give a positive number, such as 2.2")
    return ScalingQuestion(
        None if budget is None else whole_amount(budget, "FLOPs"),
        loss,
        0 if inference is None else whole_amount(inference, "tokens"),
        None if unique is None else whole_amount(unique, "tokens"),
        None if memory is None else memory_bytes(memory),
    )


def _aspect(
    given: tuple[int | float | Fraction, int | float | Fraction] | None, own: Fraction
) -> tuple[Fraction, Fraction]:
    if given is None:
        return own / 2, own * 2
    low, high = (Fraction(each).limit_denominator(10**6) for each in given)
    if not 0 < low <= high:
        raise SizeError(
            f"the range {float(low):g} to {float(high):g} of the width divided by the number of layers is not valid; "
            "try 32:128"
        )
    return low, high
