"""One line that names a model, with a button to look for a folder or a GGUF file."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QMenu, QToolButton, QWidget


class SourceRow(QWidget):
    changed = Signal()

    def __init__(self, placeholder: str, parent: QWidget | None = None, *,
                 kinds: Sequence[str] = ("folder", "file")) -> None:
        """``kinds``: what may be looked for on this machine."""
        super().__init__(parent)
        self.edit = QLineEdit()
        self.edit.setPlaceholderText(placeholder)
        self.edit.textChanged.connect(self._on_text)
        self.browse = QToolButton()
        self.browse.setObjectName("browse")
        self.browse.setText("…")
        self.browse.setToolTip("Look for it on this machine")
        self.browse.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.browse)
        for kind, text, choose in (("folder", "Folder…", self._choose_folder),
                                   ("file", "GGUF file…", self._choose_file)):
            if kind in kinds:
                menu.addAction(text, choose)
        self.browse.setMenu(menu)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.edit, 1)
        row.addWidget(self.browse)
        self.setFocusProxy(self.edit)

    @property
    def text(self) -> str:
        return self.edit.text().strip()

    @text.setter
    def text(self, value: str) -> None:
        self.edit.setText(value)

    def _on_text(self, text: str) -> None:
        self.edit.setToolTip(text)
        self.changed.emit()

    def _choose_folder(self) -> None:
        if chosen := QFileDialog.getExistingDirectory(self, "A model's folder", self.text):
            self.text = chosen

    def _choose_file(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(self, "A GGUF file", self.text, "GGUF models (*.gguf);;All files (*)")
        if chosen:
            self.text = chosen
