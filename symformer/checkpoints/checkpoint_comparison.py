"""The comparison of a checkpoint with a model, row by row: names, shapes, types and bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..language.errors import CheckpointError
from ..language.notation.text import number
from ..language.symbols import Z_group
from ..models.model import Model
from ..output.blocks import BriefBlock, Paragraph, Table
from ..quantities.weight_formats import ELEMENT_BYTES
from ..quantities.weight_formats.gguf import PREFIX
from .checkpoint import Checkpoint, FileTensor
from .checkpoint_names import OF_ADAPTERS, UNKNOWN
from .model_rows import ModelRow, model_rows
from .row_names import RowAssignment, assign, is_piece, same_shape
from .stored_form import StoredForm, packed_form, stored_form

IN_JSON = "mean of scales"  # bitsandbytes stores it in the JSON of the quantization state
INPUT_SCALES = "input scales"
DIFFERENT = (UNKNOWN, OF_ADAPTERS)
_TYPES = {"bf16": ("BF16",), "fp16": ("F16",), "fp32": ("F32",), "fp8": ("F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ")}
SHOWN = 3  # names of tensors that belong to no row, in one line


@dataclass(frozen=True)
class ComparedRow:
    """A row of the model with its tensors in the checkpoint."""

    row: ModelRow
    tensors: tuple[FileTensor, ...]
    difference: str  # "" if they agree

    @property
    def bytes(self) -> int:
        """The bytes of the tensors."""
        return sum(tensor.bytes for tensor in self.tensors)

    @property
    def types(self) -> str:
        """The types of the tensors, with their number if there are several."""
        counts = Counter(tensor.type for tensor in self.tensors)
        return ", ".join(f"{times} {type_}" if len(counts) > 1 else type_ for type_, times in counts.items())

    @property
    def shape(self) -> str:
        """The shape of each tensor if all are equal, or else of one copy in the model."""
        shapes = {tensor.shape for tensor in self.tensors}
        return " × ".join(f"{dim:,}" for dim in (shapes.pop() if len(shapes) == 1 else self.row.shape))


@dataclass(frozen=True)
class CheckpointComparison:
    """The rows of a model and the tensors of a checkpoint."""

    model: Model
    checkpoint: Checkpoint
    form: StoredForm
    rows: tuple[ComparedRow, ...]
    extra: Mapping[str, tuple[FileTensor, ...]]  # tensors of no row, by their description
    weight_memory: int
    in_json: int  # bytes that weight memory counts and the checkpoint stores inside JSON

    @property
    def differences(self) -> tuple[str, ...]:
        """One line for each row that differs, and for each kind of extra tensors that belong to a different model."""
        extra = [f"{line}: {_named(self.extra[kind])}" for kind, line in self._foreign.items()]
        return (*self._row_differences, *extra)

    @property
    def _row_differences(self) -> list[str]:
        return [f"{each.row.path}: {each.difference}" for each in self.rows if each.difference]

    @property
    def _foreign(self) -> dict[str, str]:
        """The number of extra tensors that belong to a different model, in words, by their description."""
        found = {kind: self.extra[kind] for kind in DIFFERENT if self.extra.get(kind)}
        return {
            kind: f"{_counted(tensors)} {'is' if len(tensors) == 1 else 'are'} {kind}"
            for kind, tensors in found.items()
        }

    @property
    def agrees(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    @property
    def row_bytes(self) -> int:
        """The bytes of all tensors that are rows of the model."""
        return sum(each.bytes for each in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as ``verify --checkpoint --json`` prints it."""
        return {
            "target": self.model.target,
            "checkpoint": self.checkpoint.path,
            "format": self.checkpoint.format,
            "weights": self.form.weights,
            "group": self.form.group or None,
            "exact": self.agrees,
            "tensors": len(self.checkpoint.tensors),
            "tensor_bytes": self.checkpoint.tensor_bytes,
            "header_bytes": self.checkpoint.header_bytes,
            "row_bytes": self.row_bytes,
            "weight_memory": self.weight_memory,
            "rows": [
                {
                    "path": each.row.path,
                    "copies": each.row.copies,
                    "shape": list(each.row.shape),
                    "tensors": len(each.tensors),
                    "types": dict(Counter(tensor.type for tensor in each.tensors)),
                    "bytes": each.bytes,
                    "model_bytes": each.row.bytes,
                    "difference": each.difference or None,
                }
                for each in self.rows
            ],
            "extra": [
                {
                    "kind": kind,
                    "tensors": [tensor.name for tensor in tensors],
                    "bytes": sum(tensor.bytes for tensor in tensors),
                }
                for kind, tensors in self.extra.items()
            ],
            "differences": list(self.differences),
        }

    def to_blocks(self) -> list[BriefBlock]:
        """Return the table of rows, the tensors of no row, and the totals."""
        rows = [
            [
                each.row.path,
                f"{len(each.tensors):,}",
                each.shape,
                each.types,
                number(each.bytes),
                number(each.row.bytes),
                "differs" if each.difference else "agrees",
            ]
            for each in self.rows
        ]
        total = ["total", f"{sum(len(each.tensors) for each in self.rows):,}", "", "", number(self.row_bytes)]
        rows.append([*total, number(sum(each.row.bytes for each in self.rows)), ""])
        head = ["row", "tensors", "shape", "type", "bytes", "expected bytes", "result"]
        found: list[BriefBlock] = [
            Paragraph([self._title()]),
            Table.of(head, rows, "lrllrrl", total=True),
        ]
        for kind, tensors in self.extra.items():
            size = sum(tensor.bytes for tensor in tensors)
            found.append(
                Paragraph(
                    [f"only in the checkpoint, {kind}: {_named(tensors)} ({_counted(tensors)}, {number(size)} bytes)"]
                )
            )
        found += [Paragraph([line]) for line in (*self._totals(), *self._row_differences)]
        agree = sum(not each.difference for each in self.rows)
        found.append(Paragraph(["; ".join([f"{agree} of {len(self.rows)} rows agree", *self._foreign.values()])]))
        return found

    def _title(self) -> str:
        group = f" with groups of {self.form.group} elements" if self.form.group else ""
        why = f", detected from {self.form.reason}" if self.form.reason else ""
        return f"{self.model.target} and {self.checkpoint.path}: weights={self.form.weights}{group}{why}"

    def _totals(self) -> list[str]:
        whole = self.checkpoint.tensor_bytes
        lines = [
            f"all tensors in the checkpoint: {number(whole)} bytes; headers: "
            f"{number(self.checkpoint.header_bytes)} bytes"
        ]
        away = self.row_bytes + self.in_json - self.weight_memory
        said = "the same" if not away else f"{number(abs(away))} bytes {'more' if away > 0 else 'fewer'}"
        json = f", of which {number(self.in_json)} are in JSON ({IN_JSON})" if self.in_json else ""
        lines.append(f"weight-memory: {number(self.weight_memory)} bytes{json}; the rows in the checkpoint have {said}")
        stated = self.checkpoint.total_size
        if stated is not None and stated != whole:
            away = stated - whole
            side = "more" if away > 0 else "fewer"
            lines.append(f"the index states {number(stated)} bytes, {number(abs(away))} {side} than the tensors have")
        return lines


def _counted(tensors: Sequence[FileTensor]) -> str:
    return "1 tensor" if len(tensors) == 1 else f"{len(tensors):,} tensors"


def _named(tensors: Sequence[FileTensor]) -> str:
    """Return the first names, with * for the numbers of layers."""
    names = list(dict.fromkeys(_starred(tensor.name) for tensor in tensors))
    more = f", and {len(names) - SHOWN} more names" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _starred(name: str) -> str:
    # A name from a file can contain anything: the terminal replaces control characters.
    return ".".join("*" if word.isdigit() else word for word in name.split("."))[:200]


def compare_checkpoint(model: Model, checkpoint: Checkpoint, weights: str = "") -> CheckpointComparison:
    """Compare the tensors of a checkpoint with the stored weights of a model.

    Parameters
    ----------
    model : Model
        The model, with all its sizes.
    checkpoint : Checkpoint
        The checkpoint.
    weights : str
        The format of ``weights=``; by default, the format detected from the checkpoint.

    Raises
    ------
    CheckpointError
        If the format of the checkpoint cannot be detected or is not supported.
    SymformerError
        If weight memory of the model is not supported in this format.

    """
    form = _form(model, checkpoint, weights)
    sized = model.set({Z_group: form.group}) if form.group else model
    formula = sized.formula("weight-memory", weights=form.weights)
    memory = formula.value()
    rows = model_rows(sized, formula)
    architecture = str(checkpoint.metadata.get("general.architecture", "")) if checkpoint.format == "GGUF" else ""
    found = assign(sized, rows, checkpoint.tensors, architecture)
    _take_inputs(found, form)
    compared = tuple(
        ComparedRow(row, tuple(tensor for tensor, _ in tensors), _difference(row, tensors, form.weights))
        for row, tensors in zip(found.rows, found.tensors, strict=True)
        if row.copies
    )
    in_json = sum(each.row.parts.get(IN_JSON, 0) for each in compared if each.tensors)
    extra = {kind: tuple(tensors) for kind, tensors in found.extra.items() if tensors}
    return CheckpointComparison(sized, checkpoint, form, compared, extra, int(memory), in_json)


def _form(model: Model, checkpoint: Checkpoint, weights: str) -> StoredForm:
    """Return the given format, or else the format of the checkpoint, with the groups of the checkpoint."""
    if not weights:
        return _own_form(model, checkpoint)
    try:
        own = _own_form(model, checkpoint)
    except CheckpointError:
        return StoredForm(weights)
    return own if own.weights == weights else StoredForm(weights)


def _own_form(model: Model, checkpoint: Checkpoint) -> StoredForm:
    """Return the format of a checkpoint, some of which depend on the widths of the model."""
    if any(tensor.name.endswith((".weight_packed", ".biases")) for tensor in checkpoint.tensors):
        rows = model_rows(model, model.formula("weight-memory", weights="bf16"))
        found = assign(model, rows, checkpoint.tensors)
        pairs = [
            (tensor.name, row.shape[-1])
            for row, own in zip(found.rows, found.tensors, strict=True)
            for tensor, _ in own
        ]
        if form := packed_form(checkpoint, dict(pairs)):
            return form
    try:
        return stored_form(checkpoint)
    except CheckpointError:
        own = model.provenance.weights
        if not own or checkpoint.format == "GGUF":
            raise
        return StoredForm(own, model.provenance.group, "the config")


def _take_inputs(found: RowAssignment, form: StoredForm) -> None:
    """Add the scales of inputs to the rows of a format that counts them."""
    if form.weights != "fp8-tensor" or INPUT_SCALES not in found.extra:
        return
    owners = {
        tensor.name.removesuffix(".weight"): number
        for number, tensors in enumerate(found.tensors)
        for tensor, _ in tensors
    }
    left = []
    for tensor in found.extra[INPUT_SCALES]:
        row = owners.get(tensor.name.rpartition(".")[0])
        if row is None:
            left.append(tensor)
        else:
            found.tensors[row].append((tensor, "scales"))
    found.extra[INPUT_SCALES][:] = left


def _difference(row: ModelRow, tensors: Sequence[tuple[FileTensor, str]], weights: str) -> str:
    """Return how the tensors differ from a row of the model, or "" if they agree."""
    if not tensors:
        return f"missing in the checkpoint; the model has {row.copies:,} of shape {_spell(row.shape)}"
    whole = [tensor for tensor, part in tensors if not part]
    companions = len(whole) < len(tensors)
    if (not companions or weights.startswith(PREFIX)) and (said := _shapes(row, whole)):
        return said
    if weights.startswith(PREFIX):
        return _types(row, whole)
    wanted = _TYPES.get(weights, ()) if weights in ELEMENT_BYTES else ()
    other = Counter(tensor.type for tensor in whole if wanted and tensor.type not in wanted)
    if other:
        spelled = " and ".join(f"{times:,} of type {type_}" for type_, times in other.items())
        return f"the checkpoint has {spelled}, not {wanted[0]}"
    theirs = sum(tensor.bytes for tensor, _ in tensors)
    ours = row.bytes - row.parts.get(IN_JSON, 0)
    if theirs != ours:
        return f"{number(theirs)} bytes in the checkpoint, {number(ours)} in the model{_by_part(row, tensors)}"
    return ""


def _shapes(row: ModelRow, whole: Sequence[FileTensor]) -> str:
    elements = sum(tensor.elements for tensor in whole)
    if len(whole) == row.copies:
        wrong = [tensor for tensor in whole if not same_shape(tensor.shape, row.shape)]
    else:
        wrong = [tensor for tensor in whole if not is_piece(tensor.shape, row.shape)]
    if wrong:
        return f"{wrong[0].name} has shape {_spell(wrong[0].shape)}; the model has {_spell(row.shape)}"
    if elements != row.elements:
        some = "1 tensor" if len(whole) == 1 else f"{len(whole):,} tensors"
        return (
            f"the checkpoint has {number(elements)} elements in {some}; the model has {number(row.elements)} "
            f"in {row.copies:,} of shape {_spell(row.shape)}"
        )
    return ""


def _types(row: ModelRow, whole: Sequence[FileTensor]) -> str:
    sizes = Counter[str]()
    for tensor in whole:
        sizes[tensor.type] += tensor.bytes
    if dict(sizes) == dict(row.parts):
        return ""
    theirs, ours = (
        " and ".join(f"{number(size)} bytes of {type_}" for type_, size in sorted(each.items()))
        for each in (sizes, row.parts)
    )
    return f"the checkpoint has {theirs}; the model has {ours}"


def _by_part(row: ModelRow, tensors: Sequence[tuple[FileTensor, str]]) -> str:
    """Return the parts in which the bytes differ."""
    theirs = Counter[str]()
    for tensor, part in tensors:
        theirs[part or "codes"] += tensor.bytes
    if len(theirs) < 2 and len(row.parts) < 2:
        return ""
    names = dict.fromkeys((*row.parts, *theirs))
    wrong = [
        f"{name or 'elements'} {number(theirs.get(name or 'codes', 0))} and {number(row.parts.get(name, 0))}"
        for name in names
        if name != IN_JSON and theirs.get(name or "codes", 0) != row.parts.get(name, 0)
    ]
    return f" ({'; '.join(wrong)})" if wrong else ""


def _spell(shape: Sequence[int]) -> str:
    return " × ".join(f"{dim:,}" for dim in shape) if shape and prod(shape) >= 0 else "a scalar"
