"""Committed tokens over each lane's own seconds."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QWidget

from widgets.panel import Panel
from widgets.protocols import StoreView, ThemeView


class RaceChart(Panel, QFrame):
    def __init__(self, store: StoreView, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
