"""A model read off its code, as operations that the ordinary rules count: what it answers, and what it refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

from sympy import Expr

from ..components.base import Component
from ..language.errors import RuleError, WitnessError
from ..language.sizes import AtMost, Condition, some_of_each
from ..language.symbols import C, N_new, S
from ..ledger.facts import MATRICES, Entry, Kind, Ledger, Table
from ..ledger.operations import Operations
from ..quantities.quantity import PLACEMENT, Quantity
from .traced import Tree

# What follows from the stored weights alone: products that nobody recognised store nothing.
FOLLOWS = ("trainable-params", "train-memory", "communication")
STORED = ("params", "active-params", *FOLLOWS)
LAST = {
    "decode-flops": C + 1,
    "kv-cache": C,
    "inference-memory": C,
    "generation-flops": S + N_new - 1,
}  # how many tokens a run goes over, where these are not the S that a trace is told of
CHUNKS = "some layers attend within chunks of tokens, and which size of the config gives their length is not known"
OTHERWISE = "torch counts otherwise"  # how a refusal begins where the operations are not what torch ran
_ORDER = "what an operation reads from which other is not known"
UNSEEN = {
    ("count", "all"): "a run of torch does not show what its elementwise operations are for",
    ("train", "frozen-embeddings"): _ORDER,
    ("train", "lora"): _ORDER,
    ("recompute", "full"): "which modules are layers that are computed again is not known",
    **dict.fromkeys(
        [("implementation", "eager"), ("implementation", "sdpa"), ("implementation", "megatron")],
        "what is kept of elementwise operations is not known; implementation=none leaves activations out",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Lifted(Component):
    """A model read off its code, as the operations that its rows were recognised as."""

    title: str = ""  # type: ignore[misc]
    stem: str = ""
    rows: tuple[tuple[tuple[Expr, ...], Entry], ...] = field(default=(), hash=False)  # with the copies up to each star
    conditions: tuple[Condition, ...] = ()
    maker: str = ""
    refusals: Mapping[str, str] = field(default_factory=dict, hash=False)  # what it does not answer, and why
    confirmed: Mapping[str, int] = field(default_factory=dict, hash=False)  # at how many points, by quantity
    asked: str = ""  # the quantity that its conditions are said for
    role = "model"
    shapes = "tokens[B,S] -> nothing[B,S]"

    @property
    def name(self) -> str:
        return self.stem

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]
        last = LAST.get(self.asked, S)
        dims = {dim for _, entry in self.rows for tensor in (*entry.inputs, entry.output) for dim in tensor.shape}
        return tuple(dict.fromkeys(_moved(each, last) for each in (*self.conditions, *some_of_each(dims))))

    @property
    def library(self) -> str:
        return self.maker

    @property
    def about(self) -> str:
        return f"{self.title}: its operations are recognised in runs of its own code."

    def forward(self, ops: Operations, *inputs: Any) -> Any:
        raise WitnessError(f"{self.stem} is lifted from a trace; its forward is torch's")

    def answering(self, question: Quantity, given: Mapping[str, str]) -> Component:
        """Itself, for what torch was seen to count alike, under conventions that ask for nothing that nobody saw."""
        name = question.asked
        chosen = question.choose(given)
        usual = {convention: question.choices[convention].default for convention in chosen}
        if why := self.refusals.get(name) or self._unseen(question, chosen, usual):
            raise RuleError(f"{self.stem}: {why}")
        rows = tuple(row for row in self.rows if name not in STORED or row[1].kind is not Kind.OBSERVED)
        return replace(self, asked=name, rows=rows)

    def report(self) -> list[str]:
        """What was recognised, and what torch counts alike."""
        kinds = Counter(entry.kind.value for _, entry in self.rows)
        seen = [entry.path for _, entry in self.rows if entry.kind is Kind.OBSERVED]
        lines = [f"{len(self.rows) - len(seen)} rows of its code are recognised as operations: "]
        lines[0] += ", ".join(f"{times} {kind}" for kind, times in kinds.items() if kind != Kind.OBSERVED)
        if seen:
            lines.append(f"{len(seen)} are not, and count for the one quantity that torch saw: {', '.join(seen)}")
        for points in sorted({*self.confirmed.values()}):
            names = ", ".join(name for name, at in self.confirmed.items() if at == points)
            configs = "a fresh random config" if points == 1 else f"{points} fresh random configs"
            lines.append(f"torch counts the same, row by row, at {configs}: {names}")
        return [*lines, *(f"{name} is refused: {why}" for name, why in self.refusals.items())]

    def _unseen(self, question: Quantity, chosen: Mapping[str, str], usual: Mapping[str, str]) -> str:
        """What these conventions ask for beside what was recognised; "" for nothing."""
        quantity = question.asked
        if quantity not in (*self.confirmed, *FOLLOWS):
            return (
                f"{quantity} needs the elementwise operations too, and a run of torch does not show what they are for"
            )
        for convention, value in chosen.items():
            if convention in PLACEMENT:
                return f"{convention}={value}: how a model is divided among ranks is not read off its code"
            if (convention, value) in UNSEEN:
                return f"{convention}={value}: {UNSEEN[convention, value]}"
        seen = next((entry.path for _, entry in self.rows if entry.kind is Kind.OBSERVED), "")
        if seen and chosen != usual and quantity not in STORED:
            return f"{seen} was not recognised, and is known under the usual conventions only"
        if chosen.get("attention") == "causal" and self.refusals.get("decode-flops") == CHUNKS:
            return f"attention=causal: {CHUNKS}"
        unknown = (entry for _, entry in self.rows if entry.kind is Kind.PRODUCT and entry.function != MATRICES)
        several = next((entry.path for entry in unknown), "")
        alone = "products" in chosen or question.measure.name == "attention-share"
        if several and (alone or {chosen.get("attention"), chosen.get("recompute")} & {"causal", "selective"}):
            return f"whether {several} is a part of attention was not recognised"
        windows = any(entry.window is not None for _, entry in self.rows)
        if windows and chosen.get("attention") == "causal" and "kv-cache" in self.refusals:
            return "attention=causal: how many layers have a window is known only where a cache tells it"
        cache = self.refusals.get("kv-cache", "")
        if chosen.get("attention") == "causal" and cache.startswith(OTHERWISE):
            return f"attention=causal: how far back each layer attends is not known: of its cache {cache}"
        kinds = [(entry.kind, entry.function, entry.logits) for _, entry in self.rows]
        if chosen.get("logits") == "last" and not any(logits for _, _, logits in kinds):
            return "logits=last: which product gives the logits was not recognised"
        if why := self._unnamed(chosen.get("without", "")):
            return why
        if chosen.get("embedding") == "matmul" and (Kind.LOOKUP, "tokens", False) not in kinds:
            return "embedding=matmul: the table of the tokens was not recognised"
        return ""

    def _unnamed(self, left: str) -> str:
        """What nothing says of weights that are to be left out; "" where all are named."""
        entries = [entry for _, entry in self.rows]
        if left.endswith("pooler") and any(entry.kind is Kind.OBSERVED and "pooler" in entry.path for entry in entries):
            return f"without={left}: what the pooler stores was not recognised"
        if not left or left == "pooler":
            return ""
        if left != "positions" and not any(entry.logits for entry in entries):
            return f"without={left}: which product gives the logits was not recognised"
        for entry in entries:
            alone = entry.kind is Kind.PARAMETER and "*" not in entry.path  # in every layer nothing is embedded
            if (alone and any(len(weight.shape) > 1 for weight in entry.weights)) or (
                entry.kind is Kind.LOOKUP and entry.function not in get_args(Table)
            ):
                return f"without={left}: whether {entry.path} is an embedding was not recognised"
        return ""

    @cached_property
    def ledger(self) -> Ledger:
        """Its rows as a tree of modules."""
        tree = Tree(self)
        for counts, entry in self.rows:
            tree.scope(entry.path.split("."), counts).items.append(entry)
        return Ledger(tree.root, None)


def _moved(condition: Condition, last: Expr) -> Condition:
    """A bound on the tokens of a run, for a run over so many."""
    if not isinstance(condition, AtMost):
        return condition
    return replace(condition, low=condition.low.xreplace({S: last}), high=condition.high.xreplace({S: last}))
