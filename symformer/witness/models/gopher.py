"""Gopher in plain torch: GPT-2 with RMS norms and relative attention, after Rae et al. 2021 (arXiv:2112.11446).

The attention follows section 3.3 of Dai et al. 2019 (arXiv:1901.02860). There is no public code of the model.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def sines(length: int, width: int, device: torch.device) -> Tensor:
    """Return a row of sines and cosines for each distance from length - 1 down to 0."""
    rates = 10_000.0 ** (-torch.arange(0, width, 2, device=device) / width)
    angles = torch.arange(length - 1, -1, -1, device=device)[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)[:, :width]


def shifted(scores: Tensor) -> Tensor:
    """Shift row i left by S - 1 - i, so that columns for distances become columns for keys (appendix B)."""
    batch, heads, queries, keys = scores.shape
    padded = torch.cat((scores.new_zeros(batch, heads, queries, 1), scores), -1)
    return padded.view(batch, heads, keys + 1, queries)[:, :, 1:].reshape(scores.shape)


class GopherAttention(nn.Module):
    def __init__(self, width: int, heads: int, bias: bool) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(width, width, bias=bias) for _ in range(4))
        self.r_proj = nn.Linear(width, width, bias=False)
        self.u, self.v = (nn.Parameter(torch.zeros(heads, width // heads)) for _ in range(2))

    def split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor, distances: Tensor) -> Tensor:
        q, k, v = (self.split(projection(x)) for projection in (self.q_proj, self.k_proj, self.v_proj))
        r = self.split(self.r_proj(distances)[None])
        of_tokens = (q + self.u[:, None]) @ k.transpose(-1, -2)
        of_distances = shifted((q + self.v[:, None]) @ r.transpose(-1, -2))
        scores = (of_tokens + of_distances) / math.sqrt(q.shape[-1])
        ahead = torch.ones(scores.shape[-2:], device=x.device, dtype=torch.bool).triu(1)
        y = scores.masked_fill(ahead, -math.inf).softmax(-1) @ v
        return self.o_proj(y.transpose(1, 2).flatten(2))


class GopherFeedForward(nn.Module):
    def __init__(self, width: int, hidden: int, bias: bool) -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden, bias=bias)
        self.act = nn.GELU()
        self.down = nn.Linear(hidden, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.act(self.up(x)))


class GopherLayer(nn.Module):
    def __init__(self, width: int, hidden: int, heads: int, bias: bool) -> None:
        super().__init__()
        self.norm_1 = nn.RMSNorm(width)
        self.attention = GopherAttention(width, heads, bias)
        self.norm_2 = nn.RMSNorm(width)
        self.mlp = GopherFeedForward(width, hidden, bias)

    def forward(self, x: Tensor, distances: Tensor) -> Tensor:
        x = x + self.attention(self.norm_1(x), distances)
        return x + self.mlp(self.norm_2(x))


class Gopher(nn.Module):
    def __init__(self, vocabulary: int, width: int, hidden: int, layers: int, heads: int, bias: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(GopherLayer(width, hidden, heads, bias) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        distances = sines(x.shape[1], x.shape[2], x.device)
        for layer in self.layers:
            x = layer(x, distances)
        return self.head(self.norm(x))
