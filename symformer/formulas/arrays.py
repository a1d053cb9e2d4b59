"""Integer arrays of NumPy, torch, JAX and Dask: validation, bounds and exact arithmetic."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

from ..language.errors import SizeError
from ..language.sizes import whole
from .array_plan import ArrayPlan
from .program import Program, ProgramCondition, Range

WIDE, NARROW = 2**63, 2**31  # exclusive upper bounds of signed 64-bit and 32-bit integers
ROW = 6  # maximum sizes of a row in a message


def library_of(sizes: Mapping[str, Any]) -> Arrays:
    """Separate sizes into integers and arrays. Raises SizeError for other values and for mixed libraries."""
    numbers, arrays, found = {}, {}, dict[str, str]()
    for name, given in sizes.items():
        library = type(given).__module__.partition(".")[0]
        if isinstance(given, Integral) or library not in LIBRARIES or getattr(given, "shape", None) is None:
            numbers[name] = whole(name, given)
        elif library == "numpy" and given.shape == ():
            numbers[name] = whole(name, _whole(name, given).item())
        else:
            arrays[name] = given
            found[LIBRARIES[library]] = name
    if not arrays:
        return Arrays(numbers, {})
    foreign = [library for library in found if library != "numpy"]
    if len(foreign) > 1 or (foreign == ["torch"] and "numpy" in found):
        one, other = [*foreign, "numpy"][:2]
        raise SizeError(
            f"{found[one]} is an array of {one} and {found[other]} one of {other}; use arrays of one library"
        )
    return KINDS[foreign[0] if foreign else "numpy"](numbers, arrays)


LIBRARIES = {"numpy": "numpy", "torch": "torch", "jax": "jax", "jaxlib": "jax", "dask": "dask"}


def _whole(name: str, array: Any) -> Any:
    """Return an array after checking that it contains integers. Raises SizeError."""
    kind = str(array.dtype)
    if "int" not in kind and kind != "object":
        raise SizeError(f"{name} is an array of {kind}; sizes are integers")
    if kind == "object" and not all(isinstance(each, Integral) and not isinstance(each, bool) for each in array.flat):
        raise SizeError(f"{name} is an array of objects that are not all integers; sizes are integers")
    return array


def _sound(name: str, least: int, most: int) -> Range:
    """Return the range of an array. Raises SizeError if a bound cannot be a size."""
    for each in (least, most):
        whole(f"one of {name}", each)
    return least, most


class Ints:
    """Arithmetic on Python integers."""

    def add(self, a: Any, b: Any, mine: bool, yours: bool) -> Any:
        return a + b

    def multiply(self, a: Any, b: Any, mine: bool, yours: bool) -> Any:
        return a * b

    def whole(self, a: Any, b: Any) -> Any:
        return a // b

    def nonzero(self, a: Any) -> Any:
        return a or 1

    def least(self, a: Any, b: Any) -> Any:
        return min(a, b)

    def most(self, a: Any, b: Any) -> Any:
        return max(a, b)


class NamespaceArithmetic(Ints):
    """Arithmetic on arrays with the functions of a module: torch or JAX."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def nonzero(self, a: Any) -> Any:
        return (a or 1) if isinstance(a, int) else self.module.where(a == 0, 1, a)

    def least(self, a: Any, b: Any) -> Any:
        return self._either(self.module.minimum, a, b)

    def most(self, a: Any, b: Any) -> Any:
        return self._either(self.module.maximum, a, b)

    def _either(self, choose: Any, a: Any, b: Any) -> Any:
        return choose(a + 0 * b, b + 0 * a)  # torch's functions do not accept a number with a tensor


class Numpy(NamespaceArithmetic):
    """Arithmetic on NumPy arrays, in place if an intermediate result has the right shape."""

    def add(self, a: Any, b: Any, mine: bool, yours: bool) -> Any:
        return self._into(self.module.add, a, b, mine, yours)

    def multiply(self, a: Any, b: Any, mine: bool, yours: bool) -> Any:
        return self._into(self.module.multiply, a, b, mine, yours)

    def _into(self, function: Any, a: Any, b: Any, mine: bool, yours: bool) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return function(self.module.array(a, object), b) if max(abs(a), abs(b)) >= WIDE else int(function(a, b))
        shapes = [getattr(each, "shape", ()) for each in (a, b)]
        joined = shapes[0] if shapes[0] == shapes[1] else self.module.broadcast_shapes(*shapes)
        for own, each, shape in ((mine, a, shapes[0]), (yours, b, shapes[1])):
            if own and shape == joined and not isinstance(each, int):
                return function(a, b, out=each)
        return function(a, b)

    def _either(self, choose: Any, a: Any, b: Any) -> Any:
        return choose(a, b)


@dataclass(frozen=True)
class Arrays:
    """Integers and broadcast arrays; this base class has only integers."""

    numbers: Mapping[str, int]
    arrays: Mapping[str, Any]

    def answers(self, program: Program) -> tuple[Any, Any]:
        """Return the value, and True if all conditions hold."""
        plan = ArrayPlan.of(program, {}, {})
        values = plan.defined({}, Ints())
        return plan.value(values, Ints()), all(holds for _, holds in plan.holding(values, Ints()))

    def values(self, program: Program, what: str) -> Any:
        """Return the values. Raises SizeError if a condition is violated."""
        plan = ArrayPlan.of(program, {}, {})
        values = plan.defined({}, Ints())
        for held, holds in plan.holding(values, Ints()):
            if not holds:
                raise SizeError(self._refusal(what, held, {}))
        return plan.value(values, Ints())

    def _refusal(self, what: str, held: ProgramCondition, row: Mapping[str, int]) -> str:
        """Return the message for a condition violated by the sizes of a row."""
        found = {**self.numbers, **row}
        sizes = ", ".join(f"{name}={found[name]}" for name in held.sizes[:ROW])
        return f"{what} does not hold for {sizes}: it requires that {held.said}"


@dataclass(frozen=True)
class NumpyArrays(Arrays):
    """NumPy arrays, also the fallback of other libraries for integers that are too large for them."""

    def ranges(self) -> dict[str, Range]:
        """Return the range of each array. Raises SizeError."""
        return {
            name: _sound(name, int(array.min()), int(array.max())) if array.size else (1, 1)
            for name, array in self.arrays.items()
            if _whole(name, array) is not None
        }

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each array."""
        return {name: tuple(array.shape) for name, array in self.arrays.items()}

    def answers(self, program: Program) -> tuple[Any, Any]:
        plan = self._plan(program)
        values, do = self._defined(plan)
        holds = None
        for _, each in plan.holding(values, do):
            holds = each if holds is None else holds & each
        return self._full(plan.value(values, do)), self._full(True if holds is None else holds)

    def values(self, program: Program, what: str) -> Any:
        plan = self._plan(program)
        values, do = self._defined(plan)
        for held, holds in plan.holding(values, do):
            if not self._every(holds):
                raise SizeError(self._refusal(what, held, self._first(holds)))
        return self._full(plan.value(values, do))

    def _plan(self, program: Program) -> ArrayPlan:
        return ArrayPlan.of(program, self.shapes(), self.ranges())

    def _defined(self, plan: ArrayPlan) -> tuple[dict[str, Any], Any]:
        """Return the values by name, in a type that cannot overflow, and the arithmetic for them."""
        import numpy

        kind = numpy.int64 if plan.peak < WIDE else object
        do = Numpy(numpy)
        return plan.defined({name: array.astype(kind) for name, array in self.arrays.items()}, do), do

    def _every(self, holds: Any) -> bool:
        return bool(holds if isinstance(holds, bool) else holds.all())

    def _first(self, holds: Any) -> dict[str, int]:
        """Return the first row that violates a condition."""
        import numpy

        shape = numpy.broadcast_shapes(*self.shapes().values())
        failing = numpy.broadcast_to(~numpy.asarray(holds, bool), shape)
        place = numpy.unravel_index(int(failing.argmax()), shape)
        return {name: int(numpy.broadcast_to(array, shape)[place]) for name, array in self.arrays.items()}

    def _full(self, value: Any) -> Any:
        """Return a value broadcast to the common shape of all arrays."""
        import numpy

        shape = numpy.broadcast_shapes(*self.shapes().values())
        if getattr(value, "shape", None) == shape:
            return value
        if isinstance(value, bool):
            return numpy.full(shape, value)
        kind = object if isinstance(value, int) and abs(value) >= WIDE else None
        return numpy.broadcast_to(numpy.asarray(value, kind), shape).copy()


@dataclass(frozen=True)
class TorchArrays(NumpyArrays):
    """Torch tensors on any device; falls back to NumPy objects for integers that are too large."""

    def ranges(self) -> dict[str, Range]:
        return {
            name: _sound(name, int(array.min()), int(array.max())) if array.numel() else (1, 1)
            for name, array in self.arrays.items()
            if _whole(name, array) is not None
        }

    def answers(self, program: Program) -> tuple[Any, Any]:
        return super().answers(program) if self._fits(program) else self._beyond().answers(program)

    def values(self, program: Program, what: str) -> Any:
        return super().values(program, what) if self._fits(program) else self._beyond().values(program, what)

    def _fits(self, program: Program) -> bool:
        return self._plan(program).peak < WIDE

    def _beyond(self) -> NumpyArrays:
        return NumpyArrays(self.numbers, {name: array.cpu().numpy() for name, array in self.arrays.items()})

    def _defined(self, plan: ArrayPlan) -> tuple[dict[str, Any], Any]:
        do = NamespaceArithmetic(sys.modules["torch"])
        return plan.defined({name: array.long() for name, array in self.arrays.items()}, do), do

    def _first(self, holds: Any) -> dict[str, int]:
        return self._beyond()._first(holds if isinstance(holds, bool) else holds.cpu().numpy())

    def _full(self, value: Any) -> Any:
        torch = sys.modules["torch"]
        shape = torch.broadcast_shapes(*self.shapes().values())
        if getattr(value, "shape", None) == shape:
            return value
        device = next(iter(self.arrays.values())).device
        kind = torch.bool if isinstance(value, bool) else torch.int64
        return torch.as_tensor(value, device=device, dtype=getattr(value, "dtype", kind)).broadcast_to(shape).clone()


@dataclass(frozen=True)
class JaxArrays(TorchArrays):
    """JAX arrays; falls back to NumPy for integers that are too large. JAX has 32 bits by default."""

    def ranges(self) -> dict[str, Range]:
        tracer = sys.modules["jax"].core.Tracer
        if any(isinstance(array, tracer) for array in self.arrays.values()):
            raise SizeError(
                "the sizes are JAX tracers, whose values and bounds are unknown; call it outside the transformation"
            )
        return NumpyArrays.ranges(self)

    def _fits(self, program: Program) -> bool:
        wide = bool(sys.modules["jax"].config.read("jax_enable_x64"))
        return self._plan(program).peak < (WIDE if wide else NARROW)

    def _beyond(self) -> NumpyArrays:
        import numpy

        return NumpyArrays(self.numbers, {name: numpy.asarray(array) for name, array in self.arrays.items()})

    def _defined(self, plan: ArrayPlan) -> tuple[dict[str, Any], Any]:
        from importlib import import_module

        jnp = import_module("jax.numpy")
        do = NamespaceArithmetic(jnp)
        return plan.defined({name: jnp.asarray(array, int) for name, array in self.arrays.items()}, do), do

    def _first(self, holds: Any) -> dict[str, int]:
        return self._beyond()._first(holds)

    def _full(self, value: Any) -> Any:
        from importlib import import_module

        jnp = import_module("jax.numpy")
        shape = jnp.broadcast_shapes(*self.shapes().values())
        return value if getattr(value, "shape", None) == shape else jnp.broadcast_to(jnp.asarray(value), shape)


@dataclass(frozen=True)
class DaskArrays(NumpyArrays):
    """Dask arrays: bounds are computed immediately, values lazily, chunk by chunk."""

    def ranges(self) -> dict[str, Range]:
        from importlib import import_module

        dask = import_module("dask")
        for name, array in self.arrays.items():
            if str(array.dtype) != "object":
                _whole(name, array)
        asked = {name: (array.min(), array.max()) for name, array in self.arrays.items() if array.size}
        (found,) = dask.compute(asked)
        return {name: _sound(name, *map(int, found[name])) if name in found else (1, 1) for name in self.arrays}

    def answers(self, program: Program) -> tuple[Any, Any]:
        kind = self._kind(program)
        return self._lazily(partial(_chunk, program, kind), kind), self._lazily(partial(_held, program), "bool")

    def values(self, program: Program, what: str) -> Any:
        kind = self._kind(program)
        return self._lazily(partial(_checked, program, kind, what, self.numbers), kind)

    def _kind(self, program: Program) -> str:
        return "int64" if self._plan(program).peak < WIDE else "object"

    def _lazily(self, function: Any, kind: str) -> Any:
        from importlib import import_module

        names = list(self.arrays)
        return import_module("dask.array").map_blocks(
            partial(function, names), *_aligned(self.arrays.values()), dtype=kind, meta=_empty(kind)
        )


def _aligned(arrays: Iterable[Any]) -> list[Any]:
    """Return arrays broadcast to one shape and split into the same chunks."""
    from importlib import import_module

    da = import_module("dask.array")
    whole_ones = da.broadcast_arrays(*(da.asarray(each) for each in arrays))
    ndim = whole_ones[0].ndim
    _, cut = da.core.unify_chunks(*(part for each in whole_ones for part in (each, tuple(range(ndim)))))
    return list(cut)


def _empty(kind: str) -> Any:
    import numpy

    return numpy.empty((0,), kind)


def _arrays(names: list[str], chunks: tuple[Any, ...]) -> NumpyArrays:
    return NumpyArrays({}, dict(zip(names, chunks, strict=True)))


def _chunk(program: Program, kind: str, names: list[str], *chunks: Any) -> Any:
    return _arrays(names, chunks).answers(program)[0].astype(kind)


def _held(program: Program, names: list[str], *chunks: Any) -> Any:
    return _arrays(names, chunks).answers(program)[1]


def _checked(program: Program, kind: str, what: str, numbers: Mapping[str, int], names: list[str], *chunks: Any) -> Any:
    return replace(_arrays(names, chunks), numbers=numbers).values(program, what).astype(kind)


KINDS: dict[str, type[Arrays]] = {"numpy": NumpyArrays, "torch": TorchArrays, "jax": JaxArrays, "dask": DaskArrays}
