"""The legend of the computations: the meaning of each word and letter that a chapter uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..language.notation.display_tree import (
    Applied,
    Listed,
    Pointwise,
    TensorName,
    Total,
    Tree,
    Word,
    nodes,
    sizes_of,
)
from ..language.notation.text import text
from ..language.symbols import G
from ..output.blocks import (
    Assignment,
    Block,
    Code,
    Computation,
    Line,
    Math,
    Paragraph,
    Piece,
    Table,
    computations_of,
    listed,
    maybe,
    plain,
)
from .legend_entries import PIECES, ROWS, LegendEntry
from .tensor_notation import STACKS

HEADS = (
    "Queries, keys and values are split into heads before the scores, and the heads are concatenated before the output "
    "matrix."
)
SHARED_HEADS = " Several query heads share each key/value head."
SUBSCRIPTS = {"causal", "blocks", "chunk", "near"}  # of a softmax, explained with it
USES = {"SiLU": "σ", "rms_group": "rms"}  # words that the meaning of another word uses
_EXPERT, _LAYER = TensorName("e"), TensorName("n")  # indices


BASIS: Line = [
    *("In each computation, ", Math(TensorName("x")), " is the input of the part and ", Math(TensorName("y"))),
    *(" its output, with the shape of each result on the right or below. Other small letters, except those that are "),
    *(
        "explained, belong to one part only. ",
        Math(TensorName("W")),
        " and ",
        Math(TensorName("b")),
        " are a matrix and ",
    ),
    "a bias, with the name of their module as a subscript, and a function with the name of a module applies that "
    "module. Paths are shortened as long as no two functions, matrices or totals get the same name, and ",
    Code("*"),
    " stands for the index of a layer. In the explanation of a function, the letters in its brackets are its "
    "arguments. Dropout, some constant factors, clamping bounds and the small constant that norms add before the "
    "square root are omitted.",
]


def introduced(blocks: Sequence[Block], known: set[str]) -> list[Block]:
    """Return the blocks with the meaning of each word and letter of a computation after its first use.

    The letters of further inputs are explained after each computation that reads them.

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
        every = entries(computations)
        if isinstance(block, Table):  # which prints no shapes
            every = [row for row in every if row.word != "…"]
        used = {row.word for row in every}
        found += _meanings([row for row in every if row.local or row.word not in known])
        found += _divided(computations, known)
        heads = any(word.startswith("softmax") for word in used)
        if heads and not any(word.startswith("softmax") for word in known):
            shared = any(_has_shared_heads(each) for each in computations)
            found.append(Paragraph([HEADS, *maybe(shared, SHARED_HEADS)]))
        known |= used or {""} if computations else set()
    return found


def _divided(computations: Iterable[Computation], known: set[str]) -> list[Block]:
    """Return a sentence on each parameter that several products share, such as the rows for queries and for keys.

    The names of these parameters are added to the known words.
    """
    rows: dict[str, dict[str, list[TensorName]]] = {}
    for line in (line for computation in computations for line in computation.lines):
        for each in nodes(line.shown):
            if (
                isinstance(each, TensorName)
                and each.letter in "Wb"
                and isinstance(each.index, TensorName)
                and each.index != _EXPERT
            ):
                some = rows.setdefault(each.below, {}).setdefault(each.letter, [])
                some += [] if each in some else [each]
    made: list[Block] = []
    for name, letters in rows.items():
        if (word := f"rows of {name}") in known:
            continue
        known.add(word)
        said: list[Piece] = []
        for letter, shown in letters.items():
            what = Code(f"{name}_{'bias' if letter == 'b' else 'weight'}")
            start: Line = [", and ", what, " of "] if said else ["Here, ", what, " consists of the rows of "]
            said += [*start, *listed(*([Math(each)] for each in shown)), *maybe(not said, ", in this order")]
        made.append(Paragraph([*said, "."]))
    return made


def entries(computations: Iterable[Computation]) -> list[LegendEntry]:
    """Return the meanings of the words and letters of computations, each once.

    A word that is used with several numbers, such as the widths of two attention windows, has a meaning for each.
    """
    used: dict[str, list[tuple[Tree, ...]]] = {}
    found: dict[str, LegendEntry] = {}
    for each in computations:
        for name, said, shape in each.inputs:
            verb, _, means = said.partition(" ")
            row = LegendEntry(
                f"{text(name)} {said} {text(shape)}", name, [means, ", ", Math(shape)], verb=verb, local=True
            )
            found[row.word] = row
        for word, arguments in _uses(each):
            used.setdefault(word, []).append(arguments)
            if word in USES:
                used.setdefault(USES[word], []).append(())
    stated = {row.shown for row in found.values()}
    for row in ROWS:
        if row.shown in stated:
            continue
        for arguments in used.get(row.word, ()):
            given = row.of(arguments) if arguments else row
            found.setdefault(given.word, given)
    return [*found.values()]


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


def words_in(computation: Computation) -> Iterator[str]:
    """Yield the words of one part's computation, and the letters that it reads but does not compute."""
    return (word for word, _ in _uses(computation))


def _uses(computation: Computation) -> Iterator[tuple[str, tuple[Tree, ...]]]:
    """Yield each word and letter of a computation with the numbers in its subscript, or with the pieces of a result."""
    lines = computation.lines
    named = (*computation.shared, *lines)
    own = {each for line in named for each in nodes(line.name) if isinstance(each, TensorName)}
    own |= {
        each for line in lines for each in nodes(line.shown) if isinstance(each, TensorName) and _of_layers(each, lines)
    }
    own |= {replace(each, index=_EXPERT) for each in own}  # the weight of each expert is one of the router's
    split = [line.name.items for line in lines if isinstance(line.name, Listed)]
    if split:  # the first whose pieces are all used
        yield PIECES, next((each for each in split if TensorName("·") not in each), split[0])
    for line in lines:
        if line.times is not None:
            yield "n", ()
            if isinstance(line.name, TensorName) and line.name.letter in STACKS[1:]:
                yield f"{line.name.letter}_n", ()
        if isinstance(line.shape, Listed) and TensorName("…") in line.shape.items:
            yield "…", ()
        for each in nodes(line.shown):
            yield from _of(each, own)


def _of_layers(name: TensorName, lines: Sequence[Assignment]) -> bool:
    """Return True if a name is the output of one of several layers."""
    lists = {line.name.letter for line in lines if line.times is not None and isinstance(line.name, TensorName)}
    return name.letter in lists and name.index is not None


def _of(shown: Tree, own: Iterable[TensorName]) -> Iterator[tuple[str, tuple[Tree, ...]]]:
    match shown:
        case Applied("softmax", (first,), below):
            yield from [("softmax with sinks", ())] * isinstance(first, Listed)
            yield _softmax(below), below.arguments if isinstance(below, Applied) else ()
        case Applied("rotate", (_,), below):
            yield "rotate entries", (below,) if below else ()
        case Applied(function, _, below):
            word = f"{function}_{below.word}" if isinstance(below, Word) else function
            yield word, () if below is None or isinstance(below, Word) else (below,)
        case Listed(_, rows):
            yield "rows" if rows else "side by side", ()
        case Pointwise():
            yield "⊙", ()
        case Total():
            yield "e", ()
        case TensorName(letter, _, index) if shown not in own:
            name = f"{letter}_{index.word}" if isinstance(index, Word) else f"{letter}_n" if index == _LAYER else letter
            yield name, ()


def _softmax(below: Tree | None) -> str:
    if isinstance(below, Applied):
        return f"softmax {below.function} {'with groups' if below.arguments[1:] else 'within'}"
    return f"softmax {below.word}" if isinstance(below, Word) else "softmax"
