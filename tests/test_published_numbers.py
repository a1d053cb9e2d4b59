"""Published numbers: each has the stored verdict or a reason why it has none, and the page lists all."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from symformer.algebra.number_claims import number_claims
from symformer.documents.pages import anchor
from symformer.documents.reference_pages import published_numbers
from symformer.language.errors import DerivationError

from .samples import sampled

# By hand, from the publishers: the explanations of public numbers. The stored verdict is exact, another convention, or
# a disagreement.
TOLD = {
    "gpt_2_small": "exact",
    "pythia_70m_non_embedding": "convention",
    "roberta_base_without_pooler": "convention",
    "falcon_180b_untied": "exact",
    "gpt_2_paper_small": "convention",  # GPT-1's vocabulary
    "gpt_2_paper_xl": "convention",
    "gpt_j_published": "convention",  # eight replicas
    "keras_llama3_2_1b": "convention",  # the tied table twice
    "keras_llama2_7b_en_int8": "convention",  # with scales
    "keras_qwen2_5_coder_1_5b": "unexplained",
    "keras_whisper_base_en": "unexplained",  # another model's
    "whisper_readme_tiny": "unexplained",
    "transformer_base": "unexplained",
    "lora_gpt_2_m_r_4": "unexplained",
    "lora_gpt_3_r_1_q_v": "rounded",
    "lora_gpt_3_ft": "unexplained",
    "palm_540b": "rounded",
    "deepseek_v3_activated": "unexplained",
    "torchvision_ops_vit_b_16_224": "rounded",
    "scaling_book_book_q1": "unexplained",
    "dit_readme_256": "convention",  # multiply-adds
    "dit_issue_67": "convention",
    "dit_xl_2_gflops": "unexplained",
    "switch_xxl": "",  # no target
}

# The section of each verdict on the page.
HEADINGS = {
    "convention": "Different convention",
    "unexplained": "Unexplained",
    "rounded": "Full count, rounded",
    "exact": "Full count, exact",
    "": "Not compared",
}


@pytest.mark.parametrize("first", sampled(4, range(4)))
def test_every_number_has_the_verdict_on_file_or_a_reason(first: int) -> None:
    for entry in number_claims()[first::4]:
        found = entry.explanation  # it checks the stored verdict
        if found is None:
            assert entry.without, entry.id
            continue
        assert not entry.without
        if entry.verdict == "exact":
            assert f"{found.value:,}" == entry.printed.partition(" ")[0], entry.id
        assert (found.match.value == found.own_count.value) == (
            not found.match.otherwise
        ) or found.match_kind == "cut off"


def test_the_number_of_published_numbers() -> None:
    assert len(number_claims()) == len({entry.id for entry in number_claims()}) == 351
    verdicts = {entry.id: entry.verdict for entry in number_claims()}
    assert {name: verdicts[name] for name in TOLD} == TOLD
    assert set(verdicts.values()) == set(HEADINGS)


def test_a_wrong_stored_verdict_is_detected() -> None:
    entry = next(each for each in number_claims() if each.id == "gpt_2_small")
    with pytest.raises(DerivationError, match="is recorded as rounded, but is exact"):
        _ = replace(entry, verdict="rounded").explanation
    with pytest.raises(DerivationError, match="is recorded as exact, but is unexplained"):
        _ = replace(entry, printed="124,439,809").explanation


def test_the_page_has_every_number_once_in_its_section() -> None:
    shown = published_numbers()
    sections = {part.partition("\n")[0]: part for part in shown.split("\n## ")[1:]}
    counts = Counter(entry.verdict for entry in number_claims())
    for verdict, heading in HEADINGS.items():
        rows = [line for line in sections[heading].splitlines() if line.startswith("| ")][2:]
        assert len(rows) == counts[verdict], heading
        assert f"| [{heading}](#{anchor(heading)}) | {counts[verdict]} |" in shown
    amiss = [entry for entry in number_claims() if entry.correction]
    assert f"{len(amiss)} of them need a correction; see [corrections](corrections.md)." in shown
    assert "[gpt2](gpt2.md)" in shown
    assert "124,439,808 − 7,510,272 = 116,929,536" in shown
