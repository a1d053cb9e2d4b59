"""FLOPs of a whole training run: published values, and their relation to the training FLOPs of a batch."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import RuleError, SizeError
from symformer.language.symbols import B, E, H, L, N_tok, S, V
from symformer.models.model import Model

GPT3 = {"L": 96, "P": 2048, "E": 12288, "H": 49152, "A": 96, "S": 2048, "N_tok": 300 * 10**9}


def gpt3() -> Model:
    """GPT-3 175B, Brown et al. 2020, table 2.1; 300 billion tokens in sequences of 2,048."""
    return sf.architecture("gpt2").set(GPT3)


def test_run_flops_of_gpt_3_match_the_paper() -> None:
    """Appendix D: 3.14e23 from 6·174,600M·300B, without the products of attention, which are 12·S·L·E per token."""
    found = gpt3().formula("run-flops").value()
    attention = 12 * 2048 * 96 * 12288 * 300 * 10**9
    assert round((found - attention) / 10**21) == 314
    assert round(6 * 174_604_259_328 * 300 * 10**9 / 10**21) == 314
    assert found == 6 * (96 * 12 * 12288**2 + 50257 * 12288) * 300 * 10**9 + attention


def test_run_flops_of_chinchilla_match_the_paper() -> None:
    """Hoffmann et al. 2022: 5.76e23 for 70B parameters and 1.4T tokens; within half a percent, for any batch."""
    model = sf.architecture("chinchilla-70b").set({"S": 2048, "N_tok": 1400 * 10**9, "B": 625})
    assert abs(model.formula("run-flops").value() / 5.76e23 - 1) < 0.005


def test_run_flops_by_hand() -> None:
    """The input of a feed-forward network is not trained: 2EH up and down forward, their gradients, one of an input."""
    assert sf.component("mlp").formula("run-flops").equals("10*N_tok*E*H")
    model = sf.architecture("gpt2")
    causal = model.formula("run-flops", attention="causal")
    by_hand = 72 * N_tok * L * E**2 + 6 * N_tok * V * E + 6 * N_tok * (S + 1) * L * E
    assert (causal.expanded - by_hand.expand()).expand() == 0


@pytest.mark.parametrize("target", ["llama", "t5", "mixtral", "mamba2", "gopher", "bart"])
def test_run_flops_equal_steps_times_train_flops(target: str) -> None:
    model = sf.architecture(target)
    for way in ({}, {"recompute": "full"}, {"attention": "causal"}, {"train": "frozen-embeddings"}):
        run, step = model.formula("run-flops", **way), model.formula("train-flops", **way)
        assert (run.expanded - step.expanded * N_tok / (B * S)).expand() == 0 != run.expanded


def test_whole_sequences_are_required_if_a_cost_occurs_once_per_sequence() -> None:
    """T5's encoder runs once per S tokens of the decoder; Llama's 15T tokens need not be whole sequences."""
    sizes = {"S": 30, "S_enc": 50}
    t5 = sf.architecture("t5-small").formula("run-flops")
    step = sf.architecture("t5-small").formula("train-flops")
    assert t5.value(N_tok=90, **sizes) == 3 * step.value(B=1, **sizes)
    with pytest.raises(SizeError, match=r"N_tok=100 is not a multiple of S=30 .* choose a whole number of sequences"):
        t5.value(N_tok=100, **sizes)
    assert sf.architecture("llama-3-8b").formula("run-flops").value(S=8192, N_tok=15 * 10**12) > 0
    gopher = sf.architecture("gopher-44m").formula("run-flops")
    with pytest.raises(SizeError, match=r"is not a multiple of BS=.*choose a whole number of batches"):
        gopher.value(S=30, B=7, N_tok=90)


def test_run_flops_with_adapters_and_ranks() -> None:
    model = sf.architecture("llama-2-7b", lora="q_proj")
    some, step = model.formula("run-flops"), model.formula("train-flops")
    assert 4 * step.value(B=3, S=16, R=5) == some.value(S=16, R=5, N_tok=4 * 3 * 16)
    whole = sf.architecture("llama-2-7b")
    assert 2 * whole.formula("run-flops", tensor="on").value(S=16, N_tok=32, N_tp=2) == whole.formula(
        "run-flops"
    ).value(S=16, N_tok=32)


@pytest.mark.parametrize("target", ["vit", "clip"])
def test_image_models_have_no_run_flops(target: str) -> None:
    with pytest.raises(RuleError, match=r"run-flops is computed per token, but .* takes images"):
        sf.architecture(target).formula("run-flops")


def test_models_with_an_image_per_sequence_have_no_run_flops() -> None:
    with pytest.raises(RuleError, match=r"run-flops is computed per token, but .* takes images"):
        sf.model("hf:blip").formula("run-flops")


@pytest.mark.parametrize("target", ["pooler", "conditioning"])
def test_components_without_tokens_have_no_run_flops(target: str) -> None:
    """Each sequence has an initial state, and each image a timestep and a class."""
    with pytest.raises(RuleError, match=r"run-flops is computed per token, but .* takes no tokens"):
        sf.component(target).formula("run-flops")


def test_run_flops_of_a_traced_model_follow_from_its_train_flops() -> None:
    found = sf.model("hf:gpt_neo").formula("run-flops")
    step = sf.model("hf:gpt_neo").formula("train-flops")
    assert (found.expanded - step.expanded * N_tok / (B * S)).expand() == 0


def test_run_flops_and_the_6nd_rule_differ_by_attention() -> None:
    """Kaplan's and Chinchilla's 6ND equals ours without attention's products; per parameter, ours is at least 6."""
    found = sf.check("6 N D", "gpt2", "run-flops", names={"D": "N_tok"})
    assert [each.name for each in found.conventions] == [
        "the attention core (scores and weighted values) is left out",
        "its parameter count includes only the layers' matrices and the head",
    ]
    ratio = sf.over(gpt3(), "run-flops", "params").value
    assert ratio is not None
    assert 6 < ratio / (300 * 10**9) < 6.2
    explained = sf.explain(gpt3(), "3.14e23 FLOPs", "run-flops")
    assert explained.verdict == "convention"
    said = [explained.match, *explained.equally_good]
    assert any("attention" in each.otherwise[0] and each.method.formula.measure.name == "params" for each in said)


def test_cli_and_python_agree_on_run_flops() -> None:
    run = CliRunner().invoke
    shown = run(cli, ["show", "llama-2-7b", "-q", "run-flops", "--set", "S=4096", "--set", "N_tok=2000000000000"])
    # 6·(6,738,415,616 - 32,000·4,096 - 65·4,096)·2e12 for matrices and head, 12·4,096·32·4,096·2e12 for attention
    assert (
        f"{6 * (6_738_415_616 - 131_072_000 - 266_240) * 2 * 10**12 + 12 * 4096**2 * 32 * 2 * 10**12:,}" in shown.stdout
    )
    unused = run(cli, ["show", "gpt2", "-q", "run-flops", "--set", "B=2"])
    assert unused.exit_code == 2
    assert "B=2 has no effect" in unused.stderr
    asked = run(cli, ["explain", "gpt2", "3e23 FLOPs", "-q", "run-flops"])
    assert asked.exit_code == 2
    assert "depends on N_tok; give it as --set N_tok=" in asked.stderr
    assert H in sf.architecture("llama").formula("run-flops").symbols
    solved = run(
        cli, ["solve", "gpt2", "-q", "run-flops", "--total", "1e21", "--set", "S=1024", "--find", "N_tok", "--json"]
    )
    # one token of GPT-2 takes 12·1,024·12·768 + 72·12·768² + 6·50,257·768 = 854,438,400 FLOPs
    nearest = json.loads(solved.stdout)["nearest"]
    assert nearest["sizes"]["N_tok"] == -(-(10**21) // 854_438_400)
