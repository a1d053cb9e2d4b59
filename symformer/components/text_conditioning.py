"""Conditioning on a timestep and a text."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.symbols import E
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component
from .conditioning import FREQUENCIES


@dataclass(frozen=True, kw_only=True)
class TextConditioning(Component):
    """A vector of E elements for a timestep and a pooled text, Esser et al. 2024 [esser2024], figure 2.

    256 sines and cosines of the timestep, which have no parameters, pass through two matrices with a SiLU between them.
    So does the pooled text, a vector of E_pool elements, through two other matrices. The results are added.

    >>> TextConditioning().params
    2*E**2 + E*E_pool + 260*E
    """

    title = "Conditioning vector of a text"
    role = "embeddings"
    further_inputs = {"pooled": "is the pooled embedding of the prompt"}
    purpose = "One vector tells every layer the timestep and the text."

    width: Expr = E
    guidance: bool = False  # whether the guidance scale is an input, too, with two matrices of its own

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the guidance scale is an optional input
        return f"timesteps[B], pooled[B,E_pool]{', guidance[B]' if self.guidance else ''} -> c[B,E]"

    @property
    def about(self) -> str:
        """Return the description, with the guidance scale."""
        said = super().about
        guided = " The guidance scale of a distilled model, Meng et al. 2023 [meng2023], is embedded like the timestep."
        return said + guided if self.guidance else said

    def forward(self, ops: Operations, timesteps: Tensor, pooled: Tensor, *guidance: Tensor) -> Tensor:
        x = self.embedded(ops, "timestep_embedder", "act", ops.sinusoids("time_proj", timesteps, FREQUENCIES))
        for scale in guidance:
            waves = ops.sinusoids("guidance_proj", scale, FREQUENCIES)
            x = ops.add("guided", x, self.embedded(ops, "guidance_embedder", "act", waves))
        return ops.add("sum", x, self.embedded(ops, "text_embedder", "act_1", pooled))

    def embedded(self, ops: Operations, name: str, act: str, x: Tensor) -> Tensor:
        """Return x after two matrices with a SiLU between them."""
        x = ops.activation(f"{name}.{act}", ops.linear(f"{name}.linear_1", x, self.width), "silu")
        return ops.linear(f"{name}.linear_2", x, self.width)
