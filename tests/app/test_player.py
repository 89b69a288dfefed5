"""A recording plays by its own clocks, at any frame rate, and steps like a live run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.orders import Pause, StepRecord, StepRound
from app.player import LaneClock, Player
from engine.records import Committed, Record
from tests.widgets import fake_run

RECORDS = fake_run.race(limit=30)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def play(player: Player, clock: Clock, frame: float, seconds: float) -> list[tuple[float, Record]]:
    seen = []
    end = clock.now + seconds
    while clock.now < end and not player.finished:
        seen += [(clock.now - 100.0, record) for record in player.due()]
        clock.now += frame
    return seen


def stamps() -> dict[int, float]:
    clocks: dict[str, LaneClock] = {}
    return {id(record): clocks.setdefault(record.lane, LaneClock()).see(record) for record in RECORDS}


@pytest.mark.parametrize("frame", [0.016, 0.2])
def test_every_record_comes_in_the_frame_of_its_moment(frame: float) -> None:
    clock = Clock()
    player = Player(iter(RECORDS), now=clock)
    seen = play(player, clock, frame, 60)
    assert sorted(map(id, (r for _, r in seen))) == sorted(map(id, RECORDS))
    assert player.finished
    moments = stamps()
    for when, record in seen:
        assert moments[id(record)] <= when + 1e-9
        assert when - moments[id(record)] < frame + 1e-9


def test_each_lane_keeps_its_order() -> None:
    clock = Clock()
    seen = [record for _, record in play(Player(iter(RECORDS), now=clock), clock, 0.016, 60)]
    for lane in {record.lane for record in RECORDS}:
        assert [r for r in seen if r.lane == lane] == [r for r in RECORDS if r.lane == lane]


def test_it_reads_no_further_than_it_must() -> None:
    read = 0

    def source() -> Iterator[Record]:
        nonlocal read
        for record in RECORDS:
            read += 1
            yield record

    clock = Clock()
    player = Player(source(), now=clock)
    clock.now += 0.3
    list(player.due())
    assert read < len(RECORDS) / 2


def test_pause_holds_time_and_steps_move_it() -> None:
    clock = Clock()
    player = Player(iter(RECORDS), now=clock)
    play(player, clock, 0.016, 0.5)
    player.take(Pause())
    clock.now += 10
    assert list(player.due()) == []
    player.take(StepRecord())
    assert len(list(player.due())) == 1
    player.take(StepRound())
    assert isinstance(list(player.due())[-1], Committed)
    assert not player.gate.is_open


def test_speed() -> None:
    slow, fast = Clock(), Clock()
    one, two = Player(iter(RECORDS), now=slow), Player(iter(RECORDS), now=fast)
    two.speed = 2.0
    slow.now += 1.0
    fast.now += 0.5
    assert list(one.due()) == list(two.due())


def test_a_frame_may_take_only_some() -> None:
    clock = Clock()
    player = Player(iter(RECORDS), now=clock)
    clock.now += 1.0
    first = next(player.due())
    rest = list(player.due())
    assert first is not rest[0]
    fresh = Player(iter(RECORDS), now=(other := Clock()))
    other.now += 1.0
    assert [first, *rest] == list(fresh.due())
