"""Models side by side as a document: the blocks of their comparison, with definitions, conditions and references."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from ..algebra.compared_model import ComparedModel, sides_of
from ..algebra.comparison_blocks import ComparisonBlocks, per
from ..algebra.model_comparison import Comparison
from ..architectures import presets
from ..language.errors import joined
from ..output.blocks import (
    Block,
    Code,
    Document,
    Heading,
    Math,
    Paragraph,
    Piece,
    capital,
    listed,
    maybe,
    setting,
)
from ..papers import paper
from ..quantities import quantity as find_quantity
from ..views.formula_facts import changed_conventions, check_of, conditions_of, subject_of
from .condition_text import conditions
from .figures.inset import comparison_figure
from .notation import symbols_of
from .part_computations import about_part
from .references import with_references
from .sentences import sentence
from .subject import config_lines, in_subtitle, subject_line
from .verification import short_check


def document(found: Sequence[Comparison], version: str, *, exact: bool = False, growth: str = "") -> Document:
    """Return the comparison of models as a document, with one chapter per quantity.

    Parameters
    ----------
    found
        The comparisons, one per quantity, all of the same models.
    version
        The version of symformer, for the subtitle.
    exact
        Whether to print fractions next to their decimal values.
    growth
        A growth order, such as ``S >> E``, for the limit of each ratio.

    """
    said: list[Block] = []
    for each in found:
        chapter = _chapter(ComparisonBlocks(each, exact=exact, growth=growth))
        if len(found) > 1:
            said.append(Heading(1, [capital(each.formulas[0].measure.title + per(each))]))
            chapter = [replace(one, level=one.level + 1) if isinstance(one, Heading) else one for one in chapter]
        said += chapter
    symbols_of(said)
    said, keys = with_references(said)
    sides = sides_of(found[0])
    titles = [each.formulas[0].measure.title + per(each) for each in found]
    told = [_told(each, [side.name for side in sides]) for each in found]
    files = [("comparison.json", json.dumps(told, indent=1, ensure_ascii=False) + "\n")]
    if keys:
        files.append(("references.bib", "\n\n".join(paper(key).bibtex() for key in keys) + "\n"))
    counted = in_subtitle(
        changed_conventions([replace(each.formulas[0], conventions=each.common_conventions) for each in found])
    )
    return Document(
        f"{joined(side.titled for side in sides)}: {joined(titles)} compared",
        f"{counted}Compared by symformer {version} from closed forms; every total is exact.",
        said,
        ["transformer", *dict.fromkeys(model.title for model in found[0].models), *titles],
        files,
    )


def _told(found: Comparison, names: Sequence[str]) -> dict[str, object]:
    """Return the JSON of a comparison, with names instead of paths of this machine."""
    told = found.to_json()
    for pair, (place, name) in zip(told.get("pairs", []), enumerate(names[1:], 2), strict=False):
        pair |= {"left": names[0], "right": name, "places": [1, place]}
    return told | ({"models": list(names)} if "models" in told else {"left": names[0], "right": names[1]})


def _chapter(parts: ComparisonBlocks) -> list[Block]:
    """Return the chapter of one quantity."""
    found, sides, measure = parts.found, parts.sides, parts.measure
    result, counted = parts.result(), _counted(parts)
    about: list[Block] = [
        Heading(1, ["The two models" if len(sides) == 2 else "The models"]),
        *map(about_side, sides),
        *parts.options(),
    ]
    rest = [*parts.table(), *parts.pairs()]
    holds = _conditions(sides)
    letters = parts.symbols([*result, *counted, *about, *holds, *rest])
    alone = found.divisor == 1 and not found.ties
    of_whole = all(
        each.id == f"{model.id}.{measure.name}" for model, each in zip(found.models, found.formulas, strict=True)
    )
    drawn = comparison_figure(found.models, found.formulas) if alone and of_whole else []
    for figure in drawn:
        about.append(Paragraph([figure.mention("shows both models side by side.")]))
    return [*result, *about, *counted, *letters, *drawn, *holds, *rest]


def about_side(side: ComparedModel, mark: str = "", checked: bool = True) -> Block:
    """Return a paragraph on one side: the model, the source of its sizes and its check, unless ``checked`` is false.

    It starts with the mark of the side: its number, unless another one is given.
    """
    subject = subject_of(side.model)
    part = side.formula.root.key if side.formula.whole_account is not None else ""
    line: list[Piece] = [
        f"({mark or side.number}) ",
        *maybe(part, "one ", Code(part), " of "),
        *side.line(subject_line(subject, side.formula)),
        ": ",
        *side.line(about_part(side.formula.root, side.formula)),
    ]
    if line[-1] == ": ":
        line[-1] = f": {side.model.title}."
    if side.model.target in presets():
        line += [" Sizes from ", *sentence(presets()[side.model.target]["source"]), "."]
    for each in config_lines(subject):
        line += [" ", *each]
    if checked:
        line += [" ", *short_check(check_of(side.model, side.formula))]
    return Paragraph(line)


def _counted(parts: ComparisonBlocks) -> list[Block]:
    """Return the definition of the quantity and its conventions."""
    found = parts.found
    question = find_quantity(parts.measure.name)
    states = dict.fromkeys(question.statement_for(formula) for formula in found.formulas)
    said: list[Block] = [Heading(1, ["Definition and conventions"])]
    said += [Paragraph(sentence(each)) for each in states]
    said += map(Paragraph, found.rank_lines())
    if found.divisor != 1:
        said.append(Paragraph(["All amounts are divided by ", Math.of(found.divisor), "."]))
    meanings = {
        name: {choice: sentence(meaning) for choice, meaning in each.meanings.items()}
        for name, each in question.choices.items()
    }
    every = {
        name: choice for each in reversed(found.formulas) for name, choice in question.shown_conventions(each).items()
    }
    for name, choice in every.items():
        if all(name not in special for special in found.differing_conventions):
            said.append(Paragraph([setting(name, choice), ": ", *meanings[name][choice], "."]))
    return [*said, *parts.special(meanings)]


def _conditions(sides: Sequence[ComparedModel]) -> list[Block]:
    """Return the conditions of each formula."""
    line: list[Piece] = []
    for side in sides:
        if notes := [side.line(note) for note in conditions(conditions_of(side.model, side.formula))]:
            start, holds = ("; for ", ", if ") if line else ("The formula holds for ", " if ")
            line += [start, *side.called, holds, *listed(*notes)]
    return [Paragraph([*line, "."])] if line else []
