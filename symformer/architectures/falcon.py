"""Falcon."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sympy import Expr, Integer

from ..components import MLP, ALiBi, Component, ParallelBlock, PreNormBlock, RotaryPositions
from ..configs.common_fields import Config
from ..language.errors import ConfigError, OptionError
from ..language.sizes import Condition, Divides, format_value
from ..language.symbols import A, E, G, H, L, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import (
    NO_TABLE,
    OWN_ATTENTION,
    BoolField,
    Choice,
    Field,
    Fields,
    Function,
    Names,
    WitnessSpec,
    option,
    usual,
)
from .bases.gpt_like import GPTLike

HEADS = Field(("num_attention_heads",), 71)
NAMES = {E: ("hidden_size", "n_embed"), H: ("ffn_hidden_size",), G: ("num_kv_heads",)}


@dataclass(frozen=True)
class MultiQuery(BoolField):
    """The switch of multi-query attention. Without it, the first form of Falcon must have A key/value heads."""

    def read(self, config: Config) -> bool:
        """Return the option. Raises ConfigError."""
        value = super().read(config)
        given, heads = config.get("num_kv_heads"), HEADS.read(A, config)
        if not (value or config.get("new_decoder_architecture")) and given not in (None, heads):
            raise ConfigError(
                f"'num_kv_heads' is {format_value(given)} in the config, but with 'multi_query' false and "
                f"'new_decoder_architecture' false it must equal 'num_attention_heads', {heads}; remove the field"
            )
        return value


@dataclass(frozen=True, kw_only=True)
class Falcon(GPTLike):
    """Falcon, Almazrouei et al. 2023 [almazrouei2023], section 4: a decoder with parallel attention and MLP.

    The 7B model has one key/value head, and one norm for both sublayers. The grouped form of the 40B and 180B models
    has G key/value heads and a norm for each sublayer; transformers' class copies keys and values to all A query heads
    before it caches them. Falcon-RW has ALiBi positions, biases, and sequential sublayers.

    >>> Falcon().params, Falcon(grouped=True).formula("kv-cache")
    (10*L*E**2 + 2*L*E**2/A + 2*L*E + V*E + 2*E, 4*B*C*L*E)
    """

    title = "Falcon"
    names = Names(table="word_embeddings", layers="h", norm="ln_f")
    relations = {H: 4 * E}
    config = Fields(
        usual({V: 65024, L: 32, A: HEADS, E: 4544, H: 4 * E, G: A}, NAMES),
        needs={G: "grouped"},
        fixed={"hidden_dropout": (0.0,), "attention_dropout": (0.0,)},  # this dropout is not at the end of a sublayer
        rotary=True,
        inert=(NO_TABLE, "apply_residual_connection_post_layernorm"),  # no class reads the second
    )
    witness = WitnessSpec("Falcon", prefix="transformer.", masked=False, activation_refusal=OWN_ATTENTION)
    variants = (
        {},
        {"grouped": True},
        {"grouped": True, "norms": "one", "tied": False},
        {"alibi": True, "bias": True, "multi_query": False, "parallel": False},
        {"head": "none"},
    )

    grouped: bool = option(BoolField("new_decoder_architecture", False))
    multi_query: bool = option(MultiQuery("multi_query", True))
    parallel: bool = option(BoolField("parallel_attn", True))
    alibi: bool = option(BoolField("alibi", False))
    bias: bool = option(BoolField("bias", False))
    norms: Literal["usual", "one", "two"] = option(
        Choice("num_ln_in_parallel_attn", {None: "usual", 1: "one", 2: "two"}, None)
    )
    activation: Activation = option(Function("activation", "gelu"))

    def __post_init__(self) -> None:
        """Raise OptionError for options for which transformers' class has no forward pass."""
        super().__post_init__()
        if self.grouped and not self.parallel:
            raise OptionError("no Falcon has grouped=true with parallel=false; the grouped form is always parallel")
        if self.norms == "two" and not self.grouped:
            raise OptionError("no Falcon has norms=two with grouped=false; the first form has one norm for both")

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]
        pairs = Divides(2 * A, E)  # for rotary embeddings; the class requires this also without them
        return (pairs, Divides(G, A)) if self.grouped else (pairs,)

    @property
    def layer(self) -> Component:
        kv_heads: Expr = G if self.grouped else Integer(1) if self.multi_query else A
        attention = replace(
            self.multi_head,
            kv_heads=kv_heads,
            spread=self.grouped,
            bias=self.bias,
            output_bias=self.bias,
            fused="query_key_value",
            output="dense",
            positions=None if self.alibi else RotaryPositions(),
            distances=ALiBi() if self.alibi else None,
        )
        mlp = MLP(bias=self.bias, activation=self.activation, up="dense_h_to_4h", down="dense_4h_to_h")
        two = {"self_attention": attention}, {"mlp": mlp}
        if self.grouped and self.norms != "one":
            return ParallelBlock(parts={"ln_attn": self.norm, **two[0], "ln_mlp": self.norm, **two[1]})
        if self.parallel:
            return ParallelBlock(parts={"input_layernorm": self.norm, **two[0], **two[1]})
        first, second = {"input_layernorm": self.norm}, {"post_attention_layernorm": self.norm}
        return PreNormBlock(parts={**first, **two[0], **second, **two[1]})

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return () if self.alibi else (ops.positions("rotary_emb", tokens.shape[1], E / A, "rotary"),)
