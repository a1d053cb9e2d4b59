"""Published formulas are parsed exactly as printed; ambiguous ones are errors."""

from __future__ import annotations

import json
import random
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sympy import Expr, Integer, Rational, Symbol, ceiling, expand, floor, latex, parse_expr, simplify

from symformer.language.errors import ReadingError
from symformer.language.parsing.equation import read
from symformer.language.parsing.name_tokens import name_symbol, one_name

SEED = 20_231_117


n = {
    each: name_symbol(each)
    for each in (
        *"abcdehklmnprstxABDEGHKLNOPSTVX",
        *(
            "d_model",
            "n_layer",
            "d_ff",
            "d_h",
            "n_h",
            "d_h^R",
            "D_i",
            "L_moe",
            "mu",
            "Psi",
            "ell",
            "ffn",
            "seq",
            "vocab",
        ),
        *(
            "hidden_size",
            "num_key_value_heads",
            "head_dim",
            "hat_L_LoRA",
            "h'",
            "d_1",
            "seq_len",
            "n_kv_heads",
            "bytes",
        ),
    )
}
h, L, V, s, b, a, d, E = (n[each] for each in "hLVsbadE")

# Each by hand: the meaning of the text.
READ: dict[str, Expr | int] = {
    "12*L*E**2 + 13*L*E": 12 * L * E**2 + 13 * L * E,
    "12LE² + 13LE": 12 * L * E**2 + 13 * L * E,
    r"12 \times L \cdot E^{2}": 12 * L * E**2,
    "b h(34+5as/h)": 34 * b * h + 5 * a * b * s,  # a product, not a call
    r"12lh^2\left(1+\frac{13}{12h}\right)": 12 * n["l"] * h**2 + 13 * n["l"] * h,
    "2E+1": 2 * E + 1,  # E is a letter
    "2E-3": 2 * E - 3,
    "2e + 1": 2 * n["e"] + 1,
    "3dx": 3 * d * n["x"],  # d is a letter
    r"\frac{d}{d_h}": d / n["d_h"],
    r"d_{model} n_{\mathrm{layer}}": n["d_model"] * n["n_layer"],
    r"d_\text{model}": n["d_model"],
    "d_model": n["d_model"],
    "d_modelL": n["d_model"] * L,
    "2ED_i+D_iE": 3 * E * n["D_i"],
    "d₁ h²": n["d_1"] * h**2,
    "hidden_size * num_key_value_heads * head_dim": n["hidden_size"] * n["num_key_value_heads"] * n["head_dim"],
    "n_kv_heads seq_len": n["n_kv_heads"] * n["seq_len"],
    r"\mathrm{ffn}/h": n["ffn"] / h,
    r"4\,ffn/h": 4 * n["ffn"] / h,
    r"2 seq \cdot vocab": 2 * n["seq"] * n["vocab"],
    r"d_h^R + d_h^2": n["d_h^R"] + n["d_h"] ** 2,
    r"2\hat L_{LoRA}": 2 * n["hat_L_LoRA"],
    "2h' + h": 2 * n["h'"] + h,
    r"\Psi + Ψ + \mu": 2 * n["Psi"] + n["mu"],
    "50{,}257 E": 50257 * E,
    r"50\,257 E": 50257 * E,
    "50,257E": 50257 * E,
    "1_000h": 1000 * h,
    "1.5h + .25": Rational(3, 2) * h + Rational(1, 4),
    "10^{9} + 2^{40}": 10**9 + 2**40,
    "10**12": 10**12,
    r"3 \cdot 10^{23} + 2^{-60}": 3 * 10**23 + Rational(1, 2**60),
    "2**3**2": 2**9,
    "-h^2 + -h": -(h**2) - h,
    r"\frac12h + \tfrac 1h + \dfrac{a}{b}": h / 2 + 1 / h + a / b,
    r"\frac{2}{3}4d": Rational(8, 3) * d,
    "h^{-1} + h^-2": 1 / h + 1 / h**2,
    r"\sqrt{4h^2} + \sqrt2": 2 * h + Integer(2) ** Rational(1, 2),
    "64⌈V/64⌉": 64 * ceiling(V / 64),
    r"64\left\lceil\frac{V}{64}\right\rceil": 64 * ceiling(V / 64),
    "64 * ceil(V/64)": 64 * ceiling(V / 64),
    "-(-V//64)*64": 64 * ceiling(V / 64),
    "V//64": floor(V / 64),
    "-V//64": floor(-V / 64),  # as in Python: the sign binds first
    r"\sum_{l=1}^{L} 12h^2": 12 * L * h**2,
    r"\sum_{l=0}^{L-1} (h^2 + 2l)": L * h**2 + L**2 - L,  # 2(0 + 1 + ... + L-1) = L(L-1)
    r"\sum_{l=1}^{10} l^2": 385,  # 1 + 4 + 9 + ... + 100
    r"\left(\sum_{i=1}^{L} h\right) + Vh": L * h + V * h,
    r"Vh + \sum_{i=1}^{L} h": L * h + V * h,
    r"\underbrace{4h^2}_{\text{attention}} + \underbrace{8h^2}_{\text{MLP}}": 12 * h**2,
    r"2[(a+b)h + \{s\}]": 2 * (a * h + b * h + s),
    "$12Lh^2$": 12 * L * h**2,
    r"\[ N = 12Lh^2. \]": 12 * L * h**2,
    r"\begin{equation} N &= 12Lh^2 \label{eq:n} \end{equation}": 12 * L * h**2,
    "3\\cdot2\\cdot a/2\\cdot2\\cdot s^2": 6 * a * s**2,
    "n_{layer} d_{model} 3 h": 3 * n["n_layer"] * n["d_model"] * h,
}


@pytest.mark.parametrize("text", READ)
def test_formulas_are_parsed_as_printed(text: str) -> None:
    assert expand(read(text).expr - READ[text]) == 0


@pytest.mark.parametrize(
    ("text", "left", "relation"),
    [
        (r"N \approx 2L", "N", "≈"),
        (r"C_{forward} = 2L", "C_{forward}", "="),
        (r"|\Theta|=2L", "Theta", "="),
        ("N(L, h) := 2L", "N(L, h)", "="),
        ("params = 2L", "params", "="),
        ("2L", "", ""),
    ],
)
def test_the_left_side_is_the_name_of_the_right_side(text: str, left: str, relation: str) -> None:
    found = read(text)
    assert (found.left, found.relation, found.expr) == (left, relation, 2 * L)


# Ambiguous input is an error that names both readings.
ASKED = {
    "1e9": "10^{9}",
    "2e+1": "the letter e",
    "6E2": "a product, a power or a subscript",
    "h2": "a product, a power or a subscript",
    "(a+b)2": "a product, a power or a subscript",
    "n_h2": "a product, a power or a subscript",
    "h^12": "the power 12 or",
    "s/6h": "in the denominator or not",
    "1/2 h": "in the denominator or not",
    "a/(b)c": "in the denominator or not",
    "1/dh": "in the denominator or not",
    "10 000 h": "10000",
    "1,5h": "1.5",
    r"2\frac{1}{2}h": "multiplied by it or added to it",
    "d_xy": "d_{xy} or d_x y",
    "pp + h": r"\mathrm{pp}",
    "multiplier h": r"\mathrm{multiplier}",
    "Lseq": "contain the name seq",
    r"\sum_{l=1}^{L} 12h^2 + Vh": "whether the sum ends",
    r"\sum_{l=1}^{L} h_l": "depend on the index l",
    r"\sum_l h": r"\sum_{l=1}^{L}",
    r"(d_c+d_h^R)l \approx \frac{9}{2}d_h l": "a formula on each side",
    r"18 \text{ or } 6+12/d": "prose",
}


@pytest.mark.parametrize("text", ASKED)
def test_ambiguous_formulas_are_errors_that_list_the_readings(text: str) -> None:
    with pytest.raises(ReadingError) as refused:
        read(text)
    assert ASKED[text] in str(refused.value)


def test_a_declared_word_is_one_name() -> None:
    tp, pp = name_symbol("tp"), name_symbol("pp")
    assert read(r"\frac{M}{pp\,tp}", ["tp", "pp"]).expr == name_symbol("M") / (tp * pp)
    assert read("h multiple_of", ["multiple_of"]).names == ("h", "multiple_of")
    assert read(r"\sum_{l=1}^{L} h_l", ["h_l"]).expr == L * name_symbol("h_l")
    assert [one_name(each) for each in (r"d_{\text{model}}", "pp", r"\mathrm{pp}", "multiple_of", r"d_h^R"[:3])] == [
        "d_model",
        "pp",
        "pp",
        "multiple_of",
        "d_h",
    ]


# Ten kinds of text that is not a formula, or that is harmful.
NONE = {
    "prose": "the number of parameters",
    "nothing": "  ",
    "code": "import os",
    "a query": "SELECT * FROM table",
    "an inequality": "L < 12",
    "a range": r"h \le 4d",
    "markup": "<b>12</b>",
    "data": '{"a": 12}',
    "a list": "12, 13, 14",
    "an ellipsis": r"1 + 2 + \cdots + L",
    "an order of growth": r"\Theta(n d)",
    "a matrix": "QK^T",
    "an integral": r"\int_0^1 x dx",
    "a function": r"\log n",
    "a percentage": r"12\%",
    "an index": "x[0]",
    "a path": "/usr/bin/python",
    "a call": "f(x, y)",
    "halves": "(12 + h",
    "brackets of two kinds": "(12 + h]",
    "no argument": r"\frac{12}",
    "a division by zero": "1/(h - h)",
    "letters that look alike": "12\u0415h",
    "another command": r"\input{/etc/passwd}",
    "a macro": r"\def\x{12}\x",
    "import": "__import__('os').system('true')",
    "attributes": "().__class__",
    "a tower": "10**10**10",
    "another tower": "10^{10^{10}}",
    "a hundred digits and more": "(10^{90})^{2}",
    "one index twice": r"\sum_{l=1}^{L} \sum_{l=1}^{L} l",
    "many terms": "(((a+b+c+d+k+l)^{12})^{12})^{12}",
    "many roots": r"\sqrt" * 390 + "2",
    "brackets": "(" * 10_000,
    "fewer brackets": "(" * 1_900,
    "braces": "{" * 1_000 + "}" * 900,
    "commands": r"\frac" * 390,
    "powers": "2^" * 950,
    "signs": "-" * 1_999,
    "subscripts": "a_" * 950,
    "digits": "9" * 1_000_000,
    "fewer digits": "9" * 1_900,
    "a number below": "1/" + "9" * 1_900,
}


@pytest.mark.parametrize("kind", NONE)
def test_text_that_is_not_a_formula_is_refused_quickly(kind: str) -> None:
    read("h + 1")  # late imports are not part of the timing
    began = time.process_time()
    with pytest.raises(ReadingError) as refused:
        read(NONE[kind])
    assert time.process_time() - began < 2  # milliseconds; some of these would take hours
    assert len(str(refused.value)) < 500
    assert "\n" not in str(refused.value)


# 89 formulas as printed in papers and tools, each with a transcription by hand, in Python over its own names. Names of
# the transcription that the paper writes out are listed under "given".
PRINTED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "printed.json").read_text("utf-8"))


def test_all_published_formulas_are_stored() -> None:
    assert len(PRINTED) == 89
    assert sum("refused" in each for each in PRINTED) == 5


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: str(row["id"]))
def test_published_formulas_are_parsed_as_transcribed_or_refused(row: dict[str, Any]) -> None:
    if "refused" in row:  # orders of growth, two formulas at once, prose between two
        with pytest.raises(ReadingError, match=row["refused"]):
            read(row["latex"])
        return
    said = [row["sympy"], *row["names"].values(), *row.get("given", {}).values()]
    own = {name: Symbol(name, positive=True) for text in said for name in re.findall(r"[A-Za-z_]\w*", text)}
    own = {name: each for name, each in own.items() if name not in ("Rational", "Min", "floor", "ceiling")}
    given = {own[name]: parse_expr(text, own) for name, text in row.get("given", {}).items()}
    found = read(row["latex"], row.get("words", ()))
    assert set(found.names) == set(row["names"])
    theirs = found.expr.xreplace({name_symbol(name): parse_expr(text, own) for name, text in row["names"].items()})
    assert simplify(theirs - parse_expr(row["sympy"], own).xreplace(given)) == 0


# Random expressions, printed in several styles by a printer that is independent of the parser.


@dataclass(frozen=True)
class Node:
    head: str
    parts: tuple[Node, ...] = ()
    value: int = 0
    name: str = ""


NAMES = ("h", "L", "V", "s", "b", "E", "d", "e", "S", "n_layer", "d_model", "d_ff", "Psi", "N_d", "ffn", "n_kv_heads")


def grown(chance: random.Random, depth: int) -> Node:
    heads = ["add", "mul", "mul", "div", "pow", "floor", "ceil"] if depth else []
    head = chance.choice([*heads, "number", "name", "name"])
    if head == "number":
        return Node(head, value=chance.choice([1, 2, 3, 12, 34, 1024, 50257]))
    if head == "name":
        return Node(head, name=chance.choice(NAMES))
    if head == "pow":
        return Node(head, (grown(chance, depth - 1),), value=chance.choice([2, 3]))
    count = {"add": chance.choice([2, 3]), "mul": chance.choice([2, 3, 4]), "div": 2}.get(head, 1)
    return Node(head, tuple(grown(chance, depth - 1) for _ in range(count)))


def truth(node: Node) -> Expr:
    parts = [truth(each) for each in node.parts]
    match node.head:
        case "number":
            return Integer(node.value)
        case "name":
            return name_symbol(node.name)
        case "add":
            return sum(parts[1:], parts[0])
        case "mul":
            product = parts[0]
            for each in parts[1:]:
                product = product * each
            return product
        case "div":
            return parts[0] / parts[1]
        case "pow":
            return parts[0] ** node.value
        case "floor":
            return floor(parts[0])
    return ceiling(parts[0])


@dataclass(frozen=True)
class Style:
    times: str
    fraction: str  # empty: a slash between brackets
    opening: str
    closing: str
    power: str
    rounded: dict[str, tuple[str, str]]
    below: str  # of a name: the brackets around its subscript
    greek: str
    word: str
    grouped: str = ""


FLOORED = {"floor": (r"\lfloor ", r"\rfloor "), "ceil": (r"\lceil ", r"\rceil ")}
STYLES = {
    "beside": Style("", r"\frac{%s}{%s}", "(", ")", "^{%d}", FLOORED, r"_{%s}", r"\Psi ", r"\mathrm{%s}"),
    "dots": Style(
        r" \cdot ",
        r"\dfrac{%s}{%s}",
        r"\left(",
        r"\right)",
        "^%d",
        {each: (rf"\left{pair[0]}", rf"\right{pair[1]}") for each, pair in FLOORED.items()},
        r"_{\text{%s}}",
        r"\Psi",
        r"\text{%s}",
        "{,}",
    ),
    "crosses": Style(
        r" \times ", r"\tfrac{%s}{%s}", r"\bigl( ", r" \bigr)", "^{%d}", FLOORED, r"_\mathrm{%s}", r"\Psi", r"\text{%s}"
    ),
    "spaces": Style(r"\,", "", "[", "]", "^{ %d }", FLOORED, "_{%s}", r"{\Psi}", r"\mathrm{%s}", r"\,"),
    "unicode": Style("·", "", "(", ")", "²³", {"floor": ("⌊", "⌋"), "ceil": ("⌈", "⌉")}, "_%s", "Ψ", "%s", ","),
    "python": Style("*", "", "(", ")", "**%d", {"floor": ("floor(", ")"), "ceil": ("ceil(", ")")}, "_%s", "Ψ", "%s"),
}


def printed(node: Node, style: Style) -> str:
    match node.head:
        case "number":
            return f"{node.value:,}".replace(",", style.grouped) if node.value > 9999 else str(node.value)
        case "name":
            base, _, below = node.name.partition("_")
            if base == "Psi":
                return style.greek
            if len(base) > 1:
                return style.word % base
            return base + (style.below % below if below else "")
        case "floor" | "ceil":
            opening, closing = style.rounded[node.head]
            return opening + printed(node.parts[0], style) + closing
        case "add":
            return " + ".join(printed(each, style) for each in node.parts)
        case "pow":
            raised = style.power[node.value - 2] if "%" not in style.power else style.power % node.value
            return held(node.parts[0], style, ("name", "floor", "ceil")) + raised
        case "div" if style.fraction:
            return style.fraction % tuple(printed(each, style) for each in node.parts)
        case "div":
            above, below = (held(each, style, ("name", "number", "floor", "ceil")) for each in node.parts)
            return f"{above}/{below}"
    text = ""
    for number, each in enumerate(node.parts):
        piece = held(each, style, ("name", "number", "floor", "ceil", *(["div"] if style.fraction else []), "pow"))
        if not number:
            text = piece
        elif style.times in ("", r"\,") and (piece[0].isdigit() or (each.head == "div" and text[-1].isdigit())):
            text += rf" \cdot {piece}"
        elif style.times == "" and piece[0].isalpha() and text[-1].isalpha():
            text += f" {piece}"
        else:
            text += style.times + piece
    return text


def held(node: Node, style: Style, bare: tuple[str, ...]) -> str:
    text = printed(node, style)
    return text if node.head in bare else style.opening + text + style.closing


def test_random_expressions_are_recovered_from_every_style() -> None:
    chance = random.Random(SEED)  # noqa: S311
    compared = 0
    for number in range(500):
        node = grown(chance, 3)
        said = truth(node)
        spelt = {name: printed(node, style) for name, style in STYLES.items()}
        if number % 5 == 0:
            spelt["sympy"] = latex(said, mul_symbol="dot")
        for style, text in spelt.items():
            got = read(text).expr
            assert got == said or expand(got - said) == 0, f"seed {SEED}, {number}, {style}: {text}"
            compared += 1
    assert compared == 500 * len(STYLES) + 100
