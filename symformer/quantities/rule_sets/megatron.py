"""Megatron-LM and Megatron-Bridge, num_floating_point_operations: matrices, logits and half of all pairs."""

from __future__ import annotations

from sympy import Expr, Max, Min

from ...formulas.account import Term
from ...ledger.facts import Entry
from .common_rules import SIX, half_of_pairs
from .linear_roles import Role, RoleTable
from .matrices import table
from .rule_set import RuleSet


def norm(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return 6R FLOPs per token for the norm between two matrices of rank R in latent attention, otherwise nothing.

    It is the + 1 in Megatron's rank · (… + 1).
    """
    if not reading.low(entry):
        return ()
    *positions, width = entry.output.shape
    return (Term(entry.path, (SIX, *positions, width)),)


def windowed(entry: Entry, reading: RoleTable, length: Expr) -> tuple[Expr, ...]:
    """Return half of all pairs, or the w(2S - w + 1)/2 pairs in a window of w < S tokens.

    One expression covers both cases: m(2S - m + t)/2 for m = min(w, S), with t = 1 for w < S and otherwise 0.
    """
    if entry.window is None:
        return half_of_pairs(entry, reading, length)
    least, shorter = Min(length, entry.window), Min(1, Max(0, length - entry.window))
    return (least, (2 * length - least + shorter) / 2)


def swiglu(reading: RoleTable) -> None:
    """Raise RuleError for a gated MLP other than SwiGLU: Megatron-LM counts two of its three matrices."""
    for entry in reading.gates():
        if entry.function != "silu":
            raise MEGATRON.refuse(
                f"Megatron-LM counts three matrices of an MLP only for SwiGLU, but {entry.path} gates with "
                f"{entry.function}"
            )


_KNOWN = (
    "every matrix of a layer except the router, and the logits at all positions, at 2 FLOPs per multiply-add and three "
    "times the forward pass. Biases, embeddings and norms add nothing, except that in latent attention the norms "
    "between two low-rank matrices add 6 FLOPs per token and element. "
)
_PADDED = "Set V to the padded vocabulary size. Recomputation is excluded."

MEGATRON = RuleSet(
    "megatron",
    "Megatron-LM",
    "megatron/training/training.py, num_floating_point_operations",
    "https://github.com/NVIDIA/Megatron-LM/blob/d98e8a64ddf34856e74b24714e3bedb2f5a39553/megatron/training/"
    "training.py#L802",
    "6 FLOPs per token for every element of a matrix except the router, and half of all query-key pairs",
    "The FLOPs of one forward and one backward pass over B sequences of S tokens, by Megatron-LM's rule "
    f"(num_floating_point_operations of megatron/training/training.py): {_KNOWN}Half of the S² query-key pairs count, "
    f"regardless of the window. {_PADDED}",
    table("Megatron-LM", half_of_pairs, silent=(Role.SHARED_GATE,), norm=norm),
    holds=swiglu,
)
BRIDGE = RuleSet(
    "megatron-bridge",
    "Megatron-Bridge",
    "src/megatron/bridge/training/utils/flop_utils.py, num_floating_point_operations",
    "https://github.com/NVIDIA-NeMo/Megatron-Bridge/blob/067f987df03b8355b03192d88d70f1709fedf51a/src/megatron/bridge/"
    "training/utils/flop_utils.py#L617",
    "6 FLOPs per token for every element of a matrix except the router, and half of all query-key pairs, or those "
    "within a window",
    "The FLOPs of one forward and one backward pass over B sequences of S tokens, by Megatron-Bridge's rule "
    f"(num_floating_point_operations of flop_utils.py): {_KNOWN}Half of the S² query-key pairs count; with a "
    f"window of w tokens that is shorter than S, the ``w(2S - w + 1)/2`` pairs in it count instead. {_PADDED}",
    table("Megatron-Bridge", windowed, silent=(Role.SHARED_GATE,), norm=norm),
)
