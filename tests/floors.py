"""The layers of the package, and its imports. ``python -m tests.floors`` prints statistics."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "symformer"

# From the bottom up. A module may import only from layers below its own.
FLOORS = [
    ["language"],
    ["output"],
    ["ledger"],
    ["formulas"],
    ["quantities"],
    ["components", "devices", "papers"],
    ["models", "configs"],
    ["architectures"],
    ["certificates", "catalogue"],
    ["algebra", "witness"],
    ["scaling"],
    ["checkpoints"],
    ["targets"],
    ["views"],
    ["documents"],
    ["site"],
    ["commands"],
    ["__main__", "__init__", "extend", "symbols"],
]
# The layers inside a folder. Modules not listed here are placed by their imports, which never form a cycle.
INNER: Mapping[str, list[list[str]]] = {
    "language": [
        ["errors", "frozen", "limits"],
        ["plugins"],
        ["symbols", "registry", "target"],
        ["arithmetic", "notation.display_tree"],
        ["notation.emitter"],
        ["notation.latex", "notation.text", "notation.typst"],
        ["notation.mathml"],
        ["shape_lines", "sizes"],
    ],
    "ledger": [["facts"], ["operations"], ["placement"]],
    "output": [["chain"], ["blocks"], ["notebook"], ["tabular"]],
    "formulas": [["account"], ["derivation", "operators"], ["formula"]],
    "quantities": [
        ["length_conditions"],
        ["quantity"],
        ["exclusions", "blockwise"],
        ["elementwise", "kernels.saves"],
        ["kernels.transformers_kernels"],
        ["kernels.eager", "kernels.sdpa", "kernels.megatron_kernels"],
        ["kernels"],
        ["saved_tensors"],
        ["contractions"],
        ["cache_rules", "per_token"],
        ["rule_sets.linear_roles"],
        ["rule_sets.rule_set"],
        ["rule_sets.common_rules"],
        ["rule_sets"],
        ["traffic_rules", "train_flops", "ratio_quantity"],
        ["utilization"],
        ["traffic"],
        ["intensity"],
        ["inference_memory", "prefill_flops", "train_memory"],
        ["read_once", "time_quantity"],
        ["decode_time", "prefill_time", "train_time"],
    ],
    "models": [["provenance"], ["model"]],
    "witness": [
        ["dispatch_recorders", "sampling_plan"],
        ["torch_session", "weight_paths"],
        ["stored_weights"],
        ["torch_counts"],
        ["row_comparison"],
        ["certification"],
    ],
    "targets": [["opened_target", "code_answers"], ["model_answers"], ["resolution"], ["side_by_side"]],
    "views": [
        ["notations", "summary"],
        ["citations", "convention_table", "equations", "part_copies"],
        ["formula_facts"],
        ["example_facts", "figure_facts"],
        ["derivation_facts", "model_variants"],
    ],
    "documents": [["sentences", "formats"], ["subject"], ["derivation_document"], ["gallery_pages"]],
    "commands": [
        ["terminal", "completion_values"],
        ["arguments", "base_command"],
        ["cli", "show", "derive", "verify", "trace"],
    ],
}
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}


def files(package: Path = PACKAGE) -> list[Path]:
    return sorted(package.rglob("*.py"))


def named(path: Path, package: Path = PACKAGE) -> str:
    """Return a module's name inside the package: ``language.notation.display_tree``; for a folder, its name."""
    words = path.relative_to(package).with_suffix("").parts
    return ".".join(words[:-1] if words[-1] == "__init__" and len(words) > 1 else words)


def room(name: str) -> str:
    """Return the top-level folder or module of a module."""
    return name.partition(".")[0]


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path, package: Path = PACKAGE) -> Iterator[str]:
    """Yield all modules of the package that a file imports anywhere, except for type checking."""
    tree = parsed(path)
    every = list(ast.walk(tree))
    guarded = [node for node in every if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    left_out = {id(inner) for node in guarded for inner in ast.walk(node)}
    here = path.relative_to(package).parts[:-1]
    for node in every:
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in left_out:
            above = here[: len(here) - node.level + 1]
            base = ".".join([*above, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}" if base else alias.name
                yield whole if _there(whole, package) else base


def _there(name: str, package: Path) -> bool:
    place = package.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def graph(package: Path = PACKAGE) -> Mapping[str, frozenset[str]]:
    """Return each module with its imports."""
    return _graph(package)


@cache
def _graph(package: Path) -> Mapping[str, frozenset[str]]:
    return {
        named(path, package): frozenset(imports(path, package)) - {named(path, package), ""} for path in files(package)
    }


def cycles(package: Path = PACKAGE) -> list[str]:
    """Return the import cycles, each as a path."""
    edges, done, found = graph(package), set[str](), list[str]()

    def walk(name: str, way: list[str]) -> None:
        if name in way:
            found.append(" -> ".join([*way[way.index(name) :], name]))
        elif name not in done:
            for other in sorted(edges.get(name, ())):
                walk(other, [*way, name])
            done.add(name)

    for name in edges:
        walk(name, [])
    return found


def arrows(package: Path = PACKAGE) -> set[tuple[str, str]]:
    """Return the imports between folders."""
    return {(room(name), room(other)) for name, others in graph(package).items() for other in others} - {
        (room(name), room(name)) for name in graph(package)
    }


def lines(package: Path = PACKAGE) -> dict[str, int]:
    """Return the number of lines of each architecture file."""
    kept = [path for path in package.glob("architectures/*.py") if path.stem not in ("__init__", "base_architecture")]
    return {path.stem.replace("_", "-"): len(path.read_text("utf-8").splitlines()) for path in kept}


def count(package: Path = PACKAGE) -> str:
    """Return the statistics as text."""
    found = arrows(package)
    up = [f"{a} -> {b}" for a, b in sorted(found) if FLOOR.get(b, 0) >= FLOOR.get(a, len(FLOORS))]
    rooms = {room(name) for name in graph(package)} - {"__init__", "__main__"}
    root = [path.name for path in package.glob("*.py") if not path.name.startswith("__")]
    longest = max(files(package), key=lambda path: len(path.read_text("utf-8").splitlines()))
    length = len(longest.read_text("utf-8").splitlines())
    sizes = [f"{size:5} {name}" for name, size in sorted(lines(package).items(), key=lambda item: item[::-1])]
    return "\n".join(
        [
            f"{len(graph(package))} modules in {len(rooms)} rooms, {len(root)} of them modules on the root",
            f"{len(found)} arrows between rooms, {len(up)} up, {len(cycles(package))} ways round",
            f"the longest file is {longest.relative_to(package)}, {length} lines",
            *(["architectures, in lines:", *sizes] if sizes else []),
        ]
    )


if __name__ == "__main__":
    print(count(Path(sys.argv[1]).resolve() if sys.argv[1:] else PACKAGE))  # noqa: T201
