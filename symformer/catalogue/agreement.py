"""Compare two formulas for one quantity: one measured in torch, one summed over the recognized operations.

A quantity can use the first formula, and a quantity that contains it the second: inference memory contains the KV
cache, and generation consists of prefill and decoding. If the two formulas differ, neither is reported.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..language.errors import SymformerError, WitnessError
from ..language.sizes import Numbers, evaluate
from ..language.symbols import B, B_vis, C, S, S_enc, named_symbol
from ..models.model import Model
from .record import OPERATIONS, Record

# Sizes of a run, all different: few tokens, more tokens, and more than any likely window or chunk size.
RUNS: tuple[Numbers, ...] = tuple({B: 2, B_vis: 3, S: 29, S_enc: 31, C: tokens} for tokens in (7, 67, 40_009))


def check_agreement(target: str, records: Mapping[str, Record], asked: str) -> None:
    """Raise WitnessError if two records of a model have different values of a quantity at the model's config.

    Parameters
    ----------
    target
        The name of the model, for the message.
    records
        The records of the model so far, by quantity; its operations are under OPERATIONS.
    asked
        The key of the requested record, which is compared with all others.

    """
    known = records.get(OPERATIONS)
    if known is None or known.lifted is None:
        return
    for quantity, record in records.items():
        if record.traced is None or asked not in (quantity, OPERATIONS) or quantity not in known.lifted.confirmed:
            continue
        for run in RUNS:
            ours, theirs = _value(target, quantity, record, run), _value(target, quantity, known, run)
            if ours is not None and theirs is not None and ours != theirs:
                sizes = ", ".join(f"{size}={number:,}" for size, number in run.items())
                raise WitnessError(
                    f"two formulas for {target} contradict each other, so neither is shown: at {sizes}, its {quantity} "
                    f"is {ours:,} as measured in torch and {theirs:,} as the sum over its operations"
                )


def _value(target: str, quantity: str, record: Record, run: Numbers) -> int | None:
    """Return the value of a record at its config and these sizes of a run, or None if it has no value."""
    numbers = {
        named_symbol(letter): record.config[name] for name, letter in record.letters.items() if name in record.config
    }
    numbers = {**numbers, **run}
    try:
        formula = Model(target=target, component=record.lifted or record.counted).formula(quantity)
        for condition in formula.constraints:
            condition.check(numbers)
        return evaluate(formula.expanded, numbers, formula.id)
    except SymformerError:  # the record does not hold at these sizes
        return None
