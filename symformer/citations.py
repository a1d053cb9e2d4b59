"""Citing: a BibTeX entry for a formula's derivation, and for each paper it rests on."""

from __future__ import annotations

from .components.base import Component
from .errors import UnknownNameError
from .formula import Formula
from .model import Model
from .papers import cited, escape, paper
from .quantities import quantities, quantity
from .targets import COMPONENT, names, resolve

RELEASED = 2026  # the year of this version, for its BibTeX entry


def papers_of(formula: Formula) -> list[str]:
    """The keys of the papers that a formula rests on: those cited where its parts and what it counts are described."""
    question = quantity(formula.measure.name)
    parts = [line.part for line in formula.root.parts() if line.each != 0]
    said = [part.under(formula.relations).about for part in parts if isinstance(part, Component)]
    meant = [question.choices[name].meanings[value] for name, value in formula.conventions.items()]
    return cited([*said, question.statement, *meant])


def find(formula_id: str) -> tuple[Model, Formula, Formula]:
    """The formula of an id such as ``gpt2.params.h.attn``, after its model; then that of the part that it stands in.

    An operation stands in a part, and any other formula in itself. Raises UnknownNameError.
    """
    for target in sorted([*names(), *(name.removeprefix(COMPONENT) for name in names())], key=len, reverse=True):
        if formula_id != target and not formula_id.startswith(target + "."):
            continue
        known = target if target in names() else COMPONENT + target
        asked, _, part = formula_id[len(target) + 1 :].partition(".")
        model, _ = resolve(known)
        formula = model.formula(asked or "params")
        named = formula.part(part)
        return model, named, formula.part(part.rpartition(".")[0]) if named.root.entry else named
    examples = [f"{name}.{quantity}" for name in names() for quantity in quantities()]
    raise UnknownNameError("formula", formula_id, examples)


def bibtex(formula_id: str, version: str) -> str:
    """The BibTeX entries for a formula: its derivation first, then its papers."""
    model, formula, within = find(formula_id)
    title = f"{model.title}: {formula.measure.title} in closed form"
    note = f"symformer {version}, formula {escape(formula.id)}, digest {formula.digest}: ${formula.latex()}$"
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
    return "\n\n".join([entry, *(paper(key).bibtex() for key in papers_of(within))])
