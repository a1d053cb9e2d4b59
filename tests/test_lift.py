"""What is lifted from a trace: the rows that were composed, and the numbers that torch counts.

A type costs seconds: a few run by default, and all with ``LIFTS=all`` in the environment.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sympy import Expr, Integer, Symbol

import symformer as sf
from symformer.architectures import architecture_class, names
from symformer.architectures.base import Architecture
from symformer.language.symbols import symbol
from symformer.ledger.facts import Entry, Kind, Tensor, Weight
from symformer.witness import sources
from symformer.witness.classes import FIRST, of_head, types
from symformer.witness.measure import our_path
from symformer.witness.tracing import Trace

EVERY = os.environ.get("LIFTS") == "all"
COMPOSED = sorted(name for name in names() if architecture_class(name).witness.library == "transformers")
CHEAP = ("gpt2", "mistral")
LIFTS = (Kind.LOOKUP, Kind.LINEAR, Kind.NORM, Kind.SCORES, Kind.MIX, Kind.EXPERTS, Kind.PARAMETER)


@cache
def lifted(model_type: str, head: str = "") -> Trace:
    return sources.trace_type(model_type, head).of("decode-flops")


def rows(
    entries: Iterable[tuple[Expr, Entry]], numbers: Mapping[Symbol, int], name: Any = lambda path: path
) -> Counter[tuple[Any, ...]]:
    """Every row by its path, kind, shapes, mask and weights, with its number of copies, at some sizes."""
    at = {size: Integer(number) for size, number in numbers.items()}

    def shape(each: Tensor | Weight) -> tuple[Expr, ...]:
        return tuple(dim.xreplace(at) for dim in each.shape)

    def held(weights: tuple[Weight, ...]) -> tuple[Any, ...]:
        return tuple(sorted((name(each.path), shape(each)) for each in weights))

    found: Counter[tuple[Any, ...]] = Counter()
    for count, entry in entries:
        if entry.kind in LIFTS:
            read = tuple(map(shape, entry.inputs)) if entry.kind is not Kind.LOOKUP else ()
            window = entry.window.xreplace(at) if entry.window is not None else None
            facts = (entry.function, entry.mask, window, entry.logits)
            row = (
                name(entry.path),
                entry.kind,
                read,
                shape(entry.output),
                held(entry.weights),
                held(entry.shared),
                facts,
            )
            found[row] += int(count.xreplace(at))
    return found


@pytest.mark.parametrize("name", COMPOSED if EVERY else CHEAP)
def test_what_is_composed_is_what_is_lifted(name: str, tmp_path: Path) -> None:
    """Kind by kind, row by row: paths but for the names that we give, shapes, copies, masks and shared weights."""
    fields = architecture_class(name).fields
    model_type = fields.model_types[0]
    heads = [head for head in FIRST if model_type in types(head)]
    source = next(each for head in heads if (each := of_head(model_type, head)).name in fields.classes)
    trace = lifted(model_type, source.run_as)
    point = dict(trace.checked[0])
    path = tmp_path / "config.json"
    config = source.config({size: value for size, value in point.items() if size not in ("B", "S", "C")})
    path.write_text(json.dumps({**config.to_dict(), "architectures": [source.name]}), "utf-8")
    model = sf.from_config(str(path))
    ours = model.component
    assert isinstance(ours, Architecture)
    run = {symbol("B"): point["B"], symbol("S"): point["S"]}
    stacks = {f"{stack}.": "layers." for stack in ours.witness.stacks}

    def renamed(path: str) -> str:
        path = our_path(ours, path, {})
        return next((path.replace(theirs, to, 1) for theirs, to in stacks.items() if path.startswith(theirs)), path)

    letters = {trace.letters[size]: value for size, value in point.items() if size in trace.letters}
    theirs = rows(trace.model.ledger, {symbol(letter): value for letter, value in letters.items()}, renamed)
    composed = rows(model.ledger, {**model.known, **run}, renamed)
    assert theirs
    assert composed == theirs
