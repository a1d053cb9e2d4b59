"""FLOPs of a whole training run: training FLOPs per token times the number of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import fraction

from ..formulas.account import Line, Measure
from ..language.sizes import Condition, Divides
from ..language.symbols import B, N_tok, S
from ..ledger.facts import Ledger
from .per_token import by_token, holds_tokens
from .quantity import Conventions, Countable
from .train_flops import QUANTITY as STEP
from .train_flops import TrainFlops


@dataclass(frozen=True)
class RunFlops(TrainFlops):
    """Training FLOPs of many batches."""

    def check(self, part: Countable, given: Mapping[str, str]) -> None:
        """Raise RuleError for a model with inputs other than tokens."""
        holds_tokens(part.title, part.ledger, self.measure.name)

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the account of a training step, scaled to all tokens. Raises RuleError."""
        return by_token(super().account(ledger, conventions), N_tok)

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the divisibility of N_tok: by B·S if a term is counted per batch, by S if one is per sequence."""
        terms = (term for line in self.account(ledger, conventions).walk() for term in line.terms)
        below = {size for term in terms for each in term.factors for size in fraction(each)[1].free_symbols}
        if B in below:
            whole: tuple[Condition, ...] = (Divides(B * S, N_tok, "choose a whole number of batches"),)
        else:
            whole = (Divides(S, N_tok, "choose a whole number of sequences"),) if S in below else ()
        return (*super().conditions(ledger, conventions), *whole)


QUANTITY = RunFlops(
    Measure("run-flops", "FLOPs of a training run", "F_run", "FLOPs"),
    "The FLOPs of training on N_tok tokens in sequences of S, with one forward and one backward pass over each "
    "sequence: contractions (matrix products) only, at 2 FLOPs per multiply-add. The backward pass of a product "
    "computes two gradients, one per operand. The gradient with respect to the model's input is not computed.",
    STEP.rules,
    STEP.columns,
    STEP.conventions,
    "The training FLOPs of one batch have a certificate. A run's FLOPs are that count times the number of batches; the "
    "tests compare them with published training runs.",
    derived_from="train-flops",
    notes=STEP.notes,
    logits=STEP.logits,
    encoder="The N_tok tokens are the decoder's; the encoder reads one sequence per S tokens.",
    frozen=STEP.frozen,
    rule_sets=STEP.rule_sets,
    of_a_batch="The FLOPs of training on N_tok tokens in sequences of S: the FLOPs of one batch of B sequences times "
    "the number of batches. For one batch:",
)
