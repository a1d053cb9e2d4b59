"""The weight format that a config's quantization states, by the name of the formats of ``weights=``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .common_fields import Config

# The modules that no format quantizes, so a config may list them.
_KEPT = frozenset({"lm_head", "model.embed_tokens", "embed_tokens", "mlp.gate", "mlp.router", "gate", "router"})
# What gpt-oss lists: everything but the experts.
_ALL_BUT_EXPERTS = frozenset({"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"})


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
    method = scheme.get("quant_method")
    if method is None and (scheme.get("load_in_4bit") or scheme.get("load_in_8bit")):
        method = "bitsandbytes"  # early versions did not write the method name
    read = _METHODS.get(str(method))
    return read(scheme) if read else ("", 0)


def _keeps_only_usual(scheme: Config, *fields: str) -> bool:
    """Return whether the format itself keeps all modules that a config excludes."""
    lists = [scheme.get(field) or [] for field in fields]
    return all(
        isinstance(each, list) and all(isinstance(module, str) and module in _KEPT for module in each) for each in lists
    )


def _keeps_head(scheme: Config, field: str) -> bool:
    """Return whether a config excludes the LM head. Methods that quantize every linear layer include it otherwise."""
    return _keeps_only_usual(scheme, field) and "lm_head" in (scheme.get(field) or [])


def _group(scheme: Config) -> int:
    size = scheme.get("group_size")
    return size if type(size) is int and size > 0 else 0


def _awq(scheme: Config) -> tuple[str, int]:
    version = str(scheme.get("version") or "gemm").lower()
    usual = scheme.get("bits") == 4 and version == "gemm" and scheme.get("zero_point", True) is True
    known = usual and _group(scheme) and _keeps_only_usual(scheme, "modules_to_not_convert")
    return ("awq", _group(scheme)) if known else ("", 0)


def _gptq(scheme: Config) -> tuple[str, int]:
    bits, layout = scheme.get("bits"), scheme.get("checkpoint_format") or "gptq"
    usual = bits in (2, 3, 4, 8) and layout in ("gptq", "gptq_v2") and not scheme.get("lm_head")
    # Marlin layouts have no group indices; "dynamic" and the lists of modules select other matrices.
    other = ("dynamic", "modules_in_block_to_quantize", "modules_to_not_convert", "is_marlin_format")
    known = usual and type(bits) is int and _group(scheme) and not any(scheme.get(field) for field in other)
    return ("gptq" if bits == 4 else f"gptq-{bits}", _group(scheme)) if known else ("", 0)


def _bitsandbytes(scheme: Config) -> tuple[str, int]:
    skipped = "llm_int8_skip_modules"  # null: transformers itself skips the LM head
    if scheme.get(skipped) is not None and not _keeps_head(scheme, skipped):
        return "", 0
    if scheme.get("load_in_8bit") is True:
        return ("", 0) if scheme.get("load_in_4bit") is True else ("int8", 0)
    kind = scheme.get("bnb_4bit_quant_type", "fp4")
    if scheme.get("load_in_4bit") is not True or kind not in ("nf4", "fp4"):
        return "", 0
    return f"{kind}-double" if scheme.get("bnb_4bit_use_double_quant") is True else kind, 64


def _fp8(scheme: Config) -> tuple[str, int]:
    square = scheme.get("weight_block_size") == [128, 128]
    dynamic = scheme.get("activation_scheme", "dynamic") == "dynamic"  # static: a scale of the input of each layer
    usual = square and dynamic and _keeps_only_usual(scheme, "modules_to_not_convert", "ignored_layers")
    return ("fp8-block", 0) if usual else ("", 0)


def _mxfp4(scheme: Config) -> tuple[str, int]:
    listed = scheme.get("modules_to_not_convert")
    names = {str(module) for module in listed} if isinstance(listed, list) else set()
    return ("mxfp4-experts", 0) if names == _ALL_BUT_EXPERTS else ("", 0)


def _compressed_tensors(scheme: Config) -> tuple[str, int]:
    groups = scheme.get("config_groups")
    if not isinstance(groups, Mapping) or len(groups) != 1 or not _keeps_head(scheme, "ignore"):
        return "", 0
    (group,) = groups.values()
    weights = group.get("weights") if isinstance(group, Mapping) else None
    if not isinstance(weights, Mapping) or group.get("targets") != ["Linear"] or weights.get("actorder"):
        return "", 0
    sparsity = scheme.get("sparsity_config") or {}
    dense = isinstance(sparsity, Mapping) and sparsity.get("format", "dense") == "dense"
    if not dense or scheme.get("kv_cache_scheme") or scheme.get("transform_config") or group.get("output_activations"):
        return "", 0
    inputs = group.get("input_activations")
    return _compressed(str(scheme.get("format")), weights, inputs)


def _compressed(layout: str, weights: Config, inputs: Any) -> tuple[str, int]:
    bits, kind, strategy = weights.get("num_bits"), weights.get("type"), weights.get("strategy")
    symmetric = weights.get("symmetric", True) is True
    if type(bits) is not int:
        return "", 0
    if layout == "pack-quantized" and kind == "int" and strategy == "group" and inputs is None:
        if bits in (2, 3, 4, 7, 8) and symmetric and _group(weights):
            return f"w{bits}a16", _group(weights)
        if bits == 4 and not symmetric and _group(weights):
            return "w4a16-asym", _group(weights)
    dynamic = isinstance(inputs, Mapping) and inputs.get("dynamic") is True
    if bits == 8 and symmetric and dynamic and strategy == "channel":
        if layout == "float-quantized" and kind == "float":
            return "fp8-channel", 0
        if layout == "int-quantized" and kind == "int":
            return "w8a8", 0
    return "", 0


_METHODS = {
    "awq": _awq,
    "gptq": _gptq,
    "bitsandbytes": _bitsandbytes,
    "fp8": _fp8,
    "mxfp4": _mxfp4,
    "compressed-tensors": _compressed_tensors,
}
