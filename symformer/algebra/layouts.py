"""Layouts: the ways to split a model across devices, with the memory, bytes sent and FLOPs of the busiest device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any, NamedTuple

from ..architectures import composed_model
from ..language.errors import (
    OptionError,
    RuleError,
    SizeError,
    UnknownNameError,
    alternatives,
    it_or_each,
    needs_values,
)
from ..language.symbols import A, B, C, L, N_cp, N_dev, N_dp, N_ep, N_pp, N_tp, S, X, letter
from ..language.target import AnyTarget
from ..models.model import Model
from ..models.unused_conventions import unused_convention_notes
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Heading, Line, Paragraph, Table
from ..quantities import quantity as find_quantity
from ..quantities.communication import SEPARATE_SUMS, adds_shared_experts
from .device_memory import bytes_text, memory_bytes
from .grid import Axis
from .numpy_import import load_numpy
from .rank_amounts import REPLICATED, RankAmounts, StageAmounts, stage_sizes
from .result import Answer, Told, ignore_progress
from .row_selection import Objective, ParetoFront
from .search_goal import usable

MOST = 10**7  # layouts
SHOWN = 10
OBJECTIVES = {
    "memory": "the memory of the fullest device",
    "sent": "the bytes that the busiest device sends",
    "flops": "the FLOPs of the busiest device",
}
DEGREES = {"tp": N_tp, "pp": N_pp, "cp": N_cp, "ep": N_ep, "dp": N_dp}
SEARCHED = "layout tries all degrees itself"
CHOSEN = {"pipeline": SEARCHED, "context": SEARCHED, "expert": SEARCHED, "step": "use --train"}
CHOSEN_SIZES = {**{str(size): SEARCHED for size in (N_tp, N_pp, N_cp, N_ep, N_dp)}, "N_dev": "use --gpus"}


class Ranks(NamedTuple):
    """The degree of each kind of parallelism."""

    tp: int
    pp: int
    cp: int
    ep: int
    dp: int

    @property
    def kinds(self) -> tuple[bool, ...]:
        """Which kinds of parallelism are used."""
        return tuple(each > 1 for each in self)


@dataclass(frozen=True)
class Purpose:
    """The purpose of a layout, inference or training: its quantities and their conventions."""

    name: str
    memory: str
    flops: str
    sizes: tuple[str, ...]
    step: str  # the step of which the bytes sent and the FLOPs are counted
    conventions: Mapping[str, str]  # the defaults
    data: tuple[str, ...]  # the ZeRO stages, with several replicas
    recompute: tuple[str, ...]


INFERENCE = Purpose(
    "inference",
    "inference-memory",
    "decode-flops",
    (str(B), str(C)),
    "for decoding one token of each sequence",
    {},
    ("off",),
    ("none",),
)
TRAINING = Purpose(
    "training",
    "train-memory",
    "train-flops",
    (str(B), str(S)),
    "for one step over all sequences",
    {"recipe": "bf16", "implementation": "megatron"},
    ("off", "zero1", "zero2", "zero3"),
    ("none", "selective", "full"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Layouts(Answer):
    """The layouts of a model on devices, as :func:`symformer.layouts` returns them.

    Attributes
    ----------
    rows : Mapping[str, Sequence[Any]]
        A column for each degree of parallelism and for each amount, for every layout that the model supports; the
        layouts that fit come first, in the order of the objective.
    searched : int
        The number of layouts, including those that the model does not support.
    refused : Mapping[str, str]
        Each reason why some layouts are not supported, with the kinds of parallelism that all of these layouts use.

    """

    model: Model
    purpose: Purpose
    devices: Sequence[int]
    memory: int
    usable: int
    sizes: Mapping[str, int]
    conventions: Mapping[str, str]
    by: str
    rows: Mapping[str, Any]
    searched: int
    refused: Mapping[str, str]
    limit: int = SHOWN

    def table(self) -> dict[str, list[Any]]:
        """Return the columns of the layouts that the model supports, those that fit first."""
        return {name: [_plain(each) for each in column] for name, column in self.rows.items()}

    @property
    def count(self) -> int:
        """The number of layouts that the model supports."""
        return len(self.rows["memory"])

    @property
    def fitting(self) -> int:
        """The number of layouts that fit."""
        return int(sum(map(int, self.rows["memory"] <= self.usable))) if self.count else 0

    @cached_property
    def pareto(self) -> frozenset[int]:
        """The indices of the layouts that fit and are on the Pareto front of memory, bytes sent and FLOPs."""
        numpy = load_numpy()
        found: set[int] = set()
        devices = self.rows["devices"][: self.fitting]
        for number in dict.fromkeys(map(int, devices)):
            places = numpy.flatnonzero(devices == number)
            front = ParetoFront([Objective(name) for name in OBJECTIVES])
            columns = [self.rows[name][places] for name in OBJECTIVES]
            front.see(columns, partial(_chosen, places))
            found |= {int(place) for place in front.found["place"]}
        return frozenset(found)

    def rank_lines(self) -> list[Line]:
        """Return that amounts are per rank."""
        return [["All amounts are per device, for the device with the most."]]

    def to_json(self) -> dict[str, Any]:
        """Return the data that ``layout --json`` prints."""
        return {
            "target": self.model.target,
            "purpose": self.purpose.name,
            "devices": list(self.devices),
            "memory": self.memory,
            "usable": self.usable,
            "sizes": dict(self.sizes),
            "conventions": dict(self.conventions),
            "sorted_by": self.by,
            "searched": self.searched,
            "supported": self.count,
            "fitting": self.fitting,
            "layouts": [self._row(place) for place in range(min(self.limit, self.count))],
            "pareto": [self._row(place) for place in sorted(self.pareto)],
            "refused": dict(self.refused),
        }

    def _row(self, place: int) -> dict[str, Any]:
        found = {name: _plain(column[place]) for name, column in self.rows.items()}
        sizes = stage_sizes(self._layers, found["pp"]) if found["pp"] > 1 else [self._layers]
        return {**found, "layers": sizes, "fits": place < self.fitting}

    @property
    def _layers(self) -> int:
        return int(self.model.known.get(L, 0))

    @property
    def verdict(self) -> str:
        """The first layout that fits, or that none does."""
        if not self.count:
            micro = self.sizes.get("micro-batch", 1)
            parts = f" in micro-batches of {micro}" if micro > 1 else ""
            because = "" if self.refused else f": no degrees divide the sizes of the model and B{parts}"
            return f"the model supports no layout on these devices{because}"
        best = self._row(0)
        named = ", ".join(f"{name} {best[name]}" for name in DEGREES if best[name] > 1) or "a single device"
        if self.fitting:
            least = {"memory": "bytes on its fullest device", "sent": "bytes sent", "flops": "FLOPs"}[self.by]
            if len(self.devices) == 1:
                return f"{named} has the fewest {least}: {best[self.by]:,}"
            number = f"{best['devices']:,} device{'s' * (best['devices'] > 1)}"
            on = "" if best["devices"] == 1 else f"; on them, {named} has the fewest {least}: {best[self.by]:,}"
            return f"the fewest devices on which a layout fits: {number}{on}"
        more = bytes_text(best["memory"] - self.usable).partition(", ")[0]
        return f"no layout fits; the closest, {named}, needs {more} more per device"

    def _lines(self) -> list[Line]:
        sizes = ", ".join(f"{name} = {value:,}" for name, value in self.sizes.items())
        order = f"the fewest devices, then by {OBJECTIVES[self.by]}" if len(self.devices) > 1 else OBJECTIVES[self.by]
        memory = f"{self.memory:,} bytes ({bytes_text(self.memory)})"
        found: list[Line] = [
            [f"{_named_numbers(self.devices)} of {memory}, {self.usable:,} usable each"],
            [f"{self.purpose.name} with {sizes}; B is the number of sequences on all devices together"],
        ]
        if self.conventions:
            found.append([", ".join(f"{name}={value}" for name, value in self.conventions.items())])
        found += self._unused_conventions()
        if not self.count:
            return found
        used = [name for name in DEGREES if any(self.rows[name][: self.limit] > 1)]
        if used:
            found.append([", ".join(f"{name}: {letter(DEGREES[name]).meaning}" for name in used)])
        found += [
            [f"layouts that fit: {self.fitting:,} of {self.count:,}; sorted by {order}"],
            [
                f"bytes sent and FLOPs are {self.purpose.step}; each is of the device that has the most. "
                "* marks the fitting layouts on the Pareto front of memory, bytes sent and FLOPs"
            ],
        ]
        if "tp" in used and any(adds_shared_experts(entry) for _, entry in self.model.ledger):
            found.append([SEPARATE_SUMS])
        if self.purpose == INFERENCE and any(entry.latent for _, entry in self.model.ledger):
            found.append(
                [
                    "FLOPs include the keys and values of all cached tokens, which transformers recomputes from the "
                    "latents"
                ]
            )
        return found

    def _unused_conventions(self) -> list[Line]:
        """Return a line for each given convention that has no effect on the memory of the model."""
        quantity = find_quantity(self.purpose.memory)
        given = {name: value for name, value in self.conventions.items() if name in quantity.conventions}
        try:
            formula = self.model.formula(quantity.measure.name, **given)
        except RuleError:  # the memory of the whole model is not supported, and the refusals say why
            return []
        return [[note] for note in unused_convention_notes(self.model, formula)]

    def to_blocks(self) -> list[BriefBlock]:
        """Return the devices, a table of the first layouts, and the refusals."""
        found: list[BriefBlock] = [Heading(1, [f"{self.model.title} ({self.model.target})"])]
        found += map(Paragraph, self._lines())
        rows = [self._row(place) for place in range(min(self.limit, self.count))]
        if rows:
            found.append(self._table(rows))
        if (more := self.count - len(rows)) > 0:
            found.append(Paragraph([f"and {more:,} more layout{'s' * (more > 1)}; --limit shows more"]))
        found += [
            Paragraph([f"layouts{kinds and f' with {kinds}'} are not supported: {why}"])
            for why, kinds in self.refused.items()
        ]
        if not self.count and self.conventions.get("implementation") == "megatron":
            found.append(Paragraph(["implementation=none omits activations and supports more models"]))
        return [*found, Paragraph([self.verdict])]

    def _table(self, rows: Sequence[Mapping[str, Any]]) -> Table:
        """Return the table of some layouts, with the columns in which layouts differ."""
        several = len(self.devices) > 1
        degrees = [name for name in DEGREES if any(row[name] > 1 for row in rows)]
        choices = [name for name in ("zero", "recompute") if self.purpose == TRAINING]
        staged = "pp" in degrees
        head: list[Line] = [["devices"]] if several else []
        head += [[name] for name in (*degrees, *choices)]
        head += [["layers per stage"]] * staged + [["memory"], ["remaining"], ["bytes sent"], ["FLOPs"], [""]]
        cells: list[list[Line]] = []
        for place, row in enumerate(rows):
            left = self.usable - row["memory"]
            line = [f"{row['devices']:,}"] if several else []
            line += [f"{row[name]:,}" for name in degrees] + [str(row[name]) for name in choices]
            line += [_runs(row["layers"])] * staged
            line += [
                f"{row['memory']:,}",
                f"{left:,}" if left >= 0 else f"{bytes_text(-left).partition(', ')[0]} short",
                f"{row['sent']:,}",
                f"{row['flops']:,}",
                "*" if place in self.pareto else "",
            ]
            cells.append([[each] for each in line])
        align = "r" * (several + len(degrees)) + "l" * (len(choices) + staged) + "rrrrl"
        return Table(head, cells, align)

    def _picture(self, by: str) -> Plot:
        raise OptionError("layouts have no plot; use table(), to_json() or to_markdown()")

    def __repr__(self) -> str:
        return f"<{self.count:,} layouts of {self.model.target}: {self.verdict}>"


def layouts(
    target: Model | AnyTarget,
    *,
    devices: int | str | range | Iterable[int],
    memory: int | float | str,
    sizes: Mapping[str, int] | None = None,
    train: bool = False,
    micro_batch: int = 1,
    even: bool = False,
    by: str = "memory",
    share: str | None = None,
    reserve: int | str | None = None,
    limit: int = SHOWN,
    progress: Told = ignore_progress,
    client: Any = None,
    **conventions: str,
) -> Layouts:
    """Return the layouts of a model on devices: tensor, pipeline, context, expert and data parallelism.

    The product of the degrees is the number of devices. If the stages cannot all have the same number of layers, the
    stages before the last one get the extra layers, as in vLLM. With more tensor-parallel ranks than key/value heads,
    each rank holds a copy of one head.

    Parameters
    ----------
    target
        A model with the values of its sizes, or any target of :func:`symformer.model`.
    devices
        The number of devices; or several: ``"8,16"``, ``"1:64"``, or a range.
    memory
        The memory of one device: bytes, or text such as ``"80GiB"``.
    sizes
        The sizes of the run: B sequences on all devices together, each with C cached tokens or S tokens to train.
    train
        Whether the layouts are for training, with ZeRO stages and recomputation, instead of inference.
    micro_batch
        In training, the number of sequences in a micro-batch.
    even
        Whether to exclude layouts with stages of different sizes or copied key/value heads.
    by
        The objective: ``"memory"``, ``"sent"`` or ``"flops"``.
    share
        The usable share of the memory, such as ``"90%"``.
    reserve
        The memory to keep free within that share, such as ``"2GiB"``.
    limit
        The number of layouts to print.
    progress
        A function that is called with the number of groups of layouts done and their total.
    client
        A client of ``dask.distributed``, whose worker processes then evaluate the groups.
    **conventions
        Conventions of ``inference-memory`` or ``train-memory``; ``data`` and ``recompute`` restrict the search.

    Returns
    -------
    Layouts
        ``table()`` has a row for each layout that the model supports, with those that fit first.

    Raises
    ------
    OptionError
        If a number or the objective is out of range.
    SizeError
        If a size has no value.

    Examples
    --------
    >>> found = layouts("llama-3.1-405b", devices=16, memory="80GiB", sizes={"B": 32, "C": 8192}, even=True)
    >>> [(row["tp"], row["pp"], row["memory"]) for row in found.to_json()["layouts"] if row["fits"]]
    [(8, 2, 59193085952)]

    """
    if by not in OBJECTIVES:
        raise OptionError(f"by={by} is not supported; choose from {', '.join(OBJECTIVES)}")
    for name, number, most in (("micro_batch", micro_batch, 2**20), ("limit", limit, 10**5)):
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
            raise OptionError(f"{name}={number} is not supported; choose a whole number from 1 to {most:,}")
    if micro_batch != 1 and not train:
        raise OptionError(f"micro_batch={micro_batch} is not supported without train; decoding has no micro-batches")
    check_conventions(conventions)
    purpose = TRAINING if train else INFERENCE
    conventions = {**purpose.conventions, **conventions}
    limit_bytes = memory_bytes(memory)
    room = usable(limit_bytes, share, reserve, "bytes")
    try:
        numbers = Axis.of(str(N_dev), devices).values
    except SizeError:
        raise OptionError(
            f"devices={devices} is not supported; give a number such as 16, a list such as 8,16, or a range such as "
            "1:64"
        ) from None
    model = composed_model(target).set(sizes or {})
    for size, value in model.known.items():
        if size.name in ("C", "S") and size.name not in purpose.sizes:
            raise OptionError(f"{size}={value} has no effect on {purpose.name}; remove it" + " or --train" * train)
        if size.name in CHOSEN_SIZES:
            raise OptionError(f"{size} cannot be set for layout; {CHOSEN_SIZES[size.name]}")
    search = _Search(model, purpose, micro_batch, even, conventions, client)
    search.check_choices()
    search.check_lengths()
    rows, searched, refused = search.run(numbers, progress)
    rows = _sorted(rows, by, room)
    run = {**search.run_sizes, **({"micro-batch": micro_batch} if train else {})}
    return Layouts(model, purpose, numbers, limit_bytes, room, run, search.stated, by, rows, searched, refused, limit)


def check_conventions(conventions: Mapping[str, str]) -> None:
    """Raise OptionError for a convention that the search chooses itself."""
    for name, instead in CHOSEN.items():
        if name in conventions:
            raise OptionError(f"{name}={conventions[name]} is not supported by layout; {instead}")


@dataclass(frozen=True)
class _Search:
    """The layouts of a model for one purpose, by groups that have the same kinds of parallelism."""

    model: Model
    purpose: Purpose
    micro_batch: int
    even: bool
    conventions: Mapping[str, str]
    client: Any = None  # of dask.distributed

    @cached_property
    def run_sizes(self) -> dict[str, int]:
        """The sizes of the run. Raises SizeError if one has no value."""
        known = {str(size): int(number) for size, number in self.model.known.items()}
        if missing := [name for name in self.purpose.sizes if name not in known]:
            named = " and ".join(f"{name} ({letter(self.model_symbol(name)).meaning})" for name in missing)
            raise SizeError(f"layout needs a value for {named}; set {it_or_each(missing)}, as in --set {missing[0]}=8")
        return {name: known[name] for name in self.purpose.sizes}

    @staticmethod
    def model_symbol(name: str) -> Any:
        """Return the symbol of a size of the run."""
        return {str(size): size for size in (B, C, S)}[name]

    @property
    def stated(self) -> dict[str, str]:
        """The conventions of the memory that the answer states."""
        quantity = find_quantity(self.purpose.memory)
        given = {name: value for name, value in self.conventions.items() if name in quantity.conventions}
        try:
            shown = quantity.shown_conventions(self.model.formula(quantity.measure.name, **given))
            searched = [name for name in ("data", "recompute") if name not in self.conventions]
            return {**{name: value for name, value in shown.items() if name not in searched}, **self.conventions}
        except RuleError:  # the memory of the whole model is not supported, and the refusals say why
            return dict(self.conventions)

    def check_choices(self) -> None:
        """Raise OptionError for a ZeRO stage or a kind of recomputation that no layout has."""
        for name, choices in (("data", self.purpose.data), ("recompute", self.purpose.recompute)):
            value = self.conventions.get(name)
            if value is not None and value not in choices:
                remedy = f"choose from {', '.join(choices)}" if len(choices) > 1 else f"choose {name}={choices[0]}"
                raise OptionError(f"{name}={value} is not supported by layout for {self.purpose.name}; {remedy}")
        if self.conventions.get("implementation") == "none" and self.conventions.get("recompute", "none") != "none":
            raise OptionError(
                f"recompute={self.conventions['recompute']} has no effect with implementation=none, which counts no "
                "activations; remove one of the two"
            )

    def check_lengths(self) -> None:
        """Raise SizeError if a size has no value, or if the model does not support one, such as too many positions."""
        sizes = self.run_sizes
        try:
            given = {name: value for name, value in self.conventions.items() if name not in ("data", "recompute")}
            formula = self.model.formula(self.purpose.memory, **given)
            if missing := sorted(map(str, formula.dependencies - formula.totals - self.model.known.keys())):
                raise SizeError(needs_values("layout", missing))
            (memory, *_) = self._amounts((False,) * len(DEGREES), "off", "none")
            memory.of(1, {**sizes, "B": self.micro_batch if self.purpose == TRAINING else sizes["B"]})
        except RuleError:  # the refusals say why
            return

    def run(self, numbers: Sequence[int], progress: Told) -> tuple[dict[str, Any], int, dict[str, str]]:
        """Return the columns of the supported layouts, the number of all layouts, and the refused kinds."""
        numpy = load_numpy()
        groups: dict[tuple[bool, ...], list[tuple[int, Ranks]]] = {}
        for number in numbers:
            for ranks in self._ranks(number):
                groups.setdefault(ranks.kinds, []).append((number, ranks))
        variants = {kinds: list(self._variants(kinds)) for kinds in groups}
        searched = sum(len(found) * len(variants[kinds]) for kinds, found in groups.items())
        if searched > MOST:
            raise OptionError(f"{searched:,} layouts exceed the limit of {MOST:,}; choose fewer numbers of devices")
        tasks = [(found, kinds, *variant) for kinds, found in groups.items() for variant in variants[kinds]]
        pieces: list[dict[str, Any]] = []
        refused: dict[str, list[set[str]]] = {}
        for done, (task, piece) in enumerate(zip(tasks, self._pieces(tasks), strict=True)):
            progress(done, len(tasks))
            if isinstance(piece, str):
                refused.setdefault(piece, []).append(_kinds_used(task[1]))
            else:
                pieces.append(piece)
        names = ("devices", *Ranks._fields, "zero", "recompute", "memory", "sent", "flops")
        joined = {
            name: numpy.concatenate([piece[name] for piece in pieces]) if pieces else numpy.array([], dtype=int)
            for name in names
        }
        if self.purpose == INFERENCE:
            del joined["zero"], joined["recompute"]
        return joined, searched, {why: _least_kinds(kinds) for why, kinds in refused.items()}

    def _pieces(self, tasks: Sequence[Any]) -> Iterable[dict[str, Any] | str]:
        """Return the layouts of each group, or why it is not supported; on the workers of a client if there is one."""
        if self.client is None:
            return (self.piece(*task) for task in tasks)
        alone = replace(self, client=None)
        return list(self.client.gather(self.client.map(partial(_piece, alone), tasks, pure=False)))

    def piece(
        self, found: Sequence[tuple[int, Ranks]], kinds: tuple[bool, ...], zero: str, recompute: str
    ) -> dict[str, Any] | str:
        """Return the columns of the supported layouts of a group, or why the group is not supported."""
        numpy = load_numpy()
        degrees = map(numpy.array, zip(*(ranks for _, ranks in found), strict=True))
        columns = dict(zip(Ranks._fields, degrees, strict=True))
        devices = numpy.array([number for number, _ in found])
        try:
            memory, sent, flops, holds = self._evaluate(self._amounts(kinds, zero, recompute), columns, zero)
        except RuleError as error:
            return str(error)
        held = numpy.broadcast_to(numpy.asarray(holds, dtype=bool), devices.shape)
        piece = {"devices": devices, **columns, "memory": memory, "sent": sent, "flops": flops}
        piece = {name: numpy.broadcast_to(column, devices.shape)[held] for name, column in piece.items()}
        count = int(held.sum())
        return {**piece, "zero": numpy.full(count, zero), "recompute": numpy.full(count, recompute)}

    def _ranks(self, number: int) -> Iterator[Ranks]:
        """Yield every way to write a number of devices as a product of degrees that the model can have."""
        most = {size: int(self.model.known.get(size, 0)) for size in (A, L, X)}
        batch, contexts = self.run_sizes["B"], self.purpose == TRAINING
        for tp in _divisors(number, most[A] or number):
            for pp in _divisors(number // tp, most[L] or 1):
                if self.even and most[L] % pp:
                    continue
                for ep in _divisors(number // (tp * pp), max(most[X], 1)):
                    for cp in _divisors(number // (tp * pp * ep)) if contexts else (1,):
                        dp = number // (tp * pp * ep * cp)
                        if batch % (dp * ep) == 0:
                            yield Ranks(tp, pp, cp, ep, dp)

    def _variants(self, kinds: tuple[bool, ...]) -> Iterator[tuple[str, str]]:
        """Yield the ZeRO stages and kinds of recomputation. Stages 2 and 3 do not combine with pipeline stages."""
        _, staged, contexts, experts, data = kinds
        zeros = self.purpose.data if contexts or experts or data else ("off",)
        zeros = tuple(each for each in zeros if not staged or each in ("off", "zero1"))
        given = self.conventions.get("data")
        recomputes = self.purpose.recompute
        if self.conventions.get("implementation") == "none":
            recomputes = ("none",)
        chosen = self.conventions.get("recompute")
        for zero in zeros:
            for recompute in recomputes:
                if given in (None, zero) and chosen in (None, recompute):
                    yield zero, recompute

    def _amounts(self, kinds: tuple[bool, ...], zero: str, recompute: str) -> tuple[RankAmounts, ...]:
        """Return the memory, the communication and the FLOPs under the conventions of a group."""
        numpy = load_numpy()
        tensor, _, contexts, experts, data = kinds
        placed = {"tensor": self.conventions.get("tensor", "on")} if tensor else {}
        placed |= {"context": "on"} if contexts else {}
        placed |= {"expert": "on"} if experts else {}
        training = self.purpose == TRAINING
        sharded = {"data": zero} if zero != "off" else {}
        shared = {"data": zero if zero != "off" else "replicated" if data else "off"} if training else {}
        again = {"recompute": recompute} if recompute != "none" else {}
        given = {name: value for name, value in self.conventions.items() if name not in ("tensor", "data", "recompute")}
        for name in given:
            choices = find_quantity(self.purpose.memory).choices
            if name not in choices:
                raise UnknownNameError(f"convention of {self.purpose.memory}", name, choices)
        wanted = (
            (self.purpose.memory, {**placed, **sharded, **again}),
            ("communication", {**placed, **shared, "step": "training" if training else "decode"}),
            (self.purpose.flops, {**placed, **again}),
        )
        layers = int(self.model.known.get(L, 1))
        factor = 4 * layers * max(layers, self.run_sizes["B"])  # layers of a stage, micro-batches, and sums of these
        return tuple(
            RankAmounts(
                self.model,
                name,
                {**{k: v for k, v in given.items() if k in find_quantity(name).choices}, **own},
                numpy.maximum,
                factor,
            )
            for name, own in wanted
        )

    def _evaluate(
        self, amounts: tuple[RankAmounts, ...], ranks: Mapping[str, Any], zero: str
    ) -> tuple[Any, Any, Any, Any]:
        """Return the memory, bytes sent and FLOPs of every layout of a group, and whether it is possible."""
        memory, sent, flops = amounts
        degrees = {"N_tp": ranks["tp"], "N_cp": ranks["cp"], "N_ep": ranks["ep"], "N_dp": ranks["dp"]}
        replica = self.run_sizes["B"] // (ranks["dp"] * ranks["ep"])
        if self.purpose == INFERENCE:
            sizes = {**degrees, **self.run_sizes, "B": replica}
            bytes_needed, holds = _fullest(memory, ranks["pp"], sizes)
            bytes_sent, also = _fullest(sent, ranks["pp"], sizes)
            work, too = _fullest(flops, ranks["pp"], sizes)
            return bytes_needed, bytes_sent, work, holds & also & too & self._possible(ranks)
        micro = self.micro_batch
        possible = (replica % micro == 0) & self._possible(ranks)
        count = replica // micro
        count = count + (count == 0)
        sizes = {**degrees, **self.run_sizes, "B": micro}
        bytes_needed, holds = _fullest(memory, ranks["pp"], sizes, count)
        work, too = _fullest(flops, ranks["pp"], sizes)
        bytes_sent, also = _sent(sent, ranks["pp"], sizes, micro, count, zero)
        return bytes_needed, bytes_sent, work * count, holds & also & too & possible

    def _possible(self, ranks: Mapping[str, Any]) -> Any:
        """Return whether layouts are possible: with ``even``, no key/value head has copies."""
        found: Any = ranks["tp"] > 0
        if self.even:
            for heads in REPLICATED:
                if heads in self.model.known:
                    found = found & (self.model.known[heads] % ranks["tp"] == 0)
        return found


def _chosen(places: Any, indices: Any) -> dict[str, Any]:
    return {"place": places[indices]}


def _divisors(number: int, most: int | None = None) -> list[int]:
    """Return the divisors of a number up to a maximum, in order."""
    limit = number if most is None else min(most, number)
    return [each for each in range(1, limit + 1) if number % each == 0]


def _sorted(rows: dict[str, Any], by: str, room: int) -> dict[str, Any]:
    """Return the rows in order: those that fit first, with fewer devices first, then by the objective."""
    numpy = load_numpy()
    others = [name for name in OBJECTIVES if name != by]
    keys = [rows[name] for name in (*reversed(others), by, "devices")]
    fits = rows["memory"] <= room
    nearest = numpy.where(fits, 0, rows["memory"])  # of those that do not fit, the closest comes first
    order = numpy.lexsort([*keys, nearest, ~fits])
    return {name: column[order] for name, column in rows.items()}


def _piece(search: _Search, task: Any) -> dict[str, Any] | str:
    """Return the layouts of a group, on a worker."""
    return search.piece(*task)


def _fullest(amounts: RankAmounts, stages: Any, sizes: Mapping[str, Any], in_flight: Any = None) -> tuple[Any, Any]:
    """Return the amount on the busiest device of every layout of a group, and whether its conditions hold."""
    if int(stages.max()) == 1:
        return amounts.whole(sizes)
    found = amounts.stages(sizes)
    return _of_stages(found, stages, in_flight), found.holds


def _sent(
    amounts: RankAmounts, stages: Any, sizes: Mapping[str, Any], micro: int, count: Any, zero: str
) -> tuple[Any, Any]:
    """Return the bytes that the busiest device of every layout sends in one step of some micro-batches.

    The bytes are affine in B: activations are sent for each micro-batch, weights and gradients once. With ZeRO stage 3,
    which does not combine with pipeline stages here, weights and gradients are sent for each micro-batch too.
    """
    double = {**sizes, "B": 2 * micro}
    if int(stages.max()) == 1:
        once, holds = amounts.whole(sizes)
        if zero == "zero3":
            return count * once, holds
        return once + (count - 1) * (amounts.whole(double)[0] - once), holds
    found = amounts.stages(sizes)
    return _of_stages(found.extended(amounts.stages(double), count - 1), stages), found.holds


def _of_stages(found: StageAmounts, stages: Any, in_flight: Any = None) -> Any:
    """Return the amount of the fullest stage of every layout of a group."""
    numpy = load_numpy()
    total: Any = None
    for number in numpy.unique(stages):
        places = numpy.flatnonzero(stages == number)
        most = None if in_flight is None else in_flight[places]
        part = found.fullest(int(number), most, places)
        if total is None:
            total = numpy.zeros(stages.shape, numpy.asarray(part).dtype)
        elif numpy.asarray(part).dtype == object:  # numbers above 64 bits stay exact
            total = total.astype(object)
        total[places] = part
    return total


def _kinds_used(kinds: tuple[bool, ...]) -> set[str]:
    return {name for name, used in zip(Ranks._fields, kinds, strict=True) if used}


def _least_kinds(groups: Sequence[set[str]]) -> str:
    """Return the kinds of parallelism of groups of layouts, without groups that have all kinds of another one.

    >>> _least_kinds([{"tp"}, {"pp"}, {"tp", "pp"}]), _least_kinds([{"tp"}, {"pp", "cp"}])
    ('tp or pp', 'tp, or pp and cp')
    >>> _least_kinds([{"tp"}, set()])
    ''
    """
    least = [each for each in groups if not any(other < each for other in groups)]
    found = dict.fromkeys(" and ".join(name for name in DEGREES if name in each) for each in least)
    return ", or ".join(found) if any(" and " in each for each in found) else alternatives(found)


def _runs(sizes: Sequence[int]) -> str:
    """Return the layers of each stage: ``31, 2 × 32, 31``."""
    found = [(size, len(list(alike))) for size, alike in groupby(sizes)]
    return ", ".join(f"{count} × {size}" if count > 1 else str(size) for size, count in found)


def _named_numbers(devices: Sequence[int]) -> str:
    """Return numbers of devices: ``1 device``, ``8 or 16 devices`` or ``1 to 64 devices``."""
    first, last = devices[0], devices[-1]
    if len(devices) == 1:
        return f"{first:,} device{'s' * (first > 1)}"
    if last - first == len(devices) - 1:
        return f"{first:,} to {last:,} devices"
    if len(devices) <= 8:
        return f"{', '.join(f'{each:,}' for each in devices[:-1])} or {last:,} devices"
    return f"{len(devices):,} numbers of devices from {first:,} to {last:,}, each"


def _plain(value: Any) -> Any:
    """Return a value of an array as a Python number or text."""
    return (
        value
        if isinstance(value, int | str) and type(value) in (int, str)
        else (str(value) if isinstance(value, str) else int(value))
    )
