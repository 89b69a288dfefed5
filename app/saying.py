"""One sentence that a whole room should read, with a sign before it; the details of a failure can be copied."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.theme import Theme

Tone = Literal["quiet", "good", "open", "bad"]
SIGNS: dict[Tone, str] = {"quiet": "", "good": "✓", "open": "?", "bad": "≠"}
ROLES: dict[Tone, str] = {"quiet": "dim", "good": "good", "open": "warning", "bad": "danger"}


class Saying(QWidget):
    def __init__(self, theme: Theme, role: str = "headline", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._role = role
        self._tone: Tone = "quiet"
        self._details = ""
        self._sign = QLabel()
        self._sentence = QLabel()
        self._sentence.setWordWrap(True)
        self._sentence.setTextFormat(Qt.TextFormat.PlainText)
        self._sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._sentence.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._copy = QPushButton("Copy details")
        self._copy.setToolTip("The sentence and what lies behind it, for a report")
        self._copy.clicked.connect(self._on_copy)
        self._copy.hide()
        row = self._row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._sentence, 1)
        row.addWidget(self._copy, 0, Qt.AlignmentFlag.AlignTop)
        self.set_theme(theme)

    @property
    def sentence(self) -> str:
        return self._sentence.text()

    @property
    def tone(self) -> Tone:
        return self._tone

    def say(self, sentence: str, tone: Tone = "quiet", details: str = "", sign: str | None = None) -> None:
        if (sentence, tone) != (self.sentence, self._tone):
            self._sentence.setText(sentence)
            self._tone = tone
            self._dress()
        self._sign.setText(SIGNS[tone] if sign is None else sign)
        self._sign.setVisible(bool(self._sign.text()))
        self._details = details
        self._copy.setVisible(bool(details))
        if not details:
            self._copy.setText("Copy details")

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._row.setSpacing(theme.px(12))
        self._sign.setFont(theme.font(self._role))
        self._sentence.setFont(theme.font(self._role))
        # Two lines always have room, so that what stands below doesn't move with the sentence.
        self._sentence.setMinimumHeight(2 * self._sentence.fontMetrics().lineSpacing() + theme.px(4))
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._dress()

    def _dress(self) -> None:
        for label, role in ((self._sign, ROLES[self._tone]),
                            (self._sentence, "dim" if self._tone == "quiet" else "strong")):
            palette = QPalette(label.palette())
            palette.setColor(QPalette.ColorRole.WindowText, self._theme.colour(role))
            label.setPalette(palette)

    def _on_copy(self) -> None:
        QApplication.clipboard().setText(f"{self.sentence}\n\n{self._details}".strip())
        self._copy.setText("Copied")
