"""The row of a model that each tensor of a checkpoint belongs to, by name, or by shape if layers differ."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from ..architectures.base_architecture import Architecture
from ..language.sizes import evaluate
from ..models.model import Model
from ..witness.weight_paths import layer_order, path_in_list, towers, with_stars
from .checkpoint import FileTensor
from .checkpoint_names import (
    BUFFERS,
    COPIES,
    JOINED,
    MORE_LAYERS,
    UNKNOWN,
    class_names,
    extra_kind,
    weight_and_part,
)
from .model_rows import ModelRow

_LAYER = re.compile(r"(.*?)\b(\w+)\.(\d{1,6})\.(.+)", re.DOTALL | re.ASCII)
_NUMBERED = re.compile(r"(?:^|\.)(?:layers|h|blocks|blk)\.(\d{1,6})\.", re.ASCII)
_PREDICTS = re.compile(_NUMBERED.pattern + r"(?:eh_proj|enorm|hnorm|shared_head|nextn)\.", re.ASCII)
_TABLES = {kind for _, kind in BUFFERS[-3:-1]}  # kinds of tensors that belong to a weight without being part of it


@dataclass
class RowAssignment:
    """The tensors of each row, and the tensors that belong to none, by kind."""

    rows: list[ModelRow]
    tensors: list[list[tuple[FileTensor, str]]]  # of each row, with the part of the format
    extra: Mapping[str, list[FileTensor]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    """A tensor in a layer whose kind is not known: the rows that it can belong to, by the stack of the layer."""

    tensor: FileTensor
    part: str
    rows: Mapping[str, int]


def assign(model: Model, rows: Sequence[ModelRow], tensors: Iterable[FileTensor], gguf: str = "") -> RowAssignment:
    """Return the tensors of each row.

    Parameters
    ----------
    model : Model
        The model.
    rows : Sequence[ModelRow]
        Its stored weights.
    tensors : Iterable[FileTensor]
        The tensors of a checkpoint.
    gguf : str
        The architecture that a GGUF file states, or "" for safetensors files.

    """
    names = _GGUFNames(model, rows, gguf) if gguf else None
    tensors = list(tensors)
    found = _Rows(model, rows, tensors)
    kept: list[list[tuple[FileTensor, str]]] = [[] for _ in rows]
    extra: dict[str, list[FileTensor]] = defaultdict(list)
    places: dict[tuple[str, int], list[_Place]] = defaultdict(list)
    for tensor in tensors:
        weight, part = weight_and_part(tensor.name) if names is None else (names.in_class(tensor.name), "")
        if extra_kind(tensor.name) in _TABLES:
            extra[extra_kind(tensor.name)].append(tensor)
            continue
        row, layer, options = found.of(weight, tensor)
        if row is not None:
            kept[row].append((tensor, part))
        elif options:
            places[layer].append(_Place(tensor, part, options))
        else:
            extra[found.kind(tensor, weight)].append(tensor)
    for layer, each in places.items():
        stack = found.stack(layer, each)
        for place in each:
            if stack in place.rows:
                kept[place.rows[stack]].append((place.tensor, place.part))
            else:
                extra[found.kind(place.tensor, place.tensor.name)].append(place.tensor)
    return _joined(RowAssignment(list(rows), kept, extra))


class _Rows:
    """The rows of a model by name."""

    def __init__(self, model: Model, rows: Sequence[ModelRow], tensors: Sequence[FileTensor]) -> None:
        self.model, self.rows = model, rows
        # the numbers of layers after the last one that predict further tokens
        self.predicting = {int(each[1]) for tensor in tensors if (each := _PREDICTS.search(tensor.name))}
        self.architecture = model.id.removeprefix("hf-").replace("_", "-")
        self.component = model.component if isinstance(model.component, Architecture) else None
        self.by_path: dict[str, list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            self.by_path[with_stars(row.path)].append(number)
        self.towers = towers(self.component) if self.component is not None else {}
        self.tables = [row.shape for row in rows if row.tokens]

    def of(self, name: str, tensor: FileTensor) -> tuple[int | None, tuple[str, int], Mapping[str, int]]:
        """Return the row of a tensor; or its layer with the rows that it can belong to, by the kind of the layer."""
        for each in class_names(name, self.architecture):
            path = path_in_list(self.component, each) if self.component is not None else each
            before = next((tower for tower in self.towers if path.startswith(tower)), None)
            inside = _LAYER.fullmatch(path.removeprefix(before)) if before is not None else None
            if before is not None and inside is not None and not inside[1] and self._is_further(before, inside[3]):
                continue
            if (row := self._row(path, tensor)) is not None:
                return row, ("", 0), {}
            if before is None or inside is None or inside[1]:
                continue
            options = {}
            for stack in self.towers[before]:
                row = self._row(before + ".".join(filter(None, (stack, inside[3], inside[4]))), tensor)
                if row is not None:
                    options[stack] = row
            if options:
                return None, (before, int(inside[3])), options
        return None, ("", 0), {}

    def _row(self, path: str, tensor: FileTensor) -> int | None:
        """Return the row with a path; of several with this path, the one whose shape fits."""
        words = path.split(".")
        found = [
            number
            for number in self.by_path.get(with_stars(path), [])
            if all(ours in ("*", word) for ours, word in zip(self.rows[number].path.split("."), words, strict=True))
        ]
        fitting = [number for number in found if same_shape(tensor.shape, self.rows[number].shape)]
        return next(iter(fitting or found), None)

    def stack(self, layer: tuple[str, int], places: Sequence[_Place]) -> str:
        """Return the kind of a layer: the one with most rows that have the names and shapes of the layer's tensors."""
        before, number = layer
        stacks = list(self.towers[before])
        fits = Counter[str]()
        for place in places:
            for stack, row in place.rows.items():
                fits[stack] += 2 + same_shape(place.tensor.shape, self.rows[row].shape)
        stated = self._stated(before, number)
        return max(stacks, key=lambda stack: (fits[stack], -self._missing(stack, places), stack == stated))

    def _missing(self, stack: str, places: Sequence[_Place]) -> int:
        """Return how many rows of a kind of layer a layer does not have."""
        own = {number for number, row in enumerate(self.rows) if f".{stack}." in f".{row.path}"}
        return len(own - {place.rows[stack] for place in places if stack in place.rows})

    def _stated(self, before: str, number: int) -> str:
        """Return the kind of a layer by the order of the model, if it has one."""
        if self.component is None:
            return ""
        order = layer_order(self.component, before, self.model.known)
        return order[number] if number < len(order) else ""

    def kind(self, tensor: FileTensor, weight: str) -> str:
        """Return the description of a tensor that belongs to no row."""
        kind = extra_kind(tensor.name)
        if kind != UNKNOWN:
            return kind
        inside = _NUMBERED.search(tensor.name)
        if inside and int(inside[1]) in self.predicting:
            return MORE_LAYERS
        is_copy = any(same_shape(tensor.shape, table) for table in self.tables) and _is_table(weight)
        return COPIES if is_copy else UNKNOWN

    def _is_further(self, before: str, number: str) -> bool:
        """Return whether a layer has a higher number than the model has layers."""
        stacks = self.towers[before]
        return int(number) >= sum(evaluate(count, self.model.known, before) for count in stacks.values())


def _is_table(name: str) -> bool:
    words = (
        "lm_head",
        "embed_tokens",
        "embed_out",
        "output",
        "decoder",
        "shared",
        "wte",
        "word_embeddings",
        "proj_out",
    )
    return name.endswith(".weight") and name.removesuffix(".weight").rpartition(".")[2] in words


def same_shape(theirs: Sequence[int], ours: Sequence[int]) -> bool:
    """Return whether two shapes have the same dimensions in any order, ignoring dimensions of length 1."""
    return sorted(dim for dim in theirs if dim != 1) == sorted(dim for dim in ours if dim != 1)


def is_piece(theirs: Sequence[int], ours: Sequence[int]) -> bool:
    """Return whether a tensor can be a slice of a weight: all dimensions but one are dimensions of the weight.

    >>> is_piece((7, 24), (11, 14, 24)), is_piece((14, 12), (7, 24))
    (True, False)
    """
    left = [dim for dim in ours if dim != 1]
    other = 0
    for dim in theirs:
        if dim in left:
            left.remove(dim)
        elif dim != 1:
            other += 1
    return other <= 1 and prod(theirs) <= prod(ours)


def _joined(found: RowAssignment) -> RowAssignment:
    """Join the rows of a model that a checkpoint stores as one matrix, such as queries, keys and values."""
    by_path = {row.path: number for number, row in enumerate(found.rows)}
    unknown = list(found.extra.get(UNKNOWN, ()))
    for joined, parts in JOINED.items():
        groups: dict[str, list[FileTensor]] = defaultdict(list)
        for tensor in unknown:
            if f".{joined}." in tensor.name:
                groups[with_stars(tensor.name)].append(tensor)
        for name, tensors in groups.items():
            before, last = name.split(f".{joined}.")
            rows = _parts_of(found, by_path, before, parts, last)
            if rows:
                _join(found, rows, tensors, joined, last)
                taken = {tensor.name for tensor in tensors}
                found.extra[UNKNOWN][:] = [each for each in found.extra[UNKNOWN] if each.name not in taken]
    if UNKNOWN in found.extra and not found.extra[UNKNOWN]:
        found.extra = {kind: each for kind, each in found.extra.items() if each}
    return found


def _parts_of(
    found: RowAssignment, by_path: Mapping[str, int], before: str, parts: Sequence[str], last: str
) -> list[int]:
    """Return the rows of the parts of a joined matrix, if none of them has a tensor."""
    for start in _endings(before):
        rows = [by_path.get(f"{start}.{part}.{last}") for part in parts]
        if all(row is not None and not found.tensors[row] for row in rows):
            return [row for row in rows if row is not None]
    return []


def _endings(path: str) -> Iterator[str]:
    """Yield a path, and the path without its first words."""
    words = path.split(".")
    return (".".join(words[number:]) for number in range(len(words)))


def _join(found: RowAssignment, rows: Sequence[int], tensors: list[FileTensor], joined: str, last: str) -> None:
    first = found.rows[rows[0]]
    all_rows = [found.rows[number] for number in rows]
    parts = Counter[str]()
    for row in all_rows:
        parts.update(row.parts)
    before = first.path.split(".")[:-2]
    path = ".".join([*before, f"{joined} ({', '.join(row.path.split('.')[-2] for row in all_rows)})", last])
    shape = (sum(row.shape[0] for row in all_rows), *first.shape[1:])
    found.rows[rows[0]] = ModelRow(path, first.copies, shape, dict(parts))
    found.tensors[rows[0]] = [(tensor, "") for tensor in tensors]
    for number in rows[1:]:
        found.rows[number] = ModelRow(found.rows[number].path, 0, (), {})


class _GGUFNames:
    """The names in the class of the tensors of a GGUF file, by the tables of the gguf package."""

    def __init__(self, model: Model, rows: Sequence[ModelRow], architecture: str) -> None:
        from gguf.constants import MODEL_ARCH_NAMES
        from gguf.tensor_mapping import get_tensor_name_map

        self.names: dict[str, str] = {}
        known = {name: arch for arch, name in MODEL_ARCH_NAMES.items()}
        component = model.component if isinstance(model.component, Architecture) else None
        if architecture not in known or component is None:
            return
        table = get_tensor_name_map(known[architecture], 1)
        stacks = [stack for each in towers(component).values() for stack in each]
        prefix = component.witness.prefix
        for row in rows:
            path = next(
                (
                    row.path.replace(f"{stack}.*", "layers.*", 1)
                    for stack in stacks
                    if row.path.startswith(f"{stack}.*")
                ),
                row.path,
            )
            module, suffix = _module(path)
            for word in _split(module):
                for start in (prefix, ""):
                    if name := table.get_name(start + word.replace("*", "0")):
                        key = f"{name.replace('blk.0.', 'blk.*.')}.{suffix}"
                        self.names.setdefault(key, start + path)
                        break

    def in_class(self, name: str) -> str:
        """Return the name in the class; the same name if there is none."""
        place = re.match(r"blk\.(\d+)\.", name)
        stars = name.replace(place[0], "blk.*.", 1) if place else name
        return self.names[stars].replace("*", place[1] if place else "*") if stars in self.names else name


def _module(path: str) -> tuple[str, str]:
    """Return the module of a weight, and the ending of its name in a GGUF file."""
    for ending in (".weight", ".bias", "_bias"):
        if path.endswith(ending):
            return path.removesuffix(ending), ending[1:]
    return path, "weight"


def _split(module: str) -> Iterator[str]:
    yield module
    if module.endswith(".gate_up_proj"):
        yield from (module.removesuffix("gate_up_proj") + part for part in JOINED["gate_up_proj"])
