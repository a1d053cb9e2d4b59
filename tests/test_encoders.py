"""Specifics of encoders: lengths, shared layers, embedding widths, local attention, and images."""

from __future__ import annotations

import pytest
import torch
from transformers import RobertaConfig, RobertaModel

from symformer import SymformerError, architecture, component
from symformer.architectures import architecture_class
from symformer.architectures.base_architecture import Architecture
from symformer.language.errors import UnreadError
from symformer.language.symbols import SYMBOLS, E_emb, L, N_group, V
from symformer.quantities import quantities
from symformer.witness.torch_counts import activation_bytes

ALBERT = {"V": 29, "P": 13, "V_type": 4, "E_emb": 10, "E": 12, "H": 7, "L": 6, "N_group": 2, "A": 3}


def test_roberta_reserves_two_position_rows() -> None:
    """Torch reads 11 of 13 rows, starting with the third: tokens are 5, and the padding is 1."""
    made = RobertaModel(
        RobertaConfig(
            **{"vocab_size": 29, "max_position_embeddings": 13, "hidden_size": 12, "num_hidden_layers": 2},
            **{"num_attention_heads": 3, "intermediate_size": 7, "type_vocab_size": 4},
        )
    ).eval()
    sizes = {"B": 3, "V": 29, "P": 13, "V_type": 4, "E": 12, "H": 7, "L": 2, "A": 3}
    flops = architecture("roberta").formula("flops")
    asked = {name: size for name, size in sizes.items() if SYMBOLS[name] in flops.accepted_sizes}
    assert flops.value(asked, S=11) > 0
    assert made(torch.full((3, 11), 5)).last_hidden_state.shape[1] == 11
    with pytest.raises(SymformerError, match=r"P - 2=11 is less than S=12 \(sequence length\)"):
        flops.value(asked, S=12)
    with pytest.raises(RuntimeError, match="out of bounds"):
        made(torch.full((3, 12), 5))


def test_shared_layers_are_stored_once_and_run_repeatedly() -> None:
    """By hand: a layer has 4*12*12 + 2*12*7 + 9*12 + 7 = 859 parameters; 2 layers are stored and 6 run."""
    albert = architecture("albert")
    assert L not in albert.params.expanded.free_symbols
    assert albert.params.part("encoder.albert_layer_groups").value({**ALBERT, "N_group": 1}) == 859
    assert albert.params.expanded.coeff(N_group).xreplace({SYMBOLS[k]: v for k, v in ALBERT.items()}) == 859
    bare = {"recipe": "fp32", "optimizer": "sgd", "implementation": "none"}
    assert albert.formula("train-memory", **bare).equals(8 * albert.params.expanded)  # a weight and its gradient
    moved = albert.formula("communication", data="replicated", count="limit")
    # 2 bytes each, all-reduced twice, 2*B*S*(4*E*E + 2*E*H) and 4*B*S*S*E in each of L layers
    assert moved.equals(2 * 2 * albert.params.expanded)
    # 2*B*S*(4*E*E + 2*E*H) and 4*B*S*S*E in each of L layers
    layers = albert.formula("flops").part("encoder.albert_layer_groups")
    assert layers.equals("8*B*S*E**2 + 4*B*S*E*H + 4*B*S**2*E")
    with pytest.raises(SymformerError, match="layers that share weights are not supported with pipeline stages"):
        albert.formula("params", pipeline="first")
    with pytest.raises(SymformerError, match="recompute=full is not supported for layers that share weights"):
        albert.formula("activations", recompute="full")


def test_embeddings_of_the_layer_width_have_no_projection() -> None:
    """The class has a projection only between different widths, so the formula does not hold for equal ones."""
    electra = architecture("electra")
    with pytest.raises(SymformerError, match="E_emb = E = 256: there is no projection between equal widths"):
        architecture("electra-small").set({E_emb: 256})
    without = architecture("electra", projected=False).params
    assert without.equals(electra.params.expanded.xreplace({E_emb: SYMBOLS["E"]}) - SYMBOLS["E"] ** 2 - SYMBOLS["E"])


def test_two_sided_local_attention() -> None:
    """The fused kernel gets a mask if some tokens are 8 or more apart, and every layer saves it."""
    modern = architecture("modernbert")
    assert isinstance(modern.component, Architecture)
    formula = modern.formula("activations", implementation="sdpa")
    sizes = {"B": 3, "V": 29, "E": 24, "H": 10, "A": 4, "L_global": 2, "L_local": 5, "C_local": 16}
    for length in (7, 8):
        numbers = {SYMBOLS[name]: size for name, size in {**sizes, "S": length}.items()}
        theirs = activation_bytes(modern.component, numbers, implementation="sdpa")
        if length < 8:
            assert formula.value({**sizes, "S": length}) == theirs > 0
        else:
            assert formula.expanded.xreplace(numbers) < theirs
            with pytest.raises(SymformerError, match="creates a mask that every layer saves"):
                formula.value({**sizes, "S": length})
    with pytest.raises(
        SymformerError, match="bidirectional attention with a window is not supported with recompute=full"
    ):
        modern.formula("activations", recompute="full")


def test_image_has_patches_and_a_class_token() -> None:
    """6 by 6 pixels are 9 patches of 2 by 2: (9 + 1)*5 for positions, and 2*B*10*5*5 FLOPs for a query projection."""
    vit = architecture("vit")
    sizes = {"Z": 6, "Z_patch": 2, "N_chan": 3, "E": 5, "H": 7, "L": 4, "A": 1}
    assert vit.params.part("position_embeddings").value(sizes) == 50
    flops = vit.formula("flops").part("layers.attention.q_proj")
    assert flops.value({**sizes, "B": 8}) == 2 * 8 * 10 * 5 * 5
    with pytest.raises(
        SymformerError, match=r"Z=7 is not a multiple of Z_patch=2 \(image side length, patch side length"
    ):
        vit.params.value({**sizes, "Z": 7})
    for quantity in ("flops", "activations"):
        assert "over B images" in quantities()[quantity].statement_for(vit.formula(quantity))
    with pytest.raises(SymformerError, match="S"):
        vit.formula("flops").value({**sizes, "B": 8}, S=10)
    for option in ({"context": "on"}, {"tensor": "sequence"}):
        with pytest.raises(SymformerError, match="a convolution reads neighboring positions"):
            vit.formula("flops", **option)


def test_required_fields_must_be_present() -> None:
    """The default of transformers' EsmConfig is absolute positions, which ESM-2 does not have."""
    config = {"model_type": "esm", "architectures": ["EsmModel"], "vocab_size": 33}
    rotary = {**config, "position_embedding_type": "rotary"}
    fields = architecture_class("esm").fields
    assert fields.read(rotary)[1][V] == 33
    assert fields.write(architecture("esm").component, fields.read(rotary)[1])["position_embedding_type"] == "rotary"
    with pytest.raises(UnreadError, match="has no 'position_embedding_type'; its default is not supported, only"):
        fields.read(config)
    with pytest.raises(UnreadError, match="'position_embedding_type' is 'absolute' in the config"):
        fields.read({**config, "position_embedding_type": "absolute"})


def test_scores_of_distances_are_refused_where_no_rule_is_known() -> None:
    deberta, attention = architecture("deberta-v2"), component("disentangled-attention")
    for formula in (deberta, attention):
        with pytest.raises(SymformerError, match="scores of distances, which no fused kernel computes"):
            formula.formula("traffic")
    with pytest.raises(SymformerError, match="the class saves for disentangled attention are not known"):
        deberta.formula("activations")
    with pytest.raises(SymformerError, match=r"over N_cp ranks, but 2·P_rel is a fixed length"):
        deberta.formula("flops", context="on")


def test_siglip_images_of_broken_patches_are_left_to_the_catalogue() -> None:
    """The class drops the last 384 - 27*14 = 6 rows and columns."""
    fields = architecture_class("siglip").fields
    config = {"model_type": "siglip", "text_config": {}, "vision_config": {"image_size": 384, "patch_size": 14}}
    with pytest.raises(UnreadError, match="is 384 in the config, which is not a multiple of 14"):
        fields.read(config)
