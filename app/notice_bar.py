"""One sentence across the top of the content, with details to copy; never a dialog that blocks the stage."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from app.conductor import Notice
from app.form_fields import restyle
from app.theme import Theme


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
        outer = QHBoxLayout(self)
        outer.setContentsMargins(12, 10, 12, 0)
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

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._close.setIcon(theme.icon("close", "dim"))
        self._close.setIconSize(QSize(theme.px(14), theme.px(14)))
        self._show_icon()

    def _show_icon(self) -> None:
        name, role = ("warning", "danger") if self._notice.bad else ("info", "link")
        size = self._theme.px(18)
        self._icon.setPixmap(self._theme.pixmap(name, role, size, self.devicePixelRatioF()))

    def _on_copy(self) -> None:
        QApplication.clipboard().setText(f"{self._notice.sentence}\n\n{self._notice.details}".strip())
        self._copy.setText("Copied")
