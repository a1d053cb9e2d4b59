"""State-space mixers have a separate role wherever a total is divided by role, and are not called attention."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest
from click.testing import CliRunner

from symformer import architecture
from symformer.algebra.role_totals import ROLES, role_totals
from symformer.commands.cli import cli
from symformer.documents.figures.box_content import TINTS
from symformer.documents.live_data import LISTS
from symformer.language.sizes import evaluate
from symformer.views.derivation_facts import purposes
from symformer.views.plots.shares_plot import STYLES, shares_of

# One layer of mamba2-2.7b: 2560 · (2 · 5120 + 2 · 128 + 80) into the mixer, a convolution of 4 positions and a bias for
# each of 5120 + 2 · 128 channels, three numbers for each of 80 heads, a norm of 5120, and 5120 · 2560 out of it.
MAMBA2 = 64 * (2560 * 10_576 + 5 * 5376 + 3 * 80 + 5120 + 5120 * 2560)
# One layer of nemotron-h-8b: the same with 128 heads of 64, 8 groups and a width of 4096.
HYBRID = 24 * (4096 * (2 * 8192 + 2 * 1024 + 128) + 5 * (8192 + 2048) + 3 * 128 + 8192 + 8192 * 4096)
# Four layers: 32 heads of 128 for queries and for the output, 8 for keys and for values.
ATTENTION = 4 * 4096 * 128 * (2 * 32 + 2 * 8)
# One layer of mamba-130m: 768 · 3072 in, 5 · 1536 for the convolution, 1536 · (48 + 2 · 16) for the step and the
# projections of the state, 48 · 1536 + 1536 for the step, 1536 · 16 and 1536 for the state, 1536 · 768 out.
MAMBA = 24 * (768 * 3072 + 5 * 1536 + 1536 * 80 + 49 * 1536 + 17 * 1536 + 1536 * 768)
EXPECTED = {
    "mamba2-2.7b": {"state-space mixer": MAMBA2},
    "mamba-130m": {"state-space mixer": MAMBA},
    "nemotron-h-8b": {"state-space mixer": HYBRID, "attention": ATTENTION},
    "llama-2-7b": {"attention": 32 * 4 * 4096**2},
}
SUBJECT = ("state-space mixer", "attention")


def test_hand_computed_totals_equal_the_mixer_totals() -> None:
    assert MAMBA2 == 2_573_696_000
    assert HYBRID + ATTENTION == 2_799_035_392
    assert ATTENTION == 167_772_160


@pytest.mark.parametrize("target", EXPECTED)
def test_a_mixer_is_not_called_attention(target: str) -> None:
    model = architecture(target)
    found = {role: evaluate(expr, model.known, target) for role, expr in role_totals(model.params).items()}
    assert {role: found[role] for role in SUBJECT if role in found} == EXPECTED[target]
    assert sum(found.values()) == model.params.value()
    shares = shares_of(model, model.params)
    assert {role: shares[role] for role in SUBJECT if role in shares} == {
        role: Fraction(value, model.params.value()) for role, value in EXPECTED[target].items()
    }


def test_compare_has_a_row_for_mixers() -> None:
    document = json.loads(CliRunner().invoke(cli, ["compare", "mamba2-2.7b", "nemotron-h-8b", "--json"]).stdout)
    rows = {row["part"]: (row["left"]["value"], row["right"]["value"]) for row in document["rows"]}
    assert rows["state-space mixer"] == (MAMBA2, HYBRID)
    assert rows["attention"] == (0, ATTENTION)
    plain = json.loads(CliRunner().invoke(cli, ["compare", "gpt2", "llama-2-7b", "--json"]).stdout)
    assert "state-space mixer" not in {row["part"] for row in plain["rows"]}


@pytest.mark.parametrize(("target", "roles"), [("mamba2-2.7b", {"state-space mixer"}), ("nemotron-h-8b", set(SUBJECT))])
def test_a_live_page_has_a_mixer_part(target: str, roles: set[str]) -> None:
    page = CliRunner().invoke(cli, ["derive", target, "-q", "params", "--live", "-o", "-", "--format", "html"]).stdout
    (data,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    sheet = json.loads(data)
    (tab,) = sheet["tabs"]
    (model,) = tab["models"]
    assert model["forms"]
    parts = 2 + LISTS.index("parts")  # after the two trees of a form
    for form in model["forms"]:
        assert {sheet["rows"][row][0] for row in sheet["lists"][form[parts]]} & set(SUBJECT) == roles


def test_a_scan_is_not_counted_as_elementwise_work() -> None:
    # In chunks it consists of matrix products, as counted by torch: tests/test_scan.py.
    parts = purposes(architecture("mamba2").formula("flops"))
    assert set(parts) == {"matrices", "state-space scan"}
    assert set(purposes(architecture("nemotron-h").formula("flops"))) == {"matrices", "attention", "state-space scan"}
    # Attention's share covers only attention: 4 layers of 4 · S² · 32 · 128, per sequence
    share = architecture("nemotron-h-8b").formula("attention-share")
    whole = architecture("nemotron-h-8b").formula("flops").value(B=1, S=2048)
    assert share.value(S=2048) == Fraction(4 * 4 * 2048**2 * 32 * 128, whole)


def test_each_role_has_a_distinct_style_and_tint() -> None:
    assert set(STYLES) == set(TINTS) == set(ROLES)
    assert len(set(STYLES.values())) == len(set(TINTS.values())) == len(ROLES)
