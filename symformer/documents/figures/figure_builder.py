"""The figure of a model: the choice of boxes and frames, and the amount of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby

from sympy import Expr, Integer, Rational, expand

from ...algebra.structure_profile import part_structure
from ...catalogue.module_scopes import Module
from ...formulas.account import Line
from ...formulas.part_labels import modules_apart
from ...language.errors import OptionError, SizeError, UnknownNameError
from ...language.notation.display_tree import Label, tree
from ...language.shape_lines import shape_line
from ...language.sizes import evaluate, substitute
from ...language.symbols import V
from ...ledger.facts import COMPLEX_ROTARY, HALF_ROTARY, ONE, Entry, Ledger, Mixture, OperationKind, Scope, Tensor
from ...output.blocks import Code, Math, capital
from ...output.blocks import Line as Words
from ...views.figure_facts import FigureFacts
from ...views.formula_facts import is_per_rank
from ...views.summary import share
from .arrow_labels import label_arrows, shape_text
from .expert_choice import ExpertChoice, expert_choice, routers
from .figure import Amount, Box, Figure, Frame, Graph, Node, Plus
from .flow import Draft, Flow, divided_weights, group_experts, merge_sums
from .layer_strip import layer_strips
from .operation_labels import READS, operation, role
from .slashed_fractions import one_line

# The roles of the parts that a slide shows in detail, the most important first.
MAIN = ("attention", "state-space mixer", "linear attention", "recurrent block", "MLP")
ORDERED = "in the order on the left, from bottom to top"


class FigureBuilder:
    """Builds the figures of one formula."""

    def __init__(self, facts: FigureFacts) -> None:
        self.facts, self.subject, self.formula = facts, facts.subject, facts.formula
        self.together, self.ledger, self.root = facts.ledger, facts.apart, facts.root
        self.whole = facts.value
        self.seen = facts.is_traced
        alone = (entry for _, entry in self.ledger if entry.kind is OperationKind.PARAMETER)
        self.alone = {
            weight.path for entry in alone for weight in entry.weights
        }  # drawn as their own nodes, with arrows
        every = [entry for _, entry in self.together] + [entry for _, entry in self.ledger]
        self.unit = {id(entry.output.root) for entry in every if entry.function == "l2"}  # tensors of length 1
        self.divided = divided_weights(self.ledger)
        self.strips = [*layer_strips(self.ledger, facts.layers, self.subject.known)]
        self.routers = routers(every)
        self.layers = [line.path for line in self.root.walk() if line.path.endswith("*")]

    def architecture(self) -> Figure:
        """Return the figure of the whole model."""
        drafts = self._drafts(self.ledger.root, self.root, ONE, inside=False)
        named = () if self.seen else shape_line(self.facts.shapes).inputs
        flow = Flow(self.ledger, drafts, [axes.name for axes in named])
        gives = flow.result(self.ledger.output)
        ports = [shape_text(each.name, each.shape) for each in flow.ports.get(0, ())]
        results = self._results() if not self.seen else []
        results = results if len(results) == len(gives) else [[] for _ in gives]
        graph = replace(self._graph(drafts, flow, None, ""), ports=ports, gives=gives, results=results)
        measure, target = self.formula.measure, self.subject.name
        notes = []
        if self.seen:
            notes.append(
                "Traced from its code, with the modules in the order of the code. The data flow is unknown, so there "
                "are no arrows."
            )
        return Figure(
            self.subject.title,
            f"one rank of {target}" if is_per_rank(self.formula) else target,
            Label(measure.letter, "", self.formula.display_expr),
            measure.title,
            Amount(self.formula.expr, self.formula.display_expr, self.whole, None),
            graph,
            notes,
            self.strips,
            kinds=self.facts.has_kinds,
        )

    def _results(self) -> list[Words]:
        """Return the names and shapes of the outputs; outputs of width V are logits, and others have no name."""
        outputs = shape_line(self.facts.shapes).outputs
        given = self.ledger.output
        tensors = [each for each in (given if isinstance(given, tuple) else (given,)) if isinstance(each, Tensor)]
        if outputs:  # the shape of a tensor also has the axes that "..." stands for
            found = tensors if len(outputs) == len(tensors) else [None] * len(outputs)
            pairs = zip(outputs, found, strict=True)
            return [shape_text(a.name, b.shape if b and len(b.shape) > len(a.dims) else a.dims) for a, b in pairs]
        return [shape_text("logits" if each.width == V else "", each.shape) for each in tensors]

    def part(self, path: str, amounts: bool = True) -> Figure:
        """Return the figure of one part with tensor shapes. Raises UnknownNameError and OptionError.

        Without amounts, a parameter whose rows are read separately has no box: the operations that read it name it.
        """
        if self.seen:
            raise OptionError(
                f"{self.formula.id} is traced from code, so the data flow in a part is unknown; draw the whole model"
            )
        scope, line, ledger = self._find(path)
        if self.whole is not None:  # shares refer to the part
            self.whole = int(evaluate(expand(line.each.xreplace(self.formula.relations)), self.subject.known, path))
        drafts = [
            Draft(below.key, below, None if isinstance(item, Entry) else item, count=below.count)
            for item, below in zip(scope.items, line.lines, strict=True)
            if amounts or not self._is_divided(item)
        ]
        drafts = group_experts(drafts, line)
        flow = Flow(ledger, drafts, None, frozenset() if amounts else self.divided)
        graph = self._graph(drafts, flow, None, line.path)
        read = {each.source for each in graph.arrows}
        gives = [node.key for node in graph.nodes if node.key not in read]
        outputs = {draft.key: draft.entries[-1].output for draft in drafts if draft.entries}
        names = [axes.name for axes in shape_line(scope.part.shapes).inputs]
        tensors = flow.ports.get(0, [])
        ports = [self._port(names[n] if n < len(names) else "", each) for n, each in enumerate(tensors)]
        results = [shape_text("", outputs[key].shape) for key in gives]
        graph = replace(graph, ports=ports, gives=gives, results=results)
        amount = self._amount(line.each, ONE)
        measure = self.formula.measure
        label = Label(measure.letter, line.name, amount.shown)
        target = f"{self.subject.name} {path}".strip()
        return Figure(self._title(line) or line.name, target, label, measure.title, amount, graph)

    def main_parts(self) -> list[Figure]:
        """Return the figures of the main parts of a layer, each kind once; empty if the data flow is unknown."""
        if self.seen:
            return []
        parts = {line.key for scope, line in _both(self.ledger.root, self.root) if scope is not None}
        every = [box for box in self.architecture().graph.boxes() if box.key in parts]  # not a single operation
        boxes = {box.title: box for box in every if box.title and box.role in MAIN}
        order = sorted(boxes.values(), key=lambda box: (MAIN.index(box.role), box.experts is None))
        return [self.part(box.key) for box in order]

    def _find(self, path: str) -> tuple[Scope, Line, Ledger]:
        """Return a part by its id or its path, from the ledger with separate kinds of layers if possible."""
        path = path.replace(".*", "")
        keys: list[str] = []
        for ledger, root in ((self.ledger, self.root), (self.together, self.formula.root)):
            for scope, line in _both(ledger.root, root):
                if line.key == path and scope is not None:
                    return scope, line, ledger
                if line.key == path:
                    raise OptionError(f"{path} is a single operation; give the part that contains it")
                keys.append(line.key)
        raise UnknownNameError("part", path, dict.fromkeys(filter(None, keys)))

    def _is_divided(self, item: Entry | Scope) -> bool:
        """Return True for parameters whose rows operations read separately."""
        if not isinstance(item, Entry) or item.kind is not OperationKind.PARAMETER:
            return False
        return {weight.path for weight in item.weights} <= self.divided

    # -- choice of nodes -------------------------------------------------------------------------------------------

    def _drafts(self, scope: Scope, line: Line, count: Expr, inside: bool) -> list[Draft]:
        """Return the nodes of a scope, in the order of the code, with layers of several kinds in their own frame."""
        found: list[Draft] = []
        for mixture, alike in groupby(zip(scope.items, line.lines, strict=True), _mixture):
            drafts = [draft for item, below in alike for draft in self._draft(item, below, count, inside)]
            if mixture is None or mixture.order == "kind by kind":
                found += drafts
            else:
                tower = mixture.name.removesuffix(".*").rpartition(".")[0]  # a model may have kinds in several towers
                key = ".".join(filter(None, (line.key, tower, "kinds")))
                both = Line(mixture.path, key, ONE, lines=tuple(each.line for each in drafts))
                found.append(Draft(both.key, both, frame=True, items=drafts, count=count, mixed=True))
        return found

    def _draft(self, item: Entry | Scope, line: Line, count: Expr, inside: bool) -> list[Draft]:
        copies = count * line.count
        if isinstance(item, Entry) or not self._opens(item, line, inside):
            return [Draft(line.key, line, None if isinstance(item, Entry) else item, count=copies)]
        items = self._drafts(item, line, copies, inside or item.repeated or getattr(item.part, "role", "") == "block")
        if self.seen and not item.repeated:
            return items
        return [Draft(line.key, line, item, frame=True, items=items, count=copies)]

    def _opens(self, scope: Scope, line: Line, inside: bool) -> bool:
        """Return True if the contents of a part are drawn: layers, and parts that contain layers."""
        if scope.repeated:
            return not inside or any(isinstance(item, Scope) for item in scope.items)
        if inside:
            return False
        if getattr(scope.part, "role", "") == "block":
            return True
        beside = self.seen and any(path.startswith(f"{line.path}.") for path in self.layers)
        return beside or any(each.repeated for each in scope.walk())

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _port(self, name: str, tensor: Tensor) -> Words:
        """Return the label of an input; a rotary table may have one element for each rotated pair of elements."""
        halved = any(
            entry.function in (HALF_ROTARY, COMPLEX_ROTARY) and entry.output.root is tensor.root
            for _, entry in self.ledger
        )
        return shape_text(name, (*tensor.shape[:-1], tensor.width / 2) if halved else tensor.shape)

    def _graph(self, drafts: Sequence[Draft], flow: Flow, frame: Draft | None, path: str) -> Graph:
        shown = [draft for draft in drafts if not (draft.passes or draft.hidden)]
        nodes, arrows = merge_sums(
            [self._node(draft, flow, path) for draft in shown],
            flow.arrows.get(id(frame) if frame else 0, ()),
        )
        inputs = flow.ports.get(id(frame) if frame else 0, ())
        graph = Graph(nodes, arrows, [[""] for _ in inputs], flow.gives.get(id(frame), ()) if frame else ())
        return label_arrows(graph, [each.shape for each in inputs])

    def _node(self, draft: Draft, flow: Flow, path: str) -> Node:
        line = draft.line
        if draft.adds:
            return Plus(draft.key, (line.path,))
        name = line.path.removeprefix(path).strip(".*")
        if not name and line.entry is not None:
            name = ", ".join(weight.path.rpartition(".")[2] for weight in line.entry.weights)
        if not (self.seen or draft.frame or any(entry.module or entry.weights for entry in draft.entries)):
            name = ""  # of operations without modules and parameters
        amount = self._amount(line.each, draft.count)
        if draft.frame:
            graph = self._graph(draft.items, flow, draft, line.path)
            if draft.mixed:
                counts = [item.line.count for item in draft.items]
                strip = next((strip for strip in self.strips if {*counts} <= {*strip.kinds}), None)
                order: Words = ["in the order given by the config" if strip is None else ORDERED]
                title = "Layers of several kinds"
                return Frame(draft.key, title, name, graph, amount, notes=[order], mixed=True, strip=strip)
            if draft.experts is not None:
                said: Words = [
                    Math.of(draft.experts.chosen),
                    " of ",
                    Math.of(draft.experts.total),
                    " chosen for each token",
                ]
                return Frame(draft.key, "Experts", name, graph, amount, notes=[said], stacked=True)
            if draft.scope is not None and draft.scope.mixture is not None:
                name = draft.scope.mixture.name.removesuffix(".*")  # the list in the class
            notes: list[Words] = [*self._runs(draft), *self._apart(draft)]
            number, kind = self._number(line.count), self._kind(line.count)
            frame = Frame(draft.key, self._title(line), name, graph, amount, line.count, number, notes, kind=kind)
            return replace(frame, tap=flow.taps.get(draft.key))
        notes = list(self._notes(draft))
        paths = [entry.path for entry in draft.entries]
        experts = self._experts(draft) if draft.scope is not None else None
        box = Box(draft.key, self._title(line), name, role(line), amount, draft.count, line.count, notes, paths)
        return replace(box, experts=experts, structure=() if draft.scope is None else part_structure(draft.scope))

    def _experts(self, draft: Draft) -> ExpertChoice | None:
        found = expert_choice(draft.entries)
        if found is None:
            return None
        numbers = self._number(found.chosen), self._number(found.total)
        known = None if numbers[0] is None or numbers[1] is None else (numbers[0], numbers[1])
        return replace(found, numbers=known)

    def _kind(self, count: Expr) -> int | None:
        """Return the number of a kind of layers in its strip."""
        return next((strip.kinds.index(count) for strip in self.strips if count in strip.kinds), None)

    def _runs(self, draft: Draft) -> Iterator[Words]:
        scope = draft.scope
        if scope is not None and scope.distinct is not None and scope.repeated:
            yield [Math.of(scope.count), " layers, of which ", Math.of(scope.distinct), " have their own weights"]

    def _apart(self, draft: Draft) -> Iterator[Words]:
        """Yield the modules inside the module of a part that its amount does not include."""
        for name in modules_apart(draft.line, self.root):
            yield ["without ", Code(name.removesuffix(".*"))]

    def _title(self, line: Line) -> str:
        if line.entry is not None:
            if line.entry.kind is OperationKind.MATCH and all(id(x.root) in self.unit for x in line.entry.inputs):
                return "Cosine similarities"
            if any(weight.path in self.divided for weight in line.entry.shared):
                return capital(line.entry.path.rpartition(".")[2])  # such as the queries of cross-attention
            return "Router" if line.entry.path in self.routers else operation(line.entry)
        return "" if line.part is None or isinstance(line.part, Module) else line.part.title

    def _amount(self, each: Expr, count: Expr) -> Amount:
        shown = self.formula.collect_totals(expand(each.xreplace(self.formula.display_relations)))
        if self.whole is None:
            return Amount(each, shown)
        value, total = (self._value(expr) for expr in (each, count * each))
        return Amount(each, shown, value, share(total, self.whole))

    def _value(self, expr: Expr) -> int | Fraction:
        """Return an exact number; a fraction for one copy if not all layers need the same."""
        found = substitute(expand(expr.xreplace(self.formula.relations)), self.subject.known)
        if not isinstance(found, Rational):
            raise SizeError(f"{self.formula.id} has no value at these sizes")
        return int(found) if isinstance(found, Integer) else Fraction(int(found.p), int(found.q))

    def _number(self, count: Expr) -> int | None:
        put = expand(count.xreplace(self.formula.relations))
        known = self.subject.known
        return int(evaluate(put, known, "copies")) if put.free_symbols <= known.keys() else None

    def _notes(self, draft: Draft) -> Iterator[Words]:
        entries = draft.entries
        yield from self._apart(draft)
        own = {weight.path for entry in entries for weight in entry.weights} | self.alone
        shared = dict.fromkeys(weight.path for entry in entries for weight in entry.shared if weight.path not in own)
        rows = [weight.path for entry in entries for weight in entry.shared if weight.path in self.divided]
        if rows and draft.scope is None:
            yield ["rows of ", Code(rows[0].rpartition(".")[2])]
        if shared:
            yield [READS, Code(", ".join(shared))]
        rotates = [entry.kind is OperationKind.ROTATE for entry in entries]
        if any(rotates) and not all(rotates) and draft.scope is not None:  # the title of others says so
            yield ["rotary positions"]
        if any(entry.kind is OperationKind.POSITIONS and entry.function == "slopes" for entry in entries):
            yield ["linear biases (ALiBi)"]
        spans = [entry for entry in entries if entry.window != 0]
        for window, chunked, mask in dict.fromkeys((each.window, each.chunked, each.mask) for each in spans):
            if window is None:
                continue
            what = "chunks of " if chunked else "window of "
            side = " on each side" if mask == "none" else ""
            tokens = one_line(tree(window.xreplace(self.formula.display_relations)))
            yield [what, *tokens, f" tokens{side}"]


def _both(scope: Scope, line: Line) -> Iterator[tuple[Scope | None, Line]]:
    """Yield every part with its account line, and every operation's account line."""
    yield scope, line
    for item, below in zip(scope.items, line.lines, strict=True):
        if isinstance(item, Scope):
            yield from _both(item, below)
        else:
            yield None, below


def _mixture(pair: tuple[Entry | Scope, Line]) -> Mixture | None:
    return pair[0].mixture if isinstance(pair[0], Scope) else None
