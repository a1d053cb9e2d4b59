"""The computation of a part as mathematics with shapes, from the operations that the part recorded.

Sizes are capital letters, so tensors are small ones: q, k and v for the inputs of attention, y for the output of a
part. A result that is used once is written where it is used; one that is split, or used again, has its own line.
Letters of results are local to a part. Weights and submodules have their names below the part here; a document
completes these where two of them are alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from sympy import Expr, Integer, cancel

from ..language.notation.display_tree import (
    Applied,
    FractionNode,
    Indexed,
    Listed,
    Minus,
    ModuleCall,
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
    mapped,
    nodes,
    sizes_of,
    tree,
)
from ..language.notation.text import text
from ..language.symbols import J_merge
from ..ledger.facts import (
    AVERAGED,
    BACK,
    CARRYING,
    COMPRESSED,
    COPIES,
    EARLIER,
    ENDS,
    GAUSSIAN_TOP_K,
    GENERAL,
    GROUPED,
    INTERLEAVED_ROTARY,
    INTERPOLATED,
    JOINED_STREAMS,
    LISTED,
    MAGNITUDE,
    OTHER_STREAMS,
    OVERLAPPING,
    PLACED,
    POOLED,
    RESAMPLED,
    RESCALED,
    REST,
    ROTARY,
    ROW,
    SCATTERED,
    SHIFTED,
    STREAM,
    STREAMS,
    SUBTRACTED,
    SUMMED,
    UNWINDOWED,
    WEIGHT_NORM,
    WINDOWS,
    Entry,
    OperationKind,
    Scope,
    Tensor,
)
from ..output.blocks import Assignment
from .ledger_dataflow import Item, given_by, piece_of, read_by, weights_of
from .part_tensors import EXPERT, FACTOR, FURTHER, PartTensors, UnknownOperationError, is_numbered
from .tensor_notation import (
    STACKS,
    is_part,
    is_read_in_parts,
    module_of,
    shape_of,
    side_by_side,
    side_of,
    vector,
    whole_view,
)

_ANGLES = TensorName("θ")  # rotary angles
_INTERLEAVED = Applied("interleave", tuple(TensorName("i", index=Word(each)) for each in ("time", "height", "width")))
_FIXED = {"slopes": "ρ", "temperatures": "τ"}  # tables without weights, by their function
_NORMS = {  # for each norm: whether the mean is subtracted, and the divisor
    **dict.fromkeys(("layer", "layer_cast", "layer_offset"), (True, "std")),
    **dict.fromkeys(("rms", "rms_uncast", "rms_late", "rms_single", "rms_offset"), (False, "rms")),
    "layer_groups": (True, "std"),
    "rms_groups": (False, "rms"),
    "channel": (True, "std"),
    "l2": (False, "length"),
}
_THIS = TensorName("n")
_BEFORE = Sum((_THIS, Minus(Number(1))))
_EXACT_GELU = ("gelu", "gelu_python", "gelu_10")  # gelu_10 also has bounds, which computations omit
_FUNCTIONS = {"relu": "ReLU", "silu": "SiLU", "tanh": "tanh", "sigmoid": "σ", "xielu": "xIELU"}


_APART: tuple[
    tuple[OperationKind, ...], ...
] = (  # the kinds with their own lines, tried in order while lines are too long
    (),
    (OperationKind.MIX,),
    (OperationKind.MIX, *CARRYING, OperationKind.JOIN),
    (OperationKind.MIX, *CARRYING, OperationKind.JOIN, OperationKind.SCORES),
    (OperationKind.MIX, *CARRYING, OperationKind.JOIN, OperationKind.MULTIPLY, OperationKind.LINEAR),
    (
        OperationKind.MIX,
        *CARRYING,
        OperationKind.JOIN,
        OperationKind.MULTIPLY,
        OperationKind.LINEAR,
        OperationKind.OBSERVED,
    ),
    tuple(OperationKind),
)
_LONG = 68  # characters of a line that is easy to read
_SHORT = 48  # the same of a line into which another is merged, whose names may become longer in a document


def computation(scope: Scope, *, apart: bool = False) -> list[Assignment]:
    """Return the computation of a part line by line; empty if an operation is unknown or moves data between ranks.

    With ``apart``, every operation has its own line.
    """
    return _lines_and_names(scope, _APART[-1:] if apart else _APART, merge=not apart)[0]


def computations(scopes: Sequence[Scope]) -> list[list[Assignment]]:
    """Return the computations of one part in layers of several kinds, with the same operations on lines of their own.

    The same results then have the same letters.
    """
    levels = [_lines_and_names(scope)[2] for scope in scopes]
    return [_lines_and_names(scope, _APART[max(levels) :])[0] for scope in scopes]


def names_of_inputs(scope: Scope) -> list[tuple[TensorName, Tensor]]:
    """Return the inputs of a part with their names in the lines of its computation, as far as these contain them."""
    lines, named, _ = _lines_and_names(scope)
    shown = {
        replace(each, index=None) if each.index == _THIS else each  # each layer may read its own part of an input
        for line in lines
        for each in nodes(line.shown)
        if isinstance(each, TensorName)
    }
    inputs = [(named.get(id(x.root)), x) for x in read_by(scope)]
    return [(name, x) for name, x in inputs if name is not None and name in shown]


def _lines_and_names(
    scope: Scope, levels: Sequence[tuple[OperationKind, ...]] = _APART, *, merge: bool = True
) -> tuple[list[Assignment], Mapping[object, TensorName], int]:
    """Return the lines of a part, the names of its tensors in them, and the place of the level that was chosen.

    A level states the kinds of operations whose results have lines of their own; the first with short lines is chosen.
    """
    lines: list[Assignment] = []
    named: Mapping[object, TensorName] = {}
    anywhere = "[..." in scope.part.shapes  # a part that accepts any leading axes
    chosen = 0
    for level, apart in enumerate(levels):
        chosen = level
        part = _Computing(scope, apart)
        try:
            lines, named = part.lines() if scope.items else [], part.named
        except UnknownOperationError:
            return [], {}, 0
        while len(lines) > 1 and lines[-1].shown == lines[-2].name:  # a repeated line, since dropout is omitted
            lines[-2:] = [replace(lines[-2], name=lines[-1].name)]
        if len(lines) == 1 and isinstance(lines[0].shown, TensorName):
            return [], {}, 0  # such as dropout alone
        if all(len(text(line.name)) + len(text(line.shown)) <= _LONG for line in lines):
            break
    lines = _merged(lines) if merge else lines
    return [replace(line, shape=_last(line.shape)) for line in lines] if anywhere else lines, named, chosen


def _merged(lines: Sequence[Assignment]) -> list[Assignment]:
    """Return lines in which a result whose name is only a number with a letter is written where it is used.

    It keeps its line if it is used twice, in a line for several layers, if the line with it would be too long, or if
    its shape tells how the rest of the computation reads it, such as by heads.
    """
    by_heads = {each for line in lines if not _is_sequence(line.shape) for each in nodes(line.name)}
    kept, found = [*lines], list[Assignment]()
    while kept:
        line = kept.pop(0)
        uses = [(place, each) for place, each in enumerate(kept) if line.name in [*nodes(each.shown)]]
        if (
            is_numbered(line.name)
            and len(uses) == 1
            and uses[0][1].times is None
            and not by_heads & {line.name, *nodes(line.shown)}
        ):
            ((place, user),) = uses
            within = [*nodes(user.shown)].count(line.name)
            shown = mapped(user.shown, partial(_with_result, line))
            if within == 1 and len(text(user.name)) + len(text(shown)) <= _SHORT:
                kept[place] = replace(user, shown=shown)
                continue
        found.append(line)
    return _lettered(found)


def _is_sequence(shape: Tree) -> bool:
    """Return whether a shape is one of sequences of vectors, [B, S, E]."""
    return isinstance(shape, Listed) and len(shape.items) == len("BSE")


def _with_result(line: Assignment, shown: Tree) -> Tree:
    return line.shown if shown == line.name else shown


def _lettered(lines: Sequence[Assignment]) -> list[Assignment]:
    """Return lines whose numbered results count from 1; the only one is called like a further input of other parts."""
    numbered = [each for line in lines for each in nodes(line.name) if is_numbered(each)]
    used = {each.letter for line in lines for each in nodes(line.shown) if isinstance(each, TensorName)}
    alone = len(numbered) == 1 and FURTHER not in used
    names = {
        each: TensorName(FURTHER) if alone else TensorName(each.letter, index=Number(place))
        for place, each in enumerate(numbered, 1)
        if isinstance(each, TensorName)
    }

    def renamed(shown: Tree) -> Tree:
        return names.get(shown, shown) if isinstance(shown, TensorName) else shown

    return [replace(line, name=mapped(line.name, renamed), shown=mapped(line.shown, renamed)) for line in lines]


def _last(shape: Tree) -> Tree:
    return Listed((TensorName("…"), shape.items[-1])) if isinstance(shape, Listed) else shape


def named_parts(scope: Scope) -> dict[str, Scope]:
    """Return the parts of a part by their names in its lines."""
    own = PartTensors(scope)
    return {own.name(item): item for item in own.items if isinstance(item, Scope)}


class _Computing(PartTensors):
    """The computation of one part: the names of tensors, and a line for each name."""

    def __init__(self, scope: Scope, apart: tuple[OperationKind, ...]) -> None:
        super().__init__(scope)
        self.apart = apart  # kinds of operations whose results have their own lines
        self.found: list[Assignment] = []

    def lines(self) -> list[Assignment]:
        """Return the lines; the last one is the output of the part. Raises UnknownOperationError."""
        last = self.items[-1]
        for item in self.items:
            if isinstance(item, Scope) and item.loop:
                mixed = item.mixture is not None and item.mixture.order != "kind by kind"
                self._mixed(item) if mixed else self._repeated(item)
            elif item is not last and self._needs_a_name(item):
                self._assign(given_by(item))
        y = given_by(last)
        alone = [
            item for item in self.items[:-1] if isinstance(item, Entry) and item.kind is not OperationKind.PARAMETER
        ]
        if not any(isinstance(item, Scope) and item.loop for item in self.items) and any(
            id(item.output) not in self.uses for item in alone
        ):
            raise UnknownOperationError  # more than one output
        last_layers = id(y) in self.named  # the output of repeated layers has a name
        self.found.append(Assignment(TensorName("y"), self._shown(y, whole=not last_layers), shape_of(y)))
        if len(self.factors) != 1:
            return self.found
        (only,) = self.factors.values()
        return [
            replace(line, shown=mapped(line.shown, lambda each: FACTOR if each == only else each))
            for line in self.found
        ]

    def _mixed(self, scope: Scope) -> None:
        """Add the lines for layers of several kinds, in any order, each of which reads the output of the previous."""
        kinds = [item for item in self.items if isinstance(item, Scope) and item.mixture is scope.mixture]
        last = kinds[-1].loop
        if scope.mixture is None or scope is not kinds[0] or scope.loop is None or last is None:
            return
        name = scope.mixture.name.removesuffix(".*")
        self._run(name, scope.loop[0], last[2], self._of_kinds(kinds), scope.mixture.total)

    def _of_kinds(self, kinds: Sequence[Scope]) -> list[Tree]:
        """Return the other inputs of layers of several kinds, with the index n if each kind has its own.

        Some kinds may read none of them, such as layers without rotary positions, or only the first of them.
        """
        read = [[x for x in read_by(kind) if kind.loop and x.root is not kind.loop[1].root] for kind in kinds]
        read = [each for each in read if each] or [[]]
        found = []
        for place in range(max(map(len, read))):
            each = [inputs[place] for inputs in read if place < len(inputs)]
            if len({id(x.root) for x in each}) == 1:
                found.append(self._beside(each[0]))
                continue
            shown = {self._shown(x) for x in each}
            if len(shown) != 1 or not isinstance(one := shown.pop(), TensorName):
                raise UnknownOperationError
            found.append(replace(one, index=_THIS))
        return found

    def _repeated(self, scope: Scope) -> None:
        """Add the lines for repeated layers, each of which reads the output of the previous."""
        if scope.loop is None:
            raise UnknownOperationError
        before, inner, after = scope.loop
        others = [self._beside(x) for x in read_by(scope) if x.root is not inner.root]
        self._run(self.name(scope), before, after, others, scope.count)

    def _run(self, name: str, before: Tensor, after: Tensor, others: Sequence[Tree], count: Expr) -> None:
        taken = {name.letter for name in self.named.values() if name.index is not None}
        letter = next((each for each in STACKS if each not in taken), "")
        if not letter:
            raise UnknownOperationError
        self.found.append(Assignment(TensorName(letter, index=Number(0)), self._shown(before), shape_of(before)))
        layer = ModuleCall(name, (TensorName(letter, index=_BEFORE), *others), _THIS, f"{name}.*")
        self.found.append(Assignment(TensorName(letter, index=_THIS), layer, shape_of(after), count))
        self.named[id(after.root)] = TensorName(letter, index=tree(count))

    def _beside(self, x: Tensor) -> Tree:
        """Return the name of another input of every layer; adds a line for it if necessary.

        If each layer has its own part of it, the name has the index of the layer.
        """
        shown, own = self._shown(x), is_part(x)
        if shown == _ANGLES and id(x.root) not in self.named:  # two stacks may have different angles
            self.named[id(x.root)] = shown = replace(self._fresh(_ANGLES.letter), index=side_of(x, images=False))
        if not isinstance(shown, TensorName):
            turned = shown == _INTERLEAVED
            self.named[id(x.root)] = name = self._fresh("θ" if turned else "ρ" if len(x.shape) == 4 else "")
            shape = self._shape_of_angles(x) if turned else shape_of(x.root if own else x)
            self.found.append(Assignment(name, shown, shape))
            shown = name
        return replace(shown, index=_THIS) if own else shown

    def _shape_of_angles(self, x: Tensor) -> Tree:
        """Return the shape of the angles that a table of cosines and sines has for the tokens of the part."""
        batch, length = read_by(self.scope)[0].shape[:2]
        return Listed((tree(batch), tree(length), tree(x.width / 2)))

    # -- names -------------------------------------------------------------------------------------------------------

    def _needs_a_name(self, item: Item) -> bool:
        x = given_by(item)
        uses = self.uses.get(id(x), [])
        if not uses or (
            isinstance(item, Entry)
            and item.kind in (OperationKind.PARAMETER, OperationKind.LOOKUP, OperationKind.POSITIONS)
        ):
            return False
        if isinstance(item, Entry) and item.kind is OperationKind.DROPOUT and not self._computed(item.inputs[0]):
            return False  # written as the input itself
        if len(uses) > 1 or self._pieces(x):
            return True
        if (item.kind if isinstance(item, Entry) else OperationKind.OBSERVED) in self.apart:  # parts count as OBSERVED
            return True
        reader = uses[0][0]
        if isinstance(reader, Entry) and reader.kind is OperationKind.NORM:  # a norm reads its input twice
            return isinstance(item, Entry)
        scaled = isinstance(item, Entry) and item.kind is OperationKind.MULTIPLY and len(item.inputs) == 1
        made = (
            isinstance(item, Scope)
            or scaled
            or item.kind
            in (
                OperationKind.LINEAR,
                OperationKind.EXPERTS,
                OperationKind.ROUTE,
            )
        )
        return made and bool(self._called(x)[0])

    def _assign(self, x: Tensor) -> None:
        shown = self._shown(x, whole=True)
        pieces = self._pieces(x)
        if not pieces:
            name = self._fresh(*self._called(x), self._index(x))
            self.named[id(x)] = name = self._of_each_expert(name) if self._by_expert(x) else name
            uses = self.uses[id(x)]
            shape = whole_view(uses[0][2]).shape if len({use[2].shape for use in uses}) == 1 else x.shape
            shape = x.shape if self._slides(uses[0][0]) or is_read_in_parts(uses[0][0], uses[0][2]) else shape
            self.found.append(Assignment(name, shown, Listed(tuple(map(tree, shape)))))
            return
        names: list[Tree] = []
        for piece in pieces:
            names += [TensorName("·")] * ((piece.place or 0) - len(names))
            name = self._fresh(*self._called(x, piece.place), self._index(x, piece.place))
            name = self._of_each_expert(name) if self._by_expert(x) else name
            self.named[id(x), piece.place] = name
            names.append(name)
        self.found.append(Assignment(Listed(tuple(names)), shown, side_by_side(pieces)))

    def _slides(self, item: Item) -> bool:
        """Return True for a convolution over a sequence, whose input is shown with the channels last."""
        return isinstance(item, Entry) and item.kind is OperationKind.CONVOLUTION and len(item.output.shape) == 3

    # -- operations --------------------------------------------------------------------------------------------------

    def _shown(self, x: Tensor, whole: bool = False) -> Tree:
        """Return a tensor as written where it is read; with ``whole``, as written on its own line."""
        root = x.root
        piece = piece_of(x)
        if not whole:
            if piece is not None and (id(root), piece.place) in self.named:
                return self.named[id(root), piece.place]
            if id(root) in self.named:
                return self.named[id(root)]
        if id(root) in self.parts:
            return self._part(self.parts[id(root)])
        if id(root) in self.made:
            return self._entry(self.made[id(root)])
        return self._given(root)

    def _part(self, scope: Scope) -> Tree:
        read = read_by(scope)
        if scope.loop:
            raise UnknownOperationError
        return ModuleCall(self.name(scope), tuple(self._shown(x) for x in read), module=scope.name)

    def _entry(self, entry: Entry) -> Tree:
        kind = entry.kind
        if kind in (OperationKind.OBSERVED, OperationKind.MOVE):
            raise UnknownOperationError
        if kind is OperationKind.PARAMETER:
            return vector(entry.weights[0])
        if kind is OperationKind.LOOKUP:
            index = self._shown(entry.inputs[0])
            row = Sum((index, tree(entry.skipped))) if entry.skipped != 0 else index
            return Indexed(self._weight(entry, "W"), row)
        if kind is OperationKind.POSITIONS and not entry.inputs:
            if entry.function == INTERLEAVED_ROTARY:
                return _INTERLEAVED
            return _ANGLES if entry.function in ROTARY else TensorName(_FIXED.get(entry.function, "p"))
        first, *rest = [self._shown(x) for x in entry.inputs]
        match kind:
            case OperationKind.DROPOUT:
                return first
            case OperationKind.POSITIONS:
                return Applied("waves", (first,))
            case OperationKind.LINEAR if entry.function == GROUPED:
                return Applied("by_group", (first, self._weight(entry, "W")))
            case OperationKind.LINEAR | OperationKind.EXPERTS:
                return _capped(entry, self._affine(entry, Product((first, Transposed(self._weight(entry, "W"))))))
            case OperationKind.SCORES:
                return _capped(entry, self._scores(entry, first, rest[0]))
            case OperationKind.SOFTMAX:
                scores = self._scores_of(entry)
                keys = "causal" if entry.mask == "causal" else ""
                if scores is not None and scores.blocks:
                    keys = "blocks"
                below: Tree | None = Word(keys) if keys else None
                if scores is not None and scores.window is not None:
                    sizes = [scores.window, *([] if scores.compressed is None else [scores.compressed])]
                    below = Applied("chunk" if scores.chunked else keys or "near", tuple(map(tree, sizes)))
                if entry.shared:
                    first = Listed((first, vector(entry.shared[0])))
                return Applied("softmax", (first,), below)
            case OperationKind.MIX:
                return Product((first, *rest))
            case OperationKind.NORM:
                return self._norm(entry, first)
            case OperationKind.ACTIVATION:
                return _activated(entry.function, first, *map(vector, entry.shared))
            case OperationKind.MULTIPLY if entry.function == STREAMS:
                return Applied("expand", (first, *rest))
            case OperationKind.MULTIPLY:
                if len(rest) == 1 and self._routed(entry.inputs[1]):
                    return Product((_of_expert(rest[0]), first))
                if self._routed(entry.inputs[0]) and isinstance(rest[0], TensorName):  # a number for each expert
                    return Pointwise((first, replace(rest[0], index=EXPERT)))
                return self._multiplied(entry, first, rest)
            case OperationKind.ADD if entry.function == SUBTRACTED:
                return Sum((first, Minus(rest[0])))
            case OperationKind.ADD if entry.function == INTERPOLATED:
                return Applied("lerp", (first, *rest))
            case OperationKind.ADD if entry.function == COMPRESSED:
                return Applied("add_last", (first, *rest))
            case OperationKind.ADD:
                return Sum(tuple(term for each in (first, *rest) for term in _terms(each)))
            case OperationKind.ROTATE if entry.compressed is not None:
                return Applied("rotate", (first,), tree(entry.compressed))
            case OperationKind.ROTATE:
                return Applied("unrotate" if entry.function == BACK else "rotate", (first, *rest))
            case OperationKind.JOIN if entry.function == ROW:
                return Applied("merge" if J_merge in sizes_of(shape_of(entry.inputs[0])) else "flatten", (first,))
            case OperationKind.JOIN if entry.function == COPIES:
                return Applied("copies", (first,), tree(entry.output.shape[2]))
            case OperationKind.JOIN if entry.function == JOINED_STREAMS:
                return Applied("streams", (first, *rest))
            case OperationKind.JOIN if entry.function == SCATTERED:
                return Applied("insert", (first, *rest))
            case OperationKind.JOIN if entry.function == WINDOWS:
                return Applied("windows", (first,))
            case OperationKind.JOIN if entry.function == UNWINDOWED:
                return Applied("square", (first,))
            case OperationKind.JOIN:
                rows = entry.function == "tokens"
                joined = [
                    each.items if isinstance(each, Listed) and each.rows == rows else (each,) for each in (first, *rest)
                ]
                return Listed(tuple(item for items in joined for item in items), rows)
            case OperationKind.SELECT if entry.function == EARLIER:
                layers = self.parts.get(id(entry.inputs[0].root))
                if layers is None or not isinstance(first, TensorName):
                    raise UnknownOperationError
                return replace(first, index=tree(layers.count - entry.skipped))
            case OperationKind.SELECT if entry.function == LISTED:
                return Applied("listed", (first,))
            case OperationKind.SELECT if entry.function == PLACED:
                return Applied("images", (first,))
            case OperationKind.SELECT if entry.function in (STREAM, OTHER_STREAMS):
                return Applied("first" if entry.function == STREAM else "others", (first,), Word("stream"))
            case OperationKind.SELECT if entry.function in ENDS:
                return Applied(entry.function, (first,), tree(entry.output.shape[1]))
            case OperationKind.SELECT:
                name = {"by query": "gather", "by key": "gather_keys", REST: "rest", SHIFTED: "previous"}.get(
                    entry.function
                )
                if name is None:
                    return Applied("select", (first,), Word(entry.path.rpartition(".")[2]))
                return Applied(name, (first,))
            case OperationKind.ROUTE:
                return Applied("route", (first,), tree(entry.output.width))
            case OperationKind.COMBINE if entry.function == STREAMS:
                return Applied("collapse", (first, *rest))
            case OperationKind.COMBINE if entry.function == SUMMED:
                return Applied("sum", (first,))
            case OperationKind.COMBINE if entry.function == RESAMPLED:
                return Applied("interpolate", (first,))
            case OperationKind.COMBINE if entry.function == MAGNITUDE:
                return Applied("magnitude", (first,))
            case OperationKind.COMBINE if entry.function == AVERAGED:
                return Applied("mean", (first,), Word("stream"))
            case OperationKind.COMBINE if entry.function == POOLED:
                return Applied("pool", (first,))
            case OperationKind.COMBINE:
                return Total(EXPERT, Product((_of_expert(rest[0]), first)) if rest else first)
            case OperationKind.MATCH if entry.function == "" and len(entry.output.shape) == 4:
                return Applied("mix", (first, *rest), Word("stream"))
            case OperationKind.MATCH if entry.function == STREAMS:
                return Applied("mix", (*rest, first))
            case OperationKind.COMPRESS:
                name = "compress_two" if entry.function == OVERLAPPING else "compress"
                return Applied(name, (first, *rest, *map(vector, entry.shared)), tree(entry.compressed or Integer(1)))
            case OperationKind.MATCH | OperationKind.PRODUCT:
                return Product((first, Transposed(rest[0])))
            case OperationKind.CHOOSE:
                name = "choose" if entry.compressed is None else "choose_group"
                return Applied(name, (first, *rest), None if entry.chosen is None else tree(entry.chosen))
            case OperationKind.CONVOLUTION:
                return self._affine(entry, Applied("conv", (self._kernel(entry), first), _kind_of_convolution(entry)))
            case OperationKind.SCAN:
                return self._scan(entry, first, rest)
            case OperationKind.DELTA_RULE if entry.function == GENERAL:
                return Applied("wkv", (first, *rest))
            case OperationKind.DELTA_RULE:
                return self._delta_rule(entry, first, rest)
            case OperationKind.RECURRENCE:
                gates = (self._gate(entry, first, name) for name in ("recurrent_gate", "input_gate"))
                return Applied("lru", (first, *gates, TensorName("w", "recurrent_param")))
        raise UnknownOperationError

    def _gate(self, entry: Entry, u: Tree, name: str) -> TensorName:
        """Return a gate of a recurrence, with a line for it: one matrix and one row of biases for each head."""
        if (entry.path, name) not in self.named:
            self.named[entry.path, name] = gate = self._fresh()
            batch, heads, length, width = entry.output.shape
            shown = Applied("σ", (Applied("blockdiag", (u, TensorName("W", name), TensorName("b", name))),))
            self.found.append(Assignment(gate, shown, Listed(tuple(map(tree, (batch, length, heads * width))))))
        return self.named[entry.path, name]

    def _scores_of(self, entry: Entry) -> Entry | None:
        """Return the scores that a softmax reads, looking through operations between the two.

        Scores in a window come first.
        """
        if entry.kind is OperationKind.SCORES:
            return entry
        made = [self.made[id(x.root)] for x in entry.inputs if id(x.root) in self.made]
        found = [scores for scores in map(self._scores_of, made) if scores is not None]
        return min(found, key=lambda scores: scores.window is None, default=None)

    def _scores(self, entry: Entry, q: Tree, k: Tree) -> Tree:
        """Return the product of each query with each key, divided by the root of the head dimension or scaled by α."""
        if entry.function in ("rows", "columns"):
            return Applied("by_row" if entry.function == "rows" else "by_column", (q, k))
        if entry.function == "number":
            return Product((self._factor(entry), q, Transposed(k)))
        product = Product((q, Transposed(k)))
        divided = product if entry.function == "none" else FractionNode(product, Root(tree(entry.inputs[0].width)))
        return Applied("shift", (divided,)) if entry.function == "distances" else divided

    def _multiplied(self, entry: Entry, x: Tree, others: Sequence[Tree]) -> Tree:
        """Return an elementwise product, or a product with a constant or with the root of a width."""
        if entry.function == RESCALED:
            raise UnknownOperationError  # it has a norm of a matrix and its update, and does not multiply the bias
        if others:
            return Pointwise((x, *(Sum((Number(1), each)) if entry.function == "lifted" else each for each in others)))
        root = Root(tree(entry.inputs[0].width))
        if entry.function == "":
            return Product((self._factor(entry), x))
        return {"root": Product((root, x)), "over root": FractionNode(x, root)}[entry.function]

    def _scan(self, entry: Entry, u: Tree, rest: Sequence[Tree]) -> Tree:
        """Return a scan with positive steps and with the decay computed from its stored logarithm."""
        step, *along = rest
        step, decay, others = _decay(entry, step)
        return Applied("scan", (u, step, decay, *along, *others))

    def _delta_rule(self, entry: Entry, q: Tree, rest: Sequence[Tree]) -> Tree:
        """Return a delta rule, with steps and decay as in a scan."""
        k, v, step, strength = rest
        step, decay, _ = _decay(entry, step)
        return Applied("delta", (q, k, v, step, decay, strength))

    def _affine(self, entry: Entry, product: Tree) -> Tree:
        bias = any(weight.path.rpartition(".")[2].endswith("bias") for weight in (*entry.weights, *entry.shared))
        return Sum((product, self._weight(entry, "b"))) if bias else product

    def _kernel(self, entry: Entry) -> Tree:
        """Return the kernel of a convolution; a normalized one is divided by its length at each of its positions."""
        weight = self._weight(entry, "W")
        lengths = next((each for each in entry.weights if each.path.endswith(WEIGHT_NORM[1])), None)
        if lengths is None:
            return weight
        return Pointwise((vector(lengths), FractionNode(weight, Applied("length", (weight,), Word("kernel")))))

    def _norm(self, entry: Entry, x: Tree) -> Tree:
        stored = {weight.path.rpartition(".")[2] for weight in (*entry.weights, *entry.shared)}
        if entry.function == GAUSSIAN_TOP_K:
            return Applied("gaussian_topk", (x,))
        if entry.function not in _NORMS:
            raise UnknownOperationError
        about, divided = _NORMS[entry.function]
        which = {"rms_groups": Word("group"), "layer_groups": Word("group"), "channel": Word("time")}.get(
            entry.function
        )
        mean = Applied("mean", (x,), which)
        shown: Tree = FractionNode(Sum((x, Minus(mean))) if about else x, Applied(divided, (x,), which))
        own = entry.path.rpartition(".")[2]
        alone = not self.scope.name and len({module_of(each.path) for each in weights_of(self.scope)}) < 2
        below = "" if own == self.scope.name.rpartition(".")[2] or alone else own
        if "weight" in stored:
            w = TensorName("w", below)
            shown = Pointwise((shown, Sum((Number(1), w)) if entry.function.endswith("_offset") else w))
        return Sum((shown, TensorName("b", below))) if "bias" in stored else shown


def _decay(entry: Entry, step: Tree) -> tuple[Tree, Tree, tuple[Tree, ...]]:
    """Return the positive steps of a recurrent state, its decay, and its other stored vectors."""
    stored = {weight.path.rpartition(".")[2]: vector(weight) for weight in entry.shared}
    step = Applied("softplus", (Sum((step, stored.pop("dt_bias"))) if "dt_bias" in stored else step,))
    return step, Minus(Applied("exp", (stored.pop("A_log"),))), tuple(stored.values())


def _capped(entry: Entry, shown: Tree) -> Tree:
    return Applied("cap", (shown,)) if entry.capped else shown


def _terms(shown: Tree) -> tuple[Tree, ...]:
    return shown.terms if isinstance(shown, Sum) else (shown,)


def _of_expert(shown: Tree) -> Tree:
    return TensorName(shown.letter, index=EXPERT) if isinstance(shown, TensorName) else shown


def _activated(name: str, x: Tree, *stored: Tree) -> Tree:
    if name == "linear":
        return x
    if name == "relu2":
        return Power(Applied("ReLU", (x,)), 2)
    if name == "quick_gelu":
        return Applied("QuickGELU", (x,))
    if "gelu" in name:
        return Applied("GELU", (x,), None if name in _EXACT_GELU else Word("tanh"))
    return Applied(_FUNCTIONS.get(name.partition("_")[0], name), (x, *stored))


def _kind_of_convolution(entry: Entry) -> Word | None:
    """Return what a convolution is applied to: each channel alone, the patches of an image, or all positions."""
    _, channels, *kernel = entry.weights[0].shape
    if entry.causal and channels == 1:
        return Word("channel")
    sides = zip(entry.inputs[0].shape[2:], kernel, entry.output.shape[2:], strict=True)
    apart = all(cancel(before - side * after) == 0 for before, side, after in sides)  # the stride is the kernel's side
    return Word("patch") if apart and len(kernel) > 1 and any(side != 1 for side in kernel) else None
