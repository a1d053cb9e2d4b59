"""vLLM's FLOP metrics for a prompt: matrices, every MLP as if gated, and all pairs within a window."""

from __future__ import annotations

from sympy import Expr, Min, Symbol, cancel

from ...formulas.account import Term
from ...language.sizes import Condition, Equals
from ...language.symbols import E
from ...ledger.facts import Entry, OperationKind
from .common_rules import TWO, counts_nothing, matrix, refuse_misread, rule_by_role
from .linear_roles import Role, RoleTable
from .matrices import table
from .rule_set import RuleSet

# Models whose config.json has the intermediate size in a field that vLLM reads; otherwise vLLM assumes 4E.
SAID = ("gpt-neox", "phi", "starcoder2")
GATED = (
    *("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "olmo", "olmo2", "phi3", "cohere", "granite"),
    *("glm4", "stablelm"),
)
DEEPSEEK = ("deepseek-v2", "deepseek-v3")
MIXED = ("mixtral", "olmoe", "qwen2-moe", "qwen3-moe", "gpt-oss")  # experts in every layer; shared ones not counted
KNOWN = (*GATED, *SAID, "gpt2", "opt", *MIXED, *DEEPSEEK)


def pairs(entry: Entry, reading: RoleTable, length: Expr) -> tuple[Expr, ...]:
    """Return all pairs, or S · min(w, S) for a layer with a window of w tokens."""
    return (length, length if entry.window is None else Min(length, entry.window))


def mlp(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return the FLOPs of a matrix of an MLP. Without a gate, the first matrix counts twice, as if it had one."""
    first = not any(reading.gates()) and reading.opens(entry)
    return matrix(entry, 2 * TWO if first else TWO)


def head(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return the FLOPs of the logits of the last token of each sequence: 2 · B · E · V."""
    batch, *_, out = entry.output.shape
    return (Term(entry.path, (TWO, batch, entry.inputs[0].width, out)),)


def shared_expert(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return the terms of a shared expert: counted for DeepSeek; not for Qwen, whose config names it differently."""
    return matrix(entry, TWO) if reading.name in DEEPSEEK else ()


def width(reading: RoleTable) -> tuple[Condition, ...]:
    """Return the condition H = 4E for configs without an intermediate size that vLLM reads.

    Raises RuleError if the intermediate size has another fixed value.
    """
    if reading.name not in ("gpt2", "opt"):
        return ()
    found: dict[Condition, None] = {}
    for entry in reading.of(OperationKind.LINEAR):
        size = entry.output.width
        if reading.role(entry) is Role.MLP and reading.opens(entry) and cancel(size - 4 * E) != 0:
            if not isinstance(size, Symbol):
                raise VLLM.refuse(f"{entry.path} has an output width of {size}, but vLLM assumes 4E")
            because = f"counted=vllm assumes 4E, because vLLM reads no intermediate size from a {reading.name} config"
            found[Equals(size, 4 * E, because)] = None
    return tuple(found)


_product = {role: lambda entry, reading: matrix(entry, TWO) for role in (Role.READ, Role.OUTPUT)}
VLLM: RuleSet = RuleSet(
    "vllm",
    "vLLM",
    "vllm/v1/metrics/perf.py, get_num_flops_breakdown",
    "https://github.com/vllm-project/vllm/blob/00cee63e04bf5b7dbaa5f08d6e4360f28777fdc3/vllm/v1/metrics/perf.py",
    "2 FLOPs per token for every element of a matrix except the router, three matrices for every MLP, and all "
    "query-key pairs within a window",
    "The FLOPs of one forward pass over a prompt of S tokens in each of B sequences, with an empty cache, by vLLM's "
    "rule (vllm/v1/metrics/perf.py), on one GPU: every matrix of a layer except the router, at 2 FLOPs per "
    "multiply-add. Every MLP counts three matrices, even one without a gate, which has two. Logits count at the last "
    "position only. Biases, embeddings and norms add nothing; in Qwen2-MoE, the shared expert and its gate add nothing "
    "either. Every query-key pair counts, masked or not; a layer with a window of w tokens counts ``S * min(w, S)`` "
    "pairs.",
    {
        **table("vLLM", pairs, each=TWO),
        OperationKind.LINEAR: rule_by_role(
            "vLLM",
            {
                **_product,
                Role.HEAD: head,
                Role.MLP: mlp,
                Role.SHARED: shared_expert,
                Role.ROUTER: counts_nothing,
                Role.SHARED_GATE: counts_nothing,
            },
        ),
    },
    holds=lambda reading: refuse_misread(VLLM, reading, KNOWN, MIXED),
    needs=width,
)
