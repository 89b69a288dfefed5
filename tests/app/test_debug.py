"""The Debug perspective in the window: steps, breakpoints, branches; every panel shows the same both ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import pytest
from pytestqt.qtbot import QtBot

from app.lane_at import LaneAt
from app.lane_state import LaneState
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
from engine.records import Committed, Judged, Origin, Record, RunFinished, RunStarted
from tests.app.fake_workshop import FakeWorkshop
from tests.widgets import fake_run

MakeWindow = Callable[..., Window]
DEMO = Path(__file__).parents[2] / "assets" / "demo" / "code-edit.spectrace.gz"


def opened(window: Window, qtbot: QtBot, path: Path = DEMO) -> Window:
    window.show_perspective("debug")
    window.files.open(path)
    window.conductor.pause()
    qtbot.waitUntil(lambda: not window.conductor.reading)
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


def test_recent_files_can_be_opened_again(make_window: MakeWindow, qtbot: QtBot, sampled: Path) -> None:
    window = opened(opened(make_window(), qtbot, sampled), qtbot)
    window.actions_list.refresh()
    first, second = (window.actions_list[f"file.recent{n}"] for n in (1, 2))
    assert (first.text(), second.text()) == (f"Open again: {DEMO.name}", f"Open again: {sampled.name}")
    assert not window.actions_list["file.recent3"].isEnabled()
    second.trigger()
    assert window.conductor.recording == sampled
    assert first.text() == f"Open again: {sampled.name}"


def recorded(path: Path, records: Iterable[Record]) -> Path:
    with trace.Writer(path) as writer:
        for record in records:
            writer.write(record)
    return path


def paused(window: Window, qtbot: QtBot) -> Window:
    window.run_or_continue()
    qtbot.waitUntil(lambda: len(window.store.records()) > 80)
    window.conductor.pause()
    qtbot.waitUntil(lambda: window.conductor.phase == "paused")
    return window


def test_branches_of_a_reopened_recording_keep_their_lanes(make_window: MakeWindow, qtbot: QtBot, sampled: Path,
                                                           tmp_path: Path) -> None:
    window = opened(make_window(), qtbot, sampled)
    window.debug.what_if(NoChange(round=1))
    qtbot.waitUntil(lambda: window.store.lanes[-1].finished is not None)
    window.files.write_recording(tmp_path / "branched.spectrace")
    other = opened(make_window(), qtbot, tmp_path / "branched.spectrace")
    other.debug.refresh()
    shown = [other.debug.chooser.itemText(i) for i in range(other.debug.chooser.count())]
    assert all(text.startswith(lane.title) for text, lane in zip(shown, other.store.lanes, strict=True))
    assert len(set(shown)) == len(shown)
    before = [lane.records for lane in other.store.lanes]
    other.debug.what_if(NoChange(round=1))
    assert [lane.records for lane in other.store.lanes][:-1] == before
    assert len(other.store.lanes) == len(before) + 1


def test_a_recording_with_a_branch_that_was_called_off_opens(make_window: MakeWindow, qtbot: QtBot, sampled: Path,
                                                             tmp_path: Path) -> None:
    workshop = FakeWorkshop(endless_restore=True)
    window = opened(make_window(workshop), qtbot, sampled)
    window.debug.what_if(NoChange(round=1))
    qtbot.waitUntil(lambda: window.conductor.loading is not None)
    window.conductor.cancel_loading()
    qtbot.waitUntil(lambda: window.store.lanes[-1].finished is not None)
    workshop.endless_restore = False
    window.debug.what_if(NoChange(round=1))
    qtbot.waitUntil(lambda: window.store.lanes[-1].finished is not None)
    window.files.write_recording(tmp_path / "branched.spectrace")
    assert len(list(trace.read(tmp_path / "branched.spectrace"))) == len(window.store.records())


def test_one_branch_at_a_time(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = paused(make_window(FakeWorkshop(pace=0.002, limit=150)), qtbot)
    window.debug.what_if(NoChange(round=1))
    branch = window.store.lanes[-1]
    qtbot.waitUntil(lambda: len(branch.records) > 20)
    window.conductor.go(5)
    qtbot.waitUntil(lambda: window.conductor._engine == "paused")
    window.debug.what_if(NoChange(round=0))
    assert window.store.lanes[-1] is branch
    assert "Another branch" in window.notice.sentence
    window.conductor.stop()
    qtbot.waitUntil(lambda: window.debug.may_branch == "")
    assert branch.status == "stopped"


def test_another_recording_ends_a_branch_and_the_race_behind_it(make_window: MakeWindow, qtbot: QtBot, sampled: Path
                                                                ) -> None:
    window = paused(make_window(FakeWorkshop(pace=0.002, limit=150)), qtbot)
    window.debug.what_if(NoChange(round=1))
    qtbot.waitUntil(lambda: len(window.store.lanes[-1].records) > 20)
    opened(window, qtbot, sampled)
    qtbot.waitUntil(lambda: not window.conductor._line._thread._under_way)


def test_cancelling_whole_rows_leaves_the_race(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = paused(make_window(FakeWorkshop(pace=0.001, limit=100, endless_restore=True)), qtbot)
    answers: list[object] = []
    window.conductor.answered.connect(answers.append)
    lane = window.debugger.lane
    assert lane is not None
    window.conductor.ask_rows(lane.id, 1, 0)
    window.conductor.cancel_loading()
    qtbot.waitUntil(lambda: bool(answers))
    qtbot.wait(50)
    assert window.conductor.phase == "paused"
    window.conductor.proceed()
    qtbot.waitUntil(lambda: window.conductor.phase == "over")
    assert {one.status for one in window.store.lanes} == {"finished"}


def test_rounds_that_a_branch_of_a_branch_copied_are_the_first_ones(make_window: MakeWindow, qtbot: QtBot,
                                                                    tmp_path: Path) -> None:
    def lane(name: str, origin: Origin | None) -> Iterator[Record]:
        for record in fake_run.lane_records(fake_run.DRAFT, limit=60):
            told = msgspec.structs.replace(record, lane=name)
            yield msgspec.structs.replace(told, branch=origin) if isinstance(told, RunStarted) else told

    def origin(name: str, round: int) -> Origin:
        return Origin(lane=name, round=round, change="", lossless=True)

    records = [*lane("a", None), *lane("a.1", origin("a", 2)), *lane("a.1.2", origin("a.1", 4)),
               *lane("x", origin("gone", 3)), *lane("y", origin("z", 3)), *lane("z", origin("y", 3))]
    window = opened(make_window(), qtbot, recorded(tmp_path / "chain.spectrace", records))
    for name, round, owner in (("a.1.2", 1, "a"), ("a.1.2", 3, "a.1"), ("a.1.2", 4, "a.1.2"), ("x", 1, "x")):
        state = window.store.lane(name)
        assert state is not None
        assert window.debug._owner(state, round).id == owner
    circle = window.store.lane("y")
    assert circle is not None
    assert window.debug._owner(circle, 1).id in ("y", "z")
    window.debugger.choose("x")
    window.debug.what_if(NoChange(round=1))
    assert window.store.lanes[-1].original == "x"  # and whoever decodes says what is missing


def test_whole_rows_are_shown_in_their_own_lane_only(make_window: MakeWindow, qtbot: QtBot, tmp_path: Path) -> None:
    records = fake_run.race((fake_run.SKIP, fake_run.DRAFT), limit=60)
    window = opened(make_window(), qtbot, recorded(tmp_path / "two.spectrace", records))
    first, second = window.store.lanes

    def look_at(lane: LaneState) -> None:
        window.debugger.choose(lane.id)
        window.debug._on_selected(3, 0)
        window.debug.refresh()

    answers: list[object] = []
    window.conductor.answered.connect(answers.append)
    look_at(first)
    window.conductor.ask_rows(first.id, 3, 0)
    qtbot.waitUntil(lambda: len(answers) == 1)
    assert window.debug.inspector._full is not None
    look_at(second)
    assert window.debug.inspector._full is None
    window.conductor.ask_rows(first.id, 3, 0)
    qtbot.waitUntil(lambda: len(answers) == 2)
    assert window.debug.inspector._full is None


def test_a_round_that_is_gone_cannot_be_selected(make_window: MakeWindow, qtbot: QtBot, sampled: Path) -> None:
    window = opened(make_window(), qtbot, sampled)
    window.debug._on_selected(10_000, 0)
    assert window.store.selection is None


def test_a_long_search_goes_on_from_frame_to_frame(
        make_window: MakeWindow, qtbot: QtBot, sampled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.debugger.AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr("app.debugger.SEEK_SECONDS", 1e-6)
    monkeypatch.setattr("app.debugger.LOOK", 1)
    window = opened(make_window(), qtbot, sampled)
    lane = window.debugger.lane
    assert lane is not None
    window.show_perspective("race")  # the list in Debug would look ahead itself
    window.debugger.add(AnyRejection())
    window.conductor.go(0)
    window.debugger.next_stop()
    assert not window.debugger.fired
    qtbot.waitUntil(lambda: bool(window.debugger.fired))
    moment = window.debugger.moment
    assert moment is not None
    assert moment.index == stops(lane.history)[0]
    window.debugger.set_breakpoints(window.debugger.breakpoints)  # nothing is looked up yet
    window.conductor.go(0)
    window.debugger.next_stop()
    window.conductor.go(5)  # called off
    qtbot.wait(60)
    assert window.conductor.playback.place == 5
