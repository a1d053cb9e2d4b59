"""Papers that do not know symformer: the formulas in their LaTeX source, what each counts, and whether it is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.algebra.letter_definitions import letter_definitions
from symformer.algebra.paper_check import PaperFormula, check_paper
from symformer.algebra.paper_numbers import paper_numbers
from symformer.commands.cli import cli
from symformer.language.errors import ReadingError
from symformer.language.parsing.latex_source import math_segments

# The formulas of Kaplan et al. 2020, Narayanan et al. 2021, Korthikanti et al. 2022, Rajbhandari et al. 2020 and
# DeepSeek-AI 2024, in sentences of our own.
PAPER = r"""
\newcommand{\nlayer}{n_{\rm layer}}
We write $h$ for the hidden size, $s$ for the sequence length, and $l$ is the number of layers. % not $x = 1$
The learning rate is $2.5 \times 10^{-4}$.
\begin{table}
\begin{tabular}{l l l}
Operation & Parameters & FLOPs per Token \\
Feed-forward & $\nlayer 2 d_{\rm model} d_{\rm ff}$ & $2 \nlayer 2 d_{\rm model} d_{\rm ff}$ \\
Output & --- & $2 d_{\rm model} n_{\rm vocab}$ \\
Mask & --- & $2 \nlayer n_{\rm ctx} d_{\rm attn}$ \\
\end{tabular}
\caption{Counts by operation.}
\end{table}
The number of parameters is
\begin{align}
N &\approx 2 d_{\rm model} \nlayer \left(2 d_{\rm attn} + d_{\rm ff}\right) \nonumber \\
  &= 12 \nlayer d_{\rm model}^2. \label{eq:size}
\end{align}
With all of them, the number of parameters is
\begin{equation} P = 12 l h^2 \left(1 + \frac{13}{12h} + \frac{V+s}{12lh}\right) \end{equation}
and an iteration needs these FLOPs: $F = 96Bslh^2\left(1+\frac{s}{6h}+\frac{V}{16lh}\right)$.
The activations of a layer are
\[ sbh\left(34 + 5\frac{as}{h}\right). \]
The model states need $16\Psi$ bytes of memory with mixed precision, for weights, gradients and the optimizer.
The cache has $2 n_h d_h l$ elements for each token.
The pipeline bubble takes the fraction $\frac{p-1}{m}$.
We minimize $\mathcal{L}(\theta) < 0.1$.
"""
# line, the end of the formula: quantity, part, verdict. By hand:
FOUND = {
    (8, "2 d_{\\rm model} d_{\\rm ff}", 0): ("params", "h.*.mlp", "convention"),  # 2LEH: all layers, without biases
    (8, "2 d_{\\rm model} d_{\\rm ff}", 1): ("flops", "h.*.mlp", "convention"),  # 4LEH for one token
    (9, "n_{\\rm vocab}", 0): ("flops", "lm_head", "convention"),  # 2VE for one token
    (10, "d_{\\rm attn}", 0): ("flops", "", "convention"),  # 2LSE: the attention core at a mean context of S/2 tokens
    (16, "\\right)", 0): ("params", "", "convention"),  # 12LE²: without embeddings, biases and norms
    (17, "d_{\\rm model}^2", 0): ("params", "", "convention"),
    (20, "\\right)", 0): ("params", "", "convention"),  # eq. 2: without the final norm, 2E
    (21, "\\right)", 0): ("train-flops", "", "equal"),  # 96BSLE² + 16BS²LE + 6BSVE, every layer recomputed
    (23, "\\right)", 0): ("activations", "h", "convention"),  # one of L layers
    (24, "16\\Psi", 0): ("train-memory", "", "convention"),  # without the step counters of Adam
    (25, "d_h l", 0): ("kv-cache", "", "convention"),  # 2LE elements, one token
    (26, "{m}", 0): ("pipeline-bubble", "", "equal"),
}


@pytest.fixture(scope="module")
def formulas() -> tuple[PaperFormula, ...]:
    return check_paper(PAPER, ["gpt2"]).formulas


@pytest.mark.parametrize("key", FOUND, ids=lambda key: f"line {key[0]}, {key[2]}")
def test_the_count_of_a_formula_is_recognized(key: tuple[int, str, int], formulas: tuple[PaperFormula, ...]) -> None:
    line, end, place = key
    found = [each for each in formulas if each.segment.line == line and each.segment.text.endswith(end)][place]
    assert (found.quantity, found.part, found.verdict) == FOUND[key]


def test_vectors_conditions_comments_and_rates_are_no_formulas(formulas: tuple[PaperFormula, ...]) -> None:
    assert len(formulas) == len(FOUND), [each.segment for each in formulas]


def test_a_misprint_is_reported_with_its_row() -> None:
    """GPT-2's output bias of the MLP's first matrix is 4LE: 9 instead of 13 for the vectors of a layer."""
    source = "The number of parameters is $P = 12LE^2 + 9LE + VE + CE + 2E$, or $N = 12LE^2 + 9LE + VE + PE + 2E$."
    [found] = check_paper(source.replace("$P = 12LE^2 + 9LE + VE + CE + 2E$, or ", ""), ["gpt2"]).formulas
    assert found.verdict == "differs"
    assert found.reasons == ("h.*.mlp.c_fc.bias is left out",)


def test_a_formula_without_words_around_it_is_not_recognized() -> None:
    [found] = check_paper("Let $z = 12 L E^2 + 13 L E$ hold.", ["gpt2"]).formulas
    assert found.verdict == ""


DEFINED = {
    "the hidden size ($h$) and the number of layers ($l$)": {"h": "E", "l": "L"},
    "$n_h$ be the number of attention heads, $d_h$ be the dimension per head": {"n_h": "A", "d_h": "D"},
    "We use $N$ to denote the number of parameters": {"N": "N"},
    "the batch size ($b$), and later the vocabulary size ($b$)": {},
    "a scalar ($x$)": {},
}


@pytest.mark.parametrize("text", DEFINED)
def test_letters_defined_in_words_are_read(text: str) -> None:
    assert letter_definitions(text) == DEFINED[text]


def test_segments_have_the_lines_of_the_source() -> None:
    skipped = "% $a b$\n\\begin{verbatim}\n$c d$\n\\end{verbatim}\n"
    source = skipped + "$e f$ and\n\\begin{align}\nx &= g h \\\\\n &= i j\n\\end{align}\n"
    assert [(each.line, each.text, each.left) for each in math_segments(source)] == [
        (5, "e f", ""),
        (7, "g h", "x"),
        (8, "i j", "x"),
    ]


def test_empty_and_very_long_papers_are_refused() -> None:
    with pytest.raises(ReadingError, match="no formulas in LaTeX"):
        check_paper("Only words.", ["gpt2"])
    with pytest.raises(ReadingError, match="401 formulas; the limit is 400"):
        check_paper("$a b$ " * 401, ["gpt2"])


def test_the_command_reports_every_formula(tmp_path: Path) -> None:
    (tmp_path / "section.tex").write_text("It stores $N = 12LE^2 + 9LE + VE + PE + 2E$ parameters.", "utf-8")
    main = tmp_path / "paper.tex"
    main.write_text("The number of parameters is $12LE^2 + 13LE + VE + PE + 2E$.\n\\input{section}\n", "utf-8")
    found = CliRunner().invoke(cli, ["check", "--file", str(main), "--against", "gpt2", "--json"])
    assert found.exit_code == 1, found.output  # one differs
    told = json.loads(found.stdout)
    assert [(each["file"], each["line"], each["verdict"]) for each in told["formulas"]] == [
        ("paper.tex", 1, "equal"),
        ("section.tex", 1, "differs"),
    ]
    shown = CliRunner().invoke(cli, ["check", "--file", str(main), "--against", "gpt2"])
    assert "2 of 2 formulas recognized" in shown.stdout
    assert "section.tex:1" in shown.stdout
    for wrong in (["--file", str(main), "E"], ["--file", str(main), "--part", "h"], [], ["E"]):
        refused = CliRunner().invoke(cli, ["check", *wrong])
        assert refused.exit_code == 2
        assert refused.stdout == ""


# Touvron et al. 2023, table 2, and sentences: the counts by hand are those of the models' own configs.
NUMBERS = r"""
\begin{tabular}{cccc}
params & dimension & $n$ heads & $n$ layers \\
6.7B & 4096 & 32 & 32 \\
32.5B & 6656 & 52 & 60 \\
99.9B & 6656 & 52 & 60 \\
\end{tabular}
DeepSeek-V2 comprises 236B total parameters. It has 12 layers.
Both Llama-2-7B and Llama-2-13B have 5B parameters. GPT-2 XL has 1.6B parameters.
"""


def test_numbers_of_named_models_are_explained() -> None:
    found = paper_numbers(NUMBERS)
    assert [(each.line, each.text, each.target, each.verdict) for each in found] == [
        (4, "6.7B parameters", "llama-7b", "rounded"),  # 6,738,415,616
        (5, "32.5B parameters", "llama-33b", "rounded"),  # 32,528,943,616
        (8, "236B total parameters", "deepseek-v2", "rounded"),  # 235,741,434,880
        (9, "1.6B parameters", "gpt2-xl", "rounded"),  # 1,557,611,200
    ]
    assert "235,741,434,880" in found[2].reason
    shown = check_paper(NUMBERS, ["gpt2"], path="paper.tex")
    assert len(shown.numbers) == 4
    assert shown.to_json()["numbers"][0]["target"] == "llama-7b"


def test_a_formula_with_a_unit_counts_nothing_of_another_unit() -> None:
    """Rajbhandari et al. 2020, section 3: 4Ψ bytes of a copy in fp32, in a sentence that also names the FLOPs."""
    said = r"In addition to the FLOPs of a step, the optimizer needs $4\Psi$ bytes. Each token needs $2\Psi$ FLOPs."
    weights, step = check_paper(said, ["gpt2"]).formulas
    assert weights.quantity == ""
    assert step.quantity == "flops"


@pytest.mark.parametrize(
    ("said", "target"),
    [
        # Radford et al. 2019: 1,557,611,200 parameters in the largest of four models named GPT-2
        ("The 1.5B parameter GPT-2 model needs much memory.", "gpt2-xl"),
        # Jiang et al. 2024, section 3: 12,879,925,248 active parameters of the model with 8 experts of 7B
        ("Mixtral only uses 13B active parameters for each token.", "mixtral-8x7b"),
        ("Mixtral only uses 14B active parameters for each token.", ""),
    ],
)
def test_a_number_of_a_family_belongs_to_the_model_of_that_size(said: str, target: str) -> None:
    assert [each.target for each in paper_numbers(said)] == [target] * bool(target)


def test_explain_reports_the_numbers_of_a_paper(tmp_path: Path) -> None:
    paper = tmp_path / "paper.tex"
    paper.write_text(NUMBERS, "utf-8")
    found = CliRunner().invoke(cli, ["explain", str(paper), "--json"])
    assert found.exit_code == 0, found.output
    assert [each["number"] for each in json.loads(found.stdout)["numbers"]][2:] == [
        "236B total parameters",
        "1.6B parameters",
    ]
    for wrong in ("gpt2", str(tmp_path / "missing.tex")):
        assert CliRunner().invoke(cli, ["explain", wrong]).exit_code == 2


# Narayanan et al. 2021, table 1 and section 5.1: 12LE² + 13LE + VE + PE + 2E with V = 51,200 and P = 2,048.
SIZES = r"""
We use a vocabulary size (denoted by $V$) of 51,200 and a sequence length ($s$) of 2048.
\begin{tabular}{cccc}
Number of parameters (billion) & Attention heads & Hidden size & Number of layers \\
1.7 & 24 & 2304 & 24 \\
18.4 & 48 & 6144 & 40 \\
18.9 & 48 & 6144 & 40 \\
\end{tabular}
"""


def test_rows_with_sizes_are_counted_for_the_given_model() -> None:
    found = paper_numbers(SIZES, [sf.model("gpt2")])
    assert [(each.line, each.text) for each in found] == [(5, "1.7B parameters"), (6, "18.4B parameters")]
    # 12·24·2304² + 13·24·2304 + (51200 + 2048 + 2)·2304 = 1,652,230,656
    assert "1,652,230,656" in found[0].reason
    assert not paper_numbers(SIZES)
