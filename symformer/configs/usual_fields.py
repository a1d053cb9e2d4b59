"""The usual field names of transformers configs, and fields that many architectures share."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr, Symbol

from ..language.symbols import A, D, E, H, L, P, V, letter
from .config_fields import Field, FractionField
from .rotary import PARTLY

Called = Mapping[Symbol, tuple[str, ...]]

# Field names of families that differ from the usual ones: OpenAI's models, and symformer's own small models.
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

HEAD_WIDTH = Field(("head_dim",), E / A)  # for classes that do not accept null

NO_TABLE = "max_position_embeddings"  # inert for models without a position table: no weight has this size
# Inert without a window, so 'use_sliding_window' must be false.
NO_WINDOW = ("sliding_window", "max_window_layers")


def usual(sizes: Mapping[Symbol, int | Expr | Field | None], called: Called | None = None) -> dict[Symbol, Field]:
    """Return the field of each size, with its default, under its usual name or the name that a family uses.

    A `Field` is kept unchanged. If the default is an expression over other sizes, null also means the default.

    >>> from symformer.language.symbols import A, D, E, V
    >>> usual({V: 32000, D: E / A})[D]
    Field(names=('head_dim',), default=E/A, beside=None, null=True, twins=())
    """
    names = {size: letter(size).config[:1] for size in sizes} | dict(called or {})
    return {
        size: given if isinstance(given, Field) else Field(names[size], given, null=isinstance(given, Expr))
        for size, given in sizes.items()
    }


def rotating(of: Expr, part: float, whole: str = "") -> FractionField:
    """Return the field of the rotary dimensions of a head.

    Parameters
    ----------
    of
        The head dimension.
    part
        The fraction that rotates if the config does not set it.
    whole
        A field that can state the number of rotary dimensions directly.

    """
    return FractionField((PARTLY,), of=of, part=part, whole=whole)
