"""Signatures that Sphinx can read: a default such as ``<function ignore_progress>`` is shown as ``...``."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

UNREADABLE = re.compile(r"= <(?:[^<>]|<[^<>]*>)*>")


def readable(
    app: Sphinx, what: str, name: str, found: object, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Return the signature without unreadable defaults, for which Sphinx would print all types by their full names."""
    return signature and UNREADABLE.sub("= ...", signature), returned


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-signature", readable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
