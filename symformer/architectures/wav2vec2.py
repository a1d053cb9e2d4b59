"""wav2vec 2.0."""

from __future__ import annotations

from dataclasses import dataclass

from .base_architecture import Fields, WitnessSpec
from .bases.speech_encoder import UNMASKED, UNSAVED, WEIGHT_NAMES, SpeechEncoder


@dataclass(frozen=True, kw_only=True)
class Wav2Vec2(SpeechEncoder):
    """wav2vec 2.0, Baevski et al. 2020 [baevski2020], section 2: an encoder of speech. Seven convolutions compute a
    frame for each 320 samples of a sound wave, another convolution adds positions, and bidirectional layers follow.

    The mask token replaces frames in training. The class stores it, but it is not used here. The quantizer of
    pre-training is not part of the encoder.

    >>> Wav2Vec2().params
    E**2*K_near/G_near + 4*L*E**2 + 2*L*E*H + 9*L*E + L*H + 16*E_wave**2 + E*E_wave + 14*E_wave + 5*E + K_near
    """

    title = "wav2vec 2.0"
    config = Fields(
        fixed={"add_adapter": (False,), "adapter_attn_dim": (None,)},
        inert=(
            # the quantizer and the loss of pre-training
            *("num_codevectors_per_group", "num_codevector_groups", "contrastive_logits_temperature"),
            *("num_negatives", "codevector_dim", "proj_codevector_dim", "diversity_loss_weight"),
            "feat_quantizer_dropout",
            # heads that no built-in class has, and the adapter after the layers
            *("tdnn_dim", "tdnn_kernel", "tdnn_dilation", "xvector_output_dim"),
            *("adapter_kernel_size", "adapter_stride", "num_adapter_layers", "output_hidden_size"),
        ),
    )
    witness = WitnessSpec(
        "Wav2Vec2",
        prefix="wav2vec2.",
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
        {"mask_token": False},
    )
