"""The branches and crossings of lines: a dot where a line branches, and a gap where it passes under another line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from .primitives import BLACK, Circle, Path, Point, Shape

DOT = 1.3  # radius of the dot of a branch
GAP = 1.8  # half of the length of a gap
LEAST = 0.9  # minimum of half of a gap, next to a corner
NEAR = 0.1  # between points that are the same
Segment = tuple[Point, Point]


def with_junctions(shapes: Sequence[Shape]) -> list[Shape]:
    """Return shapes with a dot at each branch of a line, and a gap at each crossing of two lines.

    Lines are connected if one of them ends on the other.
    """
    wires = [shape for shape in shapes if isinstance(shape, Path) and shape.wire]
    nets = _nets(wires)
    found: list[Shape] = []
    for shape in shapes:
        if isinstance(shape, Path) and shape.wire:
            place = next(place for place, wire in enumerate(wires) if wire is shape)
            others = [s for n, wire in enumerate(wires) if nets[n] != nets[place] for s in pairwise(wire.points)]
            found += _broken(shape, others)
        else:
            found.append(shape)
    dots = [Circle(x, y, DOT, fill=BLACK) for net in sorted({*nets}) for x, y in _branches(_of_net(wires, nets, net))]
    return [*found, *dots]


def _of_net(wires: Sequence[Path], nets: Sequence[int], net: int) -> list[Path]:
    return [wire for wire, each in zip(wires, nets, strict=True) if each == net]


def _nets(wires: Sequence[Path]) -> list[int]:
    """Return the number of the connected lines that each line belongs to."""
    nets = [*range(len(wires))]
    for one, wire in enumerate(wires):
        for other, touched in enumerate(wires):
            ends = (wire.points[0], wire.points[-1])
            if one != other and any(_on(end, segment) for end in ends for segment in pairwise(touched.points)):
                old, new = nets[one], nets[other]
                nets = [new if each == old else each for each in nets]
    return nets


def _on(point: Point, segment: Segment) -> bool:
    (ax, ay), (bx, by) = segment
    across = min(ax, bx) - NEAR <= point[0] <= max(ax, bx) + NEAR
    return across and min(ay, by) - NEAR <= point[1] <= max(ay, by) + NEAR


def _branches(wires: Sequence[Path]) -> Iterator[Point]:
    """Yield the points of connected lines from which they go on in three or four directions."""
    corners: list[Point] = []
    for wire in wires:
        corners += [each for each in wire.points if not any(_same(each, other) for other in corners)]
    segments = [segment for wire in wires for segment in pairwise(wire.points)]
    for corner in corners:
        ways: dict[tuple[int, int], float] = defaultdict(float)
        for segment in segments:
            if _on(corner, segment):
                for x, y in segment:
                    dx, dy = x - corner[0], y - corner[1]
                    way = (_sign(dx), _sign(dy))
                    ways[way] = max(ways[way], abs(dx) + abs(dy))
        if sum(way != (0, 0) for way in ways) > 2:
            yield corner


def _same(one: Point, other: Point) -> bool:
    return abs(one[0] - other[0]) < NEAR and abs(one[1] - other[1]) < NEAR


def _sign(length: float) -> int:
    return (length > NEAR) - (length < -NEAR)


def _broken(wire: Path, others: Sequence[Segment]) -> list[Shape]:
    """Return a line in pieces, with a gap wherever one of its segments has to pass under another line."""
    pieces: list[list[Point]] = [[wire.points[0]]]
    for a, b in pairwise(wire.points):
        for before, after in _gaps((a, b), others):
            pieces[-1].append(before)
            pieces.append([after])
        pieces[-1].append(b)
    return [replace(wire, points=tuple(piece), start=wire.origin) for piece in pieces]


def _gaps(segment: Segment, others: Sequence[Segment]) -> list[Segment]:
    """Return the gaps of a segment, in the order of its points. A horizontal line has the gap if it has the room."""
    (ax, ay), (bx, by) = segment
    level = abs(ay - by) < NEAR
    found: list[tuple[float, Segment]] = []
    for other in others:
        crossing = _crossing(segment, other)
        if crossing is None or level != _is_under(segment, other, crossing):
            continue
        x, y = crossing
        half = _room(segment, crossing)
        dx, dy = _sign(bx - ax) * half, _sign(by - ay) * half
        found.append((abs(x - ax) + abs(y - ay), ((x - dx, y - dy), (x + dx, y + dy))))
    gaps: list[Segment] = []
    for _, (before, after) in sorted(found):
        if gaps and abs(before[0] - ax) + abs(before[1] - ay) <= abs(gaps[-1][1][0] - ax) + abs(gaps[-1][1][1] - ay):
            gaps[-1] = (gaps[-1][0], after)  # two lines next to each other
        else:
            gaps.append((before, after))
    return gaps


def _is_under(one: Segment, other: Segment, crossing: Point) -> bool:
    """Return True if the horizontal one of two segments has room for the gap, or more room than the vertical one."""
    level, upright = (one, other) if abs(one[0][1] - one[1][1]) < NEAR else (other, one)
    room = _room(level, crossing)
    return room >= LEAST or room >= _room(upright, crossing)


def _room(segment: Segment, crossing: Point) -> float:
    """Return half of the length of a gap at a crossing, which ends before the corners of the line."""
    ends = (abs(x - crossing[0]) + abs(y - crossing[1]) for x, y in segment)
    return min(GAP, *(end - 0.3 for end in ends))


def _crossing(one: Segment, other: Segment) -> Point | None:
    """Return the point inside of both a horizontal and a vertical segment, if there is one."""
    level_one, level_other = (abs(a[1] - b[1]) < NEAR for a, b in (one, other))
    if level_one == level_other:
        return None
    level, upright = (one, other) if level_one else (other, one)
    (ax, y), (bx, _) = level
    (x, ay), (_, by) = upright
    inside = min(ax, bx) + 0.3 < x < max(ax, bx) - 0.3 and min(ay, by) + 0.3 < y < max(ay, by) - 0.3
    return (x, y) if inside else None
