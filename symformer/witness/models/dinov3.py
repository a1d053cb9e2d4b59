"""DINOv3 at any head dimension and without a cache.

At some head dimensions, rounding gives the class of transformers one frequency too many. It also keeps the coordinates
of patches from one model to the next, although these can have different fake tensors.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import DINOv3ViTConfig, DINOv3ViTModel
from transformers.models.dinov3_vit import modeling_dinov3_vit as theirs

CACHED = "get_patches_center_coordinates"


class ExactDINOv3(DINOv3ViTModel):  # type: ignore[no-untyped-call]
    def __init__(self, config: DINOv3ViTConfig) -> None:
        super().__init__(config)
        angles = self.rope_embeddings
        angles.inv_freq = angles.inv_freq[: angles.head_dim // 4]

    def forward(self, pixel_values: Tensor, bool_masked_pos: Tensor | None = None, **facts: Any) -> Any:
        cached = getattr(theirs, CACHED)
        setattr(theirs, CACHED, cached.__wrapped__)
        try:
            return super().forward(pixel_values, bool_masked_pos, **facts)
        finally:
            setattr(theirs, CACHED, cached)
