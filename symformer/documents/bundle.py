"""A derivation as an archive for arXiv: one .tex file with its bibliography, and the formulas as an ancillary file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from ..formulas.formula import Formula
from ..models.model import Model
from ..output.blocks import Document
from ..views.provenance_lines import provenance_json
from ..views.summary import show_json
from .formats.bundled import FORMAT

FIRST = (1980, 1, 1, 0, 0, 0)  # the earliest time that a ZIP archive can store; fixed, for reproducible bytes
READABLE = 0o644 << 16


def bundle(model: Model, formulas: Sequence[Formula], document: Document) -> bytes:
    """Return the archive, uncompressed so that its bytes are the same on every machine."""
    facts = [
        {**show_json(model, formula), "target": model.name, "provenance": provenance_json(model, formula)}
        for formula in formulas
    ]
    return packed(document, (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode())


def packed(document: Document, facts: bytes) -> bytes:
    """Return the archive of a document, with its facts as JSON in the ancillary file."""
    files = {"anc/formulas.json": facts, "main.tex": FORMAT.spell(document).encode()}
    held = BytesIO()
    with ZipFile(held, "w", ZIP_STORED) as archive:
        for name, content in files.items():
            about = ZipInfo(name, FIRST)
            about.external_attr = READABLE
            about.create_system = 3  # Unix, on every machine
            archive.writestr(about, content)
    return held.getvalue()
