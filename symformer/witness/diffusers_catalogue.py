"""The catalogue of diffusers models, written by tracing published configs.

``python -m symformer.witness.diffusers_catalogue tests/diffusion_configs.json`` traces each config of that list, which
states where each was published and where it was read, and writes a file for each class.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch

from ..catalogue.codec import to_data
from ..catalogue.diffusers_models import (
    CLASS,
    FOLDER,
    fields_of,
    line_of,
    read,
    record_of,
    stored_buffers,
    structure_of,
)
from ..catalogue.entries import equal_values
from ..catalogue.measured_model import MeasuredModel
from ..catalogue.record import stored_model, stored_record
from ..configs.config_source import open_config
from ..language.errors import SymformerError, WitnessError
from .diffusers_classes import buffers, model_class, trace_diffusion
from .torch_session import silence

OF_A_CONFIG = ("config", "assumed", "reading")  # fields of a record that may differ for two configs with one formula


def write(published: Sequence[Mapping[str, Any]], folder: Path = Path(str(FOLDER))) -> list[str]:
    """Write a file for each class of the configs, and return the reasons why some have no formula."""
    files: dict[str, dict[str, Any]] = {}
    refused = []
    for each in published:
        try:
            add(files, open_config(each["config"]).config, each["of"])
        except SymformerError as error:
            refused.append(f"{each['of']}: {error}")
    files = {name: data for name, data in files.items() if data["structures"]}
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.json").write_text(json.dumps(data, separators=(",", ":")) + "\n", "utf-8")
    return refused


def add(files: dict[str, dict[str, Any]], config: Mapping[str, Any], source: str) -> None:
    """Add the structure and formula of a config, or only its source if they are known. Raises WitnessError."""
    kind = model_class(config, source)
    arguments = [*inspect.signature(kind.__init__).parameters.values()][1:]
    name = kind.__name__
    data = files.setdefault(
        name,
        {
            "name": name,
            "defaults": _plain({each.name: each.default for each in arguments if each.default is not each.empty}),
            "required": [each.name for each in arguments if each.default is each.empty],
            "structures": [],
            "rows": [],
            "formulas": [],
        },
    )
    given = {each: value for each, value in fields_of(config).items() if each in {other.name for other in arguments}}
    with silence(), torch.device("meta"):
        built = kind.from_config(dict(given))
    kept = read(data)
    if (found := structure_of(kept, given)) is not None:
        value = stored_model(source, record_of(kept, found, given)).params.value()
        if value != sum(each.numel() for each in built.parameters()):
            raise WitnessError(f"the formula of {found.sources[0]} gives {value:,} parameters, unlike its class")
        data["structures"][kept.structures.index(found)]["sources"].append(source)
        return
    traced, stored = trace_diffusion({CLASS: name, **given}, source), buffers(built)
    counts = cast(MeasuredModel, traced.model.component).counts
    exprs = {each for (_, shape), copies in counts.items() for each in (*shape, *copies)}
    used = {str(symbol) for each in exprs for symbol in each.free_symbols}
    sizes = {each: given[each] for each, letter in traced.letters.items() if each in given and letter in used}
    own = {
        each: value
        for each, value in _plain(given).items()
        if each not in sizes and not (each in data["defaults"] and equal_values(data["defaults"][each], value, 0))
    }
    data["structures"].append(
        {
            "sources": [source],
            "fields": own,
            "sizes": sizes,
            "notes": [each for each in traced.model.provenance.assumed if each not in stored_buffers(stored)],
            "buffers": stored,
            "formula": _number(data, to_data(stored_record(traced.model, traced.letters))),
        }
    )


def _number(data: dict[str, Any], record: Mapping[str, Any]) -> int:
    """Return the index of a formula in its class, adding it if it is new."""
    rows = []
    for row in map(line_of, record["traced"]["counts"]):
        if row not in data["rows"]:
            data["rows"].append(row)
        rows.append(data["rows"].index(row))
    formula = {**record, "traced": {**record["traced"], "counts": rows}}
    own = {each: value for each, value in formula.items() if each not in OF_A_CONFIG}
    for number, other in enumerate(data["formulas"]):
        if own == {each: value for each, value in other.items() if each not in OF_A_CONFIG}:
            return number
    data["formulas"].append({**own, "reading": record["reading"]})
    return len(data["formulas"]) - 1


def _plain(fields: Mapping[str, Any]) -> Any:
    """Return fields as JSON values."""
    return json.loads(json.dumps(fields))


if __name__ == "__main__":
    for why in write(json.loads(Path(sys.argv[1]).read_text("utf-8"))):
        print(why)  # noqa: T201
