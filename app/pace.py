"""When records happened, on the clocks that were measured: what playing, forwards or backwards, follows."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.growing import GrowingArray
from engine.records import Committed, Drafted, Prefilled, Record, RunFinished, RunStarted, Verified

NO_TIMES = 0.1
"""Seconds a round is played at where its file tells no times. Nowhere shown as a figure."""


class LaneClock:
    """A lane's own seconds: prefill, then rounds. Within a round the drafts' and the forward's time have passed."""

    def __init__(self) -> None:
        self._round_began = 0.0
        self._untimed = False
        self.now = 0.0
        self.finished = False

    def see(self, record: Record) -> float:
        """The clock's reading when this record happened."""
        match record:
            case RunStarted():
                self._untimed = "seconds" in record.unknown
            case Prefilled():
                self.now += record.target_seconds + record.drafter_seconds
                self._round_began = self.now
            case Drafted() | Verified():
                self.now += record.seconds
            case Committed() if self._untimed:
                self.now += NO_TIMES
            case Committed():
                self.now = self._round_began = max(self.now, self._round_began + record.seconds.total)
            case RunFinished():
                self.finished = True
        return self.now


class Pace:
    """The moment of every record of a store. Lanes take turns by rounds, so a lane that is behind is shown when its
    turn comes: moments never go back. A branch, made later, is shown from then on; what it copied takes no time."""

    def __init__(self) -> None:
        self._lanes: dict[str, LaneClock] = {}
        self._copying: dict[str, int] = {}
        """Branches that still repeat their original's rounds, and the first that is their own."""
        self._later: dict[str, float] = {}
        """By how much a branch's own clock is behind what has been shown when it began."""
        self._times = GrowingArray()
        self._latest = 0.0

    def see(self, record: Record) -> None:
        lane = record.lane
        clock = self._lanes.get(lane)
        if clock is None:
            clock = self._lanes[lane] = LaneClock()
        if isinstance(record, RunStarted) and record.branch is not None:
            self._copying[lane] = record.branch.round
        before, now = clock.now, clock.see(record)
        if lane in self._copying and getattr(record, "round", -1) >= self._copying[lane]:
            del self._copying[lane]
            self._later[lane] = self._latest - before
        if lane not in self._copying:
            self._latest = max(self._latest, now + self._later.get(lane, 0.0))
        self._times.append((self._latest,))

    @property
    def times(self) -> NDArray[np.float64]:
        """Seconds, one a record; valid until the next one."""
        return self._times.column(0)


def in_order(records: Iterator[Record]) -> Iterator[Record]:
    """The records of a race in the order of the lanes' clocks, so that on screen all lanes move together. A file is
    read only a little ahead of what is wanted. A reader's error is passed on behind all that was read before it."""
    lanes: dict[str, LaneClock] = {}
    ahead: list[tuple[float, int, Record]] = []
    fault: Exception | None = None
    count = 0
    while True:
        # A race writes the lane that is furthest behind next, so all that follows is later than the slowest clock.
        running = [clock.now for clock in lanes.values() if not clock.finished]
        while ahead and running and ahead[0][0] < min(running):
            yield heapq.heappop(ahead)[2]
        try:
            record = next(records, None)
        except Exception as error:
            fault, record = error, None
        if record is None:
            break
        heapq.heappush(ahead, (lanes.setdefault(record.lane, LaneClock()).see(record), count, record))
        count += 1
    while ahead:
        yield heapq.heappop(ahead)[2]
    if fault is not None:
        raise fault
