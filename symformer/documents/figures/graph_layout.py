"""The layout of a graph: rows from the bottom by data flow, long arrows in lanes at the sides, short ones between."""

from __future__ import annotations

from collections.abc import Sequence

from .box_content import SMALL
from .figure import Frame
from .primitives import Circle, Path, Rect, Words, arrow
from .x_coordinates import GAP, LABEL, LANE, SIGN, STUB, TRACK, ArrowRoute, PlacedGraph, XCoordinates


class GraphLayout(XCoordinates):
    """The layout of one graph at a given width."""

    def placed(self) -> PlacedGraph:
        """Return the graph with all positions."""
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
        return PlacedGraph(self.width, height, self.shapes, [port.exits for port in self.ports], out)

    # -- up --------------------------------------------------------------------------------------------------------

    def _up(self, ways: Sequence[ArrowRoute]) -> float:
        """Set the y of each row and of the lines between rows; return the total height."""
        self.tracks: dict[tuple[int, object], float] = {}  # the y of each horizontal line, by gap and key
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

    def _labels(self, entering: Sequence[ArrowRoute]) -> dict[int, int]:
        """Return the row of each incoming arrow's shape label, so that no labels overlap."""
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

    def _draw(self, ways: Sequence[ArrowRoute], height: float) -> None:
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

    def _line(self, way: ArrowRoute, height: float) -> None:
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
