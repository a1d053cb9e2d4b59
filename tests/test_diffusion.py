"""Models of diffusers from the configs in their repositories, compared with the class and published totals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import diffusers
import pytest
import torch
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import ConfigError, SymformerError, UnreadError
from symformer.targets.resolution import model
from symformer.witness import diffusers_classes

QWEN: dict[str, Any] = {
    "_class_name": "QwenImageTransformer2DModel", "_diffusers_version": "0.34.0.dev0", "attention_head_dim": 128,
    "axes_dims_rope": [16, 56, 56], "guidance_embeds": False, "in_channels": 64, "joint_attention_dim": 3584,
    "num_attention_heads": 24, "num_layers": 60, "out_channels": 16, "patch_size": 2,
}  # fmt: skip
SD3: dict[str, Any] = {
    "_class_name": "SD3Transformer2DModel", "_diffusers_version": "0.29.0.dev0", "attention_head_dim": 64,
    "caption_projection_dim": 1536, "in_channels": 16, "joint_attention_dim": 4096, "num_attention_heads": 24,
    "num_layers": 24, "out_channels": 16, "patch_size": 2, "pooled_projection_dim": 2048, "pos_embed_max_size": 192,
    "sample_size": 128,
}  # fmt: skip
FLUX_VAE: dict[str, Any] = {
    "_class_name": "AutoencoderKL", "block_out_channels": [32, 64], "down_block_types": ["DownEncoderBlock2D"] * 2,
    "in_channels": 3, "latent_channels": 16, "layers_per_block": 1, "norm_num_groups": 16, "out_channels": 5,
    "up_block_types": ["UpDecoderBlock2D"] * 2, "use_post_quant_conv": False, "use_quant_conv": False,
}  # fmt: skip
# The published configs of these classes, with small sizes.
SANA: dict[str, Any] = {
    "_class_name": "SanaTransformer2DModel", "attention_bias": False, "attention_head_dim": 8, "caption_channels": 10,
    "cross_attention_dim": 24, "cross_attention_head_dim": 12, "in_channels": 4, "mlp_ratio": 2.3,
    "num_attention_heads": 3, "num_cross_attention_heads": 2, "num_layers": 2, "out_channels": 5, "patch_size": 1,
    "sample_size": 16,
}  # fmt: skip
CONTROL: dict[str, Any] = {
    "_class_name": "ControlNetModel", "act_fn": "silu", "attention_head_dim": 4, "block_out_channels": [32, 64],
    "conditioning_embedding_out_channels": [16, 24], "cross_attention_dim": 20,
    "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"], "in_channels": 5, "layers_per_block": 1,
    "norm_num_groups": 16,
}  # fmt: skip
HIDREAM: dict[str, Any] = {
    "_class_name": "HiDreamImageTransformer2DModel", "attention_head_dim": 8, "axes_dims_rope": [4, 2, 2],
    "caption_channels": [12, 14], "in_channels": 6, "llama_layers": [0, 1], "max_resolution": [16, 16],
    "num_activated_experts": 2, "num_attention_heads": 4, "num_layers": 1, "num_routed_experts": 3,
    "num_single_layers": 1, "out_channels": 6, "patch_size": 2, "text_emb_dim": 10,
}  # fmt: skip
WAN_VAE: dict[str, Any] = {
    "_class_name": "AutoencoderKLWan", "attn_scales": [], "base_dim": 8, "dim_mult": [1, 2], "dropout": 0.0,
    "num_res_blocks": 1, "temperal_downsample": [True], "z_dim": 6, "latents_mean": [0.5] * 6, "latents_std": [1.5] * 6,
}  # fmt: skip
POSITIONS = 16 * 16 * 3 * 8  # a fixed table in SD3's checkpoint, for the small config below


def written(folder: Path, config: dict[str, Any]) -> str:
    place = folder / "config.json"
    place.write_text(json.dumps(config))
    return str(place)


def stored(config: dict[str, Any]) -> int:
    with torch.device("meta"):
        made = getattr(diffusers, config["_class_name"]).from_config(dict(config))
    return sum(each.numel() for each in made.parameters())


def test_published_config_has_its_published_total_and_sizes(tmp_path: Path) -> None:
    found = model(written(tmp_path, QWEN))
    assert found.params.value() == 20_430_401_088
    sizes = {size: found.known[size] for size in found.params.symbols}
    assert sorted(sizes.values()) == [2, 16, 24, 60, 64, 128, 3584]  # every integer of the config
    layers = next(size for size, value in sizes.items() if value == 60)
    wider = {**QWEN, "num_layers": 5}
    assert found.set({layers: 5}).params.value() == stored(wider)


@pytest.mark.parametrize(
    ("config", "fixed", "lists"),
    [
        # its feed-forward network has int(2.3 * 8 * heads) channels, which is not a product of the heads
        (SANA, "num_attention_heads=3", ""),
        # its heads have floor(channels / heads) channels each
        (CONTROL, "attention_head_dim=4, cross_attention_dim=20", "down_block_types, block_out_channels"),
        (HIDREAM, "attention_head_dim=8", "caption_channels, axes_dims_rope"),  # int(2 / 3 * 4 * width), rounded up
        (WAN_VAE, "", "dim_mult, temperal_downsample"),  # none of its sizes is called channels
    ],
    ids=["Sana", "ControlNet", "HiDream", "Wan autoencoder"],
)
def test_notes_name_the_sizes_and_the_lists_that_are_fixed(
    config: dict[str, Any], fixed: str, lists: str, tmp_path: Path
) -> None:
    found = model(written(tmp_path, config))
    assert found.params.value() == stored(config) > 0
    assert len(found.params.symbols) >= 1
    notes = "; ".join(found.provenance.notes)
    assert f"no formula was found in these sizes, which are fixed: {fixed}" * bool(fixed) in notes
    assert f"the formula holds only for the lists of this config: {lists}" * bool(lists) in notes
    assert bool(lists) == ("lists" in notes)
    assert bool(fixed) == ("fixed" in notes)


def test_unread_fields_and_buffers_are_noted(tmp_path: Path) -> None:
    small = {
        **SD3,
        "attention_head_dim": 8,
        "caption_projection_dim": 24,
        "num_attention_heads": 3,
        "num_layers": 2,
        "pos_embed_max_size": 16,
        "no_such_field": 5,
    }
    found = model(written(tmp_path, small))
    assert found.provenance.notes == (
        "ignored fields that SD3Transformer2DModel does not read: no_such_field",
        f"a checkpoint also stores {POSITIONS:,} buffer elements, which are not parameters",
    )


def test_the_search_for_a_formula_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diffusers_classes, "PATIENCE", 0.0)
    with pytest.raises(UnreadError, match="no formula was found in 0 seconds and 0 builds"):
        model(written(tmp_path, CONTROL))


def test_a_pipeline_is_refused_with_the_folders_of_its_models(tmp_path: Path) -> None:
    index = {
        "_class_name": "StableDiffusion3Pipeline",
        "_diffusers_version": "0.29.0.dev0",
        "image_encoder": [None, None],
        "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
        "text_encoder": ["transformers", "CLIPTextModelWithProjection"],
        "tokenizer": ["transformers", "CLIPTokenizer"],
        "transformer": ["diffusers", "SD3Transformer2DModel"],
        "vae": ["diffusers", "AutoencoderKL"],
    }
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    named = (
        "StableDiffusion3Pipeline is a pipeline of several models; give one of its sub-folders: "
        "text_encoder (CLIPTextModelWithProjection), transformer (SD3Transformer2DModel), vae (AutoencoderKL)"
    )
    for target in (tmp_path, tmp_path / "model_index.json"):
        for command in ("show", "trace"):
            run = CliRunner().invoke(cli, [command, str(target)], prog_name="symformer")
            assert (run.exit_code, run.stdout) == (2, "")
            assert f"{target}: {named}\n" in run.stderr
    (tmp_path / "vae").mkdir()
    written(tmp_path / "vae", {**WAN_VAE, "z_dim": 0})
    (tmp_path / "config.json").write_text("{}")  # in addition: a folder with a config.json is that config
    with pytest.raises(ConfigError, match="has no 'model_type'"):
        model(str(tmp_path))


@pytest.mark.exhaustive
def test_every_command_answers_and_the_formula_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMFORMER_CACHE", str(tmp_path / "cache"))
    path, count = written(tmp_path, FLUX_VAE), stored(FLUX_VAE)
    assert count > 0
    traced = sf.trace(path).model
    first = model(path)
    assert first.params.value() == traced.params.value() == count
    lists = "the formula holds only for the lists of this config: down_block_types, up_block_types, block_out_channels"
    assert first.provenance.notes == traced.provenance.notes == (lists,)
    monkeypatch.setattr(diffusers_classes, "trace_diffusion", lambda *given: pytest.fail("it is traced again"))
    again = model(path)
    assert again.params.expr == first.params.expr
    assert again.provenance.notes == first.provenance.notes
    shown = CliRunner().invoke(cli, ["show", path], prog_name="symformer")
    assert shown.exit_code == 0, shown.output
    for each in ("AutoencoderKL of diffusers", f"{count:,}", lists):
        assert each in " ".join(shown.stdout.split())
    run = CliRunner().invoke(cli, ["show", path, "-q", "flops"], prog_name="symformer")
    assert (run.exit_code, run.stdout) == (2, "")
    assert "flops" in run.stderr


def test_a_config_that_diffusers_cannot_build_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for fields, sentence in (
        ({"_class_name": "FluxPipeline"}, "FluxPipeline is a diffusers pipeline; give the config.json of one"),
        ({"_class_name": "NoSuchModel"}, "diffusers has no model with that name"),
        ({"num_attention_heads": "many"}, "diffusers cannot build QwenImageTransformer2DModel"),
        ({"lora_rank": 4}, "has lora_rank=4, which QwenImageTransformer2DModel does not read"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            sf.trace(written(tmp_path, {**QWEN, **fields}))
        with pytest.raises(ConfigError, match=sentence):
            model(written(tmp_path, {**QWEN, **fields}))
    monkeypatch.setitem(__import__("sys").modules, "diffusers", None)
    with pytest.raises(SymformerError, match="is not installed: pip install diffusers"):
        model(written(tmp_path, SANA))
