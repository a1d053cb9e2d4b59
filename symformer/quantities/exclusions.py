"""Parameter counts that exclude the embeddings and the LM head, the positions, or the pooler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ..formulas.account import Line, Measure, Term
from ..formulas.formula import Formula
from ..language.errors import RuleError
from ..ledger.facts import Entry, Ledger, OperationKind, Table
from .quantity import Convention, Conventions, Countable, Quantity, tally

NO_WEIGHTS = "Buffers, such as fixed tables, are not parameters."
SOME_WEIGHTS = "The fixed table that this class stores as a weight is counted; buffers are not parameters."
TABLES: tuple[Table, ...] = ("tokens", "layers", "positions", "segments")  # tables of distances belong to attention
WITHOUT = Convention(
    {
        "nothing": "every weight is counted",
        "embeddings": "excludes the token, position and segment embeddings, and the weight and bias of the LM head, "
        "tied or not; includes norms and projections that only change a width; Kaplan et al. 2020 [kaplan2020], "
        "section 2.1",
        "positions": "excludes only the position embeddings, as nanoGPT's own count does",
        "pooler": "excludes the pooler",
        "embeddings-and-pooler": "excludes the token, position and segment embeddings, the weight and bias of the LM "
        "head, tied or not, and the pooler",
    },
    hidden_by_default=True,
)
# The title of a count that excludes them, and the subscript of its letter.
CALLED = {
    "embeddings": ("non-embedding {}", "nonemb"),
    "positions": ("{} without positions", "nopos"),
    "pooler": ("{} without the pooler", "nopool"),
    "embeddings-and-pooler": ("non-embedding {} without the pooler", "nonemb"),
}


@dataclass(frozen=True)
class StorageQuantity(Quantity):
    """A count of stored weights that can exclude some of them."""

    of_run: ClassVar[bool] = False

    def measure_under(self, conventions: Conventions) -> Measure:
        """Return the measure, titled by the weights that are excluded."""
        if (left := conventions.get("without")) is None:
            return self.measure
        said, below = CALLED[left]
        letter = f"{self.measure.letter}{',' if '_' in self.measure.letter else '_'}{below}"
        return replace(self.measure, title=said.format(self.measure.title), letter=letter)

    def statement_for(self, formula: Formula) -> str:
        """Return the statement, adapted to excluded weights and to stored fixed tables."""
        said = super().statement_for(formula)
        if any(line.entry.fixed for _, line in formula.root.leaves() if line.entry):
            said = said.replace(NO_WEIGHTS, SOME_WEIGHTS)
        every = "every element of every weight, trained or not,"
        some = "every element of every weight that is not excluded"
        return said.replace(every, some) if "without" in formula.conventions else said

    def check(self, part: Countable, given: Mapping[str, str]) -> None:
        """Raise RuleError if the model has no pooler or no token embedding to exclude."""
        left = given.get("without", "nothing")
        if left.endswith("pooler") and not any(_is_left_out(entry, "pooler") for _, entry in part.ledger):
            raise RuleError(f"without={left} needs a model with a pooler; {part.title} has none")
        if left in ("nothing", "pooler"):
            return
        functions = [entry.function for _, entry in part.ledger if entry.kind is OperationKind.LOOKUP]
        if "tokens" not in functions:
            raise RuleError(
                f"without={left} needs a model with a token embedding; {part.title} has none, so which of its weights "
                "are embeddings is not defined"
            )

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the weights of every entry, without the excluded ones."""
        left = conventions.get("without", "nothing")
        tokens = {(entry.output.width,) for _, entry in ledger if entry.logits}

        def terms(entry: Entry) -> tuple[Term, ...]:
            bias = entry.kind is OperationKind.PARAMETER and any(weight.shape in tokens for weight in entry.weights)
            if _is_left_out(entry, left) or (bias and left.startswith("embeddings")):  # a bias stored by itself
                return ()
            return self.rules[entry.kind](entry, conventions)

        return tally(ledger.root, terms, counts_storage=self.counts_storage)


def _is_left_out(entry: Entry, left: str) -> bool:
    if left.endswith("pooler") and any(word.startswith("pooler") for word in entry.path.split(".")):
        return True
    if left == "positions":
        return entry.kind is OperationKind.LOOKUP and entry.function == "positions"
    return left.startswith("embeddings") and (
        entry.logits or (entry.kind is OperationKind.LOOKUP and entry.function in TABLES)
    )
