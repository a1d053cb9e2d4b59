"""What fits on devices: for each weight format, a layout, the longest context and the largest batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..architectures import composed_model
from ..language.errors import OptionError, RuleError, SizeError, needs_values
from ..language.frozen import Immutable
from ..language.target import AnyTarget
from ..models.model import Model
from ..models.unused_conventions import unused_convention_notes
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Heading, Line, Paragraph, Table
from ..quantities.weight_formats.gguf import PREFIX
from .device_memory import bytes_text, memory_bytes
from .layer_split import LayerSplit
from .rank_amounts import RankAmounts
from .result import Answer, Told, ignore_progress
from .search_goal import usable

# The formats that are compared if none is named, from the most bytes to the fewest.
USUAL = (
    *("bf16", "fp8-channel", "int8", "awq", "nf4-double", "mxfp4", "nvfp4"),
    *("gguf:q8_0", "gguf:q6_k", "gguf:q5_k_m", "gguf:q4_k_m", "gguf:q3_k_m", "gguf:q2_k"),
)
MOST_DEVICES = 4096
CONTEXT = 8192  # tokens, if no context is given
LONGEST = 2**40  # the largest context or batch that is tried
_SAME = "this format is not supported"
Layout = tuple[int, int]  # tensor-parallel ranks and pipeline stages
LAYER_SPLIT = (
    "GGUF formats: the layers are divided as in llama.cpp with --split-mode layer, on devices with equal free memory; "
    "the last device has the output, and the host has the token embeddings"
)
# Conventions and sizes that the table chooses itself, and what to do instead.
LAYOUT = "fit chooses the layout itself"
CHOSEN = {
    "weights": "fit compares formats; choose them with --weights",
    **dict.fromkeys(("tensor", "pipeline", "context", "expert"), LAYOUT),
}
CHOSEN_SIZES = {
    "B": "give the batch with --batch",
    "C": "give the context with --context",
    **dict.fromkeys(("N_tp", "N_pp", "N_cp", "N_ep"), LAYOUT),
}


@dataclass(frozen=True)
class ContextFormula(Immutable):
    """The longest context in closed form, if every further token of a sequence needs the same number of bytes.

    The fullest device needs ``fixed + B*(per_sequence + per_token*C)`` bytes for C tokens, a multiple of ``block``, in
    each of B sequences. With a window, this holds once the window is full.

    Attributes
    ----------
    fixed : int
        The bytes that do not depend on the batch: the weights.
    per_sequence : int
        The bytes of a sequence that do not depend on its length: logits, recurrent states and full windows, minus a
        prefix that all sequences share.
    per_token : int
        The bytes of a token in the cache.
    block : int
        The tokens of a page of the cache.

    """

    fixed: int
    per_sequence: int
    per_token: int
    block: int = 1

    def context(self, room: int, batch: int) -> int:
        """Return the longest context of a batch.

        Parameters
        ----------
        room : int
            The usable bytes.
        batch : int
            The number of sequences.

        Returns
        -------
        int
            ``b*floor(floor((room - fixed - B*per_sequence) / (b*per_token)) / B)``.

        Examples
        --------
        >>> ContextFormula(fixed=1000, per_sequence=50, per_token=8, block=16).context(room=4000, batch=2)
        176

        """
        pages = (room - self.fixed - batch * self.per_sequence) // (self.block * self.per_token)
        return self.block * (pages // batch)


@dataclass(frozen=True)
class FittingFormat(Immutable):
    """One weight format on the devices, with the bytes on the fullest device.

    Attributes
    ----------
    weights : str
        The format.
    tensor, pipeline : int
        The layout: tensor-parallel ranks, and pipeline stages.
    weight_bytes : int
        The bytes of the weights.
    left : int
        The bytes that remain for the cache and the logits; negative if the weights alone do not fit.
    context : int | None
        The longest context at the given batch; 0 if it does not fit, None if memory does not depend on it.
    batch : int | None
        The largest batch at the given context; 0 if a single sequence does not fit, None if memory does not depend on
        it.
    needed : int
        The bytes at the given batch and context.
    missing : int
        The additional bytes that the given batch and context need; 0 if they fit.
    cap : str
        What limits the context other than memory; empty if memory is the limit.
    refused : str
        Why the format is not supported for the model; then the other fields are 0.
    host : int
        The bytes of the weights in the memory of the host, in addition to those on the devices.
    formula : ContextFormula | None
        The closed form of the longest context; None if the format does not fit, or if no such form holds.

    """

    weights: str
    tensor: int = 1
    pipeline: int = 1
    weight_bytes: int = 0
    left: int = 0
    context: int | None = 0
    batch: int | None = 0
    needed: int = 0
    missing: int = 0
    cap: str = ""
    refused: str = ""
    host: int = 0
    formula: ContextFormula | None = None

    @property
    def layout(self) -> str:
        """The layout as text."""
        return f"tp {self.tensor}, pp {self.pipeline}"


@dataclass(frozen=True, eq=False, repr=False)
class DeviceFit(Answer):
    """What fits on devices, as :func:`symformer.fit` returns it.

    ``context`` is less than ``asked``, the given context, if the model has fewer positions.
    """

    model: Model
    devices: int
    memory: int
    usable: int
    batch: int
    context: int
    asked: int
    conventions: Mapping[str, str]
    formats: tuple[FittingFormat, ...]

    def table(self) -> dict[str, list[Any]]:
        """Return a row for each format that is supported."""
        rows = self.supported
        return {
            "weights": [each.weights for each in rows],
            "layout": [each.layout for each in rows],
            "weight bytes": [each.weight_bytes for each in rows],
            "host bytes": [each.host for each in rows],
            "left": [each.left for each in rows],
            "longest context": [each.context for each in rows],
            "largest batch": [each.batch for each in rows],
            "needed": [each.needed for each in rows],
            "missing": [each.missing for each in rows],
        }

    @property
    def supported(self) -> list[FittingFormat]:
        """The formats that are supported, those with the most bytes first."""
        return [each for each in self.formats if not each.refused]

    @property
    def best(self) -> FittingFormat | None:
        """The format with the most bytes that fits at the given batch and context; None if none does."""
        return next((each for each in self.supported if not each.missing), None)

    def rank_lines(self) -> list[Line]:
        """Return that bytes are per device, if there are several."""
        if self.devices == 1:
            return []
        said = "All bytes are for the fullest device. tp: tensor-parallel ranks; pp: pipeline stages."
        chosen = "Each row has the layout with the most tensor-parallel ranks that fits, or else the closest one."
        return [[said], [chosen]]

    def to_json(self) -> dict[str, Any]:
        """Return the data that ``fit --json`` prints."""
        return {
            "target": self.model.target,
            "devices": self.devices,
            "memory": self.memory,
            "usable": self.usable,
            "batch": self.batch,
            "context": self.context,
            "conventions": dict(self.conventions),
            "formats": [
                {
                    "weights": each.weights,
                    "tensor": each.tensor,
                    "pipeline": each.pipeline,
                    "weight_bytes": each.weight_bytes,
                    "host_bytes": each.host,
                    "left": each.left,
                    "longest_context": each.context,
                    "largest_batch": each.batch,
                    "needed": each.needed,
                    "missing": each.missing,
                    "cap": each.cap or None,
                    "closed_form": _form_json(each.formula),
                }
                for each in self.supported
            ],
            "refused": {each.weights: each.refused for each in self.formats if each.refused},
        }

    def _lines(self) -> list[Line]:
        limited = (
            f", the longest that the model supports ({self.asked:,} requested)" if self.context < self.asked else ""
        )
        devices = "1 device" if self.devices == 1 else f"{self.devices:,} devices"
        found: list[Line] = [
            [f"{devices} of {self.memory:,} bytes ({bytes_text(self.memory)}), {self.usable:,} usable each"],
            [f"batch {self.batch:,}, context {self.context:,} tokens{limited}"],
            *([f"{name}={value}"] for name, value in self.conventions.items()),
            *self._unused_conventions(),
            ["includes weights, cache and logits; excludes activations and the engine's buffers"],
        ]
        limited_by_size = any(each.cap for each in self.formats)
        if not self.model.provenance.positions and not limited_by_size and any(each.context for each in self.formats):
            found.append(["the model's maximum context length is not known, so only memory limits the contexts"])
        return [*found, *self.rank_lines()]

    def _unused_conventions(self) -> list[Line]:
        """Return a line for each given convention that has no effect on the model."""
        if not self.supported:
            return []
        formula = self.model.formula("inference-memory", **{**self.conventions, "weights": "bf16"})
        return [[note] for note in unused_convention_notes(self.model, formula)]

    def _refusals(self) -> dict[str, list[str]]:
        """Return the formats that are refused, by reason."""
        found: dict[str, list[str]] = {}
        for each in self.formats:
            if each.refused:
                found.setdefault(each.refused.replace(f"weights={each.weights}", "this format"), []).append(
                    each.weights
                )
        return found

    @property
    def verdict(self) -> str:
        """The first format that fits, or that none does."""
        if self.best is not None:
            return f"the largest format that fits is {self.best.weights}" + (
                f", with {self.best.layout}" if self.devices > 1 else ""
            )
        nearest = min(self.supported, key=lambda each: each.missing, default=None)
        if nearest is None:
            number = "1 device" if self.devices == 1 else f"{self.devices:,} devices"
            return f"no format is supported for this model on {number}"
        more = bytes_text(nearest.missing).partition(", ")[0]
        return f"no format fits; the closest, {nearest.weights}, needs {more} more per device"

    def to_blocks(self) -> list[BriefBlock]:
        """Return the devices, a table of the formats, and the formats that are refused."""
        found: list[BriefBlock] = [Heading(1, [f"{self.model.title} ({self.model.target})"])]
        found += [*self.setup_blocks(), *self.format_blocks()]
        if self.best is not None and self.best.formula is not None:
            found.append(Paragraph([self._closed_form(self.best)]))
        return [*found, Paragraph([self.verdict])]

    def setup_blocks(self) -> list[BriefBlock]:
        """Return lines on the devices, the batch, the context, the conventions and the counted bytes."""
        return [*map(Paragraph, self._lines())]

    def format_blocks(self) -> list[BriefBlock]:
        """Return the table of the formats, and a line for each reason why others are refused."""
        ranks = [["tp"], ["pp"]] if self.devices > 1 else []
        head: list[Line] = [
            ["weights"],
            *ranks,
            ["weight bytes"],
            ["remaining bytes"],
            ["longest context"],
            ["largest batch"],
        ]
        rows: list[list[Line]] = [
            [
                [each.weights],
                *([[f"{each.tensor}"], [f"{each.pipeline}"]] if ranks else []),
                [f"{each.weight_bytes:,}"],
                [f"{each.left:,}"],
                [_amount(each, each.context)],
                [_amount(each, each.batch)],
            ]
            for each in self.supported
        ]
        align = "l" + "r" * (len(ranks) + 4)
        found: list[BriefBlock] = [Table(head, rows, align)] if rows else []
        found += self._host_blocks()
        caps = dict.fromkeys(each.cap for each in self.supported if each.cap)
        found += [Paragraph([f"the longest context is limited by the model: {cap}"]) for cap in caps]
        found += [
            Paragraph([f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not supported{_why(why)}"])
            for why, names in self._refusals().items()
        ]
        return found

    def _host_blocks(self) -> list[BriefBlock]:
        """Return the convention of the formats of llama.cpp, and a line on the weights that the host stores."""
        rows = [each for each in self.supported if each.host]
        if not rows:
            return []
        amounts = ", ".join(f"{each.host:,} ({each.weights})" for each in rows)
        return [
            Paragraph([LAYER_SPLIT]),
            Paragraph([f"bytes of token embeddings in the memory of the host: {amounts}"]),
        ]

    def _closed_form(self, row: FittingFormat) -> str:
        """Return the longest context of a format as an equation."""
        form = row.formula
        if form is None:
            raise AssertionError("the format has no closed form")
        sign = "-" if form.per_sequence > 0 else "+"
        sequences = f" {sign} {abs(form.per_sequence):,}·B" if form.per_sequence else ""
        pages = f"⌊({self.usable:,} - {form.fixed:,}{sequences})/{form.block * form.per_token:,}⌋"
        equal = f"⌊{pages}/B⌋" if form.block == 1 else f"{form.block}·⌊{pages}/B⌋"
        return f"longest context with {row.weights} for B sequences: C = {equal}"

    def _picture(self, by: str) -> Plot:
        from .result_plots.fit_plot import draw

        return draw(self)

    def __repr__(self) -> str:
        return f"<{self.model.target} on {self.devices} devices of {self.memory:,} bytes: {self.verdict}>"


def _why(reason: str) -> str:
    """Return a reason after "is not supported", which some reasons start with."""
    return reason.removeprefix(_SAME) if reason.startswith(_SAME) else f": {reason}"


def _form_json(found: ContextFormula | None) -> dict[str, int] | None:
    names = ("fixed", "per_sequence", "per_token", "block")
    return None if found is None else {name: getattr(found, name) for name in names}


def _amount(row: FittingFormat, most: int | None) -> str:
    """Return the longest context or the largest batch of a format."""
    if most is None:
        return "any"
    return f"{most:,}" if most else _missing(row)


def _missing(row: FittingFormat) -> str:
    return f"{bytes_text(row.missing).partition(', ')[0]} short"


def fit(
    target: Model | AnyTarget,
    *,
    devices: int = 1,
    memory: int | float | str,
    share: str | None = None,
    reserve: int | str | None = None,
    context: int = CONTEXT,
    batch: int = 1,
    weights: str | Sequence[str] = (),
    progress: Told = ignore_progress,
    **conventions: str,
) -> DeviceFit:
    """Return what fits on devices: for each weight format, a layout, the longest context and the largest batch.

    Parameters
    ----------
    target
        A model with the values of its sizes, or any target of :func:`symformer.model`.
    devices
        The number of devices.
    memory
        The memory of one device: bytes, or text such as ``"80GiB"``.
    share
        The usable share of the memory, such as ``"90%"``.
    reserve
        The memory to keep free within that share, such as ``"2GiB"``.
    context
        The context length, in tokens, for which to find the largest batch.
    batch
        The batch size for which to find the longest context.
    weights
        The formats to compare: one, or a list. By default, the format in which the model is published, and common ones.
    progress
        A function that is called with the number of formats done and their total.
    **conventions
        Conventions of ``inference-memory``, such as ``cache="fp8"`` or ``block="16"``.

    Returns
    -------
    DeviceFit
        ``formats`` has a row for each format; ``table()``, ``to_pandas()``, ``to_markdown()`` and ``to_json()`` give
        the rows.

    Raises
    ------
    OptionError
        If a number is out of range, or the share and the reserve leave nothing.
    SizeError
        If a size of the model has no value.

    Examples
    --------
    >>> found = fit("llama-3-8b", memory="24GiB", weights=["bf16", "gguf:q4_k_m"])
    >>> [(each.weights, each.context) for each in found.formats]
    [('bf16', 74072), ('gguf:q4_k_m', 159121)]
    >>> fit("llama-3-8b", memory="12GB", weights="bf16").formats[0].missing  # 16,060,522,496 of weights do not fit
    5134777344

    """
    for name, number, most in (
        ("devices", devices, MOST_DEVICES),
        ("context", context, LONGEST),
        ("batch", batch, LONGEST),
    ):
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
            raise OptionError(f"{name}={number} is not supported; choose a whole number from 1 to {most:,}")
    check_conventions(conventions)
    limit = memory_bytes(memory)
    room = usable(limit, share, reserve, "bytes")
    model = composed_model(target)
    for size, value in model.known.items():
        if size.name in CHOSEN_SIZES:
            raise OptionError(f"{size}={value} is not supported by fit; {CHOSEN_SIZES[size.name]}")
    if unset := sorted(str(each) for each in model.params.dependencies - model.known.keys()):
        raise SizeError(needs_values(model.target, unset, after=", or name a preset"))
    own = model.provenance.weights
    chosen = [weights] if isinstance(weights, str) else list(weights)
    if "symbolic" in chosen:
        raise OptionError("weights=symbolic is not supported by fit; name a format, such as bf16 or awq")
    tokens = _positions(model, context)
    formats = dict.fromkeys(chosen or [*([own] if own else []), *USUAL])
    rows = []
    for done, name in enumerate(formats):
        progress(done, len(formats))
        rows.append(_fitting(model, name, devices, room, batch, tokens, conventions))
    rows.sort(key=lambda row: -row.weight_bytes * row.tensor * row.pipeline)
    return DeviceFit(model, devices, limit, room, batch, tokens, context, conventions, tuple(rows))


def check_conventions(conventions: Mapping[str, str]) -> None:
    """Raise OptionError for a convention that the table chooses itself."""
    for name, instead in CHOSEN.items():
        if name in conventions:
            raise OptionError(f"{name}={conventions[name]} is not supported by fit; {instead}")


def _positions(model: Model, context: int) -> int:
    """Return the context, or the most tokens before the last position of the model if it has fewer."""
    if positions := model.provenance.positions:
        context = min(context, max(positions - 1, 1))
    formula = model.formula("inference-memory", weights="bf16").compile()
    names = {"B": 1} if "B" in formula.accepted_sizes else {}

    def valid(tokens: int) -> bool:
        try:
            formula(C=tokens, **names)
        except SizeError:
            return False
        return True

    if "C" not in formula.accepted_sizes or valid(context):
        return context
    return _most(valid) or context


class _Division(Protocol):
    """How devices divide a model in one format. A layout has tensor-parallel ranks and pipeline stages."""

    def layouts(self, devices: int) -> Iterable[Layout]:
        """Yield the layouts of a number of devices, the preferred ones first."""
        ...

    def weights(self, layout: Layout) -> int:
        """Return the bytes of the weights on the device that has the most of them."""
        ...

    def total(self, layout: Layout, batch: int, context: int) -> int:
        """Return the bytes on the fullest device."""
        ...

    def host(self, devices: int) -> int:
        """Return the bytes of the weights in the memory of the host."""
        ...


class _Ranks:
    """The ranks of engines with tensor parallelism and pipeline stages."""

    def __init__(self, model: Model, name: str, conventions: Mapping[str, str]) -> None:
        self._weights, self._total = {}, {}
        for tensor in (False, True):
            placed = {"weights": name, **({"tensor": "on"} if tensor else {})}
            self._weights[tensor] = RankAmounts(model, "weight-memory", placed)
            self._total[tensor] = RankAmounts(model, "inference-memory", {**conventions, **placed})

    def layouts(self, devices: int) -> Iterable[Layout]:
        """Yield the layouts of a number of devices, those with the most tensor-parallel ranks first."""
        return ((tensor, devices // tensor) for tensor in range(devices, 0, -1) if devices % tensor == 0)

    def weights(self, layout: Layout) -> int:
        tensor, pipeline = layout
        return self._weights[tensor > 1].of(pipeline, {"N_tp": tensor})

    def total(self, layout: Layout, batch: int, context: int) -> int:
        tensor, pipeline = layout
        return self._total[tensor > 1].of(pipeline, {"N_tp": tensor, "B": batch, "C": context})

    def host(self, devices: int) -> int:
        return 0


class _Layers:
    """The devices of llama.cpp, each with a range of layers."""

    def __init__(self, model: Model, name: str, conventions: Mapping[str, str]) -> None:
        self._split = LayerSplit(model, name, conventions)

    def layouts(self, devices: int) -> Iterable[Layout]:
        return ((1, devices),)

    def weights(self, layout: Layout) -> int:
        return max(self._split.weight_bytes(layout[1]))

    def total(self, layout: Layout, batch: int, context: int) -> int:
        return self._split.total(layout[1], {"B": batch, "C": context})

    def host(self, devices: int) -> int:
        return self._split.parts.embeddings


def _fitting(
    model: Model, name: str, devices: int, room: int, batch: int, context: int, conventions: Mapping[str, str]
) -> FittingFormat:
    """Return the row of a format, with the first layout that fits, or else the closest."""
    reasons: dict[str, str] = {}
    split = devices > 1 and name.startswith(PREFIX)
    division: _Division = (_Layers if split else _Ranks)(model, name, conventions)
    needed: dict[Layout, int] = {}
    for tensor, pipeline in division.layouts(devices):
        try:
            needed[tensor, pipeline] = division.total((tensor, pipeline), batch, context)
        except (SizeError, RuleError) as error:
            reasons.setdefault(str(error), f"tp {tensor}, pp {pipeline}")
            whole = model.formula("inference-memory", **{**conventions, "weights": "bf16"})
            missing = whole.dependencies - whole.totals - model.known.keys()
            if unset := sorted(str(size) for size in missing if size.name not in ("B", "C")):
                raise SizeError(needs_values(model.target, unset)) from None
    if needed:
        least = min(needed, key=lambda layout: needed[layout])
        layout = next((layout for layout, size in needed.items() if size <= room), least)
        block, positions = _page(model, name, conventions), model.provenance.positions
        row = _row(name, division, layout, needed[layout], room, batch, context, block, positions)
        return replace(row, host=division.host(devices))
    if len(reasons) == 1:
        return FittingFormat(name, refused=next(iter(reasons)))
    told = [f"{layout}: {reason}" for reason, layout in reasons.items()]
    return FittingFormat(name, refused="; ".join(dict.fromkeys((told[0], told[-1]))))  # the others are in between


def _page(model: Model, name: str, conventions: Mapping[str, str]) -> int:
    """Return the tokens of a page of the cache, which an engine may choose."""
    given = {"weights": name, **conventions}
    page = model.formula("inference-memory", **given).conventions.get("block", "1")
    return int(page) if page.isdigit() else 1


def _row(
    name: str,
    division: _Division,
    layout: Layout,
    needed: int,
    room: int,
    batch: int,
    context: int,
    block: int,
    positions: int,
) -> FittingFormat:
    tensor, pipeline = layout
    stored = division.weights(layout)

    def total(sequences: int, tokens: int) -> int:
        return division.total(layout, sequences, tokens)

    def fits(sequences: int, tokens: int) -> bool:
        try:
            return total(sequences, tokens) <= room
        except SizeError:  # too few tokens for a group of compressed keys, or more than the model has positions
            return tokens < context

    longest = _most(lambda tokens: fits(batch, tokens))
    cap = ""
    if longest:
        try:
            total(batch, longest + 1)
        except SizeError as error:
            longest, cap = (longest, str(error)) if longest >= context else (0, "")
    found = longest
    if positions and longest is not None and longest >= positions:
        told = f"its config has {positions:,} positions (max_position_embeddings), one of them for the next token"
        longest, cap = positions - 1, cap or told
    most = _most(lambda sequences: fits(sequences, context))
    row = FittingFormat(
        name, tensor, pipeline, stored, room - stored, longest, most, needed, max(0, needed - room), cap
    )
    if not found or needed > room:
        return row
    return replace(row, formula=_context_formula(total, room, batch, found, block))


def _context_formula(
    total: Callable[[int, int], int], room: int, batch: int, longest: int, block: int
) -> ContextFormula | None:
    """Return the closed form around the longest context, or None if it does not give that context."""
    end = max(longest // block, 1) * block
    before, here, more = total(batch, max(end - block, 1)), total(batch, end), total(batch + 1, end)
    per_token, odd = divmod(here - before, batch * block)
    if odd or per_token <= 0:
        return None
    per_sequence = more - here - per_token * end
    found = ContextFormula(here - batch * (more - here), per_sequence, per_token, block)
    return found if found.context(room, batch) == longest else None


def _most(fits: Callable[[int], bool]) -> int | None:
    """Return the largest number from 1 for which a limit holds; 0 if there is none, None if there is no limit."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
        if high > LONGEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
