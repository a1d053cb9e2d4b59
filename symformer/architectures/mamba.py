"""Mamba."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import Component, SelectiveScan
from ..language.sizes import Divides
from ..language.symbols import E, H_ssm, K_conv, L, N_state, R_dt, V
from .base_architecture import Fields, WitnessSpec, usual
from .bases.recurrent import INNER, MIXER, RANK, Recurrent


@dataclass(frozen=True, kw_only=True)
class Mamba(Recurrent):
    """Mamba, Gu and Dao 2023 [gu2023], section 3.4: layers with a state-space mixer and nothing else.

    >>> Mamba().formula("kv-cache")
    2*B*L*K_conv*H_ssm + 4*B*L*H_ssm*N_state
    """

    title = "Mamba"
    constraints = (Divides(E, H_ssm),)
    config = Fields(
        usual({V: 50280, E: 768, L: 32, H_ssm: INNER, N_state: 16, R_dt: RANK, K_conv: 4}, MIXER),
        restated={"intermediate_size": H_ssm, "d_inner": H_ssm, "d_model": E, "n_layer": L},
    )
    witness = WitnessSpec("Mamba", prefix="backbone.")

    @property
    def mixer(self) -> Component:
        return SelectiveScan(bias=self.bias, convolution_bias=self.convolution_bias, activation=self.activation)
