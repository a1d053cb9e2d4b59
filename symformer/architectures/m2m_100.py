"""M2M-100."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import SinusoidalPositions
from ..language.symbols import A, E, H, L_dec, L_enc, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import NO_TABLE, BoolField, Fields, Function, ProbabilityField, WitnessSpec, option, usual
from .bases.bart_like import DROPOUTS, FAIRSEQ, both
from .bases.encoder_decoder import Tower
from .bases.pre_norm_bart import PreNormBart

HIDDEN, HEADS = both("ffn_dim", 4096), both("attention_heads", 16, "num_attention_heads")


@dataclass(frozen=True, kw_only=True)
class M2M100(PreNormBart):
    """M2M-100, Fan et al. 2021 [fan2021], section 4, and NLLB-200, NLLB Team 2022 [nllb2022], without experts: a
    pre-norm encoder-decoder with sinusoidal positions.

    >>> M2M100().params
    4*L_enc*E**2 + 2*L_enc*E*H + 8*L_dec*E**2 + 2*L_dec*E*H + 9*L_enc*E + L_enc*H + 15*L_dec*E + L_dec*H + V*E + 4*E
    """

    title = "M2M-100"
    config = Fields(
        usual({V: 128112, E: 1024, H: HIDDEN, L_enc: 12, L_dec: 12, A: HEADS}, FAIRSEQ),
        # If a config has no layerdrop, the class skips one of 20 layers in training.
        required=dict.fromkeys(("encoder_layerdrop", "decoder_layerdrop"), (0.0,)),
        inert=(NO_TABLE,),
    )
    # With enough positions, the class does not replace its table during a run.
    witness = WitnessSpec("M2M100", functions=DROPOUTS, arguments={NO_TABLE: 2**16})

    scaled: bool = option(BoolField("scale_embedding", True))
    activation: Activation = option(Function("activation_function", "relu"))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.1))

    def embed(self, ops: Operations, tower: Tower, tokens: Tensor) -> Tensor:
        x = super().embed(ops, tower, tokens)
        x = ops.scale(f"{tower}.embed_scale", x, "root") if self.scaled else x
        return self.dropped(ops, tower, ops.call(f"{tower}.embed_positions", SinusoidalPositions(), x))
