"""Mistral."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sympy import Integer

from ..components.gated_mlp import GatedMLP
from ..components.lm_head import LMHead
from ..components.pre_norm_block import PreNormBlock
from ..components.rms_norm import RMSNorm
from ..components.rotary_positions import RotaryPositions
from ..components.self_attention import SelfAttention
from ..components.token_embedding import TokenEmbedding
from ..language.sizes import AtMost, Divides
from ..language.symbols import A, C_win, D, E, G, H, L, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Architecture, Chance, Field, Fields, Function, Switch, Witness


@dataclass(frozen=True, kw_only=True)
class Mistral(Architecture):
    """Mistral 7B, Jiang et al. 2023 [jiang2023], section 2: Llama, in the first release with a sliding window.

    Their W is C_win here. Later releases have no window; a query then sees every token before it.

    >>> Mistral().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    >>> Mistral().formula("kv-cache")
    4*B*L*G*D*min(C, C_win - 1)
    """

    title = "Mistral"
    shapes = "tokens[B,S] -> logits[B,S,V]"

    fields = Fields(
        {
            V: Field(("vocab_size",), 32000),
            E: Field(("hidden_size",), 4096),
            H: Field(("intermediate_size",), 14336),
            L: Field(("num_hidden_layers",), 32),
            A: Field(("num_attention_heads",), 32),
            G: Field(("num_key_value_heads",), 8),
            D: Field(("head_dim",), E / A, null=True),
            C_win: Field(("sliding_window",), 4096),
        },
        {
            "tied": Switch("tie_word_embeddings", False),
            "activation": Function("hidden_act", "silu"),
            "attention_dropout": Chance("attention_dropout", 0.0),
        },
        nullable={"window": C_win},
        model_types=("mistral",),
        classes={"MistralForCausalLM": {"head": "lm"}, "MistralModel": {"head": "none"}},
        rotary=True,
        inert=("max_position_embeddings",),  # positions are no table
    )
    witness = Witness("transformers", "MistralConfig", prefix="model.")
    variants = ({}, {"window": False}, {"tied": True}, {"head": "none"})

    head: Literal["lm", "none"] = "lm"
    tied: bool = False
    window: bool = True
    activation: Activation = "silu"
    attention_dropout: bool = False

    @property
    def constraints(self) -> tuple[Divides | AtMost, ...]:  # type: ignore[override]  # with no window, no condition on it
        # With a window of 1 transformers' cache keeps all tokens: the last 0 of them are [-0:].
        window = (AtMost(Integer(2), C_win),) if self.window else ()
        return (Divides(G, A), Divides(Integer(2), D), *window)

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        window = C_win if self.window else None
        attention = SelfAttention(
            bias=False,
            output_bias=False,
            window=window,
            positions=RotaryPositions(),
            softmax="float32",
            weight_dropout="attention_dropout" if self.attention_dropout else "",
        )
        block = PreNormBlock(
            parts={
                "input_layernorm": RMSNorm(),
                "self_attn": attention,
                "post_attention_layernorm": RMSNorm(),
                "mlp": GatedMLP(activation=self.activation),
            }
        )
        x = ops.call("embed_tokens", TokenEmbedding(), tokens)
        angles = ops.positions("rotary_emb", tokens.shape[1], D, "rotary")
        x = ops.repeat("layers", L, block, x, angles)
        x = ops.call("norm", RMSNorm(), x)
        if self.head == "none":
            return x
        return ops.call("lm_head", LMHead(tied=self.tied), x, ops.weight("embed_tokens.weight"))
