"""Plays a recording at the pace that was measured: each record appears when its own lane's clock reaches it.

All lanes move together, as in a live race. The file is read only as far as the clock has come.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator

from app.gate import Gate
from app.orders import GateOrder
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


class Player:
    """Feeds the records of one recording through a gate of its own, so that it pauses and steps like a live run."""

    def __init__(self, records: Iterator[Record], *, now: Callable[[], float] = time.perf_counter) -> None:
        self._records = records
        self._now = now
        self._clock = 0.0
        self._looked_at = now()
        self._lanes: dict[str, LaneClock] = {}
        self._ahead: list[tuple[float, int, Record]] = []
        self._count = 0
        self._read_all = False
        self.speed = 1.0
        self.gate = Gate("run")

    @property
    def finished(self) -> bool:
        return self._read_all and not self._ahead

    def take(self, order: GateOrder) -> None:
        self._advance()  # the time up to now counts under the old mode
        self.gate.take(order)

    def due(self) -> Iterator[Record]:
        """The records whose moment has come. Take as many as the frame has time for; the rest stay due."""
        self._advance()
        while self.gate.is_open:
            self._read_ahead()
            if not self._ahead:
                return
            stamp = self._ahead[0][0]
            if self.gate.mode == "run":
                if stamp > self._clock:
                    return
            else:  # a step: time jumps to the record
                self._clock = max(self._clock, stamp)
            record = heapq.heappop(self._ahead)[2]
            self.gate.passed(record)
            yield record

    def close(self) -> None:
        if close := getattr(self._records, "close", None):
            close()

    def _advance(self) -> None:
        now = self._now()
        if self.gate.mode == "run":
            self._clock += (now - self._looked_at) * self.speed
        self._looked_at = now

    def _read_ahead(self) -> None:
        """Until nothing still unread can have happened before what is at hand.

        A race writes the lane that is furthest behind next, so all that follows is later than the slowest lane's clock.
        """
        while not self._read_all:
            running = [clock.now for clock in self._lanes.values() if not clock.finished]
            horizon = max(self._clock, self._ahead[0][0]) if self._ahead else self._clock
            if self._ahead and running and min(running) > horizon:
                return
            record = next(self._records, None)
            if record is None:
                self._read_all = True
                return
            stamp = self._lanes.setdefault(record.lane, LaneClock()).see(record)
            heapq.heappush(self._ahead, (stamp, self._count, record))
            self._count += 1
