"""Moves the cursor over what is recorded: step by step, or at a multiple of the measured pace, either way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from app.store import Store
from engine.records import Committed, Record, RunFinished, RunStarted, Vocabulary

Grain = Literal["record", "round"]

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Of the measured pace."""

SILENT = (RunStarted, Vocabulary)
"""Records that change nothing a person could see: a step goes on past them."""

FIRST = 0
"""The cursor's first place: at least one record has happened."""

Stop = Callable[[int, int], int | None]
"""The first serial number, going from one (exclusive) to another (inclusive), at which a breakpoint hits."""


class Playback:
    """No thread, no timer: the window's frame calls :meth:`tick`. ``None`` as the store's cursor means now."""

    def __init__(self, store: Store, now: Callable[[], float] = time.perf_counter) -> None:
        self.store = store
        self.speed = 1.0
        self.direction: Literal[-1, 0, 1] = 0
        """0: it stands."""
        self.open_end = False
        """More records are being read: the last one at hand isn't now."""
        self._now = now
        self._clock = 0.0
        self._looked_at = 0.0

    # Where it is

    @property
    def place(self) -> int:
        """Serial number of the last record that counts as having happened; −1: there is none."""
        cursor = self.store.cursor
        return len(self.store.records()) - 1 if cursor is None else cursor

    @property
    def behind(self) -> bool:
        """Is there recorded future to go into?"""
        return self.store.cursor is not None

    @property
    def playing(self) -> bool:
        return self.direction != 0

    # Going

    def play(self, direction: Literal[-1, 1] = 1) -> None:
        if self.place < 0:
            return
        self.direction = direction
        self._clock = float(self.store.times[self.place])
        self._looked_at = self._now()

    def stand(self) -> None:
        self.direction = 0

    def go(self, serial: int) -> None:
        """To a record, from wherever; beyond the last one is now."""
        count = len(self.store.records())
        if count:
            now = serial >= count - 1 and not self.open_end
            self.store.cursor = None if now else max(FIRST, min(serial, count - 1))
            self._clock = float(self.store.times[self.place])

    def step(self, grain: Grain, direction: Literal[-1, 1], lane: str = "") -> bool:
        """To the next or previous step of any lane, or of one; False where there is none recorded."""
        found = self.find(grain, direction, lane)
        if found is None:
            return False
        self.go(found)
        return True

    def find(self, grain: Grain, direction: Literal[-1, 1], lane: str = "") -> int | None:
        """Where a step leads. Backwards, a round's step leads to the end of the round before."""
        ends = ends_round if grain == "round" else shows
        records = self.store.records()
        place = self.place
        if lane and (state := self.store.lane(lane)) is not None:
            index = state.moment(place).index - 1
            serials: Sequence[int] = state.serials
            own: Sequence[Record] = state.records
        else:
            index, serials, own = place, range(len(records)), records
        index += direction
        while 0 <= index < len(own):
            if ends(own[index]):
                return serials[index]
            index += direction
        if direction < 0 and place > FIRST:
            return FIRST
        last = len(records) - 1
        return last if direction > 0 and not lane and place < last else None

    def tick(self, stop: Stop) -> bool:
        """A frame has passed. True when it came to a stand: at a breakpoint, or at an end of what is recorded."""
        if self.direction == 0:
            return False
        now = self._now()
        self._clock += (now - self._looked_at) * self.speed * self.direction
        self._looked_at = now
        times, before = self.store.times, self.place
        after = int(np.searchsorted(times, self._clock, side="right")) - 1
        after = min(max(after, FIRST), len(times) - 1)
        after = max(after, before) if self.direction > 0 else min(after, before)
        if after == before and not self._at_end(before):
            return False
        hit = stop(before, after) if after != before else None
        clock = self._clock
        self.go(after if hit is None else hit)
        self._clock = clock
        if hit is not None or self._at_end(self.place):
            self.direction = 0
            return True
        return False

    def _at_end(self, place: int) -> bool:
        if self.direction < 0:
            return place <= FIRST
        return place >= len(self.store.records()) - 1 and not self.open_end


def shows(record: Record) -> bool:
    return not isinstance(record, SILENT)


def ends_round(record: Record) -> bool:
    return isinstance(record, (Committed, RunFinished))
