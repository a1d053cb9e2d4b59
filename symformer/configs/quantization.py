"""Quantization in a config: the fields that state it, and the config without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..language.errors import ConfigError, joined, quoted
from ..language.sizes import format_value
from .common_fields import Config
from .stored_formats import mlx_format, stored_format, unsupported_field

FIELDS = ("quantization_config", "compression_config")
EXPERTS = "expert_dtype"  # DeepSeek-V4 states the dtype of its experts separately
MLX = "quantization"  # MLX repeats quantization_config under this name; other classes use the name too
_METHODS = ("quant_method", "quant_algo", "quantization_method")  # the keys that can name a scheme


def unquantized(config: Config) -> tuple[dict[str, Any], str]:
    """Return the config without its quantization, and a description of the quantization, or "" if there is none.

    The fields can also be in a nested config. Raises ConfigError if a field is neither an object nor null.

    >>> unquantized({"hidden_size": 8, "quantization_config": {"quant_method": "awq", "bits": 4}})
    ({'hidden_size': 8}, 'awq with 4 bits (quantization_config)')
    >>> unquantized({"text_config": {"vocab_size": 5, "quantization_config": None}})
    ({'text_config': {'vocab_size': 5}}, '')
    >>> unquantized({"hidden_size": 8, "expert_dtype": "fp4"})
    ({'hidden_size': 8}, 'fp4 (expert_dtype)')
    """
    schemes = dict(_schemes(config))
    fields: dict[str, list[str]] = {}
    for path, scheme in schemes.items():
        if scheme:
            fields.setdefault(scheme, []).append(path)
    described = " and ".join(f"{scheme} ({', '.join(paths)})" for scheme, paths in fields.items())
    return _without(config, schemes.keys()), described


def _schemes(config: Config, into: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the scheme of each quantization field; the scheme of a null field is ""."""
    for name, value in config.items():
        if name in FIELDS or (name == MLX and isinstance(value, Mapping)):
            yield into + name, _scheme(into + name, value)
        elif name == EXPERTS and (value is None or isinstance(value, str)):
            yield into + name, quoted(value)[1:-1] if value else ""
        elif isinstance(value, Mapping):
            yield from _schemes(value, f"{into}{name}.")


def format_of(config: Config) -> tuple[str, int]:
    """Return the weight format that a config states, as in ``stored_format``; ("", 0) if it states none or two.

    >>> format_of({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64}})
    ('awq', 64)
    """
    if isinstance(own := config.get(MLX), Mapping):
        # MLX also writes it as quantization_config; a scheme under another name is another one
        others = [config[name] for name in FIELDS if config.get(name) is not None]
        repeated = all(other == own for other in others)
        nested = [path for path, scheme in _schemes(config) if scheme and path not in (*FIELDS, MLX)]
        return mlx_format(own) if repeated and not nested else ("", 0)
    stated = [config[name] for name in FIELDS if config.get(name) is not None]
    alone = len([scheme for _, scheme in _schemes(config) if scheme]) == 1
    return stored_format(stated[0]) if alone and stated and isinstance(stated[0], Mapping) else ("", 0)


def unsupported_value(config: Config) -> str:
    """Return why a quantized config has no weight format: the field and its value; "" if it has one.

    >>> awq = {"quant_method": "awq", "bits": 4, "group_size": 32}
    >>> unsupported_value({"quantization_config": {**awq, "version": "gemv"}})
    "quantization_config.version is 'gemv'"
    >>> unsupported_value({"quantization": {"group_size": 64, "bits": 7}})
    "quantization is {'group_size': 64, 'bits': 7}, a format of MLX"
    >>> unsupported_value({"text_config": {"quantization_config": awq}})
    'text_config.quantization_config applies to a part of the model'
    """
    stated = [path for path, scheme in _schemes(config) if scheme]
    if not stated or format_of(config)[0]:
        return ""
    if MLX in stated:
        return f"{MLX} is {format_value(config[MLX])}, a format of MLX"
    if len(stated) > 1:
        return f"{joined(stated)} state several formats"
    (path,) = stated
    if path not in FIELDS:
        return f"{path} applies to a part of the model"
    return f"{path}.{unsupported_field(config[path])}"


def _scheme(path: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path!r} is {format_value(value)} in the config; it should be an object or null")
    method = next((value[key] for key in _METHODS if isinstance(value.get(key), str)), "")
    if not method and any(isinstance(value.get(key), bool) for key in ("load_in_4bit", "load_in_8bit")):
        method = "bitsandbytes"  # early versions did not write the method name
    bits = value.get("bits")
    if value.get("load_in_4bit") is True or value.get("load_in_8bit") is True:
        bits = 4 if value.get("load_in_4bit") is True else 8
    width = f" with {bits} bits" if type(bits) is int and 0 < bits <= 32 else ""
    return (quoted(method)[1:-1] if method else "an unnamed method") + width


def _without(config: Config, paths: Any, into: str = "") -> dict[str, Any]:
    return {
        name: _without(value, paths, f"{into}{name}.") if isinstance(value, dict) else value
        for name, value in config.items()
        if into + name not in paths
    }
