"""Memory traffic: the bytes that the operations of a run read and write."""

from __future__ import annotations

from dataclasses import dataclass

from ..formulas.account import Line, Measure, Term
from ..language.errors import RuleError
from ..ledger.facts import Entry, Ledger, OperationKind
from .cache_rules import DTYPE
from .contractions import LOGITS
from .quantity import Convention, Conventions, tally
from .stored_format import WEIGHTS, InFormat
from .traffic_rules import ENCODER, KERNELS, OF_RUN, PHASE, RULES, in_format, rows_read
from .weight_formats import MEANINGS, UNUSUAL, StoredWeights


@dataclass(frozen=True)
class Traffic(InFormat):
    """The bytes read and written, with the weights in the dtype of the run or as they are stored in a format."""

    def stored(self, ledger: Ledger, conventions: Conventions) -> StoredWeights:
        """Return the bytes of the weights in their format; none in the dtype of the run, which the rules count."""
        return super().stored(ledger, conventions) if in_format(conventions) else StoredWeights({})

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the bytes of every entry, including the weights that it reads in their format."""
        kept = self.stored(ledger, conventions).terms
        owner = {weight.path: id(entry) for _, entry in ledger for weight in entry.weights}

        def terms(entry: Entry) -> tuple[Term, ...]:
            moved = self.rules[entry.kind](entry, conventions)
            if not moved or entry.kind is OperationKind.PARAMETER:  # the operations that share a parameter read it
                return moved
            if not kept:
                return moved
            if elsewhere := [weight.path for weight in entry.shared if weight.path not in owner]:
                raise RuleError(
                    f"{entry.path}: weights={conventions[WEIGHTS]} is not supported for {elsewhere[0]}, which another "
                    "part stores"
                )
            owners = dict.fromkeys(owner[weight.path] for weight in (*entry.weights, *entry.shared))
            read = tuple(term for each in owners for term in kept.get(each, ()))
            return (*moved, *(rows_read(entry, read, conventions) if entry.kind is OperationKind.LOOKUP else read))

        return tally(ledger.root, terms)


WEIGHT_FORMAT = Convention(
    {
        OF_RUN: "the weights have the dtype of the run",
        **{name: f"kernels read the weights as they are stored: {meaning}" for name, meaning in MEANINGS.items()},
    },
    hidden_by_default=True,
    unusual=UNUSUAL,
)
QUANTITY = Traffic(
    Measure("traffic", "bytes of memory traffic", "Q", "bytes"),
    "The bytes that the operations of one inference run read and write: each operation reads its inputs and its "
    "weights once and writes its output once. Views and dropout (disabled) move no data. Fixed tables count as inputs "
    "of the operations that read them. Indices have 8 bytes.",
    RULES,
    ("tensor read or written", "factors"),
    {
        "phase": PHASE,
        "kernels": KERNELS,
        "logits": LOGITS,
        "dtype": Convention(DTYPE),
        WEIGHTS: WEIGHT_FORMAT,
    },
    "torch has no counter for this. The tests compare the terms of matrix products with the inputs and outputs of "
    "torch's products, and the other terms with hand calculations.",
    by_format="it counts the bytes of the weights that are read",
    encoder=ENCODER,
)
