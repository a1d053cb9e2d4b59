"""The sum of residual streams after the last layer."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class HyperHead(Component):
    """The sum of the N_hc residual streams of each token after the last layer, with weights that are computed from all
    streams of the token, DeepSeek-AI 2026 [deepseek2026], section 2.2.

    >>> HyperHead().params
    N_hc**2*E + N_hc + 1
    """

    title = "Sum of residual streams"
    role = "other"
    purpose = "The head reads a single vector for each token, so the residual streams are added first."
    shapes = "x[B,S,N_hc,E] -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        streams, width = x.shape[2:]
        stored = ops.parameter("", hc_fn=(streams, streams * width), hc_base=(streams,), hc_scale=(ONE,))
        flat = ops.norm("input_norm", ops.join_streams("streams", x), "rms_uncast", scale=False, bias=False)
        mixes = ops.linear("mixes", flat, streams, bias=False, shared={"weight": stored["hc_fn"]}, module=False)
        constants = {name: stored[name] for name in ("hc_scale", "hc_base")}
        weights = ops.activation("weights", mixes, "stream_gates", module=False, stored=constants)
        return ops.collapse_streams("sum", x, weights)
