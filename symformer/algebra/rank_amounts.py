"""Amounts per rank: a quantity on the rank of a layout that has the most, with pipeline stages of any size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sympy import Symbol

from ..formulas.compiled_formula import Compiled
from ..formulas.formula import Formula
from ..language.errors import RuleError, SizeError
from ..language.symbols import G, G_global, L
from ..ledger.pipeline_stages import layer_counts
from ..models.layer_order import layer_order
from ..models.model import Model

Number = Any  # an integer or an array of integers
Masked = tuple[Number, Any]  # numbers, and whether all conditions hold for them
POSITIONS = ("first", "middle", "last")
REPLICATED = (G, G_global)  # heads of keys and values, of which every rank has at least one


def stage_sizes(layers: int, stages: int) -> list[int]:
    """Return the number of layers of each pipeline stage, as vLLM divides them (``get_pp_indices``).

    Layers that remain go to the stages before the last one, which has the LM head.

    >>> stage_sizes(126, 4), stage_sizes(61, 4)
    ([31, 32, 32, 31], [15, 15, 16, 15])
    """
    each, remaining = divmod(layers, stages)
    return [each + (stages - 1 - remaining <= stage < stages - 1) for stage in range(stages)]


@dataclass(frozen=True)
class StageAmount:
    """The amount of a stage at one position: a number, and more for each layer and each micro-batch in flight."""

    fixed: Number
    layers: Mapping[Symbol, Number]

    def of(self, layers: Mapping[Symbol, int], places: Any) -> Number:
        """Return the amount of a stage with some layers of each kind."""
        total = _at(self.fixed, places)
        for kind, count in layers.items():
            if count:
                total = total + count * _at(self.layers[kind], places)
        return total


@dataclass(frozen=True)
class StageAmounts:
    """The amounts of pipeline stages at the first, a middle and the last position.

    Attributes
    ----------
    order : tuple[Symbol, ...]
        The size that counts each layer.
    once, again : Mapping[str, StageAmount]
        By position: the amount with one micro-batch in flight, and the additional amount for each further one.
    holds : Any
        Whether the sizes satisfy every condition.

    """

    order: tuple[Symbol, ...]
    once: Mapping[str, StageAmount]
    again: Mapping[str, StageAmount]
    holds: Any
    larger: Callable[[Number, Number], Number]

    def extended(self, other: StageAmounts, times: Number) -> StageAmounts:
        """Return these amounts plus the difference to others, some times. Both have the same stages."""
        once = {
            position: StageAmount(
                mine.fixed + times * (theirs.fixed - mine.fixed),
                {kind: mine.layers[kind] + times * (theirs.layers[kind] - mine.layers[kind]) for kind in mine.layers},
            )
            for position, mine, theirs in ((each, self.once[each], other.once[each]) for each in self.once)
        }
        return replace(self, once=once)

    def fullest(self, stages: int, in_flight: Number | None = None, places: Any = None) -> Number:
        """Return the largest amount of all stages.

        Parameters
        ----------
        stages : int
            The number of stages, at least 2.
        in_flight : Number, optional
            The most micro-batches whose activations a stage stores; without it, as many as there are stages.
        places : Any
            The indices of the layouts with so many stages, or None for all.

        """
        found: Number | None = None
        for stage, layers in self._distinct(stage_layers(self.order, stages)):
            position = _position(stage, stages)
            amount = self.once[position].of(layers, places)
            if position in self.again:
                # 1F1B: Narayanan et al. 2021, section 2.2.1
                copies: Number = stages - stage
                if in_flight is not None:
                    copies = -self.larger(0 * in_flight - copies, -in_flight)  # the smaller of the two
                amount = amount + (copies - 1) * self.again[position].of(layers, places)
            found = amount if found is None else self.larger(found, amount)
        return found

    def _distinct(self, each: Sequence[Mapping[Symbol, int]]) -> Iterable[tuple[int, Mapping[Symbol, int]]]:
        """Return a stage for each position and number of layers; every stage if their activations differ."""
        if self.again:
            return enumerate(each)
        found: dict[Any, tuple[int, Mapping[Symbol, int]]] = {}
        for stage, layers in enumerate(each):
            found.setdefault((_position(stage, len(each)), frozenset(layers.items())), (stage, layers))
        return found.values()


@dataclass(frozen=True)
class RankAmounts:
    """A quantity on the ranks of layouts that have the same kinds of parallelism.

    Attributes
    ----------
    model : Model
        A model whose sizes have values.
    quantity : str
        The name of the quantity.
    conventions : Mapping[str, str]
        Its conventions, without ``pipeline``.
    larger : Callable[[Number, Number], Number]
        The larger of two numbers or of two arrays.
    factor : int
        The largest factor by which amounts are multiplied. Arrays whose products may need more than 64 bits have Python
        integers.

    """

    model: Model
    quantity: str
    conventions: Mapping[str, str]
    larger: Callable[[Number, Number], Number] = max
    factor: int = 1

    def whole(self, sizes: Mapping[str, Number]) -> Masked:
        """Return the amount without pipeline stages, and whether the sizes satisfy every condition.

        Parameters
        ----------
        sizes : Mapping[str, Number]
            The sizes of the run, and the number of ranks of each kind.

        Raises
        ------
        RuleError
            If the quantity is not supported for the model on such ranks.
        SizeError
            If a size has no value.

        """
        return self._evaluated(self._whole, sizes)

    def of(self, stages: int, sizes: Mapping[str, int]) -> int:
        """Return the amount on the busiest rank of one layout. Raises RuleError and SizeError, also for conditions."""
        if stages == 1:
            known, possible = self._complete(self._whole, sizes)
            if not possible:
                raise SizeError(f"N_tp={sizes['N_tp']} neither divides the key/value heads nor is a multiple of them")
            return int(self._value(self._whole_formula, self._whole, known))
        for position in POSITIONS:  # before the order: if stages are not supported, the order is not needed
            self._stage(position)
        if stages > len(self._order):
            raise SizeError(f"{stages} pipeline stages are more than the {len(self._order)} layers that they divide")
        found = self.stages(sizes)
        if not found.holds:
            counts = dict.fromkeys(layer_counts(self.model.ledger), 1)
            for position in POSITIONS:
                compiled = self._stage(position)
                known, _ = self._complete(compiled, {**sizes, **self._depths(counts), **_in_flight(position, 1)})
                self._value(self._stage_formula(position), compiled, known)  # raises SizeError
            raise SizeError(f"N_tp={sizes['N_tp']} neither divides the key/value heads nor is a multiple of them")
        return int(found.fullest(stages))

    def by_layer(self, sizes: Mapping[str, Number]) -> StageAmount:
        """Return the amount of the whole model by kind of layer. Raises RuleError and SizeError as ``whole`` does."""
        return self._amount(self._whole, self._linear_counts, sizes)[0]

    def stages(self, sizes: Mapping[str, Number]) -> StageAmounts:
        """Return the amounts of pipeline stages. Raises RuleError and SizeError as ``whole`` does."""
        once, again = {}, {}
        holds: Any = True
        counts = layer_counts(self.model.ledger)
        for position in POSITIONS:
            compiled = self._stage(position)
            first, held = self._amount(compiled, counts, {**sizes, **_in_flight(position, 1)})
            once[position], holds = first, holds & held
            if "N_pp" in compiled.accepted_sizes and position != "last":
                second, _ = self._amount(compiled, counts, {**sizes, **_in_flight(position, 2)})
                more = {kind: second.layers[kind] - first.layers[kind] for kind in counts}
                again[position] = StageAmount(second.fixed - first.fixed, more)
        return StageAmounts(self._order, once, again, holds, self.larger)

    def _amount(
        self, compiled: Compiled, counts: Sequence[Symbol], sizes: Mapping[str, Number]
    ) -> tuple[StageAmount, Any]:
        """Return the amount of a position, which is linear in the number of layers of each kind."""
        ones = dict.fromkeys(counts, 1)
        base, holds = self._evaluated(compiled, {**sizes, **self._depths(ones)})
        each = {}
        for kind in counts:
            two, also = self._evaluated(compiled, {**sizes, **self._depths({**ones, kind: 2})})
            each[kind], holds = two - base, holds & also
        return StageAmount(base - sum(each.values()), each), holds

    def _depths(self, layers: Mapping[Symbol, int]) -> dict[str, int]:
        return {**{str(kind): count for kind, count in layers.items()}, str(L): sum(layers.values())}

    def _evaluated(self, compiled: Compiled, sizes: Mapping[str, Number]) -> Masked:
        known, possible = self._complete(compiled, sizes)
        value, holds = compiled.evaluate_with_mask(**known)
        return _exact(value, self.factor), holds & possible

    def _complete(self, compiled: Compiled, sizes: Mapping[str, Number]) -> tuple[dict[str, Number], Any]:
        """Return the sizes that a formula accepts, with a key/value head on every rank, and whether that is possible.

        With more ranks than heads, each head has copies on some ranks.
        """
        tensor = sizes.get("N_tp", 1)
        sizes = dict(sizes)
        possible: Any = True
        for heads in REPLICATED:
            own = self.model.known.get(heads)
            if own is not None and str(heads) in compiled.accepted_sizes:
                sizes[str(heads)] = self.larger(own + 0 * tensor, tensor)
                possible = possible & ((tensor % own == 0) | (own % tensor == 0))
        return {name: number for name, number in sizes.items() if name in compiled.accepted_sizes}, possible

    @cached_property
    def _order(self) -> tuple[Symbol, ...]:
        return layer_order(self.model)

    @staticmethod
    def _value(formula: Formula, compiled: Compiled, known: Mapping[str, int]) -> Number:
        """Return a value. Raises SizeError with the remedy of a condition, which a compiled formula does not have."""
        try:
            return compiled(**known)
        except SizeError:
            formula.value(**known)
            raise

    @cached_property
    def _whole_formula(self) -> Formula:
        return self.model.formula(self.quantity, **self.conventions)

    @cached_property
    def _whole(self) -> Compiled:
        return self._whole_formula.compile()

    @cached_property
    def _positions(self) -> dict[str, Compiled]:
        return {}

    @cached_property
    def _linear_counts(self) -> tuple[Symbol, ...]:
        """The sizes that count the layers of each kind, to which the amount of the whole model is proportional."""
        self._check_linear(self._whole_formula)
        return layer_counts(self.model.ledger)

    def _check_linear(self, formula: Formula) -> None:
        for count in layer_counts(self.model.ledger):
            if formula.expanded.diff(count, 2) != 0:
                raise RuleError(
                    f"{self.quantity} of {self.model.target} is not proportional to {count}, so its pipeline stages "
                    "are not supported"
                )

    def _stage_formula(self, position: str) -> Formula:
        return self.model.stage_formula(self.quantity, **self.conventions, pipeline=position)

    def _stage(self, position: str) -> Compiled:
        if position not in self._positions:
            formula = self._stage_formula(position)
            self._check_linear(formula)
            self._positions[position] = formula.compile()
        return self._positions[position]


def stage_layers(order: Sequence[Symbol], stages: int) -> list[Mapping[Symbol, int]]:
    """Return the number of layers of each kind on each stage."""
    found: list[Mapping[Symbol, int]] = []
    start = 0
    for size in stage_sizes(len(order), stages):
        here = Counter(order[start : start + size])
        found.append({kind: here[kind] for kind in dict.fromkeys(order)})
        start += size
    return found


def _in_flight(position: str, copies: int) -> dict[str, int]:
    """Return the sizes under which a stage stores the activations of some micro-batches."""
    return {"first": {"N_pp": copies}, "middle": {"N_pp": copies + 1, "I_pp": 1}, "last": {}}[position]


def _exact(value: Number, factor: int) -> Number:
    """Return an array with Python integers if its products with a factor may need more than 64 bits."""
    if getattr(value, "dtype", None) is None or value.dtype == object or not value.size:
        return value
    return value.astype(object) if int(abs(value).max()) * factor >= 2**63 else value


def _at(amount: Number, places: Any) -> Number:
    """Return the amounts of some layouts; a number is the same for all of them."""
    return amount if places is None or not getattr(amount, "shape", ()) else amount[places]


def _position(stage: int, stages: int) -> str:
    return "first" if stage == 0 else "last" if stage == stages - 1 else "middle"
