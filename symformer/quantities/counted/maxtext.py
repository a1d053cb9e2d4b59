"""MaxText, calculate_tflops_training_per_device: matrices, router and logits, and half of all pairs."""

from __future__ import annotations

from sympy import Expr, Min

from ...ledger.facts import Entry, Kind
from .common import half
from .matrices import table
from .roles import Reading, Role
from .rule_set import RuleSet

WINDOWS = ("gemma2", "gemma3", "gpt-oss")  # whose windows it looks at
DEEPSEEK = ("deepseek-v2", "deepseek-v3")  # that may begin with dense layers, and have shared experts


def pairs(entry: Entry, reading: Reading, length: Expr) -> tuple[Expr, ...]:
    """Half of all pairs; of a layer with a window, where it is looked at, m(S - m/2) for m = min(w, S)."""
    if entry.window is None or reading.name not in WINDOWS:
        return half(entry, reading, length)
    least = Min(length, entry.window)
    return (least, length - least / 2)


def alike(reading: Reading) -> None:
    """Raise RuleError for a mixture that it takes for another: but for DeepSeek's it puts experts in every layer."""
    if not reading.mixed or reading.name in DEEPSEEK:
        return
    for entry in reading.of(Kind.LINEAR):
        if reading.role(entry) in (Role.MLP, Role.SHARED):
            what = "runs beside the experts" if reading.role(entry) is Role.SHARED else "is in a layer without experts"
            raise MAXTEXT.refuse(
                f"of mixtures like {reading.name} MaxText counts experts in every layer and nothing beside them, and "
                f"{entry.path} {what}"
            )


MAXTEXT = RuleSet(
    "maxtext",
    "MaxText",
    "src/maxtext/utils/maxtext_utils.py, calculate_tflops_training_per_device",
    "https://github.com/AI-Hypercomputer/maxtext/blob/e591f30cbbf217ed67ef71263ec0538239f9c3b8/src/maxtext/utils/"
    "maxtext_utils.py#L1149",
    "6 FLOPs a token for every element of a matrix, the router's too, and half of all query-key pairs",
    "One forward and one backward pass over B sequences of S tokens, by MaxText's rule "
    "(calculate_tflops_training_per_device of maxtext_utils.py), in FLOPs where it prints TFLOPs: every matrix of a "
    "layer, the router among them, and the logits at all positions, 2 FLOPs a multiply-add and three times the forward "
    "pass. Biases, embeddings and norms add nothing. Of S² query-key pairs half count, whatever the window; but in "
    "Gemma 2, Gemma 3 and GPT-OSS a layer with a window of w tokens counts ``m(S - m/2)``, m the less of w and S.",
    table("MaxText", pairs, router=True),
    holds=alike,
)
