"""What forwards cost here: of the target by width, and of one token by the number of layers that run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from engine.drafters.layer_skip import thinned
from engine.runner import Runner

MOST = 8
"""The longest draft that is reckoned with."""

TURNS = 12
"""The kinds of forwards take turns, so that a busy moment hits all of them; the median of each counts."""


@dataclass(frozen=True)
class Costs:
    """Seconds."""

    widths: tuple[float, ...]
    """Of a forward of the target over 1, 2 … tokens."""
    fixed: float
    """Of one token through no layer at all: embedding, output head, and what Python takes."""
    layer: float
    """Of one token through one layer more."""

    def step(self, layers: int) -> float:
        """One token through so many layers, in forwards of the target: c."""
        return (self.fixed + self.layer * layers) / self.widths[0]

    def round(self, layers: int, gamma: int) -> float:
        """γ drafts and their verification, in forwards of the target."""
        return gamma * self.step(layers) + self.widths[gamma] / self.widths[0]


def measure(model: Any, layers: int, prefix: Sequence[int], *, check: Callable[[], None] = lambda: None) -> Costs:
    """Behind ``prefix``. ``check`` is called now and then, and may raise."""
    depths = sorted({max(1, layers * part // 4) for part in (1, 2, 3, 4)})
    full = Runner(model)
    thin = [Runner(thinned(model, range(depth, layers))) for depth in depths]
    for runner in (full, *thin):
        runner.prefill(prefix)
    widths = range(1, MOST + 2)
    by_width: list[list[float]] = [[] for _ in widths]
    by_depth: list[list[float]] = [[] for _ in depths]
    for _ in range(TURNS):
        check()
        for seconds, width in zip(by_width, widths, strict=True):
            seconds.append(_seconds(full, width, len(prefix)))
        for seconds, runner in zip(by_depth, thin, strict=True):
            seconds.append(_seconds(runner, 1, len(prefix)))
    fixed, layer = _line(depths, [median(one) for one in by_depth])
    return Costs(tuple(median(one) for one in by_width), fixed, layer)


def _seconds(runner: Runner, width: int, length: int) -> float:
    runner.wait()
    began = time.perf_counter()
    runner.forward([0] * width)
    runner.wait()
    seconds = time.perf_counter() - began
    runner.cut(length)
    return seconds


def _line(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Least squares: what there is at 0, and what each one more adds; both at least 0."""
    if len(xs) < 2:
        return 0.0, ys[0] / xs[0]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)
    slope = min(max(0.0, slope), y / x)
    return y - slope * x, slope
