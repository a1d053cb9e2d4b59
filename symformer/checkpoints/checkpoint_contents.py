"""The contents of a checkpoint: its tensors in all, by type and by module."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..language.errors import CheckpointError
from ..language.notation.text import number
from ..models.model import Model
from ..output.blocks import BriefBlock, Paragraph, Table
from .checkpoint import Checkpoint, FileTensor
from .checkpoint_names import UNKNOWN, extra_kind, weight_and_part
from .stored_form import StoredForm, stored_form

MOST = 60  # modules in the table; --json has all


@dataclass(frozen=True)
class CheckpointContents:
    """The tensors of a checkpoint, with the model of the config next to it, if there is one."""

    checkpoint: Checkpoint
    model: Model | None = None

    @property
    def form(self) -> StoredForm | None:
        """The weight format, if it can be detected."""
        try:
            return stored_form(self.checkpoint)
        except CheckpointError:
            return None

    @property
    def by_type(self) -> Mapping[str, Sequence[FileTensor]]:
        """The tensors of each type, the most bytes first."""
        return _grouped((tensor.type, tensor) for tensor in self.checkpoint.tensors)

    @property
    def by_module(self) -> Mapping[str, Sequence[FileTensor]]:
        """The tensors of each module, in the order of the file; layers are one module."""
        found: dict[str, list[FileTensor]] = defaultdict(list)
        for tensor in self.checkpoint.tensors:
            found[module_of(tensor.name)].append(tensor)
        return found

    @property
    def extra(self) -> Mapping[str, Sequence[FileTensor]]:
        """The tensors other than weights, by their description."""
        kinds = ((extra_kind(tensor.name), tensor) for tensor in self.checkpoint.tensors)
        return _grouped((kind, tensor) for kind, tensor in kinds if kind != UNKNOWN)

    @property
    def elements(self) -> int:
        """The elements of all tensors."""
        return sum(tensor.elements for tensor in self.checkpoint.tensors)

    @property
    def is_packed(self) -> bool:
        """Whether some tensors pack several parameters into an element, or are scales of others."""
        return self.checkpoint.format != "GGUF" and any(
            weight_and_part(each.name)[1] for each in self.checkpoint.tensors
        )

    def to_json(self) -> dict[str, Any]:
        """Return the contents as ``show PATH --json`` prints them."""
        checkpoint, form = self.checkpoint, self.form
        return {
            "checkpoint": checkpoint.path,
            "format": checkpoint.format,
            "files": list(checkpoint.files),
            "tensors": len(checkpoint.tensors),
            "elements": self.elements,
            "parameters": None if self.is_packed else self.elements,
            "tensor_bytes": checkpoint.tensor_bytes,
            "header_bytes": checkpoint.header_bytes,
            "file_bytes": checkpoint.file_bytes,
            "total_size": checkpoint.total_size,
            "weights": None if form is None else form.weights,
            "group": (form.group or None) if form is not None else None,
            "metadata": dict(checkpoint.metadata),
            "types": [_facts("type", *each) for each in self.by_type.items()],
            "modules": [_facts("module", *each) for each in self.by_module.items()],
            "extra": [_facts("kind", *each) for each in self.extra.items()],
            "model": None if self.model is None else self._model_json(self.model),
        }

    def _model_json(self, model: Model) -> dict[str, Any]:
        return {"target": model.target, "architecture": model.id, "params": int(model.params.value())}

    def to_blocks(self) -> list[BriefBlock]:
        """Return the totals, and a table by type and one by module."""
        checkpoint, form = self.checkpoint, self.form
        files = "1 file" if len(checkpoint.files) == 1 else f"{len(checkpoint.files):,} files"
        size = checkpoint.tensor_bytes
        lines = [
            f"{checkpoint.path}: {checkpoint.format}, {files}, {_counted(checkpoint.tensors)}, "
            f"{number(self.elements)} {'elements' if self.is_packed else 'parameters'}",
            f"tensors: {_bytes(size)}; headers: {number(checkpoint.header_bytes)} bytes; files: "
            f"{number(checkpoint.file_bytes)} bytes",
        ]
        if form is not None:
            group = f" with groups of {form.group} elements" if form.group else ""
            lines.append(f"weights={form.weights}{group}, detected from {form.reason}")
        if checkpoint.format == "GGUF":
            bits = f"{8 * size / self.elements:.4f} bits per weight" if self.elements else "no weights"
            lines.append(f"architecture {checkpoint.metadata.get('general.architecture', 'not stated')}; {bits}")
        if checkpoint.total_size not in (None, size):
            lines.append(f"the index states {number(checkpoint.total_size or 0)} bytes, not {number(size)}")
        if self.model is not None:
            lines.append(
                f"config.json next to it: {self.model.title}, {number(int(self.model.params.value()))} parameters"
            )
        found: list[BriefBlock] = [*(Paragraph([line]) for line in lines)]
        found.append(_table("type", self.by_type, size))
        modules = dict(list(self.by_module.items())[:MOST])
        found.append(_table("module", modules, size))
        if (more := len(self.by_module) - len(modules)) > 0:
            found.append(Paragraph([f"and {more:,} more modules; --json lists all"]))
        for kind, tensors in self.extra.items():
            size = sum(each.bytes for each in tensors)
            found.append(Paragraph([f"{kind}: {_counted(tensors)}, {number(size)} bytes"]))
        return found


def _counted(tensors: Sequence[FileTensor]) -> str:
    return "1 tensor" if len(tensors) == 1 else f"{len(tensors):,} tensors"


def _bytes(size: int) -> str:
    """Return bytes, also in GB and GiB, or in MB and MiB if they are few."""
    units = ("GB", 10**9, "GiB", 2**30) if size >= 10**9 else ("MB", 10**6, "MiB", 2**20)
    return f"{number(size)} bytes ({size / units[1]:.2f} {units[0]}, {size / units[3]:.2f} {units[2]})"


def module_of(name: str) -> str:
    """Return the module of a tensor: up to the word after the number of its layer, with * for numbers.

    >>> module_of("model.layers.3.self_attn.q_proj.weight"), module_of("lm_head.weight"), module_of("blk.0.attn_q.bias")
    ('model.layers.*.self_attn', 'lm_head', 'blk.*.attn_q')
    """
    words = ["*" if word.isdigit() else word for word in weight_and_part(name)[0].split(".")]
    if "*" in words and words.index("*") + 1 < len(words):
        shown = words[: words.index("*") + 2]
        return ".".join(shown)[:200]
    return (".".join(words[:-1]) or words[0])[:200]


def _grouped(pairs: Iterable[tuple[str, FileTensor]]) -> dict[str, Sequence[FileTensor]]:
    found: dict[str, list[FileTensor]] = defaultdict(list)
    for name, tensor in pairs:
        found[re.sub(r"\s+", " ", name)].append(tensor)
    return dict(sorted(found.items(), key=lambda item: -sum(tensor.bytes for tensor in item[1])))


def _facts(what: str, name: str, tensors: Sequence[FileTensor]) -> dict[str, Any]:
    return {
        what: name,
        "tensors": len(tensors),
        "elements": sum(tensor.elements for tensor in tensors),
        "bytes": sum(tensor.bytes for tensor in tensors),
    }


def _table(what: str, groups: Mapping[str, Sequence[FileTensor]], whole: int) -> Table:
    rows = []
    for name, tensors in groups.items():
        facts = _facts(what, name, tensors)
        share = f"{100 * facts['bytes'] / whole:.1f}%" if whole else ""
        rows.append([name, number(facts["tensors"]), number(facts["elements"]), number(facts["bytes"]), share])
    return Table.of([what, "tensors", "elements", "bytes", "share"], rows, "lrrrr")
