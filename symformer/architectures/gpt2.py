"""GPT-2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..components.base import Component
from ..components.dropout import Dropout
from ..components.layer_norm import LayerNorm
from ..components.lm_head import LMHead
from ..components.mlp import MLP
from ..components.pre_norm_block import PreNormBlock
from ..components.self_attention import SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A, E, H, L, P, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Chance, Field, Fields, Function, Switch, Witness
from .bases.decoder import Decoder
from .bases.stacked import Names, with_positions


@dataclass(frozen=True, kw_only=True)
class GPT2(Decoder):
    """GPT-2, Radford et al. 2019 [radford2019], section 2.3: a pre-norm decoder with learned positions.

    >>> GPT2().params
    12*L*E**2 + 13*L*E + V*E + P*E + 2*E
    """

    title = "GPT-2"
    names = Names(table="wte", layers="h", norm="ln_f")
    relations = {H: 4 * E}
    constraints = (Divides(A, E),)

    fields = Fields(
        {
            V: Field(("vocab_size",), 50257),
            P: Field(("n_positions", "max_position_embeddings"), 1024),
            E: Field(("n_embd", "hidden_size"), 768),
            L: Field(("n_layer", "num_hidden_layers"), 12),
            A: Field(("n_head", "num_attention_heads"), 12),
            H: Field(("n_inner",), 4 * E, null=True),
        },
        {
            "tied": Switch("tie_word_embeddings", True),
            "activation": Function("activation_function", "gelu_new"),
            "embedding_dropout": Chance("embd_pdrop", 0.1),
            "attention_dropout": Chance("attn_pdrop", 0.1),
            "residual_dropout": Chance("resid_pdrop", 0.1),
        },
        model_types=("gpt2",),
        classes={"GPT2LMHeadModel": {"head": "lm"}, "GPT2Model": {"head": "none"}},
        fixed={"reorder_and_upcast_attn": (False,)},  # keeps queries and keys in single precision
        inert=(
            *("scale_attn_weights", "scale_attn_by_inverse_layer_idx"),  # numbers, not how many
            *("summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels"),
            *("summary_first_dropout", "summary_last_dropout"),  # of a head that no class here has
            *("n_ctx", "n_special", "predict_special_tokens"),  # written by early releases, and read by no class
        ),
    )
    witness = Witness("transformers", "GPT2Config", prefix="transformer.")
    variants = ({}, {"tied": False}, {"head": "none"})

    head: Literal["lm", "none"] = "lm"
    tied: bool = True
    activation: Activation = "gelu_new"
    embedding_dropout: bool = True
    attention_dropout: bool = True
    residual_dropout: bool = True

    @property
    def layer(self) -> Component:
        dropped = "dropout" if self.residual_dropout else ""
        attention = SelfAttention(
            heads=A,
            kv_heads=A,
            head_width=E / A,
            fused="c_attn",
            output="c_proj",
            weight_dropout="attn_dropout" if self.attention_dropout else "",
            output_dropout="resid_dropout" if self.residual_dropout else "",
        )
        mlp = MLP(activation=self.activation, up="c_fc", down="c_proj", dropout=dropped)
        return PreNormBlock(parts={"ln_1": self.norm, "attn": attention, "ln_2": self.norm, "mlp": mlp})

    @property
    def norm(self) -> Component:
        return LayerNorm()

    @property
    def lm_head(self) -> LMHead | None:
        return LMHead(tied=self.tied) if self.head == "lm" else None

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = with_positions(ops, "wpe", super().embed(ops, tokens))
        return ops.call("drop", Dropout(), x) if self.embedding_dropout else x
