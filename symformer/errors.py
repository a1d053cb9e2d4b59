"""Errors: each is one sentence that says what was wrong, its value, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable


class SymformerError(Exception):
    """Something the user can mend. ``str(error)`` is one sentence; the command line exits with status 2."""


class UnknownNameError(SymformerError):
    """A name that stands for nothing here; the sentence offers the nearest names that do."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = list(known)
        super().__init__(f"unknown {what} {name!r}; {_suggest(name, names)}")


class SizeError(SymformerError):
    """A number for a symbol that cannot be a size, or sizes that do not fit together."""


class OptionError(SymformerError):
    """An option that a target or a quantity does not have, or a value it does not take."""


class ConfigError(SymformerError):
    """A ``config.json`` that cannot be read exactly."""


class ArithmeticTextError(SymformerError):
    """Text that is not plain arithmetic over the alphabet."""


class ShapeError(SymformerError):
    """A forward whose tensors do not fit; names the operation, the axis and both sizes."""


class RuleError(SymformerError):
    """A quantity that a kind of operation is refused for, with the reason: unknown never counts as zero."""


class DerivationError(SymformerError):
    """A step of a derivation that is not equal to the truth: a defect of symformer, never shown as a result."""


class WitnessError(SymformerError):
    """A torch model that cannot be built or compared."""


class DocumentError(SymformerError):
    """A document that cannot be written."""


def _suggest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    lowered = {candidate.lower(): candidate for candidate in known}
    near = [lowered[match] for match in get_close_matches(name.lower(), lowered, n=3, cutoff=0.6)]
    if near:
        return "did you mean " + " or ".join(near) + "?"
    return "known: " + ", ".join(known) if known else "none is known"
