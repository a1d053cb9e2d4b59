"""Adapters: small parts beside the linear layers of a model, which alone are trained; the model itself stays as it is.

They are written by the writer of operations, wherever a part asks it for a linear layer that one is wanted for: no part
and no architecture knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Expr

from ..language.errors import OptionError, RuleError, listed
from ..language.shapes import Shape
from ..language.symbols import H_adapter, R
from .facts import Kind, Ledger, Part, Tensor, Weight
from .kinds import sharing
from .operations import Operations, inputs_of


def low_rank(ops: Operations, name: str, x: Tensor, out: Expr) -> Tensor:
    """x[…, in] -> B·A·x[…, out], scaled by a number: Hu et al. 2021, eq. 3."""
    inner = ops.linear(_in(name, "lora_A"), x, R, bias=False)
    return ops.scale(_in(name, "scaling"), ops.linear(_in(name, "lora_B"), inner, out, bias=False))


def bottleneck(ops: Operations, name: str, x: Tensor) -> Tensor:
    """x[…, E] -> y[…, E]: a narrow hidden layer with a skip connection; Houlsby et al. 2019, figure 2."""
    inner = ops.activation(_in(name, "act"), ops.linear(_in(name, "down"), x, H_adapter), "gelu")
    return ops.add(_in(name, "residual"), x, ops.linear(_in(name, "up"), inner, x.width))


def _in(name: str, part: str) -> str:
    return f"{name}.{part}" if name else part


Change = Callable[[Operations, str, Tensor, Tensor], Tensor]  # of what goes into a linear layer, and what comes out
# The options that ask for one, each with what it makes of a linear layer's output.
CHANGES: dict[str, Change] = {
    "lora": lambda ops, name, x, y: ops.add(f"{name}.sum", y, low_rank(ops, name, x, y.width)),
    "adapters": lambda ops, name, x, y: bottleneck(ops, f"{name}.adapter", y),
}


@dataclass(frozen=True)
class Adapter:
    """One kind of adapter and its linear layers: the named ones, or all linear layers inside repeated layers."""

    option: str
    targets: tuple[str, ...] = ()  # the last components of their names; empty for train=lora, which names no layer

    def wanted(self, path: str) -> bool:
        """Whether the linear layer of this path has it."""
        words = path.split(".")
        return words[-1] in self.targets if self.targets else "*" in words

    def __str__(self) -> str:
        """Return the option as the user wrote it."""
        return f"{self.option}={','.join(self.targets)}" if self.targets else f"train={self.option}"


def adapted(part: Part, adapters: Sequence[Adapter]) -> Ledger:
    """The ledger of a part with adapters, trained apart from all else.

    Raises OptionError for a name that no linear layer has, RuleError for one that cannot have an adapter.
    """
    ops = _AdaptedOperations(part, adapters)
    ledger = sharing(ops.root, ops.run(part, inputs_of(part)))
    for adapter in adapters:
        for target in adapter.targets:
            if target not in ops.names:
                known = listed(sorted(ops.names)) or "none at all"
                raise OptionError(f"{adapter}: {part.title} has no linear layer called {target!r}; it has {known}")
    return ledger


def is_adapted(ledger: Ledger) -> bool:
    """Whether adapters alone are trained of what a ledger has."""
    return any(entry.adapter for _, entry in ledger)


class _AdaptedOperations(Operations):
    """The same operations, each linear layer with the adapters that are wanted for it."""

    def __init__(self, part: Part, adapters: Sequence[Adapter]) -> None:
        super().__init__(part, lambda kind, path: self._within)
        self.names: set[str] = set()  # that linear layers have
        self._linear: set[str] = set()  # their paths
        self._adapters = adapters
        self._adapted: dict[str, str] = {}  # modules with an adapter -> the linear layer that it stands beside
        self._scanning: set[str] = set()  # modules that carry a state from token to token
        self._within = False  # whether what is being written is an adapter
        self._recalled = False  # and the linear layer that it is for runs over what a cache keeps

    def linear(self, name: str, x: Tensor, out: Expr, **facts: Any) -> Tensor:
        """The linear layer as it is, and what its adapters make of what it gives."""
        if self._within:
            return super().linear(name, x, out, **{**facts, "module": True, "recalled": self._recalled})
        y = super().linear(name, x, out, **facts)
        path = self._path(name)
        if not facts.get("logits"):
            self.names.add(path.rpartition(".")[2])
        again = self._linear & {weight.path.rpartition(".")[0] for weight in facts.get("shared", {}).values()}
        self._linear.add(path)
        for adapter in self._adapters:
            if not any(map(adapter.wanted, (path, *again))):
                continue
            if facts.get("logits"):
                raise OptionError(f"{adapter}: {path} makes the logits, and an adapter of a head is not stated")
            if facts.get("shared"):
                raise RuleError(
                    f"{adapter}: {path} reads some rows of a matrix, or all, that is stored elsewhere, and what stands "
                    "beside those is not stated"
                )
            self._adapted[path.rpartition(".")[0]] = path
            self._unscanned()
            self._within, self._recalled = True, bool(facts.get("recalled"))
            y = CHANGES[adapter.option](self, name, x, y)
            self._within = False
        return y

    def scan(self, name: str, *inputs: Any, **facts: Any) -> Tensor:
        """A scan as it is: its code reads some of the matrices around it as they are stored, past what is beside."""
        self._scanning.add(self._path(name).rpartition(".")[0])
        self._unscanned()
        return super().scan(name, *inputs, **facts)

    def _unscanned(self) -> None:
        for module in self._scanning & self._adapted.keys():
            raise RuleError(
                f"{self._adapted[module]} stands around a scan, whose code reads such matrices as they are stored, and "
                "what stands beside them is not stated"
            )

    def experts(self, name: str, x: Tensor, chosen: Tensor, rows: Expr, out: Expr, **facts: Any) -> Tensor:
        """Experts as they are: which of their matrices have an adapter is nowhere stated."""
        path = self._path(name)
        parts = ("gate_proj", "up_proj") if path.endswith("gate_up_proj") else ()  # of one matrix
        if any(adapter.wanted(path) or {*parts} & {*adapter.targets} for adapter in self._adapters):
            raise RuleError(f"{path}: which of a mixture's matrices have an adapter, and how, is not stated")
        return super().experts(name, x, chosen, rows, out, **facts)

    def route(self, name: str, x: Tensor, chosen: Expr) -> Tensor:
        """A router as it is: what stands beside one peft adds to its matrix, which is another count of FLOPs."""
        router = x.name.removesuffix(".sum")
        for adapter in self._adapters:
            if router.rpartition(".")[2] in adapter.targets:
                raise RuleError(
                    f"{adapter}: {router} chooses experts for tokens, and what stands beside such a matrix is not "
                    "stated"
                )
        return super().route(name, x, chosen)

    def parameter(self, name: str, **shapes: Shape) -> dict[str, Weight]:
        """Weights by themselves as they are: an adapter of a matrix whose rows are read apart is nowhere stated."""
        path = self._path(name)
        if any(path.rpartition(".")[2] in adapter.targets for adapter in self._adapters):
            raise RuleError(f"{path} is a matrix whose rows are read apart, and what stands beside those is not stated")
        return super().parameter(name, **shapes)

    def _write(self, kind: Kind, name: str, inputs: tuple[Tensor, ...], shape: Shape, **facts: Any) -> Tensor:
        return super()._write(kind, name, inputs, shape, **facts, adapter=self._within)
