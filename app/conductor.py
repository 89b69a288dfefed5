"""What runs on screen, a live race or a recording, and how its records reach the store: one timer, once a frame."""

from __future__ import annotations

import datetime
import itertools
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.branches import Branches
from app.engine_line import EngineLine
from app.engine_thread import Workshop
from app.frames import Frames
from app.mishaps import details_of, explain
from app.notice import Notice
from app.orders import (
    Branch,
    Branched,
    Cancel,
    Catalogue,
    Continue,
    Ended,
    Estimate,
    Estimated,
    Examine,
    Examined,
    Failed,
    Idle,
    Leave,
    Load,
    Loaded,
    Loading,
    ModelChoice,
    Observed,
    Pause,
    Paused,
    Race,
    Report,
    Rows,
    RowsFailed,
    RowsFound,
    StepRecord,
    StepRound,
    Stop,
    StopExamining,
    Watch,
)
from app.playback import Grain, Playback
from app.recording import Recording
from app.setup import Setup
from app.store import LaneSpec, Store
from engine import methods
from engine.debugger.breakpoints import Breakpoint
from engine.debugger.what_if import AnyChange
from engine.records import Record

FRAME_MS = 16
DRAIN_SECONDS = 0.006
"""Of a frame's 16 ms, what records may take; painting needs the rest. What isn't drained waits for the next frame."""

Phase = Literal["idle", "preparing", "running", "paused", "over"]


class Conductor(QObject):
    """Owns the engine thread, the recording that is read, and the frame timer. All it says, it says on the window's
    thread. What has been recorded is gone through by the playback; only beyond it does the engine run."""

    changed = Signal()
    """The phase, the source or the loading progress: what buttons and labels depend on."""
    began = Signal()
    """Another run is on screen."""
    noticed = Signal(object)
    loaded = Signal(object)
    estimated = Signal(object)
    found = Signal(object)
    """What an examination reports."""
    hit = Signal(object)
    """:class:`app.orders.Paused` with the breakpoints that stopped the engine."""
    answered = Signal(object)
    """Whole rows that were asked for, or why there are none; or the end of a branch."""
    frame = Signal()
    """Once a frame, after the records are in: repaint what is dirty."""

    def __init__(self, store: Store, make_workshop: Callable[[], Workshop], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.store = store
        self.playback = Playback(store)
        self.stop_between: Callable[[int, int], int | None] = lambda before, after: None
        """Where a breakpoint stops the playback; the debugger's."""
        self.frames = Frames()
        self.loading: Loading | None = None
        self.recording: Path | None = None
        """The file on screen; None: what is on screen was decoded here."""
        self._engine: Phase = "idle"
        """What the engine is doing, or would be: a recording is over from its start."""
        self._reading: Recording | None = None
        """The file, as long as it isn't read to its end."""
        self._branches = Branches()
        self._loaded: Loaded | None = None
        self._target: ModelChoice | None = None
        self._line = EngineLine(make_workshop)
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
    def phase(self) -> Phase:
        """As a person sees it: going through what is recorded counts as running, standing in it as paused."""
        if self.playback.playing:
            return "running"
        if self.playback.behind:
            return "paused"
        return self._engine

    @property
    def live(self) -> bool:
        return self.recording is None

    @property
    def active(self) -> bool:
        return self.phase in ("preparing", "running", "paused")

    @property
    def decoding(self) -> bool:
        """A race has the engine: an examination would hold it up."""
        return self._engine in ("preparing", "running")

    @property
    def reading(self) -> bool:
        """More of the recording is to come."""
        return self._reading is not None

    @property
    def branching(self) -> bool:
        """A branch is under way, be it paused: there is none beside it."""
        return bool(self._branches.under_way)

    def preload(self, setup: Setup, trust: bool = False) -> None:
        """Say what the models need, then have the target ready before anyone asks for it."""
        self.estimate(setup, trust)
        self._line.order(Load(setup.model(trust), setup.lanes()))

    def estimate(self, setup: Setup, trust: bool = False) -> None:
        order = Estimate(setup.model(trust), setup.lanes(), setup.prompt)
        if order != self._estimated:
            self._estimated = order
            self._line.order(order)

    def race(self, setup: Setup, trust: bool = False, start: Literal["run", "record", "round"] = "run") -> None:
        """Begin a run, in place of whatever is on screen."""
        self._leave_current()
        self._run = f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{next(self._numbers)}"
        self._target = setup.model(trust)
        lanes = setup.lanes()
        self.estimate(setup, trust)
        self.store.begin(self._run, [
            LaneSpec(lane.lane, drafter.label, methods.method(drafter.kind).guess, plain=drafter.kind == "none",
                     kind=drafter.kind)
            for lane in lanes for drafter in (lane.settings.drafter,)])
        self._line.order(Race(self._run, self._target, lanes, setup.prompt, setup.chat, start))
        self.began.emit()
        self._enter("preparing")

    def play(self, path: Path) -> None:
        """Show a recording, in place of whatever is on screen."""
        from app.opening import open_records

        try:
            records = open_records(path)
        except Exception as error:
            self._leave_current()
            self._fail_to_play(error)
            return
        self._play(records, path)

    def _play(self, records: Iterable[Record], path: Path) -> None:
        self._leave_current()
        try:
            recording = Recording(records)
        except Exception as error:
            self._fail_to_play(error)
            return
        if recording.empty:
            self.noticed.emit(Notice(f"The recording {path.name} holds no records.", about="recording"))
            return
        self.recording = path
        self._reading = recording
        self._run = recording.run
        self._engine = "over"
        self.store.begin(self._run, recording.lanes)
        self.playback.open_end = True
        self._read(time.perf_counter() + DRAIN_SECONDS)
        self.playback.go(0)
        self.playback.play()
        self.began.emit()
        self.changed.emit()

    def replay(self) -> None:
        """From the start again: what is recorded is at hand."""
        self.playback.go(0)
        self.playback.play()
        self.changed.emit()

    def play_backwards(self) -> None:
        self._hold_engine()
        self.playback.play(-1)
        self.changed.emit()

    def pause(self) -> None:
        if self.playback.playing:
            self.playback.stand()
            self.changed.emit()
        else:
            self._line.order(Pause())  # a live run is paused once the engine says so: behind records under way

    def proceed(self) -> None:
        """On from where the cursor is; beyond the end the engine runs."""
        if self.playback.behind:
            self.playback.play()
            self.changed.emit()
        elif self._engine == "paused":
            self._line.order(Continue())
            self._enter("running")

    def go(self, serial: int) -> None:
        """To a record; the end is now."""
        self.playback.stand()
        if serial < len(self.store.records()) - 1:
            self._hold_engine()
        self.playback.go(serial)
        self.changed.emit()

    def step(self, grain: Grain, lane: str = "") -> None:
        """Forwards, of any lane or of one. Past the end of what is recorded the engine runs."""
        self.playback.stand()
        if self.playback.behind and self.playback.step(grain, 1, lane):
            self.changed.emit()
            return
        self.playback.go(len(self.store.records()) - 1)
        if self._engine in ("paused", "running"):
            self._line.order(StepRecord(lane) if grain == "record" else StepRound(lane))
            self._enter("running")
        self.changed.emit()

    def step_back(self, grain: Grain, lane: str = "") -> None:
        self.playback.stand()
        self._hold_engine()
        self.playback.step(grain, -1, lane)
        self.changed.emit()

    def stop(self) -> None:
        """End the run; a recording stands where it is."""
        if self.playback.playing:
            self.playback.stand()
            self.changed.emit()
        if self._branches.under_way:
            self._line.order(Stop(self._branches.under_way))  # the race that it interrupted stays
        elif self._engine in ("preparing", "running", "paused"):
            self._line.order(Stop())

    def cancel_loading(self) -> None:
        self._line.order(Cancel())

    def examine(self, order: Examine | StopExamining) -> None:
        self._line.order(order)

    # --- the debugger's questions -------------------------------------------------------------------------------------

    def watch(self, breakpoints: tuple[Breakpoint, ...]) -> None:
        if self._line.begun or any(one.enabled for one in breakpoints):
            self._line.order(Watch(breakpoints))

    def branch(self, original: str, change: AnyChange) -> str:
        """What if? Another lane, from that change on; returns its id."""
        lane = self.store.lane(original)
        assert lane is not None
        new = self._branches.begin(original, self._numbers, {one.id for one in self.store.lanes})
        plain = self.store.plain
        self._hold_engine()
        self.playback.stand()
        self.store.add_lane(LaneSpec(new, f"{lane.title}, branch", lane.about, plain=False, original=original))
        self._line.order(Branch(self._run, new, f"{lane.title}, branch", self._target_of(original), tuple(lane.records),
                           change, plain_ids=tuple(plain.ids) if plain is not None else None))
        self._enter("preparing")
        return new

    def ask_rows(self, lane: str, round: int, index: int) -> None:
        """The whole p and q of a position: answered by :attr:`answered`."""
        state = self.store.lane(lane)
        if state is not None:
            self._hold_engine()
            self._line.order(Rows(self._run, self._target_of(lane), tuple(state.records), round, index))

    def _target_of(self, lane: str) -> ModelChoice:
        """What decodes this lane: of a recording, what it says itself."""
        state = self.store.lane(lane)
        if self._target is not None or state is None or state.started is None:
            return self._target or ModelChoice()
        info, loaded = state.started.target, self._loaded
        if loaded is not None and (loaded.info.fingerprint, loaded.info.dtype) == (info.fingerprint, info.dtype):
            return loaded.target
        return ModelChoice(source=info.source or "builtin", dtype=info.dtype, device="auto")

    # --- the end ------------------------------------------------------------------------------------------------------

    def begin_quit(self) -> None:
        """First stage: nothing new starts and the engine is told. Safe to call again."""
        self._timer.stop()
        self._reading = None
        self._line.close()

    def finish_quit(self, seconds: float) -> bool:
        """Last stage: False when the engine is still inside something that can't be interrupted."""
        return self._line.ended(seconds)

    # --- once a frame -------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        deadline = self.frames.began() + DRAIN_SECONDS
        if self._reading is not None:
            self._read(deadline)
        for item in self._line.heard(deadline):
            if isinstance(item, Record):
                self._take(item)
            else:
                self._hear(item)
        if self.playback.tick(self.stop_between):
            self._at_stand()
        self.frame.emit()
        self.frames.ended()

    def _read(self, deadline: float) -> None:
        """Of the recording, as much as the frame has time for."""
        assert self._reading is not None
        try:
            for record in self._reading.read(deadline):
                self.store.append(record)
            if not self._reading.over:
                return
        except Exception as error:  # a damaged file: what came before it stays on screen
            self._fail_to_play(error)
        self._reading = None
        self.playback.open_end = False
        self.changed.emit()

    def _take(self, record: Record) -> None:
        """A record of the engine's. Late ones are dropped, even while a recording of that very run is on screen."""
        if not self.live and record.lane not in self._branches:
            return
        if self.store.append(record) and self._engine in ("preparing", "paused"):
            self._enter("running")

    def _at_stand(self) -> None:
        """The playback has come to the end of what is recorded, or to a breakpoint."""
        if not self.playback.behind and self.live and self._engine == "paused":
            self._line.order(Continue())
            self._enter("running")
        self.changed.emit()

    def _hear(self, report: Report) -> None:
        if isinstance(report, (Paused, Ended, Branched, RowsFound, RowsFailed)) and report.run != self._run:
            return
        if isinstance(report, Failed) and report.run not in ("", self._run):
            return
        match report:
            case Loading():
                self.loading = report
                self.changed.emit()
            case Loaded():
                self._loaded = report
                self.loading = None
                self.loaded.emit(report)
                self.changed.emit()
            case Estimated():
                self.estimated.emit(report)
            case Paused():
                self._enter("paused")
                if report.hits:
                    self.hit.emit(report)
            case Ended():
                self.loading = None
                self._enter("over")
            case Branched() | RowsFound() | RowsFailed():
                self.loading = None
                if isinstance(report, Branched) and self._branches.end(report.lane):
                    self._enter("over")  # or paused: what it interrupted says so next
                self.answered.emit(report)
                self.changed.emit()
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

    def _hold_engine(self) -> None:
        """Who looks back wants no more records meanwhile."""
        if self._engine == "running":
            self._line.order(Pause())

    def _leave_current(self) -> None:
        if self._branches.under_way or self._engine in ("preparing", "running", "paused"):
            self._line.order(Leave())
        self._reading = None
        self._branches = Branches()
        self._target = None
        self.playback.stand()
        self.playback.open_end = False
        self.recording = None
        self._run = ""

    def _enter(self, phase: Phase) -> None:
        self._engine = phase
        self.changed.emit()

    def _fail_to_play(self, error: Exception) -> None:
        self.noticed.emit(Notice(explain(error), details_of(error), about="recording"))
