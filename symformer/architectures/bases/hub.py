"""What the configs and classes of transformers have in common: fields with their usual names, and heads by a stem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Expr, Symbol

from ...configs.fields import Field
from ...language.symbols import letter

NO_TABLE = "max_position_embeddings"  # inert where positions are no table: nothing is as long as they are many

# Inert where no window is used: 'use_sliding_window' has to be false for that.
NO_WINDOW = ("sliding_window", "max_window_layers")
# Every layer has experts, and nothing is added for the loss that balances them.
ALL_EXPERTS: Mapping[str, tuple[Any, ...]] = {
    "output_router_logits": (False,),
    "decoder_sparse_step": (1,),
    "mlp_only_layers": ([], None),
}
# Inert then: the width of the layers without experts; a factor of that loss; what the weights of experts add up to.
NO_DENSE = ("intermediate_size", "router_aux_loss_coef", "norm_topk_prob")


def usual(sizes: Mapping[Symbol, int | Expr | Field | None]) -> dict[Symbol, Field]:
    """The fields of sizes under their usual names, each with its default; or a field that is called otherwise.

    A default that is an expression over other sizes is what the class takes null for too.

    >>> from symformer.language.symbols import A, D, E, V
    >>> usual({V: 32000, D: E / A})[D]
    Field(names=('head_dim',), default=E/A, beside=None, null=True, twins=())
    """
    return {
        size: given if isinstance(given, Field) else Field(letter(size).config[:1], given, null=isinstance(given, Expr))
        for size, given in sizes.items()
    }


def heads(stem: str) -> dict[str, Mapping[str, Any]]:
    """The classes of a language model by the first word of their names: with its head, and without one.

    >>> heads("Llama")
    {'LlamaForCausalLM': {'head': 'lm'}, 'LlamaModel': {'head': 'none'}}
    """
    return {f"{stem}ForCausalLM": {"head": "lm"}, f"{stem}Model": {"head": "none"}}
