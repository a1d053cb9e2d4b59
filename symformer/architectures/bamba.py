"""Bamba."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..components import ChunkedScan
from ..language.sizes import Divides
from ..language.symbols import A, A_ssm, D, D_ssm, E, G, H, L_attn, L_ssm, V
from .base_architecture import HEAD_WIDTH, Fields, IndexedLayers, Names, WitnessSpec, usual
from .bases.biased import BiasedThroughout
from .bases.hybrid import HYBRID_MIXER, MixedHybrid


@dataclass(frozen=True, kw_only=True)
class Bamba(MixedHybrid, BiasedThroughout):
    """Bamba, Chu et al. 2024 [chu2024]: state-space mixers (Mamba-2), and attention in some layers, each with an MLP.

    Half of each attention head rotates. The order of the layers does not affect any count.

    >>> Bamba().formula("kv-cache")
    4*B*C*L_attn*G*D + 2*B*L_ssm*K_conv*A_ssm*D_ssm + 4*B*L_ssm*K_conv*G_ssm*N_state + 4*B*L_ssm*A_ssm*D_ssm*N_state
    """

    title = "Bamba"
    names = Names(norm="final_layernorm")
    constraints = (Divides(G, A), Divides(Integer(4), D), *ChunkedScan.constraints)
    turned = D / 2
    config = Fields(
        usual({V: 128000, E: 4096, H: 14336, A: 32, G: 8, D: HEAD_WIDTH, **HYBRID_MIXER}),
        layers=IndexedLayers({"linear_attention": L_ssm, "full_attention": L_attn}, name="attn_layer_indices"),
        restated={"mamba_expand": A_ssm * D_ssm / E},
        fixed={"partial_rotary_factor": (0.5,)},  # the class replaces other values by this one
        inert=("z_loss_coefficient",),
    )
    witness = WitnessSpec(
        "Bamba",
        arguments={"mamba_expand": A_ssm * D_ssm / E, "pad_token_id": None},
        conditions=(Divides(E, D_ssm),),
    )
    variants = (*MixedHybrid.variants, {"mlp_bias": True})
