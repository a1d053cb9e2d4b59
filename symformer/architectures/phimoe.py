"""Phi-3.5-MoE."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..components import Component, LayerNorm, LMHead, MoE
from ..components.moe import SPARSE_MIXER
from ..language.sizes import AtMost
from ..language.symbols import A, C_win, D, E, G, L, M, V, X
from .base_architecture import HEAD_WIDTH, BoolField, Field, Fields, WitnessSpec, option, usual
from .bases.biased import Biased
from .bases.llama_like import ROTARY_HEADS
from .bases.windowed import Windowed

EXPERTS = {M: Field(("intermediate_size",), 6400), X: Field(("num_local_experts", "num_experts"), 16)}


@dataclass(frozen=True, kw_only=True)
class PhiMoE(Windowed, Biased):
    """Phi-3.5-MoE, Abdin et al. 2024 [abdin2024]: two of X experts per token, layer norms, and biases. The released
    model has a sliding window of 131,072 tokens.

    >>> PhiMoE().formula("active-params")
    2*L*E*A*D + 2*L*E*G*D + L*E*X + 6*L*E*M + 4*L*E + 2*V*E + 2*E
    """

    title = "Phi-3.5-MoE"
    compared_with = "mixtral"
    unwindowed = (*ROTARY_HEADS, AtMost(Integer(2), X))
    norm = LayerNorm()
    config = Fields(
        usual({V: 32064, E: 4096, **EXPERTS, L: 32, A: 32, G: 8, C_win: None, D: HEAD_WIDTH}),
        # The class always chooses two experts.
        fixed={"num_experts_per_tok": (2,), "output_router_logits": (False,)},
        ropes=("default", "longrope", "su"),
        # the weight of a loss; noise in training; a dropout that the class does not have
        inert=(
            *("router_aux_loss_coef", "router_jitter_noise", "input_jitter_noise", "hidden_dropout"),
            "original_max_position_embeddings",
        ),
    )
    witness = WitnessSpec("Phimoe")
    variants = ({}, {"attention_bias": True, "head_bias": True, "window": True}, {"tied": True}, {"head": "none"})

    window: bool = False
    head_bias: bool = option(BoolField("lm_head_bias", False))

    @property
    def mlp(self) -> Component:
        return MoE(per_token=Integer(2), router="router", routing=SPARSE_MIXER, activation=self.activation)

    @property
    def logits(self) -> LMHead:  # type: ignore[override]
        return LMHead(bias=self.head_bias)
