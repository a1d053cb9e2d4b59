"""Every symbol of a document has one meaning, and the equation of a block adds all of its parts."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import symformer as sf
from symformer.architectures import architecture, names
from symformer.documents import distinct_paths
from symformer.documents.derivation_document import document
from symformer.documents.layer_lists import class_path
from symformer.documents.notation import SymbolTable, symbols_of
from symformer.language.errors import DocumentError, SymformerError
from symformer.language.notation.display_tree import Label, Product, TensorName, tree, value
from symformer.language.notation.text import text
from symformer.language.symbols import E, H, L
from symformer.output.blocks import (
    Assignment,
    Block,
    Computation,
    Equation,
    Heading,
    Math,
    Paragraph,
    Piece,
    Ref,
    Table,
    computations_of,
    plain,
)
from symformer.output.chain import Chain
from symformer.quantities import quantities
from symformer.targets.resolution import resolve

from .samples import sampled
from .test_config_fields import TYPES, base, nested
from .test_every_target_and_quantity import PARTS, groups

CASES = {kind: case.computation for kind, case in TYPES.items()}


# All targets take 45 minutes of a core: `python -m tests.every_document` builds every document.
@pytest.mark.parametrize("place", sampled(15, range(0, 2 * PARTS, 15)))
def test_every_symbol_of_every_document_has_one_meaning(place: int) -> None:
    """A document with a symbol that has two meanings or none cannot be built."""
    assert documents_of(groups()[place][-1]) >= 2


def documents_of(target: str) -> int:
    """Build the documents of a target for every quantity in every form, and return their number.

    Raises DocumentError for a symbol that has two meanings or none.
    """
    model, _ = resolve(target)
    built = 0
    for quantity in quantities():
        for form in ("short", "full"):
            try:
                document(model, [quantity], "0", form=form)
                built += 1
            except DocumentError:
                raise
            except SymformerError:
                continue  # the model does not have the quantity
    return built


@cache
def blocks_of(target: str) -> tuple[Block, ...]:
    return tuple(document(sf.model(target), ["params"], "0").blocks)


def lines_of(target: str) -> list[str]:
    computed = [each for block in blocks_of(target) for each in computations_of(block)]
    return [f"{text(line.name)} = {text(line.shown)}" for block in computed for line in block.lines]


def equations_of(target: str) -> dict[str, Chain]:
    chains = [block.chain for block in blocks_of(target) if isinstance(block, Equation) and block.id]
    return {text(label): chain for chain in chains for label in chain.labels}


# Each pair of modules has one last word in its path, in the class of transformers.
@pytest.mark.parametrize(
    ("target", "apart"),
    [
        ("gpt2", ("W_attn.c_projᵀ", "W_mlp.c_projᵀ", "W_c_fcᵀ")),
        ("whisper", ("W_encoder.embed_positions[i_enc]", "W_decoder.embed_positions[i]")),
        ("bert", ("W_attention.denseᵀ", "W_intermediate.denseᵀ", "W_pooler.denseᵀ")),
        ("deepseek-v3", ("W_mlp.gate_projᵀ", "W_shared_experts.gate_projᵀ", "dense_layers.mlp(", "moe_layers.mlp(")),
        ("bart", ("encoder.layernorm_embedding(", "decoder.layernorm_embedding(", "(t_enc)", "(i_enc)")),
        ("t5", ("layer.0.layer_norm(", "layer.1.layer_norm(", "layer.2.layer_norm(")),
        ("nemotron-h", ("⊙ w_mixer.norm)", "mixer(norm(x))")),  # the norm in the mixer, and the one before each layer
    ],
)
def test_modules_with_one_last_word_have_different_names(target: str, apart: tuple[str, ...]) -> None:
    told = "\n".join(lines_of(target))
    assert all(name in told for name in apart)
    assert "W_c_projᵀ" not in told
    assert " W_denseᵀ" not in told


def test_names_that_hide_a_difference_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the words that distinguish paths, c_proj would be two matrices of GPT-2."""

    def shortest(self: distinct_paths.ModuleNames, found: Any, *taken: Any) -> Any:
        return ((each, each.keys[0][1]) for each in found)

    document(architecture("gpt2"), ["params"], "0")
    monkeypatch.setattr(distinct_paths.ModuleNames, "_distinct", shortest)
    with pytest.raises(DocumentError, match="W_c_proj has two meanings in one document"):
        document(architecture("gpt2"), ["params"], "0")


def table_of(*rows: tuple[Any, str]) -> Table:
    return Table([["Symbol"], ["Meaning"]], [[[Math(shown)], [meaning]] for shown, meaning in rows], "cl")


def equation(name: str, total: Any) -> Equation:
    return Equation(Chain((Label("N", name, total),), (tree(total),)))


SIZES = table_of((tree(E), "hidden size"), (tree(H), "intermediate size"))


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        ([SIZES, table_of((tree(E), "experts"))], "E has two meanings in one document: hidden size, and experts"),
        ([SIZES, equation("mlp", E * H), equation("mlp", E**2)], "N_mlp has two meanings"),
        ([SIZES, equation("mlp", E * L)], "L has no meaning"),
        ([SIZES, Equation(Chain((Label("N", "", E),), (Label("N", "mlp", E),)))], "N_mlp has no meaning"),
        # a local letter that a table defines for the whole document
        (
            [SIZES, table_of((TensorName("h"), "heads")), Computation([Assignment(*[TensorName("h")] * 2, tree(E))])],
            "h has two meanings in one document: heads, and a result of a single part",
        ),
        # a result of one part that another one reads
        (
            [
                SIZES,
                Computation([Assignment(TensorName("h"), TensorName("x"), tree(E))]),
                Computation([Assignment(TensorName("y"), Product((TensorName("h"), TensorName("x"))), tree(E))]),
            ],
            "h has no meaning",
        ),
        ([SIZES, Paragraph([" "])], "empty line"),
        ([SIZES, Heading(1, [])], "empty line"),
        ([SIZES, Table([["Part"]], [[[""]]], "l")], "empty row"),
        ([SIZES, Computation([])], "without lines"),
    ],
)
def test_planted_collisions_are_caught(blocks: list[Block], problem: str) -> None:
    with pytest.raises(DocumentError, match=problem):
        symbols_of(blocks)


def test_local_letters_are_used_anew_by_each_part() -> None:
    part = Computation([Assignment(TensorName("h"), TensorName("x"), tree(E))])
    table = symbols_of([SIZES, part, part, equation("mlp", E * H)])
    assert table.local == {"h"}
    assert table.meanings == {"E": "hidden size", "H": "intermediate size", "N_mlp": "E*H"}


def test_equal_meanings_are_no_collision() -> None:
    table = SymbolTable()
    table.define("E", "hidden size")
    table.define("E", "hidden size")
    table.use("E")


@pytest.mark.parametrize("kind", ["deepseek_v3", "nemotron_h", "qwen3_next", "jamba"])
def test_equation_of_a_kind_of_layers_counts_the_whole_layer(kind: str, tmp_path: Path) -> None:
    config = nested({**base(kind), **CASES[kind].config})
    place = tmp_path / "config.json"
    place.write_text(json.dumps(config), "utf-8")
    model = sf.model(str(place))
    sections = [section for section in model.params.derivation if section.common is not None and section.chain]
    ours = {int(value(section.chain.steps[-1]).subs(model.known)) for section in sections if section.chain}
    made_by = getattr(transformers, config["architectures"][0])
    with torch.device("meta"):
        layers = made_by(made_by.config_class.from_dict(config)).model.layers
    theirs = {sum(weight.numel() for weight in layer.parameters()) for layer in layers}
    assert ours == theirs
    assert len(ours) == len(sections) > 1


def test_parts_of_one_sum_have_different_labels() -> None:
    """A block of T5 has two norms of equal size, layer.0.layer_norm and layer.1.layer_norm."""
    (block,) = [chain for label, chain in equations_of("t5").items() if label == "N[encoder.block]"]
    labels = text(block.steps[0]).split(" + ")
    assert labels == [
        *("N[encoder.layer.0.layer_norm]", "N[encoder.SelfAttention]", "N[encoder.layer.1.layer_norm]"),
        "N[encoder.DenseReluDense]",
    ]


@pytest.mark.parametrize("target", ["whisper", "bart"])
def test_encoder_and_decoder_have_names_of_their_own(target: str) -> None:
    """Their layers have modules with equal names, such as fc1, and equal sizes."""
    told = "\n".join(lines_of(target))
    for name in ("W_{}.fc1ᵀ", "b_{}.fc1", "W_{}.fc2ᵀ", "{}.final_layer_norm(", "{}.self_attn_layer_norm("):
        assert all(name.format(side) in told for side in ("encoder", "decoder"))
    assert "W_fc1" not in told
    modules = ("self_attn", "mlp", "final_layer_norm", "self_attn_layer_norm")
    assert {f"N[{side}.{each}]" for side in ("encoder", "decoder") for each in modules} <= equations_of(
        target
    ).keys() | {
        text(piece.shown) for block in blocks_of(target) for piece in pieces_of(block) if isinstance(piece, Math)
    }


@pytest.mark.parametrize("name", sampled(14, names(), lambda name: name == "t5gemma"))
def test_each_label_belongs_to_one_module_of_the_class(name: str) -> None:
    """Modules at different places of the class have different labels; only kinds of layers of one list share one."""
    formula = architecture(name).params
    seen: set[str] = set()
    for section in formula.derivation.sections:
        labels = {text(label) for label in section.chain.labels} if section.chain else set()
        modules = {(class_path(line.path, formula), line.name) for line in section.lines}
        assert section.chain is None or len(labels) >= len(modules), (labels, modules)
        assert not labels & seen
        seen |= labels


def pieces_of(block: Block) -> list[Piece]:
    """Return the pieces of the cells of a table."""
    return [piece for row in block.rows for cell in row for piece in cell] if isinstance(block, Table) else []


@pytest.mark.parametrize(
    ("target", "said"),
    [
        # config.json: layer_types, layer_types, hybrid_override_pattern, first_k_dense_replace, attn_layer_period and
        # attn_layer_offset; the first layer of ModernBERT is a kind of its own
        ("gpt-oss-20b", "Of the 24 layers, every 2nd layer from 1 to 23 is a layer with local attention; "),
        ("gemma-3-4b", "Of the 34 layers, layers 6, 12, 18, 24 and 30 are layers with global attention; "),
        ("nemotron-nano-9b-v2", "Of the 56 layers, layers 15, 22, 31 and 40 are layers with attention; "),
        ("deepseek-v3", "In order, layers 1 to L_dense are the dense_layers and layers L_dense + 1 to L are "),
        ("jamba", "Of the 32 layers, layers 5, 13, 21 and 29 are layers with attention; "),
        ("modernbert", "The kinds of layers follow each other in the order that the model's config lists."),
    ],
)
def test_order_of_layers_is_stated(target: str, said: str) -> None:
    assert any(said in plain(block.line) for block in blocks_of(target) if isinstance(block, Paragraph))


@pytest.mark.parametrize("target", ["gpt2", "deepseek-v3", "llava", "whisper"])
def test_last_equation_names_the_equations_that_it_adds(target: str) -> None:
    *_, whole = [block for block in blocks_of(target) if isinstance(block, Equation) and block.id]
    named = [piece for reason in whole.reasons for piece in reason if isinstance(piece, Ref)]
    labels = list(whole.chain.steps[0].terms)  # type: ignore[attr-defined]
    assert 0 < len(named) <= len(labels)
    assert all(piece.number < whole.number for piece in named)
