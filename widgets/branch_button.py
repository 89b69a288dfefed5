"""The button that makes a branch, the same everywhere in the inspector."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QWidget

from widgets.protocols import ThemeView


class BranchButton(QPushButton):
    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__("Branch", parent)
        self.setProperty("kind", "chip")
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.setFont(theme.font("small"))
        faint = theme.colour("disabled").name()
        self.setStyleSheet(f"QPushButton:disabled {{ color: {faint}; background: transparent; }}")
