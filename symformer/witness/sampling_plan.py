"""The points at which a formula and a class are compared: enough to determine a polynomial, with a bound on the error.

All formulas of a model whose sizes are sampled alike share their points, so that one session at a point serves all.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, permutations, product

from sympy import Add, Expr, Integer, Max, Min, Mul, Symbol, cancel, ceiling, expand, floor, fraction, together

from ..architectures.base_architecture import Architecture
from ..components.base import Component
from ..formulas.formula import Formula
from ..language.errors import WitnessError
from ..language.notation.text import text
from ..language.sizes import AtMost, Divides, Numbers, Relations, evaluate_relation
from ..language.symbols import B_vis, C, J_merge, N_new, P, S, print_order
from ..ledger.facts import CARRYING, JOINED_STREAMS, ONE, POOLED, WINDOWS, Entry, OperationKind
from ..models.model import Model

TARGET = Fraction(1, 10**12)
_ELEMENTS = 2**58  # elements of one tensor: its bytes still fit a signed 64-bit integer
_MOST = 2**61  # the limit for products with further factors, for which degrees alone are not enough
_LARGEST = 2**20
# Sizes that code loops over get a few small values, enough to determine a count, and different from every depth.
KERNELS = (7, 8, 9)  # kernel sizes of a causal convolution: a count is quadratic in them
POOLS = (7, 8, 9)  # sides of a pooled image, which divide the side of the image: a count is quadratic in them
IMAGES = (1, 6)  # images that a class processes one at a time: a count is affine in them
MERGED = (7, 8, 9, 10, 11)  # sides of merged squares of patches: a count is of degree 4 in them
CLOSE = Fraction(9, 10)  # a probability of equal sizes from which the closer bound on it is worth its time
READ = (11, 13)  # tokens of a scan that reads one at a time: a count is affine in them; at least the kernel sizes
RECURRENT = (11, 13, 16)  # tokens of a recurrence, likewise, next to attention: a count is quadratic in them
WIDE = (5, 6)  # windows that are at most as wide as READ: a count is affine in them
CHUNKS = (2, 3, 5)  # chunks of a known number of tokens that code loops over: a count is quadratic in the tokens
# Residual streams: a count is cubic in them. They vary at the first depths only, because no row has both a size that
# depends on depths and one that depends on streams, and no number of copies depends on both.
WAYS = (8, 9, 10, 11)
# Tokens of the groups that a compression replaces by one entry each: with lengths that are multiples of all of them, a
# count is at most quadratic in each. The first values of two kinds differ, and one changes at a time.
GROUPS = ((7, 8, 9), (10, 11, 12))
NEW = (1, 2, 3)  # new tokens: their cache grows, so a count is quadratic in them, and three values determine it

Factors = tuple[Expr, ...]
Side = AtMost | Divides  # the branch of a min, or the condition that a ceiling rounds nothing


@dataclass(frozen=True)
class SamplingRegion:
    """A region to sample points in: one depth and one branch of every min, where a formula is a polynomial."""

    depth: Numbers
    sides: tuple[Side, ...]
    sizes: Mapping[Symbol, Expr]  # widths, heads and lengths, in fresh variables

    def spell(self, formula: Formula) -> list[str]:
        """Return the descriptions of the place in a certificate: one, or one for each number of new tokens."""
        new = new_tokens(formula) or (0,)
        depth = [f"{name}={number}" for name, number in self.depth.items()]
        sides = [
            f"{text(side.high)} ≥ {text(side.low)}" if isinstance(side, AtMost) else str(side) for side in self.sides
        ]
        return [", ".join([*depth, *([f"{N_new}={number}"] if number else []), *sides]) for number in new]


@dataclass(frozen=True)
class SamplingPlan:
    """A sampling plan: each size is a product of fresh variables, so that divisibility conditions hold."""

    places: tuple[SamplingRegion, ...]
    fresh: tuple[Symbol, ...]
    largest: int
    distinct: Fraction  # a lower bound on the probability that all sizes differ; samples with equal sizes are dropped
    degrees: Mapping[str, int]  # of each formula, by its digest
    passes: bool  # True if new tokens are among the sizes
    totals: Relations  # of the depths of models with several kinds of layers
    fewest: int = 1  # least number of tokens to read: a shorter prompt would be padded, and its sample is dropped
    few: Mapping[Symbol, tuple[int, ...]] = field(default_factory=dict)  # values of sizes of images

    def visits(self, formula: Formula, place: SamplingRegion) -> bool:
        """Return whether a formula is tested at a place: at no more values of an image size than determine it."""
        return all(place.depth[size] in few[: _degree_in(formula, size) + 1] for size, few in self.few.items())

    def once(self, formula: Formula) -> Fraction:
        """Return the probability that a wrong formula passes at one point by chance."""
        return Fraction(self.degrees[formula.digest], self.largest) / self.distinct

    def points(self, formula: Formula) -> int:
        """Return the number of points at each place for which the bound is at most TARGET."""
        points = 1
        while self.once(formula) ** points > TARGET:
            points += 1
        return points

    def bound(self, formula: Formula, points: int) -> float:
        """Return the probability that a wrong formula passes at this many points by chance."""
        return float(f"{float(self.once(formula) ** points):.2e}")

    def draw(self, source: random.Random, place: SamplingRegion) -> Numbers:
        """Return sizes that all differ, also from the numbers of new tokens, sampled uniformly.

        S and C are equal: the prompt of S tokens fills the cache, and no formula has both.
        """
        while True:
            values: dict[Symbol, Expr] = {name: Integer(source.randint(1, self.largest)) for name in self.fresh}
            values |= {size: Integer(number) for size, number in place.depth.items()}
            numbers = {size: int(expr.xreplace(values)) for size, expr in place.sizes.items()} | place.depth
            new = NEW if self.passes else ()
            if P in numbers:  # a position for every token; no formula of a run contains P
                numbers[P] += sum(numbers.get(length, 0) for length in (S, C)) + max(new, default=0)
            short = numbers.get(C, numbers.get(S, self.fewest)) < self.fewest
            if not short and len({*numbers.values()} - {*new} | {*place.depth.values()}) == len(numbers):
                if C in numbers:
                    numbers[S] = numbers[C]
                elif S in numbers:  # a state has the same size after any number of tokens, and some must be read
                    numbers[C] = numbers[S]
                numbers |= {size: evaluate_relation(size, value, numbers) for size, value in self.totals.items()}
                return {size: numbers[size] for size in sorted(numbers, key=print_order)}


def new_tokens(formula: Formula) -> tuple[int, ...]:
    """Return the numbers of new tokens at which a formula is tested, at every depth; () if it has none."""
    return NEW if N_new in formula.expanded.free_symbols else ()


def sides_of(formula: Formula) -> tuple[tuple[Side, ...], ...]:
    """Return every choice of one branch of each min, without rounding; formulas with equal choices share points."""
    return tuple(_sides(_products(formula)))


def plan(
    model: Model, formulas: Sequence[Formula], conditions: tuple[Divides | AtMost, ...], by_chunk: bool = False
) -> SamplingPlan:
    """Return one plan for formulas with the same branches. The model runs, so its activations count too.

    The samples are small enough for a scan that stores a state for each token or, with ``by_chunk``, for each chunk.
    """
    totals, fixed = model.component.totals, _fixed(model.component, formulas)
    moved = (each.moved(fixed) for each in conditions)
    conditions = tuple(each for each in moved if isinstance(each, Divides | AtMost))  # None: always satisfied
    entries = [(count.xreplace(totals), entry) for count, entry in model.ledger]
    # Sizes that cost time to run (layers, passes) get a few small values that suffice; the others are sampled.
    counts = [count.xreplace(totals) for count, _ in (*entries, *model.ledger.weights)]
    joined = [entry.output.shape for _, entry in entries if entry.function == JOINED_STREAMS]
    ways = {name for shape in joined for name in shape[1].free_symbols}
    depths = sorted({name for count in counts for name in count.free_symbols} - ways, key=print_order)
    products = [_at_values(factors, fixed) for formula in formulas for factors in _products(formula)]
    weights = [weight.shape for _, weight in model.ledger.weights]
    shapes = [tensor.shape for _, entry in entries for tensor in (*entry.inputs, entry.output)]
    tensors = [*weights, *shapes]  # and a gathered matrix for each expert that a token is routed to
    tensors += [
        (*entry.output.shape, entry.inputs[0].width) for _, entry in entries if entry.kind is OperationKind.EXPERTS
    ]
    tensors += [shape for _, entry in entries if entry.kind in CARRYING for shape in _states(entry, by_chunk)]
    tensors = [_without_ceilings(_at_values(shape, fixed)) for shape in tensors]
    needed = {name for dims in (*products, *weights, *shapes) for dim in dims for name in dim.free_symbols}
    needed |= {name for condition in conditions for name in condition.symbols}
    needed -= {*fixed}
    groups = _groups(entries)
    looped = _looped(entries, C if C in needed else S)
    few = {}
    if isinstance(model.component, Architecture) and model.component.witness.each_image:
        few = {size: values for size, values in {B_vis: IMAGES, J_merge: MERGED}.items() if size in needed}
    looped |= few
    for formula in formulas:
        _settled(formula, depths, looped | groups)
    if C in needed:
        needed -= {S}  # S and C are the same tokens
        tensors = [tuple(dim.xreplace({S: C}) for dim in shape) for shape in tensors]
        products = [tuple(dim.xreplace({S: C}) for dim in factors) for factors in products]
    widths = sorted(needed - {*depths, *totals, *looped, *groups, N_new}, key=print_order)
    fresh = {size: Symbol(f"f_{size.name}", integer=True, positive=True) for size in widths}
    sides = _sides(products)
    shorter = [_shorter(side, looped) for side in sides]
    drawn = [
        _parametrise({size: each for size, each in fresh.items() if size not in less}, (*conditions, *side), groups)
        for side, less in zip(sides, shorter, strict=True)
    ]
    degrees_in = [_Degrees(sizes, {*fresh.values()}) for sizes in drawn]
    tensors = list(dict.fromkeys(tensors))
    largest = min(_LARGEST, int(_ELEMENTS ** (1 / max(degree(shape) for degree in degrees_in for shape in tensors))))
    most = {size: Integer(max(values)) for size, values in (looped | groups).items()}
    while any(_elements(shape, {**sizes, **most}, largest) > _MOST for sizes in drawn for shape in tensors):
        largest = largest * 3 // 4
    passes = any(map(new_tokens, formulas))
    constants = len(depths) + len(looped) + len(groups) + max(map(len, shorter)) + len(fixed) + len(NEW) * passes
    apart = max(_apart([degree((size,)) for size in degree.sizes], constants, largest) for degree in degrees_in)
    fewest = max((max(values) for size, values in looped.items() if size not in (S, C, *few)), default=1)
    read = [degree((length,)) for degree in degrees_in for length in (S, C) if length in degree.sizes]
    if apart >= CLOSE:
        apart = min(apart, max(apart_in_turn(len(degree.sizes), constants, largest) for degree in degrees_in))
    apart += Fraction((fewest - 1) * max(read, default=0), largest)
    chunked = any(entry.kind is OperationKind.SCAN and entry.chunk is not None for _, entry in entries)
    if apart >= CLOSE and chunked and not by_chunk:
        return plan(model, formulas, conditions, by_chunk=True)
    if apart >= 1:
        raise WitnessError(f"{model.target} has too many sizes: samples of up to {largest} cannot keep them different")
    degrees = {
        formula.digest: max(
            degree(_at_values(factors, fixed | ({**side, S: C} if C in needed else side)))
            for side, degree in zip(_sides(_products(formula)).values(), degrees_in, strict=True)
            for factors in dict.fromkeys(_products(formula))
        )
        for formula in formulas
    }
    for formula in formulas:
        _separate(formula, {*depths}, ways)
    first, *deeper = _grid(depths, model.component, conditions)
    always = {size: int(value) for size, value in fixed.items()} | {size: values[0] for size, values in groups.items()}
    # The sizes of groups change the rows of one kind of layer, and depths only their number: both change at once.
    others = [{size: value} for size, values in groups.items() for value in values[1:]]

    def grid_of(small: Mapping[Symbol, tuple[int, ...]]) -> list[Numbers]:
        once = [values[:1] if size in ways else values for size, values in small.items()]
        grid = [
            {**depth, **dict(zip(small, values, strict=True)), **always}
            for depth, several in ((first, [*small.values()]), *((depth, once) for depth in deeper))
            for values in product(*several)
        ]
        grid += [grid[0]] * (1 + len(others) - len(grid)) if groups else []
        return [{**place, **changed} for place, changed in zip(grid, [{}, *others, *[{}] * len(grid)], strict=False)]

    places = tuple(
        SamplingRegion(place, side, sizes)
        for side, sizes, less in zip(sides, drawn, shorter, strict=True)
        for place in grid_of(looped | less)
    )
    return SamplingPlan(places, tuple(fresh.values()), largest, 1 - apart, degrees, passes, totals, fewest, few)


def _apart(degrees: Sequence[int], constants: int, largest: int) -> Fraction:
    """Return an upper bound on the probability that two of these sizes, or one and a constant, are equal."""
    pairs = sum(max(pair) for pair in combinations(degrees, 2)) + constants * sum(degrees)
    return Fraction(pairs, largest)


def apart_in_turn(sizes: int, constants: int, largest: int) -> Fraction:
    """Return a closer upper bound on the same probability: sizes sampled one after another.

    Each size is affine in a fresh variable of its own, on which none of the sizes before it depends if those with fewer
    variables come first. So it equals each of them, and each constant, with a probability of at most 1/largest.
    """
    distinct = Fraction(1)
    for place in range(sizes):
        distinct *= max(Fraction(0), 1 - Fraction(place + constants, largest))
    return 1 - distinct


def _fixed(component: Component, formulas: Sequence[Formula]) -> dict[Expr, Expr]:
    """Return the sizes that have the same value in every sample. Raises WitnessError if a formula depends on one."""
    found = component.witness.fixed if isinstance(component, Architecture) else {}
    for formula in formulas:
        for size in found:
            if formula.expanded.has(size):
                raise WitnessError(f"{formula.id} depends on {size}, which is {found[size]} in every sample")
    return {size: Integer(value) for size, value in found.items()}


def _at_values(shape: Factors, values: Mapping[Expr, Expr]) -> Factors:
    return tuple(dim.xreplace(dict(values)) for dim in shape)


def _products(formula: Formula) -> list[Factors]:
    terms = (term for _, line in formula.root.leaves() for term in line.terms)
    # A product with a max is 0 for more than one sequence, or more than one chunk of a scan.
    return [term.factors for term in terms if not any(factor.has(Max) for factor in term.factors)]


def _looped(entries: Sequence[tuple[Expr, Entry]], length: Symbol) -> dict[Symbol, tuple[int, ...]]:
    """Return the sizes that code loops over, or that bound such sizes, with the values to test."""
    found: dict[Symbol, tuple[int, ...]] = {}
    for _, entry in entries:
        if entry.kind is OperationKind.CONVOLUTION and entry.causal:
            found |= {name: KERNELS for place in entry.weights[0].shape[2:] for name in place.free_symbols}
        if entry.kind in CARRYING and entry.chunk is None:
            found[length] = READ
        if entry.kind is OperationKind.RECURRENCE and length is S:
            found[length] = RECURRENT
        if isinstance(entry.chunk, Integer) and length is S:
            found[length] = tuple(int(entry.chunk) * chunks for chunks in CHUNKS)
        if entry.function == POOLED:
            found |= dict.fromkeys(entry.output.shape[1].free_symbols, POOLS)
        if entry.function == JOINED_STREAMS:
            found |= dict.fromkeys(entry.output.shape[1].free_symbols, WAYS)
        if entry.function == WINDOWS:  # an image has many windows, so their sizes are small
            found |= dict.fromkeys(entry.output.shape[1].free_symbols, POOLS)
    return found


def _groups(entries: Sequence[tuple[Expr, Entry]]) -> dict[Symbol, tuple[int, ...]]:
    """Return the sizes of the groups of tokens that are compressed, with the values to test."""
    found = {entry.compressed for _, entry in entries if entry.kind is OperationKind.COMPRESS}
    sizes = sorted((size for size in found if isinstance(size, Symbol)), key=print_order)
    return dict(zip(sizes, GROUPS, strict=False))


def _states(entry: Entry, by_chunk: bool) -> list[tuple[Expr, ...]]:
    """Return the shapes of intermediate tensors: of a scan, a state per token or chunk, and pairs of tokens."""
    if entry.kind is OperationKind.DELTA_RULE:  # pairs of tokens in each chunk, by row of the state, and the states
        _, k, v, *_ = entry.inputs
        batch, heads, length, width = v.shape
        return [(batch, heads, length, entry.chunk or ONE, k.width), (batch, heads, k.width, width)]
    if entry.kind is OperationKind.RECURRENCE:
        return [entry.inputs[0].shape]
    x, _, write, _ = entry.inputs
    if entry.chunk is None:
        return [(*x.shape, write.width)]
    batch, heads, length, width = x.shape
    states = (Integer(2), ceiling(length / entry.chunk)) if by_chunk else (length,)
    pairs = [(length, entry.chunk), (entry.chunk, entry.chunk), (length, length)]
    return [(batch, heads, *shape) for shape in ((*states, width, write.width), *pairs)]


def _shorter(side: tuple[Side, ...], looped: Mapping[Symbol, tuple[int, ...]]) -> dict[Symbol, tuple[int, ...]]:
    """Return the windows that are at most as wide as a looped length on one branch of a min, with values to test."""
    return {each.low: WIDE for each in side if isinstance(each, AtMost) and each.high in {S, C} & looped.keys()}


def _settled(formula: Formula, depths: Sequence[Symbol], looped: Mapping[Symbol, tuple[int, ...]]) -> None:
    """Raise WitnessError if the values of depths, looped sizes and new tokens do not determine a formula."""
    for side, branch in _sides(_products(formula)).items() if looped else ():
        expr = expand(_unrounded(formula.expanded, looped).xreplace(branch))
        for name, values in {**looped, **_shorter(side, looped)}.items():
            if _degree(expr, {name}) >= len(values):
                raise WitnessError(f"{formula.id}: its degree in {name} is too high for {len(values)} values of it")
    if depths and _degree(expand(_unrounded(formula.expanded, looped)), {*depths}) > 1:
        raise WitnessError(f"{formula.id} is not affine in its depths, so two values of each do not determine it")
    if new_tokens(formula) and _degree(formula.expanded, {N_new}) > 2:
        raise WitnessError(f"{formula.id} is not quadratic in {N_new}, so three values of it do not determine it")


def _degree_in(formula: Formula, size: Symbol) -> int:
    """Return the degree of a formula in a size, at sizes where its ceilings round nothing."""
    return _degree(expand(_unrounded(formula.expanded)), {size})


def _degree(polynomial: Expr, sizes: Set[Symbol]) -> int:
    """Return the total degree of an expanded polynomial in some sizes. ``Poly`` would also order all its terms."""
    most = 0
    for term in Add.make_args(polynomial):
        powers = [factor.as_base_exp() for factor in Mul.make_args(term) if factor.free_symbols & sizes]
        if not all(base in sizes and power.is_Integer and power > 0 for base, power in powers):
            raise WitnessError(f"{term} is not a product of powers of {', '.join(sorted(map(str, sizes)))}")
        most = max(most, sum(int(power) for _, power in powers))
    return most


def _separate(formula: Formula, depths: set[Symbol], ways: set[Symbol]) -> None:
    """Raise WitnessError if a row, or its number of copies, depends both on depths and on residual streams."""
    for count, line in formula.root.leaves():
        for term in line.terms:
            for expr in (count, Mul(*term.factors)):
                if expr.free_symbols & ways and expr.xreplace(dict(formula.relations)).free_symbols & depths:
                    raise WitnessError(f"{formula.id}: {line.path} depends both on depths and on residual streams")


def _unrounded(expr: Expr, sizes: Collection[Symbol] = ()) -> Expr:
    """Return an expression at sizes where its ceilings round nothing, and at lengths that groups of tokens divide."""
    expr = expr.xreplace({each: each.args[0] for each in expr.atoms(ceiling)})
    expr = expr.xreplace(dict.fromkeys(expr.atoms(Max), Integer(0)))  # as in _products
    wholes = {each: _whole(each) for each in expr.atoms(floor) if _counts_groups(each)}
    groups = {size for each in wholes.values() for size in fraction(each)[1].free_symbols} & {*sizes}
    if not groups:
        return expr
    multiple = Mul(*groups)
    expr = expr.xreplace({each: Symbol(str(each)) for each in expr.atoms(Min)})  # on one branch, a single size
    return expand(expr.xreplace(wholes).xreplace({length: length * multiple for length in (S, C)}))


def _counts_groups(expr: Expr) -> bool:
    """Return whether an expression is the number of complete groups of tokens, of a size that a model has."""
    if not isinstance(expr, floor):
        return False
    length, group = fraction(_whole(expr))
    return length in (S, C) and bool(group.is_Symbol)


def _whole(rounded: Expr) -> Expr:
    """Return the number of complete groups of a length that they divide; fewer further tokens complete no group."""
    length, group = fraction(together(rounded.args[0]))
    return Add(*(term for term in Add.make_args(length) if term.free_symbols)) / group


def _without_ceilings(shape: Factors) -> Factors:
    """Return factors of the elements of a tensor, where nothing is rounded: windows hold the tokens of their image."""
    floors = {each: each.args[0] for dim in shape for each in dim.atoms(floor) if _counts_groups(each)}  # at least
    shape = tuple(dim.xreplace(floors) for dim in shape)
    if not any(dim.has(ceiling) for dim in shape):
        return shape
    return (cancel(_unrounded(Mul(*shape))),)


def _grid(
    depths: Sequence[Symbol], component: Component, conditions: Sequence[Divides | AtMost]
) -> tuple[Numbers, ...]:
    """Return depths that determine a count: two values of each, one depth changed at a time.

    All values in a place differ. They are small, since every layer is run, and at least two, so that the first and the
    last layer are different. A config that cannot give each number of layers has places of its own.
    """
    layers = component.fields.layers if isinstance(component, Architecture) else None
    if layers is not None and (own := layers.tested(depths)):
        return own
    bounds = [each for each in conditions if isinstance(each, AtMost) and each.symbols <= {*depths}]
    for values in permutations(range(2, 3 + len(depths)), len(depths)):
        first = dict(zip(depths, values, strict=True))
        free = [each for each in range(2, 3 + 2 * len(depths)) if each not in values]
        others = [[{**first, name: each} for each in free] for name in depths]
        kept = [next((each for each in some if _holds(bounds, each)), None) for some in others]
        if _holds(bounds, first) and all(kept):
            return (first, *(each for each in kept if each))
    raise WitnessError(f"{component.title}: no small numbers of layers satisfy its conditions")


def _holds(bounds: Sequence[AtMost], numbers: Numbers) -> bool:
    given = {name: Integer(number) for name, number in numbers.items()}
    return all(each.low.xreplace(given) <= each.high.xreplace(given) for each in bounds)


def _sides(products: list[tuple[Expr, ...]]) -> dict[tuple[Side, ...], dict[Expr, Expr]]:
    """Return every choice of one branch of each min: its conditions, and the value of the min."""
    each_factor = {each for factors in products for each in factors}
    inside = {one for each in each_factor for one in each.atoms(Min, ceiling, floor)}
    found = sorted((one for one in inside if isinstance(one, Min)), key=str)
    rounded = sorted((one for one in inside if isinstance(one, ceiling)), key=str)
    groups = sorted((one for one in inside if _counts_groups(one)), key=str)
    choices: list[list[tuple[Side, dict[Expr, Expr]]]] = []
    divided: dict[Expr, dict[Expr, Expr]] = {}
    for one in groups:
        divided.setdefault(_whole(one), {})[one] = _whole(one)
    for whole, values in divided.items():
        dividend, divisor = fraction(whole)
        choices.append([(Divides(divisor, dividend), values)])
    for one in rounded:
        dividend, divisor = fraction(one.args[0])
        choices.append([(Divides(divisor, dividend), {one: one.args[0]})])
    for least in found:
        x, y = sorted(least.args, key=lambda arg: not isinstance(arg, Symbol))
        ahead = [name for name in y.free_symbols if y - name in (0, -1)]
        if not (isinstance(x, Symbol) and ahead):
            raise WitnessError(f"{text(least)} has branches that cannot be sampled")
        (size,) = ahead
        # y is the size or one less. On the second branch x >= size; the rest is on the first.
        choices.append([(AtMost(x + size - y, size), {least: x}), (AtMost(size, x), {least: y})])
    sides = {}
    for choice in product(*choices):
        sides[tuple(side for side, _ in choice)] = {key: each for _, branch in choice for key, each in branch.items()}
    return sides


def _parametrise(
    fresh: Mapping[Symbol, Symbol], conditions: tuple[Divides | AtMost, ...], groups: Collection[Symbol] = ()
) -> dict[Symbol, Expr]:
    """Return each size as a fresh variable, multiplied by its required divisors and raised by its lower bounds.

    A length that groups of tokens divide is raised by a multiple of them.
    """

    def expr(size: Symbol) -> Expr:
        if size not in fresh:  # one of a few small values
            return size
        result: Expr = fresh[size]
        for condition in conditions:  # bounds on a quotient of the size, such as the head dimension
            if isinstance(condition, AtMost) and condition.high != size and fraction(condition.high)[0] == size:
                result = result + _put(condition.low) - 1
        divisors = [each.divisor for each in conditions if isinstance(each, Divides) and each.dividend == size]
        for place, divisor in enumerate(divisors):
            others = [*divisors[:place], *divisors[place + 1 :]]
            if not any(fraction(other / divisor)[1] == 1 and other != divisor for other in others):
                result = result * _put(divisor)
        whole = Mul(*(divisor for divisor in divisors if divisor in groups))
        for condition in conditions:
            if isinstance(condition, AtMost) and condition.high == size and condition.low not in groups:
                result = result + (_put(condition.low) - 1) * whole
        return result

    def _put(bound: Expr) -> Expr:
        return bound.xreplace({name: expr(name) for name in bound.free_symbols})

    return {size: expr(size) for size in fresh}


def _elements(shape: Sequence[Expr], sizes: Mapping[Symbol, Expr], largest: int) -> Expr:
    drawn = [dim.xreplace(dict(sizes)).xreplace(dict(sizes)) for dim in shape]  # some sizes are in others
    return Mul(*(dim.xreplace(dict.fromkeys(dim.free_symbols, Integer(largest))) for dim in drawn))


class _Degrees:
    """The degree of a product in the sampled variables; a share of a layer's copies has the depth as denominator."""

    def __init__(self, sizes: Mapping[Symbol, Expr], fresh: set[Symbol]) -> None:
        self.sizes = dict(sizes)
        self._drawn = {name for size in sizes.values() for name in size.free_symbols} & fresh
        self._found: dict[Factors, int] = {}

    def __call__(self, shape: Factors) -> int:
        if shape not in self._found:
            drawn = expand(Mul(*shape).xreplace(self.sizes))
            variables = drawn.free_symbols & self._drawn
            if not drawn.is_polynomial(*variables):  # chunks that do not divide the tokens: at most as many as tokens
                drawn = expand(fraction(cancel(drawn))[0])
            self._found[shape] = _degree(drawn, variables)
        return self._found[shape]
