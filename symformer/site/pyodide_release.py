"""The pinned release of Pyodide, Python for the browser."""

from __future__ import annotations

from collections.abc import Mapping

from .npm_package import NpmPackage

PYODIDE = NpmPackage(
    "pyodide",
    "314.0.7",
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
    ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"),
)


def pyodide_files() -> Mapping[str, bytes]:
    """Return the files of Pyodide by name. Raises SiteError if npm cannot download them."""
    return PYODIDE.files()
