"""A traced model whose rows are recognized as operations, counted by the same rules as built-in models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

from sympy import Expr

from ..components.base import Component
from ..language.errors import RuleError, WitnessError
from ..language.sizes import AtMost, Condition, Relations, quotients_at_least_one
from ..language.symbols import C, N_new, S
from ..ledger.facts import MATRICES, Entry, Ledger, OperationKind, Table
from ..ledger.operations import Operations
from ..quantities.quantity import PLACEMENT, Quantity
from ..quantities.weight_formats import ELEMENT_BYTES
from .module_scopes import ScopeTree, kind_sizes

# Quantities that depend only on the stored weights: unrecognized products store nothing.
FOLLOWS = ("trainable-params", "train-memory", "communication")
STORED = ("params", "active-params", *FOLLOWS)
LAST = {
    "decode-flops": C + 1,
    "kv-cache": C,
    "inference-memory": C,
    "generation-flops": S + N_new - 1,
}  # the number of tokens of a run, for quantities whose run is not over S tokens
CHUNKS = "some layers attend within chunks of tokens, and the size that is the chunk length is not known"
OTHERWISE = "torch counts differently"  # the prefix of a refusal if torch's counts differ from the operations
_ORDER = "the inputs of each operation are not known"
UNSEEN = {
    ("count", "all"): "a torch run does not show the purpose of elementwise operations",
    ("train", "frozen-embeddings"): _ORDER,
    ("train", "lora"): _ORDER,
    ("recompute", "full"): "the layers to recompute are not known",
    **dict.fromkeys(
        [("implementation", "eager"), ("implementation", "sdpa"), ("implementation", "megatron")],
        "the saved tensors of elementwise operations are not known; implementation=none excludes activations",
    ),
}


@dataclass(frozen=True, kw_only=True)
class RecognizedModel(Component):
    """A traced model as recognized operations."""

    title: str = ""  # type: ignore[misc]
    stem: str = ""
    rows: tuple[tuple[tuple[Expr, ...], Entry], ...] = field(default=(), hash=False)  # (copies up to each star, entry)
    conditions: tuple[Condition, ...] = ()
    maker: str = ""
    refusals: Mapping[str, str] = field(default_factory=dict, hash=False)  # unsupported quantity -> the reason
    confirmed: Mapping[str, int] = field(default_factory=dict, hash=False)  # quantity -> number of points checked
    asked: str = ""  # the quantity to which its conditions apply
    role = "model"
    shapes = "tokens[B,S] -> nothing[B,S]"

    @property
    def name(self) -> str:
        return self.stem

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]
        last = LAST.get(self.asked, S)
        dims = {dim for _, entry in self.rows for tensor in (*entry.inputs, entry.output) for dim in tensor.shape}
        return tuple(dict.fromkeys(_moved(each, last) for each in (*self.conditions, *quotients_at_least_one(dims))))

    @cached_property
    def totals(self) -> Relations:
        """Return the numbers of layers of the kinds that have a letter."""
        return kind_sizes(self.ledger.root)

    @property
    def library(self) -> str:
        return self.maker

    @property
    def about(self) -> str:
        return f"{self.title}: its operations are recognized in runs of its own code."

    def forward(self, ops: Operations, *inputs: Any) -> Any:
        raise WitnessError(f"{self.stem} is traced, so it has no forward pass in symformer")

    def for_quantity(self, question: Quantity, given: Mapping[str, str]) -> Component:
        """Return the component for a quantity that torch confirmed, under conventions that the run determines.

        Raises RuleError for any other quantity or convention.
        """
        name = question.traced_quantity
        chosen = question.choose(given)
        usual = {convention: question.choices[convention].default for convention in chosen}
        if why := self.refusals.get(name) or self._unseen(question, chosen, usual):
            raise RuleError(f"{self.stem}: {why}")
        rows = tuple(row for row in self.rows if name not in STORED or row[1].kind is not OperationKind.OBSERVED)
        return replace(self, asked=name, rows=rows)

    def report(self) -> list[str]:
        """Return sentences on the recognized operations and the quantities that torch confirms."""
        kinds = Counter(entry.kind.value for _, entry in self.rows)
        seen = [entry.path for _, entry in self.rows if entry.kind is OperationKind.OBSERVED]
        lines = [f"{len(self.rows) - len(seen)} rows of its code are recognized as operations: "]
        lines[0] += ", ".join(f"{times} {kind}" for kind, times in kinds.items() if kind != OperationKind.OBSERVED)
        if seen:
            lines.append(f"{len(seen)} are not, and count only for the quantity that torch measured: {', '.join(seen)}")
        for points in sorted({*self.confirmed.values()}):
            names = ", ".join(name for name, at in self.confirmed.items() if at == points)
            configs = "a fresh random config" if points == 1 else f"{points} fresh random configs"
            lines.append(f"torch counts the same, row by row, at {configs}: {names}")
        return [*lines, *(f"{name} is not supported: {why}" for name, why in self.refusals.items())]

    def _unseen(self, question: Quantity, chosen: Mapping[str, str], usual: Mapping[str, str]) -> str:
        """Return why a quantity is not known under these conventions, or "" if it is known."""
        quantity = question.traced_quantity
        if quantity not in (*self.confirmed, *FOLLOWS):
            return f"{quantity} needs the elementwise operations too, and a torch run does not show their purpose"
        for convention, value in chosen.items():
            if convention in PLACEMENT:
                return f"{convention}={value}: a trace does not show how a model is divided among ranks"
            if (convention, value) in UNSEEN:
                return f"{convention}={value}: {UNSEEN[convention, value]}"
        if (form := chosen.get("weights", "")) and form not in ELEMENT_BYTES:
            return f"weights={form} needs the role of every weight, which a trace does not show"
        seen = next((entry.path for _, entry in self.rows if entry.kind is OperationKind.OBSERVED), "")
        if seen and chosen != usual and quantity not in STORED:
            return f"{seen} was not recognized, so it is known only under the default conventions"
        if chosen.get("attention") == "causal" and self.refusals.get("decode-flops") == CHUNKS:
            return f"attention=causal: {CHUNKS}"
        unknown = (
            entry for _, entry in self.rows if entry.kind is OperationKind.PRODUCT and entry.function != MATRICES
        )
        several = next((entry.path for entry in unknown), "")
        alone = "products" in chosen or question.measure.name == "attention-share"
        if several and (alone or {chosen.get("attention"), chosen.get("recompute")} & {"causal", "selective"}):
            return f"it is not known whether {several} is part of attention"
        windows = any(entry.window is not None for _, entry in self.rows)
        if windows and chosen.get("attention") == "causal" and "kv-cache" in self.refusals:
            return "attention=causal: the number of layers with a window is known only from the cache"
        cache = self.refusals.get("kv-cache", "")
        if chosen.get("attention") == "causal" and cache.startswith(OTHERWISE):
            return f"attention=causal: the window of each layer is not known, because for its cache {cache}"
        kinds = [(entry.kind, entry.function, entry.logits) for _, entry in self.rows]
        if chosen.get("logits") == "last" and not any(logits for _, _, logits in kinds):
            return "logits=last: the product that computes the logits was not recognized"
        if why := self._unnamed(chosen.get("without", "")):
            return why
        if chosen.get("embedding") == "matmul" and (OperationKind.LOOKUP, "tokens", False) not in kinds:
            return "embedding=matmul: the token embedding was not recognized"
        return ""

    def _unnamed(self, left: str) -> str:
        """Return why the weights to leave out are not known, or "" if they are known."""
        entries = [entry for _, entry in self.rows]
        if left.endswith("pooler") and any(
            entry.kind is OperationKind.OBSERVED and "pooler" in entry.path for entry in entries
        ):
            return f"without={left}: the weights of the pooler were not recognized"
        if not left or left == "pooler":
            return ""
        if left != "positions" and not any(entry.logits for entry in entries):
            return f"without={left}: the product that computes the logits was not recognized"
        for entry in entries:
            alone = (
                entry.kind is OperationKind.PARAMETER and "*" not in entry.path
            )  # weights inside layers are not embeddings
            if (alone and any(len(weight.shape) > 1 for weight in entry.weights)) or (
                entry.kind is OperationKind.LOOKUP and entry.function not in get_args(Table)
            ):
                return f"without={left}: it is not known whether {entry.path} is an embedding"
        return ""

    @cached_property
    def ledger(self) -> Ledger:
        """Return the rows as a tree of modules."""
        tree = ScopeTree(self)
        for counts, entry in self.rows:
            tree.scope(entry.path.split("."), counts).items.append(entry)
        return Ledger(tree.finished(), None)


def _moved(condition: Condition, last: Expr) -> Condition:
    """Return a bound on the number of tokens of a run, with S replaced by ``last``."""
    if not isinstance(condition, AtMost):
        return condition
    return replace(condition, low=condition.low.xreplace({S: last}), high=condition.high.xreplace({S: last}))
