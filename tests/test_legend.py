"""The legend explains exactly the words and letters of the printed computations."""

from __future__ import annotations

from functools import cache

import pytest

from symformer.architectures import architecture, names
from symformer.documents.computation import computation, named_parts
from symformer.documents.ledger_dataflow import scopes_in
from symformer.documents.legend import BASIS, ROWS, introduced, words_in
from symformer.language.notation.display_tree import Applied, TensorName, nodes, tree
from symformer.language.notation.text import text
from symformer.language.symbols import E
from symformer.output.blocks import Assignment, Computation, Paragraph, plain

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
            blocks.append(Computation(lines))
            said |= set(words_in(lines)) - named_parts(scope).keys()
            said -= {
                line.shown.function for line in lines if line.times is not None and isinstance(line.shown, Applied)
            }
    return frozenset(said - TAKEN_APART), tuple(blocks)


@pytest.mark.parametrize("name", names())
def test_every_word_and_letter_is_explained(name: str) -> None:
    said, _ = words_of(name)
    assert "W" in said
    assert said - {row.word for row in ROWS} <= KNOWN


def test_every_explanation_is_used() -> None:
    said = set().union(*(words_of(name)[0] for name in names()))
    # Only qwen2-moe has σ alone, and it is part of every SiLU; an option of glm-moe-dsa has κ.
    assert {row.word for row in ROWS} - said <= {"σ", "κ"}


@pytest.mark.parametrize(
    ("name", "there", "absent"),
    [
        ("gpt2", "softmax_causal(u)", "scan(u, Δ, a, β, γ, w)"),
        ("bert", "softmax(u)", "softmax_causal(u)"),
        ("gpt-oss", "softmax_causal(l)(u)", "softmax(u)"),
        ("modernbert", "softmax_near(l)(u)", "softmax_causal(u)"),
        ("mamba2", "rms_group(x)", "rotate(x, θ)"),
        ("gemma2", "cap(x)", "route_l(x)"),
        ("llama", "σ(x)", "ρ"),  # SiLU contains it
        ("vit", "[r; f]", "[r, f]"),
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
    assert "q" not in set(words_in(lines))
    assert not [each for each in nodes(lines[0].shown) if text(each) == "q"]
