"""The subject of a document in words: the name of the target, and the changes to what that name stands for."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr, Integer

from ..formulas.formula import Formula
from ..language.errors import joined
from ..language.notation.text import text
from ..language.symbols import print_order
from ..output.blocks import Code, Line, Math, listed
from ..views.formula_facts import SubjectFacts, is_per_rank
from .option_words import option_words


def in_title(found: SubjectFacts, measures: str, rank: bool = False) -> str:
    """Return a document's title: the model or one rank of it, its options in words, and the changed sizes."""
    # Setting sizes does not change a target that has no sizes.
    sizes = [
        f"{size} = {text(value)}"
        for size, value in found.changed_sizes.items()
        if found.has_own_sizes or not value.is_Integer
    ]
    changed = f" with {joined(sizes)}" if sizes else ""
    whose = ", ".join([found.title, *option_words(found.options)])
    return f"{'One rank of ' if rank else ''}{whose}{changed}: {measures} in closed form"


def in_subtitle(conventions: Mapping[str, str]) -> str:
    """Return a sentence with the conventions that differ from the defaults, or "" if there are none."""
    said = [f"{name}={value}" for name, value in conventions.items()]
    return f"Counted with {joined(said)}. " if said else ""


def is_changed(found: SubjectFacts, formula: Formula) -> bool:
    """Return True if anything except the run's sizes differs from the target named."""
    return is_per_rank(formula) or bool(found.changed_options or found.changed_sizes)


def column(found: SubjectFacts, formula: Formula) -> str:
    """Return the header of a column of its numbers."""
    return "Value" if is_changed(found, formula) or not found.known else found.name


def subject_line(found: SubjectFacts, formula: Formula, rank: bool = True) -> Line:
    """Return its name with every setting of a formula, for a sentence.

    Examples are "gpt2 with E = 1,024" and "one rank of llama-2-70b with N_tp = 8", or without ``rank``, for the sizes
    of the whole model, "llama-2-70b with N_tp = 8".
    """
    run = {size: Integer(number) for size, number in found.run.items() if size in formula.symbols}
    sizes = {**found.changed_sizes, **run}
    notes: list[Line] = [[Code(option)] for option in found.changed_options]
    notes += [[Math.of(size), " = ", *_spelt(sizes[size])] for size in sorted(sizes, key=print_order)]
    start = "one rank of " if rank and is_per_rank(formula) else ""
    return [start, Code(found.name), *([" with ", *listed(*notes)] if notes else [])]


def config_lines(found: SubjectFacts) -> list[Line]:
    """Return a sentence with the commit of its config, and one on how the config was read, such as assumed values."""
    name, file = Code(found.name), Code("config.json")
    lines: list[Line] = []
    if found.commit:
        lines.append(["The sizes of ", name, " come from its ", file, " at commit ", Code(found.commit), "."])
    if found.notes:
        lines.append(["Notes on its ", file, f": {'; '.join(found.notes)}."])
    return lines


def _spelt(value: Expr) -> Line:
    return [text(value)] if value.is_Integer else [Math.of(value)]
