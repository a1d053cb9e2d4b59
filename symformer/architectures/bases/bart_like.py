"""BartLike: two towers of the same width, with learned positions and the config names of fairseq."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...components import MLP, Component, CrossAttention, Dropout, PositionEmbedding, SelfAttention
from ...configs.config_fields import Field, Function, ProbabilityField
from ...configs.field_mapping import Fields
from ...configs.usual_fields import Called
from ...language.sizes import Condition, Divides
from ...language.symbols import A, E, L_dec, L_enc
from ...ledger.facts import Activation, Tensor
from ...ledger.operations import Operations
from ..base_architecture import Variants, option
from .encoder_decoder import EncoderDecoder, Tower

FAIRSEQ: Called = {
    E: ("d_model", "hidden_size"),
    L_enc: ("encoder_layers", "num_hidden_layers"),
    L_dec: ("decoder_layers",),
}
DROPOUTS = ("dropout", "activation_dropout")  # which the classes apply by a function


def both(field: str, default: int, *others: str) -> Field:
    """Return the field of a size that a config has for each tower, and that must be the same in both."""
    return Field((f"encoder_{field}", *others), default, twins=(f"decoder_{field}",))


@dataclass(frozen=True, kw_only=True)
class BartLike(EncoderDecoder):
    """The base of BART-like models. A subclass sets the positions of the norms in a layer."""

    constraints: ClassVar[tuple[Condition, ...]] = (Divides(A, E),)
    config = Fields(
        # If it is untied, the class has an untrained table in each tower. A layer that layerdrop skips is not computed.
        fixed={"is_encoder_decoder": (True,), "tie_word_embeddings": (True,)}
        | dict.fromkeys(("encoder_layerdrop", "decoder_layerdrop"), (0.0,)),
        inert=("scale_embedding", "init_std"),  # a factor; weight initialization
    )
    variants: ClassVar[Variants] = ({}, {"head": "none"})

    activation: Activation = option(Function("activation_function", "gelu"))
    dropout: bool = option(ProbabilityField("dropout", 0.1))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.0))
    activation_dropout: bool = option(ProbabilityField("activation_dropout", 0.0))

    @property
    def heads_alike(self) -> dict[str, Any]:
        """Return the arguments of self-attention in both towers and of cross-attention."""
        dropped = "dropout" if self.attention_dropout else ""
        return {"heads": A, "kv_heads": A, "head_width": E / A, "output": "out_proj", "weight_dropout": dropped}

    def sublayers(self, tower: Tower) -> list[tuple[str, str, Component]]:
        """Return the sublayers of a layer in execution order: the name of the norm, the name, and the sublayer."""
        inner = "activation_dropout" if self.activation_dropout else ""
        mlp = MLP(activation=self.activation, up="fc1", act="activation_fn", down="fc2", inner_dropout=inner)
        attention = SelfAttention(**self.heads_alike, causal=tower == "decoder")
        across = ("encoder_attn_layer_norm", "encoder_attn", CrossAttention(**self.heads_alike))
        found: list[tuple[str, str, Component]] = [("self_attn_layer_norm", "self_attn", attention)]
        return [*found, *([across] if tower == "decoder" else []), ("final_layer_norm", "", mlp)]

    def placed(self, ops: Operations, tower: Tower, x: Tensor, table: PositionEmbedding) -> Tensor:
        """Return the embeddings with positions added."""
        places = ops.index("positions", table.sequences, x.shape[1])
        return ops.add(f"{tower}.embed", x, ops.call(f"{tower}.embed_positions", table, places))

    def dropped(self, ops: Operations, tower: Tower, x: Tensor) -> Tensor:
        """Return x after dropout, if the model has dropout."""
        return ops.call(f"{tower}.dropout", Dropout(), x) if self.dropout else x
