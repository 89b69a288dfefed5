"""The form's prompt section: the text, the examples, and whether it is a message or raw text."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.examples import Example
from app.flow_layout import FlowLayout
from app.form_fields import ProblemLabel
from app.setup import Setup

LINES_SHOWN = 7


class _PromptEdit(QPlainTextEdit):
    """Takes plain text only, and is as tall as a few lines."""

    def sizeHint(self) -> QSize:
        line = QFontMetrics(self.font()).lineSpacing()
        return QSize(200, LINES_SHOWN * line + 20)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 3 * QFontMetrics(self.font()).lineSpacing() + 20)


class PromptSection(QWidget):
    changed = Signal()

    def __init__(self, examples: list[Example], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.edit = _PromptEdit()
        self.edit.setObjectName("prompt")
        self.edit.setPlaceholderText("Ask something, or choose an example below.")
        self.edit.setTabChangesFocus(True)
        self.edit.setAccessibleName("Prompt")
        self.edit.setToolTip("What every lane is asked. Ctrl+Return runs it.")
        self.edit.textChanged.connect(self._on_text)
        self.problem_label = ProblemLabel()

        self._examples = examples
        self.chips: list[QPushButton] = []
        chips = FlowLayout(spacing=6)
        for example in examples:
            chip = QPushButton(example.chip)
            chip.setProperty("kind", "chip")
            chip.setCheckable(True)
            chip.setToolTip(example.about)
            chip.setCursor(Qt.CursorShape.PointingHandCursor)
            chip.clicked.connect(lambda _=False, text=example.prompt: self.edit.setPlainText(text))
            self.chips.append(chip)
            chips.addWidget(chip)

        self.chat = QPushButton("chat")
        self.chat.setToolTip("The prompt is a user's message, in the model's own chat template.")
        self.raw = QPushButton("raw")
        self.raw.setToolTip("The prompt is taken as it is, and the model continues it.")
        self._form = QButtonGroup(self)
        self.header = QWidget()
        """For the section's title line, at its right."""
        header = QHBoxLayout(self.header)
        header.setContentsMargins(0, 0, 0, 0)
        header.setSpacing(2)
        for button in (self.chat, self.raw):
            button.setObjectName("segment")
            button.setProperty("kind", "tab")
            button.setCheckable(True)
            self._form.addButton(button)
            header.addWidget(button)
        self.chat.setChecked(True)
        self._form.buttonToggled.connect(lambda _button, on: self.changed.emit() if on else None)

        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.edit)
        column.addWidget(self.problem_label)
        column.addLayout(chips)
        self._on_text()

    @property
    def problem(self) -> str:
        if not self.edit.toPlainText().strip():
            return "The prompt is empty: write something, or choose an example."
        return ""

    def show_setup(self, setup: Setup) -> None:
        if setup.prompt != self.edit.toPlainText():
            self.edit.setPlainText(setup.prompt)
        (self.chat if setup.chat else self.raw).setChecked(True)

    def apply_to(self, setup: Setup) -> Setup:
        return msgspec.structs.replace(setup, prompt=self.edit.toPlainText(), chat=self.chat.isChecked())

    def complain(self) -> None:
        """Someone tried to run: say what is missing."""
        self.problem_label.show_problem(self.problem)
        self.edit.setFocus()

    def _on_text(self) -> None:
        text = self.edit.toPlainText().strip()
        for chip, example in zip(self.chips, self._examples, strict=True):
            chip.setChecked(text == example.prompt)
        if text:
            self.problem_label.hide()
        self.changed.emit()
