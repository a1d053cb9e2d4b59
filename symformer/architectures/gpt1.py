"""GPT-1."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import MLP, Component, PostNormBlock, SelfAttention
from ..language.symbols import A, E, L, P, V
from .base_architecture import OPENAI, OWN_ATTENTION, Activation, Choice, Fields, Names, WitnessSpec, option, usual
from .bases.openai_like import OpenAILike


@dataclass(frozen=True, kw_only=True)
class GPT1(OpenAILike):
    """GPT-1, Radford et al. 2018 [radford2018], section 4.1: a post-norm decoder with learned positions.

    Transformers' class has no cache, so formulas of the cache are not verified against a class.

    >>> GPT1().params
    12*L*E**2 + 13*L*E + V*E + P*E
    """

    title = "GPT-1"
    names = Names(table="tokens_embed", positions="positions_embed", layers="h")
    final_norm = None
    config = Fields(
        usual({V: 40478, P: 512, E: 768, L: 12, A: 12}, OPENAI),
        model_types=("openai-gpt",),
        inert=("n_ctx", "n_special", "predict_special_tokens"),  # not read by any class
    )
    heads = {"LMHeadModel": {"head": "lm"}, "Model": {"head": "none"}}
    witness = WitnessSpec(
        "OpenAIGPT", prefix="transformer.", masked=False, cached=False, activation_refusal=OWN_ATTENTION
    )

    # The class has its own names of activation functions.
    activation: Activation = option(
        Choice("afn", {"gelu": "gelu_new", "relu": "relu", "silu": "silu", "swish": "silu"}, "gelu")
    )

    @property
    def mlp(self) -> MLP:
        return replace(super().mlp, hidden=4 * E)

    def layer_of(self, attention: SelfAttention) -> Component:
        parts = {"attn": attention, "ln_1": self.norm, "mlp": self.mlp, "ln_2": self.norm}
        return PostNormBlock(parts=parts, dropouts=())
