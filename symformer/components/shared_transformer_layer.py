"""Layer with a shared transformer block before its mixer."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..language.symbols import L_hyb, N_group
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component, context_signature
from .chunked_scan import ChunkedScan
from .rms_norm import RMSNorm
from .shared_transformer_block import SharedTransformerBlock


@dataclass(frozen=True, kw_only=True)
class SharedTransformerLayer(Component):
    """A transformer block whose output, after a linear layer, is added to the input of a mixer only:
    ``x + f(norm(x + g(x)))``, Glorioso et al. 2024 [glorioso2024], section 2, eq. 6.

    L_hyb layers share N_group such blocks: the first layer uses the first block, and after the last block follows the
    first again.

    >>> SharedTransformerLayer(mixer=RMSNorm()).params.partial(N_group="L_hyb")
    15*E**2 + 3*E*H + 5*E
    """

    title = "Layer with a shared transformer block"
    role = "block"
    further_inputs = {"x_0": "are the embeddings of the tokens"}
    constraints = SharedTransformerBlock.constraints

    norm: Component = field(default_factory=RMSNorm)
    block: Component = field(default_factory=SharedTransformerBlock)
    mixer: Component = field(default_factory=ChunkedScan)

    @property
    def shapes(self) -> str:  # type: ignore[override]  # rotary angles are a further input
        return f"x[B,S,E]{context_signature(self.block)} -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        y = ops.call_shared("shared_transformer", self.block, x, *context, share=N_group / L_hyb)
        y = ops.add("transformer_sum", x, ops.linear("linear", y, x.width, bias=False))
        y = ops.call("mamba", self.mixer, ops.call("input_layernorm", self.norm, y))
        return ops.add("mamba_residual", x, y)
