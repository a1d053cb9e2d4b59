"""The source of a number, as text and as data: built in and certified, or traced, and what it was compared with."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..architectures.base_architecture import Architecture
from ..certificates import Certificate, certificate_for
from ..formulas.formula import Formula
from ..language.errors import joined
from ..language.symbols import K
from ..models.model import Model
from ..models.provenance import TraceEvidence, fixed_note, libraries, runs_of_kinds
from ..quantities import quantity as find_quantity
from ..quantities.quantity import COUNTED, PLACEMENT

WITHOUT = "without"  # excluded parameters; a certificate covers every row


def provenance_lines(model: Model, formula: Formula) -> list[str]:
    """Return sentences on the origin of the config, the source of the formula, its verification and assumptions."""
    read_at = model.provenance.read_at
    fetched = [f"from the config.json of {model.target} on the Hub, {read_at}"] * bool(read_at)
    return [*fetched, *source_sentences(model, formula)]


def source_sentences(model: Model, formula: Formula) -> list[str]:
    """Return sentences on the source of the formula, its verification and assumptions."""
    found = model.provenance.for_quantity(formula.measure.name)
    if found.module:
        lines = [f"counted on the module {model.title} itself, so its sizes are fixed ({found.module})"]
    elif found.reading is None:
        whole = model.component.role == "model"  # certificates cover complete models, not parts
        lines = [f"built in; {_confirmed(model, formula)}"] * whole
    else:
        reading = found.reading
        lines = [
            f"{'from the catalogue: ' * (found.by == 'catalogue')}traced from the code of "
            f"{model.title.removesuffix(', traced')}; matches it row by row at {reading.points} new random configs"
            f"{config_agreement(reading)} ({libraries(reading.versions)})"
        ]
        lines += [f"{each.name} {fixed_note(each)}" for each in reading.pinned]
        lines += [f"{name} = {other}: the trace is valid only if this holds" for name, other in reading.ties.items()]
        for name, kinds in reading.patterns.items():
            runs = joined(f"{times} {kind}" for times, kind in runs_of_kinds(kinds))
            lines.append(f"the formula holds if {name} repeats {runs}")
        if reading.ignored:
            lines.append(f"{', '.join(reading.ignored)}: no effect on the stored weights")
        lines += reading.input_notes
        if COUNTED in formula.conventions:
            lines.append(_held(formula))
    return [*lines, *model.provenance.notes]


def provenance_json(model: Model, formula: Formula) -> dict[str, Any]:
    """Return the source of a formula as data."""
    found = model.provenance.for_quantity(formula.measure.name)
    stated = {"assumed": list(model.provenance.assumed), "quantized": model.provenance.quantized or None}
    if found.module:
        name, _, version = found.module.partition(" ")
        return {"by": "module", "witness": model.title, "points": None, "versions": {name: version}, **stated}
    if found.reading is None:
        certificate = certificate_for(model, formula)
        held = asdict(certificate) if certificate and _same(certificate, formula) else {}
        facts = {name: held.get(name) for name in ("witness", "points", "bound", "versions")}
        return {"by": "composed", **facts, **stated}
    reading = found.reading
    return {
        "by": found.by or "trace",
        "witness": model.title.removesuffix(", traced"),
        "points": reading.points,
        "at_config": reading.at_config or None,
        "versions": dict(reading.versions),
        "pinned": [{"name": each.name, "value": each.value, "why": each.why} for each in reading.pinned],
        "tied": dict(reading.ties),
        "ignored": list(reading.ignored),
        "unread": list(reading.unread),
        "images": reading.images or None,
        "fields": {str(size): field for size in formula.symbols if (field := model.field_of(size))},
        **stated,
    }


def config_agreement(reading: TraceEvidence) -> str:
    """Return a phrase that states how the formula agreed with torch at the config that was traced."""
    how = {"row by row": " and at its own config", "in all": ", with the same total at its own config"}
    return how.get(reading.at_config, "")


def _confirmed(model: Model, formula: Formula) -> str:
    question, ours = find_quantity(formula.measure.name), formula.conventions
    if COUNTED in ours:
        return _held(formula)
    certificate = certificate_for(model, formula)
    if certificate is None:
        return _held(formula) if question.check_description(formula) else "no certificate covers this variant"
    other = [f"{name}={value}" for name, value in certificate.conventions.items() if ours.get(name) != value]
    beside = ours.keys() - certificate.conventions.keys() - PLACEMENT.keys() - {WITHOUT}
    other += [f"{name}={question.choices[name].default}" for name in sorted(beside)]
    as_is = f"certified with {', '.join(other)}" if other else "certified"
    if isinstance(component := model.component, Architecture) and component.witness.every_expert:
        as_is += ", at K = X" * (formula.measure.unit == "FLOPs" and K in formula.dependencies)
    if WITHOUT in ours:
        as_is = f"with all weights included, {as_is}"
    if ours.keys() & PLACEMENT.keys():
        as_is = f"for the whole model, {as_is}"
    at = f"{certificate.points} random configs ({libraries(certificate.versions)})"
    return f"{as_is}: matches {certificate.witness} row by row at {at}"


def _held(formula: Formula) -> str:
    """Return a phrase on how a formula without a certificate is checked."""
    said = find_quantity(formula.measure.name).check_description(formula)
    return said[0].lower() + said[1:].removesuffix(".")


def _same(certificate: Certificate, formula: Formula) -> bool:
    return dict(certificate.conventions) == dict(formula.conventions)
