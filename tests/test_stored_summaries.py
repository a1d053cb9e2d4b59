"""The stored titles and formulas, which `symformer list` prints, equal those that the classes give."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from symformer import architectures
from symformer.commands.cli import cli
from symformer.views import stored_summaries


@pytest.mark.exhaustive
def test_the_stored_file_is_up_to_date() -> None:
    assert stored_summaries.FILE.read_text("utf-8") == stored_summaries.file_text(), "run symformer gallery reports"


def test_a_stored_formula_is_the_formula_of_the_class() -> None:
    name = "component:gated-mlp"  # Shazeer 2020, eq. 6: three matrices of E x H
    assert stored_summaries.brief(name) == (stored_summaries.built(name).title, "3EH")
    assert str(stored_summaries.built(name).params) == "3*E*H"


def test_a_list_builds_no_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is built")

    before = CliRunner().invoke(cli, ["list"]).stdout
    monkeypatch.setattr(architectures.registry, "load", refuse)
    assert CliRunner().invoke(cli, ["list"]).stdout == before


def test_an_architecture_that_is_not_stored_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    before = CliRunner().invoke(cli, ["list"]).stdout
    monkeypatch.setattr(stored_summaries, "_stored", dict)
    assert CliRunner().invoke(cli, ["list"]).stdout == before
