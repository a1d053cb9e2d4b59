"""The configs of an architecture at other depths and widths, with exact formulas of their costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sympy import Add, Expr, Symbol, expand, sympify

from ..algebra.counting.counting_changes import rows_of
from ..algebra.free_sizes import FreeSizes
from ..algebra.numpy_import import array_namespace
from ..algebra.open_model import Given, OpenModel, Where
from ..algebra.row_program import compile_for_rows
from ..formulas.compiler import compiled, program
from ..formulas.formula import Formula
from ..formulas.program import Program
from ..formulas.time_bound import TimeBound
from ..language.errors import OptionError, SizeError, needs_values
from ..language.sizes import Equals
from ..language.symbols import N_bw, N_peak, letter, named_symbol, print_order
from ..ledger.facts import ROUTING, OperationKind
from ..models.model import Model
from .scaling_law import GranularLaw, ScalingLaw

LENGTH = 2048  # tokens of a training sequence, if none are given
WIDTH, DEPTH = "E", "L"
SIDES = ("bytes", "FLOPs")  # of a lower bound on a time
UNITS = ("elements", "bytes", "FLOPs", "MACs")


@dataclass(frozen=True)
class ConfigFamily:
    """A model with open depth and width; its other sizes are fixed or follow from them.

    ``counted`` is the program of N as the law counts it, and ``programs`` has the programs of the quantities.
    """

    law: ScalingLaw
    posed: OpenModel
    depth: str
    counted: Program
    programs: Mapping[str, Program]
    numbers: Mapping[str, int]
    own: Mapping[str, int]  # the depth and the width of the target itself
    kinds: int = 1  # the layers of all kinds per unit of the depth
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # the bandwidth and the peak of each time
    free: FreeSizes = field(default_factory=lambda: FreeSizes((), {}))  # sizes that occur only in conditions

    @classmethod
    def of(
        cls,
        model: Model,
        law: ScalingLaw,
        quantities: Sequence[str],
        sizes: Given,
        relations: Where,
        conventions: Mapping[str, str],
        multiple: int,
    ) -> ConfigFamily:
        """Return the family of a model. Raises SizeError, OptionError, RuleError."""
        known = {str(size): number for size, number in model.known.items()}
        if WIDTH not in known:
            raise SizeError(f"{model.target} has no width of its own to start from; name a preset, such as gpt2-xl")
        given: dict[str, Any] = {model.size_name(name): value for name, value in (sizes or {}).items()}
        where: dict[str, Any] = {model.size_name(name): value for name, value in (relations or {}).items()}
        depth, others = _depths(model, {**given, **where})
        for name in (depth, WIDTH):
            if name in given or name in where:
                raise SizeError(f"{name} is searched, but also set; remove one of the two")
        where = {**others, **_proportional(known, {depth, *given, *where, *others}, multiple), **where}
        run = {"B": 1, "S": _length(model, known)}
        run["C"] = given.get("S", run["S"])
        if "P" in known and isinstance(run["C"], int):
            run["C"] = min(run["C"], known["P"] - 1)  # the next token has a position too
        used = {size for name in quantities for size in _run_sizes(model, name, conventions)}
        given = {**{name: value for name, value in run.items() if name in used and name not in where}, **given}
        posed = OpenModel.of(model, [depth, WIDTH], quantities, given, where, conventions)
        if any(formula.ranks != 1 for formula in posed.formulas):
            raise OptionError("optimum compares whole models; remove the options that divide one, such as tensor=on")
        open_sizes = {depth, WIDTH}
        programs: dict[str, Program] = {}
        numbers: dict[str, int] = {}
        bounds: dict[str, tuple[int, int]] = {}
        free = {str(size): number for size, number in posed.free.items()}
        deciding: list[Program] = []  # programs with conditions on the free sizes
        for name, formula in zip(quantities, posed.formulas, strict=True):
            sides = {name: formula}
            if isinstance(formula, TimeBound):
                sides = {
                    f"{name} {side}": each for side, each in zip(SIDES, (formula.moved, formula.work), strict=True)
                }
                rates = [posed.model.known.get(size) for size in (N_bw, N_peak)]
                if rates[0] is None or rates[1] is None:
                    raise SizeError(f"{formula.id} needs a device; give --device, such as --device h100-80gb")
                bounds[name] = rates[0], rates[1]
            elif formula.measure.unit not in UNITS:
                raise OptionError(f"{name} is a ratio, so it has no Pareto front here; choose a count, bytes or a time")
            for side, each in sides.items():
                own = compiled(each)
                fixed = {
                    size: number for size, number in own.defaults.items() if size not in open_sizes and size not in free
                }
                if lacking := [size for size in own.symbols if size not in fixed and size not in open_sizes]:
                    raise SizeError(needs_values(each.id, lacking))
                programs[side] = own.program.concerned(frozenset({*fixed, *open_sizes})).at(fixed)
                deciding.append(own.program.concerned(frozenset({*fixed, *open_sizes, *free})).at(fixed))
                numbers |= {size: fixed[size] for size in own.symbols if size in fixed}
        counted = programs["params"]
        if law.parameters == "non-embedding":
            fixed = {str(size): number for size, number in posed.model.known.items() if str(size) not in open_sizes}
            counted = program(without_embeddings(posed.formulas[quantities.index("params")])).at({**fixed, **numbers})
        if law.parameters == "flops-per-token":
            fixed = {str(size): number for size, number in posed.model.known.items() if str(size) not in open_sizes}
            training = without_embeddings(posed.formulas[quantities.index("train-flops")])
            steps = named_symbol("B") * named_symbol("S")
            counted = program(expand(training / steps)).at({**fixed, **numbers})
        ordered = sorted(numbers, key=lambda name: print_order(named_symbol(name)))
        return cls(
            law,
            posed,
            depth,
            counted,
            programs,
            {name: numbers[name] for name in ordered},
            {name: known[name] for name in (depth, WIDTH)},
            1 + sum(int(value / named_symbol(depth)) for value in others.values()),
            bounds,
            FreeSizes(deciding, free),
        )

    @property
    def aspect(self) -> Fraction:
        """The width per layer of the target itself."""
        return Fraction(self.own[WIDTH], self.own[self.depth] * self.kinds)

    def depths(self, width: int, low: Fraction, high: Fraction) -> range:
        """Return the depths of a width whose width per layer is in a range."""
        first = max(1, math.ceil(width / (high * self.kinds)))
        return range(first, math.floor(width / (low * self.kinds)) + 1)

    @property
    def length(self) -> int:
        """The tokens of a training step: of all sequences."""
        return self.numbers["S"] * self.numbers["B"]

    def rows(self, pairs: Sequence[tuple[int, int]]) -> Iterator[ConfigRow]:
        """Yield the configs of depths and widths whose conditions hold, with their exact costs."""
        xp = array_namespace()
        columns = {
            self.depth: xp.array([pair[0] for pair in pairs], xp.int64),
            WIDTH: xp.array([pair[1] for pair in pairs], xp.int64),
        }
        values: dict[str, list[Any]] = {}
        holds = [True] * len(pairs)
        for name, made in {"": self.counted, **self.programs}.items():
            value, tests = compile_for_rows(made, columns).run(columns)
            values[name] = xp.broadcast_to(value, (len(pairs),)).tolist()
            for _, held in tests:
                mask = xp.broadcast_to(xp.asarray(held, bool), (len(pairs),)).tolist()
                holds = [one and other for one, other in zip(holds, mask, strict=True)]
        mask = xp.asarray(self.free.rows(columns, len(pairs))[1], bool).tolist()
        holds = [one and other for one, other in zip(holds, mask, strict=True)]
        for name, rates in self.bounds.items():
            moved, work = (values.pop(f"{name} {side}") for side in SIDES)
            times = zip(moved, work, strict=True)
            values[name] = [max(Fraction(one, rates[0]), Fraction(other, rates[1])) for one, other in times]
        counted = values.pop("")
        for place, (layers, width) in enumerate(pairs):
            if holds[place]:
                yield ConfigRow(layers, width, counted[place], {key: each[place] for key, each in values.items()})

    def sizes(self, row: ConfigRow) -> dict[str, int]:
        """Return the depth, the width, and the sizes that follow from them."""
        chosen = {named_symbol(self.depth): row.layers, named_symbol(WIDTH): row.width}
        found = {str(size): number for size, number in chosen.items()}
        for size, value in self.posed.relations.items():
            known = {**{named_symbol(name): each for name, each in self.numbers.items()}, **chosen}
            number = sympify(value).subs(known)
            if number.is_Integer:
                found[str(size)] = int(number)
        return found


@dataclass(frozen=True)
class ConfigRow:
    """A depth and a width, with N as the law counts it and the values of the quantities."""

    layers: int
    width: int
    counted: int
    values: Mapping[str, Any]  # integers, and fractions of a second


def check_dense(model: Model, law: ScalingLaw) -> None:
    """Raise SizeError for a model that the law does not describe; a law describes dense language models."""
    if isinstance(law, GranularLaw):
        raise SizeError(
            f"{law.name} describes models of one shape, with 64*granularity experts in each layer, which "
            f"{model.target} does not have; use it without a TARGET, or krajewski2024-dense with a dense model"
        )
    entries = [entry for _, entry in model.ledger]
    if any(entry.kind in ROUTING for entry in entries):
        raise SizeError(
            f"{law.name} was fitted to dense models, but {model.target} has experts; use a dense model, or --law "
            "krajewski2024 without a TARGET"
        )
    if not any(entry.logits for entry in entries):
        raise SizeError(
            f"{law.name} describes language models, but {model.target} has no LM head; use a model with one"
        )


def without_embeddings(formula: Formula) -> Expr:
    """Return the parameters or the FLOPs of a model without its embeddings and its LM head.

    >>> import symformer as sf
    >>> without_embeddings(sf.architecture("gpt2").params).expand()
    12*E**2*L + 13*E*L + 2*E
    """
    rows = rows_of(formula)
    tables = [row.total for row in rows if row.entry.kind is OperationKind.LOOKUP or row.entry.logits]
    found = Add(formula.expr, *(-each for each in tables))
    for _ in range(3):  # relations may refer to each other
        found = found.xreplace(dict(formula.relations))
    return found


def _depths(model: Model, given: Mapping[str, object]) -> tuple[str, dict[str, Expr]]:
    """Return the size of the depth, and the other kinds of layers as multiples of it.

    Raises SizeError if the number of layers of each kind is not a multiple of the smallest.
    """
    sums = [each for each in model.constraints if isinstance(each, Equals) and str(each.size) == DEPTH]
    if not sums:
        if named_symbol(DEPTH) not in model.known:
            raise SizeError(f"{model.target} has no size {DEPTH}, so its depth cannot be searched; use a decoder")
        return DEPTH, {}
    kinds = sorted(sums[0].value.free_symbols, key=lambda size: (model.known[size], str(size)))
    open_kinds = [size for size in kinds if str(size) not in given]
    if not open_kinds:
        raise SizeError(f"{' and '.join(map(str, kinds))} are all set; leave one of them open")
    first, *others = open_kinds
    found: dict[str, Expr] = {}
    for size in others:
        times = Fraction(model.known[size], model.known[first]) if model.known[first] else Fraction(0)
        if times.denominator != 1 or times == 0:
            raise SizeError(
                f"{model.target} has {model.known[first]} and {model.known[size]} layers of two kinds; state how they "
                f"grow together, as in --where '{size} = {max(1, math.floor(times))}*{first}'"
            )
        found[str(size)] = int(times) * first
    return str(first), found


def _proportional(known: Mapping[str, int], settled: set[str], multiple: int) -> dict[str, str]:
    """Return heads and inner widths in proportion to the width, as relations."""
    found = {}
    width = known[WIDTH]
    for name, number in known.items():
        row = letter(named_symbol(name))
        if name in settled or row.growth == 0 or row.run or name == WIDTH:
            continue
        share = Fraction(number, width)
        if row.unit == "heads":
            if number > 1:
                found[name] = f"{share.numerator}*E/{share.denominator}"
        elif row.unit == "elements" and row.base in "HM":
            exact = f"{share.numerator}*E"
            found[name] = (
                exact if share.denominator == 1 else f"{multiple}*ceil({exact}/{share.denominator * multiple})"
            )
    return found


def _length(model: Model, known: Mapping[str, int]) -> int:
    limits = [LENGTH, *([known["P"]] if "P" in known else []), *filter(None, [model.provenance.positions])]
    return min(limits)


def _run_sizes(model: Model, quantity: str, conventions: Mapping[str, str]) -> set[str]:
    """Return the sizes of a run that a quantity depends on."""
    from ..quantities import quantity as find_quantity

    own = {key: value for key, value in conventions.items() if key in find_quantity(quantity).choices}
    sizes: frozenset[Symbol] = model.formula(quantity, **own).dependencies
    return {str(size) for size in sizes if letter(size).run}
