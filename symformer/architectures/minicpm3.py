"""MiniCPM3."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component
from ..language.symbols import A, D_nope, D_rope, D_v, E, H, L, R_kv, R_q, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import HEADS_DIVIDE, BoolField, Field, Fields, WitnessSpec, option, unknown, usual
from .bases.latent import LatentDense

HEADS = {A: 40, R_q: 768, R_kv: 256, D_nope: 64, D_rope: 32, D_v: Field(("v_head_dim",), E / A, null=True)}


@dataclass(frozen=True, kw_only=True)
class MiniCPM3(LatentDense):
    """MiniCPM3 4B, Hu et al. 2024 [hu2024]: the latent attention of DeepSeek-V2, and constant factors of the
    embeddings, of the sublayers' outputs and of the input of the LM head.

    >>> MiniCPM3().formula("kv-cache")
    2*B*C*L*R_kv + 2*B*C*L*D_rope
    """

    title = "MiniCPM3"
    config = Fields(
        usual({V: 73448, E: 2560, H: 6400, L: 62, **HEADS}),
        ropes=("default", "longrope", "su"),
        inert=("scale_emb", "scale_depth", "dim_model_base"),  # the three factors
    )
    witness = WitnessSpec(
        "MiniCPM3",
        arguments={"num_key_value_heads": A},
        conditions=HEADS_DIVIDE,
        activation_refusal=unknown("the factor of its embeddings"),
    )
    variants = ({}, {"query_latent": False}, {"tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        return replace(self.pre_norm_layer(attention, mlp), scale="residual_scale")

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        return ops.scale("embed_scale", super().embed(ops, tokens))

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        return super().finish(ops, ops.scale("logits_scaling", x) if self.head == "lm" else x)
