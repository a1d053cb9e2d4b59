"""MFU and HFU: published shares of the peak, and their relation to the training FLOPs."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import OptionError, RuleError, SizeError
from symformer.language.symbols import B, N_tps, S
from symformer.models.model import Model

# Korthikanti et al. 2022, tables 3 and 5: layers, width, heads, sequences, GPUs of 312 TFLOPs, seconds, and MFU in
# percent. The seconds of the first have three digits, which is an uncertainty of 0.2.
KORTHIKANTI = {
    "22B": (48, 6144, 64, 4, 8, "1.10", 41.5),
    "175B": (96, 12288, 96, 64, 64, "13.75", 51.4),
    "530B": (105, 20480, 128, 280, 280, "37.83", 56.0),
    "1T": (128, 25600, 160, 512, 512, "71.49", 56.3),
}
PALM = {"S": 2048, "N_tps": 238_300, "N_dev": 6144, "N_peak": 275 * 10**12}


def megatron(name: str) -> Model:
    layers, width, heads, sequences, devices, seconds, _ = KORTHIKANTI[name]
    sizes = {"L": layers, "E": width, "H": 4 * width, "A": heads, "V": 51200, "P": 2048}
    speed = round(sequences * 2048 / Fraction(seconds))
    return sf.architecture("gpt2").set({**sizes, "S": 2048, "N_tps": speed, "N_dev": devices, "N_peak": 312 * 10**12})


def test_mfu_of_palm_matches_the_paper() -> None:
    """Chowdhery et al. 2022, table 3 and appendix B: 46.2 % at 238.3K tokens per second on 6,144 chips.

    45.7 % without attention, which has 12·118·48·256·2,048 FLOPs per token.
    """
    found = sf.architecture("palm-540b").set(PALM).formula("mfu").value()
    assert round(100 * float(found), 1) == 46.2
    attention = Fraction(12 * 118 * 48 * 256 * 2048 * 238_300, 6144 * 275 * 10**12)
    assert round(100 * float(found - attention), 1) == 45.7


@pytest.mark.parametrize("name", KORTHIKANTI)
def test_mfu_matches_korthikanti_et_al(name: str) -> None:
    printed = KORTHIKANTI[name][-1]
    found = 100 * float(megatron(name).formula("mfu").value())
    assert abs(found - printed) < (0.2 if name == "22B" else 0.05)


def test_recomputation_counts_only_in_hfu() -> None:
    """Selective recomputation repeats the core, 4S²LE per sequence, in addition to 72SLE² + 12S²LE + 6SVE."""
    model = megatron("175B")
    mfu, hfu, again = (
        model.formula("mfu"),
        model.formula("hfu"),
        model.formula("hfu", recompute="selective"),
    )
    assert mfu.equals(hfu)
    layers, width, length, vocabulary = 96, 12288, 2048, 51200
    needed = 72 * layers * width**2 + 12 * length * layers * width + 6 * vocabulary * width
    assert again.value() / mfu.value() == Fraction(needed + 4 * length * layers * width, needed)
    assert "recompute" not in mfu.conventions
    # Korthikanti et al. print 52.8 from their eq. 8, which adds 12BS²LE for the core although 4BS²LE are recomputed.
    assert 51.4 < 100 * float(again.value()) < 52.8


@pytest.mark.parametrize("target", ["llama", "mixtral", "t5", "mamba2"])
def test_the_numerator_of_mfu_is_the_training_flops(target: str) -> None:
    model = sf.architecture(target)
    for way in ({}, {"attention": "causal"}):
        found, step = model.formula("mfu", **way), model.formula("train-flops", **way)
        assert (found.numerator.expanded - step.expanded * N_tps / (B * S)).expand() == 0  # type: ignore[attr-defined]
        assert found.denominator.code() == "N_dev*N_peak"  # type: ignore[attr-defined]


def test_mfu_of_a_traced_model() -> None:
    model = sf.model("hf:bloom")
    step = model.formula("train-flops")
    assert (model.formula("mfu").numerator.expanded - step.expanded * N_tps / (B * S)).expand() == 0  # type: ignore[attr-defined]


def test_unsupported_requests_for_utilization_are_refused() -> None:
    with pytest.raises(RuleError, match=r"mfu describes all devices together, .* remove tensor=on"):
        sf.architecture("llama-2-7b").formula("mfu", tensor="on")
    with pytest.raises(RuleError, match="hfu is computed per token, but ViT takes images"):
        sf.architecture("vit").formula("hfu")
    with pytest.raises(SizeError, match="is defined only for the whole model, not for a part"):
        sf.architecture("gpt2").formula("mfu").part("h.attn")
    with pytest.raises(SizeError, match=r"palm.mfu.peak needs values for N_dev, N_peak"):
        sf.architecture("palm-540b").formula("mfu").value(S=2048, N_tps=238_300)


def test_a_printed_utilization_is_explained() -> None:
    palm = sf.architecture("palm-540b").set(PALM)
    found = sf.explain(palm, "46.2 %", "mfu")
    assert found.verdict == "rounded"
    assert "46.23%, rounded to 3 digits" in found.reason
    assert sf.explain(palm, "45.7 %", "mfu").verdict == "unexplained"
    with pytest.raises(OptionError, match=r"'46.2 %' is a percentage; name the quantity, as in -q mfu"):
        sf.explain(palm, "46.2 %")
    with pytest.raises(OptionError, match=r"'46.2' is not a percentage, but mfu is one; write it as in 46.2 %"):
        sf.explain(palm, "46.2", "mfu")
    with pytest.raises(OptionError, match=r"'46.2 %' is in %, but params is counted in elements"):
        sf.explain(palm, "46.2 %", "params")


def test_utilization_on_the_command_line() -> None:
    run = [f"--set={name}={value}" for name, value in PALM.items()]
    shown = CliRunner().invoke(cli, ["show", "palm-540b", "-q", "mfu", *run]).stdout
    assert "(about 46.2%)" in shown
    told = json.loads(CliRunner().invoke(cli, ["show", "palm-540b", "-q", "mfu", *run, "--json"]).stdout)
    assert told["unit"] == "of the peak"
    assert Fraction(told["value"]) == sf.architecture("palm-540b").set(PALM).formula("mfu").value()
    changes = CliRunner().invoke(cli, ["sensitivity", "palm-540b", "-q", "mfu", *run]).stdout
    assert "elasticity" in changes
