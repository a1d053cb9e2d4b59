"""OLMoE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component
from ..language.sizes import AtMost, Divides
from ..language.symbols import A, E, G, K, L, M, V, X
from .base_architecture import Field, Fields, WitnessSpec, usual
from .bases.biased import Biased
from .bases.sparse import MaybeDivided

EXPERTS = {X: Field(("num_experts", "num_local_experts"), 64), K: 8, M: Field(("intermediate_size",), 2048)}


@dataclass(frozen=True, kw_only=True)
class OLMoE(MaybeDivided, Biased):
    """OLMoE, Muennighoff et al. 2024 [muennighoff2024], section 2: K of X small experts per token, and norms on queries
    and keys.

    >>> OLMoE().formula("active-params").partial(G="A")
    3*L*E*K*M + 4*L*E**2 + L*E*X + 4*L*E + 2*V*E + E
    """

    title = "OLMoE"
    constraints = (Divides(2 * A, E), Divides(G, A), AtMost(K, X))  # a head of width E/A rotates in pairs of elements
    head_width = turned = E / A
    config = Fields(
        usual({V: 50304, E: 2048, **EXPERTS, L: 16, A: 16, G: A}),
        restated={"head_dim": E / A},  # its norms require it
        fixed={"clip_qkv": (None,), "output_router_logits": (False,)},
        inert=("router_aux_loss_coef",),  # the weight of a loss
    )
    witness = WitnessSpec("Olmoe", arguments={"pad_token_id": 0})  # valid for any table
    variants = Biased.variants

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, joint_norm=self.norm)
