"""Errors: each message is one sentence that states the problem, the value, and the remedy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sized
from contextlib import contextmanager

LISTED = 200  # maximum characters of a list in a message
QUOTED = 80  # maximum characters of quoted input


class SymformerError(Exception):
    """Base class of errors the user can fix. ``str(error)`` is one sentence; the command line exits with status 2."""


class UnknownNameError(SymformerError):
    """An unknown name; the message suggests the nearest known names."""

    def __init__(self, what: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.what, self.name, self.known = what, name, list(known)
        kind, _, owner = what.partition(" of ")
        of = f" of {owner}" if owner else ""
        super().__init__(f"unknown {kind} {quoted(name)}{of}; {_suggest(name, self.known, hint)}")


class SizeError(SymformerError):
    """A value that cannot be a size, or sizes that are not compatible with each other."""


class OptionError(SymformerError):
    """An option that a target or a quantity does not have, or an invalid value for one."""


class TargetError(SymformerError):
    """A target of a kind that a command does not accept."""


class ConfigError(SymformerError):
    """A ``config.json`` that cannot be read exactly."""


class UnreadError(ConfigError):
    """A valid ``config.json`` with an unsupported type, field or value."""

    def __init__(self, stated: str, hint: str = "") -> None:
        self.stated, self.hint = stated, hint  # the message without and with the correction of a spelling
        super().__init__(f"{stated}; {hint}" if hint else stated)


class FetchError(ConfigError):
    """A ``config.json`` that cannot be downloaded from the Hub."""


class CheckpointError(SymformerError):
    """A file with stored weights that is missing, damaged or of an unsupported kind."""


class CatalogueError(SymformerError):
    """A catalogue formula that is damaged, or a formula that cannot be stored.

    Attributes
    ----------
    run_refusal : str
        Why the class could not be run, if its weights are all that the catalogue has.

    """

    run_refusal = ""


class ArithmeticTextError(SymformerError):
    """Text that is not plain arithmetic over the alphabet."""


class ReadingError(SymformerError):
    """Text that is not a formula, or a formula with more than one possible reading."""


class AmbiguousRunError(ReadingError):
    """A run of letters that can be one name or a product of letters."""

    def __init__(self, message: str, run: str) -> None:
        super().__init__(message)
        self.run = run


class ShapeError(SymformerError):
    """A forward pass with mismatched shapes; the message names the operation, the axis and both sizes."""


class RuleError(SymformerError):
    """A quantity without a rule for some kind of operation, with the reason: unknown never counts as zero."""


class DerivationError(SymformerError):
    """A derivation step that is not an identity: a bug in symformer, never shown as a result."""


class RegistrationError(SymformerError):
    """An object that another package registers for symformer and that cannot be used."""


class WitnessError(SymformerError):
    """A torch model that cannot be built or compared."""


class DocumentError(SymformerError):
    """A document that cannot be written."""


class SiteError(SymformerError):
    """The static site cannot be built."""


class OutputError(SymformerError):
    """Standard output that cannot be written to any more."""


UNSUPPORTED = (RuleError, WitnessError, CatalogueError)  # a model does not have a quantity


@contextmanager
def naming(target: str) -> Iterator[None]:
    """Prefix the message of a SymformerError with its target, unless the message already names it.

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
    """Return names for a message: all of them, or the first few and the number of the others.

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


def joined(words: Iterable[object], conjunction: str = "and") -> str:
    """Return words as in a sentence.

    >>> joined("a"), joined("ab"), joined("abc")
    ('a', 'a and b', 'a, b and c')
    """
    *others, last = map(str, words)
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def alternatives(choices: Iterable[object]) -> str:
    """Return alternatives for a message: ``a, b or c``."""
    return joined(choices, "or")


def it_or_each(names: Sized) -> str:
    """Return the pronoun for names in a message.

    >>> it_or_each("a"), it_or_each("ab")
    ('it', 'each')
    """
    return "it" if len(names) == 1 else "each"


def needs_values(what: str, names: Collection[object], before: str = "", after: str = "") -> str:
    """Return a message on sizes without a value; ``before`` and ``after`` are other remedies.

    >>> needs_values("gpt2.flops", ["B", "S"])
    'gpt2.flops needs a value for B, S; set each with --set'
    """
    return f"{what} needs a value for {listed(map(str, names))}; {before}set {it_or_each(names)} with --set{after}"


def quoted(text: str) -> str:
    r"""Return user input in quotes, shortened if it is long; backslashes, as in LaTeX, are not doubled.

    >>> print(quoted(r"\frac{1}{E}"))
    '\frac{1}{E}'
    """
    return repr(text if len(text) <= QUOTED else text[: QUOTED - 1] + "…").replace("\\\\", "\\")


def choose(value: object, known: Iterable[str], otherwise: str) -> str:
    """Return the remedy for a value that is not one of several: the nearest of them, else ``otherwise``.

    >>> choose("casual", ["full", "causal"], "choose from full, causal")
    'did you mean causal?'
    >>> choose("other", ["full", "causal"], "choose from full, causal")
    'choose from full, causal'
    """
    from difflib import get_close_matches

    near = get_close_matches(str(value)[:QUOTED].lower(), list(known), n=1, cutoff=0.61)
    return f"did you mean {near[0]}?" if near else otherwise


def _suggest(name: str, known: list[str], hint: str) -> str:
    from difflib import get_close_matches

    lowered, asked = {candidate.lower(): candidate for candidate in known}, name[:QUOTED].lower()
    near = [lowered[asked]] if asked in lowered else [each for each in known if asked in each.lower().split("-")][:3]
    near = near or [lowered[match] for match in get_close_matches(asked, lowered, n=3, cutoff=0.61)]
    if near:
        return f"did you mean {alternatives(near)}?"
    return "; ".join(filter(None, (f"known: {listed(known)}" if known else "" if hint else "none is known", hint)))
