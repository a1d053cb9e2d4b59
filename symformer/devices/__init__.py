"""Devices: memory, memory bandwidth, peak FLOPs per second and links of accelerators, each with its source.

Memory is in the unit that the vendor states: all state GB, 10^9 bytes. Peaks are dense, without structured sparsity.
Links count both directions together, as vendors do. A value that no source states is missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ..language.amounts import amount, rate
from ..language.errors import OptionError, UnknownNameError, alternatives, listed, quoted
from ..language.frozen import Immutable

PAIR = "3.35TB/s,989TFLOP/s"  # an example of a device without a name
HALF = ("bf16", "fp16")  # the dtypes of a model that is not quantized; a device without bf16 computes in fp16
BANDWIDTH, PEAK = "bytes/s", "FLOP/s"


@dataclass(frozen=True)
class Device(Immutable):
    """A device.

    Attributes
    ----------
    name, title
        The name, such as ``h100-80gb``, and the display name.
    memory
        Its memory in bytes, or None if it is not stated.
    bandwidth
        The bytes per second between memory and processor, or None if it is not stated.
    peak
        The dense peak FLOPs per second by dtype: bf16, fp16, fp8, int8, fp4, fp32.
    links
        The bytes per second of each kind of link, both directions together.
    source
        Where the values are published.

    """

    name: str
    title: str
    memory: int | None
    bandwidth: int | None
    peak: Mapping[str, int]
    links: Mapping[str, int]
    source: str

    def peak_of(self, dtype: str = "") -> tuple[str, int]:
        """Return a dtype and its peak: bf16 by default, or fp16 if the device states no bf16.

        Parameters
        ----------
        dtype
            The dtype; ``fastest`` is the one with the largest peak.

        Raises
        ------
        OptionError
            If no source states the peak.

        Examples
        --------
        >>> devices()["h100-80gb"].peak_of("fp8")
        ('fp8', 1979000000000000)

        """
        if not self.peak:
            raise OptionError(
                f"no source states the peak FLOPs of {self.name}; give its bandwidth and a peak, such as {PAIR}"
            )
        if dtype == "fastest":
            dtype = max(self.peak, key=lambda name: self.peak[name])
        found = dtype or next((name for name in HALF if name in self.peak), "")
        if found not in self.peak:
            raise OptionError(
                f"no source states the peak FLOPs of {self.name} in {found or HALF[0]}; it has {listed(self.peak)}"
            )
        return found, self.peak[found]

    def stated_bandwidth(self) -> int:
        """Return the bandwidth. Raises OptionError if no source states it."""
        if self.bandwidth is None:
            raise OptionError(f"no source states the memory bandwidth of {self.name}; give it, such as {PAIR}")
        return self.bandwidth


@cache
def devices() -> Mapping[str, Device]:
    """Return all devices by name."""
    stored = json.loads((files(__name__) / "devices.json").read_text("utf-8"))
    return {name: _device(name, **facts) for name, facts in stored.items()}


def _device(
    name: str, title: str, memory: str, bandwidth: str, peak: Mapping[str, str], links: Mapping[str, str], source: str
) -> Device:
    return Device(
        name,
        title,
        amount(memory, "bytes") if memory else None,
        rate(bandwidth, BANDWIDTH) if bandwidth else None,
        {dtype: rate(value, PEAK) for dtype, value in peak.items()},
        {link: rate(value, BANDWIDTH) for link, value in links.items()},
        source,
    )


def memory_of(name: str) -> int:
    """Return the memory of a device in bytes. Raises UnknownNameError, or OptionError if no source states it."""
    memory = _named(name).memory
    if memory is None:
        raise OptionError(f"no source states the memory of {name}; give it with --memory, such as 80GiB")
    return memory


def _named(name: str, hint: str = "") -> Device:
    found = devices().get(name.strip().lower())
    if found is None:
        raise UnknownNameError("device", name, devices(), hint)
    return found


@dataclass(frozen=True)
class ChosenDevice(Immutable):
    """A device as a user writes it: a name, a name with a dtype, or a bandwidth and a peak.

    Attributes
    ----------
    text
        The text that the user wrote.
    device
        The device of the name; None for a bandwidth and a peak.
    dtype
        The dtype of the peak; "" if it is not given.
    bandwidth, peak
        The bandwidth and the peak that are given without a name.

    """

    text: str
    device: Device | None = None
    dtype: str = ""
    bandwidth: int = 0
    peak: int = 0

    def rates(self, dtype: str = "") -> tuple[int, int, str]:
        """Return the bandwidth, the peak and the dtype of the peak, which is ``dtype`` if the user gave none."""
        if self.device is None:
            return self.bandwidth, self.peak, ""
        found, peak = self.device.peak_of(self.dtype or dtype)
        return self.device.stated_bandwidth(), peak, found


def chosen_device(text: str) -> ChosenDevice:
    """Return a device by its name, such as h100-80gb or h100-80gb:fp8, or by a bandwidth and a peak, in any order.

    Parameters
    ----------
    text
        The text.

    Raises
    ------
    UnknownNameError
        For an unknown name.
    OptionError, ArithmeticTextError
        For a dtype without a peak, a missing unit, or a pair that is not one bandwidth and one peak.

    Examples
    --------
    >>> chosen_device("989TFLOP/s, 3.35TB/s").rates()
    (3350000000000, 989000000000000, '')
    >>> chosen_device("h100-80gb:int8").rates()
    (3350000000000, 1979000000000000, 'int8')

    """
    shown = text.strip()
    if "," in shown or shown[:1].isdigit():
        return _pair(shown)
    name, colon, dtype = shown.partition(":")
    found = _named(name, f"or give a bandwidth and a peak, such as {PAIR}")
    if colon:
        known = [*dict.fromkeys(each for device in devices().values() for each in device.peak)]
        if dtype not in known:
            raise OptionError(f"{quoted(dtype)} is not a dtype of a peak; choose {alternatives(known)}")
        found.peak_of(dtype)
    return ChosenDevice(shown, found, dtype)


def _pair(text: str) -> ChosenDevice:
    """Return a bandwidth and a peak. Raises OptionError unless there is one of each."""
    found: dict[str, int] = {}
    for part in text.split(","):
        value, unit = rate(part.strip()), PEAK if "FLOP" in part.upper() else BANDWIDTH
        if unit in found:
            what = "two bandwidths" if unit == BANDWIDTH else "two peaks"
            raise OptionError(f"{quoted(text)} has {what}; give one bandwidth and one peak, such as {PAIR}")
        found[unit] = value
    for unit, what in ((BANDWIDTH, "bandwidth"), (PEAK, "peak")):
        if unit not in found:
            raise OptionError(f"{quoted(text)} has no {what}; give a bandwidth and a peak, such as {PAIR}")
    return ChosenDevice(text, bandwidth=found[BANDWIDTH], peak=found[PEAK])
