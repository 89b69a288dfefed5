"""The playback controls: each button is its action, and the speed is asked for, never taken."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.theme import Theme
from widgets.transport import NAMES, SPEEDS, Transport


@pytest.fixture
def page(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(700, 60)
    made.show()
    return made


def bar(theme: Theme, page: QWidget, names: tuple[str, ...] = NAMES) -> tuple[Transport, dict[str, QAction]]:
    actions = {name: QAction(name, page) for name in names}
    made = Transport(theme, actions, parent=page)
    made.show()
    QApplication.processEvents()
    return made, actions


def test_each_button_triggers_its_action(theme: Theme, page: QWidget) -> None:
    made, actions = bar(theme, page)
    for name, action in actions.items():
        got: list[str] = []
        action.triggered.connect(lambda _=False, name=name, got=got: got.append(name))
        QTest.mouseClick(made.buttons[name], Qt.MouseButton.LeftButton)
        assert got == [name]


def test_they_stand_in_the_order_of_time(theme: Theme, page: QWidget) -> None:
    made, _ = bar(theme, page)
    places = [made.buttons[name].mapTo(made, QPoint(0, 0)).x() for name in NAMES]
    assert places == sorted(places)
    assert made.speed.x() > places[-1]
    assert made.height() == 32


def test_what_is_missing_has_no_button(theme: Theme, page: QWidget) -> None:
    made, _ = bar(theme, page, ("pause", "play", "record"))
    assert list(made.buttons) == ["pause", "play", "record"]


def test_an_unknown_name_is_refused(theme: Theme, page: QWidget) -> None:
    with pytest.raises(ValueError, match="rewind"):
        Transport(theme, {"rewind": QAction("rewind", page)})


def test_a_disabled_action_disables_its_button(theme: Theme, page: QWidget) -> None:
    made, actions = bar(theme, page)
    actions["play"].setEnabled(False)
    assert not made.buttons["play"].isEnabled()
    actions["play"].setToolTip("Play (Space)")
    assert made.buttons["play"].toolTip() == "Play (Space)"


def test_icons_are_the_actions_own_or_else_the_transports(theme: Theme, light: Theme, page: QWidget) -> None:
    own = QAction("play", page)
    own.setIcon(theme.icon("bug"))
    bare = QAction("record", page)
    made = Transport(theme, {"play": own, "record": bare}, parent=page)
    assert own.icon().cacheKey() == theme.icon("bug").cacheKey()
    assert bare.icon().cacheKey() == theme.icon("step").cacheKey()
    made.set_theme(light)
    assert own.icon().cacheKey() == theme.icon("bug").cacheKey()
    assert bare.icon().cacheKey() == light.icon("step").cacheKey()


@pytest.mark.parametrize("name", ["play-back", "to-start", "to-end", "breakpoint-next", "breakpoint-back", "branch"])
def test_the_icons_can_be_drawn(theme: Theme, name: str) -> None:
    image = theme.pixmap(name, "text", 24).toImage()
    inked = [(x, y) for x in range(24) for y in range(24) if image.pixelColor(x, y).alpha() > 40]
    assert len(inked) > 40
    assert all(0 < x < 23 and 0 < y < 23 for x, y in inked)


def test_a_chosen_speed_is_asked_for(theme: Theme, page: QWidget) -> None:
    made, _ = bar(theme, page)
    got: list[float] = []
    made.speed_wanted.connect(got.append)
    for choice in made.speed.menu().actions():
        choice.trigger()
    assert got == list(SPEEDS)
    assert made.speed.text() == "8×"


def test_a_speed_that_is_shown_is_not_asked_for(theme: Theme, page: QWidget) -> None:
    made, _ = bar(theme, page)
    got: list[float] = []
    made.speed_wanted.connect(got.append)
    made.show_speed(0.25)
    assert made.speed.text() == "0.25×"
    assert [c.text() for c in made.speed.menu().actions() if c.isChecked()] == ["0.25×"]
    made.show_speed(3.0)  # none of the choices
    assert made.speed.text() == "3×"
    assert got == []


def test_keys_and_wheel_go_from_speed_to_speed(theme: Theme, page: QWidget) -> None:
    made, _ = bar(theme, page)
    got: list[float] = []
    made.speed_wanted.connect(got.append)
    made.speed.setFocus()
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Down):
        QTest.keyClick(made.speed, key)
    assert got == [2.0, 4.0, 8.0, 4.0]
    turn(made.speed, -120)
    assert got[-1] == (2.0 if made.speed.hasFocus() else 4.0)
    made.show_speed(3.0)
    QTest.keyClick(made.speed, Qt.Key.Key_Down)
    assert got[-1] == 2.0


def turn(widget: QWidget, by: int) -> None:
    event = QWheelEvent(QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, by), Qt.MouseButton.NoButton,
                        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False)
    QApplication.sendEvent(widget, event)


def test_every_speed_has_room(theme: Theme, light: Theme, page: QWidget) -> None:
    made, _ = bar(theme, page)
    for dress in (theme, light):
        made.set_theme(dress)
        for speed in SPEEDS:
            made.show_speed(speed)
            text = made.speed.fontMetrics().horizontalAdvance(made.speed.text())
            assert text + dress.px(34) <= made.speed.width()
            made.speed.grab()
