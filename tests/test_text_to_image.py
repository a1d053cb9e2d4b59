"""FLUX.1 and Stable Diffusion 3 compared with diffusers' classes: configs, products and refusals."""

from __future__ import annotations

import json
from typing import Any

import diffusers
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from symformer import SymformerError, architecture, from_config
from symformer.architectures import architecture_class
from symformer.witness.torch_session import built, silence

from .samples import sampled

FLUX = {
    **{"_class_name": "FluxTransformer2DModel", "_diffusers_version": "0.30.0", "patch_size": 2, "in_channels": 7},
    **{"out_channels": 5, "num_layers": 3, "num_single_layers": 4, "attention_head_dim": 12, "num_attention_heads": 6},
    **{"joint_attention_dim": 13, "pooled_projection_dim": 17, "guidance_embeds": True, "axes_dims_rope": [2, 4, 6]},
}
SD3 = {
    **{"_class_name": "SD3Transformer2DModel", "_diffusers_version": "0.29.0", "sample_size": 14, "patch_size": 2},
    **{"in_channels": 3, "out_channels": 5, "num_layers": 6, "attention_head_dim": 12, "num_attention_heads": 4},
    **{"joint_attention_dim": 13, "pooled_projection_dim": 17, "caption_projection_dim": 48, "pos_embed_max_size": 10},
    **{"dual_attention_layers": [0, 2], "qk_norm": "rms_norm"},
}
B, S_TXT, S_IMG = 8, 9, 11


def by_torch(config: dict[str, Any]) -> tuple[int, int]:
    """Return the parameters of the class and the FLOPs of a forward pass."""
    with silence():
        model = built(lambda: getattr(diffusers, config["_class_name"]).from_config(dict(config)))
    at = model.config
    counter = FlopCounterMode(display=False)
    with silence(), torch.device("meta"), torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        given = torch.zeros(B, S_TXT, at.joint_attention_dim), torch.zeros(B, at.pooled_projection_dim), torch.zeros(B)
        if "sample_size" in at:
            model(torch.zeros(B, at.in_channels, at.sample_size, at.sample_size), *given)
        else:
            guidance = [torch.zeros(B)] if at.guidance_embeds else []
            image = torch.zeros(B, S_IMG, at.in_channels)
            model(image, *given, torch.zeros(S_IMG, 3), torch.zeros(S_TXT, 3), *guidance)
    return sum(each.numel() for each in model.parameters()), counter.get_total_flops()


def by_us(config: dict[str, Any]) -> tuple[int, int]:
    model = from_config(config)
    flops = model.formula("flops")
    run = {"B": B, "S_txt": S_TXT} | ({"S_img": S_IMG} if config["_class_name"] == FLUX["_class_name"] else {})
    return model.params.value(), flops.value(**run)


MOVED: dict[str, tuple[Any, ...]] = {
    "patch_size": (1, 3),
    "in_channels": (4,),
    "out_channels": (10, None),
    "num_layers": (1, 2),
    "num_single_layers": (1, 2),
    "num_attention_heads": (1, 5),
    "joint_attention_dim": (10,),
    "pooled_projection_dim": (21,),
    "guidance_embeds": (False,),
    "axes_dims_rope": ([12, 0, 0], [4, 4, 4]),
}


CHANGED = [{**FLUX, name: value} for name, values in MOVED.items() for value in values]
CHANGED += [{field: value for field, value in FLUX.items() if field != name} for name in ("patch_size", "in_channels")]
CHANGED.append({**FLUX, "attention_head_dim": 8, "axes_dims_rope": [4, 2, 2]})


def test_a_written_config_is_read() -> None:
    made = {name: value for name, value in FLUX.items() if not name.startswith("_")}
    written = json.loads(built(lambda: diffusers.FluxTransformer2DModel(**made)).to_json_string())
    assert {name for name in written if not name.startswith("_")} == {*MOVED, "attention_head_dim"}
    assert by_us(written) == by_torch(FLUX)  # as written by the class


MOVED_SD3: dict[str, tuple[Any, ...]] = {
    "sample_size": (16, 20),
    "patch_size": (7,),
    "in_channels": (4,),
    "out_channels": (10,),
    "num_layers": (4, 7),
    "joint_attention_dim": (10,),
    "pooled_projection_dim": (21,),
    "pos_embed_max_size": (7,),
    "dual_attention_layers": ([], [3], [4, 0, 1]),
    "qk_norm": (None,),
}


OMITTED_SD3 = ("patch_size", "in_channels", "out_channels", "qk_norm", "dual_attention_layers", "pos_embed_max_size")
CHANGED += [{**SD3, name: value} for name, values in MOVED_SD3.items() for value in values]
CHANGED += [{field: value for field, value in SD3.items() if field != name} for name in OMITTED_SD3]
CHANGED.append({**SD3, "attention_head_dim": 8, "num_attention_heads": 3, "caption_projection_dim": 24})


def test_a_written_config_of_stable_diffusion_is_read() -> None:
    made = {name: value for name, value in SD3.items() if not name.startswith("_")}
    written = json.loads(built(lambda: diffusers.SD3Transformer2DModel(**made)).to_json_string())
    heads = {"attention_head_dim", "num_attention_heads", "caption_projection_dim"}
    assert {name for name in written if not name.startswith("_")} == {*MOVED_SD3, *heads}
    assert by_us(written) == by_torch(SD3)  # as written by the class


@pytest.mark.parametrize("place", sampled(3, range(len(CHANGED))))
def test_every_field_of_the_classes_is_read(place: int) -> None:
    assert by_us(CHANGED[place]) == by_torch(CHANGED[place]), CHANGED[place]


REFUSED_SD3 = [
    ({"caption_projection_dim": 40}, "'caption_projection_dim' is 40 in the config, or by default; it should be"),
    ({"pos_embed_max_size": 6}, "'pos_embed_max_size' is 6 in the config, or by default; it should be at least"),
    ({"pos_embed_max_size": None}, "'pos_embed_max_size' is None in the config"),
    ({"dual_attention_layers": [5]}, "'dual_attention_layers' is [5] in the config; it should list different layers"),
    ({"dual_attention_layers": [1, 1]}, "'dual_attention_layers' is [1, 1] in the config"),
    ({"out_channels": None}, "'out_channels' is null in the config"),  # the class then uses in_channels
    ({"qk_norm": "layer_norm"}, "'qk_norm' is 'layer_norm' in the config; only None or 'rms_norm' is supported"),
]
REFUSED = [
    ({"attention_head_dim": 14}, "'axes_dims_rope' is [2, 4, 6] in the config; it should be three even numbers whose"),
    ({"axes_dims_rope": [3, 3, 6]}, "'axes_dims_rope' is [3, 3, 6] in the config"),
    ({"guidance_embeds": 1}, "'guidance_embeds' is 1 in the config, which is neither true nor false"),
    ({"num_single_layers": 0}, "'num_single_layers' is 0"),
    ({"qk_norm": "rms_norm"}, "the field 'qk_norm'"),
]


@pytest.mark.parametrize(
    ("base", "fields", "sentence"),
    [(FLUX, *each) for each in REFUSED] + [(SD3, *each) for each in REFUSED_SD3],
)
def test_unsupported_configs_are_not_read(base: dict[str, Any], fields: dict[str, Any], sentence: str) -> None:
    """They are refused, or left to the catalogue and to a trace, which count parameters only."""
    config = {name: value for name, value in {**base, **fields}.items() if name != "_class_name"}
    reader = architecture_class("flux" if base is FLUX else "sd3").fields
    with pytest.raises(SymformerError) as caught:
        reader.read({**config, "architectures": [base["_class_name"]]})
    assert sentence in str(caught.value)


def test_attention_is_over_both_sequences() -> None:
    """By hand, FLUX.1 [dev] with 512 tokens of text and 4,096 of an image, in multiply-adds.

    A block multiplies each of the 4,608 tokens by 12·3,072² weights, twice 4,608² by 3,072 in attention, and the
    conditioning vector by 12·3,072² weights, or 3·3,072² in the last 38 blocks.
    """
    width, tokens = 3072, 512 + 4096
    block = 12 * width**2 * tokens + 2 * tokens**2 * width
    ends = 4096 * (64 + 64) * width + 512 * 4096 * width + (2 * 256 + 768 + 5 * width) * width
    flops = architecture("flux-1-dev").formula("flops")
    expected = 57 * block + (19 * 12 + 38 * 3) * width**2 + ends
    assert flops.value(B=1, S_txt=512, S_img=4096) == 2 * expected


@pytest.mark.parametrize(
    ("quantity", "conventions", "sentence"),
    [
        ("kv-cache", {}, "this attention is not causal, so the keys"),
        ("decode-flops", {}, "this attention is not causal, so the keys"),
        ("activations", {}, "transformers does not have this model"),
        ("params", {"pipeline": "first"}, "has 2 stacks of repeated layers"),
        ("params", {"context": "on"}, "concatenating tokens is not supported if ranks shard the sequence"),
    ],
)
def test_unsupported_quantities_are_refused(quantity: str, conventions: dict[str, str], sentence: str) -> None:
    with pytest.raises(SymformerError) as caught:
        architecture("flux").formula(quantity, **conventions)
    assert sentence in str(caught.value)
