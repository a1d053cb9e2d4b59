"""DiT compared with its authors' code and diffusers' class: weights, products, configs, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from diffusers import DiTTransformer2DModel
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from symformer import SymformerError, architecture, component, from_config
from symformer.architectures import architecture_class, preset_on_hub
from symformer.witness.torch_session import built, silence

# Counts of models.py of facebookresearch/DiT, commit ed81ce2: the parameters, those that require a gradient, and half
# of the count of torch 2.13's FlopCounterMode for one latent, with attention as plain products.
AUTHORS = {
    "dit-xl-2": (675_129_632, 674_834_720, 118_621_421_568),
    "dit-xl-4": (675_074_432, 675_000_704, 29_043_671_040),
    "dit-xl-8": (675_683_072, 675_664_640, 7_392_411_648),
    "dit-l-2": (458_102_816, 457_840_672, 80_697_622_528),
    "dit-l-4": (458_053_760, 457_988_224, 19_695_665_152),
    "dit-l-8": (458_594_816, 458_578_432, 5_011_406_848),
    "dit-b-2": (130_512_416, 130_315_808, 23_005_102_080),
    "dit-b-4": (130_475_648, 130_426_496, 5_565_186_048),
    "dit-b-8": (130_881_536, 130_869_248, 1_417_543_680),
    "dit-s-2": (32_963_360, 32_865_056, 6_055_673_856),
    "dit-s-4": (32_945_024, 32_920_448, 1_412_579_328),
    "dit-s-8": (33_148_160, 33_142_016, 357_974_016),
    "dit-xl-2-512": (676_014_368, 674_834_720, 524_538_298_368),
}
# The same code with sizes that all differ: input_size, patch_size, in_channels, hidden_size, depth, num_heads,
# num_classes, and the number of latents. With learn_sigma there are twice as many output channels as input channels.
ODD = [
    ({"Z": 20, "Z_patch": 5, "N_chan": 3, "N_out": 6, "E": 24, "L": 2, "A": 8, "N_class": 13, "B": 7},
     35_718, 35_334, 2_428_608),
    ({"Z": 18, "Z_patch": 6, "N_chan": 5, "N_out": 5, "E": 56, "L": 3, "A": 7, "N_class": 17, "B": 2},
     217_740, 217_236, 2_609_824),
]  # fmt: skip
TABLE_4 = {"dit-s-2": 6.06, "dit-b-2": 23.01, "dit-l-2": 80.71, "dit-xl-2": 118.64, "dit-xl-2-512": 524.60}  # Gflops
SMALL = {
    **{"_class_name": "DiTTransformer2DModel", "num_attention_heads": 3, "attention_head_dim": 8, "in_channels": 5},
    **{"num_layers": 2, "sample_size": 28, "patch_size": 7, "num_embeds_ada_norm": 13, "out_channels": 11},
}
BATCH = 6


def by_torch(config: dict[str, Any]) -> tuple[int, int]:
    """Return the parameters of diffusers' class, built from a config's fields, and the FLOPs of a forward pass."""
    fields = {name: value for name, value in config.items() if not name.startswith("_")}
    model = built(lambda: DiTTransformer2DModel(**fields))
    at = model.config
    counter = FlopCounterMode(display=False)
    with silence(), torch.device("meta"), torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        given = torch.zeros(BATCH, at.in_channels, at.sample_size, at.sample_size)
        model(given, *(torch.zeros(BATCH, dtype=torch.long) for _ in range(2)))
    return sum(each.numel() for each in model.parameters()), counter.get_total_flops()


def by_us(config: dict[str, Any], folder: Path) -> tuple[int, int]:
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    model = from_config(str(folder / "config.json"))
    return model.params.value(), model.formula("flops").value(B=BATCH)


@pytest.mark.parametrize("name", AUTHORS)
def test_counts_match_the_authors_code(name: str) -> None:
    model, (stored, trained, products) = architecture(name), AUTHORS[name]
    assert model.params.value() == stored
    assert model.formula("trainable-params").value() == trained
    assert model.formula("flops").value(B=1) == 2 * products


@pytest.mark.parametrize(("sizes", "stored", "trained", "products"), ODD)
def test_counts_match_diffusers_at_distinct_sizes(
    sizes: dict[str, int], stored: int, trained: int, products: int
) -> None:
    own = {name: size for name, size in sizes.items() if name != "B"}
    model = architecture("dit").set(own)
    assert model.params.value() == stored
    assert model.formula("trainable-params").value() == trained
    assert model.formula("flops").value(B=sizes["B"]) == 2 * products


def test_the_paper_counts_multiply_adds() -> None:
    """By hand, DiT-XL/2 at 256 tokens, in multiply-adds.

    28 blocks of 12·1152² products per token, 6·1152² once and 2·256²·1152 for attention; the patches 256·16·1152, the
    timestep 256·1152 + 1152², and at the end 256·1152·32 and 2·1152².
    """
    token, once, core = 12 * 1152**2 * 256, 6 * 1152**2, 2 * 256**2 * 1152
    ends = 256 * 16 * 1152 + 256 * 1152 + 1152**2 + 256 * 1152 * 32 + 2 * 1152**2
    flops = architecture("dit-xl-2").formula("flops")
    assert flops.value(B=1) == 2 * (28 * (token + once + core) + ends)
    # Table 4 of the paper prints these, with an unexplained difference of less than 0.1 %.
    for name, printed in TABLE_4.items():
        assert 0.999 < architecture(name).formula("flops").value(B=1) / 2e9 / printed < 1


def test_buffers_are_not_parameters() -> None:
    """Diffusers: 27 more class tables of 1001·1152 and timestep embedders, and no sines of 256·1152.

    A timestep embedder has 256·1152 + 1152² + 2·1152 parameters. The timestep passes through 1152·(256 + 1152) in each
    of 28 blocks and again at the end, instead of once.
    """
    ours, theirs = architecture("dit-xl-2"), architecture("dit-xl-2-256-diffusers")
    embedder = 1001 * 1152 + 257 * 1152 + 1152**2 + 1152
    assert theirs.params.value() - ours.params.value() == 27 * embedder - 256 * 1152
    assert theirs.formula("flops").value(B=1) - ours.formula("flops").value(B=1) == 2 * 28 * 1152 * (256 + 1152)
    assert theirs.formula("trainable-params").equals(theirs.params)
    assert preset_on_hub("facebook/DiT-XL-2-512") == "dit-xl-2-512-diffusers"


def test_elementwise_flops_of_a_block_by_hand() -> None:
    """Elementwise operations of one block, by hand.

    The layer for scales, shifts and gates has a bias and a SiLU of 4; each norm 5 per element, then a product, a sum
    and 1 more for each scale; after each sublayer a gate and a sum.
    """
    of = {"B": 2, "S": 3, "E": 4, "A": 2, "H": 5}
    block = component("adaptive-block")
    beside = block.formula("flops", count="all").value(of) - block.formula("flops").value(of)
    x, scores = 2 * 3 * 4, 2 * 2 * 3 * 3
    made = 2 * 6 * 4 + 4 * 2 * 4
    modulated = 5 * x + x + x + 2 * 4
    attention = 4 * x + scores + 3 * scores  # biases, a scale per score, its softmax
    network = 2 * 3 * 5 + 5 * 2 * 3 * 5 + x  # a bias, GELU, a bias
    assert beside == made + 2 * modulated + attention + network + 2 * (x + x)


MOVED = {
    "num_attention_heads": (2, 6),
    "attention_head_dim": (4, 12),
    "in_channels": (1, 4),
    "out_channels": (3, None),
    "num_layers": (1, 4),
    "sample_size": (14, 21),
    "patch_size": (2, 4),
    "num_embeds_ada_norm": (1, 17),
    "attention_bias": (False, True),
    "activation_fn": ("gelu", "gelu-approximate"),
    "dropout": (0.0, 0.25),
    "norm_num_groups": (32, 5),
    "norm_eps": (1e-5, 0.1),
    "upcast_attention": (False,),
    "norm_elementwise_affine": (False,),
    "norm_type": ("ada_norm_zero",),
}


@pytest.mark.exhaustive
def test_every_field_of_the_class_is_read(tmp_path: Path) -> None:
    """Each field is changed and omitted: the answer is what diffusers' class then stores and multiplies."""
    made = {name: value for name, value in SMALL.items() if not name.startswith("_")}
    written = json.loads(built(lambda: DiTTransformer2DModel(**made)).to_json_string())
    asked = {name for name in written if not name.startswith("_")}
    assert asked == MOVED.keys()
    seen = set()
    for name, values in MOVED.items():
        configs = [{**SMALL, name: value} for value in values]
        if name not in ("sample_size", "patch_size", "num_attention_heads", "attention_head_dim", "num_layers"):
            configs.append({field: value for field, value in SMALL.items() if field != name})  # the default is large
        for config in configs:
            ours = by_us(config, tmp_path)
            assert ours == by_torch(config), config
            seen.add(ours)
    assert len(seen) > 15
    assert by_us(written, tmp_path) == by_torch(SMALL)  # as written by the class
    defaults = architecture_class("dit").fields.read({"architectures": ["DiTTransformer2DModel"]})[1]
    assert {str(size): number for size, number in defaults.items()} == {
        **{"Z": 32, "Z_patch": 2, "N_chan": 4, "N_out": 4, "N_class": 1000, "E": 16 * 72, "L": 28, "A": 16},
    }


def test_config_of_the_old_shared_class_is_read(tmp_path: Path) -> None:
    """The config of facebook/DiT-XL-2-256, as written by diffusers 0.12."""
    config = {
        **{"_class_name": "Transformer2DModel", "_diffusers_version": "0.12.0.dev0", "norm_type": "ada_norm_zero"},
        **{"activation_fn": "gelu-approximate", "attention_bias": True, "attention_head_dim": 72, "dropout": 0.0},
        **{"cross_attention_dim": None, "in_channels": 4, "norm_elementwise_affine": False, "norm_num_groups": 32},
        **{"num_attention_heads": 16, "num_embeds_ada_norm": 1000, "num_layers": 28, "num_vector_embeds": None},
        **{"only_cross_attention": False, "out_channels": 8, "patch_size": 2, "sample_size": 32},
        **{"upcast_attention": False, "use_linear_projection": False},
    }
    assert by_us(config, tmp_path)[0] == architecture("dit-xl-2-256-diffusers").params.value() == 749_826_464


REFUSED = [
    ({"norm_elementwise_affine": True}, "'norm_elementwise_affine' is True in the config; this affects the"),
    ({"upcast_attention": True}, "'upcast_attention' is True in the config"),
    ({"norm_type": "ada_norm"}, "'norm_type' is 'ada_norm' in the config"),
    ({"cross_attention_dim": 24}, "'cross_attention_dim' is 24 in the config"),
    ({"activation_fn": "geglu"}, "'activation_fn' is 'geglu' in the config; only 'gelu-approximate' or 'gelu' is"),
    ({"num_embeds_ada_norm": None}, "'num_embeds_ada_norm' is null in the config, but N_class (classes) is an integer"),
    ({"mlp_ratio": 4}, "the field 'mlp_ratio' = 4 is not supported; remove it if it does not affect the model"),
    ({"sample_size": 29}, "Z=29 is not a multiple of Z_patch=7"),
    ({"attention_head_dim": 6}, "E=18 is not a multiple of 4"),
    ({"num_layers": 0}, "'num_layers' is 0"),
    ({"_class_name": "UNet2DModel"}, "names the diffusers class UNet2DModel, which no built-in architecture supports"),
    ({"_class_name": "Transformer2DModel"}, "names the diffusers class Transformer2DModel, which no built-in"),
    ({"_class_name": 7}, "has no 'model_type'"),
]


@pytest.mark.parametrize(("fields", "sentence"), REFUSED)
def test_unsupported_configs_are_refused(fields: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SymformerError) as caught:
        by_us({**SMALL, **fields}, tmp_path)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("quantity", "conventions", "sentence"),
    [
        ("kv-cache", {}, "this attention is not causal, so the keys"),
        ("decode-flops", {}, "this attention is not causal, so the keys"),
        ("generation-flops", {}, "this attention is not causal, so the keys"),
        ("inference-memory", {}, "this attention is not causal, so the keys"),
        ("activations", {}, "transformers does not have this model"),
        ("activations", {"implementation": "megatron"}, "of its paper, without gates"),
        ("communication", {"data": "zero3"}, "of a table that is not trained is not supported"),
        ("params", {"pipeline": "first"}, "reads emb.sum, which is computed before the layers"),
        ("params", {"context": "on"}, "a convolution reads neighboring positions"),
        ("params", {"expert": "on"}, "expert=on requires experts; DiT has none"),
    ],
)
def test_unsupported_quantities_are_refused(quantity: str, conventions: dict[str, str], sentence: str) -> None:
    with pytest.raises(SymformerError) as caught:
        architecture("dit").formula(quantity, **conventions)
    assert sentence in str(caught.value)


def test_module_that_runs_twice_gets_no_adapter() -> None:
    """The first block's embedder runs again before the output, so an update next to it would run there too."""
    each = architecture("dit", embedders="each")
    with pytest.raises(SymformerError, match="linear_1 uses a matrix, or rows of one, that is stored elsewhere"):
        each.formula("train-flops", train="lora")
    with pytest.raises(SymformerError, match="lora=linear_1: transformer_blocks"):
        architecture("dit", embedders="each", lora="linear_1").formula("params")
    # 4 matrices of attention, two of the MLP, one for scales: R(2·4 + 5 + 5 + 7)E in each block
    beside = architecture("dit", lora="to_q,to_k,to_v,0,proj,2,linear")
    assert beside.formula("trainable-params").value(L=2, E=24, R=3) == 2 * 3 * (8 + 5 + 5 + 7) * 24


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from symformer.witness import verify

    monkeypatch.setitem(__import__("sys").modules, "diffusers", None)
    monkeypatch.delitem(__import__("sys").modules, "symformer.witness.models.dit", raising=False)
    for options in ({}, {"embedders": "each"}):
        with pytest.raises(SymformerError, match=r"DiT needs diffusers, which is not installed .*; pip install diff"):
            verify(architecture("dit", **options))
