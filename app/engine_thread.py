"""The thread on which models load and decode, so that the window never waits for either.

Orders come in through a queue, records and reports go out through a deque; nothing here knows Qt. The gate needs no
lock and no condition: while it is shut the thread simply waits for the next order. What is ordered in the middle of a
race is done in the middle of it: clocks count only the lanes' own compute, so the race can wait.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from app.inbox import MAKING_WAY, Inbox
from app.mishaps import details_of, explain
from app.orders import (
    Branch,
    Branched,
    Cancel,
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
    Order,
    Pause,
    Paused,
    Quit,
    Race,
    Report,
    Rows,
    RowsFailed,
    StepRecord,
    StepRound,
    Stop,
    StopExamining,
    Watch,
)
from app.passage import Passage, Unfinished
from engine.debugger.breakpoints import Breakpoint
from engine.errors import Cancelled
from engine.records import Record

SWITCH_SECONDS = 0.001
"""How long a busy Python thread may keep the interpreter to itself: short, or the window stutters."""

Outbox = deque[Record | Report]
_Tell = Callable[[Loading], None]
_Cancelled = Callable[[], bool]
_URGENT = (Race, Branch, Continue, StepRecord, StepRound, Stop, Cancel, Leave, Quit)
"""What an examination makes way for."""


class Workshop(Protocol):
    """Does the work. The real one is ``app.workshop``; tests bring their own."""

    def load(self, order: Load, tell: _Tell, cancelled: _Cancelled) -> Loaded: ...

    def race(self, order: Race, tell: _Tell, cancelled: _Cancelled, by_record: Callable[[], bool]
             ) -> Iterator[Record | Report]: ...

    def branch(self, order: Branch, tell: _Tell, cancelled: _Cancelled, by_record: Callable[[], bool]
               ) -> Iterator[Record | Report]: ...

    def rows(self, order: Rows, tell: _Tell, cancelled: _Cancelled) -> Report: ...

    def estimate(self, order: Estimate) -> Estimated: ...

    def examine(self, order: Examine, tell: _Tell, cancelled: _Cancelled) -> Iterator[Report]: ...


@dataclass(frozen=True)
class _Outcome:
    """How a race or a branch ended, besides by itself."""

    stopped: bool = False
    sentence: str = ""
    details: str = ""


class EngineThread:
    """Owns one thread. :meth:`send` never blocks; :meth:`join` is for the very end."""

    def __init__(self, make_workshop: Callable[[], Workshop], outbox: Outbox) -> None:
        self._make_workshop = make_workshop
        self._workshop: Workshop | None = None
        self._outbox = outbox
        self._inbox = Inbox()
        self._breakpoints: tuple[Breakpoint, ...] = ()
        self._under_way: list[Passage] = []
        """A race, and in the middle of it a branch."""
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
        while not isinstance(order := self._inbox.next(), Quit):
            try:
                self._obey(order)
            except Cancelled:
                self._report(Idle())
            except Exception as error:
                self._report(Failed(explain(error), details_of(error)))

    def _obey(self, order: Order) -> None:
        match order:
            case Load():
                self._report(self._made().load(order, self._report, self._cancelled))
            case Race():
                self._race(order)
            case Branch():
                self._branch(order)
            case Rows():
                self._rows(order)
            case Watch():
                self._watch(order)
            case Estimate() if not any(isinstance(later, Estimate) for later in self._inbox):
                self._report(self._made().estimate(order))
            case Examine():
                self._examine(order)
            case _:
                pass  # a gate order that comes after the run's end

    def _made(self) -> Workshop:
        if self._workshop is None:
            self._workshop = self._make_workshop()
        return self._workshop

    # Races and branches

    def _race(self, order: Race) -> None:
        passage = Passage(order, self._breakpoints)
        outcome = self._let_through(passage, lambda: self._made().race(
            order, self._report, self._cancelled, passage.gate.by_record))
        if outcome.sentence:
            self._report(Failed(outcome.sentence, outcome.details, order.run))
        self._end(passage.unfinished, outcome)
        self._report(Ended(order.run, outcome.stopped))
        self._answer_postponed()

    def _branch(self, order: Branch) -> None:
        """On its own, or while a race waits; not in the middle of another one."""
        around = self._under_way[-1] if self._under_way else None
        passage = Passage(order, self._breakpoints, around)

        def cancelled() -> bool:
            return any(isinstance(later, (*MAKING_WAY, Cancel))
                       or (isinstance(later, Stop) and later.lane in ("", order.lane))
                       for later in self._inbox)

        if around is not None and around.branch:
            outcome = _Outcome(sentence=f"Another branch is under way, so {order.title} has to wait; let that one run "
                                        "to its end or stop it first.")
        else:
            if around is not None:
                around.gate.take(Pause())
            outcome = self._let_through(passage, lambda: self._made().branch(
                order, self._report, cancelled, passage.gate.by_record))
            if cancelled():
                self._inbox.drop_for(order.lane)
        self._end(passage.unfinished, outcome)
        self._report(Branched(order.run, order.lane, outcome.stopped, outcome.sentence, outcome.details))
        if around is None:
            self._answer_postponed()
        elif not around.gate.is_open and not any(isinstance(later, MAKING_WAY) for later in self._inbox):
            self._report(Paused(around.run))

    def _let_through(self, passage: Passage, begin: Callable[[], Iterator[Record | Report]]) -> _Outcome:
        """Records go out as far as the gate lets them."""
        self._under_way.append(passage)
        try:
            items = begin()
            try:
                while self._attend(passage):
                    item = next(items, None)
                    if item is None:
                        return _Outcome()
                    self._outbox.append(item)
                    if isinstance(item, Record) and (paused := passage.passed(item)) is not None:
                        self._report(paused)
                return _Outcome(stopped=True)
            finally:
                _close(items)
        except Cancelled:
            return _Outcome(stopped=True)
        except Exception as error:
            return _Outcome(sentence=explain(error), details=details_of(error))
        finally:
            self._under_way.pop()

    def _attend(self, passage: Passage) -> bool:
        """To the orders that concern what is under way, waiting while the gate is shut. False: end it."""
        while not self._inbox.empty or not passage.gate.is_open:
            match order := self._inbox.next():
                case Continue() | Pause() | StepRecord() | StepRound():
                    if passage.branch and isinstance(order, (StepRecord, StepRound)):
                        order = type(order)()  # it has one lane only
                    passage.gate.take(order)
                    if not passage.gate.is_open:
                        self._report(Paused(passage.run))
                case Load() | Race() | Leave() | Quit():
                    self._inbox.put_back(order)
                    return False
                case Stop() if order.lane in ("", passage.branch):
                    return False
                case Branch():
                    self._branch(order)
                case Rows():
                    self._rows(order)
                case Watch():
                    self._watch(order)
                case Examine():
                    self._examine(order)
                case Estimate():
                    self._postponed = order  # answered after the run: it must not cost the race any time
        return True

    def _end(self, lanes: Unfinished, outcome: _Outcome) -> None:
        self._outbox.extend(lanes.endings("error" if outcome.sentence else "stopped", outcome.sentence,
                                          outcome.details))

    def _answer_postponed(self) -> None:
        if self._postponed is not None:
            self._inbox.postpone(self._postponed)
            self._postponed = None

    # Questions in between

    def _watch(self, order: Watch) -> None:
        self._breakpoints = order.breakpoints
        for passage in self._under_way:
            passage.lookout.watch(order.breakpoints)

    def _rows(self, order: Rows) -> None:
        def cancelled() -> bool:
            return any(isinstance(later, (*MAKING_WAY, Stop, Cancel)) for later in self._inbox)

        failed = RowsFailed(order.run, lane=order.original[0].lane if order.original else "", round=order.round,
                            index=order.index)
        try:
            self._report(self._made().rows(order, self._report, cancelled))
        except Cancelled:
            self._report(failed)
        except Exception as error:
            self._report(replace(failed, sentence=explain(error), details=details_of(error)))

    def _examine(self, order: Examine) -> None:
        """Until it is done, or told to stop, or something is ordered that needs the thread more."""
        def cancelled() -> bool:
            return any(isinstance(later, _URGENT) or later == StopExamining(order.id) for later in self._inbox)

        end = Examined(order.id)
        try:
            events = self._made().examine(order, self._report, cancelled)
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
                _close(events)
        except Cancelled:
            end = Examined(order.id, stopped=True)
        except Exception as error:
            end = Examined(order.id, sentence=explain(error), details=details_of(error))
        self._report(end)

    def _cancelled(self) -> bool:
        """Has anything been ordered that makes the load under way pointless?"""
        return any(isinstance(order, (Cancel, Leave, Quit)) or (isinstance(order, Stop) and not order.lane)
                   for order in self._inbox)

    def _report(self, report: Report) -> None:
        self._outbox.append(report)


def _close(items: Iterator[object]) -> None:
    if close := getattr(items, "close", None):
        close()
