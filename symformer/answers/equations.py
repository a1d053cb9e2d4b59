"""One formula as one line of a notation, ready to paste: what ``show --as`` prints."""

from __future__ import annotations

from importlib import import_module

from ..formulas.formula import Formula
from ..language.notation.tree import Label, Tree, tree
from .notations import NOTATIONS


def label(formula: Formula) -> Label:
    """What stands before the sign of equality: N, and N_attn for a part."""
    return Label(formula.measure.letter, formula.root.name, formula.written)


def equation(formula: Formula, notation: str) -> str:
    r"""The equation of a formula in one of NOTATIONS, on one line.

    >>> import symformer as sf
    >>> print(equation(sf.architecture("gpt2").params.part("h.attn"), "latex"))
    N_{\mathrm{attn}} = 4 E^{2} + 4 E
    """
    module, function, before, after = NOTATIONS[notation]
    spell = getattr(import_module(f"..language.notation.{module}", __package__), function)
    # Plain arithmetic is for programs: no letter and no sign of equality stands before it.
    sides: list[Tree] = [*([] if notation == "code" else [label(formula)]), tree(formula.written)]
    if notation == "mathml":  # whose sides are no text beside each other
        return str(spell(sides))
    return f"{before}{' = '.join(map(spell, sides))}{after}"
