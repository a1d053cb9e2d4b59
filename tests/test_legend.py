"""The legend explains exactly the words and letters of the printed computations."""

from __future__ import annotations

from functools import cache

import pytest

from symformer.architectures import architecture, names
from symformer.documents.computation import computation, named_parts
from symformer.documents.further_inputs import UNKNOWN, further_inputs
from symformer.documents.ledger_dataflow import scopes_in
from symformer.documents.legend import BASIS, introduced, words_in
from symformer.documents.legend_entries import ROWS
from symformer.language.notation.display_tree import Applied, TensorName, nodes, tree
from symformer.language.notation.text import text
from symformer.language.symbols import E
from symformer.output.blocks import Assignment, Computation, Math, Paragraph, plain

KNOWN = {"x", "W", "b", "e", "exp", "log", "max", "tanh"}  # the input, and standard mathematics
WORDS = ("rms", "ReLU")
TAKEN_APART = {"causal", "chunk", "near", "blocks"}  # subscripts of a softmax


@cache
def words_of(name: str) -> tuple[frozenset[str], tuple[Computation, ...]]:
    """Return every word and letter in the lines of a model, without the names of its parts, and these lines."""
    said: set[str] = set()
    blocks = []
    for _, scope in scopes_in(architecture(name).component.ledger.apart.root, ""):
        if lines := computation(scope):
            blocks.append(Computation(lines, list(further_inputs(scope))))
            said |= set(words_in(Computation(lines))) - named_parts(scope).keys()
            said -= {
                line.shown.function for line in lines if line.times is not None and isinstance(line.shown, Applied)
            }
    return frozenset(said - TAKEN_APART), tuple(blocks)


@pytest.mark.parametrize("name", names())
def test_every_word_and_letter_is_explained(name: str) -> None:
    said, blocks = words_of(name)
    assert "W" in said
    inputs = [each for block in blocks for each in block.inputs]
    assert said - {row.word for row in ROWS} <= KNOWN | {text(letter)[0] for letter, _, _ in inputs}
    assert UNKNOWN not in {meaning for _, meaning, _ in inputs}


@pytest.mark.parametrize("name", names())
def test_no_result_has_the_letter_of_an_argument_or_of_a_state(name: str) -> None:
    _, blocks = words_of(name)
    results = {text(each)[0] for block in blocks for line in block.lines for each in nodes(line.name)}
    assert not results & set("φψλΔηis")


@pytest.mark.parametrize("name", names())
def test_a_recurrence_reads_the_results_that_its_explanation_names(name: str) -> None:
    """If a part computes u and its scan is explained as scan(u, ...), then the scan reads u, not a further result."""
    arguments = {row.word: row.shown.arguments for row in ROWS if row.word in ("scan", "delta", "wkv", "lru")}
    for block in words_of(name)[1]:
        results = {each for line in block.lines for each in nodes(line.name) if isinstance(each, TensorName)}
        for each in (each for line in block.lines for each in nodes(line.shown) if isinstance(each, Applied)):
            for explained, given in zip(arguments.get(each.function, ()), each.arguments, strict=False):
                assert explained not in results or given == explained, text(each)


def test_explanations_have_none_of_the_letters_of_unnamed_results() -> None:
    """Of these, a result of RWKV-7 that its recurrence reads has the letter of its role there."""
    for row in ROWS:
        shown = [row.shown, *(piece.shown for piece in row.means if isinstance(piece, Math))]
        letters = {each.letter for one in shown for each in nodes(one) if isinstance(each, TensorName)}
        assert not letters & set("hrfa") or row.word == "wkv", row.word


def test_every_explanation_is_used() -> None:
    said = set().union(*(words_of(name)[0] for name in names()))
    # Only qwen2-moe has σ alone, and it is part of every SiLU; an option of glm-moe-dsa has κ.
    # No built-in model has three lists of layers in one computation.
    assert {row.word for row in ROWS} - said <= {"σ", "κ", "o_n"}


@pytest.mark.parametrize(
    ("name", "there", "absent"),
    [
        ("gpt2", "softmax_causal(x)", "scan(u, Δ, λ, β, γ, w)"),
        ("bert", "softmax(x)", "softmax_causal(x)"),
        ("gpt-oss", "softmax_causal(C_win)(x)", "softmax(x)"),
        ("gpt-oss", "route_K(x)", "route_l(x)"),
        ("modernbert", "softmax_near(C_local/2)(x)", "softmax_causal(x)"),
        ("mamba2", "rms_group(x)", "rotate(x, θ)"),
        ("mamba2", "[h, r, δ]", "[h, r]"),
        ("gemma2", "cap(x)", "route_K(x)"),
        ("llama", "σ(x)", "ρ"),  # SiLU contains it
        ("vit", "[…; …]", "[…, …]"),
    ],
)
def test_unused_words_are_not_explained(name: str, there: str, absent: str) -> None:
    first, *blocks = introduced(words_of(name)[1], set())
    assert first == Paragraph(BASIS)
    explained = [text(shown) for block in blocks if isinstance(block, Paragraph) for shown, _ in block.notation]
    assert there in explained
    assert absent not in explained
    assert len(set(explained)) == len(explained)


def test_words_are_explained_after_the_first_computation_that_has_them() -> None:
    lines = [Computation([Assignment(TensorName("y"), Applied(word, (TensorName("x"),)), tree(E))]) for word in WORDS]
    blocks = introduced([*lines, lines[0]], set())
    assert [block.kind for block in blocks] == ["paragraph", *["computation", "paragraph"] * 2, "computation"]
    explained = [block for block in blocks if isinstance(block, Paragraph)]
    assert [[text(shown) for shown, _ in block.notation] for block in explained] == [[], ["rms(x)"], ["ReLU(x)"]]
    assert plain(explained[1].line) == "Here, rms(x) is the square root of the mean of x² over the last axis."
    assert introduced(lines, {"rms", "ReLU"}) == lines


def test_a_further_input_is_explained_in_each_part_that_reads_it() -> None:
    """Lewis et al. 2019: each decoder layer and its cross-attention read the output of the encoder."""
    blocks = introduced([block for block in words_of("bart")[1] if block.inputs], set())
    told = [plain(block.line) for block in blocks if isinstance(block, Paragraph)]
    assert sum("m is the output of the encoder, [B, S_enc, E]" in each for each in told) == 2


def test_blocks_without_computations_have_no_explanations() -> None:
    assert introduced([Paragraph(["x"])], set()) == [Paragraph(["x"])]


def test_names_of_lower_parts_are_not_letters() -> None:
    """The rows of a fused matrix have the names q, k and v, which cross-attention uses only in its own lines."""
    (scope,) = [
        scope
        for where, scope in scopes_in(architecture("transformer").ledger.apart.root, "")
        if where == "decoder.layers.*.multihead_attn"
    ]
    lines = computation(scope)
    assert "W_in_proj,qᵀ" in text(lines[0].shown)
    assert "q" not in set(words_in(Computation(lines)))
    assert not [each for each in nodes(lines[0].shown) if text(each) == "q"]
