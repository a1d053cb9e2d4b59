"""Convolutions over a sound wave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ..language.symbols import E_wave
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm

KERNELS, STRIDES = (10, 3, 3, 3, 3, 2, 2), (5, 2, 2, 2, 2, 2, 2)


@dataclass(frozen=True, kw_only=True)
class WaveEncoder(Component):
    """Seven convolutions over a sound wave, Baevski et al. 2020 [baevski2020], section 2 and section 4.2: kernels of
    10, 3, 3, 3, 3, 2 and 2 positions with strides of 5, 2, 2, 2, 2, 2 and 2. A wave of 320·S + 80 samples becomes S
    frames.

    In the first convolution each channel is normalized over all positions. Alternatively, every convolution has a layer
    norm.

    >>> WaveEncoder().params, WaveEncoder(norm="layer", bias=True).params
    (16*E_wave**2 + 12*E_wave, 16*E_wave**2 + 31*E_wave)
    """

    title = "Convolutions over a sound wave"
    role = "embeddings"
    purpose = "Convolutions shorten a sound wave to a sequence of frames, which the layers read as tokens."
    shapes = "sound[B,320*S+80] -> x[B,S,E_wave]"

    # Of each channel of the first convolution over all positions, or a layer norm in every convolution.
    norm: Literal["group", "layer"] = "group"
    bias: bool = False
    activation: Activation = "gelu"

    def forward(self, ops: Operations, sound: Tensor) -> Tensor:
        # In training, transformers computes the gradient of the sound, although nothing uses it.
        x = replace(sound.view((*sound.shape[:1], ONE, *sound.shape[1:])), grad=ONE)
        for place, (kernel, stride) in enumerate(zip(KERNELS, STRIDES, strict=True)):
            layer = f"conv_layers.{place}"
            y = ops.convolution(f"{layer}.conv", x, E_wave, (kernel,), stride=stride, bias=self.bias)
            y = ops.channels_last(y)
            if self.norm == "layer":
                y = ops.call(f"{layer}.layer_norm", LayerNorm(), y)
            elif place == 0:
                y = ops.norm(f"{layer}.layer_norm", y, "channel")
            y = ops.activation(f"{layer}.activation", y, self.activation)
            x = ops.channels_first(y)
        return y
