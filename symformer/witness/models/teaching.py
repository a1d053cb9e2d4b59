"""The two teaching models, in plain torch."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class TeachingMLP(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.act = nn.ReLU()
        self.down = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.act(self.up(x)))


class FeedForwardLM(nn.Module):
    """Embedding, feed-forward network, tied head without bias."""

    def __init__(self, vocabulary: int, width: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.mlp = TeachingMLP(width, hidden)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.mlp(self.embedding(tokens)))


class SingleHeadAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.o_proj = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.q_proj(x) @ self.k_proj(x).transpose(1, 2)
        ahead = torch.ones(scores.shape[-2:], device=x.device, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(ahead, -math.inf).softmax(-1)
        return self.o_proj(weights @ self.v_proj(x))


class TeachingLayer(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(width)
        self.attention = SingleHeadAttention(width)
        self.norm_2 = nn.LayerNorm(width)
        self.mlp = TeachingMLP(width, hidden)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class BareBonesTransformerLM(nn.Module):
    """Token and position embeddings, one pre-norm layer of single-head attention, tied head without bias."""

    def __init__(self, vocabulary: int, positions: int, width: int, hidden: int) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(positions, width)
        self.layer = TeachingLayer(width, hidden)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.token_embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)[None]
        return self.head(self.layer(self.token_embedding(tokens) + self.position_embedding(places)))
