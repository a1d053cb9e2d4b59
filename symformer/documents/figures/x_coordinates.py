"""The horizontal positions of nodes and the routes of arrows; long arrows use lanes at the sides of the rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from sympy import Add

from ...language.notation.display_tree import tree
from ...output.blocks import Code, Line, Strong
from .box_content import FORMULA, TITLE, BoxContent, box_content
from .figure import Arrow, Box, Frame, Graph, Node, Plus
from .graph_ranks import rows_of
from .primitives import SMALL, Point, Shape
from .slashed_fractions import one_line
from .text_width import Ruler

LANE = 7.0  # between two lanes
GAP = 7.0  # minimum between two rows
TRACK = 4.5  # between two horizontal lines
BOX_GAP = 6.0  # between two boxes of a row
SIGN = 4.6  # radius of a plus sign
EDGE = 6.0  # padding of a frame
BRACKET = 5.0
STUB = 16.0  # additional height if an input is named below a box
PORT = 8.0  # minimum between an incoming arrow and a corner of its box
LABEL = 8.4  # height of the label of an arrow
TALLER = 2.0  # the same, additionally, if it has a call
UNDER = 3.2  # below the labels of a gap with horizontal lines, for subscripts and the dots of branches
OVER_BOX = 2.5  # below the labels of a gap without horizontal lines
DEEPER = 1.4  # the same, additionally, if a label has a subscript
HEAD = 2.1  # from the middle of the head of an arrow to the label of another one
ASIDE = 2.5  # between an arrow and its label
WORDLESS = 46.0  # minimum width of a box


@dataclass
class PlacedGraph:
    """A graph with its layout; y grows upwards from the bottom."""

    width: float
    height: float
    shapes: list[Shape]
    ports: list[float]  # the x of each input
    out: float  # the x of the output
    sides: dict[int, list[float]] = field(default_factory=dict)  # the y where an input enters from the left, by port
    rights: dict[str, float] = field(default_factory=dict)  # the y where the output of a node leaves to the right
    levels: dict[str, float] = field(default_factory=dict)  # the y of each node, including those in frames
    tap: Point | None = None  # the place on the edge of a frame where the outputs of its layers leave
    taps: dict[str, Point] = field(default_factory=dict)  # the same for each node of a graph


@dataclass
class PlacedNode:
    """A node with its position."""

    node: Node | None  # None for a port
    rank: int
    w: float = 0.0
    h: float = 0.0
    x: float = 0.0
    y: float = 0.0
    look: BoxContent | None = None
    placed: PlacedGraph | None = None
    exits: float = 0.0
    leaving: dict[Net, float] = field(default_factory=dict)  # the x of each output, if it has several
    slot: tuple[float, float] = (0.0, 0.0)  # its share of the row: start and width

    @property
    def middle(self) -> float:
        return self.x + self.w / 2

    @property
    def tap(self) -> Point:
        """The place where the outputs of its layers leave."""
        if self.placed is not None and self.placed.tap is not None:
            return self.x + self.placed.tap[0], self.y + self.placed.tap[1]
        return self.x + self.w, self.y + self.h / 2


TAP = "tap"  # instead of a role
Net = tuple[str, int, str]  # the origin of a tensor: the key of a node, or "" and a port; and its role in attention
Framed = Callable[[Frame, float, Ruler, float, frozenset[int] | None], PlacedGraph]  # the function that draws a frame


@dataclass(frozen=True)
class ArrowRoute:
    """The route of one arrow."""

    edge: Arrow
    source: PlacedNode
    target: PlacedNode
    net: Net
    lane: float | None = None  # the x of its lane
    side: str = "below"  # the side of the target where it arrives
    x: float = 0.0  # the x where it arrives from below

    @property
    def starts(self) -> float:
        """The x where it leaves its source."""
        return self.source.leaving.get(self.net, self.source.exits)

    @property
    def comes(self) -> float:
        """The x that it comes from: its lane, or the exit of its source."""
        if self.side == "left edge":
            return 0.0
        return self.starts if self.lane is None else self.lane


def times_of(frame: Frame) -> list[Line]:
    """Return the number of repetitions, on the lines next to a bracket; empty without a bracket."""
    if frame.times == 1 or not frame.bracketed:
        return []
    number = frame.number is not None and not frame.times.is_Integer
    times = one_line(tree(frame.times))
    several: Line = ["× (", *times, ")"] if isinstance(frame.times, Add) else ["× ", *times]
    return [several, *([[f"= {frame.number:,}"]] if number else [])]


def bracket(frame: Frame, ruler: Ruler) -> float:
    """Return the width of the bracket of a frame, including the number of repetitions."""
    says = times_of(frame)
    return max((ruler.width(line, FORMULA) for line in says), default=0.0) + (BRACKET + 4 if says else 0)


class XCoordinates:
    """The horizontal positions and arrow routes of one graph at a given width.

    Parameters
    ----------
    graph
        The graph.
    width
        The width in points.
    ruler
        Measures the width of lines.
    framed
        Draws a frame.
    whole
        Whether the inputs are named below the graph.
    sided
        The ports that enter from the left, or None for a graph in which all enter from below.
    right
        The nodes whose outputs leave to the right.

    """

    def __init__(
        self,
        graph: Graph,
        width: float,
        ruler: Ruler,
        framed: Framed,
        whole: bool = False,
        sided: frozenset[int] | None = None,
        right: frozenset[str] = frozenset(),
    ) -> None:
        self.graph, self.width, self.ruler, self.whole = graph, width, ruler, whole
        self.framed, self.sided, self.right = framed, sided, right
        self.rows = rows_of(graph, width)
        self.ends = len(self.rows) + 1
        self.items = {node.key: PlacedNode(node, place) for place, row in enumerate(self.rows, 1) for node in row}
        self.ports = [PlacedNode(None, 0) for _ in graph.ports]
        self.outs = [PlacedNode(None, self.ends) for _ in graph.gives]
        self.shapes: list[Shape] = []
        other = {edge.source for edge in graph.arrows if edge.role not in tuple("qkv")}
        self.fused = {edge.source for edge in graph.arrows} - other - {""}  # nodes that compute queries, keys, values

    def below(self, edge: Arrow) -> bool:
        """Return True if an arrow from outside starts below the whole graph."""
        return edge.leaves == 0 or self.items[edge.target].rank == 1

    # -- across ----------------------------------------------------------------------------------------------------

    def _edges(self) -> list[tuple[Arrow, PlacedNode, PlacedNode]]:
        edges = [
            (each, self.items[each.source] if each.source else self.ports[each.leaves], self.items[each.target])
            for each in self.graph.arrows
        ]
        return edges + [
            (Arrow(key, "", None), self.items[key], out) for key, out in zip(self.graph.gives, self.outs, strict=True)
        ]

    def _net(self, edge: Arrow) -> Net:
        return edge.source, edge.leaves, TAP if edge.tap else edge.role if edge.source in self.fused else ""

    def _stub(self, source: PlacedNode, target: PlacedNode) -> bool:
        """Return True if an input of the whole graph is named directly below its reader."""
        named = self.whole and source.node is None and source is not self.ports[0] and not self._sided(source)
        return named and target.rank > 1

    def _sided(self, source: PlacedNode) -> bool:
        """Return True for an input that enters from the left."""
        return bool(self.sided) and any(source is self.ports[port] for port in self.sided or ())

    def _side(self, source: PlacedNode, target: PlacedNode) -> str:
        """Return the side of the lane of a long arrow: of the half of its row, and else on the right to a sum."""
        summed = not isinstance(target.node, Box | Frame)
        if source.node is None:
            return "right" if summed else "left"
        row = self.rows[source.rank - 1]
        from_middle = 2 * row.index(source.node) - (len(row) - 1)
        return "right" if from_middle > 0 or (summed and from_middle == 0) else "left"

    def _lanes(self) -> dict[tuple[Net, str], tuple[str, int]]:
        """Return the lane of each tensor that passes a row: its side, and its number from the row outwards."""
        spans: dict[tuple[Net, str], tuple[int, int]] = {}
        for edge, source, target in self._edges():
            near = target.rank - source.rank < 2 and not edge.tap
            if near or self._stub(source, target) or self._sided(source):
                continue
            key = (self._net(edge), "right" if edge.tap else self._side(source, target))
            first = source.rank - edge.tap  # it leaves at the side of its row
            low, high = spans.get(key, (first, target.rank))
            spans[key] = (min(low, first), max(high, target.rank))
        found: dict[tuple[Net, str], tuple[str, int]] = {}
        for key, (low, high) in sorted(spans.items(), key=lambda each: (each[1][1] - each[1][0], each[1])):
            taken = {
                number
                for other, (side, number) in found.items()
                if side == key[1] and spans[other][0] < high and low < spans[other][1]
            }
            found[key] = (key[1], next(n for n in range(len(spans)) if n not in taken))
        return found

    def _across(self, foot: float, end: float) -> None:
        """Set the width and position of each node in its row."""
        entered: dict[str, int] = defaultdict(int)
        for edge in self.graph.arrows:
            entered[edge.target] += 1
        brackets = max((bracket(node, self.ruler) for node in self.graph.nodes if isinstance(node, Frame)), default=0.0)
        for row in self.rows:
            items = [self.items[node.key] for node in row]
            signs = [isinstance(node, Plus) for node in row]
            each = (end - foot - BOX_GAP * (len(row) - 1)) / len(row)
            for item, sign in zip(items, signs, strict=True):
                item.w = 2 * SIGN if sign else each
                if isinstance(item.node, Box):
                    item.w = self._narrow(item.node, each, entered[item.node.key])
                    item.look = box_content(item.node, item.w, self.ruler)
                    item.h = item.look.height
                elif isinstance(item.node, Frame):
                    item.placed = self.framed(item.node, each, self.ruler, brackets, self._enters(item.node))
                    item.h = item.placed.height
                else:
                    item.h = 2 * SIGN
            self._level(items)
            for place, item in enumerate(items):
                item.slot = (foot + place * (each + BOX_GAP), each)
                item.x = item.slot[0] + (each - item.w) / 2
        spines = [item.x + item.placed.ports[0] for item in self.items.values() if item.placed and item.placed.ports]
        self.spine = spines[0] if spines else (foot + end) / 2
        for row in self.rows:
            for item in (self.items[node.key] for node in row):
                inside = item.x + PORT < self.spine < item.x + item.w - PORT
                if len(row) == 1 and not item.placed and (inside or item.w < end - foot):
                    item.x = min(max(self.spine - item.w / 2, foot), end - item.w) if item.w < end - foot else item.x
                    item.exits = self.spine
                else:
                    item.exits = item.x + item.placed.out if item.placed else item.middle

    def _enters(self, frame: Frame) -> frozenset[int] | None:
        """Return the ports of a frame that are entered from the left."""
        if self.sided is None:
            return None
        edges = (each for each in self.graph.arrows if each.target == frame.key and not each.source)
        return frozenset(each.enters for each in edges if each.leaves in (self.sided or ()))

    def _leave(self, lanes: Mapping[tuple[Net, str], tuple[str, int]]) -> None:
        """Spread the outputs of a node across its top, such as queries, keys and values of one product."""
        nets: dict[str, list[Net]] = defaultdict(list)
        for edge in self.graph.arrows:
            if edge.source and not edge.tap and self._net(edge) not in nets[edge.source]:
                nets[edge.source].append(self._net(edge))
        places = {net: {"left": -1, "right": 1}[side] for net, side in lanes}
        for key, several in nets.items():
            if len(several) < 2:
                continue
            item = self.items[key]
            several.sort(key=lambda net: places.get(net, 0))
            item.leaving = {
                net: item.x + item.w * (number + 1) / (len(several) + 1) for number, net in enumerate(several)
            }

    def _level(self, items: Sequence[PlacedNode]) -> None:
        """Give all boxes of a row with an amount the height of the highest box."""
        high = max((item.h for item in items if item.look is not None), default=0.0)
        for item in items:
            if item.look is not None and isinstance(item.node, Box) and item.node.amount.shown != 0:
                item.look = box_content(item.node, item.w, self.ruler, high)
                item.h = item.look.height

    def _narrow(self, box: Box, room: float, entered: int) -> float:
        """Return the width of a box: the width of its name if its amount is 0, else all the room."""
        if box.amount.shown != 0 or box.notes or entered > 1:
            return room
        title: Line = [Strong(box.title)] if box.title else [Code(box.name)]
        name: Line = [Code(box.name)] if box.title else []
        wide = self.ruler.width(title, TITLE) + self.ruler.width(name, SMALL) + 20
        return min(room, max(WORDLESS, wide))

    # -- which way -------------------------------------------------------------------------------------------------

    def _ways(self, lanes: Mapping[tuple[Net, str], tuple[str, int]], foot: float, end: float) -> list[ArrowRoute]:
        self._leave(lanes)
        for number, port in enumerate(self.ports):
            read = [
                (edge, target)
                for edge, source, target in self._edges()
                if source is port and not self._stub(source, target)
            ]
            (edge, target), *more = read or [(Arrow("", ""), self.outs[0] if self.outs else port)]
            lane = lanes.get((("", number, ""), "left")) if number else None
            if lane is not None:
                port.exits = foot - (lane[1] + 0.6) * LANE
            elif more or not (self.whole and target.rank == 1):
                port.exits = self.spine if number == 0 else foot + 10.0 * number
            elif target.placed is not None:
                port.exits = target.x + target.placed.ports[edge.enters]
            else:
                port.exits = target.exits
        if self.whole:
            self._spread()
        ways: list[ArrowRoute] = []
        for edge, source, target in self._edges():
            taken: float | None = None
            if self._sided(source):
                ways.append(ArrowRoute(edge, source, target, self._net(edge), None, "left edge"))
                continue
            if edge.tap or (target.rank - source.rank > 1 and not self._stub(source, target)):
                where, number = lanes[self._net(edge), "right" if edge.tap else self._side(source, target)]
                taken = end + (number + 0.6) * LANE if where == "right" else foot - (number + 0.6) * LANE
            ways.append(ArrowRoute(edge, source, target, self._net(edge), taken))
        found: list[ArrowRoute] = []
        for item in [*self.items.values(), *self.outs]:
            found += self._arrivals(item, [way for way in ways if way.target is item])
        return found

    def _spread(self) -> None:
        """Place the names of inputs side by side below the whole graph."""
        below = [self.ports[n] for n in sorted({each.leaves for each in self.graph.arrows if not each.source})]
        below = [port for n, port in enumerate(self.ports) if port in below and self._named_below(n)]
        below = [port for port in below if not self._sided(port)]
        wide = {id(port): self.ruler.width(self.graph.ports[n], SMALL) / 2 for n, port in enumerate(self.ports)}
        if len(below) < 2:
            return
        below.sort(key=lambda port: port.exits)
        for n, port in enumerate(below):
            before = below[n - 1] if n else None
            start = 0.0 if before is None else before.exits + wide[id(before)] + BOX_GAP
            port.exits = max(port.exits, start + wide[id(port)])
        for n, port in reversed([*enumerate(below)]):
            after = below[n + 1] if n + 1 < len(below) else None
            end = self.width if after is None else after.exits - wide[id(after)] - BOX_GAP
            port.exits = min(port.exits, end - wide[id(port)])

    def _named_below(self, number: int) -> bool:
        return any(each.leaves == number and not each.source and self.below(each) for each in self.graph.arrows)

    def _arrivals(self, item: PlacedNode, ways: list[ArrowRoute]) -> list[ArrowRoute]:
        ways = sorted(ways, key=lambda way: way.comes)
        if item.node is None:
            for way in ways:
                item.exits = way.starts if way.lane is None else (self.width / 2)
            return [replace(way, x=item.exits) for way in ways]
        if item.placed is not None:
            return [replace(way, x=item.x + item.placed.ports[way.edge.enters]) for way in ways]
        if isinstance(item.node, Plus):
            return self._summands(item, ways)
        straight = len(ways) == 1 and ways[0].lane is None and item.x + PORT <= ways[0].comes <= item.x + item.w - PORT
        margin = min(item.w / 4, PORT if straight else 24.0)
        labels = [self._wide(way) for way in ways]
        xs = [min(max(way.comes, item.x + margin), item.x + item.w - margin) for way in ways]
        if len(xs) > 1:
            least = [a[1] + b[0] + 5 for a, b in pairwise(labels)]
            for place, need in enumerate(least):
                xs[place + 1] = max(xs[place + 1], xs[place] + need)
            xs = [x - max(0.0, xs[-1] - min(item.x + item.w - 5, self.width - labels[-1][1])) for x in xs]
            if xs[0] < item.x + 5:
                xs = [item.x + item.w / (len(xs) + 1) * (place + 1) for place in range(len(xs))]
        return [replace(way, x=x) for way, x in zip(ways, xs, strict=True)]

    def _summands(self, item: PlacedNode, ways: list[ArrowRoute]) -> list[ArrowRoute]:
        edge, ways = [way for way in ways if way.side == "left edge"], [way for way in ways if way.side != "left edge"]
        start, room = item.slot
        alone = len(self.rows[item.rank - 1]) == 1
        sides = ["below"] * len(ways)
        if len(ways) > 1 and (alone or all(start <= way.comes <= start + room for way in ways)):
            away = [abs(way.comes - item.middle) > SIGN for way in ways]
            if away[-1] and ways[-1].comes > item.middle:
                sides[-1] = "right"
            if away[0] and ways[0].comes < item.middle and (len(ways) > 2 or sides[-1] == "right" or not away[-1]):
                sides[0] = "left"
        below = [place for place, side in enumerate(sides) if side == "below"]
        xs = {place: item.middle + (n - (len(below) - 1) / 2) * 5 for n, place in enumerate(below)}
        return [*edge, *(replace(way, side=sides[place], x=xs.get(place, 0.0)) for place, way in enumerate(ways))]

    def _wide(self, way: ArrowRoute) -> tuple[float, float]:
        """Return the room that the label at the end of an arrow takes to the left and to the right of the arrow."""
        if self._stub(way.source, way.target):
            half = max(6.0, self.ruler.width(self.graph.ports[way.edge.leaves], SMALL)) / 2
            return half, half
        return 3.0, max(3.0, self.ruler.width(line, SMALL) + ASIDE if (line := self._label(way)) else 0.0)

    def _label(self, way: ArrowRoute) -> Line:
        return () if self._stub(way.source, way.target) or not way.edge.target else way.edge.label
