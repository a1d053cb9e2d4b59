"""Sensitivities: derivatives by hand, unit increments from two values, and asymptotes from large values."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from click.testing import CliRunner, Result

import symformer as sf
from symformer.algebra.sensitivity import sensitivity
from symformer.commands.cli import cli
from symformer.language.arithmetic import parse


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["sensitivity", *arguments], prog_name="symformer")


def found(*arguments: str) -> dict[str, dict[str, Any]]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return {each["size"]: each for each in json.loads(result.stdout)["sizes"]}


def test_sensitivity_of_gpt2_by_hand() -> None:
    """N = 12LE² + 13LE + VE + PE + 2E at L = 12, V = 50,257, P = 1,024, E = 768: 124,439,808."""
    sizes = found("gpt2")
    # a block of GPT-2 has 7,087,872 parameters, as counted by transformers
    assert (sizes["L"]["derivative"], sizes["L"]["derivative_value"]) == ("12*E**2 + 13*E", 7_087_872)
    assert (sizes["L"]["one_more"], sizes["L"]["one_more_value"]) == ("12*E**2 + 13*E", 7_087_872)
    assert Fraction(sizes["L"]["elasticity_value"]) == Fraction(12 * 7_087_872, 124_439_808)
    assert sizes["E"]["derivative"] == "24*L*E + 13*L + V + P + 2"
    assert sizes["E"]["derivative_value"] == 24 * 12 * 768 + 13 * 12 + 50_257 + 1_024 + 2
    assert sizes["E"]["one_more"] == "24*L*E + 25*L + V + P + 2"  # 12L(2E + 1) + 13L + V + P + 2
    assert Fraction(sizes["E"]["elasticity_value"]) == Fraction(768 * 272_623, 124_439_808)
    assert sizes["E"]["alone"] == "144*E**2 + 51439*E"  # 12*12; 13*12 + 50,257 + 1,024 + 2
    assert sizes["E"]["asymptote"] == "144*E**2"
    assert sizes["V"]["asymptote"] == "768*V"
    assert "E=769 is not a multiple of A=12" in sizes["E"]["one_more_breaks"]
    assert sizes["L"]["one_more_breaks"] is None


def test_sizes_without_values_have_only_formulas() -> None:
    """N = 2EH + E + H: 2H + 1 per unit of E, whose share is E(2H + 1)/N."""
    shown = run("component:mlp")
    assert (shown.exit_code, shown.stderr) == (0, "")
    (row,) = [line.split("  ") for line in shown.stdout.splitlines() if line.startswith("E ")]
    assert [cell.strip() for cell in row if cell.strip()] == [
        *("E", "2H + 1", "(2EH + E)/(2EH + E + H)", "2H + 1", "2EH + E")
    ]
    assert r"E &  & 2 H + 1 & \frac{2 E H + E}{2 E H + E + H} & 2 H + 1 &  &" in (
        sensitivity("component:mlp")._repr_latex_() or ""
    )
    known = run("component:mlp", "--set", "E=5", "--set", "H=7").stdout
    (row,) = [line.split() for line in known.splitlines() if line.startswith("E ")]
    assert row == [
        "E",
        "5",
        "2H",
        "+",
        "1",
        "0.9146",
        "2H",
        "+",
        "1",
        "15",
        "15E",
    ]  # (2·5·7 + 5)/82; 2·7 + 1; with H = 7


RUN = {"B": 3, "S": 96, "C": 70}


@pytest.mark.parametrize(
    "quantity", ["params", "flops", "kv-cache", "active-params", "inference-memory", "decode-flops"]
)
@pytest.mark.parametrize("target", ["llama-2-7b", "mixtral-8x7b", "mistral-7b-v0.1", "gpt2-xl", "gemma-2-2b"])
def test_one_more_equals_the_difference_of_two_values(target: str, quantity: str) -> None:
    """For every size that may increase by one, the difference of two values; for others, the violated condition."""
    model = sf.model(target)
    symbols = [str(size) for size in model.formula(quantity).symbols]
    given = {name: number for name, number in RUN.items() if name in symbols}
    model = model.set(given) if given else model
    formula = model.formula(quantity)
    compared, refused = 0, []
    for change in sensitivity(model, quantity).changes:
        assert change.value is not None
        raised = {name: number for name, number in model.known.items() if name not in formula.relations}
        try:
            more = formula.value({**raised, change.size: change.value + 1})
        except sf.SymformerError as error:
            refused.append((change.size, str(error)))
            continue
        assert change.evaluate(change.one_more) == more - formula.value(), change.size
        compared += 1
    assert compared >= 2
    assert dict(refused) == dict(sensitivity(model, quantity).violated_conditions)


@pytest.mark.parametrize(
    ("arguments", "size", "asymptote"),
    [
        # 2·2·L·G·D bytes per token for the last 4,095 of the window: 4*32*8*128*4,095
        (["mistral-7b-v0.1", "-q", "kv-cache", "--set", "B=1", "--set", "C=100"], "C", 536_739_840),
        # attention with L·A·D = 12*768: 4·12·768·S²
        (["gpt2", "-q", "flops", "--set", "B=1", "--set", "S=100"], "S", parse("36864*S**2")),
        # bytes and FLOPs both grow with B: S(24LE² + 4SLE + 2VE)·B over S(38LE + 7E + 4SLA + V + 4)·B, at S = 10
        (["gpt2", "-q", "intensity", "--set", "B=1", "--set", "S=10"], "B", None),
    ],
)
def test_asymptote_in_each_size(arguments: list[str], size: str, asymptote: Any) -> None:
    said = found(*arguments)[size]["asymptote"]
    if asymptote is None:
        above, below = said.split("/")
        # the formula printed by show, with its numbers at S = 10, L = 12, E = 768, A = 12, V = 50,257
        dots = 2 * 100 * 12 * 768 + 12 * 10 * 12 * 768**2 + 10 * 50_257 * 768
        moved = 4 * 100 * 12 * 12 + 38 * 10 * 12 * 768 + 10 * 50_257 + 7 * 10 * 768 + 4 * 10
        assert Fraction(int(above), int(below)) == Fraction(dots, moved)
    else:
        assert parse(said) == asymptote


@pytest.mark.parametrize(
    ("quantity", "size"), [("flops", "S"), ("decode-flops", "C"), ("params", "E"), ("kv-cache", "C_win")]
)
def test_value_approaches_asymptote(quantity: str, size: str) -> None:
    model = sf.model("gemma-2-2b").set({name: n for name, n in {"B": 3, "S": 96, "C": 70}.items() if name != size})
    model = model.set({name: 5 for name in ("B", "S", "C") if name == size})
    formula = model.formula(quantity)
    change = sensitivity(model, quantity)[size]
    far = 10**12
    numbers = {**model.known, change.size: far}
    value = Fraction(formula.value(numbers))
    end = change.asymptote
    assert end is not None
    said = Fraction(int(end.subs(change.size, far)))
    assert abs(value / said - 1) < Fraction(1, 10**6)


def test_cli_prints_sensitivity() -> None:
    text = run("llama-2-7b").stdout
    assert "N = 2LEAD + 2LEGD + 3LEH + 2LE + 2VE + E = 6,738,415,616" in text
    # one layer has 4*4096² + 3*4096*11008 + 2*4096 = 202,383,360 of 6,738,415,616 elements: 3.003 %
    assert "L + 1 (layers): 202,383,360 elements, 3.003 % of the total" in text
    assert "A + 1 alone violates a condition: A=33 is not a multiple of G=32" in text
    whole = run("gpt2", "-q", "intensity", "--set", "B=1", "--set", "S=10").stdout
    assert "long; JSON has it" in whole
    assert "= ≈" not in whole


def test_cost_of_one_more_expert_in_a_mixture() -> None:
    """Mixtral: 3EM + E per layer, of 32: an expert, and its row of the router."""
    assert found("mixtral-8x7b")["X"]["one_more_value"] == 32 * (3 * 4_096 * 14_336 + 4_096)
    assert found("mixtral-8x7b", "-q", "active-params")["X"]["one_more_value"] == 32 * 4_096


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gpt2", "-q", "nothing"], "unknown quantity 'nothing'"),
        (["gpt2", "--set", "E=0"], "0 is not positive"),
        (["nowhere"], "unknown target 'nowhere'"),
    ],
)
def test_invalid_arguments_are_refused_in_one_sentence(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_sensitivity_in_python() -> None:
    found = sf.sensitivity("gpt2")
    assert repr(found) == "<gpt2.params by L, V, P, E>"
    assert "7,087,872" in (found._repr_html_() or "")
    assert "12E^{2}" in (found._repr_latex_() or "").replace(" ", "")
    with pytest.raises(
        sf.SymformerError, match=r"gpt2\.params does not depend on S \(sequence length\); its sizes are L, V, P, E"
    ):
        found["S"]
