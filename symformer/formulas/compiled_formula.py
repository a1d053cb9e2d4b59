"""A compiled formula, which maps integers or integer arrays to exact values of the same kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..language.aliases import Alias
from ..language.errors import SizeError, UnknownNameError
from ..language.frozen import Immutable
from .arrays import Arrays, library_of
from .program import Program


@dataclass(frozen=True, repr=False)
class Compiled(Immutable):
    """A function from integers, or from broadcast arrays of NumPy, torch, JAX or Dask, to the values of a formula.

    The maximum of each array bounds every intermediate value before the computation. If the bound fits 64 bits, 64-bit
    integers are used, otherwise object arrays of Python integers. A row that violates a condition of the formula raises
    SizeError; ``evaluate_with_mask`` returns a mask instead.
    """

    id: str
    program: Program
    symbols: tuple[str, ...]  # the sizes that its value needs
    accepted_sizes: frozenset[str]  # the sizes that it accepts, including those that only its conditions need
    defaults: Mapping[str, int] = field(default_factory=dict)  # default values from its model
    names: Mapping[str, str] = field(default_factory=dict)  # other names of its sizes -> size

    def __call__(self, **sizes: Any) -> Any:
        """Return the values of the formula.

        Parameters
        ----------
        **sizes
            An integer or an array for each size; the model's own sizes are the defaults.

        Raises
        ------
        SizeError
            If a value is not a size, or for the first row that violates a condition.

        Examples
        --------
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

    def evaluate_with_mask(self, **sizes: Any) -> tuple[Any, Any]:
        """Return the values and a mask of those for which all conditions hold; the others are meaningless."""
        program, arrays = self._ready(sizes)
        return arrays.answers(program)

    def conditions_hold(self, **sizes: Any) -> Any:
        """Return a mask of the rows for which all conditions of the formula hold."""
        return self.evaluate_with_mask(**sizes)[1]

    def _ready(self, sizes: Mapping[str, Any]) -> tuple[Program, Arrays]:
        """Return the program with integers substituted, and the arrays. Raises SizeError, UnknownNameError."""
        for name in [name for name in sizes if name in self.names]:
            if (own := self.names[name]) in sizes:
                raise SizeError(f"{own} is given twice, as {own} and as {name}; keep one")
            sizes = {own if each == name else each: value for each, value in sizes.items()}
        for name in sizes:
            if name not in self.accepted_sizes:
                raise UnknownNameError(f"size of {self.id}", name, sorted(self.accepted_sizes))
        known = {name: number for name, number in self.defaults.items() if name not in sizes}
        if missing := [name for name in self.symbols if name not in known and name not in sizes]:
            raise SizeError(f"{self.id} needs values for {', '.join(missing)}")
        arrays = library_of(sizes)
        program = self.program.concerned(frozenset({*known, *sizes}))
        numbers = {**known, **arrays.numbers}
        return program.at(numbers), replace(arrays, numbers=numbers)

    def __repr__(self) -> str:
        return f"<{self.id} of {', '.join(self.symbols)}>" if self.symbols else f"<{self.id}>"

    # Former names
    answers = Alias("evaluate_with_mask")
    holds = Alias("conditions_hold")
    given = Alias("defaults")
    takes = Alias("accepted_sizes")
