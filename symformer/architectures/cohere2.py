"""Cohere2."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import Component, LayerNorm
from ..language.symbols import A, C_win, D, E, G, H, V
from .base_architecture import HEAD_WIDTH, BoolField, Fields, WitnessSpec, option, unknown, usual
from .bases.biased import Biased
from .bases.local_global import LocalGlobal, local_global


@dataclass(frozen=True, kw_only=True)
class Cohere2(LocalGlobal, Biased):
    """Command A, Team Cohere 2025 [cohere2025], section 2: Command-R with a sliding window in three of four layers, and
    without positions in the others.

    The logits are multiplied by a factor, which is an elementwise operation.

    >>> Cohere2().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "Cohere2"
    rotary = "local"
    norm = LayerNorm(bias=False)
    config = Fields(
        usual({V: 256000, E: 8192, H: 22528, A: 64, G: A, D: HEAD_WIDTH, C_win: 4096}),
        layers=local_global(3, 40),
        # The class reads only the first of these fields. The others of published configs describe what it computes.
        fixed={
            **{**dict.fromkeys(("sliding_window_pattern", "layer_switch"), (4,)), "rotary_pct": (1,)},
            **{"order_of_interleaved_layers": ("local_attn_first",), "position_embedding_type": ("rope_gptj",)},
            **dict.fromkeys(("use_embedding_sharing", "use_gated_activation", "use_parallel_block"), (True,)),
            "use_qk_norm": (False,),
        },
        inert=("logit_scale", "use_parallel_embedding"),
    )
    witness = WitnessSpec("Cohere2", activation_refusal=unknown("its layer norm, which is written in Python,"))
    variants = ({}, {"attention_bias": True}, {"tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        return self.parallel_layer(attention, mlp)
