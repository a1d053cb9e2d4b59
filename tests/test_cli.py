"""The contract of the command line: output, refusals, and exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from symformer.commands.cli import cli

from .conftest import Rewrite


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="symformer")


def shown(*arguments: str) -> dict[str, Any]:
    result = run("show", *arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_show_json_follows_its_contract() -> None:
    document = shown("gpt2-xl")
    assert list(document) == [
        "target", "architecture", "quantity", "unit", "conventions",
        "notes", "formula", "latex", "symbols", "value", "missing", "breakdown", "provenance",
    ]  # fmt: skip
    assert document["missing"] == []
    assert document["target"] == "gpt2-xl"
    assert document["architecture"] == "gpt2"
    assert document["quantity"] == "params"
    assert document["unit"] == "elements"
    assert document["conventions"] == {}
    assert document["formula"] == "12*L*E**2 + 13*L*E + V*E + P*E + 2*E"
    assert document["latex"] == "12 L E^{2} + 13 L E + V E + P E + 2 E"
    assert document["symbols"] == {"L": 48, "V": 50257, "P": 1024, "E": 1600, "H": 6400, "A": 25}
    assert document["value"] == 1_557_611_200
    assert document["breakdown"][0] == {"path": "wte", "count": "1", "formula": "V*E", "value": 80_411_200}
    assert sum(row["value"] for row in document["breakdown"]) == document["value"]


def test_json_formula_is_python_arithmetic() -> None:
    """Python evaluates each formula to the value printed next to it."""
    document = shown("llama-2-70b")
    symbols = document["symbols"]
    plain = {"__builtins__": {}}
    assert eval(document["formula"], plain, symbols) == document["value"] == 68_976_648_192  # noqa: S307
    for row in document["breakdown"]:
        assert eval(f"({row['count']}) * ({row['formula']})", plain, symbols) == row["value"]  # noqa: S307


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["component:mlp", "--set", "E=5", "--set", "H=16"], 181),
        (["component:mlp", "--set", "E=5", "--set", "H=16", "--option", "bias=false"], 160),
        (["component:self-attention", "--set", "E=5", "--set", "A=1"], 120),
        (["component:lm-head", "--option", "tied=true", "--set", "V=11", "--set", "E=5"], 0),
        (["feed-forward-lm"], 1_461),
        (["bare-bones-transformer-lm", "--set", "H=5"], 1_730),  # 1851 - (2*5*16 + 16) + (2*5*5 + 5)
        (["gpt2", "--option", "tied=false"], 124_439_808 + 50_257 * 768),
        (["gpt2", "--set", "L=13"], 124_439_808 + 12 * 768**2 + 13 * 768),
        (["llama", "--set", "V=29", "--set", "E=24", "--set", "H=7", "--set", "L=5", "--set", "A=6", "--set", "G=3",
          "--set", "D=10"], 5 * (2 * 24 * 60 + 2 * 24 * 30 + 3 * 24 * 7 + 2 * 24) + 2 * 29 * 24 + 24),
        (["palm-540b", "--option", "norm_scales=true"], 540_356_474_880),
        (["gpt2", "--quantity", "flops", "--set", "B=1", "--set", "S=1024"], 291_648_307_200),
    ],
)  # fmt: skip
def test_show_prints_known_values(arguments: list[str], value: int) -> None:
    assert shown(*arguments)["value"] == value


def test_value_is_null_without_sizes() -> None:
    document = shown("llama")
    assert document["value"] is None
    assert document["formula"] == "2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E"
    assert all(row["value"] is None for row in document["breakdown"] if row["formula"] != "0")
    assert "no value for B, S: set each with --set\n" in run("show", "gpt2", "-q", "flops").stdout
    assert "set each with --set, or name a preset, such as llama-7b\n" in run("show", "llama").stdout
    assert "no value for B, S: set each" in run("compare", "gpt2", "llama-2-7b", "-q", "flops").stdout


def test_conventions_are_listed() -> None:
    usual = {"attention": "full", "logits": "all", "embedding": "lookup", "count": "contractions"}
    assert shown("gpt2", "--quantity", "flops")["conventions"] == usual
    chosen = shown("gpt2", "--quantity", "flops", "--option", "attention=causal", "--option", "tied=false")
    assert chosen["conventions"] == {**usual, "attention": "causal", "tied": "false"}


def test_expressions_in_set_keep_symbols() -> None:
    assert shown("component:mlp", "--set", "H=4*E")["formula"] == "8*E**2 + 5*E"
    assert shown("gpt2", "--set", "V=2*E")["formula"] == "12*L*E**2 + 13*L*E + P*E + 2*E**2 + 2*E"


# the arguments, and words that the message must contain
REFUSED = [
    (["show", "gpt-2"], ["unknown target 'gpt-2'", "did you mean gpt2"]),
    (["show", "zzz"], ["unknown target 'zzz'", "known: "]),
    (["show", "component:mpl"], ["unknown component 'mpl'", "did you mean mlp"]),
    (["show", "gpt2", "--set", "Q=3"], ["unknown symbol 'Q'"]),
    (["show", "gpt2", "--set", "G=3"], ["unknown symbol 'G' of gpt2", "known: B, S, L, V, P, E, H, A"]),
    (["show", "gpt2", "--set", "E=1.5"], ["E=1.5", "1.5 is not an integer"]),
    (["show", "gpt2", "--set", "E=3/2"], ["E=3/2", "3/2 is not an integer"]),
    (["show", "gpt2", "--set", "E=0"], ["E=0", "a size is a positive integer"]),
    (["show", "gpt2", "--set", "E=-3"], ["E=-3", "a size is a positive integer"]),
    (["show", "gpt2", "--set", "E=10**400"], ["E=10**400", "exponent 400"]),
    (["show", "gpt2", "--set", "E=" + "9" * 401], ["a number of 401 digits"]),
    (["show", "gpt2", "--set", "E=770"], ["E=770 is not a multiple of A=12", "query heads"]),
    (["show", "llama-2-7b", "--set", "G=5"], ["A=32 is not a multiple of G=5"]),
    (["show", "gpt2", "--set", "E"], ["'E' is not of the form NAME=VALUE"]),
    (["show", "gpt2", "--set", "E=E+1"], ["depends on itself"]),
    (["show", "gpt2", "--set", '__import__("os").system("x")'], ["not of the form NAME=VALUE"]),
    (["show", "gpt2", "--set", 'E=__import__("os").system("x")'], ["E=__import__", "not plain arithmetic"]),
    (["show", "gpt2", "--quantity", "parms"], ["unknown quantity 'parms'", "did you mean params"]),
    (["show", "gpt2", "--option", "teid=false"], ["unknown option 'teid' of gpt2", "did you mean tied"]),
    (["show", "gpt2", "--option", "tied=perhaps"], ["tied=perhaps is not valid", "true or false"]),
    (["show", "gpt2", "--option", "head=tail"], ["head=tail is not valid", "lm or none"]),
    (["show", "gpt2", "--option", "tied"], ["'tied' is not of the form KEY=VALUE"]),
    (["show", "gpt2", "--option", "attention=causal"], ["unknown option 'attention' of gpt2"]),
    (["show", "gpt2", "--quantity", "flops", "--option", "attention=half"], ["choose from full, causal"]),
    (["show", "GPT2"], ["unknown target 'GPT2'; did you mean gpt2?"]),
    (["show", "gpt2", "-q", "memory"], ["did you mean inference-memory, train-memory or weight-memory?"]),
    (["show", "gpt2", "-q", "vram"], ["unknown quantity 'vram'; known: activations, "]),
    (["show", "gpt2", "--set", "n_embd=96"], ["unknown symbol 'n_embd'; did you mean E (hidden size)?"]),
    (["show", "gpt2", "--set", "batch_size=3"], ["unknown symbol 'batch_size'; did you mean B (batch size)?"]),
    (["show", "gpt2", "--set", "N_tp=3"], ["has no effect", "ranks need an option, such as tensor=on"]),
    (["show", "gpt2", "-q", "flops", "--set", "S=5000"], ["P=1024 (learned positions) is less than S=5000"]),
    (["derive", "gpt2", "-o", "-", "--format", "md", "-q", "flops", "--set", "S=5000"], ["is less than S=5000"]),
    (["gpt2"], ["'gpt2' is not a command; to show its formula: symformer show gpt2"]),
    (["show", "gpt2", "flops"], ["unexpected argument 'flops'; a quantity is given as -q flops"]),
    (["show", "flops", "gpt2"], ["unexpected argument 'gpt2'; a quantity is given as -q flops"]),
    (["show", "gpt2", "--set", "B=1", "S=8"], ["unexpected argument 'S=8'; write --set S=8"]),
    (
        ["show", "gpt2", "-q", "flops", "--set", "S", "8"],
        ["unexpected argument '8'; a size is written --set NAME=VALUE"],
    ),
    (["show", "gpt2", "tied=false"], ["unexpected argument 'tied=false'; write --option tied=false"]),
    (["trace", "torch.nn:Linear", "in_features=3"], ["write --size in_features=3"]),
    (["list", "gpt2"], ["unexpected argument 'gpt2'; see `symformer list --help`"]),
    (["show", "."], [". is a folder without a config.json; give the path of one"]),
    (["show", "missing/config.json"], ["missing/config.json does not exist"]),
    (["show", "package:factory"], ["package:factory cannot be imported: ModuleNotFoundError"]),
    (["derive", "gpt2", "-o", "nowhere/gpt2.pdf"], ["the folder nowhere does not exist"]),
    (["derive", "gpt2", "-o", "gpt2.doc"], ["gpt2.doc ends in .doc; a derivation needs the extension .pdf, .tex"]),
    (["derive", "gpt2", "-o", "gpt2"], ["has no extension"]),
    (["compare", "gpt2", "bert", "-o", "."], ["is a folder"]),
    (["derive", "gpt2", "-o", ""], ["the name of the output file is empty"]),
    (["compare", "gpt2", "gpt3"], ["unknown target 'gpt3'"]),
    (["cite", "vaswani2018"], ["unknown formula or paper 'vaswani2018'", "did you mean vaswani2017"]),
    (["trace", "torch.nn:Linear", "--size", "in_features=x"], ["in_features=x is not a number"]),
    (["cite", "gtp2.params"], ["unknown formula 'gtp2.params'", "did you mean gpt2.params"]),
    (["cite", "gpt2.parms"], ["unknown quantity 'parms'"]),
    (["cite", "gpt2.params.h.atn"], ["unknown part 'h.atn'", "did you mean h.attn"]),
    (
        ["verify", "bert", "--quantity", "kv-cache"],
        ["torch can verify params, flops, train-flops, activations, train-memory of bert, but not 'kv-cache'"],
    ),
    (["show", "bert", "--quantity", "kv-cache"], ["encoder.layer.*.attention.scores: this attention is not causal"]),
    (["verify", "component:mlp"], ["no built-in torch model"]),
    (["gallery", "nowhere"], ["the folder nowhere does not exist"]),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=lambda value: " ".join(value)[:60])
def test_invalid_arguments_give_a_one_sentence_error(
    arguments: list[str], words: list[str], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 1_400
    for word in words:
        assert word in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["show"], ["derive", "gpt2"], ["verify"], ["nonsense"], ["show", "gpt2", "--foo"]]
)
def test_usage_errors_exit_with_2(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_unwritable_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "gpt2.md"
    target.write_text("kept")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    result = run("derive", "gpt2", "-o", str(target))
    assert result.exit_code == 2
    assert "cannot be written: permission denied" in result.stderr
    assert target.read_text() == "kept"


def test_full_disk_keeps_the_previous_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "gpt2.md"
    target.write_text("kept")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    result = run("derive", "gpt2", "-o", str(target))
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert [place.name for place in tmp_path.iterdir()] == ["gpt2.md"]
    assert target.read_text() == "kept"


def test_list() -> None:
    document = json.loads(run("list", "--json").stdout)
    assert "gpt2" in document["architectures"]
    assert document["presets"]["gpt2-xl"] == "gpt2"
    assert "component:mlp" in document["components"]
    assert document["quantities"]["params"] == "elements"
    text = run("list").stdout
    for name in [*document["architectures"], *document["presets"], *document["components"], *document["quantities"]]:
        assert name in text
    facts = json.loads(run("list", "--presets", "--json").stdout)
    assert facts.keys() == document["presets"].keys()
    assert facts["gpt2-xl"]["sizes"]["E"] == 1_600
    rows = run("list", "--presets").stdout.splitlines()
    assert len(rows) == 1 + len(facts)
    assert any("qwen3-30b-a3b " in row and "Qwen/Qwen3-30B-A3B " in row for row in rows)


def test_tree() -> None:
    lines = run("tree", "gpt2").stdout.splitlines()
    (block,) = [line for line in lines if "h: L × PreNormBlock" in line]
    assert "12LE² + 13LE" in block
    assert "85,054,464" in block  # 12*(12*768² + 13*768)
    assert "68.3%" in block
    facts = json.loads(run("tree", "bert-base-uncased", "--json").stdout)
    assert facts["modules"][0]["value"] == 109_482_240
    query = next(module for module in facts["modules"] if module["module"].endswith("query: Linear(E, E)"))
    assert query["value"] == 12 * (768**2 + 768)


def test_compare() -> None:
    document = json.loads(run("compare", "gpt2", "llama-2-7b", "--json").stdout)
    assert document["difference_leading"] == "-2*L_2*E_2*A*D - 2*L_2*E_2*G*D + 12*L_1*E_1**2 - 3*L_2*E_2*H"
    rows = {row["part"]: row for row in document["rows"]}
    assert rows["attention"]["left"]["formula"] == "4*L_1*E_1**2 + 4*L_1*E_1"
    assert rows["total"]["left"]["value"] == 124_439_808
    assert rows["total"]["right"]["value"] == 6_738_415_616
    for side in ("left", "right"):
        assert sum(row[side]["value"] for part, row in rows.items() if part != "total") == rows["total"][side]["value"]
    general = json.loads(run("compare", "palm", "llama", "--json").stdout)
    assert general["ratio_leading"] == "(2*A*D + 12*E)/(2*A*D + 2*G*D + 3*H)"
    same = run("compare", "gpt2", "gpt2").stdout
    assert "The totals are equal for all sizes. Their ratio is 1.\n" in same


def test_cite() -> None:
    entry, *papers = run("cite", "gpt2.params.h.attn").stdout.split("\n@")
    assert entry.startswith("@misc{gpt2.params.h.attn,")
    assert "$4 E^{2} + 4 E$" in entry
    assert [paper.partition(",")[0] for paper in papers] == ["inproceedings{vaswani2017"]
    assert "techreport{radford2019," in run("cite", "gpt2.params").stdout
    assert run("cite", "llama-3.2-1b.params").stdout.startswith("@misc{llama.params:tied-true,")


def test_verify_prints_its_certificate() -> None:
    (verdict,) = json.loads(run("verify", "gpt2-xl", "-q", "params", "--seed", "7", "--json").stdout)
    assert verdict["exact"] is True
    assert verdict["certificate"]["seed"] == 7
    assert verdict["certificate"]["presets"]["gpt2-xl"] == 1_557_611_200
    # another activation than in any variant: 12*10*768² + 13*10*768 + 50257*768 + 2048*768 + 2*768
    assert verdict["certificate"]["presets"]["cerebras-gpt-111m"] == 111_050_496
    text = run("verify", "gpt2", "-q", "params", "--seed", "7").stdout
    assert text.count("exact") == 4
    assert "3 of 3 exact, with torch 2.13.0, transformers 5.23.0" in text


def test_verify_reads_a_config_at_its_own_sizes(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gpt2", "n_embd": 12, "n_head": 3, "n_inner": 7}))
    (verdict,) = json.loads(run("verify", str(path), "-q", "params", "--json").stdout)
    assert verdict["certificate"]["presets"][str(path)] == json.loads(run("show", str(path), "--json").stdout)["value"]


def test_verify_exits_with_1_if_a_row_differs(rewrite: Rewrite) -> None:
    from symformer.components.layer_norm import LayerNorm

    rewrite(LayerNorm, lambda self, ops, x: ops.norm("", x, "layer", bias=False))
    result = run("verify", "gpt2-xl", "--quantity", "params")
    assert result.exit_code == 1
    assert "DIFFERS" in result.stdout
    assert "gpt2-xl: ln_f.bias: formula has no such row" in result.stdout


def test_completion() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_SYMFORMER_COMPLETE" in run("completion", shell).stdout
    environment = {
        **os.environ,
        "_SYMFORMER_COMPLETE": "bash_complete",
        "COMP_WORDS": "symformer show gpt2-",
        "COMP_CWORD": "2",
    }
    code = "from symformer.commands.cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    ).stdout
    assert "gpt2-xl" in found


def test_version_and_help_import_nothing_heavy() -> None:
    cited = (Path(__file__).parents[1] / "CITATION.cff").read_text("utf-8")
    (number,) = (line.removeprefix("version: ") for line in cited.splitlines() if line.startswith("version: "))
    assert run("--version").stdout == f"symformer {number}\n"
    assert version("symformer") == number
    for command in ("list", "show", "derive", "verify", "tree", "compare", "cite", "gallery", "completion"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert "Usage: symformer" in result.stdout
    code = """
import sys
sys.argv = ["symformer", "--help"]
from symformer.commands.cli import main
try:
    main()
except SystemExit:
    print([name for name in ("sympy", "rich", "jinja2", "typst", "torch") if name in sys.modules])
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.endswith("\n[]\n")


def test_tables_have_borders_only_on_a_terminal() -> None:
    import pty

    assert "\x1b" not in run("show", "gpt2").stdout
    main, worker = pty.openpty()
    command = [sys.executable, "-m", "symformer", "show", "gpt2"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    process = subprocess.Popen(command, stdout=worker, env=environment, close_fds=True)
    os.close(worker)
    seen = b""
    while True:
        try:
            piece = os.read(main, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    assert process.wait() == 0
    assert b"\x1b[" in seen
    assert b"124,439,808" in seen
