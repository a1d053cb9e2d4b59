"""Roles of linear layers, inferred from the operations around them; code bases count by role."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cached_property

from ...ledger.adapters import is_adapted
from ...ledger.facts import ATTENDING, Entry, Ledger, OperationKind, Tensor, Weight

# The operations that a tensor passes through between two products. A sum ends a block.
_THROUGH = (
    OperationKind.NORM,
    OperationKind.ROTATE,
    OperationKind.ACTIVATION,
    OperationKind.MULTIPLY,
    OperationKind.DROPOUT,
    OperationKind.JOIN,
    OperationKind.SELECT,
    OperationKind.SOFTMAX,
)


class Role(StrEnum):
    """The role of a linear layer."""

    HEAD = "the LM head"
    READ = "an input projection of attention"
    OUTPUT = "the output projection of attention"
    MLP = "a matrix of an MLP"
    SHARED = "a matrix of a shared expert"
    ROUTER = "a router"
    SHARED_GATE = "the gate of a shared expert"
    OTHER = "another matrix"


class RoleTable:
    """A ledger with the role of each of its linear layers."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.entries = [entry for _, entry in ledger]
        self._made = {id(entry.output.root): entry for entry in self.entries}
        self._reads: dict[int, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            for tensor in entry.inputs:
                self._reads[id(tensor.root)].append(entry)
        self._known: dict[int, Role] = {}

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.ledger.root.part.name

    @property
    def adapted(self) -> bool:
        """Whether the model has adapters."""
        return is_adapted(self.ledger)

    def of(self, *kinds: OperationKind) -> list[Entry]:
        """Return the entries of these kinds."""
        return [entry for entry in self.entries if entry.kind in kinds]

    @cached_property
    def tables(self) -> frozenset[Weight]:
        """The embedding tables tied to the LM head."""
        return frozenset(weight for entry in self.entries if entry.logits for weight in entry.shared)

    @cached_property
    def mixed(self) -> frozenset[str]:
        """The paths of the layers that have experts."""
        return frozenset(_layer(entry) for entry in self.of(OperationKind.EXPERTS))

    def role(self, entry: Entry) -> Role:
        """Return the role of a linear layer."""
        if id(entry) not in self._known:
            self._known[id(entry)] = self._role(entry)
        return self._known[id(entry)]

    def low(self, entry: Entry) -> bool:
        """Return True for a norm between the two matrices of a low-rank projection."""
        both = (self._to(entry)[0], self._from(entry)[0])
        return all(
            found and all(each.kind is OperationKind.LINEAR and self.role(each) is Role.READ for each in found)
            for found in both
        )

    def producers(self, tensor: Tensor) -> list[Entry]:
        """Return the last products or sums that a tensor is computed from."""
        made = self._made.get(id(tensor.root))
        if made is None:
            return []
        return self._from(made)[0] if made.kind in _THROUGH else [made]

    def gates(self) -> Iterable[Entry]:
        """Yield the activations of gated MLPs: those whose output is multiplied by another projection."""
        for entry in self.of(OperationKind.ACTIVATION):
            if any(self._is(each, Role.SHARED_GATE) for each in self._from(entry)[0]):
                continue
            for each in self._reads[id(entry.output.root)]:
                if each.kind is OperationKind.MULTIPLY and len(each.inputs) > 1:
                    yield entry

    def opens(self, entry: Entry) -> bool:
        """Return True if an activation follows this matrix of an MLP."""
        ends, on_the_way = self._to(entry)
        return bool(ends) and all(each.kind is OperationKind.LINEAR for each in ends) and self._acts(on_the_way)

    def _role(self, entry: Entry) -> Role:
        if entry.logits:
            return Role.HEAD
        ends, on_the_way = self._to(entry)
        kinds = {each.kind for each in ends}
        if OperationKind.ROUTE in kinds:
            return Role.ROUTER
        if kinds & {*ATTENDING} or any(self._is(each, Role.READ) for each in ends):
            return Role.READ
        starts, before = self._from(entry)
        if any(each.kind is OperationKind.MIX for each in starts):
            return Role.OUTPUT
        layer = _layer(entry)
        if entry.output.width == 1 and layer in self.mixed:
            return Role.SHARED_GATE
        up = (
            ends
            and all(each.kind is OperationKind.LINEAR and not each.logits for each in ends)
            and self._acts(on_the_way)
        )
        down = starts and all(each.kind is OperationKind.LINEAR for each in starts) and self._acts(before)
        if (up and not any(self._is(each, Role.OUTPUT) for each in ends)) or down:
            return Role.SHARED if layer in self.mixed else Role.MLP
        return Role.OTHER

    def _is(self, entry: Entry, role: Role) -> bool:
        return entry.kind is OperationKind.LINEAR and self.role(entry) is role

    def _acts(self, entries: Iterable[Entry]) -> bool:
        """Return True if these include an activation or an elementwise product."""
        return any(each.kind in (OperationKind.ACTIVATION, OperationKind.MULTIPLY) for each in entries)

    def _to(self, entry: Entry) -> tuple[list[Entry], list[Entry]]:
        """Return the next products or sums that use an entry's output, and the operations in between."""
        return _walked(entry, lambda each: self._reads[id(each.output.root)])

    def _from(self, entry: Entry) -> tuple[list[Entry], list[Entry]]:
        """Return the last products or sums before an entry's inputs, and the operations in between."""
        return _walked(entry, self._sources)

    def _sources(self, entry: Entry) -> list[Entry]:
        made = (self._made.get(id(tensor.root)) for tensor in entry.inputs)
        return [each for each in made if each is not None]


def _walked(entry: Entry, step: Callable[[Entry], list[Entry]]) -> tuple[list[Entry], list[Entry]]:
    ends: dict[int, Entry] = {}
    way: dict[int, Entry] = {}
    left = list(step(entry))
    while left:
        each = left.pop()
        if each.kind not in _THROUGH:
            ends[id(each)] = each
        elif id(each) not in way:
            way[id(each)] = each
            left += step(each)
    return list(ends.values()), list(way.values())


def _layer(entry: Entry) -> str:
    """Return the path of the repeated layer that contains an entry; "" if there is none."""
    before, star, _ = entry.path.partition("*")
    return before if star else ""
