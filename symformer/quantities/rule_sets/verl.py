"""verl, FlopsCounter: 6 FLOPs per token for matrices, the embedding and the LM head, and half of all pairs."""

from __future__ import annotations

from sympy import Expr, Min

from ...formulas.account import Term
from ...ledger.facts import Entry, OperationKind
from .common_rules import SIX, counts_nothing, half_of_pairs, matrix, refuse_misread, rule_by_role
from .linear_roles import Role, RoleTable
from .matrices import table
from .rule_set import RuleSet

DENSE = ("llama", "qwen2", "qwen3", "mistral", "gemma3")
MIXED = ("qwen2-moe", "qwen3-moe", "gpt-oss")  # experts in every layer; shared experts are not counted
WINDOWS = ("gemma3", "gpt-oss")  # models whose windows verl uses
KNOWN = (*DENSE, *MIXED, "deepseek-v3")


def pairs(entry: Entry, reading: RoleTable, length: Expr) -> tuple[Expr, ...]:
    """Return half of all pairs, or half of S · min(w, S) if verl uses the layer's window."""
    if entry.window is None or reading.name not in WINDOWS:
        return half_of_pairs(entry, reading, length)
    return (length, Min(length, entry.window) / 2)


def embedding(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return the FLOPs of the token embedding as a matrix product, tied to the LM head or not."""
    rows, width = (*entry.weights, *entry.shared)[0].shape
    return (Term(entry.path, (SIX, *entry.inputs[0].shape, rows, width)),)


def shared_expert(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return the terms of a shared expert: counted for DeepSeek, not for Qwen."""
    return () if reading.name in MIXED else matrix(entry)


VERL: RuleSet = RuleSet(
    "verl",
    "verl",
    "verl/utils/flops_counter.py, FlopsCounter.estimate_flops",
    "https://github.com/verl-project/verl/blob/1dda039b9c6311889a9c9a26040677e1254814f9/verl/utils/flops_counter.py",
    "6 FLOPs per token for every element of a matrix, of the embedding and of the LM head, and half of all query-key "
    "pairs",
    "The FLOPs of one forward and one backward pass over B sequences of S tokens, by verl's rule "
    "(verl/utils/flops_counter.py), in FLOPs instead of TFLOPs per second: every matrix of a layer, including the "
    "router, at 2 FLOPs per multiply-add and three times the forward pass. The token embedding counts as a matrix "
    "product, like the LM head, tied or not. Biases and norms add nothing; in Qwen2-MoE, the shared expert and its "
    "gate add nothing either. Half of the S² query-key pairs count, regardless of the window; but in Gemma 3 and "
    "GPT-OSS, a layer with a window of w tokens counts half of ``S * min(w, S)`` pairs.",
    {
        **table("verl", pairs, router=True, lookup=embedding),
        OperationKind.LINEAR: rule_by_role(
            "verl",
            {
                **dict.fromkeys((Role.HEAD, Role.READ, Role.OUTPUT, Role.MLP, Role.ROUTER), lambda e, r: matrix(e)),
                Role.SHARED: shared_expert,
                Role.SHARED_GATE: counts_nothing,
            },
        ),
    },
    holds=lambda reading: refuse_misread(VERL, reading, KNOWN, MIXED),
)
