"""The mixtures of GGUF files: which matrices of which layers have a better type than the others.

A mixture such as Q4_K_M is a rule of ``llama-quantize``, not a type. The rules are from ``src/llama-quant.cpp`` of
llama.cpp at commit 007dbbf3, without an importance matrix unless the type needs one; earlier versions have other rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from sympy import Expr, Integer, Min, floor


class GGUFTensor(StrEnum):
    """The matrices that mixtures distinguish, by their names in GGUF files."""

    OUTPUT = "output"
    TOKEN_EMBD = "token_embd"  # noqa: S105
    ATTN_Q = "attn_q"
    ATTN_K = "attn_k"
    ATTN_V = "attn_v"
    ATTN_QKV = "attn_qkv"  # queries, keys and values in one matrix
    ATTN_OUTPUT = "attn_output"
    FFN_GATE = "ffn_gate"
    FFN_UP = "ffn_up"
    FFN_DOWN = "ffn_down"
    EXPERTS = "experts"
    OTHER = "other"


class BetterLayers(StrEnum):
    """The layers of a list that have the better type."""

    MORE = "more"  # the first and the last eighth, and every third of the others
    EIGHTH = "the first eighth"
    SIXTEENTH = "the first sixteenth"
    FOUR = "the first 4"
    TWO = "the first 2"
    MIDDLE = "all but the first and last eighth"


def layers_with(better: BetterLayers, layers: Expr) -> Expr:
    """Return how many of a number of layers have the better type.

    >>> from symformer.language.symbols import L
    >>> layers_with(BetterLayers.MORE, Integer(32)), layers_with(BetterLayers.FOUR, L)
    (16, Min(4, L))
    """
    first, last = floor(layers / 8), floor(7 * layers / 8)
    match better:
        case BetterLayers.MORE:  # i < first, i >= last, or (i - first) mod 3 = 2: the third of each three in between
            return first + layers - last + floor((last - first) / 3)
        case BetterLayers.EIGHTH:
            return first
        case BetterLayers.SIXTEENTH:
            return floor(layers / 16)
        case BetterLayers.FOUR:
            return Min(Integer(4), layers)
        case BetterLayers.TWO:
            return Min(Integer(2), layers)
        case BetterLayers.MIDDLE:
            return last - first


def is_better(better: BetterLayers, layer: int, layers: int) -> bool:
    """Return whether a layer, counted from 0, has the better type.

    >>> [layer for layer in range(16) if is_better(BetterLayers.MORE, layer, 16)]
    [0, 1, 4, 7, 10, 13, 14, 15]
    """
    first, last = layers // 8, 7 * layers // 8
    match better:
        case BetterLayers.MORE:  # use_more_bits in llama-quant.cpp
            return layer < first or layer >= last or (layer - first) % 3 == 2
        case BetterLayers.EIGHTH:
            return layer < first
        case BetterLayers.SIXTEENTH:
            return layer < layers // 16
        case BetterLayers.FOUR:
            return layer < 4
        case BetterLayers.TWO:
            return layer < 2
        case BetterLayers.MIDDLE:
            return first <= layer < last


@dataclass(frozen=True)
class TypeChoice:
    """The type of a matrix: ``better`` in some layers, ``other`` in the rest; "" is the base type of the mixture."""

    better: str
    layers: BetterLayers | None = None  # None: all layers
    other: str = ""


@dataclass(frozen=True)
class GGUFMixture:
    """A rule for the type of each matrix."""

    base: str
    choices: Mapping[GGUFTensor, TypeChoice] = field(default_factory=dict)
    shared_heads: Mapping[GGUFTensor, TypeChoice] = field(default_factory=dict)  # instead, where A/G >= 4
    output: str = "q6_k"
    eight_experts: str = "q5_k"  # the type of attn_output where X = 8; "" is the base type
    eight_down: TypeChoice | None = None  # the type of ffn_down where X = 8; None: as elsewhere
    low_bits: bool = False  # IQ1 and IQ2: also attn_v has its better type where X >= 4, and attn_k where X = 8


def _all(type_: str) -> TypeChoice:
    return TypeChoice(type_)


def _low(base: str, value: str, down: str, output: str, embedding: str) -> GGUFMixture:
    """Return a mixture of 1 or 2 bits."""
    choices = {
        GGUFTensor.ATTN_V: _all(value),
        GGUFTensor.FFN_DOWN: TypeChoice(down, BetterLayers.EIGHTH),
        GGUFTensor.TOKEN_EMBD: _all(embedding),
        **({GGUFTensor.ATTN_OUTPUT: _all(output)} if output else {}),
    }
    return GGUFMixture(base, choices, {GGUFTensor.ATTN_V: _all("q4_k")}, output="q5_k", low_bits=True)


_Q4_K_VALUES = {GGUFTensor.ATTN_V: _all("q4_k")}
_Q5_K_VALUES = {GGUFTensor.ATTN_V: _all("q5_k")}
_DOWN_Q5_K = {GGUFTensor.FFN_DOWN: TypeChoice("q5_k", BetterLayers.EIGHTH)}
_DOWN_Q4_K = {GGUFTensor.FFN_DOWN: TypeChoice("q4_k", BetterLayers.EIGHTH)}
_MORE_Q6_K = dict.fromkeys((GGUFTensor.ATTN_V, GGUFTensor.FFN_DOWN), TypeChoice("q6_k", BetterLayers.MORE))
_UNIFORM = ("q1_0", "q4_0", "q4_1", "q5_0", "q5_1", "q6_k", "nvfp4")  # the same type in every layer
MIXTURES: Mapping[str, GGUFMixture] = MappingProxyType(
    {
        **{name: GGUFMixture(name, output=name, eight_experts="") for name in ("f32", "f16", "bf16")},
        **{
            name: GGUFMixture(name, eight_experts="")
            for name in ("q1_0", "q4_0", "q4_1", "q5_0", "q5_1", "q6_k", "nvfp4")
        },
        "q8_0": GGUFMixture("q8_0", output="q8_0", eight_experts=""),
        "q2_k": GGUFMixture(
            "q2_k",
            {GGUFTensor.ATTN_V: _all("q3_k"), GGUFTensor.FFN_DOWN: _all("q3_k"), GGUFTensor.ATTN_OUTPUT: _all("q3_k")},
            _Q4_K_VALUES,
        ),
        "q2_k_s": GGUFMixture(
            "q2_k", {GGUFTensor.FFN_DOWN: TypeChoice("q4_k", BetterLayers.EIGHTH)}, _Q4_K_VALUES, eight_experts=""
        ),
        "q3_k_s": GGUFMixture("q3_k"),
        "q3_k_m": GGUFMixture(
            "q3_k",
            {
                GGUFTensor.ATTN_V: TypeChoice("q5_k", BetterLayers.TWO, "q4_k"),
                GGUFTensor.FFN_DOWN: TypeChoice("q5_k", BetterLayers.SIXTEENTH, "q4_k"),
                **dict.fromkeys((GGUFTensor.ATTN_OUTPUT, GGUFTensor.ATTN_QKV), _all("q4_k")),
            },
        ),
        "q3_k_l": GGUFMixture(
            "q3_k",
            {
                **dict.fromkeys((GGUFTensor.ATTN_V, GGUFTensor.FFN_DOWN, GGUFTensor.ATTN_OUTPUT), _all("q5_k")),
                GGUFTensor.ATTN_QKV: _all("q4_k"),
            },
            eight_experts="",
        ),
        "q4_k_s": GGUFMixture("q4_k", {GGUFTensor.ATTN_V: TypeChoice("q5_k", BetterLayers.FOUR), **_DOWN_Q5_K}),
        "q4_k_m": GGUFMixture("q4_k", {**_MORE_Q6_K, GGUFTensor.ATTN_QKV: _all("q5_k")}),
        "q5_k_s": GGUFMixture("q5_k", eight_experts=""),
        "q5_k_m": GGUFMixture("q5_k", {**_MORE_Q6_K, GGUFTensor.ATTN_QKV: _all("q6_k")}, eight_experts=""),
        "iq4_nl": GGUFMixture("iq4_nl", _DOWN_Q5_K, _Q5_K_VALUES),
        "iq4_xs": GGUFMixture("iq4_xs", _DOWN_Q5_K, _Q5_K_VALUES),
        "iq3_xs": GGUFMixture(
            "iq3_s",
            {
                **dict.fromkeys((GGUFTensor.ATTN_Q, GGUFTensor.ATTN_K), _all("iq3_xxs")),
                **dict.fromkeys((GGUFTensor.FFN_GATE, GGUFTensor.FFN_UP), TypeChoice("iq3_xxs", BetterLayers.MIDDLE)),
            },
            _Q4_K_VALUES,
        ),
        "iq3_s": GGUFMixture("iq3_s", {}, _Q4_K_VALUES),
        "iq3_m": GGUFMixture(
            "iq3_s",
            {
                **dict.fromkeys((GGUFTensor.ATTN_V, GGUFTensor.ATTN_OUTPUT, GGUFTensor.ATTN_QKV), _all("q4_k")),
                GGUFTensor.FFN_DOWN: TypeChoice("q4_k", BetterLayers.EIGHTH),
            },
            eight_down=TypeChoice("q4_k", BetterLayers.MORE),
        ),
        "iq3_xxs": GGUFMixture(  # needs an importance matrix, with which values and ffn_down have no rule of their own
            "iq3_xxs",
            {
                **dict.fromkeys((GGUFTensor.ATTN_Q, GGUFTensor.ATTN_K), _all("iq2_s")),
                **dict.fromkeys((GGUFTensor.ATTN_OUTPUT, GGUFTensor.TOKEN_EMBD), _all("iq3_s")),
            },
            _Q4_K_VALUES,
            output="q5_k",
        ),
        "iq2_xxs": _low("iq2_xxs", "q2_k", "q2_k", "", "q2_k"),
        "iq2_xs": _low("iq2_xs", "q2_k", "q2_k", "", "q2_k"),
        "iq2_s": _low("iq2_xs", "iq3_s", "iq3_s", "iq3_s", "iq3_s"),
        "iq2_m": _low("iq2_s", "iq3_s", "iq3_s", "iq3_s", "iq3_s"),
        "iq1_s": _low("iq1_s", "q2_k", "q2_k", "iq2_xxs", "q2_k"),
        "iq1_m": _low("iq1_m", "q2_k", "q2_k", "iq2_xxs", "q2_k"),
        "tq1_0": GGUFMixture("tq1_0", {GGUFTensor.TOKEN_EMBD: _all("q4_k")}, eight_experts=""),
        "tq2_0": GGUFMixture("tq2_0", {GGUFTensor.TOKEN_EMBD: _all("q4_k")}, eight_experts=""),
        "mxfp4_moe": GGUFMixture("q8_0", {GGUFTensor.EXPERTS: _all("mxfp4")}, output="q8_0", eight_experts=""),
    }
)
