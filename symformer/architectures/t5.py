"""T5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..components.cross_attention import CrossAttention
from ..components.distance_embedding import DistanceEmbedding
from ..components.dropout import Dropout
from ..components.gated_mlp import GatedMLP
from ..components.lm_head import LMHead
from ..components.mlp import MLP
from ..components.pre_norm_block import PreNormBlock
from ..components.relative_bias import RelativeBias
from ..components.rms_norm import RMSNorm
from ..components.self_attention import SelfAttention
from ..components.token_embedding import TokenEmbedding
from ..language.symbols import A, D, E, H, L_dec, L_enc, P_rel, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Architecture, Chance, Field, Fields, Switch, Witness


@dataclass(frozen=True, kw_only=True)
class T5(Architecture):
    """T5, Raffel et al. 2020 [raffel2020], section 2.1: a pre-norm encoder-decoder that is told distances alone.

    Its norms are RMS norms, nothing has a bias, and one table of distances serves all layers of a stack.

    >>> T5().params
    4*L_enc*E*A*D + 8*L_dec*E*A*D + 2*L_enc*E*H + 2*L_dec*E*H + 2*L_enc*E + 3*L_dec*E + V*E + 2*P_rel*A + 2*E
    """

    title = "T5"
    shapes = "source[B,S_enc], target[B,S] -> logits[B,S,V]"

    fields = Fields(
        {
            V: Field(("vocab_size",), 32128),
            P_rel: Field(("relative_attention_num_buckets",), 32),
            E: Field(("d_model",), 512),
            H: Field(("d_ff",), 2048),
            L_enc: Field(("num_layers",), 6),
            L_dec: Field(("num_decoder_layers",), L_enc, null=True),
            A: Field(("num_heads",), 8),
            D: Field(("d_kv",), 64),
        },
        {"tied": Switch("tie_word_embeddings", True), "dropout": Chance("dropout_rate", 0.1)},
        model_types=("t5",),
        classes={
            "T5ForConditionalGeneration": {"head": "lm", "tied": True, "gated": False},
            "T5Model": {"head": "none"},
        },
    )
    witness = Witness("transformers", "T5Config")
    variants = ({}, {"head": "none"})

    head: Literal["lm", "none"] = "lm"
    tied: bool = True
    gated: bool = False
    dropout: bool = True

    def forward(self, ops: Operations, source: Tensor, target: Tensor) -> Tensor:
        norm, dropped = RMSNorm(cast=False), "dropout" if self.dropout else ""
        names = {"query": "q", "key": "k", "value": "v", "output": "o"}
        facts = {"heads": A, "kv_heads": A, "head_width": D, "bias": False, "output_bias": False, "scaled": False}
        facts |= {**names, "weight_dropout": dropped}
        mlp = (
            GatedMLP(activation="gelu_new", gate="wi_0", up="wi_1", act="act", down="wo")
            if self.gated
            else MLP(bias=False, activation="relu", up="wi", act="act", inner_dropout=dropped, down="wo")
        )

        def stack(name: str, count, causal: bool, tokens: Tensor, memory: Tensor | None) -> Tensor:
            own = SelfAttention(**facts, causal=causal, distances=RelativeBias())
            cross = CrossAttention(**facts)
            sublayers = (
                {"SelfAttention": own} | ({"EncDecAttention": cross} if memory else {}) | {"DenseReluDense": mlp}
            )
            parts = {}
            for place, (part, sublayer) in enumerate(sublayers.items()):
                parts |= {f"layer.{place}.layer_norm": norm, f"layer.{place}.{part}": sublayer}
            x = ops.call(f"{name}.embed_tokens", TokenEmbedding(), tokens, table)
            x = ops.call(f"{name}.dropout", Dropout(), x) if self.dropout else x
            places = ops.index("distances", tokens.shape[1], tokens.shape[1])
            bias = ops.call(
                f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias", DistanceEmbedding(), places
            )
            x = ops.repeat(
                f"{name}.block", count, PreNormBlock(parts=parts, dropout=dropped), x, {"bias": bias, "memory": memory}
            )
            x = ops.call(f"{name}.final_layer_norm", norm, x)
            return ops.call(f"{name}.dropout", Dropout(), x) if self.dropout else x

        table = ops.parameter("shared", weight=(V, E))["weight"]
        memory = stack("encoder", L_enc, False, source, None)
        y = stack("decoder", L_dec, True, target, memory)
        if self.head == "none":
            return y
        return ops.call("lm_head", LMHead(tied=self.tied), y, table)
