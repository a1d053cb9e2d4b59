"""Two models compared: numbers if all are known; shared letters only for equal sizes."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from click.testing import CliRunner, Result

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.arithmetic import parse
from symformer.language.errors import SymformerError
from symformer.language.symbols import SYMBOLS, E, L, V, letter, name_size, numbered


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *arguments], prog_name="symformer")


def compared(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def at(formula: str, *sizes: dict[str, int]) -> Fraction:
    """Evaluate a printed formula at the numbers printed next to it, with Python."""
    merged: dict[str, Fraction] = {}
    for each in sizes:
        for name, number in each.items():
            assert merged.setdefault(name, Fraction(number)) == number, f"{name} stands for two numbers"
    return Fraction(eval(formula, {"__builtins__": {}}, merged))  # noqa: S307


@pytest.mark.parametrize(
    ("arguments", "left", "right"),
    [
        (["gpt2", "gpt2-xl"], 124_439_808, 1_557_611_200),  # Radford et al. 2019, as counted by transformers
        (["mistral-7b-v0.1", "llama-2-7b"], 7_241_732_096, 6_738_415_616),
        (["gpt2", "llama-2-7b"], 124_439_808, 6_738_415_616),
        # 13*... untied heads: another table of 50257*768 and of 50257*1600
        (["gpt2", "gpt2-xl", "--option", "tied=false"], 124_439_808 + 50_257 * 768, 1_557_611_200 + 50_257 * 1_600),
        # one layer of both: VE + PE + 12E² + 13E + 2E
        (["gpt2", "gpt2-xl", "--set", "L=1"], (50_257 + 1_024 + 12 * 768 + 15) * 768,
         (50_257 + 1_024 + 12 * 1_600 + 15) * 1_600),
        # a table of 32,000 rows, four attention matrices, three of the MLP; only Llama has an H to set
        (["llama-2-7b", "llama-7b", "--set", "H=5", "--set", "L=1"], *2 * [2 * 32_000 * 4_096 + 4 * 4_096**2
         + 3 * 4_096 * 5 + 3 * 4_096]),
    ],
)  # fmt: skip
def test_printed_formulas_evaluate_to_the_printed_values(arguments: list[str], left: int, right: int) -> None:
    document = compared(*arguments)
    total = document["rows"][-1]
    assert (total["left"]["value"], total["right"]["value"]) == (left, right)
    assert document["difference_value"] == left - right
    assert Fraction(document["ratio_value"]) == Fraction(left, right)
    sizes = document["sizes"]
    assert at(document["difference"], *sizes.values()) == left - right
    assert at(document["ratio"], *sizes.values()) == Fraction(left, right)
    for row in document["rows"]:
        for side in ("left", "right"):
            assert at(row[side]["formula"], sizes[side]) == row[side]["value"]


def test_conventions_and_options_are_listed() -> None:
    arguments = ["gpt2", "llama-2-7b", "-q", "flops", "--option", "attention=causal", "--option", "mlp_bias=true"]
    document, text = compared(*arguments), run(*arguments).stdout
    assert document["conventions"]["attention"] == "causal"
    assert document["options"] == {"left": {}, "right": {"mlp_bias": "true"}}
    assert "\nattention=causal\n" in text
    assert "\nllama-2-7b (2) has mlp_bias=true.\n" in text


def test_letter_with_two_values_becomes_two_sizes() -> None:
    document = compared("mistral-7b-v0.1", "llama-2-7b")
    assert document["sizes"]["left"] == {"L": 32, "V": 32_000, "E": 4_096, "H_1": 14_336, "A": 32, "G_1": 8, "D": 128}
    assert document["sizes"]["right"] == {"L": 32, "V": 32_000, "E": 4_096, "H_2": 11_008, "A": 32, "G_2": 32, "D": 128}
    assert document["difference"] == "2*L*E*G_1*D - 2*L*E*G_2*D + 3*L*E*H_1 - 3*L*E*H_2"
    text = run("gpt2", "gpt2-xl").stdout
    rows = [line.split() for line in text.splitlines()]
    assert ["L_1,", "L_2", "layers", "12", "48"] in rows
    assert ["V", "vocabulary", "size", "50,257", "50,257"] in rows
    assert ["E_1,", "E_2", "hidden", "size", "768", "1,600"] in rows
    assert "With these sizes, it is -1,433,171,392." in text
    assert "With these sizes, it is about 0.07989." in text
    assert "1,944,372/24,337,675" not in text
    assert "With these sizes, it is 1,944,372/24,337,675 ≈ 0.07989." in run("gpt2", "gpt2-xl", "--exact").stdout


def test_letter_with_equal_or_no_values_is_one_size() -> None:
    document = compared("llama", "mistral")
    assert (document["difference"], document["ratio"]) == ("0", "1")
    assert (document["difference_value"], document["ratio_value"]) == (None, None)
    assert document["sizes"] == {"left": {}, "right": {}}
    assert compared("bert-base-uncased", "gpt2")["difference_leading"] == "-8*L*E**2 + 2*L*E*H"
    longer = sf.architecture("gpt2").set({"L": 13})
    found = sf.compare(longer, "gpt2")
    assert found.difference_value == 12 * 768**2 + 13 * 768
    assert str(found.difference_leading) == "12*E**2*L_1 - 12*E**2*L_2"
    assert repr(found) == "<params of gpt2, 131,527,680, and of gpt2, 124,439,808>"


def test_numbered_letter_is_not_added_to_the_alphabet() -> None:
    apart = numbered(E, 77)
    assert str(apart) == "E_77"
    assert "E_77" not in SYMBOLS
    assert letter(apart).meaning == letter(E).meaning
    with pytest.raises(SymformerError, match="unknown symbol 'E_77'"):
        parse("E_77")


def test_a_numbered_letter_differs_from_a_size_of_traced_code_with_the_same_name() -> None:
    before = run("gpt2", "gpt2-xl", "-q", "kv-cache").stdout
    assert "L_2" in before
    traced, apart = name_size("L_2"), numbered(L, 2)
    assert traced != apart
    assert letter(apart).meaning == "layers"
    assert run("gpt2", "gpt2-xl", "-q", "kv-cache").stdout == before
    assert letter(numbered(L, 2, {"L_2"})).latex == r"L_{\mathrm{m2}}"  # both in one answer


@pytest.mark.parametrize(
    ("arguments", "ratio", "why"),
    [
        (["gpt2", "llama-7b", "-q", "communication"], None, "ratio is undefined: the second is 0."),  # 0/0: one rank
        (["mixtral-8x7b", "gpt2", "-q", "params", "--set", "L=1"], "", ""),
        (["gpt2", "llama-2-7b", "-q", "communication", "--option", "tensor=on", "--set", "N_tp=1", "--set", "B=1",
          "--set", "S=4"], "", "With these sizes, it is undefined: the second is 0."),
    ],
)  # fmt: skip
def test_undefined_ratio_is_reported_before_any_output(arguments: list[str], ratio: str | None, why: str) -> None:
    document, text = compared(*arguments), run(*arguments)
    assert text.exit_code == 0
    assert (document["ratio"] is None) == (ratio is None)
    assert (document["no_ratio"] is None) == (why == "")
    assert (document["ratio_value"] is None) == (why != "")
    assert why in text.stdout


def test_zero_numerator_gives_zero_ratio() -> None:
    """A head tied to the embedding stores nothing; an untied head stores the table again."""
    tied = sf.Model(target="tied", component=sf.component("lm-head", tied=True), numbers={V: 11, E: 5})
    own = sf.Model(target="own", component=sf.component("lm-head"), numbers={V: 11, E: 5})
    assert sf.compare(tied, own).ratio_value == 0
    assert sf.compare(own, tied).ratio is None
    assert sf.compare(own, tied).no_ratio == "the second is 0"
    assert sf.compare(own, tied).to_json()["ratio_value"] is None


def test_sizes_and_options_apply_to_each_model_that_has_them() -> None:
    # S_enc exists only in a run of the encoder; both models have S
    flops = ["transformer", "gpt2", "-q", "flops", "--set", "B=1", "--set", "S=5", "--set", "S_enc=7"]
    assert "S_enc" in compared(*flops)["sizes"]["left"]
    assert "S_enc" not in compared(*flops)["sizes"]["right"]
    # gpt2 has positions P, llama has none; only gpt2 has an option tied that defaults to true
    rows = compared("gpt2", "llama-2-7b", "--set", "P=7", "--option", "mlp_bias=true")["rows"]
    table = next(row for row in rows if row["part"] == "embeddings")
    assert table["left"]["value"] == (50_257 + 7) * 768
    network = next(row for row in rows if row["part"] == "MLP")
    assert network["right"]["value"] == 32 * (3 * 4_096 * 11_008 + 2 * 11_008 + 4_096)


REFUSED = [
    (["gpt2", "llama", "--set", "X=3"], "X (experts) is not a size of gpt2 or llama in params"),
    (["gpt2", "llama", "--set", "B=3"], "B (batch size) is not a size of gpt2 or llama in params"),
    (["gpt2", "llama", "--set", "Q=3"], "unknown symbol 'Q'"),
    (["gpt2", "llama", "--set", "E=768", "--set", "E=769"], "E is given twice, as 768 and as 769"),
    (["gpt2", "llama", "--set", "E=-3"], "a size is a positive integer"),
    (["gpt2", "llama", "--set", "E=770"], "E=770 is not a multiple of A=12"),
    (["gpt2", "llama", "--option", "teid=false"], "unknown option 'teid' of gpt2 and llama; did you mean tied"),
    (["gpt2", "llama", "--option", "tied=perhaps"], "tied=perhaps is not valid"),
    (["gpt2", "llama", "--option", "attention=causal"], "unknown option 'attention' of gpt2 and llama"),
    (["gpt2", "llama", "-q", "flops", "--option", "attention=half"], "choose from full, causal"),
    (["gpt2", "llama", "-q", "intensity"], "intensity is a ratio"),
    (["gpt2", "nothing"], "unknown target 'nothing'"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), REFUSED, ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else ""
)
def test_invalid_arguments_give_a_one_sentence_error(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_letter_with_a_value_in_one_model_is_reported_as_one_size() -> None:
    said = "V and E have no value in one of the models and are assumed equal in both."
    assert said in run("llama", "gpt2", "--set", "L=3").stdout  # a letter set for both models is not split
    assert "assumed equal" not in run("llama", "mistral").stdout + run("gpt2", "gpt2-xl").stdout


def test_a_size_that_a_condition_bounds_does_not_grow_alone() -> None:
    """Key/value heads divide the query heads, and K of X experts are chosen; E, in the same ratio, is unbounded."""
    found = sf.compare("llama-2-7b", "mixtral-8x7b", quantity="decode-flops")
    assert {"G_1", "G_2", "K"} <= {str(size) for size in found.bounded_sizes}
    done = CliRunner().invoke(
        cli, ["compare", "llama-2-7b", "mixtral-8x7b", "-q", "decode-flops", "--set", "B=1", "--set", "C=4096"]
    )
    (said,) = (each for each in done.output.splitlines() if each.startswith("As one size grows"))
    assert "to infinity with H, to 0 with X or M and" in said
