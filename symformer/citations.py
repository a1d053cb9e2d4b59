"""Citing: a BibTeX entry for a formula's derivation, and for each paper it rests on."""

from __future__ import annotations

from difflib import get_close_matches

from .components.base import Component
from .errors import QUOTED, UnknownNameError
from .formula import Formula
from .model import Model
from .papers import escape, paper
from .quantities import quantities
from .target import COMPONENT
from .targets import names, resolve

RELEASED = 2026  # the year of this version, for its BibTeX entry


def papers_of(model: Model) -> list[str]:
    """The keys of the papers a model rests on: its own first, then those of its parts in order."""
    keys = list(model.component.papers)
    for line in model.params.root.parts():
        if isinstance(line.part, Component):
            keys += [key for key in line.part.papers if key not in keys]
    return keys


def find(formula_id: str) -> tuple[Model, Formula]:
    """The formula of an id such as ``gpt2.params`` or ``gpt2.params.h.attn``. Raises UnknownNameError."""
    for target in sorted([*names(), *(name.removeprefix(COMPONENT) for name in names())], key=len, reverse=True):
        if formula_id != target and not formula_id.startswith(target + "."):
            continue
        known = target if target in names() else COMPONENT + target
        quantity, _, part = formula_id[len(target) + 1 :].partition(".")
        model, _ = resolve(known)
        formula = model.formula(quantity or "params")
        return model, formula.part(part) if part else formula
    examples = [f"{name}.{quantity}" for name in names() for quantity in quantities()]
    form = "an id is a target, a quantity and a part, such as gpt2.params.h.attn; `symformer list` has the targets"
    raise UnknownNameError("formula", formula_id, get_close_matches(formula_id[:QUOTED], examples, n=3), form)


def continued(start: str) -> list[str]:
    """The ids that go on from what is typed of one, a word further."""
    targets = sorted({name.removeprefix(COMPONENT) for name in names()}, key=len, reverse=True)
    target = next((name for name in targets if start.startswith(name + ".")), None)
    if target is None:
        return [f"{name}." for name in targets if name.startswith(start)]
    asked, dot, _ = start[len(target) + 1 :].partition(".")
    if not dot:
        found = [f"{target}.{name}" for name in quantities()]
    else:
        formula = find(f"{target}.{asked}")[1]
        found = [f"{formula.id}.{line.key}" for line in formula.root.walk() if line.key]
    return [each for each in found if each.startswith(start)]


def bibtex(formula_id: str, version: str) -> str:
    """The BibTeX entries for a formula: its derivation first, then its papers."""
    model, formula = find(formula_id)
    title = f"{model.title}: {formula.measure.title} in closed form"
    note = f"symformer {version}, formula {formula.id}, digest {formula.digest}: ${formula.latex()}$"
    entry = "\n".join(
        (
            f"@misc{{{formula.id},",
            "  author = {{The symformer authors}},",
            f"  title = {{{{{escape(title)}}}}},",
            f"  year = {{{RELEASED}}},",
            f"  note = {{{note}}}",
            "}",
        )
    )
    return "\n\n".join([entry, *(paper(key).bibtex() for key in papers_of(model))])
