"""Branches on the engine thread: on their own, and in the middle of a race that waits."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from app.orders import (
    Branched,
    Cancel,
    Continue,
    Ended,
    Estimate,
    Estimated,
    Examine,
    Examined,
    Failed,
    Leave,
    Load,
    Loaded,
    Loading,
    ModelChoice,
    Pause,
    Paused,
    RowsFailed,
    Rules,
    StepRecord,
    StepRound,
    Stop,
    StopExamining,
    Trial,
    Watch,
)
from app.trials import RIGHT
from engine.debugger.breakpoints import Breakpoint
from engine.debugger.conditions import AnyRejection
from engine.records import Committed, Drafted, Judged, Record, RunFinished, Totals
from tests.app.fake_workshop import FakeWorkshop
from tests.app.on_thread import (
    LANES,
    RECORDED,
    Started,
    branch,
    endings,
    paused_race,
    race,
    records,
    reported,
    reports,
    rows,
    started,
    wait_for,
)


@pytest.fixture
def paced() -> Iterator[Started]:
    with started(lambda: FakeWorkshop(pace=0.002, limit=100)) as both:
        yield both


@pytest.fixture
def quick() -> Iterator[Started]:
    with started(FakeWorkshop) as both:
        yield both


def test_on_its_own(quick: Started) -> None:
    thread, outbox = quick
    thread.send(branch())
    wait_for(lambda: reports(outbox, Branched))
    assert isinstance(outbox[0], Loading)
    assert outbox[-1] == Branched("trace", "1.1")
    assert reported(outbox) == [Branched("trace", "1.1")]
    assert {(r.run, r.lane) for r in records(outbox)} == {("trace", "1.1")}
    assert len(records(outbox)) == len(RECORDED)
    thread.send(Load(ModelChoice()))
    wait_for(lambda: reports(outbox, Loaded))  # it waits for orders as before


def test_a_race_waits_for_it_and_goes_on(quick: Started) -> None:
    thread, outbox = quick
    original = paused_race(quick)
    before = len(outbox)
    thread.send(branch(original))
    wait_for(lambda: reports(outbox, Branched))
    wait_for(lambda: outbox[-1] == Paused("r1"))
    nested = list(outbox)[before:]
    assert {item.lane for item in nested if isinstance(item, Record)} == {"1.1"}
    assert nested[-2:] == [Branched("r1", "1.1"), Paused("r1")]
    assert endings(outbox, "1.1") == ["length"]
    thread.send(Continue())
    wait_for(lambda: reports(outbox, Ended))
    alone = records_alone()
    assert [(r.lane, type(r)) for r in records(outbox) if r.lane != "1.1"] == alone


def records_alone() -> list[tuple[str, type]]:
    with started(FakeWorkshop) as (thread, outbox):
        thread.send(race())
        wait_for(lambda: reports(outbox, Ended))
        return [(r.lane, type(r)) for r in records(outbox)]


def test_a_race_that_runs_is_paused_for_it(paced: Started) -> None:
    thread, outbox = paced
    thread.send(race())
    wait_for(lambda: sum(isinstance(r, Committed) for r in records(outbox, "1")) > 3)
    thread.send(branch(tuple(records(outbox, "1"))))
    wait_for(lambda: reports(outbox, Branched))
    wait_for(lambda: outbox[-1] == Paused("r1"))
    time.sleep(0.03)
    assert outbox[-1] == Paused("r1")


def test_gate_orders_are_for_the_branch(quick: Started) -> None:
    thread, outbox = quick
    original = paused_race(quick)
    race_stands_at = len(records(outbox))
    count = len(reports(outbox, Paused)) + 1
    thread.send(branch(original, start="record"))
    wait_for(lambda: len(reports(outbox, Paused)) == count)
    first = records(outbox)[-1]
    assert isinstance(first, Drafted)  # what is copied goes by without a stop
    assert first.round == 2
    assert reports(outbox, Paused)[-1] == Paused("r1", "1.1", len(records(outbox, "1.1")))
    for order in (StepRecord(), StepRecord("0"), StepRecord("1.1")):
        before, count = len(records(outbox)), count + 1
        thread.send(order)
        wait_for(lambda count=count: len(reports(outbox, Paused)) == count)
        assert len(records(outbox)) == before + 1
    thread.send(StepRound("0"))
    wait_for(lambda: len(reports(outbox, Paused)) == count + 1)
    assert isinstance(records(outbox)[-1], Committed)
    thread.send(Continue())
    wait_for(lambda: reports(outbox, Branched))
    assert len(records(outbox)) - len(records(outbox, "1.1")) == race_stands_at


def test_pause_and_stop_are_for_the_branch(paced: Started) -> None:
    thread, outbox = paced
    original = paused_race(paced)
    thread.send(branch(original))
    wait_for(lambda: len(records(outbox, "1.1")) > 30)
    count = len(reports(outbox, Paused))
    thread.send(Pause())
    wait_for(lambda: len(reports(outbox, Paused)) > count)
    thread.send(Stop())
    thread.send(Stop())  # a second click
    wait_for(lambda: reports(outbox, Branched))
    assert reports(outbox, Branched) == [Branched("r1", "1.1", stopped=True)]
    ending, = (r for r in records(outbox, "1.1") if isinstance(r, RunFinished))
    totals = Totals()
    for record in records(outbox, "1.1"):
        totals = totals.plus(record)
    assert (ending.reason, ending.totals) == ("stopped", totals)
    wait_for(lambda: outbox[-1] == Paused("r1"))
    thread.send(Stop("1.1"))  # too late, and not for the race
    thread.send(StepRound("1.1"))
    stands_at, count = len(records(outbox)), len(reports(outbox, Paused))
    wait_for(lambda: len(reports(outbox, Paused)) > count)
    assert len(records(outbox)) == stands_at
    thread.send(StepRecord())
    wait_for(lambda: isinstance(outbox[-1], Paused) and outbox[-1].lane)
    thread.send(Stop())
    wait_for(lambda: reports(outbox, Ended))


def test_stop_while_it_is_restored_is_for_the_branch_with_all_before_it() -> None:
    with started(lambda: FakeWorkshop(endless_restore=True)) as both:
        thread, outbox = both
        original = paused_race(both)
        stands_at = len(records(outbox))
        thread.send(branch(original))
        wait_for(lambda: isinstance(outbox[-1], Loading))
        thread.send(Continue())
        thread.send(Estimate(ModelChoice(), LANES))
        thread.send(Stop())
        wait_for(lambda: reports(outbox, Branched))
        assert reports(outbox, Branched) == [Branched("r1", "1.1", stopped=True)]
        assert endings(outbox, "1.1") == ["stopped"]
        time.sleep(0.03)
        assert outbox[-1] == Paused("r1")
        assert len(records(outbox)) == stands_at + 1
        thread.send(Continue())
        wait_for(lambda: reports(outbox, Estimated))
        assert reports(outbox, Ended) == [Ended("r1")]


@pytest.mark.parametrize("restoring", [True, False])
def test_another_race_ends_it_and_what_it_interrupted(restoring: bool) -> None:
    with started(lambda: FakeWorkshop(pace=0.001, endless_restore=restoring)) as both:
        thread, outbox = both
        original = paused_race(both)
        thread.send(branch(original))
        wait_for(lambda: isinstance(outbox[-1], Loading) if restoring else len(records(outbox, "1.1")) > 20)
        thread.send(Continue())
        thread.send(race("r2"))
        wait_for(lambda: Ended("r2") in outbox)
        ends = [item for item in reported(outbox) if isinstance(item, (Branched, Ended, Failed))]
        assert ends == [Branched("r1", "1.1", stopped=True), Ended("r1", stopped=True), Ended("r2")]
        assert endings(outbox, "1.1") == ["stopped"]
        assert [r.reason for r in records(outbox) if isinstance(r, RunFinished) and r.run == "r1"] == ["stopped"] * 3
        assert not any(isinstance(r, Paused) for r in list(outbox)[outbox.index(Branched("r1", "1.1", True)):])


@pytest.mark.parametrize("nested", [True, False])
def test_quitting_ends_it(nested: bool) -> None:
    with started(lambda: FakeWorkshop(endless_restore=True)) as both:
        thread, outbox = both
        thread.send(branch(paused_race(both) if nested else RECORDED))
        wait_for(lambda: outbox and isinstance(outbox[-1], Loading))
    assert len(reports(outbox, Branched)) == 1
    assert len(reports(outbox, Ended)) == nested


def test_leaving_ends_it_and_what_it_interrupted(quick: Started) -> None:
    thread, outbox = quick
    thread.send(branch(paused_race(quick), start="round"))
    wait_for(lambda: len(reports(outbox, Paused)) == 5)
    thread.send(Leave())
    wait_for(lambda: reports(outbox, Ended))
    assert reports(outbox, Branched) == [Branched("r1", "1.1", stopped=True)]
    assert reports(outbox, Ended) == [Ended("r1", stopped=True)]


def test_cancelling_calls_off_the_restoring_only() -> None:
    with started(lambda: FakeWorkshop(endless_restore=True)) as both:
        thread, outbox = both
        thread.send(branch(paused_race(both)))
        wait_for(lambda: isinstance(outbox[-1], Loading))
        thread.send(Cancel())
        thread.send(Cancel())  # a second click
        wait_for(lambda: reports(outbox, Branched))
        wait_for(lambda: outbox[-1] == Paused("r1"))
        thread.send(Continue())
        wait_for(lambda: reports(outbox, Ended) == [Ended("r1")])


def test_a_second_one_is_refused(quick: Started) -> None:
    thread, outbox = quick
    thread.send(branch(start="round"))
    wait_for(lambda: reports(outbox, Paused))
    thread.send(branch(lane="1.2"))
    wait_for(lambda: reports(outbox, Branched))
    refused, = reports(outbox, Branched)
    assert isinstance(refused, Branched)
    assert refused.lane == "1.2"
    assert "what if 1.2" in refused.sentence
    assert endings(outbox, "1.2") == ["error"]
    assert endings(outbox, "1.1") == []
    thread.send(Continue())
    wait_for(lambda: reports(outbox, Branched)[-1] == Branched("trace", "1.1"))


def test_what_cannot_be_made_is_a_sentence_and_the_race_stays(quick: Started) -> None:
    thread, outbox = quick
    original = paused_race(quick)
    thread.send(branch(original, round=100))
    wait_for(lambda: reports(outbox, Branched))
    wait_for(lambda: outbox[-1] == Paused("r1"))
    failed, = reports(outbox, Branched)
    assert isinstance(failed, Branched)
    assert "Round 101" in failed.sentence
    finished, = (r for r in records(outbox, "1.1") if isinstance(r, RunFinished))
    assert (finished.reason, finished.message) == ("error", failed.sentence)
    thread.send(Continue())
    wait_for(lambda: reports(outbox, Ended) == [Ended("r1")])


def test_without_a_workshop_it_is_a_sentence() -> None:
    def broken() -> FakeWorkshop:
        raise ImportError("no torch here")

    with started(broken) as (thread, outbox):
        thread.send(branch())
        thread.send(rows())
        thread.send(race())
        wait_for(lambda: reports(outbox, Ended))
        for kind in (Branched, RowsFailed, Failed):
            one, = reports(outbox, kind)
            assert "no torch here" in one.sentence  # type: ignore[attr-defined]


def test_a_breakpoint_stops_the_branch_in_its_own_rounds(quick: Started) -> None:
    thread, outbox = quick
    thread.send(Watch((Breakpoint(id="b", condition=AnyRejection()),)))
    rejected = [i for i, r in enumerate(RECORDED) if isinstance(r, Judged) and not r.accepted]
    second = RECORDED[rejected[1]]
    assert isinstance(second, Judged)
    thread.send(branch(round=second.round))
    wait_for(lambda: reports(outbox, Paused))
    assert reports(outbox, Paused) == [Paused("trace", "1.1", rejected[1] + 1, ("b",))]
    assert isinstance(outbox[-2], Judged)
    thread.send(Watch(()))
    thread.send(Continue())
    wait_for(lambda: reports(outbox, Branched))


# Examinations


def trial(samples: int = 2000) -> Examine:
    return Examine("e1", Trial("two tokens", RIGHT.name, samples))


def test_an_examination_makes_way_for_a_branch(paced: Started) -> None:
    thread, outbox = paced
    thread.send(trial(100_000))
    wait_for(lambda: outbox)
    thread.send(branch())
    wait_for(lambda: reports(outbox, Branched))
    assert reports(outbox, Examined) == [Examined("e1", stopped=True)]


def test_an_examination_in_the_middle_of_a_branch(quick: Started) -> None:
    thread, outbox = quick
    thread.send(branch(start="round"))
    wait_for(lambda: reports(outbox, Paused))
    thread.send(Examine("e2", Rules()))
    thread.send(trial())
    thread.send(StopExamining("other"))
    wait_for(lambda: len(reports(outbox, Examined)) == 2)
    assert not reports(outbox, Branched)
    thread.send(Stop())
    wait_for(lambda: reports(outbox, Branched))
