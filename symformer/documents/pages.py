"""Pages in Markdown that are not derivations: each has a template in ``templates/pages`` with its words and layout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from sympy import Expr

from ..formulas.formula import Formula
from ..language.notation.display_tree import Label, Tree, tree
from ..language.notation.latex import latex
from ..language.notation.text import number, text, to_digits
from ..output.blocks import Equation
from ..output.chain import Chain
from ..papers import papers, split_at_keys
from .formats.base_language import environment
from .formats.md import FORMAT

if TYPE_CHECKING:
    from jinja2 import Environment

BRIEF = 72  # characters, without LaTeX commands, up to which all steps fit on one line
LONG = 110  # characters of LaTeX, beyond which a sum continues on a new line


def page(name: str, **facts: Any) -> str:
    """Return a page of ``reports/`` in Markdown: its template, filled in with facts.

    Parameters
    ----------
    name
        The file name of the page, such as published.md.
    facts
        The values that the template uses, by name. A name that is not given is an error.

    """
    return _environment().get_template(f"pages/{name}.jinja").render(facts)


@cache
def _environment() -> Environment:
    found = environment().overlay()
    found.filters = {
        **found.filters,
        "anchor": anchor,
        "cited": cited,
        "code": FORMAT.code,
        "display": display,
        "docstring": docstring,
        "equation": equation,
        "math": math,
        "number": number,
        "percent": percent,
        "prose": FORMAT.prose,
        "text": text,
    }
    return found


def anchor(heading: str) -> str:
    """Return the anchor of a heading: its letters, digits and hyphens, with spaces replaced by hyphens.

    >>> anchor("Whisper's README"), anchor("Vaswani et al. 2017, table 3")
    ('whispers-readme', 'vaswani-et-al-2017-table-3')
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def cited(words: str) -> str:
    """Return a sentence from the code with its paper keys as links."""
    found = ""
    for place, part in enumerate(split_at_keys(words)):
        paper = papers()[part] if place % 2 else None
        found += f"([arXiv:{paper.arxiv}](https://arxiv.org/abs/{paper.arxiv}))" if paper else part.replace("``", "`")
    return found


def docstring(words: str) -> str:
    """Return a sentence of a docstring: double backticks mark code."""
    return "".join(
        FORMAT.code(part) if place % 2 else FORMAT.prose(part) for place, part in enumerate(words.split("``"))
    )


def math(shown: Expr | Tree) -> str:
    """Return inline mathematics."""
    return f"$`{latex(shown)}`$"


def equation(formula: Formula) -> str:
    """Return a formula as displayed mathematics, with the letter of its quantity."""
    chain = Chain((Label(formula.measure.letter, "", formula.display_expr),), (tree(formula.display_expr),))
    return FORMAT.display(Equation(chain))


def percent(share: Fraction) -> str:
    """Return a difference in percent with its sign and three digits.

    >>> percent(Fraction(2, 3)), percent(Fraction(-160, 3)), percent(Fraction(0))
    ('+0.667', '-53.3', 'equal')
    """
    return f"{to_digits(share, 3).normalize():+f}" if share else "equal"


def display(steps: Sequence[str], last: str = "") -> str:
    """Return steps in LaTeX as one display, one per line, with long steps broken; ``last`` is plain arithmetic."""
    if steps and not last and len(re.sub(r"\\[a-z]+|[{}]", "", "".join(steps))) <= BRIEF:
        rest = (step if step.startswith(r"\approx") else f"= {step}" for step in steps[1:])
        return _fenced(" ".join([steps[0], *rest]))
    rows: list[str] = []
    for place, step in enumerate(steps):
        sign = "" if place == 0 or step.startswith(r"\approx") else "= "
        first, *more = _broken(step)
        rows += [f"& {sign}{first}", *(rf"& \quad {each}" for each in more)]
    if last:
        rows.append("& " + last.replace(",", "{,}").replace("−", "-").replace("×", r"\times"))
    if len(rows) == 1:
        return _fenced(rows[0].removeprefix("& "))
    return FORMAT.aligned(rows)


def _fenced(mathematics: str) -> str:
    opens, closes = FORMAT.fences
    return f"{opens}\n{mathematics}\n{closes}"


def _broken(step: str) -> list[str]:
    """Return a sum as lines that fit the page, broken before signs outside of brackets."""
    depth, start, found, cut = 0, 0, list[str](), 0
    for place, character in enumerate(step):
        depth += (character in "{(") - (character in "})")
        if depth == 0 and step[place : place + 3] in (" + ", " - "):
            if place - start > LONG and cut > start:
                found.append(step[start:cut].strip())
                start = cut
            cut = place
    if len(step) - start > LONG and cut > start:
        found.append(step[start:cut].strip())
        start = cut
    return [*found, step[start:].strip()]
