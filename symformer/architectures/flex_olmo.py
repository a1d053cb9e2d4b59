"""FlexOlmo."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, RMSNorm
from ..language.symbols import A, D, E, G, K, L, M, V, X
from .base_architecture import HEAD_WIDTH, Field, Fields, WitnessSpec, usual
from .bases.biased import Biased
from .bases.res_post_norm import ResPostNorm
from .bases.sparse import MaybeDivided

EXPERTS = {M: Field(("intermediate_size",), 11008), X: Field(("num_experts", "num_local_experts"), 7), K: 5}


@dataclass(frozen=True, kw_only=True)
class FlexOlmo(ResPostNorm, MaybeDivided, Biased):
    """FlexOlmo, Shi et al. 2025 [shi2025], section 3: OLMo 2 with K of X experts per token, trained separately.

    >>> FlexOlmo().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + L*A*D + L*G*D + 2*L*E + 2*V*E + E
    """

    title = "FlexOlmo"
    tables = "rotary_single"
    norm = RMSNorm(late=True)
    config = Fields(
        usual({V: 100352, E: 4096, **EXPERTS, L: 32, A: 32, G: A, D: HEAD_WIDTH}),
        fixed={"output_router_logits": (False,)},
        inert=("router_aux_loss_coef",),  # the weight of a loss
    )
    witness = WitnessSpec("FlexOlmo", arguments={"pad_token_id": 0})  # valid for any table
    variants = Biased.variants

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, joint_norm=self.norm)
