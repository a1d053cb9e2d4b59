"""Chains of equal lines, from the labels of a value to its last form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Symbol, cancel, expand

from ..language.errors import DerivationError
from ..language.notation.display_tree import Tree, value
from ..language.notation.text import text
from ..language.sizes import Relations

if TYPE_CHECKING:
    from ..formulas.account import Line


@dataclass(frozen=True)
class Chain:
    """A chain of equations: labels, then steps, ``N = written = simplified = …``."""

    labels: tuple[Tree, ...]
    steps: tuple[Tree, ...]
    # The reason for each step: the sizes that relations replace, or the parts whose results are substituted.
    reasons: tuple[tuple[Symbol | Line, ...], ...] = ()

    def prove(self, relations: Relations) -> None:
        """Raise DerivationError unless all labels and steps are equal under the relations."""
        truth = value(self.steps[-1]).xreplace(relations)
        for step in (*self.labels, *self.steps):
            difference = expand(value(step).xreplace(relations) - truth)
            if difference != 0 and cancel(difference) != 0:  # fractions over sums of sizes do not cancel by expansion
                raise DerivationError(
                    f"the derivation shows {text(step)} as equal to {text(truth)}; they differ by {text(difference)}"
                )
