"""The legend of the computations: the meaning of each word and letter that a chapter uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..language.notation.display_tree import (
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
    " Shapes with four axes have one axis for the heads. A combined result for queries, keys and values is split into "
    "heads before the scores, and the heads are concatenated before the output matrix. If there are fewer key/value "
    "heads than query heads, several query heads share a key/value head."
)
USES = {"SiLU": "σ", "rms_group": "rms"}  # words that the meaning of another word uses


BASIS: Line = [
    *("Each part starts with its computation: ", Math(Name("x")), " is the input and ", Math(Name("y"))),
    " the output, with shapes on the right. Dropout, some constant factors, clamping bounds and the epsilon of norms "
    "are omitted.",
]

CAPTION: Line = ["Notation of the computations."]


def legend(blocks: Sequence[Block]) -> list[Block]:
    """Return the legend for the computations among these blocks; empty if there are none."""
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
    return [*blocks, Table([["Notation"], ["Meaning"]], rows, "lw", caption=CAPTION)] if rows else blocks


def _said(lines: Sequence[Assignment]) -> Iterator[str]:
    """Yield the words of one part's computation, and the letters that it reads but does not compute."""
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
    """Return True if a name is the output of one of several layers."""
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
    """A row of the legend: a word or a letter, its notation and its meaning."""

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
    Row("W", Name("W"), ["a weight matrix, named after its module"]),
    Row("b", Name("b"), ["a bias, named after its module"]),
    Row("w", Name("w"), ["a weight vector"]),
    Row("t", _T, ["the token ids, each an index into the vocabulary"]),
    Row("i", Name("i"), ["the positions, starting at 0"]),
    Row("s", Name("s"), ["the segment ids of the tokens"]),
    Row("c", Name("c"), ["the class ids, each an index into a table"]),
    Row("d", Name("d"), ["for each query and key, the table row of their distance"]),
    Row("p", Name("p"), ["a fixed table of sines and cosines, one row per position or distance"]),
    Row("θ", _THETA, ["the rotation angles of the positions, one per rotated pair of elements"]),
    Row(
        "θ_n",
        _at("θ", _N),
        ["the rotation angles for the kind of layer that layer ", Math(_N), " is"],
    ),
    Row("β", Name("β"), ["the bias added to the scores for the distance between query and key"]),
    Row("m", Name("m"), ["an input in addition to ", Math(_X), ", such as the output of an encoder"]),
    Row("α", _ALPHA, ["a constant from the config; it can differ from one occurrence to the next"]),
    Row("n", _at("x", _N), ["the output of layer ", Math(_N), "; each list of layers has its own letter"]),
    Row(
        "pieces",
        Listed((_A, _B)),
        [
            "left of an equals sign: one result, split along its last axis into pieces whose widths are the terms of "
            "its shape; a class may store the rows of its matrix in another order"
        ],
    ),
    Row("side by side", Listed((_C, _D)), ["right of an equals sign: concatenation along the last axis"]),
    Row("rows", Listed((_C, _D), rows=True), ["concatenation along the sequence"]),
    Row("⊙", Pointwise((_A, _B)), ["the elementwise product"]),
    Row("mean", _word("mean"), ["the mean over the last axis"]),
    Row("std", _word("std"), ["the standard deviation over the last axis"]),
    Row("rms", _word("rms"), ["the square root of the mean of ", Math(_SQUARE), " over the last axis"]),
    Row("rms_group", _word("rms", below=Word("group")), ["rms over each group of channels separately"]),
    Row("length", _word("length"), ["the square root of the sum of ", Math(_SQUARE), " over the last axis"]),
    Row("softmax", _word("softmax", _SCORES), ["the softmax over all keys"]),
    Row(
        "softmax causal",
        _word("softmax", _SCORES, below=Word("causal")),
        ["the softmax over the keys up to the query's position"],
    ),
    Row(
        "softmax causal within",
        _word("softmax", _SCORES, below=Applied("causal", (_N,))),
        ["the softmax over the last ", Math(_N), " keys up to the query's position"],
    ),
    Row(
        "softmax near within",
        _word("softmax", _SCORES, below=Applied("near", (_N,))),
        ["the softmax over the keys at most ", Math(_N), " positions away"],
    ),
    Row(
        "softmax with sinks",
        _word("softmax", Listed((_SCORES, _W))),
        ["each head has a learned sink logit that takes part in the softmax and is then dropped"],
    ),
    Row(
        "rotate",
        _word("rotate", _X, _THETA),
        [
            Math(_X),
            " with pairs of elements rotated by ",
            Math(_THETA),
            "; elements without an angle are unchanged; each class has its own choice of pairs",
        ],
    ),
    Row("waves", _word("waves"), ["sines and cosines of ", Math(_X), ", at fixed frequencies"]),
    Row("shift", _word("shift", _SCORES), ["the scores per distance, each moved to the key at that distance"]),
    Row("cap", _word("cap"), [_times(_ALPHA, _word("tanh", Fraction(_X, _ALPHA)))]),
    Row("SiLU", _word("SiLU"), [_times(_X, _word("σ"))]),
    Row("σ", _word("σ"), [Math(Fraction(Number(1), Sum((Number(1), _word("exp", Minus(_X))))))]),
    Row("ReLU", _word("ReLU"), [Math(_word("max", _X, Number(0)))]),
    Row(
        "GELU",
        _word("GELU"),
        [Math(_X), " times the standard normal CDF at ", Math(_X), ", or the approximation that the class uses"],
    ),
    Row("softplus", _word("softplus"), [Math(_word("log", Sum((Number(1), _word("exp")))))]),
    Row("select", _word("select"), ["one position of each sequence: the first, or the end of the text"]),
    Row("conv", _word("conv", Name("W"), _X), [Math(_X), " convolved with ", Math(Name("W")), " as a sliding kernel"]),
    Row(
        "scan",
        _word("scan", *map(Name, "uΔabcd")),
        [
            *(
                "per head, token by token, from a zero state: ",
                Math(Sum((_DECAYED, _TAKEN))),
                " is the state ",
            ),
            *(Math(_at("h")), ", and ", Math(_READ), " is the output"),
        ],
    ),
    Row(
        "route",
        _word("route", _X, below=Name("k")),
        [
            *(
                "for each token, the weights of the ",
                Math(Name("k")),
                " experts that it is routed to. The class computes ",
            ),
            *("the selection and the weights from the router logits ", Math(_X), "; some classes also select by a "),
            "bias and by groups of experts",
        ],
    ),
    Row("e", _EXPERT, ["as a subscript: an expert that the token is routed to; the sum runs over all of these"]),
)
