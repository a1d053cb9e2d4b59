"""Parameters less some that others do not count: tables of embeddings and the head, positions alone, or the pooler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..formulas.account import Line, Term
from ..formulas.formula import Formula, Source
from ..language.errors import RuleError
from ..language.sizes import Relations
from ..ledger.facts import Entry, Kind, Ledger, Table
from .quantity import Convention, Conventions, Counted, Quantity, tally

NO_WEIGHTS = "Fixed tables, activations and dropout store nothing."
SOME_WEIGHTS = (
    "The fixed table that this class stores among its weights counts; other fixed tables, activations and dropout "
    "store nothing."
)
TABLES: tuple[Table, ...] = ("tokens", "positions", "segments")  # of distances the scores of attention are made
WITHOUT = Convention(
    {
        "nothing": "every weight is counted",
        "embeddings": "the tables of tokens, of positions and of segments are left out, and the matrix and the bias of "
        "the logits, tied or not; norms, and products that only change a width, stay; Kaplan et al. 2020 "
        "[kaplan2020], section 2.1",
        "positions": "the tables of positions are left out, and no others, as nanoGPT's own count does it",
        "pooler": "the pooler is left out",
        "embeddings-and-pooler": "the tables of tokens, of positions and of segments are left out, the matrix and the "
        "bias of the logits, tied or not, and the pooler",
    },
    quiet=True,
)
# How a number is called that leaves them out, and what stands below its letter.
CALLED = {
    "embeddings": ("non-embedding {}", "nonemb"),
    "positions": ("{} without positions", "nopos"),
    "pooler": ("{} without the pooler", "nopool"),
    "embeddings-and-pooler": ("non-embedding {} without the pooler", "nonemb"),
}


@dataclass(frozen=True)
class Weighed(Quantity):
    """A count of what is stored, of which some may be left out."""

    def formula(
        self,
        part: Counted,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: Source | None = None,
    ) -> Formula:
        """The formula, called by what it leaves out. Raises OptionError, UnknownNameError, RuleError."""
        found = super().formula(part, stem, given, relations, source)
        if (left := found.conventions.get("without")) is None:
            return found
        said, below = CALLED[left]
        letter = f"{self.measure.letter}{',' if '_' in self.measure.letter else '_'}{below}"
        measure = replace(self.measure, title=said.format(self.measure.title), letter=letter)
        return replace(found, measure=measure)

    def states(self, formula: Formula) -> str:
        """What is counted, in words: not every weight, where some are left out."""
        said = super().states(formula)
        if any(line.entry.fixed for _, line in formula.root.leaves() if line.entry):
            said = said.replace(NO_WEIGHTS, SOME_WEIGHTS)
        every = "Every element of every trained weight is counted"
        return said.replace(every, f"{every} that is not left out") if "without" in formula.conventions else said

    def check(self, part: Counted, given: Mapping[str, str]) -> None:
        """Raise RuleError where a pooler or tables are to be left out of what has none, or no table of tokens."""
        left = given.get("without", "nothing")
        if left.endswith("pooler") and not any(_is_left_out(entry, "pooler") for _, entry in part.ledger):
            raise RuleError(f"without={left} is known of a model with a pooler, and {part.title} has none")
        if left in ("nothing", "pooler"):
            return
        functions = [entry.function for _, entry in part.ledger if entry.kind is Kind.LOOKUP]
        if "tokens" not in functions:
            raise RuleError(
                f"without={left} is known of a model with a table of tokens, and {part.title} has none: what else of "
                "it is an embedding is not stated"
            )

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Every entry's weights, but for those that are left out."""
        left = conventions.get("without", "nothing")
        tokens = {(entry.output.width,) for _, entry in ledger if entry.logits}

        def terms(entry: Entry) -> tuple[Term, ...]:
            bias = entry.kind is Kind.PARAMETER and any(weight.shape in tokens for weight in entry.weights)
            if _is_left_out(entry, left) or (bias and left.startswith("embeddings")):  # stored beside the product
                return ()
            return self.rules[entry.kind](entry, conventions)

        return tally(ledger.root, terms, weighs=self.weighs)


def _is_left_out(entry: Entry, left: str) -> bool:
    if left.endswith("pooler") and any(word.startswith("pooler") for word in entry.path.split(".")):
        return True
    if left == "positions":
        return entry.kind is Kind.LOOKUP and entry.function == "positions"
    return left.startswith("embeddings") and (entry.logits or (entry.kind is Kind.LOOKUP and entry.function in TABLES))
