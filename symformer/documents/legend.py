"""What the words and letters of computed lines mean: those that stand in a chapter, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..language.notation.tree import (
    Applied,
    Fraction,
    Listed,
    Minus,
    Name,
    Number,
    Pointwise,
    Power,
    Product,
    Sum,
    Total,
    Transposed,
    Tree,
    Word,
    nodes,
)
from .blocks import Assignment, Block, Computation, Line, Math, Paragraph, Table

HEADS = (
    " Heads stand apart in a shape of four axes, are split before scores are made where one matrix gives queries, "
    "keys and values, and are joined before the matrix of the output; where there are fewer heads of keys and values "
    "than of queries, several queries share one."
)
USES = {"SiLU": "σ", "rms_group": "rms"}  # what the meaning of a word has in it


BASIS: Line = [
    *("What a part computes stands before what it holds: ", Math(Name("x")), " is its input, ", Math(Name("y"))),
    " what it gives, and behind each line stands its shape. Dropout, constant factors that no line shows, bounds that "
    "numbers are clamped to, and what keeps a norm from dividing by nothing are left out.",
]

CAPTION: Line = ["The words and letters of what is computed."]


def legend(blocks: Sequence[Block]) -> list[Block]:
    """How the computed lines of a chapter are read; nothing where there are none."""
    found = [line for block in blocks if isinstance(block, Computation) for line in block.lines]
    if not found:
        return []
    said: set[str] = set()
    for block in blocks:
        said |= set(_said(block.lines)) if isinstance(block, Computation) else set()
    said |= {USES[word] for word in said & USES.keys()}
    rows: list[Sequence[Line]] = [[[Math(row.shown)], row.means] for row in ROWS if row.word in said]
    heads = any(word.startswith("softmax") for word in said)
    blocks = [Paragraph([*BASIS, *([HEADS] if heads else [])])]
    return [*blocks, Table([["Where it says"], ["It means"]], rows, "lw", caption=CAPTION)] if rows else blocks


def _said(lines: Sequence[Assignment]) -> Iterator[str]:
    """The words of what one part computes, and the letters that it was given and does not compute itself."""
    own = {each for line in lines for each in nodes(line.name) if isinstance(each, Name)}
    own |= {each for line in lines for each in nodes(line.shown) if isinstance(each, Name) and _of_layers(each, lines)}
    for line in lines:
        if line.times is not None:
            yield "n"
        if isinstance(line.name, Listed):
            yield "pieces"
        for each in nodes(line.shown):
            yield from _of(each, own)


def _of_layers(name: Name, lines: Sequence[Assignment]) -> bool:
    """Whether it is what layers give one another."""
    lists = {line.name.letter for line in lines if line.times is not None and isinstance(line.name, Name)}
    return name.letter in lists and name.index is not None


def _of(shown: Tree, own: Iterable[Name]) -> Iterator[str]:
    match shown:
        case Applied("softmax", (Listed(),), below):
            yield "softmax with sinks"
            yield _softmax(below)
        case Applied("softmax", _, below):
            yield _softmax(below)
        case Applied(function, _, below):
            yield f"{function}_group" if below == Word("group") else function
        case Listed(_, rows):
            yield "rows" if rows else "side by side"
        case Pointwise():
            yield "⊙"
        case Total():
            yield "e"
        case Name(letter, _, index) if shown not in own:
            yield f"{letter}_n" if index == _N else letter


def _softmax(below: Tree | None) -> str:
    if isinstance(below, Applied):
        return f"softmax {below.function} within"
    return "softmax causal" if below else "softmax"


@dataclass(frozen=True)
class Row:
    """A word or a letter: how it stands there, and what it means."""

    word: str
    shown: Tree
    means: Line


_EXPERT = Name("e")
_X, _N, _T, _A, _B, _C, _D, _W = map(Name, "xntabcdw")
_ALPHA, _THETA, _SCORES = Name("α"), Name("θ"), Name("r")


def _word(function: str, *arguments: Tree, below: Tree | None = None) -> Applied:
    return Applied(function, arguments or (_X,), below)


def _at(letter: str, place: Tree = _T) -> Name:
    return Name(letter, index=place)


def _times(*factors: Tree) -> Math:
    return Math(Product(factors))


_SQUARE = Power(_X, 2)
_DECAYED = Pointwise((_word("exp", Product((_at("Δ"), _A))), _at("h", Sum((_T, Minus(Number(1)))))))
_TAKEN = Product((_at("Δ"), _at("u"), Transposed(_at("b"))))
_READ = Sum((Product((_at("h"), _at("c"))), Product((Name("d"), _at("u")))))

ROWS = (
    Row("W", Name("W"), ["a stored matrix, by the name of its module"]),
    Row("b", Name("b"), ["a stored bias"]),
    Row("w", Name("w"), ["a stored vector"]),
    Row("t", _T, ["the tokens, each as a row of the vocabulary"]),
    Row("i", Name("i"), ["the positions, counted from 0"]),
    Row("s", Name("s"), ["the segments that the tokens are of"]),
    Row("c", Name("c"), ["the classes, each as a row of a table"]),
    Row("d", Name("d"), ["for each query and key, the row that their distance has in a table"]),
    Row("p", Name("p"), ["a fixed table of sines and cosines, a row for each position or distance"]),
    Row("θ", _THETA, ["the angles of the positions, one for each pair of elements that turns"]),
    Row("θ_n", _at("θ", _N), ["the angles of the positions, as layers of the kind of layer ", Math(_N), " have them"]),
    Row("β", Name("β"), ["what is added to scores for how far apart query and key are"]),
    Row("m", Name("m"), ["what a part reads beside ", Math(_X), ", such as what an encoder gave"]),
    Row("α", _ALPHA, ["a number that a config sets, another one in each place"]),
    Row("n", _at("x", _N), ["what layer ", Math(_N), " gives; another letter for another list of layers"]),
    Row(
        "pieces",
        Listed((_A, _B)),
        [
            "left of an equals sign: one result, split along its last axis, in pieces as wide as the terms of its "
            "shape; a class may store the rows that make them in another order"
        ],
    ),
    Row("side by side", Listed((_C, _D)), ["right of one: put together along the last axis"]),
    Row("rows", Listed((_C, _D), rows=True), ["put together along the sequence"]),
    Row("⊙", Pointwise((_A, _B)), ["the product, element by element"]),
    Row("mean", _word("mean"), ["the mean over the last axis"]),
    Row("std", _word("std"), ["the standard deviation over the last axis"]),
    Row("rms", _word("rms"), ["the root of the mean of ", Math(_SQUARE), " over the last axis"]),
    Row("rms_group", _word("rms", below=Word("group")), ["that of each group of channels by itself"]),
    Row("length", _word("length"), ["the root of the sum of ", Math(_SQUARE), " over the last axis"]),
    Row("softmax", _word("softmax", _SCORES), ["the softmax over all keys"]),
    Row(
        "softmax causal",
        _word("softmax", _SCORES, below=Word("causal")),
        ["the softmax over the keys up to the query's own"],
    ),
    Row(
        "softmax causal within",
        _word("softmax", _SCORES, below=Applied("causal", (_N,))),
        ["the softmax over the last ", Math(_N), " of the keys up to the query's own"],
    ),
    Row(
        "softmax near within",
        _word("softmax", _SCORES, below=Applied("near", (_N,))),
        ["the softmax over the keys at most ", Math(_N), " places away"],
    ),
    Row(
        "softmax with sinks",
        _word("softmax", Listed((_SCORES, _W))),
        ["a number of each head beside its scores takes its share, and is then left out"],
    ),
    Row(
        "rotate",
        _word("rotate", _X, _THETA),
        [
            Math(_X),
            " with pairs of its elements turned by ",
            Math(_THETA),
            ", and what has no angle as it is; which elements are a pair is the class's own choice",
        ],
    ),
    Row("waves", _word("waves"), ["sines and cosines of ", Math(_X), ", at rates that are fixed"]),
    Row("shift", _word("shift", _SCORES), ["the scores of distances, each moved to the key at that distance"]),
    Row("cap", _word("cap"), [_times(_ALPHA, _word("tanh", Fraction(_X, _ALPHA)))]),
    Row("SiLU", _word("SiLU"), [_times(_X, _word("σ"))]),
    Row("σ", _word("σ"), [Math(Fraction(Number(1), Sum((Number(1), _word("exp", Minus(_X))))))]),
    Row("ReLU", _word("ReLU"), [Math(_word("max", _X, Number(0)))]),
    Row(
        "GELU",
        _word("GELU"),
        [Math(_X), " times the share of the normal distribution below ", Math(_X), ", or what a class takes for that"],
    ),
    Row("softplus", _word("softplus"), [Math(_word("log", Sum((Number(1), _word("exp")))))]),
    Row("select", _word("select"), ["one position of each sequence: the first, or where a text ends"]),
    Row("conv", _word("conv", Name("W"), _X), [Math(_X), " under ", Math(Name("W")), " as that slides over it"]),
    Row(
        "scan",
        _word("scan", *map(Name, "uΔabcd")),
        [
            *(
                "of each head, token by token from a state of 0: ",
                Math(Sum((_DECAYED, _TAKEN))),
                " is the state ",
            ),
            *(Math(_at("h")), ", and ", Math(_READ), " is given"),
        ],
    ),
    Row(
        "route",
        _word("route", _X, below=Name("k")),
        [
            *(
                "for each token the weights of the ",
                Math(Name("k")),
                " experts that it is routed to: the class computes ",
            ),
            *("the choice and the weights from the router's logits ", Math(_X), ", and some classes also use a bias "),
            "and groups of experts to choose",
        ],
    ),
    Row("e", _EXPERT, ["below a letter: of an expert that a token goes to, over all of which the sum runs"]),
)
