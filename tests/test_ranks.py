"""Every per-rank answer states how many ranks there are: the product of the degrees of parallelism."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from sympy import expand

import symformer as sf
from symformer.commands.cli import cli
from symformer.documents.live_data import LISTS
from symformer.formulas import ranks
from symformer.language.arithmetic import parse
from symformer.views.model_variants import key_of

OPTIONS = ["--option", "tensor=on", "--option", "expert=on", "--set", "N_tp=8", "--set", "N_ep=4"]
ASKED = ["mixtral-8x7b", "-q", "inference-memory", *OPTIONS]
STATED = "tensor-parallel ranks × expert-parallel ranks"
MULTIPLY = "The degrees multiply"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    ("target", "quantity", "options", "product"),
    [
        ("llama", "params", {"tensor": "on"}, "N_tp"),
        ("llama", "params", {"tensor": "on", "pipeline": "first"}, "N_tp*N_pp"),
        ("llama", "params", {"context": "on"}, "N_cp"),  # not a size of the formula
        ("mixtral", "params", {"tensor": "on", "expert": "on", "context": "on"}, "N_tp*N_cp*N_ep"),
        ("llama", "train-memory", {"data": "zero3"}, "N_dp"),
        ("mixtral", "train-memory", {"data": "zero1", "expert": "on", "implementation": "none"}, "N_dp*N_ep"),
        ("llama", "communication", {"tensor": "sequence", "data": "replicated"}, "N_tp*N_dp"),
        ("llama", "intensity", {"tensor": "on"}, "N_tp"),
        ("llama", "params", {"vocab": "padded"}, "1"),
        ("llama", "params", {}, "1"),
    ],
)
def test_the_degrees_multiply(target: str, quantity: str, options: dict[str, str], product: str) -> None:
    formula = sf.architecture(target).formula(quantity, **options)
    assert formula.ranks == parse(product)
    assert bool(ranks.facts(formula.ranks, {})) == (product != "1")


def test_the_stated_ranks_together_store_each_expert_once() -> None:
    model = sf.architecture("deepseek-v3")
    rank = model.formula("params", tensor="on", expert="on")
    of_one = {row.path: row.each for row in rank.rows if ".experts." in row.path and row.each != 0}
    of_all = {row.path: row.each for row in model.params.rows if row.path in of_one}
    assert len(of_one) == len(of_all) == 2
    assert {str(each) for each in rank.ranks.free_symbols} == {"N_tp", "N_ep"}
    assert all(expand(rank.ranks * of_one[path] - of_all[path]) == 0 for path in of_one)


def test_a_terminal_and_json_state_the_number_of_ranks() -> None:
    for command in (["show"], ["tree"], ["compare", "mixtral-8x22b"]):
        said = run(*command, *ASKED)
        assert f"All amounts are per rank; the number of ranks is N_tp·N_ep = 32 ({STATED}). {MULTIPLY}" in said
    (facts,) = (json.loads(run(command, *ASKED, "--json"))["ranks"] for command in ("show",))
    assert facts["formula"] == "N_tp*N_ep"
    assert facts["value"] == 32
    assert facts["degrees"] == {"N_tp": "tensor-parallel ranks", "N_ep": "expert-parallel ranks"}
    assert "Expert-parallel ranks process different sequences." in facts["composition"]
    assert json.loads(run("tree", *ASKED, "--json"))["ranks"] == facts
    assert json.loads(run("compare", "mixtral-8x22b", *ASKED, "--json"))["ranks"] == {"left": facts, "right": facts}
    three = json.loads(run("compare", "mixtral-8x22b", "deepseek-v2-lite", *ASKED, "--json"))
    assert three["ranks"] == [facts, facts, facts]
    one = json.loads(run("show", "mixtral-8x7b", "-q", "inference-memory", "--option", "tensor=on", "--json"))["ranks"]
    assert (one["formula"], one["value"]) == ("N_tp", None)
    assert "ranks" not in json.loads(run("show", "mixtral-8x7b", "--json"))


def test_a_degree_that_divides_no_weights_still_counts_ranks() -> None:
    """Each context-parallel rank has all parameters."""
    said = run("show", "llama-2-7b", "--option", "context=on", "--set", "N_cp=4")
    assert "= 6,738,415,616" in said
    assert "the number of ranks is N_cp = 4 (context-parallel ranks)." in said


@pytest.mark.parametrize("form", ["full", "short"])
def test_documents_state_the_number_of_ranks(form: str) -> None:
    page = run("derive", *ASKED, "--length", form, "-o", "-", "--format", "md")
    product = r"$`N_{\mathrm{tp}} N_{\mathrm{ep}}`$"
    said = f"All amounts are per rank; the number of ranks is {product} = 32 ({STATED}). {MULTIPLY}"
    assert page.count(said) == 1


@pytest.mark.exhaustive
def test_a_comparison_as_a_document_states_the_ranks_of_both_sides_once(tmp_path: Path) -> None:
    page = tmp_path / "both.md"
    run("compare", "deepseek-v2", *ASKED, "-o", str(page))
    assert page.read_text("utf-8").count(f"= 32 ({STATED}). {MULTIPLY}") == 1


@pytest.mark.exhaustive
def test_a_live_page_knows_the_ranks_of_each_form() -> None:
    page = run("derive", *ASKED, "--live", "-o", "-", "--format", "html")
    (data,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    sheet = json.loads(data)
    (tab,) = sheet["tabs"]
    (model,) = tab["models"]
    assert model["forms"]
    for form in model["forms"]:
        number, said = form[-1]["ranks"]
        assert "N_tp" in json.dumps([sheet["trees"][each] for each in [number, *range(number)]])
        assert said.startswith(f"{STATED}. {MULTIPLY}")
        assert {"N_tp", "N_ep"} <= set(sheet["lists"][form[2 + LISTS.index("asks")]])  # after the two trees of a form
    whole = run("derive", "gpt2", "--live", "-o", "-", "--format", "html")
    (data,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', whole, re.DOTALL)
    assert '"ranks":' not in data


def test_a_live_page_has_one_form_per_number_of_ranks() -> None:
    """Each of the N_cp context-parallel ranks has all parameters."""
    one, other = (sf.architecture("gpt2").formula("params", context=context) for context in ("off", "on"))
    assert one.expanded == other.expanded
    assert key_of(one) != key_of(other)


SUM = f"All amounts are per rank; the number of ranks is N_tp·N_ep = 32 ({STATED}). {MULTIPLY}"
RUN = ["--set", "B=1", "--set", "C=4096"]
GIVEN = ["--set", "N_ep=4", "--set", "B=1", "--set", "C=4096"]
DEVICE = [*RUN, "--peak", "989TFLOPS", "--bandwidth", "3.35TB/s"]
WITHOUT = [*ASKED[:-4], *RUN]  # without ranks


@pytest.mark.parametrize(
    "command",
    [
        ["show", *ASKED, "--conventions"],
        ["show", *ASKED, "--part", "layers"],
        ["solve", *ASKED[:-4], "--at-most", "80GB", "--find", "C", "--set", "N_tp=8", *GIVEN[:4]],
        ["sweep", *WITHOUT, "--set", "N_tp=8", "--set", "N_ep=4", "--grid", "V=32000,32064"],
        ["sensitivity", *ASKED, *RUN],
        ["explain", "mixtral-8x7b", "12345GB", *ASKED[1:], *RUN],
        ["check", "2*V*E", "--where", "E=E", "--where", "V=V", "--against", *ASKED],
        ["compare", *ASKED, "--divide-by", "kv-cache", "--set", "B=1"],
    ],
    ids=lambda command: f"{command[0]} {command[-2]}",
)
def test_every_command_states_the_number_of_ranks(command: list[str]) -> None:
    result = CliRunner().invoke(cli, command)
    assert result.exit_code in (0, 1), result.output  # 1 is a verdict of check and explain
    assert result.stdout.count(SUM) == 1


def test_json_has_the_number_of_ranks() -> None:
    facts = json.loads(run("show", *ASKED, "--json"))["ranks"]
    assert facts["given"] == {"N_tp": 8, "N_ep": 4}
    swept = ["sweep", *WITHOUT, "--set", "N_tp=8", "--set", "N_ep=4", "--grid", "V=32000,32064"]
    assert [each["ranks"] for each in json.loads(run(*swept, "--json"))["quantities"]] == [facts]
    variants = json.loads(run("show", *ASKED, "--conventions", "--json"))["variants"]
    assert all(each["ranks"] == facts for each in variants if each["formula"])
    assert json.loads(run("sensitivity", *ASKED, *RUN, "--json"))["ranks"] == facts
    assert json.loads(run("compare", *ASKED, "--divide-by", "kv-cache", "--json"))["ranks"] == facts
    solved = ["solve", *ASKED[:-4], "--at-most", "80GB", "--find", "C", "--set", "N_tp=8", *GIVEN[:4]]
    assert json.loads(run(*solved, "--json"))["ranks"] == facts
    for command in (
        ["check", "2*V*E", "--where", "E=E", "--where", "V=V", "--against", *ASKED],
        ["explain", "mixtral-8x7b", "12345GB", *ASKED[1:], *RUN],
    ):
        assert json.loads(CliRunner().invoke(cli, [*command, "--json"]).stdout)["ranks"] == facts


def test_ranks_that_are_swept_or_solved_for_stay_symbols() -> None:
    swept = run("sweep", *WITHOUT, "--grid", "N_tp=8,16", "--grid", "N_ep=2,4")
    assert f"the number of ranks is N_tp·N_ep ({STATED}). " in swept
    assert f"the number of ranks is N_tp·N_ep = 4·N_tp ({STATED}). " in run(
        "solve", *ASKED[:-4], "--at-most", "80GB", "--find", "N_tp=1:64:1", *GIVEN
    )


def test_answers_for_different_numbers_of_ranks_are_distinguished() -> None:
    """ZeRO shards what training needs, but the parameters of the model are not per rank."""
    options = ["--option", "data=zero3", "--option", "implementation=none"]
    said = run("sweep", "llama-2-7b", "-q", "params", "-q", "train-memory", *options, "--grid", "N_dp=2,4")
    assert "All amounts of train-memory are per rank; the number of ranks is N_dp (data-parallel ranks)." in said
    assert said.count("the number of ranks is") == 1


@pytest.mark.parametrize("extension", ["csv", "jsonl", "parquet"])
def test_a_file_of_a_sweep_has_the_number_of_ranks_of_each_row(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{extension}"
    run("sweep", *WITHOUT, "--grid", "N_tp=4,8", "--set", "N_ep=4", "-o", str(path))
    match extension:
        case "csv":
            head, *lines = (line.split(",") for line in path.read_text("utf-8").splitlines())
            rows = [dict(zip(head, map(int, line), strict=True)) for line in lines]
        case "jsonl":
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        case _:
            rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    assert [(row["N_tp"], row["ranks"]) for row in rows] == [(4, 16), (8, 32)]


def test_a_file_of_a_sweep_needs_the_number_of_ranks(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    asked = ["sweep", "llama-2-7b", "--option", "context=on", "--grid", "V=32000,32064", "-o", str(path)]
    result = CliRunner().invoke(cli, asked)
    assert result.exit_code == 2
    assert "N_cp" in result.stderr
    assert not path.exists()


def test_an_equation_is_printed_alone_and_the_ranks_on_standard_error() -> None:
    result = CliRunner().invoke(cli, ["show", *ASKED, "--format", "latex"])
    assert "ranks" not in result.stdout
    assert SUM in result.stderr


def test_paper_exports_state_the_number_of_ranks() -> None:
    macros = run("derive", *ASKED, "--macros", "-o", "-")
    assert macros.count(f"the number of ranks is N_tp*N_ep = 32 ({STATED.replace('×', 'x')}).") == 1
    assert macros.isascii()
    for form in ("full", "short"):
        fragment = run("derive", *ASKED, "--fragment", "--length", form, "-o", "-")
        assert (
            fragment.count(r"All amounts are per rank; the number of ranks is $N_{\mathrm{tp}} N_{\mathrm{ep}}$ = 32 (")
            == 1
        )
    page = run("compare", *ASKED, "--divide-by", "kv-cache", "-o", "-", "--format", "md")
    assert page.count("All amounts are per rank; the number of ranks is") == 1


def test_a_notebook_states_the_number_of_ranks() -> None:
    """8 tensor-parallel ranks on every card: in words in HTML and Markdown, as an equation in LaTeX."""
    model = sf.architecture("llama-2-7b").set({"N_tp": 8})
    formula = model.formula("params", tensor="on")
    found = [formula, formula.rows, formula.derivation]
    for each in found:
        assert "per rank; the number of ranks is $N_{\\mathrm{tp}}$ = 8 (tensor-parallel ranks)." in str(
            each._repr_html_()
        )
        assert r"the number of ranks is $N_{\mathrm{tp}}$ = 8 (tensor-parallel ranks)." in str(each._repr_markdown_())
        flat = str(each._repr_latex_()).replace("&", "").replace("\\\\\n", "")
        assert r"\mathrm{ranks} = N_{\mathrm{tp}} = 8" in flat
    answers = [
        sf.sensitivity(model, tensor="on"),
        sf.check("V*E", model, tensor="on"),
        sf.explain(model, "842534912", "params", tensor="on"),
        sf.sweep(model, {"V": [32000, 32064]}, tensor="on"),
        sf.solve(model, "842534912", unknowns=["V"], tensor="on"),
        sf.over(model, "kv-cache", "params", tensor="on"),
    ]
    for answer in answers:
        assert (
            str(answer._repr_html_()).count(r"the number of ranks is $N_{\mathrm{tp}}$ = 8 (tensor-parallel ranks).")
            == 1
        )
    assert all("ranks" not in str(each._repr_html_()) for each in (model.params, sf.sensitivity("gpt2")))


@pytest.mark.parametrize(
    "command",
    [
        ["plot", "--kind", "memory", *ASKED, "--set", "C=4096"],
        ["plot", "--kind", "flops", "llama-2-7b", "--option", "tensor=on", "--set", "N_tp=8"],
        ["plot", "--kind", "shares", "llama-2-7b", "--option", "tensor=on", "--set", "N_tp=8"],
        [
            "plot",
            "--kind",
            "roofline",
            "llama-2-7b",
            "--option",
            "tensor=on",
            "--set",
            "N_tp=8",
            "--set",
            "S=64",
            *DEVICE,
        ],
        ["sensitivity", *ASKED, *RUN],
        ["compare", *ASKED, "--divide-by", "params", *RUN, "--x", "B"],
        ["compare", "mixtral-8x22b", *ASKED, *RUN],
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_plots_state_the_number_of_ranks(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    below: list[str] = []
    monkeypatch.setattr(figure.Figure, "supxlabel", lambda self, text, **look: below.append(text))
    run(*command, "-o", str(tmp_path / "plot.svg"))
    (text,) = below
    assert "All amounts are per rank; the number of ranks is $N_{" in " ".join(text.split())


@pytest.mark.parametrize("part", [[], ["--kind", "part", "--part", "layers.self_attn"]])
def test_a_figure_states_the_number_of_ranks(part: list[str]) -> None:
    drawn = run("plot", "llama-2-7b", *part, "--option", "tensor=on", "--set", "N_tp=8", "-o", "-", "--format", "tex")
    assert "All amounts are per rank; the number of ranks is" in drawn
