"""Tied totals, quotients of quantities, limits and crossovers, each compared with hand calculations."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sympy import Expr, Max, Min, Symbol, expand, fraction

import symformer as sf
from symformer.algebra.crossover import zero_of
from symformer.algebra.model_comparison import Comparison
from symformer.algebra.quantity_ratio import over
from symformer.algebra.quotient_limits import limit, limits
from symformer.commands.cli import cli
from symformer.documents.comparison_document import document
from symformer.documents.formats import FORMATS, render
from symformer.documents.ratio_document import document as divided
from symformer.language.errors import OptionError, SizeError, UnknownNameError
from symformer.language.notation.display_tree import value
from symformer.language.notation.text import text
from symformer.language.symbols import SYMBOLS, B, C, C_win, E, H, L, P, S, V
from symformer.output.blocks import Equation

BLOCKS = ("gpt2", "llama", "--part", "1:h", "--part", "2:layers", "--set", "2:D=E/A", "--set", "2:G=A")
DENSE = ("mixtral-8x7b", "mistral-7b-v0.1", "--match", "active-params", "--adjust", "H")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *arguments], prog_name="symformer")


def compared(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def at(formula: str, **sizes: int | Fraction) -> Fraction:
    """Evaluate a printed formula at given numbers, with Python."""
    merged = {name: Fraction(number) for name, number in sizes.items()}
    return Fraction(eval(formula, {"__builtins__": {}}, merged))  # noqa: S307


def test_tie_blocks_with_equal_parameters() -> None:
    """12E² + 13E = 4E² + 3EH + 2E, from four attention matrices, three of the MLP and two norms: 3EH = 8E² + 11E."""
    tied = compared(*BLOCKS, "--set", "1:E=E", "--match", "params", "--adjust", "H")["tied"]
    assert tied["formula"] == "(8*E + 11)/3"
    assert (tied["exact"], tied["whole"], tied["value"]) == (None, [], None)
    assert (tied["difference"], tied["ratio"]) == ("0", "1")
    # with E = 768: 6,155/3; one unit of H is 3·768 = 2,304 parameters, of which two thirds and one third remain
    told = compared(*BLOCKS, "--match", "params", "--adjust", "H")["tied"]
    assert (told["exact"], told["value"]) == ("6155/3", 2_052)
    assert told["whole"] == [{"value": 2_051, "difference": 1_536}, {"value": 2_052, "difference": -768}]
    said = run(*BLOCKS, "--match", "params", "--adjust", "H").stdout
    assert (
        "\nAt equal parameters\nllama (layers) (2) has as many parameters as gpt2 (h) (1) if\nH = (8E + 11)/3\n"
        "At these sizes, H ≈ 2,051.67. At H = 2,051, gpt2 (h) (1) has 1,536 more. "
        "At H = 2,052, gpt2 (h) (1) has 768 fewer. All numbers here use H = 2,052.\n"
    ) in said
    gpt2, llama = sf.architecture("gpt2").set({"E": "E"}), sf.architecture("llama").set({"D": "E/A", "G": "A"})
    found = sf.compare(gpt2.params.part("h"), llama.params.part("layers"), match="params", adjust="H")
    assert found.tie is not None
    assert expand(found.tie.formula - (8 * E + 11) / 3) == 0
    assert found.tied_difference == 0


def test_flops_under_a_parameter_tie() -> None:
    """The products of one block with H = (8E + 11)/3, for B sequences of S tokens.

    GPT-2 multiplies 24BSE² + 4BS²E, and Llama 8BSE² + 6BSEH + 4BS²E, which is 24BSE² + 22BSE + 4BS²E: 22BSE more.
    """
    found = compared(*BLOCKS, "-q", "flops", "--set", "1:E=E", "--match", "params", "--adjust", "H")
    assert found["tied"]["quantity"] == "params"
    assert found["tied"]["formula"] == "(8*E + 11)/3"
    assert found["tied"]["difference"] == "-22*B*S*E"
    assert found["difference"] == "16*B*S*E**2 - 6*B*S*E*H"


def test_tie_dense_and_mixture_by_active_parameters() -> None:
    """Both have the same attention, norms and tables: 3EH = 3EKM + EX, where EX is the router, so H = KM + X/3."""
    told = compared(*DENSE, "-q", "active-params")
    tied = told["tied"]
    assert tied["formula"] == "(3*K*M + X)/3"
    # 2·14,336 + 8/3 = 86,024/3; one unit of H is 3·4,096·32 = 393,216 parameters
    assert (tied["exact"], tied["value"]) == ("86024/3", 28_675)
    assert tied["whole"] == [{"value": 28_674, "difference": 262_144}, {"value": 28_675, "difference": -131_072}]
    # Mixtral has 12,879,925,248 active parameters, "13B" in its paper
    assert told["rows"][-1]["left"]["value"] == 12_879_925_248
    assert told["rows"][-1]["right"]["value"] == 12_879_925_248 + 131_072
    assert told["sizes"]["right"]["H"] == 28_675


def test_three_models_are_tied_to_the_first() -> None:
    told = compared("gpt2-xl", "gpt2", "gpt2-medium", "--match", "params", "--adjust", "L")
    for pair, width in zip(told["pairs"], (768, 1_024), strict=True):
        # (V + P)E + L(12E² + 13E) + 2E = 1,557,611,200
        exact = Fraction(1_557_611_200 - (50_257 + 1_024 + 2) * width, 12 * width**2 + 13 * width)
        assert Fraction(pair["tied"]["exact"]) == exact
        assert pair["tied"]["value"] == round(exact)
        assert pair["tied"]["difference"] == "0"
        assert pair["difference_value"] == next(
            each["difference"] for each in pair["tied"]["whole"] if each["value"] == round(exact)
        )
    # 1,518,225,856/7,087,872 is 214.2, and 1,505,097,408/12,596,224 is 119.5
    assert [told["sizes"][place][f"L_{place + 1}"] for place in range(3)] == [48, 214, 119]


@pytest.mark.parametrize(
    ("arguments", "by"),
    [
        (["gpt2-xl", "llama-7b"], "L"),
        (["llama-2-70b", "llama-7b"], "H"),
        (["llama-2-70b", "gpt2"], "V"),
        (["llama-2-7b", "deepseek-v2-lite"], "L_moe"),
        (["mixtral-8x7b", "mistral-7b-v0.1"], "H"),
        (["llama-2-70b", "mixtral-8x7b"], "M"),
        (["gpt2-medium", "bert-large-uncased"], "P"),
    ],
)
def test_tie_formula_equalizes_totals(arguments: list[str], by: str) -> None:
    """Evaluate the formula at the numbers printed next to it, and the second total at the result, with Python."""
    told = compared(*arguments, "--match", "params", "--adjust", by)
    tied, total = told["tied"], told["rows"][-1]
    sizes = {**told["sizes"]["left"], **told["sizes"]["right"]}
    exact = at(tied["formula"], **{name: each for name, each in sizes.items() if name != tied["size"]})
    assert exact == Fraction(tied["exact"])
    mine = {**told["sizes"]["right"], tied["size"]: exact}
    assert at(total["right"]["formula"], **mine) == at(total["left"]["formula"], **told["sizes"]["left"])
    for each in tied["whole"]:
        mine[tied["size"]] = each["value"]
        less = at(total["left"]["formula"], **told["sizes"]["left"]) - at(total["right"]["formula"], **mine)
        assert less == each["difference"]
        assert abs(each["value"] - exact) < 1
    assert told["sizes"]["right"][tied["size"]] == tied["value"]


def test_tie_rounds_to_an_allowed_integer() -> None:
    # 4·B·12·768 bytes per token for gpt2, 4·B·48·1,600 for gpt2-xl: 100 tokens correspond to 12, for any B
    tied = compared("gpt2", "gpt2-xl", "-q", "kv-cache", "--match", "kv-cache", "--adjust", "C", "--set", "1:C=100")[
        "tied"
    ]
    assert (tied["exact"], tied["value"], tied["whole"]) == (12, 12, [{"value": 12, "difference": 0}])
    # 4·80·8·128 = 327,680 bytes against 4·32·128·G: 20 groups; the nearest divisors of 32 heads are 16 and 32
    groups = compared("llama-2-70b", "llama-2-7b", "-q", "kv-cache", "--match", "kv-cache", "--adjust", "G", "--set",
                      "B=1", "--set", "C=1")["tied"]  # fmt: skip
    assert (groups["exact"], groups["value"]) == (20, 16)
    assert [each["value"] for each in groups["whole"]] == [16, 32]
    assert [each["difference"] for each in groups["whole"]] == [4 * 16_384, -12 * 16_384]


def test_tie_of_one_rank_and_a_whole_model() -> None:
    # an eighth of the 6,738,149,376 elements in matrices of llama-2-7b, and its norms of 266,240: 842,534,912
    tied = compared(
        "llama-2-7b", "gpt2-xl", "--left", "tensor=on", "--left", "N_tp=8", "--match", "params", "--adjust", "L"
    )
    assert tied["rows"][-1]["left"]["value"] == 842_534_912
    exact = Fraction(842_534_912 - (50_257 + 1_024 + 2) * 1_600, 12 * 1_600**2 + 13 * 1_600)
    assert (Fraction(tied["tied"]["exact"]), tied["tied"]["value"]) == (exact, 25)
    assert (tied["tied"]["difference"], tied["tied"]["ratio"]) == ("0", "1")
    assert tied["conventions_of"] == {"left": {"tensor": "on"}, "right": {}}


def test_document_states_the_tie() -> None:
    made = document([sf.compare("mixtral-8x7b", "mistral-7b-v0.1", match="active-params", adjust="H")], "0")
    (block,) = [each for each in made.blocks if isinstance(each, Equation) and each.id.endswith(".tied")]
    assert text(block.chain.steps[0]) == "(3KM + X)/3"
    page = render(made, "md").decode()
    assert "At equal active parameters" in page
    # 86,024/3, with 393,216 parameters per unit of H: two thirds and one third of these
    assert "28,674.67" in page
    assert "= 28,674, `mixtral-8x7b` (1) has 262,144 more." in page
    assert "= 28,675, `mixtral-8x7b` (1) has 131,072 fewer. All numbers here use" in page
    assert run(*DENSE, "-o", "-", "--format", "html").exit_code == 0


REFUSED = [
    (["gpt2", "llama-2-7b", "--match", "params"], "--match names a total and --adjust the size to adjust"),
    (["gpt2", "llama-2-7b", "--adjust", "L"], "give both"),
    (["gpt2", "llama-2-7b", "--match", "params", "--adjust", "P"],
     "P (learned positions) does not affect params of llama-2-7b; it is linear in L, V, E, H, A, G, D; gpt2 "
     "depends on it: list that model second"),
    (["gpt2", "gpt2-xl", "--match", "params", "--adjust", "E"], "params of gpt2-xl is not linear in E; choose a size"),
    (["gpt2", "gpt2-xl", "--match", "params", "--adjust", "X"], "X (experts) does not affect params of gpt2-xl"),
    (["gpt2", "gpt2-xl", "--match", "params", "--adjust", "Q"], "unknown symbol 'Q'"),
    (["gpt2", "gpt2-xl", "--match", "parms", "--adjust", "L"], "unknown quantity 'parms'; did you mean params"),
    (["gpt2", "gpt2-xl", "--match", "intensity", "--adjust", "L"], "intensity is a ratio and cannot be made equal"),
    (["llama-2-7b", "deepseek-v2", "--match", "params", "--adjust", "L"], "L of deepseek-v2 is L_dense + L_moe"),
    # its tables and its final norm have 2·32,000·4,096 + 4,096
    (["gpt2", "llama-2-7b", "--match", "params", "--adjust", "L"],
     "no L gives llama-2-7b the parameters of gpt2, 124,439,808: without L, llama-2-7b already has 262,148,096"),
    (["llama-2-7b", "mistral-7b-v0.1", "-q", "kv-cache", "--match", "kv-cache", "--adjust", "C"], "is not linear in C"),
    (["gpt2", "gpt2-xl", "--divide-by", "params", "--match", "params", "--adjust", "L"], "cannot be combined with"),
    (["gpt2", "--divide-by", "nothing"], "unknown quantity 'nothing'"),
    (["gpt2", "--divide-by", "intensity"], "intensity is itself a ratio"),
    (["gpt2", "-q", "intensity", "--divide-by", "params"], "intensity is itself a ratio"),
    (["gpt2", "-q", "flops", "-q", "traffic", "--divide-by", "params", "-o", "x.md"], "--divide-by divides one"),
    (["gpt2", "--divide-by", "params", "--set", "X=3"], "X (experts) is not a size of gpt2 in params"),
    (["gpt2", "--divide-by", "communication"], "is 0 for all sizes, so the ratio is undefined"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"), REFUSED, ids=lambda each: " ".join(each)[:60] if isinstance(each, list) else ""
)
def test_invalid_arguments_give_a_one_sentence_error(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_invalid_arguments_are_refused_in_python() -> None:
    with pytest.raises(SizeError, match="no L gives llama-2-7b the parameters"):
        sf.compare("gpt2", "llama-2-7b", match="params", adjust="L")
    with pytest.raises(OptionError, match="match= and adjust= need each other"):
        sf.compare("gpt2", "llama-2-7b", match="params")
    with pytest.raises(UnknownNameError, match="unknown convention 'attn' of flops and params"):
        over("gpt2", "flops", "params", attn="causal")
    # also for a Llama without sizes: 13LE, and tables of 2VE, are at least as large as with the same letters
    tables = sf.Model(target="table", component=sf.component("lm-head"), numbers={V: 11, E: 5})
    with pytest.raises(SizeError, match="no L gives llama the parameters of table"):
        sf.compare(tables, sf.architecture("llama"), match="params", adjust="L")


def test_train_flops_per_parameter() -> None:
    """Per token, 72LE² in the matrices, 12LSE in attention and 6VE in the head, over 12LE² + … parameters."""
    told = compared("gpt2", "--quantity", "train-flops", "--divide-by", "params", "--set", "B=1", "--set", "S=1024")
    flops = 1_024 * (72 * 12 * 768**2 + 12 * 12 * 1_024 * 768 + 6 * 50_257 * 768)
    assert Fraction(told["ratio_value"]) == Fraction(flops, 124_439_808)
    assert told["ratio"] == "(12*B*S**2*L + 72*B*S*L*E + 6*B*S*V)/(12*L*E + 13*L + V + P + 2)"
    assert told["ratio_leading"] == "(B*S**2 + 6*B*S*E)/E"  # 12BS²LE + 72BSLE² over 12LE²
    assert (told["quantity"], told["over"], told["unit"]) == ("train-flops", "params", "FLOPs/element")
    # Kaplan et al. 2020: 6 FLOPs per token and parameter for large widths
    assert told["limits"] == {
        "B": "unbounded", "S": "unbounded", "L": "(12*B*S**2 + 72*B*S*E)/(12*E + 13)", "V": "6*B*S", "P": "0",
        "E": "6*B*S",
    }  # fmt: skip
    found = over("gpt2", "train-flops", "params")
    above, below = fraction(value(found.ratio))
    assert expand(above * found.denominator.expanded - below * found.numerator.expanded) == 0
    assert found.value is None  # B and S have no value
    assert [limit.value({B: 2, S: 3}) for limit in (found.limits[E], found.limits[V])] == [36, 36]
    said = run("gpt2", "gpt2-xl", "-q", "flops", "--divide-by", "params", "--option", "2:attention=causal").stdout
    assert "\ngpt2-xl: forward FLOPs over parameters, in FLOPs/element\n" in said
    # 4BS²LE with all pairs, 2BS(S + 1)LE with the causal half
    assert "F/N = (4BSL(S + 6E) + 2BSV)/(L(12E + 13) + V + P + 2)\n" in said
    assert "F/N = (2BSL(S + 12E + 1) + 2BSV)/(L(12E + 13) + V + P + 2)\n" in said
    two = compared("gpt2", "gpt2-xl", "-q", "flops", "--divide-by", "params", "--option", "2:attention=causal")
    assert [each["conventions"]["attention"] for each in two["models"]] == ["full", "causal"]


def test_document_of_a_quotient() -> None:
    found = [over(each, "train-flops", "params") for each in ("gpt2", "deepseek-v2-lite")]
    made = divided(found, "0")
    assert made.title == "gpt2 and deepseek-v2-lite: training FLOPs over parameters"
    (first,) = [block for block in made.blocks if isinstance(block, Equation)]  # the other one does not fit a line
    above, below = fraction(value(first.chain.steps[0]))
    assert expand(above * found[0].denominator.expanded - below * found[0].numerator.expanded) == 0
    for extension in FORMATS:
        assert len(render(made, extension)) > 2_000
    assert render(made, "pdf") == render(made, "pdf")
    twice = [block for block in divided([found[0]] * 2, "0").blocks if isinstance(block, Equation)]
    assert [block.number for block in twice] == [1, 2]
    assert len({block.id for block in twice}) == 2
    written = run("gpt2", "-q", "train-flops", "--divide-by", "params", "--set", "B=1", "--set", "S=1024", "-o", "-",
                  "--format", "md", "--flavour", "commonmark")  # fmt: skip
    assert "F_train/N = (12BSL(S + 6E) + 6BSV)/(L(12E + 13) + V + P + 2)" in written.stdout
    assert "With these sizes, it is about 7,031.07 FLOPs/element." in written.stdout


LIMITS = [
    # (12LE² + VE)/(3LEH + VE): 12E² over 3EH for L, 1 for V; for E, the denominator does not grow as E²
    (12 * L * E**2 + V * E, 3 * L * E * H + V * E, {"L": "4*E/H", "V": "1", "E": "unbounded", "H": "0"}),
    (E**2, E * H, {"E": "unbounded", "H": "0"}),
    (E * H, 2 * E, {"H": "unbounded"}),  # E is not in the quotient
    (L, L, {}),
    (P, P + 3, {"P": "1"}),
    # a window caches at most C_win: min(C, C_win) stays bounded as C grows, and grows with C_win only up to C
    (Min(C, C_win) * L, C, {"C": "0", "L": "unbounded", "C_win": "L"}),
    (C * L, Min(C, C_win), {"C": "unbounded", "L": "unbounded", "C_win": "L"}),
    (Max(C, 10), C + 1, {"C": "1"}),
    # E and H decide which of two terms in C is larger, so the limit in C is not stated
    (Max(C * E, C * H), C, {"E": "unbounded", "H": "unbounded"}),
]


@pytest.mark.parametrize(("above", "below", "goes"), LIMITS, ids=str)
def test_limits_of_the_ratio_by_hand(above: Expr, below: Expr, goes: dict[str, str]) -> None:
    assert {str(size): each.to_json() for size, each in limits(above, below).items()} == goes


def test_ratio_approaches_its_limit_at_large_sizes() -> None:
    """At a size of 10^12 the ratio is within a thousandth of its limit, or very large, or close to 0."""
    found = sf.compare("gpt2-xl", "mixtral-8x7b")
    left, right = (side.expr for side in found.totals)
    assert found.limits.keys() == left.free_symbols | right.free_symbols
    for size, each in found.limits.items():
        numbers: dict[Symbol, int] = {**found.numbers, size: found.numbers[size] * 10**12}
        ratio = Fraction(int(left.subs(numbers)), int(right.subs(numbers)))
        exact = each.value(found.numbers)
        assert each.kind == "finite" or (ratio > 10**6) == (each.kind == "unbounded")
        assert each.kind != "0" or ratio < Fraction(1, 10**6)
        assert exact is None or abs(ratio / exact - 1) < Fraction(1, 1_000)
    assert limit(E - H, L, H) is None  # below 0, which is not a total
    assert limit(E - H, L, C) is None


def test_crossover_in_one_size() -> None:
    # 12LE² + 13LE = 3LEH + …: with 12E² against 3EH + 2E, the second is larger for H >= (12E - 2)/3
    crossover = zero_of(12 * L * E**2 - 3 * L * E * H - 2 * L * E, H)
    assert crossover is not None
    assert (text(crossover.shown), crossover.above) == ("(12E - 2)/3", -1)
    told = compared("llama-2-7b", "llama-2-70b", "-q", "kv-cache")["crossover_formulas"]
    # 32·L_1 against 8·L_2
    assert told["L_1"] == {"formula": "L_2*G_2/G_1", "above": "left"}
    assert told["G_2"] == {"formula": "L_1*G_1/L_2", "above": "right"}
    said = run("llama-2-7b", "llama-2-70b", "-q", "kv-cache", "--crossover", "L").stdout
    above = "\n{} = {}\n{} is larger above this value, and {} below it.\n".format
    assert above("L_1", "L_2·G_2/G_1", "llama-2-7b (1)", "llama-2-70b (2)") in said
    assert above("L_2", "L_1·G_1/G_2", "llama-2-70b (2)", "llama-2-7b (1)") in said
    # 32·L_1 against 8·80 = 640
    assert (
        "\nllama-2-7b (1) is larger for L_1 ≥ 21 and llama-2-70b (2) for L_1 ≤ 19; the totals are equal at L_1 = 20 "
        "(now 32).\n"
    ) in said
    assert "\nG_1 = " not in said
    assert "B does not decide which is larger: the whole difference is a multiple of it.\n" in run(
        "llama-2-7b", "llama-2-70b", "-q", "kv-cache", "--crossover", "B"
    ).stdout  # fmt: skip
    found: Comparison = sf.compare("llama-2-7b", "llama-2-70b", "kv-cache")
    assert {str(size): text(each.shown) for size, each in found.crossover("G").items()} == {
        "G_1": "L_2·G_2/L_1", "G_2": "L_1·G_1/L_2",
    }  # fmt: skip
    with pytest.raises(SizeError, match="V is not in the difference between llama-2-7b and llama-2-70b"):
        found.crossover("V")
    assert SYMBOLS["B"] not in found.crossovers
    # a block of 12E² + 13E, and one norm of E
    assert "gpt2 (h) (1) is larger for all sizes.\n" in run("gpt2", "llama", "--part", "1:h", "--part", "2:norm").stdout
