"""The parameters and tokens that use a budget of FLOPs best, or that reach a loss with the fewest FLOPs.

With ``F = 6*N*N_tok``, the optimum of a parametric law has a closed form. With inference tokens or repeated data, it is
the root of a function of ln N that is proved to be monotone, so bisection finds it from any bracket with a change of
sign. The proofs are in the docstrings of :func:`for_budget` and :func:`for_loss`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..language.errors import OptionError
from ..language.frozen import Immutable
from .allocation_law import AllocationLaw
from .repeated_data_law import LimitedDataLaw, RepeatedDataLaw
from .scaling_law import INFERENCE, TRAINING, GranularLaw, ParametricLaw, RoutedLaw, ScalingLaw

BYTES = 2  # of a parameter in bf16, for a limit of the memory
GRANULARITIES = (1, 2, 4, 8, 16, 32, 64)
ASPECT = 64  # E/L of krajewski2024
ACTIVE, ROUTER = 12 * TRAINING, 14  # FLOPs per E² and per E·X of a layer of krajewski2024
STEPS = 200  # halvings of a bracket in ln N; 60 are enough for a float
DOUBLINGS = 2000  # no bracket is wider: 2^2000 exceeds the largest float


@dataclass(frozen=True)
class ComputeOptimum(Immutable):
    """The optimum of a scaling law. All numbers are from a fit.

    Attributes
    ----------
    parameters : float
        N, as the law counts it.
    tokens : float
        The training tokens.
    loss : float | None
        The loss of the law at the optimum, or None if the law states none.
    training_flops, inference_flops : float
        The FLOPs of training and of the inference tokens.
    method : str
        How the optimum was computed.
    limited : bool
        True if the memory limits the parameters.
    granularity : int | None
        The granularity of the experts, for krajewski2024.
    active : float | None
        The active parameters of a mixture of experts.

    """

    parameters: float
    tokens: float
    loss: float | None
    training_flops: float
    inference_flops: float = 0.0
    method: str = "closed form"
    limited: bool = False
    granularity: int | None = None
    active: float | None = None

    @property
    def ratio(self) -> float:
        """The tokens per parameter."""
        return self.tokens / self.parameters


def for_budget(
    law: ScalingLaw, budget: float, *, inference: float = 0, unique: float | None = None, most: float = math.inf
) -> ComputeOptimum:
    """Return the optimum of a budget for training and inference together.

    Parameters
    ----------
    law
        The scaling law.
    budget
        The FLOPs of training and of the inference tokens.
    inference
        The inference tokens, at 2 FLOPs per parameter.
    unique
        The unique tokens, for a law of repeated data.
    most
        The largest number of parameters.

    Notes
    -----
    With T inference tokens, ``N_tok = F/(6N) - T/3`` for N below ``N_max = F/(2T)``. Let p(N) be the decrease of the
    loss per unit of ln N at constant tokens, and q(N_tok) that per unit of ln N_tok. The derivative of the loss along
    the budget is ``-p(N) + q(N_tok)/(1 - N/N_max)``. p falls in N. N_tok falls in N and q falls in N_tok, so the second
    term grows. The derivative therefore grows, from minus infinity at N = 0 to infinity at N_max (or as N grows without
    limit, if T = 0), and has exactly one root. Up to the root the loss falls, so a limit below the root is the optimum.

    Raises
    ------
    OptionError
        If the law does not answer the question.

    """
    if isinstance(law, AllocationLaw):
        return _allocated(law, budget, inference, unique, most)
    if isinstance(law, GranularLaw):
        return _granular(law, budget, inference, unique, most)
    own = parametric(law, unique)
    closed = unconstrained(own, budget)
    if inference == 0 and not isinstance(own, LimitedDataLaw):
        found, method = closed, "closed form"
    else:

        def derivative(parameters: float) -> float:
            tokens = budget / (TRAINING * parameters) - inference * INFERENCE / TRAINING
            if tokens <= 0:
                return math.inf
            return own.data_slope(tokens) * budget / (TRAINING * parameters * tokens) - own.capacity_slope(parameters)

        found, method = rising_root(derivative, closed), "root of a monotone function"
    limited = found > most
    parameters = min(found, most)
    tokens = budget / (TRAINING * parameters) - inference * INFERENCE / TRAINING
    return ComputeOptimum(
        parameters,
        tokens,
        own.loss(parameters, tokens),
        TRAINING * parameters * tokens,
        INFERENCE * parameters * inference,
        "the limit of the memory" if limited else method,
        limited,
    )


def for_loss(
    law: ScalingLaw, loss: float, *, inference: float = 0, unique: float | None = None, most: float = math.inf
) -> ComputeOptimum:
    """Return the parameters and tokens that reach a loss with the fewest FLOPs for training and inference.

    Parameters
    ----------
    law
        The scaling law.
    loss
        The loss to reach.
    inference
        The inference tokens, at 2 FLOPs per parameter.
    unique
        The unique tokens, for a law of repeated data.
    most
        The largest number of parameters.

    Notes
    -----
    Along the curve of equal loss, ``d ln N_tok / d ln N = -e(N)`` with ``e = p(N)/q(N_tok)`` in the notation of
    :func:`for_budget`. As N grows, N_tok and p fall and q grows, so e falls. The derivative of ``6*N*N_tok + 2*N*T`` by
    ln N, divided by 2N, is ``3*N_tok*(1 - e) + T``. Where e > 1, ``N_tok*(e - 1)`` is a product of two positive falling
    functions; where e <= 1, the derivative is not negative. So its sign changes exactly once.

    Raises
    ------
    OptionError
        If no model reaches the loss, or the law does not answer the question.

    """
    if isinstance(law, AllocationLaw | GranularLaw):
        raise OptionError(f"{law.name} gives the optimum of a budget, not of a loss; use --budget, or another law")
    own = parametric(law, unique)
    if loss <= own.lowest:
        data = f" with {unique:,.0f} unique tokens" if isinstance(own, LimitedDataLaw) else ""
        raise OptionError(
            f"no model reaches a loss of {loss:g} under {law.name}{data}; choose more than {own.lowest:.6g}"
        )

    def derivative(parameters: float) -> float:
        tokens = own.tokens_for(parameters, loss)
        if tokens is None or math.isinf(tokens):
            return -math.inf
        slope = own.data_slope(tokens)
        return TRAINING * tokens * (1 - own.capacity_slope(parameters) / slope) + INFERENCE * inference

    if inference == 0 and not isinstance(own, LimitedDataLaw):
        found, method = cheapest(own, loss), "closed form"
    else:
        found, method = rising_root(derivative, cheapest(own, loss)), "root of a monotone function"
    limited = found > most
    parameters = min(found, most)
    tokens = own.tokens_for(parameters, loss)
    if tokens is None:
        raise OptionError(
            f"no model of at most {most:.4g} parameters reaches a loss of {loss:g} under {law.name}; choose more memory"
        )
    return ComputeOptimum(
        parameters,
        tokens,
        loss,
        TRAINING * parameters * tokens,
        INFERENCE * parameters * inference,
        "the limit of the memory" if limited else method,
        limited,
    )


def parametric(law: ScalingLaw, unique: float | None) -> ParametricLaw:
    """Return the law of the loss for a number of unique tokens. Raises OptionError if the law has none."""
    if isinstance(law, RoutedLaw):
        raise OptionError(
            f"{law.name} was fitted at one number of training tokens, so it has no optimum; use "
            "sf.scaling_law('clark2022').loss(N, experts), or another law"
        )
    if isinstance(law, RepeatedDataLaw) and unique is not None:
        return law.with_unique_tokens(unique)
    if unique is not None:
        raise OptionError(f"{law.name} does not describe repeated data; remove --unique-tokens, or use muennighoff2023")
    if isinstance(law, ParametricLaw):
        return law
    raise OptionError(f"{law.name} gives the optimum of a budget, but not the loss of a model; use another law")


def unconstrained(law: ParametricLaw, budget: float) -> float:
    """Return the optimal parameters of a budget: ``G*(F/6)^(beta/(alpha + beta))``.

    >>> from symformer.scaling.laws import scaling_law
    >>> round(unconstrained(scaling_law("hoffmann2022"), 5.76e23) / 1e9, 1)
    32.2
    """
    own = law.constants
    both = own["alpha"] + own["beta"]
    scale = (own["alpha"] * own["A"] / (own["beta"] * own["B"])) ** (1 / both)
    return float(scale * (budget / TRAINING) ** (own["beta"] / both))


def cheapest(law: ParametricLaw, loss: float) -> float:
    """Return the parameters with the fewest training FLOPs: ``(A*(alpha + beta)/(beta*(loss - E)))^(1/alpha)``."""
    own = law.constants
    share = own["beta"] / (own["alpha"] + own["beta"])
    return float((own["A"] / (share * (loss - law.floor))) ** (1 / own["alpha"]))


def rising_root(function: Callable[[float], float], start: float) -> float:
    """Return the positive root of a function that is first negative and then positive.

    >>> round(rising_root(lambda x: x**2 - 5, 700.0), 6)
    2.236068
    """
    low = high = start
    for _ in range(DOUBLINGS):
        if function(low) < 0:
            break
        low /= 2
    for _ in range(DOUBLINGS):
        if function(high) > 0:
            break
        high *= 2
    for _ in range(STEPS):
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return high if math.isfinite(function(high)) else low


def _allocated(
    law: AllocationLaw, budget: float, inference: float, unique: float | None, most: float
) -> ComputeOptimum:
    """Return the optimum that a law states. Raises OptionError for a question that it does not answer."""
    for given, option in (
        (inference, "--inference-tokens"),
        (unique, "--unique-tokens"),
        (most < math.inf, "--memory"),
    ):
        if given:
            raise OptionError(
                f"{law.name} gives the optimum of training only, without the loss of other models; remove {option}, or "
                "use another law, such as besiroglu2024"
            )
    parameters, tokens = law.optimal_parameters(budget), law.optimal_tokens(budget)
    return ComputeOptimum(parameters, tokens, law.optimal_loss(budget), budget)


def _granular(law: GranularLaw, budget: float, inference: float, unique: float | None, most: float) -> ComputeOptimum:
    """Return the optimum of a mixture of experts over its granularity, width and tokens.

    With ``E = 64*L``, the FLOPs per token are a sum of powers of N. The logarithm of such a sum is convex in ln N, so
    both terms of the loss at a budget are exponentials of convex functions of ln N, and the loss has one minimum.
    """
    if inference or unique is not None or most < math.inf:
        raise OptionError(
            f"{law.name} supports only a budget of training FLOPs; remove --inference-tokens, --unique-tokens and "
            "--memory"
        )
    expansion = law.constants["expansion"]
    found: list[ComputeOptimum] = []
    for granularity in GRANULARITIES:
        own, experts = law.at(granularity), expansion * granularity

        def shape(parameters: float) -> tuple[float, float]:
            layers = (parameters / (8 * expansion + 4) / ASPECT**2) ** (1 / 3)
            return ASPECT * layers, layers

        def per_token(parameters: float, experts: float = experts) -> float:
            width, layers = shape(parameters)
            return (ACTIVE * width**2 + ROUTER * width * experts) * layers

        def derivative(parameters: float, own: ParametricLaw = own, experts: float = experts) -> float:
            width, layers = shape(parameters)
            each = per_token(parameters, experts)
            # width²·layers grows as N, and width·layers as N^(2/3)
            growth = (ACTIVE * width**2 + ROUTER * width * experts * 2 / 3) * layers / each
            return own.data_slope(budget / each) * growth - own.capacity_slope(parameters)

        parameters = rising_root(derivative, 1e9)
        tokens = budget / per_token(parameters)
        width, layers = shape(parameters)
        found.append(
            ComputeOptimum(
                parameters,
                tokens,
                own.loss(parameters, tokens),
                budget,
                method="root of a monotone function",
                granularity=granularity,
                active=12 * width**2 * layers,
            )
        )
    return min(found, key=lambda each: each.loss or math.inf)
