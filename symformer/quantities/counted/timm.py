"""timm's MACs, as fvcore counts them: matrices and patches, 5 an element of a norm, and nothing of fused attention."""

from __future__ import annotations

from sympy import Integer

from ...formulas.account import Measure, Term
from ...ledger.facts import ARRANGING, ATTENDING, CARRYING, MATCHING, POINTWISE, ROUTING, Entry, Kind
from .common import nothing, unseen, unstated
from .roles import Reading
from .rule_set import RuleSet

SCALED, PLAIN = Integer(5), Integer(4)  # of a norm with a scale, and of one without


def linear(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """x[..., in] · W[out, in]: a multiply-add for each product, as aten::linear; the bias adds nothing."""
    return (Term(entry.path, (*entry.inputs[0].shape, entry.output.width)),)


def convolution(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """The same matrix at every place, as aten::_convolution."""
    return (Term(entry.path, (*entry.output.shape, *entry.weights[0].shape[1:])),)


def norm(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """5 for each element of what is normalised, 4 without a scale: ``a rough estimate``, as fvcore calls it."""
    return (Term(entry.path, (SCALED if entry.weights else PLAIN, *entry.output.shape)),)


def classifier(reading: Reading) -> None:
    """Raise RuleError for all but an image classifier of timm's."""
    if reading.name != "vit" or not any(entry.path == "classifier" for entry in reading.entries):
        what = "vit with its pooler" if reading.name == "vit" else reading.name
        raise TIMM.refuse(f"timm counts image classifiers, of which vit with head=classifier is known; this is {what}")


TIMM = RuleSet(
    "timm",
    "timm",
    "benchmark.py, profile_fvcore",
    "https://github.com/huggingface/pytorch-image-models/blob/aa4b5850c1543fa488abf260f18390eda46cf85d/benchmark.py#L194",
    "multiply-adds, not FLOPs: 1 for each product of a matrix, 5 for each element of a norm, none of fused attention",
    "Multiply-adds, not FLOPs, of one forward pass over B images, as timm publishes them (benchmark.py, with fvcore's "
    "FlopCountAnalysis): 1 for each product of a matrix or a convolution with what it reads, and 5 for each element "
    "that a norm with a scale gives. Attention's products of tokens with tokens add nothing: timm computes them in a "
    "fused kernel, which fvcore does not know. Biases, activations and sums add nothing.",
    {
        **dict.fromkeys((*POINTWISE, *ARRANGING, *ATTENDING, Kind.PARAMETER), nothing),
        **dict.fromkeys((*CARRYING, *MATCHING, *ROUTING, Kind.LOOKUP, Kind.EXPERTS), unstated),
        Kind.LINEAR: linear,
        Kind.CONVOLUTION: convolution,
        Kind.NORM: norm,
        Kind.OBSERVED: unseen,
    },
    holds=classifier,
    decoders=False,
    measure=Measure("flops", "multiply-adds", "F", "MACs"),
    checked="It is held to what timm publishes of its models, and to fvcore.",
)
