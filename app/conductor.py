"""What runs on screen, a live race or a recording, and how its records reach the store: one timer, once a frame."""

from __future__ import annotations

import datetime
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.engine_thread import EngineThread, Outbox, Workshop
from app.frames import Frames
from app.mishaps import details_of, explain
from app.orders import (
    Catalogue,
    Continue,
    Ended,
    Estimate,
    Estimated,
    Examine,
    Examined,
    Failed,
    GateOrder,
    Idle,
    Load,
    Loaded,
    Loading,
    Observed,
    Pause,
    Paused,
    Quit,
    Race,
    Report,
    StepRecord,
    StepRound,
    Stop,
    StopExamining,
)
from app.player import Player
from app.setup import Setup
from app.store import LaneSpec, Store
from engine.records import Committed, Record, RunStarted

FRAME_MS = 16
DRAIN_SECONDS = 0.006
"""Of a frame's 16 ms, what records may take; painting needs the rest. What isn't drained waits for the next frame."""

Phase = Literal["idle", "preparing", "running", "paused", "over"]


@dataclass(frozen=True)
class Notice:
    """Something a person should read: one sentence, and details that can be copied."""

    sentence: str
    details: str = ""
    bad: bool = True
    about: Literal["", "form", "recording"] = ""
    """What must be put right for the notice to go by itself."""


class Conductor(QObject):
    """Owns the engine thread, the player and the frame timer. Everything it says, it says on the window's thread."""

    changed = Signal()
    """The phase, the source or the loading progress: what buttons and labels depend on."""
    began = Signal()
    """Another run is on screen."""
    noticed = Signal(object)
    loaded = Signal(object)
    estimated = Signal(object)
    found = Signal(object)
    """What an examination reports."""
    frame = Signal()
    """Once a frame, after the records are in: repaint what is dirty."""

    def __init__(self, store: Store, make_workshop: Callable[[], Workshop], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.store = store
        self.frames = Frames()
        self.phase: Phase = "idle"
        self.loading: Loading | None = None
        self.recording: Path | None = None
        """The file that plays; None: what is on screen was decoded here."""
        self._player: Player | None = None
        self._outbox: Outbox = deque()
        self._thread = EngineThread(make_workshop, self._outbox)
        self._thread_started = False
        self._quitting = False
        self._run = ""
        self._estimated: Estimate | None = None
        self._numbers = itertools.count(1)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    # --- what a person can do -----------------------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        return self.recording is None

    @property
    def active(self) -> bool:
        return self.phase in ("preparing", "running", "paused")

    def preload(self, setup: Setup, trust: bool = False) -> None:
        """Say what the models need, then have the target ready before anyone asks for it."""
        self.estimate(setup, trust)
        self._order_engine(Load(setup.model(trust), setup.lanes()))

    def estimate(self, setup: Setup, trust: bool = False) -> None:
        order = Estimate(setup.model(trust), setup.lanes(), setup.prompt)
        if order != self._estimated:
            self._estimated = order
            self._order_engine(order)

    def race(self, setup: Setup, trust: bool = False, start: Literal["run", "record", "round"] = "run") -> None:
        """Begin a run, in place of whatever is on screen."""
        self._leave_current()
        self._run = f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{next(self._numbers)}"
        lanes = setup.lanes()
        self.estimate(setup, trust)
        self.store.begin(self._run, [
            LaneSpec(lane.lane, lane.settings.drafter.label, plain=lane.settings.drafter.kind == "none")
            for lane in lanes])
        self._order_engine(Race(self._run, setup.model(trust), lanes, setup.prompt, setup.chat, start))
        self.began.emit()
        self._enter("preparing")

    def play(self, path: Path) -> None:
        """Show a recording, in place of whatever is on screen."""
        from engine import trace

        self._play(trace.read(path), path)

    def _play(self, records: Iterable[Record], path: Path) -> None:
        self._leave_current()
        source = iter(records)
        try:
            opening = _opening(source)
        except Exception as error:
            self._fail_to_play(error)
            return
        if not opening:
            self.noticed.emit(Notice(f"The recording {path.name} holds no records.", about="recording"))
            return
        self.recording = path
        self._player = Player(itertools.chain(opening, source))
        self._run = opening[0].run
        self.store.begin(self._run, [
            LaneSpec(record.lane, record.title, record.about, plain=record.settings.drafter.kind == "none")
            for record in opening if isinstance(record, RunStarted)])
        self.began.emit()
        self._enter("running")

    def replay(self) -> None:
        if self.recording is not None:
            self.play(self.recording)

    def gate(self, order: GateOrder) -> None:
        """Pause, continue or step whatever is on screen."""
        if self._player is not None:
            self._player.take(order)
        else:
            self._order_engine(order)
        # A live run is paused once the engine says so: records that are under way come before that.
        if self.phase in ("running", "paused") and not (self.live and isinstance(order, Pause)):
            self._enter("paused" if isinstance(order, Pause) else "running")

    def pause(self) -> None:
        self.gate(Pause())

    def proceed(self) -> None:
        self.gate(Continue())

    def step_record(self) -> None:
        self.gate(StepRecord())

    def step_round(self) -> None:
        self.gate(StepRound())

    def stop(self) -> None:
        if self._player is not None:
            self._end_player()
        else:
            self._order_engine(Stop())

    def cancel_loading(self) -> None:
        self._order_engine(Stop())

    @property
    def decoding(self) -> bool:
        """A race has the engine: an examination would hold it up."""
        return self.live and self.phase in ("preparing", "running")

    def examine(self, order: Examine | StopExamining) -> None:
        self._order_engine(order)

    # --- the end ------------------------------------------------------------------------------------------------------

    def begin_quit(self) -> None:
        """First stage: nothing new starts and the engine is told. Safe to call again."""
        self._quitting = True
        self._timer.stop()
        if self._player is not None:
            self._player.close()
            self._player = None
        if self._thread_started:
            self._thread.send(Quit())

    def finish_quit(self, seconds: float) -> bool:
        """Last stage: False when the engine is still inside something that can't be interrupted."""
        return self._thread.join(seconds)

    # --- once a frame -------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        deadline = self.frames.began() + DRAIN_SECONDS
        if self._player is not None:
            self._feed(self._player, deadline)
        while self._outbox and time.perf_counter() < deadline:
            item = self._outbox.popleft()
            if isinstance(item, Record):
                if not self.live:
                    continue  # late ones; a recording of that very run may be on screen
                self.store.append(item)
                if item.run == self._run and self.phase in ("preparing", "paused"):
                    self._enter("running")
            else:
                self._hear(item)
        self.frame.emit()
        self.frames.ended()

    def _feed(self, player: Player, deadline: float) -> None:
        try:
            for record in player.due():
                self.store.append(record)
                if time.perf_counter() >= deadline:
                    break
        except Exception as error:  # a damaged file: what came before it stays on screen
            self._fail_to_play(error)
            self._end_player()
            return
        if player.finished:
            self._end_player()
        elif not player.gate.is_open and self.phase == "running":
            self._enter("paused")

    def _hear(self, report: Report) -> None:
        if isinstance(report, (Paused, Ended)) and (report.run != self._run or not self.live):
            return
        if isinstance(report, Failed) and report.run not in ("", self._run):
            return
        match report:
            case Loading():
                self.loading = report
                self.changed.emit()
            case Loaded():
                self.loading = None
                self.loaded.emit(report)
                self.changed.emit()
            case Estimated():
                self.estimated.emit(report)
            case Paused():
                self._enter("paused")
            case Ended():
                self.loading = None
                self._enter("over")
            case Failed():
                self.loading = None
                self.noticed.emit(Notice(report.sentence, report.details))
                self.changed.emit()
            case Idle():
                self.loading = None
                self.changed.emit()
            case Catalogue() | Observed():
                self.found.emit(report)
            case Examined():
                self.loading = None
                self.found.emit(report)
                self.changed.emit()

    # --- helpers ------------------------------------------------------------------------------------------------------

    def _order_engine(self, order: Load | Estimate | Race | Examine | StopExamining | GateOrder | Stop) -> None:
        if self._quitting:
            return
        if not self._thread_started:
            self._thread_started = True
            self._thread.start()
        self._thread.send(order)

    def _leave_current(self) -> None:
        if self._player is not None:
            self._player.close()
            self._player = None
        elif self.active:
            self._thread.send(Stop())
        self.recording = None
        self._run = ""

    def _end_player(self) -> None:
        if self._player is not None:
            self._player.close()
            self._player = None
        self._enter("over")

    def _enter(self, phase: Phase) -> None:
        if phase != self.phase:
            self.phase = phase
        self.changed.emit()

    def _fail_to_play(self, error: Exception) -> None:
        self.noticed.emit(Notice(explain(error), details_of(error), about="recording"))


def _opening(source: Iterator[Record]) -> list[Record]:
    """The records up to the first round's end: by then a race has introduced all its lanes."""
    opening: list[Record] = []
    for record in source:
        opening.append(record)
        if isinstance(record, Committed):
            break
    return opening
