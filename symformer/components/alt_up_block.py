"""Alternating updates (AltUp)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sympy import Integer

from ..language.sizes import AtMost
from ..language.symbols import N_alt
from ..ledger.facts import ONE, Tensor, Weight
from ..ledger.operations import Operations
from .base import Component, context_signature
from .laurel_block import LaurelBlock
from .per_layer_input import PerLayerInput

NONE: Mapping[str, Weight] = {}


@dataclass(frozen=True, kw_only=True)
class AltUpBlock(Component):
    """Alternating updates (AltUp), Baykal et al. 2023 [baykal2023]: the residual stream is N_alt times as
    wide, but the layer runs on one of its N_alt parts only. A prediction of all parts precedes the layer: each is the
    old part plus a sum of all old parts with computed coefficients. A correction follows: the difference between the
    output of the layer and its prediction is added to each part, times 1 plus a computed coefficient. A router computes
    the coefficients from the active part. At the end, the layer's embedding of the token is added to all other parts.

    >>> AltUpBlock().params
    N_alt**3 + 4*E**2 + 2*E*E_pli + 3*E*H + 2*E*R_lau + E*N_alt + N_alt**2 + 12*E
    """

    title = "Block with alternating updates"
    role = "block"
    relations = LaurelBlock.relations
    constraints = (*LaurelBlock.constraints, AtMost(Integer(2), N_alt))

    layer: Component = field(default_factory=LaurelBlock)
    per_layer: PerLayerInput = field(default_factory=PerLayerInput)
    norm: str = "rms"  # the function of the router's norm
    path: str = "altup"

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the layer may read the angles of its attention
        others = context_signature(getattr(self.layer, "parts", {}).get("self_attn"))
        return f"x[B,N_alt,S,E]{others}, per_layer[B,S,E_pli] -> y[B,N_alt,S,E]"

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        *angles, per_layer = context
        name, (batch, streams, length, width) = self.path, x.shape
        active = ops.stream(f"{name}.active", x)
        old, stored = self.routed(ops, active)
        coefficients = ops.linear(f"{name}.prediction_coefs", old, N_alt**2, bias=False)
        square = coefficients.view((batch, length, streams, streams))
        mixed = ops.pairwise_products(f"{name}.mixed", x.view((batch, length, width, streams)), square)
        predicted = ops.add(f"{name}.predicted", mixed.view(x.shape), x)
        expected = ops.stream(f"{name}.expected", predicted)
        y = ops.call("", self.layer, expected, *angles)
        new, _ = self.routed(ops, y, stored)
        factors = ops.linear(f"{name}.correction_coefs", new, N_alt, bias=False).view((batch, streams, length, ONE))
        change = ops.subtract(f"{name}.change", y, expected).view((batch, ONE, length, width))
        corrected = ops.add(
            f"{name}.corrected", predicted, ops.multiply(f"{name}.correction", change, factors, "lifted")
        )
        scale = ops.learned(f"{name}.correct_output_scale", width).view((ONE, ONE, width))
        output = ops.multiply(f"{name}.scaled", ops.stream(f"{name}.output", corrected), scale)
        added = ops.call("", self.per_layer, output, per_layer).view((batch, ONE, length, width))
        others = ops.add("per_layer_residual", ops.other_streams("others", corrected), added)
        return ops.prepend_stream("streams", ops.stream("first", corrected), others)

    def routed(
        self, ops: Operations, x: Tensor, stored: tuple[Mapping[str, Weight], Mapping[str, Weight]] = (NONE, NONE)
    ) -> tuple[Tensor, tuple[Mapping[str, Weight], Mapping[str, Weight]]]:
        """Return a number between -1 and 1 per part for x, and the weights of the router, which both steps share."""
        norm, router = stored
        normed = ops.norm(f"{self.path}.router_norm", x, self.norm, bias=False, shared=norm)
        scaled = ops.scale(f"{self.path}.router_input_scale", normed)
        routed = ops.linear(f"{self.path}.modality_router", scaled, N_alt, bias=False, shared=router)
        found = ops.activation(f"{self.path}.tanh", routed, "tanh", module=False)
        return found, ({"weight": ops.weight(f"{normed.name}.weight")}, {"weight": ops.weight(f"{routed.name}.weight")})
