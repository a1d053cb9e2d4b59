"""The layer split of llama.cpp: the bytes on the fullest of several devices, and in the memory of the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sympy import Symbol

from ..language.errors import SizeError
from ..models.layer_order import layer_order
from ..models.model import Model
from ..quantities.weight_formats.gguf import PREFIX
from ..quantities.weight_formats.gguf_parts import GGUFParts, gguf_parts
from .rank_amounts import RankAmounts, StageAmount


def device_of(layer: int, layers: int, devices: int) -> int:
    """Return the device of a layer, counted from 0; the output is the last layer plus 1.

    llama.cpp divides the layers and the output in proportion to the free memory, here the same on each device
    (``load_tensors`` in ``src/llama-model.cpp``, with ``--split-mode layer``).

    >>> [device_of(layer, 32, 2) for layer in (0, 16, 17, 32)]
    [0, 0, 1, 1]
    """
    return layer * devices // (layers + 1)


@dataclass(frozen=True)
class LayerSplit:
    """A model in a GGUF format on devices of the same size, as llama.cpp divides it.

    Each device has a range of layers with their cache. The last one also has the output, and the host has the token
    embeddings.

    Attributes
    ----------
    model : Model
        A model whose sizes have values.
    weights : str
        The format, such as "gguf:q4_k_m".
    conventions : Mapping[str, str]
        The other conventions of ``inference-memory``.

    """

    model: Model
    weights: str
    conventions: Mapping[str, str]

    @cached_property
    def parts(self) -> GGUFParts:
        """The bytes of the parts of the file. Raises RuleError if the format does not support the model."""
        name, layers = self.weights.removeprefix(PREFIX), len(self._order)
        return gguf_parts(self.model.ledger, name, self.model.known, self.model.rope, layers)

    def weight_bytes(self, devices: int) -> list[int]:
        """Return the bytes of the weights on each device."""
        parts, found = self.parts, [0] * devices
        for layer, size in enumerate((*parts.layers, parts.output)):
            found[device_of(layer, len(parts.layers), devices)] += size
        return [size + parts.shared for size in found]

    def total(self, devices: int, sizes: Mapping[str, int]) -> int:
        """Return the bytes on the fullest device: its weights, the cache of its layers, and the logits on the last one.

        Parameters
        ----------
        devices : int
            The number of devices.
        sizes : Mapping[str, int]
            The sizes of the run.

        Raises
        ------
        RuleError
            If the quantity is not supported for the model.
        SizeError
            If the model does not support the sizes, or if there are more devices than layers.

        """
        if devices > len(self._order):
            raise SizeError(f"{devices} devices are more than the {len(self._order)} layers that they divide")
        found = self.weight_bytes(devices)
        self._whole.of(1, sizes)  # raises SizeError
        whole, weights = self._whole.by_layer(sizes), self._in_bf16
        for layer, kind in enumerate(self._order):
            place = device_of(layer, len(self._order), devices)
            found[place] += whole.layers[kind] - weights.layers[kind]
        found[-1] += whole.fixed - weights.fixed
        return max(found)

    @cached_property
    def _order(self) -> tuple[Symbol, ...]:
        return layer_order(self.model)

    # The cache is the memory in bf16 minus the weights in bf16, which have the same bytes in every layer of a kind.
    @cached_property
    def _whole(self) -> RankAmounts:
        return RankAmounts(self.model, "inference-memory", {**self.conventions, "weights": "bf16"})

    @cached_property
    def _in_bf16(self) -> StageAmount:
        return RankAmounts(self.model, "weight-memory", {"weights": "bf16"}).by_layer({})
