"""Compiles the modules of an archive to bytecode. The Python that will import them runs this file: that of Pyodide.

Modules are kept without their sources, and libraries without docstrings, which nothing reads in a browser. Assertions
stay, so every library gives the same results as elsewhere. The registries of symformer read the sources of their
classes.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER
from pathlib import PurePosixPath
from zipfile import ZIP_DEFLATED, ZipFile

OWN = "site-packages/symformer/"
REGISTRIES = (f"{OWN}architectures/", f"{OWN}components/")
TAG = "cpython-314"
UNCHECKED = (1).to_bytes(4, "little") + bytes(8)  # PEP 552: bytecode that is never compared with its source


def compile_archive(sources: str, target: str) -> None:
    """Write an archive with the modules of another one compiled and its other files as they are."""
    with ZipFile(sources) as old, ZipFile(target, "w", ZIP_DEFLATED, compresslevel=1) as new:
        for name in old.namelist():
            for path, content in _compiled(name, old.read(name)):
                new.writestr(path, content)


def _compiled(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    place = PurePosixPath(name)
    if place.suffix != ".py":
        yield name, content
        return
    installed = "/lib/python3.14/" + name  # the path that tracebacks show
    tree = ast.parse(content, installed)
    if not name.startswith(OWN):
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                _strip(node)
    bytecode = MAGIC_NUMBER + UNCHECKED + marshal.dumps(compile(tree, installed, "exec", dont_inherit=True))
    if name.startswith(REGISTRIES):
        yield name, content
        yield str(place.parent / "__pycache__" / f"{place.stem}.{TAG}.pyc"), bytecode
    else:
        yield f"{name}c", bytecode


def _strip(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Remove the docstring of a module, class or function."""
    match node.body:
        case [ast.Expr(ast.Constant(str())) as doc, *rest]:
            node.body = rest or ([] if isinstance(node, ast.Module) else [ast.copy_location(ast.Pass(), doc)])


if __name__ == "__main__":
    compile_archive("/sources.zip", "/compiled.zip")
