"""From what torch was seen to store and to multiply back to the operations of a ledger, which the ordinary rules count.

A lift is believed only as far as those rules then give, row by row, what torch counts at sizes that played no part.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, TypeVar, cast

from sympy import Add, Expr, Integer, Mul, Symbol, cancel

from ..components.base import Component
from ..language.errors import RuleError, WitnessError
from ..language.shapes import Shape
from ..language.sizes import AtMost, Condition
from ..language.symbols import SYMBOLS, B, C, N_new, S
from ..ledger.facts import ONE, Entry, Kind, Ledger, Mask, Tensor, Weight
from ..ledger.operations import Operations
from ..quantities.quantity import PLACEMENT, Quantity
from .roles import Chosen, Key, Linear, Mix, Roles, Scores
from .traced import Class, Traced, _Tree

T = TypeVar("T")
# What follows from the stored weights alone: products that nobody recognised store nothing.
FOLLOWS = ("trainable-params", "train-memory", "communication")
STORED = ("params", "active-params", *FOLLOWS)
LAST = {
    "decode-flops": C + 1,
    "kv-cache": C,
    "inference-memory": C,
    "generation-flops": S + N_new - 1,
}  # how many tokens a run goes over, where these are not the S that a trace is told of
_ORDER = "what an operation reads from which other is not known"
UNSEEN = {
    ("count", "all"): "a run of torch does not show what its elementwise operations are for",
    ("train", "frozen-embeddings"): _ORDER,
    ("train", "lora"): _ORDER,
    ("recompute", "full"): "which modules are layers that are computed again is not known",
    **dict.fromkeys(
        [("implementation", "eager"), ("implementation", "sdpa"), ("implementation", "megatron")],
        "what is kept of elementwise operations is not known; implementation=none leaves activations out",
    ),
}
S_ENC = SYMBOLS["S_enc"]
LENGTHS = (S, S_ENC)
Numbers = Mapping[Symbol, int]


def star(path: str) -> str:
    """A path with * for every index."""
    return ".".join("*" if word.isdigit() else word for word in path.split("."))


@dataclass(frozen=True, kw_only=True)
class Lifted(Component):
    """A model read off its code, as the operations that its rows were recognised as."""

    title: str = ""  # type: ignore[misc]
    stem: str = ""
    rows: tuple[tuple[tuple[Expr, ...], Entry], ...] = field(default=(), hash=False)  # with the copies up to each star
    conditions: tuple[Condition, ...] = ()
    maker: str = ""
    refusals: Mapping[str, str] = field(default_factory=dict, hash=False)  # what it does not answer, and why
    confirmed: Mapping[str, int] = field(default_factory=dict, hash=False)  # at how many points, by quantity
    asked: str = ""  # the quantity that its conditions are said for
    role = "model"
    shapes = "tokens[B,S] -> nothing[B,S]"

    @property
    def name(self) -> str:
        return self.stem

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]
        last = LAST.get(self.asked, S)
        return tuple(dict.fromkeys(_moved(each, last) for each in self.conditions))

    @property
    def library(self) -> str:
        return self.maker

    @property
    def about(self) -> str:
        return f"{self.title}: its operations are recognised in runs of its own code."

    def forward(self, ops: Operations, *inputs: Any) -> Any:
        raise WitnessError(f"{self.stem} is lifted from a trace; its forward is torch's")

    def answering(self, question: Quantity, given: Mapping[str, str]) -> Component:
        """Itself, for what torch was seen to count alike, under conventions that ask for nothing that nobody saw."""
        name = question.measure.name
        chosen = question.choose(given)
        usual = {convention: question.choices[convention].default for convention in chosen}
        if why := self.refusals.get(name) or self._unseen(name, chosen, usual):
            raise RuleError(f"{self.stem}: {why}")
        rows = tuple(row for row in self.rows if name not in STORED or row[1].kind is not Kind.OBSERVED)
        return replace(self, asked=name, rows=rows)

    def report(self) -> list[str]:
        """What was recognised, and what torch counts alike."""
        kinds = Counter(entry.kind.value for _, entry in self.rows)
        seen = [entry.path for _, entry in self.rows if entry.kind is Kind.OBSERVED]
        lines = [f"{len(self.rows) - len(seen)} rows of its code are recognised as operations: "]
        lines[0] += ", ".join(f"{times} {kind}" for kind, times in kinds.items() if kind != Kind.OBSERVED)
        if seen:
            lines.append(f"{len(seen)} are not, and count for the one quantity that torch saw: {', '.join(seen)}")
        for points in sorted({*self.confirmed.values()}):
            names = ", ".join(name for name, at in self.confirmed.items() if at == points)
            lines.append(f"torch counts the same, row by row, at {points} fresh random configs: {names}")
        return [*lines, *(f"{name} is refused: {why}" for name, why in self.refusals.items())]

    def _unseen(self, quantity: str, chosen: Mapping[str, str], usual: Mapping[str, str]) -> str:
        """What these conventions ask for beside what was recognised; "" for nothing."""
        if quantity not in (*self.confirmed, *FOLLOWS):
            return (
                f"{quantity} needs the elementwise operations too, and a run of torch does not show what they are for"
            )
        for convention, value in chosen.items():
            if convention in PLACEMENT:
                return f"{convention}={value}: how a model is divided among ranks is not read off its code"
            if (convention, value) in UNSEEN:
                return f"{convention}={value}: {UNSEEN[convention, value]}"
        seen = next((entry.path for _, entry in self.rows if entry.kind is Kind.OBSERVED), "")
        if seen and chosen != usual and quantity not in STORED:
            return f"{seen} was not recognised, and is known under the usual conventions only"
        kinds = [(entry.kind, entry.function, entry.logits) for _, entry in self.rows]
        if chosen.get("logits") == "last" and not any(logits for _, _, logits in kinds):
            return "logits=last: which product gives the logits was not recognised"
        if chosen.get("embedding") == "matmul" and (Kind.LOOKUP, "tokens", False) not in kinds:
            return "embedding=matmul: the table of the tokens was not recognised"
        return ""

    @cached_property
    def ledger(self) -> Ledger:
        """Its rows as a tree of modules."""
        tree = _Tree(self)
        for counts, entry in self.rows:
            tree.scope(entry.path.split("."), counts).items.append(entry)
        return Ledger(tree.root, None)


# -- recognition -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sight:
    """One run: what was seen in it, and the sizes that it had."""

    seen: Roles
    numbers: Numbers

    @cached_property
    def named(self) -> dict[Key, tuple[str, tuple[int, ...]]]:
        """The row of each product: its path with * for every index, and how often and which sizes are multiplied."""
        tally = self.seen.forward
        return {
            (path, site, factors): (star(name), (tally.times[path][site][factors], *factors))
            for name, path, site, factors in tally.named
        }


class Reader:
    """The rows of a trace, read as operations by what was seen in some runs."""

    def __init__(
        self,
        stored: Traced,
        products: Traced,
        sights: Sequence[Sight],
        real: Sight | None,
        windows: Sequence[Symbol],
        kept: Callable[[], Traced],
    ) -> None:
        self.kept = kept  # what a cache was seen to hold
        self.windows = windows  # sizes that may be the window of an attention
        self.stored, self.products, self.sights, self.real = stored, products, sights, real
        self.weights: dict[str, list[Class]] = defaultdict(list)
        for each in stored.counts:
            self.weights[each[0]].append(each)
        self.found: dict[Class, list[tuple[Sight, Key]]] = defaultdict(list)
        self.classes: dict[tuple[int, Key], Class] = {}
        for sight in (*sights, *([real] if real else [])):
            rows = {(row[0], _at(row[1], sight.numbers)): row for row in products.counts}
            for key, seen in sight.named.items():
                if row := rows.get(seen):
                    if sight is not real:
                        self.found[row].append((sight, key))
                    self.classes[id(sight), key] = row
        self.used: set[Class] = set()  # weights that some row stores already
        self.order: dict[str, float] = {}
        for name, place in sights[-1].seen.order.items():
            self.order.setdefault(star(name), place)

    def rows(self) -> tuple[tuple[tuple[Expr, ...], Entry], ...]:
        """Every row as an operation; what of the products nobody recognised stays as it was seen."""
        rows: list[tuple[float, tuple[Expr, ...], Entry]] = []
        for path, classes in self.weights.items():
            for each in classes:
                if (entry := self._table(each) or self._norm(each)) is not None:
                    rows.append((self._place(path), self.stored.counts[each], entry))
        for row in sorted(self.products.counts, key=self._ran):
            rows += [(self._ran(row), counts, entry) for counts, entry in self._product(row)]
        for path, classes in self.weights.items():
            for each in classes:
                if each not in self.used:
                    counts = self.stored.counts[each]
                    owner = path if path.endswith("*") else path.rpartition(".")[0]
                    held = Weight(*each)
                    alone = Entry(Kind.PARAMETER, owner or path, (), Tensor(path, ()), weights=(held,), module=True)
                    rows.append((self._place(path), counts, alone))
        return tuple((counts, entry) for _, counts, entry in sorted(rows, key=lambda row: row[0]))

    def _place(self, path: str) -> float:
        return self.order.get(path, len(self.order))

    def _ran(self, row: Class) -> float:
        """When a product ran first, in the last run."""
        keys = [key for sight, key in self.found[row] if sight is self.sights[-1]]
        places = [self.sights[-1].seen.order[key[0]] for key in keys]
        return min(places, default=len(self.order)) + 0.5

    # -- what no product reads -----------------------------------------------------------------------------------

    def _table(self, stored: Class) -> Entry | None:
        """A table whose rows are looked up: by what, a run with numbers tells."""
        path, shape = stored
        if self.real is None or len(shape) != 2:
            return None
        by = agreed(frozenset(kinds) for name, kinds in self.real.seen.tables.items() if star(name) == path)
        if by is None or len(by) != 1 or not by <= {"tokens", "positions", "segments"}:
            return None
        index = self._shape(
            (sight, each) for sight in self.sights for name, some in sight.seen.indices.items()
            if star(name) == path for each in some
        )  # fmt: skip
        if index is None:
            return None
        (table,) = by
        return self._entry(
            Kind.LOOKUP,
            path.rpartition(".")[0],
            (Tensor("index", index),),
            (*index, shape[1]),
            (stored,),
            function=table,
        )

    def _norm(self, stored: Class) -> Entry | None:
        """Vectors alone in their module, of which a run with numbers shows which norm they scale."""
        path, shape = stored
        module = path.rpartition(".")[0]
        if stored in self.used or self.real is None:
            return None
        function = agreed(frozenset(kinds) for name, kinds in self.real.seen.norms.items() if star(name) == module)
        read = self._shape(
            (sight, each[:-1]) for sight in self.sights for name, some in sight.seen.normed.items()
            if star(name) == module for each in some
        )  # fmt: skip
        if function is None or len(function) != 1 or "" in function or read is None:
            return None
        held = [row for row in self.stored.counts if row[0].rpartition(".")[0] == module and row[1] == shape]
        if any(self.stored.counts[row] != self.stored.counts[stored] for row in held):
            return None
        (norm,) = function
        x = Tensor("x", (*read, shape[0]), grad=ONE)
        return self._entry(Kind.NORM, module, (x,), x.shape, tuple(held), function=norm)

    def _shape(self, seen: Iterable[tuple[Sight, tuple[int, ...]]]) -> Shape | None:
        """The shape of a tensor in symbols, each axis a size of the run or of the model at every point."""
        found: Shape | None = None
        for sight, shape in seen:
            known = {number: size for size, number in reversed(list(sight.numbers.items()))}
            known |= {sight.numbers[size]: size for size in (B, *LENGTHS) if size in sight.numbers}
            known |= {sight.numbers[B] * sight.numbers[each]: B * each for each in LENGTHS if each in sight.numbers}
            axes = tuple(known.get(each, Integer(each)) for each in shape)
            if found is not None and axes != found:
                return None
            found = axes
        return found

    # -- products ------------------------------------------------------------------------------------------------

    def _product(self, row: Class) -> list[tuple[tuple[Expr, ...], Entry]]:
        path, factors = row
        counts = self.products.counts[row]
        role = agreed(self._role(sight, key) for sight, key in self.found[row])
        entry = None
        if factors[0] == 1:
            match role:
                case Linear():
                    entry = self._linear(row, role)
                case Chosen():
                    entry = self._experts(row, role)
                case Scores() | Mix():
                    scores = row if isinstance(role, Scores) else cast(Class, role.scores)
                    found = [
                        (each, self._attention(row, role, mask, window))
                        for each, mask, window in self._patterns(scores)
                    ]
                    known = [(each, entry) for each, entry in found if entry is not None]
                    if known and len(known) == len(found):
                        return known
        if entry is not None:
            return [(counts, entry)]
        output = Tensor(path, tuple(dim for dim in factors if dim != 1), grad=ONE)
        return [(counts, Entry(Kind.OBSERVED, path, (), output, measured=self.products.quantity))]

    def _role(self, sight: Sight, key: Key) -> Any:
        """The role that a product had in one run, in the terms of all."""
        roles = sight.seen.roles.get(key, {None})
        if len(roles) != 1:
            return None
        (role,) = roles
        match role:
            case Linear():
                return Linear(star(role.weight), role.out_first, star(role.bias))
            case Chosen():
                return Chosen(star(role.weight), role.out_first)
            case Scores():
                return Scores(0)
            case Mix():
                return Mix(self.classes.get((id(sight), role.scores)), 0, role.last)  # type: ignore[arg-type]
        return None

    def _linear(self, row: Class, role: Linear) -> Entry | None:
        ran = row[0].rpartition(".")[0]
        counts = self.products.counts[row]
        for stored in self.weights.get(role.weight, []):
            out, into = stored[1] if role.out_first else stored[1][::-1]
            length = _rows(row[1], into * out)
            if length is None:
                continue
            module = role.weight.rpartition(".")[0]
            own = module == ran and self.stored.counts[stored] == counts and stored not in self.used
            biases = [each for each in self.weights.get(role.bias or f"{ran}.bias", []) if each[1] == (out,)]
            x = Tensor("x", (*length, into), grad=ONE)
            held, shared = ([stored], []) if own else ([], [Weight(role.weight, (out, into))])
            for each in biases:
                mine = each[0].rpartition(".")[0] == ran and each not in self.used
                held, shared = ([*held, each], shared) if mine else (held, [*shared, Weight(*each)])
            return self._entry(
                Kind.LINEAR,
                ran,
                (x,),
                (*length, out),
                tuple(held),
                shared=tuple(shared),
                logits=self._logits(ran),
                turned=not role.out_first,
            )
        return None

    def _logits(self, path: str) -> bool:
        return any(star(name) == path for name in self.sights[-1].seen.heads)

    def _experts(self, row: Class, role: Chosen) -> Entry | None:
        counts = self.products.counts[row]
        for stored in self.weights.get(role.weight, []):
            if len(stored[1]) != 3 or self.stored.counts[stored] != counts or stored in self.used:
                continue
            out, into = stored[1][1:] if role.out_first else stored[1][:0:-1]
            length = _rows(row[1], into * out)
            if length is None or len(length) != 2:
                continue
            tokens = next((size for size in LENGTHS if length[1].has(size)), None)
            if tokens is None or (chosen := cancel(length[1] / tokens)).has(tokens):
                continue
            some = (B, tokens, chosen)
            read = (B, tokens) if self._alike(row) else some
            x, weights = Tensor("x", (*read, into), grad=ONE), Tensor("chosen", some, grad=ONE)
            return self._entry(
                Kind.EXPERTS, role.weight, (x, weights), (*some, out), (stored,), turned=not role.out_first
            )
        return None

    def _alike(self, row: Class) -> bool:
        """Whether all the matrices that a token chooses are multiplied with the same, as a run with numbers showed."""
        if self.real is None:
            return False
        tokens = prod(self.real.numbers[size] for size in (B, S))
        distinct = self.real.seen.distinct.items()
        return (
            agreed(n for key, some in distinct if self.classes.get((id(self.real), key)) == row for n in some) == tokens
        )

    def _attention(self, row: Class, role: Scores | Mix, mask: Mask, window: Expr | None) -> Entry | None:
        if len(row[1]) != 5:
            return None
        _, batch, rows, middle, columns = row[1]
        turned = isinstance(role, Mix) and role.last
        queries = batch * (columns if turned else rows)
        length = next((size for size in LENGTHS if queries.has(size)), None)
        if length is None:
            return None
        heads = cancel(queries / (B * length))
        if heads.has(length, B):
            return None
        module, _, _ = row[0].rpartition(".")
        if isinstance(role, Scores):
            keys, width = columns, middle
            groups = self._groups(row, heads, width, keys)
        else:
            keys, width = middle, (rows if turned else columns)
            groups = self._groups(row, heads, width, keys)
        if groups is None:
            return None
        stored = Tensor("k", (B, groups, keys, width), grad=ONE)
        if isinstance(role, Scores):
            q = Tensor("q", (B, heads, length, width), grad=ONE)
            return self._entry(
                Kind.SCORES, f"{module}.scores", (q, stored), (B, heads, length, keys), (), mask=mask, window=window
            )
        p = Tensor("p", (B, heads, length, keys), grad=ONE)
        return self._entry(
            Kind.MIX, f"{module}.mix", (p, stored), (B, heads, length, width), (), mask=mask, window=window
        )

    def _groups(self, row: Class, heads: Expr, width: Expr, keys: Expr) -> Expr | None:
        """The number of key/value heads: of elements that are not repeated, at every point."""
        seen: list[tuple[Numbers, int]] = []
        for sight, key in self.found[row]:
            (role,) = sight.seen.roles[key]
            elements = role.keys if isinstance(role, Scores) else cast(Mix, role).values
            each = _number(B * width * keys, sight.numbers)
            if each is None or elements % each:
                return None
            seen.append((sight.numbers, elements // each))
        module = row[0].rpartition(".")[0]
        widths = [dim for path, shape in self.stored.counts if path.startswith(f"{module}.") for dim in shape]
        sizes = sorted(self.sights[-1].numbers, key=str)
        tried = [heads, ONE, *sizes, *(cancel(dim / width) for dim in widths)]
        return next((each for each in tried if all(_number(each, at) == groups for at, groups in seen)), None)

    def _patterns(self, scores: Class) -> list[tuple[tuple[Expr, ...], Mask, Expr | None]]:
        """The masks and windows that a run with numbers showed, each with its number of layers; none where unknown."""
        if self.real is None:
            return []
        seen = self.real.seen.patterns.items()
        kinds = {frozenset(found) for key, found in seen if self.classes.get((id(self.real), key)) == scores}
        known: dict[Expr | None, Mask] = {}
        for kind in kinds:
            (pattern, *others) = kind
            if others or pattern is None:
                return []
            window = next((size for size in self.windows if self.real.numbers[size] == pattern.window), None)
            if (pattern.window and window is None) or window in known:
                return []
            known[window] = pattern.mask
        counts = self.products.counts[scores]
        if len(known) == 1:
            return [(counts, mask, window) for window, mask in known.items()]
        layers = {window: self._layers(window, known) for window in known}
        if not known or len(counts) != 1 or cancel(Add(*layers.values()) - counts[0]) != 0 or 0 in layers.values():
            return []  # a cache that keeps the same of both does not tell how many there are of each
        return [((layers[window],), mask, window) for window, mask in known.items()]

    def _layers(self, window: Expr | None, others: Iterable[Expr | None]) -> Expr:
        """The number of layers whose caches keep no more than a window does, and less than the others."""
        found = [
            counts[-1]
            for (path, shape), counts in self.kept().counts.items()
            if path.endswith(".keys") and {*shape[2].free_symbols} & {*others} == ({window} - {None})
        ]
        return Add(*found)

    def _entry(
        self, kind: Kind, path: str, inputs: tuple[Tensor, ...], shape: Shape, held: tuple[Class, ...],
        *, turned: bool = False, **facts: Any,
    ) -> Entry:  # fmt: skip
        self.used |= {*held}
        weights = tuple(
            Weight(name, each[:-2] + each[:-3:-1] if turned and len(each) > 1 else each) for name, each in held
        )
        read = tuple(replace(x, encoded=self._encoded(x.shape)) for x in inputs)
        output = Tensor(path, shape, grad=ONE, encoded=self._encoded(shape))
        return Entry(kind, path, read, output, weights=weights, **facts)

    def _encoded(self, shape: Shape) -> bool:
        """Whether nothing that a decoder reads is in a tensor of that shape, in a run in which two lengths are read."""
        return S_ENC in self.sights[-1].numbers and not any(dim.has(S) for dim in shape)


def agreed(found: Iterable[T]) -> T | None:
    """What all of them are; None where they differ, or there is none."""
    different = set(found)
    return different.pop() if len(different) == 1 else None


def _rows(factors: Shape, area: Expr) -> Shape | None:
    """The axes before the last of what a product reads, beside a matrix of that area."""
    rows = cancel(Mul(*factors[1:]) / area)
    if not rows.is_polynomial(*rows.free_symbols):
        return None
    if not rows.has(B):
        return (rows,)
    rest = cancel(rows / B)
    return (B,) if rest == 1 else (B, rest)


def _number(expr: Expr, numbers: Numbers) -> int | None:
    """A size at a point; None where it is not whole, or hangs on what is not known."""
    value = expr.xreplace({size: Integer(number) for size, number in numbers.items()})
    return int(value) if isinstance(value, Integer) else None


def _at(shape: Shape, numbers: Numbers) -> tuple[int | None, ...]:
    return tuple(_number(each, numbers) for each in shape)


def _moved(condition: Condition, last: Expr) -> Condition:
    """A bound on the tokens of a run, for a run over so many."""
    if not isinstance(condition, AtMost):
        return condition
    return replace(condition, low=condition.low.xreplace({S: last}), high=condition.high.xreplace({S: last}))
