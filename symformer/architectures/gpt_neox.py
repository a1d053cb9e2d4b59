"""GPT-NeoX."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import MLP, Component, LayerNorm, ParallelBlock, PreNormBlock
from ..language.symbols import A, D_rope, E, H, L, V
from .base_architecture import (
    Activation,
    BoolField,
    Fields,
    FractionField,
    Function,
    Names,
    ProbabilityField,
    WitnessSpec,
    option,
    usual,
)
from .bases.llama_like import PART_OF_A_HEAD, LlamaLike


@dataclass(frozen=True, kw_only=True)
class GPTNeoX(LlamaLike):
    """GPT-NeoX, Black et al. 2022 [black2022], section 2.1, and Pythia, Biderman et al. 2023 [biderman2023].

    Attention and the MLP are parallel, each with its own norm. Only a part of each head rotates.

    >>> GPTNeoX().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + 2*V*E + 2*E
    """

    title = "GPT-NeoX"
    names = Names(table="embed_in", norm="final_layer_norm")
    constraints = PART_OF_A_HEAD
    head_width, turned = E / A, D_rope
    norm = LayerNorm()
    config = Fields(
        usual({V: 50432, E: 6144, H: 24576, L: 44, A: 64, D_rope: FractionField(("rotary_pct",), of=E / A, part=0.25)}),
        inert=("rotary_emb_base", "partial_rotary_factor"),  # the class reads rotary_pct
    )
    witness = WitnessSpec(
        "GPTNeoX", functions=("attention_dropout", "post_attention_dropout", "post_mlp_dropout"), prefix="gpt_neox."
    )
    variants = ({}, {"parallel": False, "attention_bias": False}, {"tied": True}, {"head": "none"})

    activation: Activation = option(Function("hidden_act", "gelu"))
    parallel: bool = option(BoolField("use_parallel_residual", True))
    attention_bias: bool = option(BoolField("attention_bias", True))
    dropout: bool = option(ProbabilityField("hidden_dropout", 0.0))

    @property
    def layer(self) -> Component:
        attention = replace(
            self.rotary_attention,
            kv_heads=A,
            fused="query_key_value",
            output="dense",
            bias=self.attention_bias,
            output_bias=self.attention_bias,
            output_dropout="post_attention_dropout" if self.dropout else "",
        )
        dropped = "post_mlp_dropout" if self.dropout else ""
        mlp = MLP(activation=self.activation, up="dense_h_to_4h", down="dense_4h_to_h", dropout=dropped)
        norms = ("input_layernorm", "post_attention_layernorm")
        parts = {norms[0]: self.norm, "attention": attention, norms[1]: self.norm, "mlp": mlp}
        return ParallelBlock(parts=parts) if self.parallel else PreNormBlock(parts=parts)

    @property
    def embedding_drop(self) -> str:
        return "emb_dropout" if self.dropout else ""
