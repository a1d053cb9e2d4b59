"""BLOOM."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import MLP, ALiBi, Component, PreNormBlock
from ..language.symbols import A, E, L, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import OPENAI, OWN_ATTENTION, Fields, Names, ProbabilityField, WitnessSpec, option, usual
from .bases.gpt_like import GPTLike


@dataclass(frozen=True, kw_only=True)
class BLOOM(GPTLike):
    """BLOOM, Scao et al. 2022 [scao2022], section 3.2: linear biases for positions, and a norm after the embedding.

    >>> BLOOM().params
    12*L*E**2 + 13*L*E + V*E + 4*E
    """

    title = "BLOOM"
    names = Names(table="word_embeddings", layers="h", norm="ln_f")
    config = Fields(
        usual({V: 250880, E: 64, L: 2, A: 8}, {**OPENAI, E: ("hidden_size", "n_embed")}),
        fixed={"slow_but_exact": (False,)},  # multiplies in pieces, without the biases
        inert=(
            *("apply_residual_connection_post_layernorm", "pretraining_tp"),  # affect values, not counts
            *("attention_softmax_in_fp32", "masked_softmax_fusion", "bias_dropout_fusion", "offset_alibi"),
            *("skip_bias_add", "skip_bias_add_qkv", "seq_length", "n_inner"),  # not read by any class
        ),
    )
    witness = WitnessSpec(
        "Bloom", functions=("hidden_dropout",), prefix="transformer.", masked=False, activation_refusal=OWN_ATTENTION
    )

    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.0))
    dropout: bool = option(ProbabilityField("hidden_dropout", 0.0))

    @property
    def layer(self) -> Component:
        dropped = "hidden_dropout" if self.dropout else ""
        attention = replace(
            self.multi_head,
            fused="query_key_value",
            output="dense",
            distances=ALiBi(),
            softmax="float32",
            weight_dropout="attention_dropout" if self.attention_dropout else "",
            output_dropout=dropped,
        )
        mlp = MLP(
            hidden=4 * E,
            activation="gelu_new",
            up="dense_h_to_4h",
            act="gelu_impl",
            down="dense_4h_to_h",
            dropout=dropped,
        )
        norms = ("input_layernorm", "post_attention_layernorm")
        return PreNormBlock(parts={norms[0]: self.norm, "self_attention": attention, norms[1]: self.norm, "mlp": mlp})

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        return ops.call("word_embeddings_layernorm", self.norm, super().embed(ops, tokens))
