"""GLM-4.7-Flash."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D_nope, D_rope, D_v, E, H, K, L_dense, L_moe, M, R_kv, R_q, V, X, X_shared
from .base_architecture import DenseLayers, Field, Fields, WitnessSpec, usual
from .bases.latent import Latent

EXPERTS = {M: 1536, X: Field(("n_routed_experts", "num_local_experts"), 64), X_shared: 1, K: 4}
LAYERS = DenseLayers({"dense": L_dense, "sparse": L_moe}, (), Field(("num_hidden_layers",), 47), "mlp_layer_types")
HEADS = {A: 20, R_q: 768, R_kv: 512, D_nope: 192, D_rope: 64, D_v: 256}


@dataclass(frozen=True, kw_only=True)
class GLM4MoELite(Latent):
    """GLM-4.7-Flash, Z.ai 2026 [zai2026]: the latent attention and the experts of DeepSeek-V3. There is no module for
    multi-token prediction, as in the transformers class.

    >>> GLM4MoELite().formula("kv-cache")
    2*B*C*L*R_kv + 2*B*C*L*D_rope
    """

    title = "GLM-4.7-Flash"
    config = Fields(
        usual({V: 154880, E: 2048, H: 10240, **EXPERTS, **HEADS}),
        layers=LAYERS,
        restated={"first_k_dense_replace": L_dense},  # not read by the class
        fixed={"norm_topk_prob": (True,)},
        inert=("rope_interleave",),  # which elements form a pair
    )
    # With one group, any number of experts is valid.
    witness = WitnessSpec("Glm4MoeLite", arguments={"num_key_value_heads": A, "n_group": 1, "topk_group": 1})
