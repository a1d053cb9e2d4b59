"""Gemma 3n."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components import (
    AltUpBlock,
    Component,
    GatedMLP,
    GaussianTopK,
    Laurel,
    LaurelBlock,
    LMHead,
    PerLayerEmbedding,
    PerLayerInput,
    RMSNorm,
    SelfAttention,
    StreamProjection,
)
from ..configs.reusing_layers import GLOBAL, KINDS, LOCAL, ReusedKeysAndValues, ReusingLayers, SparseActivations
from ..language.sizes import AtMost, Condition
from ..language.symbols import (
    A,
    C_win,
    D,
    E,
    E_pli,
    G,
    H,
    L,
    L_glo_re,
    L_loc_re,
    L_sparse,
    N_alt,
    R_lau,
    V,
    V_pli,
)
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import (
    HEADS_DIVIDE,
    BoolField,
    Field,
    Fields,
    Function,
    WitnessSpec,
    option,
    unknown,
    usual,
)
from .bases.biased import Biased
from .bases.local_global import ROTARY_KINDS, LocalGlobal
from .bases.stacked import Stack, run_stacks

LAYERS = ReusingLayers(KINDS, (LOCAL,) * 4 + (GLOBAL,), Field(("num_hidden_layers",), 35))
PER_LAYER = {
    V_pli: Field(("vocab_size_per_layer_input",), 262144),
    E_pli: Field(("hidden_size_per_layer_input",), 256),
}
STREAMS = {N_alt: Field(("altup_num_inputs",), 4), R_lau: Field(("laurel_rank",), 64)}


@dataclass(frozen=True, kw_only=True)
class Gemma3n(LocalGlobal, Biased):
    """Gemma 3n, Google DeepMind 2025 [google2025]: Gemma 3 with N_alt residual streams, a learned residual connection
    of low rank, and an embedding of each token for each layer. Each layer runs on one of the streams. The last layers
    reuse the keys and values of earlier ones, and the first layers keep only the largest activations of their
    feed-forward networks. Values are normalized.

    This is the language model only. The published checkpoints also store key and value projections of the layers that
    reuse keys and values; as in the transformers class, these are not counted.

    >>> Gemma3n().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "Gemma 3n"
    rotary = "separate"
    scale = "none"
    rooted = True
    norm = RMSNorm(late=True)
    logits = LMHead(capped=True)
    config = Fields(
        usual(
            {
                **{V: 262400, E: 2048, H: Field(("intermediate_size",), 16384, listed=True), A: 8, G: 2, D: 256},
                **{C_win: 512, **PER_LAYER, **STREAMS},
            }
        ),
        layers=LAYERS,
        model_types=("gemma3n_text",),
        classes={"Gemma3nForCausalLM": {"head": "lm"}, "Gemma3nTextModel": {"head": "none"}},
        fixed={
            "altup_active_idx": (0,),
            "altup_correct_scale": (True,),  # otherwise the class stores a scale that it does not use
        },
        apiece=(GLOBAL, LOCAL),
        inert=(
            *("altup_coef_clip", "altup_lr_multiplier", "rope_local_base_freq"),
            "final_logit_softcapping",  # elementwise
            "query_pre_attn_scalar",  # not read by the class
        ),
    )
    witness = WitnessSpec(
        "Gemma3nText",
        functions=("attention_dropout", *ROTARY_KINDS),
        conditions=HEADS_DIVIDE,
        activation_refusal=unknown("its residual streams"),
    )
    variants = (
        {},
        {"reused": False, "sparse": False, "attention_bias": True, "tied": False},
        {"head": "none"},
    )

    tied: bool = option(BoolField("tie_word_embeddings", True))
    activation: Activation = option(Function("hidden_activation", "gelu_pytorch_tanh"))
    reused: bool = option(ReusedKeysAndValues(LAYERS))
    sparse: bool = option(SparseActivations(LAYERS))

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # depends on the options
        found = (*super().constraints, AtMost(Integer(2), N_alt))
        return (*found, AtMost(L_sparse, self.totals[L])) if self.sparse else found

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, head_norm=self.norm, value_norm=RMSNorm(late=True, scale=False))

    @property
    def mlp(self) -> GatedMLP:
        plain = GatedMLP(activation=self.activation)
        if not self.sparse:
            return plain
        return replace(plain, sparsity=GaussianTopK(), sparsity_share=L_sparse / L)

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        norm = self.norm
        parts = {"input_layernorm": norm, "self_attn": attention, "post_attention_layernorm": norm}
        parts |= {"pre_feedforward_layernorm": norm, "mlp": mlp, "post_feedforward_layernorm": norm}
        return AltUpBlock(
            layer=LaurelBlock(parts=parts, laurel=Laurel(norm=norm)),
            per_layer=PerLayerInput(norm=norm, activation=self.activation),
            norm="rms_late",
        )

    @property
    def stacks(self) -> tuple[Stack, ...]:
        found = super().stacks
        if not self.reused:
            return found
        whole = replace(self.rotary_attention, reused=True)
        windowed = replace(whole, window=C_win)
        return (
            *found,
            Stack("local_reusing_layers", L_loc_re, self.layer_of(windowed, self.mlp)),
            Stack("global_reusing_layers", L_glo_re, self.layer_of(whole, self.mlp)),
        )

    def contexts(self, ops: Operations, tokens: Tensor) -> tuple[tuple[Tensor, ...], ...]:
        own = super().contexts(ops, tokens)
        return own * 2 if self.reused else own

    def run_layers(self, ops: Operations, x: Tensor, tokens: Tensor) -> Tensor:
        embedded = ops.call("", PerLayerEmbedding(norm="rms_late"), tokens, x)
        per_layer = embedded.view((*x.shape[:2], E_pli), "per_layer_input")
        contexts = tuple((*angles, per_layer) for angles in self.contexts(ops, tokens))
        others = (x.shape[0], N_alt - 1, *x.shape[1:])
        magnitude = ops.magnitude("altup_magnitude", x)
        projected = ops.side_by_side("altup_projections.*", N_alt - 1, StreamProjection(), x, magnitude)
        streams = ops.prepend_stream("altup_streams", x, projected.view(others))
        streams = run_stacks(ops, self.names.layers, self.stacks, streams, contexts, order=self.order)
        first = ops.stream("altup_first", streams)
        rest = ops.other_streams("altup_others", streams).view(x.shape)
        magnitude = ops.magnitude("altup_unembed_magnitude", first)
        projected = ops.side_by_side("altup_unembed_projections.*", N_alt - 1, StreamProjection(), rest, magnitude)
        streams = ops.prepend_stream("altup_unembed_streams", first, projected.view(others))
        return ops.call(self.names.norm, self.norm, ops.mean_of_streams("altup_mean", streams))
