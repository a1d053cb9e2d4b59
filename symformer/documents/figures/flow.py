"""The data flow of a figure: tensors followed from node to node, at the depth that the figure shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sympy import Expr

from ...formulas.account import Line
from ...language.shape_lines import shape_line
from ...ledger.facts import LISTED, ONE, ROTARY, Entry, Ledger, OperationKind, Scope, Tensor
from .attention_inputs import attention_roles
from .expert_choice import ExpertChoice, expert_choice
from .figure import Arrow, Node, Plus
from .recurrence_inputs import class_shape, heads_follow_tokens

HIDDEN = (*ROTARY, "slopes")  # tables passed to every layer; their readers have a note instead of an arrow
SUMMANDS = 3  # the most terms of one plus sign


@dataclass(eq=False)
class Draft:
    """A node to be drawn: an operation, a part as one box, or a frame with more nodes inside."""

    key: str
    line: Line
    scope: Scope | None = None
    frame: bool = False
    items: list[Draft] = field(default_factory=list)  # the nodes in a frame
    mixed: bool = False  # whether the items are kinds of layers in an unknown order
    count: Expr = ONE  # the number of copies in the whole
    experts: ExpertChoice | None = None  # the choice of experts, if the items are the operations of the experts

    @property
    def entries(self) -> list[Entry]:
        """Every operation in the node."""
        return [line.entry for line in self.line.walk() if line.entry is not None]

    @property
    def adds(self) -> bool:
        """Whether it is a sum of two tensors with an amount of 0."""
        entry = self.line.entry
        return entry is not None and entry.kind is OperationKind.ADD and self.line.each == 0

    @property
    def passes(self) -> bool:
        """Whether a figure draws its output as its input: dropout, a scale, or a part with an amount of 0."""
        return self.line.each == 0 and all(
            entry.kind is OperationKind.DROPOUT or (entry.kind is OperationKind.MULTIPLY and len(entry.inputs) == 1)
            for entry in self.entries
        )

    @property
    def hidden(self) -> bool:
        """Whether it is a table passed to every layer."""
        tables = [entry.kind is OperationKind.POSITIONS and entry.function in HIDDEN for entry in self.entries]
        return self.line.each == 0 and bool(tables) and all(tables)


def group_experts(drafts: Sequence[Draft], line: Line) -> list[Draft]:
    """Return the operations of a part, with its experts in a frame of their own."""
    entries = [entry for draft in drafts for entry in draft.entries]
    matrices = [place for place, draft in enumerate(drafts) if _is_expert(draft)]
    choice = expert_choice(entries)
    if choice is None or len(matrices) < 2:
        return list(drafts)
    first, last = matrices[0], matrices[-1] + 1
    inside = list(drafts[first:last])
    whole = Line(f"{line.path}.experts", f"{line.key}.experts", ONE, lines=tuple(each.line for each in inside))
    frame = Draft(whole.key, whole, frame=True, items=inside, experts=choice)
    return [*drafts[:first], frame, *drafts[last:]]


def divided_weights(ledger: Ledger) -> frozenset[str]:
    """Return the paths of stored weights that operations read some rows of, as queries, keys and values do."""
    stored = {weight.path: weight.shape for _, weight in ledger.weights}
    read = (weight for _, entry in ledger if entry.kind is OperationKind.LINEAR for weight in entry.shared)
    return frozenset(each.path for each in read if each.shape != stored.get(each.path, each.shape))


def _is_expert(draft: Draft) -> bool:
    return draft.line.entry is not None and draft.line.entry.kind is OperationKind.EXPERTS


def _taps(entry: Entry) -> bool:
    """Return True if an operation reads the outputs of several layers, and not the output of the last."""
    return entry.kind is OperationKind.SELECT and entry.function == LISTED


def _given(draft: Draft, tensor: Tensor) -> Tensor:
    """Return a tensor as a part gets it, given a view of it that the part may take itself."""
    if draft.scope is None or draft.line.entry is not None:
        return tensor
    axes = {len(each.dims) for each in shape_line(draft.scope.part.shapes).inputs}
    views = [tensor]
    while (base := views[-1].base) is not None:
        views.append(base)
    return next((each for each in views if len(each.shape) in axes), tensor)


Chain = tuple[Draft, ...]  # the frames that contain a node, outermost first, and the node itself


class Flow:
    """The arrows and ports of every graph of a figure."""

    def __init__(
        self,
        ledger: Ledger,
        drafts: Sequence[Draft],
        inputs: Sequence[str] | None,
        hidden: frozenset[str] = frozenset(),  # the paths of stored weights that are not drawn
    ) -> None:
        self._inputs = inputs  # the names of the model's inputs; None for a part, whose inputs can be any tensors
        self._made: dict[int, Entry] = {}
        for _, entry in ledger:  # the first wins: moves between ranks are views of another operation's output
            self._made.setdefault(id(entry.output.root), entry)
        stored = (entry for _, entry in ledger if entry.kind is OperationKind.PARAMETER)
        self._stored = {
            weight.path: entry.output for entry in stored for weight in entry.weights if weight.path not in hidden
        }
        self._chains: dict[int, Chain] = {}  # the place of each operation
        self._inside: dict[
            int, tuple[Draft | None, Tensor]
        ] = {}  # for the input of a repeated layer: its frame and the tensor outside
        self.arrows: dict[int, list[Arrow]] = {}  # by the frame that contains them
        self.ports: dict[int, list[Tensor]] = {}
        self.gives: dict[int, list[str]] = {}  # the nodes that compute a frame's output
        self.taps: dict[str, str] = {}  # for a frame with an output of each layer that is read: the node, or ""
        for scope in ledger.root.walk():
            if scope.loop is not None:
                self._inside[id(scope.loop[1])] = (None, scope.loop[0])
        self._swaps = heads_follow_tokens([entry for draft in drafts for entry in draft.entries])
        self._stand(drafts, ())
        self._read(drafts, ())

    def _stand(self, drafts: Sequence[Draft], above: Chain) -> None:
        for draft in drafts:
            if draft.frame:
                if draft.scope is not None and draft.scope.loop is not None:
                    outside, inside, _ = draft.scope.loop
                    self._inside[id(inside)] = (draft, outside)
                    self.ports[id(draft)] = [inside]
                self._stand(draft.items, (*above, draft))
            else:
                self._chains |= {id(entry): (*above, draft) for entry in draft.entries}

    def _read(self, drafts: Sequence[Draft], above: Chain) -> None:
        for draft in drafts:
            here = (*above, draft)
            if draft.frame:
                if draft.scope is not None and draft.scope.loop is not None:
                    self._link(draft.scope.loop[0], here)
                    self._leave(draft.scope.loop[2], above)
                self._read(draft.items, here)
            elif not (draft.passes or draft.hidden):
                own = {id(entry) for entry in draft.entries}
                for entry in draft.entries:
                    weights = [self._stored[each.path] for each in entry.shared if each.path in self._stored]
                    read = list({id(tensor): tensor for tensor in (*entry.inputs, *weights)}.values())
                    roots = [id(tensor.root) for tensor in read]
                    roles = attention_roles(draft.entries, entry, read, draft.line.entry is not None)
                    for place, tensor in enumerate(read):
                        if id(self._made.get(roots[place])) not in own:
                            # An operation has an arrow for each piece that it reads; a part has one arrow per tensor.
                            view = roots[:place].count(roots[place]) if draft.line.entry is not None else 0
                            self._link(tensor, here, view, roles.get(place, ""), _taps(entry))

    def _link(self, tensor: Tensor, reader: Chain, view: int = 0, role: str = "", tap: bool = False) -> None:
        """Add the arrows from the source of a tensor to its reader, through every frame between them."""
        found = self._origin(tensor, reader)
        if found is None or found[1] == reader:
            return
        origin, chain = found
        level = 0
        while level < min(len(chain), len(reader) - 1) and chain[level] is reader[level]:
            level += 1
        self._leave(tensor, reader[:level])
        frames = [each.key for each in chain[level:-1]] if tap else []
        self.taps |= {frame: frames[place + 1] if frames[place + 1 :] else "" for place, frame in enumerate(frames)}
        source = chain[level].key if level < len(chain) else ""
        leaves = 0 if source else self._port(reader[level - 1] if level else None, origin)
        for depth in range(level, len(reader)):
            target, last = reader[depth], depth == len(reader) - 1
            enters = 0 if last else self._port(target, origin)
            shape = _given(target, tensor).shape
            if self._swaps and target.line.entry is not None:
                shape = class_shape(target.line.entry, shape)
            arrow = Arrow(source, target.key, shape, leaves, enters, view if last else 0, role if last else "")
            arrow = replace(arrow, tap=bool(frames and source))
            if depth and reader[depth - 1].mixed:
                source, leaves = "", enters
                continue
            standing = self.arrows.setdefault(id(reader[depth - 1]) if depth else 0, [])
            if not any(replace(each, shape=None) == replace(arrow, shape=None) for each in standing):
                standing.append(arrow)
            source, leaves = "", enters

    def _origin(self, tensor: Tensor, reader: Chain) -> tuple[Tensor, Chain] | None:
        """Return the origin of a tensor and its chain, or None if it is not drawn."""
        root = tensor.root
        if id(root) in self._inside:
            frame, outside = self._inside[id(root)]
            if frame is None or frame not in reader:
                return self._origin(outside, reader)
            return root, reader[: reader.index(frame) + 1]
        made = self._made.get(id(root))
        if made is None and root.name in self._stored:  # a weight that is read directly
            return self._origin(self._stored[root.name], reader)
        if made is None:
            return (root, ()) if self._inputs is None or root.name in self._inputs else None
        chain = self._chains.get(id(made))
        if chain is None:  # outside the part that is drawn
            return root, ()
        if chain[-1].hidden:
            return None
        return self._origin(made.inputs[0], reader) if chain[-1].passes else (root, chain)

    def _port(self, frame: Draft | None, tensor: Tensor) -> int:
        there = self.ports.setdefault(id(frame) if frame else 0, [])
        for number, each in enumerate(there):
            if each is tensor:
                return number
        there.append(tensor)
        return len(there) - 1

    def _leave(self, tensor: Tensor, reader: Chain) -> None:
        """Record the node that computes a tensor as an output of every frame that the tensor leaves."""
        found = self._origin(tensor, reader)
        chain = found[1] if found else ()
        for frame, inner in zip(chain[len(reader) :], chain[len(reader) + 1 :], strict=False):
            there = self.gives.setdefault(id(frame), [])
            if inner.key not in there and not frame.mixed:
                there.append(inner.key)

    def result(self, output: object) -> list[str]:
        """Return the keys of the nodes that compute the outputs."""
        tensors = [each for each in (output if isinstance(output, tuple) else (output,)) if isinstance(each, Tensor)]
        for each in tensors:
            self._leave(each, ())
        found = [self._origin(each, ()) for each in tensors]
        return list(dict.fromkeys(each[1][0].key for each in found if each is not None and each[1]))


def merge_sums(nodes: Sequence[Node], arrows: Sequence[Arrow]) -> tuple[list[Node], list[Arrow]]:
    """Merge nested sums: x + f(x) + g(x) is drawn as three arrows to one plus sign."""
    kept, edges = list(nodes), list(arrows)
    while True:
        signs = {node.key: node for node in kept if isinstance(node, Plus)}
        for key in signs:
            out = [edge for edge in edges if edge.source == key]
            if len(out) == 1 and out[0].target in signs:
                other = signs[out[0].target]
                into = [edge for edge in edges if edge.target in (key, other.key) and edge is not out[0]]
                if len(into) <= SUMMANDS:
                    break
        else:
            return kept, edges
        whole = Plus(other.key, (*signs[key].paths, *other.paths))
        kept = [whole if node is other else node for node in kept if node is not signs[key]]
        moved = [
            replace(edge, target=other.key) if edge.target == key else edge for edge in edges if edge is not out[0]
        ]
        edges = list(dict.fromkeys(moved))
