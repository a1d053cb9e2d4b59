"""The tensors of a part: what computes and reads each of them, and their names in its computation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from ..language.notation.display_tree import Number, TensorName, Tree, Word
from ..ledger.facts import (
    FIRST_VALUES,
    REUSED_KEYS,
    REUSED_VALUES,
    SCATTERED,
    Entry,
    OperationKind,
    Scope,
    Tensor,
)
from .ledger_dataflow import Item, entries_of, items_of, piece_of, read_by, weights_of
from .operation_roles import RECURRENCES, roles_of
from .tensor_notation import (
    TABLES,
    is_read_in_parts,
    is_several,
    module_of,
    side_of,
    table_of,
    vector,
    whole_view,
)

_THROUGH = (
    OperationKind.ROTATE,
    OperationKind.DROPOUT,
    OperationKind.NORM,
    OperationKind.ACTIVATION,
    OperationKind.CONVOLUTION,
    OperationKind.JOIN,
)  # keep a role
_FREE = ("h", "r", "f", "a")  # names for tensors without a usual name; none of them has a meaning of its own
_ANY = "·"  # stands for one of these
APIECE = "ξ"  # an input of which each layer reads its own part
FURTHER = "m"  # an input in addition to the first one
FACTOR = TensorName("α")  # a constant of the model
EXPERT = TensorName("e")  # an expert that a token is routed to
_NAME = 32  # characters of a part's name


class UnknownOperationError(Exception):
    """Raised for an operation whose computation is unknown."""


def _reaching(items: Iterable[Item]) -> list[Item]:
    """Return the items without those whose results a class computes but does not use; all if it uses none.

    An example is the attention pooling of an image encoder whose patches are the input of a language model.
    """
    every = list(items)
    operations = {
        id(item): [
            entry for entry in ([item] if isinstance(item, Entry) else entries_of(item)) if not _is_weight(entry)
        ]
        for item in every
    }
    unused = [item for item in every if operations[id(item)] and not any(each.used for each in operations[id(item)])]
    return every if len(unused) == sum(map(bool, operations.values())) else [i for i in every if i not in unused]


def _is_weight(entry: Entry) -> bool:
    return entry.kind is OperationKind.PARAMETER


def _name_inside(scope: Scope, x: Tensor) -> str:
    """Return the name of an input of a part that has its own name in the part, so that both have the same; or ""."""
    if any(each.function == SCATTERED and each.inputs[1].root is x for each in entries_of(scope)):
        return FURTHER  # the tokens of images
    below = [each for each in scope.walk() if each is not scope]
    parts = any(each.root is x and is_read_in_parts(item, each) for item in below for each in read_by(item))
    return APIECE if parts else ""


def is_numbered(name: Tree) -> bool:
    """Return whether the name of a result is only a number with a letter, because all letters were taken."""
    return isinstance(name, TensorName) and name.letter == _FREE[0] and isinstance(name.index, Number)


class PartTensors:
    """The tensors of one part, and the names that its lines give them."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.items = _reaching(items_of(scope))
        self.made = {id(item.output): item for item in self.items if isinstance(item, Entry)}
        self.parts: dict[int, Scope] = {}
        for item in self.items:
            if isinstance(item, Scope):
                self.parts |= {id(entry.output): item for entry in entries_of(item)}
                if item.loop:
                    self.parts[id(item.loop[2])] = item
        self.uses: dict[int, list[tuple[Item, int, Tensor]]] = {}
        for item in self.items:
            for place, x in enumerate(read_by(item)):
                self.uses.setdefault(id(x.root), []).append((item, place, x))
        recurrent = [item for item in self.items if isinstance(item, Entry) and item.kind in RECURRENCES]
        self.reserved = {role for item in recurrent for role in roles_of(item)}  # even before they are names
        self.named: dict[object, TensorName] = {}
        self.factors: dict[int, TensorName] = {}  # the constants of the model, by operation

    def _computed(self, x: Tensor) -> bool:
        """Return True unless a tensor is an input of the part."""
        return id(x.root) in self.made or id(x.root) in self.parts

    def _pieces(self, x: Tensor) -> list[Tensor]:
        """Return the used pieces of a split tensor, in order."""
        found: dict[int, Tensor] = {}
        for _, _, view in self.uses.get(id(x), []):
            piece = piece_of(view)
            if piece is not None and piece.place is not None:
                found[piece.place] = piece
        return [found[place] for place in sorted(found)]

    def _factor(self, entry: Entry) -> TensorName:
        """Return the name of a constant of the model; a part with several numbers them."""
        return self.factors.setdefault(id(entry), replace(FACTOR, index=Number(len(self.factors) + 1)))

    def _of_each_expert(self, name: TensorName) -> TensorName:
        """Return a name with the index of an expert: the same letter, or the first one that is free with this index."""
        taken = {each.letter for each in self.named.values() if each.index == EXPERT}
        return TensorName(next(each for each in (name.letter, *_FREE) if each not in taken), index=EXPERT)

    def _by_expert(self, x: Tensor) -> bool:
        """Return True if a tensor exists once per expert that a token is routed to."""
        entry = self.made.get(id(x.root))
        if entry is None or entry.kind in (OperationKind.COMBINE, OperationKind.ROUTE):
            return False
        return entry.kind is OperationKind.EXPERTS or any(self._by_expert(x) or self._routed(x) for x in entry.inputs)

    def _routed(self, x: Tensor) -> bool:
        """Return True for the weights of the experts that a token is routed to."""
        entry = self.made.get(id(x.root))
        return entry is not None and entry.kind is OperationKind.ROUTE

    def _by_position(self, item: Entry) -> bool:
        """Return True for a product with a fixed table of factors, one per position."""
        made = [self.made.get(id(x.root)) for x in item.inputs[1:]]
        return item.kind is OperationKind.MULTIPLY and any(each and each.function == "temperatures" for each in made)

    def _called(self, x: Tensor, place: int | None = None, direct: bool = True) -> tuple[str, bool]:
        """Return the usual name of a tensor, or of a piece of it, from the operation that reads it.

        The second value is True if the name needs a number: if the tensor is only a part of that input, or not
        ``direct``, if a recurrence reads what follows from it. Its explanation then has the names without numbers.
        """
        if self._routed(x):
            return "g", False
        for item, position, view in self.uses.get(id(x), []):
            if is_read_in_parts(item, view):
                return APIECE, False
            if isinstance(item, Scope) and (inside := _name_inside(item, x.root)):
                return inside, False
            piece = piece_of(view)
            if not isinstance(item, Entry) or (place is not None and (piece is None or piece.place != place)):
                continue
            roles = roles_of(item)
            if position < len(roles) and roles[position]:
                return roles[position], not direct and item.kind in RECURRENCES
            through = item.kind in _THROUGH or self._by_position(item)
            role, partly = self._called(item.output, direct=False) if through else ("", False)
            if role and item.kind is OperationKind.CONVOLUTION:  # mixes tokens, and often several inputs at once
                role, partly = _ANY, False
            if role and (position == 0 or item.kind is OperationKind.JOIN):
                return role, partly or item.kind is OperationKind.JOIN
        return "", False

    def _index(self, x: Tensor, place: int | None = None) -> Tree | None:
        """Return the index of a part of an input: in all inputs of an operation, parts of the same kind have the same.

        It is ``rope`` for elements that are rotated and ``nope`` for those that are joined with them, and otherwise the
        place of the part in the joined tensor. None if the tensor is no such part.
        """
        for item, position, view in self.uses.get(id(x), []):
            piece = piece_of(view)
            if not isinstance(item, Entry) or (place is not None and (piece is None or piece.place != place)):
                continue
            if item.kind is OperationKind.JOIN:
                rotated = [self._is_rotated(each) for each in item.inputs]
                by_position = item.function != "tokens" and any(rotated) and not all(rotated)
                return Word("rope" if rotated[position] else "nope") if by_position else Number(position + 1)
            if item.kind in _THROUGH and position == 0 and (found := self._index(item.output)) is not None:
                return found
        return None

    def _is_rotated(self, x: Tensor) -> bool:
        entry = self.made.get(id(x.root))
        return entry is not None and entry.kind is OperationKind.ROTATE

    def _fresh(self, wanted: str = "", partly: bool = False, index: Tree | None = None) -> TensorName:
        """Return an unused name: the wanted one, if necessary with an index, which is a number if none is given."""
        taken = {(name.letter, name.index) for name in self.named.values()}
        if wanted and wanted != _ANY and partly and index is not None and (wanted, index) not in taken:
            return TensorName(wanted, index=index)
        if wanted == _ANY:
            wanted = _FREE[0] if partly else ""
        if wanted:
            indices = (Number(number) if number else None for number in count(int(partly)))
            return next(TensorName(wanted, index=each) for each in indices if (wanted, each) not in taken)
        used = {letter for letter, _ in taken} | self.reserved
        letters = (letter for letter in _FREE if letter not in used)
        return next((TensorName(letter) for letter in letters), None) or self._fresh(_FREE[0])

    def _given(self, x: Tensor) -> TensorName:
        """Return the name of an input of the part."""
        if id(x) not in self.named:
            stored = next((each for each in weights_of(self.scope) if each.path == x.name), None)
            self.named[id(x)] = vector(stored) if stored else self._input(x)
        return self.named[id(x)]

    def _input(self, x: Tensor) -> TensorName:
        """Return the name of an input; with a subscript for the second of a kind, of an encoder or an image."""
        earlier = {REUSED_KEYS: "k", REUSED_VALUES: "v"}
        if own := earlier.get(x.name.rpartition(".")[2]):
            return TensorName(own, index=Word("earlier"))
        wanted = self._wanted(x)
        indices = [each.root for each in read_by(self.scope) if table_of(each.root, self.scope)]
        several = len({id(each) for each in indices if self._wanted(each) == wanted}) > 1
        # Positions and distances have their subscript also if the part reads no others: the document may have others.
        if (several or wanted in (TABLES["positions"], TABLES["distances"])) and (side := side_of(x)):
            return TensorName(wanted, index=side)
        return self._fresh(wanted)

    def _wanted(self, x: Tensor) -> str:
        if table := table_of(x, self.scope):
            return "j" if is_several(x, self.scope) else TABLES[table]
        if any(
            is_read_in_parts(item, view) or whole_view(view) is not view for item, _, view in self.uses.get(id(x), [])
        ):
            return APIECE
        if x.shape and x.shape[0] == 2:
            return "θ"  # cosines and sines
        if x.name.rpartition(".")[2] == FIRST_VALUES:
            return "ν"
        if any(each.function == SCATTERED and each.inputs[1].root is x for each in entries_of(self.scope)):
            return FURTHER  # the tokens of images
        first = next((each.root for each in read_by(self.scope)), None)
        if x is first:
            return "x"
        sums = [each for each in entries_of(self.scope) if each.kind is OperationKind.ADD]
        added = [each for each in sums if any(view.root is x and len(view.shape) == 4 for view in each.inputs)]
        if added:  # to scores
            return "ρ" if added[0].chosen is None else "κ"
        taken = {name.letter for name in self.named.values()}
        other = first is None or first.shape[:1] == (2,) or table_of(first, self.scope)  # x is free
        return "x" if other and "x" not in taken else FURTHER

    def name(self, scope: Scope) -> str:
        """Return the name of a part: its last word if that is unique, otherwise shortened to fit a line."""
        name = scope.name.removesuffix(".*")
        words = name.split(".")
        first, last = words[0], words[-1]
        scopes = [item for item in self.items if isinstance(item, Scope) and item is not scope]
        mixed = [each.mixture.name for each in scopes if each.mixture and each.mixture is not scope.mixture]
        others = [each.removesuffix(".*") for each in (*(each.name for each in scopes), *mixed)]
        if all(other.rpartition(".")[2] != last for other in others):
            return last
        return f"{first}…{last}" if len(name) > _NAME and len(words) > 2 else name

    def _weight(self, entry: Entry, letter: str) -> TensorName:
        """Return a weight, named after its torch module inside the part."""
        every_axis = sorted((*entry.weights, *entry.shared), key=lambda weight: -len(weight.shape))
        own = every_axis[-1:] if letter == "b" else every_axis[:1]
        module, called = module_of(own[0].path) if own else ("", "")
        if called.isdigit():  # in a list of modules
            called = ".".join(module.split(".")[-2:])
        entries = [item for item in self.items if isinstance(item, Entry)]
        tied = own and own[0] in entry.shared  # such as the head's matrix, which any module may store
        every = {
            module_of(each.path)
            for each in (weights_of(self.scope) if tied else [each for item in entries for each in item.weights])
        }
        if any(other != module and name == called for other, name in every):  # such as two adapters: qualify the name
            called = ".".join(module.split(".")[-2:])
        which = EXPERT if entry.kind is OperationKind.EXPERTS else None
        if own and any(each.path == own[0].path and each.shape != own[0].shape for each in weights_of(self.scope)):
            which = TensorName(
                self._called(entry.output)[0] or entry.path.rpartition(".")[2]
            )  # rows of a larger matrix
        return TensorName(letter, called.removesuffix("*"), which)
