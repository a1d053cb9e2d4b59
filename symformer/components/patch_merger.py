"""Merger of the patches of an image."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.sizes import Divides
from ..language.symbols import E, J_merge, Z, Z_patch
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm

DEEPSTACK = (
    "The concatenated vector is normalized. Each copy reads the output of another layer of the vision transformer. Its "
    "output is added to the tokens of the images after one of the first L_deep layers of the language model "
    "(DeepStack, Meng et al. 2024 [meng2024], section 3)."
)


@dataclass(frozen=True, kw_only=True)
class PatchMerger(Component):
    """One token for each square of J_merge by J_merge neighbouring patches, Bai et al. 2025 [bai2025], section 2: the
    vectors of its patches are concatenated, and two matrices project the result to the width of the language model.

    >>> PatchMerger().params
    E_vis**2*J_merge**4 + E*E_vis*J_merge**2 + E_vis*J_merge**2 + E + 2*E_vis
    """

    title = "Patch merger"
    role = "other"
    purpose = "The merger turns squares of image patches into tokens of the language model."
    shapes = "x[B,Z**2/Z_patch**2,E_vis] -> y[B,Z**2/(Z_patch**2*J_merge**2),E]"
    constraints = (Divides(Z_patch * J_merge, Z),)

    late: bool = False  # whether the whole vector is normalized instead of each patch

    @property
    def tower(self) -> str:  # type: ignore[override]
        """The tower of a multimodal model: further mergers are separate from its projector."""
        return "deepstack" if self.late else "projector"

    @property
    def about(self) -> str:
        """Return the description, with the tensor that is normalized and the use of further mergers."""
        return f"{super().about} {DEEPSTACK if self.late else 'Each patch is normalized before the concatenation.'}"

    def merge(self, ops: Operations, x: Tensor) -> Tensor:
        """Join the patches of each square, which follow each other in the input."""
        batch, patches, width = x.shape
        return ops.join_streams("merged", x.view((batch, patches / J_merge**2, J_merge**2, width)))

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        x = self.merge(ops, x) if self.late else ops.call("norm", LayerNorm(), x)
        x = ops.call("norm", LayerNorm(), x) if self.late else self.merge(ops, x)
        x = ops.activation("act_fn", ops.linear("linear_fc1", x, x.width), "gelu")
        return ops.linear("linear_fc2", x, E)
