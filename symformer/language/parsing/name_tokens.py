"""Split runs of letters into names: single letters, or known or declared words; ambiguous runs are an error."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from sympy import Symbol

from ..errors import AmbiguousRunError, ReadingError, quoted
from .tokens import Token, tokens
from .words import BELOW, CALLED, EITHER, FIELDS, FUNCTIONS, PROSE, known, too_long, within

LONG = 24  # maximum letters of a word
_SPLIT = re.compile(r"([a-z]+)([A-Z][A-Za-z]*)")


@dataclass(frozen=True)
class NameToken(Token):
    """A token that is one name in its normal spelling: d_model for d_{\\text{model}}."""

    subscripted: bool = False
    braced: bool = False  # True if it ends in a brace, after which a digit is a factor


def name_symbol(name: str) -> Symbol:
    """Return the symbol of a parsed name: positive, and distinct from the size of the same name in the alphabet.

    >>> name_symbol("E").is_positive, name_symbol("E").is_integer
    (True, None)
    """
    return Symbol(name, positive=True)


def one_name(text: str) -> str:
    """Parse a text that is a single name. Raises ReadingError.

    >>> one_name(r"d_{\\text{model}}"), one_name("d_model"), one_name("pp")
    ('d_model', 'd_model', 'pp')
    """
    found = tokens(text)
    run = found[0].text if found and found[0].kind == "letters" else ""
    chain = re.fullmatch(r"\s*[A-Za-z]\w*\s*", text) is not None and text.isascii()
    names = named(found, {run, text.strip()} if chain else {run})
    if len(names) != 1 or not isinstance(names[0], NameToken):
        raise ReadingError(f"{quoted(text)} is not one name, such as h, d_model or \\mathrm{{ffn}}")
    return names[0].text


def is_one_name(text: str) -> bool:
    """Return True if a text is a single name.

    >>> is_one_name("d_model"), is_one_name("A*D")
    (True, False)
    """
    try:
        one_name(text)
    except ReadingError:
        return False
    return True


def named(found: list[Token], words: Collection[str] = (), products: Collection[str] = ()) -> list[Token]:
    """Replace every run of letters, with its subscripts, by names. Raises ReadingError if a run is ambiguous.

    ``words`` are one name each, and ``products`` are products of their letters.
    """
    return _Namer(found, frozenset(words), frozenset(products)).run()


class _Namer:
    def __init__(self, found: list[Token], words: frozenset[str], products: frozenset[str]) -> None:
        self.tokens = list(found)
        self.words = words
        self.products = products
        self.at = 0
        self.made: list[Token] = []

    def run(self) -> list[Token]:
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == "letters":
                self._letters(token)
            elif token.kind == "word":
                self.at += 1
                self._finish(NameToken("name", token.text, token.start, token.end, token.spaced, braced=True))
            elif token.kind == "accent":
                self._accent(token)
            else:
                self.made.append(token)
                self.at += 1
        return self.made

    def _peek(self, ahead: int = 0) -> Token | None:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def _letters(self, token: Token) -> None:
        self.at += 1
        after = self._peek()
        if token.text == "sum" and after is not None and after.kind in ("_", "^"):
            self.made.append(replace(token, kind="sum"))
            return
        if after is not None and after.kind in ("(", "[", "{") and token.text not in self.words:
            if token.text in FUNCTIONS:
                self.made.append(replace(token, kind=FUNCTIONS[token.text]))
                return
            if token.text in CALLED:
                raise ReadingError(f"{quoted(token.text)} before a bracket is a function, which is not supported")
        if self._identifier(token):
            return
        names = self._split(token)
        for number, text in enumerate(names):
            length = len(text) if len(names) > 1 else token.end - token.start
            start = token.start + number
            spaced = token.spaced if number == 0 else False
            name = NameToken("name", text, start, start + length, spaced)
            if number < len(names) - 1:
                self.made.append(name)
            else:
                self._finish(name)

    def _identifier(self, token: Token) -> bool:
        """Consume a known or declared name of several words, as in code: num_key_value_heads."""
        text, at, longest = token.text, self.at, 0
        best = ""
        while at + 1 < len(self.tokens) and self.tokens[at].kind == "_" and not self.tokens[at].spaced:
            part = self.tokens[at + 1]
            if part.kind not in ("letters", "number") or part.spaced:
                break
            text, at = f"{text}_{part.text}", at + 2
            if part.kind == "letters" and at < len(self.tokens):
                digits = self.tokens[at]
                if digits.kind == "number" and not digits.spaced:
                    text, at = text + digits.text, at + 1
            if text in self.words or text in FIELDS:
                best, longest = text, at
        if not best:
            return False
        self.at = longest
        end = self.tokens[longest - 1].end
        self._finish(NameToken("name", best, token.start, end, token.spaced, subscripted=True))
        return True

    def _split(self, token: Token) -> list[str]:
        run = token.text
        if run in self.words or len(run) == 1:
            return [run]
        if run in self.products:
            return list(run)
        if word := known(run):
            return [word]
        if len(run) > LONG:
            raise ReadingError(f"{quoted(run)} is a run of {len(run)} letters, which is neither a name nor a product")
        product = " ".join(run)
        remedy = (
            f"write {product} for the product, or \\mathrm{{{run}}} for one name, or declare it with --where {run}=..."
        )
        if run in EITHER:
            raise AmbiguousRunError(f"{quoted(run)} can be the product {product} or one name; {remedy}", run)
        if run in PROSE or (len(run) > 2 and run.lower() in PROSE):
            raise ReadingError(f"{quoted(run)} looks like prose; give only the formula; {remedy}")
        if too_long(run):
            message = f"{quoted(run)} can be one name or a product of {len(run)} letters; {remedy}"
            raise AmbiguousRunError(message, run)
        if word := within(run, self.words):
            message = f"{quoted(run)} can be a product of letters or contain the name {word}; {remedy}"
            raise AmbiguousRunError(message, run)
        return list(run)

    def _accent(self, token: Token) -> None:
        self.at += 1
        inside = self._peek()
        braced = inside is not None and inside.kind == "{"
        if braced:
            inside, closing = self._peek(1), self._peek(2)
            if closing is None or closing.kind != "}":
                raise ReadingError(f"{token.shown()} needs a single letter under it")
        if inside is None or inside.kind not in ("letters", "word"):
            raise ReadingError(f"{token.shown()} needs a single letter under it")
        text, rest = inside.text, ""
        if inside.kind == "letters" and not braced:
            text, rest = text[0], text[1:]
        elif inside.kind == "letters" and len(text) > 1:
            raise ReadingError(f"{quoted(text)} under {token.shown()} is not a single letter")
        self.at += 3 if braced else 1
        start = token.start
        if rest:
            self.at -= 1
            self.tokens[self.at] = replace(inside, text=rest, start=inside.start + 1, spaced=False)
        self._finish(NameToken("name", f"{token.text}_{text}", start, inside.end, token.spaced, braced=braced))

    def _finish(self, name: NameToken) -> None:
        """Complete a name with its subscripts and primes."""
        while (after := self._peek()) is not None and after.kind in ("_", "'"):
            self.at += 1
            if after.kind == "'":
                name = replace(name, text=f"{name.text}'", end=after.end, braced=False)
                continue
            below, end, braced = self._below(name)
            text = f"{name.text}_{below}"
            name = replace(name, text=text, end=end, subscripted=True, braced=braced)
        self.made.append(name)

    def _below(self, name: NameToken) -> tuple[str, int, bool]:
        token = self._peek()
        if token is None or (token.spaced and token.kind != "{" and token.kind != "word"):
            raise ReadingError(f"{quoted(name.text)} has no subscript after its _")
        if token.kind == "{":
            return self._braces(name)
        self.at += 1
        if token.kind == "word":
            return token.text, token.end, True
        if token.kind == "number" and len(token.text) == 1:
            return token.text, token.end, False
        if token.kind != "letters":
            what = f"{name.text}_{token.text}"
            raise ReadingError(f"{quoted(what)} has an invalid subscript; write {name.text}_{{...}}")
        text = token.text
        if text in BELOW or len(text) == 1 or f"{name.text}_{text}" in self.words:
            return text, token.end, False
        if (cut := _SPLIT.fullmatch(text)) and cut.group(1) in BELOW:  # D_iE: a subscript word is not spelled like this
            at = token.start + cut.end(1)
            self.at -= 1
            self.tokens[self.at] = replace(token, text=cut.group(2), start=at)
            return cut.group(1), at, False
        first, rest = text[0], text[1:]
        raise ReadingError(
            f"'{name.text}_{text}' can be one name or {name.text}_{first} times {rest}; write "
            f"{name.text}_{{{text}}} or {name.text}_{first} {' '.join(rest)}"
        )

    def _braces(self, name: NameToken) -> tuple[str, int, bool]:
        depth, text, before = 0, "", None
        while (token := self._peek()) is not None:
            self.at += 1
            if token.kind == "{":
                depth += 1
            elif token.kind == "}":
                depth -= 1
                if depth == 0:
                    if not text.strip("_"):
                        break
                    return text.strip("_"), token.end, True
            elif token.kind in ("letters", "number", "word"):
                apart = before is not None and (token.spaced or before.kind not in ("letters", "number"))
                text += "_" * bool(text and apart and not text.endswith("_")) + token.text
            elif token.kind in (",", "_", "-", "/", "*"):
                text += "_" * (not text.endswith("_"))
            elif token.kind == "'":
                text += "'"
            else:
                break
            before = token
        raise ReadingError(
            f"the subscript of {quoted(name.text)} is not a name; write words and digits, as in d_{{model}}"
        )
