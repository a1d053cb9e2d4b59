"""Quantities whose weights are stored in a named format, which can depend on the numbers of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from sympy import Symbol

from ..formulas.formula import SizeSource
from ..language.errors import RuleError
from ..language.sizes import Condition, Relations
from ..ledger.facts import Ledger
from ..ledger.placement import WHOLE, Placement
from .cache_engines import BY_LAYERS
from .quantity import Conventions, Countable, Quantity
from .weight_formats import StoredWeights, defaults, stored_weights
from .weight_formats.gguf import PREFIX

WEIGHTS = "weights"  # the convention that names the format


@dataclass(frozen=True)
class InFormat(Quantity):
    """A number of bytes that includes the weights in a format.

    Attributes
    ----------
    numbers : Mapping[Symbol, int]
        The sizes of the model that have a value. Some formats depend on them.
    rope : str
        The type of scaling of the rotary frequencies, whose factors GGUF files store.

    """

    numbers: Mapping[Symbol, int] = field(default_factory=dict)
    rope: str = ""

    def at(self, source: SizeSource | None) -> Self:
        """Return the quantity at the sizes of a model."""
        if source is None or (dict(source.known), source.rope) == (dict(self.numbers), self.rope):
            return self
        return replace(self, numbers=source.known, rope=source.rope)

    def takes_own_format(self, part: Countable) -> bool:
        """Return whether the weights count in the format in which the model is published, unless one is given."""
        return True

    def stored(self, ledger: Ledger, conventions: Conventions) -> StoredWeights:
        """Return the bytes of the weights of every entry."""
        if conventions[WEIGHTS].startswith(PREFIX) and Placement.of(conventions) != WHOLE:
            form = f"{WEIGHTS}={conventions[WEIGHTS]}"
            raise RuleError(f"{form} is not supported per rank, {BY_LAYERS}")
        return stored_weights(ledger, conventions[WEIGHTS], self.numbers, self.rope)

    def default_sizes(self, part: Countable, conventions: Conventions) -> Mapping[Symbol, int]:
        """Return the elements per group, if the format has groups."""
        return {**super().default_sizes(part, conventions), **defaults(self.choose(conventions).get(WEIGHTS, ""))}

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the conditions of the quantity and the conditions on the shapes of the weights."""
        return (*super().conditions(ledger, conventions), *self.stored(ledger, conventions).conditions)

    def totals_of(self, ledger: Ledger, conventions: Conventions) -> Relations:
        """Return the sizes that the terms of the format name."""
        return {**super().totals_of(ledger, conventions), **self.stored(ledger, conventions).totals}

    def format_dependence(self, part: Countable, given: Mapping[str, str]) -> str:
        """Return why the format of a part's weights affects the answer; "" if the format is given."""
        return "" if WEIGHTS in given else self.by_format
