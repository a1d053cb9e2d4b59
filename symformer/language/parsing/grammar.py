"""The grammar of formulas: adjacent factors are multiplied, and there are no function calls.

``d`` is a letter and never a differential, ``E`` is a letter and never an exponent. Ambiguous input is an error that
lists both readings and how to write each. Every result is bounded before it is computed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction

from sympy import (
    Expr,
    Max,
    Min,
    Rational,
    ceiling,
    floor,
)

from ..errors import ReadingError, quoted
from ..limits import SYMBOL, ExpansionBound
from .name_tokens import NameToken, name_symbol
from .parsed_values import Arithmetic, Value
from .tokens import CLOSING, Token

MAX_DEPTH = 60

_TIMES = ("*", "/", "//")
_BEGIN = frozenset(["number", "name", "frac", "sqrt", "sum", "max", "min", "floor", "ceil", "brace", *CLOSING])


class Parser(Arithmetic):
    def __init__(self, found: list[Token], text: str, words: Collection[str]) -> None:
        super().__init__(text.strip())
        self.tokens, self.words = found, frozenset(words)
        self.at = 0
        self.depth = 0
        self.names: dict[str, None] = {}
        self.bound_names: list[str] = []  # the indices of sums

    # Tokens

    def _peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _kind(self) -> str:
        token = self._peek()
        return token.kind if token is not None else ""

    def _next(self) -> Token:
        token = self._peek()
        if token is None:
            raise ReadingError(f"{quoted(self.text)} ends too early; a term or a bracket is missing at the end")
        self.at += 1
        return token

    def _expect(self, kind: str, what: str) -> Token:
        token = self._peek()
        if token is None or token.kind != kind:
            found = "the end" if token is None else token.shown()
            raise ReadingError(f"{what} needs {kind!r}, but {quoted(self.text)} has {found}")
        self.at += 1
        return token

    # The grammar

    def whole(self) -> Expr:
        """Parse the whole formula."""
        self._no_order()
        value = self._sum()
        token = self._peek()
        if token is not None:
            what = {",": "a comma outside a list", "|": "a bar, which is not supported"}.get(token.kind)
            closing = f"{token.shown()} without an opening bracket" if token.kind in CLOSING.values() else token.shown()
            raise ReadingError(f"{quoted(self.text)} has {what or closing}")
        return value.expr

    def _no_order(self) -> None:
        first, second = (*self.tokens[:2], None, None)[:2]
        if first is None or second is None or second.kind not in ("(", "["):
            return
        if first.kind == "name" and first.text in ("O", "Theta", "Omega", "o") and first.text not in self.words:
            raise ReadingError(
                f"{first.text}(...) is an order of growth, not a count; if {first.text} is a size, "
                f"write {first.text} \\cdot (...)"
            )

    def _sum(self) -> Value:
        value = self._product()
        while self._kind() in ("+", "-"):
            operator = self._next()
            self._sum_ended(operator)
            other = self._product()
            bound = self.held(value.bound + other.bound)
            total = value.expr + other.expr if operator.kind == "+" else value.expr - other.expr
            value = Value(total, bound, "group", other.last)
        return value

    open_sum: Token | None = None  # a sum sign whose summand has no clear end

    def _sum_ended(self, operator: Token) -> None:
        if self.open_sum is not None:
            raise ReadingError(
                f"it is unclear whether the sum ends before {operator.text!r} in {quoted(self.text)}; put the summand "
                "or the whole sum in brackets"
            )

    def _product(self) -> Value:
        value = self._factor()
        below: Token | None = None  # the sign of a division whose divisor was the last factor
        first = value.last
        while True:
            kind = self._kind()
            if kind in _TIMES:
                operator = self._next()
                other = self._factor()
                value = self.divided(value, operator, other) if operator.kind != "*" else self.times(value, other)
                below = operator if operator.kind != "*" else None
            elif kind in _BEGIN:
                token = self._next()
                self.at -= 1
                if below is not None:
                    raise self._after_slash(below, token)
                self._beside(value, token)
                value = self.times(value, self._power())
            else:
                if kind == "relation":
                    raise ReadingError(f"{quoted(self.text)} has an equals sign inside a bracket")
                return replace(value, last=value.last or first)

    def _after_slash(self, below: Token, token: Token) -> ReadingError:
        divisor = self.tokens[self.at - 1]
        return ReadingError(
            f"in {quoted(self.text)} the factor after {below.text}{divisor.text} can be in the denominator or not "
            f"(a/bc is a/(bc) or (a/b)c), at {token.shown()}; write brackets, or \\frac{{...}}{{...}}"
        )

    def _beside(self, value: Value, token: Token) -> None:
        """Raise ReadingError if two adjacent factors can mean something other than their product."""
        last = value.last
        if token.kind == "number" and last is not None:
            if value.kind == "number":
                both, thousands = f"{last.text} {token.text}", len(token.text) == 3
                raise ReadingError(
                    f"{quoted(both)} are two numbers side by side; write {last.text} \\cdot {token.text}"
                    + f" for their product, or {last.text}{token.text}" * thousands
                )
            braced = last.kind == "}" or (isinstance(last, NameToken) and last.braced)
            if not token.spaced and not braced:
                both = f"{last.text}{token.text}"
                raise ReadingError(
                    f"{quoted(both)} in {quoted(self.text)} can be a product, a power or a subscript; write "
                    f"{last.text} \\cdot {token.text}, {last.text}^{token.text} or {last.text}_{token.text}"
                )
        if token.kind == "frac" and value.kind == "number" and self._numeric_fraction():
            raise ReadingError(
                f"the whole number {last.text if last else ''} before a fraction of numbers in {quoted(self.text)} can "
                "be multiplied by it or added to it; write \\cdot or + between them"
            )
        if token.kind == "[" and isinstance(last, NameToken) and not token.spaced and self._is_index():
            raise ReadingError(f"{last.text}[...] in {quoted(self.text)} is an index, which is not supported")
        times = token.kind == "name" and token.text == "x" and token.spaced and "x" not in self.words
        if times and value.kind in ("number", "group") and self._spaced_after():
            raise ReadingError(f"x in {quoted(self.text)} can be a name or a multiplication sign; write * for the sign")

    def _numeric_fraction(self) -> bool:
        """Return True if a fraction of two plain numbers comes next."""
        at, parts = self.at + 1, 0
        while parts < 2:
            kinds = [each.kind for each in self.tokens[at : at + 3]]
            if kinds[:1] == ["number"]:
                at, parts = at + 1, parts + len(self.tokens[at].text)
            elif kinds == ["{", "number", "}"]:
                at, parts = at + 3, parts + 1
            else:
                return False
        return True

    def _is_index(self) -> bool:
        return [each.kind for each in self.tokens[self.at + 1 : self.at + 3]] == ["number", "]"]

    def _spaced_after(self) -> bool:
        after = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        return after is not None and after.spaced

    def _factor(self) -> Value:
        signs = 0
        while self._kind() in ("+", "-"):
            signs += self._next().kind == "-"
        value = self._power()
        return self.negative(value) if signs % 2 else value

    def _power(self) -> Value:
        before = len(self.names)
        base = self._atom()
        if self._kind() not in ("^", "**"):
            return base
        operator = self._next()
        if isinstance(base.last, NameToken) and base.kind == "label" and (label := self._label()):
            if len(self.names) > before:  # in d_h^R, d_h is not a name by itself
                self.names.popitem()
            base = self._name(f"{base.last.text}^{label}")
            if self._kind() not in ("^", "**"):
                return base
            operator = self._next()
        exponent, last = self._exponent(operator)
        if self._kind() in ("^", "**"):
            raise ReadingError(f"{quoted(self.text)} has a power of a power; write brackets")
        if self._kind() == "_":
            raise ReadingError(f"{quoted(self.text)} has a subscript after a power; write the subscript first")
        return replace(self.raised(base, exponent), kind="power", last=last)

    def _label(self) -> str:
        """Return a letter or word that is the superscript of a name with a subscript: R of d_h^R; else ""."""
        mark = self.at
        braces = self._kind() == "{"
        inside = self.tokens[self.at + braces : self.at + braces + (2 if braces else 1)]
        if not inside or not isinstance(inside[0], NameToken) or inside[0].subscripted:
            return ""
        if braces and (len(inside) < 2 or inside[1].kind != "}"):
            return ""
        if not braces and len(inside[0].text) > 1 and not inside[0].braced:
            return ""
        self.at = mark + 1 + 2 * braces
        return inside[0].text

    def _exponent(self, operator: Token) -> tuple[Expr, Token]:
        token = self._next()
        self.at -= 1
        if operator.kind == "^" and token.kind == "number" and len(token.text) > 1:
            first, rest = token.text[0], token.text[1:]
            raise ReadingError(
                f"'^{token.text}' in {quoted(self.text)} can be the power {token.text} or, as in LaTeX, the power "
                f"{first} times {rest}; write ^{{{token.text}}} or ^{first} \\cdot {rest}"
            )
        if token.kind == "-" or token.kind == "+":
            if operator.kind == "^" and token.kind == "+":
                raise ReadingError(f"{quoted(self.text)} has a power without an exponent")
            self._next()
            value = self._atom()
            return (-value.expr if token.kind == "-" else value.expr), value.last or token
        value = self._atom()
        if operator.kind == "**" and self._kind() == "**":  # right-associative, as in Python
            self._next()
            self._deeper()
            exponent, last = self._exponent(operator)
            self.depth -= 1
            value = replace(self.raised(value, exponent), last=last)
        return value.expr, value.last or token

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ReadingError(f"the formula is nested more than {MAX_DEPTH} deep")

    def _atom(self) -> Value:
        self._deeper()
        value = self._read_atom(self._next())
        self.depth -= 1
        return value

    def _read_atom(self, token: Token) -> Value:
        match token.kind:
            case "number":
                return self._number(token)
            case "name" if isinstance(token, NameToken):
                return replace(self._name(token.text), kind="label" if token.subscripted else "name", last=token)
            case "(" | "[" | "{" | "⌊" | "⌈":
                return self._bracket(token)
            case "frac":
                above, below = self._argument(), self._argument()
                numbers = above.kind == below.kind == "number"
                found = self.divided(above, replace(token, kind="/"), below)
                return replace(found, kind="fraction" if numbers else "group", last=replace(token, kind="}"))
            case "sqrt":
                if self._kind() == "[":
                    raise ReadingError(f"{quoted(self.text)} has an unsupported root; only square roots are supported")
                return replace(self.root(self._argument()), last=replace(token, kind="}"))
            case "floor" | "ceil":
                return self._rounded(token.kind, self._argument(), token)
            case "max" | "min":
                return self._extreme(token)
            case "sum":
                return self._summed(token)
            case "brace":
                value = self._argument()
                if self._kind() in ("_", "^"):  # the label of the brace
                    self._next()
                    self._skip_group()
                return replace(value, kind="group", last=replace(token, kind="}"))
        raise ReadingError(f"{quoted(self.text)} has {token.shown()} where a number, a name or a bracket is expected")

    def _number(self, token: Token) -> Value:
        value = Rational(Fraction(token.text).numerator, Fraction(token.text).denominator)
        return Value(value, self.held(ExpansionBound.number(value)), "number", token)

    def _name(self, text: str) -> Value:
        if text not in self.bound_names:
            self.names.setdefault(text)
        return Value(name_symbol(text), SYMBOL, "name", self.tokens[self.at - 1])

    def _bracket(self, token: Token) -> Value:
        outer, self.open_sum = self.open_sum, None
        value = self._sum()
        self.open_sum = outer
        last = self._peek()
        if last is None or last.kind != CLOSING[token.kind]:
            if last is not None and last.kind == ",":
                raise ReadingError(
                    f"{quoted(self.text)} has a comma in a bracket, as in a function call; write a product"
                )
            if last is not None and last.kind in CLOSING.values():
                raise ReadingError(f"{quoted(self.text)} closes {token.text!r} with {last.text!r}")
            raise ReadingError(f"{quoted(self.text)} has {token.shown()} without a matching {CLOSING[token.kind]!r}")
        self._next()
        if token.kind in "⌊⌈":
            return replace(self._rounded("floor" if token.kind == "⌊" else "ceil", value, token), last=last)
        alone = token.kind == "{" and value.kind == "number"
        return replace(value, kind="number" if alone else "group", last=last)

    def _rounded(self, how: str, value: Value, token: Token) -> Value:
        bound = self.held(ExpansionBound.call((how, value.expr), [value.bound]))
        made = floor(value.expr) if how == "floor" else ceiling(value.expr)
        return Value(made, bound, "group", self.tokens[self.at - 1])

    def _extreme(self, token: Token) -> Value:
        opening = self._next()
        if opening.kind not in ("(", "{", "["):
            raise ReadingError(f"{token.text} in {quoted(self.text)} has no arguments in brackets")
        outer, self.open_sum = self.open_sum, None
        values = [self._sum()]
        while self._kind() == ",":
            self._next()
            values.append(self._sum())
        self.open_sum = outer
        last = self._expect(CLOSING[opening.kind], token.text)
        if len(values) < 2:
            raise ReadingError(f"{token.text} in {quoted(self.text)} has only one argument; separate them with commas")
        exprs = [each.expr for each in values]
        bound = self.held(ExpansionBound.call((token.kind, *exprs), [each.bound for each in values]))
        return Value(Max(*exprs) if token.kind == "max" else Min(*exprs), bound, "group", last)

    def _argument(self) -> Value:
        """Parse the argument of a command: one group, or the next character."""
        token = self._peek()
        if token is not None and token.kind == "number" and len(token.text) > 1:
            if "." in token.text:
                raise ReadingError(f"{token.shown()} after a command in {quoted(self.text)} needs braces")
            self.tokens[self.at] = replace(token, text=token.text[1:], start=token.start + 1, spaced=False)
            return self._number(replace(token, text=token.text[0], end=token.start + 1))
        if token is None or token.kind not in (*CLOSING, "number", "name", "frac", "sqrt"):
            raise ReadingError(f"a command in {quoted(self.text)} has no argument")
        return self._atom()

    def _skip_group(self) -> None:
        depth = 0
        while True:
            token = self._next()
            depth += (token.kind == "{") - (token.kind == "}")
            if depth == 0:
                return

    # Sums over an index

    def _summed(self, token: Token) -> Value:
        index, low = self._index()
        if self._kind() != "^":
            raise ReadingError(f"a sum in {quoted(self.text)} has no upper limit; write \\sum_{{l=1}}^{{L}}")
        self._next()
        high = self._argument()
        if index in self.bound_names:
            raise ReadingError(f"{quoted(self.text)} sums over {index} inside a sum over {index}; rename one of them")
        self.bound_names.append(index)
        outer, self.open_sum = self.open_sum, None
        body = self._product()
        self.bound_names.pop()
        bracketed = body.last is not None and body.last.kind in CLOSING.values()
        self.open_sum = outer if bracketed else token
        own = name_symbol(index)
        for each in sorted(body.expr.free_symbols - {own}, key=str):
            if index in str(each).replace("^", "_").split("_")[1:] and str(each) not in self.words:
                raise ReadingError(
                    f"{each} may depend on the index {index} in {quoted(self.text)}; declare its meaning: {each}=..."
                )
        expr = self.closed(body.expr, own, low.expr, high.expr)
        try:
            bound = self.held(ExpansionBound.of(expr, {}))
        except ValueError:
            raise ReadingError(f"{quoted(self.text)} has a sum without a known closed form") from None
        return Value(expr, bound, "group", body.last)

    def _index(self) -> tuple[str, Value]:
        if self._kind() == "_":
            self._next()
            if self._kind() == "{":
                self._next()
                name = self._next()
                if name.kind == "name" and self._kind() == "relation":
                    self._next()
                    low = self._sum()
                    self._expect("}", "a sum")
                    return name.text, low
        raise ReadingError(f"a sum in {quoted(self.text)} has no index; write \\sum_{{l=1}}^{{L}}")
