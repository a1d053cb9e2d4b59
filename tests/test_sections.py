"""Configs in sections, as in CLIP: read by the paths of their fields, and compared with transformers' classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from click.testing import CliRunner
from torch.utils.flop_counter import FlopCounterMode

from symformer import SymformerError, architecture, component, from_config
from symformer.commands.cli import cli
from symformer.language.symbols import B, B_vis, E_proj
from symformer.quantities import quantities

from .test_config_fields import Config

# As released, without token ids and null fields; the second is in the short form of later releases.
DUMPED = {
    **{"_name_or_path": "", "add_cross_attention": False, "architectures": None, "attention_dropout": 0.0},
    **{"bos_token_id": 0, "chunk_size_feed_forward": 0, "do_sample": False, "dropout": 0.0, "eos_token_id": 2},
    **{"hidden_act": "quick_gelu", "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "initializer_factor": 1.0},
    **{"is_decoder": False, "is_encoder_decoder": False, "layer_norm_eps": 1e-05, "max_length": 20, "num_beams": 1},
    **{"pruned_heads": {}, "return_dict": True, "tf_legacy_loss": False, "tie_word_embeddings": True, "top_k": 50},
    **{"torch_dtype": None, "torchscript": False, "transformers_version": "4.16.0.dev0", "use_bfloat16": False},
}
WIDE = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "projection_dim": 768}
LARGE = {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24}
LARGE |= {"patch_size": 14, "projection_dim": 768}
CLIP: Config = {"model_type": "clip", "architectures": ["CLIPModel"], "initializer_factor": 1.0}
CLIP |= {"logit_scale_init_value": 2.6592, "torch_dtype": "float32", "transformers_version": None}
FULL = {
    **CLIP,
    "projection_dim": 768,
    "text_config": {**DUMPED, **WIDE, "model_type": "clip_text_model", "vocab_size": 49408},
    "text_config_dict": {**WIDE, "num_hidden_layers": 12},
    "vision_config": {**DUMPED, **LARGE, "model_type": "clip_vision_model", "image_size": 224, "num_channels": 3},
    "vision_config_dict": LARGE,
}
SHORT = {
    **{**CLIP, "projection_dim": 768, "text_config": {**WIDE, "model_type": "clip_text_model", "dropout": 0.0}},
    "vision_config": {**LARGE, "model_type": "clip_vision_model", "dropout": 0.0},
}
NAMELESS = {name: value for name, value in FULL.items() if not name.endswith("_config")}  # only in the second section
SMALL = {"hidden_size": 24, "intermediate_size": 7, "num_attention_heads": 3, "num_hidden_layers": 2}
# By hand: tables, layers, a norm and a projection of width 24, in place of those of width 512.
NARROW = 151_277_313 - (49_408 + 77) * 512 - 12 * (12 * 512**2 + 13 * 512) - 2 * 512 - 512 * 512
NARROW += (49_408 + 77) * 24 + 2 * (4 * 24**2 + 2 * 24 * 7 + 9 * 24 + 7) + 2 * 24 + 24 * 512


def total(config: Config) -> int:
    """Return the number of elements that transformers stores for a config."""
    with torch.device("meta"):
        model = transformers.CLIPModel(transformers.CLIPConfig.from_dict(json.loads(json.dumps(config))))
    return sum(parameter.numel() for parameter in model.parameters())


def saved(config: Any, folder: Path) -> str:
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return str(folder / "config.json")


@pytest.mark.parametrize(
    ("config", "elements"),
    [
        (FULL, 427_616_513),
        (SHORT, 427_616_513),
        (NAMELESS, 427_616_513),
        ({**CLIP, "text_config_dict": None, "vision_config_dict": None}, 151_277_313),
        ({**CLIP, "text_config": None, "vision_config": {}}, 151_277_313),
        ({**CLIP, "text_config": SMALL}, NARROW),
        ({**CLIP, "text_config": {}, "text_config_dict": SMALL}, NARROW),
        ({**CLIP, "text_config": {}, "text_config_dict": {}}, 151_277_313),
    ],
)  # fmt: skip
def test_nested_configs_are_parsed(config: Config, elements: int, tmp_path: Path) -> None:
    assert from_config(saved(config, tmp_path)).params.value() == total(config) == elements


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"text_config": {"kv_groups": 3}}, "the field 'text_config.kv_groups' = 3 is not supported; remove it"),
        ({"text_config_dict": {"depth": 3}}, "the field 'text_config_dict.depth' = 3 is not supported"),
        ({"hidden_size": 24}, "the field 'hidden_size' = 24 is not supported"),
        ({"text_config": {"image_size": 224}}, "the field 'text_config.image_size' = 224 is not supported"),
        ({"vision_config": {"vocab_size": 29}}, "the field 'vision_config.vocab_size' = 29 is not supported"),
        ({"text_config.hidden_size": 24}, "move 'hidden_size' into the object 'text_config'"),
        ({"text_config": [7]}, "'text_config' is [7] in the config; it should be an object or null"),
        ({"vision_config_dict": "x"}, "'vision_config_dict' is 'x' in the config; it should be an object or null"),
        ({"text_config": {"hidden_size": "24"}}, "'text_config.hidden_size' is '24', which is not an integer"),
        ({"text_config": {"hidden_size": None}}, "'text_config.hidden_size' is null in the config, but E (hidden size"),
        ({"projection_dim": None}, "'projection_dim' is null in the config, but E_proj (projection size"),
        ({"text_config": {"hidden_act": "prelu"}}, "'text_config.hidden_act' is 'prelu' in the config"),
        ({"vision_config": {"attention_dropout": 1}}, "'vision_config.attention_dropout' is 1 in the config"),
        ({"vision_config": {"image_size": [224, 224]}}, "'vision_config.image_size' is [224, 224], which is not a"),
        ({"vision_config": {"image_size": 225}}, "Z=225 is not a multiple of Z_patch=32 (image side length"),
        ({"vision_config": {"num_attention_heads": 7}}, "E_vis=768 is not a multiple of A_vis=7"),
        ({"text_config": {"is_causal": False}}, "'text_config.is_causal' is False in the config; this affects the"),
        ({"vision_config": {"pruned_heads": {"0": [1]}}}, "'vision_config.pruned_heads' is {'0': [1]} in the config"),
        ({"text_config": {"model_type": "siglip_text_model"}}, "'text_config.model_type' is 'siglip_text_model' in"),
        ({"vision_config": {"model_type": "clip"}}, "'vision_config.model_type' is 'clip' in the config"),
        ({"text_config": {"layer_types": ["full_attention"] * 12}}, "the field 'text_config.layer_types' = ["),
        ({"architectures": ["CLIPTextModel"]}, "'architectures' names 'CLIPTextModel', whose head is not supported"),
        ({"architectures": ["CLIPVisionModelWithProjection"]}, "names 'CLIPVisionModelWithProjection', whose head"),
        ({"architectures": ["CLIPForImageClassification"]}, "names 'CLIPForImageClassification', whose head"),
        ({"model_type": "clip_text_model", "hidden_size": 768}, "'model_type' is 'clip_text_model', which no"),
        ({"model_type": "clip_vision_model"}, "'model_type' is 'clip_vision_model', which no built-in architecture"),
        ({"model_type": "align"}, "'model_type' is 'align', which no built-in architecture supports"),
        (
            {"text_config": SMALL, "text_config_dict": {"hidden_size": 24}},
            "'text_config.intermediate_size' is 7 in 'text_config' but 2048 in 'text_config_dict' in the config; keep",
        ),
        ({"text_config": SMALL, "text_config_dict": {}}, "'text_config.hidden_size' is 24 in 'text_config' but 512 in"),
        (
            {"vision_config": {"hidden_act": "gelu"}, "vision_config_dict": {"image_size": 224}},
            "'vision_config.hidden_act' is gelu in 'vision_config' but quick_gelu in 'vision_config_dict'",
        ),
    ],
)  # fmt: skip
def test_errors_in_nested_configs_name_the_path(config: Config, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SymformerError) as refusal:
        from_config(saved({**CLIP, **config}, tmp_path))
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_duplicate_sections_are_resolved_as_transformers_does() -> None:
    """If the two differ, transformers uses the second, with defaults for its missing fields, which is surprising."""
    config = {**CLIP, "text_config": {**SMALL}, "text_config_dict": {"hidden_size": 24}}  # it writes into the first
    read = transformers.CLIPConfig.from_dict(config).text_config
    assert (read.hidden_size, read.intermediate_size) == (24, 2048)


def test_flops_of_one_text_and_one_image() -> None:
    """ViT-B/32 by hand, 2 FLOPs per multiply-add: 49 patches and a class token, and 77 text tokens.

    OpenCLIP's docs/model_profile.csv states 14.78 GFLOPs, 8.82 for the image and 5.96 for the text; and 41.09, 175.33
    and 395.22 for the other models.
    """
    image = 2 * 49 * 3 * 32 * 32 * 768 + 12 * (2 * 50 * 12 * 768**2 + 4 * 50**2 * 768) + 2 * 768 * 512
    text = 12 * (2 * 77 * 12 * 512**2 + 4 * 77**2 * 512) + 2 * 512 * 512
    clip = architecture("clip-vit-base-patch32")
    one = {"B": 1, "B_vis": 1, "S": 77}
    assert clip.formula("flops").value(**one) == image + text + 2 * 512
    assert (f"{image / 1e9:.2f}", f"{text / 1e9:.2f}") == ("8.82", "5.96")
    for name, giga in (("base-patch16", "41.09"), ("large-patch14", "175.33"), ("large-patch14-336", "395.22")):
        flops = architecture(f"clip-vit-{name}").formula("flops").value(**one)
        assert f"{flops / 1e9:.2f}" == giga
    # 9 texts and 4 images: each with each
    assert clip.formula("flops").value(B=9, B_vis=4, S=77) == 4 * image + 9 * text + 9 * 4 * 2 * 512


def test_each_encoder_is_a_separate_part() -> None:
    """ViT-L/14, by hand.

    49408*768 + 77*768 + 12*(12*768² + 13*768) + 2*768 is CLIPTextModel's 123,060,480. 3*14*14*1024 + 1024 + 257*1024 +
    24*(12*1024² + 13*1024) + 2*2*1024 is the image encoder's.
    """
    clip = architecture("clip-vit-large-patch14").params
    assert clip.part("text_model").value() == 123_060_480
    assert clip.part("vision_model").value() == 3 * 14 * 14 * 1024 + 258 * 1024 + 24 * (12 * 1024 + 13) * 1024 + 4096
    alone = {"V": 49_408, "P": 77, "E": 768, "H": 3072, "L": 12, "A": 12}
    assert component("text-encoder").params.value(alone) == 123_060_480


def test_the_numbers_of_texts_and_images_may_differ() -> None:
    """In real memory: 5 texts and 3 images, and a product of 5 by 3."""
    seen = {**SMALL, "hidden_size": 22, "num_attention_heads": 11, "image_size": 20, "patch_size": 10}
    config = transformers.CLIPConfig(
        text_config={**SMALL, "vocab_size": 29}, vision_config=seen, projection_dim=19, attn_implementation="eager"
    )
    model = transformers.CLIPModel(config).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        output = model(input_ids=torch.zeros(5, 8, dtype=torch.long), pixel_values=torch.zeros(3, 3, 20, 20))
    assert tuple(output.logits_per_text.shape) == (5, 3)
    sizes = {"E": 24, "H": 7, "L": 2, "E_vis": 22, "H_vis": 7, "L_vis": 2, "Z": 20, "Z_patch": 10, "N_chan": 3}
    found = architecture("clip").formula("flops").value({**sizes, "E_proj": 19}, B=5, B_vis=3, S=8)
    assert found == counter.get_total_flops() > 0


def test_clip_refuses_unsupported_quantities() -> None:
    clip = architecture("clip-vit-base-patch32")
    for quantity in ("kv-cache", "decode-flops", "prefill-flops", "generation-flops", "inference-memory"):
        with pytest.raises(
            SymformerError, match="not causal, so the keys and values of earlier tokens cannot be cached"
        ):
            clip.formula(quantity)
        with pytest.raises(SymformerError, match="no token is generated after that"):
            component("text-encoder").formula(quantity)
    for quantity in ("traffic", "intensity"):
        assert component("text-encoder").formula(quantity)
        with pytest.raises(SymformerError, match="no token is generated after that"):
            component("text-encoder").formula(quantity, phase="decode")
    with pytest.raises(SymformerError, match="is less than S=78"):
        clip.formula("flops").value(B=1, B_vis=1, S=78)
    for options, because in (
        ({"tensor": "sequence"}, "a convolution reads neighboring positions"),
        ({"context": "on"}, "a convolution reads neighboring positions"),
        ({"expert": "on"}, "requires experts; CLIP has none"),
        ({"pipeline": "first"}, "CLIP has 2 stacks of repeated layers; pipeline stages support one stack only"),
    ):
        with pytest.raises(SymformerError, match=because):
            clip.formula("params", **options)
    for quantity in ("train-memory", "communication"):
        with pytest.raises(SymformerError, match="logit_scale is a single number, which cannot be sharded evenly"):
            clip.formula(quantity, data="zero1")
    with pytest.raises(SymformerError, match="count=all does not support 'mish'"):
        architecture("clip", activation="mish").formula("flops", count="all")


def test_statements_mention_texts_and_images() -> None:
    clip = architecture("clip")
    for quantity in ("flops", "train-flops", "activations", "train-memory"):
        said = quantities()[quantity].statement_for(clip.formula(quantity))
        assert "over B sequences of S tokens and B_vis images" in said
    assert "except those of image positions, which it stores" in quantities()["activations"].statement_for(
        clip.formula("activations")
    )


def test_elementwise_flops_by_hand() -> None:
    """Operations after the two projections, for 5 texts and 3 images of 19 elements.

    3 for each element of a vector that is divided by its length, an exponential, and a product for each of 5 times 3.
    """
    flops = architecture("clip").formula("flops", count="all")
    names = ("image_embeds", "text_embeds", "exp", "logits_per_text")
    given = {B: 5, B_vis: 3, E_proj: 19}
    found = {row.path: row.each.xreplace(given) for row in flops.rows}
    assert [found[name] for name in names] == [3 * 3 * 19, 3 * 5 * 19, 1, 5 * 3]


def test_the_command_line_reads_a_clip_config(tmp_path: Path) -> None:
    path = saved(SHORT, tmp_path)
    shown = CliRunner().invoke(cli, ["show", path, "--json"])
    assert json.loads(shown.stdout)["value"] == 427_616_513
    asked = ["show", path, "-q", "flops", "--set", "B=2", "--set", "B_vis=3", "--set", "S=78"]
    refused = CliRunner().invoke(cli, asked)
    assert refused.exit_code == 2
    assert "is less than S=78 (sequence length)" in refused.stderr
    compared = CliRunner().invoke(cli, ["compare", path, "vit-large-patch16-224"])
    assert compared.exit_code == 0, compared.stderr
