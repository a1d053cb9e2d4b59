"""RWKV-7 in plain torch, after section 4 of Peng et al. 2025 (arXiv:2503.14456), with the rule computed token by token.

The names of config fields are those of the checkpoints on the Hub.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

MIXED = ("r", "w", "k", "v", "a", "g")  # receptances, decays, keys, values, learning rates, gates
MULTIPLE = 32  # of a hidden size that is computed from its ratio to the width


def preceding(x: Tensor) -> Tensor:
    """Return x[B,S,E] moved by one position, with zeros at the first."""
    return torch.cat((torch.zeros_like(x[:, :1]), x[:, :-1]), 1)


class WKV(nn.Module):
    """The generalized delta rule, token by token, with states in single precision."""

    def forward(self, r: Tensor, k: Tensor, v: Tensor, decay: Tensor, removal: Tensor, rate: Tensor) -> Tensor:
        """Return the states read by the receptances; all tensors are [B,S,A,D]."""
        batch, length, heads, width = r.shape
        columns = [each.float()[..., None] for each in (r, v, removal)]
        rows = [each.float()[..., None, :] for each in (k, decay, rate * removal)]
        state = torch.zeros(batch, heads, width, width, device=r.device)
        found = []
        for token in range(length):
            receptance, value, taken_for = (each[:, token] for each in columns)
            key, kept, taken = (each[:, token] for each in rows)
            old = state @ taken_for  # the value of the removal key in the state
            state = state * kept - old * taken + value * key
            found.append((state @ receptance)[..., 0])
        return torch.stack(found, 1).to(r.dtype)


class TimeMixing(nn.Module):
    k_k: nn.Parameter
    k_a: nn.Parameter
    r_k: nn.Parameter
    o_proj: nn.Linear

    def __init__(self, width: int, head_width: int, ranks: dict[str, int], first: bool) -> None:
        super().__init__()
        self.head_width, self.first = head_width, first
        for name in (*(f"x_{each}" for each in MIXED), "k_k", "k_a", "r_k"):
            setattr(self, name, nn.Parameter(torch.zeros(width)))
        for each in ("r", "k", "v", "o"):
            setattr(self, f"{each}_proj", nn.Linear(width, width, bias=False))
        for name, rank in ranks.items():
            if name != "v" or not first:
                setattr(self, f"{name}_down", nn.Linear(width, rank, bias=False))
                setattr(self, f"{name}_up", nn.Linear(rank, width, bias=name != "g"))
        self.wkv = WKV()
        self.g_norm = nn.GroupNorm(width // head_width, width, eps=head_width * 1e-5)

    def forward(self, x: Tensor, first_values: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the output, and the values of the first layer."""

        def low_rank(name: str, y: Tensor) -> Tensor:
            low = getattr(self, f"{name}_down")(y)
            low = {"w": torch.tanh, "g": torch.sigmoid}.get(name, lambda same: same)(low)
            up: Tensor = getattr(self, f"{name}_up")(low)
            return up

        def heads(y: Tensor) -> Tensor:
            return y.view(*y.shape[:-1], -1, self.head_width)

        difference = preceding(x) - x
        mixed = {each: x + difference * getattr(self, f"x_{each}") for each in MIXED}
        r, k, v = (getattr(self, f"{each}_proj")(mixed[each]) for each in ("r", "k", "v"))
        decay = torch.exp(-math.exp(-0.5) * torch.sigmoid(low_rank("w", mixed["w"])))
        rate = torch.sigmoid(low_rank("a", mixed["a"]))
        if first_values is None:
            first_values = v
        else:
            v = v + (first_values - v) * torch.sigmoid(low_rank("v", mixed["v"]))
        gate = low_rank("g", mixed["g"])
        removal = nn.functional.normalize(heads(k * self.k_k), dim=-1)
        k = k + (k * rate - k) * self.k_a
        r, k, v, decay, rate = (heads(each) for each in (r, k, v, decay, rate))
        y = self.wkv(r, k, v, decay, removal, rate)
        y = self.g_norm(y.flatten(0, 1).flatten(1)).view_as(x)
        own = (r * heads(self.r_k) * k).sum(-1, keepdim=True)
        return self.o_proj((y + (own * v).flatten(2)) * gate), first_values


class ChannelMixing(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.x_k = nn.Parameter(torch.zeros(width))
        self.key = nn.Linear(width, hidden, bias=False)
        self.value = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        mixed = x + (preceding(x) - x) * self.x_k
        return self.value(self.key(mixed).relu().square())


class Layer(nn.Module):
    def __init__(
        self, width: int, hidden: int, head_width: int, ranks: dict[str, int], norm_bias: bool, first: bool
    ) -> None:
        super().__init__()
        self.attn_norm = nn.LayerNorm(width, bias=norm_bias)
        self.attn = TimeMixing(width, head_width, ranks, first)
        self.ffn_norm = nn.LayerNorm(width, bias=norm_bias)
        self.ffn = ChannelMixing(width, hidden)

    def forward(self, x: Tensor, first_values: Tensor | None) -> tuple[Tensor, Tensor]:
        y, first_values = self.attn(self.attn_norm(x), first_values)
        x = x + y
        return x + self.ffn(self.ffn_norm(x)), first_values


class RWKV7Model(nn.Module):
    """The model without a head."""

    def __init__(
        self,
        vocab_size: int,
        hidden_size: int,
        num_hidden_layers: int,
        head_dim: int,
        decay_low_rank_dim: int,
        a_low_rank_dim: int,
        v_low_rank_dim: int,
        gate_low_rank_dim: int,
        intermediate_size: int | None = None,
        hidden_ratio: float | None = None,
        norm_first: bool = True,
        norm_bias: bool = True,
        tie_word_embeddings: bool = False,
    ) -> None:
        super().__init__()
        if intermediate_size is None:
            intermediate_size = int(hidden_size * (4 if hidden_ratio is None else hidden_ratio))
            intermediate_size = math.ceil(intermediate_size / MULTIPLE) * MULTIPLE
        ranks = {"w": decay_low_rank_dim, "a": a_low_rank_dim, "v": v_low_rank_dim, "g": gate_low_rank_dim}
        self.embeddings = nn.Embedding(vocab_size, hidden_size)
        self.pre_norm = nn.LayerNorm(hidden_size, bias=norm_bias) if norm_first else None
        self.layers = nn.ModuleList(
            Layer(hidden_size, intermediate_size, head_dim, ranks, norm_bias, first=place == 0)
            for place in range(num_hidden_layers)
        )
        self.norm = nn.LayerNorm(hidden_size, bias=norm_bias)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embeddings(tokens)
        x = x if self.pre_norm is None else self.pre_norm(x)
        first_values: Tensor | None = None
        for layer in self.layers:
            x, first_values = layer(x, first_values)
        return self.norm(x)


class RWKV7ForCausalLM(RWKV7Model):
    """The model with an LM head."""

    def __init__(
        self,
        vocab_size: int,
        hidden_size: int,
        *,
        tie_word_embeddings: bool = False,
        **fields: int | float | bool | None,
    ) -> None:
        super().__init__(vocab_size, hidden_size, **fields)  # type: ignore[arg-type]
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)
        if tie_word_embeddings:
            self.lm_head.weight = self.embeddings.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.lm_head(super().forward(tokens))
