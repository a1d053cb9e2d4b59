"""Errors: each is one sentence that says what was wrong, its value, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

LISTED = 200  # characters of a list that a sentence has room for
QUOTED = 80  # characters of what the user wrote


class SymformerError(Exception):
    """Something the user can mend. ``str(error)`` is one sentence; the command line exits with status 2."""


class UnknownNameError(SymformerError):
    """A name that stands for nothing here; the sentence offers the nearest names that do."""

    def __init__(self, what: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.what, self.name, self.known = what, name, list(known)
        super().__init__(f"unknown {what} {quoted(name)}; {_suggest(name, self.known, hint)}")


class SizeError(SymformerError):
    """A number for a symbol that cannot be a size, or sizes that do not fit together."""


class OptionError(SymformerError):
    """An option that a target or a quantity does not have, or a value it does not take."""


class TargetError(SymformerError):
    """A target of a kind that a command does not take."""


class ConfigError(SymformerError):
    """A ``config.json`` that cannot be read exactly."""


class UnreadError(ConfigError):
    """A sound ``config.json`` that says something whose meaning is not known here: a type, a field or one's value."""


class FetchError(ConfigError):
    """A ``config.json`` that the Hub does not give."""


class CatalogueError(SymformerError):
    """A formula on file that is damaged, or one that cannot be kept as it is."""


class ArithmeticTextError(SymformerError):
    """Text that is not plain arithmetic over the alphabet."""


class ReadingError(SymformerError):
    """Text that is no formula as people print them, or one that can be read in more than one way."""


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


class OutputError(SymformerError):
    """Standard output that takes nothing more."""


@contextmanager
def naming(target: str) -> Iterator[None]:
    """Prefix the sentence of a SymformerError with its target, unless the sentence already names it.

    >>> with naming("gpt2"):
    ...     raise SizeError("E=7 is too small")
    Traceback (most recent call last):
    ...
    symformer.language.errors.SizeError: gpt2: E=7 is too small
    """
    try:
        yield
    except SymformerError as error:
        said = str(error)
        if target not in (word.strip("'\"`,:;()") for word in said.split()):
            error.args = (f"{target}: {said}",)
        raise


def listed(names: Iterable[str]) -> str:
    """Names for a sentence: all of them, or the first and how many more there are.

    >>> listed(["a", "b"]), listed(f"name-{number}" for number in range(1000))[-30:]
    ('a, b', 'name-21, name-22, and 977 more')
    """
    spelt = list(map(str, names))
    room, shown = LISTED, 0
    for name in spelt:
        room -= len(name) + 2
        if room < 0:
            break
        shown += 1
    more = [f"and {len(spelt) - shown:,} more"] if shown < len(spelt) else []
    return ", ".join([*spelt[:shown], *more])


def quoted(text: str) -> str:
    """What the user wrote, in quotes; the beginning of it where it is long."""
    return repr(text if len(text) <= QUOTED else text[: QUOTED - 1] + "…")


def _suggest(name: str, known: list[str], hint: str) -> str:
    from difflib import get_close_matches

    lowered, asked = {candidate.lower(): candidate for candidate in known}, name[:QUOTED].lower()
    near = [lowered[asked]] if asked in lowered else [each for each in known if asked in each.lower().split("-")][:3]
    near = near or [lowered[match] for match in get_close_matches(asked, lowered, n=3, cutoff=0.61)]
    if near:
        return "did you mean " + " or ".join(near) + "?"
    return "; ".join(filter(None, (f"known: {listed(known)}" if known else "" if hint else "none is known", hint)))
