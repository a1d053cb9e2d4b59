"""Tables of models: values from hand arithmetic, rounding, notes, and floats that fit the pages of four publishers."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

import symformer as sf
from symformer.documents.formats.table_float import arranged, line_width
from symformer.documents.model_table import ModelTable
from symformer.documents.table_files import comma_separated, page
from symformer.language.errors import OptionError, SizeError, UnknownNameError
from symformer.language.notation.significant import significant
from symformer.language.printed_number import printed
from symformer.output.blocks import Math, Table, plain

from .test_cli import run

FOUR = ["gpt2", "llama-3-8b", "deepseek-v3", "mamba2-2.7b"]

# Rounding


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (124_439_808, "elements", "124M"),
        (1_557_611_200, "elements", "1.56B"),
        (671_026_404_352, "elements", "671B"),
        (999_499_999, "elements", "999M"),
        (999_500_000, "elements", "1.00B"),
        (950, "elements", "950"),
        (0, "elements", "0"),
        (7_325, "elements", "7.33K"),  # halves are rounded up
        (14_974_321_098_765, "FLOPs", "14.97 TFLOPs"),
        (999_950, "MACs", "1.000 MMACs"),
        (999_949, "MACs", "999.9 kMACs"),
        (999, "bytes", "999 bytes"),
        (36_864, "bytes", "36.86 kB"),
        (3 * 10**22, "FLOPs", "30,000 EFLOPs"),
        (Fraction(2_000, 3), "bytes", "666.7 bytes"),
        (Fraction(1, 3), "of the FLOPs", "33.3%"),
        (Fraction(1_234, 100), "FLOPs/byte", "12.34 FLOPs/byte"),
    ],
)
def test_values_have_three_or_four_digits(value: int | Fraction, unit: str, shown: str) -> None:
    assert significant(value, unit) == shown


def test_the_parser_of_printed_numbers_reads_rounded_values_back() -> None:
    draw = random.Random(7)  # noqa: S311
    for _ in range(400):
        value = draw.randrange(1, 10 ** draw.randrange(1, 16))
        for unit, kept in (("elements", 3), ("FLOPs", 4), ("bytes", 4)):
            shown = significant(value, unit)
            read = printed(f"{shown} parameters" if unit == "elements" else shown)
            assert read.unit == unit
            assert read.fits(value) in ("exact", "rounded"), (value, shown)
            assert value < 1_000 or len(re.sub(r"\D", "", shown)) == kept, (value, shown)


# Values


def test_costs_per_token_are_exact() -> None:
    found = sf.table(FOUR, ["params", "active-params", "flops", "kv-cache", "decode-flops"], per="token",
                     sizes={"S": 1000, "C": 1001})  # fmt: skip
    values = {
        model: dict(zip(found.quantities, row, strict=True)) for model, row in zip(FOUR, found.cells, strict=True)
    }
    gpt2 = values["gpt2"]
    # 24LE² + 2VE + 4SLE with L = 12, E = 768, V = 50,257: 169,869,312 + 77,194,752 + 36,864·1,000
    assert gpt2["flops"].value == 169_869_312 + 77_194_752 + 36_864 * 1_000
    # the same with one token after C: it attends to C + 1 tokens
    assert gpt2["decode-flops"].value == 169_869_312 + 77_194_752 + 36_864 * 1_002
    assert gpt2["kv-cache"].value == 2 * 2 * 12 * 768  # keys and values, 2 bytes
    assert gpt2["params"].value == gpt2["active-params"].value == 124_439_808
    assert values["llama-3-8b"]["kv-cache"].value == 2 * 2 * 32 * 8 * 128
    assert values["deepseek-v3"]["kv-cache"].value == 2 * 61 * (512 + 64)  # one latent and one rotary key
    # mamba2-2.7b: 80·64·128 elements of float32 and (5,120 + 2·128)·4 of bf16 in each of 64 layers, whatever C is
    state = values["mamba2-2.7b"]["kv-cache"]
    assert state.value == Fraction(64 * (4 * 80 * 64 * 128 + 2 * 4 * 5376), 1001)
    assert {str(size): number for size, number in state.at.items()} == {"C": 1001}
    assert gpt2["kv-cache"].at == {}


def test_a_cost_that_depends_on_no_length_needs_none() -> None:
    found = sf.table(["gpt2", "mamba2-2.7b"], ["kv-cache"], per="token")
    assert [cell.value for (cell,) in found.cells] == [36_864, None]
    assert [cell.reason for (cell,) in found.cells] == ["", "no value for C"]


def test_whole_costs_equal_the_formulas() -> None:
    found = sf.table(["gpt2", "t5-small"], ["flops", "intensity"], sizes={"B": 3, "S": 130, "S_enc": 70})
    for name, row in zip(["gpt2", "t5-small"], found.cells, strict=True):
        sizes = {"B": 3, "S": 130, **({"S_enc": 70} if name == "t5-small" else {})}
        for quantity, cell in zip(found.quantities, row, strict=True):
            assert cell.value == sf.model(name).formula(quantity).value(**sizes)


def test_a_missing_value_has_a_reason() -> None:
    found = sf.table(["gpt2", "vit-base-patch16-224", "llava-1.5-7b"], ["flops", "kv-cache"], per="token",
                     sizes={"S": 2048, "C": 512})  # fmt: skip
    notes = [plain(line) for line in found.notes() if line[0] and str(line[0]).startswith("—")]
    assert notes == [
        "— No forward FLOPs per token of gpt2: P=1024 (learned positions) is less than S=2048 (sequence length); "
        "choose fewer tokens or more positions.",
        "— No forward FLOPs per token of vit-base-patch16-224 and llava-1.5-7b: a model that takes images has no cost "
        "per token.",
        "— No key/value cache per token of vit-base-patch16-224: layers.*.attention.scores: this attention is not "
        "causal, so the keys and values of earlier tokens cannot be cached.",
    ]
    assert [cell.value for row in found.cells for cell in row] == [None, 36_864, None, None, None, 524_288]
    assert [plain(cell) for cell in found.as_table().rows[1]] == ["vit-base-patch16-224", "—", "—"]


# Columns, captions and notes


def test_columns_of_sizes() -> None:
    every = sf.table(["gpt2", "llama-3-8b", "mamba2-2.7b"], ["params"], columns="every")
    assert [str(size) for size in every.sizes] == ["L", "V", "E", "H", "A"]  # mamba2 has no H, llama-3-8b no P
    assert [plain(cell) for cell in every.as_table().rows[2]] == [
        "mamba2-2.7b",
        "64",
        "50,288",
        "2,560",
        "–",
        "–",
        "2.70B",
    ]
    assert [str(size) for size in sf.table("gpt2", columns="every").sizes] == ["L", "V", "P", "E", "H", "A"]
    table = sf.table(["gpt2", "llama-3-8b"], ["params"], columns=["G", "L"])
    assert table.table()["G"] == [None, 8]
    assert plain(table.notes()[-1]) == "G: key/value heads; L: layers. – marks a size that a model does not have."


def test_the_caption_states_the_lengths_and_the_notes_the_conventions() -> None:
    found = sf.table(["gpt2", "mamba2-2.7b"], ["flops", "kv-cache"], per="token", sizes={"S": 512, "C": 300},
                     attention="causal", dtype="fp8")  # fmt: skip
    assert plain(found.caption()) == "Forward FLOPs per token and cache and state per token at S = 512 and C = 300."
    brief = [plain(line) for line in found.notes(brief=True)]
    assert brief[0] == (
        "Forward FLOPs per token at 2 FLOPs per multiply-add, with attention=causal, logits=all, embedding=lookup and "
        "count=contractions. The values depend on S."
    )
    assert brief[1] == (
        "Cache and state per token, with dtype=fp8 and tokens=all. The values depend on C for mamba2-2.7b."
    )
    full = " ".join(map(plain, found.notes()))
    for words in ("counts only unmasked query-key pairs", "1 byte per element", "float32", "Divided by the BS tokens"):
        assert words in full, words


def test_conventions_that_differ_name_their_models() -> None:
    result = run("table", "gpt2", "gpt2", "-q", "flops", "--set", "B=1", "--set", "1:S=7", "--set", "2:S=9",
                 "--option", "2:attention=causal", "--option", "2:tied=false", "--set", "2:V=11")  # fmt: skip
    assert result.exit_code == 0, result.output
    for words in ("for gpt2 (1)", "for gpt2 (2)", "gpt2 (2) has tied=false and V = 11.", "gpt2 (1) is run with S = 7.",
                  "Forward FLOPs at B = 1."):  # fmt: skip
        assert words in result.stdout, words


def test_ranks_are_stated() -> None:
    result = run("table", "llama-3-8b", "--option", "tensor=on", "--set", "N_tp=4")
    assert "All amounts are per rank; the number of ranks is N_tp = 4" in result.stdout


# Files


def test_csv_has_exact_values_units_and_reasons() -> None:
    found = sf.table(["gpt2", "vit-base-patch16-224"], ["params", "kv-cache"], per="token", columns=["L", "V"])
    rows = list(csv.reader(StringIO(comma_separated(found))))
    assert rows[0] == ["model", "L", "V", "params (elements)", "kv-cache (bytes per token)", "notes"]
    assert rows[1] == ["gpt2", "12", "50257", "124439808", "36864", ""]
    assert rows[2][:5] == ["vit-base-patch16-224", "12", "", "86567656", ""]
    assert rows[2][5].startswith("kv-cache: layers.*.attention.scores: ")


def test_json() -> None:
    result = run("table", "gpt2", "mamba2-2.7b", "-q", "kv-cache", "--per", "token", "--set", "C=7", "--json")
    document = json.loads(result.stdout)
    assert document["quantities"] == [{"name": "kv-cache", "unit": "bytes", "per": "B*C"}]
    gpt2, mamba = (model["quantities"]["kv-cache"] for model in document["models"])
    assert (gpt2["value"], gpt2["formula"], gpt2["at"]) == (36_864, "4*L*E", {})
    assert mamba["value"] == "170524672/7"  # 64·(4·80·64·128 + 2·4·5,376) bytes over 7 tokens
    assert mamba["at"] == {"C": 7}


@pytest.mark.parametrize("extension", ["tex", "md", "csv", "html", "pdf", "typ"])
def test_every_format_has_the_values(extension: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("table", "gpt2", "vit-base-patch16-224", "-q", "params", "-q", "kv-cache", "--set", "B=1", "--set",
                 "C=1000", "--size", "L", "-o", f"a.{extension}")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.stderr == f"wrote a.{extension}\n"
    content = Path(f"a.{extension}").read_bytes()
    if extension == "pdf":
        assert content.startswith(b"%PDF")
        return
    text = content.decode()
    for words in ("gpt2", "86567656" if extension == "csv" else "86.6M", "not causal"):
        assert words in text, words
    again = run("table", "gpt2", "vit-base-patch16-224", "-q", "params", "-q", "kv-cache", "--set", "B=1", "--set",
                "C=1000", "--size", "L", "-o", "-", "--format", extension)  # fmt: skip
    assert again.stdout == text


def test_a_page_numbers_its_table() -> None:
    document = page(sf.table(["gpt2", "gpt2-xl"]), "0")
    assert [block.number for block in document.blocks if isinstance(block, Table)] == [1]
    assert document.title == "Parameters of 2 models"


# Audits of papers that include a table


@pytest.mark.parametrize("exact", [False, True])
def test_an_audit_checks_the_values_of_a_float(exact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    models = [sf.model(name) for name in (*FOUR, "vit-base-patch16-224")]
    models.append(sf.model("gpt2", tied=False).set({"L": 13}))
    found = sf.table(models, ["params", "flops", "kv-cache"], sizes={"S": 900, "B": 3, "C": 901}, exact=exact,
                     attention="causal", dtype="fp8")  # fmt: skip
    Path("table.tex").write_text(found.latex())
    Path("paper.tex").write_text(r"\documentclass{article}\begin{document}\input{table}\end{document}")
    assert r"\symformer[tied=false,L=13]{gpt2.params}" in found.latex()
    assert r"\symformer[attention=causal,B=3,S=900]{llama-3-8b.flops}" in found.latex()
    # three values of each of six models, one of which is a dash: images have no KV cache
    assert run("audit", "paper.tex").stdout == "18 checked in 2 files, all correct\n"
    right, wrong = ("124{,}439{,}808", "124{,}439{,}809") if exact else ("124M", "125M")
    Path("table.tex").write_text(found.latex().replace(right, wrong))
    result = run("audit", "paper.tex")
    assert result.exit_code == 1
    assert f"gpt2.params is {wrong}; expected 124,439,808" in result.stdout


def varied(exact: bool) -> str:
    """A table in LaTeX with every kind of cell: sizes, totals, costs per token, shares, times and missing values."""
    models = ["gpt2", sf.model("mamba2-2.7b"), sf.model("gpt2", tied=False).set({"L": 13})]
    sizes = {"S": 900, "C": 901, "B": 3}
    costs = sf.table(models, ["params", "kv-cache", "flops"], per="token", columns="every", sizes=sizes, exact=exact,
                     attention="causal")  # fmt: skip
    step = {"S": 900, "B": 3, "N_peak": 10**15, "N_bw": 3 * 10**12}
    others = sf.table(models[:2], ["intensity", "attention-share", "train-time", "communication"], sizes=step,
                      exact=exact)  # fmt: skip
    return re.sub(r"^%.*\n", "", costs.latex() + others.latex(), flags=re.MULTILINE)


@pytest.mark.parametrize("exact", [False, True])
def test_an_audit_finds_a_wrong_number_in_every_cell(
    exact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    latex = varied(exact)
    Path("paper.tex").write_text(latex)
    marked = re.compile(r"(\\symformer(?:\[[^]]*\])?\{[^{}]*\})\{((?:[^{}]|\{[^{}]*\})*)\}")
    numbers = [number for _, number in marked.findall(latex)]
    cells = sum(line.count(" & ") for line in latex.splitlines() if line.startswith(r"\texttt"))
    assert len(numbers) == cells == 3 * 9 + 2 * 4  # six sizes and three quantities, then four quantities
    assert r"\symformer[per=token,attention=causal,S=900]{gpt2.flops}" in latex
    assert r"\symformer[tied=false,L=13]{gpt2.V}{50{,}257}" in latex
    assert run("audit", "paper.tex").stdout == f"{cells} checked in 1 file, all correct\n"

    def planted(found: re.Match[str]) -> str:
        return f"{found[1]}{{{'7' if found[2].startswith('--') else re.sub('[0-9]', _next, found[2], count=1)}}}"

    absent = sum(number.startswith("--") for number in numbers)
    Path("paper.tex").write_text(marked.sub(planted, latex))
    result = run("audit", "paper.tex", "--json")
    found = json.loads(result.stdout)
    assert (len(found["differs"]), len(found["unread"])) == (cells - absent, absent)
    assert {each["what"] for each in found["differs"]} >= {"gpt2.L", "gpt2.flops", "mamba2-2.7b.kv-cache"}
    assert "mamba2-2.7b.A cannot be checked: mamba2-2.7b has no size A" in [each["why"] for each in found["unread"]]
    assert (result.exit_code, absent) == (2, 4)  # Mamba-2 has no P, H and A, and its intensity is refused
    dashes = marked.sub(lambda each: f"{each[1]}{{--}}", latex)  # a dash in the place of a value is wrong, too
    Path("paper.tex").write_text(dashes)
    assert run("audit", "paper.tex").stdout.endswith(f"{cells} checked in 1 file, {cells - absent} differ\n")


def _next(digit: re.Match[str]) -> str:
    return str(int(digit[0]) % 9 + 1)


# Refusals


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gpt2", "-q", "intensity", "--per", "token"], "intensity has no cost per token; choose from flops, macs"),
        (["gpt2", "-q", "parms"], "did you mean params"),
        (
            ["gpt2", "--size", "G"],
            "G (key/value heads) is not a known size of any of the models; known: L, V, P, E, H, A",
        ),
        (["gpt2", "--size", "Q"], "unknown symbol 'Q'"),
        (["gpt2", "bert", "--set", "S=4"], "is not a size of gpt2 or bert in params"),
        (["gpt2", "--option", "teid=false"], "did you mean tied"),
        (["gpt2", "--sizes", "--size", "L"], "--sizes selects the columns of sizes itself"),
        (["gpt2", "-o", "a.doc"], "a table needs the extension .tex, .md, .csv, .html, .pdf or .typ"),
        (["gpt2", "--json", "-o", "a.md"], "remove one of the two"),
        (["gpt2", "--format", "md"], "--format applies to files"),
        (["gpt2", "--per", "layer"], "'layer' is not 'token'"),
    ],
)
def test_refusals(arguments: list[str], words: str) -> None:
    result = run("table", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_refusals_in_python() -> None:
    for arguments, error, words in (
        ({"per": "layer"}, OptionError, "choose 'token'"),
        ({"attention": "causal"}, OptionError, "not a convention of params"),
        ({"sizes": {"S": 4}}, SizeError, "S is not a size of gpt2 in params"),
        ({"columns": "Q"}, UnknownNameError, "unknown symbol 'Q'"),
        ({"quantities": ()}, OptionError, "at least one quantity"),
    ):
        with pytest.raises(error, match=words):
            sf.table("gpt2", **arguments)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="no plot"):
        sf.table("gpt2").plot()


# LaTeX: the float fits a column or the page of each publisher, in the type that it chooses

WIDE = {"quantities": ["params", "active-params", "flops", "kv-cache", "decode-flops", "weight-memory", "activations"],
        "columns": "every", "exact": True}  # fmt: skip


@cache
def tables() -> dict[str, ModelTable]:
    return {
        "narrow": sf.table(FOUR, ["params", "flops"], sizes={"S": 900, "B": 1}),
        "broad": sf.table(
            [*FOUR, "vit-base-patch16-224"],
            ["params", "active-params", "flops", "kv-cache"],
            per="token",
            columns="every",
            sizes={"S": 900, "C": 901},
        ),
        "page": sf.table(
            FOUR, ["params", "active-params", "flops", "kv-cache"], per="token", sizes={"S": 900, "C": 901}
        ),
        "panels": sf.table(FOUR, sizes={"S": 900, "B": 1, "C": 901}, **WIDE),  # type: ignore[arg-type]
        "named": sf.table(
            [replace(sf.model("gpt2"), target="a-long-name/" * 9 + "x" * 90), "gpt2"],
            ["params", "kv-cache"],
            per="token",
        ),
        "tall": sf.table(
            [
                "qwen3-30b-a3b",
                "gpt-oss-20b",
                "nemotron-h-8b",
                "gemma-3-27b",
                "whisper-large-v3",
                "dit-xl-2",
                "sd3-medium",
            ],
            ["params", "flops", "kv-cache"],
            per="token",
            columns="every",
            sizes={"S": 900, "C": 901},
        ),
        "long": sf.table([f"gpt2{size}" for size in ("", "-medium", "-large", "-xl")] * 23, ["params"], columns=["L"]),
    }


def test_the_float_is_as_narrow_as_its_table() -> None:
    chosen = {name: arranged(found.as_table()) for name, found in tables().items()}
    assert {name: (place.environment, len(panels)) for name, (place, panels) in chosen.items()} == {
        "narrow": ("table", 1),
        "broad": ("table*", 1),
        "page": ("table*", 1),
        "panels": ("table*", 3),
        "named": ("table*", 1),
        "tall": ("table*", 3),
        "long": ("table", 1),
    }
    assert tables()["long"].latex().count(r"\begin{table}") == 3  # 92 rows, at most 36 in each
    assert r"\label{tab:models-3}" in tables()["long"].latex()
    for found in tables().values():
        assert "resize" not in found.latex()


def test_estimated_widths_are_not_below_those_of_computer_modern() -> None:
    """cmr10: digits 0.5 em, capitals up to 1.028 em (W), cmtt10 0.525 em, italic capitals up to 0.944 em (W)."""
    assert line_width(["1,234"]) >= 4 * 0.5 + 0.278
    assert line_width(["FLOPs"]) >= 0.653 + 0.625 + 0.778 + 0.681 + 0.394
    assert line_width([Math.of(sf.model("gpt2").params.symbols[0])]) >= 0.681


# The page sizes of the classes; the classes themselves are used if they are installed.
CLASSES = {
    "acl": r"\documentclass[11pt,twocolumn]{article}\setlength\textwidth{16cm}\setlength\columnsep{0.6cm}",
    "neurips": r"\documentclass{article}\setlength\textwidth{5.5in}"
    r"\makeatletter\renewcommand\footnotesize{\@setfontsize\footnotesize\@ixpt\@xpt}\makeatother",
    "ieee": r"\documentclass[conference]{IEEEtran}",
    "acm": r"\documentclass[sigconf,nonacm]{acmart}",
}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex, which CI's own check has")
@pytest.mark.parametrize(
    ("publisher", "engine"),
    [
        ("acl", "pdflatex"),
        *(
            pytest.param(publisher, engine, marks=pytest.mark.exhaustive)
            for publisher in CLASSES
            for engine in ("pdflatex", "lualatex")
            if (publisher, engine) != ("acl", "pdflatex")
        ),
    ],
)
def test_floats_fit_the_pages_of_papers(
    publisher: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    needs = {"ieee": "IEEEtran.cls", "acm": "acmart.cls"}.get(publisher, "article.cls")
    if shutil.which(engine) is None or subprocess.run(["kpsewhich", needs], check=False).returncode:
        pytest.skip(f"needs {engine} and {needs}")
    body = ""
    for name, found in tables().items():
        Path(f"{name}.tex").write_text(found.latex())
        body += f"Before.\\input{{{name}}}\n\n"
    start = CLASSES[publisher] + "\\usepackage{booktabs}\n\\begin{document}\n"
    start += "\\title{T}\\author{A}\\maketitle\n" if publisher in ("ieee", "acm") else ""
    Path("paper.tex").write_text(f"{start}{body}\\clearpage\\end{{document}}\n")
    done = subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper"],
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2_000:]
    log = Path("paper.log").read_text(errors="replace")
    assert "Overfull" not in log
    assert "Float too large" not in log
