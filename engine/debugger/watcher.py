"""Which breakpoints stop where: while a run is made, and when looking through what has been recorded.

Both count hits from the run's first record, so a run stops at the same records forwards, backwards and live.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Literal

from engine.debugger.breakpoints import Breakpoint
from engine.debugger.history import History
from engine.debugger.scene import NOTHING_AROUND, Around, Scene
from engine.records import Record

Stop = tuple[int, tuple[Breakpoint, ...]]
"""A moment, and the breakpoints that stop there."""


class _Counter:
    """A breakpoint in one lane, with its hits so far."""

    def __init__(self, breakpoint: Breakpoint) -> None:
        self.breakpoint = breakpoint
        self.fires = breakpoint.condition.fires
        self.stops = breakpoint.hits.stops
        self.hits = 0


class _Pass:
    """One pass through a lane's records."""

    def __init__(self, history: History, breakpoints: Sequence[Breakpoint], around: Around) -> None:
        self.scene = Scene(history, around)
        self.counters = [_Counter(one) for one in breakpoints if one.applies_to(history.lane)]
        self._of: dict[type[Record], list[_Counter]] = {}
        for counter in self.counters:
            for kind in counter.breakpoint.condition.kinds:
                self._of.setdefault(kind, []).append(counter)

    def step(self, record: Record) -> tuple[Breakpoint, ...]:
        """Those that stop at the next record."""
        scene = self.scene
        scene.push(record)
        concerned = self._of.get(type(record))
        if concerned is None:
            return ()
        stopping = None
        for counter in concerned:
            if counter.fires(scene, record):
                counter.hits += 1
                if counter.stops(counter.hits):
                    stopping = [*(stopping or ()), counter.breakpoint]
        return tuple(stopping) if stopping else ()


class Watcher:
    """For the thread that makes the records: :meth:`see` after each. Change breakpoints by making another; it counts
    what has happened already."""

    def __init__(self, breakpoints: Sequence[Breakpoint], around: Mapping[str, Around] | None = None) -> None:
        """``around``: by lane, looked up when the lane is first seen; its ``plain_ids`` may grow meanwhile."""
        self.breakpoints = tuple(breakpoints)
        self._around = {} if around is None else around
        self._passes: dict[str, _Pass] = {}

    def see(self, history: History) -> tuple[Breakpoint, ...]:
        """Those that stop at the lane's last record; () when it has been seen before."""
        one = self._passes.get(history.lane)
        if one is None or one.scene.history is not history:
            one = _Pass(history, self.breakpoints, self._around.get(history.lane, NOTHING_AROUND))
            self._passes[history.lane] = one
        stopping: tuple[Breakpoint, ...] = ()
        while one.scene.seen < len(history.records):
            stopping = one.step(history.records[one.scene.seen])
        return stopping

    @property
    def counts(self) -> dict[str, int]:
        """Hits of each breakpoint, by id, in all lanes."""
        counts = {one.id: 0 for one in self.breakpoints}
        for lane in self._passes.values():
            for counter in lane.counters:
                counts[counter.breakpoint.id] += counter.hits
        return counts


class Trail:
    """The moments (in records that have happened) at which breakpoints stop, looked up as far as they are asked for and
    remembered. The history may grow; make another for other breakpoints, or when what is ``around`` has changed."""

    def __init__(self, history: History, breakpoints: Sequence[Breakpoint], around: Around = NOTHING_AROUND) -> None:
        self._pass = _Pass(history, breakpoints, around)
        self._moments: list[int] = []
        self._stopping: list[tuple[Breakpoint, ...]] = []
        self._by_id: dict[str, list[int]] = {}

    def after(self, moment: int, last: int | None = None) -> Stop | None:
        """The nearest stop after a moment. ``last``: the search goes no further than there."""
        place = bisect_right(self._moments, moment)
        while place == len(self._moments):
            if (last is not None and self._pass.scene.seen >= last) or not self._step():
                return None
            place = bisect_right(self._moments, moment)
        return self._moments[place], self._stopping[place]

    def before(self, moment: int) -> Stop | None:
        """The nearest stop before a moment."""
        while self._pass.scene.seen < moment - 1 and self._step():
            pass
        place = bisect_left(self._moments, moment) - 1
        return (self._moments[place], self._stopping[place]) if place >= 0 else None

    def look(self, records: int) -> bool:
        """Search that many records further: a long run a little at a time, so that no one waits. False at the end."""
        return all(self._step() for _ in range(records))

    @property
    def seen(self) -> int:
        """Records searched."""
        return self._pass.scene.seen

    @property
    def moments(self) -> Sequence[int]:
        """All stops found so far, in order; grows."""
        return self._moments

    def stops_of(self, id: str, until: int) -> int:
        """How often that breakpoint has stopped by then, among the stops found so far."""
        return bisect_right(self._by_id.get(id, ()), until)

    def _step(self) -> bool:
        """One record further; False at the end."""
        scene = self._pass.scene
        if not self._pass.counters or scene.seen >= len(scene.history.records):
            return False
        stopping = self._pass.step(scene.history.records[scene.seen])
        if stopping:
            self._moments.append(scene.seen)
            self._stopping.append(stopping)
            for one in stopping:
                self._by_id.setdefault(one.id, []).append(scene.seen)
        return True


def search(history: History, breakpoints: Sequence[Breakpoint], start: int, direction: Literal[1, -1],
           around: Around = NOTHING_AROUND) -> Stop | None:
    """The nearest stop after (1) or before (−1) the moment ``start``. Keep a :class:`Trail` to ask often."""
    trail = Trail(history, breakpoints, around)
    return trail.after(start) if direction > 0 else trail.before(start)


def hit_counts(history: History, breakpoints: Sequence[Breakpoint], around: Around = NOTHING_AROUND,
               until: int | None = None) -> dict[str, int]:
    """Hits by id up to the moment ``until``, whether or not their rule stops there."""
    one = _Pass(history, breakpoints, around)
    if one.counters:
        for record in history.records[:until]:
            one.step(record)
    return {one.id: 0 for one in breakpoints} | {counter.breakpoint.id: counter.hits for counter in one.counters}


def count_stops(history: History, breakpoint: Breakpoint, around: Around = NOTHING_AROUND) -> int:
    """How often it would have stopped in what has been recorded."""
    trail, moment, count = Trail(history, [breakpoint], around), 0, 0
    while (stop := trail.after(moment)) is not None:
        moment = stop[0]
        count += 1
    return count
