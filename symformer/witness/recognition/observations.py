"""Observations of a model in some runs, in the terms of its trace: the input of everything that reads its rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from sympy import Expr, Integer, Mul, Symbol, cancel

from ...catalogue.measured_model import Class, MeasuredModel
from ...language.shape_lines import Shape
from ...language.symbols import SYMBOLS, B, S
from ...ledger.facts import ONE, ZERO, Entry, OperationKind, Tensor, Weight
from ..dataflow_roles import (
    ConvolutionProduct,
    ExpertProduct,
    Key,
    LinearProduct,
    Roles,
    Scores,
    SelectedProduct,
    WeightedValues,
)
from ..dispatch_recorders import Factors, Products, ShapeTally, Site

T = TypeVar("T")
S_ENC, B_VIS = SYMBOLS["S_enc"], SYMBOLS["B_vis"]
LENGTHS = (S, S_ENC)
Numbers = Mapping[Symbol, int]
Row = tuple[tuple[Expr, ...], Entry]  # the copies up to each star, and an operation


@dataclass(frozen=True)
class Observation:
    """One observed run and its sizes."""

    seen: Roles
    numbers: Numbers

    @cached_property
    def named(self) -> dict[Key, tuple[str, tuple[int, ...]]]:
        """The row of each product: its path with * for every index, its number of occurrences, and its sizes."""
        return _named(self.seen.forward)


@dataclass(frozen=True)
class Trained:
    """One observed run with its backward pass, and its sizes."""

    seen: Products
    numbers: Numbers

    @cached_property
    def named(self) -> dict[Key, tuple[str, tuple[int, ...]]]:
        """The row of each product, as in other runs."""
        return _named(self.seen.forward)

    @cached_property
    def _back(self) -> Mapping[tuple[str, Site], Counter[Factors]]:
        """The products of the backward pass, by the module and call site of their forward product."""
        found: dict[tuple[str, Site], Counter[Factors]] = defaultdict(Counter)
        for path, sites in self.seen.backward.times.items():
            for site, each in sites.items():
                found[path.rpartition(".")[0], site].update(each)
        return found

    def sides(self, key: Key) -> tuple[bool, bool]:
        """Return whether the left and the right factor of a product have a gradient."""
        path, site, factors = key
        back = self._back.get((path.rpartition(".")[0], site), Counter())
        times = self.seen.forward.times[path][site][factors]
        if path.endswith("convolution"):  # each gradient has as many factors, and the weight's always exists
            return back[factors] >= 2 * times, True
        *batch, rows, middle, columns = factors
        left, right = (*batch, rows, columns, middle), (*batch, middle, rows, columns)
        if rows == columns:  # only the order of the sizes distinguishes them
            return left in back, right in back
        return any(each[-2] == columns for each in back), any(each[-2] == rows for each in back)


def _named(tally: ShapeTally) -> dict[Key, tuple[str, tuple[int, ...]]]:
    return {
        (path, site, factors): (star(name), (tally.times[path][site][factors], *factors))
        for name, path, site, factors in tally.named
    }


class Observations:
    """The rows of a trace with their observations in some runs, and the weights already stored by an operation."""

    def __init__(
        self,
        stored: MeasuredModel,
        products: MeasuredModel,
        sights: Sequence[Observation],
        real: Observation | None,
        windows: Sequence[Symbol],
        cached: Callable[[], MeasuredModel],
        trained: Callable[[], Trained | None] = lambda: None,
        deep: Callable[[], Observation | None] = lambda: None,
        whole: Callable[[], bool] = lambda: False,
    ) -> None:
        self.whole = whole  # returns True if every layer of a cache keeps every token
        self._trained, self._deep = trained, deep
        self.cached = cached  # the trace of the cache
        self.windows = windows  # sizes that may be attention windows
        self.stored, self.products, self.all, self.real = stored, products, sights, real
        self.weights: dict[str, list[Class]] = defaultdict(list)
        for each in stored.counts:
            self.weights[each[0]].append(each)
        self.found: dict[Class, list[tuple[Observation, Key]]] = defaultdict(list)
        self.classes: dict[tuple[int, Key], Class] = {}
        for sight in (*sights, *([real] if real else [])):
            for key, row in self._classed(sight).items():
                if sight is not real:
                    self.found[row].append((sight, key))
                self.classes[id(sight), key] = row
        self.used: set[Class] = set()  # weights already stored by an operation

    def _classed(self, sight: Observation) -> dict[Key, Class]:
        """Return the row of each product of a run."""
        rows = {(row[0], shape_at(row[1], sight.numbers)): row for row in self.products.counts}
        return {key: rows[seen] for key, seen in sight.named.items() if seen in rows}

    @cached_property
    def deep(self) -> Observation | None:
        """A run with values and many layers, or None if the code rejects that."""
        found = self._deep()
        if found is not None:
            self.classes |= {(id(found), key): row for key, row in self._classed(found).items()}
        return found

    @cached_property
    def _gradients(self) -> Mapping[Class, Counter[tuple[bool, bool]]]:
        """For each product of a training run, the number of copies by which factors have a gradient."""
        trained = self._trained()
        if trained is None:
            return {}
        found: dict[Class, Counter[tuple[bool, bool]]] = defaultdict(Counter)
        within: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)  # each module
        rows = {(row[0], shape_at(row[1], trained.numbers)): row for row in self.products.counts}
        for key, seen in trained.named.items():
            sides = trained.sides(key)
            within[seen[0].rpartition(".")[0]][sides] += 1
            if seen in rows:
                found[rows[seen]][sides] += 1
        for row in self.products.counts:  # torch may multiply differently in training, and skip unused products
            module = within[row[0].rpartition(".")[0]]
            if row not in found and [*module] == [(False, False)]:
                found[row] = module
        return found

    def gradients(self, row: Class) -> tuple[Expr, Expr]:
        """Return 1 or 0 for each factor of a product: whether training computes its gradient.

        If only some copies of a product are trained, this describes those; see ``idle``.
        """
        left, right = max(self._gradients.get(row, ()), key=sum, default=(True, True))
        return (ONE if left else ZERO, ONE if right else ZERO)

    def idle(self, row: Class) -> int:
        """Return the number of copies of a product without any gradient, if others have one: the last layers of a
        tower whose output is taken from an earlier layer.
        """
        seen = self._gradients.get(row, Counter())
        return seen[False, False] if len(seen) > 1 else 0

    def role(self, row: Class) -> Any:
        """Return the role of a product if it is the same in every run, or else None."""
        return common_value(self._role(sight, key) for sight, key in self.found[row])

    def _role(self, sight: Observation, key: Key) -> Any:
        """Return the role of a product in one run, with paths as in the trace."""
        roles = sight.seen.roles.get(key, {None})
        if len(roles) != 1:
            return None
        (role,) = roles
        match role:
            case LinearProduct():
                return LinearProduct(star(role.weight), role.out_first, star(role.bias))
            case ExpertProduct():
                return ExpertProduct(star(role.weight))
            case SelectedProduct():
                return SelectedProduct(star(role.weight), role.out_first)
            case ConvolutionProduct():
                return ConvolutionProduct(star(role.weight), star(role.bias), role.alone, role.before, role.stride)
            case Scores():
                return Scores(0)
            case WeightedValues():
                return WeightedValues(self.classes.get((id(sight), role.scores)), 0, role.last)  # type: ignore[arg-type]
        return None

    def entry(
        self, kind: OperationKind, path: str, inputs: tuple[Tensor, ...], shape: Shape, held: tuple[Class, ...],
        *, turned: bool = False, **facts: Any,
    ) -> Entry:  # fmt: skip
        """Return an operation that stores these weights, transposed to [in, out] if ``turned``."""
        self.used |= {*held}
        axes = max((len(each) for _, each in held), default=0)  # a bias has fewer axes than the matrix
        weights = tuple(
            Weight(name, each[:-2] + each[:-3:-1] if turned and len(each) == axes > 1 else each) for name, each in held
        )
        read = tuple(replace(x, encoded=self._encoded(x.shape)) for x in inputs)
        output = Tensor(path, shape, grad=ONE, encoded=self._encoded(shape))
        return Entry(kind, path, read, output, weights=weights, **facts)

    def _encoded(self, shape: Shape) -> bool:
        """Return True if a tensor of this shape depends only on the encoder or on images, not on decoder tokens."""
        if any(dim.has(S) for dim in shape):
            return False
        return S_ENC in self.all[-1].numbers or any(dim.has(B_VIS) for dim in shape)


def repeat_operation(row: Row, times: Expr) -> Row:
    """Return an operation that runs several times in its module, with the same weights."""
    counts, entry = row
    if times == 1:
        return row
    held = tuple(replace(each, share=each.share / times) for each in entry.weights)
    return (*counts, cancel((ONE, *counts)[-1] * times)), replace(entry, weights=held)


def split_copies(row: Row, idle: int) -> list[Row]:
    """Split the copies of an operation into those with a gradient and the last few without one.

    The weights of the latter are trainable but have no gradient, so they are stored separately.
    """
    (*counts, last), entry = row
    few = (*counts, Integer(idle))
    read = tuple(replace(each, grad=ZERO) for each in entry.inputs)
    shared = (*entry.weights, *entry.shared)
    unread = replace(
        entry, inputs=read, output=replace(entry.output, grad=ZERO), weights=(), shared=shared, frozen=True
    )
    found = [((*counts, last - idle), entry), (few, unread)]
    if entry.weights:
        found.append(
            (
                few,
                Entry(
                    OperationKind.PARAMETER, entry.path, (), Tensor(entry.path, ()), weights=entry.weights, module=True
                ),
            )
        )
    return found


def size_of(seen: Iterable[tuple[Observation, int]], tried: Iterable[Expr]) -> Expr | None:
    """Return the first of some sizes that equals the observed one at every point, or None."""
    points = list(seen)
    return next((each for each in tried if all(number(each, sight.numbers) == size for sight, size in points)), None)


def star(path: str) -> str:
    """Return a path with * for every index."""
    return ".".join("*" if word.isdigit() else word for word in path.split("."))


def common_value(found: Iterable[T]) -> T | None:
    """Return the common value, or None if the values differ or there are none."""
    different = set(found)
    return different.pop() if len(different) == 1 else None


def symbolic_shape(seen: Iterable[tuple[Observation, tuple[int, ...]]], known: Iterable[Expr] = ()) -> Shape | None:
    """Return the shape of a tensor in symbols: each axis is a size of the run or of the model at every point.

    Other axes may be sizes ``known`` from other tensors, or else numbers.
    """
    others = [size for size in known if size.free_symbols]
    found: list[list[Expr]] | None = None  # candidates for each axis, the likeliest first
    for sight, shape in seen:
        run = [size for size in (B, B_VIS, *LENGTHS) if size in sight.numbers]
        sizes = [*(B * each for each in run if each != B), *run, *sight.numbers, *others]
        each = [[*(size for size in sizes if number(size, sight.numbers) == axis), Integer(axis)] for axis in shape]
        if found is not None and len(found) != len(each):
            return None
        found = each if found is None else [[x for x in old if x in new] for old, new in zip(found, each, strict=True)]
    if found is None or not all(found):
        return None
    return tuple(axis[0] for axis in found)


def leading_axes(factors: Shape, area: Expr) -> Shape | None:
    """Return the axes before the last of a tensor that is multiplied with a matrix of this area."""
    rows = cancel(Mul(*factors[1:]) / area)
    if not rows.is_polynomial(*rows.free_symbols):
        return None
    if not rows.has(B):
        return (rows,)
    rest = cancel(rows / B)
    return (B,) if rest == 1 else (B, rest)


def number(expr: Expr, numbers: Numbers) -> int | None:
    """Return a size at a point, or None if it is not an integer or depends on unknown sizes."""
    value = expr.xreplace({size: Integer(each) for size, each in numbers.items()})
    return int(value) if isinstance(value, Integer) else None


def shape_at(shape: Shape, numbers: Numbers) -> tuple[int | None, ...]:
    """Return a shape at a point."""
    return tuple(number(each, numbers) for each in shape)
