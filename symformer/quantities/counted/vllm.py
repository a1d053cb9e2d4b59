"""vLLM's metrics of FLOPs, for a prompt: matrices, every MLP taken for a gated one, and all pairs within a window."""

from __future__ import annotations

from sympy import Expr, Min, Symbol, cancel

from ...formulas.account import Term
from ...language.sizes import Condition, Equals
from ...language.symbols import E
from ...ledger.facts import Entry, Kind
from .common import TWO, by_role, matrix, nothing
from .matrices import table
from .roles import Reading, Role
from .rule_set import RuleSet

# Whose config.json says an MLP's width as vLLM reads it; without it vLLM takes 4E.
SAID = ("gpt-neox", "phi", "starcoder2")
GATED = (
    *("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "olmo", "olmo2", "phi3", "cohere", "granite"),
    *("glm4", "stablelm"),
)
DEEPSEEK = ("deepseek-v2", "deepseek-v3")
MIXED = ("mixtral", "olmoe", "qwen2-moe", "qwen3-moe", "gpt-oss")  # experts in every layer, nothing counted beside them
KNOWN = (*GATED, *SAID, "gpt2", "opt", *MIXED, *DEEPSEEK)


def pairs(entry: Entry, reading: Reading, length: Expr) -> tuple[Expr, ...]:
    """All pairs; of a layer with a window of w tokens, S · min(w, S)."""
    return (length, length if entry.window is None else Min(length, entry.window))


def mlp(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """A matrix of an MLP; where no other one gates, the first counts twice, as if it had such a one beside it."""
    first = not any(reading.gates()) and reading.opens(entry)
    return matrix(entry, 2 * TWO if first else TWO)


def head(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """The logits of the last token of each sequence: 2 · B · E · V."""
    batch, *_, out = entry.output.shape
    return (Term(entry.path, (TWO, batch, entry.inputs[0].width, out)),)


def beside(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """What runs beside experts: of DeepSeek it counts, of Qwen, whose config calls it otherwise, it does not."""
    return matrix(entry, TWO) if reading.name in DEEPSEEK else ()


def told(reading: Reading) -> None:
    """Raise RuleError for a model whose config vLLM reads otherwise than is known here."""
    if reading.name not in KNOWN:
        raise VLLM.refuse(
            f"what vLLM reads of the config of {reading.name} is not stated here; known: {', '.join(KNOWN)}"
        )
    for entry in reading.of(Kind.LINEAR):
        if reading.name in MIXED and reading.role(entry) is Role.MLP:
            raise VLLM.refuse(
                f"of {reading.name} vLLM counts experts in every layer, and {entry.path} is in a layer without them"
            )


def width(reading: Reading) -> tuple[Condition, ...]:
    """Where the config does not say it as vLLM reads it, an MLP is 4E wide. Raises RuleError where it cannot be."""
    if reading.name not in ("gpt2", "opt"):
        return ()
    found: dict[Condition, None] = {}
    for entry in reading.of(Kind.LINEAR):
        size = entry.output.width
        if reading.role(entry) is Role.MLP and reading.opens(entry) and cancel(size - 4 * E) != 0:
            if not isinstance(size, Symbol):
                raise VLLM.refuse(f"{entry.path} is {size} wide, and vLLM takes 4E")
            because = f"vLLM, whose rule was asked for, reads no width of an MLP of {reading.name} and takes 4E"
            found[Equals(size, 4 * E, because)] = None
    return tuple(found)


_product = {role: lambda entry, reading: matrix(entry, TWO) for role in (Role.READ, Role.OUTPUT)}
VLLM = RuleSet(
    "vllm",
    "vLLM",
    "vllm/v1/metrics/perf.py, get_num_flops_breakdown",
    "https://github.com/vllm-project/vllm/blob/00cee63e04bf5b7dbaa5f08d6e4360f28777fdc3/vllm/v1/metrics/perf.py",
    "2 FLOPs a token for every element of a matrix but the router's, of every MLP three matrices, and all query-key "
    "pairs within a window",
    "One forward pass over a prompt of S tokens in each of B sequences, with an empty cache, by vLLM's rule "
    "(vllm/v1/metrics/perf.py), on one GPU: every matrix of a layer but the router, 2 FLOPs a multiply-add; of every "
    "MLP three matrices, also of one that has no gate and runs two; the logits at the last position only. Biases, "
    "embeddings and norms add nothing; of Qwen2-MoE the shared expert and its gate add nothing either. Every query-key "
    "pair counts, masked or not; in a layer with a window of w tokens S·m of them, m the less of w and S.",
    {
        **table("vLLM", pairs, each=TWO),
        Kind.LINEAR: by_role(
            "vLLM",
            {
                **_product,
                Role.HEAD: head,
                Role.MLP: mlp,
                Role.SHARED: beside,
                Role.ROUTER: nothing,
                Role.SHARED_GATE: nothing,
            },
        ),
    },
    holds=told,
    needs=width,
)
