"""GPTModel after chapter 4 of Raschka 2024, "Build a Large Language Model (From Scratch)", with its attribute names.

The book's own package requires a notebook server and a second deep-learning library, so it is not a dependency.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    def __init__(self, width: int, heads: int, qkv_bias: bool) -> None:
        super().__init__()
        self.heads = heads
        self.W_query = nn.Linear(width, width, bias=qkv_bias)
        self.W_key = nn.Linear(width, width, bias=qkv_bias)
        self.W_value = nn.Linear(width, width, bias=qkv_bias)
        self.out_proj = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            each(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (self.W_query, self.W_key, self.W_value)
        )
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        ahead = torch.ones(scores.shape[-2:], device=x.device, dtype=torch.bool).triu(1)
        weights = self.dropout(scores.masked_fill(ahead, -math.inf).softmax(-1))
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


class ScratchFeedForward(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class TransformerBlock(nn.Module):
    def __init__(self, width: int, heads: int, qkv_bias: bool) -> None:
        super().__init__()
        self.att = MultiHeadAttention(width, heads, qkv_bias)
        self.ff = ScratchFeedForward(width)
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.drop_shortcut = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_shortcut(self.att(self.norm1(x)))
        return x + self.drop_shortcut(self.ff(self.norm2(x)))


class GPTModel(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        context_length: int,
        emb_dim: int,
        n_layers: int,
        n_heads: int,
        qkv_bias: bool = False,
        tied: bool = False,
    ) -> None:
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, emb_dim)
        self.pos_emb = nn.Embedding(context_length, emb_dim)
        self.drop_emb = nn.Dropout(0.1)
        self.trf_blocks = nn.Sequential(*(TransformerBlock(emb_dim, n_heads, qkv_bias) for _ in range(n_layers)))
        self.final_norm = nn.LayerNorm(emb_dim)
        self.out_head = nn.Linear(emb_dim, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop_emb(self.tok_emb(tokens) + self.pos_emb(places))
        return self.out_head(self.final_norm(self.trf_blocks(x)))
