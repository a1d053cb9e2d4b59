"""Phi-3."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components.base import Component
from ..components.gated_mlp import GatedMLP
from ..components.rms_norm import RMSNorm
from ..language.sizes import AtMost, Condition, Divides
from ..language.symbols import A, C_win, D, D_rope, E, G, H, L, V
from .base import Chance, Field, Fields, Share, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS
from .bases.partly_rotary import PartlyRotary


@dataclass(frozen=True, kw_only=True)
class Phi3(PartlyRotary):
    """Phi-3, Abdin et al. 2024 [abdin2024], section 2: Llama with queries, keys and values in one matrix.

    The gate of the feed-forward network and what it opens are one matrix as well; some releases have a window, and in
    some only a part of each head turns.

    >>> Phi3().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Phi-3"
    fields = Fields(
        usual({V: 32064, E: 3072, H: 8192, L: 32, A: 32, G: A, C_win: Field(("sliding_window",))})
        | {D: Field(("head_dim",), E / A), D_rope: Share(("partial_rotary_factor",), of=D, part=1.0)},
        {**OPTIONS, "dropout": Chance("resid_pdrop", 0.0)},
        nullable={"window": C_win},
        model_types=("phi3",),
        classes=heads("Phi3"),
        rotary=True,
        ropes=("default", "longrope", "su"),
        inert=(NO_TABLE, "original_max_position_embeddings", "embd_pdrop"),  # the class drops nothing of a table
    )
    # Which token is padding is no matter here; left out, its row is number 32000 of every table.
    witness = Witness("transformers", "Phi3Config", prefix="model.", arguments={"pad_token_id": None})
    variants = ({}, {"window": True}, {"tied": True}, {"head": "none"})

    window: bool = False
    dropout: bool = False

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # with no window, no condition on it
        window = (AtMost(Integer(2), C_win),) if self.window else ()
        return (Divides(G, A), Divides(Integer(2), D_rope), AtMost(D_rope, D), *window)

    @property
    def norm(self) -> Component:
        return RMSNorm()

    @property
    def attention(self) -> Component:
        window, dropped = C_win if self.window else None, "resid_attn_dropout" if self.dropout else ""
        attention = replace(self.rotary_attention, head_width=D, fused="qkv_proj")
        return replace(attention, window=window, output_dropout=dropped)

    @property
    def mlp(self) -> Component:
        dropped = "resid_mlp_dropout" if self.dropout else ""
        return GatedMLP(activation=self.activation, fused="gate_up_proj", act="activation_fn", dropout=dropped)
