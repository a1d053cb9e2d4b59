"""Falcon-H1."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import ChunkedScan, Component, GatedMLP, ParallelSum, PreNormBlock, SelfAttention
from ..language.symbols import A, A_ssm, D, D_ssm, E, G, H, L, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import HEAD_WIDTH, BoolField, Field, Fields, Names, WitnessSpec, option, usual
from .bases.biased import BiasedThroughout
from .bases.hybrid import HYBRID_MIXER, Hybrid
from .bases.llama_like import ROTARY_HEADS

MIXER = {**HYBRID_MIXER, D_ssm: Field(("mamba_d_head",))}
INSIDE = ("mlp_multipliers", "key_multiplier", "ssm_multipliers", "ssm_in_multiplier")
AROUND = ("attention_in_multiplier", "attention_out_multiplier", "ssm_out_multiplier")


@dataclass(frozen=True, kw_only=True)
class FalconH1(Hybrid, BiasedThroughout):
    """Falcon-H1, Zuo et al. 2025 [zuo2025], section 2: in each layer, the sum of a state-space mixer (Mamba-2) and
    attention, then an MLP. Constant factors scale their inputs and outputs, the keys, the embeddings and the logits,
    section 3.

    >>> FalconH1().formula("kv-cache")
    4*B*C*L*G*D + 2*B*L*K_conv*A_ssm*D_ssm + 4*B*L*K_conv*G_ssm*N_state + 4*B*L*A_ssm*D_ssm*N_state
    """

    title = "Falcon-H1"
    compared_with = "mamba2"
    names = Names(norm="final_layernorm")
    constraints = (*ROTARY_HEADS, *ChunkedScan.constraints)
    config = Fields(
        usual({V: 128000, E: 4096, H: 14336, L: 32, A: 32, G: 8, D: HEAD_WIDTH, **MIXER}),
        restated={"mamba_d_ssm": A_ssm * D_ssm},
        fixed={
            **dict.fromkeys(("mamba_proj_bias", "projectors_bias"), (False,)),
            **{"mamba_use_mlp": (True,), "attn_layer_indices": (None,)},
        },
        inert=(*INSIDE, *AROUND, "lm_head_multiplier", "embedding_multiplier", "mamba_expand"),
    )
    witness = WitnessSpec(
        "FalconH1",
        arguments={"mamba_d_ssm": A_ssm * D_ssm, "pad_token_id": None},
    )
    variants = (
        {},
        {"norm_first": False},
        {"mixer_norm": True, "norm_first": False},
        {"mixer_norm": True, "tied": True, "attention_bias": True, "mlp_bias": True, "convolution_bias": False},
        {"head": "none"},
    )

    projection_bias: bool = False
    mixer_norm: bool = option(BoolField("mamba_rms_norm", False))
    norm_first: bool = option(BoolField("mamba_norm_before_gate", True))

    @property
    def mixer(self) -> Component:
        return ChunkedScan(
            bias=False,
            convolution_bias=self.convolution_bias,
            activation=self.activation,
            normalized=self.mixer_norm,
            norm_first=self.norm_first,
            input_factor="ssm_in_multiplier",
            factors="ssm_multipliers",
        )

    @property
    def attention(self) -> SelfAttention:
        return replace(self.rotary_attention, key_factor="key_multiplier")

    @property
    def mlp(self) -> GatedMLP:
        return GatedMLP(
            bias=self.mlp_bias, activation=self.activation, gate_factor="gate_multiplier", factor="down_multiplier"
        )

    @property
    def layer(self) -> Component:
        both = ParallelSum(
            parts={"mamba": self.mixer, "self_attn": self.attention},
            before={"self_attn": "attention_in_multiplier"},
            after={"mamba": "ssm_out_multiplier", "self_attn": "attention_out_multiplier"},
        )
        return PreNormBlock(
            parts={"input_layernorm": self.norm, "": both, "pre_ff_layernorm": self.norm, "feed_forward": self.mlp}
        )

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        return ops.scale("embedding_multiplier", super().embed(ops, tokens))

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        logits = super().finish(ops, x)
        return ops.scale("lm_head_multiplier", logits, logits=True) if self.head == "lm" else logits
