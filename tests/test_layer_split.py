"""The layer split of llama.cpp: devices and bytes against its rules, with the block sizes of the gguf package."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from math import prod

import pytest
from click.testing import CliRunner
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from sympy import Integer

import symformer as sf
from symformer.algebra.layer_split import LayerSplit, device_of
from symformer.commands.cli import cli
from symformer.quantities.weight_formats.gguf_mixtures import BetterLayers, is_better, layers_with

# 9 layers: llama-quantize gives the layers 0, 3, 6, 7 and 8 better types (9 // 8 = 1 and 7 * 9 // 8 = 7).
SIZES = {"V": 320, "E": 256, "H": 768, "L": 9, "A": 4, "G": 2, "D": 64}
BETTER = {0, 3, 6, 7, 8}


def stored(type_: str, *shape: int) -> int:
    block, size = GGML_QUANT_SIZES[GGMLQuantizationType[type_]]
    return prod(shape) // block * size


def layer_bytes(layer: int) -> int:
    """Return the bytes of a layer of a Llama in a file of type Q4_K_M."""
    better = "Q6_K" if layer in BETTER else "Q4_K"
    plain = [(256, 256), (128, 256), (256, 256), (768, 256), (768, 256)]  # query, key, output, gate and up
    return (
        sum(stored("Q4_K", *shape) for shape in plain)
        + stored(better, 128, 256)  # values
        + stored(better, 256, 768)  # down
        + 2 * stored("F32", 256)
    )


@pytest.mark.parametrize("devices", [1, 2, 3, 4, 7])
def test_each_layer_is_on_the_device_that_llama_cpp_chooses(devices: int) -> None:
    """``std::upper_bound`` over the cumulative shares of the free memory, as in ``load_tensors``."""
    shares = [Fraction(device + 1, devices) for device in range(devices)]
    for layers in (9, 32, 80):
        expected = [bisect_right(shares, Fraction(layer, layers + 1)) for layer in range(layers + 1)]
        assert [device_of(layer, layers, devices) for layer in range(layers + 1)] == expected


@pytest.mark.parametrize("rule", BetterLayers)
def test_the_layers_with_better_types_are_as_many_as_the_closed_form_counts(rule: BetterLayers) -> None:
    for layers in range(2, 130):
        counted = sum(is_better(rule, layer, layers) for layer in range(layers))
        assert counted == layers_with(rule, Integer(layers))


@pytest.mark.parametrize("tied", [False, True])
def test_bytes_on_each_device(tied: bool) -> None:
    """3 devices have the layers 0 to 3, 4 to 6, and 7, 8 and the output; the host has the token embeddings."""
    split = LayerSplit(sf.architecture("llama", tied=tied).set(SIZES), "gguf:q4_k_m", {})
    output = stored("Q6_K", 320, 256) + stored("F32", 256)  # a tied embedding has the type of the output, too
    ranges = [range(4), range(4, 7), range(7, 9)]
    expected = [sum(map(layer_bytes, each)) for each in ranges]
    expected[2] += output
    assert split.weight_bytes(3) == expected
    assert split.parts.embeddings == stored("Q6_K" if tied else "Q4_K", 320, 256)
    whole = split.model.formula("weight-memory", weights="gguf:q4_k_m").value()
    assert sum(expected) + split.parts.embeddings * (not tied) == whole
    cache = 2 * 2 * 64 * 2  # bytes of a token in a layer
    totals = [size + 5 * 70 * cache * len(each) for size, each in zip(expected, ranges, strict=True)]
    totals[2] += 5 * 320 * 4  # logits
    assert split.total(3, {"B": 5, "C": 70}) == max(totals)
    cells = LayerSplit(split.model, "gguf:q4_k_m", {"engine": "llama.cpp"})
    assert cells.total(3, {"B": 5, "C": 70}) == max(expected[0] + 5 * 256 * cache * 4, totals[2] + 5 * 186 * cache * 2)


def test_rotary_factors_are_on_every_device() -> None:
    """Llama 3.1 stores 64 factors in float32; 2 devices have 17 and 15 of the 32 layers."""
    split = LayerSplit(sf.model("llama-3.1-8b"), "gguf:q4_k_m", {})
    assert split.parts.shared == 64 * 4
    assert sum(split.weight_bytes(2)) + split.parts.embeddings == 4_912_898_304 + 64 * 4
    assert split.parts.embeddings == stored("Q4_K", 128_256, 4096)


def test_fit_divides_gguf_formats_by_layers() -> None:
    """Layers of two kinds are divided in their order: the first device has 13 of the 24 layers of gpt-oss-20b."""
    arguments = ["fit", "gpt-oss-20b", "--gpus", "2", "--memory", "16GB", "--weights", "gguf:mxfp4_moe"]
    printed = CliRunner().invoke(cli, arguments).stdout
    assert "gguf:mxfp4_moe   1   2" in printed
    assert f"in the memory of the host: {stored('Q8_0', 201_088, 2880):,} (gguf:mxfp4_moe)" in printed
    (row,) = sf.fit("gpt-oss-20b", devices=2, memory="16GB", weights="gguf:mxfp4_moe", context=1000).formats
    # the layers 0 to 12: 7 with a window of 128 tokens and 6 without
    assert row.needed - row.weight_bytes == 2 * 8 * 64 * 2 * (7 * 127 + 6 * 1000)


def test_more_devices_than_layers_are_refused() -> None:
    (row,) = sf.fit(sf.architecture("llama").set(SIZES), devices=10, memory="1GB", weights="gguf:q8_0").formats
    assert row.refused == "10 devices are more than the 9 layers that they divide"
