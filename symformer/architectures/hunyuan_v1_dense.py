"""Hunyuan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import SelfAttention
from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import HEAD_WIDTH, Field, Fields, WitnessSpec, usual
from .bases.biased import Biased


@dataclass(frozen=True, kw_only=True)
class HunyuanDense(Biased):
    """Hunyuan 0.5B to 7B, Tencent Hunyuan Team 2025 [tencent2025]: Llama with norms of each query and key head after
    the rotation.

    >>> HunyuanDense().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*L*D + 2*V*E + E
    """

    title = "Hunyuan"
    config = Fields(
        usual(
            {
                V: 290943,
                E: 4096,
                H: 11008,
                L: 32,
                A: 32,
                G: Field(("num_key_value_heads",), A, null=True),
                D: HEAD_WIDTH,
            }
        ),
        restated={"attention_head_dim": D, "org_vocab_size": V},
        # The class reads none of these fields. They describe what it computes.
        fixed={
            **dict.fromkeys(("use_qk_norm", "use_rotary_pos_emb"), (True,)),
            **dict.fromkeys(("use_cla", "add_classification_head"), (False,)),
            **{"norm_type": ("rms",), "num_experts": (1,), "class_num": (0,)},
        },
        inert=(
            *(
                "pretraining_tp",
                "cla_share_factor",
                "dense_list",
                "pool_type",
                "eod_token_id",
                "pad_id",
                "mask_init_id",
            ),
            *("im_start_id", "im_end_id", "im_newline_id", "text_start_id", "text_end_id"),
        ),
    )
    witness = WitnessSpec("HunYuanDenseV1")

    @property
    def attention(self) -> SelfAttention:
        named = {"query_norm": "query_layernorm", "key_norm": "key_layernorm"}
        return replace(self.rotary_attention, rotated_norm=self.norm, **named)
