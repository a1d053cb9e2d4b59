"""Published formulas, letter for letter: each has the verdict that the paper implies, or a reason."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sympy import expand

from symformer.algebra.formula_claims import PrintedFormula, formula_claims
from symformer.algebra.number_claims import number_claims
from symformer.algebra.publications import publications
from symformer.commands.cli import cli
from symformer.documents.reference_pages import published_formulas
from symformer.language.arithmetic import parse
from symformer.language.errors import DerivationError

from .samples import sampled

# For each formula its verdict, and words of each sentence, or ours - theirs: as stated in the paper, or computed by
# hand. Formulas without a verdict are not checked.
TOLD: dict[str, dict[str, Any]] = {
    row["id"]: row for row in json.loads((Path(__file__).parent / "checked.json").read_text("utf-8"))
}
PRINTED: dict[str, dict[str, Any]] = {
    row["id"]: row for row in json.loads((Path(__file__).parent / "printed.json").read_text("utf-8"))
}
ENTRIES = {entry.id: entry for entry in formula_claims()}


def test_every_published_formula_is_stored_verbatim() -> None:
    assert len(formula_claims()) == len(ENTRIES) == 89
    assert ENTRIES.keys() == TOLD.keys() == PRINTED.keys()
    assert {name: entry.latex for name, entry in ENTRIES.items()} == {
        name: row["latex"] for name, row in PRINTED.items()
    }


def test_every_formula_has_a_verdict_or_a_reason() -> None:
    for entry in formula_claims():
        assert bool(entry.target) == bool(entry.verdict) == (not entry.without), entry.id
        assert entry.verdict != "differs" or (entry.because and entry.difference != "0"), entry.id
        assert bool(entry.conventions) == (entry.verdict == "convention"), entry.id
        assert entry.url.startswith("https://") or entry.paper, entry.id
    verdicts = Counter(entry.verdict for entry in formula_claims())
    assert verdicts[""] == 7  # three orders of growth, a number of tokens, a ratio, a file, a width


@pytest.mark.parametrize("name", sampled(4, [name for name, row in TOLD.items() if row["verdict"]]))
def test_the_verdict_matches_the_paper(name: str) -> None:
    row, entry = TOLD[name], ENTRIES[name]
    found = entry.check  # it checks the stored verdict
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
def test_a_wrong_stored_verdict_is_detected(wrong: dict[str, Any]) -> None:
    entry: PrintedFormula = replace(ENTRIES["megatron_P"], **wrong)
    with pytest.raises(
        DerivationError, match=r"megatron_P is recorded as .*, but the check gives convention; the final norm"
    ):
        _ = entry.check


@pytest.mark.exhaustive
def test_the_page_shows_each_formula_as_printed() -> None:
    """Korthikanti et al. 2022, eq. 1, is not expanded; ours is next to it, with the letters and the conventions."""
    made = published_formulas()
    rows = {line.split("`")[1]: line for line in made.splitlines() if line.startswith("| `")}
    assert rows.keys() == ENTRIES.keys()
    assert (
        made.index("## Differs")
        < made.index("## Equal under")
        < made.index("## Equal\n")
        < made.index("## Not compared")
    )
    for entry in formula_claims():
        assert entry.latex.replace("|", "\\vert ") in rows[entry.id]
        heads = {"differs": 8, "convention": 8, "equal": 7, "": 4}
        assert rows[entry.id].count(" | ") == heads[entry.verdict] - 1, entry.id
    layer = rows["kor_eq1"]
    assert r"$`sbh\left(34+5\frac{as}{h}\right)`$" in layer
    assert "$`5 B S^{2} A + 34 B S E`$" in layer
    assert "h = E" in layer
    assert "implementation = megatron" in layer
    assert "](gpt2.md)" in layer
    for target in re.findall(r"\]\((\S+\.md)\)", made):
        assert (Path(__file__).parent.parent / "reports" / target).exists(), target


def test_the_command_checks_published_formulas() -> None:
    told = {row["id"]: row for row in json.loads(CliRunner().invoke(cli, ["papers", "--json"]).stdout)}
    assert ENTRIES.keys() | {each.id for each in number_claims()} == told.keys()
    assert len(told) == len(ENTRIES) + len(number_claims())  # ids are unique
    assert told["megatron_P"]["conventions"] == ["the final norm is left out"]
    assert told["chin_20"]["verdict"] == "not asked"
    assert "experiment" in told["chin_20"]["because"]
    one = json.loads(CliRunner().invoke(cli, ["papers", "kor_hwflops", "--json"]).stdout)
    assert one["difference"] == "-8*B*S**2*L*E" == one["check"]["difference"]
    assert "11sbh+5as^2b" in CliRunner().invoke(cli, ["papers", "kor_attn"]).stdout
    assert "unchecked" in CliRunner().invoke(cli, ["papers", "llama_ffn"]).stdout
    assert told["gpt_2_paper_small"]["correction"]
    assert "3 FLOPs per score" in CliRunner().invoke(cli, ["papers", "chin_total"]).stdout


def test_every_source_is_shown_with_its_formulas_and_its_numbers() -> None:
    """The paper of Hoffmann et al. prints formulas in appendix F and numbers in its tables A4 and A9."""
    listed = CliRunner().invoke(cli, ["papers"]).stdout
    assert {each.source for each in number_claims()} | {each.paper or each.source for each in formula_claims()} == {
        *publications()
    }
    for name, found in publications().items():
        assert any(line.startswith(f"{name} ") for line in listed.splitlines()), name
        shown = CliRunner().invoke(cli, ["papers", name])
        assert shown.exit_code == 0
        for each in found.entries:
            assert each.id in shown.stdout
    one = CliRunner().invoke(cli, ["papers", "hoffmann2022"]).stdout
    assert "chin_total" in one
    assert "1.10" in next(line for line in one.splitlines() if line.startswith("chinchilla_a4_305m"))
    assert sum(len(each.entries) for each in publications().values()) == len(formula_claims()) + len(number_claims())


def test_a_number_is_shown_with_the_quantity_it_counts() -> None:
    said = CliRunner().invoke(cli, ["papers", "gpt_2_paper_small"]).stdout
    assert "GPT-2 paper, table 2, small: 117M, published as parameters" in said
    assert "124,439,808 − 7,510,272 = 116,929,536" in said
    facts = json.loads(CliRunner().invoke(cli, ["papers", "gpt_2_paper_small", "--json"]).stdout)
    assert facts["explanation"]["verdict"] == facts["verdict"] == "convention"
    assert json.loads(CliRunner().invoke(cli, ["papers", "chinchilla_a4_305m", "--json"]).stdout)["explanation"] is None
    assert "a ratio of two counts" in CliRunner().invoke(cli, ["papers", "chinchilla_a4_305m"]).stdout


@pytest.mark.parametrize("name", ["kor_eq", "", "_%&#$<x>|`", "E" * 300, "模型", "../../etc/passwd"])
def test_an_unknown_id_is_refused_in_a_sentence(name: str) -> None:
    result = CliRunner().invoke(cli, ["papers", name])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("symformer: unknown paper, published formula or number ")
    assert result.stderr.count("\n") == 1
