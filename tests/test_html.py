"""HTML: MathML that reads back as its formula, anchors that exist, and files that load nothing."""

from __future__ import annotations

import random
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from sympy import Integer, Symbol, ceiling

from symformer.documents.derivation_document import document
from symformer.documents.formats import render
from symformer.documents.formats.base_language import templates
from symformer.documents.formats.html import FORMAT as HTML
from symformer.language.notation.display_tree import (
    Call,
    Label,
    Minus,
    Number,
    Product,
    Root,
    Size,
    Sum,
    Times,
    Tree,
    nodes,
    sizes_of,
    tree,
    value,
)
from symformer.language.notation.mathml import mathml, pieces
from symformer.language.symbols import SYMBOLS, A, B, E, G, H, L, S, V, name_size
from symformer.output.blocks import (
    Code,
    Document,
    Equation,
    Heading,
    Math,
    Paragraph,
    Ref,
    References,
    Strong,
    Table,
    formulas_in,
    numbered,
)
from symformer.output.chain import Chain
from symformer.targets.resolution import resolve

VOID = {"meta", "link", "wbr", "br", "hr", "img", "input"}
TARGETS = {
    "gpt2": ("params", "flops", "train-memory"),
    "deepseek-v3": ("params",),
    "mamba2": ("params", "kv-cache"),
    "t5": ("params",),
    "mistral-7b-v0.1": ("kv-cache", "intensity"),
}


@dataclass
class Node:
    """An element of a page."""

    tag: str
    attributes: dict[str, str]
    inside: list[Node | str] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for each in self.inside:
            if isinstance(each, Node):
                yield from each.walk()

    def all(self, tag: str) -> list[Node]:
        return [node for node in self.walk() if node.tag == tag]

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.inside)


class Page(HTMLParser):
    """A page as a tree; an element that is not closed in its parent is an error."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]
        self.feed(source)
        self.close()
        assert self.open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), tag
        node = Node(tag, {name: told or "" for name, told in attrs})
        self.open[-1].inside.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def page(made: Document) -> Node:
    return Page(HTML.spell(made)).root


def derived(target: str) -> Document:
    return document(resolve(target)[0], TARGETS[target], "1")


# MathML, read back without the display tree.


def tokens(element: ElementTree.Element) -> list[str]:
    """Return the visible signs: an mrow groups nothing that its brackets do not group."""
    inside = list(element)
    match element.tag:
        case "math" | "mrow":
            return [token for each in inside for token in tokens(each)]
        case "mn":
            return [element.text.replace(",", "")]
        case "mi" | "mtext":
            return [element.text]
        case "mspace":
            return []
        case "mo":
            return {"\u2062": ["*"], "⋅": ["*"], "×": ["*"], "−": ["-"], "\u2061": []}.get(element.text, [element.text])
        case "msub":
            base, below = inside
            return [f"{''.join(tokens(base))}_{''.join(tokens(below))}"]
        case "msup":
            base, above = inside
            return [*tokens(base), "^", *tokens(above)]
        case "mfrac":
            above, below = inside
            return ["(", "(", *tokens(above), ")", "/", "(", *tokens(below), ")", ")"]
        case "msubsup":
            base, below, above = inside
            return [f"{''.join(tokens(base))}_{''.join(tokens(below))}", "^", *tokens(above)]
        case "msqrt":
            return ["√", *(token for each in inside for token in tokens(each))]
        case "munder":
            return [token for each in inside for token in tokens(each)]
    raise AssertionError(element.tag)


class Reader:
    """Return the value of tokens: +, -, *, /, ^ with an integer exponent, brackets, floor, ceiling, min and max."""

    def __init__(self, read: list[str], known: dict[str, Fraction]) -> None:
        self.left, self.known = list(read), known
        self.value = self.sum()
        assert not self.left, self.left

    def take(self, *wanted: str) -> str:
        return self.left.pop(0) if self.left and self.left[0] in wanted else ""

    def sum(self) -> Fraction:
        total = -self.product() if self.take("-") else self.product()
        while sign := self.take("+", "-"):
            total += self.product() * (1 if sign == "+" else -1)
        return total

    def product(self) -> Fraction:
        total = self.power()
        while sign := self.take("*", "/"):
            total = total * self.power() if sign == "*" else total / self.power()
        return total

    def power(self) -> Fraction:
        base = self.atom()
        return base ** int(self.left.pop(0)) if self.take("^") else base

    def atom(self) -> Fraction:
        first = self.left.pop(0)
        if closing := {"(": ")", "⌈": "⌉", "⌊": "⌋"}.get(first):
            inside = self.sum()
            assert self.take(closing)
            return inside if closing == ")" else Fraction(-(-inside // 1) if closing == "⌉" else inside // 1)
        if first in ("min", "max"):
            assert self.take("(")
            arguments = [self.sum()]
            while self.take(","):
                arguments.append(self.sum())
            assert self.take(")")
            return min(arguments) if first == "min" else max(arguments)
        return Fraction(first) if first.isdigit() else self.known[first]


def labels_of(shown: Tree) -> Iterator[Label]:
    if isinstance(shown, Label):
        yield shown
    for name in getattr(shown, "__dataclass_fields__", ()):
        inside = getattr(shown, name)
        for each in inside if isinstance(inside, tuple) else [inside]:
            if isinstance(each, Tree):
                yield from labels_of(each)


def reads_back(shown: Tree, seed: int = 1) -> None:
    """As a whole and in pieces, the MathML of a tree is well-formed and has its value at random numbers."""
    sizes = sizes_of(shown).union(*(label.stands_for.free_symbols for label in labels_of(shown)))
    drawn = random.Random(seed)  # noqa: S311
    point = {size: Integer(drawn.randrange(2, 10**6)) for size in sorted(sizes, key=str)}
    known = {size.name: Fraction(int(number)) for size, number in point.items()}
    # in a subscript, a second underscore is printed as a comma
    known |= {re.sub("^([^_]+_[^_]*)_", r"\1,", name): number for name, number in known.items()}
    for label in labels_of(shown):
        base, _, own = label.letter.partition("_")
        below = ", ".join(filter(None, (own, label.name)))
        at_point = label.stands_for.xreplace(point)
        known[f"{base}_{below}" if below else base] = Fraction(int(at_point.p), int(at_point.q))
    truth = value(shown).xreplace(point)
    expected = Fraction(int(truth.p), int(truth.q))
    for made in ([mathml(shown)], [piece.element for piece in pieces(shown)]):
        read = [token for each in made for token in tokens(ElementTree.fromstring(each))]  # noqa: S314
        assert Reader(read, known).value == expected, (read, shown)


@pytest.mark.parametrize("target", TARGETS)
def test_document_mathml_parses_back_to_its_value(target: str) -> None:
    counted = 0
    for shown in dict.fromkeys(formulas_in(derived(target).blocks)):
        assert tokens(ElementTree.fromstring(mathml(shown)))  # noqa: S314
        if not {str(size) for size in sizes_of(shown)} & {"d", "n"} and stands_for_a_count(shown):
            reads_back(shown)
            counted += 1
    assert counted > 20


def stands_for_a_count(shown: Tree) -> bool:
    try:
        value(shown)
    except TypeError:
        return False
    return not any(isinstance(each, Root) for each in nodes(shown))  # a square root is rarely rational


def test_difficult_expressions_parse_back() -> None:
    half = tree(E / 2)
    for shown in (
        tree((E + 1) ** 2 * L - H),
        tree(-E - 1),
        tree(ceiling(V / 64) * E / A + 3),
        Minus(Sum((tree(E), Minus(tree(H))))),
        Sum((Minus(tree(E + H)), Minus(tree(-E + H)), half)),
        Times((Number(3), Sum((half, tree(L))), Number(5))),
        Product((tree(L), Sum(tuple(tree(number * E * H) for number in range(2, 9))))),
        Product((tree(L), Sum((half, *(tree(number * E * H) for number in range(2, 9)))))),
        Times(
            (Sum(tuple(tree(number * E) for number in range(2, 9))), Sum(tuple(tree(each * H) for each in range(1, 9))))
        ),
        Sum((tree(E), Minus(Sum(tuple(tree(number * E * H) for number in range(2, 9)))))),
        Sum((Minus(Product((tree(L), tree(sum(number * E**number for number in range(2, 9)))))), tree(B))),
        Call("min", (tree(E + H), Call("ceil", (tree(L / 7),)))),
        Product((Size(name_size("kernel_size")), tree(E), Call("max", (tree(S), tree(A))))),
        tree(SYMBOLS["N_tp"] * G / SYMBOLS["C_win"]),
    ):
        reads_back(shown)


def test_missing_bracket_is_detected() -> None:
    with pytest.raises(AssertionError):
        assert Reader(["2", "*", "E", "+", "1"], {"E": Fraction(3)}).value == 8  # 2(E + 1)


def test_lines_break_only_between_terms() -> None:
    long = Product((tree(L), Sum(tuple(tree(number * E * H) for number in range(2, 9)))))
    assert [piece.alternative for piece in pieces(long)][:2] == ["L(2EH", "+ 3EH"]
    assert [piece.alternative for piece in pieces(long)][-1] == "+ 8EH)"
    assert len(pieces(tree(12 * L * E**2))) == 1
    assert [piece.alternative for piece in pieces(tree(L * (E + H)))] == ["L(E + H)"]


# The page


@pytest.mark.parametrize("target", TARGETS)
def test_page_is_well_formed_with_valid_anchors(target: str) -> None:
    made = derived(target)
    root = page(made)
    ids = [node.attributes["id"] for node in root.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    assert not any(re.search(r"\s", each) for each in ids)
    links = [node.attributes["href"] for node in root.all("a")]
    assert len(links) > 20
    assert {link.removeprefix("#") for link in links} <= set(ids)
    by_id = {node.attributes["id"]: node for node in root.walk() if "id" in node.attributes}
    equations = [block for block in made.blocks if isinstance(block, Equation)]
    for block in equations:
        if not block.id:
            continue
        node = by_id[f"eq:{block.id}"]
        assert f"({block.number})" in node.text
        assert block.id in node.text
        assert [button.attributes["type"] for button in node.all("button")] == ["button"]
        assert "hidden" in node.all("button")[0].attributes, "nothing is shown that does nothing"
        assert node.all("pre")[0].text.startswith("\\begin{aligned}\n")
    assert len(root.all("pre")) == sum(bool(block.id) for block in equations)
    tables = [block for block in made.blocks if isinstance(block, Table)]
    assert [len(table.all("tr")) for table in root.all("table")] == [len(block.rows) + 1 for block in tables]
    assert all(head.attributes["scope"] in ("row", "col") for head in root.all("th"))
    levels = [int(node.tag[1]) for node in root.walk() if re.fullmatch(r"h\d", node.tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(root.all("nav")) == (len(TARGETS[target]) > 1)
    assert all(node.attributes["alttext"] for node in root.all("math"))


@pytest.mark.parametrize("target", TARGETS)
def test_page_loads_nothing_and_runs_only_its_script(target: str) -> None:
    root = page(derived(target))
    policy = next(node.attributes["content"] for node in root.all("meta") if "http-equiv" in node.attributes)
    allowed = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    assert allowed["default-src"] == "'none'"
    assert (allowed["font-src"], allowed["img-src"]) == ("data:", "data:")
    assert (allowed["base-uri"], allowed["form-action"]) == ("'none'", "'none'")
    for name in ("style", "script"):
        (node,) = root.all(name)
        assert allowed[f"{name}-src"] == f"'sha256-{b64encode(sha256(node.text.encode()).digest()).decode()}'"
    for node in root.walk():
        assert not [name for name in node.attributes if name.startswith("on") or name in ("style", "src", "srcset")]
        assert node.tag not in ("iframe", "object", "embed", "img", "form", "base")
        if node.tag == "link":
            assert node.attributes["href"].startswith("data:")
    assert set(re.findall(r'url\("?([a-z]*:)', root.all("style")[0].text)) == {"data:"}
    assert "@import" not in root.all("style")[0].text
    assert root.all("html")[0].attributes["lang"] == "en"
    assert not {"author", "creator"} & {node.attributes.get("name", "") for node in root.all("meta")}


def test_page_is_reproducible() -> None:
    assert render(derived("t5"), "html") == render(derived("t5"), "html")


def test_font_is_small_and_free() -> None:
    font = templates() / "fonts" / "symformer-math.woff2"
    assert font.read_bytes().startswith(b"wOF2")
    assert font.stat().st_size < 60_000
    assert "SIL OPEN FONT LICENSE" in (font.parent / "OFL.txt").read_text("utf-8")


HOSTILE = [
    r"_ % & # $ { } \ ^ ~ < > |",
    "</title></style></script><script>alert(1)</script>",
    "`'\"><img src=x onerror=alert(1)>",
    "<!-- ]]> &amp; &#60; <% 7*7 %> <%= 7*7 %> {{ 7*7 }}",
    "模型 نموذج דגם 🙂",
    "x" * 300,
]


@pytest.mark.parametrize("odd", HOSTILE)
def test_hostile_text_is_printed_literally(odd: str) -> None:
    label = Chain((Label("N", odd, E),), (tree(E),))
    blocks, _ = numbered(
        [
            Equation(label, key=True, id=f"a.{odd}", reasons=[[odd, Code(odd), Math.of(E)]]),
            Heading(1, [odd, Code(odd)], f"b.{odd}"),
            Paragraph([odd, Code(odd), Strong(odd), Ref(f"a.{odd}")]),
            Table([[odd], ["b"]], [[[Code(odd)], [odd]]], "lr", total=True),
            References([(odd, odd, odd, odd)]),
        ]
    )
    root = page(Document(odd, odd, blocks))
    assert len(root.all("script")) == len(root.all("style")) == 1
    assert not root.all("img")
    assert root.all("title")[0].text == odd
    assert root.all("h1")[0].text == odd
    assert [
        node.attributes["content"] for node in root.all("meta") if node.attributes.get("name") == "description"
    ] == [odd]
    assert root.all("p")[1].text == f"{odd}{odd}{odd}(1)"
    assert [cell.text for cell in root.all("tfoot")[0].walk() if cell.tag in ("th", "td")] == [odd, odd]
    shown = root.all("mtext")[0].text
    assert shown == odd if len(odd) <= 80 else re.fullmatch("x{39}…x{39}", shown)
    assert odd in root.all("cite")[0].text
    ids = {node.attributes["id"] for node in root.walk() if "id" in node.attributes}
    assert {node.attributes["href"].removeprefix("#") for node in root.all("a")} <= ids
    assert not any(re.search(r"\s", each) for each in ids)


def test_control_and_direction_characters_are_made_visible() -> None:
    odd = "a\x07b\u202ec\ud800d\x00"
    label = Chain((Label("N", odd, E),), (tree(E),))
    blocks = [Paragraph([odd, Code(odd)]), Heading(1, [odd], odd), Equation(label, id=odd, number=1)]
    root = page(Document(odd, odd, blocks))
    assert root.all("h1")[0].text == "a\ufffdb\ufffdc\ufffdd\ufffd"
    everything = root.text + "".join(told for node in root.walk() for told in node.attributes.values())
    assert not re.search("[\x00\x07\u202e\ud800]", everything)


def test_sections_without_an_anchor_get_one() -> None:
    headings: Sequence[Heading] = [Heading(1, [each]) for each in ("A b", "a, b!", "?", "模")]
    root = page(Document("t", "t", [*headings, Heading(1, ["a b"], "a-b-2")]))
    assert [node.attributes["id"] for node in root.all("h2")] == ["a-b", "a-b-3", "section", "模", "a-b-2"]


def test_digits_are_grouped() -> None:
    assert "<mn>1,000,000,000,000,000</mn>" in mathml(tree(10**15 * E))
    assert mathml(Symbol("E", integer=True, positive=True) ** 12).count("<mn>12</mn>") == 1
