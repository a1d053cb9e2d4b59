"""Comparison of a lifted ledger's formulas with torch, row by row at fresh points."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

from sympy import Symbol
from torch import nn

from ...catalogue.recognized_model import OTHERWISE
from ...language.errors import SizeError, SymformerError, WitnessError
from ...language.symbols import B, C, N_new, S
from ...models.model import Model
from ..dataflow_roles import SelectedProduct
from ..dispatch_recorders import Products, Rows
from ..error_messages import sentence
from ..interpolation import Point
from ..measured_points import session
from ..row_comparison import compare_parts
from ..torch_counts import BACKWARD, FORWARD, TorchCount
from ..torch_session import Run, Session, differentiable_outputs, tensors_of
from .observations import Observation, star
from .observed_run import Calls, numbers_at

NEW = 3  # tokens to generate
ADDED = ("generation-flops",)  # here a term is a module's sum over all passes
UNRUN = "the model cannot be run this way"
FEW = 5  # tokens for an encoder
FAR = 100_003  # tokens, beyond every default window and chunk


class RecognitionCheck:
    """Comparisons of a lifted ledger's formulas with torch's counts at some points, row by row."""

    def __init__(self, model: Model, calls: Calls, points: Sequence[Point], letters: Mapping[str, Symbol]) -> None:
        self.model, self.calls = model, calls
        self.owners = {weight.path: entry.path for _, entry in model.ledger for weight in entry.weights}
        self.said: dict[str, str] = {}  # for each quantity why it is refused, or "" if all points agree
        for point in points:
            self.at(point, {**numbers_at(point, letters), **({C: point["C"]} if "C" in point else {})})

    def hold(
        self, quantity: str, numbers: Mapping[Symbol, int], count: Callable[[], TorchCount], **ways: str
    ) -> TorchCount | None:
        """Return torch's count of a quantity at one point if the formula agrees row by row, or else None."""
        if self.said.get(quantity):
            return None
        found = None
        try:
            formula = self.model.formula(quantity, **ways)
            found = count()
            differences = compare_parts(formula, dict(numbers), found, added=quantity in ADDED)
            if not found.total:
                raise WitnessError("torch counted nothing")
            why = f"{OTHERWISE}: {differences[0]}" if differences else ""
        except SymformerError as error:
            why = str(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # any error of the traced code
            why = f"{UNRUN}: {sentence(error)}"
        self.said[quantity] = why
        return None if why else found

    def at(self, point: Point, numbers: dict[Symbol, int]) -> None:
        """Compare all quantities at one more point."""
        at = session(self.calls.build, point)

        def run(**facts: Any) -> Run:
            return lambda model: self.calls.call(model, point, **facts)

        self.hold("params", numbers, lambda: _weights({k: prod(v) for k, v in at.stored().items()}, self.owners))
        self.hold("flops", numbers, lambda: _counted(at, run()))
        self.hold("train-flops", numbers, lambda: _counted(at, run(), backward=True))
        if self.calls.cached is not None:
            self._cached(self.calls.cached, at, point, numbers)

    def _cached(
        self, caching: Callable[..., Any], at: Session, point: Point, numbers: dict[Symbol, int], new: int = NEW
    ) -> None:
        """Compare the quantities with a cache at one point and, for new tokens, generation too."""
        outputs: list[Any] = []

        def cached(**facts: Any) -> TorchCount:
            def passed(model: nn.Module) -> Any:
                outputs.append(caching(model, point, **facts))
                return outputs[-1]

            return _counted(at, passed)

        prompt = {**numbers, S: numbers[C]}
        sizes: list[int] = []

        def prefilled() -> TorchCount:
            found = cached()
            if all(getattr(outputs[-1], name, None) is None for name in ("past_key_values", "cache_params")):
                raise WitnessError("the model returns no cache")
            return found

        self.hold("prefill-flops", prompt, prefilled)

        def held() -> TorchCount:
            if not outputs:
                prefilled()
            sizes.extend(each.numel() for each in tensors_of(getattr(outputs[-1], "past_key_values", None)).values())
            return _found(Counter(2 * size for size in sizes))

        same = self.hold("kv-cache", numbers, held, dtype="bf16")
        decoded = self.hold("decode-flops", numbers, lambda: cached(after=outputs[-1]))
        if same and decoded:
            memory = Counter([2 * size for size in sizes])
            memory += Counter(2 * each.numel() for each in at.model().parameters())
            memory += Counter(4 * each.numel() for each in differentiable_outputs(outputs[-1]))
            self.hold("inference-memory", numbers, lambda: _found(memory))

        def generated() -> TorchCount:
            whole = cached(last=True)
            for _ in range(new - 1):
                whole += cached(after=outputs[-1])
            return whole

        if new:
            self.hold("generation-flops", {**prompt, N_new: new}, generated)

    def at_config(self, own: Point, letters: Mapping[str, Symbol], past: int) -> None:
        """Compare with torch at the config's own sizes and depth.

        The cache has ``own["C"]`` tokens and then, unless it is 0, ``past`` tokens, which is more than any window. A
        quantity that torch cannot run there keeps the result of the random points.
        """
        before = dict(self.said)
        numbers = numbers_at(own, letters)
        self.at(own, {**numbers, **({C: own["C"]} if "C" in own else {})})
        if past and self.calls.cached is not None:
            far = {**own, "C": past}
            self._cached(self.calls.cached, session(self.calls.build, far), far, {**numbers, C: past}, new=0)
        for quantity, why in self.said.items():
            if why.startswith(UNRUN) and before.get(quantity) == "":
                self.said[quantity] = ""

    def beyond(self, point: Point, letters: Mapping[str, Symbol]) -> str:
        """Return how a cache differs from the formula far beyond every default window, or "" if it agrees."""
        held, why = self._far(point, FAR)
        least, most = 1, FAR
        while why and most - least > 1:  # find the longest cache that the code accepts
            middle = (least + most) // 2
            shorter, _ = self._far(point, middle)
            held, least, most = (shorter, middle, most) if shorter else (held, least, middle)
        if held is None:
            return f"a cache of {FAR:,} tokens cannot be measured: {why}"
        tokens = least if why else FAR
        far = _at(point, tokens)
        sizes = Counter(2 * prod(shape) for shape in held.values())
        formula = self.model.formula("kv-cache", dtype="bf16")
        try:
            differences = compare_parts(formula, {**numbers_at(far, letters), C: tokens}, _found(sizes))
        except SizeError as error:  # the config's defaults may violate a condition of the formula
            return str(error)
        return f"after {tokens:,} tokens torch keeps other tensors: {differences[0]}" if differences else ""

    def _far(self, point: Point, tokens: int) -> tuple[Rows | None, str]:
        """Return the tensors of a cache with this many tokens, or why the code cannot fill one."""
        far = _at(point, tokens)
        assert self.calls.cached is not None
        try:
            return session(self.calls.build, far).cached(partial(self.calls.cached, point=far)), ""
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # any error of the traced code
            return None, sentence(error)


def active_weights(sight: Observation, owners: Mapping[str, str]) -> TorchCount:
    """Return the weights that a token uses: of tables of matrices, as many matrices as each token selects.

    Raises WitnessError if the experts are not selected this way.
    """
    seen = sight.seen
    tokens = sight.numbers[B] * sight.numbers.get(S, 0)
    if not tokens and (
        seen.picked or any(isinstance(role, SelectedProduct) for roles in seen.roles.values() for role in roles)
    ):
        raise WitnessError("the experts of an image are not selected per token")
    some: dict[str, int] = {}
    for (_, _, factors), roles in seen.roles.items():
        for role in roles:
            if isinstance(role, SelectedProduct):
                some[role.weight] = prod(factors) // tokens  # each selected matrix is multiplied with one token
    for path, shapes in seen.picked.items():
        some.setdefault(path, max(map(prod, shapes)) // tokens)
    for path, each in seen.stored.items():
        if path in seen.met and each.dim() == 1:
            continue  # every token reads all of it: the bias of a router
        if path not in some and "expert" in path and "shared" not in path:
            if each.dim() == 3 and any(len(f) == 4 and f[0] == len(each) for _, _, f in seen.roles):
                raise WitnessError(
                    f"the trace cannot determine how many experts a token uses, because the code multiplies every "
                    f"token by all matrices of {path}"
                )
            raise WitnessError(f"the trace cannot determine which rows of {path} a token uses")
    return _weights({path: some.get(path, each.numel()) for path, each in seen.stored.items()}, owners)


def _at(point: Point, tokens: int) -> Point:
    """Return a point with this many cached tokens, one image, and few encoder tokens."""
    return {**point, "B": 1, "B_vis": 1, "C": tokens, "S_enc": FEW}


def _weights(sizes: Mapping[str, int], owners: Mapping[str, str]) -> TorchCount:
    """Return the sizes of weights, each at the operation that stores it."""
    parts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for path, size in sizes.items():
        parts[owners.get(star(path), star(path)), FORWARD][size] += 1
    return TorchCount(sum(sizes.values()), parts, frozenset({"", *owners.values()}))


def _counted(at: Session, run: Run, backward: bool = False) -> TorchCount:
    """Return the products of a run, each in the module that ran it, and the total by torch's own counter."""
    seen = Products(at.model())
    total = at.flops(run, seen, backward=backward).get_total_flops()
    parts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for phase, tally in ((FORWARD, seen.forward), (BACKWARD, seen.backward)):
        for path, sites in tally.times.items():
            for each in sites.values():
                for factors, times in each.items():
                    parts[star(path.rpartition(".")[0]), phase][2 * prod(factors)] += times
    return TorchCount(total, parts, frozenset(star(name) for name in seen.where.ran))


def _found(values: Counter[int]) -> TorchCount:
    return TorchCount(sum(value * times for value, times in values.items()), {("", FORWARD): values}, frozenset([""]))
