"""Formulas as papers, posts and program code print them, with verdicts worked out by hand from the sources.

A formula whose letters ``check`` does not know is refused, also with the meanings that the source gives; ``refused`` in
the file marks these. No formula may get another verdict than the one worked out by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sympy import expand

import symformer as sf
from symformer.algebra.check import FormulaCheck
from symformer.language.arithmetic import parse
from symformer.language.errors import SymformerError
from symformer.targets.resolution import resolve

CORPUS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "printed_corpus.json").read_text("utf-8"))
PLAIN = CORPUS[::6]  # the others are exhaustive


def checked(entry: dict[str, Any], names: dict[str, str] | None) -> FormulaCheck | None:
    """Return the check of a formula, or None if it is refused."""
    sets = [f"{name}={value}" for name, value in entry.get("set", {}).items()]
    options = {name: str(value) for name, value in entry.get("options", {}).items()}
    try:
        model, conventions = resolve(entry["target"], options, sets, [entry["quantity"]])
        return sf.check(entry["formula"], model, entry["quantity"], part=entry.get("part"), names=names, **conventions)
    except SymformerError:
        return None


def assert_verdict(entry: dict[str, Any]) -> None:
    found = checked(entry, None)
    if found is None and entry["expected"] != "refused" and "names" in entry:
        found = checked(entry, entry["names"])
    if found is None:
        assert entry["expected"] == "refused" or entry.get("refused", False) or "refused" in entry.get("also_fine", ())
        return
    assert not entry.get("refused", False), f"{found} is no longer refused; remove the mark"
    assert found.verdict in (entry["expected"], *entry.get("also_fine", ())), (entry["by_hand"], found)
    counted = any(each.spelt == "N" for each in found.name_bindings)
    if "theirs" in entry and not counted and found.formula.additive and "also_fine" not in entry:
        assert expand(found.theirs - parse(entry["theirs"])) == 0, found.name_bindings


@pytest.mark.parametrize("entry", PLAIN, ids=lambda entry: entry["id"])
def test_printed_formula_gets_the_verdict_worked_out_by_hand(entry: dict[str, Any]) -> None:
    assert_verdict(entry)


@pytest.mark.exhaustive
@pytest.mark.parametrize("entry", [each for each in CORPUS if each not in PLAIN], ids=lambda entry: entry["id"])
def test_every_printed_formula_gets_the_verdict_worked_out_by_hand(entry: dict[str, Any]) -> None:
    assert_verdict(entry)


def test_the_corpus_has_formulas_of_every_form_and_verdict() -> None:
    assert len(CORPUS) >= 140
    assert {each["format"] for each in CORPUS} == {"latex", "python", "text"}
    assert {each["expected"] for each in CORPUS} == {"equal", "convention", "differs", "refused"}
    assert len({each["id"] for each in CORPUS}) == len(CORPUS)
    assert sum(each.get("refused", False) for each in CORPUS) <= 40
