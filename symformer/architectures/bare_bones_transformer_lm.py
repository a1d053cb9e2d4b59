"""Bare-bones transformer language model."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..components import MLP, LayerNorm, LMHead, PositionEmbedding, PreNormBlock, SelfAttention, TokenEmbedding
from ..language.symbols import E, H, P, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import PLAIN, Architecture, Fields, WitnessSpec, usual


@dataclass(frozen=True, kw_only=True)
class BareBonesTransformerLM(Architecture):
    """One transformer layer with single-head attention, as in teaching code: four E×E linear layers with biases, two
    norms and a tied head.

    >>> BareBonesTransformerLM().params
    V*E + P*E + 4*E**2 + 2*E*H + 9*E + H
    """

    title = "Bare-bones transformer language model"
    shapes = "tokens[B,S] -> logits[B,S,V]"

    config = Fields(usual({V: None, P: None, E: None, H: None}, PLAIN), classes={"BareBonesTransformerLM": {}})
    witness = WitnessSpec.ours("teaching")

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        attention = SelfAttention(heads=Integer(1), kv_heads=Integer(1), head_width=E)
        block = PreNormBlock(
            parts={
                "norm_1": LayerNorm(),
                "attention": attention,
                "norm_2": LayerNorm(),
                "mlp": MLP(activation="relu"),
            }
        )
        places = ops.index("positions", 1, tokens.shape[1])
        x = ops.add(
            "embed",
            ops.call("token_embedding", TokenEmbedding(), tokens),
            ops.call("position_embedding", PositionEmbedding(), places),
        )
        x = ops.call("layer", block, x)
        return ops.call("head", LMHead(tied=True), x, ops.weight("token_embedding.weight"))
