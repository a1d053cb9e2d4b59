"""The weight format that a config's quantization states, by the name of the formats of ``weights=``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..language.sizes import format_value
from .common_fields import Config

# The modules that no format quantizes, so a config may list them.
_KEPT = frozenset({"lm_head", "model.embed_tokens", "embed_tokens", "mlp.gate", "mlp.router", "gate", "router"})
# What gpt-oss lists: everything but the experts.
_ALL_BUT_EXPERTS = frozenset({"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"})


class UnsupportedFormatError(Exception):
    """A field of a quantization config whose value no format of ``weights=`` has. The message names both."""


def stored_format(scheme: Config) -> tuple[str, int]:
    """Return the name of the format and its elements per group; ("", 0) if a field has another value than supported.

    Parameters
    ----------
    scheme : Config
        The value of ``quantization_config``.

    Examples
    --------
    >>> stored_format({"quant_method": "awq", "bits": 4, "group_size": 64})
    ('awq', 64)
    >>> stored_format({"quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemv"})
    ('', 0)

    """
    try:
        return _read(scheme)
    except UnsupportedFormatError:
        return "", 0


def unsupported_field(scheme: Config) -> str:
    """Return the first field whose value is not supported, with the value; "" if ``stored_format`` has a format.

    Examples
    --------
    >>> unsupported_field({"quant_method": "awq", "bits": 5, "group_size": 64})
    'bits is 5'
    >>> unsupported_field({"quant_method": "gptq", "bits": 4, "group_size": 64, "is_marlin_format": True})
    'is_marlin_format is True'

    """
    try:
        _read(scheme)
    except UnsupportedFormatError as error:
        return str(error)
    return ""


def _read(scheme: Config) -> tuple[str, int]:
    """Return the format. Raises UnsupportedFormatError."""
    method = scheme.get("quant_method")
    if method is None and (scheme.get("load_in_4bit") or scheme.get("load_in_8bit")):
        method = "bitsandbytes"  # early versions did not write the method name
    read = _METHODS.get(str(method))
    if read is None:
        raise _unsupported(scheme, "quant_method")
    return read(scheme)


def _unsupported(scheme: Config, field: str, default: Any = None, within: str = "") -> UnsupportedFormatError:
    """Return the error for a field."""
    return UnsupportedFormatError(f"{within}{field} is {format_value(scheme.get(field, default))}")


def mlx_format(scheme: Config) -> tuple[str, int]:
    """Return the format of MLX that the field ``quantization`` states; ("", 0) if it is another one.

    Examples
    --------
    >>> mlx_format({"group_size": 64, "bits": 4}), mlx_format({"group_size": 64, "bits": 4, "lm_head": False})
    (('mlx-4', 64), ('', 0))

    """
    bits, group = scheme.get("bits"), scheme.get("group_size")
    usual = type(bits) is int and bits in (2, 3, 4, 5, 6, 8) and type(group) is int and group in (32, 64, 128)
    # other fields are the names of layers with a format of their own
    alone = scheme.keys() <= {"bits", "group_size", "mode"} and scheme.get("mode", "affine") == "affine"
    return (f"mlx-{bits}", int(group)) if usual and alone and isinstance(group, int) else ("", 0)


def _require(holds: object, scheme: Config, field: str, default: Any = None, within: str = "") -> None:
    """Raise UnsupportedFormatError unless a condition on a field holds."""
    if not holds:
        raise _unsupported(scheme, field, default, within)


def _require_none(scheme: Config, *fields: str) -> None:
    """Raise UnsupportedFormatError if one of these fields has a value."""
    for field in fields:
        _require(not scheme.get(field), scheme, field)


def _require_usual(scheme: Config, *fields: str) -> None:
    """Raise UnsupportedFormatError if a config excludes modules that the format itself does not keep."""
    for field in fields:
        listed = scheme.get(field) or []
        usual = isinstance(listed, list) and all(isinstance(each, str) and each in _KEPT for each in listed)
        _require(usual, scheme, field)


def _require_head(scheme: Config, field: str) -> None:
    """Raise UnsupportedFormatError unless the LM head is excluded: these methods quantize every linear layer."""
    _require_usual(scheme, field)
    _require("lm_head" in (scheme.get(field) or []), scheme, field)


def _group(scheme: Config, within: str = "") -> int:
    size = scheme.get("group_size")
    _require(type(size) is int and size > 0, scheme, "group_size", within=within)
    assert isinstance(size, int)  # noqa: S101 (checked above)
    return size


def _awq(scheme: Config) -> tuple[str, int]:
    _require(scheme.get("bits") == 4, scheme, "bits")
    _require(str(scheme.get("version") or "gemm").lower() == "gemm", scheme, "version")
    _require(scheme.get("zero_point", True) is True, scheme, "zero_point")
    _require_usual(scheme, "modules_to_not_convert")
    return "awq", _group(scheme)


def _gptq(scheme: Config) -> tuple[str, int]:
    bits = scheme.get("bits")
    _require(type(bits) is int and bits in (2, 3, 4, 8), scheme, "bits")
    _require((scheme.get("checkpoint_format") or "gptq") in ("gptq", "gptq_v2"), scheme, "checkpoint_format")
    # Marlin layouts have no group indices; "dynamic" and the lists of modules select other matrices.
    lists = ("dynamic", "modules_in_block_to_quantize", "modules_to_not_convert")
    _require_none(scheme, "lm_head", *lists, "is_marlin_format")
    return "gptq" if bits == 4 else f"gptq-{bits}", _group(scheme)


def _bitsandbytes(scheme: Config) -> tuple[str, int]:
    skipped = "llm_int8_skip_modules"  # null: transformers itself skips the LM head
    if scheme.get(skipped) is not None:
        _require_head(scheme, skipped)
    if scheme.get("load_in_8bit") is True:
        _require(scheme.get("load_in_4bit") is not True, scheme, "load_in_4bit")
        return "int8", 0
    kind = scheme.get("bnb_4bit_quant_type", "fp4")
    _require(scheme.get("load_in_4bit") is True, scheme, "load_in_4bit")
    _require(kind in ("nf4", "fp4"), scheme, "bnb_4bit_quant_type")
    return f"{kind}-double" if scheme.get("bnb_4bit_use_double_quant") is True else kind, 64


def _fp8(scheme: Config) -> tuple[str, int]:
    _require(scheme.get("weight_block_size") == [128, 128], scheme, "weight_block_size")
    # static: a scale of the input of each layer
    _require(scheme.get("activation_scheme", "dynamic") == "dynamic", scheme, "activation_scheme")
    _require_usual(scheme, "modules_to_not_convert", "ignored_layers")
    return "fp8-block", 0


def _mxfp4(scheme: Config) -> tuple[str, int]:
    listed = scheme.get("modules_to_not_convert")
    names = {str(module) for module in listed} if isinstance(listed, list) else set()
    _require(names == _ALL_BUT_EXPERTS, scheme, "modules_to_not_convert")
    return "mxfp4-experts", 0


def _compressed_tensors(scheme: Config) -> tuple[str, int]:
    groups = scheme.get("config_groups")
    if not isinstance(groups, Mapping) or len(groups) != 1:
        raise UnsupportedFormatError(
            f"config_groups has {len(groups)} groups" if isinstance(groups, Mapping) else "config_groups is missing"
        )
    _require_head(scheme, "ignore")
    ((name, group),) = groups.items()
    weights = group.get("weights") if isinstance(group, Mapping) else None
    within = f"config_groups.{name}."
    if not isinstance(weights, Mapping):
        raise UnsupportedFormatError(f"{within}weights is {format_value(weights)}")
    _require(group.get("targets") == ["Linear"], group, "targets", within=within)
    _require(not weights.get("actorder"), weights, "actorder", within=f"{within}weights.")
    sparsity = scheme.get("sparsity_config") or {}
    dense = isinstance(sparsity, Mapping) and sparsity.get("format", "dense") == "dense"
    _require(dense, scheme, "sparsity_config")
    _require_none(scheme, "kv_cache_scheme", "transform_config")
    _require(not group.get("output_activations"), group, "output_activations", within=within)
    return _compressed(scheme, weights, group.get("input_activations"), f"{within}weights.")


def _compressed(scheme: Config, weights: Config, inputs: Any, within: str) -> tuple[str, int]:
    layout, bits, kind = str(scheme.get("format")), weights.get("num_bits"), weights.get("type")
    strategy, symmetric = weights.get("strategy"), weights.get("symmetric", True) is True
    _require(type(bits) is int, weights, "num_bits", within=within)
    if layout == "pack-quantized":
        _require(kind == "int", weights, "type", within=within)
        _require(strategy == "group", weights, "strategy", within=within)
        _require(inputs is None, {"input_activations": inputs}, "input_activations")
        _require(bits in ((2, 3, 4, 7, 8) if symmetric else (4,)), weights, "num_bits", within=within)
        return f"w{bits}a16" if symmetric else "w4a16-asym", _group(weights, within)
    _require(layout in ("float-quantized", "int-quantized"), scheme, "format")
    _require(bits == 8, weights, "num_bits", within=within)
    _require(symmetric, weights, "symmetric", True, within)
    dynamic = isinstance(inputs, Mapping) and inputs.get("dynamic") is True
    _require(dynamic, {"input_activations": inputs}, "input_activations")
    _require(strategy == "channel", weights, "strategy", within=within)
    _require(kind == ("float" if layout == "float-quantized" else "int"), weights, "type", within=within)
    return "fp8-channel" if layout == "float-quantized" else "w8a8", 0


_METHODS = {
    "awq": _awq,
    "gptq": _gptq,
    "bitsandbytes": _bitsandbytes,
    "fp8": _fp8,
    "mxfp4": _mxfp4,
    "compressed-tensors": _compressed_tensors,
}
