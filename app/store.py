"""What happened, all of it, and what is selected: the one thing every widget reads.

Records are only ever appended. The engine thread never touches the store: one timer of the window drains the thread's
queue into :meth:`Store.append`. Widgets compare :attr:`Store.revision` once a frame and repaint when it has grown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.lane_state import Cell, LaneSpec, LaneState, RoundSummary
from app.pace import Pace
from engine.debugger.history import Moment
from engine.divergence import Divergence, first_divergence
from engine.records import Record

__all__ = ["Cell", "Change", "LaneSpec", "LaneState", "Observers", "RoundSummary", "Selection", "Store"]

Change = Literal["run", "lanes", "selection", "cursor"]


@dataclass(frozen=True, slots=True)
class Selection:
    """A token (position), one draft (round and index), or a whole round (round alone) of a lane."""

    lane: str
    position: int | None = None
    round: int | None = None
    index: int | None = None


class Observers:
    """Callbacks told of rare changes (not of records: those come too fast). Plain Python, so that no window is needed.

    A callback is held strongly: whoever connects a method of a widget disconnects it before the widget goes.
    """

    def __init__(self) -> None:
        self._callbacks: list[Callable[[Change], None]] = []

    def connect(self, callback: Callable[[Change], None]) -> None:
        self._callbacks.append(callback)

    def disconnect(self, callback: Callable[[Change], None]) -> None:
        self._callbacks.remove(callback)

    def emit(self, change: Change) -> None:
        for callback in tuple(self._callbacks):
            callback(change)


class Store:
    def __init__(self) -> None:
        self.changed = Observers()
        self.run = ""
        self.revision = 0
        """Grows with every change of anything here."""
        self._records: list[Record] = []
        self._pace = Pace()
        self._lanes: dict[str, LaneState] = {}
        self._selection: Selection | None = None
        self._cursor: int | None = None

    # Lanes and records

    def begin(self, run: str, lanes: Sequence[LaneSpec]) -> None:
        """Forget everything and expect these lanes."""
        self.run = run
        self._records = []
        self._pace = Pace()
        self._lanes = {}
        self._selection = None
        self._cursor = None
        for spec in lanes:
            self._declare(spec)
        self.revision += 1
        self.changed.emit("run")

    def add_lane(self, spec: LaneSpec) -> LaneState:
        """One more lane of the same run (a branch)."""
        lane = self._declare(spec)
        self.revision += 1
        self.changed.emit("lanes")
        return lane

    def append(self, record: Record) -> bool:
        """Take a record; False if it is a late one of another run, which is dropped."""
        if record.run != self.run:
            return False
        lane = self._lanes.get(record.lane) or self.add_lane(LaneSpec(record.lane, record.lane))
        lane.append(record, len(self._records))
        self._records.append(record)
        self._pace.see(record)
        self.revision += 1
        return True

    def extend(self, records: Iterable[Record]) -> None:
        for record in records:
            self.append(record)

    @property
    def lanes(self) -> list[LaneState]:
        return list(self._lanes.values())

    def lane(self, id: str) -> LaneState | None:
        return self._lanes.get(id)

    def records(self, lane: str | None = None) -> Sequence[Record]:
        """All records in the order they came, or one lane's."""
        if lane is None:
            return self._records
        state = self._lanes.get(lane)
        return state.records if state is not None else ()

    @property
    def times(self) -> NDArray[np.float64]:
        """Of each record: seconds on the lanes' clocks, when it is shown at the measured pace."""
        return self._pace.times

    @property
    def plain(self) -> LaneState | None:
        """The lane that speed-ups are measured against."""
        return next((lane for lane in self._lanes.values() if lane.plain and lane.original is None), None)

    def speedup(self, lane: str) -> float | None:
        """Plain decoding's decode seconds per token over this lane's, each over what it has committed so far."""
        plain, state = self.plain, self._lanes.get(lane)
        if plain is None or state is None:
            return None
        reference, own = plain.totals.tokens_per_second, state.totals.tokens_per_second
        return own / reference if own and reference else None

    def divergence(self, lane: str) -> Divergence | None:
        """Where a greedy lane parts from the plain one; None while they agree. Nothing is compared twice."""
        plain, state = self.plain, self._lanes.get(lane)
        if plain is None or state is None or state is plain or plain.started is None or state.started is None:
            return None
        if any({"settings", "tokens"} & set(one.started.unknown) for one in (plain, state) if one.started is not None):
            return None
        if not state.started.settings.sampling.greedy or not plain.started.settings.sampling.greedy:
            return None
        ended = all(one.finished is not None and one.finished.reason in ("eos", "stop", "length", "context")
                    for one in (plain, state))
        found = first_divergence(state.ids, plain.ids, plain.gaps, plain.started.exactness.row_difference, ended=ended,
                                 start=state.agreed)
        if found is None:
            state.agreed = min(len(state.ids), len(plain.ids))
        return found

    def moment(self, lane: str) -> Moment | None:
        """That lane as of the cursor: the same object's worth of facts whether one came to it forwards or backwards."""
        state = self._lanes.get(lane)
        return state.moment(self._cursor) if state is not None else None

    @property
    def longest_clock(self) -> float:
        """Seconds of the lane that has run longest: the common scale of everything drawn over time."""
        return max((lane.clock for lane in self._lanes.values()), default=0.0)

    # Selection and cursor

    @property
    def selection(self) -> Selection | None:
        return self._selection

    def select(self, lane: str, position: int | None = None, round: int | None = None,
               index: int | None = None) -> None:
        self._set_selection(Selection(lane, position, round, index))

    def deselect(self) -> None:
        self._set_selection(None)

    @property
    def cursor(self) -> int | None:
        """None: now. Else the serial number of the last record that counts as having happened."""
        return self._cursor

    @cursor.setter
    def cursor(self, value: int | None) -> None:
        if value is not None and not 0 <= value < len(self._records):
            raise IndexError(f"there is no record {value} among {len(self._records)}")
        if value != self._cursor:
            self._cursor = value
            self.revision += 1
            self.changed.emit("cursor")

    def _set_selection(self, selection: Selection | None) -> None:
        if selection != self._selection:
            self._selection = selection
            self.revision += 1
            self.changed.emit("selection")

    def _declare(self, spec: LaneSpec) -> LaneState:
        look = 0 if spec.plain else 1 + sum(not lane.plain for lane in self._lanes.values())
        lane = LaneState(spec, look)
        self._lanes[spec.id] = lane
        return lane
