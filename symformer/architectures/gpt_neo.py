"""GPT-Neo."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import SelfAttention
from ..language.symbols import A, C_win, E, H, L_global, L_local, P, V
from .base_architecture import (
    OWN_ATTENTION,
    Field,
    Fields,
    ProbabilityField,
    RepeatedLayers,
    WitnessSpec,
    option,
    usual,
)
from .bases.openai_like import OpenAILike
from .bases.stacked import Stack

HEADS = {A: Field(("num_heads", "num_attention_heads"), 16)}


@dataclass(frozen=True, kw_only=True)
class GPTNeo(OpenAILike):
    """GPT-Neo, Black et al. 2021 [black2021]: GPT-2 with a sliding window in every other layer.

    Its attention scores are not scaled. The window is only in the mask: in transformers' class, the cache of every
    layer contains all tokens, and a new token computes scores with all of them.

    >>> GPTNeo().formula("kv-cache")
    4*B*C*L*E
    """

    title = "GPT-Neo"
    relations = {H: 4 * E}
    config = Fields(
        usual({V: 50257, P: 2048, E: 2048, **HEADS, H: 4 * E, C_win: Field(("window_size",), 256)}),
        layers=RepeatedLayers(
            {"local": L_local, "global": L_global},
            ("global", "local"),
            Field(("num_layers", "num_hidden_layers"), 24),
            "attention_types",
        ),
    )
    witness = WitnessSpec(
        "GPTNeo",
        prefix="transformer.",
        rename={"attn.attention": "attn"},
        activation_refusal=OWN_ATTENTION,
    )

    embedding_dropout: bool = option(ProbabilityField("embed_dropout", 0.0))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.0))
    residual_dropout: bool = option(ProbabilityField("resid_dropout", 0.0))

    @property
    def attention(self) -> SelfAttention:
        plain = replace(super().attention, fused="", bias=False, output="out_proj")
        return replace(plain, whole=True, softmax="float32", scale="none")

    @property
    def stacks(self) -> tuple[Stack, ...]:
        windowed = replace(self.attention, window=C_win)
        return (
            Stack("local_layers", L_local, self.layer_of(windowed)),
            Stack("global_layers", L_global, self.layer),
        )
