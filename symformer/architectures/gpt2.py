"""GPT-2."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, E, H, L, P, V
from .base_architecture import OPENAI, Fields, WitnessSpec, usual
from .bases.openai_like import OpenAILike


@dataclass(frozen=True, kw_only=True)
class GPT2(OpenAILike):
    """GPT-2, Radford et al. 2019 [radford2019], section 2.3: a pre-norm decoder with learned positions.

    >>> GPT2().params
    12*L*E**2 + 13*L*E + V*E + P*E + 2*E
    """

    title = "GPT-2"
    relations = {H: 4 * E}
    config = Fields(
        usual({V: 50257, P: 1024, E: 768, L: 12, A: 12, H: 4 * E}, OPENAI),
        fixed={"reorder_and_upcast_attn": (False,)},  # saves queries and keys in single precision
        inert=(
            *("scale_attn_weights", "scale_attn_by_inverse_layer_idx"),  # affect values, not counts
            "summary_last_dropout",  # of a head that no built-in class has
            *("n_ctx", "n_special", "predict_special_tokens"),  # written by early releases, and not read by any class
        ),
    )
    heads = {"LMHeadModel": {"head": "lm"}, "Model": {"head": "none"}}
    witness = WitnessSpec("GPT2", prefix="transformer.")
