"""Generation FLOPs: a prompt and the tokens that follow, each of them decoded from the cache."""

from __future__ import annotations

from ..account import Measure, Term
from ..errors import RuleError
from ..ledger import Entry
from ..symbols import C, N_new, S
from .contractions import ATTENTION, COUNT, EMBEDDING, rules
from .generation import one_token, prompt
from .quantity import Conventions, Quantity

PASSES = N_new - 1


def generated(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The prompt, then N_new - 1 passes of one token, after S, S + 1, ..., S + N_new - 2 in the cache.

    In a pass attention reads C + 1 keys; over the passes those are S + 1, S + 2, ..., S + N_new - 1.
    """
    if entry.window is not None:
        raise RuleError(f"{entry.path}: what a window keeps has no closed form over all passes; see decode-flops")
    keys = PASSES * (2 * S + N_new) / 2
    terms = list(prompt(entry, {**conventions, "logits": "last"}))
    for term in one_token(entry, conventions):
        attends = C + 1 in term.factors
        factors = tuple(keys if factor == C + 1 else factor for factor in term.factors)
        terms.append(Term(f"{term.label} (decoding)", factors if attends else (*factors, PASSES)))
    return tuple(terms)


QUANTITY = Quantity(
    Measure("generation-flops", "generation FLOPs", "F_gen", "FLOPs"),
    "N_new new tokens in each of B sequences after a prompt of S tokens, with keys and values cached. The prompt's "
    "pass computes logits at its last position only and so gives the first new token; each of the others takes one "
    "pass, which makes N_new - 1 of them; the last token is not fed back. 2 FLOPs a multiply-add.",
    rules(generated),
    ("operation", "multiplied out"),
    {"attention": ATTENTION, "embedding": EMBEDDING, "count": COUNT},
)
