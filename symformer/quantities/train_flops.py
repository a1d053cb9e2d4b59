"""Training FLOPs: the contractions of a forward pass, a backward pass, and any recomputation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..formulas.account import Line, Measure, Term
from ..language.errors import RuleError
from ..language.sizes import AtMost, Condition
from ..language.symbols import S
from ..ledger.adapters import Adapter, adapted, is_adapted
from ..ledger.facts import CARRYING, COMPRESSING, Entry, Ledger, OperationKind, Scope
from ..ledger.layer_kinds import mixtures
from ..ledger.operations import record
from ..ledger.placement import CHOICES
from .contractions import ATTENTION, EMBEDDING, RECURRENT_RULE, contractions, rules
from .layer_kind_merge import Terms, merge_terms
from .quantity import BOTH, Convention, Conventions, tally
from .rule_sets import TRAINING
from .rule_sets.rule_set import RuleSetQuantity

NO_GROUP = (
    "choose a larger value: without a complete group of tokens, no gradient reaches the weights that compress them"
)


def trained(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the forward product, a gradient for each side that needs one, and the recomputed product if any."""
    terms: list[Term] = []
    for product in contractions(entry, conventions):
        forward = [] if product.backward_only else [product.forward(entry.path)]
        terms += [*forward, *product.backward(entry.path)]
        if forward and _again(entry, conventions["recompute"]) and entry.used != 0:
            share = (entry.used,) if entry.used != 1 else ()  # a layer without a backward pass is not recomputed
            terms.append(Term(f"{entry.path} (again)", (*product.factors, *share)))
    return tuple(terms)


@dataclass(frozen=True)
class TrainFlops(RuleSetQuantity):
    """Training FLOPs: the trained weights determine which gradients are needed."""

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the conditions of a step: compressed keys have gradients only if a group of tokens is complete."""
        groups = {entry.compressed for _, entry in ledger if entry.kind in COMPRESSING and entry.compressed is not None}
        whole = tuple(AtMost(group, S, NO_GROUP) for group in sorted(groups, key=str))
        return (*whole, *super().conditions(ledger, conventions))

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the account of the ledger, rebuilt if only some weights are trained. Raises RuleError."""
        if self.ruled(conventions) is not None:
            return super().account(ledger, conventions)
        if conventions["train"] == "all":
            if not is_adapted(ledger):
                return super().account(ledger, conventions)
            # The separated layer kinds show which of them the gradients reach.
            apart = {id(entry): self.rules[entry.kind](entry, conventions) for _, entry in ledger.apart}
            _hold(ledger.apart, apart)
            found = merge_terms(ledger, apart)
            return tally(ledger.root, lambda entry: found[id(entry)])
        if shared := [name for name in CHOICES if name in conventions]:
            raise RuleError(
                f"train={conventions['train']} needs a whole model; remove {shared[0]}={conventions[shared[0]]}"
            )
        if is_adapted(ledger):
            raise RuleError(
                f"train={conventions['train']} needs a model without adapters, and this model has some; remove them"
            )
        if conventions["train"] == "lora":
            whole = Adapter("lora")
            if not any(entry.kind is OperationKind.LINEAR and whole.wanted(entry.path) for _, entry in ledger):
                raise RuleError("train=lora updates the linear layers inside repeated layers, and this model has none")
            return super().account(adapted(ledger.root.part, [whole]), conventions)
        part = record(ledger.root.part, lambda kind, path: kind is not OperationKind.LOOKUP)
        tables = {
            weight
            for _, entry in part
            if entry.kind is OperationKind.LOOKUP
            for weight in (*entry.weights, *entry.shared)
        }

        def terms(entry: Entry) -> tuple[Term, ...]:
            frozen = any(weight in tables for weight in (*entry.weights, *entry.shared))
            found = self.rules[entry.kind](entry, conventions)
            return tuple(term for term in found if not (frozen and term.gradient == "the weight"))

        return tally(part.root, terms)


def _hold(ledger: Ledger, terms: Terms) -> None:
    """Raise RuleError if it is not determined which layers the gradients of adapters reach."""
    for mixture, kinds in mixtures(ledger).items():
        everywhere = all(kind.loop and kind.loop[2].grad == 1 for kind in kinds)
        known = mixture.order == "first" or _whichever_is_first(kinds, terms)
        if not (mixture.order == "kind by kind" or (everywhere and known)):
            raise RuleError(
                "which layers receive gradients depends on the order of the layer kinds, which is not fixed in this "
                "model; train-flops with adapters needs layers of one kind, or kinds that follow one another"
            )
    if any(entry.kind in CARRYING for _, entry in ledger):
        raise RuleError("train-flops does not support adapters in a model with a recurrent state; remove the adapters")


def _whichever_is_first(kinds: Sequence[Scope], terms: Terms) -> bool:
    """Return True if the first layer skips the same gradients for every possible kind of that layer."""
    first, *others = (
        {
            (entry.path.partition("*")[2], entry.kind, at, term.gradient): term.factors
            for _, entry in Ledger(kind, None)
            for at, term in enumerate(terms[id(entry)])
        }
        for kind in kinds
    )
    count = kinds[0].count
    fewer = {key: factors[:-1] for key, factors in first.items() if factors[-1] == (count - 1) / count}
    return all(
        other.keys() == first.keys() and all(other[key] == factors for key, factors in fewer.items())
        for other in others
    )


def _again(entry: Entry, recompute: str) -> bool:
    if recompute == "selective":
        return entry.kind in (OperationKind.SCORES, OperationKind.MIX)
    return recompute == "full" and "*" in entry.path.split(".")


QUANTITY = TrainFlops(
    Measure("train-flops", "training FLOPs", "F_train", "FLOPs"),
    "The FLOPs of one forward and one backward pass over B sequences of S tokens: contractions (matrix products) only, "
    "at 2 FLOPs per multiply-add. The backward pass of a product computes two gradients, one per operand. The gradient "
    "with respect to the model's input is not computed.",
    rules(trained, seen="train-flops"),
    ("operation", "factors"),
    {
        "attention": ATTENTION,
        "embedding": EMBEDDING,
        "train": Convention(
            {
                "all": "every weight is trained",
                "frozen-embeddings": "every weight is trained except the embeddings and an LM head tied to one",
                "lora": "every linear layer inside repeated layers has a LoRA update of rank R, not merged into the "
                "weight; only the updates are trained",
            }
        ),
        "recompute": Convention(
            {
                "none": "nothing is recomputed",
                "selective": "the attention core (scores and mix) is recomputed in the backward pass",
                "full": "every repeated layer is fully recomputed in the backward pass",
            },
            lambda entry: any(_again(entry, way) for way in ("selective", "full")),
        ),
    },
    logits="Logits are computed at all positions.",
    notes=RECURRENT_RULE,
    encoder=BOTH,
    frozen="Gradients of frozen weights are not computed.",
    rule_sets=TRAINING,
)
