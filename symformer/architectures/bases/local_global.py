"""LocalGlobal: layers with a sliding window, and layers without."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...configs.fields import Field, Layers
from ...language.symbols import C_win, L_global, L_local
from .llama_like import ROTARY_HEADS, LlamaLike
from .stacked import Stack
from .windowed import WINDOW

STACKS = {"local_layers": L_local, "global_layers": L_global}


def local_global(local: int, depth: int) -> Layers:
    """So many layers with a window before each without, and how many layers there are where nothing is said."""
    kinds = {"sliding_attention": L_local, "full_attention": L_global}
    return Layers(kinds, ("sliding_attention",) * local + ("full_attention",), Field(("num_hidden_layers",), depth))


@dataclass(frozen=True, kw_only=True)
class LocalGlobal(LlamaLike):
    """Two stacks, one after the other: nothing counted depends on the order of the two kinds."""

    constraints = (*ROTARY_HEADS, WINDOW)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        windowed = replace(self.rotary_attention, window=C_win)
        return (
            Stack("local_layers", L_local, self.layer_of(windowed, self.mlp)),
            Stack("global_layers", L_global, self.layer),
        )
