"""Formats of the matrices of linear layers in safetensors files and in the buffers of the quantizing libraries.

Each expert is a matrix of its own. The router, the LM head, embeddings, convolutions, norms and biases keep 2 bytes
per element. MLX also quantizes the LM head and the token embedding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sympy import Expr, Integer, Mul, Rational, ceiling

from ...language.symbols import Z_group
from .stored_matrix import WeightRole
from .weight_format import HALF, StoredTensor, WeightFormat

ONE_BYTE, FLOAT = Integer(1), Integer(4)
WORD, BITS = Integer(4), Integer(32)  # bytes and bits of the integers that codes are packed in
GROUP = {Z_group: 128}
_GROUPS = "groups of Z_group elements along the input width (128 unless set)"
Layout = Callable[[Expr, Expr], tuple[StoredTensor, ...]]


def _groups(cols: Expr) -> Expr:
    return cols / Z_group


def awq(rows: Expr, cols: Expr) -> tuple[StoredTensor, ...]:
    """Return codes of 4 bits, zero points of 4 bits and scales of 2 bytes for each group."""
    return (
        StoredTensor("codes", (rows, cols, Rational(1, 2))),
        StoredTensor("zero points", (rows, _groups(cols), Rational(1, 2))),
        StoredTensor("scales", (rows, _groups(cols), HALF)),
    )


def gptq(bits: int) -> Layout:
    """Return the layout of codes and zero points packed in 32-bit words, scales, and the group of each column."""

    def parts(rows: Expr, cols: Expr) -> tuple[StoredTensor, ...]:
        groups = ceiling(cols / Z_group)
        return (
            StoredTensor("codes", (rows, cols, Rational(bits, 8))),
            StoredTensor("zero points", (groups, rows, Rational(bits, 8))),
            StoredTensor("scales", (groups, rows, HALF)),
            StoredTensor("group indices", (cols, WORD)),
        )

    return parts


def packed(bits: int, zero_points: bool = False) -> Layout:
    """Return the layout of codes packed in 32-bit words along each row, scales, and the shape as two integers."""

    def parts(rows: Expr, cols: Expr) -> tuple[StoredTensor, ...]:
        zeros = (StoredTensor("zero points", (_groups(cols), rows / 8, WORD)),) if zero_points else ()
        return (
            StoredTensor("codes", (rows, ceiling(bits * cols / BITS), WORD)),
            *zeros,
            StoredTensor("scales", (rows, _groups(cols), HALF)),
            StoredTensor("shape", (Integer(16),)),
        )

    return parts


def four_bit_blocks(rows: Expr, cols: Expr) -> tuple[StoredTensor, ...]:
    """Return codes of 4 bits and a float32 scale for each block of Z_group elements of the flattened matrix."""
    elements = Mul(rows, cols)
    return (
        StoredTensor("codes", (ceiling(elements / 2),)),
        StoredTensor("scales", (ceiling(elements / Z_group), FLOAT)),
    )


def double_four_bit_blocks(rows: Expr, cols: Expr) -> tuple[StoredTensor, ...]:
    """Return the same with scales of 1 byte, which have float32 scales for blocks of 256, and their mean."""
    codes, _ = four_bit_blocks(rows, cols)
    scales = ceiling(Mul(rows, cols) / Z_group)
    return (
        codes,
        StoredTensor("scales", (scales,)),
        StoredTensor("scales of scales", (ceiling(scales / 256), FLOAT)),
        StoredTensor("mean of scales", (FLOAT,)),
    )


def blocks(bits: int, block: int, scale: int = 1, whole: int = 0) -> Layout:
    """Return the layout of codes with a scale for each block of a row, and bytes of scales of the whole matrix."""

    def parts(rows: Expr, cols: Expr) -> tuple[StoredTensor, ...]:
        return (
            StoredTensor("codes", (rows, cols, Rational(bits, 8))),
            StoredTensor("scales", (rows, cols / block, Integer(scale))),
            *((StoredTensor("scale of the matrix", (Integer(whole),)),) if whole else ()),
        )

    return parts


def by_row(scale: int) -> Layout:
    """Return the layout of codes of 1 byte with a scale for each row."""
    return lambda rows, cols: (StoredTensor("codes", (rows, cols)), StoredTensor("scales", (rows, Integer(scale))))


def by_square(rows: Expr, cols: Expr) -> tuple[StoredTensor, ...]:
    """Return codes of 1 byte with a float32 scale for each block of 128 x 128 elements."""
    return (
        StoredTensor("codes", (rows, cols)),
        StoredTensor("scales", (ceiling(rows / 128), ceiling(cols / 128), FLOAT)),
    )


def whole_matrix(rows: Expr, cols: Expr) -> tuple[StoredTensor, ...]:
    """Return codes of 1 byte with one scale of 2 bytes for the weight and one for its input."""
    return (StoredTensor("codes", (rows, cols)), StoredTensor("scales", (Integer(4),)))


def hqq(rows: Expr, cols: Expr) -> tuple[StoredTensor, ...]:
    """Return codes of 4 bits, and for each group of elements a scale and a zero point of 2 bytes."""
    elements = Mul(rows, cols)
    return (
        StoredTensor("codes", (elements, Rational(1, 2))),
        StoredTensor("scales", (elements / Z_group, HALF)),
        StoredTensor("zero points", (elements / Z_group, HALF)),
    )


def mlx(bits: int) -> Layout:
    """Return the layout of codes packed along each row, with a scale and a bias of 2 bytes for each group."""
    return lambda rows, cols: (
        StoredTensor("codes", (rows, cols, Rational(bits, 8))),
        StoredTensor("scales", (rows, _groups(cols), HALF)),
        StoredTensor("biases", (rows, _groups(cols), HALF)),
    )


def exl3(bits: int) -> Layout:
    """Return the layout of a trellis code, and the signs or scales of each column and each row."""
    return lambda rows, cols: (
        StoredTensor("codes", (rows, cols, Rational(bits, 8))),
        StoredTensor("input scales", (cols, HALF)),
        StoredTensor("output scales", (rows, HALF)),
    )


def _divisible(by: Expr | int, also_rows: Expr | int | None = None) -> Callable[[Expr, Expr], list[tuple[Expr, Expr]]]:
    return lambda rows, cols: [
        (Integer(by) if isinstance(by, int) else by, cols),
        *([] if also_rows is None else [(Integer(also_rows), rows)]),
    ]


def _bitsandbytes_blocks(rows: Expr, cols: Expr) -> list[tuple[Expr, Expr]]:
    """Return the conditions for a block size of bitsandbytes: a power of two from 32 to 4,096."""
    return [(Integer(32), Z_group), (Z_group, Integer(4096))]


_FORMATS = (
    WeightFormat("awq", f"AWQ: 4 bits, {_GROUPS}", awq, _divisible(Z_group, 8), defaults=GROUP),
    *(
        WeightFormat(
            "gptq" if bits == 4 else f"gptq-{bits}",
            f"GPTQ: {bits} bits, {_GROUPS}, with the group index of each column",
            gptq(bits),
            _divisible(32, 32),
            defaults=GROUP,
        )
        for bits in (4, 2, 3, 8)
    ),
    *(
        WeightFormat(
            f"w{bits}a16",
            f"compressed-tensors, pack-quantized: {bits} bits, {_GROUPS}",
            packed(bits),
            _divisible(Z_group),
            defaults=GROUP,
        )
        for bits in (4, 2, 3, 7, 8)
    ),
    WeightFormat(
        "w4a16-asym",
        f"compressed-tensors, pack-quantized: 4 bits with zero points, {_GROUPS}",
        packed(4, zero_points=True),
        _divisible(Z_group, 8),
        defaults=GROUP,
    ),
    *(
        WeightFormat(
            name,
            f"bitsandbytes: {what}, blocks of Z_group elements (64 unless set)",
            four_bit_blocks,
            _bitsandbytes_blocks,
            defaults={Z_group: 64},
        )
        for name, what in (("nf4", "4-bit NormalFloat"), ("fp4", "4-bit floating point"))
    ),
    *(
        WeightFormat(
            f"{name}-double",
            f"bitsandbytes: {what} with double quantization, blocks of Z_group elements (64 unless set)",
            double_four_bit_blocks,
            _bitsandbytes_blocks,
            defaults={Z_group: 64},
        )
        for name, what in (("nf4", "4-bit NormalFloat"), ("fp4", "4-bit floating point"))
    ),
    WeightFormat("int8", "bitsandbytes, LLM.int8: 1 byte per element and 4 bytes per row", by_row(4)),
    WeightFormat("w8a8", "compressed-tensors: 1 byte per element and 2 bytes per row", by_row(2)),
    WeightFormat("fp8-channel", "8-bit floating point with a scale of 2 bytes per row", by_row(2)),
    WeightFormat(
        "fp8-tensor", "8-bit floating point with 2 bytes for the weight's and the input's scale", whole_matrix
    ),
    WeightFormat(
        "fp8-block",
        "8-bit floating point with a scale of 4 bytes for each 128 x 128 block, as DeepSeek-V3 [deepseek2024b]",
        by_square,
    ),
    WeightFormat("mxfp4", "MXFP4: 4 bits, and 1 byte for each 32 elements of a row", blocks(4, 32), _divisible(32)),
    WeightFormat(
        "mxfp4-experts",
        "MXFP4 for the experts, as gpt-oss [openai2025]; the matrices of other layers keep 2 bytes per element",
        blocks(4, 32),
        _divisible(32),
        frozenset({WeightRole.EXPERT}),
    ),
    WeightFormat("mxfp6", "MXFP6: 6 bits, and 1 byte for each 32 elements of a row", blocks(6, 32), _divisible(32)),
    WeightFormat("mxfp8", "MXFP8: 8 bits, and 1 byte for each 32 elements of a row", blocks(8, 32), _divisible(32)),
    WeightFormat(
        "nvfp4",
        "NVFP4: 4 bits, 1 byte for each 16 elements of a row, and 4 bytes per matrix",
        blocks(4, 16, whole=4),
        _divisible(16),
    ),
    WeightFormat(
        "hqq",
        "HQQ: 4 bits, with a scale and a zero point of 2 bytes for each group of Z_group elements (64 unless set)",
        hqq,
        lambda rows, cols: [(2 * Z_group, Mul(rows, cols))],  # codes of two halves of the groups share a byte
        defaults={Z_group: 64},
    ),
    *(
        WeightFormat(
            f"mlx-{bits}",
            f"MLX: {bits} bits, with a scale and a bias of 2 bytes for each group of Z_group elements along the input "
            "width (64 unless set), also of the LM head and the token embedding",
            mlx(bits),
            _divisible(Z_group),
            frozenset({WeightRole.LINEAR, WeightRole.HEAD, WeightRole.TOKENS}),
            {Z_group: 64},
            # mlx-lm gives routers more bits in some models, and names experts differently
            frozenset({WeightRole.EXPERT, WeightRole.ROUTER, WeightRole.KERNEL}),
        )
        for bits in (4, 2, 3, 5, 6, 8)
    ),
    *(
        WeightFormat(
            "exl3" if bits == 4 else f"exl3-{bits}",
            f"EXL3: {bits} bits, with 2 bytes per row and per column",
            exl3(bits),
            _divisible(128, 128),
        )
        for bits in (4, 2, 3, 5, 6, 8)
    ),
)
LINEAR_FORMATS: Mapping[str, WeightFormat] = MappingProxyType({each.name: each for each in _FORMATS})
