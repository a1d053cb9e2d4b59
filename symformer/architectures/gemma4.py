"""Gemma 4."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from sympy import Expr, Integer

from ..components import Component, ExpertSandwichBlock, LMHead, MoE, RMSNorm, SandwichBlock, SelfAttention
from ..components.moe import SOFTMAX
from ..configs.common_fields import Config
from ..language.sizes import AtMost, Condition, Divides
from ..language.symbols import A, C_win, D, D_global, E, G, G_global, H, K, L_global, L_local, M, V, X
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import (
    BoolField,
    Field,
    Fields,
    Function,
    Layers,
    OptionalNumberField,
    WitnessSpec,
    option,
    unknown,
    usual,
)
from .bases.biased import Biased
from .bases.local_global import ROTARY_KINDS, LocalGlobal
from .bases.sandwich import Sandwich

LOCAL, GLOBAL = "sliding_attention", "full_attention"
EXPERTS = {
    X: Field(("num_experts",), unset=True),
    K: Field(("top_k_experts",), unset=True),
    M: Field(("moe_intermediate_size",), unset=True),
}
GLOBAL_HEADS = {G_global: Field(("num_global_key_value_heads",), G, null=True), D_global: 512}
ROUTING = (
    "The router reads the normalized input of the layer's feed-forward part, times a learned scale, over the root of "
    f"its width. {SOFTMAX} Each expert's weight is then multiplied by a learned number."
)


class GlobalLastLayers(Layers):
    """A list of layers whose last layer is always global; the class changes its kind if it is not."""

    def listed(self, config: Config) -> Any:
        """Return the kind of every layer."""
        listed = super().listed(config)
        if listed is None:
            depth = self.listable(config)
            listed = [self.pattern[layer % len(self.pattern)] for layer in range(depth)]
        return [*listed[:-1], GLOBAL] if isinstance(listed, list) and listed else listed


@dataclass(frozen=True, kw_only=True)
class Gemma4(LocalGlobal, Sandwich, Biased):
    """Gemma 4, Google DeepMind 2026 [google2026]: Gemma 3 whose global layers have wider heads, fewer key/value heads
    and no value projection. In the 26B model, experts run next to the feed-forward network. Values are normalized.

    This is the language model only, of the models without embeddings per layer and without layers that reuse the keys
    and values of earlier ones.

    >>> Gemma4().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D_global
    """

    title = "Gemma 4"
    rotary = "separate"
    scale = "none"
    rooted = True
    norm = RMSNorm(late=True)
    config = Fields(
        usual({V: 262144, E: 2304, H: 9216, A: 8, G: 4, D: 256, C_win: 512, **EXPERTS, **GLOBAL_HEADS}),
        layers=GlobalLastLayers(
            {LOCAL: L_local, GLOBAL: L_global}, (LOCAL,) * 5 + (GLOBAL,), Field(("num_hidden_layers",), 30)
        ),
        needs={G_global: "values_from_keys", **dict.fromkeys(EXPERTS, "experts")},
        model_types=("gemma4_text",),
        classes={"Gemma4ForCausalLM": {"head": "lm"}, "Gemma4TextModel": {"head": "none"}},
        required={"hidden_size_per_layer_input": (0,)},  # no embeddings per layer
        # no layer reuses keys and values; a bidirectional mask is for image tokens only
        fixed={"num_kv_shared_layers": (0,), "use_bidirectional_attention": (None, "vision")},
        apiece=(GLOBAL, LOCAL),
        ropes=("default", "linear", "dynamic", "yarn", "llama3", "proportional"),
        # of embeddings per layer, and of layers that reuse keys and values
        inert=("vocab_size_per_layer_input", "use_double_wide_mlp"),
    )
    witness = WitnessSpec(
        "Gemma4Text", functions=("attention_dropout", *ROTARY_KINDS), activation_refusal=unknown("its norms")
    )
    variants = (
        {},
        {"values_from_keys": True, "capped_logits": True},
        {"values_from_keys": True, "experts": True, "capped_logits": True},
        {"attention_bias": True},
        {"tied": False},
        {"head": "none"},
    )

    tied: bool = option(BoolField("tie_word_embeddings", True))
    activation: Activation = option(Function("hidden_activation", "gelu_pytorch_tanh"))
    values_from_keys: bool = option(BoolField("attention_k_eq_v", False))
    experts: bool = option(BoolField("enable_moe_block", False))
    capped_logits: bool = option(OptionalNumberField("final_logit_softcapping"))

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # depends on the options
        found = (*super().constraints, Divides(Integer(2), D_global))
        found += (Divides(G_global, A),) if self.values_from_keys else ()
        return found + ((AtMost(K, X),) if self.experts else ())

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, head_norm=self.norm, value_norm=RMSNorm(late=True, scale=False))

    @property
    def attention(self) -> SelfAttention:
        alone = {"value": "", "kv_heads": G_global} if self.values_from_keys else {}
        return replace(self.rotary_attention, head_width=D_global, **alone)

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        plain = cast(SandwichBlock, super().layer_of(attention, mlp))
        if not self.experts:
            return replace(plain, factor="layer_scalar")
        experts = MoE(
            activation=self.activation,
            routing=ROUTING,
            router="router.proj",
            router_norm=RMSNorm(late=True, scale=False),
            router_norm_name="router.norm",
            router_scale="router.scale",
            expert_scale="router.per_expert_scale",
            input_norm=self.norm,
            input_norm_name="pre_feedforward_layernorm_2",
        )
        return ExpertSandwichBlock(parts=plain.parts, factor="layer_scalar", experts=experts)

    @property
    def logits(self) -> LMHead:  # type: ignore[override]
        return LMHead(capped=self.capped_logits)

    def contexts(self, ops: Operations, tokens: Tensor) -> tuple[tuple[Tensor, ...], ...]:
        widths: dict[str, Expr] = {"local": D, "global": D_global}
        return tuple(
            (ops.positions(f"rotary_emb.{kind}", tokens.shape[1], width, "rotary"),) for kind, width in widths.items()
        )
