"""Where the nodes of a tree stand: columns by depth, rows so that no two cross. Pure arithmetic; nothing is painted.

A first child stands beside its parent, its siblings below it in the order of their tests, each under all that hangs on
the one before. So the first guesses make one straight line at the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

ROOT = -1


class Place(NamedTuple):
    column: int
    """0: the root's children."""
    row: int


@dataclass(frozen=True)
class TreeLayout:
    places: tuple[Place, ...]
    lasts: tuple[int, ...]
    """Of each node the last row that it or anything behind it stands in; beneath it its column is free until there."""
    columns: int
    rows: int
    """At least 1: the root's."""

    def at(self, column: int, row: int) -> int | None:
        """The node that stands there."""
        return next((node for node, place in enumerate(self.places) if place == (column, row)), None)


def lay_out(parents: Sequence[int]) -> TreeLayout:
    """``parents``: of each node its parent, −1 the root; parents come before their children, siblings in order."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
    places = [Place(0, 0)] * len(parents)
    rows, columns = 0, 0
    waiting = [(node, 0) for node in reversed(children.get(ROOT, []))]
    while waiting:  # depth first; no recursion, since a chain of 64 is a tree too
        node, column = waiting.pop()
        first = children.get(parents[node], [node])[0] == node
        if not first:
            rows += 1  # below all that hangs on the sibling before
        places[node] = Place(column, rows)
        columns = max(columns, column + 1)
        waiting += [(child, column + 1) for child in reversed(children.get(node, []))]
    lasts = [place.row for place in places]
    for node in reversed(range(len(parents))):
        if parents[node] != ROOT:
            lasts[parents[node]] = max(lasts[parents[node]], lasts[node])
    return TreeLayout(tuple(places), tuple(lasts), columns, rows + 1)


@dataclass(frozen=True)
class Grid:
    """The room that each node gets, in pixels."""

    left: float
    """Where the first column begins, behind the root."""
    column: float
    row: float
    roomy: bool
    """There is height for figures under each token."""
    width: float
    """Of all."""
    shown: int
    """Rows at a time: whole ones only."""


def fit(layout: TreeLayout, width: float, height: float, *, root: float, least_column: float, most_column: float,
        compact: float, roomy: float) -> Grid:
    """Fill the width there is, within limits; two lines a node where all rows then fit the height. What doesn't fit is
    scrolled to, row by row."""
    column = min(most_column, max(least_column, (width - root) / max(1, layout.columns)))
    tall = layout.rows * roomy <= height
    least = roomy if tall else compact
    shown = max(1, min(layout.rows, int(height // least)))
    row = max(least, min(1.35 * least, height / shown))
    return Grid(root, column, row, tall, root + layout.columns * column, shown)


def neighbour(layout: TreeLayout, parents: Sequence[int], node: int, key: str) -> int | None:
    """Where an arrow key leads: left to the parent, right to the first child, up and down within the column."""
    if key == "left":
        return parents[node] if parents[node] != ROOT else None
    if key == "right":
        return next((child for child, parent in enumerate(parents) if parent == node), None)
    column, row = layout.places[node]
    mates = sorted((place.row, other) for other, place in enumerate(layout.places) if place.column == column)
    if key == "up":
        return next((other for at, other in reversed(mates) if at < row), None)
    return next((other for at, other in mates if at > row), None)
