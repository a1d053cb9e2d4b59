"""Executes a notebook and prints it with its outputs, as Jupyter would save it, without needing Jupyter.

To update the notebook of the examples: ``python tests/notebook_outputs.py examples/symformer.ipynb --write``.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any


def executed(source: str) -> str:
    """Return the JSON of a notebook with the output of each cell: the value of its last line, in every form it has."""
    notebook = json.loads(source)
    space: dict[str, Any] = {}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        value = _run("".join(cell["source"]), space)
        cell["execution_count"] = number
        cell["outputs"] = []
        if value is not None:
            data = {name: told.splitlines(keepends=True) for name, told in _forms(value).items()}
            cell["outputs"].append(
                {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
            )
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _run(source: str, space: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line, or None if that is not an expression."""
    *before, last = ast.parse(source).body
    statements = before if isinstance(last, ast.Expr) else [*before, last]
    exec(compile(ast.Module(statements, []), "cell", "exec"), space)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "cell", "eval"), space) if isinstance(last, ast.Expr) else None  # noqa: S307


def _forms(value: Any) -> dict[str, str]:
    bundle = getattr(value, "_repr_mimebundle_", None)
    forms: dict[str, str] = bundle() if bundle else {"text/plain": repr(value)}
    return forms


if __name__ == "__main__":
    path = Path(sys.argv[1])
    made = executed(path.read_text("utf-8"))
    if "--write" in sys.argv[2:]:
        path.write_text(made, "utf-8")
    else:
        sys.stdout.buffer.write(made.encode())
