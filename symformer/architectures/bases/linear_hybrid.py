"""LinearHybrid: LlamaLike with linear attention in most layers, and with the names of Qwen3.5."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...components import Component, GatedDeltaNet, GatedMLP, PreNormBlock, RMSNorm, SelfAttention
from ...configs.config_fields import Field
from ...configs.field_mapping import Fields
from ...configs.linear_hybrid_layers import LinearHybridLayers
from ...language.sizes import AtMost, Divides
from ...language.symbols import A_k_lin, A_v_lin, D_k_lin, D_rope, D_v_lin, K, K_conv, L_attn, L_lin, M_shared, X
from ...ledger.facts import SEQUENCE_ROTARY
from .biased import Biased
from .llama_like import PARTLY_ROTARY
from .sparse import SparseThroughout
from .stacked import Stack

# The fields of Gated DeltaNet's sizes, and their defaults.
DELTA_NET = {
    A_k_lin: 16,
    A_v_lin: 32,
    D_k_lin: 128,
    D_v_lin: 128,
    K_conv: Field(("linear_conv_kernel_dim",), 4),
}
KINDS = {"linear_attention": L_lin, "full_attention": L_attn}


def hybrid_layers(depth: int) -> LinearHybridLayers:
    """Return the layers, with full attention in every fourth layer unless the config states others."""
    return LinearHybridLayers(KINDS, depth=Field(("num_hidden_layers",), depth))


@dataclass(frozen=True, kw_only=True)
class LinearHybrid(Biased):
    """A decoder with Gated DeltaNet in most layers and gated attention in the others, as in Qwen3.5."""

    constraints = (*PARTLY_ROTARY, Divides(A_k_lin, A_v_lin))
    turned = D_rope
    norm = RMSNorm(offset=True)

    @property
    def mixer(self) -> GatedDeltaNet:
        """Return the linear attention of a layer."""
        return GatedDeltaNet(
            activation=self.activation,
            mixed="in_proj_qkv",
            gate="in_proj_z",
            strength="in_proj_b",
            step="in_proj_a",
            norm_name="norm",
            output="out_proj",
        )

    @property
    def attention(self) -> SelfAttention:
        return replace(self.rotary_attention, head_norm=self.norm, gate="gate")

    @property
    def layer(self) -> PreNormBlock:
        return self.layer_with("linear_attn", self.mixer)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        return (
            Stack("linear_layers", L_lin, self.layer),
            Stack("attention_layers", L_attn, self.layer_with("self_attn", self.attention)),
        )

    def layer_with(self, name: str, mixer: Component) -> PreNormBlock:
        """Return a layer with linear or full attention, under its name in torch."""
        networks = {"post_attention_layernorm": self.norm, "mlp": self.mlp}
        return PreNormBlock(parts={"input_layernorm": self.norm, name: mixer, **networks})


@dataclass(frozen=True, kw_only=True)
class SparseLinearHybrid(LinearHybrid, SparseThroughout):
    """The same with experts and a shared expert in every layer, as in Qwen3-Next."""

    constraints = (*LinearHybrid.constraints, AtMost(K, X))
    router_code = "softmax, divided, cast"

    @property
    def mlp(self) -> Component:
        shared = GatedMLP(hidden=M_shared, activation=self.activation)
        return replace(self.experts, shared=shared, beside="shared_expert", shared_gate="shared_expert_gate")


@dataclass(frozen=True, kw_only=True)
class TextHybrid(LinearHybrid):
    """The language model of a multimodal model, as in Qwen3.5. Text has the same position in all sections of a head."""

    tables = SEQUENCE_ROTARY
    config = Fields(
        rope_takes=("mrope_section", "mrope_interleaved"),
        fixed={"attn_output_gate": (True,), "output_gate_type": ("swish",), "mlp_only_layers": ([], None)},
        # modules that the class does not have; the precision of the states in other libraries
        inert=("mtp_num_hidden_layers", "mtp_use_dedicated_embeddings", "mamba_ssm_dtype"),
    )
