"""Three or more models, conventions of one side, and parts, compared with hand calculations."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from click.testing import CliRunner, Result
from sympy import expand, simplify

import symformer as sf
from symformer.algebra.compare import compare
from symformer.algebra.crossover import Span
from symformer.algebra.quantity_ratio import over
from symformer.algebra.quotient_limits import quotient
from symformer.algebra.shared_letters import own_letters
from symformer.commands.cli import cli
from symformer.documents.comparison_document import document
from symformer.documents.formats import FORMATS, render
from symformer.language.errors import OptionError
from symformer.language.notation.display_tree import value
from symformer.language.symbols import A, B, E, G, L, S, V
from symformer.output.blocks import Code, Equation, Heading, Math, Paragraph, Strong, Table

THREE = ("gpt2", "gpt2-xl", "llama-2-7b")
TOTALS = (124_439_808, 1_557_611_200, 6_738_415_616)  # as counted by transformers
CACHES = ("llama-2-7b", "llama-2-70b", "deepseek-v2", "-q", "kv-cache", "--per", "B*C")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *arguments], prog_name="symformer")


def compared(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def at(formula: str, *sizes: dict[str, int]) -> Fraction:
    """Evaluate a printed formula at the numbers printed next to it, with Python."""
    merged = {name: Fraction(number) for each in sizes for name, number in each.items()}
    return Fraction(eval(formula, {"__builtins__": {}}, merged))  # noqa: S307


def test_json_of_three_models() -> None:
    told = compared(*THREE)
    assert told["models"] == list(THREE)
    # the first two have 50,257 rows, so they share the letter; L and E are three sizes
    assert [sorted(sizes) for sizes in told["sizes"]] == [
        ["E_1", "L_1", "P", "V_1"], ["E_2", "L_2", "P", "V_1"], ["A", "D", "E_3", "G", "H", "L_3", "V_3"],
    ]  # fmt: skip
    for row in told["rows"]:
        for side, sizes in zip(row["models"], told["sizes"], strict=True):
            assert at(side["formula"], sizes) == side["value"]
    assert [side["value"] for side in told["rows"][-1]["models"]] == list(TOTALS)
    assert [(pair["left"], pair["right"], pair["places"]) for pair in told["pairs"]] == [
        ("gpt2", "gpt2-xl", [1, 2]), ("gpt2", "llama-2-7b", [1, 3]),
    ]  # fmt: skip
    for pair, other in zip(told["pairs"], (1, 2), strict=True):
        sizes = (told["sizes"][0], told["sizes"][other])
        assert pair["difference_value"] == at(pair["difference"], *sizes) == TOTALS[0] - TOTALS[other]
        assert Fraction(pair["ratio_value"]) == at(pair["ratio"], *sizes) == Fraction(TOTALS[0], TOTALS[other])
    assert len(told["provenance"]) == 3


def test_json_of_two_models_keeps_its_keys() -> None:
    told = compared("gpt2", "llama-2-7b")
    assert {
        "left", "right", "quantity", "unit", "conventions", "options", "sizes", "rows", "difference",
        "difference_leading", "difference_value", "ratio", "ratio_leading", "ratio_value", "no_ratio", "crossover",
        "provenance",
    } <= told.keys()  # fmt: skip
    assert told["options"] == {"left": {}, "right": {}}
    assert told["rows"][0].keys() == {"part", "left", "right"}
    assert told.keys().isdisjoint({"models", "pairs", "per", "parts", "conventions_of", "tied"})


def test_python_comparison_of_three_models() -> None:
    found = sf.compare(*THREE)
    assert [side.value for side in found.totals] == list(TOTALS)
    assert [str(pair.difference_leading) for pair in found.pairs] == [
        "12*E_1**2*L_1 - 12*E_2**2*L_2",
        "-2*A*D*E_3*L_3 - 2*D*E_3*G*L_3 + 12*E_1**2*L_1 - 3*E_3*H*L_3",
    ]
    for asked in ("difference", "ratio", "limits", "crossings", "no_ratio", "right", "tie"):
        with pytest.raises(OptionError, match=r"3 models have 2 differences from the first; use .pairs for each"):
            getattr(found, asked)
    assert repr(found).startswith("<params of gpt2, 124,439,808, of gpt2-xl, 1,557,611,200, and of llama-2-7b, 6,7")
    chains = [block.chain for block in found.to_blocks() if isinstance(block, Equation) and "crossover" not in block.id]
    assert len(chains) == 3 + 4  # three totals, and a difference and a ratio for each pair
    for each in chains:
        assert {simplify(value(step) - value(each.labels[0])) for step in each.steps} == {0}
    assert sf.compare(*THREE, "kv-cache").formulas[0].measure.name == "kv-cache"
    twelve = sf.compare(*["gpt2"] * 6, *["gpt2-xl"] * 6)
    assert [pair.difference_value for pair in twelve.pairs] == [0] * 5 + [TOTALS[0] - TOTALS[1]] * 6


def test_each_pair_uses_only_its_own_conditions() -> None:
    # 60·(512 + 64)·2 = 69,120 bytes against 4·80·128·G = 40,960·G, for the divisors of 64 heads: 1 is less, 2 is more
    found = sf.compare("deepseek-v2", "gpt2", "llama-2-70b", "kv-cache", per="B*C")
    assert found.pairs[1].crossings[G] == (Span(1, 1, 1), Span(-1, 2, 64))
    assert [pair.names for pair in found.pairs] == [["deepseek-v2", "gpt2"], ["deepseek-v2", "llama-2-70b"]]
    assert [pair.right.target for pair in found.pairs] == ["gpt2", "llama-2-70b"]


def test_total_layer_count_is_used_only_without_counts_of_kinds() -> None:
    """All layers of DeepSeek have a cache, so only L counts; in its parameters L_moe changes L as well."""
    cache = sf.compare("deepseek-v2", "llama-2-70b", "kv-cache", per="B*C", totals=True)
    assert str(cache.totals[0].expr) == "2*D_rope*L_1 + 2*L_1*R_kv"
    # 60 layers of 1,152 bytes against 327,680: 284·1,152 = 327,168, and 285 are more
    assert cache.crossings[cache.renamed_letters[0][L]] == (Span(-1, 1, 284), Span(1, 285, None))
    with_totals, without = (sf.compare("deepseek-v2", "mixtral-8x7b", totals=each) for each in (True, False))
    assert with_totals.difference == without.difference
    assert with_totals.crossings == without.crossings
    assert over("deepseek-v2", "kv-cache", "params").ratio == quotient(
        sf.architecture("deepseek-v2").formula("kv-cache").expanded, sf.architecture("deepseek-v2").params.expanded
    )


def test_letters_are_merged_by_value() -> None:
    # E is 8 in two and 9 in the third; only some have a number for L; V has two different numbers, and none in the
    # third
    known = [{E: 8, V: 1}, {E: 8, V: 2}, {E: 9}]
    first, second, third = own_letters(known, [{E, L, V}] * 3)
    assert [str(each[E]) for each in (first, second, third)] == ["E_1", "E_1", "E_3"]
    # a letter already used by a traced model in this process gets an underscore
    assert [str(each[V]) for each in (first, second, third)] == ["V_1", "V_2", "V_3"]
    assert all(L not in each for each in (first, second, third))
    # a size with a number in one model only is shared, unless it is marked as separate
    assert own_letters([{E: 8}, {}], [{E}, {E}]) == [{}, {}]
    assert [list(map(str, each.values())) for each in own_letters([{E: 8}, {E: 8}], [{E}, {E}], {(1, E)})] == [
        ["E_1"], ["E_2"],
    ]  # fmt: skip


def test_cache_bytes_per_token() -> None:
    """Keys and values of two bytes: 2·L·G·D·2 for heads, 2·L·(R_kv + D_rope) for latents."""
    told = compared(*CACHES)
    # 2·32·32·128·2; 2·80·8·128·2; 60 layers of 512 + 64 numbers of two bytes
    assert [side["value"] for side in told["rows"][-1]["models"]] == [524_288, 327_680, 69_120]
    assert told["rows"][-1]["models"][0]["formula"] == "4*L_1*G_1*D"
    assert told["per"] == "B*C"
    text = run(*CACHES).stdout
    assert "totals 524,288, llama-2-70b (2) totals 327,680 and deepseek-v2 (3) totals 69,120 bytes per BC.\n" in text
    assert "\nU_cache[3]/(BC) = 2·L_3·(R_kv + D_rope) = 2·L_3·R_kv + 2·L_3·D_rope\n" in text
    assert "\nwhere L_3 = L_dense + L_moe\n" in text
    assert "\nU_cache[1]/U_cache[3] = 2·L_1·G_1·D/(L_3·(R_kv + D_rope))\n" in text
    assert "\nWith these sizes, it is about 7.585. " in text  # 524,288/69,120


def test_crossover_of_latent_and_grouped_caches() -> None:
    # DeepSeek-AI 2024, section 2.1.4 and table 1: a latent cache "is equal to GQA with only 2.25 groups", which is (512
    # + 64)/(2·128). With the same number of layers, a cache of 2 groups is smaller and one of 4 larger, for the
    # divisors of 64 heads.
    arguments = ("llama-2-70b", "deepseek-v2", "-q", "kv-cache", "--per", "B*C", "--set", "1:L=60", "--crossover", "G")
    text = run(*arguments).stdout
    assert (
        "\nThe totals are equal if\nG = (R_kv + D_rope)/(2D)\n"
        "llama-2-70b (1) is larger above this value, and deepseek-v2 (2) below it.\n"
    ) in text
    assert (
        "\nllama-2-70b (1) is larger for G from 4 to 64 and deepseek-v2 (2) for G ≤ 2; "
        "the totals are equal at G = 2.25 (now 8).\n"
    ) in text
    pair = sf.compare("component:self-attention", "component:latent-attention", "kv-cache", per="B*C")
    # one layer with as many heads as needed for E: 4E against 2(R_kv + D_rope)
    (crossover,) = pair.crossover("E").values()
    assert str(value(crossover.shown)) == "D_rope/2 + R_kv/2"


def test_convention_of_one_side_only() -> None:
    """Korthikanti et al. 2022: sbh(34 + 5as/h) bytes per layer, and 34sbh with selective recomputation."""
    arguments = ("gpt2", "gpt2", "-q", "activations", "--option", "implementation=megatron", "--option", "dropout=on",
                 "--option", "dtype=bf16")  # fmt: skip
    told = compared(*arguments, "--left", "recompute=none", "--right", "recompute=selective")
    assert told["difference"] == "5*B*S**2*L*A"
    assert told["conventions_of"] == {"left": {"recompute": "none"}, "right": {"recompute": "selective"}}
    assert "recompute" not in told["conventions"]
    assert told["conventions"]["implementation"] == "megatron"
    same = compared(*arguments, "--option", "1:recompute=none", "--option", "2:recompute=selective")
    assert same == told
    said = run(*arguments, "--right", "recompute=selective").stdout
    assert "\ngpt2 (2) is counted with recompute=selective.\n" in said
    given = {"implementation": "megatron", "dropout": "on", "dtype": "bf16"}
    found = sf.compare("gpt2", "gpt2", "activations", **given, right={"recompute": "selective"})
    assert found.difference == 5 * B * S**2 * L * A
    gpt2 = sf.architecture("gpt2")
    sides = [gpt2.formula("activations", **given, recompute=each) for each in ("none", "selective", "full")]
    assert sf.compare(*sides).pairs[0].difference == 5 * B * S**2 * L * A
    assert [each["recompute"] for each in sf.compare(*sides).differing_conventions] == ["none", "selective", "full"]


def test_size_of_one_side_only() -> None:
    # an MLP of 3EH with H = 4E: 12E² per layer, in the second model only; the first has no H to set
    told = compared("gpt2", "llama", "--right", "H=4*E")
    assert next(row for row in told["rows"] if row["part"] == "MLP")["right"]["formula"] == "12*L*E**2"
    tied = compared("llama", "mistral", "gemma", "--set", "H=4*E", "--set", "3:H=5*E", "--set", "3:L=7")
    mlps = next(row for row in tied["rows"] if row["part"] == "MLP")["models"]
    assert [each["formula"] for each in mlps] == ["12*L*E**2", "12*L*E**2", "15*L*E**2"]
    assert tied["sizes"] == [{}, {}, {"L": 7}]


def test_parts_are_compared() -> None:
    told = compared("gpt2", "llama-2-7b", "--part", "1:h.attn", "--part", "2:layers.self_attn")
    # one attention part: 4·768² + 4·768, and 4·4,096²
    assert [told["rows"][-1][side]["value"] for side in ("left", "right")] == [2_362_368, 67_108_864]
    assert told["parts"] == {"left": "h.attn", "right": "layers.self_attn"}
    text = run("gpt2", "llama-2-7b", "--part", "1:h.attn", "--part", "2:layers.self_attn").stdout
    assert text.startswith("gpt2 (h.attn) (1) and llama-2-7b (layers.self_attn) (2): parameters\n")


def said(made: Any) -> str:
    spelt = {str: str, Code: lambda piece: piece.text, Strong: lambda piece: piece.text}
    lines = [block.line for block in made.blocks if isinstance(block, Paragraph | Heading)]
    return "\n".join("".join(spelt.get(type(piece), lambda _: "…")(piece) for piece in line) for line in lines)


def test_document_of_three_models() -> None:
    found = compare(*THREE)
    made = document([found], "0")
    assert made.title == "gpt2, gpt2-xl and llama-2-7b: parameters compared"
    words = said(made)
    assert (
        "gpt2 (1) totals 124,439,808, gpt2-xl (2) totals 1,557,611,200 and llama-2-7b (3) totals 6,738,415,616" in words
    )
    assert "gpt2 (1) and gpt2-xl (2)\nThe difference\n" in words
    assert "gpt2 (1) and llama-2-7b (3)\nThe difference\n" in words
    ids = [block.id for block in made.blocks if isinstance(block, Equation)]
    assert len(ids) == len(set(ids))
    chains = {block.id.partition(".params.")[2]: block.chain for block in made.blocks if isinstance(block, Equation)}
    for place in (2, 3):
        steps = chains[f"{place}.difference"].steps
        assert {expand(value(step) - found.pairs[place - 2].difference) for step in steps} == {0}
    (amounts,) = [block for block in made.blocks if isinstance(block, Table) and block.total]
    columns = [[int(row[place][0].replace(",", "")) for row in amounts.rows] for place in (1, 2, 3)]
    assert [column[-1] for column in columns] == [sum(column[:-1]) for column in columns] == list(TOTALS)
    assert all(
        isinstance(row[1][0], Math)
        for row in next(b for b in made.blocks if isinstance(b, Table) and "Formulas" in str(b.caption)).rows
    )


def test_three_models_in_every_format(tmp_path: Path) -> None:
    made = document([compare("llama-2-7b", "llama-2-70b", "deepseek-v2", "kv-cache")], "0")
    for extension in FORMATS:
        first, second = render(made, extension), render(made, extension)
        assert first == second
        assert len(first) > 3_000
    pages = pypdfium2.PdfDocument(render(made, "pdf"))
    words = "".join(page.get_textpage().get_text_range() for page in pages)
    assert all(name in words for name in ("llama-2-7b", "llama-2-70b", "deepseek-v2"))
    output = tmp_path / "three.md"
    assert run(*THREE, "-q", "params", "-q", "kv-cache", "-o", str(output)).exit_code == 0
    assert output.read_text().count("# gpt2, gpt2-xl and llama-2-7b: parameters and bytes of the key/value cache") == 1


HOSTILE = "_%&#${}^~<>`\"' [x](y) *b* \\cite{k} <script>"


def test_hostile_names_of_three_models_are_escaped(tmp_path: Path) -> None:
    config = {"model_type": "gpt2", "n_embd": 30, "n_layer": 3, "n_head": 5, "vocab_size": 211, "n_positions": 29}
    targets = []
    for name in (HOSTILE, "模型 نموذج", "a" * 250):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))
        targets.append(str(tmp_path / name / "config.json"))
    told = compared(*targets)
    assert told["models"] == targets
    # 211·30 + 29·30 + 3·(12·900 + 13·30) + 60
    assert [side["value"] for side in told["rows"][-1]["models"]] == [40_830] * 3
    assert run(*targets).exit_code == 0
    pages = {extension: run(*targets, "-o", "-", "--format", extension) for extension in ("html", "md", "tex", "typ")}
    for page in pages.values():
        assert page.exit_code == 0
        assert str(tmp_path) not in page.stdout
    for extension in ("html", "md"):
        assert "a" * 250 in pages[extension].stdout.replace("\u200b", "").replace("<wbr>", "")
        assert "模型 نموذج/config.json" in pages[extension].stdout
    assert "<script>/" not in pages["html"].stdout
    assert "&lt;script&gt;/config.json" in pages["html"].stdout
    assert not re.search(r"(?<!\\)\\cite\{k\}", pages["tex"].stdout)


REFUSED = [
    (["gpt2"], "gpt2 is the only model; name a second one, or divide by another quantity with --divide-by"),
    ([], "Missing argument"),
    (["gpt2", "params"], "unexpected argument 'params'; a quantity is given as -q params"),
    (["gpt2", "llama", "E=3"], "unexpected argument 'E=3'; write --set E=3"),
    ([*THREE, "--left", "tied=false"], "--left and --right need exactly two models, not 3"),
    (["gpt2", "llama", "--set", "3:E=4"], "'3:E=4' refers to model 3, but only 2 are given: 1 is gpt2, 2 is llama"),
    (["gpt2", "llama", "--set", "0:E=4"], "'0:E=4' refers to model 0, but only 2 are given"),
    (["gpt2", "llama", "--right", "P=4"], "P (learned positions) is not a size of llama in params"),
    (["gpt2", "llama", "--left", "mlp_bias=true"], "unknown option 'mlp_bias' of gpt2"),
    (["gpt2", "llama", "--right", "attention=causal"], "unknown option 'attention' of llama"),
    (["gpt2", "llama", "--left", "tied"], "'tied' is not of the form KEY=VALUE"),
    ([*THREE, "--set", "X=3"], "X (experts) is not a size of gpt2, gpt2-xl or llama-2-7b in params"),
    ([*THREE, "--option", "x=3"], "unknown option 'x' of gpt2, gpt2-xl and llama-2-7b"),
    (["gpt2", "llama", "--part", "1:nothing"], "unknown part 'nothing'"),
    (["gpt2", "llama", "--part", "1:h", "--part", "1:wte"], "--part is given twice, as 'h' and as 'wte'"),
    (["gpt2", "llama", "--part", "2:"], "the name of the part is empty"),
    (["gpt2", "llama", "--crossover", "L", "-o", "x.pdf"], "a document always lists every crossover"),
    (["gpt2", "llama", "--per", "B*S"], "gpt2.params is not proportional to BS: it is 12LE² + 13LE + VE + PE + 2E"),
    (["gpt2", "llama", "-q", "flops", "--per", "B+S"], "is not a product of sizes; give one, such as B*C"),
    (["gpt2", "llama", "-q", "flops", "--per", "__import__('os')"], "is not plain arithmetic"),
    (["gpt2", "llama", "--crossover", "X"], "X does not affect the difference between gpt2 and llama: it depends on"),
    (["gpt2", "llama", "--crossover", "Q"], "unknown symbol 'Q'"),
    ([*THREE, "-q", "intensity"], "intensity is a ratio"),
    ([*THREE, "nothing"], "unknown target 'nothing'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"), REFUSED, ids=lambda each: " ".join(each)[:50] if isinstance(each, list) else ""
)
def test_invalid_arguments_give_a_one_sentence_error(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_invalid_arguments_are_refused_in_python() -> None:
    gpt2 = sf.architecture("gpt2")
    with pytest.raises(OptionError, match="needs at least two models"):
        sf.compare("gpt2", "params")
    with pytest.raises(OptionError, match="left and right need exactly two models, but 3 are given"):
        sf.compare(*THREE, left={"tied": "false"})
    with pytest.raises(OptionError, match=r"gpt2\.flops is not a params formula; compare formulas"):
        sf.compare(gpt2.params, gpt2.formula("flops"))
    with pytest.raises(OptionError, match="already has its conventions"):
        sf.compare(gpt2.formula("flops"), "gpt2", attention="causal")
    with pytest.raises(OptionError, match="does not belong to a model"):
        sf.compare(sf.component("mlp").params, gpt2.params)
    assert G in sf.compare("llama", "mistral").totals[0].expr.free_symbols


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        # neither 768 nor 4,096 is a multiple of 13: the first is named
        (["gpt2", "llama-2-7b", "--set", "A=13"], "symformer: gpt2: E=768 is not a multiple of A=13"),
        (["llama-2-7b", "gpt2", "--set", "2:A=13"], "symformer: gpt2: E=768 is not a multiple of A=13"),
        (["gpt2", "bert-base-uncased", "-q", "kv-cache"], "symformer: bert-base-uncased: encoder.layer"),
        (
            ["gpt2", "bert-base-uncased", "-q", "flops", "--set", "B=1", "--set", "S=700"],
            "symformer: bert-base-uncased: P=512 (learned positions) is less than S=700",
        ),
        (["llama-2-7b", "gpt2-xl", "--part", "2:nope"], "symformer: gpt2-xl: unknown part 'nope'"),
        (["gpt2", "llama-2-7b", "--option", "2:tied=maybe"], "symformer: llama-2-7b: tied=maybe is not valid"),
        (["gpt2", "nowhere/x.json"], "symformer: nowhere/x.json does not exist"),  # named once
    ],
)
def test_an_error_of_one_model_names_it(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(cli, ["compare", *arguments], prog_name="symformer")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1
