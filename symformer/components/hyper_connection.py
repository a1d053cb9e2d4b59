"""Manifold-constrained hyper-connections."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class HyperConnection(Component):
    """The weights of the N_hc residual streams at a sublayer, computed from all streams of a token, Xie et al. 2025
    [xie2025], section 4: N_hc weights of the sublayer's input, a sum of the streams; N_hc weights of its output, which
    is added to every stream; and a matrix that mixes the streams, whose rows and columns sum to 1.

    The paper's n is N_hc. Sinkhorn-Knopp iterations normalize the matrix; they have no weights.

    >>> HyperConnection().params
    N_hc**3*E + 2*N_hc**2*E + N_hc**2 + 2*N_hc + 3
    """

    title = "Hyper-connection"
    role = "other"
    purpose = "With several residual streams, the model learns how each layer reads them and writes to them."
    shapes = "x[B,S,N_hc,E] -> w[B,S,N_hc**2+2*N_hc]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        streams, width = x.shape[2:]
        weights = streams**2 + 2 * streams
        stored = ops.parameter("", fn=(weights, streams * width), base=(weights,), scale=(Integer(3),))
        flat = ops.norm("input_norm", ops.join_streams("streams", x), "rms_uncast", scale=False, bias=False)
        mixes = ops.linear("mixes", flat, weights, bias=False, shared={"weight": stored["fn"]}, module=False)
        constants = {name: stored[name] for name in ("scale", "base")}
        return ops.activation("weights", mixes, "stream_weights", module=False, stored=constants)
