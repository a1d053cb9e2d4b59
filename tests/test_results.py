"""Results of the algebra: all have the same views, and the numbers in plots are computed by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.algebra.result import Answer
from symformer.commands.cli import cli
from symformer.documents.comparison_document import document
from symformer.language.errors import SymformerError
from symformer.language.symbols import D, E, G, H, L
from symformer.output import notebook
from symformer.output.bars import Bars
from symformer.output.base_plot import Plot
from symformer.output.blocks import Heading, Paragraph, plain
from symformer.output.chart import Chart
from symformer.output.heat_map import HeatMap

# A layer of Llama-2 7B: 4·4096² for attention, 3·4096·11008 for the MLP, 2·4096 for norms; the whole from its card.
LAYER, LLAMA = 67_108_864 + 135_266_304 + 8_192, 6_738_415_616

ANSWERS: dict[str, Callable[[], Answer]] = {
    "compare": lambda: sf.compare("gpt2-xl", "llama-2-7b"),
    "of three": lambda: sf.compare("llama-2-7b", "llama-2-70b", "deepseek-v2", "kv-cache", per="B*C"),
    "tied": lambda: sf.compare("gpt2-xl", "llama-2-7b", match="params", adjust="L"),
    "over": lambda: sf.over(sf.model("gpt2").set({"B": 3}), "flops", "params"),
    "check": lambda: sf.check("12 L E^2 + V E", "gpt2"),
    "explain": lambda: sf.explain("gpt2", "163,037,184"),
    "solve": lambda: sf.solve("llama-2-7b", LLAMA, unknowns="L"),
    "sweep": lambda: sf.sweep("gpt2", {"E": [768, 1536], "L": "12:36:12"}),
    "sensitivity": lambda: sf.sensitivity("llama-2-7b"),
}
WORDS = ("check", "explain")  # no plot has it


@pytest.mark.parametrize("name", ANSWERS)
def test_every_result_has_every_view(name: str) -> None:
    found = ANSWERS[name]()
    table = found.table()
    assert len({len(column) for column in table.values()}) == 1
    assert len(next(iter(table.values()))) > 0
    assert json.loads(json.dumps(found.to_json()))
    assert found.latex().count("$$") % 2 == 0
    assert found.latex() == found._repr_latex_() != ""
    assert list(found._repr_mimebundle_()) == ["text/plain", "text/html", "text/markdown", "text/latex"]
    if name in WORDS:
        with pytest.raises(SymformerError, match="has no plot"):
            found.plot()
    else:
        assert isinstance(found.plot(), Plot)


@pytest.mark.parametrize("name", ["of three", "over", "sweep"])  # bars, a chart, a heat map
def test_figures_are_byte_identical_when_repeated(name: str) -> None:
    first, again = (ANSWERS[name]().plot()._repr_svg_() for _ in range(2))
    assert first == again
    assert first.startswith("<?xml")


def test_terminal_notebook_and_document_state_the_same_sentences() -> None:
    found = sf.compare("gpt2", "llama-2-7b")
    blocks = found.to_blocks()
    sentences = [plain(block.line) for block in blocks if isinstance(block, Heading | Paragraph)]
    assert len(sentences) > 10
    printed = CliRunner().invoke(cli, ["compare", "gpt2", "llama-2-7b"]).stdout.splitlines()
    assert [line for line in printed if line in sentences] == sentences
    pages = [plain(block.line) for block in document([found], "0").blocks if isinstance(block, Heading | Paragraph)]
    assert {*sentences} - {*pages} == {"gpt2 (1) and llama-2-7b (2): parameters"}  # the title
    assert found._repr_html_() == notebook.html(blocks)


def test_tables_contain_the_expected_rows() -> None:
    rows = sf.compare("gpt2-xl", "llama-2-7b").table()
    assert list(rows) == ["part", "gpt2-xl", "llama-2-7b", "gpt2-xl value", "llama-2-7b value"]
    assert rows["part"][-1] == "total"
    assert rows["llama-2-7b value"][-1] == LLAMA
    assert sf.solve("llama-2-7b", LLAMA, unknowns="L").table()["L"] == [32]
    each = sf.sensitivity("llama-2-7b").table()
    assert each["one more value"][each["size"].index(L)] == LAYER
    counted = sf.explain("gpt2", "163,037,184").table()
    assert counted["value"] == [124_439_808, 50_257 * 768]  # the tied head again
    assert sf.check("12 L E^2 + 13 L E + V E + P E", "gpt2").table()["difference"] == [2 * E]  # the final norm
    wrong = sf.check("12 L E^2 + 12 L E + V E + P E + 2 E", "gpt2").table()["difference"]
    assert set(wrong) == {L * E}


def test_bars_equal_the_table_rows() -> None:
    found = sf.compare("gpt2-xl", "llama-2-7b").plot()
    assert isinstance(found, Bars)
    assert list(found.names) == ["embeddings", "attention", "MLP", "norms", "head", "total"]
    # 32·3·4096·11008 for the MLPs; 50,257·1600 + 1024·1600 for the tables
    assert found.series["llama-2-7b"][2] == 32 * 135_266_304
    assert found.series["gpt2-xl"][0] == (50_257 + 1_024) * 1_600
    assert found.written["llama-2-7b"][-1] == "6,738,415,616"


def test_curves_cross_at_the_computed_point() -> None:
    # The cache of a token: 2·2·80·128·G = 40,960·G bytes in Llama-2 70B, and 2·60·(512 + 64) = 69,120 in DeepSeek-V2.
    found = sf.compare("llama-2-70b", "deepseek-v2", "kv-cache", per="B*C").plot(x="G")
    assert isinstance(found, Chart)
    first, other, mark = found.series
    assert [*first.xs] == [1, 2, 4, 8]  # the divisors of 64 heads, up to its own 8
    assert [*first.ys] == [40_960 * groups for groups in first.xs]
    assert {*other.ys} == {69_120}
    assert abs(mark.xs[0] - Fraction(69_120, 40_960)) < Fraction(1, 10**9)
    assert [*found.notes] == ["llama-2-70b is larger: $G$ 2 to 64", "deepseek-v2 is larger: $G$ 1"]


def test_a_ratio_plot_shows_the_limit() -> None:
    # The cache of a token over the parameters: 16,384·L over LAYER·L + 2·32,000·4096 + 4096.
    one = sf.model("llama-2-7b").set({"B": 1, "C": 1})
    found = sf.over(one, "kv-cache", "params").plot(x="L")
    assert isinstance(found, Chart)
    assert found.across[0].at == Fraction(16_384, LAYER)
    at = dict(zip(found.series[0].xs, found.series[0].ys, strict=True))
    assert at[1] == Fraction(16_384, LAYER + LLAMA - 32 * LAYER)


def test_solutions_are_marked_in_the_chart() -> None:
    nearest = sf.solve("llama-2-7b", 7 * 10**9, unknowns="L").plot()
    assert isinstance(nearest, Chart)
    line, mark = nearest.series
    assert ([*mark.xs], [*mark.ys], mark.name) == ([33], [LLAMA + LAYER], "the nearest")
    assert dict(zip(line.xs, line.ys, strict=True))[33] == LLAMA + LAYER
    assert [each.at for each in nearest.across] == [7 * 10**9]
    several = sf.solve("llama-2-7b", LLAMA, unknowns=["L=1:80:1", "H=64:16384:64"], tolerance="1%").plot()
    assert isinstance(several, Chart)
    both = [(x, y) for each in several.series for x, y in zip(each.xs, each.ys, strict=True)]
    assert (32, 11_008) in both
    size = 4 * 4096**2 + 2 * 4096  # for a layer without its MLP
    inside = [layers * (size + 3 * 4096 * hidden) + LLAMA - 32 * LAYER for layers, hidden in both]
    assert all(abs(each - LLAMA) * 100 <= LLAMA for each in inside)


def test_a_sweep_is_drawn_as_a_line_a_heat_map_or_a_pareto_front() -> None:
    given = {"A": 16}
    line = sf.sweep("gpt2", {"L": [36, 12]}, sizes={"E": 1280, "A": 20}).plot()
    assert isinstance(line, Chart)
    assert ([*line.series[0].xs], line.series[0].ys[1]) == ([12, 36], 774_030_080)  # GPT-2 large
    cells = sf.sweep("gpt2", {"E": [768, 1000, 1024], "L": [12, 24]}, sizes=given).plot()
    assert isinstance(cells, HeatMap)
    assert cells.numbers[1024, 24] == 354_823_168  # GPT-2 medium
    assert (1000, 12) not in cells.numbers  # 16 heads do not divide 1000
    assert [*cells.notes] == ["4 configs of gpt2; 2 left out"]
    front = sf.sweep(
        "gpt2", {"E": "16:256:16", "L": "1:20:1"}, ["params", "kv-cache"], sizes={**given, "B": 1, "C": 7},
        pareto=["kv-cache", "max:params"],
    ).plot()  # fmt: skip
    assert isinstance(front, Chart)
    every, kept = (list(zip(each.xs, each.ys, strict=True)) for each in front.series)
    assert len(every) == 16 * 20
    best = {(x, y) for x, y in every if not any(a <= x and b >= y and (a, b) != (x, y) for a, b in every)}
    assert {*kept} == best
    assert len(kept) < len(every)


def test_sweep_reads_a_file_like_the_command(tmp_path: Path) -> None:
    path = tmp_path / "configs.csv"
    path.write_text("E,L\n768,12\n1024,24\n")
    found = sf.sweep("gpt2", str(path), sizes={"A": 16})
    assert [int(each) for each in found.table()["params"]] == [124_439_808, 354_823_168]  # GPT-2 small and medium
    with pytest.raises(SymformerError, match="is not a file"):
        sf.sweep("gpt2", str(tmp_path / "none.csv"))


def test_elasticities_and_asymptote_are_drawn() -> None:
    found = sf.sensitivity("llama-2-7b")
    bars = found.plot()
    assert isinstance(bars, Bars)
    at = dict(zip(bars.names, bars.series["elasticity"], strict=True))
    assert at["$L$"] == Fraction(32 * LAYER, LLAMA)
    curve = found.plot(x="L")
    assert isinstance(curve, Chart)
    exact, mark, end = curve.series
    assert ([*mark.xs], [*mark.ys]) == ([32], [LLAMA])
    assert [*end.ys] == [LAYER * layers for layers in exact.xs]


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no number": (lambda: sf.compare("gpt2", "llama-2-7b", "flops").plot(), "a bar plot needs a value for B, S"),
    "another size free": (lambda: sf.compare("gpt2", "llama-2-7b", "flops").plot(x="L"), "gpt2 needs a value for B"),
    "a size of neither": (lambda: sf.compare("gpt2", "llama-2-7b").plot(x="X"), "X does not affect gpt2 and"),
    "a total": (lambda: sf.compare("gpt2", "deepseek-v2").plot(x="L"), r"L is L_dense \+ L_moe"),
    "not in the quotient": (lambda: sf.over("gpt2", "kv-cache", "params").plot(x="X"), "gpt2 does not depend on X"),
    "three sizes": (lambda: sf.sweep("gpt2", {"E": [768], "L": [1, 2], "V": [3, 4]}).plot(), "a plot has two axes"),
    "a front of three": (
        lambda: sf.sweep("gpt2", {"E": [768], "L": [1, 2]}, pareto=["params", "E", "L"]).plot(),
        "a plot can show a front of two objectives, not 3",
    ),
    "the first": (lambda: sf.sweep("gpt2", {"L": [1, 2]}, limit=1).plot(), "cannot show only the first rows"),
    "no row": (lambda: sf.sweep("gpt2", {"L": [1, 2]}, filters=["L = 3"]).plot(), "no rows remain"),
    "units": (
        lambda: sf.sweep("gpt2", {"L": [1, 2]}, ["params", "kv-cache", "flops"], sizes={"B": 1, "C": 2, "S": 3}).plot(),
        "cannot share an axis",
    ),
    "no such size": (lambda: sf.sensitivity("gpt2").plot(x="X"), "gpt2.params does not depend on X"),
    "no numbers": (lambda: sf.sensitivity("bert").plot(), "a plot of elasticities needs a value"),
    "a file of text": (lambda: sf.sensitivity("gpt2").plot("a.txt"), r"a plot needs the extension \.svg"),
    "no folder": (lambda: sf.sensitivity("gpt2").plot("no/such/a.svg"), "the folder no/such does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_results_without_a_figure_are_refused(name: str) -> None:
    draw, said = REFUSED[name]
    with pytest.raises(SymformerError, match=said):
        draw()


LINES: dict[str, str] = {
    "compare.svg": "compare gpt2 gpt2-xl",
    "crossover.png": "compare llama-2-70b deepseek-v2 -q kv-cache --per B*C --crossover G",
    "over.svg": "compare gpt2 llama-2-7b -q kv-cache --divide-by params --set B=1 --x C",
    "solve.pdf": "solve llama-2-7b --total 6738415616 --find L",
    "sweep.svg": "sweep gpt2 --grid L=1:9:2",
    "sensitivity.png": "sensitivity gpt2 --x E",
}


@pytest.mark.parametrize("name", LINES)
def test_commands_write_figures(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    found = CliRunner().invoke(cli, [*LINES[name].split(), "-o", str(path)])
    assert found.exit_code == 0, found.output
    assert path.read_bytes()[:4] in (b"<?xm", b"\x89PNG", b"%PDF")
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("compare gpt2 gpt2-xl --crossover L --crossover E -o a.svg", "one size on its x-axis"),
        ("compare gpt2 gpt2-xl --crossover L -o a.pdf", "applies to terminal output and plots"),
        ("compare gpt2 gpt2-xl -o a.svg --format md", "--format applies to documents only"),
        ("compare gpt2 -q flops --divide-by params --x S", "name its file with -o"),
        ("solve gpt2 --total 7e9 --find L -o a.svg --json", "remove one of the two"),
        ("sensitivity gpt2 --x L", "name its file with -o"),
        (
            "sweep gpt2 --grid L=1:9:2 -o a.tex",
            "a sweep needs the extension .csv, .parquet, .jsonl",
        ),
    ],
)
def test_commands_refuse_invalid_figure_requests(line: str, said: str) -> None:
    found = CliRunner().invoke(cli, line.split())
    assert found.exit_code == 2
    assert said in found.output


def test_hand_computed_sizes_match_the_model() -> None:
    model = sf.model("llama-2-7b")
    assert (model.known[E], model.known[H], model.known[L], model.known[G] * model.known[D]) == (4096, 11_008, 32, 4096)
