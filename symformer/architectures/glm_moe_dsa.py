"""GLM-5."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..configs.sparse_attention_layers import IndexerLayers, ReusedKeys
from ..language.frozen import FrozenDict
from ..language.sizes import Relations
from ..language.symbols import (
    A,
    A_idx,
    D_nope,
    D_rope,
    D_v,
    E,
    H,
    K,
    L,
    L_dense,
    L_idx,
    L_moe,
    L_reuse,
    M,
    R_kv,
    R_q,
    V,
    X,
    X_shared,
)
from ..ledger.facts import Order, Tensor
from ..ledger.operations import Operations
from .base_architecture import Field, Fields, WitnessSpec, option, usual
from .bases.latent import SparseLatent
from .bases.stacked import Stack

EXPERTS = {M: 2048, X: Field(("n_routed_experts", "num_local_experts"), 256), X_shared: 1, K: 8}
HEADS = {A: 64, A_idx: Field(("index_n_heads",), 32), R_q: 2048, R_kv: 512, D_nope: 192, D_rope: 64, D_v: 256}
KINDS = {"dense": L_dense, "sparse": L_moe}
LAYERS = IndexerLayers(KINDS, (), Field(("num_hidden_layers",), 78), "mlp_layer_types")


@dataclass(frozen=True, kw_only=True)
class GLMMoEDSA(SparseLatent):
    """GLM-5, GLM-5 Team 2026 [glm2026], section 2.1: the sparse attention and the experts of DeepSeek-V3.2. In GLM-5.2,
    most layers have no indexer and use the keys that an earlier layer has chosen. There is no module for multi-token
    prediction, as in the transformers class.

    >>> GLMMoEDSA().formula("kv-cache")
    2*B*C*L*D_idx + 2*B*C*L*R_kv + 2*B*C*L*D_rope
    >>> GLMMoEDSA(reused_keys=True).formula("kv-cache")
    2*B*C*L*R_kv + 2*B*C*L*D_rope + 2*B*C*L_dense*D_idx + 2*B*C*L_idx*D_idx
    """

    title = "GLM-5"
    config = Fields(
        usual({V: 154880, E: 6144, H: 12288, **EXPERTS, **HEADS}),
        layers=LAYERS,
        assumed={"num_key_value_heads": 64},
    )
    # With one group, any number of experts is valid.
    witness = WitnessSpec("GlmMoeDsa", arguments={"num_key_value_heads": A, "n_group": 1, "topk_group": 1})
    variants = (*SparseLatent.variants, {"reused_keys": True})

    reused_keys: bool = option(ReusedKeys(LAYERS))

    @property
    def order(self) -> Order:  # type: ignore[override]  # layers that reuse keys follow layers with an indexer
        return "any" if self.reused_keys else "kind by kind"

    @property
    def stacks(self) -> tuple[Stack, ...]:
        if not self.reused_keys:
            return super().stacks
        reusing = replace(self.latent_attention, reused=True)
        return (
            Stack("dense_layers", L_dense, self.layer),
            Stack("indexed_layers", L_idx, self.layer_of(self.attention, self.experts)),
            Stack("reusing_layers", L_reuse, self.layer_of(reusing, self.experts)),
        )

    @property
    def totals(self) -> Relations:
        both = {L_moe: L_idx + L_reuse} if self.reused_keys else {}
        return FrozenDict({L: L_dense + (L_idx + L_reuse if self.reused_keys else L_moe), **both})

    def contexts(self, ops: Operations, tokens: Tensor) -> tuple[tuple[Tensor, ...], ...]:
        angles = self.context(ops, tokens)
        if not self.reused_keys:
            return (angles,) * 2
        batch, length = tokens.shape
        return angles, angles, (*angles, ops.index("chosen_keys", batch, 1, length, length))
