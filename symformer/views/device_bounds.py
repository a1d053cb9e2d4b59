"""Lower bounds on times on a device: the sides of the bound, tokens per second, and the price of a million tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..devices import ChosenDevice, Device, memory_of
from ..formulas.formula import Formula
from ..formulas.time_bound import TimeBound
from ..language.errors import OptionError, quoted
from ..language.notation.text import digits, json_number, rounded, seconds
from ..language.sizes import evaluate
from ..language.symbols import N_bw, N_peak
from ..ledger.facts import ONE
from ..models.model import Model
from ..output.blocks import Line
from .summary import missing_of

# Formats whose kernels compute in the dtype of an unquantized model. Kernels of others may compute in 8 or 4 bits.
_UNQUANTIZED = ("bf16", "fp16", "fp32", "symbolic")
_PRICE = re.compile(r"\d{1,12}(?:\.\d{1,12})?", re.ASCII)
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
STORED = ("weight-memory", "inference-memory", "train-memory", "kv-cache", "activations")
MILLION, HOUR = 10**6, 3600


@dataclass(frozen=True)
class DeviceRates:
    """The bandwidth and the peak that a formula is evaluated with."""

    chosen: ChosenDevice
    bandwidth: int
    peak: int
    dtype: str  # of the peak; "" if the peak is given without a dtype

    @classmethod
    def of(cls, chosen: ChosenDevice, formula: Formula) -> DeviceRates:
        """Return the rates of a device for the dtype in which a formula's kernels may compute."""
        weights = formula.conventions.get("weights", "bf16")
        return cls(chosen, *chosen.rates("" if weights in _UNQUANTIZED else "fastest"))

    def set_in(self, model: Model, formula: Formula) -> Model:
        """Return the model with the rates that a formula depends on. Raises OptionError for one that is set too."""
        values = {size: value for size, value in ((N_bw, self.bandwidth), (N_peak, self.peak)) if _needs(formula, size)}
        if not values:
            name = formula.measure.name
            raise OptionError(f"{name} does not depend on a device; remove --device, or select decode-time with -q")
        for size in values:
            if size in model.known:
                raise OptionError(f"{size} is given twice, with --device and with --set; keep one")
        return model.set(values)

    def line(self, formula: Formula) -> Line:
        """Return a line on the device: its rates and their source."""
        shown = [rate_text(self.bandwidth, "B/s")] if _needs(formula, N_bw) else []
        shown.append(rate_text(self.peak, "FLOP/s") + (f" in {self.dtype}" if self.dtype else ""))
        device = self.chosen.device
        name = f"{device.name} ({device.title})" if device else "device"
        return [f"{name}: {', '.join(shown)}" + (f"; {device.source}" if device else "")]

    def to_json(self) -> dict[str, Any]:
        """Return the device as JSON."""
        device = self.chosen.device
        return {
            "name": device.name if device else None,
            "bandwidth": self.bandwidth,
            "peak": self.peak,
            "dtype": self.dtype or None,
            "source": device.source if device else None,
        }


@dataclass(frozen=True)
class DeviceMemory:
    """The memory that a number of bytes is compared with."""

    device: Device

    @property
    def memory(self) -> int:
        """The bytes. Raises OptionError if no source states them."""
        return memory_of(self.device.name)

    def line(self, formula: Formula) -> Line:
        """Return a line on the device: its memory and its source."""
        return [
            f"{self.device.name} ({self.device.title}): memory {rounded(self.memory, 'bytes')}; {self.device.source}"
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the device as JSON."""
        return {"name": self.device.name, "memory": self.memory, "source": self.device.source}


def on_device(chosen: ChosenDevice, formula: Formula) -> DeviceRates | DeviceMemory:
    """Return the memory of a device for a number of stored bytes, or its rates for other formulas."""
    if formula.measure.name not in STORED:
        return DeviceRates.of(chosen, formula)
    if chosen.device is None:
        raise OptionError(
            f"{formula.measure.name} is compared with the memory of a device, so --device needs a name, such as "
            "h100-80gb"
        )
    return DeviceMemory(chosen.device)


def _needs(formula: Formula, size: Any) -> bool:
    return size in formula.dependencies or size in formula.symbols


def price(text: str) -> Fraction:
    """Return a price per hour. Raises OptionError unless it is a positive number."""
    if not _PRICE.fullmatch(text.strip()) or Fraction(text.strip()) == 0:
        raise OptionError(f"{quoted(text)} is not a price; write the price of the device per hour, such as 2.50")
    return Fraction(text.strip())


def _tokens(formula: TimeBound, numbers: Mapping[Any, int]) -> int | None:
    """Return the number of tokens that the time is for; None if the model takes none."""
    if not formula.tokens.free_symbols <= formula.dependencies & numbers.keys():
        return None
    return evaluate(formula.tokens, numbers, formula.id)


def bound_lines(model: Model, formula: Formula, per_hour: Fraction | None = None) -> list[Line]:
    """Return lines on a bound: the time, tokens per second, and the two times that it is the larger one of."""
    if not isinstance(formula, TimeBound) or missing_of(formula, model):
        return []
    numbers = formula.complete(model.known)
    time = formula.value(model.known)
    moving, computing = formula.times(numbers)
    moved, work = formula.amounts(numbers)
    tokens = _tokens(formula, numbers)
    side = "memory bandwidth" if moving >= computing else "peak FLOPs"
    rate = f", at most {digits(tokens / Fraction(time))} tokens/s" if tokens else ""
    found: list[Line] = [
        [f"at least {seconds(Fraction(time))}{rate}; limited by the {side}"],
        [
            f"{_count(moved)} bytes at {rate_text(numbers[N_bw], 'B/s')} take at least {seconds(moving)}; "
            f"{_count(work)} FLOPs at {rate_text(numbers[N_peak], 'FLOP/s')} take at least {seconds(computing)}"
        ],
    ]
    if per_hour is not None:
        cost = price_per_million(model, formula, per_hour)
        found.append([f"at least {digits(cost)} per million tokens, at {digits(per_hour)} per hour"])
    return found


def price_per_million(model: Model, formula: Formula, per_hour: Fraction) -> Fraction:
    """Return the least price of a million tokens. Raises OptionError if the formula is not a time of tokens."""
    if not isinstance(formula, TimeBound):
        raise OptionError(
            f"--price needs a time, and {formula.measure.name} is not one; select decode-time, prefill-time or "
            "train-time with -q"
        )
    if formula.ranks != ONE:
        raise OptionError("--price is the price of one device, and this model is on several ranks; remove --price")
    if missing := missing_of(formula, model):
        raise OptionError(f"--price needs a value for {', '.join(map(str, missing))}; set each with --device or --set")
    tokens = _tokens(formula, formula.complete(model.known))
    if not tokens:
        raise OptionError(f"--price is per token, and {model.title} takes no tokens; remove --price")
    return Fraction(formula.value(model.known)) * per_hour / HOUR * MILLION / tokens


def bound_json(model: Model, formula: Formula, per_hour: Fraction | None = None) -> dict[str, Any]:
    """Return a bound as JSON, with exact numbers; nothing for other formulas."""
    if not isinstance(formula, TimeBound) or missing_of(formula, model):
        return {}
    numbers = formula.complete(model.known)
    time, (moving, computing) = Fraction(formula.value(model.known)), formula.times(numbers)
    moved, work = formula.amounts(numbers)
    tokens = _tokens(formula, numbers)
    cost = None if per_hour is None else price_per_million(model, formula, per_hour)
    return {
        "bound": {
            "at_least_seconds": json_number(time),
            "bytes": json_number(moved),
            "flops": json_number(work),
            "bytes_take_at_least_seconds": json_number(moving),
            "flops_take_at_least_seconds": json_number(computing),
            "limited_by": "bandwidth" if moving >= computing else "peak",
            "tokens": tokens,
            "at_most_tokens_per_second": json_number(tokens / time if tokens else None),
            "at_least_price_per_million_tokens": json_number(cost),
        }
    }


def _count(value: Fraction) -> str:
    return f"{int(value):,}" if value.denominator == 1 else f"about {float(value):,.1f}"


def memory_text(value: int | None) -> str:
    """Return a memory in GB; "" if it is not stated."""
    return "" if value is None else f"{digits(Fraction(value, 10**9))} GB"


def rate_text(value: int, unit: str) -> str:
    """Return a rate with four significant digits and a prefix, such as 3.35 TB/s."""
    power = max((power for power in range(len(_PREFIXES)) if value >= 1000**power), default=0)
    return f"{digits(Fraction(value, 1000**power))} {_PREFIXES[power]}{unit}"
