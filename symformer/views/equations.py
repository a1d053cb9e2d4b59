"""One formula as one line of a notation, ready to paste, as printed by ``show --format``."""

from __future__ import annotations

from importlib import import_module

from ..formulas.formula import Formula
from ..language.notation.display_tree import Tree, tree
from .notations import NOTATIONS


def equation(formula: Formula, notation: str) -> str:
    r"""Return the equation of a formula in one of NOTATIONS, on one line.

    >>> import symformer as sf
    >>> print(equation(sf.architecture("gpt2").params.part("h.attn"), "latex"))
    N_{\mathrm{attn}} = 4 E^{2} + 4 E
    """
    module, function, before, after = NOTATIONS[notation]
    spell = getattr(import_module(f"..language.notation.{module}", __package__), function)
    # Plain arithmetic is for programs: it has no left-hand side.
    sides: list[Tree] = [*([] if notation == "code" else [formula.label]), tree(formula.display_expr)]
    if notation == "mathml":  # the sides of MathML are not joined as text
        return str(spell(sides))
    return f"{before}{' = '.join(map(spell, sides))}{after}"
