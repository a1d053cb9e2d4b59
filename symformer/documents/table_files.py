"""The files of a table of models: .tex, .md and .csv have the table alone, and the others are pages."""

from __future__ import annotations

import csv
import json
from io import StringIO

from ..language.errors import joined
from ..output.blocks import Document, capital, numbered
from .formats import render
from .model_table import ModelTable


def table_file(found: ModelTable, extension: str, version: str) -> bytes:
    """Return a table as the bytes of a file.

    Parameters
    ----------
    found
        The table.
    extension
        The format, one of TABLES.
    version
        The version of symformer, for the subtitle of a page.

    Raises
    ------
    DocumentError
        If the format cannot be written.

    """
    if extension == "tex":
        return found.latex().encode()
    if extension == "md":
        return f"{found.to_markdown()}\n".encode()
    if extension == "csv":
        return comma_separated(found).encode()
    return render(page(found, version), extension)


def page(found: ModelTable, version: str) -> Document:
    """Return a document with the table and its notes."""
    columns = capital(joined(found.column_name(name) for name in found.quantities))
    whose = f"{len(found.models)} models" if len(found.models) > 1 else found.names[0]
    facts = json.dumps(found.to_json(), indent=1, ensure_ascii=False) + "\n"
    return Document(
        f"{columns} of {whose}",
        f"Computed by symformer {version} from closed forms.",
        numbered(found.to_blocks())[0],
        ["transformer", *found.names],
        [("table.json", facts)],
    )


def comma_separated(found: ModelTable) -> str:
    """Return the exact values as CSV, with the unit of each column and the reasons for missing values.

    >>> import symformer as sf
    >>> print(comma_separated(sf.table(["gpt2", "mamba2-2.7b"], ["params", "kv-cache"], per="token")), end="")
    model,params (elements),kv-cache (bytes per token),notes
    gpt2,124439808,36864,
    mamba2-2.7b,2702599680,,kv-cache: no value for C
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    facts = found.to_json()
    units = [f"{each['name']} ({each['unit']}{' per token' * bool(each['per'])})" for each in facts["quantities"]]
    writer.writerow(["model", *map(str, found.sizes), *units, "notes"])
    for name, model, row in zip(found.names, found.models, found.cells, strict=True):
        reasons = [
            f"{quantity}: {cell.reason}"
            for quantity, cell in zip(found.quantities, row, strict=True)
            if cell.value is None
        ]
        values = ["" if cell.value is None else cell.value for cell in row]
        writer.writerow([name, *(model.known.get(size, "") for size in found.sizes), *values, "; ".join(reasons)])
    return text.getvalue()
