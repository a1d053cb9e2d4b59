"""MPT."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import MLP, ALiBi, Component, LayerNorm, PreNormBlock
from ..language.symbols import A, E, L, V
from .base_architecture import OWN_ATTENTION, Fields, Names, WitnessSpec, usual
from .bases.gpt_like import GPTLike

NAMES = {
    E: ("d_model", "hidden_size"),
    L: ("n_layers", "num_hidden_layers"),
    A: ("n_heads", "num_attention_heads"),
}
ATTENTION = Fields(
    fixed={
        "attn_type": ("multihead_attention",),
        "alibi": (True,),
        "qk_ln": (False,),  # would add norms of queries and keys
        "prefix_lm": (False,),
        "attn_uses_sequence_id": (False,),
        "clip_qkv": (None,),  # an additional elementwise operation
        "attn_pdrop": (0,),
    },
    inert=("model_type", "attn_impl", "softmax_scale", "alibi_bias_max"),
)


@dataclass(frozen=True, kw_only=True)
class MPT(GPTLike):
    """MPT, MosaicML NLP Team 2023 [mosaicml2023]: a decoder with ALiBi positions and no other biases.

    >>> MPT().params
    12*L*E**2 + 2*L*E + V*E + E
    """

    title = "MPT"
    names = Names(table="wte", layers="blocks", norm="norm_f")
    norm = LayerNorm(bias=False)
    config = Fields(
        usual({V: 50368, E: 2048, L: 24, A: 16}, NAMES),
        nested={"attn_config": ATTENTION},
        fixed={"expansion_ratio": (4,), "no_bias": (True,), "logit_scale": (None,)},  # not read by the class
        inert=(
            *("max_seq_len", "learned_pos_emb"),  # there is no position table, whatever these are
            *("resid_pdrop", "emb_pdrop", "embedding_fraction", "norm_type", "init_device", "init_config"),
            *("verbose", "loss_fn", "ffn_config", "fc_type"),
        ),
    )
    # Enough rows of biases for the tokens of any run.
    witness = WitnessSpec(
        "Mpt", prefix="transformer.", arguments={"max_seq_len": 2**24}, activation_refusal=OWN_ATTENTION
    )

    @property
    def layer(self) -> Component:
        plain = replace(self.multi_head, bias=False, output_bias=False)
        attention = replace(plain, fused="Wqkv", output="out_proj", distances=ALiBi(), softmax="float32")
        mlp = MLP(hidden=4 * E, bias=False, up="up_proj", down="down_proj")
        return PreNormBlock(parts={"norm_1": self.norm, "attn": attention, "norm_2": self.norm, "ffn": mlp})
