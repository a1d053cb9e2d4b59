"""An audit reports every difference with its place, and accepts nothing that it has not compared."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from symformer.commands.cli import cli
from symformer.documents.macros import MARK, MacroRequest
from symformer.documents.manuscript import read
from symformer.language.errors import DocumentError

# transformers prints 124,439,808 for gpt2; an untied head has 50,257 * 768 = 38,597,376 more, 163,037,184 in total.
RIGHT, UNTIED = "124{,}439{,}808", r"163\,037\,184"
PAPER = r"""\documentclass{article}
\input{parts/macros}
\begin{document}
It has \GptTwoParamsValue{} parameters, \symformer{gpt2.params}{124{,}439{,}808};
\symformer[tied=false]{gpt2.params}{163\,037\,184}, \symformer{gpt2.params.h.ln\_1}{1536}
\end{document}
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), prog_name="symformer")


def audited(paper: str, *options: str) -> Result:
    Path("paper.tex").write_text(paper, "utf-8")
    return run("audit", "paper.tex", *options)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "paper").mkdir()
    monkeypatch.chdir(tmp_path / "paper")
    Path("parts").mkdir()
    assert run("derive", "gpt2", "-o", "parts/macros.tex", "--macros").exit_code == 0
    return tmp_path


def test_correct_paper_passes() -> None:
    result = audited(PAPER)
    assert (result.exit_code, result.stderr) == (0, "")
    defined = Path("parts/macros.tex").read_text().count(r"\newcommand")
    assert defined > 40
    assert result.stdout == f"{defined + 3} checked in 2 files, all correct\n"


def test_wrong_digit_is_reported_with_its_line() -> None:
    result = audited(PAPER.replace(RIGHT, "124{,}439{,}809").replace(UNTIED, "163037185"))
    assert result.exit_code == 1
    assert "paper.tex:4: gpt2.params is 124{,}439{,}809; expected 124,439,808\n" in result.stdout
    assert "paper.tex:5: gpt2.params is 163037185; expected 163,037,184\n" in result.stdout
    assert result.stdout.endswith("2 differ\n")
    facts = json.loads(audited(PAPER.replace(RIGHT, "7"), "--json").stdout)
    assert facts["differs"] == [
        {"file": "paper.tex", "line": 4, "what": "gpt2.params", "found": "7", "right": "124,439,808"}
    ]
    assert facts["files"] == ["paper.tex", "parts/macros.tex"]
    assert facts["unread"] == []


def test_changed_macro_is_reported() -> None:
    macros = Path("parts/macros.tex")
    text = macros.read_text()
    line = 1 + text[: text.index(r"\newcommand{\GptTwoParamsHAttn}")].count("\n")
    macros.write_text(text.replace("{4 E^{2} + 4 E}", "{4 E^{2} + 3 E}"))
    result = audited(PAPER)
    assert result.exit_code == 1
    assert rf"parts/macros.tex:{line}: \GptTwoParamsHAttn is \ensuremath{{4 E^{{2}} + 3 E}}; expected" in result.stdout
    assert "(gpt2.params.h.attn)" in result.stdout


@pytest.mark.parametrize(
    "redefined",
    [
        r"\renewcommand{\GptTwoParamsValue}{1}",
        r"\renewcommand*\GptTwoParamsValue{1}",
        r"\def\GptTwoParamsValue{1}",
        r"\gdef\GptTwoParamsValue #1{1}",
        r"\let\GptTwoParamsValue\relax",
        r"\newcommand{\GptTwoParamsValue}%" + "\n" + "{124{,}439{,}80}",
        r"\DeclareRobustCommand{\GptTwoParamsValue}[1]{124{,}439{,}808 #1}",
    ],
)
def test_redefined_macro_is_reported(redefined: str) -> None:
    result = audited(PAPER.replace(r"\begin{document}", redefined + "\n\\begin{document}"))
    assert result.exit_code == 1
    assert r"paper.tex:3: \GptTwoParamsValue is " in result.stdout
    assert "1 differs\n" in result.stdout


def test_pasted_macros_are_checked() -> None:
    text = Path("parts/macros.tex").read_text()
    pasted = PAPER.replace(r"\input{parts/macros}", text)
    assert audited(pasted).exit_code == 0
    assert audited(pasted.replace("38{,}597{,}376", "38{,}597{,}375")).exit_code == 1
    assert audited(pasted.replace("GptTwoParamsWte}", "GptTwoParamsWtf}")).exit_code == 1


def test_comments_and_verbatim_are_ignored() -> None:
    beside = r"""
% \symformer{gpt2.params}{1}
\% \symformer{gpt2.params}{124439808} \\% \symformer{gpt2.params}{2}
\begin{verbatim}
\symformer{gpt2.params}{3}
\end{verbatim}
\verb|\symformer{gpt2.params}{4}| \begin{comment} \symformer{gpt2.params}{5} \end{comment}
\begin{lstlisting}[language=TeX]
\symformer{gpt2.params}{6} % \input{nowhere}
\end{lstlisting}
\end{document}
\symformer{gpt2.params}{7}
"""
    result = audited(PAPER.replace(r"\end{document}", "") + beside)
    assert (result.exit_code, result.stderr) == (0, "")
    Path("paper.tex").write_text(r"\symformer{gpt2.params}{124439808}")
    assert "1 checked in 1 file, all correct" in run("audit", "paper.tex").stdout


@pytest.mark.parametrize(
    ("number", "right"),
    [
        (r"124{,}439{,}808", True),
        (r"$124\,439\,808$", True),
        (r"\num{124439808}", True),
        ("124~439~808", True),
        (r"\GptTwoParamsValue", True),
        (r"\GptTwoParamsSI{}", True),
        ("124.4M", True),  # a correct rounding
        ("124.5M", False),
        (r"1.24 \times 10^8", False),
        ("", False),
        ("124439808/0", False),
        ("124439808/1", True),
        ("248879616/2", True),
        ("124439808/", False),
        ("/1", False),
        ("١٢٤٤٣٩٨٠٨", False),
        (r"\GptTwoParamsWteValue", False),
        ("9" * 5_000, False),
    ],
)
def test_accepted_number_formats(number: str, right: bool) -> None:
    result = audited(PAPER.replace(RIGHT, number))
    assert result.exit_code == (0 if right else 1), result.output[:300]


def test_paper_without_checks_is_an_error() -> None:
    for paper in ("", "A paper.", "% \\symformer{gpt2.params}{1}", "\\newcommand{\\GptTwoParamsValue}{1}"):
        result = audited(paper)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "has nothing to check" in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("added", "words"),
    [
        (r"\input{../outside}", "is outside the paper's folder"),
        (r"\input /etc/hostname ", "is outside the paper's folder"),
        (r"\include{link}", "is outside the paper's folder"),
        (r"\input{nowhere}", "is not in the paper's folder"),
        (r"\input{\jobname-x}", "has a macro in its name"),
        (r"\symformer{gpt3.params}{1}", "unknown formula 'gpt3.params'"),
        (r"\symformer{gpt2.params.h.atn}{1}", "unknown part 'h.atn'"),
        (r"\symformer{gpt2.parms}{1}", "unknown quantity 'parms'"),
        (r"\symformer{llama.params}{1}", "no value for "),
        (r"\symformer[attention]{gpt2.params}{1}", "not of the form KEY=VALUE"),
        (r"\symformer{os:system.params}{1}", "unknown formula 'os:system.params'"),
        (r"\symformer{gpt2.params.#1}{1}", "unknown part '#1'"),
    ],
)
def test_unreadable_input_is_reported_with_its_line(folder: Path, added: str, words: str) -> None:
    (folder / "outside.tex").write_text(r"\symformer{gpt2.params}{1}")
    Path("link.tex").symlink_to(folder / "outside.tex")
    result = audited(PAPER.replace(r"\end{document}", added + "\n\\end{document}"))
    assert result.exit_code == 2
    assert result.stderr.startswith("paper.tex:6: ")
    assert words in result.stderr
    assert "all correct" not in result.stdout
    assert "0 wrong; 1 could not be checked" in result.stdout


def test_audit_runs_no_code(folder: Path) -> None:
    Path("evil.py").write_text("open('ran', 'w').close()\ndef build(E): pass\n")
    header = MacroRequest("1", "evil:build", ("params",), {}, ("E=3",)).line()
    result = audited(f"{header}\n\\newcommand{{\\X}}{{1}}\n")
    assert result.exit_code == 2
    assert "is a factory, but an audit runs no code" in result.stderr
    assert not Path("ran").exists()
    for damaged in (MARK + "{", MARK + "[]", MARK + '{"target": 3}', MARK + "[" * 100_000):
        result = audited(damaged + "\n")
        assert result.exit_code == 2
        assert "is damaged" in result.stderr


def test_circular_inputs_and_odd_files_are_handled(folder: Path) -> None:
    Path("a.tex").write_text(r"\input{b}\symformer{gpt2.params}{124439808}")
    Path("b.tex").write_bytes(b"\xff\xfe\\input{a.tex}\r\n\\symformer{gpt2.params}{1}")
    result = run("audit", "a.tex")
    assert result.exit_code == 1
    assert "b.tex:2: gpt2.params is 1;" in result.stdout
    assert "2 checked in 2 files" in result.stdout
    os.mkfifo("pipe.tex")
    for name in ("pipe.tex", "parts", "none.tex", "x" * 300, "a\0b"):
        with pytest.raises(DocumentError):
            read(name)
    assert run("audit", "none.tex").exit_code == 2


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("124M", 0), ("124.4M", 0), (r"124.4\,M", 0), ("0.124B", 0), ("124M parameters", 0), ("124439808", 0),
        ("125M", 1), ("124.5M", 1), ("0.125B", 1), ("124MB", 1), ("124 MFLOPs", 1), ("124000000", 1),
        ("124{,}440{,}000", 1), ("120M", 1), ("about", 1),
    ],
)  # fmt: skip
def test_a_rounded_number_is_right_if_it_rounds_correctly(text: str, status: int) -> None:
    result = audited(rf"\symformer{{gpt2.params}}{{{text}}}")
    assert (result.exit_code, "1 checked" in result.stdout) == (status, True)


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("[per=layer]{gpt2.flops}{1}", "per=layer is not supported; write per=token, or leave it out"),
        ("[per=token]{gpt2.L}{12}", "per=token applies to costs, and gpt2.L is a size; leave it out"),
        ("[per=token]{gpt2.intensity}{1}", "intensity has no cost per token"),
        ("[per=token]{gpt2.flops}{1}", "no value for S"),
        ("{gpt2.G}{12}", "gpt2 has no size G"),
        (r"{gpt2.D\_rope}{12}", "gpt2 has no size D_rope"),
    ],
)
def test_a_mark_that_cannot_be_checked_is_refused_with_a_reason(mark: str, words: str) -> None:
    result = audited(rf"\symformer{mark}")
    assert (result.exit_code, result.stdout) == (
        2,
        "0 checked in 1 file, 0 correct and 0 wrong; 1 could not be checked\n",
    )
    assert words in result.stderr


def test_a_dash_states_that_there_is_no_value() -> None:
    assert audited(r"\symformer{mamba2-2.7b.A}{--} \symformer{gpt2.kv-cache}{---}").exit_code == 0
    assert "gpt2.A is --; expected 12\n" in audited(r"\symformer{gpt2.A}{--}").stdout


def test_an_amount_that_its_printed_digits_state_exactly_is_right() -> None:
    # 2 * 12 * 768 elements of 2 bytes: 36,864 bytes per token, 36.864 MB for 1,000 tokens of one sequence
    assert audited(r"\symformer[per=token]{gpt2.kv-cache}{36.864 kB}").exit_code == 0
    assert audited(r"\symformer[B=1,C=1000]{gpt2.kv-cache}{36.864 MB}").exit_code == 0
    assert audited(r"\symformer[B=1,C=1000]{gpt2.kv-cache}{36.865 MB}").exit_code == 1


def test_audit_uses_the_options_of_the_macro_file() -> None:
    given = ("--option", "attention=causal", "--set", "B=1", "--set", "S=4")
    assert run("derive", "gpt2", "-q", "flops", *given, "-o", "f.tex", "--macros").exit_code == 0
    # causal: 10 of 4x4 pairs count. 24BSLE^2 + 2B*2*10*LE + 2BSVE: 96*12*589,824 + 40*12*768 + 8*50,257*768
    causal = 96 * 12 * 768**2 + 40 * 12 * 768 + 8 * 50_257 * 768
    assert audited(rf"\input f \symformer{{gpt2.flops}}{{{causal}}}").exit_code == 0
    full = causal + 24 * 12 * 768  # all 16 pairs
    own = rf"\symformer[B=1,S=4]{{gpt2.flops}}{{{full}}}"
    assert audited(rf"\input f {own} \symformer{{gpt2.flops}}{{{causal}}}").exit_code == 0
    assert audited(rf"\input f \symformer{{gpt2.flops}}{{{full}}}").exit_code == 1


def test_config_path_is_relative_to_the_macro_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"model_type": "gpt2", "n_embd": 8, "n_layer": 2, "n_head": 2, "vocab_size": 11, "n_positions": 7}
    (folder / "tiny").mkdir()
    (folder / "tiny/config.json").write_text(json.dumps(config))
    monkeypatch.chdir(folder)
    assert run("derive", "tiny/config.json", "-o", "paper/parts/tiny.tex", "--macros").exit_code == 0
    text = Path("paper/parts/tiny.tex").read_text()
    assert str(folder) not in text
    assert r"\newcommand{\TinyParamsRaw}{1904}" in text  # 12*2*64 + 13*2*8 + 11*8 + 7*8 + 2*8
    Path("paper/main.tex").write_text(r"\input{parts/tiny}\symformer{../tiny/config.json.params}{1904}")
    result = run("audit", "paper/main.tex", "--configs")
    assert (result.exit_code, result.stderr) == (0, "")
    (folder / "tiny/config.json").write_text(json.dumps({**config, "n_layer": 3}))
    assert run("audit", "paper/main.tex", "--configs").exit_code == 1


PATHS = ("/etc/passwd.json", "./config.json", "../config.json", "..", "parts", "tiny", "someone/model", "a/b@main")


@pytest.mark.parametrize("target", PATHS)
def test_paths_in_a_paper_are_not_opened(folder: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A paper may come from anyone, so an audit does not open the files that its targets name."""
    config = {"model_type": "gpt2", "n_embd": 8, "n_layer": 2, "n_head": 2, "vocab_size": 11, "n_positions": 7}
    Path("tiny").mkdir()
    for place in (folder, Path("parts"), Path("tiny"), Path()):
        (place / "config.json").write_text(json.dumps(config))

    def opened(*given: object) -> None:
        raise AssertionError(f"opened {given}")

    monkeypatch.setattr("symformer.targets.opened_target.config_of", opened)
    monkeypatch.setattr("symformer.configs.hub.fetch", opened, raising=False)
    header = MacroRequest("1", target, ("params",), {}, ()).line()
    result = audited(f"{header}\n\\newcommand{{\\X}}{{1}}\n\\symformer{{{target}.params}}{{1904}}\n")
    assert result.exit_code == 2
    refused = [line for line in result.stderr.splitlines() if "opens only with --configs" in line]
    assert len(refused) == 2, result.output  # the first line of a file of macros, and the mark
    assert "1904" not in result.stdout


def test_sizes_of_a_run_apply_only_to_the_quantities_that_have_them() -> None:
    """B and S of a macro file affect FLOPs but not parameters."""
    given = ("-q", "flops", "-q", "params", "--set", "B=3", "--set", "S=5")
    assert run("derive", "gpt2", *given, "-o", "both.tex", "--macros").exit_code == 0
    # 3 · (24 · 5 · 12 · 768² + 4 · 25 · 12 · 768 + 2 · 5 · 50,257 · 768)
    flops = 3 * (24 * 5 * 12 * 768**2 + 4 * 25 * 12 * 768 + 2 * 5 * 50_257 * 768)
    wte = r"\symformer{gpt2.params.wte}{38597376}"
    marks = rf"\symformer{{gpt2.params}}{{{RIGHT}}}\symformer{{gpt2.flops}}{{{flops}}}{wte}"
    result = audited(rf"\input both {marks}")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    assert result.stdout.endswith("all correct\n")
    assert audited(rf"\input both {marks.replace(str(flops), str(flops + 1))}").exit_code == 1


# Text repeated many times: the time must be proportional to its length, and no formula is computed twice.
OFTEN = {
    "unclosed marks": r"\symformer{",
    "unclosed options": r"\symformer[",
    "unclosed verbatim": r"\begin{verbatim}",
    "unclosed definitions": r"\newcommand\x[",
    "definitions that begin long": r"\long",
    "braces": "{",
    "backslashes": "\\",
    "good marks": r"\symformer{gpt2.params}{124439808} ",
    "marks of one part": r"\symformer[tied=false]{gpt2.params.wte}{38597376} ",
    "macros that are defined": r"\newcommand{\GptTwoParamsX}{1}",
    "inputs of one file": r"\input{parts/macros}",
}


@pytest.mark.parametrize("name", OFTEN)
def test_audit_time_is_linear_in_the_paper_length(name: str) -> None:
    paper = OFTEN[name] * (88_000 // len(OFTEN[name]))
    run("audit", "none.tex")  # import everything before timing
    began = time.process_time()
    result = audited(r"\symformer{gpt2.params}{124439808}" + "\n" + paper)
    assert time.process_time() - began < 20
    assert result.exit_code in (0, 1)
    assert "Traceback" not in result.output


def test_4000_correct_marks_pass() -> None:
    result = audited(r"\symformer{gpt2.params}{124439808}" * 4_000)
    assert result.stdout == "4000 checked in 1 file, all correct\n"


def test_chain_of_900_inputs_is_followed() -> None:
    for place in range(900):
        Path(f"f{place}.tex").write_text(rf"\input{{f{place + 1}}}")
    Path("f900.tex").write_text(r"\symformer{gpt2.params}{124439808}")
    result = run("audit", "f0.tex")
    assert result.stdout == "1 checked in 901 files, all correct\n"


def test_nested_macros_are_not_read_as_a_number() -> None:
    """These once expanded to 3,000 * 3,000 * 3,000 characters."""
    define = (
        r"\newcommand\a{" + r"\b" * 3_000 + r"}\newcommand\b{" + r"\c" * 3_000 + r"}\newcommand\c{" + "1" * 3_000 + "}"
    )
    result = audited(define + r"\symformer{gpt2.params}{\a}")
    assert result.exit_code == 1
    assert len(result.stdout) < 1_000


def test_too_many_different_formulas_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symformer.documents.paper_audit.FORMULAS", 30)
    marks = "".join(rf"\symformer[V={number}]{{gpt2.params}}{{1}}" for number in range(1, 1 + 30 + 7))
    result = audited(marks)
    assert result.exit_code == 2
    assert "different formulas; audit it in parts" in result.stderr
    assert "; 7 could not be checked" in result.stdout
