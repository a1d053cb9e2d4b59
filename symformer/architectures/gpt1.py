"""GPT-1."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.dropout import Dropout
from ..components.mlp import MLP
from ..components.post_norm_block import PostNormBlock
from ..language.symbols import A, E, L, P, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Chance, Choice, Field, Fields, Switch, Witness
from .bases.gpt_like import OWN_ATTENTION, GPTLike
from .bases.stacked import Names, with_positions


@dataclass(frozen=True, kw_only=True)
class GPT1(GPTLike):
    """GPT-1, Radford et al. 2018 [radford2018], section 4.1: learned positions, and norms after the sublayers.

    Transformers' class has no cache: what is said of one is of the model, and no class bears witness to it.

    >>> GPT1().params
    12*L*E**2 + 13*L*E + V*E + P*E
    """

    title = "GPT-1"
    names = Names(table="tokens_embed", layers="h")
    fields = Fields(
        {
            V: Field(("vocab_size",), 40478),
            P: Field(("n_positions", "max_position_embeddings"), 512),
            E: Field(("n_embd", "hidden_size"), 768),
            L: Field(("n_layer", "num_hidden_layers"), 12),
            A: Field(("n_head", "num_attention_heads"), 12),
        },
        {
            "tied": Switch("tie_word_embeddings", True),
            # The class has names of its own.
            "activation": Choice("afn", {"gelu": "gelu_new", "relu": "relu", "silu": "silu", "swish": "silu"}, "gelu"),
            "embedding_dropout": Chance("embd_pdrop", 0.1),
            "attention_dropout": Chance("attn_pdrop", 0.1),
            "residual_dropout": Chance("resid_pdrop", 0.1),
        },
        model_types=("openai-gpt",),
        classes={"OpenAIGPTLMHeadModel": {"head": "lm"}, "OpenAIGPTModel": {"head": "none"}},
        inert=(
            *("summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels"),
            "summary_first_dropout",  # of a head that no class here has
            *("n_ctx", "n_special", "predict_special_tokens"),  # read by no class
        ),
    )
    witness = Witness(
        "transformers",
        "OpenAIGPTConfig",
        prefix="transformer.",
        masked=False,
        cached=False,
        unread=OWN_ATTENTION,
    )
    variants = ({}, {"tied": False}, {"head": "none"})

    activation: Activation = "gelu_new"
    embedding_dropout: bool = True
    attention_dropout: bool = True
    residual_dropout: bool = True

    @property
    def final_norm(self) -> Component | None:
        return None

    @property
    def layer(self) -> Component:
        attention = replace(
            self.multi_head,
            fused="c_attn",
            output="c_proj",
            weight_dropout="attn_dropout" if self.attention_dropout else "",
            output_dropout="resid_dropout" if self.residual_dropout else "",
        )
        dropped = "dropout" if self.residual_dropout else ""
        mlp = MLP(hidden=4 * E, activation=self.activation, up="c_fc", down="c_proj", dropout=dropped)
        return PostNormBlock(parts={"attn": attention, "ln_1": self.norm, "mlp": mlp, "ln_2": self.norm}, dropouts=())

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = with_positions(ops, "positions_embed", super().embed(ops, tokens))
        return ops.call("drop", Dropout(), x) if self.embedding_dropout else x
