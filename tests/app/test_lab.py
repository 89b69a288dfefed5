"""The Lab: experiments and the proof on a workshop that makes everything up, and once on the engine's own."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.engine_thread import EngineThread, Outbox
from app.orders import (
    Catalogue,
    Continue,
    Examine,
    Examined,
    ModelChoice,
    Observed,
    Proving,
    Quit,
    Race,
    Rules,
    StopExamining,
    Trial,
)
from app.saying import Saying
from app.theme import Theme
from app.trials import RIGHT, SOURCES
from app.window import Window
from app.workshop import EngineWorkshop
from engine.errors import SettingsError
from engine.proof.report import Check, Sampled
from tests.app.fake_workshop import FakeWorkshop
from tests.app.test_engine_thread import LANES, reports, wait_for
from tests.engine import tiny
from tests.widgets import fake_proof

MakeWindow = Callable[..., Window]


def over(window: Window) -> Callable[[], None]:
    def check() -> None:
        assert window.lab.examiner.experiment.phase == "done"
        window.lab.refresh(now=True)
    return check


# Experiments


def test_one_click_shows_what_a_redraw_from_p_does(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    window.show_perspective("lab")
    lab = window.lab
    assert lab._result.currentWidget() is lab.empty
    lab.empty.acted.emit()
    qtbot.waitUntil(over(window))
    assert "“A” came up 0.5" in lab.saying.sentence
    assert "the target gives 0.400" in lab.saying.sentence
    assert "can’t be chance" in lab.saying.sentence
    assert lab.saying.tone == "bad"
    assert lab.form.rule.name == "redraw-from-p"
    assert "10,000 samples, complete" in lab.form._progress.text()
    assert len(lab.examiner.experiment.curve) == 100


def test_the_right_rule_closes_in(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    window.show_perspective("lab")
    window.lab.form.choose("quiz", RIGHT.name, 1_000)
    window.actions_list["lab.run"].trigger()
    qtbot.waitUntil(over(window))
    assert "within what chance explains after 1,000 samples" in window.lab.saying.sentence
    assert window.lab.saying.tone == "good"
    trial = window.lab.examiner.experiment.trial
    assert trial is not None
    assert (trial.source, trial.rule, trial.samples, trial.drafter) == ("quiz", "right", 1_000, None)


def test_the_model_is_tried_with_the_forms_prompt(make_window: MakeWindow, qtbot: QtBot) -> None:
    workshop = FakeWorkshop()
    window = make_window(workshop)
    window.form.prompt.edit.setPlainText("A prompt of my own")
    window.actions_list["lab.redraw_model"].trigger()
    assert window.perspective == "lab"
    qtbot.waitUntil(over(window))
    trial = workshop.examined[-1].what
    assert isinstance(trial, Trial)
    assert (trial.source, trial.prompt, trial.rule) == ("layer-skip", "A prompt of my own", "redraw-from-p")
    assert trial.drafter is not None


def test_the_rules_are_asked_for_once(make_window: MakeWindow, qtbot: QtBot) -> None:
    workshop = FakeWorkshop()
    window = make_window(workshop)
    window.show_perspective("lab")
    form = window.lab.form
    form.choose(rule="redraw-from-p")
    qtbot.waitUntil(lambda: form._rule.count() == 3)
    assert form.rule.name == "redraw-from-p"
    window.show_perspective("race")
    window.show_perspective("lab")
    qtbot.wait(30)
    assert [type(order.what) for order in workshop.examined] == [Rules]


def test_cancelled_and_late_results_are_dropped(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.002))
    lab = window.lab
    window.show_perspective("lab")
    lab.redraw("two tokens")
    qtbot.waitUntil(lambda: len(lab.examiner.experiment.curve) > 3)
    assert not window.actions_list["lab.run"].isEnabled()
    old = lab.examiner._id
    qtbot.mouseClick(lab.form._cancel, Qt.MouseButton.LeftButton)
    experiment, seen = lab.examiner.experiment, len(lab.examiner.experiment.curve)
    assert experiment.phase == "stopped"
    window.conductor._hear(Observed(old, next(fake_proof.watch((0.6, 0.4), (0.6, 0.4), samples=50))))
    qtbot.wait(60)
    assert len(experiment.curve) == seen
    assert "Cancelled after" in lab.form._progress.text()
    lab.form.choose(rule=RIGHT.name, samples=1_000)
    lab.run()
    window.conductor._hear(Examined(old))
    assert lab.examiner.experiment.phase == "waiting"
    qtbot.waitUntil(over(window))
    assert lab.examiner.experiment.latest.samples == 1_000


def test_a_fault_is_said_with_details_and_the_lab_goes_on(make_window: MakeWindow, qtbot: QtBot) -> None:
    workshop = FakeWorkshop(fault="The rule fell over; pick it up.")
    window = make_window(workshop)
    window.show_perspective("lab")
    lab = window.lab
    lab.redraw("two tokens")
    qtbot.waitUntil(lambda: lab.examiner.experiment.phase == "failed")
    lab.refresh(now=True)
    assert lab.saying.sentence == "The rule fell over; pick it up."
    qtbot.mouseClick(lab.saying._copy, Qt.MouseButton.LeftButton)
    assert QApplication.clipboard().text() == "The rule fell over; pick it up.\n\ntest details"
    QApplication.clipboard().clear()
    workshop.fault = ""
    lab.run()
    qtbot.waitUntil(over(window))
    assert not lab.saying._copy.isVisible()


def test_no_experiment_while_a_race_is_under_way(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.001, limit=300))
    window.show_perspective("lab")
    window.run_or_continue()
    qtbot.waitUntil(lambda: window.conductor.phase == "running")
    window.lab.run()
    assert window.lab.examiner.experiment.phase == "empty"
    assert "A race is under way" in window.lab.form._progress.text()
    window.conductor.pause()
    qtbot.waitUntil(lambda: window.conductor.phase == "paused")
    before = len(window.store.records())
    window.lab.form.choose(samples=1_000)
    window.lab.run()
    qtbot.waitUntil(over(window))
    assert window.conductor.phase == "paused"
    assert len(window.store.records()) == before
    window.conductor.proceed()
    qtbot.waitUntil(lambda: len(window.store.records()) > before + 5)


def test_closing_mid_experiment(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.002))
    window.show_perspective("lab")
    window.lab.form.choose(samples=100_000)
    window.lab.run()
    qtbot.waitUntil(lambda: len(window.lab.examiner.experiment.curve) > 2)
    window.close()
    assert window.conductor.finish_quit(5.0)


# The proof


def test_the_proof_lists_its_checks_as_they_come(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(pace=0.01))
    window.actions_list["lab.prove"].trigger()
    lab = window.lab
    page = lab.checks
    qtbot.waitUntil(lambda: lab.examiner.proof.phase == "done")
    lab.refresh(now=True)
    assert list(page.table.checks) == list(fake_proof.CHECKS)
    assert page.saying.sentence.startswith("1 of 5 checks failed. This doesn’t hold: A position’s logits")
    window.actions_list["lab.copy"].trigger()
    lines = QApplication.clipboard().text().splitlines()
    QApplication.clipboard().clear()
    assert len(lines) == 6
    assert lines[4].split("\t")[:3] == ["✗ failed", "row invariance", "widths 1 to 11"]


def test_a_proof_without_a_model_and_cancelled(make_window: MakeWindow, qtbot: QtBot) -> None:
    workshop = FakeWorkshop(pace=0.05)
    window = make_window(workshop)
    window.show_perspective("lab")
    lab = window.lab
    lab.checks._model.setChecked(False)
    lab.prove()
    qtbot.waitUntil(lambda: len(lab.examiner.proof.checks) == 1)
    lab.refresh(now=True)
    assert lab.checks.saying.sentence == "1 check so far, passed."
    qtbot.mouseClick(lab.checks._cancel, Qt.MouseButton.LeftButton)
    assert "Cancelled" in lab.checks.saying.sentence
    assert workshop.examined[-1].what == Proving(None)


# The first difference


def test_two_lanes_are_compared(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    assert not window.actions_list["lab.difference"].isEnabled()
    window.conductor._play(fake_proof.parting(0.0), Path("parting.spectrace"))
    qtbot.waitUntil(lambda: window.conductor.phase == "over")
    window.actions_list["lab.difference"].trigger()
    assert (window.perspective, window.lab.page) == ("lab", "difference")
    assert "They differ from token 12 on" in window.lab.difference._sentence.text()


def test_a_lane_card_leads_to_its_difference(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    window.conductor._play(fake_proof.parting(0.0), Path("parting.spectrace"))
    qtbot.waitUntil(lambda: window.conductor.phase == "over")
    qtbot.waitUntil(lambda: window.race.cards[1]._status.tone == "link")
    plain, lookup = window.race.cards
    qtbot.mouseClick(plain._status, Qt.MouseButton.LeftButton)
    assert window.perspective == "race"
    qtbot.mouseClick(lookup._status, Qt.MouseButton.LeftButton)
    assert (window.perspective, window.lab.page) == ("lab", "difference")
    assert [picker.currentData() for picker in window.lab.difference._pickers] == ["plain", "ngram"]


# Looks


@pytest.mark.parametrize("name", ["dark", "light"])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_all_pages_in_all_sizes(make_window: MakeWindow, qtbot: QtBot, name: str, scale: float) -> None:
    window = make_window()
    window.show_perspective("lab")
    window.lab.redraw("two tokens")
    qtbot.waitUntil(over(window))
    window._wear(Theme.load(name, scale))
    window.resize(int(1280 * scale), int(720 * scale))
    for page in ("experiment", "checks", "difference"):
        window.lab.turn_to(page)
        assert not window.grab().isNull()
    form = window.lab.form
    assert form._source.mapTo(form, form._source.rect().bottomRight()).x() < form.width()


def test_a_saying_keeps_its_height(make_window: MakeWindow, qtbot: QtBot) -> None:
    saying = Saying(make_window().theme)
    qtbot.addWidget(saying)
    saying.resize(600, 80)
    saying.say("Short.")
    before = saying.sizeHint().height()
    saying.say("Longer, with a sign.", "bad")
    assert saying.sizeHint().height() == before


# The thread


@pytest.fixture
def thread() -> tuple[EngineThread, Outbox]:
    outbox: Outbox = deque()
    return EngineThread(lambda: FakeWorkshop(pace=0.002, limit=100), outbox), outbox


def ended(outbox: Outbox, id: str) -> list[Examined]:
    return [report for report in reports(outbox, Examined) if report.id == id]


def test_an_examination_makes_way_and_is_told_to_stop(thread: tuple[EngineThread, Outbox]) -> None:
    engine, outbox = thread
    engine.start()
    trial = Trial("two tokens", "right", 100_000)
    engine.send(Examine("a", trial))
    wait_for(lambda: len(reports(outbox, Observed)) > 2)
    engine.send(StopExamining("another"))
    time.sleep(0.02)
    assert not ended(outbox, "a")
    engine.send(StopExamining("a"))
    wait_for(lambda: ended(outbox, "a"))
    assert ended(outbox, "a")[0].stopped
    engine.send(Examine("b", trial))
    engine.send(Race("r", ModelChoice(), LANES, "prompt", True, "round"))
    wait_for(lambda: ended(outbox, "b"))
    assert ended(outbox, "b")[0].stopped
    engine.send(Examine("c", trial))  # in the middle of a race that stands
    wait_for(lambda: any(report.id == "c" for report in reports(outbox, Observed)))
    engine.send(Continue())
    wait_for(lambda: ended(outbox, "c"))
    engine.send(Quit())
    assert engine.join(5.0)


def test_the_real_workshop_examines(tmp_path: Path) -> None:
    tiny.save_tiny(tmp_path, "llama")
    choice = ModelChoice(source=str(tmp_path), dtype="float32", device="cpu")
    workshop = EngineWorkshop()

    def examine(what: Trial | Rules) -> list[object]:
        return list(workshop.examine(Examine("x", what), lambda loading: None, lambda: False))

    catalogue = examine(Rules())[0]
    assert isinstance(catalogue, Catalogue)
    assert catalogue.rules[0] == RIGHT
    assert {"redraw-from-p", "threshold"} <= {rule.name for rule in catalogue.rules}
    for source in SOURCES:
        found = examine(Trial(source.source, "right", 200, choice, "one two three one two three one two", chat=False))
        last = found[-1]
        assert isinstance(last, Observed)
        assert isinstance(last.event, Sampled)
        assert last.event.samples == 200
        assert last.event.total_variation < 5 * last.by_chance
    assert not isinstance(last.event, Check)
    with pytest.raises(SettingsError, match="proposes nothing after this prompt"):
        examine(Trial("ngram", "right", 200, choice, "a", chat=False))
