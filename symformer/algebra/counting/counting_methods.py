"""The counts that a published number can be, by its unit, its magnitude and the words around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from ...language.errors import OptionError, SizeError, SymformerError, joined
from ...language.number_words import PERCENT
from ...language.printed_number import PrintedNumber
from ...language.symbols import C, N_tok, P
from ...models.model import Model
from ...quantities import quantity as find_quantity
from .counting_method import CountingMethod
from .file_sizes import rounded_file_sizes
from .parameter_changes import scope_changes
from .parameter_counts import parameter_counts
from .quantity_counts import count_of_quantity, operation_counts, share_of_quantity
from .token_amounts import cache_of_context, cache_of_one_token, flops_of_one_token
from .training_compute import is_training_run, training_compute
from .weight_sizes import (
    BYTES,
    format_sizes,
    in_bytes,
    in_format,
    named_formats,
    named_size,
    named_size_in_bytes,
    said_bytes,
    training_states,
)

STORED = ("params", "active-params", "trainable-params")  # counts in elements with weights as rows
OPERATIONS = ("flops", "macs", "train-flops", "run-flops", "prefill-flops", "decode-flops", "generation-flops")
FEW = 100  # parameters per byte, above which a size in bytes cannot be the size of the weights
TRAINING = ("train-flops", "run-flops")
# The units in which a quantity can be printed, by its own unit.
FITS = {"FLOPs": ("FLOPs", "MACs"), "MACs": ("MACs",), "bytes": ("bytes", "elements"), "elements": ("elements",)}
FITS |= dict.fromkeys(("of the FLOPs", "of the peak", "of the time"), (PERCENT,))


def counting_methods(
    model: Model, number: PrintedNumber, quantity: str | None, given: Mapping[str, str]
) -> Iterator[CountingMethod]:
    """Yield the counts that a published number can be, plain counts first. Raises SymformerError if there are none."""
    ways = _methods(model, number, quantity, given)
    first = next(ways, None)
    if first is None:
        words = number.words
        named = f"part {words.scope!r}" if words.scope else f"support for {joined(list(words.formats))}"
        raise OptionError(f"{model.target} has no {named}, which {number.text!r} names")
    yield first
    yield from ways


def _methods(
    model: Model, number: PrintedNumber, quantity: str | None, given: Mapping[str, str]
) -> Iterator[CountingMethod]:
    words = number.words
    if number.unit == PERCENT and quantity is None:
        raise OptionError(f"{number.text!r} is a percentage; name the quantity, as in -q mfu")
    if quantity is None and words.quantity == "kv-cache":
        quantity = "kv-cache"
    if quantity is not None:
        _refuse_wrong_unit(number, find_quantity(quantity).measure.unit, quantity)
    elif given:
        raise OptionError(f"{next(iter(given))} is a convention of a quantity; name the quantity with -q")
    _refuse_other_words(number, quantity)
    if words.per_token and not (words.active and number.unit in ("", "elements")):
        yield from _of_one_token(model, number, quantity, given)
    elif quantity is not None:
        yield from _of_quantity(model, number, quantity, given)
    elif number.unit in ("FLOPs", "MACs"):
        yield from _of_operations(model, number)
    elif number.unit == "bytes":
        yield from cache_of_context(model, number) if words.tokens else _of_bytes(model, number)
    else:
        counts = parameter_counts(model, number.active)
        if words.suffixed and not words.scope:
            weights = next(counts)
            yield weights
            yield from named_size(model, weights)
        yield from _scoped(counts, number)


def _refuse_wrong_unit(number: PrintedNumber, unit: str, quantity: str) -> None:
    fits = FITS.get(unit, ())
    if not fits:
        raise OptionError(f"{quantity} is in {unit}; explain accepts only counts")
    if PERCENT in fits and number.unit != PERCENT:
        raise OptionError(f"{number.text!r} is not a percentage, but {quantity} is one; write it as in 46.2 %")
    if number.unit and number.unit not in fits:
        raise OptionError(f"{number.text!r} is in {number.unit}, but {quantity} is counted in {unit}")


def _refuse_other_words(number: PrintedNumber, quantity: str | None) -> None:
    """Refuse words that have no meaning for the unit or the quantity of a number."""
    words, unit = number.words, number.unit
    stored = quantity in STORED or (quantity is None and unit in ("", "elements"))
    size = quantity == "weight-memory" or (quantity is None and unit == "bytes")
    if words.scope and not stored and not (size and not words.per_token and not words.tokens):
        raise OptionError(f"{words.scope!r} in {number.text!r} is a part of the parameters, not of {quantity or unit}")
    counts_tokens = words.tokens or (words.per_token and not words.active)  # "37B active parameters per token"
    if counts_tokens and (stored or quantity == "weight-memory"):
        raise OptionError(f"{number.text!r} names tokens, but weights do not depend on tokens; name the unit or -q")
    if words.formats and (unit in ("FLOPs", "MACs", PERCENT) or stored):
        raise OptionError(f"{words.formats[0]!r} in {number.text!r} is a weight format; name a size in bytes")
    if words.quantity in ("training", "flops") and (stored or quantity == "kv-cache"):
        raise OptionError(f"{number.text!r} is not a number of FLOPs; name its unit")


def _of_one_token(
    model: Model, number: PrintedNumber, quantity: str | None, given: Mapping[str, str]
) -> Iterator[CountingMethod]:
    if quantity in (None, "flops", "macs", "train-flops") and number.unit in ("FLOPs", "MACs") and not given:
        yield from flops_of_one_token(model, number)
    elif quantity in (None, "kv-cache") and number.unit in ("bytes", "elements", ""):
        yield from cache_of_one_token(model, number, given)
    else:
        raise OptionError(f"{number.text!r} is per token; explain knows FLOPs and the cache of one token")


def _of_quantity(
    model: Model, number: PrintedNumber, quantity: str, given: Mapping[str, str]
) -> Iterator[CountingMethod]:
    if quantity in STORED and not given:
        yield from _scoped(parameter_counts(model, quantity == "active-params", quantity), number)
    elif quantity in OPERATIONS:
        known = () if quantity not in TRAINING or given else _of_training(model, number, quantity)
        yield from known or operation_counts(model, number, quantity, given=given)
    elif number.unit == PERCENT:
        yield share_of_quantity(model, quantity, given)
    elif quantity == "kv-cache" and (number.words.tokens or (C not in model.known and P not in model.known)):
        yield from cache_of_context(model, number, given)
    else:
        yield count_of_quantity(model, number, quantity, given)


def _of_training(model: Model, number: PrintedNumber, quantity: str) -> list[CountingMethod]:
    """Return the counts of a training run, or [] if its tokens are unknown or sizes of the model."""
    if quantity == "run-flops" and N_tok in model.known:
        if number.words.tokens:
            raise OptionError(f"{number.text!r} names a number of tokens, and N_tok is given too; remove one of them")
        return []
    if not number.words.tokens and not is_training_run(model, number):
        return []
    return list(training_compute(model, number))


def _of_operations(model: Model, number: PrintedNumber) -> Iterator[CountingMethod]:
    """Yield the FLOPs of a training run, or of one pass if a run would be larger."""
    words = number.words
    if words.tokens or is_training_run(model, number):
        ways = list(training_compute(model, number))
        if not ways:
            raise SizeError(
                f"the number of training tokens of {model.target} is unknown; write the number as "
                f"'{number.text} for 300B tokens', or give --set N_tok=300000000000"
            )
        yield from ways
        return
    if words.quantity != "training":
        yield from operation_counts(model, number, "flops")
    if words.quantity != "flops":
        yield from operation_counts(model, number, "train-flops", int(words.quantity != "training"))


def _of_bytes(model: Model, number: PrintedNumber) -> Iterator[CountingMethod]:
    """Yield the sizes of the weights: at a number of bytes each, in the formats, and of training."""
    words = number.words
    if not words.formats and not words.scope and number.value * FEW < model.params.value():
        with suppress(SymformerError):  # too few for the weights of any format; not every model has a cache
            yield from cache_of_one_token(model, number)
            return
    names, widths = named_formats(words.formats)
    own = model.provenance.weights
    if own and not words.formats and not words.scope:
        yield from in_format(model, own, f"the size of the weights as published (weights={own})", ())
    if words.quantity == "training":
        yield from (replace(way, says=way.says[:-1]) for way in training_states(model))
        return
    specific = [] if words.scope or widths else names
    named = [
        way for name in specific for way in in_format(model, name, f"the size of the weights (weights={name})", ())
    ]
    yield from named
    yield from rounded_file_sizes(model, number, named)
    if not words.formats or widths:
        for way in parameter_counts(model, number.active):
            for size in widths or BYTES:
                yield from _scoped([in_bytes(way, size, said_bytes(size))], number)
    if words.scope:
        return
    if not number.active and (not words.formats or widths):
        yield from named_size_in_bytes(model, widths)
    if not number.active and (not words.formats or widths):
        if not widths:
            yield from training_states(model)
        formats = list(format_sizes(model, names))
        yield from formats
        yield from rounded_file_sizes(model, number, formats)


def _scoped(ways: Iterator[CountingMethod] | list[CountingMethod], number: PrintedNumber) -> Iterator[CountingMethod]:
    """Yield the counts of the part that the words name, or the given counts if they name none."""
    scope = number.words.scope
    for way in ways:
        if number.words.total and way.formula.measure.name == "active-params" and not number.active:
            continue
        if not scope:
            yield way
        for change in scope_changes(way.formula, scope) if scope else ():
            yield replace(way, stated=(change,))
