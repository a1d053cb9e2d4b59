"""Published formulas compared with ours: equal, equal under a named convention, or different, by how much and where."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner
from sympy import expand

import symformer as sf
from symformer.algebra.check import FormulaCheck
from symformer.commands.cli import cli
from symformer.language.arithmetic import parse
from symformer.language.errors import ReadingError, SymformerError, UnknownNameError
from symformer.language.parsing.equation import read

SEED = 14_2021


@dataclass(frozen=True)
class Case:
    """A published formula and its expected verdict, from the paper or by hand."""

    formula: str
    target: str
    quantity: str = "params"
    verdict: str = "equal"
    conventions: tuple[str, ...] = ()  # words in each sentence
    difference: str = "0"  # ours - theirs
    paper: str = ""
    where: tuple[tuple[str, str], ...] = ()
    part: str = ""
    options: tuple[tuple[str, str], ...] = ()


LITERATURE = {
    # Narayanan et al. 2021, eq. 2. GPT-2 also has a final norm, of 2E elements.
    "narayanan params": Case(
        r"P = 12 l h^2\left(1+\frac{13}{12h}+\frac{V+s}{12 l h}\right)",
        *("gpt2", "params", "convention", ("the final norm is left out",), "2*E", "narayanan2021"),
    ),
    # eq. 3, with every layer recomputed: 4 · (24BSE² + 4BS²E) per layer, and 6BSEV for the logits.
    "narayanan flops": Case(
        r"F = 96Bslh^2\left(1+\frac{s}{6h}+\frac{V}{16lh}\right)",
        *("gpt2", "train-flops", "equal", (), "0", "narayanan2021"),
        options=(("recompute", "full"),),
    ),
    "narayanan flops, asked of a run without recomputing": Case(
        r"F = 96Bslh^2\left(1+\frac{s}{6h}+\frac{V}{16lh}\right)",
        *("gpt2", "train-flops", "convention", ("recompute = full",), "-24*B*S*L*E**2 - 4*B*S**2*L*E", "narayanan2021"),
    ),
    # Kaplan et al. 2020, eq. 2.1: no embeddings, biases or norms.
    "kaplan": Case(
        r"N = 12 n_{layer} d_{model}^2",
        *("gpt2", "params", "convention", ("norms are left out", "biases", "embeddings"), "13*L*E + V*E + P*E + 2*E"),
    ),
    "kaplan, with widths apart": Case(
        r"N \approx 2 d_{model} n_{layer}(2 d_{attn}+d_{ff})",
        *("gpt2", "params", "convention", ("norms are left out", "biases", "embeddings"), "13*L*E + V*E + P*E + 2*E"),
    ),
    # Korthikanti et al. 2022, eq. 7.
    "korthikanti model flops": Case(
        r"72BLsh^2\left(1+\frac{s}{6h}+\frac{v}{12hL}\right)",
        *("gpt2", "train-flops", "equal", (), "0", "korthikanti2022"),
    ),
    # eq. 8 adds 12BS²LE for the core of attention; recomputing its forward pass takes 2 · 2BS²E per layer.
    "korthikanti hardware flops": Case(
        r"72BLsh^2\left(1+\frac{s}{3h}+\frac{v}{12hL}\right)",
        *("gpt2", "train-flops", "differs", (), "-8*B*S**2*L*E", "korthikanti2022"),
        options=(("recompute", "selective"),),
    ),
    "korthikanti layer": Case(
        r"sbh\left(34+5\frac{as}{h}\right)",
        *("gpt2", "activations", "equal", (), "0", "korthikanti2022"),
        part="h",
        options=(
            ("implementation", "megatron"),
            ("dropout", "on"),
        ),
    ),
    # nanoGPT's notebook, flops(): for one sequence. 24E² = 2(3E² + E² + 8E²), 4TE = 2 · 2TE.
    "nanogpt flops": Case(
        "L(24Td^2+4T^2d)+2TdV",
        *("gpt2", "flops", "convention", ("one sequence",)),
        difference="4*B*S**2*L*E + 24*B*S*L*E**2 + 2*B*S*V*E - 4*S**2*L*E - 24*S*L*E**2 - 2*S*V*E",
        where=(("d", "E"),),
    ),
    # DeepSeek-V2, table 1: elements per token.
    "deepseek cache of groups": Case(
        "2 n_g d_h l",
        *("llama-2-70b", "kv-cache", "convention", ("elements",), "4*B*C*L*G*D - 2*L*G*D", "deepseek2024"),
    ),
    # Llama by hand: queries and output 2EAD, keys and values 2EGD, three matrices of the MLP, two norms per layer.
    "llama": Case("2VE + E + L(2EAD + 2EGD + 3EH + 2E)", "llama"),
    "llama in code": Case(
        "2*vocab_size*hidden_size + hidden_size + num_hidden_layers*(2*hidden_size*num_attention_heads*head_dim"
        " + 2*hidden_size*num_key_value_heads*head_dim + 3*hidden_size*intermediate_size + 2*hidden_size)",
        "llama",
    ),
    "llama tied": Case(
        "VE + E + L(2EAD + 2EGD + 3EH + 2E)",
        *("llama", "params", "convention", ("the head is tied to the embeddings",), "V*E"),
    ),
    "gpt2 with a head of its own": Case(
        "12LE² + 13LE + 2VE + PE + 2E", *("gpt2", "params", "convention", ("tied = false",), "-V*E")
    ),
    # PaLM, appendix B: 6N + 12LHQT per token, where N is all parameters; ours excludes embeddings, which do not
    # multiply.
    "six per parameter": Case(
        "6N", "gpt2", "train-flops", "convention", ("attention core", "one token", "matrices"), difference=""
    ),
    # Multiply-adds by hand: 12LE² and VE per token, and 2LSE for attention.
    "macs": Case(
        "B S (12 L E^2 + V E + 2 L S E)",
        *("gpt2", "flops", "convention", ("multiply-adds",), "12*B*S*L*E**2 + B*S*V*E + 2*B*S**2*L*E"),
    ),
    # The vocabulary rounded up to 64 rows.
    "padded": Case(r"12LE^2 + 13LE + 64\lceil V/64\rceil E + PE + 2E", "gpt2", "params", "convention", ("padded",), ""),
    # Karpathy's nanoGPT has 50304 rows for 50257 tokens: 393 · 128.
    "padded to a number": Case(
        "12LE^2+13LE+50304E+PE+2E", "gpt2", "params", "convention", ("the vocabulary is padded: V is 50,304",), ""
    ),
    "a number for a size": Case("12LE^2 + 13LE + (V+1024)E + 2E", "gpt2", "params", "convention", ("P is 1,024",), ""),
    # Devlin et al. 2018, with the pooler: 512 rows of positions, 2 of segments, H = 4E.
    "bert": Case(
        "(V+512+2)E+2E+L(12E^2+13E)+E^2+E",
        *("bert-base-uncased", "params", "convention", ("H is 4E",), ""),
    ),
    "half of the context": Case(
        "24BSLE² + 2BS²LE + 2BSVE",
        *("gpt2", "flops", "convention", ("mean context of S/2",), "2*B*S**2*L*E"),
    ),
    "without logits": Case("24BSLE² + 4BS²LE", "gpt2", "flops", "convention", ("the logits",), "2*B*S*V*E"),
    "a part": Case("4E² + 4E", "gpt2", part="h.attn"),
    "a sum over layers": Case(r"(V+P+2)E + \sum_{l=1}^{L} (12E^2 + 13E)", "gpt2"),
    "a feed-forward network of another width": Case(
        "L(4E² + 9E + 2EH + H) + (V+P+2)E", "gpt2"
    ),  # H = 4E in both: 2EH + H is 8E² + 4E
}


def assert_conventions_add_up(found: FormulaCheck) -> None:
    """Our formula plus the terms of the conventions equals theirs."""
    if found.verdict == "convention":
        assert expand(sum((each.added for each in found.conventions), found.difference)) == 0, found
    else:
        assert (found.difference == 0) == (found.verdict == "equal")


@pytest.mark.parametrize("name", LITERATURE)
def test_published_formulas_get_their_expected_verdict(name: str) -> None:
    case = LITERATURE[name]
    found = sf.check(
        case.formula,
        case.target,
        case.quantity,
        part=case.part or None,
        names=dict(case.where),
        paper=case.paper or None,
        **dict(case.options),
    )
    assert found.verdict == case.verdict, found
    assert_conventions_add_up(found)
    said = " ".join(each.name for each in found.conventions)
    assert len(found.conventions) == len(case.conventions), said
    for each in case.conventions:
        assert each in said
    if case.difference:
        assert (found.difference - parse(case.difference)).expand() == 0


# Correct formulas, row by row, by hand; each is then made wrong in one row.
Rows = Sequence[tuple[str, str]]
RIGHT: dict[str, Rows] = {
    "gpt2": (
        ("wte", "V*E"),
        ("wpe", "P*E"),
        ("h.*.ln_1", "2*L*E"),
        ("h.*.attn.c_attn", "3*L*E*E"),
        ("h.*.attn.c_attn", "3*L*E"),
        ("h.*.attn.c_proj", "L*E*E"),
        ("h.*.attn.c_proj", "L*E"),
        ("h.*.ln_2", "2*L*E"),
        ("h.*.mlp.c_fc", "4*L*E*E"),
        ("h.*.mlp.c_fc", "4*L*E"),
        ("h.*.mlp.c_proj", "4*L*E*E"),
        ("h.*.mlp.c_proj", "L*E"),
        ("ln_f", "2*E"),
    ),
    "llama": (
        ("embed_tokens", "V*E"),
        ("layers.*.input_layernorm", "L*E"),
        ("layers.*.self_attn.q_proj", "L*E*A*D"),
        ("layers.*.self_attn.k_proj", "L*E*G*D"),
        ("layers.*.self_attn.v_proj", "L*E*G*D"),
        ("layers.*.self_attn.o_proj", "L*A*D*E"),
        ("layers.*.post_attention_layernorm", "L*E"),
        ("layers.*.mlp.gate_proj", "L*E*H"),
        ("layers.*.mlp.up_proj", "L*E*H"),
        ("layers.*.mlp.down_proj", "L*H*E"),
        ("norm", "E"),
        ("lm_head", "V*E"),
    ),
    "mixtral": (
        ("embed_tokens", "V*E"),
        ("layers.*.input_layernorm", "L*E"),
        ("layers.*.self_attn.q_proj", "L*E*A*D"),
        ("layers.*.self_attn.k_proj", "L*E*G*D"),
        ("layers.*.self_attn.v_proj", "L*E*G*D"),
        ("layers.*.self_attn.o_proj", "L*A*D*E"),
        ("layers.*.post_attention_layernorm", "L*E"),
        ("layers.*.mlp.gate", "L*E*X"),
        ("layers.*.mlp.experts", "2*L*X*E*M"),
        ("layers.*.mlp.experts", "L*X*M*E"),
        ("norm", "E"),
        ("lm_head", "V*E"),
    ),
}


@dataclass(frozen=True)
class Wrong:
    target: str
    row: str
    formula: str
    how: str


def spoilt(count: int, seed: int) -> list[Wrong]:
    """Return formulas that are wrong in one row, each in a different way."""
    chance = random.Random(seed)  # noqa: S311
    swaps = {"G": "A", "A": "G", "H": "E", "M": "E", "X": "K", "P": "V", "D": "A"}
    found: list[Wrong] = []
    seen: set[tuple[str, str, str]] = set()
    while len(found) < count:
        target = chance.choice(sorted(RIGHT))
        rows = RIGHT[target]
        place = chance.randrange(len(rows))
        path, term = rows[place]
        how = chance.choice(["dropped", "twice", "swapped", "half more", "without its layers"])
        if how == "dropped":
            wrong = "0"
        elif how == "twice":
            wrong = f"2*{term}"
        elif how == "half more":
            wrong = f"3*{term}/2"
        elif how == "without its layers":
            wrong = term.replace("L*", "", 1)
        else:
            letters = [each for each in swaps if each in term.split("*") and not (each in "AD" and target == "gpt2")]
            if not letters:
                continue
            own = chance.choice(letters)
            wrong = term.replace(own, swaps[own], 1)
        # omitting or sharing a whole table or norm is a convention, not an error
        excused = {"wte", "wpe", "ln_f", "norm", "embed_tokens", "lm_head"}
        if wrong == term or (target, path, wrong) in seen or (path in excused and how in ("dropped", "twice")):
            continue
        seen.add((target, path, wrong))
        terms = [*(each for _, each in rows[:place]), wrong, *(each for _, each in rows[place + 1 :])]
        found.append(Wrong(target, path, " + ".join(terms), f"{path}: {term} {how}: {wrong}"))
    return found


def test_sixty_wrong_formulas_are_never_called_equal_and_their_rows_are_named() -> None:
    named, missed = 0, []
    for wrong in spoilt(60, SEED):
        found = sf.check(wrong.formula, wrong.target)
        assert found.verdict == "differs", f"seed {SEED}: {wrong.how} is called {found.verdict_text}"
        assert found.difference != 0
        if any(each.path == wrong.row or each.path.startswith(f"{wrong.row}.") for each in found.rows):
            named += 1
        else:
            missed.append(wrong.how)
    assert named >= 50, f"seed {SEED}: {named} of 60; missed {missed}"


# The statement about a row, by hand: 4LE is the bias of the MLP's first matrix and of no other row, ...
SAID = {
    ("gpt2", "12LE^2 + 9LE + (V + P + 2)E"): [("h.*.mlp.c_fc.bias", "is left out")],
    ("gpt2", "12LE^2 + 13LE + (V + P + 4)E"): [("ln_f", "is counted one extra time")],
    ("gpt2", "12LE^2 + 13LE + (V + 512 + 2)E"): [("wpe", "has 512 instead of P")],
    ("gpt2", "12LE^2 + 13LE + 2PE + 2E"): [("wte", "has P instead of V")],
    ("llama-3-8b", "L(2EAD + 2EAD + 3EH + 2E) + 2VE + E"): [
        ("layers.*.self_attn.k_proj", "has A instead of G"),
        ("layers.*.self_attn.v_proj", "has A instead of G"),
    ],
}


@pytest.mark.parametrize(("target", "formula"), SAID)
def test_differing_row_is_reported_with_its_mistake(target: str, formula: str) -> None:
    found = sf.check(formula, target)
    assert found.verdict == "differs"
    named = [(each.path, each.statement) for each in found.rows]
    assert named[: len(SAID[target, formula])] == SAID[target, formula]


def test_correct_formulas_are_equal() -> None:
    for target, rows in RIGHT.items():
        assert sf.check(" + ".join(term for _, term in rows), target).verdict == "equal"


# Names without a known meaning and ambiguous syntax are errors; each message states how to resolve them.
ASKED = {
    "12 L d q_7": "q_7 has no known meaning for gpt2",
    "12 L E^2 + 6N P_x": "P_x has no known meaning",
    r"\sum_{l=1}^{L} 12E^2 + VE": "whether the sum ends",
    "12 L E2": "a product, a power or a subscript",
    "1e9": "10^{9}",
}


@pytest.mark.parametrize("text", ASKED)
def test_ambiguous_formula_error_lists_readings(text: str) -> None:
    with pytest.raises(ReadingError) as refused:
        sf.check(text, "gpt2")
    assert ASKED[text] in str(refused.value)


@pytest.mark.parametrize("target", ["gpt2", "llama-2-7b"])
@pytest.mark.parametrize(("quantity", "tokens"), [("run-flops", "N_tok"), ("train-flops", "B*S")])
def test_d_next_to_n_means_tokens(target: str, quantity: str, tokens: str) -> None:
    found = sf.check("6 N D", target, quantity)
    assert found.verdict == "convention"
    assert {each.name: each.to_json()["reading"] for each in found.name_bindings} == {"N": "N", "D": tokens}
    width = "E/A" if target == "gpt2" else "D"
    assert sf.check("12 L A D", target, quantity, names={"D": width}).verdict == "differs"


@dataclass(frozen=True)
class Doubt:
    """A formula that differs under the usual meanings of its letters, and equals ours as the paper means it."""

    formula: str
    target: str
    quantity: str
    right: dict[str, str]  # the reading that the paper means
    verdict: str
    part: str | None = None


DOUBTS = {
    # The scaling book writes D for the model width and F for the hidden width: a gated MLP stores 3DF = 3EH.
    "D as the model width, llama": Doubt("3DF", "llama", "params", {"D": "E"}, "equal", "layers.mlp"),
    # 2DF and the two biases F + D, at F = 4E: 8E² + 5E
    "D as the model width, gpt2": Doubt("2DF + F + D", "gpt2", "params", {"D": "E"}, "equal", "h.mlp"),
    # 4DNH, the same book: N heads of width H, with as many keys as queries; Llama's 2EAD + 2EGD is 4EAD at G = A
    "D, N and H at once": Doubt(
        "4DNH", "llama", "params", {"D": "E", "N": "A", "H": "D"}, "convention", "layers.self_attn"
    ),
    "P as the number of parameters and D as tokens": Doubt(
        "C = 6PD", "gpt2", "train-flops", {"P": "params", "D": "B*S"}, "convention"
    ),
    # BERT writes H for the hidden size: the matrices of the layers store 12LH².
    "H as the model width": Doubt("12 L H^2", "gpt2", "params", {"H": "E"}, "convention"),
    # d as the width of a head, for which GPT-2 has only E/A: 2 tensors of 2 bytes, A heads of E/A
    "d as the width of a head": Doubt("4 B C L n_h d", "gpt2", "kv-cache", {"d": "E/A"}, "equal"),
    # A batch in tokens: 24E² per layer and 2VE, per token
    "B as tokens": Doubt("B (24 L E^2 + 2 V E)", "gpt2", "flops", {"B": "B*S"}, "convention"),
    # K key/value heads of width H, as in the scaling book; here K is the number of experts per token.
    "K heads of a cache": Doubt("4 B T L K H", "mixtral", "kv-cache", {"K": "G"}, "equal"),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_the_reading_that_the_paper_means_is_found(name: str) -> None:
    case = DOUBTS[name]
    found = sf.check(case.formula, case.target, case.quantity, part=case.part)
    assert found.verdict == case.verdict, found
    stated = sf.check(case.formula, case.target, case.quantity, part=case.part, names=case.right)
    assert stated.verdict == case.verdict, stated
    assert expand(found.theirs - stated.theirs) == 0


def test_a_formula_that_differs_under_every_reading_lists_the_closest_readings() -> None:
    """A gated MLP has 3EH; 5DF is 5EH with D as the model width, and no multiple of ours with D as a head width."""
    found = sf.check("5DF", "llama", part="layers.mlp")
    assert found.verdict_text == "differs: the printed formula is 5/3 times ours"
    assert {each.name: each.spelt for each in found.name_bindings} == {"D": "E", "F": "H"}
    assert [each["readings"] for each in found.to_json()["other_readings"]] == [{"D": "D", "F": "H"}]
    assert "other readings of the names, which differ too" in (found._repr_markdown_() or "")


def test_a_letter_that_can_count_parameters_is_defined_as_params() -> None:
    with pytest.raises(ReadingError, match=r"as in --where N=params, or"):
        sf.check("6ND", "llama-2-7b")


def test_a_reading_already_used_by_another_letter_is_not_reported() -> None:
    """Here E is the model width, so D can only be the head width; 3EAD for 2EAD is a mistake and reported as one."""
    found = sf.check("L(3EAD + 2EGD + 3EH + 2E) + 2VE + E", "llama")
    assert found.verdict == "differs"
    assert expand(found.difference - parse("-L*E*A*D")) == 0
    assert not found.other_readings


def test_several_missing_rows_are_named() -> None:
    """Mixtral without its router, LEX, one of two norms of LE, the keys, LEGD, and the final norm, E."""
    found = sf.check("L(2EAD + EGD + 3XEM + E) + 2VE", "mixtral")
    assert found.verdict == "differs"
    assert {str(each.ours) for each in found.rows} == {"E*L*X", "E*L", "D*E*G*L", "E"}
    assert {each.statement for each in found.rows} == {"is left out"}
    assert {"layers.*.mlp.gate", "norm"} < {each.path for each in found.rows}
    assert found.alternatives == "these together explain it:"


MULTIPLES = {
    "2(12LE^2 + 13LE + VE + PE + 2E)": ("differs", "the printed formula is 2 times ours"),
    "(12LE^2 + 13LE + VE + PE + 2E)/3": ("differs", "the printed formula is 1/3 times ours"),
    "(12LE^2 + 13LE + VE + PE + 2E)/10^9": ("convention", "the formula is in billions"),
}


@pytest.mark.parametrize("formula", MULTIPLES)
def test_an_exact_multiple_is_named(formula: str) -> None:
    found = sf.check(formula, "gpt2")
    verdict, said = MULTIPLES[formula]
    assert found.verdict == verdict
    assert said in found.verdict_text
    assert not found.rows


def test_a_relation_between_sizes_can_be_stated() -> None:
    """With A·D = E and G = A, Llama's attention stores 4E²; both sides of the check have E in place of A·D."""
    formula = "L(2EAD + 2E^2 + 3EH + 2E) + 2VE + E"
    assert sf.check(formula, "llama").verdict == "differs"
    found = sf.check(formula, "llama", names={"G*D": "E"})
    assert found.verdict == "equal", found
    with pytest.raises(SymformerError, match="does not define a size"):
        sf.check(formula, "llama", names={"B*S": "C"})
    with pytest.raises(SymformerError, match="does not hold for llama-3-8b: the sides are 4,096 and 8,192"):
        sf.check(formula, "llama-3-8b", names={"A*D": "2*E"})  # 32 heads of 128


# Attention's share of the FLOPs per token, GPT-2: 2 · 2LES over that and 2 · 12LE² + 2VE.
SHARES = {
    "4LES/(4LES + 24LE^2 + 2VE)": "equal",
    r"\frac{s}{s + 6h + V/(2L)}": "equal",
    r"\frac{s}{s + 6h}": "convention",  # without the logits
    r"\frac{s}{s + 12h}": "differs",
    "100 s/(s + 6h + V/(2L))": "convention",  # in percent
}


@pytest.mark.parametrize("formula", SHARES)
def test_a_ratio_is_checked_by_cross_multiplication(formula: str) -> None:
    assert sf.check(formula, "gpt2", "attention-share").verdict == SHARES[formula]


@pytest.mark.parametrize("letter", ["s", "S", "T", "seq_len", "context"])
@pytest.mark.parametrize("target", ["gpt2", "opt"])
def test_the_length_in_a_cache_formula_is_the_cache_length(letter: str, target: str) -> None:
    """2 tensors of 2 bytes for b sequences, l layers, E elements and C tokens; never P learned positions."""
    found = sf.check(f"4 b l h {letter}", target, "kv-cache", names={"h": "E"})
    assert found.verdict == "equal"
    assert {each.name: each.spelt for each in found.name_bindings} == {"b": "B", "l": "L", "h": "E", letter: "C"}


def test_every_reading_is_stated_with_the_verdict() -> None:
    for formula, where in (("12lh^2 + 13lh + (V+P)h + 2h", "h=E"), ("12lh^2 + 14lh + (V+P)h + 2h", "h=E")):
        _, output = run(formula, "--against", "gpt2", "--where", where)
        rows = [re.split(r"  +", line) for line in output.splitlines()]
        assert ["name", "read as", "meaning", "source"] in rows
        assert ["l", "L", "layers", "a usual name"] in rows
        assert ["h", "E", "hidden size", "--where"] in rows
        assert ["V", "V", "vocabulary size", "the alphabet"] in rows
        _, output = run(formula, "--against", "gpt2", "--where", where, "--json")
        told = json.loads(output)["readings"]
        assert [each["name"] for each in told] == ["l", "h", "V", "P"]
        assert told[1] == {
            "name": "h",
            "reading": "E",
            "meaning": "hidden size",
            "source": "--where",
        }
    assert "| h | E | hidden size | --where |" in (sf.check("12lh^2", "gpt2", names={"h": "E"})._repr_markdown_() or "")


# Kaplan et al. 2020, section 2.1: N excludes the vocabulary and the positions, so it is 12LE² for GPT-2.
KAPLAN = {
    ("2N + 2 n_{layer} n_{ctx} d_{model}", "flops"): "24*L*E**2 + 2*S*L*E",
    ("6N", "train-flops"): "72*L*E**2",
    ("6NBS", "train-flops"): "72*B*S*L*E**2",  # S steps of B tokens
    ("6ND", "train-flops"): "72*B*S*L*E**2",  # D tokens
    ("6ND", "run-flops"): "72*N_tok*L*E**2",
}


@pytest.mark.parametrize(("formula", "quantity"), KAPLAN)
def test_kaplan_parameter_count_excludes_the_vocabulary(formula: str, quantity: str) -> None:
    found = sf.check(formula, "gpt2", quantity, paper="kaplan2020")
    assert expand(found.theirs - parse(KAPLAN[formula, quantity])) == 0
    assert found.verdict == "convention"
    assert "the logits are left out" in [each.name for each in found.conventions]


def test_kaplan_parameter_count_depends_on_the_model() -> None:
    """A Llama layer has the matrices 2EAD, 2EGD and 3EH, and no 8E²."""
    found = sf.check("6ND", "llama", "run-flops", paper="kaplan2020")
    assert expand(found.theirs - parse("6*N_tok*L*(2*E*A*D + 2*E*G*D + 3*E*H)")) == 0


def test_unused_letter_meaning_is_refused() -> None:
    with pytest.raises(ReadingError, match="the formula has no name h; its names are L, E"):
        sf.check("12 L E^2", "gpt2", names={"h": "E"})
    with pytest.raises(UnknownNameError, match="paper"):
        sf.check("12 L E^2", "gpt2", paper="nobody1900")
    with pytest.raises(SymformerError, match="does not add up over parts"):
        sf.check("12 L E^2", "gpt2", "decode-time")


def run(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(cli, ["check", *arguments], prog_name="symformer")
    return found.exit_code, found.stdout


def test_exit_status_states_the_verdict() -> None:
    for formula, status, verdict in (
        ("12LE^2 + 13LE + VE + PE + 2E", 0, "equal"),
        ("12LE^2 + 13LE + VE + PE", 0, "convention"),
        ("12LE^2 + 14LE + VE + PE + 2E", 1, "differs"),
    ):
        ended, output = run(formula, "--against", "gpt2", "--json")
        said: dict[str, Any] = json.loads(output)
        assert said["verdict"] == verdict
        assert ended == status
        assert {"conventions", "difference", "rows", "error"} <= said.keys()
    # 14LE instead of 13LE is LE = 12 · 768 = 9,216 too much: 9216/124439808 is 0.007406 %
    assert said["difference"] == "-L*E"
    assert said["error"] == [{"at": "gpt2", "ours": 124439808, "theirs": 124449024, "percent": "+0.007406"}]


def test_check_command_accepts_sizes_options_and_parts() -> None:
    _, output = run("8E^2 + 5E", "--against", "gpt2", "--part", "h.mlp", "--json")
    assert json.loads(output)["verdict"] == "equal"
    # A Llama with H = 4E, A·D = E and as many key heads as query heads: 4E² + 12E² per layer
    sizes = ("--set", "H=4*E", "--set", "D=E/A", "--set", "G=A")
    _, output = run("L(16E^2 + 2E) + 2VE + E", "--against", "llama", *sizes, "--json")
    assert json.loads(output)["verdict"] == "equal"
    _, output = run("12LE^2 + 13LE + 2VE + PE + 2E", "--against", "gpt2", "--option", "tied=false", "--json")
    assert json.loads(output)["verdict"] == "equal"
    _, output = run("multiple_of L", "--against", "gpt2", "--where", "multiple_of=12*E**2", "--json")
    assert json.loads(output)["verdict"] == "convention"


def test_verdict_has_notebook_representations() -> None:
    found = sf.check("12LE^2 + 12LE + VE + PE + 2E", "gpt2")
    assert "12LE^{2}" in (found._repr_latex_() or "").replace(" ", "")
    assert "ln\\_1" in (found._repr_latex_() or "")
    assert "differs" in (found._repr_markdown_() or "")
    assert repr(found) == "<gpt2.params: differs, ours - theirs = L*E>"


def test_letter_with_a_superscript_word_is_one_name() -> None:
    """DeepSeek-V2's d_h^R is a separate size; a d_h next to it is not a size of the formula."""
    found = sf.check("(d_c + d_h^R) l", "deepseek-v2", "kv-cache", paper="deepseek2024")
    assert [each.name for each in found.name_bindings] == ["d_c", "d_h^R", "l"]
    assert "d_h =" not in (found._repr_markdown_() or "")
    both = read("d_h^R n_h + d_h").names
    assert both == ("d_h^R", "n_h", "d_h")
    with pytest.raises(ReadingError, match="--where d_h: the formula has no name d_h; its names are"):
        sf.check("(d_c + d_h^R) l", "deepseek-v2", "kv-cache", names={"d_h": "D"})


def test_memory_difference_is_found_quickly() -> None:
    """Every pair of rows was once multiplied out: 5 CPU seconds."""
    began = time.process_time()
    found = sf.check("20 N", "llama", "train-memory", recipe="bf16", implementation="none")
    assert found.verdict == "differs"
    assert time.process_time() - began < 4


# Formulas that once took minutes; each must be refused or answered within a few CPU seconds.
SUMS = ("L+E", "L+V", "L+P", "V+E", "P+E", "V+P", "2L+E", "L+2V", "L+3P", "5V+E", "7P+E", "V+9P")
HEAVY: dict[str, tuple[str, dict[str, str]]] = {
    "twelve fractions": ("+".join(rf"\frac{{1}}{{{each}}}" for each in SUMS), {}),
    "three powers below": (
        "+".join(rf"\frac{{({each}+E)^6}}{{({each})^3}}" for each in ("L+V", "L+P", "V+P")),
        {},
    ),
    "powers of the number of parameters": ("N^{12} + N^{11}E + N^{10}V", {}),
    "the number of parameters below": (r"\frac{N^6}{(N+1)^6}", {}),
    "fractions of the number of parameters": ("+".join(rf"\frac{{1}}{{N+{each}}}" for each in range(1, 12)), {}),
    "a name that stands for a power": ("q^{12}", {"q": "(L+E+V+P)**12"}),
    "a name that stands for a sum, below": ("+".join(rf"\frac{{E}}{{q+{each}}}" for each in range(9)), {"q": "L+V"}),
}


@pytest.mark.parametrize("name", HEAVY)
@pytest.mark.parametrize("quantity", ["params", "train-memory"])
def test_large_formulas_are_refused_before_expansion(name: str, quantity: str) -> None:
    formula, where = HEAVY[name]
    began = time.process_time()
    with pytest.raises(ReadingError, match=r"the expanded formula can have .* the limit of"):
        sf.check(formula, "gpt2", quantity, names=where)
    assert time.process_time() - began < 10


def test_fraction_over_a_sum_is_parsed() -> None:
    """(L² − E²)/(L + E) + E is L, and 12E²(L² − V²)/(L + V) + 12E²V is 12LE²."""
    formula = r"\frac{12E^2(L^2-V^2)}{L+V} + 12E^2V + 13LE + VE + PE + 2E"
    assert sf.check(formula, "gpt2").verdict == "equal"


def test_two_rows_together_explain_a_difference() -> None:
    """GPT-2 without its position table, PE, and without one of six vectors of LE elements, such as an output bias."""
    found = sf.check("V E + 12 L E^2 + 12 L E + 2 E", "gpt2")
    assert {(each.path, each.statement) for each in found.rows} >= {("wpe", "is left out")}
    assert [str(each.amount) for each in found.rows].count("E*L") == 6
    assert found.alternatives == "one row of each amount, together, explains it:"
    alone = sf.check("V E + 12 L E^2 + 9 L E + 2 E", "gpt2")  # without PE and the 4LE of the bias of c_fc
    assert alone.alternatives == "these together explain it:"
