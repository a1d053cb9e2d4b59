"""GPT-NeoX."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.dropout import Dropout
from ..components.mlp import MLP
from ..components.parallel_block import ParallelBlock
from ..components.pre_norm_block import PreNormBlock
from ..language.symbols import A, D_rope, E, H, L, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Chance, Fields, Function, Share, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS
from .bases.partly_rotary import PartlyRotary
from .bases.stacked import Names


@dataclass(frozen=True, kw_only=True)
class GPTNeoX(PartlyRotary):
    """GPT-NeoX, Black et al. 2022 [black2022], section 2.1; Pythia, Biderman et al. 2023 [biderman2023], alike.

    Attention and the MLP read x side by side, each through a norm of its own; a part of each head turns.

    >>> GPTNeoX().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + 2*V*E + 2*E
    """

    title = "GPT-NeoX"
    names = Names(table="embed_in", norm="final_layer_norm")
    fields = Fields(
        usual({V: 50432, E: 6144, H: 24576, L: 44, A: 64, D_rope: Share(("rotary_pct",), of=E / A, part=0.25)}),
        {
            **OPTIONS,
            "activation": Function("hidden_act", "gelu"),
            "parallel": Switch("use_parallel_residual", True),
            "attention_bias": Switch("attention_bias", True),
            "dropout": Chance("hidden_dropout", 0.0),
        },
        model_types=("gpt_neox",),
        classes=heads("GPTNeoX"),
        rotary=True,
        inert=(NO_TABLE, "rotary_emb_base"),
    )
    witness = Witness("transformers", "GPTNeoXConfig", prefix="gpt_neox.")
    variants = ({}, {"parallel": False, "attention_bias": False}, {"tied": True}, {"head": "none"})

    activation: Activation = "gelu"
    parallel: bool = True
    attention_bias: bool = True
    dropout: bool = False

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

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = super().embed(ops, tokens)
        return ops.call("emb_dropout", Dropout(), x) if self.dropout else x
