"""Where the names at the ends of lines go: beside their own marker, on no marker or other name, across few lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF

NUDGES = np.array([0, *(sign * step / 3 for step in range(1, 9) for sign in (-1, 1))])
"""Up or down, in heights of a name. Farther off nobody would know whose name it is."""
SIDES = (0.0, 0.7, 0.5)
"""What it costs to stand right of, left of, or over or under the marker, in nudges of a name's height."""
CROSSED = 4.0
"""What it costs to stand on a line all along."""
HABIT = 0.4
"""What another place must be better by, lest names jump to and fro while lines grow."""
SAMPLES = 16


@dataclass(frozen=True)
class Line:
    """In pixels, y downwards. Its last point has the marker."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    width: float
    """Of its name."""
    height: float


@dataclass(frozen=True)
class Place:
    box: QRectF
    choice: tuple[int, int]
    """Side and nudge: given back the next time, so that the name stays there."""


def place(lines: Sequence[Line], bounds: QRectF, marker: float, before: Sequence[tuple[int, int] | None]
          ) -> list[Place | None]:
    """``marker``: half a marker's size. None where a name fits nowhere."""
    taken = [QRectF(line.x[-1] - marker, line.y[-1] - marker, 2 * marker, 2 * marker) for line in lines]
    places: list[Place | None] = []
    for line, habit in zip(lines, before, strict=True):
        best, least = None, float("inf")
        for side, left in enumerate(_lefts(line, bounds, marker)):
            tops = line.y[-1] - line.height / 2 + NUDGES * line.height
            costs = SIDES[side] + np.abs(NUDGES) + CROSSED * _crossed(lines, left, line.width, tops, line.height)
            if habit is not None and habit[0] == side:
                costs[habit[1]] -= HABIT
            for nudge in np.flatnonzero(costs < least).tolist():
                box = QRectF(left, float(tops[nudge]), line.width, line.height)
                if costs[nudge] < least and bounds.contains(box) and not any(box.intersects(other) for other in taken):
                    best, least = Place(box, (side, nudge)), float(costs[nudge])
        places.append(best)
        if best is not None:
            taken.append(best.box)
    return places


def _lefts(line: Line, bounds: QRectF, marker: float) -> tuple[float, float, float]:
    end, gap = float(line.x[-1]), marker + 2
    centred = min(max(end - line.width / 2, bounds.left()), bounds.right() - line.width)
    return end + gap, end - gap - line.width, centred


def _crossed(lines: Sequence[Line], left: float, width: float, tops: NDArray[np.float64], height: float
             ) -> NDArray[np.float64]:
    """For each top: over which share of its width lines run through the box, added up."""
    x = np.linspace(left, left + width, SAMPLES + 1)
    total = np.zeros(len(tops))
    for line in lines:
        y = np.interp(x, line.x, line.y, left=np.nan, right=np.nan)  # NaN is in no box
        upper, lower = np.minimum(y[:-1], y[1:]), np.maximum(y[:-1], y[1:])
        total += ((lower > tops[:, None]) & (upper < tops[:, None] + height)).mean(axis=1)
    return total
