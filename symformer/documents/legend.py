"""The legend of the computations: the meaning of each word and letter that a chapter uses.

The arguments in the notation of a word are local letters, such as x, h and r, or letters with the meaning that they
have in all documents, such as W for a matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..language.notation.display_tree import (
    Applied,
    FractionNode,
    Listed,
    Minus,
    Number,
    Pointwise,
    Power,
    Product,
    Root,
    Sum,
    TensorName,
    Total,
    Transposed,
    Tree,
    Word,
    nodes,
    sizes_of,
    tree,
)
from ..language.symbols import D, G, J_merge
from ..output.blocks import (
    Assignment,
    Block,
    Code,
    Computation,
    Line,
    Math,
    Paragraph,
    Piece,
    computations_of,
    maybe,
    plain,
)

HEADS = (
    "Queries, keys and values are split into heads before the scores, and the heads are concatenated before the output "
    "matrix."
)
SHARED_HEADS = " Several query heads share each key/value head."
SUBSCRIPTS = {"causal", "blocks", "chunk", "near"}  # of a softmax, explained with it
USES = {"SiLU": "σ", "rms_group": "rms"}  # words that the meaning of another word uses


BASIS: Line = [
    *("In each computation, ", Math(TensorName("x")), " is the input of the part and ", Math(TensorName("y"))),
    " its output, with the shape of each result on the right or below. Other small letters, except those that are "
    "explained, belong to one part only. ",
    *(Math(TensorName("W")), " and ", Math(TensorName("b")), " are a matrix and "),
    "a bias, with the name of their module as a subscript, and a function named after a module is that module. A name "
    "keeps as much of its path as is needed to identify it, and ",
    Code("*"),
    " stands for the index of a layer. Dropout, some constant factors, clamping bounds and the small constant "
    "that norms add before the square root, such as ",
    Code("rms_norm_eps"),
    " of a config, are omitted.",
]
PLURAL = {
    *("t", "t_enc", "i", "i_enc", "i_img", "j", "s", "c", "θ", "θ_enc", "θ_n", "ν", "k_earlier", "v_earlier"),
    *("waves", "copies", "stream_weights", "listed", "interleave", "images", "windows", "square", "first", "last"),
    *("by_group", "by_row", "others_stream", "shift", "insert", "mix", "route"),
}  # words whose meaning is a plural


def introduced(blocks: Sequence[Block], known: set[str]) -> list[Block]:
    """Return the blocks with the meaning of each word and letter of a computation after its first use.

    Parameters
    ----------
    blocks
        Blocks of a document, in order.
    known
        The words and letters that earlier blocks use. The words and letters of these blocks are added.

    """
    found: list[Block] = []
    for block in blocks:
        computations = computations_of(block)
        if computations and not known:
            found.append(Paragraph(BASIS))
        found.append(block)
        used = _words(computations)
        found += _meanings([row for row in ROWS if row.word in used - known])
        heads = any(word.startswith("softmax") for word in used)
        if heads and not any(word.startswith("softmax") for word in known):
            shared = any(_has_shared_heads(each) for each in computations)
            found.append(Paragraph([HEADS, *maybe(shared, SHARED_HEADS)]))
        known |= used or {""} if computations else set()
    return found


def entries(computations: Iterable[Computation]) -> list[LegendEntry]:
    """Return the meanings of the words and letters of computations."""
    used = _words(computations)
    return [row for row in ROWS if row.word in used]


def _words(computations: Iterable[Computation]) -> set[str]:
    used = {word for each in computations for word in words_in(each.lines)}
    return used | {USES[word] for word in used & USES.keys()}


def _has_shared_heads(computation: Computation) -> bool:
    """Return whether a computation has tensors with key/value heads, of which there are fewer than query heads."""
    return any(G in sizes_of(line.shape) for line in computation.lines)


def _meanings(rows: Sequence[LegendEntry]) -> list[Block]:
    """Return a sentence with the meanings of several words and letters, and a paragraph for each long one."""
    short = [row for row in rows if not row.is_long]
    blocks: list[Block] = []
    if short:
        said: list[Piece] = ["Here, "]
        for place, row in enumerate(short):
            last = place == len(short) - 1
            said += [*maybe(place, "; and " if last else "; "), *row.statement]
        blocks.append(_explained([*said, "."], short))
    return [*blocks, *(_explained([*row.statement, "."], [row]) for row in rows if row.is_long)]


def _explained(line: Line, rows: Sequence[LegendEntry]) -> Paragraph:
    return Paragraph(line, notation=[(row.shown, plain(row.means)) for row in rows])


def words_in(lines: Sequence[Assignment]) -> Iterator[str]:
    """Yield the words of one part's computation, and the letters that it reads but does not compute."""
    own = {each for line in lines for each in nodes(line.name) if isinstance(each, TensorName)}
    own |= {
        each for line in lines for each in nodes(line.shown) if isinstance(each, TensorName) and _of_layers(each, lines)
    }
    own |= {replace(each, index=_EXPERT) for each in own}  # the weight of each expert is one of the router's
    for line in lines:
        if line.times is not None:
            yield "n"
        if isinstance(line.name, Listed):
            yield "pieces"
        for each in nodes(line.shown):
            yield from _of(each, own)


def _of_layers(name: TensorName, lines: Sequence[Assignment]) -> bool:
    """Return True if a name is the output of one of several layers."""
    lists = {line.name.letter for line in lines if line.times is not None and isinstance(line.name, TensorName)}
    return name.letter in lists and name.index is not None


def _of(shown: Tree, own: Iterable[TensorName]) -> Iterator[str]:
    match shown:
        case Applied("softmax", (Listed(),), below):
            yield "softmax with sinks"
            yield _softmax(below)
        case Applied("softmax", _, below):
            yield _softmax(below)
        case Applied("rotate", (_,), _):
            yield "rotate entries"
        case Applied(function, _, below):
            yield f"{function}_{below.word}" if isinstance(below, Word) else function
        case Listed(_, rows):
            yield "rows" if rows else "side by side"
        case Pointwise():
            yield "⊙"
        case Total():
            yield "e"
        case TensorName(letter, _, index) if shown not in own:
            yield f"{letter}_{index.word}" if isinstance(index, Word) else f"{letter}_n" if index == _N else letter


def _softmax(below: Tree | None) -> str:
    if isinstance(below, Applied):
        return f"softmax {below.function} {'with groups' if below.arguments[1:] else 'within'}"
    return f"softmax {below.word}" if isinstance(below, Word) else "softmax"


@dataclass(frozen=True)
class LegendEntry:
    """A row of the legend: a word or a letter, its notation and its meaning."""

    word: str
    shown: Tree
    means: Line
    where: str = ""  # where the notation stands

    @property
    def is_long(self) -> bool:
        """Whether the meaning has several clauses."""
        return any(sign in f"{plain(self.means)} " for sign in ("; ", ": ", ". "))

    @property
    def statement(self) -> list[Piece]:
        """The meaning as a clause."""
        verb = "are" if self.word in PLURAL else "is"
        comma = "," if plain(self.means).startswith(("for each ", "in some ")) else ""
        return [Math(self.shown), f"{self.where} {verb}{comma} ", *self.means]


_EXPERT = TensorName("e")
_X, _H, _R, _F, _A, _W = map(TensorName, "xhrfaw")
_N, _I = TensorName("n"), TensorName("i")  # a layer, and a position
_COUNT = TensorName("l")  # a number
_ALPHA, _THETA, _SCORES = TensorName("α"), TensorName("θ"), TensorName("u")


_ENC, _EARLIER = Word("enc"), Word("earlier")
_BLOCK = ", and over the later tokens of the query's image or prompt"


def _word(function: str, *arguments: Tree, below: Tree | None = None) -> Applied:
    return Applied(function, arguments or (_X,), below)


def _at(letter: str, place: Tree = _I) -> TensorName:
    return TensorName(letter, index=place)


def _times(*factors: Tree) -> Math:
    return Math(Product(factors))


_SQUARE = Power(_X, 2)
_DECAYED = Pointwise((_word("exp", Product((_at("Δ"), _A))), _at("h", Sum((_I, Minus(Number(1)))))))
_TAKEN = Product((_at("Δ"), _at("u"), Transposed(_at("β"))))
_LRU_DECAY = _word("exp", Minus(Product((Number(8), _at("r"), _word("softplus", _W)))))
_LRU_INPUT = Pointwise((_at("f"), _at("u")))
_LRU_STATE = Sum(
    (
        Pointwise((_at("a"), _at("h", Sum((_I, Minus(Number(1))))))),
        Pointwise((Root(Sum((Number(1), Minus(Power(_at("a"), 2))))), _at("f"), _at("u"))),
    )
)
_HALF = FractionNode(Number(1), Number(2))
_GROWTH = Sum((_word("exp"), Minus(Number(1)), Minus(_X)))
_RETURNED = Product((_at("k"), _at("r")))
_CORRECTED = Sum((_at("r"), Product((_at("β"), Transposed(_at("k")), Sum((_at("v"), Minus(_RETURNED)))))))
_BEFORE = _at("h", Sum((_I, Minus(Number(1)))))
_REMOVED = Product((_BEFORE, _at("u"), Transposed(Pointwise((_at("a"), _at("u"))))))
_RENEWED = Sum(
    (Product((_BEFORE, _word("diag", _at("d")))), Minus(_REMOVED), Product((_at("v"), Transposed(_at("k")))))
)
_ANSWER = FractionNode(Product((_at("q"), _at("h"))), Root(_COUNT))
_READ = Sum((Product((_at("h"), _at("γ"))), Product((_W, _at("u")))))

ROWS = (
    LegendEntry("w", TensorName("w"), ["a stored vector"]),
    LegendEntry("t", TensorName("t"), ["the token ids, each an index into the vocabulary"]),
    LegendEntry("t_enc", _at("t", _ENC), ["the token ids that the encoder reads"]),
    LegendEntry("i", _I, ["the positions, starting at 0"]),
    LegendEntry(
        "i_enc",
        _at("i", _ENC),
        ["the positions in the sequence of the encoder, one for each of its elements, starting at 0"],
    ),
    LegendEntry("i_img", _at("i", Word("img")), ["the positions of the patches of an image, starting at 0"]),
    LegendEntry("i_height", _at("i", Word("height")), ["the height of each token, the second of its positions"]),
    LegendEntry("i_width", _at("i", Word("width")), ["the width of each token, the third of its positions"]),
    LegendEntry(
        "i_time",
        _at("i", Word("time")),
        [
            *("the time of each token, the first of its three positions. In a text, all three are equal and grow by "),
            *(
                "1 from token to token. The tokens of an image whose first position is ",
                Math(_COUNT),
                " have the time ",
            ),
            *(
                Math(_COUNT),
                ", the height ",
                Math(_COUNT),
                " plus their row and the width ",
                Math(_COUNT),
                " plus their ",
            ),
            *(
                "column, counted from 0. The text after it starts at ",
                Math(_COUNT),
                " plus the number of its rows or of ",
            ),
            "its columns, whichever is larger",
        ],
    ),
    LegendEntry("j", TensorName("j"), ["the four rows of a square table of positions that are nearest to each patch"]),
    LegendEntry("s", TensorName("s"), ["the segment ids of the tokens"]),
    LegendEntry("c", TensorName("c"), ["the class ids, each an index into a table"]),
    LegendEntry("d", TensorName("d"), ["for each query and key, the table row of their distance"]),
    LegendEntry("d_enc", _at("d", _ENC), ["the same for the queries and keys of the encoder"]),
    LegendEntry("p", TensorName("p"), ["a fixed table of sines and cosines, one row per position or distance"]),
    LegendEntry(
        "θ",
        _THETA,
        ["the rotation angles, one per position and rotated pair of elements, as tables of cosines and sines"],
    ),
    LegendEntry("θ_enc", _at("θ", _ENC), ["the rotation angles of the positions of the encoder"]),
    LegendEntry(
        "θ_n",
        _at("θ", _N),
        ["the rotation angles for the kind of layer that layer ", Math(_N), " is"],
    ),
    LegendEntry(
        "κ",
        TensorName("κ"),
        ["for each query, 0 for the keys that an earlier layer has chosen, and minus infinity for all other keys"],
    ),
    LegendEntry("ν", TensorName("ν"), ["the values ", Math(TensorName("v")), " of the first layer"]),
    LegendEntry("k_earlier", _at("k", _EARLIER), ["the keys of an earlier layer with the same window"]),
    LegendEntry("v_earlier", _at("v", _EARLIER), ["the values of an earlier layer with the same window"]),
    LegendEntry("φ", TensorName("φ"), ["an input of which each layer reads its own part"]),
    LegendEntry("φ_n", _at("φ", _N), ["the part of ", Math(TensorName("φ")), " that belongs to layer ", Math(_N)]),
    LegendEntry("ρ", TensorName("ρ"), ["the bias added to the scores for the distance between query and key"]),
    LegendEntry("τ", TensorName("τ"), ["a factor for each query, which grows with the logarithm of its position"]),
    LegendEntry(
        "m",
        TensorName("m"),
        ["an input in addition to ", Math(_X), ", such as the output of an encoder"],
    ),
    LegendEntry("α", _ALPHA, ["a constant of the part (several in one part are numbered)"]),
    LegendEntry(
        "n",
        _at("x", _N),
        [
            *(
                "the output of layer ",
                Math(_N),
                " of a list (further lists have other letters), and a function with the subscript ",
            ),
            *(Math(_N), " is layer ", Math(_N), " of its list"),
        ],
    ),
    LegendEntry(
        "pieces",
        Listed((_H, _R)),
        [
            *("one result, split along its last axis into ", Math(_H), " and ", Math(_R)),
            ", whose widths are the terms of its shape (a class may store the rows of its matrix in another order)",
        ],
        " on the left of an equals sign",
    ),
    LegendEntry(
        "side by side",
        Listed((_R, _F)),
        ["the concatenation along the last axis"],
        " on the right of an equals sign",
    ),
    LegendEntry("rows", Listed((_R, _F), rows=True), ["the concatenation along the sequence"]),
    LegendEntry("⊙", Pointwise((_H, _R)), ["the elementwise product"]),
    LegendEntry("mean", _word("mean"), ["the mean over the last axis"]),
    LegendEntry("mean_group", _word("mean", below=Word("group")), ["the mean over each group of channels separately"]),
    LegendEntry(
        "std_group",
        _word("std", below=Word("group")),
        ["the standard deviation over each group of channels separately"],
    ),
    LegendEntry("std", _word("std"), ["the standard deviation over the last axis"]),
    LegendEntry("rms", _word("rms"), ["the square root of the mean of ", Math(_SQUARE), " over the last axis"]),
    LegendEntry("rms_group", _word("rms", below=Word("group")), ["rms over each group of channels separately"]),
    LegendEntry("windows", _word("windows"), ["the square windows of the image, filled up with zeros"]),
    LegendEntry("square", _word("square"), ["the tokens of the image, given those of its windows"]),
    LegendEntry(
        "by_row",
        _word("by_row", TensorName("q"), TensorName("W")),
        [
            "for each query, its products with the vectors in ",
            Math(TensorName("W")),
            " for the distances to all rows of the image",
        ],
    ),
    LegendEntry(
        "by_column",
        _word("by_column", TensorName("q"), TensorName("W")),
        ["the same for the distances to all columns, and scores add the product for the row and the column of a key"],
    ),
    LegendEntry("mean_time", _word("mean", below=Word("time")), ["the mean of each channel over all positions"]),
    LegendEntry(
        "std_time", _word("std", below=Word("time")), ["the standard deviation of each channel over all positions"]
    ),
    LegendEntry(
        "length_kernel",
        _word("length", TensorName("W"), below=Word("kernel")),
        ["the square root of the sum of squares of the matrix at each position of a kernel"],
    ),
    LegendEntry("length", _word("length"), ["the square root of the sum of ", Math(_SQUARE), " over the last axis"]),
    LegendEntry("softmax", _word("softmax", _SCORES), ["the softmax of the scores ", Math(_SCORES), " over all keys"]),
    LegendEntry(
        "softmax causal",
        _word("softmax", _SCORES, below=Word("causal")),
        ["the softmax of the scores ", Math(_SCORES), " over the keys up to the query's position"],
    ),
    LegendEntry(
        "softmax causal within",
        _word("softmax", _SCORES, below=Applied("causal", (_COUNT,))),
        [
            "the softmax of the scores ",
            Math(_SCORES),
            " over the last ",
            Math(_COUNT),
            " keys up to the query's position",
        ],
    ),
    LegendEntry(
        "softmax causal with groups",
        _word("softmax", _SCORES, below=Applied("causal", (_at("l", Number(1)), _at("l", Number(2))))),
        [
            *(
                "the softmax of the scores ",
                Math(_SCORES),
                " over the last ",
                Math(_at("l", Number(1))),
                " keys up to the query's position ",
            ),
            *(
                "and over the keys of all groups of ",
                Math(_at("l", Number(2))),
                " tokens that are complete at this position",
            ),
        ],
    ),
    LegendEntry(
        "softmax blocks",
        _word("softmax", _SCORES, below=Word("blocks")),
        ["the softmax of the scores ", Math(_SCORES), " over the keys up to the query's position", _BLOCK],
    ),
    LegendEntry(
        "softmax blocks within",
        _word("softmax", _SCORES, below=Applied("blocks", (_COUNT,))),
        [
            *("the softmax of the scores ", Math(_SCORES), " over the last ", Math(_COUNT)),
            f" keys up to the query's position{_BLOCK}",
        ],
    ),
    LegendEntry(
        "softmax chunk within",
        _word("softmax", _SCORES, below=Applied("chunk", (_COUNT,))),
        [
            *(
                "the softmax of the scores ",
                Math(_SCORES),
                " over the keys up to the query's position in its chunk of ",
            ),
            *(Math(_COUNT), " tokens"),
        ],
    ),
    LegendEntry(
        "softmax near within",
        _word("softmax", _SCORES, below=Applied("near", (_COUNT,))),
        ["the softmax of the scores ", Math(_SCORES), " over the keys at most ", Math(_COUNT), " positions away"],
    ),
    LegendEntry(
        "softmax with sinks",
        _word("softmax", Listed((_SCORES, _W))),
        ["the softmax with a learned sink logit for each head, which takes part in the softmax and is then dropped"],
    ),
    LegendEntry(
        "rotate",
        _word("rotate", _X, _THETA),
        [
            Math(_X),
            " with pairs of elements rotated by ",
            Math(_THETA),
            " (elements without an angle are unchanged, and the class determines the pairs)",
        ],
    ),
    LegendEntry(
        "rotate entries",
        _word("rotate", _X, below=_COUNT),
        [
            *(
                Math(_X),
                ", with one row for each group of ",
                Math(_COUNT),
                " tokens, rotated by the angles of ",
            ),
            "the first token of each group",
        ],
    ),
    LegendEntry(
        "interleave",
        _word("interleave", *(_at("i", Word(each)) for each in ("time", "height", "width"))),
        [
            *(
                "the rotation angles of each token (Interleaved-MRoPE): the angle of pair ",
                Math(_COUNT),
                " = 0, 1, 2, … ",
            ),
            *("of the elements of a head is a position of the token times ", Code("rope_theta"), " to the power of "),
            *(
                Math(Minus(FractionNode(Product((Number(2), _COUNT)), tree(D)))),
                ". The position is the height for the pairs 1, 4, 7, … and the width for the pairs 2, 5, 8, …, as ",
            ),
            *("many of each as ", Code("mrope_section"), " in the config states, and the time for all other pairs"),
        ],
    ),
    LegendEntry("unrotate", _word("unrotate", _X, _THETA), ["the inverse of ", Math(_word("rotate", _X, _THETA))]),
    LegendEntry(
        "compress",
        _word("compress", _X, _H, TensorName("W"), below=_COUNT),
        [
            *("for each complete group of ", Math(_COUNT), " tokens, the sum of their rows of ", Math(_X)),
            *(", weighted, for each element, by the softmax over the group of ", Math(Sum((_H, TensorName("W"))))),
        ],
    ),
    LegendEntry(
        "compress_two",
        _word("compress_two", _X, _H, TensorName("W"), below=_COUNT),
        [
            *(
                "for each complete group of ",
                Math(_COUNT),
                " tokens, such a sum over this group and the preceding ",
            ),
            *(
                "one: the second half of the elements of the rows of ",
                Math(_X),
                " in this group, and the first half in the ",
            ),
            "preceding one",
        ],
    ),
    LegendEntry(
        "by_group",
        _word("by_group", _X, TensorName("W")),
        [
            *(
                "the elements of ",
                Math(_X),
                " in equal groups, each multiplied by a matrix of its own, whose rows are part ",
            ),
            *("of ", Math(TensorName("W"))),
        ],
    ),
    LegendEntry(
        "copies",
        _word("copies", _X, below=_COUNT),
        [Math(_COUNT), " copies of each token, one for each residual stream"],
    ),
    LegendEntry(
        "flatten",
        _word("flatten"),
        ["the concatenation of the residual streams of each token"],
    ),
    LegendEntry(
        "merge",
        _word("merge"),
        [
            *("the concatenation of the vectors of the ", Math(tree(J_merge)), " by ", Math(tree(J_merge))),
            " neighbouring patches of each square of the image",
        ],
    ),
    LegendEntry(
        "collapse",
        _word("collapse", _X, TensorName("g")),
        ["the sum of the residual streams of ", Math(_X), " with weights ", Math(TensorName("g"))],
    ),
    LegendEntry(
        "expand", _word("expand", _X, _H), [Math(_X), " times the weight of each residual stream in ", Math(_H)]
    ),
    LegendEntry(
        "mix",
        _word("mix", _X, _H),
        ["for each token, the residual streams of ", Math(_X), " multiplied by the transposed matrix in ", Math(_H)],
    ),
    LegendEntry(
        "stream_gates",
        _word("stream_gates", _X, _H, _R),
        [Math(_word("σ", Sum((Pointwise((_H, _X)), _R)))), ", plus a small constant"],
    ),
    LegendEntry(
        "stream_weights",
        _word("stream_weights", _X, _H, _R),
        [
            *(
                "three results, each with its own number in ",
                Math(_H),
                ". The first has the weights of the streams in ",
            ),
            *("a sublayer's input, ", Math(_word("stream_gates", _X, _H, _R)), ". The second has the weights of the "),
            "sublayer's output, twice the sigmoid. The third is a matrix: the softmax of each row, after which rows ",
            "and columns are divided by their sums in turn",
        ],
    ),
    LegendEntry("waves", _word("waves"), ["sines and cosines of ", Math(_X), ", at fixed frequencies"]),
    LegendEntry("shift", _word("shift", _SCORES), ["the scores per distance, each moved to the key at that distance"]),
    LegendEntry("cap", _word("cap"), [_times(_ALPHA, _word("tanh", FractionNode(_X, _ALPHA)))]),
    LegendEntry("SiLU", _word("SiLU"), [_times(_X, _word("σ"))]),
    LegendEntry("σ", _word("σ"), [Math(FractionNode(Number(1), Sum((Number(1), _word("exp", Minus(_X))))))]),
    LegendEntry("ReLU", _word("ReLU"), [Math(_word("max", _X, Number(0)))]),
    LegendEntry(
        "GELU",
        _word("GELU"),
        [Math(_X), " times the standard normal CDF at ", Math(_X)],
    ),
    LegendEntry(
        "GELU_tanh",
        _word("GELU", below=Word("tanh")),
        ["the approximation by a tanh of ", Math(_X), " times the standard normal CDF at ", Math(_X)],
    ),
    LegendEntry("QuickGELU", _word("QuickGELU"), [Math(_X), " times the logistic function at 1.702 times ", Math(_X)]),
    LegendEntry(
        "xIELU",
        _word("xIELU", _X, _H, _R),
        [
            *(_times(_word("softplus", _H), Power(_X, 2)), " for positive ", Math(_X), ", and "),
            *(_times(Sum((_HALF, _word("softplus", _R))), _GROWTH), " otherwise; plus ", _times(_HALF, _X)),
        ],
    ),
    LegendEntry("softplus", _word("softplus"), [Math(_word("log", Sum((Number(1), _word("exp")))))]),
    LegendEntry("select", _word("select"), ["one position of each sequence, such as the first"]),
    LegendEntry(
        "listed",
        _word("listed"),
        [
            *(
                "the outputs of several layers of the part that computes ",
                Math(_X),
                ", whose numbers the config lists, and ",
            ),
            "each copy of the part that reads them takes one",
        ],
    ),
    LegendEntry("images", _word("images"), ["the tokens of the images in the sequences, in order"]),
    LegendEntry(
        "interpolate",
        _word("interpolate"),
        ["the mean of four rows for each patch, with the weights of a bilinear interpolation"],
    ),
    LegendEntry("pool", _word("pool"), ["the mean of each square of neighbouring patches of an image"]),
    LegendEntry(
        "lerp",
        _word("lerp", _X, _H, _R),
        [
            Math(Sum((_X, Pointwise((_R, Sum((_H, Minus(_X)))))))),
            ", which is ",
            Math(_X),
            " with a share of ",
            Math(_H),
        ],
    ),
    LegendEntry("previous", _word("previous"), [Math(_X), " at the preceding position, and zeros at the first one"]),
    LegendEntry("sum", _word("sum"), ["the sum over the last axis"]),
    LegendEntry(
        "magnitude", _word("magnitude"), ["the square root of the mean of ", Math(_SQUARE), " over the last axis"]
    ),
    LegendEntry(
        "gaussian_topk",
        _word("gaussian_topk"),
        [
            *("in some layers, the larger of 0 and ", Math(_X), " minus a threshold: the mean plus a multiple of the "),
            *("standard deviation of ", Math(_X), " over the last axis; in the others, ", Math(_X)),
        ],
    ),
    LegendEntry("first_stream", _word("first", below=Word("stream")), ["the first of several residual streams"]),
    LegendEntry("others_stream", _word("others", below=Word("stream")), ["all residual streams but the first"]),
    LegendEntry(
        "mix_stream",
        _word("mix", _X, _H, below=Word("stream")),
        ["for each token and each row of ", Math(_H), ", the sum of the residual streams ", Math(_X), " times the row"],
    ),
    LegendEntry("mean_stream", _word("mean", below=Word("stream")), ["the mean of several residual streams"]),
    LegendEntry(
        "streams",
        _word("streams", _X, _H),
        ["the residual stream ", Math(_X), " before the streams ", Math(_H), ", as one tensor with an axis for them"],
    ),
    LegendEntry("first", _word("first"), ["the first positions of each sequence, as many as the subscript says"]),
    LegendEntry("last", _word("last"), ["the last positions of each sequence, as many as the subscript says"]),
    LegendEntry("rest", _word("rest"), ["every position but the first, which is the class token"]),
    LegendEntry(
        "insert",
        _word("insert", _X, TensorName("m")),
        [
            *("the sequences ", Math(_X), ", in which the tokens of the images in ", Math(TensorName("m"))),
            " replace the placeholders, in order",
        ],
    ),
    LegendEntry(
        "gather", _word("gather"), ["for each query and key, the element of the query's row at their distance"]
    ),
    LegendEntry(
        "gather_keys",
        _word("gather_keys"),
        ["for each query and key, the element of the key's row at their distance (the rows belong to the queries)"],
    ),
    LegendEntry(
        "conv",
        _word("conv", TensorName("W"), _X),
        [Math(_X), " convolved with the kernel ", Math(TensorName("W"))],
    ),
    LegendEntry(
        "scan",
        _word("scan", *map(TensorName, "uΔaβγw")),
        [
            *(
                "a scan, per head, for each position i in turn, from a zero state: ",
                Math(Sum((_DECAYED, _TAKEN))),
                " is the state ",
            ),
            *(Math(_at("h")), ", and ", Math(_READ), " is the output"),
        ],
    ),
    LegendEntry(
        "delta",
        _word("delta", *map(TensorName, "qkvΔaβ")),
        [
            *(
                "the gated delta rule, per head, for each position i in turn, from a zero state, with queries ",
                Math(_at("q")),
            ),
            *(" and keys ", Math(_at("k")), " divided by their lengths: ", Math(_at("r")), " = "),
            *(Math(_DECAYED), " is the decayed state, which returns ", Math(_RETURNED), " for the key "),
            *(Math(_at("k")), "; ", Math(_at("h")), " = ", Math(_CORRECTED), " is the new state; and "),
            *(Math(_ANSWER), " is the output, where ", Math(_COUNT), " is the width of ", Math(_at("q"))),
        ],
    ),
    LegendEntry(
        "wkv",
        _word("wkv", *map(TensorName, "rkvdua")),
        [
            *(
                "the generalized delta rule, per head, for each position i in turn, from a zero state: ",
                Math(_at("h")),
                " = ",
            ),
            *(Math(_RENEWED), " is the state, and ", Math(Product((_at("h"), _at("r")))), " is the output"),
        ],
    ),
    LegendEntry(
        "lru",
        _word("lru", *map(TensorName, "urfw")),
        [
            *(
                "a gated recurrence, per channel, for each position i in turn, from a zero state: ",
                Math(_at("a")),
                " = ",
            ),
            Math(_LRU_DECAY),
            *(" is the decay, and ", Math(_at("h")), " = ", Math(_LRU_STATE), " is the state and the output; for the "),
            *("first token, ", Math(_at("h")), " = ", Math(_LRU_INPUT)),
        ],
    ),
    LegendEntry(
        "blockdiag",
        _word("blockdiag", _X, TensorName("W"), TensorName("b")),
        [
            *(Math(_X), " split along its last axis into a piece for each matrix in ", Math(TensorName("W"))),
            *("; each piece is multiplied by its matrix, and its row of ", Math(TensorName("b")), " is added"),
        ],
    ),
    LegendEntry(
        "route",
        _word("route", _X, below=_COUNT),
        [
            *("the weights, for each token with router logits ", Math(_X), ", of the ", Math(_COUNT)),
            " experts that it is routed to",
        ],
    ),
    LegendEntry(
        "choose",
        _word("choose", _X, TensorName("g"), below=_COUNT),
        [
            *(
                "for each query, 0 for the ",
                Math(_COUNT),
                " keys, among its own and the preceding ones, with ",
            ),
            *("the largest sum over heads of the weights ", Math(TensorName("g")), " times the scores ", Math(_X)),
            ", and minus infinity for all other keys",
        ],
    ),
    LegendEntry(
        "choose_group",
        _word("choose_group", _X, TensorName("g"), below=_COUNT),
        [
            *(
                "for each query, 0 for the ",
                Math(_COUNT),
                " keys of groups of tokens, among the groups that are ",
            ),
            *("complete, with the largest sum over heads of the weights ", Math(TensorName("g")), " times the scores "),
            *(Math(_X), ", and minus infinity for all other keys"),
        ],
    ),
    LegendEntry(
        "add_last",
        _word("add_last", _SCORES, _H),
        [
            Math(_SCORES),
            ", with ",
            Math(_H),
            " added to the scores of the last keys, which stand for groups",
        ],
    ),
    LegendEntry(
        "e", _EXPERT, ["an expert that the token is routed to, and the sum runs over all of these"], " as a subscript"
    ),
)
