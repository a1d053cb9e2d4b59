"""BartLike: two towers of one width, with learned positions, by the names of fairseq."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...components import MLP, Component, CrossAttention, Dropout, PositionEmbedding, SelfAttention
from ...configs.fields import Chance, Field, Fields, Function
from ...configs.usual import Called
from ...language.sizes import Condition, Divides
from ...language.symbols import A, E, L_dec, L_enc
from ...ledger.facts import Activation, Tensor
from ...ledger.operations import Operations
from ..base import Variants, option
from .encoder_decoder import EncoderDecoder, Tower

FAIRSEQ: Called = {
    E: ("d_model", "hidden_size"),
    L_enc: ("encoder_layers", "num_hidden_layers"),
    L_dec: ("decoder_layers",),
}


def both(field: str, default: int, *others: str) -> Field:
    """A size that a config has for each tower, and that is the same in both."""
    return Field((f"encoder_{field}", *others), default, twins=(f"decoder_{field}",))


@dataclass(frozen=True, kw_only=True)
class BartLike(EncoderDecoder):
    """As BART has it; a subclass says where the norms of a layer stand."""

    constraints: ClassVar[tuple[Condition, ...]] = (Divides(A, E),)
    config = Fields(
        # Without its ties the class has a table for each tower, which nobody trained; a layer left out is not computed.
        fixed={"is_encoder_decoder": (True,), "tie_word_embeddings": (True,)}
        | dict.fromkeys(("encoder_layerdrop", "decoder_layerdrop"), (0.0,)),
        inert=("scale_embedding", "init_std"),  # a factor; how weights are drawn
    )
    variants: ClassVar[Variants] = ({}, {"head": "none"})

    activation: Activation = option(Function("activation_function", "gelu"))
    dropout: bool = option(Chance("dropout", 0.1))
    attention_dropout: bool = option(Chance("attention_dropout", 0.0))
    activation_dropout: bool = option(Chance("activation_dropout", 0.0))

    @property
    def heads_alike(self) -> dict[str, Any]:
        """What attention has in both towers, and to the other tower as well."""
        dropped = "dropout" if self.attention_dropout else ""
        return {"heads": A, "kv_heads": A, "head_width": E / A, "output": "out_proj", "weight_dropout": dropped}

    def sublayers(self, tower: Tower) -> list[tuple[str, str, Component]]:
        """Those of a layer in the order they run, each with the name of its norm and its own."""
        inner = "activation_dropout" if self.activation_dropout else ""
        mlp = MLP(activation=self.activation, up="fc1", act="activation_fn", down="fc2", inner_dropout=inner)
        attention = SelfAttention(**self.heads_alike, causal=tower == "decoder")
        across = ("encoder_attn_layer_norm", "encoder_attn", CrossAttention(**self.heads_alike))
        found: list[tuple[str, str, Component]] = [("self_attn_layer_norm", "self_attn", attention)]
        return [*found, *([across] if tower == "decoder" else []), ("final_layer_norm", "", mlp)]

    def placed(self, ops: Operations, tower: Tower, x: Tensor, table: PositionEmbedding) -> Tensor:
        """What is embedded, with where it stands."""
        places = ops.index("positions", table.sequences, x.shape[1])
        return ops.add(f"{tower}.embed", x, ops.call(f"{tower}.embed_positions", table, places))

    def dropped(self, ops: Operations, tower: Tower, x: Tensor) -> Tensor:
        """The same after dropout, where there is any."""
        return ops.call(f"{tower}.dropout", Dropout(), x) if self.dropout else x
