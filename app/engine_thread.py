"""The thread on which models load and decode, so that the window never waits for either.

Orders come in through a queue, records and reports go out through a deque; nothing here knows Qt. The gate needs no
lock and no condition: while it is shut the thread simply waits for the next order.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from app.gate import Gate
from app.mishaps import details_of, explain
from app.orders import (
    Continue,
    Ended,
    Estimate,
    Estimated,
    Examine,
    Examined,
    Failed,
    Idle,
    Load,
    Loaded,
    Loading,
    Order,
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
from engine.errors import Cancelled
from engine.records import Committed, Record, RunFinished, StopReason, Totals

SWITCH_SECONDS = 0.001
"""How long a busy Python thread may keep the interpreter to itself: short, or the window stutters."""

Outbox = deque[Record | Report]
_Tell = Callable[[Loading], None]
_Cancelled = Callable[[], bool]
_URGENT = (Race, Continue, StepRecord, StepRound, Stop, Quit)
"""What an examination makes way for."""


class Workshop(Protocol):
    """Does the work. The real one is ``app.workshop``; tests bring their own."""

    def load(self, order: Load, tell: _Tell, cancelled: _Cancelled) -> Loaded: ...

    def race(self, order: Race, tell: _Tell, cancelled: _Cancelled, by_record: Callable[[], bool]
             ) -> Iterator[Record | Report]: ...

    def estimate(self, order: Estimate) -> Estimated: ...

    def examine(self, order: Examine, tell: _Tell, cancelled: _Cancelled) -> Iterator[Report]: ...


class _Unfinished:
    """What each lane has come to, so that a stopped run ends every lane with a record of its own."""

    def __init__(self, order: Race) -> None:
        self._run = order.run
        self._totals = {choice.lane: Totals() for choice in order.lanes}
        self._texts: dict[str, list[str]] = {choice.lane: [] for choice in order.lanes}

    def see(self, record: Record) -> None:
        if isinstance(record, RunFinished):
            self._totals.pop(record.lane, None)
        elif record.lane in self._totals:
            self._totals[record.lane] = self._totals[record.lane].plus(record)
            if isinstance(record, Committed):
                self._texts[record.lane] += record.texts

    def endings(self, reason: StopReason, message: str = "", details: str = "") -> list[RunFinished]:
        return [RunFinished(run=self._run, lane=lane, reason=reason, message=message, text="".join(self._texts[lane]),
                            totals=totals, details=details) for lane, totals in self._totals.items()]


class EngineThread:
    """Owns one thread. :meth:`send` never blocks; :meth:`join` is for the very end."""

    def __init__(self, make_workshop: Callable[[], Workshop], outbox: Outbox) -> None:
        self._make_workshop = make_workshop
        self._outbox = outbox
        self._inbox: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._waiting: deque[Order] = deque()
        self._postponed: Estimate | None = None
        # A daemon, so that a forward that can't be interrupted never keeps a closed program alive; see desktop.py.
        self._thread = threading.Thread(target=self._main, name="engine", daemon=True)

    def start(self) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        self._thread.start()

    def send(self, order: Order) -> None:
        self._inbox.put(order)

    def join(self, seconds: float) -> bool:
        """Wait for the end; False when the thread is still at work after that long."""
        if self._thread.ident is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    # --- on the thread ------------------------------------------------------------------------------------------------

    def _main(self) -> None:
        workshop: Workshop | None = None
        while True:
            order = self._next_order()
            try:
                if workshop is None and isinstance(order, (Load, Race, Estimate, Examine)):
                    workshop = self._make_workshop()
                if workshop is not None:
                    self._obey(order, workshop)
            except Cancelled:
                self._report(Idle())
            except Exception as error:
                self._report(Failed(explain(error), details_of(error)))
            if isinstance(order, Quit):
                return

    def _obey(self, order: Order, workshop: Workshop) -> None:
        match order:
            case Load():
                self._report(workshop.load(order, self._report, self._cancelled))
            case Race():
                self._race(order, workshop)
            case Estimate() if not self._superseded(order):
                self._report(workshop.estimate(order))
            case Examine():
                self._examine(order, workshop)
            case _:
                pass  # a gate order that comes after the run's end

    def _race(self, order: Race, workshop: Workshop) -> None:
        gate = Gate(order.start)
        lanes = _Unfinished(order)
        stopped = False
        try:
            records = workshop.race(order, self._report, self._cancelled, gate.by_record)
            try:
                while not (stopped := not self._may_go_on(gate, order.run, workshop)):
                    record = next(records, None)
                    if record is None:
                        break
                    self._outbox.append(record)
                    if isinstance(record, Record):
                        lanes.see(record)
                        gate.passed(record)
                        if not gate.is_open:
                            self._report(Paused(order.run))
            finally:
                if close := getattr(records, "close", None):
                    close()
        except Cancelled:
            stopped = True
            self._outbox.extend(lanes.endings("stopped"))
        except Exception as error:
            failed = Failed(explain(error), details_of(error), order.run)
            self._report(failed)
            self._outbox.extend(lanes.endings("error", failed.sentence, failed.details))
        else:
            self._outbox.extend(lanes.endings("stopped"))
        self._report(Ended(order.run, stopped))
        if self._postponed is not None:
            self._waiting.append(self._postponed)
            self._postponed = None

    def _may_go_on(self, gate: Gate, run: str, workshop: Workshop) -> bool:
        """Attend to the orders that concern a run under way, waiting while the gate is shut. False: end the run."""
        self._collect()
        while self._waiting or not gate.is_open:
            order = self._next_order()
            if isinstance(order, (Continue, Pause, StepRecord, StepRound)):
                gate.take(order)
                if isinstance(order, Pause):
                    self._report(Paused(run))
            elif isinstance(order, (Load, Race, Quit)):
                self._waiting.appendleft(order)  # done next, and the run makes way for it
                return False
            elif isinstance(order, Stop):
                return False
            elif isinstance(order, Estimate):
                self._postponed = order  # answered after the run: it must not cost the race any time
            elif isinstance(order, Examine):
                self._examine(order, workshop)  # clocks count only the lanes' own compute, so the race can wait
        return True

    def _examine(self, order: Examine, workshop: Workshop) -> None:
        """Until it is done, or told to stop, or something is ordered that needs the thread more."""
        def cancelled() -> bool:
            self._collect()
            return any(isinstance(later, _URGENT) or later == StopExamining(order.id) for later in self._waiting)

        end = Examined(order.id)
        try:
            events = workshop.examine(order, self._report, cancelled)
            try:
                while not cancelled():
                    report = next(events, None)
                    if report is None:
                        end = Examined(order.id, stopped=cancelled())
                        break
                    self._report(report)
                else:
                    end = Examined(order.id, stopped=True)
            finally:
                if close := getattr(events, "close", None):
                    close()
        except Cancelled:
            end = Examined(order.id, stopped=True)
        except Exception as error:
            end = Examined(order.id, sentence=explain(error), details=details_of(error))
        self._report(end)

    def _next_order(self) -> Order:
        return self._waiting.popleft() if self._waiting else self._inbox.get()

    def _collect(self) -> None:
        while True:
            try:
                self._waiting.append(self._inbox.get_nowait())
            except queue.Empty:
                return

    def _cancelled(self) -> bool:
        """Has anything been ordered that makes the load under way pointless?"""
        self._collect()
        return any(isinstance(order, (Stop, Quit)) for order in self._waiting)

    def _superseded(self, order: Estimate) -> bool:
        self._collect()
        return any(isinstance(later, Estimate) for later in self._waiting)

    def _report(self, report: Report) -> None:
        self._outbox.append(report)
