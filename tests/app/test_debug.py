"""The Debug perspective in the window: steps, breakpoints, branches; every panel shows the same both ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.lane_at import LaneAt
from app.window import Window
from engine import trace
from engine.debugger.cache_cells import cache_cells
from engine.debugger.conditions import AllAccepted, AnyRejection, LowOverlap
from engine.debugger.history import History
from engine.debugger.inspection import inspect
from engine.debugger.round_words import round_words
from engine.debugger.state_words import state_words
from engine.debugger.verify_rows import verify_rows
from engine.debugger.what_if import NoChange, OtherDraw
from engine.records import Committed, Judged, RunFinished
from tests.app.fake_workshop import FakeWorkshop
from tests.widgets import fake_run

MakeWindow = Callable[..., Window]
DEMO = Path(__file__).parents[2] / "assets" / "demo" / "code-edit.spectrace.gz"


def opened(window: Window, qtbot: QtBot, path: Path = DEMO) -> Window:
    window.show_perspective("debug")
    window.files.open(path)
    window.conductor.pause()
    qtbot.waitUntil(lambda: window.conductor._source is None)
    return window


@pytest.fixture
def sampled(tmp_path: Path) -> Path:
    path = tmp_path / "sampled.spectrace"
    with trace.Writer(path) as writer:
        for record in fake_run.race((fake_run.PLAIN, fake_run.DRAFT), limit=60, temperature=0.9):
            writer.write(record)
    return path


def told(window: Window) -> tuple[object, ...]:
    """All that the panels show, as they work it out."""
    lane, moment = window.debugger.lane, window.debugger.moment
    assert lane is not None
    assert moment is not None
    seen = LaneAt(lane, moment)
    return (moment, inspect(moment), verify_rows(moment), cache_cells(moment), round_words(moment),
            state_words(moment), [(c.kind, c.text, c.p) for c in seen.cells], seen.status, seen.totals)


def test_every_panel_shows_the_same_forth_and_back(make_window: MakeWindow, qtbot: QtBot, sampled: Path) -> None:
    window = opened(make_window(), qtbot, sampled)
    window.conductor.go(0)
    forth = [told(window)]
    while window.conductor.playback.step("record", 1, "draft"):
        forth.append(told(window))
    back = [told(window)]
    while window.conductor.playback.place > 0 and window.conductor.playback.step("record", -1, "draft"):
        back.append(told(window))
    assert len(forth) > 60
    assert back[::-1] == forth


def test_the_panels_on_screen_follow_the_cursor(make_window: MakeWindow, qtbot: QtBot, sampled: Path) -> None:
    window = opened(make_window(), qtbot, sampled)
    lane = window.debugger.lane
    assert lane is not None
    rejection = lane.history.rejections[0]
    window.debugger.show(lane, rejection)
    window.debug.refresh()
    judged = window.debug.verify.model
    window.debugger.step("record")
    window.debug.refresh()
    assert window.debug.verify.model != judged
    found = window.debug.inspector.inspection
    assert found is not None
    assert found.judgement is not None
    assert "reject" in "".join(span.text for span in found.judgement.formula())
    window.debugger.step_back("record")
    window.debug.refresh()
    assert window.debug.verify.model == judged


def stops(history: History) -> list[int]:
    return [place + 1 for place, r in enumerate(history.records) if isinstance(r, Judged) and not r.accepted]


def test_breakpoints_stop_at_the_same_records_both_ways(make_window: MakeWindow, qtbot: QtBot, sampled: Path) -> None:
    window = opened(make_window(), qtbot, sampled)
    lane = window.debugger.lane
    assert lane is not None
    window.debugger.add(AnyRejection())
    window.conductor.go(0)
    found = []
    while True:
        window.debugger.next_stop()
        if not window.conductor.playback.behind and not window.debugger.fired:
            break
        moment = window.debugger.moment
        assert moment is not None
        found.append(moment.index)
        assert window.debugger.fired
    assert found == stops(lane.history)
    back = []
    while window.conductor.playback.place > 0:
        window.debugger.last_stop()
        moment = window.debugger.moment
        assert moment is not None
        back.append(moment.index)
    assert back[:-1] == found[::-1]
    assert window.debugger.rows()[0].enabled
    window.debugger.toggle(window.debugger.breakpoints[0].id)
    window.conductor.go(0)
    window.debugger.next_stop()
    assert not window.debugger.fired


def test_playing_stops_at_a_breakpoint(make_window: MakeWindow, qtbot: QtBot, sampled: Path) -> None:
    window = opened(make_window(), qtbot, sampled)
    lane = window.debugger.lane
    assert lane is not None
    window.debugger.add(AnyRejection())
    window.conductor.go(0)
    window.foot.set_speed(8.0)
    window.conductor.proceed()
    qtbot.waitUntil(lambda: not window.conductor.playback.playing)
    moment = window.debugger.moment
    assert moment is not None
    assert moment.index == stops(lane.history)[0]
    assert window.conductor.phase == "paused"
    window.conductor.play_backwards()
    qtbot.waitUntil(lambda: not window.conductor.playback.playing)
    assert window.conductor.playback.place == 0


def test_the_engine_stops_at_a_breakpoint(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.001, limit=200))
    window.show_perspective("debug")
    window.debugger.add(AnyRejection())
    window.run_or_continue()
    qtbot.waitUntil(lambda: bool(window.debugger.fired))
    record = window.store.records()[window.conductor.playback.place]
    assert isinstance(record, Judged)
    assert not record.accepted
    assert window.conductor.phase == "paused"
    window.conductor.stop()
    qtbot.waitUntil(lambda: window.conductor.phase == "over")


def test_looking_back_holds_the_engine_and_going_on_lets_it_run(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.002, limit=120))
    window.run_or_continue()
    qtbot.waitUntil(lambda: len(window.store.records()) > 60)
    window.step_back("round")
    assert window.conductor.phase == "paused"
    qtbot.waitUntil(lambda: window.conductor._engine == "paused")
    count = len(window.store.records())
    qtbot.wait(60)
    assert len(window.store.records()) == count
    window.step("record")
    assert window.conductor.playback.behind or len(window.store.records()) == count
    window.foot.set_speed(8.0)
    window.conductor.proceed()
    qtbot.waitUntil(lambda: len(window.store.records()) > count + 10)
    assert window.store.cursor is None
    qtbot.waitUntil(lambda: window.conductor.phase == "over")


def test_a_branch_beside_its_original(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    window.run_or_continue()
    qtbot.waitUntil(lambda: window.conductor.phase == "over")
    window.show_perspective("debug")
    lane = window.debugger.lane
    assert lane is not None
    before = list(lane.records)
    window.debug.what_if(NoChange(round=2))
    branch = window.store.lanes[-1]
    assert branch.original == lane.id
    qtbot.waitUntil(lambda: branch.finished is not None)
    assert window.debug.page == "branch"
    assert branch.ids == lane.ids
    assert lane.records == before
    assert window.store.plain is not None
    assert window.store.plain.original is None
    qtbot.waitUntil(lambda: window.conductor.phase == "over")
    window.debugger.choose(branch.id)
    assert window.debugger.lane is branch


def test_a_branch_while_the_race_waits(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.001, limit=150))
    window.run_or_continue()
    qtbot.waitUntil(lambda: len(window.store.records()) > 80)
    window.conductor.pause()
    qtbot.waitUntil(lambda: window.conductor.phase == "paused")
    lane = window.debugger.lane
    assert lane is not None
    window.debug.what_if(OtherDraw(round=1, purpose="accept", index=0, value=0.5))
    branch = window.store.lanes[-1]
    qtbot.waitUntil(lambda: branch.finished is not None, timeout=10_000)
    qtbot.waitUntil(lambda: window.conductor.phase == "paused")
    assert lane.finished is None
    window.conductor.proceed()
    qtbot.waitUntil(lambda: window.conductor.phase == "over", timeout=10_000)
    assert all(isinstance(one.records[-1], RunFinished) for one in window.store.lanes)


def test_a_running_engine_is_not_branched(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.002, limit=200))
    window.run_or_continue()
    qtbot.waitUntil(lambda: len(window.store.records()) > 30)
    assert "pause" in window.debug.may_branch
    count = len(window.store.lanes)
    window.debug.what_if(NoChange(round=0))
    assert len(window.store.lanes) == count
    assert "pause" in window.notice.sentence


def test_selecting_goes_to_the_round(make_window: MakeWindow, qtbot: QtBot, sampled: Path) -> None:
    window = opened(make_window(), qtbot, sampled)
    lane = window.debugger.lane
    assert lane is not None
    window.debug._on_selected(3, 1)
    moment = window.debugger.moment
    assert moment is not None
    assert moment.round is not None
    assert moment.round.round == 3
    assert isinstance(moment.record, Committed)
    assert window.debug._row_of(lane, moment) == 1
    window.debugger.step_back("round")
    assert window.debug._row_of(lane, window.debugger.moment) is None  # another round: whatever tells most


def test_breakpoints_and_watches_are_remembered(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    window.debugger.add(LowOverlap(below=0.3))
    window.debugger.add(AllAccepted())
    window.debugger.toggle(window.debugger.breakpoints[1].id)
    window.debug.state.set_watches(["p / q", "overlap"])
    window.debug.state.watches_changed.emit(window.debug.state.watches)
    window.close()
    other = make_window()
    assert other.debugger.breakpoints == window.debugger.breakpoints
    assert other.debug.state.watches == ("p / q", "overlap")


def test_a_finished_run_is_kept_when_a_step_leads_nowhere(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = opened(make_window(), qtbot)
    window.conductor.go(len(window.store.records()))
    run = window.store.run
    window.actions_list["run.step_record"].trigger()
    assert window.store.run == run
    assert "Run" in window.notice.sentence


def test_with_no_model_a_branch_says_what_it_needs(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = opened(make_window(FakeWorkshop(fault="The model is not here; fetch it.")), qtbot)
    assert window.debug.may_branch == ""
    window.debug.what_if(NoChange(round=1))
    qtbot.waitUntil(lambda: "not here" in window.notice.sentence)
    assert window.store.lanes[-1].status == "failed"
