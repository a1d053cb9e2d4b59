"""The phrases that describe one component in a comparison of structures, such as "a gated MLP".

Sizes in a phrase stay between braces, such as ``{C_win}``. Names of modules, dropout, casts and fused matrices do not
change the structure, and no phrase states them.
"""

from __future__ import annotations

from collections.abc import Mapping

from sympy import fraction

from ..components.base import Component
from ..components.channel_mixing import ChannelMixing
from ..components.chunked_scan import ChunkedScan
from ..components.compressed_attention import CompressedAttention
from ..components.cross_attention import CrossAttention
from ..components.disentangled_attention import DisentangledAttention
from ..components.gated_delta_net import GatedDeltaNet
from ..components.gated_mlp import GatedMLP
from ..components.head_norm import HeadNorm
from ..components.image_attention import ImageAttention
from ..components.joint_attention import JointAttention
from ..components.kimi_delta_attention import KimiDeltaAttention
from ..components.latent_attention import LatentAttention
from ..components.layer_norm import LayerNorm
from ..components.lightning_indexer import LightningIndexer
from ..components.mlp import MLP
from ..components.moe import (
    BIAS_OR_TABLE,
    SIGMOID_IN_GROUPS,
    SIGMOID_IN_GROUPS_MAYBE_DIVIDED,
    SIGMOID_OF_CHOSEN,
    SIGMOID_WITH_BIAS,
    SIGMOID_WITH_EXPERT_BIAS,
    SOFTMAX,
    SOFTMAX_IN_GROUPS,
    SOFTMAX_MAYBE_DIVIDED,
    SOFTMAX_OF_CHOSEN,
    SOFTMAX_UNDIVIDED,
    SOFTMAX_WITH_BIAS,
    SPARSE_MIXER,
    MoE,
)
from ..components.recurrent_block import RecurrentBlock
from ..components.relative_attention import RelativeAttention
from ..components.rms_norm import RMSNorm
from ..components.rotary_positions import IDS
from ..components.selective_scan import SelectiveScan
from ..components.self_attention import SelfAttention
from ..components.short_convolution import ShortConvolution
from ..components.time_mixing import TimeMixing
from ..language.notation.text import code
from ..language.symbols import D, E
from ..ledger.activation_names import ACTIVATION_NAMES

Phrases = dict[str, list[str]]  # by aspect
ATTENTION = (
    *(SelfAttention, LatentAttention, ImageAttention, DisentangledAttention, RelativeAttention),
    *(JointAttention, CompressedAttention),
)
MIXERS = (
    *(*ATTENTION, SelectiveScan, ChunkedScan, GatedDeltaNet, KimiDeltaAttention, TimeMixing, RecurrentBlock),
    ShortConvolution,
)
_OVER_CHOSEN = "expert weights from a softmax over the chosen experts"
_OVER_ALL = "expert weights from a softmax over all experts"
_SIGMOIDS = "expert weights from sigmoids"
_DIVIDED, _MAYBE_DIVIDED = "divided by their sum", "divided by their sum if norm_topk_prob is true"
_MULTIPLIED = "multiplied by a constant"
_BIAS = "with a bias for the choice"
_BIAS_AND_GROUPS = f"{_BIAS} and groups of experts, ranked by the sum of their two highest biased scores"
# A softmax over all experts that is divided by its sum over the chosen ones is a softmax over the chosen ones. The
# words after a comma or in parentheses are details, which a comparison in a few words leaves out.
_ROUTING = {
    SOFTMAX: _OVER_CHOSEN,
    SOFTMAX_OF_CHOSEN: _OVER_CHOSEN,
    SOFTMAX_UNDIVIDED: _OVER_ALL,
    SOFTMAX_MAYBE_DIVIDED: f"{_OVER_ALL}, {_MAYBE_DIVIDED},",
    SOFTMAX_WITH_BIAS: f"{_OVER_CHOSEN} ({_BIAS})",
    SOFTMAX_IN_GROUPS: (
        f"{_OVER_ALL}, {_MULTIPLIED} (with groups of experts for the choice, ranked by their highest score)"
    ),
    SIGMOID_OF_CHOSEN: _SIGMOIDS,
    SIGMOID_IN_GROUPS: f"{_SIGMOIDS}, {_DIVIDED} and {_MULTIPLIED} ({_BIAS_AND_GROUPS})",
    SIGMOID_IN_GROUPS_MAYBE_DIVIDED: f"{_SIGMOIDS}, {_MAYBE_DIVIDED}, and {_MULTIPLIED} ({_BIAS_AND_GROUPS})",
    SIGMOID_WITH_BIAS: f"{_SIGMOIDS}, {_DIVIDED} ({_BIAS})",
    SIGMOID_WITH_EXPERT_BIAS: f"{_SIGMOIDS}, {_DIVIDED} and {_MULTIPLIED} ({_BIAS})",
    BIAS_OR_TABLE: (
        f"expert weights from square roots of softplus, {_DIVIDED} and {_MULTIPLIED} "
        "(with a bias or a fixed table for the choice)"
    ),
    SPARSE_MIXER: "expert weights from SparseMixer (which chooses one expert after the other)",
}
OWN_ROUTING = "a rule of its own for the choice and the weights of experts"
# Phrases longer than the name; a comparison in a few words leaves out the part after the comma.
_DEFINED = {"quick_gelu": "QuickGELU, x times the logistic function at 1.702x,"}

# The fields of each component that a phrase describes, or that do not change the structure. A new field needs a phrase.
DESCRIBED: Mapping[type[Component], tuple[str, ...]] = {
    SelfAttention: (
        *("heads", "kv_heads", "head_width", "value_width", "bias", "output_bias", "key_bias", "causal", "window"),
        *("chunked", "positions", "distances", "own_table", "scale", "capped", "joint_norm", "head_norm"),
        *(
            "rotated_norm",
            "temperature",
            "key_factor",
            "value_factor",
            "value_norm",
            "inner",
            "adapters",
            "output_norm",
            "sinks",
            "gate",
            "blocks",
            "prompt",
            "reused",
        ),
    ),
    LatentAttention: ("heads", "query_latent", "indexer", "reused", "shared", "positions"),
    ImageAttention: ("heads", "head_width", "side", "window", "bias", "relative"),
    JointAttention: ("heads", "head_width", "head_norm", "rotated", "image", "text_output"),
    LightningIndexer: ("heads", "head_width"),
    CompressedAttention: ("heads", "keys"),
    CrossAttention: (
        *("heads", "kv_heads", "head_width", "bias", "output_bias", "key_bias", "scale", "capped", "memory_width"),
    ),
    SelectiveScan: ("bias", "convolution_bias", "activation", "normalized", "norm_scale"),
    ChunkedScan: (*("bias", "convolution_bias", "activation", "normalized", "norm_first", "input_factor", "factors"),),
    GatedDeltaNet: ("activation", "factor"),
    KimiDeltaAttention: ("activation",),
    TimeMixing: ("first",),
    RecurrentBlock: ("activation",),
    ShortConvolution: ("bias",),
    MLP: ("hidden", "bias", "activation", "trained"),
    GatedMLP: ("hidden", "bias", "activation", "gate_factor", "factor", "norm", "adapter", "sparsity"),
    MoE: (
        *("experts", "local", "per_token", "activation", "hidden", "routing", "router_code", "lifted", "bias"),
        "choice_bias",
        *(
            "weighted_inputs",
            "shared",
            "shared_gate",
            "norm",
            "input_norm",
            "router_norm",
            "router_scale",
            "expert_scale",
        ),
    ),
}
# Names of modules, dropout, casts, the layout of weights, and the length of the cache.
IGNORED = (
    *(
        "query",
        "key",
        "value",
        "output",
        "fused",
        "fused_module",
        "query_norm",
        "key_norm",
        "merged_norm",
        "gate",
        "up",
        "act",
        "down",
    ),
    *(
        "norm_name",
        "sparsity_name",
        "sparsity_share",
        "value_norm_name",
        "input_norm_name",
        "router_norm_name",
        "router",
        "beside",
        "weight_dropout",
        "output_dropout",
        "inner_dropout",
        "dropout",
        "softmax",
    ),
    *("whole", "spread", "everything", "mixed", "both", "strength", "step"),
)


def mixer(part: Component) -> str:
    """Return the phrase for attention, or for another mixer of tokens."""
    match part:
        case LatentAttention(positions=""):
            return (
                "multi-head latent attention without positions, which caches a latent of rank {R_kv} and a key of "
                f"width {{{code(part.shared)}}},"
            )
        case LatentAttention():
            return (
                "multi-head latent attention, which caches a latent of rank {R_kv} and a rotary key of width {D_rope},"
            )
        case CompressedAttention(keys="window"):
            return "attention with one key, which is also the value, within a window of {C_win} tokens"
        case CompressedAttention():
            size = "{C_csa}" if part.keys == "sparse" else "{C_hca}"
            return (
                "attention with one key, which is also the value, within a window of {C_win} tokens and to a "
                f"compressed key for each group of {size} tokens"
            )
        case DisentangledAttention():
            return "disentangled attention, with separate scores for tokens and distances,"
        case ImageAttention(window=None):
            return "self-attention over the image"
        case ImageAttention():
            return f"self-attention within windows of {{{code(part.window)}}} by {{{code(part.window)}}} patches"
        case JointAttention():
            return "joint attention of a text and an image with separate weights"
        case RelativeAttention():
            return "attention with keys for tokens and keys for distances"
        case SelectiveScan():
            return "a state-space mixer (Mamba)"
        case ChunkedScan():
            return "a state-space mixer (Mamba-2)"
        case GatedDeltaNet():
            return "linear attention with a gated delta rule (Gated DeltaNet)"
        case KimiDeltaAttention():
            return "linear attention with a gated delta rule and a decay per row (Kimi Delta Attention)"
        case TimeMixing():
            return "time mixing with a generalized delta rule (RWKV-7)"
        case RecurrentBlock():
            return "a gated linear recurrence (RG-LRU)"
        case ShortConvolution():
            return "a gated short convolution over {K_conv} positions"
    return "self-attention"


def mixer_details(part: Component) -> list[str]:
    """Return the phrases for the details of attention or of another mixer."""
    match part:
        case SelfAttention():
            return _attention_details(part)
        case LatentAttention():
            found = ["a latent of rank {R_q} for the queries"] if part.query_latent else []
            found.append("an RMS norm of each latent")
            found += ["an indexer that chooses {K_idx} keys for each query"] if part.indexer else []
            return [*found, *(["the keys that the indexer of an earlier layer has chosen"] if part.reused else [])]
        case CompressedAttention():
            found = [
                "a latent of rank {R_q} for the queries",
                "an RMS norm of each latent",
                "a grouped output projection of rank {R_out}",
            ]
            return [*found, *(["an indexer that chooses {K_idx} keys for each query"] if part.keys == "sparse" else [])]
        case SelectiveScan():
            scale = "" if part.norm_scale else " without scales"
            norms = [f"RMS norms{scale} of the step sizes and of both projections of the state"]
            return [*_mixer_biases(part), *(norms if part.normalized else [])]
        case ChunkedScan():
            found = _mixer_biases(part)
            if part.normalized:
                found.append(f"an RMS norm {'before' if part.norm_first else 'after'} the gate of the mixer")
            return [*found, *(["constant factors in the mixer"] if part.input_factor or part.factors else [])]
        case GatedDeltaNet():
            return ["strengths between 0 and 2 in the delta rule"] if part.factor else []
        case TimeMixing():
            return [] if part.first else ["values that are partly those of the first layer"]
        case ShortConvolution():
            return ["biases in the convolution and its projections"] if part.bias else []
    return []


def _mixer_biases(part: SelectiveScan | ChunkedScan) -> list[str]:
    found = ["biases in the projections of the mixer"] if part.bias else []
    return [*found, *(["a bias of the mixer's convolution"] if part.convolution_bias else [])]


def _attention_details(part: SelfAttention) -> list[str]:
    found = []
    if part.value_width is not None:
        found.append(f"values of width {{{code(part.value_width)}}}")
    if part.reused:
        found.append("keys and values of an earlier layer")
    if not part.value:
        found.append("values that are the projected keys")
    if part.value_norm is not None:
        found.append(f"{article(norm_words(part.value_norm, False))} of values, over each head")
    if part.inner != E:
        found.append(f"an input of width {{{code(part.inner)}}}")
    if part.adapters:
        found.append("an adapter of each layer for queries, keys and values")
    if part.capped:
        found.append("a tanh soft cap on the scores")
    if part.temperature:
        found.append("a factor of each query that grows with the logarithm of its position")
    if part.gate:
        found.append("a sigmoid gate on the output of attention")
    if part.key_factor:
        found.append("a constant factor of the keys")
    if part.value_factor:
        found.append("a constant factor of the values")
    if part.blocks:
        found.append("attention of each token of an image to all tokens of that image")
    if part.prompt:
        found.append("attention of each token of a prompt to all tokens of the prompt")
    if part.output_norm is not None:
        found.append(f"{article(norm_words(part.output_norm, False))} before the output projection of attention")
    return found


def attention(part: SelfAttention) -> Phrases:
    """Return the phrases for the aspects of attention that its component states."""
    scale = {"none": "scores that are not divided by √{D}", "number": "scores multiplied by a constant"}
    norms = {
        "over each head": part.head_norm,
        "over all heads together": part.joint_norm,
        "over each head, after the rotation": part.rotated_norm,
    }
    return {
        "attention biases": projections_with_bias(part),
        "scale": [scale.get(part.scale, "scores divided by √{D}")],
        "window": [_window(part)] if part.window is not None else [],
        "query and key norms": [norms_of_heads(norm, where) for where, norm in norms.items() if norm is not None],
        "sinks": ["a learned sink logit of each head in the softmax"] if part.sinks else [],
    }


def norms_of_heads(norm: Component, where: str) -> str:
    """Return the phrase for a norm of queries and keys."""
    return f"{article(norm_words(norm, False))} of queries and keys, {where}"


def _window(part: SelfAttention) -> str:
    kind = "attention within chunks" if part.chunked else "a sliding window"
    return f"{kind} of {{{code(part.window)}}} tokens" + ("" if part.causal else " on each side")


def rotary(part: Component) -> str:
    """Return the phrase for rotary positions, which states the axes of positions and how much of each head rotates."""
    positions = part.positions if isinstance(part, SelfAttention) else None
    axes = (
        f" for {axes}" if (axes := IDS if isinstance(part, JointAttention) else getattr(positions, "axes", "")) else ""
    )
    if positions is None or positions.width in (D, part.head_width):  # type: ignore[attr-defined]
        return f"rotary positions{axes}"
    return f"rotary positions{axes} on {{{code(positions.width)}}} elements of each head"


def projections_with_bias(part: Component) -> list[str]:
    """Return the projections of attention that have a bias."""
    if isinstance(part, RelativeAttention | DisentangledAttention | JointAttention):
        return ["query", "key", "value", "output"]
    if isinstance(part, ImageAttention):
        return ["query", "key", "value", "output"] if part.bias else ["output"]
    if not isinstance(part, SelfAttention):
        return []
    having = {"query": part.bias, "key": part.bias and part.key_bias, "value": part.bias}
    having["output"] = bool(part.output) and part.output_bias
    return [name for name, bias in having.items() if bias]


def cross_attention(part: CrossAttention) -> Phrases:
    """Return the phrases for cross-attention, whose scores have the same scale and cap as in self-attention."""
    keys = "" if part.key_bias else " except for the keys"
    return {
        "cross-attention": ["cross-attention to the encoder's output"],
        "cross-attention biases": [f"biases in the cross-attention{keys}"] if part.bias else [],
    }


def _sparse(part: GatedMLP) -> str:
    """Return the phrase for a network of which some layers keep only the largest activations."""
    some, every = fraction(part.sparsity_share)
    where = "" if every == 1 else f" in {{{code(some)}}} of the {{{code(every)}}} layers"
    return f"activations of the MLP below a threshold set to 0{where}"


def network(part: object, shared: bool) -> Phrases:
    """Return the phrases for a feed-forward network; ``shared`` if it is next to experts."""
    match part:
        case MoE():
            return _experts(part)
        case GatedMLP() if shared:
            return {"MLP": [f"a shared expert of width {{{code(part.hidden)}}}"]}
        case GatedMLP():
            said = ["a gated MLP"]
            norm = "" if part.norm is None else article(norm_words(part.norm, False))
            said += [f"{norm} of the hidden layer of the MLP"] if norm else []
            said += [_sparse(part)] if part.sparsity else []
            said += ["an adapter for the input projections of the MLP"] if part.adapter else []
            factors = part.gate_factor or part.factor
            said += ["constant factors of the gate and the output of the MLP"] if factors else []
            return {"MLP": said, **_activation(part.activation, part.bias)}
        case MLP():
            found = {"MLP": ["an MLP without a gate"], **_activation(part.activation, part.bias)}
            return {**found, "activation": ["xIELU, with two trained parameters"]} if part.trained else found
        case ChannelMixing():
            return {"MLP": ["an MLP whose input is partly the preceding position"], **_activation("relu2", False)}
        case Component():
            return {"MLP": [article(part.title[0].lower() + part.title[1:])]}
    return {}


def _activation_phrase(name: str) -> str:
    return _DEFINED.get(name, ACTIVATION_NAMES[name])


def _activation(name: str, bias: bool) -> Phrases:
    return {"activation": [_activation_phrase(name)], "MLP biases": ["biases in the MLP"] if bias else []}


def _experts(part: MoE) -> Phrases:
    experts, width, chosen = (f"{{{code(each)}}}" for each in (part.experts, part.hidden, part.per_token))
    said = [f"{experts} gated experts of width {width}, of which a router chooses {chosen} for each token,"]
    if isinstance(part.shared, GatedMLP | MLP):
        said.append(f"a shared expert of width {{{code(part.shared.hidden)}}}")
    said += ["a gate of the shared expert"] if part.shared_gate else []
    said += ["an offset of 1 on the up projection"] if part.lifted else []
    norms = {"output of the experts": part.norm, "experts' input": part.input_norm, "router's input": part.router_norm}
    said += [f"{article(norm_words(norm, False))} of the {what}" for what, norm in norms.items() if norm is not None]
    said += ["a learned scale of the router's input"] if part.router_scale else []
    said += ["a learned scale of each expert's weight"] if part.expert_scale else []
    weighting = ["a weighting of the experts' inputs (not of their outputs)"] if part.weighted_inputs else []
    return {
        "MLP": said,
        "routing": [_ROUTING.get(part.routing, OWN_ROUTING), *weighting],
        "activation": [_activation_phrase(part.activation)],
        "MLP biases": [
            *(["biases in the router and in the experts"] if part.bias else []),
            *(["a stored bias of each expert for the choice"] if part.choice_bias else []),
        ],
    }


def norm_words(norm: object, several: bool = True) -> str:
    """Return the words for the norms of a model, such as "RMS norms"."""
    match norm:
        case RMSNorm(scale=scale):
            kind, lacking = "RMS norm", "" if scale else " without a scale"
        case LayerNorm(scale=scale, bias=bias):
            kind = "layer norm"
            lacking = {
                (True, True): "",
                (True, False): " without a bias",
                (False, True): " without a scale",
                (False, False): " without a scale or a bias",
            }[scale, bias]
        case HeadNorm():
            kind, lacking = "layer norm", " with its own scales for each head"
        case _:
            kind, lacking = "norm", ""
    return f"{kind}{'s' if several else ''}{lacking}"


def article(words: str) -> str:
    """Return a noun with the indefinite article.

    >>> article("RMS norm"), article("pooler")
    ('an RMS norm', 'a pooler')
    """
    return f"{'an' if words[0] in 'aeioRLM' else 'a'} {words}"
