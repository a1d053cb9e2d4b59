"""A traced model, with a ledger of the same kind as the ledger of a built-in model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Mul, expand, floor

from ..components.base import Component
from ..language.errors import RuleError, WitnessError
from ..language.sizes import Condition, Relations, quotients_at_least_one
from ..ledger.facts import ONE, STATE, Entry, Ledger, OperationKind, Tensor, Weight
from ..ledger.operations import Operations
from ..quantities import quantity as find_quantity
from ..quantities.quantity import Quantity
from .module_scopes import ScopeTree, kind_sizes

Class = tuple[str, tuple[Expr, ...]]  # a path with * for every index, and a shape

STORED = "params"  # the quantity that needs no run
DIFFUSERS = "diffusers"  # the library for which only params is supported
# The quantities that torch measures, and the conventions that do not affect the measurement.
MEASURED: Mapping[str, tuple[str, ...]] = {
    "params": ("weights",),
    "flops": (),
    "train-flops": (),
    "activations": (),
    "kv-cache": ("dtype",),
}
# The order that needs the fewest runs: a training run also shows the saved tensors and the products of a forward pass.
TOGETHER = ("params", "train-flops", "activations", "flops", "kv-cache")


@dataclass(frozen=True, kw_only=True)
class MeasuredModel(Component):
    """A traced model: rows by module path, with symbolic shapes and numbers of layers."""

    title: str = ""  # type: ignore[misc]
    stem: str = ""
    counts: Mapping[Class, tuple[Expr, ...]] = field(default_factory=dict, hash=False)
    conditions: tuple[Condition, ...] = ()
    quantity: str = STORED  # the quantity of its rows
    states: frozenset[str] = frozenset()  # the paths of cache rows that are neither keys nor values
    maker: str = ""  # the library that its code comes from
    fixed: str = ""  # the version of torch, if it is one module, whose sizes are numbers
    measure: Callable[[str], Component] | None = field(default=None, compare=False)  # measures a quantity in torch
    lifted: Callable[[], Component] | None = field(default=None, compare=False)  # its operations, if recognized
    # Returns its operations, if no run is needed. Raises CatalogueError if they are not known.
    stored_run: Callable[[], Ledger] | None = field(default=None, compare=False)
    role = "model"
    shapes = "tokens[B,S] -> nothing[B,S]"

    @property
    def name(self) -> str:
        return self.stem

    @cached_property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]
        dims = {dim for _, shape in self.counts for dim in shape if dim.has(floor)}
        return tuple(dict.fromkeys((*self.conditions, *quotients_at_least_one(dims))))

    @property
    def library(self) -> str:
        return self.maker

    @property
    def about(self) -> str:
        title = self.title.removesuffix(", traced")
        if self.fixed:
            return f"{title}: its parameters are counted on the module itself, so its sizes are numbers."
        return f"The formula of {title} is traced: it is obtained by building the model at several sizes."

    @cached_property
    def totals(self) -> Relations:
        """Return the numbers of layers of the kinds that have a letter."""
        return kind_sizes(self.ledger.root)

    @property
    def total(self) -> Expr:
        """Return the sum of all rows times their numbers of copies, expanded."""
        return Add(*(expand(Mul(*shape, *often[-1:])) for (_, shape), often in self.counts.items()))

    def __copy__(self) -> MeasuredModel:
        return self

    def __deepcopy__(self, memo: object) -> MeasuredModel:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle. Raises WitnessError for a model whose code runs in this process."""
        if self.measure is not None or self.lifted is not None:
            raise WitnessError(
                f"{self.stem} is traced: it runs its code in this process and cannot be pickled; trace it again in the "
                "other process, or send the result of a formula's code()"
            )
        return vars(self)

    def forward(self, ops: Operations, *inputs: Any) -> Any:
        raise WitnessError(f"{self.stem} is traced, so it has no forward pass in symformer")

    def for_quantity(self, question: Quantity, given: Mapping[str, str]) -> Component:
        """Return the component that has a quantity, measured under the conventions of a torch run.

        Raises RuleError for other conventions and for a quantity that is not known.
        """
        name = question.observed_quantity
        if self.fixed and name != STORED:
            raise fixed_sizes(self.title, name)
        if self.maker == DIFFUSERS and name != STORED:
            raise RuleError(f"only params is supported for diffusers models, not {name} of {self.stem}")
        if name not in MEASURED and self.lifted is not None:
            return self.lifted().for_quantity(question, given)
        check_measurable(name)
        for convention, value in question.choose(given).items():
            ran = question.choices[convention].default
            if value != ran and convention not in MEASURED[name]:
                if self.lifted is not None:
                    return self.lifted().for_quantity(question, given)
                raise RuleError(
                    f"{convention}={value}: {self.stem} is traced, so its {question.measure.title} are known only for "
                    f"{convention}={ran}"
                )
        if name == self.quantity:
            return self
        if self.measure is None:
            raise run_refusal(self.stem, name)
        return self.measure(name)

    @cached_property
    def ledger(self) -> Ledger:
        """Return the rows as a tree of modules, with one entry per module or per operation."""
        tree = ScopeTree(self)
        if self.quantity != STORED:
            for (path, shape), counts in self.counts.items():
                output = Tensor(path, tuple(dim for dim in shape if dim != 1), grad=ONE)
                what = STATE if path in self.states else ""
                seen = Entry(OperationKind.OBSERVED, path, (), output, function=what, measured=self.quantity)
                tree.scope(path.split("."), counts).items.append(seen)
            return Ledger(tree.finished(), None)
        modules: dict[tuple[str, tuple[Expr, ...]], list[Weight]] = defaultdict(list)
        for (path, shape), counts in self.counts.items():
            # In a list of bare parameters the star is last in the path: there is no module around each parameter.
            owner = path if path.endswith("*") else path.rpartition(".")[0]
            modules[owner, counts].append(Weight(path, shape))
        owners = {module for module, _ in modules}
        for (module, counts), weights in modules.items():
            words = module.split(".")
            if any(other.startswith(f"{module}.") for other in owners):
                words.append("")  # it contains modules and weights
            nowhere = Tensor(module or "weights", ())
            held = tuple(weights)
            entry = Entry(
                OperationKind.OBSERVED, nowhere.name, (), nowhere, weights=held, measured=self.quantity, module=True
            )
            tree.scope(words, counts).items.append(entry)
        return Ledger(tree.finished(), None)


def check_measurable(quantity: str) -> None:
    """Raise UnknownNameError or RuleError for a quantity that a trace cannot measure."""
    find_quantity(quantity)
    if quantity not in MEASURED:
        raise RuleError(f"a torch run does not measure {quantity}; a trace supports {', '.join(MEASURED)}")


def run_refusal(stem: str, quantity: str) -> RuleError:
    """Return the error for a quantity that needs a forward pass, if only the stored weights were traced."""
    return RuleError(
        f"{stem}: {quantity} needs a forward pass; describe its inputs with `symformer trace ... --inputs "
        "FILE.py:FUNCTION` (in Python, `inputs`); without them, only params is available"
    )


def fixed_sizes(title: str, quantity: str) -> RuleError:
    """Return the error for a quantity of a module that is not a function of sizes."""
    return RuleError(
        f"{title} is a torch module with fixed sizes, so only params is known, not {quantity}; pass a function of "
        "sizes that builds it, and its inputs, to symformer.trace(build, sizes, inputs=...)"
    )
