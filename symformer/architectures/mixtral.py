"""Mixtral."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sympy import Integer

from ..components.lm_head import LMHead
from ..components.moe import MoE
from ..components.pre_norm_block import PreNormBlock
from ..components.rms_norm import RMSNorm
from ..components.rotary_positions import RotaryPositions
from ..components.self_attention import SelfAttention
from ..components.token_embedding import TokenEmbedding
from ..language.sizes import AtMost, Divides
from ..language.symbols import A, D, E, G, K, L, M, V, X
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Architecture, Chance, Field, Fields, Function, Switch, Witness


@dataclass(frozen=True, kw_only=True)
class Mixtral(Architecture):
    """Mixtral, Jiang et al. 2024 [jiang2024], section 2: Mistral without its window, and K of X experts a token.

    >>> Mixtral().params
    3*L*E*X*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 2*L*E + 2*V*E + E
    >>> Mixtral().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 2*L*E + 2*V*E + E
    """

    title = "Mixtral"
    shapes = "tokens[B,S] -> logits[B,S,V]"
    constraints = (Divides(G, A), Divides(Integer(2), D), AtMost(K, X))

    fields = Fields(
        {
            V: Field(("vocab_size",), 32000),
            E: Field(("hidden_size",), 4096),
            M: Field(("intermediate_size",), 14336),
            X: Field(("num_local_experts", "num_experts"), 8),
            K: Field(("num_experts_per_tok",), 2),
            L: Field(("num_hidden_layers",), 32),
            A: Field(("num_attention_heads",), 32),
            G: Field(("num_key_value_heads",), 8),
            D: Field(("head_dim",), E / A, null=True),
        },
        {
            "tied": Switch("tie_word_embeddings", False),
            "activation": Function("hidden_act", "silu"),
            "attention_dropout": Chance("attention_dropout", 0.0),
        },
        model_types=("mixtral",),
        classes={"MixtralForCausalLM": {"head": "lm"}, "MixtralModel": {"head": "none"}},
        rotary=True,
        # The loss that balances the router, and noise on what it reads, keep tensors of their own.
        fixed={"output_router_logits": (False,), "router_jitter_noise": (0.0,)},
        inert=("max_position_embeddings", "router_aux_loss_coef"),  # positions are no table; a factor of that loss
    )
    witness = Witness("transformers", "MixtralConfig", prefix="model.")
    variants = ({}, {"tied": True}, {"head": "none"})

    head: Literal["lm", "none"] = "lm"
    tied: bool = False
    activation: Activation = "silu"
    attention_dropout: bool = False

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        attention = SelfAttention(
            bias=False,
            output_bias=False,
            positions=RotaryPositions(),
            weight_dropout="attention_dropout" if self.attention_dropout else "",
        )
        block = PreNormBlock(
            parts={
                "input_layernorm": RMSNorm(),
                "self_attn": attention,
                "post_attention_layernorm": RMSNorm(),
                "mlp": MoE(activation=self.activation),
            }
        )
        x = ops.call("embed_tokens", TokenEmbedding(), tokens)
        angles = ops.positions("rotary_emb", tokens.shape[1], D, "rotary")
        x = ops.repeat("layers", L, block, x, angles)
        x = ops.call("norm", RMSNorm(), x)
        if self.head == "none":
            return x
        return ops.call("lm_head", LMHead(tied=self.tied), x, ops.weight("embed_tokens.weight"))
