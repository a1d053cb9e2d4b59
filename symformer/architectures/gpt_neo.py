"""GPT-Neo."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr

from ..components.base import Component
from ..components.dropout import Dropout
from ..components.mlp import MLP
from ..components.pre_norm_block import PreNormBlock
from ..language.symbols import A, C_win, E, H, L_global, L_local, P, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Chance, Field, Fields, Function, Rounds, Switch, Witness
from .bases.gpt_like import OWN_ATTENTION, GPTLike
from .bases.hub import heads
from .bases.stacked import Names, Stack, with_positions


@dataclass(frozen=True, kw_only=True)
class GPTNeo(GPTLike):
    """GPT-Neo, Black et al. 2021 [black2021]: GPT-2 in which every other layer has a window.

    The window is in the mask alone: transformers' class keeps all tokens in the cache of every layer, and holds a new
    token against all of them.

    >>> GPTNeo().formula("kv-cache")
    4*B*C*L_local*E + 4*B*C*L_global*E
    """

    title = "GPT-Neo"
    names = Names(table="wte", layers="h", norm="ln_f")
    relations = {H: 4 * E}
    fields = Fields(
        {
            V: Field(("vocab_size",), 50257),
            P: Field(("max_position_embeddings",), 2048),
            E: Field(("hidden_size",), 2048),
            A: Field(("num_heads", "num_attention_heads"), 16),
            H: Field(("intermediate_size",), 4 * E, null=True),
            C_win: Field(("window_size",), 256),
        },
        {
            "tied": Switch("tie_word_embeddings", True),
            "activation": Function("activation_function", "gelu_new"),
            "embedding_dropout": Chance("embed_dropout", 0.0),
            "attention_dropout": Chance("attention_dropout", 0.0),
            "residual_dropout": Chance("resid_dropout", 0.0),
        },
        layers=Rounds(
            {"local": L_local, "global": L_global},
            ("global", "local"),
            Field(("num_layers", "num_hidden_layers"), 24),
            "attention_types",
        ),
        model_types=("gpt_neo",),
        classes=heads("GPTNeo"),
        inert=(
            *("summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels"),
            "summary_first_dropout",  # of a head that no class here has
        ),
    )
    witness = Witness(
        "transformers",
        "GPTNeoConfig",
        prefix="transformer.",
        rename={"attn.attention": "attn"},
        stacks={"local_layers": L_local, "global_layers": L_global},
        unread=OWN_ATTENTION,
    )
    variants = ({}, {"tied": False}, {"head": "none"})

    activation: Activation = "gelu_new"
    embedding_dropout: bool = False
    attention_dropout: bool = False
    residual_dropout: bool = False

    @property
    def layer(self) -> Component:
        return self.layer_with(None)

    def layer_with(self, window: Expr | None) -> Component:
        """A layer with this window."""
        attention = replace(
            self.multi_head,
            bias=False,
            window=window,
            whole=True,
            output="out_proj",
            softmax="float32",
            weight_dropout="attn_dropout" if self.attention_dropout else "",
            output_dropout="resid_dropout" if self.residual_dropout else "",
        )
        dropped = "dropout" if self.residual_dropout else ""
        mlp = MLP(activation=self.activation, up="c_fc", down="c_proj", dropout=dropped)
        return PreNormBlock(parts={"ln_1": self.norm, "attn": attention, "ln_2": self.norm, "mlp": mlp})

    @property
    def stacks(self) -> tuple[Stack, ...]:
        return (
            Stack("local_layers", L_local, self.layer_with(C_win)),
            Stack("global_layers", L_global, self.layer),
        )

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = with_positions(ops, "wpe", super().embed(ops, tokens))
        return ops.call("drop", Dropout(), x) if self.embedding_dropout else x
