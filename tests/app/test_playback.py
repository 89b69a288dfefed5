"""The cursor goes over what is recorded: by steps, and at a multiple of the measured pace, both ways."""

from __future__ import annotations

import pytest

from app.pace import in_order
from app.playback import Grain, Playback, ends_round, shows
from app.store import LaneSpec, Store
from engine.records import Committed
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN

METHODS = (PLAIN, LOOKUP, DRAFT)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def store_of(limit: int = 30) -> Store:
    store = Store()
    store.begin("run-1", [LaneSpec(m.lane, m.title, m.about, plain=m.gamma == 0) for m in METHODS])
    store.extend(in_order(iter(fake_run.race(METHODS, limit=limit))))
    return store


def never(before: int, after: int) -> int | None:
    return None


@pytest.mark.parametrize("grain", ["record", "round"])
@pytest.mark.parametrize("lane", ["", "draft", "plain"])
def test_steps_back_stop_where_steps_forth_stopped(grain: Grain, lane: str) -> None:
    store = store_of()
    playback = Playback(store)
    playback.go(0)
    forth = [playback.place]
    while playback.step(grain, 1, lane):
        forth.append(playback.place)
    back = [playback.place]
    while playback.place > 0 and playback.step(grain, -1, lane):
        back.append(playback.place)
    assert back[::-1] == forth
    own = [r for r in store.records() if lane in ("", r.lane)]
    stops = [r for r in own if (ends_round(r) if grain == "round" else shows(r))]
    assert len(forth) in (len(stops), len(stops) + 1)  # and the start, where no step leads


def test_it_plays_at_the_measured_pace() -> None:
    store, clock = store_of(), Clock()
    playback = Playback(store, clock)
    playback.go(0)
    playback.play()
    while not playback.tick(never):
        elapsed = clock.now - 100.0
        shown = playback.place
        assert store.times[shown] <= elapsed + 1e-9
        if shown + 1 < len(store.records()):
            assert store.times[shown + 1] > elapsed - 1e-9
        clock.now += 0.016
    assert store.cursor is None
    assert clock.now - 100.0 == pytest.approx(store.times[-1], abs=0.02)


@pytest.mark.parametrize("speed", [0.1, 0.5, 2.0, 8.0])
def test_speed_and_backwards(speed: float) -> None:
    store, clock = store_of(), Clock()
    playback = Playback(store, clock)
    playback.speed = speed
    playback.go(len(store.records()))
    playback.play(-1)
    frames = 0
    while not playback.tick(never):
        clock.now += 0.016
        frames += 1
    assert playback.place == 0
    assert not playback.playing
    assert (clock.now - 100.0) * speed == pytest.approx(store.times[-1] - store.times[0], abs=0.02 * speed + 0.02)
    assert frames > 3


def test_a_breakpoint_stops_it_and_going_on_leaves_it() -> None:
    store, clock = store_of(), Clock()
    playback = Playback(store, clock)
    places = [i for i, r in enumerate(store.records()) if isinstance(r, Committed)][3:6]

    def stop(before: int, after: int) -> int | None:
        low, high = sorted((before, after))
        hits = [p for p in places if (before < p <= after if after > before else after <= p < before)]
        assert low <= high
        return (hits[0] if after > before else hits[-1]) if hits else None

    seen = []
    playback.go(0)
    playback.play()
    for _ in range(4000):
        if playback.tick(stop):
            seen.append(playback.place)
            if playback.place == len(store.records()) - 1:
                break
            playback.play()
        clock.now += 0.016
    assert seen[:3] == places


def test_while_a_file_is_read_its_last_record_is_not_now() -> None:
    store, clock = store_of(), Clock()
    playback = Playback(store, clock)
    playback.open_end = True
    playback.go(0)
    playback.play()
    clock.now += 1e6
    assert not playback.tick(never)
    assert store.cursor == len(store.records()) - 1
    assert playback.playing
    playback.open_end = False
    assert playback.tick(never)
    assert store.cursor is None
