"""Exit statuses, output on different terminals, and shell completion."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from time import monotonic

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from symformer import witness
from symformer.catalogue import config_match
from symformer.catalogue.disk_cache import Store
from symformer.catalogue.measured_model import STORED
from symformer.commands import base_command
from symformer.commands.cli import COMMANDS, cli
from symformer.commands.terminal import cells, fold, layout, row_width, stacked_table, visible
from symformer.configs import hub
from symformer.language.arithmetic import parse as arithmetic
from symformer.language.notation.text import amount
from symformer.views import formula_blocks

from .samples import sampled
from .test_config_resolution import ARCEE

PROGRAM = [sys.executable, "-m", "symformer"]
ENCODINGS = ["ascii", "cp1252", "latin-1"]


def run(*arguments: str, charset: str = "utf-8") -> Result:
    return CliRunner(charset=charset).invoke(cli, arguments, prog_name="symformer")


def sentence(result: Result) -> str:
    """Return the error message of a refused command: one line on standard error, and nothing else."""
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("symformer: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


# Output destinations


@pytest.mark.parametrize("charset", ENCODINGS)
@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["show", "bert-base-uncased"],
        ["show", "gpt2", "-q", "flops", "--conventions", "--set", "B=2", "--set", "S=5"],
        ["show", "llama-2-7b", "-q", "intensity", "--set", "B=2", "--set", "S=5", "--json"],
        ["tree", "bert-base-uncased"],
        ["tree", "gpt2", "--json"],
        ["compare", "gpt2", "llama-2-7b"],
        ["cite", "gpt2.params"],
        ["papers"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_output_is_written_in_every_encoding(arguments: list[str], charset: str) -> None:
    result = run(*arguments, charset=charset)
    assert result.exit_code == 0, result.stderr
    assert result.stdout_bytes.decode(charset)


@pytest.mark.parametrize("charset", ENCODINGS)
def test_formulas_fall_back_to_arithmetic_that_parses_back(charset: str) -> None:
    plain, document = run("show", "gpt2", charset=charset).stdout, json.loads(run("show", "gpt2", "--json").stdout)
    closed = re.search(r"^N = (.+) = 124,439,808$", plain, re.MULTILINE)
    assert closed
    assert closed[1] == document["formula"]
    assert arithmetic(closed[1]) == arithmetic("12*L*E**2 + 13*L*E + V*E + P*E + 2*E")
    lines = run("tree", "gpt2", charset=charset).stdout.splitlines()
    assert any(re.match(r"\|  \|  \|- c_attn: Linear\(E, 3\*E\) +3\*L\*E\*\*2 \+ 3\*L\*E ", line) for line in lines)
    assert any(line.startswith("`- lm_head: LMHead ") for line in lines)
    places = {line.rindex("%") for line in lines if "%" in line}
    assert len(places) == 1  # replacement characters do not change the alignment of columns


def test_utf_8_output_is_unchanged() -> None:
    assert "N = 12LE² + 13LE + VE + PE + 2E = 124,439,808" in run("show", "gpt2").stdout
    assert "│  ├─ c_attn: Linear(E, 3E)" in run("tree", "gpt2").stdout


def test_json_is_valid_in_every_encoding(tmp_path: Path) -> None:
    path = tmp_path / "模型\x9b\x1b.json"
    path.write_text(json.dumps({"model_type": "gpt2"}))
    for charset in ("utf-8", *ENCODINGS):
        result = run("show", str(path), "--json", charset=charset)
        assert json.loads(result.stdout_bytes.decode(charset))["target"] == str(path)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", result.stdout)


def program(arguments: str, redirected: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m symformer {arguments} {redirected}"
    found = subprocess.run(
        ["bash", "-c", command], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in found.stderr
    assert "Exception ignored" not in found.stderr
    return found


FULL = "symformer: standard output cannot be written: No space left on device\n"
CLOSED = "symformer: standard output is closed; open it, or write to a file\n"


@pytest.mark.parametrize(
    ("arguments", "redirected", "status", "said"),
    [
        ("list", "> /dev/full", 2, FULL),
        ("--help", "> /dev/full", 2, FULL),
        ("show gpt2", ">&-", 2, CLOSED),
        ("show gpt2 --json", ">&-", 2, CLOSED),
        ("show nonsense", "2> /dev/full", 2, ""),
        ("show nonsense", "2>&-", 2, ""),
        ("list", "| true; exit ${PIPESTATUS[0]}", 141, ""),  # like a program that SIGPIPE ends
    ],
)
def test_output_to_a_full_or_closed_stream(arguments: str, redirected: str, status: int, said: str) -> None:
    found = program(arguments, redirected)
    assert (found.returncode, found.stderr) == (status, said)


def test_writing_a_file_needs_no_standard_output(tmp_path: Path) -> None:
    found = program(f"derive component:linear -o {tmp_path}/x.md", ">&-")
    assert (found.returncode, found.stderr) == (0, f"wrote {tmp_path}/x.md\n")
    assert (tmp_path / "x.md").read_text().startswith("# Linear")


def test_pythonioencoding_is_respected() -> None:
    found = program("show gpt2 | head -2", "", PYTHONIOENCODING="ascii")
    assert "12*L*E**2 + 13*L*E + V*E + P*E + 2*E" in found.stdout
    assert found.stderr == ""


# Control characters

ESCAPE = "\x1b[31m\x07\r\x9b2J\u202e"


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", f"x{ESCAPE}"],
        ["show", f"./{ESCAPE}.json"],
        ["show", f"a{ESCAPE}/b"],
        ["show", f"component:{ESCAPE}"],
        ["show", "gpt2", f"{ESCAPE}"],
        ["show", "gpt2", f"--{ESCAPE}"],
        ["show", "gpt2", "-q", ESCAPE],
        ["show", "gpt2", "--set", f"{ESCAPE}=3"],
        ["show", "gpt2", "--set", f"E={ESCAPE}"],
        ["show", "gpt2", "--option", f"{ESCAPE}=3"],
        ["show", "gpt2", "--option", f"tied={ESCAPE}"],
        ["derive", "gpt2", "-o", f"{ESCAPE}.doc"],
        ["derive", "gpt2", "-o", f"{ESCAPE}/x.md"],
        ["cite", ESCAPE],
        ["cite", f"gpt2.{ESCAPE}"],
        ["cite", f"gpt2.params.{ESCAPE}"],
        ["compare", "gpt2", ESCAPE],
        ["gallery", ESCAPE],
        [ESCAPE],
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_control_characters_never_reach_a_terminal(arguments: list[str]) -> None:
    said = sentence(run(*arguments))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", said)


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / f"a{ESCAPE}\nb.json"
    path.write_text(json.dumps({"model_type": "gpt2"}))
    for command in (["show"], ["tree"], ["compare", "gpt2"]):
        result = run(*command, str(path))
        assert result.exit_code == 0
        assert "\\x1b[31m" in result.stdout
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.stdout)
    assert run("derive", "component:linear", "-o", f"{tmp_path}/{ESCAPE}.md").stderr.count("\n") == 1
    assert visible("a\nb\x7f\u2028\ud800c") == r"a\nb\x7f\u2028\ud800c"


# Repeated and unknown arguments


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "gpt2", "--set", "L=3", "--set", "L=4"], "L is given twice, as 3 and as 4"),
        (["tree", "gpt2", "--option", "tied=true", "--option", "tied=true"], "tied is given twice"),
        (["show", "gpt2", "-q", "flops", "--quantity", "params"], "--quantity is given 2 times"),
        (["derive", "gpt2", "-o", "a.md", "-o", "b.md"], "--output is given 2 times"),
        (["verify", "gpt2", "--seed", "1", "--seed", "1"], "--seed is given 2 times"),
        (["trace", "a:b", "--size", "E=3", "--size", "E=4"], "E is given twice"),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_duplicate_arguments_are_refused(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in sentence(run(*arguments))
    assert list(tmp_path.iterdir()) == []


def test_repeatable_options_may_be_repeated() -> None:
    assert run("show", "gpt2", "--json", "--json").exit_code == 0
    assert run("show", "component:mlp", "--set", "E=3", "--set", "H=5").exit_code == 0
    assert run("derive", "component:mlp", "-q", "params", "-q", "flops", "-o", "-", "--format", "md").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["show"],
        ["show", "gpt2", "--zzzz"],
        ["show", "gpt2", "a", "b"],
        ["show", "gpt2", "--set"],
        ["completion"],
        ["verify"],
    ],
)
def test_an_invalid_command_line_is_one_sentence(arguments: list[str]) -> None:
    said = sentence(run(*arguments))
    command = "symformer " + arguments[0] if arguments != ["nonsense"] else "symformer"
    assert said.endswith(f"; see `{command} --help`\n")
    assert "\\n" not in said


def test_no_command_prints_the_help() -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: symformer")
    assert "symformer show gpt2-xl" in result.stderr


def test_the_error_for_an_unknown_id_describes_valid_ids() -> None:
    said = sentence(run("cite", "nope"))
    assert "unknown formula 'nope'" in said
    assert "gpt2.params.h.attn" in said
    assert len(said) < 400


def test_a_refusal_names_an_option_that_works() -> None:
    """Training memory of every component: none has a model in transformers, and each message names the alternatives."""
    from symformer import components

    for name in components.names():
        arguments = ("show", f"component:{name}", "-q", "train-memory")
        said = sentence(run(*arguments))  # no component has both parts: most have layers that Megatron's paper lacks
        assert "or none, which excludes activations" in said or "train-memory with implementation=none" in said
        assert run(*arguments, "--option", "implementation=none").exit_code == 0


def test_lists_in_errors_are_short() -> None:
    for arguments in (
        ["show", "zzz"],
        ["show", "gpt2", "-q", "zzz"],
        ["cite", "deepseek-v3.params.zzz"],
        ["cite", "zzz"],
    ):
        assert len(sentence(run(*arguments))) < 600
    assert len(sentence(run("show", "z" * 100_000))) < 600
    assert len(sentence(run("show", "gpt2", "--set", "E=" + "(" * 100_000))) < 1_400


def test_commands_and_command_files_match() -> None:
    files = {
        path.stem for path in Path(base_command.__file__).parent.glob("*.py") if "@click.command(" in path.read_text()
    }
    assert files == set(COMMANDS)
    for name in COMMANDS:
        found = cli.get_command(click.Context(cli), name)
        assert found is not None
        assert found.name == name


def test_an_internal_error_is_one_sentence_with_a_separate_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise ValueError("so\x1b and so")

    monkeypatch.setattr(formula_blocks, "formula_blocks", broken)
    result = run("show", "gpt2")
    assert result.exit_code == base_command.DEFECT == 70
    assert re.fullmatch(
        r"symformer: internal error, a bug in symformer: ValueError in show\.py, line \d+: so\\x1b and so\n",
        result.stderr,
    )


def test_ctrl_c_prints_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(formula_blocks, "formula_blocks", stopped)
    result = run("show", "gpt2")
    assert result.exit_code == 130
    assert result.stderr.strip() == "symformer: stopped"


# Bytes


def test_bytes_are_also_printed_in_gigabytes() -> None:
    arguments = ["show", "llama-2-7b", "-q", "kv-cache", "--set", "B=1", "--set", "C=4096"]
    assert "= 2,147,483,648 (2.15 GB, 2.00 GiB)\n" in run(*arguments).stdout  # 2**31: 2 GiB
    assert json.loads(run(*arguments, "--json").stdout)["value"] == 2**31
    assert amount(999, "bytes") == "999"
    assert amount(1_000, "bytes") == "1,000 (1.00 kB, 0.98 KiB)"
    assert amount(10**15, "bytes") == "1,000,000,000,000,000 (1.00 PB, 909.49 TiB)"  # 10**15 / 2**40
    assert amount(10**15, "FLOPs") == "1,000,000,000,000,000"


# A narrow terminal


def on_a_terminal(columns: int, *arguments: str) -> list[str]:
    main, worker = pty.openpty()
    fcntl.ioctl(worker, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm-256color"}
    process = subprocess.Popen([*PROGRAM, *arguments], stdout=worker, env=environment, close_fds=True)
    os.close(worker)
    seen = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(main)
    assert process.wait() == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", seen.decode()).replace("\r", "").splitlines()


def test_a_tree_is_not_wrapped_across_its_branches() -> None:
    lines = on_a_terminal(80, "tree", "deepseek-v3")
    lines = lines[: lines.index("")] if "" in lines else lines  # the source is printed below, as prose
    assert max(map(len, lines)) <= 80
    body = lines[2:]
    assert len(body) > 80
    # every line of it begins with the continuing branches, or with the root
    assert all(line[0] in "│├└ d" for line in body if line.strip())
    assert any(line.startswith("│  │  ├─ q_a_proj: Linear(E, R_q,") for line in body)
    whole = " ".join(word for line in body for word in re.findall(r"[\w·²]+", line))
    assert "L·E·A·D_v" in whole
    for line in body:
        for word in re.findall(r"\b[A-Z]_\w+", line):
            assert word in SUBSCRIPTED, f"{word} is a piece of a symbol"


SUBSCRIPTED = {"L_dense", "L_moe", "X_shared", "R_q", "R_kv", "D_nope", "D_rope", "D_v"}


def test_a_formula_is_folded_between_its_terms() -> None:
    lines = on_a_terminal(60, "show", "deepseek-v3")
    start = next(number for number, line in enumerate(lines) if line.startswith("N = "))
    end = next(number for number, line in enumerate(lines) if "671,026,404,352" in line)
    assert end - start >= 4
    assert max(map(len, lines[start : end + 1])) <= 60
    assert all(re.match(r"    \+ \S", line) for line in lines[start + 1 : end])
    document = json.loads(run("show", "deepseek-v3", "--json").stdout)
    shown = " ".join(line.strip() for line in lines[start : end + 1])
    assert shown.count(" + ") == document["formula"].count(" + ")


def test_folded_lines_fit_the_width() -> None:
    assert fold("12LE² + 13LE + VE", 80) == ["12LE² + 13LE + VE"]
    assert fold("12LE² + 13LE + VE", 12) == ["12LE² + 13LE", "+ VE"]
    assert fold("a + 2·L_dense·E·A·D_v", 10) == ["a", "+ 2·", "L_dense·E·", "A·D_v"]
    assert fold("L_dense", 3) == ["L_dense"]  # a symbol is never broken, even in a narrow column
    assert fold("12*L*E**2 + 13*L*E", 9) == ["12*L*E**2", "+ 13*L*E"]
    assert fold("1,234,567,890", 5) == ["1,234,567,890"]
    assert fold("├─ a: Linear(E, H)", 12, "├─ ", "│  ") == ["├─ a:", "│  Linear(E,", "│  H)"]
    assert cells("模型²") == 5
    for width in range(1, 60):
        text = "3·L_moe·E·X_shared·M + L_dense·A·R_kv·D_nope + 2VE = 671,026,404,352"
        assert "".join(fold(text, width)).replace(" ", "") == text.replace(" ", "")


def test_a_table_fits_the_terminal_if_possible() -> None:
    rows = [["module", "formula", "elements"], ["root", "aa + bb + cc + dd", "1,000"], ["leaf", "aa", "10"]]
    whole = layout(rows, "llr", 80, [("", "")] * 3)
    assert whole[1] == [["root", "aa + bb + cc + dd", "1,000"]]
    narrow = layout(rows, "llr", 30, [("", ""), ("", "│"), ("└─ ", "   ")])
    assert narrow[1] == [["root", "aa + bb", "1,000"], ["│", "+ cc + dd", ""]]
    assert narrow[2] == [["└─ leaf", "aa", "10"]]


def test_a_table_too_wide_for_the_terminal_is_printed_row_by_row() -> None:
    """As in ``symformer list`` on a terminal of 60 cells, where the names alone fill most of a line."""
    rows = [
        ["module", "formula", "elements"],
        ["a_name_that_nothing_breaks", "aa + bb", "1,234,567"],
        ["leaf", "", "10"],
    ]
    assert stacked_table(rows, 30) == [
        "a_name_that_nothing_breaks",
        "  formula: aa + bb",
        "  elements: 1,234,567",
        "leaf",
        "  elements: 10",
    ]
    folded = layout(rows, "llr", 30, [("", "")] * 3)
    assert row_width(folded) > 30
    assert row_width(layout(rows, "llr", 60, [("", "")] * 3)) == 26 + 2 + 7 + 2 + 9


# Completion


def completed(line: str) -> list[str]:
    """Return bash's completions for a line, with words broken as in bash."""
    script = f"""
compopt() {{ :; }}
complete() {{ :; }}
{run("completion", "bash").stdout}
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
COMP_LINE={line!r} COMP_POINT={len(line)}
_symformer_completion symformer
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert found.stderr == ""
    return found.stdout.split()


ENVIRONMENT = dict(os.environ)


@pytest.fixture
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files, and ``symformer`` on the path."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models/config.json").touch()
    (tmp_path / "unique.md").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/symformer").write_text(f'#!/bin/sh\nexec {sys.executable} -m symformer "$@"\n')
    (tmp_path / "bin/symformer").chmod(0o755)
    root = Path(__file__).parent.parent
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", str(root))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "offered"),
    sampled(
        3,  # each starts bash and Python
        [
            ("symformer show component:gated-m", {"gated-mlp"}),  # bash keeps the text before the colon
            ("symformer show gpt2-", {"gpt2-medium", "gpt2-large", "gpt2-xl"}),
            ("symformer show models/", {"models/config.json"}),
            ("symformer show uniq", {"unique.md"}),
            ("symformer derive gpt2 -o uniq", {"unique.md"}),
            ("symformer show gpt2 --option tied=", {"true", "false"}),
            ("symformer show gpt2 -q flops --option attention=c", {"causal"}),
            ("symformer show gpt2 --set V", {"V="}),
            ("symformer cite gpt2.params.h.attn.c", {"gpt2.params.h.attn.c_attn", "gpt2.params.h.attn.c_proj"}),
            ("symformer show nonsense --option ti", set()),
        ],
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bash_completion(line: str, offered: set[str], in_a_folder: Path) -> None:
    assert {*completed(line)} == offered


def test_bash_completes_the_names_of_components(in_a_folder: Path) -> None:
    from symformer import components

    assert {*completed("symformer tree component:")} == {*components.names()}


def offered(*words: str) -> list[str]:
    """Return the completions for these words."""
    found = ShellComplete(cli, {}, "symformer", "_SYMFORMER_COMPLETE").get_completions(list(words), "")
    return [each.value for each in found]


@pytest.mark.parametrize("option", [["--set"], ["--option"], ["-q", "flops", "--option"], ["--part"]])
def test_completion_never_traces_and_never_waits(
    option: list[str], in_a_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A config that needs a trace, a factory, an idle pipe, standard input, and the Hub."""

    def asked(*given: object) -> None:
        raise AssertionError("torch, the network, or a pipe")

    monkeypatch.setattr(witness, "torch_side", asked)
    monkeypatch.setattr(hub, "fetch", asked)
    monkeypatch.setattr(config_match, "find", lambda config: None)  # as for a type that the catalogue does not have
    monkeypatch.setenv("SYMFORMER_CACHE", str(in_a_folder))
    (in_a_folder / "z.json").write_text('{"model_type": "zamba", "architectures": ["ZambaForCausalLM"]}')
    (in_a_folder / "mine.py").write_text("raise AssertionError")
    os.mkfifo(in_a_folder / "pipe.json")
    begun = monotonic()
    for target in (
        "z.json",
        "mine:f",
        "hf:nothing",
        "pipe.json",
        "-",
        "/dev/stdin",
        "models",
        "a/b",
        "a/b@c",
        "nonsense",
    ):
        assert "E=" not in offered("show", target, *option), target
    assert monotonic() - begun < 4  # reading a pipe would wait for 5 seconds
    assert "E=" in offered("show", "gpt2", "--set")
    assert "E=" in offered("show", "hf:arcee", "--set")  # the catalogue has it


@pytest.mark.usefixtures("arcee_not_built_in")
def test_completion_uses_cached_records(in_a_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMFORMER_CACHE", str(in_a_folder))
    (in_a_folder / "z.json").write_text(json.dumps(ARCEE))
    record = config_match.find(ARCEE)
    monkeypatch.setattr(config_match, "find", lambda config: None)
    assert "E=" not in offered("show", "z.json", "--set")
    assert record is not None
    Store(ARCEE).keep(STORED, record(STORED))  # as stored by a trace
    assert "E=" in offered("show", "z.json", "--set")
