"""CodeGen."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components import SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A
from .base_architecture import OWN_ATTENTION, WitnessSpec
from .bases.gptj_like import GPTJLike


@dataclass(frozen=True, kw_only=True)
class CodeGen(GPTJLike):
    """CodeGen, Nijkamp et al. 2023 [nijkamp2023], section 2.2: GPT-J with one matrix of queries, keys and values.

    The class stores the rows of this matrix for four devices, so 4 divides the number of heads.

    >>> CodeGen().params
    12*L*E**2 + 7*L*E + 2*V*E + V + 2*E
    """

    title = "CodeGen"
    constraints = (*GPTJLike.constraints, Divides(Integer(4), A))
    witness = WitnessSpec(
        "CodeGen", functions=("embed_positions",), prefix="transformer.", activation_refusal=OWN_ATTENTION
    )

    @property
    def attention(self) -> SelfAttention:
        return replace(super().attention, fused="qkv_proj")
