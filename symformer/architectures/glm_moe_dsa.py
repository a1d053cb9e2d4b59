"""GLM-5."""

from __future__ import annotations

from dataclasses import dataclass

from ..configs.sparse_attention_layers import IndexerLayers
from ..language.symbols import A, A_idx, D_nope, D_rope, D_v, E, H, K, L_dense, L_moe, M, R_kv, R_q, V, X, X_shared
from .base_architecture import Field, Fields, WitnessSpec, usual
from .bases.latent import SparseLatent

EXPERTS = {M: 2048, X: Field(("n_routed_experts", "num_local_experts"), 256), X_shared: 1, K: 8}
HEADS = {A: 64, A_idx: Field(("index_n_heads",), 32), R_q: 2048, R_kv: 512, D_nope: 192, D_rope: 64, D_v: 256}
KINDS = {"dense": L_dense, "sparse": L_moe}
LAYERS = IndexerLayers(KINDS, (), Field(("num_hidden_layers",), 78), "mlp_layer_types")


@dataclass(frozen=True, kw_only=True)
class GLMMoEDSA(SparseLatent):
    """GLM-5, GLM-5 Team 2026 [glm2026], section 2.1: the sparse attention and the experts of DeepSeek-V3.2.

    There is no module for multi-token prediction, as in the transformers class. Layers that use the keys chosen by an
    earlier layer's indexer, as in GLM-5.2, are not supported.

    >>> GLMMoEDSA().formula("kv-cache")
    2*B*C*L*D_idx + 2*B*C*L*R_kv + 2*B*C*L*D_rope
    """

    title = "GLM-5"
    config = Fields(
        usual({V: 154880, E: 6144, H: 12288, **EXPERTS, **HEADS}),
        layers=LAYERS,
        assumed={"num_key_value_heads": 64},
    )
    # With one group, any number of experts is valid.
    witness = WitnessSpec("GlmMoeDsa", arguments={"num_key_value_heads": A, "n_group": 1, "topk_group": 1})
