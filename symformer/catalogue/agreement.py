"""Compare two readings of one model: quantities measured in torch, and the sums over its operations.

One quantity may be answered from the first and a quantity that contains it from the second: inference memory contains
the KV cache, and generation is a prompt and its decoding. If the two readings differ, neither is an answer.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..language.errors import SymformerError, WitnessError
from ..language.sizes import Numbers, evaluate
from ..language.symbols import SYMBOLS, B, B_vis, C, S, S_enc
from ..models.model import Model
from .record import OPERATIONS, Record

# Sizes of a run, all different: few tokens, more, and more than any window or chunk that a config is likely to have.
RUNS: tuple[Numbers, ...] = tuple({B: 2, B_vis: 3, S: 29, S_enc: 31, C: tokens} for tokens in (7, 67, 40_009))


def check_agreement(target: str, records: Mapping[str, Record], asked: str) -> None:
    """Raise WitnessError if two records of a model give different numbers for one quantity at the model's config.

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
                    f"two readings of {target} contradict each other, so neither is shown: at {sizes}, its {quantity} "
                    f"is {ours:,} as measured in torch and {theirs:,} as the sum over its operations"
                )


def _value(target: str, quantity: str, record: Record, run: Numbers) -> int | None:
    """Return the number of a record at its config and these sizes of a run, or None if it has none."""
    numbers = {SYMBOLS[letter]: record.config[name] for name, letter in record.letters.items() if name in record.config}
    numbers = {**numbers, **run}
    try:
        formula = Model(target=target, component=record.lifted or record.counted).formula(quantity)
        for condition in formula.constraints:
            condition.check(numbers)
        return evaluate(formula.expanded, numbers, formula.id)
    except SymformerError:  # the record has no answer there
        return None
