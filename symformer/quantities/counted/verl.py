"""verl, FlopsCounter: 6 FLOPs a token for matrices, for the embedding and for the head, and half of all pairs."""

from __future__ import annotations

from sympy import Expr, Min

from ...formulas.account import Term
from ...ledger.facts import Entry, Kind
from .common import SIX, by_role, half, matrix, nothing
from .matrices import table
from .roles import Reading, Role
from .rule_set import RuleSet

DENSE = ("llama", "qwen2", "qwen3", "mistral", "gemma3")
MIXED = ("qwen2-moe", "qwen3-moe", "gpt-oss")  # experts in every layer, and nothing counted beside them
WINDOWS = ("gemma3", "gpt-oss")  # whose windows it looks at
KNOWN = (*DENSE, *MIXED, "deepseek-v3")


def pairs(entry: Entry, reading: Reading, length: Expr) -> tuple[Expr, ...]:
    """Half of all pairs; of a layer with a window, where it is looked at, half of S · min(w, S)."""
    if entry.window is None or reading.name not in WINDOWS:
        return half(entry, reading, length)
    return (length, Min(length, entry.window) / 2)


def embedding(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """The table of tokens as if it were multiplied by, tied to the head or not."""
    rows, width = (*entry.weights, *entry.shared)[0].shape
    return (Term(entry.path, (SIX, *entry.inputs[0].shape, rows, width)),)


def beside(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """What runs beside experts: of DeepSeek it counts, of Qwen it does not."""
    return () if reading.name in MIXED else matrix(entry)


def told(reading: Reading) -> None:
    """Raise RuleError for a model type that it counts as 0, or takes for another."""
    if reading.name not in KNOWN:
        raise VERL.refuse(
            f"verl has a rule for each of some model types, and for {reading.name} none that is stated here; "
            f"known: {', '.join(KNOWN)}"
        )
    for entry in reading.of(Kind.LINEAR):
        if reading.name in MIXED and reading.role(entry) is Role.MLP:
            raise VERL.refuse(
                f"of {reading.name} verl counts experts in every layer, and {entry.path} is in a layer without them"
            )


VERL = RuleSet(
    "verl",
    "verl",
    "verl/utils/flops_counter.py, FlopsCounter.estimate_flops",
    "https://github.com/verl-project/verl/blob/1dda039b9c6311889a9c9a26040677e1254814f9/verl/utils/flops_counter.py",
    "6 FLOPs a token for every element of a matrix, of the embedding and of the head, and half of all query-key pairs",
    "One forward and one backward pass over B sequences of S tokens, by verl's rule (verl/utils/flops_counter.py), in "
    "FLOPs where it gives TFLOPs a second: every matrix of a layer, the router among them, 2 FLOPs a multiply-add and "
    "three times the forward pass. The embedding counts like the head, as if it were multiplied by, tied or not. "
    "Biases and norms add nothing; of Qwen2-MoE the shared expert and its gate add nothing either. Of S² query-key "
    "pairs half count, whatever the window; but in Gemma 3 and GPT-OSS a layer with a window of w tokens counts half "
    "of S·m, m the less of w and S.",
    {
        **table("verl", pairs, router=True, lookup=embedding),
        Kind.LINEAR: by_role(
            "verl",
            {
                **dict.fromkeys((Role.HEAD, Role.READ, Role.OUTPUT, Role.MLP, Role.ROUTER), lambda e, r: matrix(e)),
                Role.SHARED: beside,
                Role.SHARED_GATE: nothing,
            },
        ),
    },
    holds=told,
)
