"""The cache on disk: it returns the same answers quickly, and damaged entries are treated as missing."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sympy import Integer

import symformer as sf
from symformer import witness
from symformer.catalogue import disk_cache
from symformer.catalogue.codec import from_data, to_data
from symformer.catalogue.disk_cache import VARIABLE, Store
from symformer.catalogue.measured_model import MeasuredModel
from symformer.catalogue.recognized_model import RecognizedModel
from symformer.catalogue.record import OPERATIONS, Record, model_of_records
from symformer.language.errors import CatalogueError, SizeError
from symformer.language.sizes import AtMost, Condition, Divides
from symformer.language.symbols import SYMBOLS, A, B, D, E, H, L, P, S, V, name_size
from symformer.ledger.facts import Entry, OperationKind, Tensor, Weight
from symformer.models.provenance import ConfigLocation, Pinned, TraceEvidence

LETTERS = {"vocab": "V", "width": "E", "depth": "L", "inner": "H", "rings": "rings"}
NUMBERS = {"vocab": 97, "width": 24, "depth": 3, "inner": 57, "rings": 5}
# 97·24 for the table, 3·5·24·57 for the matrices of three layers, five each: 2,328 + 20,520
STORED = 22_848


def record() -> Record:
    rings = name_size("rings")
    counts: dict[Any, Any] = {("wte.weight", (V, E)): (), ("h.*.rings.*.weight", (E, H)): (L, L * rings)}
    traced = MeasuredModel(title="Rings", stem="rings", counts=counts, conditions=(Divides(Integer(2), E),))
    read = TraceEvidence(points=3, builds=40, seed=1, versions={"torch": "2"}, pinned=(Pinned("groups", 4, "a list"),))
    places = {letter: ConfigLocation(name) for name, letter in LETTERS.items()}
    return Record(letters=LETTERS, places=places, reading=read, traced=traced, config=NUMBERS)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    made = Store({"model_type": "rings"})
    made.keep("params", record())
    return made


def file_of(folder: Path) -> Path:
    (place,) = (folder / "traces").iterdir()
    return place


def test_cached_record_gives_the_same_answer(kept: Store) -> None:
    before, found = record(), kept.find("params")
    assert found is not None
    for each in (before, found):
        model = model_of_records("rings", lambda _, each=each: each)
        assert model.params.value() == STORED
        assert model.params.code() == "L*E*H*rings + V*E"
        assert model.provenance.reading == before.reading
        with pytest.raises(SizeError, match="E=25 is not a multiple of 2"):
            model.set({"E": 25})
    assert to_data(found) == to_data(before)


def test_another_config_version_or_code_misses_the_cache(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Store({"model_type": "rings"}).find("params") is not None
    assert Store({"model_type": "rings", "wide": True}).find("params") is None
    assert kept.find("flops") is None
    for name, other in (("versions", lambda libraries: {"torch": "3"}), ("digest", lambda: "another")):
        with monkeypatch.context() as patched:
            patched.setattr(disk_cache, name, other)
            assert Store({"model_type": "rings"}).find("params") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[" * 100_000,
        lambda text: "{}",
        lambda text: "7",
        lambda text: text.replace("57", "58"),  # a number that was not counted
        lambda text: json.dumps({**json.loads(text), "key": "of another"}),
        lambda text: text + " " * disk_cache.MOST,
    ],
)
def test_a_damaged_record_is_ignored(damage: Any, kept: Store, tmp_path: Path) -> None:
    place = file_of(tmp_path)
    place.write_text(damage(place.read_text()))
    assert kept.find("params") is None
    kept.keep("params", record())
    assert kept.find("params") is not None


def test_a_fifo_in_place_of_a_record_is_ignored(kept: Store, tmp_path: Path) -> None:
    place = file_of(tmp_path)
    place.unlink()
    os.mkfifo(place)
    assert kept.find("params") is None


def test_a_record_of_another_quantity_is_ignored(kept: Store, tmp_path: Path) -> None:
    place = file_of(tmp_path)
    place.rename(place.with_name(place.name.replace(".params.", f".{OPERATIONS}.")))
    assert kept.find(OPERATIONS) is None


def test_nothing_is_stored_if_the_folder_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    for folder in ("", str(tmp_path / "file")):
        monkeypatch.setenv(VARIABLE, folder)
        made = Store({"model_type": "rings"})
        made.keep("params", record())
        assert made.find("params") is None
    assert [*tmp_path.iterdir()] == [tmp_path / "file"]
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Store({"model_type": "rings"}).keep("params", record())
    assert [place.parent for place in (tmp_path / "cache").rglob("*.json")] == [tmp_path / "cache/symformer/traces"]


def test_concurrent_writers_lose_nothing(kept: Store, tmp_path: Path) -> None:
    def both(number: int) -> bool:
        kept.keep("params", record())
        return kept.find("params") is not None

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(both, range(100)))
    assert len([*(tmp_path / "traces").iterdir()]) == 1  # and no incomplete file remains


def test_operations_survive_a_round_trip() -> None:
    x, q = Tensor("x", (B, S, E), grad=Integer(1)), Tensor("q", (B, A, S, D))
    rows = (
        ((), Entry(OperationKind.LOOKUP, "wte", (Tensor("index", (B, S)),), x, (Weight("wte.weight", (V, E)),))),
        ((L,), Entry(OperationKind.SCORES, "h.*.scores", (q, q), Tensor("s", (B, A, S, S)), mask="causal", window=P)),
    )
    conditions: tuple[Condition, ...] = (AtMost(S, P, "the trace holds up to there"),)
    made = RecognizedModel(title="Rings", stem="rings", rows=rows, conditions=conditions, confirmed={"flops": 3})
    again: RecognizedModel = from_data(RecognizedModel, json.loads(json.dumps(to_data(made))))
    assert to_data(again) == to_data(made)
    (_, lookup), (counts, scores) = again.rows
    assert (lookup.kind, lookup.weights, counts) == (OperationKind.LOOKUP, rows[0][1].weights, (L,))
    assert (scores.mask, scores.window, scores.output.shape) == ("causal", P, (B, A, S, S))
    assert (again.conditions, again.confirmed) == (conditions, {"flops": 3})


@pytest.mark.parametrize(
    ("hint", "data"),
    [
        (Weight, {"path": "w", "shape": ["__import__('os')"]}),
        (Weight, {"path": "w", "shape": ["E.diff"]}),
        (Weight, {"path": "w", "shape": [7]}),
        (Weight, {"path": 7, "shape": []}),
        (Weight, {"path": "w", "shape": [], "colour": "red"}),
        (Weight, ["w"]),
        (Entry, {"kind": "rings", "path": "w", "inputs": [], "output": {"name": "y", "shape": []}}),
        (Entry, {"kind": "norm", "path": "w", "inputs": [], "output": {"name": "y", "shape": []}, "mask": "some"}),
        (RecognizedModel, {"conditions": [{"is": "Path", "low": "E"}]}),
    ],
)
def test_invalid_data_are_refused(hint: type, data: Any) -> None:
    with pytest.raises(CatalogueError):
        from_data(hint, data)


def test_expressions_beyond_plain_arithmetic_are_not_stored() -> None:
    with pytest.raises(CatalogueError, match="is not plain arithmetic"):
        to_data(Weight("w", (SYMBOLS["E"] ** SYMBOLS["L"],)))


def test_a_repeated_question_does_not_trace_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "kept"))
    place = tmp_path / "config.json"
    place.write_text(json.dumps({"model_type": "rings", "vocab": 97}))
    asked: list[str] = []

    def read_off(path: str, config: Any) -> Any:
        def find(quantity: str) -> Record:
            asked.append(quantity)
            return record()

        return find

    monkeypatch.setattr(witness, "records", read_off)
    assert [sf.model(str(place)).params.value() for _ in range(3)] == [STORED] * 3
    assert asked == ["params"]
    os.utime(place)
    assert sf.model(str(place)).set({"L": 6}).params.value() == 97 * 24 + 6 * 5 * 24 * 57
    assert asked == ["params"]
