"""MaxText, calculate_tflops_training_per_device: matrices, router and logits, and half of all pairs."""

from __future__ import annotations

from sympy import Expr, Min

from ...ledger.facts import Entry, OperationKind
from .common_rules import half_of_pairs
from .linear_roles import Role, RoleTable
from .matrices import table
from .rule_set import RuleSet

WINDOWS = ("gemma2", "gemma3", "gpt-oss")  # models whose windows MaxText uses
DEEPSEEK = ("deepseek-v2", "deepseek-v3")  # models that may have dense first layers and shared experts


def pairs(entry: Entry, reading: RoleTable, length: Expr) -> tuple[Expr, ...]:
    """Return half of all pairs, or m(S - m/2) for m = min(w, S) if MaxText uses the layer's window."""
    if entry.window is None or reading.name not in WINDOWS:
        return half_of_pairs(entry, reading, length)
    least = Min(length, entry.window)
    return (least, length - least / 2)


def refuse_mixed_layers(reading: RoleTable) -> None:
    """Raise RuleError for a mixture of experts that MaxText misreads: except for DeepSeek, every layer has experts."""
    if not reading.mixed or reading.name in DEEPSEEK:
        return
    for entry in reading.of(OperationKind.LINEAR):
        if reading.role(entry) in (Role.MLP, Role.SHARED):
            what = "runs next to the experts" if reading.role(entry) is Role.SHARED else "is in a layer without experts"
            raise MAXTEXT.refuse(
                f"for mixtures like {reading.name}, MaxText counts only routed experts, in every layer, but "
                f"{entry.path} {what}"
            )


MAXTEXT = RuleSet(
    "maxtext",
    "MaxText",
    "src/maxtext/utils/maxtext_utils.py, calculate_tflops_training_per_device",
    "https://github.com/AI-Hypercomputer/maxtext/blob/e591f30cbbf217ed67ef71263ec0538239f9c3b8/src/maxtext/utils/"
    "maxtext_utils.py#L1149",
    "6 FLOPs per token for every element of a matrix, including the router, and half of all query-key pairs",
    "The FLOPs of one forward and one backward pass over B sequences of S tokens, by MaxText's rule "
    "(calculate_tflops_training_per_device of maxtext_utils.py), in FLOPs instead of TFLOPs. Counts every matrix of a "
    "layer, including the router, and the logits at all positions, at 2 FLOPs per multiply-add and three times the "
    "forward pass. Biases, embeddings and norms add nothing. Half of the S² query-key pairs count, regardless of the "
    "window; but in Gemma 2, Gemma 3 and GPT-OSS, a layer with a window of w tokens counts ``m(S - m/2)`` pairs, with "
    "``m = min(w, S)``.",
    table("MaxText", pairs, router=True),
    holds=refuse_mixed_layers,
)
