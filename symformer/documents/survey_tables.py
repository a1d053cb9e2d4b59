"""The tables of a survey: the structure of each model in words, and the symbols with their values in each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sympy import Symbol

from ..algebra.structure_profile import StackProfile, profiles
from ..algebra.structure_words import bare, line
from ..catalogue.measured_model import MeasuredModel
from ..catalogue.recognized_model import RecognizedModel
from ..language.errors import joined
from ..language.notation.display_tree import sizes_of
from ..language.symbols import print_order
from ..models.model import Model
from ..models.provenance import size_meaning
from ..output.blocks import Block, Code, Line, Math, Piece, Table, formulas_in
from .model_table import NO_VALUE

# The rows of the table of structures, each with the aspects of a profile that it states.
ROWS: Mapping[str, Sequence[str]] = {
    "Input": ("tokens", "image", "audio"),
    "Positions": ("positions",),
    "Mixer": ("mixer", "details"),
    "Window": ("window",),
    "Cross-attention": ("cross-attention",),
    "MLP": ("MLP",),
    "MLP activation": ("activation",),
    "Norms": ("norms",),
    "Block": ("arrangement",),
    "Head": ("head",),
}
PROJECTIONS = ("query", "key", "value", "output")  # of attention
ALWAYS = "a token embedding"  # the usual input, which is not stated
TOGETHER = 4  # the most columns of models in one table of words
VALUES = 6  # the same in one table of sizes


def structure_tables(models: Sequence[Model], names: Sequence[str]) -> list[Table]:
    """Return the structure of each model in words, a few models in each table; a traced model has dashes.

    All tables have the same rows, so that a reader sees what a model lacks.
    """
    found = [None if _is_traced(model) else profiles(model.component) for model in models]
    titles = [title for title in [*ROWS, "Biases"] if any(stacks and any(_said(title, stacks)) for stacks in found)]
    made = []
    groups = -(-len(models) // TOGETHER)
    size = -(-len(models) // groups)  # the tables have about the same number of columns
    for start in range(0, len(models), size):
        some = found[start : start + size]
        rows: list[Sequence[Line]] = [[[title], *(_cell(title, stacks) for stacks in some)] for title in titles]
        head: list[Line] = [["Part"], *([Code(name)] for name in names[start : start + size])]
        more = " (continued)" if start else ""
        caption: Line = [f"Structure of the models{more}."]
        made.append(Table(head, rows, "l" + "w" * len(some), caption=caption, id=f"survey.structures.{start + 1}"))
    return made


def _is_traced(model: Model) -> bool:
    return isinstance(model.component, RecognizedModel | MeasuredModel)


def _cell(title: str, stacks: Mapping[str, StackProfile] | None) -> Line:
    if stacks is None:
        return [NO_VALUE]
    return _said(title, stacks) or [NO_VALUE]


def _said(title: str, stacks: Mapping[str, StackProfile]) -> Line:
    """Return the phrases of a row for each stack of a model, with its name if there are several."""
    told: dict[str, list[str]] = {}
    for name, profile in stacks.items():
        if title == "Biases":
            phrases = _biases(profile)
        else:
            phrases = [
                bare(phrase).rstrip(",")
                for aspect in ROWS[title]
                for phrase in profile.aspects.get(aspect, ())
                if phrase != ALWAYS and not phrase.startswith(BIAS)
            ]
        if phrases:
            told[name] = phrases
    found: list[Piece] = []
    same = len(told) == len(stacks) and len({tuple(each) for each in told.values()}) == 1
    for name, phrases in list(told.items())[: 1 if same else None]:
        found += ["; "] if found else []
        found += [f"{name}: "] if name and not same else []
        found += line((", " if title == "Biases" else "; ").join(phrases))
    return found


BIAS = "a bias of the "


def _biases(profile: StackProfile) -> list[str]:
    """Return the parts with biases, in a few words."""
    own = tuple(profile.aspects.get("attention biases", ()))
    found = ["attention" if own == PROJECTIONS else f"attention ({joined(own)})"] if own else []
    for aspect in ("cross-attention biases", "MLP biases"):
        found += [bare(phrase).removeprefix("biases in the ") for phrase in profile.aspects.get(aspect, ())]
    details = profile.aspects.get("details", ())
    return found + [each.removeprefix(BIAS) for each in details if each.startswith(BIAS)]


def symbol_tables(models: Sequence[Model], names: Sequence[str], blocks: Sequence[Block]) -> list[Table]:
    """Return the table of exactly the symbols in these blocks, with their meanings and their values in each model.

    Many models have further tables, with the values only.
    A letter means the same kind of size in every model; a meaning that differs is stated with its model.
    """
    used = sorted({size for shown in formulas_in(blocks) for size in sizes_of(shown)}, key=print_order)
    if not used:
        return []
    values = {
        size: [[] if (number := model.known.get(size)) is None else [f"{number:,}"] for model in models]
        for size in used
    }
    made: list[Table] = []
    groups = -(-len(models) // VALUES)
    step = -(-len(models) // groups)
    for start in range(0, len(models), step):
        some = slice(start, start + step)
        head: list[Line] = [["Symbol"], *([] if start else [["Meaning"]]), *([Code(name)] for name in names[some])]
        rows: list[Sequence[Line]] = [
            [[Math.of(size)], *([] if start else [_meaning(size, models, names)]), *values[size][some]]
            for size in used
            if not start or any(values[size][some])
        ]
        caption = "Sizes of the other models." if start else "Symbols, with the sizes of each model."
        align = "c" + "l" * (not start) + "r" * len(names[some])
        made.append(Table(head, rows, align, caption=[caption], id=f"survey.symbols.{start + 1}"))
    return made


def _meaning(size: Symbol, models: Sequence[Model], names: Sequence[str]) -> Line:
    owners: dict[str, list[str]] = {}
    for name, model in zip(names, models, strict=True):
        if size in model.sizes or size in model.known:
            owners.setdefault(size_meaning(size, model.provenance.places.get(size.name)), []).append(name)
    if len(owners) < 2:
        return [next(iter(owners), size_meaning(size, None))]
    return ["; ".join(f"{meaning} ({', '.join(of)})" for meaning, of in owners.items())]
