"""Models of images and text: their formulas compared with a real run, with tokens that stand for images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import symformer as sf
from symformer.catalogue.config_match import find
from symformer.language.errors import CatalogueError, SymformerError
from symformer.quantities import quantity as find_quantity
from symformer.witness.model_calls import CallSpec, call_spec
from symformer.witness.transformers_classes import of_head

B, S, IMAGES, SIDE, PATCH = 3, 29, 4, 42, 14
PATCHES = (SIDE // PATCH) ** 2  # tokens that stand for one image
TOWER: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 13,  # VipLlava reads the eleventh of them from the end
    "num_attention_heads": 4,
    "image_size": SIDE,
    "patch_size": PATCH,
}
TEXT: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 112,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "vocab_size": 211,
}
READ = {  # by model type: the types of both parts, and further required config fields
    "llava": ("clip_vision_model", "llama", {"image_token_index": 7, "image_token_id": 7}),
    "vipllava": ("clip_vision_model", "llama", {"image_token_index": 7, "image_token_id": 7}),
    "paligemma": ("siglip_vision_model", "gemma", {"image_token_index": 7, "image_token_id": 7, "projection_dim": 64}),
}


def config_of(model_type: str) -> Any:
    tower, text, more = READ[model_type]
    parts = {"vision_config": {"model_type": tower, **TOWER}, "text_config": {"model_type": text, **TEXT}}
    return transformers.AutoConfig.for_model(model_type, **parts, **more)


def counted(model: Any, train: bool) -> int:
    """Return the count of torch's own counter for one run, and for its backward pass."""
    tokens = torch.full((B, S), 3)
    tokens.view(-1)[5 : 5 + IMAGES * PATCHES] = 7
    given = {"input_ids": tokens, "pixel_values": torch.randn(IMAGES, 3, SIDE, SIDE)}
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        said = model(**given).logits
        if train:
            said.sum().backward()
    return int(counter.get_total_flops())


@pytest.mark.parametrize("model_type", READ)
def test_flops_on_text_with_images_match_torch(model_type: str, tmp_path: Path) -> None:
    """Every image costs the vision tower and the projector, text tokens do not; generated tokens are text."""
    config = config_of(model_type)
    model = transformers.AutoModelForImageTextToText.from_config(config, attn_implementation="eager")
    written = {**config.to_dict(), "architectures": [type(model).__name__]}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(written, default=str))
    found = sf.model(str(path))
    assert (found.provenance.reading is None) == (model_type != "vipllava")  # the others are built in
    assert found.params.value() == sum(each.numel() for each in model.parameters())
    forward, trained = counted(model.eval(), train=False), counted(model.train(), train=True)
    assert trained > forward > 0
    run = {"B": B, "S": S, "B_vis": IMAGES}
    assert found.formula("flops").value(**run) == forward
    assert found.formula("train-flops").value(**run) == trained
    alone = counted_text(model.eval())
    each = found.formula("flops").value(**{**run, "B_vis": IMAGES + 1}) - found.formula("flops").value(**run)
    assert forward - alone == IMAGES * each
    assert "B_vis" not in map(str, found.formula("decode-flops").symbols)
    flops = found.formula("flops")
    reading = found.provenance.for_quantity("flops").reading
    said = reading.input_notes if reading else [find_quantity("flops").statement_for(flops)]
    assert any("are among the S" in line for line in said)


def counted_text(model: Any) -> int:
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(input_ids=torch.full((B, S), 3))
    return int(counter.get_total_flops())


def test_flops_with_images_require_the_number_of_images(tmp_path: Path) -> None:
    config = config_of("llava")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**config.to_dict(), "architectures": ["LlavaForConditionalGeneration"]}, default=str))
    with pytest.raises(SymformerError, match="B_vis"):
        sf.model(str(path)).formula("flops").value(B=B, S=S)


def test_vision_feature_layer_is_not_an_inert_field() -> None:
    """It changes no weight and no product of a forward pass, but which layers have a gradient in a backward pass."""
    config = {**config_of("llava").to_dict(), "architectures": ["LlavaForConditionalGeneration"]}
    config = json.loads(json.dumps(config, default=str))
    assert config["vision_feature_layer"] == -2
    usual, other = find(config), find({**config, "vision_feature_layer": 3})
    assert usual is not None
    assert usual("operations").operations.confirmed["train-flops"] > 0
    if other is not None:
        with pytest.raises(CatalogueError, match="the effect of vision_feature_layer on a run of Llava"):
            other("operations")


@pytest.mark.parametrize(
    ("model_type", "head", "way"),
    [
        ("chinese_clip", "base", CallSpec("base", "B_vis")),
        ("git", "causal", CallSpec("causal", "B")),  # it puts the patches of one image before each text
        ("qwen2_vl", "image-text", CallSpec("image-text")),  # the config does not state the image size
        ("siglip", "image", CallSpec("image")),
        ("smolvlm_vision", "base", CallSpec("image")),  # the class does not state its main input
        ("gpt2", "causal", CallSpec("causal")),
    ],
)
def test_each_class_is_called_with_the_images_it_takes(model_type: str, head: str, way: CallSpec) -> None:
    assert call_spec(of_head(model_type, head)) == way
