"""Tokenizer for formulas: numbers, runs of letters, words, brackets, signs. Ambiguity is resolved later.

Text from users never reaches ``eval`` or another parser. Characters and commands that are not listed here are rejected
with an error that names them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..errors import ReadingError, quoted

MAX_LENGTH = 2_000
MAX_DIGITS = 100

GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
    *("xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
)
_LETTERS = {each: each for name in GREEK for each in (name, name.capitalize())} | {
    "ell": "ell",
    "varepsilon": "epsilon",
    "varphi": "phi",
    "vartheta": "theta",
}
_SPACES = frozenset(
    [*",;:! >", "quad", "qquad", "enspace", "thinspace", "medspace", "thickspace", "displaystyle", "textstyle", "rm"]
    + ["limits", "nolimits", "nonumber", "notag", "left", "right"]
    + [size + side for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r")]
)
_WORDS = frozenset(["text", "textrm", "textit", "texttt", "textsf", "textbf", "textnormal", "mbox", "operatorname"])
_STYLED = _WORDS | {"mathrm", "mathit", "mathsf", "mathtt", "mathnormal"}
_ALPHABETS = frozenset(["mathbf", "mathcal", "mathbb", "mathscr", "mathfrak", "boldsymbol", "bm"])
ACCENTS = frozenset(["hat", "bar", "tilde", "widehat", "widetilde", "overline", "vec", "dot"])
_SIGNS = {"cdot": "*", "times": "*", "ast": "*", "div": "/", "slash": "/", "lbrace": "{", "rbrace": "}", "_": "_"}
_RELATIONS = {"approx": "≈", "simeq": "≈", "sim": "≈", "cong": "≈", "equiv": "=", "triangleq": "=", "coloneqq": "="}
_BRACKETS = {"lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "{": "[", "}": "]", "lbrack": "[", "rbrack": "]"}
CLOSING = {"(": ")", "[": "]", "{": "}", "⌊": "⌋", "⌈": "⌉"}
_READ = {"frac": "frac", "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "nicefrac": "frac", "sfrac": "frac"}
_READ |= {"sqrt": "sqrt", "sum": "sum", "max": "max", "min": "min", "floor": "floor", "ceil": "ceil"}
_READ |= {"underbrace": "brace", "overbrace": "brace", "boxed": "brace"}
_UNICODE = {
    **dict.fromkeys("·×⋅∗∙", "*"),
    **dict.fromkeys("÷∕⁄", "/"),
    **dict.fromkeys("−", "-"),
    **dict.fromkeys("≈≃≅∼", "≈"),
    **dict.fromkeys("⌊⌋⌈⌉", ""),
}
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789aehijklmnoprstuvx", strict=True))
_WHY = {
    **dict.fromkeys(["ldots", "cdots", "dots", "dotsb", "vdots"], "leaves terms out; write all of them"),
    **dict.fromkeys(["le", "leq", "ge", "geq", "lt", "gt", "ll", "gg", "lesssim"], "makes it an inequality"),
    **dict.fromkeys(["pm", "mp"], "makes it two formulas; give one of them"),
    **dict.fromkeys(["log", "ln", "exp", "sin", "cos", "tan", "tanh", "lim"], "is a function that no count contains"),
    **dict.fromkeys(["int", "partial", "nabla"], "is calculus; only arithmetic is supported"),
    "propto": "is a proportionality, not an equation",
    "\\": "starts another line; give one formula",
    "over": "is plain TeX; write \\frac{...}{...}",
    "prod": "is a product over an index, which is not supported",
}
_NUMBER = re.compile(r"(?:\d+(?:_\d+)*)?\.\d+|\d+(?:_\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:(?:\{,\}|\\,|,)\d{3})+(?![\d])(?:\.\d+)?")
_COMMAND = re.compile(r"\\([A-Za-z]+\*?|.)", re.DOTALL)
_RUN = re.compile(r"[A-Za-z]+")
_DELIMITERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))


@dataclass(frozen=True)
class Token:
    """One token. ``kind`` is number, letters, word, a sign, a bracket, a supported command, or relation."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool  # True if a space precedes it

    def shown(self) -> str:
        """Return the token in quotes, for a message."""
        return quoted(self.text)


def tokens(text: str) -> list[Token]:
    """Return the tokens of a formula. Raises ReadingError for unsupported characters and commands.

    >>> [each.text for each in tokens(r"12lh^2")]
    ['12', 'lh', '^', '2']
    """
    if len(text) > MAX_LENGTH:
        raise ReadingError(f"the formula has {len(text):,} characters; the limit is {MAX_LENGTH:,}")
    stripped = _inside(text.strip())
    if not stripped:
        raise ReadingError("the formula is empty; write one, such as 12LE^2 or 12*L*E**2")
    return list(_Cutter(stripped).cut())


def _inside(text: str) -> str:
    """Return a formula without math delimiters, labels and a final punctuation mark."""
    text = re.sub(r"\\(label|tag)\*?\{[^{}]*\}", "", text).strip()
    text = re.sub(r"^\\begin\{(equation|align|displaymath|math|gather)\*?\}|\\end\{\w+\*?\}$", "", text).strip()
    for opening, closing in _DELIMITERS:
        if text.startswith(opening) and text.endswith(closing) and len(text) >= len(opening) + len(closing):
            text = text[len(opening) : -len(closing)].strip()
    text = re.sub(r"\s*\\\\$", "", text)
    return re.sub(r"(?<!\\)[.,;]$", "", text).strip()


class _Cutter:
    def __init__(self, text: str) -> None:
        self.text = text
        self.latex = "\\" in text
        self.at = 0
        self.spaced = False

    def cut(self) -> Iterator[Token]:
        while self.at < len(self.text):
            here = self.text[self.at]
            if here.isspace() or here == "&" or (here == "~" and self.latex):
                self._skip(1)
                self.spaced = True
            elif here == "\\":
                yield from self._command()
            elif here.isascii() and (here.isdigit() or here == "."):
                yield self._number()
            elif run := _RUN.match(self.text, self.at):
                yield self._made("letters", run.group())
            elif here in _RAISED:
                yield from self._shifted("^", _RAISED)
            elif here in _LOWERED:
                yield from self._shifted("_", _LOWERED)
            else:
                yield self._sign(here)

    def _skip(self, count: int) -> None:
        self.at += count

    def _made(self, kind: str, source: str, text: str | None = None) -> Token:
        found = Token(kind, source if text is None else text, self.at, self.at + len(source), self.spaced)
        self.at, self.spaced = self.at + len(source), False
        return found

    def _number(self) -> Token:
        found = _GROUPED.match(self.text, self.at) or _NUMBER.match(self.text, self.at)
        if found is None:
            rest = self.text[self.at : self.at + 3]
            why = "leaves terms out; write all of them" if rest == "..." else "is not a decimal point: no digit follows"
            raise ReadingError(f"the dot in {self._around()} {why}")
        spelt = re.sub(r"\{,\}|\\,|,|_", "", found.group())
        if sum(each.isdigit() for each in spelt) > MAX_DIGITS:
            raise ReadingError(f"a number has {len(spelt):,} digits; the limit is {MAX_DIGITS}")
        after = self.text[found.end() : found.end() + 2]
        if re.match(r"[.,]\d", after):
            raise ReadingError(
                f"{quoted(found.group() + after)} is not a valid number: write 1.5 for a fraction, 50257 or "
                "50{,}257 for thousands"
            )
        if exponent := re.match(r"e[+-]?\d+", self.text[found.end() :]):
            both = f"{found.group()}{exponent.group()}"
            ten = exponent.group()[1:].lstrip("+")
            raise ReadingError(
                f"{quoted(both)} can be {found.group()} times 10^{{{ten}}} or a product with the letter e; write "
                f"{found.group()} \\cdot 10^{{{ten}}}, or {found.group()} e with a space"
            )
        return self._made("number", found.group(), spelt)

    def _shifted(self, sign: str, table: dict[str, str]) -> Iterator[Token]:
        """Yield the tokens of a run of superscript or subscript characters, as if written ^{...} or _{...}."""
        end = self.at
        while end < len(self.text) and self.text[end] in table:
            end += 1
        inside = "".join(table[each] for each in self.text[self.at : end])
        base = Token(sign, sign, self.at, end, False)
        self.at, self.spaced = end, False
        yield base
        yield replace(base, kind="{", text="{")
        for part in re.findall(r"\d+|[a-z]+|-", inside):
            kind = "number" if part.isdigit() else "-" if part == "-" else "letters"
            yield replace(base, kind=kind, text=part)
        yield replace(base, kind="}", text="}")

    def _sign(self, here: str) -> Token:
        two = self.text[self.at : self.at + 2]
        if two in ("**", "//"):
            return self._made(two, two)
        if two in (":=", "=="):
            return self._made("relation", two, "=")
        if two in ("<=", ">=", "!=", "->", "=>") or here in "<>≤≥≠":
            sign = quoted(two if two[1:] in ("=", ">") else here)
            raise ReadingError(f"{quoted(self.text)} contains {sign}, so it is a condition; give a formula")
        if here in "+-*/^_()[]{},|'":
            return self._made(here, here)
        if here in "=~":
            return self._made("relation", here, "=" if here == "=" else "≈")
        if here in "⌊⌋⌈⌉":
            return self._made(here, here)
        if here in "∑√":
            return self._made("sum" if here == "∑" else "sqrt", here)
        if here in _UNICODE:
            sign = _UNICODE[here]
            return self._made("relation" if sign == "≈" else sign, here, sign)
        return self._letter(here)

    def _letter(self, here: str) -> Token:
        """Return the token of a non-ASCII letter: a Greek letter, or the typeset form of an ASCII letter."""
        called = unicodedata.name(here, "")
        if found := re.match(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)$", called):
            name = {"LAMDA": "lambda"}.get(found.group(2), found.group(2).lower())
            if name in GREEK:
                return self._made("word", here, name if found.group(1) == "SMALL" else name.capitalize())
        if here == "ℓ":
            return self._made("word", here, "ell")
        plain = unicodedata.normalize("NFKC", here)
        if called.startswith("MATHEMATICAL ITALIC") and plain.isascii() and plain.isalpha():
            return self._made("letters", here, plain)
        what = f" (U+{ord(here):04X}, {called.lower()})" if not here.isascii() and called else ""
        raise ReadingError(f"the character {quoted(here)}{what} in {self._around()} is not supported")

    def _around(self) -> str:
        """Return the text around the current position, for a message."""
        return quoted(self.text[max(0, self.at - 12) : self.at + 12])

    def _command(self) -> Iterator[Token]:
        found = _COMMAND.match(self.text, self.at)
        if found is None:
            raise ReadingError("the formula ends in a backslash, which starts a command")
        name, whole = found.group(1), found.group()
        if name in _STYLED | _ALPHABETS:
            yield self._styled(name, whole)
        elif name in _SPACES:
            self._skip(len(whole))
            self.spaced = True
        elif name in _LETTERS:
            yield self._made("word", whole, _LETTERS[name])
        elif name in ACCENTS:
            yield self._made("accent", whole, name.removeprefix("wide"))
        elif name in _SIGNS:
            yield self._made(_SIGNS[name], whole, _SIGNS[name])
        elif name in _RELATIONS:
            yield self._made("relation", whole, _RELATIONS[name])
        elif name in _BRACKETS:
            yield self._made(_BRACKETS[name], whole)
        elif name in ("vert", "lvert", "rvert", "|"):
            yield self._made("|", whole, "|")
        elif name in _READ:
            yield self._made(_READ[name], whole)
        elif name == "prime":
            yield self._made("'", whole, "'")
        else:
            why = _WHY.get(name, "is not a supported command")
            raise ReadingError(f"{quoted(whole)} {why}")

    def _styled(self, name: str, whole: str) -> Token:
        r"""Return the token of a styled word: \mathrm{ffn}, \text{hidden size}; \mathbf{h} and h differ."""
        found = re.compile(r"\s*(?:\{((?:[^{}\\]|\\_|\\ |\\,)*)\}|([A-Za-z]))").match(self.text, self.at + len(whole))
        if found is None:
            raise ReadingError(f"the argument of {whole} in {self._around()} is not a plain word")
        inside = re.sub(r"\\_", "_", found.group(1) if found.group(1) is not None else found.group(2))
        inside = re.sub(r"\\ |\\,", " ", inside)
        source = self.text[self.at : found.end()]
        words = re.findall(r"[A-Za-z0-9]+'*", inside)
        rest = re.sub(r"[A-Za-z0-9\s_\-.']", "", inside)
        if rest or not words or words[0][0].isdigit():
            raise ReadingError(f"{quoted(source)} is not a valid name")
        prose = name in _WORDS and (
            PROSE & {each.lower() for each in words} or (inside != inside.strip() and len(words))
        )
        if prose:
            raise ReadingError(f"{quoted(source)} is prose; give only the formula")
        text = "_".join(words)
        if name in _ALPHABETS:
            text = f"{name}_{text}"
        elif text in ("floor", "ceil", "max", "min"):
            return self._made(text, source)
        return self._made("word", source, text)


PROSE = frozenset(["or", "and", "where", "if", "for", "otherwise", "with", "when", "is", "are", "the", "else", "per"])
