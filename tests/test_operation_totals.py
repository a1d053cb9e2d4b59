"""The operations outside the parts of a model have names in its sum and in the sums of its layers."""

from __future__ import annotations

from functools import cache

import pytest
from sympy import expand

import symformer as sf
from symformer.documents.derivation_document import document
from symformer.documents.notation import symbols_of
from symformer.formulas.formula import Formula
from symformer.language.notation.text import text
from symformer.output.blocks import Block, Equation, Paragraph, plain


@cache
def formula(target: str, quantity: str, **conventions: str) -> Formula:
    return sf.model(target).formula(quantity, **conventions)


def blocks(target: str, quantity: str, **conventions: str) -> list[Block]:
    return list(document(sf.model(target), [quantity], "0", **conventions).blocks)


def sentences(target: str, quantity: str, **conventions: str) -> list[str]:
    found = blocks(target, quantity, **conventions)
    return [plain(each.line) for each in found if isinstance(each, Paragraph) and each.defines]


def test_the_rotary_tables_of_training_memory_have_a_name() -> None:
    """The backward pass needs the cosines and the sines, S times D elements of 4 bytes each."""
    steps = [text(step) for step in formula("llama-3-8b", "train-memory").derivation.whole.chain.steps]
    assert steps[0] == (
        "U_train[embed_tokens] + U_train[rotary_emb] + L·U_train[layers] + U_train[norm] + U_train[lm_head]"
    )
    said = sentences("llama-3-8b", "train-memory")
    assert "Here, U_train[rotary_emb] = 2 · S · D · 4 are the bytes of the rotary tables rotary_emb." in said


def test_residual_sums_have_names() -> None:
    """Radford et al. 2019: x + f(norm(x)), twice in each layer, each an output of B·S·E elements of 4 bytes."""
    said = sentences("gpt2", "activations")
    assert (
        "Here, U_act[attn_residual] = U_act[mlp_residual] = B · S · E · 4 are the bytes of the sums h.*.attn_residual "
        "and h.*.mlp_residual."
    ) in said
    said = sentences("gpt2", "flops", count="all")
    assert "Here, F[embed] = BSE are the FLOPs of the sum embed." in said


@pytest.mark.parametrize("target", ["gpt2", "t5-small"])
def test_weights_are_written_by_their_shapes(target: str) -> None:
    for section in formula(target, "params").derivation:
        assert section.operations == ()
    assert not any(line.startswith("Here, N") for line in sentences(target, "params"))


@pytest.mark.parametrize(
    ("target", "quantity"),
    [("llama-3-8b", "train-memory"), ("whisper-tiny", "activations"), ("deepseek-v3", "train-memory"),
     ("qwen3-vl", "flops")],  # the mergers of Qwen3-VL are a list of parts, which are no layers
)  # fmt: skip
def test_every_named_operation_is_defined_and_its_equation_holds(target: str, quantity: str) -> None:
    conventions = {"count": "all"} if quantity == "flops" else {}
    found = formula(target, quantity, **conventions)
    named = [each for section in found.derivation for each in section.operations]
    assert named
    for each in named:
        each.chain.prove(found.relations)
        for line in each.lines:
            assert expand(line.each.xreplace(found.relations) - each.chain.labels[0].stands_for) == 0  # type: ignore[attr-defined]
    shown = blocks(target, quantity, **conventions)
    symbols_of(shown)  # raises an error for a name without a meaning
    equations = [block for block in shown if isinstance(block, Equation)]
    for label in (label for each in named for label in each.chain.labels):
        assert any(text(label) in text(step) for block in equations for step in block.chain.steps)
