"""The label of a rotary table in a figure has the width of the table that the class computes."""

from __future__ import annotations

from importlib import import_module

import pytest
import torch
import transformers

from symformer.output.blocks import plain

from .model_figures import builder

WIDTH = 24  # of a head, or of the part of it that rotates


@pytest.mark.parametrize(
    ("target", "part", "package", "stem", "field", "label"),
    [
        ("llama", "layers.*.self_attn", "llama", "Llama", "head_dim", "D"),
        ("gpt-oss", "local_layers.*.self_attn", "gpt_oss", "GptOss", "head_dim", "D/2"),
        ("llama4", "local_layers.*.self_attn", "llama4", "Llama4Text", "head_dim", "D/2"),
        ("deepseek-v2", "layers.*.self_attn", "deepseek_v2", "DeepseekV2", "qk_rope_head_dim", "D_rope/2"),
        ("deepseek-v3", "layers.*.self_attn", "deepseek_v3", "DeepseekV3", "qk_rope_head_dim", "D_rope"),
    ],
)
def test_width_of_a_rotary_table(target: str, part: str, package: str, stem: str, field: str, label: str) -> None:
    module = import_module(f"transformers.models.{package}.modeling_{package}")
    config = getattr(transformers, f"{stem}Config")(**{field: WIDTH, "rope_parameters": None})
    table = getattr(module, f"{stem}RotaryEmbedding")(config)
    found = table(torch.zeros(1, 5, 7), torch.arange(5)[None])
    computed = found if isinstance(found, torch.Tensor) else found[0]  # complex numbers, or cosines
    assert computed.shape[-1] == (WIDTH // 2 if label.endswith("/2") else WIDTH)
    _, shown = map(plain, builder(target).part(part).graph.ports)
    assert shown == f"cos, sin [2, S, {label}]"
