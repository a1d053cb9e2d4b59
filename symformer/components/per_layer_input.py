"""The input of a layer from its per-layer embedding."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..language.symbols import E_pli
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Component
from .rms_norm import RMSNorm


@dataclass(frozen=True, kw_only=True)
class PerLayerInput(Component):
    """A gate of width E_pli, computed from x, is multiplied by the layer's embedding of the token, projected to the
    hidden size, and normalized, Google DeepMind 2025 [google2025], as in the transformers class.

    >>> PerLayerInput().params
    2*E*E_pli + E
    """

    title = "Per-layer input"
    role = "block"
    purpose = "Each layer reads an embedding of the token of its own."
    shapes = "x[B,S,E], per_layer[B,S,E_pli] -> y[B,S,E]"
    further_inputs = {"per_layer": "is the layer's own input for each token"}

    norm: Component = field(default_factory=RMSNorm)
    activation: Activation = "gelu_pytorch_tanh"

    def forward(self, ops: Operations, x: Tensor, per_layer: Tensor) -> Tensor:
        gate = ops.activation("act_fn", ops.linear("per_layer_input_gate", x, E_pli, bias=False), self.activation)
        y = ops.linear("per_layer_projection", ops.multiply("per_layer_product", gate, per_layer), x.width, bias=False)
        return ops.call("post_per_layer_input_norm", self.norm, y)
