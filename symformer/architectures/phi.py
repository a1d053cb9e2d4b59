"""Phi."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components.base import Component
from ..components.dropout import Dropout
from ..components.lm_head import LMHead
from ..components.mlp import MLP
from ..components.parallel_block import ParallelBlock
from ..language.sizes import AtMost, Divides
from ..language.symbols import A, D, D_rope, E, G, H, L, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Chance, Field, Fields, Function, Share, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS
from .bases.partly_rotary import PartlyRotary
from .bases.stacked import Names


@dataclass(frozen=True, kw_only=True)
class Phi(PartlyRotary):
    """Phi-1.5, Li et al. 2023 [li2023], section 2.1, and Phi-2: a parallel decoder with biases everywhere.

    One norm serves attention and the MLP; a part of each head turns; the head has a bias.

    >>> Phi().params
    2*L*E*A*D + 2*L*E*G*D + 2*L*E*H + L*A*D + 2*L*G*D + 4*L*E + L*H + 2*V*E + V + 2*E
    """

    title = "Phi"
    names = Names(norm="final_layernorm")
    constraints = (Divides(G, A), Divides(Integer(2), D_rope), AtMost(D_rope, D))
    fields = Fields(
        usual({V: 51200, E: 2048, H: 8192, L: 24, A: 32, G: A})
        | {D: Field(("head_dim",), E / A), D_rope: Share(("partial_rotary_factor",), of=D, part=0.5)},
        {
            **OPTIONS,
            "activation": Function("hidden_act", "gelu_new"),
            "embedding_dropout": Chance("embd_pdrop", 0.0),
            "dropout": Chance("resid_pdrop", 0.0),
        },
        model_types=("phi",),
        classes=heads("Phi"),
        fixed={"qk_layernorm": (False,)},  # would store a norm of each head's queries and keys
        rotary=True,
        inert=(NO_TABLE,),
    )
    witness = Witness("transformers", "PhiConfig", prefix="model.")
    variants = ({}, {"tied": True}, {"head": "none"})

    activation: Activation = "gelu_new"
    embedding_dropout: bool = False
    dropout: bool = False

    @property
    def layer(self) -> Component:
        dropped = "resid_dropout" if self.dropout else ""
        facts = {"head_width": D, "bias": True, "output_bias": True, "output": "dense", "output_dropout": dropped}
        attention = replace(self.rotary_attention, **facts)
        mlp = MLP(activation=self.activation, up="fc1", act="activation_fn", down="fc2", dropout=dropped)
        return ParallelBlock(parts={"input_layernorm": self.norm, "self_attn": attention, "mlp": mlp})

    @property
    def lm_head(self) -> LMHead | None:
        return LMHead(tied=self.tied, bias=True) if self.head == "lm" else None

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = super().embed(ops, tokens)
        return ops.call("embed_dropout", Dropout(), x) if self.embedding_dropout else x
