"""DeepSeek-V3.2."""

from __future__ import annotations

from dataclasses import dataclass

from ..configs.sparse_attention_layers import SparseAttentionLayers
from ..language.symbols import A, D_nope, D_rope, D_v, E, H, K, L_dense, L_moe, M, R_kv, R_q, V, X, X_shared
from .base_architecture import Field, Fields, WitnessSpec, usual
from .bases.latent import SparseLatent

EXPERTS = {M: 2048, X: Field(("n_routed_experts", "num_local_experts"), 256), X_shared: 1, K: 8}
HEADS = {A: 128, R_q: 1536, R_kv: 512, D_nope: 128, D_rope: 64, D_v: 128}
KINDS = {"dense": L_dense, "sparse": L_moe}
LAYERS = SparseAttentionLayers(KINDS, (), Field(("num_hidden_layers",), 61), "mlp_layer_types")


@dataclass(frozen=True, kw_only=True)
class DeepSeekV32(SparseLatent):
    """DeepSeek-V3.2, DeepSeek-AI 2025 [deepseek2025], section 2: DeepSeek-V3 with sparse attention. In each layer, an
    indexer chooses the keys that a query attends to. There is no module for multi-token prediction, as in the
    transformers class.

    >>> DeepSeekV32().formula("kv-cache")
    2*B*C*L*D_idx + 2*B*C*L*R_kv + 2*B*C*L*D_rope
    """

    title = "DeepSeek-V3.2"
    config = Fields(
        usual({V: 129280, E: 7168, H: 18432, **EXPERTS, **HEADS}),
        layers=LAYERS,
        assumed={"num_key_value_heads": 128},
    )
    # With one group, any number of experts is valid.
    witness = WitnessSpec("DeepseekV32", arguments={"num_key_value_heads": A, "n_group": 1, "topk_group": 1})
