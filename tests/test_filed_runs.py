"""Quantities that need a run are known without torch if the catalogue has operations that torch confirmed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer import witness
from symformer.commands.cli import cli
from symformer.language.errors import WitnessError

from .test_config_resolution import ARCEE
from .test_tiny_configs import B, C, S, counted

pytestmark = pytest.mark.usefixtures("arcee_not_built_in")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a config of a class in the catalogue, without torch."""

    def missing(name: str = "") -> Any:
        raise WitnessError("this needs torch, which is not installed")

    monkeypatch.setenv("SYMFORMER_CACHE", "")
    monkeypatch.setattr(witness, "torch_side", missing)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(ARCEE))
    return str(path)


def test_catalogue_run_matches_torch(place: str) -> None:
    model, theirs = sf.model(place), counted(ARCEE)
    for quantity in ("flops", "train-flops"):
        assert model.formula(quantity).value(B=B, S=S) == theirs[quantity] > 0
        assert model.provenance.for_quantity(quantity).by == "catalogue"
    # keys and values, 3 layers, 2 heads of width 10, 2 bytes each
    assert model.formula("kv-cache").value(B=B, C=C) == 2 * 3 * 2 * 10 * 2 * B * C
    masked = model.formula("flops", attention="causal").value(B=B, S=S)
    # scores and mix, 3 layers, 6 heads of width 10: S(S + 1)/2 of S² pairs are not masked
    assert theirs["flops"] - masked == 2 * 2 * 3 * 6 * 10 * B * (S * S - S * (S + 1) // 2)


def test_quantities_missing_from_the_catalogue_require_torch(place: str) -> None:
    with pytest.raises(WitnessError, match="torch, which is not installed"):
        sf.model(place).formula("activations")


def test_page_names_the_catalogue_as_source(place: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    result = CliRunner().invoke(cli, ["derive", place, "-q", "flops", "-o", str(page)])
    assert result.exit_code == 0, result.stderr
    assert "This formula is from symformer's catalogue" in page.read_text()


def test_every_command_names_its_source(place: str) -> None:
    tree = CliRunner().invoke(cli, ["tree", place])
    assert "from the catalogue: traced from the code of ArceeForCausalLM" in tree.stdout
    assert ": ArceeForCausalLM " in tree.stdout.splitlines()[1]
    both = CliRunner().invoke(cli, ["compare", place, "gpt2"])
    assert f"{place}: from the catalogue: " in both.stdout
    assert "gpt2: built in; certified" in both.stdout
    told = json.loads(CliRunner().invoke(cli, ["compare", place, "gpt2", "--json"]).stdout)["provenance"]
    assert (told["left"]["by"], told["right"]["by"]) == ("catalogue", "composed")
    assert json.loads(CliRunner().invoke(cli, ["tree", place, "--json"]).stdout)["provenance"]["by"] == "catalogue"
    cited = CliRunner().invoke(cli, ["cite", f"{place}.params"]).stdout
    assert "traced from the code of its class with" in cited
