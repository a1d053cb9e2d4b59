"""Corrections of published numbers: the arithmetic of each one is compared with numbers computed by hand."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from sympy import expand

from symformer.algebra.correction_arithmetic import WorkedLine
from symformer.algebra.formula_claims import formula_claims
from symformer.algebra.number_claims import number_claims
from symformer.documents.pages import display
from symformer.documents.reference_pages import corrections
from symformer.language.arithmetic import parse
from symformer.language.errors import SizeError

AMISS = [each for each in number_claims() if each.correction]
FORMULAS = [each for each in formula_claims() if each.correction]

# By hand, or as published.
WORKED: dict[str, list[Fraction | int]] = {
    "lora_gpt_2_m_r_4": [393_216],  # 2·2·24·1,024·4
    "deepseek_v2_kv_reduction": [Fraction(34_560, 194_560), Fraction(34_560 * 6, 194_560 * 16)],
    "deepseek_v3_mtp_unique": [11_507_286_016 + 102_760_448 + 21_504],
    "gpt_3_13b": [5_120, 12_582_912_000 + 2_662_400 + 257_315_840 + 10_485_760 + 10_240],
    "keras_whisper_base_en": [124_439_808],  # GPT-2, as counted by transformers
    "scaling_book_book_13b_kv_8192": [Fraction(25, 4)],
    "scaling_book_book_q1": [64 * (192_000_000 + 64_000_000)],
    "kor_hwflops": [  # B·S·E times 72LE + 24SL + 6V, then with 16SL; the difference 8SL relative to that
        64 * 2_048 * 12_288 * (84_934_656 + 4_718_592 + 307_200),
        64 * 2_048 * 12_288 * (84_934_656 + 3_145_728 + 307_200),
        Fraction(1_572_864, 84_934_656 + 3_145_728 + 307_200),
    ],
    "cook_ln": [(8 * 44 + 2) * 6_144, (4 * 44 + 2) * 6_144],
    "cook_kv": [90_112 * 12_288, 180_224 * 12_288],
}


@pytest.mark.parametrize("name", WORKED)
def test_correction_arithmetic_matches_hand_values(name: str) -> None:
    (entry,) = [each for each in (*AMISS, *FORMULAS) if each.id == name]
    assert [each.value for each in entry.working] == WORKED[name]


def test_chinchilla_ratios_match_the_correction() -> None:
    """Table A4 prints the second number of each pair; with the other terms of appendix F, the first one follows."""
    found = {each.id: [float(one.value) for one in each.working] for each in AMISS if "chinchilla" in each.id}
    said = {
        each.id: re.findall(r"the ratio is ([\d.]+)", each.correction)[0] for each in AMISS if "chinchilla" in each.id
    }
    prints = {each.id: each.printed for each in AMISS}
    assert len(found) == 5
    for name, (with_both, without) in found.items():
        assert f"{with_both:.{len(said[name]) - 2}f}" == said[name]
        assert f"{without:.2f}" == prints[name]


def test_working_gives_the_printed_number() -> None:
    for each in FORMULAS:
        if each.id != "tm_3d":  # their working is a single numeric term
            assert each.check is not None
            assert expand(parse(each.working[0].formula) - each.check.theirs) == 0, each.id


def test_every_correction_has_a_working() -> None:
    text = corrections()
    places = [text.index(f"**{re.sub('([_*])', chr(92) * 2 + chr(92) + '1', each.whose)}** prints") for each in AMISS]
    places += [text.index(f"(`{each.id}`)") for each in FORMULAS] + [len(text)]
    assert len(AMISS) == 46
    for start, end in zip(sorted(places), sorted(places)[1:], strict=False):
        assert "```math" in text[start:end], text[start : start + 100]
    heads = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    anchors = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}  # as created by GitHub
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) == anchors
    assert text == corrections()


def test_formula_names_with_commas_are_separated() -> None:
    (line,) = (line for line in corrections().splitlines() if line.startswith("Corrected [formulas]"))
    assert line.count("; ") == len(FORMULAS) - 1
    assert "eq. 8; EleutherAI" in line


def test_long_sums_are_wrapped() -> None:
    steps = [" + ".join(f"{n} E" for n in range(60)), r"\approx 2"]
    shown = display(steps)
    assert shown.startswith("```math\n\\begin{aligned}\n")
    assert shown.endswith("\n\\end{aligned}\n```")
    assert shown.count(r"\quad") > 2
    assert display(["1 + 1", "2"]) == "```math\n1 + 1 = 2\n```"


def test_working_requires_its_sizes() -> None:
    with pytest.raises(SizeError, match="needs values for L"):
        _ = WorkedLine(what="layers", formula="2*L*E", sizes={"E": 3}).value
