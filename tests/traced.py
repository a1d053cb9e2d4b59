"""Stored traces of the types with built-in models: tracing all of them takes minutes.

``python -m tests.traced [TYPE...]`` traces them again, after a change of torch, of transformers or of the trace.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sympy import Expr

from symformer.catalogue.measured_model import MEASURED
from symformer.language.arithmetic import parse
from symformer.language.symbols import SYMBOLS, name_size
from symformer.witness import trace
from symformer.witness.trace_result import Trace

FILE = Path(__file__).with_name("traced.json")
# Our architecture, the type of transformers, and the head that it is traced with.
TYPES = {
    "gpt2": ("gpt2", "causal"),
    "llama": ("llama", "causal"),
    "bert": ("bert", "masked"),
    "mistral": ("mistral", "causal"),
    "mixtral": ("mixtral", "causal"),
    "gemma2": ("gemma2", "causal"),
    "deepseek-v3": ("deepseek_v3", "causal"),
}
# Our rules do not cover these yet (Raschka's and the other torch classes of ours save nothing that could be traced).
UNKNOWN = {("bert", "kv-cache")}


def versions() -> dict[str, str]:
    """Return the library versions of the stored traces."""
    return {name: version(name).partition("+")[0] for name in ("torch", "transformers")}


@cache
def on_file() -> dict[str, Any]:
    """Return the whole file."""
    found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return found


def formula(name: str, quantity: str) -> Expr:
    """Return the stored formula of a quantity of a type."""
    facts = on_file()["traces"][name][quantity]
    for symbol in facts["symbols"]:
        if symbol not in SYMBOLS:
            name_size(symbol)
    return parse(facts["formula"])


@cache
def afresh(name: str) -> Trace:
    """Trace one of the types."""
    model_type, head = TYPES[name]
    return trace(f"hf:{model_type}", head=head)


def facts(traced: Trace) -> dict[str, Any]:
    """Return the stored facts of a trace."""
    formula = traced.model.formula(traced.quantity)
    return {
        "formula": formula.code(),
        "symbols": dict(traced.symbols),
        "pinned": {each.name: each.value for each in traced.pinned},
        "ties": {name: str(tie) for name, tie in traced.ties.items()},
        "conditions": traced.conditions,
        "checked": len(traced.checked),
    }


def remake(names: list[str]) -> None:
    """Trace the named types, or all, and store the results."""
    traces = dict(on_file()["traces"]) if FILE.exists() else {}
    for name in names or TYPES:
        traces[name] = {}
        for quantity in MEASURED:
            if (name, quantity) not in UNKNOWN:
                traces[name][quantity] = facts(afresh(name).for_quantity(quantity))
        found = {"versions": versions(), "traces": traces}
        FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    remake(sys.argv[1:])
