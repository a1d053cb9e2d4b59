"""GPT-BigCode: StarCoder and SantaCoder."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components import SelfAttention
from ..language.symbols import A, E, H, L, P, V
from ..ledger.facts import Activation
from .base_architecture import OPENAI, BoolField, Fields, Function, WitnessSpec, option, usual
from .bases.openai_like import OpenAILike


@dataclass(frozen=True, kw_only=True)
class GPTBigCode(OpenAILike):
    """GPT-2 with multi-query attention: SantaCoder, Ben Allal et al. 2023 [benallal2023], and StarCoder, Li et al. 2023
    [li2023b], section 5.2.

    >>> GPTBigCode().params
    10*L*E**2 + 2*L*E**2/A + 11*L*E + V*E + P*E + 2*L*E/A + 2*E
    """

    title = "GPT-BigCode"
    relations = {H: 4 * E}
    config = Fields(
        usual({V: 50257, P: 1024, E: 768, L: 12, A: 12, H: 4 * E}, OPENAI),
        inert=(
            *("scale_attn_weights", "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32"),
            "num_key_value_heads",  # the class overwrites it
            *("inference_runner", "validate_runner_input", "pre_allocate_kv_cache"),  # of early releases, unread
            *("max_batch_size", "max_sequence_length", "pad_key_length"),
        ),
    )
    heads = {"ForCausalLM": {"head": "lm"}, "Model": {"head": "none"}}
    witness = WitnessSpec("GPTBigCode", functions=("attn_dropout",), prefix="transformer.")
    variants = ({}, {"multi_query": False}, {"tied": False}, {"head": "none"})

    multi_query: bool = option(BoolField("multi_query", True))
    activation: Activation = option(Function("activation_function", "gelu_pytorch_tanh"))

    @property
    def attention(self) -> SelfAttention:
        return replace(super().attention, kv_heads=Integer(1) if self.multi_query else A, softmax="float32")
