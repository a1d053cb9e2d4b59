"""HunyuanLike: LlamaLike with norms of each query and key head after the rotation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...components import SelfAttention
from ...configs.field_mapping import Fields
from ...language.symbols import D, V
from .biased import Biased


@dataclass(frozen=True, kw_only=True)
class HunyuanLike(Biased):
    """The base of Hunyuan's models, dense or with experts."""

    config = Fields(
        restated={"attention_head_dim": D, "org_vocab_size": V},
        # The classes read none of these fields. They describe what the classes compute.
        fixed={
            **dict.fromkeys(("use_qk_norm", "use_rotary_pos_emb"), (True,)),
            **dict.fromkeys(("use_cla", "use_mla", "add_classification_head"), (False,)),
            **{"norm_type": ("rms",), "class_num": (0,)},
        },
        inert=(
            *("pretraining_tp", "cla_share_factor", "dense_list", "pool_type", "eod_token_id", "pad_id"),
            *("im_start_id", "im_end_id", "im_newline_id", "text_start_id", "text_end_id", "mask_init_id"),
        ),
    )

    @property
    def attention(self) -> SelfAttention:
        normalized = replace(self.rotary_attention, rotated_norm=self.norm)
        return replace(normalized, query_norm="query_layernorm", key_norm="key_layernorm")
