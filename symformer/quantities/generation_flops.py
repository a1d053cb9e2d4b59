"""Generation FLOPs: a prompt and the tokens generated after it, each decoded from the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Dummy, Expr, Integer, Max, Min, together

from ..formulas.account import Measure, Term
from ..language.errors import RuleError
from ..language.symbols import C, N_new, S
from ..ledger.facts import Entry
from .cache_rules import CHOSEN, FromPrompt, chooses, one_token, prompt
from .contractions import ATTENTION, COUNT, EMBEDDING, RECURRENT_RULE, rules
from .quantity import Conventions

if TYPE_CHECKING:
    from ..formulas.formula import Formula

PASSES = N_new - 1
IN_WINDOW = (
    "A sum over steps that fill a window has no certificate of its own. The FLOPs of the prompt and of one decoding "
    "step have certificates, and the tests compare the sum with the passes of torch classes."
)


def generation_terms(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the terms of the prompt and of N_new - 1 decoding steps, with S, ..., S + N_new - 2 cached tokens.

    A step reads C + 1 keys: S + 1, S + 2, ..., S + N_new - 1 over all steps.
    """
    if entry.compressed is not None and entry.window is not None and not entry.output.encoded:
        raise RuleError(
            f"{entry.path}: with compressed keys, the sum over all decoding steps has no closed form; use decode-flops"
        )
    return (*prompt(entry, {**conventions, "logits": "last"}), *map(_passes, one_token(entry, conventions)))


def _passes(term: Term) -> Term:
    """Return a term summed over all steps."""
    label, grows = f"{term.label} (decoding)", [factor for factor in term.factors if factor.has(C)]
    if not grows:
        return Term(label, (*term.factors, PASSES))
    total = _sum_over_steps(grows[0]) if len(grows) == 1 else None
    if total is None:
        raise RuleError(f"{label}: not linear in C, so the sum over all decoding steps has no closed form")
    return Term(label, tuple(total if factor is grows[0] else factor for factor in term.factors))


def _sum_over_steps(factor: Expr) -> Expr | None:
    """Return the sum of a factor over C = S, ..., S + N_new - 2, or None if it has no short form.

    A factor that is linear in C is N_new - 1 times its average, at C = S + (N_new - 2)/2. A window of w tokens limits
    the sum of min(C, w - 1), which grows in t = min(N_new - 1, max(w - 1 - S, 0)) steps, to
    (N_new - 1)(w - 1) - t(w - 1 - S) + t(t - 1)/2.
    """
    limits = [call for call in factor.atoms(Min) if call.has(C)]
    if not limits:
        return PASSES * together(factor.xreplace({C: S + N_new / 2 - 1})) if factor.diff(C, 2) == 0 else None
    limit, *others = limits
    least = Dummy()
    rest = factor.xreplace({limit: least})
    growing = [each for each in limit.args if each.has(C)]
    if others or rest.has(C) or rest.diff(least, 2) != 0 or len(growing) > 1 or growing[0].diff(C) != 1:
        return None
    shift = growing[0] - C
    most = Min(*(each for each in limit.args if not each.has(C))) - shift
    steps = Min(PASSES, Max(most - S, 0))
    total = PASSES * (most + shift) - steps * (most - S) + steps * (steps - 1) / 2
    return rest.diff(least) * total + PASSES * rest.xreplace({least: Integer(0)})


class Generation(FromPrompt):
    """The FLOPs of a prompt and of the tokens that are generated after it."""

    def check_description(self, formula: Formula) -> str:
        """Return how a formula is checked whose steps grow only until they fill a window, or ""."""
        return IN_WINDOW if formula.expr.has(Max) else ""


QUANTITY = Generation(
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
