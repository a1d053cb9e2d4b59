"""Scaling laws as data: fitted constants with their source, and what each law counts.

The constants are real numbers from fits, so this folder computes with floats. Everything that it takes from a model,
such as its parameters and its FLOPs, is exact.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ..language.errors import OptionError
from ..language.frozen import FrozenDict, Immutable

TRAINING, INFERENCE = 6, 2  # FLOPs per parameter and token, in the approximations of the papers
# What N counts, as the value of ``parameters``.
COUNTED = {
    "all": "all parameters",
    "non-embedding": "parameters without embeddings and the LM head",
    "flops-per-token": "non-embedding training FLOPs per token",
    "dense": "parameters of the dense model, without the additional experts",
}


@dataclass(frozen=True)
class ScalingLaw(Immutable, ABC):
    """A scaling law: its source, what it counts, and where it was fitted.

    Attributes
    ----------
    name : str
        The name of the law, such as ``hoffmann2022``.
    title : str
        Its title in tables.
    paper : str
        The key of its paper.
    where : str
        Where the paper states the constants.
    parameters : str
        What N counts, a key of ``COUNTED``.
    flops : str
        The FLOPs of the budget, in words.
    constants : Mapping[str, float]
        The fitted constants, named as in the paper.
    uncertainty : Mapping[str, float | tuple[float, float]]
        The published uncertainty of constants: a standard error or an interval. ``a`` and ``b`` are the exponents of
        the optimal parameters and tokens.
    interval : str
        The kind of uncertainty, such as ``standard error``.
    fitted_range : Mapping[str, tuple[float, float]]
        The range of ``parameters``, ``tokens`` and ``budget`` in the fit.
    notes : tuple[str, ...]
        Sentences about the constants.

    """

    form: ClassVar[str]
    formula: ClassVar[str]  # the law as plain text

    name: str
    title: str
    paper: str
    where: str
    parameters: str
    flops: str
    constants: Mapping[str, float]
    uncertainty: Mapping[str, float | tuple[float, float]] = field(default_factory=FrozenDict)
    interval: str = ""
    fitted_range: Mapping[str, tuple[float, float]] = field(default_factory=FrozenDict)
    notes: tuple[str, ...] = ()

    @property
    def counted(self) -> str:
        """What N counts, in words."""
        return COUNTED[self.parameters]

    def beyond(self, **values: float) -> tuple[str, ...]:
        """Return the names of the given amounts that are outside the range of the fit."""
        ends = {name: self.fitted_range[name] for name in values if name in self.fitted_range}
        return tuple(name for name, (low, high) in ends.items() if not low <= values[name] <= high)

    def to_json(self) -> dict[str, object]:
        """Return the law as JSON data."""
        return {
            "name": self.name,
            "title": self.title,
            "paper": self.paper,
            "where": self.where,
            "formula": self.formula,
            "fitted": True,
            "constants": dict(self.constants),
            "uncertainty": {
                key: list(each) if isinstance(each, tuple) else each for key, each in self.uncertainty.items()
            },
            "uncertainty_kind": self.interval or None,
            "parameters": self.counted,
            "flops": self.flops,
            "fitted_range": {key: list(each) for key, each in self.fitted_range.items()},
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"<scaling law {self.name}: {self.formula}>"


@dataclass(frozen=True, repr=False)
class ParametricLaw(ScalingLaw):
    """The loss of a model with N parameters after N_tok tokens: ``E + A/N^alpha + B/N_tok^beta``.

    Examples
    --------
    >>> from symformer.scaling.laws import scaling_law
    >>> law = scaling_law("hoffmann2022")
    >>> round(law.loss(70e9, 1.4e12), 4)  # Chinchilla
    1.9366

    """

    form = "parametric"
    formula = "E + A/N^alpha + B/N_tok^beta"

    @property
    def floor(self) -> float:
        """The loss that no model reaches, ``E``."""
        return self.constants["E"]

    def capacity_term(self, parameters: float) -> float:
        """Return the part of the loss that depends on the parameters, ``A/N^alpha``."""
        return float(self.constants["A"] * parameters ** -self.constants["alpha"])

    def data_term(self, tokens: float) -> float:
        """Return the part of the loss that depends on the tokens, ``B/N_tok^beta``."""
        return float(self.constants["B"] * tokens ** -self.constants["beta"])

    def capacity_slope(self, parameters: float) -> float:
        """Return the decrease of the loss per unit of ln N; it falls as N grows."""
        return self.constants["alpha"] * self.capacity_term(parameters)

    def data_slope(self, tokens: float) -> float:
        """Return the decrease of the loss per unit of ln N_tok; it falls as N_tok grows."""
        return self.constants["beta"] * self.data_term(tokens)

    @property
    def lowest(self) -> float:
        """The infimum of the loss over all models and tokens."""
        return self.floor

    def loss(self, parameters: float, tokens: float) -> float:
        """Return the loss of a model after training on some tokens.

        Parameters
        ----------
        parameters
            N, as the law counts it.
        tokens
            The training tokens.

        """
        if not (parameters > 0 and tokens > 0):
            raise OptionError("the loss of a scaling law needs a positive number of parameters and of tokens")
        return self.floor + self.capacity_term(parameters) + self.data_term(tokens)

    def tokens_for(self, parameters: float, loss: float) -> float | None:
        """Return the tokens after which a model reaches a loss, or None if it never does."""
        left = loss - self.floor - self.capacity_term(parameters)
        return float((self.constants["B"] / left) ** (1 / self.constants["beta"])) if left > 0 else None


@dataclass(frozen=True, repr=False)
class GranularLaw(ScalingLaw):
    """The loss of a mixture of experts of granularity G: ``E + (A + g/G^gamma)/N^alpha + B/N_tok^beta``."""

    form = "granular"
    formula = "E + (A + g/G^gamma)/N^alpha + B/N_tok^beta"

    def at(self, granularity: float) -> ParametricLaw:
        """Return the law of models of one granularity."""
        if not granularity >= 1:
            raise OptionError(f"a granularity of {granularity:g} is not valid; choose 1 or more")
        own = self.constants
        slope = own["A"] + own["g"] / granularity ** own["gamma"]
        constants = {"E": own["E"], "A": slope, "B": own["B"], "alpha": own["alpha"], "beta": own["beta"]}
        return ParametricLaw(
            f"{self.name} at granularity {granularity:g}",
            *(self.title, self.paper, self.where, self.parameters, self.flops, constants),
            fitted_range=self.fitted_range,
        )

    def loss(self, parameters: float, tokens: float, granularity: float) -> float:
        """Return the loss of a model of some granularity after training on some tokens."""
        return self.at(granularity).loss(parameters, tokens)


@dataclass(frozen=True, repr=False)
class RoutedLaw(ScalingLaw):
    """The loss of a routed model by its dense size N and its experts X, for a fixed number of tokens.

    ``log10(loss) = a*log10(N) + b*log10(X') + c*log10(N)*log10(X') + d``, where X' saturates from E_start to E_max.
    """

    form = "routed"
    formula = "log10(loss) = a*log10(N) + b*log10(X') + c*log10(N)*log10(X') + d"

    def saturated(self, experts: float) -> float:
        """Return the effective number of experts: ``E_start`` for one expert, and at most ``E_max``."""
        if not experts >= 1:
            raise OptionError(f"{experts:g} experts are not valid; choose 1 or more")
        start, most = self.constants["E_start"], self.constants["E_max"]
        return 1 / (1 / (experts - 1 + 1 / (1 / start - 1 / most)) + 1 / most)

    def loss(self, parameters: float, experts: float) -> float:
        """Return the loss of a model with some experts.

        Examples
        --------
        >>> from symformer.scaling.laws import scaling_law
        >>> round(scaling_law("clark2022").loss(1.3e9, 64), 3)
        2.05

        """
        if not parameters > 0:
            raise OptionError("the loss of a scaling law needs a positive number of parameters")
        size, many, own = math.log10(parameters), math.log10(self.saturated(experts)), self.constants
        return float(10 ** (own["a"] * size + own["b"] * many + own["c"] * size * many + own["d"]))
