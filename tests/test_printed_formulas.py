"""Formulas letter for letter as papers print them: each has the verdict that the paper implies, or a reason."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sympy import expand

from symformer.algebra.printed import PrintedFormula, printed
from symformer.language.arithmetic import parse
from symformer.language.errors import DerivationError

# Of each the verdict, with what each sentence has in it, or ours less theirs: what the paper says that it leaves out, or
# what reports/published.md works out by hand. Those without a verdict are not asked.
TOLD: dict[str, dict[str, Any]] = {
    row["id"]: row for row in json.loads((Path(__file__).parent / "checked.json").read_text("utf-8"))
}
PRINTED: dict[str, dict[str, Any]] = {
    row["id"]: row for row in json.loads((Path(__file__).parent / "printed.json").read_text("utf-8"))
}
ENTRIES = {entry.id: entry for entry in printed()}


def test_every_formula_is_there_as_it_is_printed() -> None:
    assert len(printed()) == len(ENTRIES) == 81
    assert ENTRIES.keys() == TOLD.keys() == PRINTED.keys()
    assert {name: entry.latex for name, entry in ENTRIES.items()} == {
        name: row["latex"] for name, row in PRINTED.items()
    }


def test_every_formula_has_a_verdict_or_a_reason() -> None:
    for entry in printed():
        assert bool(entry.target) == bool(entry.verdict) == (not entry.without), entry.id
        assert entry.verdict != "differs" or (entry.because and entry.difference != "0"), entry.id
        assert bool(entry.conventions) == (entry.verdict == "convention"), entry.id
        assert entry.url.startswith("https://") or entry.paper, entry.id
    verdicts = Counter(entry.verdict for entry in printed())
    assert verdicts[""] == 8  # three orders of growth, a time, a number of tokens, a ratio, a file, a width


@pytest.mark.parametrize("name", [name for name, row in TOLD.items() if row["verdict"]])
def test_the_verdict_is_the_one_that_the_paper_implies(name: str) -> None:
    row, entry = TOLD[name], ENTRIES[name]
    found = entry.check  # which holds the verdict to that on file
    assert found is not None
    assert found.verdict == row["verdict"], found
    if found.verdict == "convention":
        assert expand(sum((each.added for each in found.conventions), found.difference)) == 0, found
    else:
        assert (found.difference == 0) == (found.verdict == "equal")
    if "difference" in row:
        assert expand(found.difference - parse(row["difference"])) == 0, found
    said = [each.name for each in found.conventions]
    for each in row.get("conventions", ()):
        assert any(each in name for name in said), said
    assert len(said) <= len(row.get("conventions", ())), said


@pytest.mark.parametrize(
    "wrong", [{"verdict": "equal"}, {"conventions": ("all norms are left out",)}, {"difference": "3*E"}]
)
def test_a_verdict_on_file_that_is_not_so_is_found(wrong: dict[str, Any]) -> None:
    entry: PrintedFormula = replace(ENTRIES["megatron_P"], **wrong)
    with pytest.raises(DerivationError, match="megatron_P is on file as .*, and is convention; the final norm"):
        _ = entry.check
