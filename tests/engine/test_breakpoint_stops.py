"""The same stops from either side, live, and over a real run; hits counted from the run's beginning."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from engine.debugger.breakpoints import Breakpoint, HitRule
from engine.debugger.combined import Both, Either
from engine.debugger.conditions import (
    AllAccepted,
    AnyRejection,
    Divergence,
    LowOverlap,
    RoundReached,
    SlowerThanMedian,
    SlowRound,
    TokenReached,
)
from engine.debugger.history import History
from engine.debugger.scene import Around
from engine.debugger.token_conditions import EosDrafted, TokenText
from engine.debugger.watcher import Trail, Watcher, count_stops, hit_counts, search
from engine.debugger.where import Where
from engine.records import Committed, Drafted, Judged, RunStarted, Verified
from tests.engine.breakpoint_runs import NO, run
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN


@pytest.mark.parametrize(("rule", "stops", "words"), [
    (HitRule(), [1, 2, 3, 4, 5, 6], ""),
    (HitRule("from", 4), [4, 5, 6], "from the 4th time"),
    (HitRule("exactly", 2), [2], "only the 2nd time"),
    (HitRule("each", 3), [3, 6], "every 3rd time"),
    (HitRule("each", 1), [1, 2, 3, 4, 5, 6], ""),
])
def test_hit_rules(rule: HitRule, stops: list[int], words: str) -> None:
    history = run(*[[NO]] * 6)
    one = Breakpoint(id="b", condition=AnyRejection(), hits=rule)
    assert [hit for hit in range(1, 7) if rule.stops(hit)] == stops
    assert [number(history, moment) for moment in forward(history, [one])] == stops
    assert hit_counts(history, [one]) == {"b": 6}
    assert one.words == ("any rejection" if not words else f"any rejection, {words}")


def number(history: History, moment: int) -> int:
    """Of the round of a stop, from 1."""
    record = history.records[moment - 1]
    assert isinstance(record, (Drafted, Judged, Committed, Verified))
    return record.round + 1


def forward(history: History, ones: Sequence[Breakpoint], around: Around | None = None) -> list[int]:
    moments, stop = [], search(history, ones, 0, 1, around or Around())
    while stop is not None:
        moments.append(stop[0])
        stop = search(history, ones, stop[0], 1, around or Around())
    return moments


def backward(history: History, ones: Sequence[Breakpoint], around: Around | None = None) -> list[int]:
    moments, stop = [], search(history, ones, len(history) + 1, -1, around or Around())
    while stop is not None:
        moments.append(stop[0])
        stop = search(history, ones, stop[0], -1, around or Around())
    return moments


MANY = [Breakpoint(id=f"b{i}", condition=condition, hits=rule) for i, (condition, rule) in enumerate([  # type: ignore[arg-type]
    (AnyRejection(), HitRule("each", 3)), (LowOverlap(below=0.4), HitRule("from", 5)), (AllAccepted(), HitRule()),
    (SlowerThanMedian(times=1.02), HitRule()), (Where("margin < 0.05 and draft > 1"), HitRule()),
    (TokenText(role="drafted", text="price"), HitRule("exactly", 2)), (Divergence(), HitRule()),
    (Both((RoundReached(number=4), AnyRejection())), HitRule()),
    (Either((TokenReached(number=20), EosDrafted())), HitRule())])]


@pytest.mark.parametrize("method", [PLAIN, LOOKUP, DRAFT], ids=lambda method: method.lane)
def test_the_same_stops_forwards_backwards_and_live(method: fake_run.Method) -> None:
    whole, growing = History(method.lane), History(method.lane)
    records = list(fake_run.lane_records(method, limit=60))
    around = Around(plain_ids=[100] * 60)
    watcher, live = Watcher(MANY, {method.lane: around}), []
    for record in records:
        whole.append(record)
        growing.append(record)
        if watcher.see(growing):
            live.append(len(growing))
        assert watcher.see(growing) == ()
    forth = forward(whole, MANY, around)
    assert forth == backward(whole, MANY, around)[::-1] == live
    assert len(forth) >= 2
    assert watcher.counts == hit_counts(whole, MANY, around)
    trail = Trail(whole, MANY, around)
    assert [trail.before(moment) for moment in (0, 1)] == [None, None]
    for moment in (len(whole), 30, 3, 77, 12):
        assert trail.after(moment) == search(whole, MANY, moment, 1, around)
        assert trail.before(moment) == search(whole, MANY, moment, -1, around)


def test_a_watcher_made_late_counts_what_has_happened() -> None:
    history = run(*[[NO]] * 4)
    ones = [Breakpoint(id="b", condition=AnyRejection(), hits=HitRule("exactly", 5))]
    watcher = Watcher(ones)
    assert watcher.see(history) == ()
    assert watcher.counts == {"b": 4}
    for record in run(*[[NO]] * 5).records[len(history):]:
        history.append(record)
        if isinstance(record, Judged):
            assert watcher.see(history) == tuple(ones)
    again = run([NO])
    watcher.see(again)
    assert watcher.counts == {"b": 1}  # another run of the same lane


def test_off_and_other_lanes_are_passed_by() -> None:
    history = run([NO])
    for one in (Breakpoint(id="b", condition=AnyRejection(), enabled=False),
                Breakpoint(id="b", condition=AnyRejection(), lane="other")):
        assert search(history, [one], 0, 1) is None
        assert hit_counts(history, [one]) == {"b": 0}
        assert Watcher([one]).see(history) == ()
    assert search(history, [Breakpoint(id="b", condition=AnyRejection(), lane="made")], 0, 1) is not None
    assert search(history, [], 0, 1) is None
    assert search(History("made"), MANY, 0, -1) is None


def test_a_trail_goes_on_where_the_run_goes_on() -> None:
    history, records = History("made"), run(*[[NO]] * 3).records
    trail = Trail(history, [Breakpoint(id="b", condition=AnyRejection())])
    found_at = []
    for record in records:
        history.append(record)
        stop = trail.after(found_at[-1] if found_at else 0)
        if stop is not None:
            found_at.append(stop[0])
    assert found_at == [index for index, record in enumerate(records, 1) if isinstance(record, Judged)]
    assert count_stops(history, Breakpoint(id="b", condition=AnyRejection(), hits=HitRule("from", 2))) == 2


def test_ten_thousand_rounds_are_looked_through_at_once() -> None:
    history, records = History("draft"), list(fake_run.lane_records(replace(DRAFT, gamma=8, skill=0.9), limit=5_000))
    for record in [*records[:3], *records[3:-1] * 10]:
        history.append(record)
    assert len(history.ends) > 9_000
    ones = [Breakpoint(id="a", condition=LowOverlap(below=1e-9)),
            Breakpoint(id="b", condition=Where("ms > 100000")),
            Breakpoint(id="c", condition=RoundReached(number=10**6))]
    began = time.process_time()
    assert search(history, ones, 0, 1) is None
    assert time.process_time() - began < 1.0
    trail = Trail(history, ones)
    trail.after(0)
    began = time.process_time()
    trail.after(5), trail.before(len(history))
    assert time.process_time() - began < 0.01


@pytest.mark.model
def test_a_real_run_stops_where_its_records_say() -> None:
    from engine.race import LanePlan, race
    from engine.settings import DrafterSettings, RunSettings, Sampling
    from tests.engine.support import builtin

    target = builtin("float32")
    plan = RunSettings(sampling=Sampling(temperature=0.8), drafter=DrafterSettings(kind="layer-skip", gamma=3),
                           max_new_tokens=24, seed=3)
    history, ones = History("skip"), [
        Breakpoint(id="a", condition=AnyRejection()), Breakpoint(id="b", condition=Where("overlap < 0.5")),
        Breakpoint(id="c", condition=TokenReached(number=10)),
        Breakpoint(id="d", condition=SlowRound(milliseconds=1e8))]
    watcher, live = Watcher(ones), []
    prompt = target.encode("The museum opened its doors in", chat=False)
    for record in race(target, prompt, [LanePlan("skip", plan)], run="r"):
        history.append(record)
        if stopping := watcher.see(history):
            live.append((len(history), stopping))
    assert [set(record.eos) for record in history.records if isinstance(record, RunStarted)] == [set(target.eos)]
    assert [moment for moment, _ in live] == forward(history, ones) == backward(history, ones)[::-1]
    judged = [record for record in history.records if isinstance(record, Judged)]
    assert watcher.counts["a"] == sum(not record.accepted for record in judged) > 0
    assert (watcher.counts["c"], watcher.counts["d"]) == (1, 0)
    rejections = {moment for moment, stopping in live if ones[0] in stopping}
    assert rejections == {index + 1 for index, record in enumerate(history.records)
                          if isinstance(record, Judged) and not record.accepted}
