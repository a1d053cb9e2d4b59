"""Remote code in a config: the classes that ``auto_map`` names, compared with the class that is counted.

Remote code is never run. A checkpoint that needs it is supported only if transformers has a class of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..language.errors import ConfigError, quoted
from .common_fields import Config, spelling

AUTO_MAP = "auto_map"
_AUTO = re.compile(r"AutoModel(For\w+|WithLMHead)?", re.ASCII)
# The suffix of a class name after the model family. It determines the auto class in transformers.
_ENDS = re.compile(r"(?P<head>For[A-Z]\w*|LMHeadModel|DoubleHeadsModel|Model)$", re.ASCII)
# A config without architectures has the class of the first of these keys in auto_map.
_FIRST = ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForMaskedLM", "AutoModel")


def check_class(config: Config) -> Config:
    """Return the config with its class in ``architectures``, taken from ``auto_map`` if only that names one.

    Raises ConfigError if ``auto_map`` loads the checkpoint with a class of another name.

    >>> check_class({"auto_map": {"AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"}})["architectures"]
    ['Phi3ForCausalLM']
    """
    remote = _remote(config.get(AUTO_MAP))
    if not remote:
        return config
    match config.get("architectures"):
        case None:
            auto = next((auto for auto in _FIRST if auto in remote), next(iter(remote)))
            return {**config, "architectures": [remote[auto][1]]}
        case [str(name)]:
            other = _other(name, remote)
            if other:
                whole, short = remote[other]
                raise ConfigError(
                    f"'architectures' names {quoted(name)}, but 'auto_map' loads the checkpoint as {quoted(short)} "
                    f"({other} is {quoted(whole)}), which is remote code and is never run; remove 'auto_map' to count "
                    f"the transformers class {quoted(name)[1:-1]}"
                )
    return config


def _remote(auto_map: Any) -> dict[str, tuple[str, str]]:
    """Return the model classes in ``auto_map`` by auto class: the value as written, and the name of the class."""
    if not isinstance(auto_map, Mapping):
        return {}
    return {
        auto: (value, value.rpartition(".")[2])
        for auto, value in auto_map.items()
        if isinstance(value, str) and _AUTO.fullmatch(auto)
    }


def _other(name: str, remote: Mapping[str, tuple[str, str]]) -> str:
    """Return the auto class that loads the checkpoint as a class other than the named one, or ""."""
    classes = {auto: short for auto, (_, short) in remote.items()}
    if spelling(name) in map(spelling, classes.values()):
        return ""
    family, head = _parts(name)
    own = "AutoModel" + (head if head.startswith("For") else "ForCausalLM" if head == "LMHeadModel" else "")
    if own in classes:
        return own
    return next((auto for auto, short in classes.items() if _parts(short)[0] != family), "")


def _parts(name: str) -> tuple[str, str]:
    """Return the family and the head in the name of a class."""
    found = _ENDS.search(name)
    return (spelling(name[: found.start()]), found["head"]) if found else (spelling(name), "")
