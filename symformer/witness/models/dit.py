"""DiT as published, on top of diffusers' class: one embedder for all blocks, and positions stored as weights."""

from __future__ import annotations

from typing import Any

from diffusers import DiTTransformer2DModel
from torch import Tensor, nn


class DiT(DiTTransformer2DModel):  # type: ignore[misc]
    """Diffusers' model with the embedding of timestep and class computed once for all blocks."""

    def __init__(self, **sizes: Any) -> None:
        super().__init__(**sizes)
        self.emb = self.transformer_blocks[0].norm1.emb
        for block in self.transformer_blocks:
            del block.norm1.emb
            block.norm1.emb = self.conditioning
        sines = self.pos_embed.pos_embed
        del self.pos_embed.pos_embed
        self.pos_embed.pos_embed = nn.Parameter(sines, requires_grad=False)

    def conditioning(self, *given: Any, **how: Any) -> Tensor:
        """Return the embedding computed before the first block."""
        return self.made

    def forward(self, latent: Tensor, timesteps: Tensor, labels: Tensor) -> Any:
        self.made = self.emb(timesteps, labels, hidden_dtype=latent.dtype)
        return super().forward(latent, timesteps, labels)
