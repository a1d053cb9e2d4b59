"""Conventions that are set and have no effect on a model, such as the dtype of states in a model without states."""

from __future__ import annotations

from sympy import Expr

from ..formulas.formula import Formula
from ..formulas.ratio import Ratio
from ..language.errors import SymformerError
from ..quantities import quantity as find_quantity
from .model import Model


def unused_convention_notes(model: Model, formula: Formula) -> list[str]:
    """Return a sentence for each convention of a formula that is not at its default and has no effect.

    Parameters
    ----------
    model : Model
        The model of the formula.
    formula : Formula
        A formula of the whole model or of a part.

    Examples
    --------
    >>> import symformer as sf
    >>> llama = sf.model("llama-3-8b")
    >>> unused_convention_notes(llama, llama.formula("kv-cache", state="model"))
    ['state=model has no effect: llama.kv-cache is the same with state=fp32.']

    """
    question = find_quantity(formula.measure.name)
    entries = [line.entry for _, line in formula.root.leaves() if line.entry]
    found = []
    for name, value in formula.conventions.items():
        choice = question.choices[name]
        if value == choice.default or any(map(choice.applies_to, entries)):
            continue
        try:
            usual = model.formula(formula.measure.name, **{**formula.conventions, name: choice.default})
        except SymformerError:  # the default is not supported with the other conventions
            continue
        if _counts(usual) == _counts(formula):
            found.append(f"{name}={value} has no effect: {formula.id} is the same with {name}={choice.default}.")
    return found


def _counts(formula: Formula) -> list[Expr]:
    """Return the counts of the whole model: one, or two for a ratio."""
    parts = [formula, formula.denominator] if isinstance(formula, Ratio) else [formula]
    return [(part.whole_account or part.root).each for part in parts]
