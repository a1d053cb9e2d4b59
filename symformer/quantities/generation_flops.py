"""Generation FLOPs: a prompt and the tokens generated after it, each decoded from the cache."""

from __future__ import annotations

from sympy import together

from ..formulas.account import Measure, Term
from ..language.errors import RuleError
from ..language.symbols import C, N_new, S
from ..ledger.facts import Entry
from .cache_rules import CHOSEN, FromPrompt, chooses, one_token, prompt
from .contractions import ATTENTION, COUNT, EMBEDDING, RECURRENT_RULE, rules
from .quantity import Conventions

PASSES = N_new - 1


def generation_terms(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the terms of the prompt and of N_new - 1 decoding steps, with S, ..., S + N_new - 2 cached tokens.

    A step reads C + 1 keys: S + 1, S + 2, ..., S + N_new - 1 over all steps.
    """
    if entry.window is not None and not entry.output.encoded:
        kind = "a sliding window" if entry.compressed is None else "compressed keys"
        raise RuleError(
            f"{entry.path}: with {kind}, the sum over all decoding steps has no closed form; use decode-flops"
        )
    return (*prompt(entry, {**conventions, "logits": "last"}), *map(_passes, one_token(entry, conventions)))


def _passes(term: Term) -> Term:
    """Return a term summed over all steps: N_new - 1 times its average, at C = S + (N_new - 2)/2."""
    label, grows = f"{term.label} (decoding)", [factor for factor in term.factors if factor.has(C)]
    if not grows:
        return Term(label, (*term.factors, PASSES))
    if len(grows) > 1 or grows[0].diff(C, 2) != 0:
        raise RuleError(f"{label}: not linear in C, so the sum over all decoding steps has no closed form")
    average = together(grows[0].xreplace({C: S + N_new / 2 - 1}))
    return Term(label, tuple(PASSES * average if factor is grows[0] else factor for factor in term.factors))


QUANTITY = FromPrompt(
    Measure("generation-flops", "generation FLOPs", "F_gen", "FLOPs"),
    "The FLOPs of generating N_new tokens in each of B sequences after a prompt of S tokens, with a KV cache, at 2 "
    "FLOPs per multiply-add. The prompt's pass computes logits at its last position only and returns the first new "
    "token; the other N_new - 1 tokens take one decoding step each. The last token is not fed back.",
    rules(generation_terms),
    ("operation", "factors"),
    {"attention": ATTENTION, "embedding": EMBEDDING, "count": COUNT},
    notes={chooses: CHOSEN, **RECURRENT_RULE},
    encoder="The prompt is the decoder's; one pass of the encoder is included.",
)
