"""The layout of a graph: rows from the bottom by data flow, long arrows in lanes at the sides, short ones between."""

from __future__ import annotations

from collections.abc import Sequence

from ...output.blocks import Line
from .arrow_labels import shape_text
from .figure import Box, Frame
from .primitives import SMALL, Circle, Path, Words, arrow, has_call, has_subscript
from .x_coordinates import (
    ASIDE,
    DEEPER,
    GAP,
    HEAD,
    LABEL,
    LANE,
    OVER_BOX,
    SIGN,
    STUB,
    TALLER,
    TRACK,
    UNDER,
    ArrowRoute,
    PlacedGraph,
    XCoordinates,
)


class GraphLayout(XCoordinates):
    """The layout of one graph at a given width."""

    def placed(self) -> PlacedGraph:
        """Return the graph with all positions."""
        self.sides: dict[int, list[float]] = {}
        self.rights: dict[str, float] = {}
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
        ports = [port.exits for port in self.ports]
        levels = {key: item.y for key, item in self.items.items()}
        for item in self.items.values():
            if item.placed is not None:
                levels |= {key: item.y + y for key, y in item.placed.levels.items()}
        taps = {key: item.tap for key, item in self.items.items()}
        return PlacedGraph(self.width, height, self.shapes, ports, out, self.sides, self.rights, levels, taps=taps)

    # -- up --------------------------------------------------------------------------------------------------------

    def _up(self, ways: Sequence[ArrowRoute]) -> float:
        """Set the y of each row and of the lines between rows; return the total height."""
        self.tracks: dict[tuple[int, object], float] = {}  # the y of each horizontal line, by gap and key
        self.label_x: dict[int, float] = {}  # the x of the label of each arrow
        self.labels: dict[int, Line] = {}  # the label of each arrow that has room for one
        y = 0.0
        for gap in range(self.ends):
            lines = self._across_in(gap, ways)
            entering = [
                way
                for way in ways
                if way.target.rank == gap + 1
                and (way.side == "below" or (way.side == "left edge" and isinstance(way.target.node, Box)))
            ]
            passing = [way.lane for way in ways if way.lane is not None and way.source.rank <= gap < way.target.rank]
            floors = self._labels(entering, passing)
            stubs = any(self._stub(way.source, way.target) for way in entering)
            line = LABEL + TALLER * any(has_call(self.labels[each]) for each in floors)
            if not self.graph.arrows:
                step = 0.0 if gap in (0, self.ends - 1) else GAP / 2
            else:
                head = GAP if entering or gap == self.ends - 1 else GAP / 2
                deep = any(has_subscript(self.labels[each]) for each in floors)
                under = UNDER if lines else OVER_BOX + DEEPER * deep
                aside = line * (1 + max(floors.values())) + under if floors else 0
                step = (GAP / 2 if lines else 0) + TRACK * max(0, len(lines) - 1) + max(head, aside)
                step += STUB if stubs else 0
            if gap < len(self.rows):
                step += max(node.lift for node in self.rows[gap])
            for place, key in enumerate(lines):
                self.tracks[gap, key] = y + GAP / 2 + TRACK * place
            y += step
            for arriving, floor in floors.items():
                self.tracks[gap, ("label", arriving)] = y - 1 - line * floor - line / 2
            self.tracks[gap, "stub"] = y - GAP - 5 - line * max(floors.values(), default=0)
            row = [self.items[node.key] for node in self.rows[gap]] if gap < len(self.rows) else self.outs
            high = max((item.h for item in row), default=0.0)
            for item in row:
                item.y = y + (high - item.h) / 2
            if gap < len(self.rows):
                y += high
        return y

    def _across_in(self, gap: int, ways: Sequence[ArrowRoute]) -> list[object]:
        """Return the horizontal lines in a gap, from the bottom.

        Lines that leave a node come first, ordered so that none overlap, then lines that arrive from a lane.
        """
        leaving: dict[object, list[float]] = {}
        starts: dict[object, float] = {}
        arriving: dict[object, None] = {}
        for way in ways:
            if self._stub(way.source, way.target):
                continue
            if way.source.rank == gap and not way.edge.tap:
                below = [way.x] if way.side == "below" else []
                there = below if way.lane is None else [way.lane]
                if any(abs(x - way.starts) > 0.1 for x in there):
                    leaving.setdefault(way.net, []).extend(there)
                    starts[way.net] = way.starts
            at_edge = way.side == "left edge" and isinstance(way.target.node, Box)
            if way.target.rank == gap + 1 and ((way.lane is not None and way.side == "below") or at_edge):
                arriving[way.net, id(way.target)] = None
        for node in self.rows[gap - 1] if gap else ():
            if node.key in self.right:
                handed = (node.key, 0, "")
                leaving.setdefault(handed, []).append(self.width)
                starts[handed] = self.items[node.key].exits
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

    def _labels(self, entering: Sequence[ArrowRoute], passing: Sequence[float]) -> dict[int, int]:
        """Return the line of each incoming arrow's label, so that no labels overlap and no line crosses one."""
        found: dict[int, int] = {}
        ends: list[float] = []
        uprights = [*(way.x for way in entering), *passing]
        for way in sorted(entering, key=lambda way: way.x):
            for line in self._choices(way):
                wide = self.ruler.width(line, SMALL)
                places = [way.x + ASIDE, way.x - ASIDE - wide]  # to the right of the arrow, or else to its left
                inside = [x for x in places if x >= 0 and x + wide <= self.width]
                clear = [x for x in inside if not any(x - HEAD < upright < x + wide + HEAD for upright in uprights)]
                if not clear:
                    continue
                x = clear[0]
                floor = next((n for n, end in enumerate(ends) if end < x - 1), len(ends))
                ends[floor : floor + 1] = [x + wide]
                found[id(way)] = floor
                self.label_x[id(way)] = x
                self.labels[id(way)] = line
                break
        return found

    def _choices(self, way: ArrowRoute) -> list[Line]:
        """Return the label of an arrow, and only the letter of an input if that has room and the label has none."""
        line = self._label(way)
        if not line:
            return []
        return [line, shape_text(way.edge.role, ())] if len(way.edge.role) == 1 else [line]

    # -- drawing ---------------------------------------------------------------------------------------------------

    def _draw(self, ways: Sequence[ArrowRoute], height: float) -> None:
        self.entering = [way for way in ways if way.side in ("below", "left edge")]
        self.passing = [  # the x of each lane, by gap
            (gap, way.lane) for way in ways if way.lane is not None for gap in range(way.source.rank, way.target.rank)
        ]
        for way in ways:
            self._line(way, height)
        for way in ways:
            if line := self.labels.get(id(way)):
                y = self.tracks[way.target.rank - 1, ("label", id(way))]
                self.shapes.append(
                    Words(self.label_x[id(way)], height - y + 2, line, self.ruler.width(line, SMALL), SMALL)
                )
        for key in self.right:
            item = self.items[key]
            y = self.rights[key] = self.tracks[item.rank, (key, 0, "")]
            self._put([(item.exits, item.y + item.h), (item.exits, y), (self.width, y)], height, head=False)
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

    def _line(self, way: ArrowRoute, height: float) -> None:
        source, target = way.source, way.target
        start = source.y + source.h if source.node is not None else 0.0
        end = target.y if target.node is not None else height
        if self._stub(source, target):
            line = self.graph.ports[way.edge.leaves]
            foot = self.tracks[target.rank - 1, "stub"]
            self._put([(way.x, foot), (way.x, end)], height, head=True)
            others = [each.x for each in self.entering if each.target.rank == target.rank and each is not way]
            others += [each for gap, each in self.passing if gap == target.rank - 1]
            after = min((other for other in others if other > way.x), default=self.width)
            before = max((other for other in others if other < way.x), default=0.0)
            wide = self.ruler.width(line, SMALL)
            if wide > after - before - 2 * ASIDE and str(line[0]).strip(" ["):  # no room for the shape
                line = [str(line[0]).strip()]
                wide = self.ruler.width(line, SMALL)
            x = min(max(way.x, wide / 2), self.width - wide / 2)
            x = max(min(x, after - ASIDE - wide / 2), before + ASIDE + wide / 2)
            self.shapes.append(Words(x, height - foot + 7, line, wide, SMALL, "center"))
            return
        points: list[tuple[float, float]] = [(way.starts, start)]
        middle = target.y + target.h / 2
        rim = target.middle + (SIGN if way.side == "right" else -SIGN)
        if way.side == "left edge":
            self._from_left(way, height)
            return
        if way.lane is not None:
            if way.edge.tap:
                points = [source.tap, (way.lane, source.tap[1])]
            elif abs(way.lane - way.starts) > 0.1:
                across = self.tracks[source.rank, way.net]
                points += [(way.starts, across), (way.lane, across)]
            if way.side == "below":
                arrives = self.tracks[target.rank - 1, (way.net, id(target))]
                points += [(way.lane, arrives), (way.x, arrives), (way.x, end)]
            else:
                points += [(way.lane, middle), (rim, middle)]
        elif way.side == "below":
            if abs(way.x - way.starts) > 0.1:
                across = self.tracks[source.rank, way.net]
                points += [(way.starts, across), (way.x, across)]
            points.append((way.x, end))
        else:
            points += [(way.starts, middle), (rim, middle)]
        into = isinstance(target.node, Frame) and not (target.node.mixed and way.edge.enters)  # it goes on inside
        self._put(points, height, head=not into and (target.node is not None or self.whole))

    def _from_left(self, way: ArrowRoute, height: float) -> None:
        """Draw an arrow from the left edge of the graph, and note where it enters."""
        target = way.target
        if target.placed is not None:
            inside = target.placed.sides.get(way.edge.enters)
            ys = [target.y + y for y in inside or (target.h / 2,)]
            for y in ys:
                self._put([(0.0, y), (target.x, y)], height, head=not inside)
        elif isinstance(target.node, Box):
            ys = [self.tracks[target.rank - 1, (way.net, id(target))]]
            self._put([(0.0, ys[0]), (way.x, ys[0]), (way.x, target.y)], height, head=True)
        else:
            ys = [target.y + target.h / 2]
            self._put([(0.0, ys[0]), (target.middle - SIGN, ys[0])], height, head=True)
        self.sides.setdefault(way.edge.leaves, []).extend(ys)

    def _put(self, points: Sequence[tuple[float, float]], height: float, head: bool) -> None:
        self.shapes += arrow([(x, height - y) for x, y in points], head)
