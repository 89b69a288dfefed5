"""What the tests of the engine thread share: one with a workshop, what it is ordered, and what comes out."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.engine_thread import EngineThread, Outbox, Workshop
from app.orders import Branch, LaneChoice, Loaded, Loading, ModelChoice, Paused, Quit, Race, Rows, StepRound
from engine.debugger.what_if import NoChange
from engine.records import Record, RunFinished
from engine.settings import DrafterSettings, RunSettings
from tests.widgets import fake_run

LANES = tuple(LaneChoice(str(i), RunSettings(drafter=DrafterSettings(kind=kind)))
              for i, kind in enumerate(("none", "ngram")))
Started = tuple[EngineThread, Outbox]
RECORDED = tuple(fake_run.lane_records(fake_run.LOOKUP, run="trace", limit=40))


def race(run: str = "r1", **options: object) -> Race:
    return Race(run, ModelChoice(), LANES, "prompt", True, **options)  # type: ignore[arg-type]


def wait_for(condition: Callable[[], object], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)


def records(outbox: Outbox, lane: str | None = None) -> list[Record]:
    return [item for item in list(outbox) if isinstance(item, Record) and lane in (None, item.lane)]


def reports(outbox: Outbox, kind: type) -> list[object]:
    return [item for item in list(outbox) if isinstance(item, kind)]


@contextmanager
def started(make_workshop: Callable[[], Workshop], seconds: float = 5.0) -> Iterator[Started]:
    outbox: Outbox = deque()
    thread = EngineThread(make_workshop, outbox)
    thread.start()
    try:
        yield thread, outbox
    finally:
        thread.send(Quit())
        thread.send(Quit())  # twice is the same as once
        assert thread.join(seconds)


def branch(original: tuple[Record, ...] = RECORDED, lane: str = "1.1", round: int = 2, **options: object) -> Branch:
    return Branch(original[0].run, lane, f"what if {lane}", ModelChoice(), original,
                  NoChange(round=round), **options)  # type: ignore[arg-type]


def rows(original: tuple[Record, ...] = RECORDED, round: int = 1, index: int = 0) -> Rows:
    return Rows(original[0].run, ModelChoice(), original, round, index)


def endings(outbox: Outbox, lane: str) -> list[str]:
    return [r.reason for r in records(outbox, lane) if isinstance(r, RunFinished)]


def reported(outbox: Outbox) -> list[object]:
    return [item for item in list(outbox) if not isinstance(item, (Record, Loading, Loaded))]


def paused_race(thread_and_outbox: Started, rounds: int = 4) -> tuple[Record, ...]:
    """A race that waits, and all records of its drafting lane."""
    thread, outbox = thread_and_outbox
    thread.send(race(start="round"))
    wait_for(lambda: reports(outbox, Paused))
    for number in range(2, rounds + 1):
        thread.send(StepRound("1"))
        wait_for(lambda number=number: len(reports(outbox, Paused)) == number)
    return tuple(records(outbox, "1"))
