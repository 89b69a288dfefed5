"""Records come in the order of the lanes' clocks, whatever their order in the file, and the file is read as needed."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator

import pytest

from app.pace import LaneClock, Pace, in_order
from engine.records import Committed, Prefilled, Record
from tests.widgets import fake_run

RECORDS = fake_run.race(limit=30)


def stamps(records: list[Record]) -> list[float]:
    clocks: dict[str, LaneClock] = {}
    return [clocks.setdefault(record.lane, LaneClock()).see(record) for record in records]


def test_a_clock_counts_prefill_and_rounds() -> None:
    clock, seconds = LaneClock(), 0.0
    for record in fake_run.lane_records(fake_run.DRAFT, limit=30):
        before = clock.now
        clock.see(record)
        assert clock.now >= before
        if isinstance(record, Prefilled):
            seconds += record.target_seconds + record.drafter_seconds
        elif isinstance(record, Committed):
            seconds += record.seconds.total
            assert clock.now == pytest.approx(seconds)


def test_all_lanes_move_together_and_each_keeps_its_order() -> None:
    shown = list(in_order(iter(RECORDS)))
    times = stamps(shown)
    assert times == sorted(times)
    assert len(shown) == len(RECORDS)
    for lane in {record.lane for record in RECORDS}:
        assert [r for r in shown if r.lane == lane] == [r for r in RECORDS if r.lane == lane]


def test_it_reads_no_further_than_it_must() -> None:
    read = 0

    def source() -> Iterator[Record]:
        nonlocal read
        for record in RECORDS:
            read += 1
            yield record

    first = list(itertools.islice(in_order(source()), 40))
    assert len(first) == 40
    assert read < len(RECORDS) / 2


def test_what_was_read_before_an_error_is_shown() -> None:
    def broken() -> Iterator[Record]:
        yield from RECORDS[:50]
        raise OSError("cut off")

    seen: list[Record] = []
    with pytest.raises(OSError, match="cut off"):
        deque(map(seen.append, in_order(broken())))
    assert sorted(map(id, seen)) == sorted(map(id, RECORDS[:50]))


def test_moments_of_a_live_race_never_go_back() -> None:
    pace = Pace()
    for record in RECORDS:
        pace.see(record)
    assert len(pace.times) == len(RECORDS)
    assert (pace.times[1:] >= pace.times[:-1]).all()
    assert pace.times[-1] == max(stamps(RECORDS))
