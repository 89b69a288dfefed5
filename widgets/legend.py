"""The marks of the token stream, explained."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from widgets.panel import Panel
from widgets.protocols import StoreView, ThemeView


class Legend(Panel, QWidget):
    def __init__(self, store: StoreView, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
