"""Citations: a BibTeX entry for the derivation of a formula and for each paper it is based on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from ..components.base import Component
from ..formulas.formula import Formula
from ..language.errors import QUOTED, OptionError, UnknownNameError, listed
from ..language.notation.latex import latex
from ..language.notation.text import code
from ..language.target import COMPONENT, TargetKind, parse
from ..ledger.adapters import CHANGES
from ..models.model import Model
from ..models.provenance import libraries
from ..papers import cited_papers, escape, paper, papers
from ..quantities import quantities, quantity
from ..targets.opened_target import names
from ..targets.resolution import resolve

RELEASED = 2026  # the year of this version, for its BibTeX entry


def papers_of(formula: Formula) -> list[str]:
    """Return the keys of the papers a formula is based on: those cited by its parts and by its quantity."""
    question = quantity(formula.measure.name)
    parts = [line.part for line in formula.root.parts() if line.each != 0]
    said = [part.with_relations(formula.relations).about for part in parts if isinstance(part, Component)]
    meant = [question.choices[name].meanings[value] for name, value in question.shown_conventions(formula).items()]
    return cited_papers([*said, question.statement_for(formula), *meant])


def find(
    formula_id: str, options: Mapping[str, str] | None = None, sets: Iterable[str] = ()
) -> tuple[Model, Formula, Formula]:
    """Return the model of an id such as ``gpt2.params.h.attn``, its formula, and the formula of the enclosing part.

    The enclosing part of an operation is its component; any other formula encloses itself. Raises UnknownNameError for
    an unknown id, and OptionError and SizeError for options and sizes that the model does not have.
    """
    if target := target_of(formula_id):
        known = COMPONENT + target if COMPONENT + target in names() and target not in names() else target
        asked, _, part = formula_id[len(target) + 1 :].partition(".")
        asked = asked or "params"
        model, conventions = resolve(known, options, sets, [asked])
        formula = model.formula(asked, **conventions)
        model.check_run_sizes([formula])
        named = formula.part(part)
        return model, named, formula.part(part.rpartition(".")[0]) if named.root.entry else named
    examples = [f"{name}.{quantity}" for name in names() for quantity in quantities()]
    form = "write a target, a quantity and a part, such as gpt2.params.h.attn; `symformer list` shows the targets"
    raise UnknownNameError("formula", formula_id, get_close_matches(formula_id[:QUOTED], examples, n=3), form)


def target_of(formula_id: str) -> str:
    """Return the target at the start of an id: the longest known name, else a config or Hub id; "" if there is none."""
    every = names()
    named = {*every, *(name.removeprefix(COMPONENT) for name in every)}
    dots = max(name.count(".") for name in named)
    first = formula_id.split(".", dots + 1)[: dots + 1]
    for count in range(len(first), 0, -1):
        if (target := ".".join(first[:count])) in named:
            return target
    words, known = formula_id.split("."), quantities()
    ends = [place for place, word in enumerate(words) if place and word in known]
    target = ".".join(words[: ends[0]] if ends else words)
    kind = parse(target).kind
    return (
        target
        if kind in (TargetKind.CONFIG, TargetKind.HUB, TargetKind.HF)
        or (kind is TargetKind.NAME and os.path.isdir(target))
        else ""
    )


def completions(start: str) -> list[str]:
    """Return the ids that start with the typed text, completed by one word."""
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


def bibtex(ids: Sequence[str], version: str, options: Mapping[str, str] | None = None) -> str:
    """Return the BibTeX entries of formulas and papers without duplicates: each derivation, then its papers.

    An option applies to every formula that has it. Raises UnknownNameError for an unknown id, and OptionError for an
    option that no formula has.
    """
    given = dict(options or {})
    own = [{} if id in papers() else _taken(id, given) if len(ids) > 1 else given for id in ids]
    if lost := [name for name in given if not any(name in each for each in own)]:
        raise OptionError(f"{lost[0]} is not an option of {listed(ids)}")
    entries: dict[str, str] = {}
    for id, taken in zip(ids, own, strict=True):
        if id in papers():
            entries[id] = paper(id).bibtex()
            continue
        if not target_of(id) and (near := get_close_matches(id[:QUOTED], papers(), n=3, cutoff=0.8)):
            raise UnknownNameError("formula or paper", id, near)
        model, formula, within = find(id, taken)
        entries[key(model, formula)] = _entry(model, formula, version)
        for each in papers_of(within):
            entries.setdefault(each, paper(each).bibtex())
    return "\n\n".join(entries.values())


def bibtex_of(model: Model, formula: Formula, version: str) -> str:
    """Return the BibTeX entries of a formula of a model: its derivation, then the papers that it is based on."""
    return "\n\n".join([_entry(model, formula, version), *(paper(each).bibtex() for each in papers_of(formula))])


def _taken(id: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the options that the formula of an id has."""
    if not given:
        return {}
    model, formula, _ = find(id)
    whole = {} if model.provenance.from_torch or model.component.role != "model" else CHANGES
    known = {*model.component.choices(), *quantity(formula.measure.name).choices, *whole}
    return {name: value for name, value in given.items() if name in known}


def key(model: Model, formula: Formula) -> str:
    """Return the BibTeX key of a formula: its id, and the settings that differ from the default formula of that id.

    >>> from symformer.targets.resolution import model
    >>> small, large = model("llama-3.2-1b"), model("llama-3.1-8b")
    >>> key(small, small.params), key(large, large.params)
    ('llama.params:tied-true', 'llama.params')
    """
    usual = quantity(formula.measure.name).choose({})
    counted = {name: value for name, value in formula.conventions.items() if usual.get(name) != value}
    changed = [f"{name}-{value}" for name, value in {**model.component.changed_options, **counted}.items()]
    own = {name: value for name, value in formula.relations.items() if model.component.relations.get(name) != value}
    changed += [f"{name}-{code(value)}" for name, value in own.items()]
    changed += [f"{name}-free" for name in model.component.relations if name not in formula.relations]
    return re.sub(r"[^A-Za-z0-9.:_+*/-]", "+", ":".join([formula.id, *changed]))


def _spelt(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _entry(model: Model, formula: Formula, version: str) -> str:
    """Return the BibTeX entry of the derivation of a formula."""
    part = f", {formula.root.path}" if formula.root.path else ""
    title = f"{model.title}{part}: {formula.measure.title} in closed form"
    note = f"symformer {version}, formula {escape(formula.id)}, digest {formula.digest}: ${formula.latex()}$"
    if formula.relations:
        note += f", where ${', '.join(f'{latex(size)} = {latex(value)}' for size, value in formula.relations.items())}$"
    if chosen := model.component.changed_options:
        note += f", of the model with {escape(_spelt(chosen))}"
    if formula.conventions:
        note += f", counted with {escape(_spelt(formula.conventions))}"
    if reading := model.provenance.for_quantity(formula.measure.name).reading:
        note += f", traced from the code of its class with {libraries(reading.versions)}"
    elif model.provenance.module:
        note += f", counted on the module with {model.provenance.module}"
    return "\n".join(
        (
            f"@misc{{{key(model, formula)},",
            "  author = {{The symformer authors}},",
            f"  title = {{{{{escape(title)}}}}},",
            f"  year = {{{RELEASED}}},",
            f"  note = {{{note}}}",
            "}",
        )
    )
