"""The list of breakpoints: what it shows, and what a click or a key asks for."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.theme import Theme
from widgets.breakpoint_list import BreakpointList
from widgets.breakpoint_row import BreakpointRow, remark, spoken

ROWS = (BreakpointRow("a", "first rejection at ≤ 2", hits=3), BreakpointRow("b", "overlap < 0.30", hits=1),
        BreakpointRow("c", "committed token = “tea”", enabled=False, hits=0))


class Asked:
    """What the panel has asked for, in order."""

    def __init__(self, panel: BreakpointList) -> None:
        self.all: list[tuple[str, str]] = []
        panel.toggled.connect(lambda id, to=self.all: to.append(("toggle", id)))
        panel.removed.connect(lambda id, to=self.all: to.append(("remove", id)))
        panel.edit_wanted.connect(lambda id, to=self.all: to.append(("edit", id)))
        panel.add_wanted.connect(lambda to=self.all: to.append(("add", "")))


def shown(qtbot: QtBot, theme: Theme) -> BreakpointList:
    panel = BreakpointList(theme)
    qtbot.addWidget(panel)
    panel.resize(300, 260)
    panel.show_rows(ROWS)
    panel.show()
    qtbot.waitExposed(panel)
    return panel


def place(panel: BreakpointList, row: int, x: int = 120) -> QPoint:
    rect = panel.list.visualItemRect(panel.list.item(row))
    return QPoint(x, rect.center().y())


def test_the_dot_toggles_and_a_double_click_edits(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    asked = Asked(panel)
    view = panel.list.viewport()
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=place(panel, 1, 14))
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=place(panel, 2))
    assert asked.all == [("toggle", "b")]
    assert panel.list.currentRow() == 2
    QTest.mouseDClick(view, Qt.MouseButton.LeftButton, pos=place(panel, 0))
    QTest.mouseDClick(view, Qt.MouseButton.LeftButton, pos=place(panel, 1, 14))
    assert [one for one in asked.all if one[0] == "edit"] == [("edit", "a")]
    QTest.mouseClick(panel.add, Qt.MouseButton.LeftButton)
    assert asked.all[-1] == ("add", "")


@pytest.mark.parametrize(("key", "what"), [
    (Qt.Key.Key_Space, "toggle"), (Qt.Key.Key_Delete, "remove"), (Qt.Key.Key_Backspace, "remove"),
    (Qt.Key.Key_Return, "edit"), (Qt.Key.Key_Enter, "edit"), (Qt.Key.Key_F2, "edit")])
def test_keys(qtbot: QtBot, theme: Theme, key: Qt.Key, what: str) -> None:
    panel = shown(qtbot, theme)
    asked = Asked(panel)
    panel.list.setFocus()
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, key)
    assert asked.all == [(what, "b")]


def test_keys_on_an_empty_list_ask_for_nothing(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    panel.show_rows(())
    asked = Asked(panel)
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Delete, Qt.Key.Key_Return):
        QTest.keyClick(panel.list, key)
    assert asked.all == []
    assert panel.list.isHidden()
    assert not panel._hint.isHidden()
    panel.show_rows(ROWS)
    assert panel._hint.isHidden()
    assert not panel.list.isHidden()


def test_the_menu_asks_for_the_same(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    asked = Asked(panel)
    for row, words in ((ROWS[0], "Turn off"), (ROWS[2], "Turn on")):
        menu = panel.list.menu_of(row)
        actions = menu.actions()
        assert [action.text() for action in actions] == [words, "Change …", "Remove"]
        for action in actions:
            action.trigger()
        menu.close()
    assert asked.all == [(what, id) for id in "ac" for what in ("toggle", "edit", "remove")]


def test_the_current_row_stays_where_it_is(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    panel.list.setCurrentRow(1)
    panel.show_rows((*ROWS[:1], BreakpointRow("b", "overlap < 0.30", hits=2, fired=True), ROWS[2]))
    assert panel.list.currentRow() == 1
    panel.show_rows(ROWS[1:])
    assert panel.list.currentRow() == 0
    panel.show_rows(ROWS[2:])
    assert panel.list.currentRow() == 0
    assert panel.rows == ROWS[2:]


def test_what_is_said() -> None:
    assert [remark(row) for row in ROWS] == ["hit 3", "hit 1", "off"]
    assert remark(BreakpointRow("d", "x")) == ""
    row = BreakpointRow("d", "all accepted", hits=12_345, fired=True, lane="Prompt lookup")
    assert spoken(row) == "all accepted · Prompt lookup, hit 12,345, stopped here"


def test_names_for_screen_readers(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    assert panel.list.item(2).text() == "committed token = “tea”, off"
    assert "Space" in panel.list.accessibleDescription()
    assert panel._heading.said == ("Breakpoints", "1 of 3 off")


def test_the_row_that_fired_is_marked(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    def inks() -> set[str]:
        QApplication.processEvents()
        image = panel.list.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        rect = panel.list.visualItemRect(panel.list.item(1))
        return {QColor(image.pixel(x, rect.center().y())).name() for x in range(1, 5)}

    mark = theme.colour("rejected").name()
    assert mark not in inks()
    panel.show_rows((ROWS[0], BreakpointRow("b", "overlap < 0.30", hits=1, fired=True), ROWS[2]))
    assert mark in inks()


@pytest.mark.parametrize("words", ["x" * 500, "مرحبا " * 40, "👩‍🚀" * 50, "a\tb", ""])
@pytest.mark.parametrize("width", [60, 300])
def test_any_words_at_any_width(qtbot: QtBot, theme: Theme, light: Theme, words: str, width: int) -> None:
    panel = BreakpointList(theme)
    qtbot.addWidget(panel)
    panel.show_rows([BreakpointRow(str(i), words, hits=i or None, fired=i == 3) for i in range(30)])
    panel.resize(width, 200)
    panel.show()
    assert not panel.grab().isNull()
    panel.set_theme(light)
    assert not panel.grab().isNull()
    assert panel.list.horizontalScrollBar().maximum() == 0
