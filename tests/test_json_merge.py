"""Combined changes of the same facts: each applies in its place, and none if two of them conflict."""

from __future__ import annotations

from typing import Any

import pytest

from symformer.catalogue.json_merge import compress_rows, expand_rows, merge
from symformer.language.errors import CatalogueError


def row(path: str, *shape: str) -> list[Any]:
    return [[path, list(shape)], ["L"]]


USUAL = {
    "letters": {"hidden_size": "E"},
    "traced": {"counts": [row("wte", "V", "E"), row("q", "E", "E"), row("head", "V", "E")], "conditions": [{"A": 2}]},
    "reading": {"points": 3, "builds": 40},
}


def changed(**traced: Any) -> dict[str, Any]:
    return {**USUAL, "traced": {**USUAL["traced"], **traced}}


TIED = changed(counts=USUAL["traced"]["counts"][:2])
BIASED = changed(counts=[row("wte", "V", "E"), row("q", "E", "E"), row("q.bias", "E"), row("head", "V", "E")])


def test_independent_changes_are_merged_in_any_order() -> None:
    assert merge(USUAL, []) == USUAL
    assert merge(USUAL, [TIED]) == TIED
    assert merge(USUAL, [USUAL, TIED]) == TIED
    both = changed(counts=[row("wte", "V", "E"), row("q", "E", "E"), row("q.bias", "E")])
    assert merge(USUAL, [TIED, BIASED]) == merge(USUAL, [BIASED, TIED]) == both


@pytest.mark.parametrize(
    "others",
    [
        # both insert a row at one path: whether either switch adds one bias, or both add two, is unknown
        [BIASED, changed(counts=[*USUAL["traced"]["counts"], row("q.bias", "E")])],
        [BIASED, BIASED],
        # both change one row
        [changed(counts=[row("wte", "V", "E"), row("q", "E", size), row("head", "V", "E")]) for size in ("2*E", "D")],
        [TIED, changed(counts=[*USUAL["traced"]["counts"][:2], row("head", "2*V", "E")])],
        [{**USUAL, "letters": {"hidden_size": letter}} for letter in ("D", "H")],
    ],
)
def test_conflicting_changes_are_refused(others: list[Any]) -> None:
    with pytest.raises(CatalogueError, match=r"two changes of .* conflict"):
        merge(USUAL, others)


def test_merging_unites_conditions_and_letters() -> None:
    first = changed(conditions=[{"A": 2}, {"G": 3}]) | {"letters": {"hidden_size": "E", "groups": "G"}}
    second = changed(conditions=[{"A": 2}, {"G": 3}, {"X": 4}]) | {"reading": {"points": 2, "builds": 60}}
    found = merge(USUAL, [first, second])
    assert found["traced"]["conditions"] == [{"A": 2}, {"G": 3}, {"X": 4}]
    assert found["letters"] == {"hidden_size": "E", "groups": "G"}
    assert found["reading"] == {"points": 2, "builds": 60}  # its only change
    third = {**USUAL, "reading": {"points": 3, "builds": 50}}
    assert merge(USUAL, [second, third])["reading"] == {"points": 2, "builds": 50}


def test_default_rows_are_stored_as_indices() -> None:
    cut = compress_rows(BIASED, USUAL)
    assert cut["traced"]["counts"] == [0, 1, row("q.bias", "E"), 2]
    assert expand_rows(cut, USUAL) == BIASED
    twice = changed(counts=[*USUAL["traced"]["counts"], row("q", "E", "E")])
    assert compress_rows(twice, USUAL)["traced"]["counts"] == [0, 1, 2, row("q", "E", "E")]
    assert expand_rows(compress_rows(twice, USUAL), USUAL) == twice
    with pytest.raises(CatalogueError, match="the default facts have no row 3"):
        expand_rows(changed(counts=[0, 3]), USUAL)
