"""What is being debugged, where to stop, and where one is: the state behind the Debug perspective.

It moves the cursor through the conductor and knows no widget. Breakpoints are looked up in what is recorded; the engine
thread has its own watcher for what is still to come.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal

from app.conductor import Conductor
from app.lane_state import LaneState
from app.orders import Paused
from app.playback import Grain
from app.store import Change, Store
from engine.debugger.breakpoints import Breakpoint, fresh_id
from engine.debugger.combined import AnyCondition
from engine.debugger.history import Moment
from engine.debugger.scene import Around
from engine.debugger.watcher import Trail, count_stops
from widgets.breakpoint_row import BreakpointRow

LOOK = 200
"""Records searched for breakpoints at a time, ahead of being asked."""
AT_ONCE_SECONDS, SEEK_SECONDS = 0.1, 0.01
"""What a search for a breakpoint may take when it is asked for, and in each frame after that."""
LOOK_SECONDS = 0.003
"""Of a frame's 16 ms, what that may take."""


class Debugger(QObject):
    changed = Signal()
    """Breakpoints, hits or the lane in view."""

    def __init__(self, store: Store, conductor: Conductor, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.store = store
        self.conductor = conductor
        self.breakpoints: tuple[Breakpoint, ...] = ()
        self.fired: frozenset[str] = frozenset()
        """Breakpoints that made it stand where it stands."""
        self.fired_at: int | None = None
        self._lane = ""
        self._trails: dict[str, Trail] = {}
        self._seeking: Literal[-1, 0, 1] = 0
        """On the way to a breakpoint that is still searched for."""
        conductor.stop_between = self.stop_between
        conductor.hit.connect(self._on_hit)
        conductor.began.connect(self._on_began)
        conductor.frame.connect(self._seek_on)
        store.changed.connect(self._on_store)

    def close(self) -> None:
        self.store.changed.disconnect(self._on_store)

    # --- the lane in view ---------------------------------------------------------------------------------------------

    @property
    def lane(self) -> LaneState | None:
        """The one that was chosen, or the first that drafts."""
        chosen = self.store.lane(self._lane)
        if chosen is not None:
            return chosen
        lanes = self.store.lanes
        return next((lane for lane in lanes if not lane.plain), lanes[0] if lanes else None)

    @property
    def moment(self) -> Moment | None:
        lane = self.lane
        return lane.moment(self.store.cursor) if lane is not None else None

    def choose(self, lane: str) -> None:
        """A lane that begins behind the cursor, as branches do, is shown where it leaves its original."""
        if lane == self._lane:
            return
        self._lane = lane
        state = self.store.lane(lane)
        if state is not None and state.serials and not state.moment(self.store.cursor).index:
            origin = state.started.branch if state.started is not None else None
            ends = state.history.ends
            self.show(state, ends[min(origin.round, len(ends) - 1)] + 1 if origin is not None and ends else 1)
        self.changed.emit()

    def show(self, lane: LaneState, index: int) -> None:
        """Go to a moment of a lane: ``index`` of its records have happened (or one, if nothing else had before)."""
        if lane.serials:
            self.conductor.go(lane.serials[min(index, len(lane.serials)) - 1] if index > 0 else lane.serials[0] - 1)

    def show_round(self, lane: LaneState, number: int) -> None:
        """To the end of a round, unless it is the one on screen anyway."""
        moment, history = lane.moment(self.store.cursor), lane.history
        if number < len(history.ends) and (moment.round is None or moment.round.round != number):
            self.show(lane, history.ends[number] + 1)

    # --- stepping -----------------------------------------------------------------------------------------------------

    def step(self, grain: Grain) -> None:
        self._forget_hit()
        self.conductor.step(grain, self.lane.id if self.lane is not None else "")

    def step_back(self, grain: Grain) -> None:
        self._forget_hit()
        self.conductor.step_back(grain, self.lane.id if self.lane is not None else "")

    def next_stop(self) -> None:
        """To the next breakpoint; where none is recorded, the engine runs until one is hit or all is said."""
        self._seek(1)

    def last_stop(self) -> None:
        """Back to the breakpoint before; to the beginning where there is none."""
        self._seek(-1)

    def _seek(self, direction: Literal[-1, 1]) -> None:
        """Most runs are searched at once; a very long one goes on from frame to frame, so that the window never waits.
        Whatever moves the cursor meanwhile calls it off."""
        self._seeking = direction
        self._seek_on(AT_ONCE_SECONDS)

    def _seek_on(self, seconds: float = SEEK_SECONDS) -> None:
        direction = self._seeking
        if direction == 0:
            return
        place, end = self.conductor.playback.place, time.perf_counter() + seconds
        behind = [lane for lane in self.store.lanes if not self._looked(lane, place, direction)]
        while behind and time.perf_counter() < end:
            behind = [lane for lane in behind
                      if self._trail(lane).look(LOOK) and not self._looked(lane, place, direction)]
        if behind:
            return
        self._seeking = 0
        found = self._nearest(place, direction)
        if found is not None:
            self.conductor.go(found[0])
            self._note_hit(*found)
            return
        self._forget_hit()
        if direction < 0:
            self.conductor.go(0)
        else:
            self.conductor.go(len(self.store.records()) - 1)
            self.conductor.proceed()

    def _looked(self, lane: LaneState, place: int, direction: int) -> bool:
        """Is it known where this lane's nearest stop is, without searching?"""
        trail, moment = self._trail(lane), bisect_right(lane.serials, place)
        if direction < 0:
            return trail.seen >= moment
        return bool(trail.moments) and trail.moments[-1] > moment

    def stop_between(self, before: int, after: int) -> int | None:
        """For the playback: the first stop on its way. Going on from a breakpoint doesn't stop at it again."""
        found = self._nearest(before, 1 if after > before else -1, after)
        if found is None:
            return None
        serial, lane, fired = found
        if min(before, after) <= serial <= max(before, after):
            self._note_hit(serial, lane, fired)
            return serial
        return None

    def _nearest(self, place: int, direction: int, until: int | None = None
                 ) -> tuple[int, str, Sequence[Breakpoint]] | None:
        """Serial number, lane and breakpoints of the nearest stop in any lane. ``until``: none is wanted beyond it."""
        if not any(one.enabled for one in self.breakpoints):
            return None
        best = None
        for lane in self.store.lanes:
            moment = bisect_right(lane.serials, place)
            trail = self._trail(lane)
            if direction < 0 and not (moment and lane.serials[moment - 1] == place):
                moment += 1  # its last record lies before the place, so it may be where to stop
            last = None if until is None else bisect_right(lane.serials, until)
            stop = trail.after(moment, last) if direction > 0 else trail.before(moment)
            if stop is None:
                continue
            serial = lane.serials[stop[0] - 1]
            if best is None or (serial < best[0] if direction > 0 else serial > best[0]):
                best = serial, lane.id, stop[1]
        return best

    def _note_hit(self, serial: int, lane: str, fired: Sequence[Breakpoint]) -> None:
        self.fired, self.fired_at = frozenset(one.id for one in fired), serial
        self._lane = lane
        self.changed.emit()

    def _forget_hit(self) -> None:
        if self.fired:
            self.fired, self.fired_at = frozenset(), None
            self.changed.emit()

    def _on_hit(self, paused: Paused) -> None:
        """The engine stopped at one: what it had recorded by then stays in sight, and nothing later."""
        lane = self.store.lane(paused.lane)
        if lane is not None and 0 < paused.index <= len(lane.serials):
            self.fired, self.fired_at = frozenset(paused.hits), lane.serials[paused.index - 1]
            self._lane = paused.lane
            self.conductor.go(self.fired_at)
            self.changed.emit()

    # --- breakpoints --------------------------------------------------------------------------------------------------

    def set_breakpoints(self, breakpoints: Sequence[Breakpoint]) -> None:
        self.breakpoints = tuple(breakpoints)
        self._trails = {}
        self._seeking = 0
        self.conductor.watch(self.breakpoints)
        self.changed.emit()

    def add(self, condition: AnyCondition) -> Breakpoint:
        made = Breakpoint(id=fresh_id(self.breakpoints), condition=condition)
        self.set_breakpoints((*self.breakpoints, made))
        return made

    def put(self, breakpoint: Breakpoint) -> None:
        """A new one, or in the place of the one with its id."""
        known = [one.id for one in self.breakpoints]
        if breakpoint.id in known:
            self.set_breakpoints([breakpoint if one.id == breakpoint.id else one for one in self.breakpoints])
        else:
            self.set_breakpoints((*self.breakpoints, breakpoint))

    def remove(self, id: str) -> None:
        self.set_breakpoints([one for one in self.breakpoints if one.id != id])

    def toggle(self, id: str) -> None:
        self.set_breakpoints([replace(one, enabled=not one.enabled) if one.id == id else one
                              for one in self.breakpoints])

    def find(self, id: str) -> Breakpoint | None:
        return next((one for one in self.breakpoints if one.id == id), None)

    def count(self, breakpoint: Breakpoint) -> int | None:
        """How often it would have stopped in what is recorded; None while nothing is."""
        if not self.store.records():
            return None
        return sum(count_stops(lane.history, breakpoint, self._around(lane)) for lane in self.store.lanes)

    def rows(self) -> tuple[BreakpointRow, ...]:
        """For the list, with how often each has stopped up to the cursor, as far as was looked."""
        hits = {one.id: sum(self._trail(lane).stops_of(one.id, lane.moment(self.store.cursor).index)
                            for lane in self.store.lanes) for one in self.breakpoints}
        titles = {lane.id: lane.title for lane in self.store.lanes}
        return tuple(BreakpointRow(one.id, one.words, one.enabled, hits.get(one.id, 0), one.id in self.fired,
                                   titles.get(one.lane, one.lane)) for one in self.breakpoints)

    def look_ahead(self) -> None:
        """Once a frame: search a little further, so that the list and the scrubber know before anyone asks."""
        if not any(one.enabled for one in self.breakpoints):
            return
        waiting = [self._trail(lane) for lane in self.store.lanes]
        end = time.perf_counter() + LOOK_SECONDS
        while waiting and time.perf_counter() < end:
            waiting = [trail for trail in waiting if time.perf_counter() < end and trail.look(LOOK)]

    def stops(self) -> Sequence[int]:
        """Of the lane in view: the moments at which a breakpoint stops, as far as was looked; grows."""
        lane = self.lane
        return self._trail(lane).moments if lane is not None else ()

    def _trail(self, lane: LaneState) -> Trail:
        if lane.id not in self._trails:
            self._trails[lane.id] = Trail(lane.history, self.breakpoints, self._around(lane))
        return self._trails[lane.id]

    def _around(self, lane: LaneState) -> Around:
        plain = self.store.plain
        return Around(plain_ids=plain.ids if plain is not None and plain is not lane else None,
                      eos=lane.started.eos if lane.started is not None else ())

    # --- what happens elsewhere ---------------------------------------------------------------------------------------

    def _on_began(self) -> None:
        self._trails = {}
        self.fired, self.fired_at = frozenset(), None
        self.conductor.watch(self.breakpoints)
        self.changed.emit()

    def _on_store(self, change: Change) -> None:
        if change == "run":
            self._trails = {}
            self._lane = ""
            self.changed.emit()
        elif change == "lanes":
            self.changed.emit()
        elif change == "cursor":
            self._seeking = 0
