"""What the configs of transformers have in common: their usual names of sizes, and what stands in many of them."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr, Symbol

from ..language.symbols import A, D, E, H, L, P, V, letter
from .fields import PARTLY, Field, Share

Called = Mapping[Symbol, tuple[str, ...]]

# Where a family calls its sizes otherwise: as OpenAI's models do, and as the small models do that symformer brings.
OPENAI: Called = {
    P: ("n_positions", "max_position_embeddings"),
    E: ("n_embd", "hidden_size"),
    L: ("n_layer", "num_hidden_layers"),
    A: ("n_head", "num_attention_heads"),
    H: ("n_inner",),
}
PLAIN: Called = {
    V: ("vocabulary",),
    P: ("positions",),
    E: ("width",),
    H: ("hidden",),
    L: ("layers",),
    A: ("heads",),
    D: ("head_width",),
}

HEAD_WIDTH = Field(("head_dim",), E / A)  # where the class does not take null for it

NO_TABLE = "max_position_embeddings"  # inert where positions are no table: nothing is as long as they are many
# Inert where no window is used: 'use_sliding_window' has to be false for that.
NO_WINDOW = ("sliding_window", "max_window_layers")


def usual(sizes: Mapping[Symbol, int | Expr | Field | None], called: Called | None = None) -> dict[Symbol, Field]:
    """The fields of sizes under their usual names, or a family's, each with its default; or a field called otherwise.

    A default that is an expression over other sizes is what the class takes null for too.

    >>> from symformer.language.symbols import A, D, E, V
    >>> usual({V: 32000, D: E / A})[D]
    Field(names=('head_dim',), default=E/A, beside=None, null=True, twins=())
    """
    names = {size: letter(size).config[:1] for size in sizes} | dict(called or {})
    return {
        size: given if isinstance(given, Field) else Field(names[size], given, null=isinstance(given, Expr))
        for size, given in sizes.items()
    }


def rotating(of: Expr, part: float) -> Share:
    """What rotary positions turn of a head so wide, where a config says which part; and the part where it does not."""
    return Share((PARTLY,), of=of, part=part)
