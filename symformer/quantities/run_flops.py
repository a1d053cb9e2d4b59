"""FLOPs of a whole training run: what training costs a token, times the tokens that it goes over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import fraction

from ..formulas.account import Line, Measure
from ..language.sizes import Condition, Divides
from ..language.symbols import B, N_tok, S
from ..ledger.facts import Ledger
from .by_token import by_token, holds_tokens
from .quantity import Conventions, Counted
from .train_flops import QUANTITY as STEP
from .train_flops import TrainFlops


@dataclass(frozen=True)
class RunFlops(TrainFlops):
    """Training FLOPs of many batches."""

    def check(self, part: Counted, given: Mapping[str, str]) -> None:
        """Raise RuleError for a model that reads anything but tokens."""
        holds_tokens(part.title, part.ledger, self.measure.name)

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """The account of a step, for all tokens. Raises RuleError where a step has none."""
        return by_token(super().account(ledger, conventions), N_tok)

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Whole sequences where anything is counted once in each, and whole batches where it is once in those."""
        terms = (term for line in self.account(ledger, conventions).walk() for term in line.terms)
        below = {size for term in terms for each in term.factors for size in fraction(each)[1].free_symbols}
        if B in below:
            whole: tuple[Condition, ...] = (Divides(B * S, N_tok, "choose as many tokens as whole batches have"),)
        else:
            whole = (Divides(S, N_tok, "choose as many tokens as whole sequences have"),) if S in below else ()
        return (*super().conditions(ledger, conventions), *whole)


QUANTITY = RunFlops(
    Measure("run-flops", "FLOPs of a training run", "F_run", "FLOPs"),
    "The FLOPs of training on N_tok tokens, in sequences of S: of one forward and one backward pass over each of them. "
    "Contractions (matrix products) only, 2 FLOPs a multiply-add. A product has two gradients, one for each side; the "
    "gradient of the model's own input is not asked for.",
    STEP.rules,
    STEP.columns,
    STEP.conventions,
    "The training FLOPs of a batch are certified. These are as many times those as there are batches in the run, and "
    "are compared with the runs of papers in the tests.",
    follows="train-flops",
    logits=STEP.logits,
    encoder="The N_tok tokens are the decoder's; the encoder reads one sequence for each S of them.",
    frozen=STEP.frozen,
    rule_sets=STEP.rule_sets,
    of_a_batch="The FLOPs of training on N_tok tokens, in sequences of S: as many times those of a batch of B of them "
    "as there are batches. Of a batch:",
)
