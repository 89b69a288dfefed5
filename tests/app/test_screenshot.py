"""Pictures of the window."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.screenshot import save_picture
from app.theme import Theme
from engine.errors import SpecScopeError
from widgets.figures import ElidedLabel


def test_a_text_that_has_just_changed_is_whole(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> None:
    theme = Theme.load("dark")
    window, label = QWidget(), ElidedLabel(theme, "title", "text")
    qtbot.addWidget(window)
    row = QHBoxLayout(window)
    row.addWidget(label)
    row.addStretch(1)
    label.set_whole("short")
    window.resize(500, 60)
    window.show()
    qapp.processEvents()
    label.set_whole("a longer text than before")
    save_picture(window, tmp_path / "at-once.png")
    for _ in range(3):
        qapp.processEvents()
    save_picture(window, tmp_path / "later.png")
    assert QImage(str(tmp_path / "at-once.png")) == QImage(str(tmp_path / "later.png"))


def test_a_picture_that_cannot_be_written_is_said(qtbot: QtBot, tmp_path: Path) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    with pytest.raises(SpecScopeError, match=r"ends in \.png"):
        save_picture(window, tmp_path / "it.jpeg")
    with pytest.raises(SpecScopeError, match="folder exists"):
        save_picture(window, tmp_path / "nowhere" / "it.png")
