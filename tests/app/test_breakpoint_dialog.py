"""The dialog for breakpoints: each kind can be made and changed, what can't be used is explained, nothing is left."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QWidget
from pytestqt.qtbot import QtBot

from app.breakpoint_dialog import MOST_PARTS, BreakpointDialog
from app.breakpoint_kinds import KINDS, default, kind_of, make, read_token, show_token
from app.breakpoint_part import Part
from app.theme import Theme
from engine.debugger.breakpoints import Breakpoint, HitRule
from engine.debugger.combined import AnyCondition, Both, Either
from engine.debugger.condition import Condition
from engine.debugger.conditions import AnyRejection, Divergence, EarlyRejection, LowOverlap, SlowRound
from engine.debugger.token_conditions import TokenId, TokenText
from engine.debugger.where import Where

LANES = [("ngram", "Prompt lookup"), ("skip", "Layer skip")]


@pytest.fixture(scope="module")
def theme(qapp: QApplication, _fonts: None) -> Theme:
    return Theme.load("dark")


def dialog(qtbot: QtBot, theme: Theme, condition: AnyCondition, **options: Any) -> BreakpointDialog:
    one = Breakpoint(id="b7", condition=condition, hits=options.pop("hits", HitRule()), lane=options.pop("lane", ""),
                     enabled=options.pop("enabled", True))
    made = BreakpointDialog(theme, one, new=options.pop("new", True), lanes=LANES, **options)
    qtbot.addWidget(made)
    made.open()
    return made


def ok(made: BreakpointDialog) -> QWidget:
    return made.buttons.button(QDialogButtonBox.StandardButton.Ok)


def write(part: Part, text: str) -> None:
    assert part.field is not None
    part.field.edit.selectAll()
    QTest.keyClicks(part.field.edit, text)
    if not text:
        QTest.keyClick(part.field.edit, Qt.Key.Key_Delete)


def choose(part: Part, label: str) -> None:
    part.kinds.setCurrentIndex(part.kinds.findData(label))


TYPED = {"token with a text": "tea", "expression": "overlap < 0.5"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.label)
def test_each_kind_can_be_made(qtbot: QtBot, theme: Theme, kind: Any) -> None:
    made = dialog(qtbot, theme, AnyRejection())
    got: list[Breakpoint] = []
    made.chosen.connect(got.append)
    choose(made.parts[0], kind.label)
    if kind.typed is not None and kind.typed.wide:
        assert not ok(made).isEnabled()
        assert made.parts[0].problem == ""  # nothing typed yet is no mistake
        write(made.parts[0], TYPED[kind.label])
    assert ok(made).isEnabled()
    assert made.preview.text().startswith("Break when ")
    QTest.mouseClick(ok(made), Qt.MouseButton.LeftButton)
    assert [type(one.condition) for one in got] == [kind.type]
    assert got[0].id == "b7"


@pytest.mark.parametrize("condition", [
    *(make(kind, default(kind) | ({kind.typed.attribute: TYPED[kind.label]} if kind.label in TYPED else {}))
      for kind in KINDS),
    TokenText(role="rejected", match="pattern", text="^ ?the"), TokenText(text=" a\n"),
    TokenId(role="drafted", token=9),
    Both(of=(AnyRejection(), LowOverlap(below=0.25))), Either(of=(Where("ms > 3"), EarlyRejection(draft=2))),
    Either(of=(Both(of=(AnyRejection(), SlowRound(milliseconds=60.5))), AnyRejection()))], ids=lambda one: one.words)
def test_opened_and_agreed_to_it_is_the_same(qtbot: QtBot, theme: Theme, condition: AnyCondition) -> None:
    made = dialog(qtbot, theme, condition, hits=HitRule("each", 3), lane="skip", enabled=False, new=False)
    assert made.breakpoint == Breakpoint(
        id="b7", condition=condition, hits=HitRule("each", 3), lane="skip", enabled=False)
    assert made.preview.text() == f"Break when {condition.words}, every 3rd time, in Layer skip"
    got: list[Breakpoint] = []
    made.chosen.connect(got.append)
    made.accept()
    assert got[0].condition == condition


@pytest.mark.parametrize(("label", "text", "words"), [
    ("low overlap", "1.5", "more than 0 and at most 1"), ("low overlap", "x", "must be a number"),
    ("early rejection", "0", "1 or more"), ("round", "2.5", "whole number"),
    ("token with an id", "-4", "0 or more"), ("expression", "overlpa < 1", "did you mean overlap"),
    ("expression", "phase == 'draft'", "There is no “phase”"), ("slow round", "inf", "must be a number")])
def test_what_cannot_be_used_is_explained(qtbot: QtBot, theme: Theme, label: str, text: str, words: str) -> None:
    made = dialog(qtbot, theme, AnyRejection(), count=lambda _: 3)
    part = made.parts[0]
    choose(part, label)
    write(part, text)
    assert words in part.problem
    assert part.problem_label.text() == part.problem
    assert not part.problem_label.isHidden()
    assert part.field is not None
    assert part.field.property("fault")
    assert not ok(made).isEnabled()
    assert made.breakpoint is None
    made.accept()  # Enter in a field
    assert made.isVisible()
    choose(part, "any rejection")
    assert ok(made).isEnabled()
    assert part.problem_label.isHidden()
    choose(part, label)  # what was typed there last that could be read is kept
    assert part.field is not None


def test_a_pattern_that_could_run_away_is_refused_as_soon_as_it_is_one(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme, TokenText(text="(a+)+$"))
    assert ok(made).isEnabled()
    box = made.parts[0].choices["match"]
    box.setCurrentIndex(box.findData("pattern"))
    assert "take forever" in made.parts[0].problem
    assert not ok(made).isEnabled()


def test_a_second_condition_joins(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme, LowOverlap(below=0.3))
    assert made.join.isHidden()
    QTest.mouseClick(made.more, Qt.MouseButton.LeftButton)
    assert made.condition == Both(of=(LowOverlap(below=0.3), AnyRejection()))
    assert not made.join.isHidden()
    made.join.setCurrentIndex(1)
    assert made.condition == Either(of=(LowOverlap(below=0.3), AnyRejection()))
    assert made.preview.text() == "Break when overlap < 0.30 or any rejection, every time"
    while len(made.parts) < MOST_PARTS:
        QTest.mouseClick(made.more, Qt.MouseButton.LeftButton)
    assert made.more.isHidden()
    for _ in range(MOST_PARTS - 1):
        QTest.mouseClick(made.parts[0].remove, Qt.MouseButton.LeftButton)
    assert made.condition == AnyRejection()
    assert made.join.isHidden()
    assert made.parts[0].remove.isHidden()


def test_the_hit_rule_and_the_lane(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme, AnyRejection())
    assert made.n.isHidden()
    made.rule.setCurrentIndex(made.rule.findData("from"))
    assert not made.n.isHidden()
    made.n.edit.selectAll()
    QTest.keyClicks(made.n.edit, "12")
    made.lane.setCurrentIndex(1)
    assert made.preview.text() == "Break when any rejection, from the 12th time, in Prompt lookup"
    made.n.edit.selectAll()
    QTest.keyClicks(made.n.edit, "0")
    assert not ok(made).isEnabled()
    assert made.n.problem_label.text()
    made.rule.setCurrentIndex(0)  # not asked for any more, so it can't be wrong
    assert ok(made).isEnabled()
    gone = dialog(qtbot, theme, AnyRejection(), lane="gone")
    assert gone.breakpoint is not None
    assert gone.breakpoint.lane == "gone"


def test_how_it_would_have_done(qtbot: QtBot, theme: Theme) -> None:
    asked: list[Breakpoint] = []
    answers: dict[type[Condition], int | None] = {AnyRejection: 1_234, LowOverlap: 1, SlowRound: 0}

    def count(one: Breakpoint) -> int | None:
        asked.append(one)
        return answers.get(type(one.condition))

    made = dialog(qtbot, theme, AnyRejection(), enabled=False, count=count)
    assert made.counted.text() == "It would have stopped 1,234 times so far."
    assert asked[0].enabled  # asked as if it were on
    for label, words in (("low overlap", "It would have stopped 1 time so far."), ("round", ""),
                         ("slow round", "It would not have stopped in what has run so far.")):
        choose(made.parts[0], label)
        assert made.counted.text() == ""
        qtbot.waitUntil(lambda words=words: made.counted.text() == words and not made._timer.isActive())
    choose(made.parts[0], "expression")
    qtbot.waitUntil(lambda: made.counted.text() == "Fill in what is empty above.")
    assert len(asked) == 4


def test_a_token_is_shown_with_its_text(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme, AnyRejection(), text_of=lambda token: {17: " tea"}.get(token, ""))
    choose(made.parts[0], "token with an id")
    write(made.parts[0], "17")
    assert made.preview.text() == "Break when committed token = “·tea” (17), every time"
    write(made.parts[0], "18")
    assert made.preview.text() == "Break when committed token = #18, every time"


def test_names_are_offered_and_inserted(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme, Where("overlap < 0.3"))
    part = made.parts[0]
    assert not part.names.isHidden()
    actions = [action for menu in part.names.menu().actions() for action in menu.menu().actions()]
    assert {action.data() for action in actions} >= {"overlap", "ms", "alpha"}
    assert part.field is not None
    part.field.edit.setText("")
    next(action for action in actions if action.data() == "margin").trigger()
    QTest.keyClicks(part.field.edit, " < 0.1")
    assert made.condition == Where("margin < 0.1")
    choose(part, "any rejection")
    assert part.names.isHidden()


def test_escape_asks_for_nothing(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme, AnyRejection())
    got: list[object] = []
    made.chosen.connect(got.append)
    QTest.keyClick(made, Qt.Key.Key_Escape)
    assert got == []
    assert not made.isVisible()


def test_texts_are_typed_as_they_are_shown() -> None:
    for text in (" tea\n", "a\tb", "plain"):
        assert read_token(show_token(text)) == text
    assert show_token(" a") == "·a"
    assert kind_of(Both(of=(AnyRejection(), AnyRejection()))) is None


def test_it_grows_with_what_it_holds(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme, AnyRejection())
    qtbot.waitUntil(lambda: not made._fit.isActive())
    before = made.height()
    made.more.click()
    qtbot.waitUntil(lambda: made.height() > before + 50)
    for part in made.parts:
        assert part.height() >= part.minimumSizeHint().height()


def test_nothing_is_left(qtbot: QtBot, theme: Theme) -> None:
    made = BreakpointDialog(theme, Breakpoint(id="b", condition=Both(of=(AnyRejection(), Where("ms > 1")))), new=True)
    made.show()
    made.more.click()
    made.parts[0].remove.click()
    left = weakref.ref(made)
    made.close()
    made.deleteLater()
    del made
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
        gc.collect()
    assert left() is None


def test_every_nth_time_begins_with_every_second(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme, AnyRejection())
    assert made.preview.text() == "Break when any rejection, every time"
    made.rule.setCurrentIndex(made.rule.findData("each"))
    assert made.breakpoint is not None
    assert made.breakpoint.hits == HitRule("each", 2)
    assert made.preview.text() == "Break when any rejection, every 2nd time"


@pytest.mark.parametrize("condition", [Divergence(), Either(of=(AnyRejection(), Divergence()))])
def test_without_a_plain_lane_nothing_can_differ_from_it(qtbot: QtBot, theme: Theme, condition: AnyCondition) -> None:
    made = dialog(qtbot, theme, condition, count=lambda _: 0, has_plain=False)
    assert made.counted.text().startswith("There is no plain lane")
    assert ok(made).isEnabled()  # a later run may have one
    made = dialog(qtbot, theme, condition, count=lambda _: 0)
    assert made.counted.text().startswith("It would not have stopped")
