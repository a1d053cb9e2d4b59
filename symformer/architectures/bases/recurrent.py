"""Recurrent: layers of a state space mixer alone, by the names of Mamba."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ...components.base import Component
from ...components.lm_head import LMHead
from ...components.pre_norm_block import PreNormBlock
from ...configs.fields import Function, Switch
from ...ledger.facts import Activation
from .decoder import Decoder
from .stacked import Names

MIXER_OPTIONS: Mapping[str, Switch | Function] = {
    "bias": Switch("use_bias", False),
    "convolution_bias": Switch("use_conv_bias", True),
    "activation": Function("hidden_act", "silu"),
}
MIXER_INERT = (
    # how weights are drawn; the precision of a sum; which of several kernels runs the scan
    *("time_step_scale", "time_step_min", "time_step_max", "time_step_init_scheme", "time_step_floor"),
    *("rescale_prenorm_residual", "residual_in_fp32", "use_mambapy", "use_associative_scan"),
    *("fused_add_norm", "rms_norm", "ssm_cfg", "pad_vocab_size_multiple"),  # read by no class here
)


@dataclass(frozen=True, kw_only=True)
class Recurrent(Decoder):
    """As Mamba has it; a subclass hands in the mixer."""

    names = Names(table="embeddings", norm="norm_f")

    head: Literal["lm", "none"] = "lm"
    tied: bool = False
    bias: bool = False
    convolution_bias: bool = True
    activation: Activation = "silu"

    @property
    @abstractmethod
    def mixer(self) -> Component:
        """What a layer consists of beside its norm."""

    @property
    def layer(self) -> Component:
        return PreNormBlock(parts={"norm": self.norm, "mixer": self.mixer})

    @property
    def lm_head(self) -> LMHead | None:
        return LMHead(tied=self.tied) if self.head == "lm" else None
