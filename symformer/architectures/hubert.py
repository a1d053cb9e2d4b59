"""HuBERT."""

from __future__ import annotations

from dataclasses import dataclass

from .base_architecture import BoolField, Fields, WitnessSpec, option
from .bases.speech_encoder import UNMASKED, UNSAVED, WEIGHT_NAMES, SpeechEncoder


@dataclass(frozen=True, kw_only=True)
class HuBERT(SpeechEncoder):
    """HuBERT, Hsu et al. 2021 [hsu2021], section III-A: the encoder of wav2vec 2.0, trained to predict the clusters of
    masked frames.

    The mask token replaces frames in training. The class stores it, but it is not used here.

    >>> HuBERT().params
    E**2*K_near/G_near + 4*L*E**2 + 2*L*E*H + 9*L*E + L*H + 16*E_wave**2 + E*E_wave + 14*E_wave + 5*E + K_near
    """

    title = "HuBERT"
    config = Fields(fixed={"conv_pos_batch_norm": (False,), "adapter_attn_dim": (None,)})
    witness = WitnessSpec(
        "Hubert",
        prefix="hubert.",
        rename=WEIGHT_NAMES,
        arguments=UNMASKED,
        masked=False,
        cached=False,
        activation_refusal=UNSAVED,
    )
    variants = (
        {},
        {"head": "ctc"},
        {"pre_norm": True, "wave_norm": "layer", "conv_bias": True},
        {"normalized_features": False},
    )

    normalized_features: bool = option(BoolField("feat_proj_layer_norm", True))

    @property
    def feature_norm(self) -> bool:
        return self.normalized_features
