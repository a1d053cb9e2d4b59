"""Gemma 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sympy import Integer

from ..components.gated_mlp import GatedMLP
from ..components.lm_head import LMHead
from ..components.rms_norm import RMSNorm
from ..components.rotary_positions import RotaryPositions
from ..components.sandwich_block import SandwichBlock
from ..components.self_attention import SelfAttention
from ..components.token_embedding import TokenEmbedding
from ..language.sizes import AtMost, Divides
from ..language.symbols import A, C_win, D, E, G, H, L_global, L_local, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Architecture, Chance, Field, Fields, Function, Layers, Switch, Witness


@dataclass(frozen=True, kw_only=True)
class Gemma2(Architecture):
    """Gemma 2, Gemma Team 2024 [gemma2024], section 2: layers with a sliding window, and layers without.

    The two kinds of layer store the same and differ in what they look back on. They stand here in two stacks, one after
    the other; nothing counted depends on their order. The scale of the embedding and the soft caps are elementwise.

    >>> Gemma2().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "Gemma 2"
    shapes = "tokens[B,S] -> logits[B,S,V]"
    # With a window of 1 transformers' cache keeps all tokens: the last 0 of them are [-0:].
    constraints = (Divides(G, A), Divides(Integer(2), D), AtMost(Integer(2), C_win))

    fields = Fields(
        {
            V: Field(("vocab_size",), 256000),
            E: Field(("hidden_size",), 2304),
            H: Field(("intermediate_size",), 9216),
            A: Field(("num_attention_heads",), 8),
            G: Field(("num_key_value_heads",), 4),
            D: Field(("head_dim",), 256),
            C_win: Field(("sliding_window",), 4096),
        },
        {
            "tied": Switch("tie_word_embeddings", True),
            "activation": Function("hidden_activation", "gelu_pytorch_tanh"),
            "attention_dropout": Chance("attention_dropout", 0.0),
        },
        layers=Layers(
            {"sliding_attention": L_local, "full_attention": L_global},
            ("sliding_attention", "full_attention"),
            Field(("num_hidden_layers",), 26),
        ),
        model_types=("gemma2",),
        classes={"Gemma2ForCausalLM": {"head": "lm"}, "Gemma2Model": {"head": "none"}},
        fixed={"use_bidirectional_attention": (False, None)},
        rotary=True,
        inert=(
            *("max_position_embeddings", "query_pre_attn_scalar"),  # positions are no table; a factor
            *("attn_logit_softcapping", "final_logit_softcapping"),  # elementwise, where that is counted at all
            "hidden_act",  # the class reads the function from 'hidden_activation'
        ),
    )
    witness = Witness(
        "transformers",
        "Gemma2Config",
        prefix="model.",
        stacks={"local_layers": L_local, "global_layers": L_global},
        conditions=(Divides(A, E),),
    )
    variants = ({}, {"tied": False}, {"head": "none"})

    head: Literal["lm", "none"] = "lm"
    tied: bool = True
    activation: Activation = "gelu_pytorch_tanh"
    attention_dropout: bool = False

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = ops.call("embed_tokens", TokenEmbedding(), tokens)
        angles = ops.positions("rotary_emb", tokens.shape[1], D, "rotary")
        norm = RMSNorm(offset=True)
        for stack, count, window in (("local_layers", L_local, C_win), ("global_layers", L_global, None)):
            attention = SelfAttention(
                bias=False,
                output_bias=False,
                window=window,
                positions=RotaryPositions(),
                weight_dropout="attention_dropout" if self.attention_dropout else "",
            )
            block = SandwichBlock(
                parts={
                    "input_layernorm": norm,
                    "self_attn": attention,
                    "post_attention_layernorm": norm,
                    "pre_feedforward_layernorm": norm,
                    "mlp": GatedMLP(activation=self.activation),
                    "post_feedforward_layernorm": norm,
                }
            )
            x = ops.repeat(stack, count, block, x, angles)
        x = ops.call("norm", norm, x)
        if self.head == "none":
            return x
        return ops.call("lm_head", LMHead(tied=self.tied), x, ops.weight("embed_tokens.weight"))
