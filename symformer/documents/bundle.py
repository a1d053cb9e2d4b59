"""A derivation as the archive that arXiv takes: one .tex with its bibliography inside, and the formulas beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from ..answers.provenance import provenance_json
from ..answers.summary import show_json
from ..formulas.formula import Formula
from ..language.target import name_of
from ..models.model import Model
from .blocks import Document
from .formats.bundled import FORMAT

FIRST = (1980, 1, 1, 0, 0, 0)  # of what an archive can say of a file's time: the same bytes every time
READABLE = 0o644 << 16


def bundle(model: Model, formulas: Sequence[Formula], document: Document) -> bytes:
    """The archive. Nothing in it is compressed, so that its bytes are the same wherever it is made."""
    facts = [
        {**show_json(model, formula), "target": name_of(model.target), "provenance": provenance_json(model, formula)}
        for formula in formulas
    ]
    files = {
        "anc/formulas.json": (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode(),
        "main.tex": FORMAT.spell(document).encode(),
    }
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_STORED) as archive:
        for name, content in files.items():
            about = ZipInfo(name, FIRST)
            about.external_attr = READABLE
            about.create_system = 3  # of a Unix, wherever it is made
            archive.writestr(about, content)
    return packed.getvalue()
