"""The order of a derivation: the model, its layers, the simple parts in one table, the other parts, and the sum."""

from __future__ import annotations

import pytest

import symformer as sf
from symformer.documents.derivation_document import document
from symformer.language.notation.text import text
from symformer.output.blocks import (
    Block,
    Computation,
    Equation,
    EquationNumber,
    FigureBlock,
    Heading,
    Paragraph,
    Ref,
    Strong,
    Table,
    lines,
    plain,
)


def blocks_of(target: str, *quantities: str) -> list[Block]:
    return list(document(sf.model(target), quantities or ("params",), "0").blocks)


def headings_of(blocks: list[Block]) -> list[tuple[int, str]]:
    found = [(block.level, plain(block.line)) for block in blocks if isinstance(block, Heading)]
    titles = [title for _, title in found]
    return found[titles.index("The model") : titles.index("The total") + 1]


def simple_table(blocks: list[Block]) -> Table:
    (found,) = (
        block
        for block in blocks
        if isinstance(block, Table)
        and any(isinstance(piece, EquationNumber) for row in block.rows for piece in row[-1])
    )
    return found


def test_one_kind_of_layer_has_a_section_of_its_own() -> None:
    """Radford et al. 2019, section 2.3: attention and an MLP in each layer."""
    assert headings_of(blocks_of("gpt2")) == [
        (1, "The model"),
        (1, "Pre-norm block"),
        (1, "The parts"),
        (2, "Self-attention"),
        (2, "Feed-forward network"),
        (1, "The total"),
    ]


def test_several_kinds_of_layers_share_a_chapter() -> None:
    """DeepSeek-AI 2024, section 2.1: dense layers, then layers with experts, all with latent attention."""
    assert headings_of(blocks_of("deepseek-v3")) == [
        (1, "The model"),
        (1, "The layers"),
        (2, "Pre-norm block"),
        (2, "Layers with a dense feed-forward network"),
        (2, "Layers with experts"),
        (1, "The parts"),
        (2, "Multi-head latent attention"),
        (2, "Gated feed-forward network, mlp"),
        (2, "Gated feed-forward network, shared_experts"),
        (2, "Mixture of experts"),
        (1, "The total"),
    ]


def test_the_model_is_one_figure_its_computation_and_one_equation() -> None:
    blocks = blocks_of("llama")
    start = next(
        place for place, block in enumerate(blocks) if isinstance(block, Heading) and block.line == ["The model"]
    )
    found = [block for block in blocks[start + 1 :] if not isinstance(block, Paragraph)][:3]
    assert [type(block) for block in found] == [FigureBlock, Computation, Equation]
    assert isinstance(found[2], Equation)
    assert found[2].id == ""  # the total follows at the end, with its number
    assert text(found[2].chain.steps[0]) == "N[embed_tokens] + LN[layers] + N[norm] + N[lm_head]"


def test_simple_parts_share_one_table() -> None:
    """By hand: a table of V rows, six norms of widths E, R_q and R_kv, and a head of V rows.

    The class of transformers has input_layernorm, post_attention_layernorm and norm of one width.
    """
    table = simple_table(blocks_of("deepseek-v3"))
    titles = [next(piece.text for piece in row[0] if isinstance(piece, Strong)) for row in table.rows]
    assert titles == ["Token embedding", *["RMS normalization"] * 3, "Language-model head"]
    norm = "N[input_layernorm] = N[post_attention_layernorm] = N[norm] = E"
    totals = ["N[embed_tokens] = VE", norm, "N[q_a_layernorm] = R_q", "N[kv_a_layernorm] = R_kv", "N[lm_head] = VE"]
    assert [plain(row[2]) for row in table.rows] == totals
    assert [plain(row[1]) for row in table.rows][1:2] == ["x/rms(x) ⊙ w"]
    assert [plain(row[3]) for row in table.rows] == ["(2)", "(3)", "(4)", "(5)", "(6)"]


def test_parts_with_several_tensors_have_sections() -> None:
    """PyTorch's LayerNorm saves its input, the mean and the reciprocal root: three tensors, so a table of its own."""
    blocks = blocks_of("gpt2", "activations")
    assert (2, "Layer normalization") in headings_of(blocks)
    titles = [row[0][0] for row in simple_table(blocks).rows]
    assert titles == [Strong("Token embedding"), Strong("Learned position embedding")]


@pytest.mark.parametrize("target", ["gpt2", "t5", "nemotron-h", "hf:swin"])
def test_references_lead_back_to_equations(target: str) -> None:
    """An equation uses only earlier results."""
    blocks = blocks_of(target)
    known: set[str] = set()
    used = 0
    for block in blocks:
        if isinstance(block, Equation):
            asked = {piece.id for line in lines([block]) for piece in line if isinstance(piece, Ref)}
            assert asked <= known
            used += len(asked)
            known.add(block.id)
        elif isinstance(block, Table):
            known |= {
                piece.id for row in block.rows for cell in row for piece in cell if isinstance(piece, EquationNumber)
            }
    assert used > 3


def test_parts_open_with_their_purpose_once() -> None:
    told = [plain(block.line) for block in blocks_of("deepseek-v3") if isinstance(block, Paragraph)]
    network = "The feed-forward network transforms each token independently of the others."
    assert told.count(network) == 1  # of two sections
    assert any(each.startswith("Experts add parameters without adding as much computation") for each in told)
