"""The layers of the package: imports point down, torch stays in witness/, and heavy imports are deferred."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from .floors import FLOOR, INNER, PACKAGE, arrows, count, cycles, files, graph, named, parsed, room


def test_every_package_has_a_level() -> None:
    assert {room(name) for name in graph()} == set(FLOOR)


def test_imports_go_to_lower_levels() -> None:
    up = [f"{a} (floor {FLOOR[a]}) imports {b} (floor {FLOOR[b]})" for a, b in sorted(arrows()) if FLOOR[b] >= FLOOR[a]]
    assert len(arrows()) > 50
    assert up == []


def test_names_of_files_and_public_classes_are_unique() -> None:
    """Except for a command and its feature, a model and its torch module, and ``symformer.symbols``."""
    modules = Counter(path.name for path in files() if path.name != "__init__.py")
    mirrored = {path.name for folder in ("commands", "witness/models") for path in (PACKAGE / folder).glob("*.py")}
    assert {name for name, number in modules.items() if number > 1} - mirrored == {"symbols.py"}
    classes = Counter(
        node.name
        for path in files()
        if path.parent != PACKAGE / "witness/models"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert len(classes) > 500
    assert [name for name, number in classes.items() if number > 1] == []


@pytest.mark.parametrize("home", INNER)
def test_imports_go_to_lower_levels_within_a_package(home: str) -> None:
    floor = {f"{home}.{name}": number for number, names in enumerate(INNER[home]) for name in names}
    assert floor.keys() <= graph().keys()
    down = [(a, b) for a in floor for b in graph()[a] if b in floor]
    assert down
    assert [f"{a} imports {b}" for a, b in down if floor[b] >= floor[a]] == []


def test_imports_have_no_cycle() -> None:
    assert cycles() == []


def test_import_cycle_is_detected(tmp_path: Path) -> None:
    (tmp_path / "rooms").mkdir()
    for name, text in {
        "__init__": "",
        "a": "from .b import x",
        "b": "def f():\n    from .c import y",
        "c": "from . import a",
    }.items():
        (tmp_path / "rooms" / f"{name}.py").write_text(text)
    assert cycles(tmp_path) == ["rooms.a -> rooms.b -> rooms.c -> rooms.a"]
    assert "1 ways round" in count(tmp_path)


@pytest.mark.parametrize("home", ["quantities", "architectures"])
def test_siblings_do_not_import_each_other(home: str) -> None:
    """One file per model and per question; shared code is on the layer below.

    A multimodal model imports the language model that it is composed with.
    """
    shared = {
        "quantities": {
            "quantity",
            "elementwise",
            "contractions",
            "cache_rules",
            "saved_tensors",
            "traffic_rules",
            "length_conditions",
        }
        | {
            "layer_kind_merge",
            "kernels",
            "kernels.saves",
            "kernels.routed_experts",
            "rule_sets",
            "rule_sets.rule_set",
            "exclusions",
            "per_token",
        }
        | {"train_flops", "ratio_quantity"}
        | {"inference_memory", "prefill_flops", "train_memory", "read_once", "time_quantity", "traffic"}
        | {"utilization", "blockwise", "stored_format", "weight_formats", "weight_formats.gguf", "cache_formats"}
        | {"cache_engines", "vllm_pages"}
        | {"optimizers", "kernels.delta_rules", "kernels.routed_experts", "kernels.scans"},
        "architectures": {
            "base_architecture",
            *(f"bases.{each.stem}" for each in (PACKAGE / "architectures" / "bases").glob("*.py")),
        },
    }[home]
    for path in (PACKAGE / home).glob("*.py"):
        if path.name == "__init__.py":
            continue
        modules = [
            str(node.module) for node in ast.walk(parsed(path)) if isinstance(node, ast.ImportFrom) and node.level == 1
        ]
        siblings = [module for module in modules if module not in shared]
        assert len(siblings) <= ("bases.multimodal" in modules), f"{path.name} imports its siblings {siblings}"


def test_torch_is_imported_only_by_the_witness() -> None:
    wrong, seen = [], 0
    for path in files():
        imported = set()
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                imported.add(node.module.split(".")[0])
        uses = bool(imported & {"torch", "transformers"})
        seen += uses
        wrong += [named(path)] if uses and room(named(path)) != "witness" else []
    assert seen > 5
    assert wrong == []


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_symformer_imports_neither_torch_nor_sympy() -> None:
    assert (
        run("import sys, symformer; print([m for m in ('torch', 'sympy', 'typst', 'jinja2') if m in sys.modules])")
        == "[]\n"
    )


def test_formulas_and_documents_work_without_torch(tmp_path: Path) -> None:
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


def test_verify_without_torch_names_the_package() -> None:
    code = """
import sys
sys.modules["torch"] = None
import symformer as sf
try:
    sf.verify("gpt2")
except sf.SymformerError as error:
    print(error)
"""
    assert "pip install torch transformers" in run(code)  # it works from a checkout and from a wheel
