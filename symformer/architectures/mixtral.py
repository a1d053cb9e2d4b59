"""Mixtral."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D, E, G, K, L, M, V, X
from .base_architecture import Field, Fields, WitnessSpec, usual
from .bases.sparse import Sparse

EXPERTS = {M: Field(("intermediate_size",), 14336), X: Field(("num_local_experts", "num_experts"), 8), K: 2}


@dataclass(frozen=True, kw_only=True)
class Mixtral(Sparse):
    """Mixtral, Jiang et al. 2024 [jiang2024], section 2: the Mistral architecture without a sliding window, and with
    K of X experts per token.

    >>> Mixtral().params
    3*L*E*X*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 2*L*E + 2*V*E + E
    >>> Mixtral().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 2*L*E + 2*V*E + E
    """

    title = "Mixtral"
    config = Fields(
        usual({V: 32000, E: 4096, **EXPERTS, L: 32, A: 32, G: 8, D: E / A}),
        # The load-balancing loss, and noise on the input of the router, save tensors of their own.
        fixed={"output_router_logits": (False,), "router_jitter_noise": (0.0,)},
        inert=("router_aux_loss_coef",),  # the weight of that loss
    )
    witness = WitnessSpec("Mixtral")
