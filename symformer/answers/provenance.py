"""Where a number comes from, in words and as data: composed and certified, or read off code, and against what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..certificates import Certificate, certificate_for
from ..formulas.formula import Formula
from ..models.model import Model
from ..models.provenance import Reading
from ..quantities import quantity as find_quantity
from ..quantities.quantity import COUNTED, PLACEMENT

WITHOUT = "without"  # of parameters, what is left out: a certificate has every row of them


def provenance_lines(model: Model, formula: Formula) -> list[str]:
    """Where the config was read, which door answered, what confirmed it, and what was assumed; a sentence each."""
    read_at = model.provenance.read_at
    fetched = [f"from the config.json of {model.target} on the Hub, {read_at}"] * bool(read_at)
    return [*fetched, *answered_by(model, formula)]


def answered_by(model: Model, formula: Formula) -> list[str]:
    """The same of any config, wherever it was read."""
    found = model.provenance.of(formula.measure.name)
    if found.reading is None:
        whole = model.component.role == "model"  # certificates are of whole models, not of parts
        lines = [f"composed here; {_confirmed(model, formula)}"] * whole
    else:
        reading = found.reading
        lines = [
            f"{'from the catalogue: ' * (found.by == 'catalogue')}read off the code of "
            f"{model.title.removesuffix(', traced')}: the same, row by row, at {reading.points} fresh random configs"
            f"{at_config(reading)} ({_with(reading.versions)})"
        ]
        lines += [f"{each.name} is kept at {each.value:,}: {each.why}" for each in reading.pinned]
        lines += [f"{name} is {other}: the trace holds with no other" for name, other in reading.ties.items()]
        if reading.ignored:
            lines.append(f"{', '.join(reading.ignored)}: nothing that the class stores depends on it")
        lines += reading.beside
        if COUNTED in formula.conventions:
            lines.append(_held(formula))
    return [*lines, *model.provenance.notes]


def provenance_json(model: Model, formula: Formula) -> dict[str, Any]:
    """The same as data."""
    found = model.provenance.of(formula.measure.name)
    stated = {"assumed": list(model.provenance.assumed), "quantized": model.provenance.quantized or None}
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
        **stated,
    }


def at_config(reading: Reading) -> str:
    """Return a phrase that states how the formula agreed with torch at the config that was traced."""
    how = {"row by row": " and at its own config", "in all": ", and the same total at its own config"}
    return how.get(reading.at_config, "")


def _confirmed(model: Model, formula: Formula) -> str:
    question, ours = find_quantity(formula.measure.name), formula.conventions
    if COUNTED in ours:
        return _held(formula)
    certificate = certificate_for(model, formula)
    if certificate is None:
        return _held(formula) if question.checking(formula) else "no certificate is for this form of it"
    other = [f"{name}={value}" for name, value in certificate.conventions.items() if ours.get(name) != value]
    beside = ours.keys() - certificate.conventions.keys() - PLACEMENT.keys() - {WITHOUT}
    other += [f"{name}={question.choices[name].default}" for name in sorted(beside)]
    as_is = f"with {', '.join(other)} certified" if other else "certified"
    if WITHOUT in ours:
        as_is = f"with every weight {as_is}"
    if ours.keys() & PLACEMENT.keys():
        as_is = f"of the whole model {as_is}"
    at = f"{certificate.points} random configs ({_with(certificate.versions)})"
    return f"{as_is}: {certificate.witness} has the same, row by row, at {at}"


def _held(formula: Formula) -> str:
    """What holds a formula that has no certificate: to the rules that it is counted by, or to what is known of it."""
    said = find_quantity(formula.measure.name).checking(formula)
    return said[0].lower() + said[1:].removesuffix(".")


def _same(certificate: Certificate, formula: Formula) -> bool:
    return dict(certificate.conventions) == dict(formula.conventions)


def _with(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
