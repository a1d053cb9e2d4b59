"""The words around a printed number: its suffix, its unit, and what it counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from .errors import ArithmeticTextError, quoted

PERCENT = "%"
# Suffixes after the digits; a longer one comes before its own prefix.
SCALES = {
    **{name: 10**power for power, names in {
        3: "k K thousand kilo", 6: "M m mn million mega", 9: "G B b bn billion giga", 12: "T tn trillion tera",
        15: "P peta", 18: "E exa", 21: "Z zetta", 24: "Y yotta",
    }.items() for name in names.split()},
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)},
    "ki": 1024,
}  # fmt: skip
UNITS = {
    **dict.fromkeys(("param", "params", "parameter", "parameters", "weights", "elements"), "elements"),
    **dict.fromkeys(("mac", "macs", "multiply-adds", "multiply-accumulates", "multadds", "mult-adds"), "MACs"),
    **dict.fromkeys(("flop", "flops"), "FLOPs"),
    **dict.fromkeys(("byte", "bytes"), "bytes"),
}
DAY = 10**15 * 86_400  # FLOPs of a petaflop/s-day
SCOPES = ("non-embedding", "embedding", "embedding and head", "head", "attention", "MLP")

# Phrases with one meaning, as regular expressions; each is replaced by a word of _MEANINGS or UNITS.
_PHRASES = tuple(
    (re.compile(pattern, re.IGNORECASE), word)
    for pattern, word in (
        (r"floating[- ]point operations", "flops"),
        (r"multiply[- ](adds|accumulates)", r"multiply-\1"),
        (r"\b(?:peta|p)[- ]?(?:flops?|f)?(?:[/-]?s)?[- ]days?\b", "petaflop-days"),
        (r"\b(?:non|excluding|excl\.?|without|w/o|no|not counting)[- ]?(?:the )?embed(?:ding)?s?\b", "non-embedding"),
        (r"(?:/\s*|\bper[- ]|\b(?:for )?(?:each|every) )(?:token|tok)\b", " per-token"),
        (r"\b(?:embed(?:ding)?s?) (?:and|\+|&) (?:unembed(?:ding)?s?|(?:the )?(?:lm[- ]?)?head)\b", "embed+unembed"),
        (r"\b(?:key[-/ ]value|kv)[- ]?cache\b", "kv-cache"),
        (r"\bfeed[- ]forward\b", "mlp"),
        (r"\b(?:lm|output)[- ]head\b", "head"),
        (r"\bpre-?train(?:ing|ed)?\b", "training"),
        (r"\bforward(?: pass)?\b", "forward"),
    )
)
_TOKENS = re.compile(
    r"(?:\b(?:for|at|on|with|over|of|in)\s+|@\s*)?(?:a\s+|an\s+)?"
    r"(?P<digits>\d+(?:,\d{3})*(?:\.\d+)?)\s*(?P<suffix>[kKMBT]|Ki)?[- ]?"
    r"(?:tokens?|tok|context|ctx)\b(?: context)?",
    re.ASCII,
)
_FORMAT = re.compile(
    r"(?:(?:ud-)?i?q\d\w*|tq\d\w*|awq|gptq|nf4|fp4|mxfp\d|nvfp4|hqq|mlx|exl3|int8|int4|fp8|fp16|bf16|fp32|f16|f32"
    r"|float16|bfloat16|float32|[2-8]-?bits?|w\da\d+|gguf|half|half-precision|single-precision)",
    re.IGNORECASE | re.ASCII,
)
_SCOPES = {
    "non-embedding": "non-embedding",
    **dict.fromkeys(("embedding", "embeddings", "embed", "embeds"), "embedding"),
    "embed+unembed": "embedding and head",
    **dict.fromkeys(("unembed", "unembedding", "head"), "head"),
    **dict.fromkeys(("attention", "attn"), "attention"),
    **dict.fromkeys(("mlp", "ffn", "experts"), "MLP"),
}
_QUANTITIES = {
    **dict.fromkeys(("kv-cache", "cache", "kv"), "kv-cache"),
    **dict.fromkeys(("training", "train"), "training"),
    "forward": "flops",
}
_ACTIVE = ("active", "activated", "activation")
_TOTAL = ("total", "overall", "all")
_SILENT = frozenset(
    [
        "in",
        "of",
        "the",
        "to",
        "for",
        "about",
        "is",
        "=",
        ":",
        "-",
        "–",
        "a",
        "precision",
        "model",
        "size",
        "file",
        "compute",
        "run",
    ]
)


@dataclass(frozen=True)
class NumberWords:
    """The meaning of the words around a printed number.

    Attributes
    ----------
    scale : Fraction
        The value of its suffix.
    suffixed : bool
        Whether it has a suffix.
    unit : str
        "elements", "MACs", "FLOPs", "bytes", "%", or "" if none is printed.
    active, total : bool
        Whether it counts the active parameters, or explicitly all of them.
    scope : str
        One of ``SCOPES``: the part of the model that it counts, or "" for the whole.
    per_token : bool
        Whether it is for one token.
    tokens : tuple[int, ...]
        The possible numbers of tokens that it is for, such as 16,384 and 16,000 for "16k tokens".
    quantity : str
        "kv-cache", "training" or "flops" if the words name it, or "".
    formats : tuple[str, ...]
        The weight formats that it names, in lower case.

    """

    scale: Fraction = Fraction(1)
    suffixed: bool = False
    unit: str = ""
    active: bool = False
    total: bool = False
    scope: str = ""
    per_token: bool = False
    tokens: tuple[int, ...] = ()
    quantity: str = ""
    formats: tuple[str, ...] = ()


def number_words(shown: str, before: str, after: str) -> NumberWords:
    """Parse the words before and after the digits of a printed number.

    Raises
    ------
    ArithmeticTextError
        If a word has no known meaning, or two words contradict each other.

    Examples
    --------
    >>> found = number_words("0.5 MB per token", "", " MB per token")
    >>> found.scale, found.unit, found.per_token
    (Fraction(1000000, 1), 'bytes', True)
    >>> number_words("8B non-embedding", "", "B non-embedding").scope
    'non-embedding'

    """
    found = _Reader(shown)
    for place, word in enumerate(_split(after, found)):
        found.read(word, place == 0)
    for word in _split(before, found):
        found.read(word, False)
    return found.words()


def _split(text: str, found: _Reader) -> list[str]:
    for pattern, word in _PHRASES:
        text = pattern.sub(word, text)
    return _TOKENS.sub(found.read_tokens, text).replace("(", " ").replace(")", " ").split()


class _Reader:
    """Collects the meanings of words one by one."""

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.scale = Fraction(1)
        self.suffixed = self.active = self.total = self.per_token = False
        self.unit = self.scope = self.quantity = ""
        self.tokens: tuple[int, ...] = ()
        self.formats: list[str] = []

    def words(self) -> NumberWords:
        return NumberWords(
            self.scale, self.suffixed, self.unit, self.active, self.total, self.scope, self.per_token, self.tokens,
            self.quantity, tuple(self.formats),
        )  # fmt: skip

    def read_tokens(self, found: re.Match[str]) -> str:
        """Read a number of tokens; k and M can be powers of 1,000 or of 1,024."""
        if self.tokens:
            raise ArithmeticTextError(f"{quoted(self.shown)} names two numbers of tokens")
        digits, suffix = Fraction(found["digits"].replace(",", "")), found["suffix"] or ""
        scales = [SCALES[suffix]] if suffix else [1]
        scales += {"k": [1024], "K": [1024], "M": [1024**2]}.get(suffix, [])
        numbers = [digits * scale for scale in scales]
        if any(number.denominator != 1 or number < 1 for number in numbers[:1]):
            raise ArithmeticTextError(f"{quoted(found[0].strip())} is not a whole number of tokens")
        self.tokens = tuple(int(number) for number in numbers if number.denominator == 1)
        return " "

    def read(self, word: str, is_suffix: bool) -> None:
        printed, word = word, word.strip(".,;:")
        plain = word.lower()
        if not plain or plain in _SILENT:
            return
        if plain == "per-token":
            self.per_token = True
        elif is_suffix and (read := _suffix(word)):
            scale, unit = read
            self.scale, self.suffixed = scale, scale != 1
            self._set_unit(unit, word)
        elif plain == "petaflop-days":
            self.scale, self.suffixed = self.scale * DAY, True
            self._set_unit("FLOPs", word)
        elif plain in UNITS and (not self.unit or self.unit == UNITS[plain] or plain == "weights"):
            self.unit = self.unit or UNITS[plain]
        elif plain == PERCENT:
            self._set_unit(PERCENT, word)
        elif plain in _ACTIVE:
            self.active = True
        elif plain in _TOTAL:
            self.total = True
        elif plain in _SCOPES:
            self.scope = self._once(self.scope, _SCOPES[plain], word)
        elif plain in _QUANTITIES:
            self.quantity = self._once(self.quantity, _QUANTITIES[plain], word)
        elif _FORMAT.fullmatch(plain):
            self.formats.append(plain)
        else:
            raise ArithmeticTextError(
                f"{quoted(printed)} in {quoted(self.shown)} is neither a suffix (k M B G T, Ki Mi Gi) nor a unit "
                "(params, FLOPs, MACs, bytes, GB, GiB, PF-days), nor a word such as active, total, non-embedding, "
                "embedding, attention, MLP, training, `per token`, `for 16k tokens`, or the name of a weight format"
            )

    def _set_unit(self, unit: str, word: str) -> None:
        self.unit = self._once(self.unit, unit, word)

    def _once(self, before: str, now: str, word: str) -> str:
        if before and now and before != now:
            raise ArithmeticTextError(f"{quoted(word)} in {quoted(self.shown)} contradicts {before!r}")
        return now or before


def _suffix(word: str) -> tuple[Fraction, str] | None:
    """Parse a suffix, alone or before a unit as in GFLOPs, GMac and GiB; a single B means billion."""
    if word in SCALES or (word.lower() in SCALES and len(word) > 1):
        return Fraction(SCALES.get(word) or SCALES[word.lower()]), ""
    for name, scale in SCALES.items():
        if word.startswith(name):
            rest = word[len(name) :].lstrip("-")
            if rest == "B":
                return Fraction(scale), "bytes"
            if rest.lower() in UNITS:
                return Fraction(scale), UNITS[rest.lower()]
    return None
