"""The pages of the alphabet, of published formulas and numbers, of their corrections, and of rule sets."""

from __future__ import annotations

from ..algebra.formula_claims import formula_claims
from ..language.notation.display_tree import TensorName
from ..language.symbols import LETTERS
from ..quantities import quantities
from ..views.published_facts import compared_formulas, compared_numbers, corrected_numbers, letters_in, sorted_numbers
from ..views.rule_set_facts import CountFacts, counted_quantities
from .pages import page


def alphabet() -> str:
    """Return the page of the alphabet: the letter of each size and of each quantity."""
    measures = []
    for quantity in quantities().values():
        letter, _, subscript = quantity.measure.letter.partition("_")
        measures.append((quantity.measure, TensorName(letter, subscript)))
    return page("alphabet.md", letters=LETTERS.values(), measures=measures)


def published_formulas() -> str:
    """Return the page of published formulas: each as printed, next to ours, with the verdict and the reason for it."""
    compared = compared_formulas()
    checks = [facts.check for several in compared.values() for facts in several]
    shown = [side for each in checks for side in (each.formula.display_expr, each.difference)]
    return page("published.md", claims=formula_claims(), compared=compared, letters=letters_in(shown))


def published_numbers() -> str:
    """Return the page of published numbers: each as printed, with the quantity it counts and the arithmetic."""
    return page("published-numbers.md", claims=sorted_numbers(), compared=compared_numbers())


def corrections() -> str:
    """Return the page of corrections: published numbers and formulas that differ from their claimed count."""
    formulas = [claim for claim in formula_claims() if claim.correction]
    return page("corrections.md", numbers=corrected_numbers(), formulas=formulas)


def counted() -> str:
    """Return the page of rule sets: how code bases and papers count FLOPs, compared with our count."""
    found = list(counted_quantities())
    counts = [count for facts in found for each in facts.rule_sets for count in each.counts.values()]
    shown = [(each.formula.display_expr, each.difference) for each in counts if isinstance(each, CountFacts)]
    return page("counted.md", quantities=found, letters=letters_in(side for each in shown for side in each))
