"""LocalGlobal: layers with a sliding window, and layers without one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...configs.config_fields import Field
from ...configs.layers import Layers
from ...language.symbols import C_win, L_global, L_local
from .llama_like import ROTARY_HEADS, LlamaLike
from .stacked import Stack
from .windowed import WINDOW


def local_global(local: int, depth: int) -> Layers:
    """Return the layers of a config: ``local`` layers with a window per layer without, and the default depth."""
    kinds = {"sliding_attention": L_local, "full_attention": L_global}
    return Layers(kinds, ("sliding_attention",) * local + ("full_attention",), Field(("num_hidden_layers",), depth))


@dataclass(frozen=True, kw_only=True)
class LocalGlobal(LlamaLike):
    """A decoder with two stacks, one per layer kind: the order of the layers does not affect any count."""

    constraints = (*ROTARY_HEADS, WINDOW)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        windowed = replace(self.rotary_attention, window=C_win)
        return (
            Stack("local_layers", L_local, self.layer_of(windowed, self.mlp)),
            Stack("global_layers", L_global, self.layer),
        )
