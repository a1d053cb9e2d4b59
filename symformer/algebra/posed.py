"""A question as it is posed: a model with some sizes given, some that follow others, and some left open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sympy import Expr, Symbol

from ..architectures import composed
from ..formulas.formula import Formula
from ..language.errors import OptionError, SizeError
from ..language.notation.text import text
from ..language.sizes import sized
from ..language.symbols import letter, symbol
from ..models.model import Model
from ..quantities import quantity as find_quantity

Given = Mapping[str, int | Expr] | None
Where = Mapping[str, str | Expr] | None


@dataclass(frozen=True)
class Posed:
    """A model whose open sizes are symbols in its formulas."""

    model: Model
    formulas: tuple[Formula, ...]
    follows: Mapping[Symbol, Expr]  # the sizes that were said to follow others

    @classmethod
    def of(
        cls,
        target: Model | str,
        open_sizes: Iterable[str],
        quantities: Sequence[str],
        given: Given,
        where: Where,
        conventions: Mapping[str, str],
    ) -> Posed:
        """Raises SizeError, OptionError and UnknownNameError for what does not fit together."""
        try:
            import numpy  # noqa: F401
        except ImportError:
            raise OptionError("this needs numpy; pip install numpy, or pip install symformer[sweep]") from None
        model = composed(target) if isinstance(target, str) else target
        names = tuple(open_sizes)
        fixed = {name: sized(symbol(name), value) for name, value in {**(given or {}), **(where or {})}.items()}
        for name in names:
            if name in fixed:
                raise SizeError(f"{name} is left open, and given as {text(fixed[name])}; keep one")
        free = {name: symbol(name) for name in names if symbol(name) in model.settable}
        model = model.set({**fixed, **free}) if fixed or free else model
        formulas = []
        for name in quantities:
            known = find_quantity(name).choices
            own = {key: value for key, value in conventions.items() if key in known}
            formulas.append(model.formula(name, **own))
        for name in names:
            _concerns(symbol(name), formulas, model)
        model.asked_by(formulas)
        relations = {size: value for each in formulas for size, value in each.relations.items()}
        follows = {
            size: relations[size]
            for size in map(symbol, where or {})
            if size in relations and not relations[size].is_number
        }
        return cls(model, tuple(formulas), follows)


def _concerns(size: Symbol, formulas: Sequence[Formula], model: Model) -> None:
    """Raise SizeError for a size that changes nothing of what is asked for, or that others add up to."""
    for each in formulas:
        if size in each.totals:
            raise SizeError(f"{size} is {text(each.relations[size])} in {each.id}; go over those")
    if not any(size in each.takes for each in formulas):
        ids = " and ".join(each.id for each in formulas)
        what = letter(size).meaning
        raise SizeError(f"{size} changes nothing: {ids} has no {size} ({what}) in it, nor has {model.target}")
