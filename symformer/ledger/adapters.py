"""Adapters: small trained parts added to the linear layers of a frozen model.

The recorder of operations adds them whenever a part requests a linear layer that has an adapter. Parts and
architectures need no code for adapters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Expr

from ..language.errors import OptionError, RuleError, listed
from ..language.shape_lines import Shape
from ..language.symbols import H_adapter, R
from .facts import ONE, Ledger, OperationKind, Part, Tensor, Weight
from .layer_kinds import sharing
from .operations import Operations, inputs_of


def low_rank(ops: Operations, name: str, x: Tensor, out: Expr) -> Tensor:
    """x[…, in] -> B·A·x[…, out], scaled by a constant; Hu et al. 2021, eq. 3."""
    inner = ops.linear(_in(name, "lora_A"), ops.dropout(_in(name, "lora_dropout"), x), R, bias=False)
    return ops.scale(_in(name, "scaling"), ops.linear(_in(name, "lora_B"), inner, out, bias=False))


def rescaled(ops: Operations, name: str, x: Tensor, y: Tensor) -> Tensor:
    """y[…, out] -> z[…, out]: y + B·A·x, times a trained magnitude of each row of W + B·A; Liu et al. 2024, eq. 5.

    The operations that compute the norms of the rows are not recorded: only quantities that count stored weights accept
    these adapters (:func:`has_magnitudes`).
    """
    whole = ops.add(_in(name, "sum"), y, low_rank(ops, name, x, y.width))
    magnitude = ops.learned(_in(name, "lora_magnitude_vector.weight"), y.width, adapter=True)
    of_each = magnitude.view((*[ONE] * (len(y.shape) - 1), y.width))
    return ops.multiply(_in(name, "rescaled"), whole, of_each, "rescaled")


def bottleneck(ops: Operations, name: str, x: Tensor) -> Tensor:
    """x[…, E] -> y[…, E]: a narrow hidden layer with a residual connection; Houlsby et al. 2019, figure 2."""
    inner = ops.activation(_in(name, "act"), ops.linear(_in(name, "down"), x, H_adapter), "gelu")
    return ops.add(_in(name, "residual"), x, ops.linear(_in(name, "up"), inner, x.width))


def _in(name: str, part: str) -> str:
    return f"{name}.{part}" if name else part


ALL = ("all",)  # the targets that stand for all linear layers inside repeated layers
Change = Callable[[Operations, str, Tensor, Tensor], Tensor]  # of a linear layer's input and output
# The options that add an adapter, each with the new output of a linear layer.
CHANGES: dict[str, Change] = {
    "lora": lambda ops, name, x, y: ops.add(f"{name}.sum", y, low_rank(ops, name, x, y.width)),
    "dora": rescaled,
    "adapters": lambda ops, name, x, y: bottleneck(ops, f"{name}.adapter", y),
}
LOW_RANK = ("lora", "dora")  # the options that add a low-rank update; a layer has at most one


@dataclass(frozen=True)
class Adapter:
    """One kind of adapter and its linear layers: the named ones, or with ALL every one inside repeated layers."""

    option: str
    targets: tuple[str, ...] = ()  # the last words of their paths; empty for train=lora, which names no layer

    def wanted(self, path: str) -> bool:
        """Return True if the linear layer of this path has the adapter."""
        words = path.split(".")
        return words[-1] in self.targets if self.targets not in ((), ALL) else "*" in words

    def __str__(self) -> str:
        """Return the option as the user wrote it."""
        return f"{self.option}={','.join(self.targets)}" if self.targets else f"train={self.option}"


def adapted(part: Part, adapters: Sequence[Adapter]) -> Ledger:
    """Return the ledger of a part with adapters, in which only the adapters are trained.

    Parameters
    ----------
    part : Part
        The part to record.
    adapters : Sequence[Adapter]
        The adapters to add.

    Raises
    ------
    OptionError
        For a name that no linear layer has.
    RuleError
        For a layer that cannot have an adapter.

    """
    ops = _AdaptedOperations(part, adapters)
    ledger = sharing(ops.root, ops.run(part, inputs_of(part)))
    for adapter in adapters:
        for target in adapter.targets:
            if adapter.targets != ALL and target not in ops.names:
                known = listed(sorted(ops.names)) or "no linear layers"
                raise OptionError(f"{adapter}: {part.title} has no linear layer {target!r}; it has {known}")
    return ledger


def is_adapted(ledger: Ledger) -> bool:
    """Return True if a ledger has adapters, which are then the only trained parts."""
    return any(entry.adapter for _, entry in ledger)


def has_magnitudes(ledger: Ledger) -> bool:
    """Return True if a ledger has adapters with trained magnitudes (DoRA)."""
    return any(entry.adapter and entry.kind is OperationKind.PARAMETER for _, entry in ledger)


class _AdaptedOperations(Operations):
    """Operations that add the requested adapters to each linear layer."""

    def __init__(self, part: Part, adapters: Sequence[Adapter]) -> None:
        super().__init__(part, lambda kind, path: self._within)
        self.names: set[str] = set()  # the last words of the paths of linear layers
        self._linear: set[str] = set()  # their paths
        self._adapters = adapters
        self._updated: dict[str, str] = {}  # outputs with a low-rank update -> the adapted linear layer
        self._adapted: dict[str, str] = {}  # modules with an adapter -> the adapted linear layer
        self._scanning: set[str] = set()  # modules with a scan
        self._within = False  # whether an adapter is being recorded
        self._recalled = False  # whether its linear layer runs over cached tokens

    def linear(self, name: str, x: Tensor, out: Expr, **facts: Any) -> Tensor:
        """Record the linear layer, then its adapters."""
        if self._within:
            return super().linear(name, x, out, **{**facts, "module": True, "recalled": self._recalled})
        y = super().linear(name, x, out, **facts)
        path = self._path(name)
        if facts.get("module", True) and not facts.get("logits"):
            self.names.add(path.rpartition(".")[2])
        again = self._linear & {weight.path.rpartition(".")[0] for weight in facts.get("shared", {}).values()}
        self._linear.add(path)
        wanted = [adapter for adapter in self._adapters if any(map(adapter.wanted, (path, *again)))]
        if len(updates := [str(adapter) for adapter in wanted if adapter.option in LOW_RANK]) > 1:
            raise OptionError(f"{' and '.join(updates)} both adapt {path}; choose one of them for each layer")
        for adapter in wanted:
            if facts.get("logits"):
                raise OptionError(f"{adapter}: {path} is the LM head, and adapters of the LM head are not supported")
            if not facts.get("module", True) and not facts.get("shared"):
                raise RuleError(f"{adapter}: {path} is not a module, and adapters of parameters are not supported")
            if facts.get("shared"):
                raise RuleError(
                    f"{adapter}: {path} uses a matrix, or rows of one, that is stored elsewhere, and adapters of such "
                    "matrices are not supported"
                )
            self._adapted[path.rpartition(".")[0]] = path
            self._unscanned()
            self._within, self._recalled = True, bool(facts.get("recalled"))
            y = CHANGES[adapter.option](self, name, x, y)
            self._within = False
            if adapter.option in LOW_RANK:
                self._updated[y.name] = path
        return y

    def grouped_linear(self, name: str, x: Tensor, groups: Expr, out: Expr) -> Tensor:
        """Record the matrices of groups. Raises RuleError for adapters of them, which peft applies to each group."""
        path = self._path(name)
        if any(adapter.wanted(path) for adapter in self._adapters):
            raise RuleError(f"{path} has a matrix for each group of heads, and adapters of it are not supported")
        return super().grouped_linear(name, x, groups, out)

    def scan(self, name: str, *inputs: Any, **facts: Any) -> Tensor:
        """Record a scan. Raises RuleError for adapters around it: its code reads the stored matrices directly."""
        self._scanning.add(self._path(name).rpartition(".")[0])
        self._unscanned()
        return super().scan(name, *inputs, **facts)

    def _unscanned(self) -> None:
        for module in self._scanning & self._adapted.keys():
            raise RuleError(
                f"{self._adapted[module]} belongs to a scan, whose code reads the stored matrices directly, so "
                "adapters of it are not supported"
            )

    def experts(self, name: str, x: Tensor, chosen: Tensor, rows: Expr, out: Expr, **facts: Any) -> Tensor:
        """Record experts. Raises RuleError for adapters of experts."""
        path = self._path(name)
        parts = ("gate_proj", "up_proj") if path.endswith("gate_up_proj") else ()  # of one matrix
        if any(adapter.wanted(path) or {*parts} & {*adapter.targets} for adapter in self._adapters):
            raise RuleError(f"{path}: adapters of expert matrices are not supported")
        return super().experts(name, x, chosen, rows, out, **facts)

    def route(self, name: str, x: Tensor, chosen: Expr, function: str = "") -> Tensor:
        """Record a router. Raises RuleError for an adapter of it: peft merges it into the matrix, with other FLOPs."""
        router = self._updated.get(x.name, x.name)
        for adapter in self._adapters:
            if router.rpartition(".")[2] in adapter.targets:
                raise RuleError(f"{adapter}: {router} is a router, and adapters of routers are not supported")
        return super().route(name, x, chosen, function)

    def parameter(self, name: str, **shapes: Shape) -> dict[str, Weight]:
        """Record stored weights. Raises RuleError for an adapter of a matrix whose rows are used separately."""
        path = self._path(name)
        if any(path.rpartition(".")[2] in adapter.targets for adapter in self._adapters):
            raise RuleError(f"{path} is a matrix whose rows are used separately, and adapters of it are not supported")
        return super().parameter(name, **shapes)

    def _write(self, kind: OperationKind, name: str, inputs: tuple[Tensor, ...], shape: Shape, **facts: Any) -> Tensor:
        return super()._write(kind, name, inputs, shape, **facts, adapter=self._within)
