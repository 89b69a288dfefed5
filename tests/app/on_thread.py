"""What the tests of the engine thread share: one with a workshop, what it is ordered, and what comes out."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.engine_thread import EngineThread, Outbox, Workshop
from app.orders import LaneChoice, ModelChoice, Quit, Race
from engine.records import Record
from engine.settings import DrafterSettings, RunSettings

LANES = tuple(LaneChoice(str(i), RunSettings(drafter=DrafterSettings(kind=kind)))
              for i, kind in enumerate(("none", "ngram")))
Started = tuple[EngineThread, Outbox]


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
