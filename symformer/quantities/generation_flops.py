"""Generation FLOPs: a prompt and the tokens that follow, each of them decoded from the cache."""

from __future__ import annotations

from sympy import together

from ..formulas.account import Measure, Term
from ..language.errors import RuleError
from ..language.symbols import C, N_new, S
from ..ledger.facts import Entry
from .contractions import ATTENTION, COUNT, EMBEDDING, rules
from .generation import FromPrompt, one_token, prompt
from .quantity import Conventions

PASSES = N_new - 1


def generated(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The prompt, then N_new - 1 passes of one token, after S, S + 1, ..., S + N_new - 2 in the cache.

    In a pass attention reads C + 1 keys; over the passes those are S + 1, S + 2, ..., S + N_new - 1.
    """
    if entry.window is not None and not entry.output.encoded:
        raise RuleError(f"{entry.path}: what a window keeps has no closed form over all passes; see decode-flops")
    return (*prompt(entry, {**conventions, "logits": "last"}), *map(_passes, one_token(entry, conventions)))


def _passes(term: Term) -> Term:
    """What a term of one pass comes to in all of them: as often as on the average, in which C is S + (N_new - 2)/2."""
    label, grows = f"{term.label} (decoding)", [factor for factor in term.factors if factor.has(C)]
    if not grows:
        return Term(label, (*term.factors, PASSES))
    if len(grows) > 1 or grows[0].diff(C, 2) != 0:
        raise RuleError(f"{label}: what does not grow in step with C has no closed form over all passes")
    average = together(grows[0].xreplace({C: S + N_new / 2 - 1}))
    return Term(label, tuple(PASSES * average if factor is grows[0] else factor for factor in term.factors))


QUANTITY = FromPrompt(
    Measure("generation-flops", "generation FLOPs", "F_gen", "FLOPs"),
    "N_new new tokens in each of B sequences after a prompt of S tokens, with a cache. The prompt's "
    "pass computes logits at its last position only and so gives the first new token; each of the others takes one "
    "pass, which makes N_new - 1 of them; the last token is not fed back. 2 FLOPs a multiply-add.",
    rules(generated),
    ("operation", "multiplied out"),
    {"attention": ATTENTION, "embedding": EMBEDDING, "count": COUNT},
    encoder="The prompt is the decoder's; the encoder runs once, with it.",
)
