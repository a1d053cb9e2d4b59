"""PaLM in plain torch, after section 2 of Chowdhery et al. 2022 (arXiv:2204.02311). There is no public code."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def norm(width: int, scales: bool) -> nn.LayerNorm:
    return nn.LayerNorm(width, elementwise_affine=scales, bias=False)


def rotate(x: Tensor) -> Tensor:
    """Apply rotary position embeddings to x[B,A,S,D]."""
    half = x.shape[-1] // 2
    rates = 10_000.0 ** (-torch.arange(half, device=x.device) / half)
    angles = torch.arange(x.shape[-2], device=x.device)[:, None] * rates
    left, right = x[..., :half], x[..., half:]
    return torch.cat((left * angles.cos() - right * angles.sin(), right * angles.cos() + left * angles.sin()), -1)


class MultiQueryAttention(nn.Module):
    """Attention with queries per head and one shared key/value head."""

    def __init__(self, width: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj = nn.Linear(width, heads * head_width, bias=False)
        self.k_proj = nn.Linear(width, head_width, bias=False)
        self.v_proj = nn.Linear(width, head_width, bias=False)
        self.o_proj = nn.Linear(heads * head_width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q = rotate(self.q_proj(x).unflatten(-1, (self.heads, -1)).transpose(1, 2))
        k, v = rotate(self.k_proj(x)[:, None]), self.v_proj(x)[:, None]
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        ahead = torch.ones(scores.shape[-2:], device=x.device, dtype=torch.bool).triu(1)
        y = scores.masked_fill(ahead, -math.inf).softmax(-1) @ v
        return self.o_proj(y.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.act_fn = nn.SiLU()
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class ParallelLayer(nn.Module):
    def __init__(self, width: int, hidden: int, heads: int, head_width: int, scales: bool) -> None:
        super().__init__()
        self.norm = norm(width, scales)
        self.attention = MultiQueryAttention(width, heads, head_width)
        self.mlp = SwiGLU(width, hidden)

    def forward(self, x: Tensor) -> Tensor:
        normal = self.norm(x)
        return x + self.attention(normal) + self.mlp(normal)


class PaLM(nn.Module):
    def __init__(
        self,
        vocabulary: int,
        width: int,
        hidden: int,
        layers: int,
        heads: int,
        head_width: int,
        norm_scales: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(ParallelLayer(width, hidden, heads, head_width, norm_scales) for _ in range(layers))
        self.norm = norm(width, norm_scales)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
