"""The costs of a model at a few lengths of a sequence: FLOPs, caches and memory, each exact."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ..language.errors import SizeError, SymformerError, WitnessError
from ..language.notation.text import digits, exact_text
from ..language.symbols import B, B_vis, C, P, S, S_enc
from ..models.model import Model

LENGTHS = (1_024, 8_192, 131_072)  # tokens
# The parts of a message on the model and the quantity, which the row of the table states.
_WHERE = re.compile(r"the catalogue has only params for \S+, not \S+: |\S+(?= needs values for )")
_SCALES = ("", "k", "M", "G", "T", "P", "E", "Z")


@dataclass(frozen=True)
class Cost:
    """A row of the table: a quantity of one sequence of n tokens.

    ``behind`` is how many of the n tokens are not in the cache yet, and ``per_token`` divides by n. ``whole`` is the
    title for a model whose input is not a sequence of any length, such as an image.
    """

    key: str
    title: str
    quantity: str
    unit: str
    conventions: Mapping[str, str] = field(default_factory=dict)
    behind: int = 0
    per_token: bool = False
    whole: str = ""


_SDPA = {"dtype": "bf16", "implementation": "sdpa"}
_STATES = {"recipe": "bf16", "implementation": "none"}
COSTS = (
    Cost("weights", "Weights in bf16", "weight-memory", "bytes", {"weights": "bf16"}),
    Cost("forward", "Forward FLOPs per token", "flops", "FLOPs", per_token=True, whole="Forward FLOPs"),
    Cost("decode", "FLOPs to generate the last token", "decode-flops", "FLOPs", behind=1),
    Cost("cache", "KV cache and recurrent states in bf16", "kv-cache", "bytes", {"dtype": "bf16"}),
    Cost("inference", "Weights and cache in bf16", "inference-memory", "bytes", {"weights": "bf16"}, behind=1),
    Cost("train", "Training FLOPs per token", "train-flops", "FLOPs", per_token=True, whole="Training FLOPs"),
    Cost("activations", "Activations in bf16", "activations", "bytes", _SDPA),
    Cost("states", "Weights, gradients and AdamW states", "train-memory", "bytes", _STATES),
)


@dataclass(frozen=True)
class CostRow:
    """The amounts of a cost: one for each length, or a single one that holds for every length."""

    cost: Cost
    title: str
    amounts: tuple[int | Fraction, ...]
    varies: bool  # with the length


@dataclass(frozen=True)
class CostTable:
    """The costs of a model.

    Attributes
    ----------
    lengths
        The numbers of tokens; () if no cost depends on them.
    rows
        The costs.
    refused
        The titles of the costs that the model does not have, by the reason.

    """

    lengths: tuple[int, ...]
    rows: tuple[CostRow, ...]
    refused: Mapping[str, tuple[str, ...]]


def cost_table(model: Model) -> CostTable:
    """Return the costs of a model at the lengths that its positions allow."""
    positions = model.known.get(P)
    lengths = tuple(each for each in LENGTHS if positions is None or each <= positions) or (int(positions or 1),)
    rows: list[CostRow] = []
    refused: dict[str, list[str]] = {}
    for cost in COSTS:
        try:
            rows.append(_row(model, cost, lengths))
        except SymformerError as error:
            refused.setdefault(_reason(model, error), []).append(cost.title)
    if not any(row.varies for row in rows):
        lengths = ()
    return CostTable(lengths, tuple(rows), {why: tuple(titles) for why, titles in refused.items()})


def _row(model: Model, cost: Cost, lengths: Sequence[int]) -> CostRow:
    """Return the row of a cost. Raises SymformerError if the model does not have it."""
    formula = model.formula(cost.quantity, **cost.conventions)
    sizes = {*formula.dependencies, *formula.symbols}
    varies = bool(sizes & {S, C, S_enc})
    per_token = cost.per_token and varies and B_vis not in sizes  # an image has no tokens of its own
    amounts = []
    for length in lengths if varies else lengths[:1]:
        run = {B: 1, B_vis: 1, S: length, C: length - cost.behind, S_enc: length}
        value = Fraction(formula.value(**{str(size): number for size, number in run.items() if size in sizes}))
        amounts.append(_whole(value / length if per_token else value))
    title = cost.title if per_token or not cost.whole or (varies and not cost.per_token) else cost.whole
    return CostRow(cost, title, tuple(amounts), varies)


def _whole(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


def _reason(model: Model, error: SymformerError) -> str:
    """Return the reason of a refusal as a clause."""
    if isinstance(error, WitnessError) and model.provenance.from_torch:
        return "the catalogue does not have the operations of this class"
    said = _WHERE.sub("", str(error).removeprefix(f"{model.id}: ")).strip(" .…")
    return said.partition(";")[0] if isinstance(error, SizeError) else said


def short_amount(value: int | Fraction, unit: str) -> str:
    """Return an amount that is easy to read: with a prefix, and bytes also in powers of 1,024.

    >>> short_amount(15_919_296_282_624, "FLOPs"), short_amount(2_147_483_648, "bytes"), short_amount(12, "FLOPs")
    ('15.92 TFLOPs', '2.147 GB (2.000 GiB)', '12 FLOPs')
    """
    if unit != "bytes":
        return f"{_scaled(value, 1_000)}{unit}"
    decimal = f"{_scaled(value, 1_000)}B"
    return decimal if value < 1_024 else f"{decimal} ({_scaled(value, 1_024)}B)"


def _scaled(value: int | Fraction, step: int) -> str:
    power = max((place for place in range(len(_SCALES)) if value >= step**place), default=0)
    scale = _SCALES[power].upper() + "i" if step == 1_024 and power else _SCALES[power]
    shown = digits(Fraction(value, 1) / step**power)
    if power and "." not in shown and "," not in shown and len(shown) < 4:
        shown += "." + "0" * (4 - len(shown))
    return f"{shown} {scale}"


def exact_amount(value: int | Fraction) -> str:
    """Return an amount with all digits."""
    return exact_text(value)
