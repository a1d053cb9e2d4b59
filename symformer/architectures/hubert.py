"""HuBERT."""

from __future__ import annotations

from dataclasses import dataclass

from .base_architecture import BoolField, Fields, option
from .bases.speech_encoder import SpeechEncoder, speech_witness


@dataclass(frozen=True, kw_only=True)
class HuBERT(SpeechEncoder):
    """HuBERT, Hsu et al. 2021 [hsu2021], section III-A: the encoder of wav2vec 2.0, trained to predict the clusters of
    masked frames.

    The mask token, which replaces frames in training, is stored, but no frame is masked here.

    >>> HuBERT().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + 16*E_wave**2 + E_wave*E + E**2*K_near/G_near + 14*E_wave + 5*E + K_near
    """

    title = "HuBERT"
    config = Fields(fixed={"conv_pos_batch_norm": (False,), "adapter_attn_dim": (None,)})
    witness = speech_witness("Hubert")
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
