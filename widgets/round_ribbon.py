"""The rounds of one lane as a strip of small blocks."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from widgets.panel import Panel
from widgets.protocols import StoreView, ThemeView


class RoundRibbon(Panel, QWidget):
    def __init__(self, store: StoreView, theme: ThemeView, lane: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
        self.lane = lane

    def set_scale(self, scale: str) -> None:
        """Either clock or tokens."""
