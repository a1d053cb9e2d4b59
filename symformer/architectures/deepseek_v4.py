"""DeepSeek-V4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sympy import Integer

from ..components import (
    Component,
    CompressedAttention,
    GatedMLP,
    HyperConnectedBlock,
    HyperConnection,
    HyperHead,
    MoE,
    RMSNorm,
)
from ..components.moe import BIAS_OR_TABLE
from ..configs.compressed_layers import CSA, HCA, LOCAL, CompressedLayers, RateField, SlidingLayers, TwoRotaryField
from ..language.sizes import AtMost, Divides
from ..language.symbols import (
    A,
    A_idx,
    C_csa,
    C_hca,
    C_win,
    D,
    D_idx,
    D_rope,
    E,
    G_out,
    K,
    K_idx,
    L_csa,
    L_hca,
    L_local,
    M,
    N_hc,
    R_out,
    R_q,
    V,
    X,
)
from ..ledger.facts import HALF_ROTARY, Tensor
from ..ledger.operations import Operations
from .base_architecture import Field, Fields, WitnessSpec, option, usual
from .bases.llama_like import LlamaLike
from .bases.stacked import Stack, run_stacks

EXPERTS = {M: 2048, X: Field(("n_routed_experts", "num_local_experts"), 256), K: 6}
HEADS = {A: 64, D: 512, R_q: 1024, G_out: 8, R_out: 1024, C_win: 128}
INDEXER = {
    A_idx: Field(("index_n_heads",), 64),
    D_idx: Field(("index_head_dim",), 128),
    K_idx: Field(("index_topk",), 512),
}
RATES = {size: RateField(("compress_rates",), kind=kind) for size, kind in ((C_csa, CSA), (C_hca, HCA))}
ROTARY = TwoRotaryField(("partial_rotary_factor",), of=D, part=64 / 512, whole="qk_rope_head_dim")
LAYERS = CompressedLayers({LOCAL: L_local, CSA: L_csa, HCA: L_hca})


@dataclass(frozen=True, kw_only=True)
class DeepSeekV4(LlamaLike):
    """DeepSeek-V4, DeepSeek-AI 2026 [deepseek2026], section 2: attention to a window of tokens and to compressed keys
    of earlier tokens, of two kinds, several residual streams with hyper-connections, and experts in all layers. In
    DeepSeek-V4-Flash, the first layers attend only within the window. In the first layers, a fixed table of the tokens
    chooses the experts. There is no module for multi-token prediction, as in the transformers class.

    >>> DeepSeekV4().formula("decode-flops").part("hca_layers.self_attn.mix")
    2*B*A*D*min(C, C_win - 1) + 2*B*A*D*floor((C + 1)/C_hca) + 2*B*A*D
    """

    title = "DeepSeek-V4"
    turned = D_rope
    constraints = (
        *(Divides(Integer(2), D_rope), AtMost(D_rope, D), AtMost(D_rope, D_idx)),
        *(AtMost(Integer(2), C_win), Divides(G_out, A * D), AtMost(K, X)),
    )
    tables = HALF_ROTARY
    config = Fields(
        usual({V: 129280, E: 4096, N_hc: 4, **EXPERTS, **HEADS, D_rope: ROTARY, **INDEXER, **RATES}),
        layers=LAYERS,
        fixed={
            **{"num_key_value_heads": (1,), "n_shared_experts": (1,), "output_router_logits": (False,)},
            "scoring_func": ("sqrtsoftplus", "softmax", "sigmoid"),
        },
        ropes=("default", "yarn"),
        apiece=("main", "compress"),
        inert=(
            *("compress_rope_theta", "hc_sinkhorn_iters", "hc_eps", "swiglu_limit"),
            # the weights of the experts, the loss that balances them, a module that the class does not have
            *("norm_topk_prob", "topk_method", "routed_scaling_factor", "router_aux_loss_coef", "router_jitter_noise"),
            *("num_nextn_predict_layers", "expert_dtype"),
        ),
    )
    witness = WitnessSpec(
        "DeepseekV4",
        arguments={"hc_sinkhorn_iters": 1},
        functions=("attention_dropout", "rotary_emb.main", "rotary_emb.compress"),
        conditions=(Divides(G_out, A),),
        accepts_sdpa=False,
    )
    variants = ({}, {"sliding_layers": True}, {"tied": True}, {"head": "none"})
    routing: ClassVar[str] = BIAS_OR_TABLE

    sliding_layers: bool = option(SlidingLayers(LAYERS))

    @property
    def norm(self) -> Component:
        return RMSNorm(late=True)

    @property
    def mlp(self) -> Component:
        shared = GatedMLP(hidden=M, activation=self.activation)
        return MoE(activation=self.activation, routing=self.routing, shared=shared)

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        first, second = {"attn_hc": HyperConnection()}, {"ffn_hc": HyperConnection()}
        parts = {**first, "input_layernorm": self.norm, "self_attn": attention, **second}
        return HyperConnectedBlock(parts={**parts, "post_attention_layernorm": self.norm, "mlp": mlp})

    @property
    def stacks(self) -> tuple[Stack, ...]:
        dropped = "attention_dropout" if self.attention_dropout else ""
        window, sparse, heavy = (
            self.layer_of(CompressedAttention(keys=keys, weight_dropout=dropped), self.mlp)
            for keys in ("window", "sparse", "heavy")
        )
        own = (Stack("local_layers", L_local, window),) if self.sliding_layers else ()
        return (*own, Stack("csa_layers", L_csa, sparse), Stack("hca_layers", L_hca, heavy))

    def contexts(self, ops: Operations, tokens: Tensor) -> tuple[tuple[Tensor, ...], ...]:
        own = ((self.angles(ops, tokens, "rotary_emb.main"),),) if self.sliding_layers else ()
        compressed = (self.angles(ops, tokens, "rotary_emb.compress"),)
        return (*own, compressed, compressed)

    def run_layers(self, ops: Operations, x: Tensor, tokens: Tensor) -> Tensor:
        contexts, x = self.contexts(ops, tokens), ops.copies("streams", x, N_hc)
        x = run_stacks(ops, self.names.layers, self.stacks, x, contexts, order=self.order)
        return ops.call(self.names.norm, self.norm, ops.call("hc_head", HyperHead(), x))
