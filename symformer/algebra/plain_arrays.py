"""Arrays of Python integers, for computers without NumPy: the functions of NumPy that `solve` needs, by the same names.

Arrays have one dimension, and an array of length 1 broadcasts. Integers have no limit, so their type is irrelevant.
"""

from __future__ import annotations

import itertools
import math
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

int64 = int
Operation = Callable[[Any, Any], Any]


class PlainArray:
    """A list of integers or booleans with the operators and methods of a NumPy array."""

    __slots__ = ("items",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items if isinstance(items, list) else list(items)

    @property
    def size(self) -> int:
        return len(self.items)

    @property
    def shape(self) -> tuple[int]:
        return (len(self.items),)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            return self.items[key]
        if isinstance(key, slice):
            return PlainArray(self.items[key])
        if _is_mask(key):
            return PlainArray(itertools.compress(self.items, key))
        return PlainArray(map(self.items.__getitem__, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        places = [key] if isinstance(key, int) else flatnonzero(key) if _is_mask(key) else key
        for place, each in zip(places, _items(value, len(places)), strict=True):
            self.items[place] = each

    def __add__(self, other: Any) -> PlainArray:
        return _paired(operator.add, self, other)

    def __radd__(self, other: Any) -> PlainArray:
        return _paired(operator.add, other, self)

    def __sub__(self, other: Any) -> PlainArray:
        return _paired(operator.sub, self, other)

    def __rsub__(self, other: Any) -> PlainArray:
        return _paired(operator.sub, other, self)

    def __mul__(self, other: Any) -> PlainArray:
        return _paired(operator.mul, self, other)

    def __rmul__(self, other: Any) -> PlainArray:
        return _paired(operator.mul, other, self)

    def __floordiv__(self, other: Any) -> PlainArray:
        return _paired(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> PlainArray:
        return _paired(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> PlainArray:
        return _paired(operator.mod, self, other)

    def __rmod__(self, other: Any) -> PlainArray:
        return _paired(operator.mod, other, self)

    def __and__(self, other: Any) -> PlainArray:
        return _paired(operator.and_, self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> PlainArray:
        return _paired(operator.or_, self, other)

    __ror__ = __or__

    def __eq__(self, other: object) -> PlainArray:  # type: ignore[override]
        return _paired(operator.eq, self, other)

    def __ne__(self, other: object) -> PlainArray:  # type: ignore[override]
        return _paired(operator.ne, self, other)

    def __lt__(self, other: Any) -> PlainArray:
        return _paired(operator.lt, self, other)

    def __le__(self, other: Any) -> PlainArray:
        return _paired(operator.le, self, other)

    def __gt__(self, other: Any) -> PlainArray:
        return _paired(operator.gt, self, other)

    def __ge__(self, other: Any) -> PlainArray:
        return _paired(operator.ge, self, other)

    def __neg__(self) -> PlainArray:
        return PlainArray(map(operator.neg, self.items))

    def __abs__(self) -> PlainArray:
        return PlainArray(map(abs, self.items))

    def __invert__(self) -> PlainArray:
        """Return the negation of a mask."""
        return PlainArray(map(operator.not_, self.items))

    def astype(self, kind: type) -> PlainArray:
        """Return a copy; only booleans are a type of their own."""
        return PlainArray(map(bool, self.items)) if kind is bool else self.copy()

    def copy(self) -> PlainArray:
        return PlainArray(self.items[:])

    def tolist(self) -> list[Any]:
        return self.items[:]

    def any(self) -> bool:
        return any(self.items)

    def all(self) -> bool:
        return all(self.items)

    def sum(self) -> int:
        return sum(self.items)

    def min(self) -> int:
        return int(min(self.items))

    def max(self, initial: int | None = None) -> int:
        return int(max(self.items if initial is None else itertools.chain(self.items, (initial,))))

    def argmin(self) -> int:
        return self.items.index(min(self.items))

    def nonzero(self) -> tuple[PlainArray]:
        return (flatnonzero(self),)

    def searchsorted(self, values: PlainArray, side: str = "left") -> PlainArray:
        find = bisect_left if side == "left" else bisect_right
        return PlainArray(find(self.items, each) for each in values)


def _is_mask(key: Any) -> bool:
    return isinstance(key, PlainArray) and bool(key.items) and isinstance(key.items[0], bool)


def _items(value: Any, count: int) -> Iterable[Any]:
    """Return as many items of an array or number as requested."""
    if not isinstance(value, PlainArray):
        return itertools.repeat(value, count)
    if len(value) == count:
        return value.items
    if len(value) != 1:
        raise ValueError(f"an array of length {len(value)} does not broadcast to {count}")
    return itertools.repeat(value.items[0], count)


def _count(*values: Any) -> int:
    """Return the length to which arrays and numbers broadcast."""
    lengths = {len(each) for each in values if isinstance(each, PlainArray)}
    return next(iter(lengths - {1}), 1)


def _paired(operation: Operation, a: Any, b: Any) -> PlainArray:
    count = _count(a, b)
    return PlainArray(map(operation, _items(a, count), _items(b, count)))


def asarray(value: Any, kind: type | None = None) -> PlainArray:
    if isinstance(value, PlainArray):
        return value if kind is not bool else value.astype(bool)
    return PlainArray([value] if isinstance(value, int) else value)


array = atleast_1d = asarray


def full(count: int, value: Any, kind: type | None = None) -> PlainArray:
    return PlainArray([value] * count)


def zeros(count: int, kind: type | None = None) -> PlainArray:
    return full(count, kind is not bool and 0)


def ones(count: int, kind: type | None = None) -> PlainArray:
    return full(count, kind is bool or 1)


def zeros_like(values: PlainArray) -> PlainArray:
    return zeros(len(values))


def arange(count: int) -> PlainArray:
    return PlainArray(range(count))


def broadcast_to(values: Any, shape: tuple[int]) -> PlainArray:
    return PlainArray(_items(asarray(values), shape[0]))


def flatnonzero(values: PlainArray) -> PlainArray:
    return PlainArray(itertools.compress(range(len(values)), values))


def where(mask: Any, a: Any, b: Any) -> PlainArray:
    count = _count(mask, a, b)
    items = zip(_items(mask, count), _items(a, count), _items(b, count), strict=True)
    return PlainArray([x if held else y for held, x, y in items])


def minimum(a: Any, b: Any) -> PlainArray:
    count = _count(a, b)
    return PlainArray([x if x < y else y for x, y in zip(_items(a, count), _items(b, count), strict=True)])


def maximum(a: Any, b: Any) -> PlainArray:
    count = _count(a, b)
    return PlainArray([x if x > y else y for x, y in zip(_items(a, count), _items(b, count), strict=True)])


def gcd(a: Any, b: Any) -> PlainArray:
    return _paired(math.gcd, a, b)


def clip(values: Any, low: int, high: int) -> PlainArray:
    return minimum(maximum(values, low), high)


def cumsum(values: PlainArray) -> PlainArray:
    return PlainArray(itertools.accumulate(values))


def repeat(values: PlainArray, counts: PlainArray) -> PlainArray:
    return PlainArray(itertools.chain.from_iterable(map(itertools.repeat, values, counts)))


def concatenate(arrays: Iterable[PlainArray]) -> PlainArray:
    return PlainArray(itertools.chain.from_iterable(arrays))
