"""Whole rows asked of the engine thread: on their own, in a race and in a branch."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from app.orders import Ended, Load, ModelChoice, Paused, Race, Rows, RowsFailed, RowsFound, Stop
from engine.records import Committed
from tests.app.fake_workshop import FakeWorkshop
from tests.app.on_thread import Started, branch, paused_race, race, records, reports, rows, started, wait_for


@pytest.fixture
def paced() -> Iterator[Started]:
    with started(lambda: FakeWorkshop(pace=0.002, limit=100)) as both:
        yield both


@pytest.fixture
def quick() -> Iterator[Started]:
    with started(FakeWorkshop) as both:
        yield both


def test_rows_on_their_own_in_a_race_and_in_a_branch(quick: Started) -> None:
    thread, outbox = quick
    thread.send(rows())
    wait_for(lambda: reports(outbox, RowsFound))
    original = paused_race(quick)
    count = len(outbox)
    thread.send(rows(original))
    wait_for(lambda: len(reports(outbox, RowsFound)) == 2)
    thread.send(branch(original, start="round"))
    wait_for(lambda: isinstance(outbox[-1], Paused) and outbox[-1].lane == "1.1")
    thread.send(rows(tuple(records(outbox, "1.1")), round=2, index=1))
    wait_for(lambda: len(reports(outbox, RowsFound)) == 3)
    found = reports(outbox, RowsFound)
    assert [(one.run, one.lane, one.row.round, one.row.index) for one in found] == [  # type: ignore[attr-defined]
        ("trace", "ngram", 1, 0), ("r1", "1", 1, 0), ("r1", "1.1", 2, 1)]
    assert isinstance(list(outbox)[count], RowsFound)  # and the race didn't move
    assert not reports(outbox, Ended)


def test_rows_do_not_hold_a_race_up(paced: Started) -> None:
    thread, outbox = paced
    thread.send(race())
    wait_for(lambda: sum(isinstance(r, Committed) for r in records(outbox, "1")) > 3)
    thread.send(rows(tuple(records(outbox, "1"))))
    wait_for(lambda: reports(outbox, RowsFound))
    before = len(records(outbox))
    wait_for(lambda: len(records(outbox)) > before)
    assert not reports(outbox, Paused)


def test_rows_that_cannot_be_had_are_a_sentence(quick: Started) -> None:
    thread, outbox = quick
    thread.send(rows(round=99, index=3))
    wait_for(lambda: reports(outbox, RowsFailed))
    failed, = reports(outbox, RowsFailed)
    assert isinstance(failed, RowsFailed)
    assert "Round 100" in failed.sentence
    assert (failed.run, failed.lane, failed.round, failed.index) == ("trace", "ngram", 99, 3)
    thread.send(Rows("trace", ModelChoice(), (), 0, 0))
    wait_for(lambda: len(reports(outbox, RowsFailed)) == 2)


@pytest.mark.parametrize("order", [Stop(), race("r2"), Load(ModelChoice())])
def test_rows_can_be_called_off(order: Stop | Race | Load) -> None:
    with started(lambda: FakeWorkshop(endless_restore=True)) as both:
        thread, outbox = both
        thread.send(rows(paused_race(both)))
        time.sleep(0.02)
        assert not reports(outbox, RowsFailed)
        thread.send(order)
        wait_for(lambda: reports(outbox, Ended))
        assert reports(outbox, RowsFailed) == [RowsFailed("r1", lane="1", round=1)]
        assert reports(outbox, Ended)[0] == Ended("r1", stopped=True)
