"""Zamba2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ..components import (
    ChunkedScan,
    Component,
    GatedMLP,
    PreNormBlock,
    SelfAttention,
    SharedTransformerBlock,
    SharedTransformerLayer,
)
from ..configs.shared_layers import KINDS, USUAL, SharedLayers
from ..language.sizes import AtMost, Divides
from ..language.symbols import (
    A,
    A_ssm,
    C_chunk,
    D_ssm,
    E,
    G_ssm,
    H,
    K_conv,
    L_hyb,
    L_ssm,
    N_group,
    N_state,
    R_adapter,
    V,
)
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import BoolField, Field, Fields, Function, MultipleField, Names, WitnessSpec, option, usual
from .bases.llama_like import LlamaLike
from .bases.stacked import Stack, run_stacks

MIXER = {
    A_ssm: Field(("n_mamba_heads",), 8),
    D_ssm: MultipleField(("mamba_expand",), 2, of=E / A_ssm),
    G_ssm: Field(("mamba_ngroups",), 1),
    N_state: Field(("mamba_d_state",), 64),
    K_conv: Field(("mamba_d_conv",), 4),
    C_chunk: Field(("chunk_size",), 256),
}
SHARED = {N_group: Field(("num_mem_blocks",), 1), R_adapter: Field(("adapter_rank",), 128)}
# torch's lists have an entry for every layer with a shared block, which is empty if another block belongs to the layer.
ADAPTERS = {
    f"adapter_list.{place}.{matrix}": f"adapter.{name}"
    for place in range(16)
    for matrix, name in enumerate(("down", "up"))
}


@dataclass(frozen=True, kw_only=True)
class Zamba2(LlamaLike):
    """Zamba2, Glorioso et al. 2024 [glorioso2024b], section 2: layers with a state-space mixer (Mamba-2). In some of
    them, the mixer also reads the output of a transformer block. Few such blocks are stored, and the layers use them in
    turn; each of these layers has adapters of its own.

    The order of the layers does not affect any count.

    >>> Zamba2().formula("kv-cache")
    2*B*L*K_conv*A_ssm*D_ssm + 4*B*L*K_conv*G_ssm*N_state + 4*B*L*A_ssm*D_ssm*N_state + 8*B*C*L_hyb*E
    """

    title = "Zamba2"
    names = Names(norm="final_layernorm")
    constraints = (Divides(A, E), *ChunkedScan.constraints, AtMost(N_group, L_hyb))
    head_width = turned = 2 * E / A
    scale = "number"
    config = Fields(
        usual({V: 32000, E: 2560, H: Field(("intermediate_size",), 4 * E, null=True), A: 32, **MIXER, **SHARED}),
        layers=SharedLayers(KINDS, USUAL, Field(("num_hidden_layers",), 54), "layers_block_type"),
        restated={
            **dict.fromkeys(("attention_head_dim", "head_dim"), 2 * E / A),
            **{"num_key_value_heads": A, "mamba_headdim": D_ssm, "attention_hidden_size": 2 * E},
        },
        # Without tied embeddings, the class shares no blocks either.
        fixed={"use_conv_bias": (True,), "tie_word_embeddings": (True,)},
        inert=(
            *("num_logits_to_keep", "use_mamba_kernels", "use_mem_eff_path", "use_long_context"),
            *("time_step_min", "time_step_max", "time_step_floor", "kv_channels", "num_query_groups"),
        ),
    )
    witness = WitnessSpec("Zamba2", rename={".mamba_decoder": "", **ADAPTERS}, conditions=(Divides(E, D_ssm),))
    variants = (
        {},
        {"attention_adapters": True, "rotary": True},
        {"bias": True},
        {"head": "none"},
    )

    tied: ClassVar[bool] = True  # type: ignore[misc]
    activation: Activation = option(Function("hidden_act", "gelu"))
    attention_adapters: bool = option(BoolField("use_shared_attention_adapter", False))
    rotary: bool = option(BoolField("use_mem_rope", False))
    bias: bool = option(BoolField("add_bias_linear", False))

    @property
    def mixer(self) -> Component:
        """Return the state-space mixer of a layer."""
        return ChunkedScan(bias=self.bias)

    @property
    def attention(self) -> SelfAttention:
        names = "linear_{}_adapter" if self.attention_adapters else ""
        found = replace(self.rotary_attention, inner=2 * E, kv_heads=A, adapters=names)
        return found if self.rotary else replace(found, positions=None)

    @property
    def mlp(self) -> GatedMLP:
        adapter = "gate_up_proj_adapter"
        return GatedMLP(bias=self.bias, activation=self.activation, fused="gate_up_proj", adapter=adapter)

    @property
    def layer(self) -> Component:
        return PreNormBlock(parts={"input_layernorm": self.norm, "mamba": self.mixer})

    @property
    def stacks(self) -> tuple[Stack, ...]:
        block = SharedTransformerBlock(norm=self.norm, attention=self.attention, mlp=self.mlp)
        both = SharedTransformerLayer(norm=self.norm, block=block, mixer=self.mixer)
        return (Stack("hybrid_layers", L_hyb, both), Stack("ssm_layers", L_ssm, self.layer))

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        embedded = self.embed(ops, tokens)
        # The class passes the position indices to every layer.
        places = self.angles(ops, tokens) if self.rotary else ops.index("positions", 1, tokens.shape[1])
        x = run_stacks(ops, self.names.layers, self.stacks, embedded, ((embedded, places), ()))
        return self.finish(ops, ops.call(self.names.norm, self.norm, x))
