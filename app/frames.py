"""How long the window's frames take: the last ten seconds or so, for the figure that says whether it stays smooth."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

KEPT = 600


@dataclass(frozen=True)
class FrameFigures:
    frames: int
    work_median_ms: float
    work_95_ms: float
    work_worst_ms: float
    gap_median_ms: float
    gap_95_ms: float
    gap_worst_ms: float

    def __str__(self) -> str:
        return (f"{self.frames} frames: work {self.work_median_ms:.1f} ms (95 %: {self.work_95_ms:.1f}, "
                f"worst {self.work_worst_ms:.1f}), between frames {self.gap_median_ms:.1f} ms "
                f"(95 %: {self.gap_95_ms:.1f}, worst {self.gap_worst_ms:.1f})")


class Frames:
    """``began`` and ``ended`` around each frame's work."""

    def __init__(self) -> None:
        self._work: deque[float] = deque(maxlen=KEPT)
        self._gaps: deque[float] = deque(maxlen=KEPT)
        self._last: float | None = None

    def began(self) -> float:
        now = time.perf_counter()
        if self._last is not None:
            self._gaps.append(now - self._last)
        self._last = now
        return now

    def ended(self) -> None:
        if self._last is not None:
            self._work.append(time.perf_counter() - self._last)

    def forget(self) -> None:
        self._work.clear()
        self._gaps.clear()
        self._last = None

    def figures(self) -> FrameFigures | None:
        if not self._work or not self._gaps:
            return None
        return FrameFigures(len(self._work), *_spread(self._work), *_spread(self._gaps))


def _spread(seconds: deque[float]) -> tuple[float, float, float]:
    """Median, 95th percentile and largest, in milliseconds."""
    ordered = sorted(seconds)
    at = (len(ordered) // 2, min(len(ordered) - 1, int(0.95 * len(ordered))), len(ordered) - 1)
    median, high, worst = (1000 * ordered[i] for i in at)
    return median, high, worst
