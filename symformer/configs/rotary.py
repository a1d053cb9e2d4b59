"""Rotary position embeddings in a config: the supported types, which do not change the number of angles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..language.errors import ConfigError, UnreadError
from ..language.sizes import format_value

# The fields of rotary embeddings. They change the values of the angles, not their number or their shape.
ROPE_BASE = "rope_theta"
ROTARY = ("rope_scaling", "rope_parameters", ROPE_BASE)
ROPES = ("default", "linear", "dynamic", "yarn", "llama3")  # the types that almost every class supports
ROPE_NEEDS: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    "longrope": ("short_factor", "long_factor"),
    "su": ("short_factor", "long_factor"),  # the earlier name of longrope
    "proportional": (),
}
ROPE_TAKES = (
    *("rope_type", "type", "rope_theta", "factor", "original_max_position_embeddings", "attention_factor"),
    *("beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor", "mscale", "mscale_all_dim", "truncate"),
    *("short_factor", "long_factor", "short_mscale", "long_mscale"),
    "alpha",  # Hunyuan's factor of the base
    *("llama_4_scaling_beta", "max_position_embeddings"),  # the factor of a query, in Ministral 3
)
DIVIDED_BY = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
PARTLY = "partial_rotary_factor"  # the fraction of a head's dimensions that rotate


def scaling(config: Mapping[str, Any]) -> str:
    """Return the type of scaling of the rotary frequencies of a config or of its language model; "" if there is none.

    >>> scaling({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}})
    'llama3'
    """
    for section in (config, config.get("text_config")):
        for name in ROTARY[:2]:
            stated = section.get(name) if isinstance(section, Mapping) else None
            kind = (stated.get("rope_type") or stated.get("type")) if isinstance(stated, Mapping) else None
            if isinstance(kind, str) and kind != "default":
                return kind
    return ""


POSITIONS = "max_position_embeddings"


def positions(config: Mapping[str, Any]) -> int:
    """Return the positions for all tokens that a config or its language section states; 0 if it states none.

    >>> positions({"text_config": {"max_position_embeddings": 131072}})
    131072
    """
    for section in (config, config.get("text_config")):
        stated = section.get(POSITIONS) if isinstance(section, Mapping) else None
        if isinstance(stated, int) and not isinstance(stated, bool) and stated > 0:
            return stated
    return 0


def check_rotary(name: str, value: Any, takes: tuple[str, ...], partly: bool, needs: tuple[str, ...] = ()) -> None:
    """Raise ConfigError for rotary embeddings that are malformed, or can change the shape of the angles.

    Parameters
    ----------
    name
        The name of the field in error messages.
    value
        The value of the field.
    takes
        The supported types.
    partly
        Whether the architecture supports rotating only a fraction of each head.
    needs
        The parts that the class requires for every type.

    """
    if name.rpartition(".")[2] == "rope_theta":
        _above_nothing(name, value)
        return
    if value is None:
        return
    if not isinstance(value, dict):
        raise ConfigError(f"{name!r} is {format_value(value)} in the config; it should be an object or null")
    kind = value.get("rope_type", value.get("type", "default"))
    if not isinstance(kind, str) or kind not in takes:
        raise UnreadError(
            f"{name!r} has the type {format_value(kind)} in the config, which is not supported; choose from "
            f"{', '.join(takes)}"
        )
    for each in (*ROPE_NEEDS[kind], *needs):
        if value.get(each) is None:
            raise ConfigError(f"{name!r} has the type {kind!r} in the config, which requires {each!r}")
    for each, given in value.items():
        if each == "rope_theta" or (each in DIVIDED_BY and given is not None):
            _above_nothing(f"{name}.{each}", given)
        # There is a proportional angle for each element of a head; elements that do not rotate have the angle 0.
        within = kind == "proportional" and not isinstance(given, bool) and isinstance(given, int | float)
        known_part = each == PARTLY and (partly or given in (1, None) or (within and 0 <= given <= 1))
        if each not in ROPE_TAKES and not known_part:
            raise UnreadError(
                f"{name!r} has {each!r} = {format_value(given)} in the config, which is not supported; remove it if it "
                "does not affect the model"
            )


def _above_nothing(name: str, value: Any) -> None:
    """Raise ConfigError unless the value is a number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ConfigError(f"{name!r} is {format_value(value)} in the config; it should be a number above 0")
