"""OpenAILike: GPT with the names of OpenAI's code and dropout in three places."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...components import MLP, Component, PreNormBlock, SelfAttention
from ...configs.config_fields import Function, ProbabilityField
from ...configs.field_mapping import Fields
from ...ledger.facts import Activation
from ..base_architecture import Names, option
from .gpt_like import GPTLike


@dataclass(frozen=True, kw_only=True)
class OpenAILike(GPTLike):
    """The base of decoders like GPT-2. A subclass overrides the parts that differ."""

    names = Names(table="wte", positions="wpe", layers="h", norm="ln_f")
    config = Fields(
        inert=(  # of a head that no built-in class has
            *("summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels"),
            "summary_first_dropout",
        )
    )

    activation: Activation = option(Function("activation_function", "gelu_new"))
    embedding_dropout: bool = option(ProbabilityField("embd_pdrop", 0.1))
    attention_dropout: bool = option(ProbabilityField("attn_pdrop", 0.1))
    residual_dropout: bool = option(ProbabilityField("resid_pdrop", 0.1))

    @property
    def attention(self) -> SelfAttention:
        """Return the attention of a layer."""
        return replace(
            self.multi_head,
            fused="c_attn",
            output="c_proj",
            weight_dropout="attn_dropout" if self.attention_dropout else "",
            output_dropout="resid_dropout" if self.residual_dropout else "",
        )

    @property
    def mlp(self) -> MLP:
        """Return the feed-forward network of a layer."""
        dropped = "dropout" if self.residual_dropout else ""
        return MLP(activation=self.activation, up="c_fc", down="c_proj", dropout=dropped)

    @property
    def layer(self) -> Component:
        return self.layer_of(self.attention)

    def layer_of(self, attention: SelfAttention) -> Component:
        """Return a layer with this attention."""
        return PreNormBlock(parts={"ln_1": self.norm, "attn": attention, "ln_2": self.norm, "mlp": self.mlp})

    @property
    def embedding_drop(self) -> str:
        return "drop" if self.embedding_dropout else ""
