"""The weight format of a checkpoint, read from the names, types and shapes of its tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..language.errors import CheckpointError
from ..quantities.weight_formats import MEANINGS
from ..quantities.weight_formats.gguf import PREFIX
from .checkpoint import Checkpoint, FileTensor

_ELEMENTS = {"BF16": "bf16", "F16": "fp16", "F32": "fp32"}


@dataclass(frozen=True)
class StoredForm:
    """A format of ``weights=``, and its elements per group, if the checkpoint determines them."""

    weights: str
    group: int = 0
    reason: str = ""  # how it was found


def stored_form(checkpoint: Checkpoint) -> StoredForm:
    """Return the format of a checkpoint. Raises CheckpointError if it cannot be detected or is not supported."""
    found = _of_gguf(checkpoint) if checkpoint.format == "GGUF" else _of_safetensors(checkpoint.tensors)
    if found.weights not in MEANINGS:
        raise CheckpointError(
            f"{checkpoint.path} is stored in the format {found.weights}, which is not supported; to compare it "
            "with another format, use --option weights=FORMAT"
        )
    return found


def _of_gguf(checkpoint: Checkpoint) -> StoredForm:
    from gguf.constants import LlamaFileType

    stated = checkpoint.metadata.get("general.file_type")
    names = {int(each): each.name for each in LlamaFileType}
    if stated not in names:
        raise CheckpointError(
            f"{checkpoint.path} does not state its mixture (general.file_type is {stated}); name it, as in "
            "--option weights=gguf:q4_k_m"
        )
    name = names[int(stated)].removeprefix("MOSTLY_").removeprefix("ALL_").lower()
    return StoredForm(PREFIX + name, reason="general.file_type of the file")


def _of_safetensors(tensors: Sequence[FileTensor]) -> StoredForm:
    shapes = {tensor.name: tensor for tensor in tensors}
    for name, tensor in shapes.items():
        for ending, read in _ENDINGS.items():
            if name.endswith(ending) and (found := read(shapes, name.removesuffix(ending), tensor)):
                return found
    sizes = Counter[str]()
    for tensor in tensors:
        sizes[tensor.type] += tensor.bytes
    if not sizes:
        raise CheckpointError("the checkpoint has no tensors")
    type_, most = sizes.most_common(1)[0]
    if type_ in _ELEMENTS:
        return StoredForm(_ELEMENTS[type_], reason=f"the type of {100 * most / sum(sizes.values()):.4g}% of its bytes")
    if type_.startswith("F8_E4M3"):
        return StoredForm("fp8", reason="its type without scales")
    raise CheckpointError(
        f"most bytes of the checkpoint have type {type_}, from which no format follows; name it with --option weights="
    )


Shapes = dict[str, FileTensor]


def _packed_words(shapes: Shapes, base: str, codes: FileTensor) -> StoredForm | None:
    """Return the format of GPTQ (with the group of each column) or AWQ, whose codes are in 32-bit integers."""
    scales, groups = shapes.get(f"{base}.scales"), shapes.get(f"{base}.g_idx")
    if scales is None or len(codes.shape) != 2 or len(scales.shape) != 2 or not scales.shape[0]:
        return None
    if groups is None:
        return StoredForm("awq", codes.shape[0] // scales.shape[0], "its tensors qweight, qzeros and scales")
    cols = groups.shape[0]
    bits, group = 32 * codes.shape[0] // cols, -(-cols // scales.shape[0])
    return StoredForm("gptq" if bits == 4 else f"gptq-{bits}", group, "its tensors qweight, qzeros, scales and g_idx")


def _packed_rows(shapes: Shapes, base: str, codes: FileTensor) -> StoredForm | None:
    scales = shapes.get(f"{base}.weight_scale")
    if scales is None:
        return None
    if codes.type == "U8" or f"{base}.weight_global_scale" in shapes:
        return StoredForm("nvfp4", reason="its tensors weight_packed and weight_global_scale")
    return None  # the number of bits follows from the width, which only the model knows: see ``packed_form``


def _float_8(shapes: Shapes, base: str, scales: FileTensor) -> StoredForm | None:
    weight = shapes.get(f"{base}.weight")
    if weight is None:
        return None
    if f"{base}.weight_scale_2" in shapes:
        return StoredForm("nvfp4", reason="its tensors weight_scale and weight_scale_2")
    if weight.type == "I8":
        return StoredForm("w8a8", reason="its tensors weight (I8) and weight_scale")
    if weight.type.startswith("F8"):
        name = "fp8-channel" if scales.elements > 1 else "fp8-tensor"
        return StoredForm(name, reason=f"its tensors weight ({weight.type}) and weight_scale")
    return None


def _block_float_8(shapes: Shapes, base: str, scales: FileTensor) -> StoredForm | None:
    return StoredForm("fp8-block", reason="its tensors weight_scale_inv")


def _bitsandbytes(shapes: Shapes, base: str, scales: FileTensor) -> StoredForm | None:
    kind = "nf4" if f"{base}.weight.quant_state.bitsandbytes__nf4" in shapes else "fp4"
    codes = shapes.get(f"{base}.weight")
    group = 2 * codes.elements // scales.elements if codes is not None and scales.elements else 0
    double = f"{base}.weight.nested_absmax" in shapes
    return StoredForm(f"{kind}-double" if double else kind, group, f"the quant_state of bitsandbytes, {kind}")


def _int8(shapes: Shapes, base: str, scales: FileTensor) -> StoredForm | None:
    return StoredForm("int8", reason="its tensors SCB, of bitsandbytes")


def _blocks(shapes: Shapes, base: str, codes: FileTensor) -> StoredForm | None:
    return StoredForm("mxfp4-experts", reason="its tensors blocks and scales") if f"{base}_scales" in shapes else None


def _trellis(shapes: Shapes, base: str, codes: FileTensor) -> StoredForm | None:
    bits = codes.shape[-1] // 16  # 16 x 16 elements of K bits are 16·K integers of 16 bits
    return StoredForm("exl3" if bits == 4 else f"exl3-{bits}", reason="its tensors trellis")


def _hqq(shapes: Shapes, base: str, codes: FileTensor) -> StoredForm | None:
    return StoredForm("hqq", reason="its tensors W_q")


_ENDINGS = {
    ".qweight": _packed_words,
    ".weight_packed": _packed_rows,
    ".weight_scale_inv": _block_float_8,
    ".weight_scale": _float_8,
    ".weight.absmax": _bitsandbytes,
    ".SCB": _int8,
    "_blocks": _blocks,
    ".trellis": _trellis,
    ".W_q": _hqq,
}


def packed_form(checkpoint: Checkpoint, widths: dict[str, int]) -> StoredForm | None:
    """Return the format of packed integers whose number of bits follows from the width of the matrix.

    Parameters
    ----------
    checkpoint : Checkpoint
        The checkpoint.
    widths : dict[str, int]
        The input width of weights of the model, by the name of the tensor with the codes.

    """
    shapes = {tensor.name: tensor for tensor in checkpoint.tensors}
    for name, codes in shapes.items():
        if name not in widths or not codes.shape:
            continue
        bits, base = 32 * codes.shape[-1] // widths[name], name.removesuffix("_packed").removesuffix(".weight")
        if name.endswith(".weight_packed") and codes.type == "I32" and (scales := shapes.get(f"{base}.weight_scale")):
            zeros = "-asym" if f"{base}.weight_zero_point" in shapes else ""
            reason = "its tensors weight_packed, weight_scale and weight_shape"
            return StoredForm(f"w{bits}a16{zeros}", widths[name] // max(scales.shape[-1], 1), reason)
        if codes.type == "U32" and f"{base}.biases" in shapes and (scales := shapes.get(f"{base}.scales")):
            reason = "its tensors scales and biases, of MLX"
            return StoredForm(f"mlx-{bits}", widths[name] // max(scales.shape[-1], 1), reason)
    return None
