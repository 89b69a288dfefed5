"""Which tokens a chart of p and q shows, in which order, and where their bars stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize

from engine.debugger.bars import Bar
from widgets.steps import step_up, ticks

LOWEST = 1e-9
"""The log scale goes no lower."""


@dataclass(frozen=True)
class Place:
    """One token's room, and its bars in it."""

    bar: Bar
    room: QRectF
    p: QRectF | None
    q: QRectF | None


def pages(bars: Sequence[Bar], each: int) -> list[list[Bar]]:
    """Tokens by ``each``: the marked ones and the highest first; on a page by falling p (ties: lower id)."""
    marked = [bar for bar in bars if bar.marks & {"drafted", "drawn"}]
    others = sorted((bar for bar in bars if bar not in marked), key=lambda bar: (-height(bar), bar.token))
    order = marked + others
    return [sorted(order[i:i + each], key=lambda bar: (-(bar.p or 0.0), -(bar.q or 0.0), bar.token))
            for i in range(0, len(order), max(1, each))]


def height(bar: Bar) -> float:
    return max(bar.p or 0.0, bar.q or 0.0)


@dataclass(frozen=True)
class Scale:
    """Probabilities to heights: linear from 0, or logarithmic from ``floor``."""

    top: float
    floor: float | None = None

    @classmethod
    def over(cls, bars: Sequence[Bar], *, log: bool) -> Scale:
        values = [x for bar in bars for x in (bar.p, bar.q) if x is not None and x > 0]
        if not log:
            return cls(min(1.0, step_up(1.02 * max(values, default=1.0), 1e-12)))
        least = max(min(values, default=0.01), LOWEST)
        return cls(1.0, min(0.01, 10.0 ** (math.ceil(math.log10(least)) - 1)))

    def share(self, value: float) -> float:
        """Of the plot's height, 0 … 1."""
        if self.floor is None:
            return min(1.0, max(0.0, value / self.top))
        if value <= self.floor:
            return 0.0
        return 1.0 - math.log10(min(value, self.top) / self.top) / math.log10(self.floor / self.top)

    def ticks(self, room: int) -> list[float]:
        """About ``room`` of them."""
        if self.floor is None:
            return ticks(self.top, max(1, min(5, room)))
        decades = round(-math.log10(self.floor))
        every = max(1, math.ceil(decades / max(1, room)))
        return [10.0 ** -i for i in range(0, decades + 1, every)]


@dataclass(frozen=True)
class Layout:
    """All of a chart at one size."""

    size: QSize
    plot: QRectF
    scale: Scale
    places: list[Place]
    pages: int


def places(bars: Sequence[Bar], plot: QRectF, scale: Scale, widest: float) -> list[Place]:
    """Side by side over the whole plot, or in its middle where they are few; ``widest``: pixels of one token's room."""
    if not bars:
        return []
    width = min(plot.width() / len(bars), widest)
    left = plot.left() + (plot.width() - width * len(bars)) / 2
    paired = any(bar.q is not None for bar in bars) and any(bar.p is not None for bar in bars)
    thick = (0.39 if paired else 0.52) * min(width, 0.75 * widest)
    gap = 0.04 * thick if paired else 0.0
    found = []
    for i, bar in enumerate(bars):
        room = QRectF(left + i * width, plot.top(), width, plot.height())
        middle = room.center().x()
        start_p = middle - thick - gap if paired else middle - thick / 2
        start_q = middle + gap if paired else middle - thick / 2
        found.append(Place(bar, room, _box(start_p, thick, bar.p, plot, scale),
                           _box(start_q, thick, bar.q, plot, scale)))
    return found


def _box(left: float, width: float, value: float | None, plot: QRectF, scale: Scale) -> QRectF | None:
    if value is None:
        return None
    tall = plot.height() * scale.share(value)
    return QRectF(left, plot.bottom() - tall, width, tall)
