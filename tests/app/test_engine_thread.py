"""The engine thread: orders in, records and reports out, and always an end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from app.engine_thread import EngineThread, Outbox
from app.orders import (
    Continue,
    Ended,
    Estimate,
    Estimated,
    Failed,
    Idle,
    Load,
    Loaded,
    ModelChoice,
    Pause,
    Paused,
    Quit,
    StepRecord,
    StepRound,
    Stop,
)
from engine.records import Committed, RunFinished, Totals
from tests.app.fake_workshop import FakeWorkshop
from tests.app.on_thread import LANES, Started, race, records, reports, started, wait_for


@pytest.fixture
def start() -> Iterator[Callable[[FakeWorkshop], Started]]:
    with ExitStack() as stack:
        yield lambda workshop: stack.enter_context(started(lambda: workshop))


def test_a_race_runs_to_its_end(start: Callable[[FakeWorkshop], Started]) -> None:
    thread, outbox = start(FakeWorkshop())
    thread.send(race())
    wait_for(lambda: reports(outbox, Ended))
    finished = [r for r in records(outbox) if isinstance(r, RunFinished)]
    assert {r.lane: r.reason for r in finished} == {"0": "length", "1": "length"}
    assert reports(outbox, Ended) == [Ended("r1", stopped=False)]
    assert reports(outbox, Loaded)


def test_steps_stop_behind_what_they_say(start: Callable[[FakeWorkshop], Started]) -> None:
    workshop = FakeWorkshop()
    thread, outbox = start(workshop)
    thread.send(race(start="round"))
    wait_for(lambda: len(reports(outbox, Paused)) == 1)
    assert isinstance(records(outbox)[-1], Committed)
    for count in (2, 3):
        before = len(records(outbox))
        thread.send(StepRecord())
        wait_for(lambda count=count: len(reports(outbox, Paused)) == count)
        assert len(records(outbox)) == before + 1
    assert workshop.by_record[-1]
    before = sum(isinstance(r, Committed) for r in records(outbox))
    thread.send(StepRound())
    wait_for(lambda: len(reports(outbox, Paused)) == 4)
    assert sum(isinstance(r, Committed) for r in records(outbox)) == before + 1
    thread.send(Continue())
    wait_for(lambda: reports(outbox, Ended))


def test_a_pause_holds_and_a_stop_ends_every_lane(start: Callable[[FakeWorkshop], Started]) -> None:
    workshop = FakeWorkshop(pace=0.002, limit=400)
    thread, outbox = start(workshop)
    thread.send(race())
    wait_for(lambda: len(records(outbox)) > 20)
    thread.send(Pause())
    time.sleep(0.05)
    held = len(records(outbox))
    time.sleep(0.05)
    assert len(records(outbox)) == held
    thread.send(Stop())
    wait_for(lambda: reports(outbox, Ended))
    assert workshop.closed.is_set()
    endings = {r.lane: r for r in records(outbox) if isinstance(r, RunFinished)}
    assert {r.reason for r in endings.values()} == {"stopped"}
    for lane, ending in endings.items():
        totals = Totals()
        for record in records(outbox):
            if record.lane == lane:
                totals = totals.plus(record)
        assert ending.totals == totals


def test_a_new_race_takes_the_place_of_the_old(start: Callable[[FakeWorkshop], Started]) -> None:
    thread, outbox = start(FakeWorkshop(pace=0.001, limit=100))
    thread.send(race("old"))
    wait_for(lambda: len(records(outbox)) > 5)
    thread.send(race("new"))
    wait_for(lambda: Ended("new") in outbox)
    runs = [r.run for r in records(outbox)]
    assert runs == ["old"] * runs.count("old") + ["new"] * runs.count("new")


def test_loading_can_be_called_off(start: Callable[[FakeWorkshop], Started]) -> None:
    thread, outbox = start(FakeWorkshop(endless_load=True))
    thread.send(Load(ModelChoice()))
    time.sleep(0.03)
    thread.send(Stop())
    wait_for(lambda: reports(outbox, Idle))
    thread.send(race())
    time.sleep(0.03)
    thread.send(Stop())
    wait_for(lambda: reports(outbox, Ended))
    assert {r.reason for r in records(outbox) if isinstance(r, RunFinished)} == {"stopped"}


def test_a_fault_is_a_message_and_the_thread_goes_on(start: Callable[[FakeWorkshop], Started]) -> None:
    workshop = FakeWorkshop(fault="The model is upside down; turn it.")
    thread, outbox = start(workshop)
    thread.send(race())
    wait_for(lambda: reports(outbox, Ended))
    assert reports(outbox, Failed) == [Failed("The model is upside down; turn it.", "test details", "r1")]
    assert {r.message for r in records(outbox)} == {"The model is upside down; turn it."}  # type: ignore[attr-defined]
    workshop.fault = ""
    thread.send(race("r2"))
    wait_for(lambda: Ended("r2") in outbox)


def test_a_workshop_that_cannot_be_made_is_a_message() -> None:
    outbox: Outbox = deque()

    def broken() -> FakeWorkshop:
        raise ImportError("no torch here")

    thread = EngineThread(broken, outbox)
    thread.start()
    thread.send(Load(ModelChoice()))
    wait_for(lambda: reports(outbox, Failed))
    thread.send(Quit())
    assert thread.join(5.0)
    assert "no torch here" in reports(outbox, Failed)[0].sentence  # type: ignore[attr-defined]


def test_estimates_wait_for_the_end_of_a_run(start: Callable[[FakeWorkshop], Started]) -> None:
    thread, outbox = start(FakeWorkshop(pace=0.002, limit=30))
    thread.send(race())
    wait_for(lambda: len(records(outbox)) > 3)
    thread.send(Estimate(ModelChoice(), LANES))
    wait_for(lambda: reports(outbox, Estimated))
    assert any(isinstance(item, Ended) for item in list(outbox)[:list(outbox).index(reports(outbox, Estimated)[0])])


def test_orders_without_a_run_do_nothing(start: Callable[[FakeWorkshop], Started]) -> None:
    thread, outbox = start(FakeWorkshop())
    for order in (Continue(), Pause(), StepRecord(), StepRound(), Stop()):
        thread.send(order)
    thread.send(Load(ModelChoice()))
    wait_for(lambda: reports(outbox, Loaded))
    assert not records(outbox)
