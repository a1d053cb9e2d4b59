"""timm's MACs, as counted by fvcore: matrices, patches and 5 per element of a norm; nothing for fused attention."""

from __future__ import annotations

from sympy import Integer

from ...formulas.account import Measure, Term
from ...ledger.facts import (
    ARRANGING,
    ATTENDING,
    CARRYING,
    COMPRESSING,
    MATCHING,
    POINTWISE,
    ROUTING,
    Entry,
    OperationKind,
)
from .common_rules import counts_nothing, refuse_observed, refuse_unlisted
from .linear_roles import RoleTable
from .rule_set import RuleSet

SCALED, PLAIN = Integer(5), Integer(4)  # per element of a norm with a scale, and without


def linear(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """x[..., in] · W[out, in]: one multiply-add per product, as aten::linear; the bias adds nothing."""
    return (Term(entry.path, (*entry.inputs[0].shape, entry.output.width)),)


def convolution(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return the multiply-adds of the kernel at every position, as aten::_convolution."""
    return (Term(entry.path, (*entry.output.shape, *entry.weights[0].shape[1:])),)


def norm(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return 5 per normalized element, or 4 without a scale: ``a rough estimate``, according to fvcore."""
    return (Term(entry.path, (SCALED if entry.weights else PLAIN, *entry.output.shape)),)


def classifier(reading: RoleTable) -> None:
    """Raise RuleError for models other than timm's image classifiers."""
    if reading.name != "vit" or not any(entry.path == "classifier" for entry in reading.entries):
        what = "vit with its pooler" if reading.name == "vit" else reading.name
        raise TIMM.refuse(f"counts of image classifiers support only vit with head=classifier; this is {what}")


TIMM = RuleSet(
    "timm",
    "timm",
    "benchmark.py, profile_fvcore",
    "https://github.com/huggingface/pytorch-image-models/blob/aa4b5850c1543fa488abf260f18390eda46cf85d/benchmark.py#L194",
    "multiply-adds, not FLOPs: 1 per product of a matrix, 5 per element of a norm, and nothing for fused attention",
    "The multiply-adds (not FLOPs) of one forward pass over B images, as published by timm (benchmark.py, with "
    "fvcore's FlopCountAnalysis): 1 per product of a matrix or a convolution with its input, and 5 per output element "
    "of a norm with a scale. The two products of attention add nothing: timm computes them in a fused kernel, which "
    "fvcore does not count. Biases, activations and sums add nothing.",
    {
        **dict.fromkeys((*POINTWISE, *ARRANGING, *ATTENDING, OperationKind.PARAMETER), counts_nothing),
        **dict.fromkeys(
            (*CARRYING, *COMPRESSING, *MATCHING, *ROUTING, OperationKind.LOOKUP, OperationKind.EXPERTS), refuse_unlisted
        ),
        OperationKind.LINEAR: linear,
        OperationKind.CONVOLUTION: convolution,
        OperationKind.NORM: norm,
        OperationKind.OBSERVED: refuse_observed,
    },
    holds=classifier,
    decoders=False,
    measure=Measure("flops", "multiply-adds", "F", "MACs"),
    checked_by="The tests compare it with the numbers that timm publishes and with fvcore.",
)
