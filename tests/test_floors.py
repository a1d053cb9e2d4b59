"""The house: imports go down, torch stays under witness/, and nothing heavy is imported before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "symformer"

# From the ground up. A module may import from floors below its own, never from its own floor or above.
FLOORS = [
    ["language"],
    ["ledger"],
    ["formulas"],
    ["quantities"],
    ["components", "papers"],
    ["models", "configs"],
    ["architectures"],
    ["certificates"],
    ["algebra", "witness"],
    ["answers"],
    ["documents"],
    ["commands"],
    ["__main__", "__init__"],
]
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def home(path: Path) -> str:
    """The room a file belongs to: the folder or module right under the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The rooms of the package that a file imports from, wherever the import stands; type checking alone left out."""
    package = ["symformer", *path.relative_to(PACKAGE).parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module or "").split(".")
            base = [word for word in base if word]
            found |= {base[1]} if len(base) > 1 else {alias.name for alias in node.names}
    return found


def test_every_module_has_a_floor() -> None:
    assert {home(path) for path in modules()} == set(FLOOR)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    own = home(path)
    for room in imports(path):
        if room != own:
            assert FLOOR[room] < FLOOR[own], f"{own} (floor {FLOOR[own]}) imports {room} (floor {FLOOR[room]})"


@pytest.mark.parametrize("room", ["quantities", "architectures"])
def test_siblings_do_not_import_each_other(room: str) -> None:
    """One file a question, one file a model: what two of them share stands on the floor below."""
    shared = {
        "quantities": {"quantity", "elementwise", "contractions", "generation", "kept", "access", "lengths"},
        "architectures": {
            "base",
            "bases.stacked",
            "bases.decoder",
            "bases.llama_like",
            "bases.hub",
            "bases.encoder_decoder",
        },
    }[room]
    for path in (PACKAGE / room).glob("*.py"):
        if path.name == "__init__.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                assert node.module in shared, f"{path.name} imports its sibling {node.module}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_torch_is_imported_only_by_the_witness(path: Path) -> None:
    named = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            named.add(node.module.split(".")[0])
    assert home(path) == "witness" or not named & {"torch", "transformers"}


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_symformer_imports_neither_torch_nor_sympy() -> None:
    assert (
        run("import sys, symformer; print([m for m in ('torch', 'sympy', 'typst', 'jinja2') if m in sys.modules])")
        == "[]\n"
    )


def test_formulas_and_documents_do_without_torch(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["torch"] = sys.modules["transformers"] = None  # importing them now fails
sys.argv = ["symformer", "derive", "gpt2", "-o", {str(tmp_path / "gpt2.pdf")!r}]
from symformer.commands.cli import cli
cli(standalone_mode=False)
sys.argv = ["symformer", "show", "gpt2", "--json"]
cli(standalone_mode=False)
"""
    assert '"value": 124439808' in run(code)
    assert (tmp_path / "gpt2.pdf").read_bytes().startswith(b"%PDF")


def test_a_check_without_torch_says_what_to_install() -> None:
    code = """
import sys
sys.modules["torch"] = None
import symformer as sf
try:
    sf.verify("gpt2")
except sf.SymformerError as error:
    print(error)
"""
    assert "pip install torch transformers" in run(code)  # which works from a clone and from a wheel
