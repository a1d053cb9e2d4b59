"""The census keeps existing files, leaves other files alone, and its page counts and names every model type."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from symformer.catalogue import entries
from symformer.catalogue.entries import COMMON, FOLDER, LIVE, TYPES, census_types
from symformer.commands.cli import cli
from symformer.documents.census_page import pages, sorted_types
from symformer.documents.gallery_pages import CENSUS
from symformer.witness import catalogue_writer
from symformer.witness.transformers_classes import first_heads, of_config, of_head

BIOGPT = "BioGptForCausalLM.biogpt.json"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers inside this process; tests of the real ones are elsewhere, and each of those imports torch."""

    def alone(work: Callable[..., Any], jobs: Sequence[Any], workers: int, limit: float) -> Generator[Any]:
        for job in jobs:
            yield job, work(*job)

    monkeypatch.setattr(catalogue_writer, "run_jobs", alone)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["census", *arguments], prog_name="symformer")


@pytest.mark.exhaustive
@pytest.mark.usefixtures("here")
def test_catalogue_matches_a_fresh_trace(tmp_path: Path) -> None:
    """DBRX has no config that its own class accepts."""
    result = run("biogpt", "dbrx", "-o", str(tmp_path), "--workers", "1", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["kept"] == ["biogpt"]
    assert told["refused"]["dbrx"].startswith("transformers cannot build DbrxForCausalLM")
    assert sorted(place.name for place in tmp_path.iterdir()) == [BIOGPT, COMMON, LIVE, TYPES]
    assert (tmp_path / BIOGPT).read_text() == (FOLDER / BIOGPT).read_text()
    ours, theirs = (json.loads((folder / TYPES).read_text()) for folder in (tmp_path, FOLDER))
    assert ours == {name: theirs[name] for name in ("biogpt", "dbrx")}
    assert {*json.loads((tmp_path / COMMON).read_text())} <= {*json.loads((FOLDER / COMMON).read_text())}


@pytest.mark.usefixtures("here")
def test_census_keeps_existing_classes_and_adds_other_heads(tmp_path: Path) -> None:
    shutil.copy(FOLDER / BIOGPT, tmp_path)
    before = (tmp_path / BIOGPT).stat().st_mtime_ns
    assert run("biogpt", "-o", str(tmp_path)).stdout == f"1 of 1 model types have a file in {tmp_path}\n"
    assert (tmp_path / BIOGPT).stat().st_mtime_ns == before
    first = (tmp_path / TYPES).read_text()
    kept = json.loads((tmp_path / BIOGPT).read_text())
    kept["config"]["name"] = "BioGptModel"
    (tmp_path / "BioGptModel.biogpt.json").write_text(json.dumps(kept))
    assert run("biogpt", "--head", "base", "-o", str(tmp_path)).exit_code == 0
    assert (tmp_path / TYPES).read_text() == first


@pytest.mark.parametrize(("name", "content"), [(TYPES, '["a"]'), (TYPES, '{"a": 1}'), (COMMON, "notes")])
def test_unrelated_folder_is_not_written(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    result = run("biogpt", "-o", str(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{tmp_path} has a {TYPES} or a {COMMON} that no census wrote; choose another folder" in result.stderr
    assert (tmp_path / name).read_text() == content


@pytest.mark.usefixtures("here")
def test_unrelated_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / BIOGPT).write_text("my notes")
    result = run("biogpt", "-o", str(tmp_path))
    assert "0 of 1 model types" in result.stdout
    assert f"{BIOGPT} already exists, but no census wrote it" in result.stdout
    assert (tmp_path / BIOGPT).read_text() == "my notes"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["gpt3"], "unknown model type 'gpt3'; did you mean"),
        (["mt5", "--head", "causal"], "unknown causal model type 'mt5'"),
        (["--head", "casual"], "unknown head 'casual'; did you mean causal?"),
        (["-o", "nowhere"], "the folder nowhere does not exist"),
        ([], "the folder catalogue does not exist; create it first, or choose another"),
    ],
)
def test_invalid_census_arguments_are_refused(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use a catalogue with one class, one without a formula, and one that cannot be built."""
    shutil.copy(FOLDER / BIOGPT, tmp_path)
    types = {
        "biogpt": {"name": "BioGptForCausalLM", "head": "causal"},
        "wild": {"name": "WildForMaskedLM", "head": "masked", "why": "x is odd"},
        "broken": {"name": "BrokenForCausalLM", "head": "causal", "why": "no * width", "builds": False},
        "seen": {"name": "SeenModel", "head": "base", "why": "it has no words"},
    }
    (tmp_path / TYPES).write_text(json.dumps(types))
    monkeypatch.setattr(entries, "FOLDER", tmp_path)
    forget()
    yield
    monkeypatch.undo()
    forget()


def forget() -> None:
    """The index of one folder is not used for another."""
    entries.find_entry.cache_clear()
    census_types.cache_clear()


@pytest.mark.usefixtures("small")
def test_page_lists_and_counts_every_model_type() -> None:
    made = pages("census", "language models", ("causal", "masked"))
    assert [*made] == ["census.md", "census-1.md"]
    shown = made["census.md"].splitlines()
    # of three types with these heads, two can be built, and one has a formula
    assert shown[4].startswith(
        "**1 of the 2 types that can be built (50.0%) have a formula in which every main size is"
    )
    for row in (
        "|  | causal | masked | all |",
        "| Types | 2 | 1 | 3 |",
        "| Built from their default config | 1 | 1 | 2 |",
        "| With formulas | 1 | 0 | 1 |",
        "| Answered by a built-in architecture | 0 | 0 | 0 |",
        "| Answered from the catalogue, every operation of a run recognized | 1 | 0 | 1 |",
        "| Answered from the catalogue, some operations only counted | 0 | 0 | 0 |",
        "| Refused, with the reason below | 1 | 1 | 2 |",
        "| `wild` | x is odd |",
        "| `broken` | no \\* width |",
        "- [biogpt to biogpt](census-1.md)",
    ):
        assert row in shown, row
    formulas = made["census-1.md"].splitlines()
    for row in (
        "## biogpt, BioGptForCausalLM",
        # an embedding for each token, each position and two more, two norms per layer and one at the end; four square
        # matrices and two of the MLP, each with a bias
        "N &= 4 L E^{2} + 2 L E H + 9 L E + L H + V E + P E + 4 E",
        "F &= 4 B S^{2} L E + 8 B S L E^{2} + 4 B S L E H + 2 B S V E",
        "| `tie_word_embeddings=false` | VE |",
    ):
        assert row in formulas, row
    assert "it has no words" not in " ".join(made.values())


def test_every_model_type_has_a_catalogue_entry() -> None:
    """The class for its first head, as chosen by transformers."""
    assert {(name, filed.head) for name, filed in census_types().items()} == {*first_heads()}
    assert {head for _, heads in CENSUS.values() for head in heads} == {head for _, head in first_heads()}
    few = random.Random(1).sample([*census_types()], 20)  # noqa: S311
    for model_type, filed in census_types().items():
        kept = entries.find_entry(filed.name, model_type)
        # a class that cannot be built from its default config may be stored with more fields given
        assert bool(filed.why) == (kept is None) or not filed.builds, model_type
        if not filed.why and model_type in few:  # importing torch's side of each takes a while
            source = of_head(model_type)
            assert source.name == filed.name
            named = of_config({"model_type": model_type, "architectures": [filed.name]}, "config.json")
            assert named.run_as == source.run_as  # the source of its operations, through every entry point


def test_census_separates_types_with_only_parameters() -> None:
    """Every type of a page is in exactly one row of answers; Wav2Vec2 and NLLB-MoE cannot be run without data."""
    names = {kind: each for kind, each in census_types().items() if each.head == "seq2seq"}
    read = {kind: kept for kind, each in names.items() if (kept := entries.find_entry(each.name, kind))}
    found = sorted_types(names, read, {})
    assert sorted(kind for kinds in found.values() for kind in kinds) == sorted(names)
    assert "nllb-moe" in found["unrun"]
    assert "longt5" in found["counted"]


def test_refused_type_says_why_the_catalogue_lacks_it() -> None:
    """AutoformerConfig has no default for the prediction length, which its class needs."""
    shown = CliRunner().invoke(cli, ["catalogue", "autoformer"])
    assert shown.exit_code == 2
    assert "the catalogue has no formula for autoformer: transformers cannot build AutoformerModel" in shown.stderr
