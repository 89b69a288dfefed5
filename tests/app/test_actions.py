"""One list of actions, from which everything else comes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon, QKeySequence
from PySide6.QtWidgets import QDialogButtonBox, QWidget
from pytestqt.qtbot import QtBot

from app.actions import Action, Actions
from app.palette import NOTHING, Palette, fuzzy, ranked
from app.shortcuts_dialog import ShortcutsDialog
from app.window import Window


def test_ids_and_shortcuts_are_unique_and_real(make_window: Callable[..., Window]) -> None:
    declared = make_window().actions_list.declared
    assert len({a.id for a in declared}) == len(declared)
    keys = [QKeySequence(a.shortcut) for a in declared if a.shortcut]
    assert all(not key.isEmpty() for key in keys)
    assert len({key.toString() for key in keys}) == len(keys)
    for action in declared:
        assert action.text
        assert action.menu in ("Run", "Go", "Debug", "File", "Lab", "View", "Help")
        assert action.id == action.id.lower()


@pytest.mark.parametrize(("one", "two"), [
    (Action("a", "A", print, "M"), Action("a", "B", print, "M")),
    (Action("a", "A", print, "M", "F1"), Action("b", "B", print, "M", "F1"))])
def test_doubles_are_refused(qtbot: QtBot, one: Action, two: Action) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    with pytest.raises(ValueError, match="two actions"):
        Actions([one, two], widget, lambda name: QIcon())


def test_fuzzy() -> None:
    assert fuzzy("xyz", "Run: Pause") is None
    assert fuzzy("", "Run: Pause") is not None
    assert (fuzzy("cp", "Help: Command palette") or 0) > (fuzzy("cp", "File: Escape") or 0)


def test_the_palette_finds_and_does(make_window: Callable[..., Window], qtbot: QtBot) -> None:
    window = make_window()
    assert ranked("step rou", list(window.actions_list.declared))[0].id == "run.step_round"
    dark = window.theme.dark
    window.open_palette()
    palette = window.findChild(Palette)
    assert palette is not None
    qtbot.keyClicks(palette.edit, "light")
    qtbot.keyClick(palette.edit, Qt.Key.Key_Return)
    assert window.theme.dark is not dark


@pytest.mark.parametrize(("query", "found"), [
    ("theme", "view.theme"), ("dark mo", "view.theme"), ("mode", "view.theme"), ("screenshot", "file.picture"),
    ("fullscreen", "view.present"), ("hotkeys", "help.shortcuts"), ("exit", "file.quit"), ("pause", "run.pause"),
    ("run", "run.run"), ("stop", "run.stop"), ("form", "view.form")])
def test_other_words_find_it_too(make_window: Callable[..., Window], query: str, found: str) -> None:
    assert ranked(query, list(make_window().actions_list.declared))[0].id == found


def test_the_palette_says_when_there_is_nothing(make_window: Callable[..., Window], qtbot: QtBot) -> None:
    window = make_window()
    window.open_palette()
    palette = window.findChild(Palette)
    assert palette is not None
    qtbot.keyClicks(palette.edit, "qqq")
    assert palette.list.topLevelItemCount() == 1
    assert palette.list.topLevelItem(0).text(0) == NOTHING
    palette._choose(palette.list.topLevelItem(0))
    qtbot.keyClick(palette.edit, Qt.Key.Key_Down)
    qtbot.keyClick(palette.edit, Qt.Key.Key_Return)
    assert palette.isVisible()


def test_dialogs_have_no_icons_of_another_theme(make_window: Callable[..., Window], qtbot: QtBot) -> None:
    window = make_window()
    window.open_shortcuts()
    dialog = window.findChild(ShortcutsDialog)
    assert dialog is not None
    buttons = dialog.findChild(QDialogButtonBox)
    assert [button.icon().isNull() for button in buttons.buttons()] == [True]


def test_actions_that_make_no_sense_now_are_disabled(make_window: Callable[..., Window]) -> None:
    actions = make_window().actions_list
    assert not actions["run.pause"].isEnabled()
    assert not actions["run.stop"].isEnabled()
    assert not actions["file.save"].isEnabled()
    assert actions["run.run"].isEnabled()
