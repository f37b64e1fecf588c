"""Convex hulls of running sums, point by point: for tests of every split of an arm's rewards."""

from __future__ import annotations

from typing import Any

from driftbandits.policies.base import Records, records

NONE = -1
ROOM = 4096


def new_vertices(length: int) -> Records:
    """Room for ``length`` vertices; all hulls of a State share it."""
    return records(length, count="i8", total="f8", below="i8")


def new_pool() -> Records:
    """Which vertices are in use: all below ``fresh``, except those linked from ``free``."""
    pool = records(1, fresh="i8", free="i8")
    pool.free = NONE
    return pool


def with_room(pool: Records, vertices: Records, points: int) -> Records:
    """The vertices, with room for so many more points; a hull of random sums needs far less, a few dozen."""
    if has_room(pool, vertices, points):
        return vertices
    used = int(pool[0].fresh)
    grown = new_vertices(((used + points) // ROOM + 1) * ROOM)
    grown[:used] = vertices[:used]
    return grown


def has_room(pool: Records, vertices: Records, points: int) -> bool:
    """Whether so many more points could all become vertices."""
    return int(pool[0].fresh) + points <= len(vertices)


def push_vertex(pool: Any, vertices: Records, top: int, sign: float, count: int, total: float) -> int:
    """Add the rightmost point (count, total) to a lower hull (sign 1) or an upper one (sign -1); returns its new top.

    A hull is a stack, linked by ``below``. Points above the chord of their neighbours leave it and never come back, so
    they need not be kept, and a point costs O(1) amortised.
    """
    while top >= 0 and vertices[top].below >= 0:
        middle, left = vertices[top], vertices[vertices[top].below]
        chord = sign * (total - left.total) * (middle.count - left.count)
        if sign * (middle.total - left.total) * (count - left.count) < chord:
            break
        below = middle.below
        middle.below = pool.free
        pool.free = top
        top = below
    place = pool.free
    if place >= 0:
        pool.free = vertices[place].below
    else:
        place = pool.fresh
        pool.fresh += 1
    vertices[place].count = count
    vertices[place].total = total
    vertices[place].below = top
    return place  # type: ignore[no-any-return]


def drop_hull(pool: Any, vertices: Records, top: int) -> None:
    """Give all vertices of a hull back."""
    while top >= 0:
        below = vertices[top].below
        vertices[top].below = pool.free
        pool.free = top
        top = below
