"""The FLOPs of a training run by the rule of 6 FLOPs per parameter and token, with published numbers of tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from importlib.resources import files

from ...language.notation.text import number as spelled_number
from ...language.printed_number import PrintedNumber
from ...language.symbols import N_tok, symbol
from ...models.model import Model
from .counting_changes import CountingChange, Rank
from .counting_method import CountingMethod
from .parameter_counts import of_weights
from .weight_sizes import named_size

RULE = 6  # FLOPs per parameter and token: 2 forward, 4 backward
FEW = 10**8  # tokens; no training run has fewer
RECOMPUTED = CountingChange(
    frozenset({"recompute"}), "every activation recomputed in the backward pass, 8 FLOPs per parameter and token",
    scale=Fraction(4, 3), rank=Rank.RARE,
)  # fmt: skip


@dataclass(frozen=True)
class TrainingTokens:
    """The number of tokens on which a model was trained, as published."""

    tokens: int
    source: str


@cache
def training_tokens() -> Mapping[str, TrainingTokens]:
    """Return the published numbers of training tokens by model."""
    text = (files("symformer.papers") / "training_tokens.json").read_text("utf-8")
    return {
        target: TrainingTokens(each["tokens"], each["source"])
        for each in json.loads(text)
        for target in each["targets"]
    }


def is_training_run(model: Model, number: PrintedNumber) -> bool:
    """Return True if a number of FLOPs is of the magnitude of a training run."""
    return number.unit == "FLOPs" and number.value >= RULE * FEW * _weights(model).value


def training_compute(model: Model, number: PrintedNumber) -> Iterator[CountingMethod]:
    """Yield 6 FLOPs for each parameter and token, of the exact count and of the size in the name of the model."""
    weights = _weights(model)
    for tokens, source in _tokens(model, number):
        counts = f"{RULE} FLOPs per parameter for {spelled_number(tokens)} training tokens{source}"
        scale, factors = Fraction(RULE * tokens), (RULE, tokens)
        way = replace(weights, counts=counts, scale=scale, factors=factors, unit="FLOPs")
        yield replace(way, made=lambda: (*weights.changes, RECOMPUTED))
        for named in named_size(model, weights):
            yield replace(way, says=named.says, rank=named.rank, nominal=named.nominal, model=None)


def needed_tokens(model: Model, number: PrintedNumber) -> Fraction:
    """Return the number of tokens for which 6 FLOPs per parameter and token equal a number."""
    return number.value / (RULE * _weights(model).value)


def _weights(model: Model) -> CountingMethod:
    return of_weights(model, "active-params" if symbol("X") in model.known else "params", "")


def _tokens(model: Model, number: PrintedNumber) -> list[tuple[int, str]]:
    if number.words.tokens:
        return [(tokens, "") for tokens in number.words.tokens[:1]]
    if N_tok in model.known:
        return [(model.known[N_tok], "")]
    published = training_tokens().get(str(model.target))
    return [(published.tokens, f" ({published.source})")] if published is not None else []
