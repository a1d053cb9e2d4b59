"""Parts that a result names have the same name in the equations, shapes and tables after it."""

from __future__ import annotations

from functools import cache

import pytest
from sympy import ceiling, expand

import symformer as sf
from symformer.documents import named_parts
from symformer.documents.derivation_document import document
from symformer.documents.named_parts import SharedNames
from symformer.language.errors import DerivationError
from symformer.language.notation.display_tree import Number, tree, value
from symformer.language.notation.text import text
from symformer.language.symbols import B, C_chunk, E, N_tp, S
from symformer.output.blocks import Block, Computation, Equation, Heading, Math, Paragraph, Table, formulas_in

CHUNKS, PATCHES = "ceil(S/C_chunk)", "Z²/Z_patch²"


@cache
def blocks(target: str, quantity: str, **conventions: str) -> list[Block]:
    """Return the blocks of a derivation up to the comparison with another model."""
    found = list(document(sf.model(target), [quantity], "0", **conventions).blocks)
    ends = [place for place, block in enumerate(found) if isinstance(block, Heading) and "relative" in str(block.line)]
    return found[: ends[0]] if ends else found


def equations(target: str, quantity: str, **conventions: str) -> dict[str, list[str]]:
    return {
        block.id: [text(step) for step in block.chain.steps]
        for block in blocks(target, quantity, **conventions)
        if isinstance(block, Equation) and block.id
    }


@pytest.mark.parametrize(
    ("target", "quantity", "spelt"),
    [
        ("mamba2-2.7b", "flops", CHUNKS),
        ("mamba2-2.7b", "activations", CHUNKS),
        ("vit-base-patch16-224", "flops", PATCHES),
        ("clip-vit-base-patch32", "flops", PATCHES),
    ],
)
def test_a_named_part_is_written_out_only_in_its_definition(target: str, quantity: str, spelt: str) -> None:
    found = blocks(target, quantity)
    defined = [block for block in found if isinstance(block, Paragraph) and block.defines]
    assert sum(spelt in text(piece.shown) for block in defined for piece in block.line if isinstance(piece, Math)) == 1
    others = [block for block in found if block not in defined and isinstance(block, Equation | Table | Computation)]
    assert not [text(shown) for shown in formulas_in(others) if spelt in text(shown)]
    name = "N[chunk]" if spelt == CHUNKS else "N[patch]"
    assert any(name in text(shown) for shown in formulas_in(others))


def test_equations_with_names_are_equal_to_the_formulas_of_their_parts() -> None:
    formula = sf.model("mamba2-2.7b").formula("flops")
    found = [block for block in blocks("mamba2-2.7b", "flops") if isinstance(block, Equation)]
    (mixer,) = [block for block in found if block.id == "mamba2.flops.layers.mixer"]
    assert "N[chunk]" in text(mixer.chain.steps[-1])
    for step in mixer.chain.steps:
        assert expand(value(step).xreplace(formula.relations) - formula.part("layers.mixer").expanded) == 0


def test_the_scan_has_the_number_of_chunks_as_a_name() -> None:
    """Dao and Gu 2024, section 6: the states of all chunks are combined, N_chunk + 1 times N_chunk + 1."""
    first = equations("mamba2-2.7b", "flops")["mamba2.flops.layers.mixer"][0]
    assert "2 · B · A_ssm · (1 + N[chunk]) · (1 + N[chunk]) · D_ssm · N_state" in first


def test_the_shapes_of_patches_have_their_number_as_a_name() -> None:
    """Dosovitskiy et al. 2021, equation 1: the patches and the class token."""
    shapes = [text(line.shape) for block in blocks("vit-base-patch16-224", "flops") if isinstance(block, Computation)
              for line in block.lines]  # fmt: skip
    assert "[B, 1 + N[patch], E]" in shapes


def test_the_factor_of_a_collective_is_in_the_equations_of_parts() -> None:
    """Shoeybi et al. 2019, section 3: an all-reduce of BSE elements of 2 bytes in the forward pass and one in the
    backward pass, of which a rank of a ring sends 2(N - 1)/N: 2·2·BSE·2(N - 1)/N bytes.
    """
    found = equations("llama-3-8b", "communication", tensor="on")
    assert found["llama.communication.layers.self_attn"][-1] == "8BSE(1 - 1/N_tp)"
    assert found["llama.communication.sum"][1:] == [
        "4BSE(1 - 1/N_tp) + L · 16BSE(1 - 1/N_tp) + 4BSE(1 - 1/N_tp)", "8BSE(2L + 1)(1 - 1/N_tp)",
    ]  # fmt: skip


def test_a_wrong_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_parts, "collective", lambda expr: Number(1))
    with pytest.raises(DerivationError, match="is not equal to"):
        named_parts._tree(tree(B * S * E - B * S * E / N_tp), ())


def test_a_name_of_a_survey_has_one_definition() -> None:
    """A sequence has other chunks at a fixed chunk size of 64, so the second formula is without a name."""
    names = SharedNames()
    chunks, others = ceiling(S / C_chunk), ceiling(S / 64)
    shown = [names.short(expand(number * (B * chunk + E * chunk))) for number, chunk in ((2, chunks), (3, others))]
    assert "N[chunk]" in text(shown[0])
    assert "N[chunk]" not in text(shown[1])
    assert [part.definition for part in names.parts] == [chunks]
