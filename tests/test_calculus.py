"""Limits, leading parts, series, sums and forms against exact integers, with polynomials typed by hand."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
import sympy
from click.testing import CliRunner, Result

import symformer as sf
from symformer.commands.cli import cli
from symformer.formulas.asymptotics import eventual_sign, leading_terms, limit_in
from symformer.formulas.growth_order import GrowthOrder
from symformer.formulas.series import PowerSeries
from symformer.formulas.summation import summed
from symformer.language.errors import SymformerError
from symformer.language.symbols import B, C, C_win, E, H, L, N_new, P, S, V


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), prog_name="symformer")


GPT2_FLOPS = 4 * B * S**2 * L * E + 24 * B * S * L * E**2 + 2 * B * S * V * E
GPT2_PARAMS = 12 * L * E**2 + 13 * L * E + V * E + P * E + 2 * E


def gpt2_flops(b: int, s: int, layers: int, e: int, v: int) -> int:
    """Return the FLOPs in plain integers: scores and mix, the matrices of the layers, and the head."""
    return 4 * b * s**2 * layers * e + 24 * b * s * layers * e**2 + 2 * b * s * v * e


@pytest.mark.parametrize(
    ("order", "leading", "grown"),
    [  # the growing sizes take these values in t = 10**9; each leading part is read off the three terms
        ("S >> E", "4*B*S**2*L*E", lambda t: (3, t, 5, 7, 11)),
        ("S >> E", "4*B*S**2*L*E", lambda t: (3, t**3, 5, t**2, 11)),
        ("E >> S >> 1", "24*B*S*L*E**2", lambda t: (3, t, 5, t**2, 11)),
        ("E >> S, L >> 1", "24*B*S*L*E**2", lambda t: (3, 2, t, 3 * t, 11)),
        ("V -> oo", "2*B*S*V*E", lambda t: (3, 2, 5, 7, t)),
        ("V >> L*S, V >> L*E", "2*B*S*V*E", lambda t: (3, t, t, t, t**3)),
        ("E >> S", "24*B*S*L*E**2", lambda t: (3, 2, 5, t, 11)),
    ],
)  # fmt: skip
def test_leading_part_over_the_whole_tends_to_one(order: str, leading: str, grown: Any) -> None:
    found = sf.model("gpt2").formula("flops").leading(order).expr
    b, s, layers, e, v = sizes = grown(10**9)
    part = {"4*B*S**2*L*E": 4 * b * s**2 * layers * e, "24*B*S*L*E**2": 24 * b * s * layers * e**2,
            "2*B*S*V*E": 2 * b * s * v * e}[leading]  # fmt: skip
    assert int(found.subs(dict(zip((B, S, L, E, V), sizes, strict=True)))) == part
    assert abs(1 - Fraction(part, gpt2_flops(*sizes))) < Fraction(1, 10**6)


def test_an_order_keeps_terms_that_it_does_not_compare() -> None:
    # L ≫ E with E perhaps fixed: 12LE² and 13LE are of one order
    assert leading_terms(GPT2_PARAMS, GrowthOrder.read("L >> E")) == 12 * L * E**2 + 13 * L * E
    assert leading_terms(GPT2_PARAMS, GrowthOrder.read("L >> E >> 1")) == 12 * L * E**2
    assert leading_terms(GPT2_PARAMS, GrowthOrder.read("E >> 1")) == 12 * L * E**2
    assert leading_terms(GPT2_PARAMS, GrowthOrder.read("V >> L, V >> E")) == GPT2_PARAMS - 13 * L * E - P * E - 2 * E


@pytest.mark.parametrize("powers", [(a, b, c) for a in (-2, 0, 1) for b in (-1, 0, 2) for c in (-1, 0, 1)])
def test_dominance_is_growth_on_every_ray(powers: tuple[int, int, int]) -> None:
    """S ≫ L ≫ E: with logarithms x, y, z of S, L, E, x - y and y - z grow and z >= 0 is free.

    The power ax + by + cz is a(x - y) + (a + b)(y - z) + (a + b + c)z: it grows in every case iff none of the three is
    negative, and one of the first two is positive.
    """
    a, b, c = powers
    expected = min(a, a + b, a + b + c) >= 0 and max(a, a + b) > 0
    assert GrowthOrder.read("S >> L >> E").dominates({S: a, L: b, E: c}) is expected


@pytest.mark.parametrize(
    ("quotient", "order", "limit"),
    [
        ((12 * L * E + S) / (L * E + V), "L*E >> S, L*E >> V", 12),
        ((12 * L * E + S) / (L * E + V), "S >> L*E", sympy.oo),
        ((12 * L * E + S) / (L * E + V), "V >> S, V >> L*E", 0),
        (GPT2_FLOPS / (B * S * GPT2_PARAMS), "L >> 1, E >> S", 2),
        (GPT2_FLOPS / (B * S * GPT2_PARAMS), "V >> L*E, V >> L*S", 2),
        ((S * E + 5) / (3 * E * S - E), "S >> 1", sympy.Rational(1, 3)),
        (sympy.Min(C, C_win) * E / (C + E), "C >> C_win, C >> E", None),
        ((2 * sympy.Min(C, C_win) + 1) / C_win, "C >> C_win >> 1", 2),
        (sympy.Max(C, 7 * H) / (C + H), "H >> C", 7),
        (sympy.ceiling(S / 64) / S, "S -> oo", sympy.Rational(1, 64)),
        (E - L, "L >> E", -sympy.oo),
    ],
)  # fmt: skip
def test_limits_in_several_sizes(quotient: Any, order: str, limit: Any) -> None:
    """The limits follow from the terms of highest order: 24BSLE²/(12LE²·BS) = 2, 2BSVE/(VE·BS) = 2."""
    if limit is None:  # C_win·E/(C + E): whether E·C_win grows faster than C is not stated
        with pytest.raises(SymformerError, match="does not determine the limit"):
            limit_in(quotient, GrowthOrder.read(order))
        return
    assert limit_in(quotient, GrowthOrder.read(order)) == limit


@pytest.mark.parametrize("size", [S, L, E, V])
def test_limit_in_one_size_is_that_of_sympy(size: Any) -> None:
    quotient = GPT2_FLOPS / GPT2_PARAMS
    positive = {each: sympy.Symbol(each.name, positive=True) for each in quotient.free_symbols}
    expected = sympy.limit(quotient.xreplace(positive), positive[size], sympy.oo)
    found = limit_in(quotient, GrowthOrder.infinite(size))
    assert sympy.simplify(found.xreplace(positive) - expected) == 0 if expected != sympy.oo else found == sympy.oo


def test_sign_in_the_end() -> None:
    # attention against the MLP of GPT-2: 4BS²E + 8BSE² - 16BSE² = 4BSE(S - 2E)
    difference = 4 * B * S**2 * E - 8 * B * S * E**2
    assert eventual_sign(difference, GrowthOrder.read("S >> E")) == 1
    assert eventual_sign(difference, GrowthOrder.read("E >> S")) == -1
    assert eventual_sign(difference, GrowthOrder.read("B >> 1")) is None


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_series_and_remainder_are_exact(order: int) -> None:
    quotient = GPT2_FLOPS / GPT2_PARAMS
    found = PowerSeries.of(quotient, L, order)
    sizes = {B: 3, S: 1000, E: 24, V: 505, P: 30}
    for depth in (1, 2, 10**6):
        layers = {**sizes, L: depth}
        exact = Fraction(
            gpt2_flops(3, 1000, depth, 24, 505), 12 * depth * 24**2 + 13 * depth * 24 + 24 * (505 + 30 + 2)
        )
        both = (found.expr + found.remainder).subs(layers)
        assert Fraction(int(both.p), int(both.q)) == exact
    # the next coefficient is not 0, so the remainder times L**(order + 1) tends to it
    large = found.remainder.subs({**sizes, L: 10**12}) * (10**12) ** (order + 1)
    larger = found.remainder.subs({**sizes, L: 10**15}) * (10**15) ** (order + 1)
    assert large != 0
    assert abs(1 - Fraction(int(large.p), int(large.q)) / Fraction(int(larger.p), int(larger.q))) < Fraction(1, 10**6)


def test_sum_of_decoding_steps_is_generation() -> None:
    """Decoding N_new tokens after S tokens reads caches of S to S + N_new - 1 tokens: 3, 4, 5 and 6 below."""
    step = sf.model("gpt2").formula("decode-flops")
    total = step.sum("C", "S", "S + N_new - 1")
    sizes = {"B": 2, "L": 3, "E": 8, "V": 11}
    by_hand = sum(4 * 2 * (c + 1) * 3 * 8 + 24 * 2 * 3 * 8**2 + 2 * 2 * 11 * 8 for c in (3, 4, 5, 6))
    assert total.value({**sizes, "S": 3, "N_new": 4}) == by_hand
    with pytest.raises(SymformerError, match="C was replaced"):
        total.value({**sizes, "S": 3, "N_new": 4, "C": 5})


def test_prompt_and_decoding_steps_are_generation() -> None:
    gpt2 = sf.model("gpt2")
    steps = gpt2.formula("decode-flops").sum("C", "S", "S + N_new - 2")
    assert gpt2.formula("prefill-flops", logits="last") + steps == gpt2.formula("generation-flops")


@pytest.mark.parametrize(("prompt", "new"), [(10, 5), (4_085, 21), (5_000, 7)])
def test_sum_of_decoding_steps_through_a_window(prompt: int, new: int) -> None:
    """Mistral 7B: 32 layers, 4,096 wide, 32 heads of 128, window 4,096, 8 groups, H = 14,336, V = 32,000."""

    def step(cached: int) -> int:
        keys = min(cached + 1, 4_096)
        matrices = 2 * 4_096 * 32 * 128 + 2 * 4_096 * 8 * 128 + 3 * 4_096 * 14_336
        return 2 * (32 * (matrices + 2 * keys * 32 * 128) + 32_000 * 4_096)

    total = sf.model("mistral-7b-v0.1").formula("decode-flops").sum("C", "S", "S + N_new - 2")
    assert total.value(B=1, S=prompt, N_new=new) == sum(step(c) for c in range(prompt, prompt + new - 1))


def test_sum_over_layers_of_different_widths() -> None:
    mlp = sf.component("gated-mlp").params  # 3EH
    total = mlp.subs(H="64*L + 128").sum("L")
    assert total.value(E=10, L=5) == sum(3 * 10 * (64 * layer + 128) for layer in (1, 2, 3, 4, 5))
    assert mlp.subs(H="64*L + 128").sum("L", 3, 4).value(E=10) == 3 * 10 * (320 + 384)


@pytest.mark.parametrize("call", [sympy.Min, sympy.Max])
@pytest.mark.parametrize("term", [(C, C_win), (3 * C + 1, C_win), (20 - 2 * C, C_win), (C, C_win, 2 * C - 9)], ids=str)
def test_sum_of_a_window_is_that_of_its_terms(call: Any, term: tuple[Any, ...]) -> None:
    found = summed(C * call(*term) + V, C, sympy.Integer(2), S)
    pick = min if call is sympy.Min else max
    for window in (1, 4, 9, 40):
        for end in (1, 2, 7, 12):
            terms = [each.subs({C_win: window}) if hasattr(each, "subs") else each for each in term]
            by_hand = sum(c * pick(int(each.subs({C: c})) for each in terms) + 5 for c in range(2, end + 1))
            assert found.subs({C_win: window, S: end, V: 5}) == by_hand


def test_powers_are_summed_by_faulhaber() -> None:
    for power in range(9):
        found = summed(C**power, C, sympy.Integer(-3), N_new - 1)
        assert found.subs({N_new: 6}) == sum(c**power for c in range(-3, 6))


def test_forms_are_the_same_function() -> None:
    flops, params = (sf.model("gpt2").formula(name) for name in ("flops", "params"))
    assert flops.rewritten("factor").text() == "F = 2BSE(2SL + 12LE + V)"
    assert params.rewritten("collect E").latex() == "N = 12 E^{2} L + E (13 L + V + P + 2)" or (
        params.rewritten("collect E").latex() == "N = 12 L E^{2} + E (13 L + V + P + 2)"
    )
    ratio = flops / params
    for form in ("factor", "collect L", "apart L", "apart S"):
        assert sympy.simplify(ratio.rewritten(form).expr - GPT2_FLOPS / GPT2_PARAMS) == 0
    # (12LE + 13L + c)/(…): the quotient of 2BSL(2S + 12E) + BSV·2 by L(12E + 13) + c has one fraction in L
    assert ratio.apart("L").has(L)
    assert len(sympy.Add.make_args(ratio.apart("L"))) == 2


def test_forms_with_totals_of_layers() -> None:
    """L of DeepSeek-V3 is L_dense + L_moe, so it does not grow by itself."""
    params = sf.model("deepseek-v3").params
    with pytest.raises(SymformerError, match=r"L is L_dense \+ L_moe in deepseek-v3.params; name the sizes that grow"):
        params.leading("L -> oo")
    (equation,) = params.rewritten("collect E").to_blocks()
    assert equation.kind == "equation"
    assert sympy.expand(params.collect("E") - params.expanded) == 0


def test_latex_of_every_form() -> None:
    flops = sf.model("gpt2").formula("flops")
    assert flops.rewritten("leading S >> E").latex() == r"F \sim 4 B S^{2} L E \quad (S \gg E)"
    assert (flops / sf.model("gpt2").params).rewritten("limit V").latex().endswith(r"\to 2 B S \quad (V \to \infty)")
    assert flops.rewritten("limit S").latex() == r"F \to \infty \quad (S \to \infty)"
    series = (sf.component("mlp").params / L**2).rewritten("series L")
    assert series.latex().endswith(r"= \frac{2 E H + E + H}{L^{2}}")


@pytest.mark.parametrize(
    ("form", "because"),
    [
        ("bogus", "is not a form"),
        ("limit S", "does not depend on S|unknown symbol 'S'"),
        ("leading E >> L, L >> E", "contradict"),
        ("leading E >>", "not a growth order"),
        ("leading E + L >> V", "not a product"),
        ("leading 0 >> E", "not a product"),
        ("leading -E >> L", "not a product"),
        ("leading __import__('os') >> E", "not"),
        ("series L 99", "from 0 to 6"),
        ("series L x", "not the order"),
        ("series 3", "names no size"),
        ("leading E > L", "write >> as in"),
        ("collect", "is not a form"),
        ("collect Q", "unknown symbol"),
        ("factor L", "is not a form"),
    ],
)
def test_forms_are_refused(form: str, because: str) -> None:
    with pytest.raises(SymformerError, match=because):
        sf.model("gpt2").params.rewritten(form)
    result = run("show", "gpt2", "--rewrite", form)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("symformer: ")
    assert result.stderr.count("\n") == 1


def test_command_line_and_json() -> None:
    result = run(
        "show", "gpt2", "-q", "flops", "--set", "B=1", "--set", "S=1024", "--rewrite", "leading E >> S, L >> 1"
    )
    # 24·1024·12·768² = 173,946,175,488 of 291,648,307,200
    assert (
        "tend to infinity, the leading part of F is 24BSLE², which omits 40.4% of it with these sizes." in result.stdout
    )
    told = json.loads(run("show", "gpt2", "-q", "flops", "--rewrite", "leading S >> E", "--json").stdout)["forms"]
    assert told == [
        {
            "form": "leading S >> E",
            "relation": "~",
            "formula": "4*B*S**2*L*E",
            "latex": r"F \sim 4 B S^{2} L E \quad (S \gg E)",
            "order": "S >> E",
            "remainder": "24*B*S*L*E**2 + 2*B*S*V*E",
            "value": None,
        }
    ]
    assert run("show", "gpt2", "--rewrite", "collect L", "--format", "mathml").stdout.startswith("<math")
    assert run("show", "gpt2", "--rewrite", "limit L", "--format", "mathml").exit_code == 2
    page = run("derive", "gpt2", "-o", "-", "--format", "md", "--rewrite", "collect L", "--rewrite", "limit L")
    assert "## Other forms and limits" in page.stdout
    assert run("derive", "gpt2", "-o", "-", "--format", "md", "--length", "short", "--rewrite", "factor").exit_code == 2


def test_compare_growth() -> None:
    parts = ("compare", "gpt2", "gpt2", "-q", "flops", "--part", "1:h.attn", "--part", "2:h.mlp", "--growth")
    said = run(*parts, "S >> E").stdout
    # attention has 4BS²E + 8BSE², the MLP 16BSE²
    assert (
        "As S/E tends to infinity, the ratio tends to infinity, and gpt2 (h.attn) (1) is larger in the end.\n" in said
    )
    assert "\nS = 2E\n" in said
    told = json.loads(run(*parts, "E >> S", "--json").stdout)["growth"]
    assert told == {"order": "E >> S", "limit": "1/2", "leading": "1/2", "larger": "right"}
    assert run(*parts, "Q >> S").exit_code == 2
    written = run(*parts, "S >> E", "-o", "-", "--format", "md", "--flavour", "commonmark").stdout
    assert "As `S/E` tends to infinity, the ratio tends to infinity" in written
    assert "has no effect on a plot" in run(*parts, "S >> E", "-o", "a.svg").stderr
    refused = run("compare", "gpt2", "bert", "-q", "flops", "--growth", "X")
    assert "they depend on B, S, L, V, E, H\n" in refused.output
    ratio = run("compare", "gpt2", "-q", "flops", "--divide-by", "params", "--growth", "S >> E")
    assert "--growth cannot be combined with --divide-by; remove one of the two;" in ratio.output
