"""Golden strings, one row each: an expression and its exact form in every notation."""

from __future__ import annotations

import pytest
from sympy import Integer, Min, Rational, ceiling, expand, floor

from symformer.language import symbols
from symformer.language.arithmetic import parse
from symformer.language.notation.display_tree import (
    Cross,
    FractionNode,
    Label,
    Minus,
    Number,
    Power,
    Product,
    Size,
    Sum,
    Times,
    tree,
    value,
)
from symformer.language.notation.latex import latex
from symformer.language.notation.mathml import mathml
from symformer.language.notation.text import code, text
from symformer.language.notation.typst import typst
from symformer.language.symbols import (
    LETTERS,
    SYMBOLS,
    A,
    B,
    D,
    D_rope,
    E,
    G,
    H,
    L,
    L_enc,
    N_new,
    P,
    R_kv,
    S,
    V,
    name_size,
    print_order,
)

GOLDEN = [
    # expression, code, text, LaTeX, Typst
    (12 * L * E**2 + 13 * L * E + V * E + P * E + 2 * E,
     "12*L*E**2 + 13*L*E + V*E + P*E + 2*E",
     "12LE² + 13LE + VE + PE + 2E",
     "12 L E^{2} + 13 L E + V E + P E + 2 E",
     "12 L E^2 + 13 L E + V E + P E + 2 E"),
    (L_enc * E, "L_enc*E", "L_enc·E", r"L_{\mathrm{enc}} E", 'L_"enc" E'),
    (2 * L * E * A * D + 2 * L * E * G * D, "2*L*E*A*D + 2*L*E*G*D", "2LEAD + 2LEGD",
     "2 L E A D + 2 L E G D", "2 L E A D + 2 L E G D"),
    (E / A, "E/A", "E/A", r"\frac{E}{A}", "frac(E, A)"),
    (S * (S + 1) / 2, "S*(S + 1)/2", "S(S + 1)/2", r"\frac{S (S + 1)}{2}", "frac(S (S + 1), 2)"),
    (Integer(0), "0", "0", "0", "0"),
    (-E, "-E", "-E", "-E", "-E"),
    (V - E, "V - E", "V - E", "V - E", "V - E"),
    (Rational(1, 2) * E, "E/2", "E/2", r"\frac{E}{2}", "frac(E, 2)"),
    (Integer(50257) * E, "50257*E", "50,257E", "50{,}257 E", '"50,257" E'),
    (ceiling(V / 64) * 64, "64*ceil(V/64)", "64·ceil(V/64)", r"64 \left\lceil \frac{V}{64}\right\rceil", "64 ceil(frac(V, 64))"),  # noqa: E501
    (3 * E * H * Min(1, floor(E * H / 64)), "3*E*H*min(floor(E*H/64), 1)", "3·E·H·min(floor(EH/64), 1)",
     r"3 E H \min(\left\lfloor \frac{E H}{64}\right\rfloor, 1)", "3 E H min(floor(frac(E H, 64)), 1)"),
    (floor(E / A), "floor(E/A)", "floor(E/A)", r"\left\lfloor \frac{E}{A}\right\rfloor", "floor(frac(E, A))"),
    (B * S * (H + E), "B*S*(E + H)", "BS(E + H)", "B S (E + H)", "B S (E + H)"),
]  # fmt: skip


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row[1])
def test_golden_strings_in_every_notation(row: tuple) -> None:
    expr, *expected = row
    assert [code(expr), text(expr), latex(expr), typst(expr)] == expected


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row[1])
def test_trees_equal_their_expressions_and_code_parses_back(row: tuple) -> None:
    expr = row[0]
    assert expand(value(tree(expr)) - expr) == 0
    assert expand(parse(code(expr)) - expr) == 0


def test_display_trees_keep_their_structure() -> None:
    """3(E·E + E): SymPy would distribute it; the tree does not, and is still equal to its expression."""
    shown = Product((Number(3), Sum((Times((tree(E), tree(E))), tree(E)))))
    assert text(shown) == "3(E · E + E)"
    assert latex(shown) == r"3 (E \cdot E + E)"
    assert expand(value(shown) - 3 * E * E - 3 * E) == 0


def test_labels_and_subtraction_are_printed() -> None:
    shown = Sum((Label("N", "ln_1", 2 * E), Minus(Label("N", "", E))))
    assert text(shown) == "N[ln_1] - N"
    assert latex(shown) == r"N_{\mathrm{ln\_1}} - N"
    assert typst(shown) == 'N_"ln_1" - N'
    assert value(shown) == E


def test_every_letter_is_one_positive_integer_symbol() -> None:
    own = [row.name for row in symbols._TABLE]
    assert [size.name for size in sorted(SYMBOLS.values(), key=print_order)] == own == [*LETTERS] == [*SYMBOLS]
    for name, symbol in SYMBOLS.items():
        assert symbol.name == name
        assert symbol.is_integer
        assert symbol.is_positive


def test_negative_powers_and_powers_of_fractions() -> None:
    small = Power(Number(10), -13)
    assert (text(small), latex(small), typst(small)) == ("10⁻¹³", "10^{-13}", "10^(-13)")
    assert "<mo>−</mo><mn>13</mn>" in mathml(small)
    share = Power(FractionNode(Number(4), Number(812)), 6)  # without brackets, only the numerator has the power
    assert latex(share) == r"\left(\frac{4}{812}\right)^{6}"
    assert typst(share) == "lr((frac(4, 812)))^6"


def test_a_sum_among_factors_is_bracketed() -> None:
    """As when the shape [B, S, R_kv + D_rope] is multiplied out, and N_new - 1 passes are."""
    shown = Cross((tree(B), tree(R_kv + D_rope), tree(2 * E), tree(N_new - 1)))
    assert text(shown) == "B × (R_kv + D_rope) × 2E × (N_new - 1)"
    assert latex(shown) == (r"B \times (R_{\mathrm{kv}} + D_{\mathrm{rope}}) \times 2 E \times (N_{\mathrm{new}} - 1)")
    assert typst(shown) == 'B times (R_"kv" + D_"rope") times 2 E times (N_"new" - 1)'
    assert expand(parse(code(shown)) - value(shown)) == 0
    assert value(shown) == 2 * B * E * (R_kv + D_rope) * (N_new - 1)


def test_a_product_with_a_leading_number_is_bracketed_after_a_letter() -> None:
    """``L 4 B G`` would read as L4; a number before letters needs no bracket."""
    four = Product((Number(4), Size(B), Size(G)))
    shown, plain = Product((Size(L), four)), Product((Size(L), Product((Size(B), Size(G)))))
    assert (text(shown), latex(shown), typst(shown)) == ("L(4BG)", "L (4 B G)", "L (4 B G)")
    assert text(plain) == "LBG"
    assert text(Product((four, Size(L)))) == "4BGL"


def test_long_names_are_separated_in_products() -> None:
    width, kernel = name_size("conv_width"), name_size("conv_kernel")
    assert text(L * E * kernel * width) == "L·E·conv_kernel·conv_width"
    assert latex(L * E * kernel) == r"L \cdot E \cdot \mathrm{conv\_kernel}"
    assert latex(E * kernel**2) == r"E \cdot \mathrm{conv\_kernel}^{2}"
    assert typst(kernel * width) == '"conv_kernel" dot "conv_width"'
    assert latex(L * E * L_enc) == r"L L_{\mathrm{enc}} E"


def test_a_subscript_is_joined_with_the_name_of_the_part() -> None:
    shown = Product((tree(L), Label("F_train", "ln_1", E)))
    assert text(shown) == "L·F_train[ln_1]"
    assert latex(shown) == r"L F_{\mathrm{train,\,ln\_1}}"
    assert typst(shown) == 'L F_"train, ln_1"'
    assert latex(Label("U_act", "", E)) == r"U_{\mathrm{act}}"
