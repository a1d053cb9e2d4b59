"""T5Gemma."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Integer

from ..components import (
    Component,
    CrossAttention,
    Dropout,
    GatedMLP,
    LMHead,
    RMSNorm,
    RotaryPositions,
    SandwichBlock,
    SelfAttention,
    TokenEmbedding,
)
from ..configs.tower_layers import DECODER, ENCODER, TowerLayers, layers_of
from ..language.frozen import FrozenDict
from ..language.sizes import Divides, Relations
from ..language.symbols import (
    A,
    A_enc,
    C_win,
    C_win_enc,
    D,
    D_enc,
    E,
    E_enc,
    G,
    G_enc,
    H,
    H_enc,
    L_dec,
    L_enc,
    L_glo_enc,
    L_global,
    L_loc_enc,
    L_local,
    V,
)
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import (
    HEADS_DIVIDE,
    BoolField,
    Field,
    Fields,
    Function,
    ProbabilityField,
    WitnessSpec,
    option,
    unknown,
)
from .bases.encoder_decoder import EncoderDecoder, Tower
from .bases.llama_like import ROTARY_HEADS
from .bases.stacked import Stack
from .bases.windowed import WINDOW

TOWERS = (ENCODER, DECODER)
DECODER_LAYERS = layers_of(DECODER, L_local, L_global, 26)
FIELDS = {
    "hidden_size": (2304, E_enc, E),
    "intermediate_size": (9216, H_enc, H),
    "num_attention_heads": (8, A_enc, A),
    "num_key_value_heads": (4, G_enc, G),
    "head_dim": (256, D_enc, D),
    "sliding_window": (4096, C_win_enc, C_win),
}
UNREAD = (
    *("query_pre_attn_scalar", "max_position_embeddings"),  # a factor; there is no table of positions
    *("attn_logit_softcapping", "final_logit_softcapping"),  # elementwise
    *("dropout_rate", "attention_dropout", "classifier_dropout_rate"),  # the fields of the whole model decide
    *("hidden_act", "tie_word_embeddings"),  # not read by the class
)


@dataclass(frozen=True, kw_only=True)
class T5Gemma(EncoderDecoder):
    """T5Gemma, Zhang et al. 2025 [zhang2025], section 3: an encoder-decoder built from two Gemma 2 models, which may
    have different sizes.

    The encoder attends in both directions, and each decoder layer has cross-attention to the encoder's output. The
    towers have separate token embeddings; the head is tied to the decoder's. Every second layer of each tower has
    attention without a sliding window. The order of the layers does not affect any count.

    >>> T5Gemma().params  # doctest: +NORMALIZE_WHITESPACE
    2*L_enc*E_enc*A_enc*D_enc + 2*L_enc*E_enc*G_enc*D_enc + 4*L_dec*E*A*D + 2*L_dec*E*G*D + 2*L_dec*E_enc*G*D
    + 3*L_enc*E_enc*H_enc + 3*L_dec*E*H + 4*L_enc*E_enc + 6*L_dec*E + V*E + V*E_enc + E + E_enc
    """

    title = "T5Gemma"
    compared_with = "gemma2"
    table = "decoder.embed_tokens"
    constraints = (*ROTARY_HEADS, WINDOW, Divides(G_enc, A_enc), Divides(Integer(2), D_enc))
    norm = RMSNorm(offset=True)
    config = Fields(
        {
            V: Field((f"{DECODER}.vocab_size",), 256000, twins=(f"{ENCODER}.vocab_size",)),
            **{
                size: Field((f"{tower}.{name}",), default)
                for name, (default, *sizes) in FIELDS.items()
                for tower, size in zip(TOWERS, sizes, strict=True)
            },
        },
        layers=TowerLayers(
            *(DECODER_LAYERS.sizes, DECODER_LAYERS.pattern, DECODER_LAYERS.depth, DECODER_LAYERS.name),
            encoder=layers_of(ENCODER, L_loc_enc, L_glo_enc, 26),
        ),
        sections=dict.fromkeys(TOWERS, ""),
        rotary=True,
        turned=TOWERS,
        restated={f"{DECODER}.cross_attention_hidden_size": E_enc},
        fixed={"is_encoder_decoder": (True,), **{f"{tower}.model_type": ("t5_gemma_module",) for tower in TOWERS}},
        inert=(
            *("vocab_size", "classifier_dropout_rate"),  # the fields of the towers decide; of another head
            *(f"{tower}.{name}" for tower in TOWERS for name in UNREAD),
        ),
    )
    witness = WitnessSpec(
        "T5Gemma",
        conditions=(*HEADS_DIVIDE, Divides(A_enc, E_enc)),
        activation_refusal=unknown("the factor of its embeddings"),
        accepts_sdpa=False,
    )
    variants = ({}, {"tied": False}, {"attention_bias": True, "encoder_attention_bias": True}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
    attention_bias: bool = option(BoolField(f"{DECODER}.attention_bias", False))
    encoder_attention_bias: bool = option(BoolField(f"{ENCODER}.attention_bias", False))
    activation: Activation = option(Function(f"{DECODER}.hidden_activation", "gelu_pytorch_tanh"))
    encoder_activation: Activation = option(Function(f"{ENCODER}.hidden_activation", "gelu_pytorch_tanh"))
    dropout: bool = option(ProbabilityField("dropout_rate", 0.0))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.0))

    @property
    def totals(self) -> Relations:
        return FrozenDict({L_enc: L_loc_enc + L_glo_enc, L_dec: L_local + L_global})

    @property
    def logits(self) -> tuple[str, LMHead]:
        return "lm_head.out_proj", LMHead(tied=self.tied, capped=True)

    def stacks(self, tower: Tower) -> tuple[Stack, ...]:
        local, whole, window = (L_loc_enc, L_glo_enc, C_win_enc) if tower == "encoder" else (L_local, L_global, C_win)
        return (
            Stack("local_layers", local, self.layer_of(tower, window)),
            Stack("global_layers", whole, self.layer(tower)),
        )

    def layer(self, tower: Tower) -> Component:
        return self.layer_of(tower)

    def layer_of(self, tower: Tower, window: Expr | None = None) -> SandwichBlock:
        """Return a layer of a tower, with or without a window."""
        within = tower == "encoder"
        bias = self.encoder_attention_bias if within else self.attention_bias
        facts: dict[str, Any] = {"bias": bias, "output_bias": bias, "scale": "number", "capped": True}
        facts |= {"softmax": "float32", "weight_dropout": "attention_dropout" if self.attention_dropout else ""}
        if within:
            facts |= {"heads": A_enc, "kv_heads": G_enc, "head_width": D_enc}
        turned = RotaryPositions(width=D_enc if within else D)
        attention = SelfAttention(**facts, positions=turned, causal=not within, window=window)
        sublayers: dict[str, tuple[str, Component]] = {"self_attn": ("self_attn", attention)}
        if not within:
            sublayers["cross_attn"] = ("cross_attn", CrossAttention(**facts, memory_width=E_enc))
        hidden, activation = (H_enc, self.encoder_activation) if within else (H, self.activation)
        mlp = GatedMLP(hidden=hidden, activation=activation, inner_dropout=self.dropped)
        parts: dict[str, Component] = {}
        for norm, (name, part) in {**sublayers, "feedforward": ("mlp", mlp)}.items():
            parts |= {f"pre_{norm}_layernorm": self.norm, name: part, f"post_{norm}_layernorm": self.norm}
        return SandwichBlock(parts=parts, dropout=self.dropped)

    @property
    def dropped(self) -> str:
        """Return the name of all dropouts, or ""."""
        return "dropout" if self.dropout else ""

    def embed(self, ops: Operations, tower: Tower, tokens: Tensor) -> Tensor:
        width = E_enc if tower == "encoder" else E
        x = ops.call(f"{tower}.embed_tokens", TokenEmbedding(width=width), tokens)
        return self._dropped(ops, tower, ops.scale(f"{tower}.embed_scale", x, "root"))

    def beside(self, ops: Operations, tower: Tower, tokens: Tensor) -> Mapping[str, Tensor]:
        width = D_enc if tower == "encoder" else D
        return {"angles": ops.positions(f"{tower}.rotary_emb", tokens.shape[1], width, "rotary")}

    def finish(self, ops: Operations, tower: Tower, x: Tensor) -> Tensor:
        return self._dropped(ops, tower, ops.call(f"{tower}.norm", self.norm, x))

    def _dropped(self, ops: Operations, tower: Tower, x: Tensor) -> Tensor:
        return ops.call(f"{tower}.dropout", Dropout(), x) if self.dropout else x
