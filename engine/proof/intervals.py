"""Cuts [0, 1) into the intervals on which a function of one draw doesn't change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeVar

T = TypeVar("T")

LAST = 1 - 2.0**-53
"""The largest draw there is."""

NEAR = 4e-16
"""How close to a suspected boundary both sides are tried; also, unless told otherwise, where bisection ends."""


class Interval(NamedTuple):
    low: float
    high: float
    at: float
    """A draw that was tried and decides as all in here do."""


def intervals(decides: Callable[[float], T], suspects: Iterable[float], resolution: float = NEAR) -> list[Interval]:
    """In order, [0, 1) as a whole. ``suspects``: where the outcome is thought to change; each is tried on both sides,
    and where the outcome changes elsewhere it is found by bisection. An outcome that only the very first or very last
    draw has gets an interval too, of hardly any width."""
    hints = sorted({s for s in suspects if 0 < s < 1})
    points = [0.0, *((a + b) / 2 for a, b in pairwise([0.0, *hints, 1.0])), LAST]
    seen = [(u, decides(u)) for u in points]
    starts = [(0.0, 0.0)]
    for (left, before), (right, behind) in pairwise(seen):
        hint = next((h for h in hints if left < h < right), None)
        starts += _changes(decides, left, before, right, behind, hint, resolution)
    return [Interval(low, high, at) for (low, at), (high, _) in pairwise([*starts, (1.0, 1.0)])]


def _changes(decides: Callable[[float], T], left: float, before: T, right: float, behind: T,
             hint: float | None, resolution: float) -> Iterator[tuple[float, float]]:
    """Where the outcome changes between ``left`` and ``right``, and a draw that decides as those behind do."""
    if before == behind:
        return
    if hint is not None and decides(max(left, hint - NEAR)) == before and decides(min(right, hint + NEAR)) == behind:
        yield hint, right
    elif right - left <= resolution:
        yield (left + right) / 2, right
    else:
        middle = (left + right) / 2
        between = decides(middle)
        yield from _changes(decides, left, before, middle, between, None, resolution)
        yield from _changes(decides, middle, between, right, behind, None, resolution)
