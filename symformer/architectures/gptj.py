"""GPT-J."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.dropout import Dropout
from ..components.lm_head import LMHead
from ..components.mlp import MLP
from ..components.parallel_block import ParallelBlock
from ..components.rotary_positions import RotaryPositions
from ..language.symbols import A, D_rope, E, H, L, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Chance, Field, Fields, Function, Switch, Witness
from .bases.gpt_like import OWN_ATTENTION, GPTLike
from .bases.hub import heads
from .bases.partly_rotary import PART_OF_A_HEAD
from .bases.stacked import Names


@dataclass(frozen=True, kw_only=True)
class GPTJ(GPTLike):
    """GPT-J, Wang and Komatsuzaki 2021 [wang2021]: attention and the MLP side by side, one norm for both.

    A part of each head turns; attention has no biases, the MLP and the head have.

    >>> GPTJ().params
    12*L*E**2 + 7*L*E + 2*V*E + V + 2*E
    """

    title = "GPT-J"
    names = Names(table="wte", layers="h", norm="ln_f")
    relations = {H: 4 * E}
    constraints = PART_OF_A_HEAD
    fields = Fields(
        {
            V: Field(("vocab_size",), 50400),
            E: Field(("n_embd", "hidden_size"), 4096),
            L: Field(("n_layer", "num_hidden_layers"), 28),
            A: Field(("n_head", "num_attention_heads"), 16),
            H: Field(("n_inner",), 4 * E, null=True),
            D_rope: Field(("rotary_dim",), 64),
        },
        {
            "tied": Switch("tie_word_embeddings", False),
            "activation": Function("activation_function", "gelu_new"),
            "embedding_dropout": Chance("embd_pdrop", 0.0),
            "attention_dropout": Chance("attn_pdrop", 0.0),
            "residual_dropout": Chance("resid_pdrop", 0.0),
        },
        model_types=("gptj",),
        classes=heads("GPTJ"),
        inert=(
            *("n_positions", "max_position_embeddings", "n_ctx", "rotary", "scale_attn_weights"),  # no table
            *("summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels"),
            "summary_first_dropout",  # of a head that no class here has
        ),
    )
    witness = Witness("transformers", "GPTJConfig", prefix="transformer.", unread=OWN_ATTENTION)
    variants = ({}, {"tied": True}, {"head": "none"})

    tied: bool = False
    activation: Activation = "gelu_new"
    embedding_dropout: bool = False
    attention_dropout: bool = False
    residual_dropout: bool = False

    @property
    def layer(self) -> Component:
        attention = replace(
            self.multi_head,
            bias=False,
            output_bias=False,
            positions=RotaryPositions(width=D_rope),
            output="out_proj",
            softmax="float32",
            weight_dropout="attn_dropout" if self.attention_dropout else "",
            output_dropout="resid_dropout" if self.residual_dropout else "",
        )
        dropped = "dropout" if self.residual_dropout else ""
        mlp = MLP(activation=self.activation, up="fc_in", down="fc_out", dropout=dropped)
        return ParallelBlock(parts={"ln_1": self.norm, "attn": attention, "mlp": mlp})

    @property
    def lm_head(self) -> LMHead | None:
        return LMHead(tied=self.tied, bias=True) if self.head == "lm" else None

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = super().embed(ops, tokens)
        return ops.call("drop", Dropout(), x) if self.embedding_dropout else x

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("embed_positions", tokens.shape[1], D_rope, "rotary"),)
