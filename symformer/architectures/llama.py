"""Llama."""

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
from ..language.sizes import Divides
from ..language.symbols import A, D, E, G, H, L, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Architecture, Chance, Field, Fields, Function, Switch, Witness


@dataclass(frozen=True, kw_only=True)
class Llama(Architecture):
    """Llama 1, Touvron et al. 2023 [touvron2023], section 2.2; Llama 2 [touvron2023b] and Llama 3 [dubey2024] alike.

    A pre-norm decoder with RMS norms, rotary positions and a gated feed-forward network, without biases.

    >>> Llama().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Llama"
    shapes = "tokens[B,S] -> logits[B,S,V]"
    constraints = (Divides(G, A), Divides(Integer(2), D))  # rotary positions turn pairs of elements

    fields = Fields(
        {
            V: Field(("vocab_size",), 32000),
            E: Field(("hidden_size",), 4096),
            H: Field(("intermediate_size",), 11008),
            L: Field(("num_hidden_layers",), 32),
            A: Field(("num_attention_heads",), 32),
            G: Field(("num_key_value_heads",), A, null=True),
            D: Field(("head_dim",), E / A, null=True),
        },
        {
            "tied": Switch("tie_word_embeddings", False),
            "attention_bias": Switch("attention_bias", False),
            "mlp_bias": Switch("mlp_bias", False),
            "activation": Function("hidden_act", "silu"),
            "attention_dropout": Chance("attention_dropout", 0.0),
        },
        model_types=("llama",),
        classes={"LlamaForCausalLM": {"head": "lm"}, "LlamaModel": {"head": "none"}},
        rotary=True,
        # Positions are no table; how a linear layer was once cut for training.
        inert=("max_position_embeddings", "pretraining_tp"),
    )
    witness = Witness("transformers", "LlamaConfig", prefix="model.", conditions=(Divides(A, E),))
    variants = ({}, {"tied": True}, {"attention_bias": True}, {"mlp_bias": True}, {"head": "none"})

    head: Literal["lm", "none"] = "lm"
    tied: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    activation: Activation = "silu"
    attention_dropout: bool = False

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        attention = SelfAttention(
            bias=self.attention_bias,
            output_bias=self.attention_bias,
            positions=RotaryPositions(),
            softmax="float32",
            weight_dropout="attention_dropout" if self.attention_dropout else "",
        )
        block = PreNormBlock(
            parts={
                "input_layernorm": RMSNorm(),
                "self_attn": attention,
                "post_attention_layernorm": RMSNorm(),
                "mlp": GatedMLP(bias=self.mlp_bias, activation=self.activation),
            }
        )
        x = ops.call("embed_tokens", TokenEmbedding(), tokens)
        angles = ops.positions("rotary_emb", tokens.shape[1], D, "rotary")
        x = ops.repeat("layers", L, block, x, angles)
        x = ops.call("norm", RMSNorm(), x)
        if self.head == "none":
            return x
        return ops.call("lm_head", LMHead(tied=self.tied), x, ops.weight("embed_tokens.weight"))
