"""Text is parsed as arithmetic over the alphabet or rejected with one sentence; it is never run as code."""

from __future__ import annotations

import random

import pytest
from sympy import Add, Expr, Integer, Max, Poly, Rational, ceiling, expand, floor

from symformer.language.arithmetic import parse, size
from symformer.language.errors import SymformerError
from symformer.language.limits import ExpansionBound
from symformer.language.sizes import assignment
from symformer.language.symbols import SYMBOLS, A, E, H, L, S, V

GOOD = {
    "768": 768,
    "4*E": 4 * E,
    "12*E**2 + E/2": 12 * E**2 + E / 2,
    "S*(S + 1)/2": S * (S + 1) / 2,
    "-(-V//64)": parse("ceil(V/64)"),
    "max(E, H)": parse("max(H, E)"),
    " E ": E,
    "+E": E,
    "L - floor((L + 5)/6)": L - floor((L + 5) / 6),
    "1_000": 1000,
}


@pytest.mark.parametrize("text", GOOD)
def test_valid_text_is_parsed(text: str) -> None:
    assert parse(text) == GOOD[text]


BAD = {
    '__import__("os").system("x")': "not plain arithmetic",
    "E.__class__": "not plain arithmetic",
    "E if E else A": "not plain arithmetic",
    "lambda: 1": "not plain arithmetic",
    "[E]": "not plain arithmetic",
    "'E'": "not plain arithmetic",
    "True": "not plain arithmetic",
    "exec('1')": "not plain arithmetic",
    "E @ A": "operator",
    "I": "unknown symbol 'I'",
    "Foo": "unknown symbol 'Foo'",
    "1.5": "not an integer",
    "E**A": "exponent",
    "E**-1": "exponent",
    "2**13": "exponent 13",
    "10**400": "exponent 400",
    "9" * 400: "400 digits",
    "E/0": "divides by zero",
    "ceil(E, A)": "ceil takes 1",
    "max()": "max takes",
    "E +": "is not arithmetic",
    "": "is not arithmetic",
    "(" * 80 + "E" + ")" * 80: "",
    "-" * 100 + "E": "nested more than",
    "E+" * 1500 + "E": "characters",
    "E\x00": "is not arithmetic",
    "4*Ｅ": "is not arithmetic",  # Python would read a full-width letter as E
    "٣": "is not arithmetic",
    "4 # 5": "is not arithmetic",  # and skip a comment
    "1e3": "1000.0 is not written as an integer",
    "E/((V + 1)**2 - V**2 - 2*V - 1)": "divides by zero",
    # Short texts with huge results: a number of 10**14 digits, a million terms, a degree of 1,728.
    "((((((((((2)**12)**12)**12)**12)**12)**12)**12)**12)**12)**12": "521 digits",
    "(V+E+P+L+A+G+D+X+K+M+B+S)**12": "1,352,078 terms",
    "(((V+E)**12)**12)**12": "degree 144",
    "((V+E)/(P+L))**12*((V+E)/(P+L))**12*((V+E)/(P+L))**12": "terms",
    "1/(10**12)**12": "digits",
    "(V+E+P+L+A+G)**6*(V+E+P+L+A+G)**6": "terms",
    "floor((V+E+P+L+A+G)/7)**12*(V+E+P+L+A+G)**12": "terms",
    "max(" + ", ".join(f"E*{i}-V*{i}**2" for i in range(40)) + ")": "1600 pairs of arguments",
    "max(max(V,E,P,L,A),min(V,E,P,L,A),max(E,P,L,A,X),min(E,P,L,A,X),max(P,L,A,X,K),min(P,L,A,X,K))": "pairs",
    "max(" * 50 + "E" + ",V)" * 50: "pairs",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: repr(text[:24]))
def test_invalid_text_gives_a_one_sentence_error(text: str) -> None:
    if BAD[text] == "":  # redundant brackets do not nest
        assert parse(text) == E
        return
    with pytest.raises(SymformerError) as caught:
        parse(text)
    sentence = str(caught.value)
    assert BAD[text] in sentence
    assert "\n" not in sentence
    assert len(sentence) < 400


LETTERS = ("V", "E", "P", "L", "A", "G")


def test_expansion_stays_within_its_predicted_bound() -> None:
    draw = random.Random(5)  # noqa: S311

    def written(depth: int) -> Expr:
        if depth == 0:
            return draw.choice(
                [SYMBOLS[draw.choice(LETTERS)], Integer(draw.randint(1, 9)), Rational(1, draw.randint(2, 5))]
            )
        a, b = written(depth - 1), written(draw.randrange(depth))
        return draw.choice(
            [a + b, a + b, a - b, a * b, a * b, (a + b) ** 3, a / (b**2 + E), ceiling(A / 2) + b, Max(A, b)]
        )

    widest = 0
    for _ in range(60):
        expr = written(3)
        bound = ExpansionBound.of(expr, {})
        if bound.terms > 200:
            continue
        opened = expand(expr)
        terms = [term.as_coeff_Mul() for term in Add.make_args(opened)]
        assert len(terms) <= bound.terms
        if opened.is_polynomial():
            assert sum(abs(number) for number, _ in terms) <= Rational(bound.above, bound.below)
            assert all(number * bound.below == int(number * bound.below) for number, _ in terms)
            assert Poly(opened, *(SYMBOLS[name] for name in LETTERS)).total_degree() <= bound.degree
            widest = max(widest, len(terms))
    assert widest > 9


@pytest.mark.parametrize("text", ["0", "-3", "3/2", "2*10**15", "0*E"])
def test_sizes_are_positive_bounded_integers(text: str) -> None:
    with pytest.raises(SymformerError, match=r"not positive|not an integer|larger"):
        size(text)


def test_assignments() -> None:
    assert assignment("E=768") == (E, 768)
    assert assignment("H = 4*E") == (H, 4 * E)
    for bad in ("E", "E=", "=3", ""):
        with pytest.raises(SymformerError, match="NAME=VALUE"):
            assignment(bad)
    with pytest.raises(SymformerError, match="unknown symbol 'Q'"):
        assignment("Q=3")
    with pytest.raises(SymformerError, match="A=abc"):
        assignment("A=abc")


def test_symbols_are_distinct() -> None:
    assert len({A, E, H, S, V}) == 5
