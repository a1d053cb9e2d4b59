"""A compiled formula: whole numbers, or arrays of them, in; the same kind out, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..language.errors import SizeError, UnknownNameError
from ..language.frozen import Immutable
from .arrays import Arrays, library_of
from .program import Program


@dataclass(frozen=True, repr=False)
class Compiled(Immutable):
    """What a formula comes to at numbers, or at arrays of numpy, torch, JAX or Dask, which are broadcast.

    Before the first row is reckoned, the largest number that any step can come to is known from the largest of each
    array: where it fits 64 bits these are used, and otherwise Python's own integers, in an array of objects. A row that
    breaks a condition of the formula is refused; ``answers`` says which rows those are instead.
    """

    id: str
    program: Program
    symbols: tuple[str, ...]  # what its value needs
    takes: frozenset[str]  # and what else it can be given, which its conditions are about
    given: Mapping[str, int] = field(default_factory=dict)  # the numbers of its model, where others are not given

    def __call__(self, **sizes: Any) -> Any:
        """The values. Raises SizeError for what is no size, and for the first row that breaks a condition.

        >>> import symformer as sf
        >>> params = sf.architecture("gpt2").params.compile()
        >>> params(L=12, V=50257, P=1024, E=768)
        124439808
        >>> import numpy as np
        >>> params(L=np.arange(1, 4), V=50257, P=1024, E=768)
        array([46473216, 53561088, 60648960])
        """
        program, arrays = self._ready(sizes)
        return arrays.values(program, self.id)

    def answers(self, **sizes: Any) -> tuple[Any, Any]:
        """The values, and at which of them every condition holds: the others mean nothing."""
        program, arrays = self._ready(sizes)
        return arrays.answers(program)

    def holds(self, **sizes: Any) -> Any:
        """Where every condition of the formula holds."""
        return self.answers(**sizes)[1]

    def _ready(self, sizes: Mapping[str, Any]) -> tuple[Program, Arrays]:
        """The program with numbers put in, and the arrays. Raises SizeError, UnknownNameError."""
        for name in sizes:
            if name not in self.takes:
                raise UnknownNameError(f"size of {self.id}", name, sorted(self.takes))
        known = {name: number for name, number in self.given.items() if name not in sizes}
        if missing := [name for name in self.symbols if name not in known and name not in sizes]:
            raise SizeError(f"{self.id} needs a number for {', '.join(missing)}")
        arrays = library_of(sizes)
        program = self.program.concerned(frozenset({*known, *sizes}))
        numbers = {**known, **arrays.numbers}
        return program.at(numbers), replace(arrays, numbers=numbers)

    def __repr__(self) -> str:
        return f"<{self.id} of {', '.join(self.symbols)}>" if self.symbols else f"<{self.id}>"
