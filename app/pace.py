"""When records happened, on the clocks that were measured: what playing, forwards or backwards, follows."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.growing import GrowingArray
from engine.records import Committed, Drafted, Prefilled, Record, RunFinished, Verified


class LaneClock:
    """A lane's own seconds: prefill, then rounds. Within a round the drafts' and the forward's time have passed."""

    def __init__(self) -> None:
        self._round_began = 0.0
        self.now = 0.0
        self.finished = False

    def see(self, record: Record) -> float:
        """The clock's reading when this record happened."""
        match record:
            case Prefilled():
                self.now += record.target_seconds + record.drafter_seconds
                self._round_began = self.now
            case Drafted() | Verified():
                self.now += record.seconds
            case Committed():
                self.now = self._round_began = max(self.now, self._round_began + record.seconds.total)
            case RunFinished():
                self.finished = True
        return self.now


class Pace:
    """The moment of every record of a store. Lanes take turns by rounds, so a lane that is behind is shown when its
    turn comes: moments never go back."""

    def __init__(self) -> None:
        self._lanes: dict[str, LaneClock] = {}
        self._times = GrowingArray()
        self._latest = 0.0

    def see(self, record: Record) -> None:
        clock = self._lanes.get(record.lane)
        if clock is None:
            clock = self._lanes[record.lane] = LaneClock()
        self._latest = max(self._latest, clock.see(record))
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
