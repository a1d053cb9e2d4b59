"""Where things stand: rows from below by what reads what, long arrows in lanes beside them, short ones in between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...language.notation.text import text
from ..blocks import Code, Line, Math, Piece, Strong
from .figure import Arrow, Box, Frame, Graph, Node, Plus
from .looks import FORMULA, LEADING, SMALL, TITLE, Look, counted, cut, fitted, look, title_lines
from .measure import Ruler
from .shapes import BLACK, GREY, Circle, Path, Rect, Shape, Words, arrow

LANE = 7.0  # between two lanes
GAP = 8.0  # between two rows, at least
TRACK = 4.5  # between two lines that run across
BESIDE = 6.0  # between two boxes of a row
SIGN = 4.6  # radius of a plus
EDGE = 6.0  # around what stands in a frame
BRACKET = 5.0
STUB = 15.0  # more, where what is given is written below a box
PORT = 8.0  # what comes in keeps from the corners of a box
LABEL = 8.4  # of a shape beside an arrow
WORDLESS = 46.0  # the least width of a box


@dataclass
class Placed:
    """A graph that has been laid out; y grows upwards from its foot."""

    width: float
    height: float
    shapes: list[Shape]
    ports: list[float]  # where what comes in does
    out: float  # where what it gives leaves


@dataclass
class Item:
    """A node with its place."""

    node: Node | None  # None: where a port stands
    rank: int
    w: float = 0.0
    h: float = 0.0
    x: float = 0.0
    y: float = 0.0
    look: Look | None = None
    placed: Placed | None = None
    exits: float = 0.0
    slot: tuple[float, float] = (0.0, 0.0)  # the part of its row that it has: where that begins, how wide it is

    @property
    def middle(self) -> float:
        return self.x + self.w / 2


Net = tuple[str, int]  # what a tensor comes from: the key of a node, or "" and a port


def ranks(graph: Graph) -> dict[str, int]:
    """The row of each node: above all that it reads; what reads nothing stands right below what reads it."""
    keys = [node.key for node in graph.nodes]
    into: Mapping[str, list[str]] = defaultdict(list)
    out: Mapping[str, list[str]] = defaultdict(list)
    for each in graph.arrows:
        into[each.target].append(each.source)
        if each.source:
            out[each.source].append(each.target)
    if not graph.arrows:
        return {key: len(keys) - place for place, key in enumerate(keys)}
    found: dict[str, int] = {}

    def rank(key: str) -> int:
        if key not in found:
            found[key] = 1 + max((rank(source) for source in into[key] if source), default=0)
        return found[key]

    for key in keys:
        rank(key)
    given = {each.target for each in graph.arrows if not each.source and each.leaves == 0}
    free = {key for key in keys if key not in given and not any(into[key])}  # not even by way of others
    for key in keys:
        free |= (
            {key}
            if into[key] and key not in given and all(not source or source in free for source in into[key])
            else set()
        )
    for key in reversed(keys):  # what nothing that comes in leads to
        if key in free and out[key]:
            found[key] = max(1, min(found[target] for target in out[key]) - 1)
    return found


def rows_of(graph: Graph) -> list[list[Node]]:
    """The nodes by rows, from below."""
    found = ranks(graph)
    rows: list[list[Node]] = [[] for _ in range(max(found.values(), default=0))]
    for node in graph.nodes:
        rows[found[node.key] - 1].append(node)
    apart: list[list[Node]] = []
    for row in rows:  # a frame stands beside frames alone, and what else is in its row above it
        frames: list[Node] = [node for node in row if isinstance(node, Frame)]
        apart += [frames, [node for node in row if node not in frames]]
    return [row for row in apart if row]


def breadth(graph: Graph) -> int:
    """How many frames stand side by side, or rows of how many threes of boxes."""
    return max(
        (max(sum(isinstance(node, Frame) for node in row), len(row) // 4 + 1) for row in rows_of(graph)), default=1
    )


@dataclass(frozen=True)
class Way:
    """How one arrow goes."""

    edge: Arrow
    source: Item
    target: Item
    lane: float | None = None  # the x of the lane that it takes
    side: str = "below"  # by which side it comes in
    x: float = 0.0  # where, from below

    @property
    def net(self) -> Net:
        return self.edge.source, self.edge.leaves

    @property
    def comes(self) -> float:
        """Where it is seen to come from."""
        return self.source.exits if self.lane is None else self.lane


class Layout:
    """One graph laid out in so much width."""

    def __init__(self, graph: Graph, width: float, ruler: Ruler, shapes: bool, whole: bool = False) -> None:
        self.graph, self.width, self.ruler, self.named, self.whole = graph, width, ruler, shapes, whole
        self.rows = rows_of(graph)
        self.ends = len(self.rows) + 1
        self.items = {node.key: Item(node, place) for place, row in enumerate(self.rows, 1) for node in row}
        self.ports = [Item(None, 0) for _ in graph.ports]
        self.outs = [Item(None, self.ends) for _ in graph.gives]
        self.shapes: list[Shape] = []

    def placed(self) -> Placed:
        """Everything at its place."""
        lanes = self._lanes()
        left = sum(side == "left" for side, _ in lanes.values()) and 1 + max(
            n for s, n in lanes.values() if s == "left"
        )
        right = sum(s == "right" for s, _ in lanes.values()) and 1 + max(n for s, n in lanes.values() if s == "right")
        foot, end = left * LANE, self.width - right * LANE
        self._across(foot, end)
        ways = self._ways(lanes, foot, end)
        height = self._up(ways)
        self._draw(ways, height)
        out = self.outs[0].exits if self.outs else self.width / 2
        return Placed(self.width, height, self.shapes, [port.exits for port in self.ports], out)

    def below(self, edge: Arrow) -> bool:
        """Whether what comes from outside is written below the whole."""
        return edge.leaves == 0 or self.items[edge.target].rank == 1

    # -- across ----------------------------------------------------------------------------------------------------

    def _edges(self) -> list[tuple[Arrow, Item, Item]]:
        edges = [
            (each, self.items[each.source] if each.source else self.ports[each.leaves], self.items[each.target])
            for each in self.graph.arrows
        ]
        return edges + [
            (Arrow(key, "", None), self.items[key], out) for key, out in zip(self.graph.gives, self.outs, strict=True)
        ]

    def _stub(self, source: Item, target: Item) -> bool:
        """Whether what comes from outside the whole is written right below what reads it."""
        return self.whole and source.node is None and target.rank > 1 and source is not self.ports[0]

    def _lanes(self) -> dict[tuple[Net, str], tuple[str, int]]:
        """The lane of each tensor that passes a row by: on the right to a sum, else on the left."""
        spans: dict[tuple[Net, str], tuple[int, int]] = {}
        for edge, source, target in self._edges():
            if target.rank - source.rank < 2 or self._stub(source, target):
                continue
            side = "left" if isinstance(target.node, Box | Frame) else "right"
            key = ((edge.source, edge.leaves), side)
            low, high = spans.get(key, (source.rank, target.rank))
            spans[key] = (min(low, source.rank), max(high, target.rank))
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
        """The width of each thing and where it stands in its row."""
        entered: dict[str, int] = defaultdict(int)
        for edge in self.graph.arrows:
            entered[edge.target] += 1
        brackets = max((bracket(node, self.ruler) for node in self.graph.nodes if isinstance(node, Frame)), default=0.0)
        for row in self.rows:
            items = [self.items[node.key] for node in row]
            signs = [isinstance(node, Plus) for node in row]
            each = (end - foot - BESIDE * (len(row) - 1)) / len(row)
            for item, sign in zip(items, signs, strict=True):
                item.w = 2 * SIGN if sign else each
                if isinstance(item.node, Box):
                    item.w = self._narrow(item.node, each, entered[item.node.key])
                    item.look = look(item.node, item.w, self.ruler)
                    item.h = item.look.height
                elif isinstance(item.node, Frame):
                    item.placed = framed(item.node, each, self.ruler, self.named, brackets)
                    item.h = item.placed.height
                else:
                    item.h = 2 * SIGN
            self._level(items)
            for place, item in enumerate(items):
                item.slot = (foot + place * (each + BESIDE), each)
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

    def _level(self, items: Sequence[Item]) -> None:
        """Boxes of one row as high as the highest of them that says something."""
        high = max((item.h for item in items if item.look is not None), default=0.0)
        for item in items:
            if item.look is not None and isinstance(item.node, Box) and item.node.amount.shown != 0:
                item.look = look(item.node, item.w, self.ruler, high)
                item.h = item.look.height

    def _narrow(self, box: Box, room: float, entered: int) -> float:
        """What stores and costs nothing is as wide as its name."""
        if box.amount.shown != 0 or box.notes or entered > 1:
            return room
        title: Line = [Strong(box.title)] if box.title else [Code(box.name)]
        name: Line = [Code(box.name)] if box.title else []
        wide = self.ruler.width(title, TITLE) + self.ruler.width(name, SMALL) + 20
        return min(room, max(WORDLESS, wide))

    # -- which way -------------------------------------------------------------------------------------------------

    def _ways(self, lanes: Mapping[tuple[Net, str], tuple[str, int]], foot: float, end: float) -> list[Way]:
        for number, port in enumerate(self.ports):
            read = [(edge, target) for edge, source, target in self._edges() if source is port]
            (edge, target), *more = read or [(Arrow("", ""), self.outs[0] if self.outs else port)]
            lane = lanes.get((("", number), "left")) if number else None
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
        ways: list[Way] = []
        for edge, source, target in self._edges():
            taken: float | None = None
            if target.rank - source.rank > 1 and not self._stub(source, target):
                side = "left" if isinstance(target.node, Box | Frame) else "right"
                where, number = lanes[(edge.source, edge.leaves), side]
                taken = end + (number + 0.6) * LANE if where == "right" else foot - (number + 0.6) * LANE
            ways.append(Way(edge, source, target, taken))
        found: list[Way] = []
        for item in [*self.items.values(), *self.outs]:
            found += self._arrivals(item, [way for way in ways if way.target is item])
        return found

    def _spread(self) -> None:
        """Names of what is given, side by side below the whole."""
        below = [self.ports[n] for n in sorted({each.leaves for each in self.graph.arrows if not each.source})]
        below = [port for n, port in enumerate(self.ports) if port in below and self._named_below(n)]
        wide = {id(port): self.ruler.width(self.graph.ports[n], SMALL) / 2 for n, port in enumerate(self.ports)}
        below.sort(key=lambda port: port.exits)
        for n, port in enumerate(below):
            before = below[n - 1] if n else None
            start = 0.0 if before is None else before.exits + wide[id(before)] + BESIDE
            port.exits = max(port.exits, start + wide[id(port)])
        for n, port in reversed([*enumerate(below)]):
            after = below[n + 1] if n + 1 < len(below) else None
            end = self.width if after is None else after.exits - wide[id(after)] - BESIDE
            port.exits = min(port.exits, end - wide[id(port)])

    def _named_below(self, number: int) -> bool:
        return any(each.leaves == number and not each.source and self.below(each) for each in self.graph.arrows)

    def _arrivals(self, item: Item, ways: list[Way]) -> list[Way]:
        ways = sorted(ways, key=lambda way: way.comes)
        if item.node is None:
            for way in ways:
                item.exits = way.source.exits if way.lane is None else (self.width / 2)
            return [Way(way.edge, way.source, item, way.lane, "below", item.exits) for way in ways]
        if item.placed is not None:
            return [
                Way(way.edge, way.source, item, way.lane, "below", item.x + item.placed.ports[way.edge.enters])
                for way in ways
            ]
        if isinstance(item.node, Plus):
            return self._summands(item, ways)
        margin = min(item.w / 4, 24.0)
        labels = [self._wide(way) for way in ways]
        xs = [min(max(way.comes, item.x + margin), item.x + item.w - margin) for way in ways]
        if len(xs) > 1:
            least = [(a + b) / 2 + 5 for a, b in pairwise(labels)]
            for place, need in enumerate(least):
                xs[place + 1] = max(xs[place + 1], xs[place] + need)
            xs = [x - max(0.0, xs[-1] - min(item.x + item.w - 5, self.width - labels[-1] / 2)) for x in xs]
            if xs[0] < item.x + 5:
                xs = [item.x + item.w / (len(xs) + 1) * (place + 1) for place in range(len(xs))]
        return [Way(way.edge, way.source, item, way.lane, "below", x) for way, x in zip(ways, xs, strict=True)]

    def _summands(self, item: Item, ways: list[Way]) -> list[Way]:
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
        return [
            Way(way.edge, way.source, item, way.lane, sides[place], xs.get(place, 0.0))
            for place, way in enumerate(ways)
        ]

    def _wide(self, way: Way) -> float:
        """The room of what is written at an arrow's end."""
        stub = self._stub(way.source, way.target)
        line = self.graph.ports[way.edge.leaves] if stub else self._shape(way)
        return max(6.0, self.ruler.width(line, SMALL) if line else 0.0)

    def _shape(self, way: Way) -> Line:
        if not (self.named and way.edge.shape and way.edge.target) or self._stub(way.source, way.target):
            return []
        dims: list[Piece] = []
        for dim in way.edge.shape:
            dims += [", " if dims else "", Math.of(dim)]
        return ["[", *dims, "]"]

    # -- up --------------------------------------------------------------------------------------------------------

    def _up(self, ways: Sequence[Way]) -> float:
        """The height of each row and of what runs between two; the height of all."""
        self.tracks: dict[tuple[int, object], float] = {}  # the y of what runs across, by gap and by what it is
        y = 0.0
        for gap in range(self.ends):
            lines = self._across_in(gap, ways)
            entering = [way for way in ways if way.target.rank == gap + 1 and way.side == "below"]
            floors = self._labels(entering)
            stubs = any(self._stub(way.source, way.target) for way in entering)
            if not self.graph.arrows:
                step = 0.0 if gap in (0, self.ends - 1) else GAP / 2
            else:
                head = GAP if entering or gap == self.ends - 1 else GAP / 2
                step = (GAP / 2 if lines else 0) + TRACK * max(0, len(lines) - 1) + head
                step += LABEL * (1 + max(floors.values())) if floors else 0
                step += STUB if stubs else 0
            for place, key in enumerate(lines):
                self.tracks[gap, key] = y + GAP / 2 + TRACK * place
            y += step
            for arriving, floor in floors.items():
                self.tracks[gap, ("label", arriving)] = y - GAP + 1 - LABEL * floor - LABEL / 2
            self.tracks[gap, "stub"] = y - GAP - 5 - LABEL * max(floors.values(), default=0)
            row = [self.items[node.key] for node in self.rows[gap]] if gap < len(self.rows) else self.outs
            high = max((item.h for item in row), default=0.0)
            for item in row:
                item.y = y + (high - item.h) / 2
            if gap < len(self.rows):
                y += high
        return y

    def _across_in(self, gap: int, ways: Sequence[Way]) -> list[object]:
        """What runs across in a gap, from below: what leaves a thing, in an order in which no two lie on each other,
        then what comes from a lane.
        """
        leaving: dict[object, list[float]] = {}
        starts: dict[object, float] = {}
        arriving: dict[object, None] = {}
        for way in ways:
            if self._stub(way.source, way.target):
                continue
            if way.source.rank == gap:
                below = [way.x] if way.side == "below" else []
                there = below if way.lane is None else [way.lane]
                if any(abs(x - way.source.exits) > 0.1 for x in there):
                    leaving.setdefault(way.net, []).extend(there)
                    starts[way.net] = way.source.exits
            if way.lane is not None and way.target.rank == gap + 1 and way.side == "below":
                arriving[way.net, id(way.target)] = None
        order: list[object] = []
        left = list(leaving)
        while left:
            for net in left:
                others = [other for other in left if other is not net]
                if not any(abs(x - starts[other]) < 2 for other in others for x in leaving[net]):
                    break
            else:
                net = left[0]
            order.append(net)
            left.remove(net)
        return [*order, *arriving]

    def _labels(self, entering: Sequence[Way]) -> dict[int, int]:
        """On which line from above each arrow that comes in has its shape, so that none lies on another."""
        found: dict[int, int] = {}
        ends: list[float] = []
        for way in sorted(entering, key=lambda way: way.x):
            half = self.ruler.width(line, SMALL) / 2 + 1 if (line := self._shape(way)) else 0
            if half:
                x = min(max(way.x, half), self.width - half)
                floor = next((n for n, end in enumerate(ends) if end < x - half), len(ends))
                ends[floor : floor + 1] = [x + half]
                found[id(way)] = floor
        return found

    # -- drawing ---------------------------------------------------------------------------------------------------

    def _draw(self, ways: Sequence[Way], height: float) -> None:
        for way in ways:
            self._line(way, height)
        for way in ways:
            line = self._shape(way)
            if line and way.side == "below":
                wide = self.ruler.width(line, SMALL)
                y = self.tracks[way.target.rank - 1, ("label", id(way))]
                x = min(max(way.x, wide / 2 + 1), self.width - wide / 2 - 1)
                self.shapes.append(Rect(x - wide / 2 - 1, height - y - 4, wide + 2, 7.6, fill="#FFFFFF", stroke=0))
                self.shapes.append(Words(x, height - y + 2, line, wide, SMALL, "center"))
        for item in self.items.values():
            top = height - item.y - item.h
            if item.look is not None:
                self.shapes += [shape.moved(item.x, top) for shape in item.look.shapes]
            elif item.placed is not None:
                self.shapes += [shape.moved(item.x, top) for shape in item.placed.shapes]
            else:
                x, y, r = item.middle, top + item.h / 2, SIGN - 2
                self.shapes.append(Circle(x, y, SIGN))
                self.shapes += [Path(((x - r, y), (x + r, y))), Path(((x, y - r), (x, y + r)))]

    def _line(self, way: Way, height: float) -> None:
        source, target = way.source, way.target
        start = source.y + source.h if source.node is not None else 0.0
        end = target.y if target.node is not None else height
        if self._stub(source, target):
            line = self.graph.ports[way.edge.leaves]
            foot = self.tracks[target.rank - 1, "stub"]
            self._put([(way.x, foot), (way.x, end)], height, head=True)
            wide = self.ruler.width(line, SMALL)
            x = min(max(way.x, wide / 2), self.width - wide / 2)
            self.shapes.append(Words(x, height - foot + 7, line, wide, SMALL, "center"))
            return
        points: list[tuple[float, float]] = [(source.exits, start)]
        middle = target.y + target.h / 2
        rim = target.middle + (SIGN if way.side == "right" else -SIGN)
        if way.lane is not None:
            if abs(way.lane - source.exits) > 0.1:
                across = self.tracks[source.rank, way.net]
                points += [(source.exits, across), (way.lane, across)]
            if way.side == "below":
                arrives = self.tracks[target.rank - 1, (way.net, id(target))]
                points += [(way.lane, arrives), (way.x, arrives), (way.x, end)]
            else:
                points += [(way.lane, middle), (rim, middle)]
        elif way.side == "below":
            if abs(way.x - source.exits) > 0.1:
                across = self.tracks[source.rank, way.net]
                points += [(source.exits, across), (way.x, across)]
            points.append((way.x, end))
        else:
            points += [(source.exits, middle), (rim, middle)]
        self._put(points, height, head=not isinstance(target.node, Frame) and (target.node is not None or self.whole))

    def _put(self, points: Sequence[tuple[float, float]], height: float, head: bool) -> None:
        self.shapes += arrow([(x, height - y) for x, y in points], head)


def _times(frame: Frame) -> list[Line]:
    if frame.times == 1:
        return []
    number = frame.number is not None and not frame.times.is_Integer
    return [["× ", Math.of(frame.times)], *([[f"= {frame.number:,}"]] if number else [])]


def bracket(frame: Frame, ruler: Ruler) -> float:
    """The room that its bracket takes, with how often it stands there."""
    says = _times(frame)
    return max((ruler.width(line, FORMULA) for line in says), default=0.0) + (BRACKET + 4 if says else 0)


def framed(frame: Frame, width: float, ruler: Ruler, shapes: bool, margin: float) -> Placed:
    """A frame with what stands in it; what is repeated has a bracket that says how often."""
    says = _times(frame)
    inner = Layout(frame.graph, width - margin - 2 * EDGE, ruler, shapes).placed()
    head = _head(frame, width - margin - 2 * EDGE, inner.out if frame.graph.gives else None, ruler)
    foot = 0.0 if frame.graph.arrows else EDGE
    height = foot + inner.height + head.height
    drawn: list[Shape] = [
        Rect(
            margin,
            0,
            width - margin,
            height,
            fill="#FBFBFB",
            ink="#444444",
            radius=3,
            stroke=1.5 if frame.differs else 0.7,
            dashed=frame.differs,
        )
    ]
    if says:
        x = margin - BRACKET
        drawn.append(
            Path(((x + BRACKET - 1.5, 2), (x, 2), (x, height - 2), (x + BRACKET - 1.5, height - 2)), stroke=0.8)
        )
        for place, line in enumerate(says):
            y = height / 2 + LEADING * (place - (len(says) - 1) / 2) + 2.4
            drawn.append(Words(x - 3, y, line, ruler.width(line, FORMULA), FORMULA, "right"))
    drawn += [shape.moved(margin + EDGE, 0) for shape in head.shapes]
    drawn += [shape.moved(margin + EDGE, head.height) for shape in inner.shapes]
    if frame.graph.gives:
        drawn.append(Path(((margin + EDGE + inner.out, head.height), (margin + EDGE + inner.out, 0))))
    return Placed(width, height, drawn, [margin + EDGE + x for x in inner.ports], margin + EDGE + inner.out)


def _head(frame: Frame, width: float, out: float | None, ruler: Ruler) -> Look:
    """What a frame is called and what one copy of it comes to, on both sides of the line that leaves it."""
    left, right = (width, width) if out is None else (out - 5, width - out - 5)
    rows: list[tuple[Line, float, str]] = [(line, TITLE, BLACK) for line in title_lines(frame, ruler, left)]
    if frame.title and frame.name:
        rows.append((cut(Code(frame.name), left, ruler, SMALL), SMALL, GREY))
    for note in frame.notes:
        rows += [(line, SMALL, BLACK) for line in fitted(note, left, ruler)]
    drawn: list[Shape] = []
    y = 3.0
    for line, size, ink in rows:
        y += LEADING - (0 if size == TITLE else 1)
        drawn.append(Words(0, y - 2, line, ruler.width(line, size), size, "left", ink))
    beside: list[tuple[Line, float]] = []
    said = counted(frame.amount)
    if said and ruler.width([said], SMALL) <= right and out is not None:
        beside.append(([said], SMALL))
    formula: Line = [Math.of(frame.amount.shown)]
    if (
        frame.amount.shown != 0
        and ruler.width(formula, FORMULA) <= right
        and out is not None
        and "/" not in text(frame.amount.shown)
    ):
        beside.insert(0, (formula, FORMULA))
    high = 3.0
    for line, size in beside:
        high += LEADING
        drawn.append(Words(width, high - 2, line, ruler.width(line, size), size, "right"))
    return Look(drawn, width, max(y, high) + (1 if frame.graph.arrows else EDGE))
