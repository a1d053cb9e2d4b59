"""Nemotron-H."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..components import MLP, ChunkedScan, Component, LMHead, PreNormBlock, RMSNorm, SelfAttention
from ..language.sizes import Divides
from ..language.symbols import (
    A,
    A_ssm,
    C_chunk,
    D,
    D_ssm,
    E,
    G,
    G_ssm,
    H,
    K_conv,
    L_attn,
    L_mlp,
    L_ssm,
    N_state,
    V,
)  # fmt: skip
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import (
    NO_TABLE,
    Activation,
    BoolField,
    Fields,
    Function,
    Names,
    ProbabilityField,
    SpelledLayers,
    WitnessSpec,
    option,
    usual,
)
from .bases.decoder import Decoder, HubDecoder
from .bases.recurrent import MIXER as MIXER_NAMES
from .bases.stacked import Stack

MIXER = {A_ssm: 128, D_ssm: 64, G_ssm: 8, N_state: 128, K_conv: 4, C_chunk: 128}
NAMES = {**MIXER_NAMES, A_ssm: ("mamba_num_heads",), D_ssm: ("mamba_head_dim",), N_state: ("ssm_state_size",)}


@dataclass(frozen=True, kw_only=True)
class NemotronH(Decoder):
    """Nemotron-H, NVIDIA 2025 [nvidia2025], section 2.1: each layer is a state-space mixer (Mamba-2), attention or
    an MLP. Attention has no position embedding.

    The three kinds of layers form three stacks here; their order does not affect any count.

    >>> NemotronH().formula("kv-cache")
    4*B*C*L_attn*G*D + 2*B*L_ssm*K_conv*A_ssm*D_ssm + 4*B*L_ssm*K_conv*G_ssm*N_state + 4*B*L_ssm*A_ssm*D_ssm*N_state
    """

    title = "Nemotron-H"
    names = Names(table="embeddings", norm="norm_f")
    norm = RMSNorm(single=True)
    constraints = (Divides(G, A), *ChunkedScan.constraints)
    config = Fields(
        usual({V: 131072, E: 4096, H: 21504, A: 32, G: 8, D: 128, **MIXER}, NAMES),
        layers=SpelledLayers(
            {"linear_attention": L_ssm, "full_attention": L_attn, "mlp": L_mlp},
            name="layers_block_type",
            letters={"M": "linear_attention", "*": "full_attention", "-": "mlp"},
        ),
        inert=(
            *(NO_TABLE, "num_logits_to_keep", "rescale_prenorm_residual", "residual_in_fp32", "hidden_dropout"),
            # time steps; the choice of kernels; a width that follows from the heads
            *("time_step_min", "time_step_max", "time_step_limit", "time_step_floor", "use_mamba_kernels", "expand"),
            *("mamba_proj_bias", "mamba_ssm_cache_dtype"),  # not read by any built-in class
            # of layers with experts, which this architecture does not have
            *("n_routed_experts", "n_shared_experts", "moe_intermediate_size", "moe_shared_expert_intermediate_size"),
            *("moe_latent_size", "moe_shared_expert_overlap", "num_experts_per_tok", "routed_scaling_factor"),
            *("n_group", "topk_group", "norm_topk_prob", "output_router_logits", "mtp_layers_block_type"),
        ),
        # the head of the class is never tied
        fixed={"num_nextn_predict_layers": (0,), "tie_word_embeddings": (False,)},
    )
    heads = HubDecoder.heads
    witness = WitnessSpec(
        "NemotronH",
        arguments={"pad_token_id": None},  # otherwise it must be a token
    )
    variants = ({}, {"mixer_bias": True, "convolution_bias": False}, {"head": "none"})

    head: Literal["lm", "none"] = "lm"
    mixer_bias: bool = option(BoolField("use_bias", False))
    convolution_bias: bool = option(BoolField("use_conv_bias", True))
    mixer_activation: Activation = option(Function("mamba_hidden_act", "silu"))
    activation: Activation = option(Function("mlp_hidden_act", "relu2"))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.0))

    @property
    def layer(self) -> Component:
        return self.layer_of(
            ChunkedScan(bias=self.mixer_bias, convolution_bias=self.convolution_bias, activation=self.mixer_activation)
        )

    def layer_of(self, mixer: Component) -> Component:
        """Return a layer with a norm and one of the three mixers."""
        return PreNormBlock(parts={"norm": self.norm, "mixer": mixer})

    @property
    def stacks(self) -> tuple[Stack, ...]:
        dropped = "attention_dropout" if self.attention_dropout else ""
        attention = SelfAttention(bias=False, output_bias=False, softmax="float32", weight_dropout=dropped)
        mlp = MLP(bias=False, activation=self.activation, up="up_proj", act="act_fn", down="down_proj")
        return (
            Stack("ssm_layers", L_ssm, self.layer),
            Stack("attention_layers", L_attn, self.layer_of(attention)),
            Stack("mlp_layers", L_mlp, self.layer_of(mlp)),
        )

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.index("positions", 1, tokens.shape[1]),)  # the class passes them to every layer

    @property
    def lm_head(self) -> LMHead | None:
        return LMHead() if self.head == "lm" else None
