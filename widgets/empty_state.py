"""What to do when there is nothing to show yet."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from widgets.protocols import ThemeView


class EmptyState(QWidget):
    acted = Signal()
    """The button was pressed."""

    def __init__(self, theme: ThemeView, headline: str, hint: str = "", icon: str = "", action: str = "",
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme

    def set_text(self, headline: str, hint: str = "", action: str = "") -> None: ...
