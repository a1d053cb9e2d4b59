"""T5Like: an encoder-decoder with relative position biases, and the names of T5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...components import (
    MLP,
    Component,
    CrossAttention,
    DistanceEmbedding,
    Dropout,
    GatedMLP,
    LMHead,
    PreNormBlock,
    RelativeBias,
    RMSNorm,
    SelfAttention,
)
from ...language.symbols import A, D, E, H, L_dec, L_enc, P_rel, V
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from ..base_architecture import BoolField, Choice, Field, Fields, ProbabilityField, option
from .encoder_decoder import EncoderDecoder, Tower

# The dropout of attention weights is a function. Each sublayer has its own dropout, ``layer.0.dropout`` for the first.
FUNCTIONS = ("SelfAttention.dropout", "EncDecAttention.dropout", "*.dropout")
AUTHOR = "the transformers class, with its head untied by symformer"


def classes_of(stem: str) -> dict[str, dict[str, Any]]:
    """Return the classes of a family with the options that they imply."""
    return {
        f"{stem}ForConditionalGeneration": {"head": "lm", "tied": True},
        f"symformer.witness.models.untied_t5:Untied{stem}": {"head": "lm", "tied": False},
        f"{stem}Model": {"head": "none"},
    }


@dataclass(frozen=True, kw_only=True)
class T5Like(EncoderDecoder):
    """The base of T5 and its relatives. A subclass sets the classes of transformers and its defaults."""

    layers = "block"

    norm = RMSNorm(cast=False)
    config = Fields(
        {
            V: Field(("vocab_size",), 32128),
            P_rel: Field(("relative_attention_num_buckets",), 32),
            E: Field(("d_model", "hidden_size"), 512),
            H: Field(("d_ff",), 2048),
            L_enc: Field(("num_layers", "num_hidden_layers"), 6),
            L_dec: Field(("num_decoder_layers",), L_enc, null=True),
            A: Field(("num_heads", "num_attention_heads"), 8),
            D: Field(("d_kv", "head_dim"), 64),
        },
        echoes={
            "dense_act_fn": ("gated", {False: "relu", True: "gelu_new"}),
            "is_gated_act": ("gated", {False: False, True: True}),
        },
        fixed={"is_encoder_decoder": (True,)},
        # There is no position table; the distances that share a bucket; a factor of the head's input.
        inert=("n_positions", "relative_attention_max_distance", "scale_decoder_outputs"),
    )
    scaled: ClassVar[Literal["never", "tied", "always"]] = "tied"  # the heads whose input is divided by the root of E
    own_table: ClassVar[str] = ""  # the name of each layer's table of distances, or "" if the layers share one

    tied: bool = option(BoolField("tie_word_embeddings", True))
    gated: bool = option(Choice("feed_forward_proj", {"relu": False, "gated-gelu": True}, "relu"))
    dropout: bool = option(ProbabilityField("dropout_rate", 0.1))

    @property
    def logits(self) -> tuple[str, LMHead]:
        return "lm_head", LMHead(tied=self.tied)

    @property
    def dropped(self) -> str:
        """Return the name of all dropouts, or ""."""
        return "dropout" if self.dropout else ""

    def layer(self, tower: Tower) -> Component:
        facts: dict[str, Any] = {"heads": A, "kv_heads": A, "head_width": D, "bias": False, "output_bias": False}
        facts |= {
            "scale": "none",
            "query": "q",
            "key": "k",
            "value": "v",
            "output": "o",
            "weight_dropout": self.dropped,
        }
        hidden: dict[str, Any] = {"bias": False, "act": "act", "down": "wo", "inner_dropout": self.dropped}
        attention = SelfAttention(
            **facts, causal=tower == "decoder", distances=RelativeBias(), own_table=self.own_table
        )
        sublayers: dict[str, Component] = {"SelfAttention": attention}
        if tower == "decoder":
            sublayers["EncDecAttention"] = CrossAttention(**facts)
        if self.gated:
            sublayers["DenseReluDense"] = GatedMLP(activation="gelu_new", gate="wi_0", up="wi_1", **hidden)
        else:
            sublayers["DenseReluDense"] = MLP(activation="relu", up="wi", **hidden)
        parts: dict[str, Component] = {}
        for place, (name, sublayer) in enumerate(sublayers.items()):
            parts |= {f"layer.{place}.layer_norm": self.norm, f"layer.{place}.{name}": sublayer}
        return PreNormBlock(parts=parts, dropout=self.dropped)

    def embed(self, ops: Operations, tower: Tower, tokens: Tensor) -> Tensor:
        return self._dropped(ops, tower, super().embed(ops, tower, tokens))

    def beside(self, ops: Operations, tower: Tower, tokens: Tensor) -> Mapping[str, Tensor]:
        distances = ops.index("distances", tokens.shape[1], tokens.shape[1])
        name = f"{tower}.block.0.layer.0.SelfAttention.relative_attention_bias"
        return {"bias": ops.call(name, DistanceEmbedding(), distances)}

    def finish(self, ops: Operations, tower: Tower, x: Tensor) -> Tensor:
        x = self._dropped(ops, tower, ops.call(f"{tower}.final_layer_norm", self.norm, x))
        scaled = self.scaled == "always" or (self.scaled == "tied" and self.tied)
        if tower == "decoder" and self.head == "lm" and scaled:
            return ops.scale("scale_decoder_outputs", x, "over root")
        return x

    def _dropped(self, ops: Operations, tower: Tower, x: Tensor) -> Tensor:
        return ops.call(f"{tower}.dropout", Dropout(), x) if self.dropout else x
