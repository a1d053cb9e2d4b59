"""Traffic and intensity with weights in a format: the codes and scales that kernels read instead of 16-bit weights."""

from __future__ import annotations

from fractions import Fraction

import pytest

import symformer as sf
from symformer.language.errors import RuleError

RUN = {"phase": "decode", "dtype": "bf16"}


def test_a_decoding_step_reads_the_weights_of_awq() -> None:
    """Llama 3 8B: the other traffic is that in bf16 less 2 bytes of all weights but the token embedding.

    The AWQ checkpoint has 5,727,854,592 bytes, of which the token embedding has 128,256 * 4,096 * 2; one row of it is
    in the other traffic.
    """
    model, sizes = sf.model("llama-3-8b"), {"B": 3, "C": 1000}
    table = 128_256 * 4_096 * 2
    others = model.formula("traffic", **RUN).value(**sizes) - (2 * 8_030_261_248 - table)
    found = model.formula("traffic", **RUN, weights="awq").value(**sizes)
    assert found - others == 5_727_854_592 - table


def test_a_gguf_file_stores_norms_in_float32_and_the_embedding_in_blocks() -> None:
    """Llama 3 8B, Q8_0: 34 bytes for 32 elements of matrices and of rows looked up, 4 bytes for those of norms."""
    model, sizes = sf.model("llama-3-8b"), {"B": 3, "C": 1000}
    width, vocabulary = 4_096, 128_256
    norms = 65 * width
    matrices = 8_030_261_248 - 2 * vocabulary * width - norms
    read = Fraction(34, 32) * (matrices + vocabulary * width + 3 * width) + 4 * norms
    plain = 2 * (matrices + vocabulary * width + 3 * width + norms)
    found = (model.formula("traffic", **RUN, weights=form).value(**sizes) for form in ("gguf:q8_0", "dtype"))
    quantized, usual = found
    assert usual - quantized == plain - read


def test_a_tied_head_reads_the_table_of_the_embedding() -> None:
    """GPT-2 in float32 weights and a bf16 run: 2 bytes more for each weight, and for the rows that are looked up."""
    model, sizes = sf.model("gpt2"), {"B": 2, "S": 100}
    run = {"dtype": "bf16", "phase": "prefill"}
    usual, wide = (model.formula("traffic", **run, weights=form).value(**sizes) for form in ("dtype", "fp32"))
    rows = 2 * 100 * 768 + 100 * 768  # of tokens, and of positions
    weights = 124_439_808 - 1_024 * 768  # without the table of positions; the head reads that of tokens
    assert wide - usual == 2 * (weights + rows)


def test_intensity_divides_the_same_flops_by_fewer_bytes() -> None:
    model, sizes = sf.model("llama-3-8b"), {"B": 3, "C": 1000}
    for form in ("dtype", "awq"):
        intensity = model.formula("intensity", **RUN, weights=form)
        traffic = model.formula("traffic", **RUN, weights=form).value(**sizes)
        flops = model.formula("decode-flops", count="contractions").value(**sizes)
        assert intensity.value(**sizes) == Fraction(flops, traffic)


def test_a_config_of_a_quantized_model_counts_its_own_format() -> None:
    quantization = {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True, "desc_act": False}
    config = {
        **{"model_type": "llama", "vocab_size": 640, "hidden_size": 256, "intermediate_size": 384},
        **{"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "architectures": None},
        "quantization_config": quantization,
    }
    model = sf.model(config)
    own = model.formula("traffic", **RUN)
    assert own.conventions["weights"] == "gptq"
    plain = sf.model({**config, "quantization_config": None}).formula("traffic", **RUN, weights="gptq")
    assert own.value(B=1, C=7) == plain.value(B=1, C=7, Z_group=128)
    with pytest.raises(RuleError, match="which experts' weights are read depends on the routing"):
        sf.model("gpt-oss-20b").formula("traffic", **RUN)
