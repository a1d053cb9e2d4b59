"""One formula as one line of a notation, ready to paste, as printed by ``show --format``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..formulas.formula import Formula
from ..formulas.rewriting import Rewriting
from ..language.errors import OptionError
from ..language.notation.display_tree import Tree, tree
from .notations import NOTATIONS


def equation(formula: Formula, notation: str) -> str:
    r"""Return the equation of a formula in one of NOTATIONS, on one line.

    >>> import symformer as sf
    >>> print(equation(sf.architecture("gpt2").params.part("h.attn"), "latex"))
    N_{\mathrm{attn}} = 4 E^{2} + 4 E
    """
    spell, before, after = _notation(notation)
    # Plain arithmetic is for programs: it has no left-hand side.
    sides: list[Tree] = [*([] if notation == "code" else [formula.label]), tree(formula.display_expr)]
    if notation == "mathml":  # the sides of MathML are not joined as text
        return str(spell(sides))
    return f"{before}{' = '.join(map(spell, sides))}{after}"


def form_equation(form: Rewriting, notation: str) -> str:
    r"""Return a form of a formula in one of NOTATIONS, on one line.

    Raises OptionError if the notation has only identities, and the form is none.

    >>> import symformer as sf
    >>> flops = sf.model("gpt2").formula("flops")
    >>> print(form_equation(flops.rewritten("leading S >> E"), "latex"))
    F \sim 4 B S^{2} L E \quad (S \gg E)
    """
    if notation == "code":
        return form.code()
    if notation == "text":
        return form.text()
    spell, before, after = _notation(notation)
    if notation in ("latex", "markdown"):
        return f"{before}{form.latex()}{after}"
    if not form.is_identity:
        raise OptionError(f"--format {notation} prints identities only, and {form.form!r} is none; use latex or text")
    sides: list[Tree] = [form.formula.label, form.shown]
    return str(spell(sides)) if notation == "mathml" else " = ".join(map(spell, sides))


def _notation(name: str) -> tuple[Callable[[Any], str], str, str]:
    """Return the function that spells a notation, and the text before and after an equation."""
    module, function, before, after = NOTATIONS[name]
    return getattr(import_module(f"..language.notation.{module}", __package__), function), before, after
