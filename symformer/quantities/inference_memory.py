"""Inference memory: the weights, the key/value cache, and the logits of the token that is being made."""

from __future__ import annotations

from sympy import Integer

from ..account import Measure, Term
from ..errors import RuleError
from ..ledger import Entry, Kind
from ..symbols import S
from .generation import DTYPE, LATENT, SIZES, WINDOW, alone, keys_and_values
from .quantity import Convention, Conventions, Quantity


def held(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The weights an entry stores, what it keeps of C tokens, and the logits it makes of one."""
    size = SIZES[conventions["weights"]]
    terms = [Term(weight.path, (*weight.shape, size)) for weight in entry.weights]
    if entry.kind in (Kind.SCORES, Kind.MIX):
        terms += keys_and_values(entry, SIZES[conventions["cache"]], conventions)
    if entry.logits:
        alone(entry, conventions, ("context",))
        if len(entry.output.shape) != 3:
            raise RuleError(f"{entry.path}: the logits of one token are known for [B,S,V] only")
        one = tuple(dim.xreplace({S: Integer(1)}) for dim in entry.output.shape)
        terms.append(Term(f"{entry.path} (logits)", (*one, SIZES[conventions["logits"]])))
    return tuple(terms)


QUANTITY = Quantity(
    Measure("inference-memory", "bytes of inference memory", "M", "bytes"),
    "Every weight once, the keys and values of C tokens in each of B sequences, and the logits of one token in each. "
    "What is needed only for a moment is not counted.",
    dict.fromkeys((kind for kind in Kind if kind is not Kind.STORED), held),
    ("what is held", "multiplied out"),
    {
        "weights": Convention(DTYPE),
        "cache": Convention(DTYPE),
        "window": WINDOW,
        "latent": LATENT,
        "logits": Convention({"fp32": "4 bytes an element", **{k: v for k, v in DTYPE.items() if k != "fp32"}}),
    },
)
