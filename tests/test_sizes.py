"""Sizes given by the user are handled exactly by every interface, or refused with one sentence."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pytest
from click.testing import CliRunner, Result
from sympy import Float, Integer, Rational, Symbol, nan, oo, sin

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.arithmetic import parse
from symformer.language.errors import SymformerError
from symformer.language.sizes import AtMost, Divides, close_relations, without_implied
from symformer.language.symbols import SYMBOLS, A, B, D, E, G, H, L, S, V, W, symbol

LLAMA = {"V": 29, "E": 24, "H": 7, "L": 5, "A": 6, "G": 3, "D": 10}


def llama(numbers: dict[str, int]) -> int:
    """2LEAD + 2LEGD + 3LEH + 2LE + 2VE + E: attention, MLP and norms of a layer; two tables, a norm."""
    v, e, h, n, a, g, d = (numbers[name] for name in LLAMA)
    return n * (2 * e * a * d + 2 * e * g * d + 3 * e * h + 2 * e) + 2 * v * e + e


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="symformer")


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(SymformerError) as caught:
        call()
    sentence = str(caught.value)
    assert sentence
    assert "\n" not in sentence
    assert len(sentence) < 400
    return sentence


# Every way to set H of a Llama, with the same result: its parameters at the sizes above.
DOORS: dict[str, Callable[[Any], object]] = {
    "keyword": lambda given: sf.architecture("llama").params.value(**{**LLAMA, "H": given}),
    "dict": lambda given: sf.architecture("llama").params.value({**LLAMA, "H": given}),
    "symbols": lambda given: sf.architecture("llama").params.value({**{SYMBOLS[n]: LLAMA[n] for n in LLAMA}, H: given}),
    "beside a preset": lambda given: sf.architecture("llama").params.value(
        "llama-2-7b", **{name: number for name, number in LLAMA.items() if name != "H"}, H=given
    ),
    "a component": lambda given: sum(
        [5 * sf.component("gated-mlp").params.value(E=24, H=given), llama(LLAMA), -5 * 3 * 24 * 7]
    ),
    "partial": lambda given: (
        sf.architecture("llama")
        .params.partial(H=given)
        .value({name: number for name, number in LLAMA.items() if name != "H"})
    ),
    "set": lambda given: sf.architecture("llama").set({**LLAMA, "H": given}).params.value(),
}
WRITTEN = ("partial", "set")  # interfaces that also accept text and expressions over other sizes


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("given", [8, numpy.int64(8), numpy.uint8(8), Integer(8)], ids=repr)
def test_integers_of_any_type_are_accepted(door: str, given: Any) -> None:
    found = DOORS[door](given)
    assert type(found) is int
    assert found == llama({**LLAMA, "H": 8})


NO_SIZES = [
    True, numpy.bool_(True), 8.0, 8.5, float("nan"), Float(8), Fraction(8), Fraction(17, 2), Rational(17, 2), 8j, oo,
    nan, None, [8], {"a": 8}, b"8", numpy.array([[8, 9], [8, 9]]), 0, -8, 10**15 + 1, 10**5_000, -(10**5_000),
    "", " ", "8.0", "8e1", "-8", "0", "٨", "008", "8 # 9", "8;9", "1/0", "e", "Q", "2**13", "9" * 400, "9" * 3_000,
    "exec('8')", "-E", "E-E", "E + 1/2", "-max(E, V)", "min(E, 1) - E - 1", Symbol("E"), sin(E), E**V, -E, 2.0 * E,
    (E + 1) ** (10**9),
]  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("given", NO_SIZES, ids=lambda given: type(given).__name__)
def test_invalid_sizes_are_refused_in_one_sentence(door: str, given: object) -> None:
    assert refused(lambda: DOORS[door](given)).startswith("H")


@pytest.mark.parametrize("given", [8.0, numpy.float32(8), Fraction(8), Decimal("8.0")], ids=repr)
@pytest.mark.parametrize("door", DOORS)
def test_an_integral_float_error_states_the_integer(door: str, given: Any) -> None:
    said = refused(lambda: DOORS[door](given))
    assert "not an integer" not in said
    assert door in WRITTEN or said.endswith("which is not written as an integer; write 8")


@pytest.mark.parametrize(
    ("given", "h"),
    [("8", 8), (" 8 ", 8), ("1_000", 1_000), ("0x10", 16), ("E", 24), ("2*E + 1", 49), (2 * E, 48), ("ceil(V/8)", 4),
     ("max(V, E) // 2", 14), ("E*V/6", 116), ("(E - 20)**2", 16), ("V - E", 5)],
)  # fmt: skip
def test_text_and_expressions_are_accepted_as_sizes(given: object, h: int) -> None:
    for door in WRITTEN:
        assert DOORS[door](given) == llama({**LLAMA, "H": h})
    for door in DOORS.keys() - {*WRITTEN}:
        assert "not an integer" in refused(lambda door=door: DOORS[door](given))


def test_random_relations_are_exact_or_refused() -> None:
    """Compared with Python's integers and fractions, which are independent of SymPy."""
    draw = random.Random(11)  # noqa: S311
    plain = {"Fraction": Fraction, "ceil": lambda x: -(-x // 1), "floor": lambda x: x // 1, "max": max, "min": min}
    numbers = {name: Fraction(number) for name, number in LLAMA.items() if name != "H"}

    def text(depth: int) -> str:
        if depth == 0 or draw.random() < 0.2:
            return draw.choice([*numbers, str(draw.randint(1, 40))])
        a, b = text(depth - 1), text(depth - 1)
        choices = [f"({a} + {b})", f"({a} - {b})", f"{a} * {b}", f"({a}) / ({b})", f"({a}) // ({b})", f"max({a}, {b})"]
        return draw.choice([*choices, f"min({a}, {b})", f"ceil(({a}) / {draw.randint(2, 9)})", f"({a})**2"])

    outcomes = {True: 0, False: 0}
    for _ in range(60):
        relation = text(3)
        try:
            exact = re.sub(r"\b(\d+)\b", r"Fraction(\1)", relation)
            h = Fraction(eval(exact, {"__builtins__": {}}, {**plain, **numbers}))  # noqa: S307
        except ZeroDivisionError:
            h = Fraction(0)
        sound = h.denominator == 1 and 1 <= h <= 10**15
        outcomes[sound] += 1
        for door in WRITTEN:
            if sound:
                assert DOORS[door](relation) == llama({**LLAMA, "H": int(h)}), relation
            else:
                refused(lambda door=door, relation=relation: DOORS[door](relation))
    assert min(outcomes.values()) > 15


def test_a_size_missing_from_the_formula_is_refused() -> None:
    params = sf.architecture("llama").params
    assert "llama.params has no size X (experts); it has L, V, E, H, A, G, D" in refused(
        lambda: params.value("llama-2-7b", X=8)
    )
    for given in ({**LLAMA, "X": 8}, {**LLAMA, "B": 2}, {**LLAMA, "W": 2}, {**LLAMA, "N_tp": 2}, {**LLAMA, "C_win": 2}):
        refused(lambda given=given: params.value(given))
    assert "has no size X" in refused(lambda: params.partial(X=8))
    assert "has no size S_enc" in refused(lambda: sf.architecture("gpt2").formula("flops").value(B=2, S=3, S_enc=5))
    assert "has no size V" in refused(lambda: sf.component("mlp").params.value(E=5, H=7, V=3))
    assert "unknown symbol 'e'; did you mean E?" in refused(lambda: params.value({**LLAMA, "e": 24}))
    assert "unknown symbol 'Q'" in refused(lambda: params.value("llama-2-7b", Q=8))


def test_sizes_of_the_model_or_the_request_are_accepted() -> None:
    gpt2 = sf.architecture("gpt2")
    # the heads share the width, so the number of parameters is the same
    assert gpt2.params.value("gpt2", A=16) == 124_439_808
    assert gpt2.formula("params", context="on").value(N_cp=4) == 124_439_808  # every rank has all weights
    assert gpt2.params.part("h.mlp").value(V=3) == 4_722_432  # 8*768**2 + 5*768; V is a size of the model
    # 4*25 + 4*5 2*L*G*D numbers per token in bf16
    assert sf.component("pre-norm-block").params.part("attn").value(E=5, H=7, A=1) == 120
    # 2*L*G*D numbers per token in bf16
    assert sf.architecture("llama").formula("kv-cache").value({**LLAMA, "B": 2, "C": 3}) == 2 * 2 * 3 * 2 * 5 * 3 * 10


def test_conditions_are_also_checked_on_sizes_from_relations() -> None:
    params = sf.architecture("llama").params
    kept = (AtMost(Integer(5), L, "kept"), AtMost(L, Integer(5), "kept"))  # as a trace fixes a size at a number
    traced = type(params)(**{**vars_of(params), "constraints": (*params.constraints, *kept)})
    assert traced.value(LLAMA) == llama(LLAMA)
    assert "kept" in refused(lambda: traced.value({**LLAMA, "L": 4}))
    # D = E/A is 3, and rotary positions need pairs
    assert "D=3 is not a multiple of 2" in refused(
        lambda: params.partial(D="E/A").value(V=29, E=24, H=7, L=5, A=8, G=4)
    )
    assert "A=6 is not a multiple of G=4" in refused(
        lambda: params.partial(G=4, A="E/4").value(V=29, E=24, H=7, L=5, D=2)
    )
    assert "E=13 is not a multiple of A=4" in refused(lambda: sf.component("self-attention").params.partial(E=13, A=4))


def vars_of(formula: sf.Formula) -> dict[str, Any]:
    return {name: getattr(formula, name) for name in ("id", "measure", "root", "relations", "conventions", "source")}


def test_override_updates_dependent_sizes() -> None:
    """As on the command line: H remains four times E."""
    value = sf.architecture("gpt2").params.value("gpt2-xl", E=1_024, A=16)
    assert value == 48 * (12 * 1_024**2 + 13 * 1_024) + 50_257 * 1_024 + 1_024 * 1_024 + 2 * 1_024
    shown = run("show", "gpt2-xl", "--set", "E=1024", "--set", "A=16", "--json")
    assert json.loads(shown.stdout)["value"] == value
    assert "H = 4E, which is 6400 and not 5000" in refused(
        lambda: sf.architecture("gpt2").params.value("gpt2-xl", H=5_000)
    )
    assert "E is given twice, as 24 and as 25" in refused(
        lambda: sf.architecture("llama").params.value({"E": 24, E: 25})
    )


# the arguments, and words that the message must contain
RELATIONS = [
    (["show", "gpt2", "--set", "H=-E"], "-E is never positive"),
    (["show", "gpt2", "--set", "H=E-768"], "H = E - 768, which is 0 for E=768 and is not positive"),
    (["show", "gpt2", "--set", "H=E-769"], "which is -1 for E=768"),
    (["show", "gpt2", "--set", "H=E/7"], "which is 768/7 for E=768 and is not an integer"),
    (["show", "gpt2", "--set", "H=E**6"], "larger than 1,000,000,000,000,000"),
    (["show", "gpt2", "--set", "H=E*10**12*V"], "larger than 1,000,000,000,000,000"),
    (["show", "gpt2", "--set", "H=V/(E-768)"], "H = V/(E - 768) divides by zero"),
    (["show", "gpt2", "--set", "H=max(V/(E-768), E)"], "divides by zero"),
    (["show", "gpt2", "--set", "H=min(1/floor(E/V), E)"], "divides by zero"),
    (["show", "gpt2", "--set", "H=1/((E+1)**2-E**2-2*E-1)"], "divides by zero"),
    (["show", "gpt2", "-q", "flops", "--set", "B=-S", "--set", "S=8"], "-S is never positive"),
    (["show", "gpt2", "-q", "flops", "--set", "B=S-8", "--set", "S=8"], "B = S - 8, which is 0 for S=8"),
    (["show", "llama-2-70b", "--option", "tensor=on", "--set", "N_tp=G-16"], "N_tp = G - 16, which is -8 for G=8"),
    (["show", "llama-2-70b", "--option", "tensor=on", "--set", "N_tp=G-8"], "N_tp = G - 8, which is 0 for G=8"),
    (["tree", "gpt2", "--set", "H=E-769"], "which is -1"),
    (["derive", "gpt2", "-o", "x.md", "--set", "H=E-769"], "which is -1"),
    (["compare", "gpt2", "gpt2-xl", "--set", "H=E-769"], "which is -1"),
    (["show", "gpt2", "--set", "H=V", "--set", "V=H"], "depends on itself"),
    (["show", "gpt2", "--set", "H=768", "--set", " H =3072"], "H is given twice, as 768 and as 3,072"),
    (["show", "gpt2", "--set", "H=4*Ｅ"], "not arithmetic"),
    (["show", "gpt2", "--set", "e=768"], "unknown symbol 'e'; did you mean E?"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), RELATIONS, ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else ""
)
def test_relations_must_yield_valid_sizes(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_jointly_invalid_relations_are_refused() -> None:
    assert "G = E - V" in refused(lambda: close_relations({G: E - V, E: V}))  # V - V
    assert "A = D - 3" in refused(lambda: close_relations({A: D - 3, D: Integer(3)}))
    assert close_relations({H: 4 * E, E: 2 * V}) == {H: 8 * V, E: 2 * V}
    free = sf.architecture("gpt2").set({"H": "H"})
    assert free.params.code() == "4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + P*E + 2*E"


def test_unused_run_size_is_refused(tmp_path: Path) -> None:
    for arguments in (
        ["show", "gpt2", "--set", "W=4"],
        ["show", "gpt2", "--set", "W=2*E"],
        ["show", "gpt2", "--set", "B=2"],
        ["show", "gpt2", "--conventions", "-q", "flops", "--set", "C=3"],
        ["tree", "gpt2", "--set", "S=2"],
        ["show", "component:mlp", "--set", "S_enc=2"],
        ["compare", "gpt2", "gpt2-xl", "--set", "W=4"],
        ["derive", "gpt2", "-o", str(tmp_path / "x.md"), "-q", "params", "-q", "flops", "--set", "B=2", "--set", "W=4"],
    ):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        name = next(each for each in reversed(arguments) if "=" in each).partition("=")[0]
        assert re.search(rf" {name}(?:=|:| \()", result.stderr)
        assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert "W=4 has no effect: gpt2.flops does not depend on W (bytes per element); its run sizes are B, S" in (
        run("show", "gpt2", "-q", "flops", "--set", "W=4").stderr
    )


def test_a_run_size_applies_to_the_one_quantity_that_uses_it(tmp_path: Path) -> None:
    place = tmp_path / "gpt2.md"
    asked = ["-q", "params", "-q", "kv-cache", "--set", "B=2", "--set", "C=3"]
    result = run("derive", "gpt2", "-o", str(place), *asked)
    assert result.exit_code == 0, result.output
    assert "221,184" in place.read_text("utf-8")  # 2 * 2 * 3 * 2 * 12 * 768 bytes in bf16
    shown = run("show", "gpt2", "-q", "activations", "--conventions", "--set", "B=2", "--set", "S=3", "--set", "W=2")
    assert shown.exit_code == 0, shown.output  # one variant has a symbol for the bytes per element


def test_a_size_set_on_a_model_applies_to_every_quantity() -> None:
    model = sf.architecture("gpt2").set({W: 4, B: 2, S: 3})
    assert model.params.value() == 124_439_808
    assert model.params.value(dict(model.known)) == 124_439_808
    refused(lambda: sf.Model(target="x", component=model.component, numbers={E: -5}))
    refused(lambda: sf.Model(target="x", component=model.component, relations={H: sin(E)}))


def test_intensity_is_simplified_and_has_parts_and_partials() -> None:
    whole = sf.architecture("llama").formula("intensity")
    assert repr(whole) == whole.code()
    assert "Entry" not in repr(whole)
    # four products of a head's widths and two of scores, at 2 per multiply-add, over their own bytes only
    part = whole.part("layers.self_attn")
    assert part.numerator.equals("4*B*S**2*A*D + 4*B*S*E*A*D + 4*B*S*E*G*D")
    assert not part.denominator.expanded.has(V, H, L)
    mlp = sf.component("mlp").formula("intensity", dtype="fp32")
    # 4BSEH over 4 bytes each of 2BSE (x, y), 4BSH (up writes, act reads and writes, down reads) and 2EH + H + E
    assert mlp.equals("B*S*E*H/2/(B*S*E + 2*B*S*H + (2*E*H + H + E)/2)")
    assert not mlp.equals("B*S*E*H/2/(B*S*E + 2*B*S*H + (2*E*H + H + 2*E)/2)")
    sizes = {**LLAMA, "B": 2, "S": 3}
    fixed = whole.partial(L=5, H="E - 17")
    assert fixed.value({name: number for name, number in sizes.items() if name not in ("L", "H")}) == whole.value(sizes)


def test_a_very_long_formula_states_its_length() -> None:
    long = sf.architecture("deepseek-v3").formula("generation-flops")
    assert len(long.code()) > 1_000
    assert repr(long).startswith("<deepseek-v3.generation-flops: 52 terms, led by 2*B*S*N_new*L*A*R_kv*D_nope")
    assert len(repr(long)) < 400
    assert long._repr_latex_() is None
    assert sf.architecture("gpt2").params._repr_latex_() == "$12 L E^{2} + 13 L E + V E + P E + 2 E$"


def test_divisors_of_a_size_divide_its_multiples() -> None:
    """E is a multiple of A, and so are E·G and 2E. A multiple of 2A is a multiple of A; other multiples are unknown."""
    first, product, twice = Divides(A, E), Divides(A, E * G), Divides(2 * A, E)
    assert without_implied((product, first, Divides(A, 2 * E), first)) == (first,)
    assert without_implied((twice, first)) == without_implied((first, twice)) == (twice,)
    assert without_implied((Divides(A, G), first, Divides(E, A))) == (Divides(A, G), first, Divides(E, A))


def test_sizes_that_the_alphabet_lacks_belong_to_their_model() -> None:
    rwkv = sf.model("hf:rwkv")
    (own,) = (size for size in rwkv.sizes if str(size) not in SYMBOLS)
    assert str(own) == "E_attn"
    assert rwkv.meaning(own) == "attention hidden size"
    assert rwkv.set({"E_attn": 24}) == rwkv.set({"attention_hidden_size": 24})
    assert rwkv.set({"attention_hidden_size": 24}).known[own] == 24
    assert rwkv.set({"H": "3*attention_hidden_size", own: 24}).known[SYMBOLS["H"]] == 72
    assert rwkv.params.diff("attention_hidden_size").expanded == 4 * L * E + 2 * L
    asks: tuple[Callable[[], object], ...] = (
        lambda: symbol("attention_hidden_size"),
        lambda: parse("2*attention_hidden_size"),
        lambda: sf.model("gpt2").set({"attention_hidden_size": 24}),
        lambda: sf.model("gpt2").set({"H": "3*attention_hidden_size"}),
        lambda: sf.solve("gpt2", 10**9, unknowns="attention_hidden_size"),
        lambda: sf.sweep("gpt2", {"attention_hidden_size": [24, 32]}),
        lambda: sf.model("gpt2").params.partial(H="attention_hidden_size"),
    )
    for ask in asks:
        assert "attention_hidden_size" in refused(ask)
    assert "E_attn is not a size of gpt2" in refused(lambda: sf.model("gpt2").set({"H": 3 * own}))
    found = sf.sweep(rwkv, {"attention_hidden_size": [24, 32]}, sizes={"L": 2, "E": 5, "H": 7, "V": 11})
    # each of the L layers has four E-wide matrices and two vectors of this size: 8 more give 8*L*(4*E + 2)
    low, high = found.table()["params"]
    assert high - low == 2 * (4 * 5 + 2) * 8
