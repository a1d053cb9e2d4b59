"""LocalGlobal: layers with a sliding window, and layers without one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ...configs.config_fields import Field
from ...configs.layers import Layers
from ...language.symbols import C_win, L_global, L_local
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from .llama_like import ROTARY_HEADS, LlamaLike
from .stacked import Stack
from .windowed import WINDOW

# The tables of both kinds of layers, which the module ``rotary_emb`` computes.
ROTARY_KINDS = ("rotary_emb.global", "rotary_emb.local")


def local_global(local: int, depth: int) -> Layers:
    """Return the layers of a config: ``local`` layers with a window per layer without, and the default depth."""
    kinds = {"sliding_attention": L_local, "full_attention": L_global}
    return Layers(kinds, ("sliding_attention",) * local + ("full_attention",), Field(("num_hidden_layers",), depth))


@dataclass(frozen=True, kw_only=True)
class LocalGlobal(LlamaLike):
    """A decoder with two stacks, one per layer kind: the order of the layers does not affect any count."""

    constraints = (*ROTARY_HEADS, WINDOW)
    # Both kinds share a rotary table, or have separate ones, or only layers with a window have rotary positions.
    rotary: ClassVar[Literal["shared", "separate", "local"]] = "shared"

    @property
    def stacks(self) -> tuple[Stack, ...]:
        windowed = replace(self.rotary_attention, window=C_win)
        whole = replace(self.rotary_attention, positions=None) if self.rotary == "local" else self.attention
        return (
            Stack("local_layers", L_local, self.layer_of(windowed, self.mlp)),
            Stack("global_layers", L_global, self.layer_of(whole, self.mlp)),
        )

    def contexts(self, ops: Operations, tokens: Tensor) -> tuple[tuple[Tensor, ...], ...]:
        if self.rotary != "separate":
            return super().contexts(ops, tokens)
        return tuple((self.angles(ops, tokens, f"rotary_emb.{kind}"),) for kind in ("local", "global"))
