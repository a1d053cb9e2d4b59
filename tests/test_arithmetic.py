"""Text becomes arithmetic over the alphabet, or one clear sentence; it never becomes code."""

from __future__ import annotations

import pytest

from symformer.arithmetic import parse, size
from symformer.errors import SymformerError
from symformer.sizes import assignment
from symformer.symbols import A, E, H, S, V

GOOD = {
    "768": 768,
    "4*E": 4 * E,
    "12*E**2 + E/2": 12 * E**2 + E / 2,
    "S*(S + 1)/2": S * (S + 1) / 2,
    "-(-V//64)": parse("ceil(V/64)"),
    "max(E, H)": parse("max(H, E)"),
    " E ": E,
    "+E": E,
    "1_000": 1000,
}


@pytest.mark.parametrize("text", GOOD)
def test_good(text: str) -> None:
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
    "1.5": "not a whole number",
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
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: repr(text[:24]))
def test_bad_is_one_sentence(text: str) -> None:
    if text.startswith("(("):  # brackets alone nest nothing
        assert parse(text) == E
        return
    with pytest.raises(SymformerError) as caught:
        parse(text)
    sentence = str(caught.value)
    assert BAD[text] in sentence
    assert "\n" not in sentence
    assert len(sentence) < 400


@pytest.mark.parametrize("text", ["0", "-3", "3/2", "2*10**15", "0*E"])
def test_sizes_are_positive_whole_and_not_absurd(text: str) -> None:
    with pytest.raises(SymformerError, match=r"not positive|not a whole|larger"):
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


def test_all_symbols_differ() -> None:
    assert len({A, E, H, S, V}) == 5
