"""Attention's share of the FLOPs, and FLOPs with only, or without, the products of attention."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.formulas.ratio import Ratio
from symformer.language.errors import RuleError
from symformer.language.symbols import B, E, L, S


def test_gpt2_attention_share_by_hand() -> None:
    """Per token, 12·768² elements in each of 12 layers and 50,257·768 in the head; 2·1,024·768 per layer."""
    found = sf.architecture("gpt2").formula("attention-share")
    others = 2 * 1024 * 12 * 768
    assert found.value(S=1024) == Fraction(others, others + 12 * 12 * 768**2 + 50257 * 768)
    assert B not in found.symbols


def test_layer_share_matches_korthikanti_equation_7() -> None:
    """Korthikanti et al. 2022, eq. 7: 72BLsh²(1 + s/6h + v/12hL), so the share in a layer is s/(s + 6h)."""
    assert sf.architecture("gpt2").formula("attention-share").part("h").equals("S/(S + 6*E)")


def test_numerator_and_denominator_match_flops() -> None:
    for target in ("gpt2", "t5", "deepseek-v3", "gemma2", "clip"):
        model = sf.architecture(target)
        for way in ({}, {"attention": "causal"}, {"logits": "last"}):
            share = model.formula("attention-share", **way)
            alone, others, whole = (
                model.formula("flops", products=each, **way).expanded for each in ("attention", "others", "all")
            )
            assert isinstance(share, Ratio)
            assert (alone + others - whole).expand() == 0 != alone
            assert share.equals(alone / whole)


def test_elementwise_flops_are_in_the_denominator_only() -> None:
    gpt2 = sf.architecture("gpt2")
    contractions, all_ = (gpt2.formula("attention-share", count=each) for each in ("contractions", "all"))
    assert gpt2.formula("flops", products="attention", count="all").equals(4 * B * S**2 * L * E)
    assert all_.value(S=1024) < contractions.value(S=1024)


def test_length_at_which_attention_is_half_of_the_flops() -> None:
    """By hand: 2SLE = 12LE² + VE for S = 6E + V/(2L); 4,608 + 50,257/24 = 6,702.04… for GPT-2."""
    run = CliRunner().invoke
    sides = ["--left", "products=attention", "--right", "products=others", "--crossover", "S", "--set", "B=1"]
    told = run(cli, ["compare", "gpt2", "gpt2", "-q", "flops", *sides, "--set", "P=9000"]).stdout
    assert "S = (12LE + V)/(2L)\ngpt2 (1) is larger above this value, and gpt2 (2) below it." in told
    found = sf.architecture("gpt2").set({"P": 9000}).formula("attention-share")
    assert found.value(S=6702) < Fraction(1, 2) < found.value(S=6703)


def test_share_is_zero_without_attention_and_undefined_without_products() -> None:
    assert sf.architecture("mamba-130m").formula("attention-share").value(S=7) == 0
    with pytest.raises(sf.SymformerError, match="attention-share is undefined"):
        sf.component("layer-norm").formula("attention-share").value(E=5)


def test_evenly_divided_ranks_keep_the_share_of_the_whole() -> None:
    model = sf.architecture("llama-2-7b")
    assert model.formula("attention-share", tensor="on").value(S=64, N_tp=4) == model.formula("attention-share").value(
        S=64
    )


def test_attention_share_of_a_traced_model() -> None:
    assert sf.model("hf:bloom").formula("attention-share").equals("2*S*L/(2*S*L + 12*L*E + V)")
    for way in ({"quantity": "attention-share"}, {"quantity": "flops", "products": "others"}):
        with pytest.raises(RuleError, match=r"hf-xlnet: it is not known whether .*bmm is part of attention"):
            sf.model("hf:xlnet").formula(**way)


def test_attention_share_is_printed_as_a_percentage() -> None:
    run = CliRunner().invoke
    shown = run(cli, ["show", "gpt2", "-q", "attention-share", "--set", "S=1024"]).stdout
    assert "(about 13.3%)" in shown  # 24,576/185,425
    assert "185,425" not in shown
    # 2LS/(12LE + 2LS + V) = 24S/(160,849 + 24S) is 1/2 for S = 6,702.04
    solved = run(cli, ["solve", "gpt2", "-q", "attention-share", "--find", "S", "--total", "50%", "--set", "P=8192"])
    assert solved.exit_code == 1
    assert "no solution; the nearest is S = 6,702: 49.9998% (-0.000155426 percentage points)" in solved.stdout


@pytest.mark.parametrize("quantity", ["flops", "run-flops", "attention-share"])
def test_causal_pairs_are_refused_if_cache_and_window_differ(quantity: str) -> None:
    """Qwen2 with ``use_sliding_window`` has windows only from a certain layer, which a shallow model does not reach."""
    model = sf.model("hf:qwen2")
    component: Any = model.component
    lifted = component.lifted()
    assert "S" in model.formula(quantity, attention="causal").code()
    otherwise = replace(lifted, refusals={"kv-cache": "torch counts differently: formula 8 of 60, torch 4 of 60"})
    windowed = replace(model, component=replace(component, lifted=lambda: otherwise))
    with pytest.raises(RuleError, match=r"attention=causal: the window of each layer is not known, because .* 4 of 60"):
        windowed.formula(quantity, attention="causal")
