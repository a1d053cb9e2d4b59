"""The page of corrections: published numbers and formulas that differ from their claimed count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..algebra.correction_arithmetic import WorkedLine, arithmetic_steps
from ..algebra.explain import Explanation
from ..algebra.formula_claims import PrintedFormula, formula_claims
from ..algebra.number_claims import PublishedNumber, number_claims
from ..language.notation.display_tree import Number
from ..language.notation.latex import latex
from ..language.notation.text import number
from ..language.symbols import print_order
from .pages import anchor, plain, table

FORMULAS = "Formulas"
BRIEF = 72  # characters, without LaTeX commands, up to which all steps fit on one line
LONG = 110  # characters of LaTeX, beyond which a sum continues on a new line


def page() -> str:
    """Return the page in Markdown."""
    amiss = sorted(
        (each for each in number_claims() if each.correction), key=lambda each: (each.whose.lower(), each.id)
    )
    formulas = [each for each in formula_claims() if each.correction]
    sources: dict[str, list[PublishedNumber]] = {}
    for each in amiss:
        sources.setdefault(source(each.whose), []).append(each)
    lines = [
        "# Corrections",
        "",
        f"{len(amiss)} [published numbers](published-numbers.md) and {len(formulas)} [formulas](published.md) "
        "that differ from their claimed count, or that match no known count. All arithmetic follows from the "
        "formulas of the [derivations](README.md), or from sizes that the source prints. If the reason is unknown, "
        "only the difference is stated.",
        "",
        *table(
            ("Source", "Printed", "Claimed count", "Correction"),
            [
                (f"[{plain(each.whose)}](#{anchor(name)})", plain(each.printed), each.counts, plain(each.correction))
                for name, entries in sources.items()
                for each in entries
            ],
        ),
        "",
        f"Corrected [formulas](#{anchor(FORMULAS)}): {'; '.join(f'{each.whose}, {each.where}' for each in formulas)}.",
    ]
    for name, entries in sources.items():
        lines += ["", f"## {name}"]
        for each in entries:
            lines += ["", *_number(each)]
    lines += ["", f"## {FORMULAS}"]
    for formula in formulas:
        lines += ["", *_formula(formula)]
    return "\n".join([*lines, ""])


def source(whose: str) -> str:
    """Return the publisher of a number, without the model or table.

    >>> source("GPT-2 paper, table 2, XL"), source("keras-hub opt_2.7b_en")
    ('GPT-2 paper', 'keras-hub')
    """
    return "keras-hub" if whose.startswith("keras-hub ") else whose.partition(",")[0]


def _number(entry: PublishedNumber) -> list[str]:
    said = f"**{plain(entry.whose)}** prints **{plain(entry.printed)}** ({entry.counts}): "
    lines = [f"{said}{plain(entry.correction)}."]
    if entry.explanation is not None:
        lines += _explained(entry.explanation)
    return [*lines, *_worked(entry.working)]


def _explained(found: Explanation) -> list[str]:
    """Return our count, the difference in convention, and the remainder of the printed number."""
    way, counted = found.own_count.method, found.match
    lines = ["", f"Our count is {way.counts} of {plain(found.target_text)}:", ""]
    if way.numbers.keys() >= way.formula.display_expr.free_symbols and way.scale == 1:
        lines += math(arithmetic_steps(way.formula.display_expr, dict(way.numbers)))
    else:
        lines += math([latex(Number(int(found.own_count.value)))])
    if found.verdict == "convention":
        change, ends = (
            found.change,
            "" if found.match_kind == "exact" else f", which rounds to {plain(found.printed.text)}",
        )
        lines += ["", f"With {plain(' and '.join(counted.otherwise))}{ends}:", ""]
        if change is not None and change.free_symbols <= way.numbers.keys() and change.free_symbols:
            lines += math(arithmetic_steps(change, dict(way.numbers)), counted.steps())
        else:
            lines += math([], counted.steps())
    elif found.verdict == "unexplained" or (found.printed.whole and found.verdict == "rounded"):
        here, there = found.own_count.value, found.printed.value
        more = "larger" if there > here else "smaller"
        lines += ["", f"The printed number is {more} by {number(abs(there - here))}." if there != here else ""]
        if counted.otherwise:
            nearest = f"The nearest count is with {plain(' and '.join(counted.otherwise))}: {counted.steps()}."
            lines[-1] += f" {nearest}"
    return lines


def _formula(entry: PrintedFormula) -> list[str]:
    whose = f"[{plain(entry.whose)}]({entry.url})" if entry.url else plain(entry.whose)
    lines = [f"**{whose}, {plain(entry.where)}** (`{entry.id}`): {plain(entry.correction)}. The printed formula is", ""]
    return [*lines, *math([entry.latex]), *_worked(entry.working)]


def _worked(working: Iterable[WorkedLine]) -> list[str]:
    lines: list[str] = []
    for each in working:
        letters = sorted(each.numbers, key=print_order)
        given = ", ".join(f"{size} = {each.numbers[size]:,}" for size in letters) if each.over else ""
        lines += ["", plain(each.what[0].upper() + each.what[1:]) + (f"; {given}" if given else "") + ":", ""]
        lines += math(each.steps())
    return lines


def math(steps: Sequence[str], last: str = "") -> list[str]:
    """Return steps as one display, one per line, with long steps broken; ``last`` is arithmetic in plain text."""
    if steps and not last and len(re.sub(r"\\[a-z]+|[{}]", "", "".join(steps))) <= BRIEF:
        rest = (step if step.startswith(r"\approx") else f"= {step}" for step in steps[1:])
        return ["```math", " ".join([steps[0], *rest]), "```"]
    rows: list[str] = []
    for place, step in enumerate(steps):
        sign = "" if place == 0 else "" if step.startswith(r"\approx") else "= "
        first, *more = _broken(step)
        rows += [f"& {sign}{first}", *(rf"& \quad {each}" for each in more)]
    if last:
        rows.append("& " + last.replace(",", "{,}").replace("−", "-").replace("×", r"\times"))
    if len(rows) == 1:
        return ["```math", rows[0].removeprefix("& "), "```"]
    return ["```math", r"\begin{aligned}", " \\\\\n".join(rows), r"\end{aligned}", "```"]


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
