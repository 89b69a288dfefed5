"""Which stretch of time is in sight, and what to write along it: from a whole run down to microseconds."""

from __future__ import annotations

import math
from typing import NamedTuple

LEAST = 2e-6
"""Seconds: the shortest stretch one can zoom to."""
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


class Axis:
    """Seconds ``start`` … ``start + span`` of a whole that goes from 0 to ``full``; what is shown when it is fitted
    ends at ``own``."""

    def __init__(self) -> None:
        self.full = self.own = 1.0
        self.start = 0.0
        self.span = 1.0

    @property
    def end(self) -> float:
        return self.start + self.span

    @property
    def fitted(self) -> bool:
        """Is all that is fitted in sight?"""
        return self.start <= 1e-9 * self.own and self.span >= self.own * (1 - 1e-9)

    def grow(self, full: float, own: float | None = None) -> None:
        """The whole is so long now. Who saw all of it still does. ``own``: how much of it is to be fitted, all if not
        told."""
        beyond = self.span > self.own * (1 + 1e-9)
        fitted, whole = self.fitted and not beyond, beyond and self.span >= self.full * (1 - 1e-9)
        self.full = max(full, LEAST)
        self.own = min(max(own if own is not None else full, LEAST), self.full)
        if whole:
            self.show(0.0, self.full)
        elif fitted:
            self.fit()
        else:
            self.show(self.start, self.span)

    def fit(self) -> None:
        self.start, self.span = 0.0, self.own

    def show(self, start: float, span: float) -> None:
        """As near to this as the whole allows."""
        self.span = min(max(span, LEAST), self.full)
        self.start = min(max(start, 0.0), self.full - self.span)

    def zoom(self, about: float, factor: float) -> None:
        """``factor`` times as much time in sight; what is at ``about`` seconds stays where it is."""
        span = min(max(self.span * factor, LEAST), self.full)
        self.show(about - (about - self.start) * span / self.span, span)

    def pan(self, by: float) -> None:
        self.show(self.start + by, self.span)

    def reveal(self, first: float, last: float) -> None:
        """Move, without zooming, until that stretch is in sight, with some room around it."""
        room = min(0.08 * self.span, max(0.0, (self.span - (last - first)) / 2))
        if first < self.start or last - first >= self.span:
            self.show(first - room, self.span)
        elif last > self.end:
            self.show(last + room - self.span, self.span)


class Tick(NamedTuple):
    time: float
    label: str


class Ruler(NamedTuple):
    ticks: list[Tick]
    base: str
    """The moment that labels which begin with + count from; empty: the start of the run."""


def ruler(axis: Axis, count: float) -> Ruler:
    """About ``count`` round moments in sight, with their labels."""
    raw = axis.span / max(count, 1.0)
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(s * magnitude for s in (1.0, 2.0, 5.0, 10.0) if s * magnitude >= raw * (1 - 1e-9))
    first, last = math.ceil(axis.start / step - 1e-9), math.floor(axis.end / step + 1e-9)
    scale, unit = next((u for u in _UNITS if u[0] <= axis.span * 1.001), _UNITS[-1])
    if axis.end >= 1 and step >= 1e-3:
        scale, unit = _UNITS[0]
    if axis.end < 1000 * scale or unit == "s":
        digits = _digits(step / scale)
        return Ruler([Tick(i * step, f"{i * step / scale:.{digits}f} {unit}") for i in range(first, last + 1)], "")
    # Deep inside a run, "43 127.315 ms" can't be read off: count from a round moment at the left.
    whole = 10.0 ** math.ceil(math.log10(axis.span))
    base = math.floor(axis.start / whole + 1e-9) * whole
    scale, unit = next((u for u in _UNITS if u[0] <= (axis.end - base) * 1.001), _UNITS[-1])
    digits = _digits(step / scale)
    return Ruler([Tick(i * step, f"+{(i * step - base) / scale:.{digits}f} {unit}") for i in range(first, last + 1)],
                 f"{base:.{_digits(whole)}f} s" if base >= 1 else f"{1e3 * base:.{_digits(1e3 * whole)}f} ms")


def duration(seconds: float) -> str:
    """A length of time with a unit that suits it: 1.25 s, 58.1 ms, 0.62 ms, 3.4 µs."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-4 or seconds == 0:
        return f"{milliseconds(seconds)} ms"
    return f"{1e6 * seconds:.1f} µs"


def milliseconds(seconds: float) -> str:
    """The number alone: three significant digits where it is small, never more than one decimal where it is large."""
    value = 1e3 * seconds
    if value == 0:
        return "0"
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def clock(seconds: float) -> str:
    """A moment of a run, to the microsecond."""
    return f"{seconds:.6f} s" if seconds >= 1 else f"{1e3 * seconds:.3f} ms"


def _digits(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9))
