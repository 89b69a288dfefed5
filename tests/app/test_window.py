"""The window from start to end: runs, recordings, faults, looks, and leaving."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from app.conductor import DRAIN_SECONDS
from app.notice import Notice
from app.recording_bar import first_words, message_of
from app.settings import Settings
from app.setup import Setup
from app.window import SAMPLED, Window
from engine import trace
from engine.records import Committed, RunStarted
from engine.settings import RunSettings
from tests.app.fake_workshop import FakeWorkshop
from tests.widgets import fake_run

MakeWindow = Callable[..., Window]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "race.spectrace.gz"
    with trace.Writer(path) as writer:
        for record in fake_run.race(limit=12, forward=0.01):
            writer.write(record)
    return path


def phase(window: Window, wanted: str) -> Callable[[], None]:
    def check() -> None:
        assert window.conductor.phase == wanted
    return check


def test_a_run_from_start_to_end(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    assert [card.lane for card in window.race.cards] == []
    window.actions_list["run.run"].trigger()
    assert [card.lane for card in window.race.cards] == ["0", "1", "2"]
    qtbot.waitUntil(phase(window, "over"))
    assert {lane.status for lane in window.store.lanes} == {"finished"}
    assert "test data" in window.top_bar.target.full_text
    assert "bit-exact here" in window.top_bar.exact.text() or "test data" in window.top_bar.exact.text()
    window.files.copy_results()
    assert "Prompt lookup" in QApplication.clipboard().text()
    QApplication.clipboard().clear()


def test_step_pause_continue_stop(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.001, limit=300))
    actions = window.actions_list
    actions["run.step_round"].trigger()
    qtbot.waitUntil(phase(window, "paused"))
    assert sum(isinstance(r, Committed) for r in window.store.records()) == 1
    assert actions["run.run"].text() == "Continue"
    assert not actions["run.pause"].isEnabled()
    before = len(window.store.records())
    actions["run.step_record"].trigger()
    qtbot.waitUntil(lambda: len(window.store.records()) == before + 1)
    qtbot.waitUntil(phase(window, "paused"))
    actions["run.run"].trigger()
    qtbot.waitUntil(lambda: len(window.store.records()) > before + 20)
    actions["run.pause"].trigger()
    qtbot.waitUntil(phase(window, "paused"))
    actions["run.stop"].trigger()
    qtbot.waitUntil(phase(window, "over"))
    assert {lane.status for lane in window.store.lanes} == {"stopped"}
    assert actions["run.run"].text() == "Run"


def test_running_again_drops_the_late_records(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.001, limit=60))
    window.run_or_continue()
    qtbot.waitUntil(lambda: len(window.store.records()) > 10)
    old = window.store.run
    window.conductor.stop()
    window._race("run")
    assert window.store.run != old
    qtbot.waitUntil(phase(window, "over"), timeout=10_000)
    assert {record.run for record in window.store.records()} == {window.store.run}


def test_a_fault_is_said_and_the_window_goes_on(make_window: MakeWindow, qtbot: QtBot) -> None:
    workshop = FakeWorkshop(fault="The model is upside down; turn it.")
    window = make_window(workshop)
    window.run_or_continue()
    qtbot.waitUntil(phase(window, "over"))
    assert window.notice.sentence == "The model is upside down; turn it."
    assert not window.notice.isHidden()
    assert {lane.message for lane in window.store.lanes} == {"The model is upside down; turn it."}
    workshop.fault = ""
    window.run_or_continue()
    qtbot.waitUntil(lambda: all(lane.status == "finished" for lane in window.store.lanes))
    assert window.notice.isHidden()


def test_a_form_that_cannot_run_says_why(make_window: MakeWindow) -> None:
    window = make_window()
    window.form.show_setup(Setup(prompt=""))
    window.toggle_form()
    window.run_or_continue()
    assert "prompt is empty" in window.notice.sentence
    assert window.form.isVisible()
    assert window.conductor.phase == "idle"


def test_a_recording_plays_is_marked_and_plays_again(make_window: MakeWindow, qtbot: QtBot, recording: Path) -> None:
    window = make_window()
    window.play(recording)
    bar = window.race.recording_bar
    assert not bar.isHidden()
    assert [lane.plain for lane in window.store.lanes] == [True, False, False]
    qtbot.waitUntil(phase(window, "over"))
    assert {lane.status for lane in window.store.lanes} == {"finished"}
    count = len(window.store.records())
    qtbot.mouseClick(bar._replay, Qt.MouseButton.LeftButton)
    assert window.conductor.phase == "running"
    window.conductor.pause()
    window.conductor.step("round")
    qtbot.waitUntil(phase(window, "paused"))
    window.conductor.proceed()
    qtbot.waitUntil(phase(window, "over"))
    assert len(window.store.records()) == count
    window._race("run")
    assert bar.isHidden()
    qtbot.waitUntil(phase(window, "over"))


def test_a_recording_says_its_own_settings(make_window: MakeWindow, qtbot: QtBot, recording: Path) -> None:
    window = make_window()
    window.form.show_setup(Setup(prompt="Something else", gamma=7))
    window.play(recording)
    about = window.race.recording_bar._about
    qtbot.waitUntil(lambda: "γ" in about.full_text)
    started = window._started
    assert "γ 4, 3 · temperature 0.8 · " in about.full_text
    assert f"{started[0].settings.max_new_tokens} tokens" in about.full_text
    assert "γ 7" not in about.full_text
    assert started[0].prompt_text.strip() in about.toolTip()


@pytest.mark.parametrize(("prompt", "message"), [
    ("def f(x):", "def f(x):"), ("", ""),
    ("<|im_start|>system\nBe kind<|im_end|>\n<|im_start|>user\nHi\nyou<|im_end|>\n<|im_start|>assistant\n", "Hi\nyou"),
    ("<|start_header_id|>user<|end_header_id|>\n\nHi you<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
     "Hi you"),
    ("<bos><start_of_turn>user\nHi you<end_of_turn>\n<start_of_turn>model\n", "Hi you"),
    ("<s>[INST] Hi you [/INST]", "Hi you")])
def test_the_message_in_a_template(prompt: str, message: str) -> None:
    assert message_of(prompt) == message
    assert first_words(message * 40).endswith("…") is bool(message)


def test_sampled_lanes_are_not_expected_to_agree(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    sampled = fake_run.race(limit=4, forward=0.01)
    greedy = [msgspec.structs.replace(record, settings=RunSettings()) if isinstance(record, RunStarted) else record
              for record in sampled]
    hint = window.race.activity._text
    window.conductor._play(sampled, Path("sampled.spectrace"))
    qtbot.waitUntil(phase(window, "over"))
    assert hint.full_text == SAMPLED
    window.conductor._play(greedy, Path("greedy.spectrace"))
    qtbot.waitUntil(phase(window, "over"))
    assert "hover" in hint.full_text
    assert " · greedy · " in window.race.recording_bar._about.full_text


def test_the_focus_goes_from_run_to_pause_and_back(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.001, limit=300))
    bar = window.top_bar
    bar._run.setFocus()
    qtbot.mouseClick(bar._run, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(phase(window, "running"))
    pause = window.focusWidget()
    assert isinstance(pause, QToolButton)
    assert pause.defaultAction().objectName() == "run.pause"
    pause.click()
    qtbot.waitUntil(phase(window, "paused"))
    assert window.focusWidget() is bar._run
    qtbot.keyClick(bar._run, Qt.Key.Key_Tab)
    assert window.focusWidget() not in (bar, bar._run)


def test_recordings_that_cannot_be_read(make_window: MakeWindow, qtbot: QtBot, recording: Path, tmp_path: Path) -> None:
    window = make_window()
    window.play(tmp_path / "nowhere.spectrace")
    assert "nowhere.spectrace" in window.notice.sentence
    (tmp_path / "bad.spectrace").write_bytes(b"\x00\x01\x02")
    window.play(tmp_path / "bad.spectrace")
    assert "bad.spectrace" in window.notice.sentence
    cut = tmp_path / "cut.spectrace.gz"
    cut.write_bytes(recording.read_bytes()[:-400])
    window.play(cut)
    qtbot.waitUntil(phase(window, "over"))
    assert "cut.spectrace" in window.notice.sentence
    assert len(window.store.records()) > 3


def test_saving_what_ran(make_window: MakeWindow, qtbot: QtBot, tmp_path: Path) -> None:
    window = make_window()
    window.run_or_continue()
    qtbot.waitUntil(phase(window, "over"))
    window.files.write_recording(tmp_path / "saved.spectrace.gz")
    assert len(list(trace.read(tmp_path / "saved.spectrace.gz"))) == len(window.store.records())
    window.files.write_recording(tmp_path / "no" / "folder.spectrace")
    assert "can't be written" in window.notice.sentence


def test_present_and_escape(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    window.actions_list["view.present"].trigger()
    assert window.theme.scale > 1
    assert not window.form.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.theme.scale == 1
    assert window.form.isVisible()


def test_perspectives_are_honest(make_window: MakeWindow) -> None:
    window = make_window()
    for name in ("debug", "lab", "learn", "race"):
        window.actions_list[f"perspective.{name}"].trigger()
        assert window.perspective == name
        assert window.actions_list[f"perspective.{name}"].isChecked()


def test_it_remembers(make_window: MakeWindow) -> None:
    window = make_window()
    setup = msgspec.structs.replace(window.form.setup, prompt="Remember me", seed=11)
    window.form.show_setup(setup)
    window.toggle_theme()
    window.toggle_ghosts()
    name = window.theme.name
    window.close()
    again = make_window()
    assert again.form.setup == setup
    assert again.theme.name == name
    assert again.ghosts is False
    assert Settings().setup() == setup


def test_a_crowd_of_records_never_takes_the_frame(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    window.conductor._run = window.store.run = "crowd"
    records = fake_run.race(run="crowd", limit=3000)
    window.conductor._line.incoming.extend(records)
    began = time.perf_counter()
    window.conductor._tick()
    assert time.perf_counter() - began < 10 * DRAIN_SECONDS
    assert 0 < len(window.store.records()) < len(records)
    qtbot.waitUntil(lambda: len(window.store.records()) == len(records), timeout=20_000)


def test_closing_mid_run_and_mid_load(make_window: MakeWindow, qtbot: QtBot) -> None:
    running = FakeWorkshop(pace=0.001, limit=5000)
    window = make_window(running)
    window.run_or_continue()
    qtbot.waitUntil(lambda: len(window.store.records()) > 5)
    window.close()
    window.close()
    assert window.conductor.finish_quit(5.0)
    assert running.closed.is_set()
    other = make_window(FakeWorkshop(endless_load=True))
    other.preload()
    qtbot.wait(50)
    other.close()
    assert other.conductor.finish_quit(5.0)


def test_loading_shows_and_can_be_called_off(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(endless_load=True))
    window.preload()
    qtbot.waitUntil(lambda: window.conductor.loading is not None)
    assert "Loading test data" in window.race.activity._text.full_text
    qtbot.mouseClick(window.race.activity._cancel, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.conductor.loading is None)


def test_a_notice_leaves_the_form_where_it_is_and_goes_with_its_cause(
        make_window: MakeWindow, qtbot: QtBot, recording: Path, tmp_path: Path) -> None:
    window = make_window()
    window.form.show_setup(Setup(prompt=""))
    before = window.form.mapTo(window, QPoint(0, 0))
    window.run_or_continue()
    qtbot.wait(20)
    assert window.notice.isVisible()
    assert window.form.mapTo(window, QPoint(0, 0)) == before
    assert window.notice.mapTo(window, QPoint(0, 0)).x() >= window.form.width()
    window.show_perspective("lab")
    assert window.notice.isVisible()
    window.show_perspective("race")
    assert window.notice.isVisible()
    window.form.prompt.edit.setPlainText("Hi")
    assert window.notice.isHidden()
    window.play(tmp_path / "nowhere.spectrace")
    window.form.prompt.edit.setPlainText("Hello")
    assert window.notice.isVisible()  # the form has nothing to do with it
    window.play(recording)
    assert window.notice.isHidden()


def test_a_notice_that_asks_for_nothing_passes(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    window.notice._passing.setInterval(20)
    window.notice.show_notice(Notice("Done.", bad=False))
    assert window.notice.isVisible()
    qtbot.waitUntil(window.notice.isHidden)
    window.notice.show_notice(Notice("Done.", bad=False))
    window.notice.show_notice(Notice("It broke."))
    qtbot.wait(60)
    assert window.notice.isVisible()


def test_notices_can_be_copied_and_dismissed(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    window.notice.show_notice(Notice("It broke.", "because"))
    qtbot.mouseClick(window.notice._copy, Qt.MouseButton.LeftButton)
    assert QApplication.clipboard().text() == "It broke.\n\nbecause"
    QApplication.clipboard().clear()
    qtbot.mouseClick(window.notice._close, Qt.MouseButton.LeftButton)
    assert window.notice.isHidden()
