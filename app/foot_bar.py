"""At the foot of Race and Debug: the playback controls and where one is in what is recorded."""

from __future__ import annotations

from bisect import bisect_right

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.actions import Actions
from app.activity import Activity
from app.conductor import Conductor
from app.debugger import Debugger
from app.growing import GrowingArray
from app.playback import SPEEDS
from app.store import Store
from app.theme import Theme
from engine.records import Committed
from widgets.scrubber import Scrubber
from widgets.transport import Transport

BUTTONS = {
    "to_start": "go.to_start", "breakpoint_back": "go.last_stop", "round_back": "go.back_round",
    "record_back": "go.back_record", "play_back": "go.play_back", "pause": "run.pause", "play": "go.play",
    "record": "run.step_record", "round": "run.step_round", "breakpoint": "go.next_stop", "to_end": "go.to_end",
}
"""The places of the transport, and the actions that stand there."""


class FootBar(QFrame):
    moved = Signal()
    """The person went somewhere."""

    def __init__(self, store: Store, conductor: Conductor, debugger: Debugger, theme: Theme, actions: Actions,
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._conductor = conductor
        self._debugger = debugger
        self.one_lane = False
        """Debug goes through the records of one lane, Race through those of all."""
        self._ends = GrowingArray()
        self._scanned = 0
        self.transport = Transport(theme, {place: actions[name] for place, name in BUTTONS.items()}, SPEEDS)
        self.scrubber = Scrubber(theme)
        self.activity = Activity()
        self.activity.cancelled.connect(conductor.cancel_loading)
        self.activity.hide()
        self._row = QHBoxLayout(self)
        self._row.addWidget(self.transport)
        self._row.addWidget(self.scrubber, 3)
        self._row.addWidget(self.activity, 1)
        self.transport.speed_wanted.connect(self.set_speed)
        self.scrubber.moved.connect(self._on_moved)
        self.set_theme(theme)

    def set_speed(self, speed: float) -> None:
        self._conductor.playback.speed = speed
        self.transport.show_speed(speed)

    def change_speed(self, places: int) -> None:
        """To a neighbour among the speeds."""
        place = bisect_right(SPEEDS, self._conductor.playback.speed) - 1 + places
        self.set_speed(SPEEDS[max(0, min(place, len(SPEEDS) - 1))])

    @property
    def wanted(self) -> bool:
        """Is there anything to go through, or to wait for where nothing else says so?"""
        return bool(self._store.records()) or (self.one_lane and self._conductor.loading is not None)

    def refresh(self) -> None:
        loading = self._conductor.loading if self.one_lane else None  # Race says it at its own foot
        self.activity.setVisible(loading is not None)
        if not self.isVisible():
            return
        self.activity.show_loading(loading)
        live = self._conductor.live and self._conductor.decoding and self._store.cursor is None
        if self.one_lane:
            self._show_lane(live)
        else:
            self._show_race(live)

    def _show_lane(self, live: bool) -> None:
        lane, moment = self._debugger.lane, self._debugger.moment
        if lane is None or moment is None:
            self.scrubber.show_place(0, 0, "nothing recorded yet")
            return
        history = lane.history
        words = f"record {moment.index:,} of {len(history):,}"
        if moment.round is not None:
            words += f" · round {moment.round.round + 1:,}"
        self.scrubber.show_place(moment.index, len(history), f"{words} · {moment.phase}", history.rejections,
                                 self._debugger.stops(), rounds=history.ends, live=live)

    def _show_race(self, live: bool) -> None:
        records = self._store.records()
        if self._scanned > len(records):
            self._ends, self._scanned = GrowingArray(), 0
        for place in range(self._scanned, len(records)):
            if isinstance(records[place], Committed):
                self._ends.append((place,))
        self._scanned = len(records)
        place = self._conductor.playback.place + 1
        seconds = float(self._store.times[place - 1]) if place else 0.0
        ends = self._ends.column(0)
        timed = all(lane.knows("seconds") for lane in self._store.lanes)
        clock = f" · {seconds:.2f} s" if timed else ""
        self.scrubber.show_place(place, len(records), f"record {place:,} of {len(records):,}{clock}",
                                 rounds=ends, live=live)  # type: ignore[arg-type]  # an array is a sequence too

    def _on_moved(self, index: int) -> None:
        lane = self._debugger.lane
        if self.one_lane and lane is not None:
            self._debugger.show(lane, index)
        else:
            self._conductor.go(max(0, index - 1))
        self.moved.emit()

    def set_theme(self, theme: Theme) -> None:
        self.transport.set_theme(theme)
        self.scrubber.set_theme(theme)
        self._row.setContentsMargins(theme.px(14), 0, theme.px(14), theme.px(6))
        self._row.setSpacing(theme.px(14))
