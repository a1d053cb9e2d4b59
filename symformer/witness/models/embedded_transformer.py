"""torch.nn.Transformer with a shared embedding and a tied head: section 3.4 of Vaswani et al. 2017."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn


def sinusoids(length: int, width: int, device: torch.device) -> Tensor:
    """Return sinusoidal positions (section 3.5): sines in the even columns, cosines in the odd ones."""
    columns = torch.arange(width, device=device)
    angles = torch.arange(length, device=device)[:, None] / 10_000.0 ** (columns // 2 * 2 / width)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos())


class EmbeddedTransformer(nn.Module):
    def __init__(self, vocabulary: int, d_model: int, **sizes: Any) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.transformer = nn.Transformer(d_model, **sizes)
        self.head = nn.Linear(d_model, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def embed(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return x + sinusoids(tokens.shape[1], x.shape[-1], x.device)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.head(self.transformer(self.embed(source), self.embed(target)))
