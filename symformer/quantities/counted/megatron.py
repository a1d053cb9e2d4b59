"""Megatron-LM and Megatron-Bridge, num_floating_point_operations: matrices, logits and half of all pairs."""

from __future__ import annotations

from sympy import Expr, Max, Min

from ...formulas.account import Term
from ...ledger.facts import Entry
from .common import SIX, half
from .matrices import table
from .roles import Reading, Role
from .rule_set import RuleSet


def norm(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """Of latent attention the norm between two matrices of low rank R: 6R a token, the + 1 of rank · (… + 1)."""
    if not reading.low(entry):
        return ()
    *positions, width = entry.output.shape
    return (Term(entry.path, (SIX, *positions, width)),)


def windowed(entry: Entry, reading: Reading, length: Expr) -> tuple[Expr, ...]:
    """Half of all pairs; where a window of w tokens is shorter than S, the pairs under it: w(2S - w + 1)/2.

    Both at once, by a factor that is 1 for w < S and else 0: m(2S - m + 1)/2 for m = min(w, S), and m/2 less for m = S.
    """
    if entry.window is None:
        return half(entry, reading, length)
    least, shorter = Min(length, entry.window), Min(1, Max(0, length - entry.window))
    return (least, (2 * length - least + shorter) / 2)


def swiglu(reading: Reading) -> None:
    """Raise RuleError for a gated MLP that is no SwiGLU: Megatron-LM then counts two matrices, and three are run."""
    for entry in reading.gates():
        if entry.function != "silu":
            raise MEGATRON.refuse(
                f"Megatron-LM counts three matrices of an MLP for SwiGLU alone; {entry.path} gates with "
                f"{entry.function}"
            )


_KNOWN = (
    "every matrix of a layer but the router, and the logits at all positions, 2 FLOPs a multiply-add and three times "
    "the forward pass. Biases, embeddings and norms add nothing; but of latent attention the norms between two "
    "matrices of low rank add 6 FLOPs a token for each element. "
)
_PADDED = "V is the padded vocabulary: set it so. What is recomputed is not counted."

MEGATRON = RuleSet(
    "megatron",
    "Megatron-LM",
    "megatron/training/training.py, num_floating_point_operations",
    "https://github.com/NVIDIA/Megatron-LM/blob/d98e8a64ddf34856e74b24714e3bedb2f5a39553/megatron/training/"
    "training.py#L802",
    "6 FLOPs a token for every element of a matrix but the router's, and half of all query-key pairs",
    "One forward and one backward pass over B sequences of S tokens, by Megatron-LM's rule "
    f"(num_floating_point_operations of megatron/training/training.py): {_KNOWN}Of S² query-key pairs half count, "
    f"whatever the window. {_PADDED}",
    table("Megatron-LM", half, silent=(Role.SHARED_GATE,), norm=norm),
    holds=swiglu,
)
BRIDGE = RuleSet(
    "megatron-bridge",
    "Megatron-Bridge",
    "src/megatron/bridge/training/utils/flop_utils.py, num_floating_point_operations",
    "https://github.com/NVIDIA-NeMo/Megatron-Bridge/blob/067f987df03b8355b03192d88d70f1709fedf51a/src/megatron/bridge/"
    "training/utils/flop_utils.py#L617",
    "6 FLOPs a token for every element of a matrix but the router's, and half of all query-key pairs or those in a "
    "window",
    "One forward and one backward pass over B sequences of S tokens, by Megatron-Bridge's rule "
    f"(num_floating_point_operations of flop_utils.py): {_KNOWN}Of S² query-key pairs half count; where a window of w "
    f"tokens is shorter than S, the ``w(2S - w + 1)/2`` pairs in it. {_PADDED}",
    table("Megatron-Bridge", windowed, silent=(Role.SHARED_GATE,), norm=norm),
)
