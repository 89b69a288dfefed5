"""Ranges that grow in steps, so that a picture over time stands still and only now and then takes a breath."""

from __future__ import annotations

import math

_STEPS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def step_up(value: float, least: float = 1.0) -> float:
    """The smallest round number that is at least ``value`` and ``least``."""
    value = max(value, least)
    magnitude = 10.0 ** math.floor(math.log10(value))
    return next(step * magnitude for step in _STEPS if step * magnitude >= value * (1 - 1e-9))


def ticks(span: float, count: int = 5) -> list[float]:
    """Round numbers from 0 to ``span``, about ``count`` of them."""
    raw = span / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(s * magnitude for s in (1.0, 2.0, 5.0, 10.0) if s * magnitude >= raw * (1 - 1e-9))
    return [i * step for i in range(int(span / step * (1 + 1e-9)) + 1)]


def sparsely(room: float) -> int:
    """Every how many whole numbers one can be written, if it takes up the ``room`` of so many: 1, 2, 5, 10, …"""
    every = next((step for step in (1, 2, 5) if step >= room), 10)
    while every < room:
        every *= 10
    return every
