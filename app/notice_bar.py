"""One sentence above the stage, with details to copy; never a dialog that blocks it. It goes with its cause."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from app.form_fields import restyle
from app.notice import Notice
from app.theme import Theme

PASSING_MS = 6000
"""How long a notice stays that asks for nothing."""


class NoticeBar(QWidget):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._frame = QFrame()
        self._frame.setObjectName("notice")
        self._notice = Notice("")
        self._icon = QLabel()
        self._sentence = QLabel()
        self._sentence.setWordWrap(True)
        self._sentence.setTextFormat(Qt.TextFormat.PlainText)
        self._sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._copy = QPushButton("Copy details")
        self._copy.setToolTip("The sentence and what lies behind it, for a report")
        self._copy.clicked.connect(self._on_copy)
        self._close = QToolButton()
        self._close.setProperty("kind", "flat")
        self._close.setToolTip("Dismiss")
        self._close.setAccessibleName("Dismiss")
        self._close.clicked.connect(self.hide)
        self._passing = QTimer(self)
        self._passing.setSingleShot(True)
        self._passing.setInterval(PASSING_MS)
        self._passing.timeout.connect(self._on_passed)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(14, 12, 14, 0)
        outer.addWidget(self._frame)
        row = QHBoxLayout(self._frame)
        row.setContentsMargins(14, 6, 6, 6)
        row.setSpacing(10)
        row.addWidget(self._icon)
        row.addWidget(self._sentence, 1)
        row.addWidget(self._copy)
        row.addWidget(self._close)
        self.set_theme(theme)
        self.hide()

    @property
    def sentence(self) -> str:
        return self._notice.sentence

    def show_notice(self, notice: Notice) -> None:
        self._notice = notice
        self._sentence.setText(notice.sentence)
        self._copy.setVisible(bool(notice.details))
        self._copy.setText("Copy details")
        self._frame.setProperty("bad", notice.bad)
        restyle(self._frame)
        self._show_icon()
        self.show()
        if notice.bad:
            self._passing.stop()
        else:
            self._passing.start()

    def dismiss(self, about: Literal["form", "recording"]) -> None:
        """This has been put right: a notice about it goes."""
        if self._notice.about == about:
            self.hide()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._close.setIcon(theme.icon("close", "dim"))
        self._close.setIconSize(QSize(theme.px(14), theme.px(14)))
        self._show_icon()

    def _show_icon(self) -> None:
        name, role = ("warning", "danger") if self._notice.bad else ("info", "link")
        size = self._theme.px(18)
        self._icon.setPixmap(self._theme.pixmap(name, role, size, self.devicePixelRatioF()))

    def _on_passed(self) -> None:
        if self.underMouse():  # being read, or about to be copied
            self._passing.start()
        else:
            self.hide()

    def _on_copy(self) -> None:
        QApplication.clipboard().setText(f"{self._notice.sentence}\n\n{self._notice.details}".strip())
        self._copy.setText("Copied")
