"""Published formulas: the same as ours, or apart by exactly what is on file, for the reason on file."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from symformer.algebra.published import Published, published
from symformer.commands.cli import cli

from .conftest import Rewrite

ENTRIES = published()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_a_difference_has_a_reason_and_a_reason_a_difference(entry: Published) -> None:
    assert (entry.difference == 0) == (entry.because == "")
    assert entry.theirs != 0
    assert entry.id.startswith(entry.paper)
    assert entry.source.year


def test_those_that_are_exact() -> None:
    """Read off the papers: the equations that count what torch counts."""
    exact = {entry.id for entry in ENTRIES if entry.difference == 0}
    assert {
        "narayanan2021.train",
        "korthikanti2022.layer",
        "korthikanti2022.selective",
        "korthikanti2022.full",
        "korthikanti2022.model-flops",
        "chowdhery2022.train",
    } < exact


def test_a_difference_on_file_that_is_not_so_is_found(rewrite: Rewrite) -> None:
    from symformer import SymformerError
    from symformer.components.layer_norm import LayerNorm

    rewrite(LayerNorm, lambda self, ops, x: ops.norm("", x, "layer", bias=False))
    with pytest.raises(SymformerError, match="is on file as 13"):
        published()


def test_command() -> None:
    result = CliRunner().invoke(cli, ["papers", "--json"])
    facts = {entry["id"]: entry for entry in json.loads(result.stdout)}
    assert facts["narayanan2021.params"]["difference"] == "2*E"
    assert "final norm" in facts["narayanan2021.params"]["because"]
    assert "hoffmann2022.forward" in CliRunner().invoke(cli, ["papers"]).stdout
