"""The entries of the legend of the computations: the meaning of each word and letter.

The arguments in the notation of a function are the letters x, φ and ψ, which no computation has for its results, or
letters with the meaning that they have in all computations, such as W for a matrix or q for queries.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    Transposed,
    Tree,
    Word,
    mapped,
    tree,
)
from ..language.notation.text import text
from ..language.symbols import D, J_merge
from ..output.blocks import Code, Line, Math, Piece, plain
from .tensor_notation import STACKS

PLURAL = {
    "…",
    *("t", "t_enc", "i", "i_enc", "i_img", "j", "s", "c", "θ", "θ_enc", "θ_n", "ν", "k_earlier", "v_earlier"),
    *("waves", "copies", "stream_weights", "listed", "interleave", "images", "windows", "square", "first", "last"),
    *("by_group", "by_row", "others_stream", "shift", "insert", "mix", "route"),
}  # words whose meaning is a plural


@dataclass(frozen=True)
class LegendEntry:
    """A row of the legend: a word or a letter, its notation and its meaning."""

    word: str
    shown: Tree
    means: Line
    where: str = ""  # where the notation stands
    verb: str = ""  # "is" or "are"; "": as for its word
    local: bool = False  # whether the letter belongs to one part only, so that each part explains it

    def of(self, arguments: Sequence[Tree]) -> LegendEntry:
        """Return the entry with the numbers, or the pieces, of a computation: ``route_K`` instead of ``route_l``."""
        if self.word == PIECES:
            return replace(self, shown=Listed(tuple(arguments)))
        names = _COUNTS[: len(arguments)] if len(arguments) == 1 else _COUNTS[1 : len(arguments) + 1]
        given = dict(zip(names, arguments, strict=True))

        def change(each: Tree) -> Tree:
            return given.get(each, each) if isinstance(each, TensorName) else each

        shown = mapped(self.shown, change)
        if shown == self.shown:
            return self
        means = [Math(mapped(piece.shown, change)) if isinstance(piece, Math) else piece for piece in self.means]
        word, verb = f"{self.word} {', '.join(map(text, arguments))}", "are" if self.word in PLURAL else ""
        return replace(self, word=word, shown=shown, means=means, verb=verb)

    @property
    def is_long(self) -> bool:
        """Whether the meaning has several clauses."""
        return any(sign in f"{plain(self.means)} " for sign in ("; ", ": ", ". "))

    @property
    def statement(self) -> list[Piece]:
        """The meaning as a clause."""
        verb = self.verb or ("are" if self.word in PLURAL else "is")
        comma = "," if plain(self.means).startswith(("for each ", "in some ")) else ""
        return [Math(self.shown), f"{self.where} {verb}{comma} ", *self.means]


PIECES = "pieces"  # the word of a result that is split
_EXPERT = TensorName("e")
_X, _PHI, _PSI, _W = map(TensorName, "xφψw")  # arguments of a function, and a stored vector
_N, _I = TensorName("n"), TensorName("i")  # a layer, and a position
_COUNT = TensorName("l")  # stands for a number, which an explanation has from the computation
_COUNTS = _COUNT, TensorName("l", index=Number(1)), TensorName("l", index=Number(2))
_DOTS = TensorName("…")
_ALPHA, _THETA, _LAMBDA = TensorName("α"), TensorName("θ"), TensorName("λ")


_ENC, _EARLIER = Word("enc"), Word("earlier")
_BLOCK = ", and over the later tokens of the query's image or prompt"


def _word(function: str, *arguments: Tree, below: Tree | None = None) -> Applied:
    return Applied(function, arguments or (_X,), below)


def _at(letter: str, place: Tree = _I) -> TensorName:
    return TensorName(letter, index=place)


def _times(*factors: Tree) -> Math:
    return Math(Product(factors))


_SQUARE = Power(_X, 2)
_BEFORE = _at("s", Sum((_I, Minus(Number(1)))))  # the state after the preceding position
_DECAYED = Pointwise((_word("exp", Product((_at("Δ"), _LAMBDA))), _BEFORE))
_TAKEN = Product((_at("Δ"), _at("u"), Transposed(_at("β"))))
_LRU_DECAY = _word("exp", Minus(Product((Number(8), _at("φ"), _word("softplus", _W)))))
_LRU_INPUT = Pointwise((_at("ψ"), _at("u")))
_LRU_STATE = Sum(
    (
        Pointwise((_at("λ"), _BEFORE)),
        Pointwise((Root(Sum((Number(1), Minus(Power(_at("λ"), 2))))), _at("ψ"), _at("u"))),
    )
)
_HALF = FractionNode(Number(1), Number(2))
_GROWTH = Sum((_word("exp"), Minus(Number(1)), Minus(_X)))
_RETURNED = Product((_at("k"), _at("η")))
_CORRECTED = Sum((_at("η"), Product((_at("β"), Transposed(_at("k")), Sum((_at("v"), Minus(_RETURNED)))))))
_REMOVED = Product((_BEFORE, _at("u"), Transposed(Pointwise((_at("a"), _at("u"))))))
_RENEWED = Sum(
    (Product((_BEFORE, _word("diag", _at("d")))), Minus(_REMOVED), Product((_at("v"), Transposed(_at("k")))))
)
_READ = Sum((Product((_at("s"), _at("γ"))), Product((_W, _at("u")))))

ROWS = (
    LegendEntry("w", TensorName("w"), ["a stored vector"]),
    LegendEntry("t", TensorName("t"), ["the token ids, each an index into the vocabulary"]),
    LegendEntry("t_enc", _at("t", _ENC), ["the token ids that the encoder reads"]),
    LegendEntry("…", _DOTS, ["the axes of the input before its last one"], " in a shape"),
    LegendEntry("i", _I, ["the positions, starting at 0"]),
    LegendEntry(
        "i_enc",
        _at("i", _ENC),
        ["the positions in the sequence of the encoder, one for each of its elements, starting at 0"],
    ),
    LegendEntry("i_img", _at("i", Word("img")), ["the positions of the patches of an image, starting at 0"]),
    LegendEntry("i_height", _at("i", Word("height")), ["the vertical position of each token"]),
    LegendEntry("i_width", _at("i", Word("width")), ["the horizontal position of each token"]),
    LegendEntry(
        "i_time",
        _at("i", Word("time")),
        [
            "the temporal position of each token. In a text, a token's temporal, vertical and horizontal positions are "
            "equal and grow by 1 from token to token. All tokens of an image have the temporal position of its first "
            "token; their vertical and horizontal positions are this number plus their row and their column, counted "
            "from 0. The text after the image starts at this number plus the number of its rows or of its columns, "
            "whichever is larger",
        ],
    ),
    LegendEntry("j", TensorName("j"), ["the four corners of the cell of the square grid that contains each patch"]),
    LegendEntry("s", TensorName("s"), ["the segment ids of the tokens"]),
    LegendEntry("c", TensorName("c"), ["the class ids, each an index into a table"]),
    LegendEntry("d", TensorName("d"), ["for each query and key, the table row of their distance"]),
    LegendEntry("d_enc", _at("d", _ENC), ["the same for the queries and keys of the encoder"]),
    LegendEntry("p", TensorName("p"), ["a fixed table of sines and cosines, one row per position or distance"]),
    LegendEntry("θ", _THETA, ["the rotation angles, one per position and rotated pair of elements"]),
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
    LegendEntry("ξ", TensorName("ξ"), ["an input of which each layer reads its own part"]),
    LegendEntry("ξ_n", _at("ξ", _N), ["the part of ", Math(TensorName("ξ")), " that layer ", Math(_N), " reads"]),
    LegendEntry("ρ", TensorName("ρ"), ["the bias added to the scores for the distance between query and key"]),
    LegendEntry("τ", TensorName("τ"), ["a factor for each query, which grows with the logarithm of its position"]),
    LegendEntry("α", _ALPHA, ["a constant of the part (several in one part are numbered)"]),
    LegendEntry(
        "n",
        _at("x", _N),
        ["the output of layer ", Math(_N), ", which a function with the subscript ", Math(_N), " applies"],
    ),
    *(
        LegendEntry(
            f"{other}_n",
            _at(other, _N),
            ["the output of layer ", Math(_N), " of the next list of layers, which are numbered from 1 again"],
        )
        for other in STACKS[1:]
    ),
    LegendEntry(  # with the pieces of the first result that is split
        PIECES,
        Listed((_DOTS,)),
        [
            "a result that is split along its last axis into pieces with the widths in its shape (a class may store "
            "the rows of its matrix in another order)",
        ],
        " left of an equals sign",
    ),
    LegendEntry(
        "side by side",
        Listed((_DOTS, _DOTS)),
        ["the concatenation along the last axis"],
        " right of an equals sign",
    ),
    LegendEntry("rows", Listed((_DOTS, _DOTS), rows=True), ["the concatenation along the sequence"]),
    LegendEntry("⊙", TensorName("⊙"), ["the elementwise product"]),
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
    LegendEntry("softmax", _word("softmax", _X), ["the softmax of the scores ", Math(_X), " over all keys"]),
    LegendEntry(
        "softmax causal",
        _word("softmax", _X, below=Word("causal")),
        ["the softmax of the scores ", Math(_X), " over the keys up to the query's position"],
    ),
    LegendEntry(
        "softmax causal within",
        _word("softmax", _X, below=Applied("causal", (_COUNT,))),
        [
            "the softmax of the scores ",
            Math(_X),
            " over the last ",
            Math(_COUNT),
            " keys up to the query's position",
        ],
    ),
    LegendEntry(
        "softmax causal with groups",
        _word("softmax", _X, below=Applied("causal", (_at("l", Number(1)), _at("l", Number(2))))),
        [
            *(
                "the softmax of the scores ",
                Math(_X),
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
        _word("softmax", _X, below=Word("blocks")),
        ["the softmax of the scores ", Math(_X), " over the keys up to the query's position", _BLOCK],
    ),
    LegendEntry(
        "softmax blocks within",
        _word("softmax", _X, below=Applied("blocks", (_COUNT,))),
        [
            *("the softmax of the scores ", Math(_X), " over the last ", Math(_COUNT)),
            f" keys up to the query's position{_BLOCK}",
        ],
    ),
    LegendEntry(
        "softmax chunk within",
        _word("softmax", _X, below=Applied("chunk", (_COUNT,))),
        [
            *(
                "the softmax of the scores ",
                Math(_X),
                " over the keys up to the query's position in its chunk of ",
            ),
            *(Math(_COUNT), " tokens"),
        ],
    ),
    LegendEntry(
        "softmax near within",
        _word("softmax", _X, below=Applied("near", (_COUNT,))),
        ["the softmax of the scores ", Math(_X), " over the keys at most ", Math(_COUNT), " positions away"],
    ),
    LegendEntry(
        "softmax with sinks",
        _word("softmax", Listed((_X, _W))),
        [
            *(
                "the softmax of the scores ",
                Math(_X),
                " with a learned sink logit ",
                Math(_W),
                " for each head, which ",
            ),
            "takes part in the softmax and is then dropped",
        ],
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
                ". The position is the vertical one for the pairs 1, 4, 7, … and the horizontal ",
            ),
            *(
                "one for the pairs 2, 5, 8, …, as many of each as ",
                Code("mrope_section"),
                " in the config states, and the temporal one for all other pairs",
            ),
        ],
    ),
    LegendEntry("unrotate", _word("unrotate", _X, _THETA), ["the inverse of ", Math(_word("rotate", _X, _THETA))]),
    LegendEntry(
        "compress",
        _word("compress", _X, _PHI, TensorName("W"), below=_COUNT),
        [
            *("for each complete group of ", Math(_COUNT), " tokens, the sum of their rows of ", Math(_X)),
            *(", weighted, for each element, by the softmax over the group of ", Math(Sum((_PHI, TensorName("W"))))),
        ],
    ),
    LegendEntry(
        "compress_two",
        _word("compress_two", _X, _PHI, TensorName("W"), below=_COUNT),
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
        _word("collapse", _X, _PHI),
        ["the sum of the residual streams of ", Math(_X), " with weights ", Math(_PHI)],
    ),
    LegendEntry(
        "expand", _word("expand", _X, _PHI), [Math(_X), " times the weight of each residual stream in ", Math(_PHI)]
    ),
    LegendEntry(
        "mix",
        _word("mix", _X, _PHI),
        ["for each token, the residual streams of ", Math(_X), " multiplied by the transposed matrix in ", Math(_PHI)],
    ),
    LegendEntry(
        "stream_gates",
        _word("stream_gates", _X, _PHI, _PSI),
        [Math(_word("σ", Sum((Pointwise((_PHI, _X)), _PSI)))), ", plus a small constant"],
    ),
    LegendEntry(
        "stream_weights",
        _word("stream_weights", _X, _PHI, _PSI),
        [
            *(
                "three results, each with its own number in ",
                Math(_PHI),
                ". The first has the weights of the streams in ",
            ),
            *(
                "a sublayer's input, ",
                Math(_word("stream_gates", _X, _PHI, _PSI)),
                ". The second has the weights of the ",
            ),
            "sublayer's output, twice the sigmoid. The third is a matrix: the softmax of each row, after which rows ",
            "and columns are divided by their sums in turn",
        ],
    ),
    LegendEntry("waves", _word("waves"), ["sines and cosines of ", Math(_X), ", at fixed frequencies"]),
    LegendEntry("shift", _word("shift", _X), ["the scores per distance, each moved to the key at that distance"]),
    LegendEntry(
        "cap",
        _word("cap"),
        [
            _times(_ALPHA, _word("tanh", FractionNode(_X, _ALPHA))),
            ", where ",
            Math(_ALPHA),
            " is a constant of the model",
        ],
    ),
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
        [Math(_X), " times the standard normal CDF at ", Math(_X), ", approximated with a tanh"],
    ),
    LegendEntry("QuickGELU", _word("QuickGELU"), [Math(_X), " times the logistic function at 1.702 times ", Math(_X)]),
    LegendEntry(
        "xIELU",
        _word("xIELU", _X, _PHI, _PSI),
        [
            *(_times(_word("softplus", _PHI), Power(_X, 2)), " for positive ", Math(_X), ", and "),
            *(_times(Sum((_HALF, _word("softplus", _PSI))), _GROWTH), " otherwise; plus ", _times(_HALF, _X)),
        ],
    ),
    LegendEntry("softplus", _word("softplus"), [Math(_word("log", Sum((Number(1), _word("exp")))))]),
    LegendEntry(
        "select_first", _word("select", below=Word("first")), ["the vector at the first position of each sequence"]
    ),
    LegendEntry("select_end", _word("select", below=Word("end")), ["the vector at the last token of each sequence"]),
    LegendEntry("select_query", _word("select", below=Word("query")), ["the vector of the only query"]),
    LegendEntry(
        "listed",
        _word("listed"),
        [
            "the outputs of the layers that the config lists, among the layers of the part with the output ",
            *(Math(_X), " (each copy of the module that is applied to them reads the output of one layer)"),
        ],
    ),
    LegendEntry("images", _word("images"), ["the tokens of the images in the sequences, in order"]),
    LegendEntry(
        "interpolate",
        _word("interpolate"),
        ["the weighted mean of four rows for each patch, as in a bilinear interpolation"],
    ),
    LegendEntry("pool", _word("pool"), ["the mean of each square of neighbouring patches of an image"]),
    LegendEntry(
        "lerp",
        _word("lerp", _X, _PHI, _PSI),
        [
            Math(Sum((_X, Pointwise((_PSI, Sum((_PHI, Minus(_X)))))))),
            ", which is ",
            Math(_X),
            " with a share of ",
            Math(_PHI),
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
        _word("mix", _X, _PHI, below=Word("stream")),
        [
            "for each token and each row of ",
            Math(_PHI),
            ", the sum of the residual streams ",
            Math(_X),
            " times the row",
        ],
    ),
    LegendEntry("mean_stream", _word("mean", below=Word("stream")), ["the mean of several residual streams"]),
    LegendEntry(
        "streams",
        _word("streams", _X, _PHI),
        ["the residual stream ", Math(_X), " before the streams ", Math(_PHI), ", as one tensor with an axis for them"],
    ),
    LegendEntry("first", _word("first"), ["the first positions of each sequence, as many as the subscript says"]),
    LegendEntry("last", _word("last"), ["the last positions of each sequence, as many as the subscript says"]),
    LegendEntry("rest", _word("rest"), ["every position but the first, which is the class token"]),
    LegendEntry(
        "insert",
        _word("insert", _X, _PHI),
        [
            *("the sequences ", Math(_X), ", in which the tokens of the images in ", Math(_PHI)),
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
        [
            *("the convolution of ", Math(_X), " along its positions with the kernel ", Math(TensorName("W"))),
            ", with the channels of the result on the last axis",
        ],
    ),
    LegendEntry(
        "conv_patch",
        _word("conv", TensorName("W"), _X, below=Word("patch")),
        [
            *("the convolution of ", Math(_X), " with the kernel ", Math(TensorName("W"))),
            ", whose stride is the size of a patch, with the positions of all patches on one axis",
        ],
    ),
    LegendEntry(
        "conv_channel",
        _word("conv", TensorName("W"), _X, below=Word("channel")),
        [
            "each channel of ",
            Math(_X),
            " convolved with its own kernel, a row of ",
            Math(TensorName("W")),
            ", over its position and the positions before it",
        ],
    ),
    LegendEntry(
        "scan",
        _word("scan", *map(TensorName, "uΔλβγw")),
        [
            *(
                "a scan with time steps ",
                Math(TensorName("Δ")),
                " and negative rates ",
                Math(_LAMBDA),
                ", per head, for ",
            ),
            *("each position ", Math(_I), " in turn, from a zero state: ", Math(Sum((_DECAYED, _TAKEN)))),
            *(" is the state ", Math(_at("s")), ", and ", Math(_READ), " is the output"),
        ],
    ),
    LegendEntry(
        "delta",
        _word("delta", *map(TensorName, "qkvΔλβ")),
        [
            *("the gated delta rule with time steps ", Math(TensorName("Δ")), " and negative rates ", Math(_LAMBDA)),
            *(", per head, for each position ", Math(_I), " in turn, from a zero state, with queries ", Math(_at("q"))),
            *(" and keys ", Math(_at("k")), " divided by their lengths: ", Math(_at("η")), " = "),
            *(Math(_DECAYED), " is the decayed state, which returns ", Math(_RETURNED), " for the key "),
            *(Math(_at("k")), "; ", Math(_at("s")), " = ", Math(_CORRECTED), " is the new state; and "),
            *(Math(Product((_at("q"), _at("s")))), ", divided by the square root of the width of ", Math(_at("q"))),
            ", is the output",
        ],
    ),
    LegendEntry(
        "wkv",
        _word("wkv", *map(TensorName, "rkvdua")),
        [
            *("the generalized delta rule, per head, for each position ", Math(_I), " in turn, from a zero state: "),
            *(Math(_at("s")), " = ", Math(_RENEWED), " is the state, and ", Math(Product((_at("s"), _at("r"))))),
            " is the output",
        ],
    ),
    LegendEntry(
        "lru",
        _word("lru", *map(TensorName, "uφψw")),
        [
            *("a gated recurrence, per channel, for each position ", Math(_I), " in turn, from a zero state: "),
            *(Math(_at("λ")), " = ", Math(_LRU_DECAY), " is the decay, and ", Math(_at("s")), " = ", Math(_LRU_STATE)),
            *(" is the state and the output; for the first token, ", Math(_at("s")), " = ", Math(_LRU_INPUT)),
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
        _word("choose", _X, _PHI, below=_COUNT),
        [
            *(
                "for each query, 0 for the ",
                Math(_COUNT),
                " keys, among its own and the preceding ones, with ",
            ),
            *("the largest sum over heads of the weights ", Math(_PHI), " times the scores ", Math(_X)),
            ", and minus infinity for all other keys",
        ],
    ),
    LegendEntry(
        "choose_group",
        _word("choose_group", _X, _PHI, below=_COUNT),
        [
            *(
                "for each query, 0 for the ",
                Math(_COUNT),
                " keys of groups of tokens, among the groups that are ",
            ),
            *("complete, with the largest sum over heads of the weights ", Math(_PHI), " times the scores "),
            *(Math(_X), ", and minus infinity for all other keys"),
        ],
    ),
    LegendEntry(
        "add_last",
        _word("add_last", _X, _PHI),
        [
            Math(_X),
            ", with ",
            Math(_PHI),
            " added to the scores of the last keys, which stand for groups",
        ],
    ),
    LegendEntry(
        "e", _EXPERT, ["an expert that the token is routed to, and the sum runs over all of these"], " as a subscript"
    ),
)
