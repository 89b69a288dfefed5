"""Breakpoints on the engine thread: a run stops exactly where looking through its recording would."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec
import pytest

from app.engine_thread import Outbox
from app.orders import Continue, Ended, Pause, Paused, StepRecord, StepRound, Watch
from app.watch import Lookout
from engine.debugger.breakpoints import Breakpoint, HitRule
from engine.debugger.conditions import AllAccepted, AnyRejection, Divergence, FewerAccepted, RoundReached
from engine.debugger.history import History
from engine.debugger.watcher import Trail
from engine.records import Committed, Judged, Record
from tests.app.fake_workshop import FakeWorkshop
from tests.app.on_thread import race, records, reports, started, wait_for
from tests.widgets import fake_run

REJECTION = Breakpoint(id="rejection", condition=AnyRejection())
BREAKPOINTS = (REJECTION, Breakpoint(id="good", condition=AllAccepted(), lane="1", hits=HitRule(when="each", n=2)),
               Breakpoint(id="few", condition=FewerAccepted(count=2)),
               Breakpoint(id="third", condition=RoundReached(number=3)),
               Breakpoint(id="same", condition=AnyRejection(), hits=HitRule(when="from", n=2)))


def histories(of: Sequence[Record]) -> dict[str, History]:
    lanes: dict[str, History] = {}
    for record in of:
        lanes.setdefault(record.lane, History(record.lane)).append(record)
    return lanes


def stops(of: Sequence[Record], breakpoints: Sequence[Breakpoint]) -> list[tuple[str, int, tuple[str, ...]]]:
    """Lane, moment and ids, in the order of the records."""
    trails = {lane: Trail(history, breakpoints) for lane, history in histories(of).items()}
    found, seen = [], defaultdict[str, int](int)
    for record in of:
        seen[record.lane] += 1
        stop = trails[record.lane].after(seen[record.lane] - 1)
        if stop is not None and stop[0] == seen[record.lane]:
            found.append((record.lane, stop[0], tuple(one.id for one in stop[1])))
    return found


def shown(outbox: Outbox) -> list[tuple[str, int, tuple[str, ...]]]:
    """What was reported as hit; and that each report comes right behind the record that it is about."""
    found, seen, last = [], defaultdict[str, int](int), None
    for item in list(outbox):
        if isinstance(item, Record):
            seen[item.lane] += 1
            last = item
        elif isinstance(item, Paused) and item.lane:
            assert last is not None
            assert last is list(outbox)[list(outbox).index(item) - 1]
            assert (item.lane, item.index) == (last.lane, seen[last.lane])
            if item.hits:
                found.append((item.lane, item.index, item.hits))
    return found


def test_a_run_stops_where_its_recording_would() -> None:
    with started(FakeWorkshop) as (thread, outbox):
        thread.send(Watch(BREAKPOINTS))
        thread.send(race())
        count = 0
        while not reports(outbox, Ended):
            wait_for(lambda count=count: len(reports(outbox, Paused)) > count or reports(outbox, Ended))
            count = len(reports(outbox, Paused))
            thread.send(Continue())
        expected = stops(records(outbox), BREAKPOINTS)
        assert shown(outbox) == expected
        assert {id for _, _, ids in expected for id in ids} == {one.id for one in BREAKPOINTS}
        assert any(len(ids) > 1 for _, _, ids in expected)


def test_a_step_onto_a_breakpoint_says_so() -> None:
    with started(FakeWorkshop) as (thread, outbox):
        thread.send(Watch((REJECTION,)))
        thread.send(race(start="record"))
        count = 0
        while not reports(outbox, Ended):
            wait_for(lambda count=count: len(reports(outbox, Paused)) > count or reports(outbox, Ended))
            count = len(reports(outbox, Paused))
            thread.send(StepRecord())
        assert shown(outbox) == stops(records(outbox), [REJECTION])
        assert count > len(shown(outbox)) > 0


def test_a_step_of_one_lane_stops_at_a_breakpoint_of_another() -> None:
    with started(FakeWorkshop) as (thread, outbox):
        thread.send(Watch((REJECTION,)))
        thread.send(race(start="round"))
        wait_for(lambda: reports(outbox, Paused))
        thread.send(Watch((Breakpoint(id="b", condition=RoundReached(number=4), lane="0"),)))
        thread.send(StepRound("1"))
        wait_for(lambda: len(reports(outbox, Paused)) == 2)
        while not reports(outbox, Paused)[-1].hits:  # type: ignore[attr-defined]
            assert reports(outbox, Paused)[-1].lane == "1"  # type: ignore[attr-defined]
            count = len(reports(outbox, Paused))
            thread.send(StepRound("1"))
            wait_for(lambda count=count: len(reports(outbox, Paused)) > count)
        assert reports(outbox, Paused)[-1].lane == "0"  # type: ignore[attr-defined]
        assert reports(outbox, Paused)[-1].hits == ("b",)  # type: ignore[attr-defined]


def test_breakpoints_may_come_and_go_while_it_runs() -> None:
    with started(lambda: FakeWorkshop(pace=0.001, limit=300)) as (thread, outbox):
        thread.send(Watch(BREAKPOINTS))
        thread.send(Watch(()))
        thread.send(race())
        wait_for(lambda: len(records(outbox)) > 60)
        assert not reports(outbox, Paused)
        thread.send(Watch((REJECTION,)))
        wait_for(lambda: reports(outbox, Paused))
        paused = reports(outbox, Paused)[0]
        assert isinstance(paused, Paused)
        judged = records(outbox)[-1]
        assert isinstance(judged, Judged)
        assert not judged.accepted
        assert paused == Paused("r1", judged.lane, len(records(outbox, judged.lane)), ("rejection",))
        thread.send(Watch((Breakpoint(id="off", condition=AnyRejection(), enabled=False),)))
        before = len(records(outbox))
        thread.send(Continue())
        wait_for(lambda: len(records(outbox)) > before + 60)
        assert len(reports(outbox, Paused)) == 1
        thread.send(Pause())
        wait_for(lambda: len(reports(outbox, Paused)) == 2)
        assert reports(outbox, Paused)[-1] == Paused("r1")


def watched(lookout: Lookout, of: Sequence[Record]) -> list[int]:
    return [i for i, record in enumerate(of) if lookout.see(record)]


def test_hits_count_from_the_beginning_whenever_it_is_set() -> None:
    of = list(fake_run.lane_records(fake_run.SKIP, limit=60))
    rejections = [i for i, r in enumerate(of) if isinstance(r, Judged) and not r.accepted]
    third = Breakpoint(id="b", condition=AnyRejection(), hits=HitRule(when="exactly", n=3))
    at_once = Lookout([third], ["skip"])
    assert watched(at_once, of) == [rejections[2]]
    later = Lookout([], ["skip"])
    middle = rejections[1] + 1
    assert watched(later, of[:middle]) == []
    later.watch([third])
    assert watched(later, of[middle:]) == [rejections[2] - middle]
    assert later.moment("skip") == len(of)


@pytest.mark.parametrize("first", [0, 1])
def test_lanes_are_compared_with_the_plain_lane_as_far_as_it_has_come(first: int) -> None:
    """Whichever of the two is ahead: it fires at the lane's first round from which on both are known."""
    lanes = ["plain", "ngram"]
    plain = list(fake_run.lane_records(fake_run.PLAIN, limit=30))
    other = list(fake_run.lane_records(fake_run.LOOKUP, limit=30))
    apart = [msgspec.structs.replace(r, tokens=(*r.tokens[:-1], 7)) if isinstance(r, Committed) and r.round else r
             for r in other]
    order = (lambda a, b: a + b) if first == 0 else (lambda a, b: b + a)
    divergence = Breakpoint(id="d", condition=Divergence())
    assert watched(Lookout([divergence], lanes, plain="plain"), order(plain, other)) == []
    hits = watched(Lookout([divergence], lanes, plain="plain"), order(plain, apart))
    expected = next(i for i, r in enumerate(apart) if isinstance(r, Committed) and r.round)
    assert hits == ([len(plain) + expected] if first == 0 else [])
    given = Lookout([divergence], ["ngram"], plain_ids=[t for r in plain if isinstance(r, Committed) for t in r.tokens])
    assert watched(given, apart) == [expected]
