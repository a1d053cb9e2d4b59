"""Amounts for tokens: the cache of one token or of a context, and the FLOPs of one token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Integer

from ...language.errors import OptionError, joined
from ...language.printed_number import PrintedNumber
from ...language.symbols import B, C, P, symbol
from ...models.model import Model
from ...quantities import quantity as find_quantity
from .counting_changes import Rank
from .counting_method import CountingMethod
from .parameter_changes import all_key_heads
from .parameter_counts import of_weights
from .quantity_counts import NONE, count_of_quantity
from .weight_sizes import named_size

CONTEXTS = tuple(2**power for power in range(9, 21))  # usual lengths of a context, if none is given
FORWARD, TRAINED = 2, 6  # FLOPs per parameter and token
PAD = 32  # llama.cpp rounds the length of a context up to a multiple of it
DTYPES = {"f16": "fp16", "half": "fp16", "float16": "fp16", "bfloat16": "bf16", "f32": "fp32", "float32": "fp32"}


def cache_of_one_token(
    model: Model, number: PrintedNumber, given: Mapping[str, str] = NONE
) -> Iterator[CountingMethod]:
    """Yield the cache that each token takes. Raises OptionError if the cache is not proportional to the tokens."""
    one, two = (_cache(model, number, count, given) for count in (1, 2))
    if two.value != 2 * one.value:
        raise OptionError(
            f"{model.target} has no cache per token, because a part of its cache does not depend on the number of "
            "tokens; use -q kv-cache and --set C=4096"
        )
    yield replace(one, counts=f"{_kind(one)} of one token")


def cache_of_context(model: Model, number: PrintedNumber, given: Mapping[str, str] = NONE) -> Iterator[CountingMethod]:
    """Yield the cache of the tokens that the words name, or else of usual numbers of tokens."""
    if number.words.tokens:
        for count in number.words.tokens:
            way = _cache(model, number, count, given)
            yield replace(way, counts=f"{_kind(way)} of {count:,} tokens")
        return
    one = _cache(model, number, 1, given).value
    if number.value < PAD * one:
        yield from cache_of_one_token(model, number, given)
    positions = model.known.get(P, 0) or model.provenance.positions or 0
    lengths = [positions] * bool(positions) + [each for each in CONTEXTS if each != positions]
    for taken in (number, number.binary):
        length = taken.value / one if taken is not None else Fraction(0)
        if length >= PAD and length % PAD == 0 and int(length) not in lengths:
            lengths.append(int(length))
    for tokens in lengths:
        way = _cache(model, number, tokens, given)
        says = f"a context of {tokens:,} tokens" + (", its longest" if tokens == positions else "")
        yield replace(way, counts=_kind(way), says=(says,), rank=Rank.NOMINAL)


def _kind(way: CountingMethod) -> str:
    return way.counts.partition(" (")[0].replace("the bytes of the", "the")


def _cache(model: Model, number: PrintedNumber, tokens: int, given: Mapping[str, str]) -> CountingMethod:
    named = [DTYPES.get(each, each) for each in number.words.formats]
    known = find_quantity("kv-cache").choices["dtype"].meanings
    if wrong := [each for each in named if each not in known]:
        raise OptionError(f"{joined(wrong)} is not a type of a cache; the types are {joined(list(known))}")
    dtype = {"dtype": named[0]} if named else {}
    sized = model.set({B: model.known.get(B, 1), C: Integer(tokens)})
    way = count_of_quantity(sized, number, "kv-cache", {**dtype, **given})
    return replace(way, made=lambda: (*way.changes, *all_key_heads(sized, way.formula)))


def flops_of_one_token(model: Model, number: PrintedNumber) -> Iterator[CountingMethod]:
    """Yield the rules of thumb for one token: 2 FLOPs per parameter, or 6 for training."""
    trains = number.words.quantity == "training"
    each = Fraction(1, 2) if number.unit == "MACs" else Fraction(1)
    weights = of_weights(model, "active-params" if symbol("X") in model.known else "params", "")
    for rule, other in ((FORWARD, "only the forward pass counted"), (TRAINED, "the backward pass counted too")):
        says = () if (rule == TRAINED) == trains else (other,)
        counts = f"{rule * each} {number.unit} per parameter for one token"
        for way in (weights, *named_size(model, weights)):
            yield replace(way, counts=counts, scale=rule * each, says=(*way.says, *says), unit=number.unit)
