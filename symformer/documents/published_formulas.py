"""The page of published formulas: each as printed, next to ours, with the verdict and the reason for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sympy import Add, Expr, Symbol

from ..algebra.check import FormulaCheck
from ..algebra.formula_claims import PrintedFormula, formula_claims
from ..algebra.name_binding import COUNT, PARAMETERS
from ..architectures import names, presets
from ..components.base import spell_option
from ..language.arithmetic import parse
from ..language.notation.latex import latex
from ..language.notation.text import text
from ..language.parsing.name_tokens import name_symbol
from ..language.symbols import letter, print_order
from .pages import anchor, plain, table

# The sections in order: the verdict, its heading, and its introduction.
SECTIONS: Mapping[str, tuple[str, str]] = {
    "differs": (
        "Differs",
        "The formula and ours count different things; the difference is ours minus theirs.",
    ),
    "convention": (
        "Equal under a convention",
        "The formula equals ours under different conventions: the smallest set of changes that makes them equal.",
    ),
    "equal": ("Equal", "The formula equals ours term by term."),
    "": ("Not compared", "The formula has no counterpart here, for the reason given."),
}
MOST = 14  # terms of a difference, beyond which a row would be too long to read
LONG = 40  # characters of the meaning of a letter


def page() -> str:
    """Return the page in Markdown."""
    by_verdict: dict[str, list[PrintedFormula]] = {verdict: [] for verdict in SECTIONS}
    for entry in formula_claims():
        by_verdict[entry.verdict].append(entry)
    counts = Counter({heading: len(by_verdict[verdict]) for verdict, (heading, _) in SECTIONS.items()})
    checks = [found for entry in formula_claims() if (found := entry.check)]
    shown = [side for each in checks for side in (each.formula.display_expr, each.difference)]
    letters: set[Symbol] = set().union(*(side.free_symbols for side in shown))
    lines = [
        "# Published formulas",
        "",
        f"{len(formula_claims())} formulas exactly as papers, books and code print them, each compared with the "
        "derived one "
        "by `symformer check`. *Notation* translates its letters into ours, and *Compared with* names the target. "
        "`symformer papers ID` shows one in full. Errors in some of them are listed in [corrections](corrections.md).",
        "",
        *table(("Verdict", "Formulas"), [(f"[{each}](#{anchor(each)})", str(count)) for each, count in counts.items()]),
    ]
    for verdict, (heading, said) in SECTIONS.items():
        lines += ["", f"## {heading}", "", said, "", *_section(verdict, by_verdict[verdict])]
    lines += [
        "",
        "## Letters",
        "",
        *table(
            ("Symbol", "Meaning"),
            [(_math(size), letter(size).meaning) for size in sorted(letters, key=print_order)],
        ),
    ]
    return "\n".join([*lines, ""])


def _section(verdict: str, entries: Iterable[PrintedFormula]) -> list[str]:
    first = ("ID", "Source", "Printed")
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        own, found = (f"`{entry.id}`", _where(entry), f"$`{_printed(entry.latex)}`$"), entry.check
        if found is None:
            rows.append((*own, plain(entry.without)))
            continue
        ours = (_with(entry, found), _target(entry, found), _math(found.formula.display_expr))
        if verdict == "differs":
            rows.append((*own, *ours, _difference(entry, found.difference), plain(entry.because)))
        elif verdict == "convention":
            rows.append((*own, *ours, "<br>".join(plain(each) for each in entry.conventions), plain(entry.because)))
        else:
            rows.append((*own, *ours, plain(entry.because)))
    head = {
        "differs": ("Notation", "Compared with", "Ours", "Ours - theirs", "Reason"),
        "convention": ("Notation", "Compared with", "Ours", "Conventions", "Note"),
        "equal": ("Notation", "Compared with", "Ours", "Note"),
        "": ("Reason",),
    }[verdict]
    return table((*first, *head), rows)


def _where(entry: PrintedFormula) -> str:
    whose = f"[{plain(entry.whose)}]({entry.url})" if entry.url else plain(entry.whose)
    return f"{whose}, {plain(entry.where)}"


def _printed(source: str) -> str:
    """Return LaTeX for a table cell, in which a bar would end the cell."""
    return source.replace("|", "\\vert ")


def _with(entry: PrintedFormula, found: FormulaCheck) -> str:
    """Return the meaning of their letters in ours if they differ; long meanings are left to the note."""
    used = [each for each in found.name_bindings if name_symbol(each.name) in found.parsed.expr.free_symbols]
    own = [each for each in used if each.name not in PARAMETERS or each.expr != COUNT]
    said = [f"{each.name} = {each.spelt}" for each in own if each.name != str(each.expr)]
    read = [f"read as {entry.read}"] if entry.read else []
    return plain(", ".join([*read, *(each for each in said if len(each) <= LONG)]))


def _target(entry: PrintedFormula, found: FormulaCheck) -> str:
    """Return the target, linked to its derivation, with the quantity, the part, the options and the sizes."""
    own = presets().get(entry.target, {}).get("architecture", entry.target)
    name = f"[{entry.target}]({own}.md)" if own in names() else f"`{entry.target}`"
    part = f" of `{entry.part}`" if entry.part else ""
    asked = [f"{key} = {spell_option(value)}" for key, value in {**entry.model, **entry.options}.items()]
    sizes = [f"{key} = {text(parse(str(value)))}" for key, value in entry.sets.items()]
    given = f"; {plain(', '.join([*asked, *sizes]))}" if asked or sizes else ""
    return f"{name}, {found.formula.measure.title}{part}{given}"


def _difference(entry: PrintedFormula, difference: Expr) -> str:
    terms = len(Add.make_args(difference))
    return _math(difference) if terms <= MOST else f"{terms} terms: `symformer papers {entry.id}`"


def _math(expr: Expr) -> str:
    return f"$`{latex(expr)}`$"
