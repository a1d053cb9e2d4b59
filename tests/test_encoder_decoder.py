"""Encoder-decoders: the caches of two towers, and the operations that run for each new token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import BartConfig, BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

from symformer import SymformerError, architecture, component
from symformer.language.symbols import SYMBOLS
from symformer.witness.models.gopher import GopherAttention, shifted, sines

RUN = {"B": 2, "S_enc": 7, "S": 1, "N_new": 4}
MODELS: dict[str, tuple[Callable[[], nn.Module], dict[str, int]]] = {
    "t5": (
        lambda: T5ForConditionalGeneration(
            T5Config(
                **{"vocab_size": 29, "d_model": 24, "d_ff": 37, "d_kv": 5, "num_heads": 3, "num_layers": 2},
                **{"num_decoder_layers": 1, "relative_attention_num_buckets": 14, "decoder_start_token_id": 0},
            )
        ),
        {"V": 29, "E": 24, "H": 37, "D": 5, "A": 3, "L_enc": 2, "L_dec": 1, "P_rel": 14},
    ),
    "bart": (
        lambda: BartForConditionalGeneration(
            BartConfig(
                **{"vocab_size": 29, "max_position_embeddings": 13, "d_model": 24, "encoder_layers": 2},
                **{"decoder_layers": 1, "encoder_ffn_dim": 37, "decoder_ffn_dim": 37, "forced_eos_token_id": None},
                **{"encoder_attention_heads": 3, "decoder_attention_heads": 3},
            )
        ),
        {"V": 29, "P": 13, "E": 24, "H": 37, "A": 3, "L_enc": 2, "L_dec": 1},
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_cache_matches_generate_of_transformers(name: str) -> None:
    """Compare with generate of transformers, starting from one decoder token; no certificate covers this.

    The cache has the encoder's depth from the config, so the decoder is no deeper here.
    """
    make, sizes = MODELS[name]
    model: Any = make().eval()
    for module in model.modules():
        if hasattr(module, "config"):
            module.config._attn_implementation = "eager"
    source = torch.full((RUN["B"], RUN["S_enc"]), 5)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        output = model.generate(
            source, max_new_tokens=RUN["N_new"], min_new_tokens=RUN["N_new"], do_sample=False, num_beams=1
        )
    assert output.shape == (RUN["B"], 1 + RUN["N_new"])
    formula = architecture(name).formula("generation-flops")
    assert formula.value({**sizes, **RUN}) == counter.get_total_flops() > 0


def test_decoding_by_hand() -> None:
    """Four products of E x E for the layer's own tokens, two for the encoder's: queries and output remain."""
    layer = architecture("transformer-decoder-layer")
    decode = layer.formula("decode-flops")
    assert decode.equals("B*(6*2*E*E + 4*(C + 1)*E + 4*S_enc*E + 4*E*H)")
    assert layer.formula("prefill-flops").equals(layer.formula("flops").expanded)
    cache = layer.formula("kv-cache")
    assert cache.equals("2*2*B*C*E + 2*2*B*S_enc*E")  # keys and values, of 2 bytes
    assert layer.formula("kv-cache", tokens="one").equals("2*2*B*E")
    whole = architecture("transformer", embeddings=True)
    for quantity in ("decode-flops", "kv-cache"):
        assert SYMBOLS["L_enc"] not in whole.formula(quantity).expanded.free_symbols  # the encoder has run
    assert SYMBOLS["L_enc"] in whole.formula("prefill-flops").expanded.free_symbols
    for part in (architecture("transformer-encoder-layer"), component("post-norm-block")):
        with pytest.raises(SymformerError, match="this attention is not causal, so the keys"):
            part.formula("decode-flops")


def test_decoder_layer_traffic_by_hand() -> None:
    """One token: queries, and all keys of both kinds; the encoder's keys are not recomputed."""
    cross = component("cross-attention")
    decode = cross.formula("traffic", phase="decode", dtype="symbolic")
    rows = {row.path: row.each for row in decode.rows if row.each != 0}
    assert set(rows) == {"q_proj", "scores", "softmax", "mix", "o_proj"}


def test_position_tables_bound_both_lengths() -> None:
    """BART's tables have 1026 rows, the first two unused; its encoder and decoder have 1024 positions each."""
    bart = architecture("bart-base")
    assert bart.formula("flops").value(B=1, S=1024, S_enc=1024) > 0
    for lengths in ({"S": 1025, "S_enc": 9}, {"S": 9, "S_enc": 1025}):
        with pytest.raises(SymformerError, match="choose fewer tokens or more positions"):
            bart.formula("flops").value(B=1, **lengths)
    assert bart.formula("decode-flops").value(B=1, C=1023, S_enc=9) > 0
    with pytest.raises(SymformerError, match="choose fewer tokens or more positions"):
        bart.formula("decode-flops").value(B=1, C=1024, S_enc=9)
    with pytest.raises(SymformerError, match="choose fewer tokens or more positions"):
        architecture("whisper-tiny").formula("flops").value(B=1, S=449)


def test_untrained_table_has_no_gradient() -> None:
    """Whisper's sines: 1500*384 elements without 4 bytes of gradient, 8 of state, and a step counter."""
    whisper = architecture("whisper-tiny")
    elements, fixed = whisper.params.value(), 1500 * 384
    # by hand: 15 weights per encoder layer and 24 per decoder layer; two convolutions, two norms, tables
    trained = 4 * 15 + 4 * 24 + 4 + 4 + 2
    memory = whisper.formula("train-memory", implementation="none").value()
    assert memory == 16 * elements - 12 * fixed + 4 * trained
    # keras-hub prints 37,184,256 for the English model, whose vocabulary has one row less, without the sines
    assert whisper.formula("trainable-params").value() == elements - fixed == 37_184_256 + 384
    assert "every element of every weight, trained or not" in _stated(whisper, "params")
    assert "never trained" not in _stated(architecture("gpt2"), "params")
    with pytest.raises(SymformerError, match="not trained is not supported"):
        whisper.formula("communication", data="zero2")


def test_tower_convention_is_stated_for_encoder_decoders_only() -> None:
    assert "cross-attention keys and values of all encoder tokens" in _stated(architecture("t5"), "kv-cache")
    assert "encoder" not in _stated(architecture("gpt2"), "kv-cache")


def _stated(model: Any, quantity: str) -> str:
    from symformer.quantities import quantity as find

    return find(quantity).statement_for(model.formula(quantity))


@pytest.mark.parametrize(
    ("target", "asked", "sentence"),
    [
        ("t5", {"implementation": "sdpa"}, "a trained attention bias is not supported with implementation=sdpa"),
        ("t5", {"recompute": "full"}, "an attention bias that layers share is not supported with recomputation"),
        ("whisper", {"implementation": "sdpa"}, "scaled queries are not supported with implementation=sdpa"),
        ("gopher", {}, "transformers does not have this model"),
    ],
)
def test_unknown_activations_are_refused(target: str, asked: dict[str, str], sentence: str) -> None:
    with pytest.raises(SymformerError, match=sentence):
        architecture(target).formula("activations", **asked)


def test_parallelism_is_refused_for_fixed_lengths_and_distances() -> None:
    for target, asked, sentence in (
        ("t5", {"tensor": "on"}, "a table of distances, with one column per head, is not supported"),
        ("t5", {"context": "on"}, "a table of distances, with one column per head, is not supported"),
        ("whisper", {"context": "on"}, "reads neighboring positions"),
        ("gopher", {"context": "on"}, "keys of distances are not supported if ranks shard the sequence"),
        ("gopher", {"tensor": "sequence"}, "is not supported|are not supported"),
    ):
        with pytest.raises(SymformerError, match=sentence):
            architecture(target).formula("flops", **asked)
    on = architecture("bart").formula("flops", tensor="on").expanded
    whole = architecture("bart").formula("flops").expanded
    assert (on * SYMBOLS["N_tp"] - whole).expand() == 0


def test_relative_keys_are_recomputed_and_not_cached() -> None:
    """One layer: 24E² for a token's own matrices, 3 products with C + 1 keys or values, and C + 1 keys of distances."""
    gopher = architecture("gopher")
    assert gopher.formula("decode-flops").equals("L*(B*24*E**2 + 6*B*(C + 1)*E + 2*(C + 1)*E**2) + 2*B*V*E")
    assert gopher.formula("kv-cache").equals("L*2*2*B*C*E")


def test_relative_attention_depends_on_distances() -> None:
    """After shifting, the column of key j in row i has distance i - j, and the sum is eq. 3 of the paper."""
    torch.manual_seed(3)
    length, width = 5, 8
    rows = torch.arange(length).flip(0).expand(1, 1, length, length).float()  # column c is of distance length - 1 - c
    found = shifted(rows)[0, 0]
    assert all(found[i, j] == i - j for i in range(length) for j in range(i + 1))
    attention = GopherAttention(width, 1, bias=False)
    nn.init.normal_(attention.u)
    nn.init.normal_(attention.v)
    x = torch.randn(1, length, width)
    q, k, v = (each(x)[0] for each in (attention.q_proj, attention.k_proj, attention.v_proj))
    r = attention.r_proj(sines(length, width, x.device)).flip(0)  # starting with distance 0
    last = length - 1
    of_tokens, of_distances = (q[last] + attention.u[0]) @ k.T, (q[last] + attention.v[0]) @ r.flip(0).T
    expected = attention.o_proj(((of_tokens + of_distances) / width**0.5).softmax(0) @ v)
    assert torch.allclose(attention(x, sines(length, width, x.device))[0, last], expected, atol=1e-6)
