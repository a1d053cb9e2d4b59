"""PaLM."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..components.gated_mlp import GatedMLP
from ..components.layer_norm import LayerNorm
from ..components.lm_head import LMHead
from ..components.parallel_block import ParallelBlock
from ..components.rotary_positions import RotaryPositions
from ..components.self_attention import SelfAttention
from ..components.token_embedding import TokenEmbedding
from ..language.sizes import Divides
from ..language.symbols import A, D, E, H, L, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Architecture, Field, Fields, Switch, Witness


@dataclass(frozen=True, kw_only=True)
class PaLM(Architecture):
    """PaLM, Chowdhery et al. 2022 [chowdhery2022], section 2: parallel layers, a tied head.

    The paper's 540.35 billion counts the matrices and no norm scales; ``norm_scales=true`` counts those as well.

    >>> PaLM().params
    2*L*E*A*D + 12*L*E**2 + 2*L*E*D + V*E
    """

    title = "PaLM"
    shapes = "tokens[B,S] -> logits[B,S,V]"
    relations = {H: 4 * E}
    constraints = (Divides(Integer(2), D),)  # rotary positions turn pairs of elements

    fields = Fields(
        {
            V: Field(("vocabulary",)),
            E: Field(("width",)),
            H: Field(("hidden",), 4 * E),
            L: Field(("layers",)),
            A: Field(("heads",)),
            D: Field(("head_width",)),
        },
        {"norm_scales": Switch("norm_scales", False)},
        classes={"PaLM": {}},
    )
    witness = Witness("symformer.witness.models.palm", author="a small torch module of symformer's own")
    variants = ({}, {"norm_scales": True})

    norm_scales: bool = False

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        norm = LayerNorm(scale=self.norm_scales, bias=False)
        attention = SelfAttention(kv_heads=Integer(1), bias=False, output_bias=False, positions=RotaryPositions())
        block = ParallelBlock(parts={"norm": norm, "attention": attention, "mlp": GatedMLP()})
        x = ops.call("embedding", TokenEmbedding(), tokens)
        angles = ops.positions("rotary_emb", tokens.shape[1], D, "rotary")
        x = ops.repeat("layers", L, block, x, angles)
        x = ops.call("norm", norm, x)
        return ops.call("head", LMHead(tied=True), x, ops.weight("embedding.weight"))
