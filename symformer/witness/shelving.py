"""Entries of the catalogue: what a class is known to store and do, and which of its fields change nothing, by trial."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import torch
from sympy import Expr, Integer

from ..catalogue.codec import to_data
from ..catalogue.record import OPERATIONS, Record, opened
from ..catalogue.shelf import EACH, TYPES, Shelved, finder, numbers_of
from ..catalogue.store import versions
from ..catalogue.traced import STORED
from ..configs.known import INERT
from ..language.errors import CatalogueError, SizeError, SymformerError, WitnessError
from ..language.sizes import put_in
from ..language.symbols import SYMBOLS
from ..language.target import HF
from ..models.model import Model
from .calling import caller_for
from .classes import Source, of_head
from .crew import Lost, crew
from .drawing import DEEP
from .points import session
from .raised import sentence
from .runs import RUNS
from .sources import records_of, whole_numbers
from .watching import Rows

LIMIT = 1800  # seconds for all structures of a class
DRAWS, HELD = 200, 16  # random configs that an entry is held to torch at, and how many may be drawn for that
TRIALS = 4  # draws of all sizes, in which a size that follows from others shows which
TIMES = (2, 3, 4, 6)  # what each size is then multiplied by: quotients stay whole
TOKENS = {"B": 2, "S": 29, "S_enc": 31, "C": 23}
# What a run on shapes alone may not show: who attends to whom, and in which order layers come.
UNSEEN = re.compile("attention|attn|causal|mask|window|chunk|local|block|sparse|stride|layer_types|pattern|decoder")
ACTS = re.compile("act(ivation)?(_fn|_function)?$")
FUNCTIONS = ("relu", "gelu", "silu")
OLDER = {"rope_theta": 5000.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}  # as files once had them
ROPE = ("rope_scaling", "rope_parameters")


def shelved(source: Source, fields: Mapping[str, Any], target: str) -> dict[str, Any]:
    """The entry of one structure of a class, as data. Raises WitnessError where it has no formula."""
    find = records_of(source, fields, target)
    records = {STORED: find(STORED)}
    with suppress(SymformerError):
        records[OPERATIONS] = find(OPERATIONS)
    default = source.config(fields)
    said: dict[str, Any] = default.to_dict()
    numbers = whole_numbers(default)
    moving = _moving(records)
    sizes = {name: number for name, number in numbers.items() if name in moving}
    if odd := next((name for name in sizes if "." in name or "[" in name), ""):
        raise WitnessError(f"{odd} is deep in the config of {source.name}, where the catalogue does not look")
    follows = dict(_follows(source, fields, sizes, records[STORED]))
    nulls = tuple(name for name in follows if _null(source, fields, name))
    beside = {name: said[name] for name in said if name not in (*sizes, *INERT, "architectures", "model_type")}
    beside = {name: value for name, value in beside.items() if not name.endswith("_token_id")}
    before = _told(source, fields)
    idle = {name: _holds(name, value) for name, value in beside.items() if _idle(source, fields, name, value, before)}
    if "rope_parameters" in idle and _told(source, {**fields, **OLDER}) == before:
        idle |= {"rope_theta": "float", "rope_scaling": "rotary"}
    idle |= {name: "token" for name in said if name.endswith("_token_id")}
    depth = next((name for name in sizes if DEEP.search(name)), "")
    switches = {name: _switch(value, numbers.get(depth, 0)) for name, value in beside.items() if name not in idle}
    entry = Shelved(
        name=source.name,
        model_types=(source.model_type,),
        versions=versions(),
        sizes=sizes,
        follows=follows,
        nulls=nulls,
        depth=depth,
        idle=idle,
        records={name: replace(each, config={}) for name, each in records.items()},
    )
    _prove(source, fields, said, entry, switches)
    return {"entry": to_data(entry), "switches": switches}


def _prove(
    source: Source, fields: Mapping[str, Any], said: Mapping[str, Any], entry: Shelved, switches: Mapping[str, Any]
) -> None:
    """Hold an entry to torch at random configs that it takes for its own: sizes, and fields that change nothing.

    Raises WitnessError where it is wrong at one, or too few could be built.
    """
    draw, held = random.Random(source.name), 0
    for _ in range(DRAWS):
        config = {
            "model_type": source.model_type,
            "architectures": [source.name],
            **fields,
            **_drawn(draw, said, entry),
        }
        numbers = numbers_of(entry, switches, config)
        given = {name: value for name, value in config.items() if name != "architectures"}
        if numbers is None or (told := _told(source, given)) is None:
            continue
        try:
            model = opened(source.name, finder(entry, numbers))
            value, flops = model.params.value(), None
            with suppress(CatalogueError):
                flops = model.formula("flops").value(**{name: TOKENS[name] for name in _run(model)})
        except SizeError:
            continue
        stored, multiplied = (sum(map(prod, rows.values())) for rows in told[:2])
        if value != stored or flops not in (None, 2 * multiplied):
            raise WitnessError(f"the entry of {source.name} is wrong at {given}: {value:,}, and torch has {stored:,}")
        held += 1
        if held == HELD:
            return
    raise WitnessError(f"the entry of {source.name} could be held to torch at {held} random configs, and not at {HELD}")


def _run(model: Model) -> list[str]:
    """The sizes of a run that its forward FLOPs have."""
    return [str(size) for size in model.formula("flops").symbols if str(size) in TOKENS]


def _drawn(draw: random.Random, said: Mapping[str, Any], entry: Shelved) -> dict[str, Any]:
    """Some of the sizes, as multiples of quotients of the default, and some of the fields that change nothing."""
    found: dict[str, Any] = {}
    for name, size in entry.sizes.items():
        if draw.random() < 0.7:
            small = size if size < 16 else size // draw.choice((2, 4))
            found[name] = small * draw.choice((1, 2, 3))
    for name in entry.idle:
        if draw.random() < 0.5 and (others := _others(name, said.get(name))):
            found[name] = draw.choice(others)
    return found


def fill(
    jobs: Sequence[tuple[str, str]],
    folder: Path,
    workers: int,
    limit: float,
    tell: Callable[[int], None] = lambda done: None,
) -> dict[str, str]:
    """Write a file for every class into a folder, and say what was left out and why; a class that is there stays."""
    left: dict[str, str] = {}
    with closing(crew(partial(_shelve, folder=str(folder)), jobs, workers, limit)) as answers:
        for done, ((model_type, _), answer) in enumerate(answers, 1):
            left |= {model_type: answer.why} if isinstance(answer, Lost) else answer
            tell(done)
    first = {}
    for model_type in sorted({model_type for model_type, _ in jobs}):
        with suppress(SymformerError):
            first[model_type] = of_head(model_type).name
    known = _read(folder / TYPES) | {name: made for name, made in first.items() if (folder / f"{made}.json").is_file()}
    (folder / TYPES).write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")
    return left


def _read(place: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(place.read_text("utf-8")) if place.is_file() else {}
    return found


def _shelve(model_type: str, head: str, folder: str) -> dict[str, str]:
    """One class, each of its structures; why one of these was left out, by the type and what is turned in it."""
    torch.set_num_threads(1)
    left: dict[str, str] = {}
    try:
        source = of_head(model_type, head)
        place = Path(folder, f"{source.name}.json")
        if place.exists():
            return {}
        found = []
        for fields in structures(source):
            try:
                found.append(shelved(source, fields, f"{HF}{model_type}"))
            except SymformerError as error:
                left[", ".join([model_type, *(f"{name}={value}" for name, value in fields.items())])] = str(error)
    except Exception as error:  # whatever somebody's code raises
        return {**left, model_type: sentence(error)}
    if found:
        place.write_text(json.dumps(found, separators=(",", ":")) + "\n", "utf-8")
    return left


def structures(source: Source) -> Iterator[Mapping[str, Any]]:
    """The fields that make each structure of a class: its defaults, and each switch that changes it turned."""
    yield {}
    before = _told(source, {})
    for name, value in source.config({}).to_dict().items():
        if isinstance(value, bool) and name not in INERT and _told(source, {name: not value}) not in (None, before):
            yield {name: not value}


def _moving(records: Mapping[str, Record]) -> set[str]:
    """The fields whose letters some formula or condition has."""
    found: set[str] = set()
    for record in records.values():
        component = record.lifted or record.counted
        known = {str(size) for each in component.constraints for size in each.symbols}
        for _, entry in component.ledger:
            tensors: list[Any] = [entry.output, *entry.inputs, *entry.weights, *entry.shared]
            known |= {str(size) for each in tensors for dim in each.shape for size in dim.free_symbols}
            known |= {str(size) for size in (entry.window.free_symbols if entry.window is not None else ())}
        known |= {str(size) for count, _ in component.ledger for size in count.free_symbols}
        found |= {name for name, letter in record.letters.items() if letter in known}
    return found


def _follows(
    source: Source, fields: Mapping[str, Any], sizes: Mapping[str, int], record: Record
) -> Iterator[tuple[str, Expr]]:
    """What a size is where a config leaves it out, for those that are then no number of their own."""
    letters = {name: SYMBOLS[letter] for name, letter in record.letters.items() if name in sizes}
    draw = random.Random(0)
    for name in sizes:
        seen = []
        others = {other: number for other, number in sizes.items() if other != name}
        for _ in range(TRIALS):
            point = {other: number * draw.choice(TIMES) for other, number in others.items()}
            with suppress(Exception):  # whatever somebody's config raises of these
                seen.append((point, getattr(source.config({**fields, **point}), name)))
        if all(value == sizes[name] for _, value in seen):
            continue
        found = next(
            (expr for expr in _quotients(name, letters) if all(_is(expr, letters, at) == v for at, v in seen)), None
        )
        if found is None:
            raise WitnessError(f"what {name} is where a config leaves it out was not found")
        yield name, found


def _quotients(name: str, letters: Mapping[str, Any]) -> Iterator[Expr]:
    """What a size may follow as: another, a sum or a quotient of two, or a small multiple of one."""
    others = [letter for other, letter in letters.items() if other != name]
    yield from others
    yield from (times * each for each in others for times in map(Integer, (2, 3, 4)))
    yield from (above / below for above in others for below in others if above != below)
    yield from (a + b for a in others for b in others if str(a) < str(b))


def _is(expr: Expr, letters: Mapping[str, Any], point: Mapping[str, int]) -> Any:
    return put_in(expr, {letters[name]: number for name, number in point.items() if name in letters})


def _null(source: Source, fields: Mapping[str, Any], name: str) -> bool:
    """Whether null is as good as nothing in a field."""
    with suppress(Exception):  # whatever somebody's config raises of it
        return bool(getattr(source.config({**fields, name: None}), name) == getattr(source.config(fields), name))
    return False


def _told(source: Source, fields: Mapping[str, Any]) -> tuple[Rows, ...] | None:
    """What the class stores, multiplies and keeps in a cache at its own sizes; None where it refuses these fields."""
    head = source.run_as
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            at = session(lambda point: source.build(fields), {})
            stored = at.stored()
            run, cached = caller_for(head, RUNS["flops"]), caller_for(head, RUNS["kv-cache"])
            multiplied = at.products(lambda model: run(model, TOKENS)).rows
        except Exception:  # whatever somebody's code raises, it is no structure
            return None
        try:
            kept = at.cached(lambda model: cached(model, TOKENS))
        except Exception:  # nothing is kept
            kept = {}
    return stored, multiplied, kept


def _idle(source: Source, fields: Mapping[str, Any], name: str, value: Any, before: Any) -> bool:
    """Whether a field changes nothing, whatever it says: nothing changed in any trial, and there was one."""
    if UNSEEN.search(name) or before is None:
        return False
    tried = [_told(source, {**fields, name: other}) for other in _others(name, value)]
    return bool(tried) and all(each == before for each in tried)


def _others(name: str, value: Any) -> list[Any]:
    """What else a field may say, to try; nothing for one of which nobody knows."""
    match value:
        case bool():
            return [not value]
        case float():
            return [value / 2, value / 2 + 0.125]
        case int():
            few = dict.fromkeys([1, 2, 3, value // 2, value - 1, value + 1, 2 * value + 3])
            return [each for each in few if each not in (0, value)]
        case str() if ACTS.search(name):
            return [each for each in FUNCTIONS if each != value]
    if name in ROPE:
        return [{"rope_type": "linear", "factor": 2.0, "rope_theta": 5000.0}]
    return []


def _holds(name: str, value: Any) -> str:
    """What a field that changes nothing holds, of what the catalogue tells apart."""
    return "rotary" if name in ROPE else "function" if ACTS.search(name) else type(value).__name__


def _switch(value: Any, depth: int) -> Any:
    """What a field says, where a list of one kind of layers says that kind."""
    if isinstance(value, list) and len(value) == depth and len(set(map(str, value))) == 1:
        return {EACH: value[0]}
    return value
