"""What a proof says: one :class:`Check` a claim, plain data for terminal, JSON and screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import msgspec

Group = Literal["enumeration", "statistics", "greedy identity", "row invariance", "verify rows", "caches", "counts",
                "same model", "draws", "wrong rules", "rule"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One claim, tried."""

    group: Group
    name: str
    """Unique within a proof: "draft model, γ 2"."""
    claim: str
    """What holds if it passed, in one sentence."""
    samples: int
    unit: str
    """What was counted: samples, sequences, rounds, rows."""
    statistic: str
    """What was measured, as text: "largest difference 2.2e-16", "p-value 0.31"."""
    threshold: str
    """What it had to be: "at most 1e-12"."""
    passed: bool
    seconds: float
    details: tuple[str, ...] = ()
    """Seed, table, first difference: whatever is needed to look into a failure."""


class Sampled(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment so far, for watching: how often each outcome came up, and how often it should."""

    labels: tuple[str, ...]
    """Readable outcomes, the most probable first; the last may be "all others"."""
    expected: tuple[float, ...]
    """Probability of each."""
    counts: tuple[int, ...]
    samples: int
    total_variation: float
    """½ Σ |counts / samples − expected| over all outcomes, not only those listed."""


Event = Check | Sampled


@dataclass
class Clock:
    seconds: float = 0.0


@contextmanager
def timed() -> Iterator[Clock]:
    """Wall seconds of a block, readable after it."""
    clock, begin = Clock(), time.perf_counter()
    try:
        yield clock
    finally:
        clock.seconds = time.perf_counter() - begin


Cancelled = Callable[[], bool]
"""Asked now and then by whatever takes long."""


def never() -> bool:
    return False
